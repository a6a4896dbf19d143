//! Attributes of an emulated printer and of its jobs (RFC 8011, sections 5.3 and 5.4): those that
//! every printer must have, and those that CUPS's backend asks for.

use windlass_wire::ipp::server::{
    AttributeCategory, FilteredGroup, RequestedAttributes, name, number, text, uri, when, words,
};
use windlass_wire::ipp::{CharKind, Group, GroupTag, JobState, Operation, PrinterState, Value};

use super::printer::{Job, Printer};

/// Supported operations.
pub(super) const OPERATIONS: [Operation; 8] = [
    Operation::PRINT_JOB,
    Operation::VALIDATE_JOB,
    Operation::CREATE_JOB,
    Operation::SEND_DOCUMENT,
    Operation::CANCEL_JOB,
    Operation::GET_JOB_ATTRIBUTES,
    Operation::GET_JOBS,
    Operation::GET_PRINTER_ATTRIBUTES,
];

/// Seconds that a job waits for its next document (RFC 8011, section 5.4.31, asks for 60 to 240).
/// Here a job waits longer, as long as there is room for it.
const OPEN_FOR: i32 = 240;

fn printer_uri(authority: &str) -> String {
    format!("ipp://{authority}/ipp/print")
}

fn job_uri(id: i32, authority: &str) -> String {
    format!("{}/{id}", printer_uri(authority))
}

/// Returns the keyword of a job's state.
const fn reason(state: JobState) -> &'static str {
    match state {
        JobState::Pending => "job-incoming",
        JobState::Canceled => "job-canceled-by-user",
        JobState::Aborted => "aborted-by-system",
        JobState::Completed => "job-completed-successfully",
        JobState::Processing | JobState::PendingHeld | JobState::ProcessingStopped => "none",
    }
}

/// Returns the attributes of a job that was created (RFC 8011, section 4.2.1.2).
pub(super) fn of_created(job: &Job, authority: &str) -> Group {
    Group::new(GroupTag::JOB)
        .with("job-id", Value::Integer(job.id))
        .with("job-uri", uri(&job_uri(job.id, authority)))
        .with("job-state", Value::Enum(job.state.number()))
        .with("job-state-reasons", Value::keyword(reason(job.state)))
}

/// Returns the requested attributes of a job.
pub(super) fn of_job(job: &Job, wanted: &RequestedAttributes, authority: &str, now: i32) -> Group {
    let mut picked = FilteredGroup::new(GroupTag::JOB, wanted);
    let mut put = |name: &str, value: Value| picked.put(AttributeCategory::Job, name, || value);
    put("job-id", Value::Integer(job.id));
    put("job-uri", uri(&job_uri(job.id, authority)));
    put("job-printer-uri", uri(&printer_uri(authority)));
    put("job-name", name(&job.name));
    put("job-originating-user-name", name(&job.user));
    put("job-state", Value::Enum(job.state.number()));
    put("job-state-reasons", Value::keyword(reason(job.state)));
    put("job-k-octets", Value::Integer(number(job.bytes.div_ceil(1_024))));
    put("number-of-documents", Value::Integer(job.documents));
    put("job-printer-up-time", Value::Integer(now));
    put("time-at-creation", Value::Integer(job.created));
    put("time-at-processing", when(job.began));
    put("time-at-completed", when(job.ended));
    picked.finish()
}

/// Returns the requested attributes of the printer.
pub(super) fn of_printer(
    printer: &Printer,
    wanted: &RequestedAttributes,
    authority: &str,
) -> Group {
    let mut picked = FilteredGroup::new(GroupTag::PRINTER, wanted);
    let live = printer.jobs().filter(|job| !job.state.is_over());
    let state = match live.clone().any(|job| job.state == JobState::Processing) {
        true => PrinterState::Processing,
        false => PrinterState::Idle,
    };
    let mut put = |name: &str, value: Value| picked.put(AttributeCategory::Printer, name, || value);
    put("printer-uri-supported", uri(&printer_uri(authority)));
    put("uri-authentication-supported", Value::keyword("none"));
    put("uri-security-supported", Value::keyword("none"));
    put("printer-name", name("device"));
    put("printer-info", text("An emulated device"));
    put("printer-make-and-model", text("windlass emulated device"));
    put("printer-location", text(""));
    put("printer-state", Value::Enum(state.number()));
    put("printer-state-reasons", Value::keyword("none"));
    put("printer-state-message", text(""));
    put("printer-is-accepting-jobs", Value::Boolean(true));
    put("queued-job-count", Value::Integer(number(live.count() as u64)));
    put("printer-up-time", Value::Integer(printer.up_time()));
    picked.all(AttributeCategory::Printer, "ipp-versions-supported", || {
        words(&["1.0", "1.1", "2.0"])
    });
    picked.operations(&OPERATIONS);
    picked.speech();
    picked.compressions();
    let format = "application/octet-stream";
    let media = |format: &str| Value::chars(CharKind::MediaType, format);
    picked.put(AttributeCategory::Printer, "document-format-default", || media(format));
    picked.all(AttributeCategory::Printer, "document-format-supported", || {
        [format, "application/pdf", "application/postscript", "text/plain"].map(media).to_vec()
    });
    let mut put = |name: &str, value: Value| picked.put(AttributeCategory::Printer, name, || value);
    put("pdl-override-supported", Value::keyword("not-attempted"));
    put("multiple-document-jobs-supported", Value::Boolean(true));
    put("multiple-operation-time-out", Value::Integer(OPEN_FOR));
    picked.all(AttributeCategory::Printer, "which-jobs-supported", || {
        words(&["completed", "not-completed", "all"])
    });
    let mut put = |part, name: &str, value: Value| picked.put(part, name, || value);
    put(AttributeCategory::Printer, "job-ids-supported", Value::Boolean(true));
    put(AttributeCategory::Printer, "color-supported", Value::Boolean(false));
    put(AttributeCategory::Template, "copies-default", Value::Integer(1));
    put(AttributeCategory::Template, "copies-supported", Value::Range(1, 1));
    put(AttributeCategory::Template, "media-default", Value::keyword("iso_a4_210x297mm"));
    picked.all(AttributeCategory::Template, "media-supported", || {
        words(&["iso_a4_210x297mm", "na_letter_8.5x11in"])
    });
    for what in ["sides-default", "sides-supported"] {
        picked.put(AttributeCategory::Template, what, || Value::keyword("one-sided"));
    }
    picked.finish()
}
