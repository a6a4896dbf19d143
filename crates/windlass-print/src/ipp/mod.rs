//! IPP: requests over HTTP, and the end of a job.

pub(crate) mod exchange;

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

pub(crate) use exchange::Client;
use serde::Serialize;
use windlass_base::Span;
use windlass_wire::ipp::{
    CharKind, Compression, Group, GroupTag, JobState, Message, Operation, Status, Value, Version,
};
use windlass_wire::target::Target;

use crate::dial::Dial;
use crate::document::Document;
use crate::error::{Error, one_line};
use crate::job::{FollowMode, Ipp, Job};
use crate::monitor::{Event, JobProgress, Monitor, PartialDelivery, Sign, Stall, rest};

/// Time between two questions about a job: the first, and the longest.
const POLLING: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// Longest time for cancelling a job without a document.
pub(crate) const CANCELLING: Duration = Duration::from_secs(5);

/// Longest time for an answer to a question about a job before the question is repeated.
const QUESTION: Duration = Duration::from_secs(60);

/// Time between an unanswered question and the next.
const UNREACHABLE: Duration = Duration::from_secs(1);

/// Maximum number of stored reasons of a job's state.
const MAX_REASONS: usize = 32;

/// A finished operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FinishedOperation {
    /// Name of the operation.
    #[serde(rename = "name")]
    pub operation: Operation,
    /// Status of the server's answer.
    pub status: Status,
    /// Text of the server's answer.
    pub message: String,
    /// Duration of the operation.
    pub seconds: Span,
}

/// End of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct JobEnd {
    /// Its last reported state; nothing if the server no longer knew it at the first question.
    pub state: Option<JobState>,
    /// Reasons of that state.
    pub reasons: Vec<String>,
    /// True if the server has no record of the job: it keeps no history.
    #[serde(rename = "forgotten")]
    pub is_forgotten: bool,
    /// True if the wait for the job timed out.
    #[serde(skip)]
    pub is_late: bool,
    /// Time from the answer to the document until the end.
    pub seconds: Span,
    /// Number of sides that the server reports as printed.
    #[serde(skip)]
    pub impressions: Option<u64>,
}

/// Length of the wait for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WaitLimit {
    /// At most this long.
    Within(Duration),
    /// Until the job is finished.
    ToItsEnd,
    /// Until the job is finished, and cancel it.
    Canceling,
}

/// Result of a job over IPP.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct IppAnswer {
    /// Operations up to the document's.
    pub operations: Vec<FinishedOperation>,
    /// Number of the job.
    pub job_id: Option<i32>,
    /// URI of the job.
    pub job_uri: Option<String>,
    /// State of the job when it was accepted.
    pub state: Option<JobState>,
    /// End of the job, if it was awaited.
    pub end: Option<JobEnd>,
}

/// A job being sent, with its client.
struct IppConversation<'a> {
    job: &'a Job,
    ipp: &'a Ipp,
    monitor: &'a Monitor,
    client: Client<'a>,
}

pub(crate) fn send(
    job: &Job,
    ipp: &Ipp,
    document: &mut Document,
    monitor: &Monitor,
    dial: &Dial<'_>,
) -> Result<IppAnswer, Error> {
    let client = Client::new(&job.target, monitor, dial, job.patience.clone());
    let client = client.of_job(job.on_break);
    let mut talk = IppConversation { job, ipp, monitor, client };
    let mut answer = IppAnswer::default();
    if ipp.create_job {
        let mut request = talk.request_to_create(Operation::CREATE_JOB);
        talk.add_template(&mut request);
        answer.take(talk.client.ask(&request)?);
        let id = answer
            .job_id
            .ok_or_else(|| Error::Protocol("its answer to Create-Job has no job-id".to_owned()))?;
        let mut request = talk.request(Operation::SEND_DOCUMENT, Some(id));
        talk.add_document(&mut request);
        request.add("last-document", Value::Boolean(true));
        let size = document.size();
        match talk.client.send(&request, ipp.compression, document) {
            Ok(sent) => answer.take(sent),
            // The user who stopped the job wants no more of it, and the server waits for the rest.
            Err(error) if monitor.is_stopped() => {
                if cancel_apart(job, ipp, id, dial) {
                    monitor.reported();
                }
                return Err(error);
            }
            Err(error) if ipp.follow == FollowMode::ToItsEnd && !error.is_refusal() => {
                answer.end = Some(talk.settle(id, size, error)?);
                return Ok(answer);
            }
            Err(error) => {
                talk.cancel(id);
                return Err(error);
            }
        }
    } else {
        let mut request = talk.request_to_create(Operation::PRINT_JOB);
        talk.add_document(&mut request);
        talk.add_template(&mut request);
        answer.take(talk.client.send(&request, ipp.compression, document)?);
    }
    monitor.answered();
    match (ipp.follow, answer.job_id) {
        (FollowMode::No, _) | (FollowMode::ToItsEnd, None) => {}
        (FollowMode::Within(_), None) => {
            let wrong = "its answer has no job-id, so windlass cannot wait for the job";
            return Err(Error::Protocol(wrong.to_owned()));
        }
        (FollowMode::Within(limit), Some(id)) => {
            answer.end = talk.wait(id, WaitLimit::Within(limit))?;
        }
        (FollowMode::ToItsEnd, Some(id)) => {
            talk.client.hurry(QUESTION);
            answer.end = talk.wait(id, WaitLimit::ToItsEnd)?;
        }
    }
    Ok(answer)
}

/// Cancels a job over its own connection, because the stopped job's connection sends no more.
fn cancel_apart(job: &Job, ipp: &Ipp, id: i32, dial: &Dial<'_>) -> bool {
    let monitor = Monitor::default();
    let mut client = Client::new(&job.target, &monitor, dial, CANCELLING);
    let operation = (Operation::CANCEL_JOB, client.next_id());
    let request = request(ipp.version, operation, &job.target, Some(id), &job.user);
    client.ask(&request).is_ok()
}

impl IppAnswer {
    fn take(&mut self, (done, response): (FinishedOperation, Message)) {
        self.operations.push(done);
        let job = GroupTag::JOB;
        self.job_id = response.number(job, "job-id").or(self.job_id);
        self.job_uri =
            response.text(job, "job-uri").map(|uri| one_line(&uri)).or(self.job_uri.take());
        self.state = state(&response).or(self.state);
    }
}

fn state(response: &Message) -> Option<JobState> {
    response.number(GroupTag::JOB, "job-state").and_then(JobState::new)
}

/// Returns a request to a printer, or about one of its jobs. The job's number follows the printer,
/// and the user follows both (RFC 8011, section 4.1.5).
pub(crate) fn request(
    version: Version,
    (operation, id): (Operation, u32),
    printer: &Target,
    job: Option<i32>,
    user: &str,
) -> Message {
    let mut request = Message::request(version, operation, id);
    request.add("printer-uri", Value::chars(CharKind::Uri, printer.uri()));
    if let Some(job) = job {
        request.add("job-id", Value::Integer(job));
    }
    request.add("requesting-user-name", Value::chars(CharKind::Name, user));
    request
}

impl IppConversation<'_> {
    fn request(&mut self, operation: Operation, id: Option<i32>) -> Message {
        let next = (operation, self.client.next_id());
        request(self.ipp.version, next, &self.job.target, id, &self.job.user)
    }

    fn request_to_create(&mut self, operation: Operation) -> Message {
        let mut request = self.request(operation, None);
        request.add("job-name", Value::chars(CharKind::Name, &self.job.name));
        request
    }

    fn add_document(&self, request: &mut Message) {
        request.add("document-name", Value::chars(CharKind::Name, &self.job.name));
        // Some printers support no compression, not even the keyword for none.
        if self.ipp.compression != Compression::None {
            request.add("compression", Value::keyword(self.ipp.compression.id()));
        }
        request.add("document-format", Value::chars(CharKind::MediaType, &self.ipp.format));
    }

    /// Adds the job template, which is a group of its own (RFC 8011, section 4.2.1.1).
    fn add_template(&self, request: &mut Message) {
        if !self.ipp.template.is_empty() {
            let attributes = self.ipp.template.clone();
            request.groups.push(Group { tag: GroupTag::JOB, attributes });
        }
    }

    /// Cancels a job without a document, for which some servers would wait forever.
    fn cancel(&mut self, id: i32) {
        self.client.hurry(CANCELLING);
        let request = self.request(Operation::CANCEL_JOB, Some(id));
        // If cancelling fails, the server has already reported a more important error.
        let _ = self.client.ask(&request);
    }

    /// Determines the outcome of a job whose connection broke. A partial job is cancelled; a
    /// complete one is awaited.
    fn settle(&mut self, id: i32, size: Option<u64>, error: Error) -> Result<JobEnd, Error> {
        let has_all = |taken: PartialDelivery| size.is_some_and(|size| taken.acknowledged >= size);
        let waiting = match self.monitor.taken().is_some_and(has_all) {
            true => WaitLimit::ToItsEnd,
            false => WaitLimit::Canceling,
        };
        self.client.hurry(QUESTION);
        match self.wait(id, waiting)? {
            Some(end) if end.state == Some(JobState::Completed) => Ok(end),
            Some(end) if !end.is_forgotten => {
                self.monitor.reported();
                Err(error)
            }
            _ => Err(error),
        }
    }

    /// Asks for the printer's own state.
    fn ask_printer(&mut self) -> Result<(), Error> {
        let mut request = self.request(Operation::GET_PRINTER_ATTRIBUTES, None);
        request.want(&["printer-state-reasons"]);
        let (_, answer) = self.client.ask(&request)?;
        let group = answer.group(GroupTag::PRINTER);
        self.monitor.says(&keywords(group, "printer-state-reasons"));
        Ok(())
    }

    /// Asks about a job until it is finished. Returns nothing if it was stopped.
    fn wait(&mut self, id: i32, waiting: WaitLimit) -> Result<Option<JobEnd>, Error> {
        let (began, mut pause) = (Instant::now(), POLLING.0);
        let mut answered = self.monitor.clock.now();
        let mut end = JobEnd::default();
        loop {
            if waiting == WaitLimit::Canceling {
                let request = self.request(Operation::CANCEL_JOB, Some(id));
                // Its state shows whether it is canceled.
                let _ = self.client.ask(&request);
            }
            let operation = Operation::GET_JOB_ATTRIBUTES;
            let mut request = self.request(operation, Some(id));
            request.want(&["job-state", "job-state-reasons", "job-impressions-completed"]);
            let asked = self.client.ask(&request);
            // A failed question about the printer is no error of the job.
            if waiting == WaitLimit::ToItsEnd
                && asked.is_ok()
                && let Err(Error::Stopped) = self.ask_printer()
            {
                return Ok(None);
            }
            end.seconds = Span::from_duration(began.elapsed());
            let response = match asked {
                Ok((_, response)) => response,
                Err(Error::Ipp { status, .. }) if matches!(status.0, 0x0406 | 0x0407) => {
                    end.is_forgotten = true;
                    return Ok(Some(end));
                }
                Err(Error::Stopped) => return Ok(None),
                // A server that does not report its jobs has accepted this one.
                Err(error) if waiting == WaitLimit::ToItsEnd && tells_nothing(&error) => {
                    end.is_forgotten = true;
                    return Ok(Some(end));
                }
                Err(error) if matches!(waiting, WaitLimit::Within(_)) => return Err(error),
                Err(error) => {
                    // A printer that is off for a while still has the job.
                    let silent = self.monitor.clock.now().saturating_duration_since(answered);
                    if self.job.patience.get().is_some_and(|limit| silent >= limit) {
                        return Err(error);
                    }
                    self.monitor.stands(JobProgress::Stalled(Stall {
                        waited: silent,
                        acknowledged: self.monitor.read.load(Ordering::Relaxed),
                        sign: Sign::Unreachable,
                    }));
                    if !rest(UNREACHABLE, || self.monitor.is_stopped()) {
                        return Ok(None);
                    }
                    continue;
                }
            };
            answered = self.monitor.clock.now();
            self.monitor.stands(JobProgress::Moving);
            let now = state(&response).ok_or_else(|| {
                Error::Protocol("its answer to Get-Job-Attributes has no job-state".to_owned())
            })?;
            end.reasons = keywords(response.group(GroupTag::JOB), "job-state-reasons");
            let sides = response.number(GroupTag::JOB, "job-impressions-completed");
            end.impressions = sides.and_then(|sides| u64::try_from(sides).ok());
            if end.state.replace(now) != Some(now) {
                self.monitor.tell(Event::State(now.id().to_owned()));
            }
            if now.is_over() {
                return Ok(Some(end));
            }
            if !rest(pause, || self.monitor.is_stopped()) {
                return Ok(None);
            }
            pause = (pause * 2).min(POLLING.1);
            if matches!(waiting, WaitLimit::Within(limit) if began.elapsed() > limit) {
                end.is_late = true;
                return Ok(Some(end));
            }
        }
    }
}

/// Returns whether a server does not report a job, now and later.
fn tells_nothing(error: &Error) -> bool {
    match error {
        Error::Ipp { status, .. } => matches!(status.0, 0x0400..=0x04ff | 0x0501 | 0x0503),
        Error::Http { status, .. } => matches!(status, 400..=499),
        _ => false,
    }
}

/// Returns the keywords of an attribute, without `none`.
fn keywords(group: Option<&Group>, name: &str) -> Vec<String> {
    let attribute = group.and_then(|group| group.attribute(name));
    let values = attribute.map(|attribute| attribute.values.as_slice()).unwrap_or_default();
    let texts = values.iter().filter_map(Value::text).map(|text| one_line(&text));
    texts.filter(|text| text != "none").take(MAX_REASONS).collect()
}
