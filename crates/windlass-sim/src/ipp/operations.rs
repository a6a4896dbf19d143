//! What requests come to (RFC 8011, section 4).

use windlass_wire::ipp::{
    CharKind, Group, GroupTag, JobState, Message, Operation, Status, Value, Version,
};

use super::attributes::{self, COMPRESSIONS, Wanted};
use super::printer::Printer;

/// The printer canceled a job while its document came (RFC 8011, appendix
/// B.1.5.9).
const JOB_CANCELED: Status = Status(0x0508);

/// What becomes of a request.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// It is answered, whatever follows.
    Answer(Box<Message>),
    /// What follows is a document.
    Receive(Receive),
}

/// A document that comes in.
#[derive(Clone, Debug)]
pub(super) struct Receive {
    /// Of which job.
    pub(super) id: i32,
    /// What came of it.
    pub(super) bytes: u64,
    /// Whether the job ends with it.
    is_last: bool,
    /// Whether it may be missing: a Send-Document that only ends the job.
    may_be_none: bool,
    version: Version,
    request_id: u32,
}

impl Receive {
    /// It has ended: the answer.
    pub(super) fn file(&self, authority: &str, printer: &mut Printer) -> Message {
        let is_document = self.bytes > 0 || !self.may_be_none;
        printer.finish(self.id, is_document, self.is_last);
        let job = match printer.job(self.id) {
            Ok(job) if job.state == JobState::Canceled => {
                return answer(self.version, self.request_id, JOB_CANCELED);
            }
            Ok(job) => job,
            Err(status) => return answer(self.version, self.request_id, status),
        };
        let mut answer = answer(self.version, self.request_id, Status::OK);
        answer.groups.push(attributes::of_created(job, authority));
        answer
    }
}

/// What becomes of a request. The document of one that is refused is read and
/// thrown away.
pub(super) fn done(request: &Message, authority: &str, printer: &mut Printer) -> Step {
    let fits = request.fits().map_err(|unfit| unfit.status());
    fits.and_then(|()| step(request, authority, printer)).unwrap_or_else(|status| {
        Step::Answer(Box::new(answer(request.version, request.request_id, status)))
    })
}

fn step(request: &Message, authority: &str, printer: &mut Printer) -> Result<Step, Status> {
    let ok = || answer(request.version, request.request_id, Status::OK);
    let mut answer = match Operation(request.code) {
        Operation::PRINT_JOB => {
            of_printer(request)?;
            of_document(request)?;
            let id = create(request, printer)?;
            return receive(request, id, true, false, printer);
        }
        Operation::SEND_DOCUMENT => {
            let id = of_job(request)?;
            of_document(request)?;
            let is_last = match request.value(GroupTag::OPERATION, "last-document") {
                Some(Value::Boolean(is_last)) => *is_last,
                _ => return Err(Status::BAD_REQUEST),
            };
            return receive(request, id, is_last, is_last, printer);
        }
        Operation::VALIDATE_JOB => {
            of_printer(request)?;
            of_document(request)?;
            ok()
        }
        Operation::CREATE_JOB => {
            of_printer(request)?;
            let id = create(request, printer)?;
            let mut answer = ok();
            answer.groups.push(attributes::of_created(printer.job(id)?, authority));
            answer
        }
        Operation::CANCEL_JOB => {
            printer.cancel(of_job(request)?)?;
            ok()
        }
        Operation::GET_JOB_ATTRIBUTES => {
            let job = printer.job(of_job(request)?)?;
            let wanted = Wanted::of(request, &["all"]);
            let mut answer = ok();
            answer.groups.push(attributes::of_job(job, &wanted, authority, printer.up_time()));
            answer
        }
        Operation::GET_JOBS => {
            of_printer(request)?;
            let mut answer = ok();
            answer.groups.extend(jobs(request, authority, printer)?);
            answer
        }
        Operation::GET_PRINTER_ATTRIBUTES => {
            of_printer(request)?;
            let wanted = Wanted::of(request, &["all"]);
            let mut answer = ok();
            answer.groups.push(attributes::of_printer(printer, &wanted, authority));
            answer
        }
        _ => return Err(Status::OPERATION_NOT_SUPPORTED),
    };
    // A group that nothing was asked of is none.
    answer.groups.retain(|group| !group.attributes.is_empty());
    Ok(Step::Answer(Box::new(answer)))
}

/// The jobs that are asked for (RFC 8011, section 4.2.6): the last to end first,
/// those to come in their order.
fn jobs(request: &Message, authority: &str, printer: &Printer) -> Result<Vec<Group>, Status> {
    let which = of_operation(request, "which-jobs").unwrap_or_else(|| "not-completed".to_owned());
    let (is_over, is_live) = match which.as_str() {
        "completed" => (true, false),
        "not-completed" => (false, true),
        "all" => (true, true),
        _ => return Err(Status::NOT_SUPPORTED),
    };
    let mine = matches!(request.value(GroupTag::OPERATION, "my-jobs"), Some(Value::Boolean(true)))
        .then(|| user(request));
    let most = match request.number(GroupTag::OPERATION, "limit") {
        None => usize::MAX,
        Some(limit) => usize::try_from(limit).ok().filter(|n| *n > 0).ok_or(Status::BAD_REQUEST)?,
    };
    let wanted = Wanted::of(request, &["job-id", "job-uri"]);
    let live = printer.jobs().filter(|job| is_live && !job.state.is_over());
    let over = printer.jobs().rev().filter(|job| is_over && job.state.is_over());
    let now = printer.up_time();
    Ok(live
        .chain(over)
        .filter(|job| mine.as_ref().is_none_or(|user| *user == job.user))
        .take(most)
        .map(|job| attributes::of_job(job, &wanted, authority, now))
        .collect())
}

fn create(request: &Message, printer: &mut Printer) -> Result<i32, Status> {
    let name = of_operation(request, "job-name").or_else(|| of_operation(request, "document-name"));
    let name = name.unwrap_or_else(|| "untitled".to_owned());
    printer.create(name, user(request)).map(|job| job.id)
}

fn receive(
    request: &Message,
    id: i32,
    is_last: bool,
    may_be_none: bool,
    printer: &mut Printer,
) -> Result<Step, Status> {
    printer.begin(id)?;
    let (version, request_id) = (request.version, request.request_id);
    Ok(Step::Receive(Receive { id, bytes: 0, is_last, may_be_none, version, request_id }))
}

/// Whether a request says to whom it goes. The printer is the only one.
fn of_printer(request: &Message) -> Result<(), Status> {
    of_operation(request, "printer-uri").map(drop).ok_or(Status::BAD_REQUEST)
}

/// Whether the document is one that is taken: of any format, since nobody reads
/// it.
fn of_document(request: &Message) -> Result<(), Status> {
    match of_operation(request, "compression") {
        Some(word) if !COMPRESSIONS.contains(&word.as_str()) => {
            Err(Status::COMPRESSION_NOT_SUPPORTED)
        }
        _ => Ok(()),
    }
}

/// The job of a request: `job-id` beside `printer-uri`, or `job-uri`.
fn of_job(request: &Message) -> Result<i32, Status> {
    if let Some(uri) = request.text(GroupTag::OPERATION, "job-uri") {
        let id = uri.rsplit('/').next().and_then(|id| id.parse().ok());
        return id.ok_or(Status::NOT_FOUND);
    }
    of_printer(request)?;
    request.number(GroupTag::OPERATION, "job-id").ok_or(Status::BAD_REQUEST)
}

fn user(request: &Message) -> String {
    let user = of_operation(request, "requesting-user-name");
    user.unwrap_or_else(|| "anonymous".to_owned())
}

/// An attribute of the operation as text: as much of it as a name may have
/// (RFC 8011, section 5.1.3).
fn of_operation(request: &Message, name: &str) -> Option<String> {
    const MAX: usize = 255;
    let text = request.text(GroupTag::OPERATION, name)?;
    let end = text.char_indices().map(|(at, one)| at + one.len_utf8()).take_while(|at| *at <= MAX);
    Some(text[..end.last().unwrap_or(0)].to_owned())
}

fn answer(version: Version, request_id: u32, status: Status) -> Message {
    let mut answer = Message::response(version, status, request_id);
    if !status.is_successful()
        && let Some(name) = status.name()
    {
        answer.add("status-message", Value::chars(CharKind::Text, name));
    }
    answer
}
