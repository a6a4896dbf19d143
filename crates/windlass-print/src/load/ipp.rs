//! Jobs over IPP, on a persistent connection.
//!
//! The requests of each queue are made once. Each job changes the number of the request, its name
//! and the length of its document, and is sent in one piece with the document.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use windlass_wire::ipp::{CharKind, GroupTag, Message, Operation, Value};
use windlass_wire::target::Target;

use super::Plan;
use super::files::{Data, FileData};
use super::tally::{Fate, Problem, ProblemKind, SubmissionFailure};
use crate::dial::{Dial, connected};
use crate::error::Error;
use crate::ipp::exchange::{Client, done, encoded, has_answer, head, headers, hear};
use crate::ipp::{CANCELLING, request};
use crate::job::Ipp;
use crate::link::Link;
use crate::monitor::Monitor;

/// Digits of a job's number in its name.
const DIGITS: usize = 9;

/// Number of bytes read from a file at a time.
const PIECE: usize = 1 << 20;

/// Idle time after which the server may have closed a connection.
const LONG_IDLE: Duration = Duration::from_millis(500);

const SENDING: &str = "the document was sent";

/// A request of which only numbers change.
#[derive(Clone, Debug)]
struct PreparedRequest {
    operation: Operation,
    /// Head up to the length of the body.
    head: Vec<u8>,
    message: Vec<u8>,
    /// Offset of the digits in the job's name.
    name_at: Option<usize>,
    /// Offset of the job's number.
    job_at: Option<usize>,
}

/// Requests to a queue.
#[derive(Clone, Debug)]
pub(super) struct Requests {
    /// Request that the document follows.
    with_document: PreparedRequest,
    /// Request that creates the job before.
    create: Option<PreparedRequest>,
}

impl Requests {
    pub(super) fn new(
        plan: &Plan,
        ipp: &Ipp,
        target: &Target,
        dial: &Dial<'_>,
    ) -> Result<Self, Error> {
        let authorization = dial.authorization(target).map_err(Error::Dial)?;
        let name = format!("{} {:0DIGITS$}", plan.name, 0);
        let prepared = |operation, describe: &dyn Fn(&mut Message)| {
            let job = (operation == Operation::SEND_DOCUMENT).then_some(0);
            let mut message = request(ipp.version, (operation, 0), target, job, &plan.user);
            describe(&mut message);
            let message = encoded(&message)?;
            let mut headers = headers(target);
            if let Some(words) = &authorization {
                headers.push("Authorization", words);
            }
            let mut head = head(target, headers)?;
            // Without the empty line at its end.
            head.truncate(head.len().saturating_sub(2));
            head.extend_from_slice(b"Content-Length: ");
            let place = |of: &[u8]| message.windows(of.len()).position(|found| found == of);
            let name_at = place(name.as_bytes()).map(|at| at + name.len() - DIGITS);
            // The two bytes of the value's length follow the name.
            let job_at = place(b"job-id").map(|at| at + b"job-id".len() + 2);
            let job_at = job_at.filter(|_| operation == Operation::SEND_DOCUMENT);
            Ok::<_, Error>(PreparedRequest { operation, head, message, name_at, job_at })
        };
        let named = |message: &mut Message| {
            message.add("job-name", Value::chars(CharKind::Name, &name));
        };
        let format = |message: &mut Message| {
            message.add("document-format", Value::chars(CharKind::MediaType, &ipp.format));
        };
        if !ipp.create_job {
            let with_document = prepared(Operation::PRINT_JOB, &|message| {
                named(message);
                format(message);
            })?;
            return Ok(Self { with_document, create: None });
        }
        let create = prepared(Operation::CREATE_JOB, &named)?;
        let with_document = prepared(Operation::SEND_DOCUMENT, &|message| {
            format(message);
            message.add("last-document", Value::Boolean(true));
        })?;
        Ok(Self { with_document, create: Some(create) })
    }
}

impl PreparedRequest {
    /// Writes a request before a document of this size.
    fn put(&self, out: &mut Vec<u8>, id: u32, number: u64, job: i32, document: u64) {
        out.clear();
        out.extend_from_slice(&self.head);
        let length = (self.message.len() as u64).saturating_add(document);
        // Writing into memory does not fail.
        let _ = write!(out, "{length}\r\n\r\n");
        let from = out.len();
        out.extend_from_slice(&self.message);
        let message = &mut out[from..];
        message[4..8].copy_from_slice(&id.to_be_bytes());
        if let Some(at) = self.name_at {
            let mut rest = number;
            for digit in message[at..at + DIGITS].iter_mut().rev() {
                *digit = b'0' + (rest % 10) as u8;
                rest /= 10;
            }
        }
        if let Some(at) = self.job_at {
            message[at..at + 4].copy_from_slice(&job.to_be_bytes());
        }
    }
}

/// Jobs that were created but have no document.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ghosts {
    pub(super) made: u64,
    pub(super) cancelled: u64,
}

/// Kernel's figures of connections that ended normally.
#[derive(Clone, Copy, Debug, Default)]
pub struct KernelWaits {
    /// Time with data in flight or waiting to be sent.
    pub busy: Duration,
    /// Time limited by the server's receive window.
    pub receiver_limited: Duration,
    /// Retransmitted segments.
    pub retransmissions: u64,
}

impl KernelWaits {
    /// Returns the sum of both.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            busy: self.busy + other.busy,
            receiver_limited: self.receiver_limited + other.receiver_limited,
            retransmissions: self.retransmissions + other.retransmissions,
        }
    }
}

/// One of the senders.
pub(super) struct Sender<'a> {
    plan: &'a Plan,
    ipp: &'a Ipp,
    requests: &'a [Requests],
    monitor: &'a Monitor,
    dial: &'a Dial<'a>,
    link: Option<Link<'a>>,
    id: u32,
    /// Bytes before a document.
    before: Vec<u8>,
    /// Piece of a file.
    piece: Vec<u8>,
    pub(super) ghosts: Ghosts,
    waited: KernelWaits,
}

impl<'a> Sender<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        ipp: &'a Ipp,
        requests: &'a [Requests],
        monitor: &'a Monitor,
        dial: &'a Dial<'a>,
    ) -> Self {
        Self {
            plan,
            ipp,
            requests,
            monitor,
            dial,
            link: None,
            id: 0,
            before: Vec::new(),
            piece: Vec::new(),
            ghosts: Ghosts::default(),
            waited: KernelWaits::default(),
        }
    }

    /// Keeps a connection for the next job, or ends it.
    fn keep(&mut self, link: Link<'a>, is_usable: bool) {
        if is_usable {
            self.link = Some(link);
            return;
        }
        let info = link.info();
        self.waited = self.waited.and(KernelWaits {
            busy: info.busy,
            receiver_limited: info.receiver_limited,
            retransmissions: info.retransmissions.into(),
        });
    }

    /// Ends its connection, and returns the kernel's figures of all of them.
    pub(super) fn end(&mut self) -> KernelWaits {
        if let Some(link) = self.link.take() {
            self.keep(link, false);
        }
        self.waited
    }

    /// Sends a job.
    pub(super) fn send(&mut self, queue: usize, number: u64, data: &Data) -> Fate {
        let requests = &self.requests[queue];
        let Some(create) = &requests.create else {
            return self.document(queue, &requests.with_document, number, 0, data);
        };
        let id = self.create(queue, create, number);
        // A job without a document is not printed.
        let id = id.map_err(|error| Problem::of(&error, SubmissionFailure::Failed))?;
        let fate = self.document(queue, &requests.with_document, number, id, data);
        if fate.as_ref().is_err_and(|problem| problem.became != SubmissionFailure::Unknown) {
            self.ghosts.made += 1;
            self.ghosts.cancelled += u64::from(self.cancel(queue, id).is_ok());
        }
        fate.map(|_| Some(id))
    }

    fn link(&mut self, queue: usize) -> Result<Link<'a>, Error> {
        if let Some(mut link) = self.link.take() {
            if link.idle() <= LONG_IDLE || !link.is_stale() {
                return Ok(link);
            }
            self.keep(link, false);
        }
        let connection = connected(self.dial, &self.plan.queues[queue])?;
        Link::new(connection, self.monitor, self.plan.patience)
    }

    const fn next_id(&mut self) -> u32 {
        // The number may not be 0, and must fit a signed number.
        self.id = self.id % 0x7fff_ffff + 1;
        self.id
    }

    fn create(
        &mut self,
        queue: usize,
        create: &PreparedRequest,
        number: u64,
    ) -> Result<i32, Error> {
        let (id, began) = (self.next_id(), Instant::now());
        create.put(&mut self.before, id, number, 0, 0);
        let mut link = self.link(queue)?;
        let whole =
            link.put_both(&self.before, &[], "the job was created", &mut |link| !has_answer(link))?;
        let answer = hear(&mut link)?;
        let is_kept = whole && !answer.head.closes() && !link.at_end;
        self.keep(link, is_kept);
        let (_, message) = done(create.operation, id, answer, began)?;
        message
            .number(GroupTag::JOB, "job-id")
            .ok_or_else(|| Error::Protocol("the answer to Create-Job has no job-id".to_owned()))
    }

    /// Sends a request with a document.
    fn document(
        &mut self,
        queue: usize,
        request: &PreparedRequest,
        number: u64,
        job: i32,
        data: &Data,
    ) -> Fate {
        let (id, began) = (self.next_id(), Instant::now());
        request.put(&mut self.before, id, number, job, data.size);
        let or = |became| move |error: Error| Problem::of(&error, became);
        let mut link = self.link(queue).map_err(or(SubmissionFailure::Failed))?;
        let written = match &data.held {
            FileData::Memory(bytes) => {
                link.put_both(&self.before, bytes, SENDING, &mut |link| !has_answer(link))
            }
            FileData::File(path) => self.file(&mut link, path, data.size),
        };
        let is_whole = written.map_err(or(SubmissionFailure::Failed))?;
        let unheard = if is_whole { SubmissionFailure::Unknown } else { SubmissionFailure::Failed };
        let answer = hear(&mut link).map_err(or(unheard))?;
        let is_kept = is_whole && !answer.head.closes() && !link.at_end;
        self.keep(link, is_kept);
        let done = done(request.operation, id, answer, began);
        let (_, message) = done.map_err(or(SubmissionFailure::Unknown))?;
        if !is_whole {
            let words = "the server confirmed the job before it had the whole document";
            return Err(Problem::new(SubmissionFailure::Unknown, ProblemKind::Protocol, words));
        }
        Ok(message.number(GroupTag::JOB, "job-id"))
    }

    /// Sends the bytes before a document, and the document from a file.
    fn file(&mut self, link: &mut Link<'a>, path: &Path, size: u64) -> Result<bool, Error> {
        let mut file = File::open(path).map_err(Error::Document)?.take(size);
        self.piece.resize(PIECE.min(usize::try_from(size).unwrap_or(PIECE)), 0);
        let (mut before, mut left) = (&self.before[..], size);
        while left > 0 {
            let got = file.read(&mut self.piece).map_err(Error::Document)?;
            if got == 0 {
                let short = std::io::ErrorKind::UnexpectedEof;
                return Err(Error::Document(short.into()));
            }
            left -= got as u64;
            let piece = &self.piece[..got];
            if !link.put_both(before, piece, SENDING, &mut |link| !has_answer(link))? {
                return Ok(false);
            }
            before = &[];
        }
        Ok(true)
    }

    /// Cancels a job without a document: some servers let it wait forever.
    fn cancel(&mut self, queue: usize, job: i32) -> Result<(), Error> {
        let (id, target) = (self.next_id(), &self.plan.queues[queue]);
        let operation = (Operation::CANCEL_JOB, id);
        let message = request(self.ipp.version, operation, target, Some(job), &self.plan.user);
        let patience = self.plan.patience.min(CANCELLING);
        Client::new(target, self.monitor, self.dial, patience).ask(&message).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_wire::http::{BodyLength, Request};
    use windlass_wire::ipp::{Decoder, Limits, Version};
    use windlass_wire::target::Protocol;

    #[test]
    fn a_request_says_what_changes() {
        let target = Target::new("h", Some(Protocol::Ipp), Some("q")).unwrap();
        let ipp = |create_job| Ipp {
            version: Version(2, 0),
            create_job,
            compression: windlass_wire::ipp::Compression::None,
            format: "text/plain".to_owned(),
            template: Vec::new(),
            follow: crate::job::FollowMode::No,
        };
        let plan = super::super::tests::plan(target.clone());
        let dial = crate::dial_within(plan.patience);
        let read = |prepared: &PreparedRequest| {
            let mut out = vec![1, 2, 3];
            prepared.put(&mut out, 77, 1_234, 42, 1_000);
            let (head, used) = Request::decode(&out).unwrap().unwrap();
            let length = (out.len() - used + 1_000) as u64;
            assert_eq!(head.body().unwrap(), BodyLength::Of(length));
            assert_eq!(head.path, "/printers/q");
            let mut decoder = Decoder::new(Limits::default());
            decoder.take(&out[used..]).unwrap();
            decoder.message().unwrap()
        };
        let group = GroupTag::OPERATION;
        let one = Requests::new(&plan, &ipp(false), &target, &dial).unwrap();
        let message = read(&one.with_document);
        assert_eq!((message.code, message.request_id), (0x0002, 77));
        assert_eq!(message.text(group, "job-name").unwrap(), "load 000001234");
        assert_eq!(message.text(group, "document-format").unwrap(), "text/plain");
        let two = Requests::new(&plan, &ipp(true), &target, &dial).unwrap();
        let message = read(two.create.as_ref().unwrap());
        assert_eq!(message.text(group, "job-name").unwrap(), "load 000001234");
        let message = read(&two.with_document);
        assert_eq!((message.code, message.number(group, "job-id")), (0x0006, Some(42)));
        assert_eq!(message.value(group, "last-document"), Some(&Value::Boolean(true)));
    }
}
