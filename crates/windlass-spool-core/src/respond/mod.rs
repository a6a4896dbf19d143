//! What the spool answers to requests of IPP (RFC 8011).
//!
//! A request and the job table in, an answer out: no clock, no network. Where a
//! document follows the request, the answer waits for it ([`RequestStep::Receive`]).

mod administer;
mod date;
mod fidelity;
mod job;
mod listing;
mod media;
mod operations;
mod printer;
mod target;

use windlass_wire::ipp::server::{No, Reply};
use windlass_wire::ipp::{Attribute, Compression, Message, Status};

use super::job::{JobId, Stored, Ticket};
use super::moment::Moment;
use super::requester::Requester;
use super::table::{ByteAllowance, JobTable, Refusal};

pub use crate::template::template;
pub use administer::raw_ports;
pub use listing::Listing;
pub use printer::{ICON_SIZES, LEARNED, printer_uuid, urf};

/// Who asks, where and when.
#[derive(Clone, Debug)]
pub struct Context<'a> {
    /// What the client calls this server: a host and a port.
    pub authority: &'a str,
    /// The path of the request.
    pub path: &'a str,
    /// Who asks, and what he may.
    pub requester: &'a Requester,
    /// Whether it asks by TLS.
    pub is_encrypted: bool,
    /// The time.
    pub now: Moment,
    /// The longest document that is taken.
    pub max_document: Option<u64>,
}

impl Context<'_> {
    /// The scheme of the URIs of printers and jobs, as the client reaches them.
    pub(super) const fn scheme(&self) -> &'static str {
        if self.is_encrypted { "ipps" } else { "ipp" }
    }

    /// The same of pages.
    pub(super) const fn page_scheme(&self) -> &'static str {
        if self.is_encrypted { "https" } else { "http" }
    }
}

/// What becomes of a request.
#[derive(Debug)]
pub enum RequestStep {
    /// It is answered.
    Answer(Message),
    /// The same, and there is a job whose documents are to come.
    Created {
        /// The answer.
        answer: Message,
        /// The job.
        id: JobId,
    },
    /// Its document comes now.
    Receive(Receive),
    /// It is answered with a list of jobs.
    List(Box<Listing>),
}

impl RequestStep {
    /// Takes back what could not be kept: nobody is told of it.
    pub fn undo<D: Stored>(self, table: &mut JobTable<D>) {
        match self {
            Self::Created { id, .. } => table.lost(id),
            Self::Receive(Receive { goal: Goal::New { place, .. }, .. }) => table.give_up(place),
            Self::Receive(_) | Self::Answer(_) | Self::List(_) => {}
        }
    }
}

/// A document that is to come.
#[derive(Debug)]
pub struct Receive {
    /// What it is for.
    pub goal: Goal,
    /// What it is called.
    pub name: Box<str>,
    /// How it is compressed.
    pub compression: Compression,
    /// The bytes that it may have, unpacked, by the quotas of its user.
    pub allowance: ByteAllowance,
    reply: Reply,
    /// What the job asks for and does not get.
    ignored: Vec<Attribute>,
}

/// What a document is for.
#[derive(Debug)]
pub enum Goal {
    /// A new job. It was admitted.
    New {
        /// The printer.
        place: usize,
        /// What the client said.
        ticket: Ticket,
    },
    /// A job that waits for it.
    More {
        /// The job.
        id: JobId,
        /// Whether it is the last.
        is_last: bool,
    },
}

impl From<Refusal> for No {
    fn from(refusal: Refusal) -> Self {
        Self::new(refusal.status(), refusal.to_string())
    }
}

impl Receive {
    /// The answer when the job is filed, or why it is not.
    pub fn answer<D: Stored>(
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

    /// The answer where the document is not as its request says.
    pub fn garbled(&self, why: &str) -> Message {
        self.reply.answer(Status::COMPRESSION_ERROR, Some(why))
    }
}

/// What becomes of a request.
pub fn respond<D: Stored>(
    request: &Message,
    table: &mut JobTable<D>,
    context: &Context<'_>,
) -> RequestStep {
    let reply = Reply::to(request);
    let fits = request.fits().map_err(No::from);
    fits.and_then(|()| operations::Asked { request, reply, table, context }.done())
        .unwrap_or_else(|no| RequestStep::Answer(reply.refused(no)))
}

/// The answer to a request that nothing was done about.
pub fn refused(request: &Message, refusal: Refusal) -> Message {
    Reply::to(request).refused(refusal)
}

#[cfg(test)]
#[path = "respond_tests.rs"]
mod tests;
