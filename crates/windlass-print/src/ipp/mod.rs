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
use crate::job::{Follow, Ipp, Job};
use crate::monitor::{Event, Monitor, PartialDelivery, Sign, Stall, Standing, rest};

/// From one question after a job to the next: the first, and the longest.
const POLLING: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// How long the cancelling of a job without a document may take.
pub(crate) const CANCELLING: Duration = Duration::from_secs(5);

/// The longest that an answer to a question about a job may take before it is asked again.
const QUESTION: Duration = Duration::from_secs(60);

/// From a question without an answer to the next.
const UNREACHABLE: Duration = Duration::from_secs(1);

/// The most reasons that are kept of a job's state.
const MAX_REASONS: usize = 32;

/// An operation that was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Done {
    /// Which.
    #[serde(rename = "name")]
    pub operation: Operation,
    /// The server's answer.
    pub status: Status,
    /// The server's own words.
    pub message: String,
    /// How long it took.
    pub seconds: Span,
}

/// How a job ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct JobEnd {
    /// Its last state that was told; nothing where the server knew nothing of it
    /// any more when it was first asked.
    pub state: Option<JobState>,
    /// The reasons of that.
    pub reasons: Vec<String>,
    /// The server has no memory of the job: it keeps no history.
    #[serde(rename = "forgotten")]
    pub is_forgotten: bool,
    /// The time that was waited for it is over.
    #[serde(skip)]
    pub is_late: bool,
    /// From the answer to the document until then.
    pub seconds: Span,
    /// Sides that the server says it has printed.
    #[serde(skip)]
    pub impressions: Option<u64>,
}

/// The time for which a job is asked after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    /// For so long.
    Within(Duration),
    /// Until it is over.
    ToItsEnd,
    /// Until it is over, and it is to be canceled.
    Canceling,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct IppAnswer {
    /// The operations up to the document's.
    pub operations: Vec<Done>,
    /// The job's number.
    pub job_id: Option<i32>,
    /// The job's URI.
    pub job_uri: Option<String>,
    /// Its state when it was accepted.
    pub state: Option<JobState>,
    /// How it ended, where that was waited for.
    pub end: Option<JobEnd>,
}

/// A job that is sent, and those whom it takes.
struct Talk<'a> {
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
    let mut talk = Talk { job, ipp, monitor, client };
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
            // Who stopped it wants no more of it, and the server waits for the rest.
            Err(error) if monitor.is_stopped() => {
                if cancel_apart(job, ipp, id, dial) {
                    monitor.reported();
                }
                return Err(error);
            }
            Err(error) if ipp.follow == Follow::ToItsEnd && !error.is_refusal() => {
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
        (Follow::No, _) | (Follow::ToItsEnd, None) => {}
        (Follow::Within(_), None) => {
            let wrong = "its answer has no job-id, so the job cannot be waited for";
            return Err(Error::Protocol(wrong.to_owned()));
        }
        (Follow::Within(limit), Some(id)) => {
            answer.end = talk.wait(id, Waiting::Within(limit))?;
        }
        (Follow::ToItsEnd, Some(id)) => {
            talk.client.hurry(QUESTION);
            answer.end = talk.wait(id, Waiting::ToItsEnd)?;
        }
    }
    Ok(answer)
}

/// Cancels a job by a connection of its own, as that of a job that was stopped says no more.
fn cancel_apart(job: &Job, ipp: &Ipp, id: i32, dial: &Dial<'_>) -> bool {
    let monitor = Monitor::default();
    let mut client = Client::new(&job.target, &monitor, dial, CANCELLING);
    let operation = (Operation::CANCEL_JOB, client.next_id());
    let request = request(ipp.version, operation, &job.target, Some(id), &job.user);
    client.ask(&request).is_ok()
}

impl IppAnswer {
    fn take(&mut self, (done, response): (Done, Message)) {
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

/// A request to a printer, or about one of its jobs. The number stands behind the
/// printer, and the user behind both (RFC 8011, section 4.1.5).
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

impl Talk<'_> {
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
        // Some printers know no compression, not even the word for none.
        if self.ipp.compression != Compression::None {
            request.add("compression", Value::keyword(self.ipp.compression.id()));
        }
        request.add("document-format", Value::chars(CharKind::MediaType, &self.ipp.format));
    }

    /// What the printer is to do stands in a group of its own (RFC 8011, section
    /// 4.2.1.1).
    fn add_template(&self, request: &mut Message) {
        if !self.ipp.template.is_empty() {
            let attributes = self.ipp.template.clone();
            request.groups.push(Group { tag: GroupTag::JOB, attributes });
        }
    }

    /// A job that has no document waits for one, in some servers for ever.
    fn cancel(&mut self, id: i32) {
        self.client.hurry(CANCELLING);
        let request = self.request(Operation::CANCEL_JOB, Some(id));
        // Where it cannot be cancelled the server has told more already.
        let _ = self.client.ask(&request);
    }

    /// Finds out what became of a job whose connection broke off with an error. What the server
    /// has in part it is to print no more of; what it has whole is waited for.
    fn settle(&mut self, id: i32, size: Option<u64>, error: Error) -> Result<JobEnd, Error> {
        let has_all = |taken: PartialDelivery| size.is_some_and(|size| taken.acknowledged >= size);
        let waiting = match self.monitor.taken().is_some_and(has_all) {
            true => Waiting::ToItsEnd,
            false => Waiting::Canceling,
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

    /// Asks what the printer says of itself.
    fn ask_printer(&mut self) -> Result<(), Error> {
        let mut request = self.request(Operation::GET_PRINTER_ATTRIBUTES, None);
        request.want(&["printer-state-reasons"]);
        let (_, answer) = self.client.ask(&request)?;
        let group = answer.group(GroupTag::PRINTER);
        self.monitor.says(&keywords(group, "printer-state-reasons"));
        Ok(())
    }

    /// Asks after a job until it is over. Nothing where it was stopped.
    fn wait(&mut self, id: i32, waiting: Waiting) -> Result<Option<JobEnd>, Error> {
        let (began, mut pause) = (Instant::now(), POLLING.0);
        let mut answered = self.monitor.clock.now();
        let mut end = JobEnd::default();
        loop {
            if waiting == Waiting::Canceling {
                let request = self.request(Operation::CANCEL_JOB, Some(id));
                // Its state tells whether it is canceled.
                let _ = self.client.ask(&request);
            }
            let operation = Operation::GET_JOB_ATTRIBUTES;
            let mut request = self.request(operation, Some(id));
            request.want(&["job-state", "job-state-reasons", "job-impressions-completed"]);
            let asked = self.client.ask(&request);
            // What the printer says beside it is not worth an error.
            if waiting == Waiting::ToItsEnd
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
                // One that does not tell of its jobs has accepted this one.
                Err(error) if waiting == Waiting::ToItsEnd && tells_nothing(&error) => {
                    end.is_forgotten = true;
                    return Ok(Some(end));
                }
                Err(error) if matches!(waiting, Waiting::Within(_)) => return Err(error),
                Err(error) => {
                    // A printer that is off for a while has the job still.
                    let silent = self.monitor.clock.now().saturating_duration_since(answered);
                    if self.job.patience.get().is_some_and(|limit| silent >= limit) {
                        return Err(error);
                    }
                    self.monitor.stands(Standing::Stalled(Stall {
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
            self.monitor.stands(Standing::Moving);
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
            if matches!(waiting, Waiting::Within(limit) if began.elapsed() > limit) {
                end.is_late = true;
                return Ok(Some(end));
            }
        }
    }
}

/// Returns whether a server says that it does not tell of a job, now and later.
fn tells_nothing(error: &Error) -> bool {
    match error {
        Error::Ipp { status, .. } => matches!(status.0, 0x0400..=0x04ff | 0x0501 | 0x0503),
        Error::Http { status, .. } => matches!(status, 400..=499),
        _ => false,
    }
}

/// The keywords of an attribute, without `none`.
fn keywords(group: Option<&Group>, name: &str) -> Vec<String> {
    let attribute = group.and_then(|group| group.attribute(name));
    let values = attribute.map(|attribute| attribute.values.as_slice()).unwrap_or_default();
    let texts = values.iter().filter_map(Value::text).map(|text| one_line(&text));
    texts.filter(|text| text != "none").take(MAX_REASONS).collect()
}
