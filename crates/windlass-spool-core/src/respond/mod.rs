//! Answers of the spool to IPP requests (RFC 8011).
//!
//! A request and the job table go in, an answer comes out: no clock, no network. If a document
//! follows the request, the answer waits for it ([`RequestStep::Receive`]).

mod administer;
mod date;
mod fidelity;
mod job;
mod listing;
mod media;
mod operations;
mod printer;
mod target;

use windlass_wire::ipp::server::{IppRefusal, Reply};
use windlass_wire::ipp::{Attribute, Compression, Message, Status};

use super::job::{JobId, StoredDocument, Ticket};
use super::moment::Moment;
use super::requester::Requester;
use super::table::{ByteAllowance, JobTable, Refusal};

pub use crate::template::template;
pub use administer::raw_ports;
pub use listing::Listing;
pub use printer::{ICON_SIZES, LEARNED, printer_uuid, urf};

/// Context of a request: who sent it, where and when.
#[derive(Clone, Debug)]
pub struct Context<'a> {
    /// Host and port that the client uses for this server.
    pub authority: &'a str,
    /// Path of the request.
    pub path: &'a str,
    /// Requester and its rights.
    pub requester: &'a Requester,
    /// True if the request came over TLS.
    pub is_encrypted: bool,
    /// Current time.
    pub now: Moment,
    /// Maximum length of a document in bytes.
    pub max_document: Option<u64>,
}

impl Context<'_> {
    /// Returns the scheme of printer and job URIs for this client.
    pub(super) const fn scheme(&self) -> &'static str {
        if self.is_encrypted { "ipps" } else { "ipp" }
    }

    /// Returns the scheme of page URIs for this client.
    pub(super) const fn page_scheme(&self) -> &'static str {
        if self.is_encrypted { "https" } else { "http" }
    }
}

/// Next step of a request.
#[derive(Debug)]
pub enum RequestStep {
    /// The answer is complete.
    Answer(Message),
    /// The answer is complete, and its new job waits for documents.
    Created {
        /// Answer to the request.
        answer: Message,
        /// Number of the job.
        id: JobId,
    },
    /// The document of the request comes now.
    Receive(ExpectedDocument),
    /// The answer is a list of jobs.
    List(Box<Listing>),
}

impl RequestStep {
    /// Undoes a step that could not be made durable. No client is told of its job.
    pub fn undo<D: StoredDocument>(self, table: &mut JobTable<D>) {
        match self {
            Self::Created { id, .. } => table.lost(id),
            Self::Receive(ExpectedDocument { goal: Goal::New { place, .. }, .. }) => {
                table.give_up(place);
            }
            Self::Receive(_) | Self::Answer(_) | Self::List(_) => {}
        }
    }
}

/// Document that follows a request.
#[derive(Debug)]
pub struct ExpectedDocument {
    /// Job that the document is for.
    pub goal: Goal,
    /// Name of the document.
    pub name: Box<str>,
    /// Compression of the document.
    pub compression: Compression,
    /// Number of uncompressed bytes that the user's quotas allow.
    pub allowance: ByteAllowance,
    reply: Reply,
    /// Requested attributes that the printer does not support.
    ignored: Vec<Attribute>,
}

/// Job that a document is for.
#[derive(Debug)]
pub enum Goal {
    /// A new job, which was admitted.
    New {
        /// Index of the printer.
        place: usize,
        /// Attributes that the client gave.
        ticket: Ticket,
    },
    /// A job that waits for the document.
    More {
        /// Number of the job.
        id: JobId,
        /// True for the last document.
        is_last: bool,
    },
}

impl From<Refusal> for IppRefusal {
    fn from(refusal: Refusal) -> Self {
        Self::new(refusal.status(), refusal.to_string())
    }
}

impl ExpectedDocument {
    /// Returns the answer for a filed job, or for a refused one.
    pub fn answer<D: StoredDocument>(
        &self,
        done: Result<JobId, Refusal>,
        table: &JobTable<D>,
        context: &Context<'_>,
    ) -> Message {
        match done {
            Ok(id) => {
                let created = operations::job_created(table, id, context);
                fidelity::done(self.reply, &self.ignored, vec![created])
            }
            Err(refusal) => self.reply.refused(refusal),
        }
    }

    /// Returns the answer for a document that cannot be decompressed.
    pub fn garbled(&self, why: &str) -> Message {
        self.reply.answer(Status::COMPRESSION_ERROR, Some(why))
    }
}

/// Executes a request as far as possible without its document.
pub fn respond<D: StoredDocument>(
    request: &Message,
    table: &mut JobTable<D>,
    context: &Context<'_>,
) -> RequestStep {
    let reply = Reply::to(request);
    let fits = request.fits().map_err(IppRefusal::from);
    fits.and_then(|()| operations::RequestHandler { request, reply, table, context }.done())
        .unwrap_or_else(|no| RequestStep::Answer(reply.refused(no)))
}

/// Returns the answer to a request that was refused before anything was done.
pub fn refused(request: &Message, refusal: Refusal) -> Message {
    Reply::to(request).refused(refusal)
}

#[cfg(test)]
#[path = "respond_tests.rs"]
mod tests;
