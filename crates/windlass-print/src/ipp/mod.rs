//! IPP: requests over HTTP, and the end of a job.

pub(crate) mod exchange;

use std::thread;
use std::time::{Duration, Instant};

pub(crate) use exchange::Client;
use serde::Serialize;
use windlass_base::Span;
use windlass_wire::ipp::{
    CharKind, Compression, Group, GroupTag, JobState, Message, Operation, Status, Value,
};

use crate::document::Document;
use crate::error::{Error, one_line};
use crate::job::{Dial, Ipp, Job};
use crate::monitor::{Event, Monitor};

/// From one question after a job to the next: the first, and the longest.
const POLLING: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// How often it is looked whether it was stopped.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How long the cancelling of a job without a document may take.
const CANCELLING: Duration = Duration::from_secs(5);

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
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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

pub(crate) fn send(
    job: &Job,
    ipp: &Ipp,
    document: &mut Document,
    monitor: &Monitor,
    dial: &mut dyn Dial,
) -> Result<IppAnswer, Error> {
    let mut client = Client::new(&job.target, monitor, dial, job.patience);
    let mut answer = IppAnswer::default();
    if ipp.create_job {
        let mut request = created(job, request(job, ipp, &mut client, Operation::CREATE_JOB));
        add_template(&mut request, ipp);
        let (done, response) = client.ask(&request)?;
        answer.operations.push(done);
        answer.of_job(&response);
        let id = answer
            .job_id
            .ok_or_else(|| Error::Protocol("its answer to Create-Job has no job-id".to_owned()))?;
        let mut request = request_of_job(job, ipp, &mut client, Operation::SEND_DOCUMENT, id);
        add_document(&mut request, job, ipp);
        request.add("last-document", Value::Boolean(true));
        let sent = client.send(&request, ipp.compression, document);
        if sent.is_err() {
            cancel(job, ipp, &mut client, id);
        }
        let (done, response) = sent?;
        answer.operations.push(done);
        answer.of_job(&response);
    } else {
        let request = request(job, ipp, &mut client, Operation::PRINT_JOB);
        let mut request = created(job, request);
        add_document(&mut request, job, ipp);
        add_template(&mut request, ipp);
        let (done, response) = client.send(&request, ipp.compression, document)?;
        answer.operations.push(done);
        answer.of_job(&response);
    }
    monitor.answered();
    if let Some(limit) = ipp.wait {
        let id = answer.job_id.ok_or_else(|| {
            Error::Protocol("its answer has no job-id, so the job cannot be waited for".to_owned())
        })?;
        answer.end = wait(job, ipp, &mut client, monitor, id, limit)?;
    }
    Ok(answer)
}

impl IppAnswer {
    fn of_job(&mut self, response: &Message) {
        let job = GroupTag::JOB;
        self.job_id = response.number(job, "job-id").or(self.job_id);
        self.job_uri =
            response.text(job, "job-uri").map(|uri| one_line(&uri)).or(self.job_uri.take());
        self.state = state(response).or(self.state);
    }
}

fn state(response: &Message) -> Option<JobState> {
    response.number(GroupTag::JOB, "job-state").and_then(JobState::new)
}

/// A request to the printer.
fn request(job: &Job, ipp: &Ipp, client: &mut Client<'_>, operation: Operation) -> Message {
    let mut request = Message::request(ipp.version, operation, client.next_id());
    request.add("printer-uri", Value::chars(CharKind::Uri, job.target.uri()));
    request.add("requesting-user-name", Value::chars(CharKind::Name, &job.user));
    request
}

/// A request about a job. The number stands behind the printer, and the user
/// behind both (RFC 8011, section 4.1.5).
fn request_of_job(
    job: &Job,
    ipp: &Ipp,
    client: &mut Client<'_>,
    operation: Operation,
    id: i32,
) -> Message {
    let mut request = Message::request(ipp.version, operation, client.next_id());
    request.add("printer-uri", Value::chars(CharKind::Uri, job.target.uri()));
    request.add("job-id", Value::Integer(id));
    request.add("requesting-user-name", Value::chars(CharKind::Name, &job.user));
    request
}

fn created(job: &Job, mut request: Message) -> Message {
    request.add("job-name", Value::chars(CharKind::Name, &job.name));
    request
}

fn add_document(request: &mut Message, job: &Job, ipp: &Ipp) {
    request.add("document-name", Value::chars(CharKind::Name, &job.name));
    // Some printers know no compression, not even the word for none.
    if ipp.compression != Compression::None {
        request.add("compression", Value::keyword(ipp.compression.keyword()));
    }
    request.add("document-format", Value::chars(CharKind::MediaType, &ipp.format));
}

/// What the printer is to do stands in a group of its own (RFC 8011, section
/// 4.2.1.1).
fn add_template(request: &mut Message, ipp: &Ipp) {
    if !ipp.template.is_empty() {
        request.groups.push(Group { tag: GroupTag::JOB, attributes: ipp.template.clone() });
    }
}

/// A job that has no document waits for one, in some servers for ever.
fn cancel(job: &Job, ipp: &Ipp, client: &mut Client<'_>, id: i32) {
    client.hurry(CANCELLING);
    let request = request_of_job(job, ipp, client, Operation::CANCEL_JOB, id);
    // Where it cannot be cancelled the server has told more already.
    let _ = client.ask(&request);
}

/// Asks after a job until it is over. Nothing where it was stopped.
fn wait(
    job: &Job,
    ipp: &Ipp,
    client: &mut Client<'_>,
    monitor: &Monitor,
    id: i32,
    limit: Duration,
) -> Result<Option<JobEnd>, Error> {
    let (began, mut pause) = (Instant::now(), POLLING.0);
    let mut end = JobEnd {
        state: None,
        reasons: Vec::new(),
        is_forgotten: false,
        is_late: false,
        seconds: Span::ZERO,
    };
    loop {
        let operation = Operation::GET_JOB_ATTRIBUTES;
        let mut request = request_of_job(job, ipp, client, operation, id);
        request.want(&["job-state", "job-state-reasons"]);
        let asked = client.ask(&request);
        end.seconds = Span::from_duration(began.elapsed());
        let response = match asked {
            Ok((_, response)) => response,
            Err(Error::Ipp { status, .. }) if matches!(status.0, 0x0406 | 0x0407) => {
                end.is_forgotten = true;
                return Ok(Some(end));
            }
            Err(Error::Stopped) => return Ok(None),
            Err(error) => return Err(error),
        };
        let now = state(&response).ok_or_else(|| {
            Error::Protocol("its answer to Get-Job-Attributes has no job-state".to_owned())
        })?;
        end.reasons = reasons(&response);
        if end.state.replace(now) != Some(now) {
            monitor.tell(Event::State(now.keyword().to_owned()));
        }
        if now.is_over() {
            return Ok(Some(end));
        }
        let next = Instant::now() + pause;
        while Instant::now() < next {
            if monitor.is_stopped() {
                return Ok(None);
            }
            thread::sleep(POLL_INTERVAL.min(next.saturating_duration_since(Instant::now())));
        }
        pause = (pause * 2).min(POLLING.1);
        if began.elapsed() > limit {
            end.is_late = true;
            return Ok(Some(end));
        }
    }
}

fn reasons(response: &Message) -> Vec<String> {
    let attribute =
        response.group(GroupTag::JOB).and_then(|group| group.attribute("job-state-reasons"));
    let values = attribute.map(|attribute| attribute.values.as_slice()).unwrap_or_default();
    let texts = values.iter().filter_map(Value::text).map(|text| one_line(&text));
    texts.filter(|text| text != "none").take(MAX_REASONS).collect()
}
