//! What the spool answers to requests of IPP (RFC 8011).
//!
//! A request and the book in, an answer out: no clock, no network. Where a
//! document follows the request, the answer waits for it ([`Step::Receive`]).

mod date;
#[doc(hidden)]
pub mod fuzzing;
mod job;
mod listing;
mod operations;
mod printer;
mod target;
mod wanted;

use std::net::IpAddr;

use windlass_wire::ipp::{CharKind, Group, Message, Operation, Status, Unfit, Value, Version};

use super::book::{Book, Refusal};
use super::job::{JobId, Moment, Stored, Ticket, cut};

pub use job::template;
pub use listing::Listing;

/// The most jobs in an answer. Who has more asks from `first-job-id` on.
pub(super) const MOST_LISTED: usize = 50_000;

/// Who asks, where and when.
#[derive(Clone, Debug)]
pub struct Context<'a> {
    /// What the client calls this server: a host and a port.
    pub authority: &'a str,
    /// The path of the request.
    pub path: &'a str,
    /// The client's address.
    pub peer: IpAddr,
    /// Whether it may do with printers and others' jobs what it wants.
    pub is_admin: bool,
    /// The time.
    pub now: Moment,
    /// The longest document that is taken.
    pub most_document: Option<u64>,
}

/// What becomes of a request.
#[derive(Debug)]
pub enum Step {
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

impl Step {
    /// Takes back what could not be kept: nobody is told of it.
    pub fn undo<D: Stored>(self, book: &mut Book<D>) {
        match self {
            Self::Created { id, .. } => book.lost(id),
            Self::Receive(Receive { goal: Goal::New { place, .. }, .. }) => book.give_up(place),
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
    pub compression: Packing,
    head: Head,
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

/// How a document comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// As it is.
    None,
    /// As a gzip file (RFC 1952).
    Gzip,
    /// As deflated data (RFC 1951), bare or framed (RFC 1950).
    Deflate,
}

/// What an answer repeats of its request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    version: Version,
    request_id: u32,
}

/// A refusal in IPP: a status, and a sentence.
#[derive(Debug)]
pub(super) struct No {
    status: Status,
    why: String,
    unsupported: Option<Group>,
}

impl No {
    fn new(status: Status, why: impl Into<String>) -> Self {
        Self { status, why: why.into(), unsupported: None }
    }
}

impl From<Refusal> for No {
    fn from(refusal: Refusal) -> Self {
        Self::new(refusal.status(), refusal.to_string())
    }
}

impl From<Unfit> for No {
    fn from(unfit: Unfit) -> Self {
        Self::new(unfit.status(), unfit.to_string())
    }
}

impl Head {
    /// Of a request.
    pub(super) const fn of(request: &Message) -> Self {
        Self { version: request.version, request_id: request.request_id }
    }

    /// An answer with a status and a sentence.
    pub(super) fn answer(self, status: Status, why: Option<&str>) -> Message {
        let mut answer = Message::response(self.version, status, self.request_id);
        if let Some(why) = why {
            answer.add("status-message", text(why));
        }
        answer
    }

    fn ok(self, groups: impl IntoIterator<Item = Group>) -> Message {
        let mut answer = self.answer(Status::OK, None);
        answer.groups.extend(groups);
        answer
    }

    fn refused(self, no: No) -> Message {
        let mut answer = self.answer(no.status, Some(&no.why));
        answer.groups.extend(no.unsupported);
        answer
    }
}

impl Receive {
    /// The answer when the job is filed, or why it is not.
    pub fn answer<D: Stored>(
        &self,
        done: Result<JobId, Refusal>,
        book: &Book<D>,
        context: &Context<'_>,
    ) -> Message {
        match done {
            Ok(id) => self.head.ok(operations::job_created(book, id, context)),
            Err(refusal) => self.head.refused(refusal.into()),
        }
    }

    /// The answer where the document is not as its request says.
    pub fn garbled(&self, why: &str) -> Message {
        self.head.answer(Status::COMPRESSION_ERROR, Some(why))
    }
}

/// What becomes of a request.
pub fn respond<D: Stored>(request: &Message, book: &mut Book<D>, context: &Context<'_>) -> Step {
    let head = Head::of(request);
    let fits = request.fits().map_err(No::from);
    match fits.and_then(|()| operations::done(request, head, book, context)) {
        Ok(step) => step,
        Err(no) => Step::Answer(head.refused(no)),
    }
}

/// The answer to a request that nothing was done about.
pub fn refused(request: &Message, refusal: Refusal) -> Message {
    Head::of(request).refused(refusal.into())
}

/// Operations that nobody but who administers may ask for.
const fn is_administration(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::PAUSE_PRINTER
            | Operation::RESUME_PRINTER
            | Operation::PURGE_JOBS
            | Operation::ENABLE_PRINTER
            | Operation::DISABLE_PRINTER
            | Operation::CANCEL_JOBS
            | Operation::CUPS_ACCEPT_JOBS
            | Operation::CUPS_REJECT_JOBS
    )
}

// Values have as many octets at the most (RFC 8011, section 5.1).

fn text(text: &str) -> Value {
    Value::chars(CharKind::Text, cut(text, 1_023))
}

fn name(text: &str) -> Value {
    Value::chars(CharKind::Name, cut(text, 255))
}

fn uri(text: &str) -> Value {
    Value::chars(CharKind::Uri, cut(text, 1_023))
}

/// A number as far as IPP has room for it.
fn number(number: u64) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

#[cfg(test)]
#[path = "respond_tests.rs"]
mod tests;
