//! Operations that requests ask for (RFC 8011, section 4).

use windlass_wire::ipp::server::{Reply, RequestedAttributes};
use windlass_wire::ipp::{Group, GroupTag, JobState, Message, Operation, Status};

use super::attributes;
use super::printer::Printer;

/// The printer canceled a job while its document came (RFC 8011, appendix
/// B.1.5.9).
const JOB_CANCELED: Status = Status(0x0508);

/// Next step after a request's message.
#[derive(Clone, Debug)]
pub(super) enum OperationStep {
    /// The answer, whatever data follows.
    Answer(Box<Message>),
    /// A document follows.
    Receive(IncomingDocument),
}

impl OperationStep {
    /// Counts `bytes` bytes of the document.
    pub(super) fn count(&mut self, bytes: u64, printer: &mut Printer) {
        if let Self::Receive(receive) = self {
            receive.bytes = receive.bytes.saturating_add(bytes);
            printer.data(receive.id, bytes);
        }
    }
}

/// A document that comes in.
#[derive(Clone, Debug)]
pub(super) struct IncomingDocument {
    /// Number of the document's job.
    pub(super) id: i32,
    /// Bytes received so far.
    bytes: u64,
    /// True if the job ends with this document.
    is_last: bool,
    /// True if the document may be missing: a Send-Document that only ends the job.
    may_be_none: bool,
    reply: Reply,
}

impl IncomingDocument {
    /// Files the document, which has ended. Returns the answer.
    pub(super) fn file(&self, authority: &str, printer: &mut Printer) -> Message {
        let is_document = self.bytes > 0 || !self.may_be_none;
        printer.finish(self.id, is_document, self.is_last);
        match printer.job(self.id) {
            Ok(job) if job.state == JobState::Canceled => self.reply.refused(JOB_CANCELED),
            Ok(job) => self.reply.ok([attributes::of_created(job, authority)]),
            Err(status) => self.reply.refused(status),
        }
    }
}

/// Executes a request. The document of a refused request is read and discarded.
pub(super) fn done(request: &Message, authority: &str, printer: &mut Printer) -> OperationStep {
    let fits = request.fits().map_err(|unfit| unfit.status());
    fits.and_then(|()| step(request, authority, printer)).unwrap_or_else(|status| {
        OperationStep::Answer(Box::new(Reply::to(request).refused(status)))
    })
}

fn step(
    request: &Message,
    authority: &str,
    printer: &mut Printer,
) -> Result<OperationStep, Status> {
    let groups = match Operation(request.code) {
        Operation::PRINT_JOB => {
            of_printer(request)?;
            of_document(request)?;
            let id = create(request, printer)?;
            return receive(request, id, true, false, printer);
        }
        Operation::SEND_DOCUMENT => {
            let id = of_job(request)?;
            of_document(request)?;
            let is_last = request.is_last_document().map_err(|no| no.status)?;
            return receive(request, id, is_last, is_last, printer);
        }
        Operation::VALIDATE_JOB => {
            of_printer(request)?;
            of_document(request)?;
            Vec::new()
        }
        Operation::CREATE_JOB => {
            of_printer(request)?;
            let id = create(request, printer)?;
            vec![attributes::of_created(printer.job(id)?, authority)]
        }
        Operation::CANCEL_JOB => {
            printer.cancel(of_job(request)?)?;
            Vec::new()
        }
        Operation::GET_JOB_ATTRIBUTES => {
            let job = printer.job(of_job(request)?)?;
            let wanted = RequestedAttributes::of(request, &["all"]);
            vec![attributes::of_job(job, &wanted, authority, printer.up_time())]
        }
        Operation::GET_JOBS => {
            of_printer(request)?;
            jobs(request, authority, printer)?
        }
        Operation::GET_PRINTER_ATTRIBUTES => {
            of_printer(request)?;
            let wanted = RequestedAttributes::of(request, &["all"]);
            vec![attributes::of_printer(printer, &wanted, authority)]
        }
        _ => return Err(Status::OPERATION_NOT_SUPPORTED),
    };
    // Leaves out groups without requested attributes.
    let groups = groups.into_iter().filter(|group| !group.attributes.is_empty());
    Ok(OperationStep::Answer(Box::new(Reply::to(request).ok(groups))))
}

/// Returns the requested jobs (RFC 8011, section 4.2.6): finished jobs from the last to end, others
/// in their order.
fn jobs(request: &Message, authority: &str, printer: &Printer) -> Result<Vec<Group>, Status> {
    let which = request.said("which-jobs");
    let (is_over, is_live) = match which.as_deref().unwrap_or("not-completed") {
        "completed" => (true, false),
        "not-completed" => (false, true),
        "all" => (true, true),
        _ => return Err(Status::NOT_SUPPORTED),
    };
    let mine = request.only_of();
    let most = match request.number(GroupTag::OPERATION, "limit") {
        None => usize::MAX,
        Some(limit) => usize::try_from(limit).ok().filter(|n| *n > 0).ok_or(Status::BAD_REQUEST)?,
    };
    let wanted = RequestedAttributes::of(request, &["job-id", "job-uri"]);
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
    printer.create(request.job_name(), request.user()).map(|job| job.id)
}

fn receive(
    request: &Message,
    id: i32,
    is_last: bool,
    may_be_none: bool,
    printer: &mut Printer,
) -> Result<OperationStep, Status> {
    printer.begin(id)?;
    let reply = Reply::to(request);
    Ok(OperationStep::Receive(IncomingDocument { id, bytes: 0, is_last, may_be_none, reply }))
}

/// Checks that a request names a printer. There is only this one.
fn of_printer(request: &Message) -> Result<(), Status> {
    request.said("printer-uri").map(drop).ok_or(Status::BAD_REQUEST)
}

/// Checks the compression of a document. Any format is accepted, since nobody reads it.
fn of_document(request: &Message) -> Result<(), Status> {
    request.compression().map(drop).map_err(|no| no.status)
}

/// Returns the job number of a request: `job-id` beside `printer-uri`, or `job-uri`.
fn of_job(request: &Message) -> Result<i32, Status> {
    if let Some(uri) = request.said("job-uri") {
        let id = uri.rsplit('/').next().and_then(|id| id.parse().ok());
        return id.ok_or(Status::NOT_FOUND);
    }
    of_printer(request)?;
    request.number(GroupTag::OPERATION, "job-id").ok_or(Status::BAD_REQUEST)
}
