//! What an emulated printer tells of itself and of its jobs (RFC 8011, sections
//! 5.3 and 5.4): what every printer has to, and what CUPS's backend asks for.

use windlass_wire::ipp::{
    Attribute, CharKind, Group, GroupTag, JobState, Message, Operation, OutOfBand, PrinterState,
    Value,
};

use super::printer::{Job, Printer};

/// Compressions that are taken. The document is thrown away as it is.
pub(super) const COMPRESSIONS: [&str; 3] = ["none", "gzip", "deflate"];

/// What is answered.
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

/// The seconds that a job waits for its next document (RFC 8011, section 5.4.31,
/// asks for 60 to 240). It waits longer here, as long as there is room for it.
const OPEN_FOR: i32 = 240;

/// Which attributes a request asks for (RFC 8011, section 4.2.5.1).
pub(super) struct Wanted<'a>(Vec<std::borrow::Cow<'a, str>>);

impl<'a> Wanted<'a> {
    /// Of a request; `usual` where it does not say.
    pub(super) fn of(request: &'a Message, usual: &[&'a str]) -> Self {
        let asked = request
            .group(GroupTag::OPERATION)
            .and_then(|group| group.attribute("requested-attributes"));
        Self(match asked {
            Some(asked) => asked.values.iter().filter_map(Value::text).collect(),
            None => usual.iter().map(|name| (*name).into()).collect(),
        })
    }

    fn has(&self, group: &str, name: &str) -> bool {
        self.0.iter().any(|one| *one == name || *one == "all" || *one == group)
    }

    /// Those of a group of attributes that are asked for.
    fn pick(&self, group: &str, from: Vec<(&str, Vec<Value>)>, into: &mut Group) {
        for (name, values) in from {
            if self.has(group, name) {
                into.attributes.push(Attribute { name: name.to_owned(), values });
            }
        }
    }
}

fn keywords(words: &[&str]) -> Vec<Value> {
    words.iter().map(|word| Value::keyword(word)).collect()
}

fn chars(kind: CharKind, text: &str) -> Vec<Value> {
    vec![Value::chars(kind, text)]
}

const fn moment(time: Option<i32>) -> Value {
    match time {
        Some(time) => Value::Integer(time),
        None => Value::OutOfBand(OutOfBand::NoValue),
    }
}

fn printer_uri(authority: &str) -> String {
    format!("ipp://{authority}/ipp/print")
}

fn job_uri(id: i32, authority: &str) -> String {
    format!("{}/{id}", printer_uri(authority))
}

/// What a job is in, as a keyword.
const fn reason(state: JobState) -> &'static str {
    match state {
        JobState::Pending => "job-incoming",
        JobState::Canceled => "job-canceled-by-user",
        JobState::Aborted => "aborted-by-system",
        JobState::Completed => "job-completed-successfully",
        JobState::Processing | JobState::Held | JobState::Stopped => "none",
    }
}

/// What is told of a job that was created (RFC 8011, section 4.2.1.2).
pub(super) fn of_created(job: &Job, authority: &str) -> Group {
    Group::new(GroupTag::JOB)
        .with("job-id", Value::Integer(job.id))
        .with("job-uri", Value::chars(CharKind::Uri, job_uri(job.id, authority)))
        .with("job-state", Value::Enum(job.state.number()))
        .with("job-state-reasons", Value::keyword(reason(job.state)))
}

/// What is known of a job, as far as it is asked for.
pub(super) fn of_job(job: &Job, wanted: &Wanted<'_>, authority: &str, now: i32) -> Group {
    let kilobytes = i32::try_from(job.bytes.div_ceil(1_024)).unwrap_or(i32::MAX);
    let mut group = Group::new(GroupTag::JOB);
    let all = vec![
        ("job-id", vec![Value::Integer(job.id)]),
        ("job-uri", chars(CharKind::Uri, &job_uri(job.id, authority))),
        ("job-printer-uri", chars(CharKind::Uri, &printer_uri(authority))),
        ("job-name", chars(CharKind::Name, &job.name)),
        ("job-originating-user-name", chars(CharKind::Name, &job.user)),
        ("job-state", vec![Value::Enum(job.state.number())]),
        ("job-state-reasons", keywords(&[reason(job.state)])),
        ("job-k-octets", vec![Value::Integer(kilobytes)]),
        ("number-of-documents", vec![Value::Integer(job.documents)]),
        ("job-printer-up-time", vec![Value::Integer(now)]),
        ("time-at-creation", vec![Value::Integer(job.created)]),
        ("time-at-processing", vec![moment(job.began)]),
        ("time-at-completed", vec![moment(job.ended)]),
    ];
    wanted.pick("job-description", all, &mut group);
    group
}

/// What is known of the printer, as far as it is asked for.
pub(super) fn of_printer(printer: &Printer, wanted: &Wanted<'_>, authority: &str) -> Group {
    let live = printer.jobs().filter(|job| !job.state.is_over());
    let state = match live.clone().any(|job| job.state == JobState::Processing) {
        true => PrinterState::Processing,
        false => PrinterState::Idle,
    };
    let queued = i32::try_from(live.count()).unwrap_or(i32::MAX);
    let format = "application/octet-stream";
    let mut group = Group::new(GroupTag::PRINTER);
    let description = vec![
        ("printer-uri-supported", chars(CharKind::Uri, &printer_uri(authority))),
        ("uri-authentication-supported", keywords(&["none"])),
        ("uri-security-supported", keywords(&["none"])),
        ("printer-name", chars(CharKind::Name, "device")),
        ("printer-info", chars(CharKind::Text, "An emulated device")),
        ("printer-make-and-model", chars(CharKind::Text, "windlass emulated device")),
        ("printer-location", chars(CharKind::Text, "")),
        ("printer-state", vec![Value::Enum(state.number())]),
        ("printer-state-reasons", keywords(&["none"])),
        ("printer-state-message", chars(CharKind::Text, "")),
        ("printer-is-accepting-jobs", vec![Value::Boolean(true)]),
        ("queued-job-count", vec![Value::Integer(queued)]),
        ("printer-up-time", vec![Value::Integer(printer.up_time())]),
        ("ipp-versions-supported", keywords(&["1.0", "1.1", "2.0"])),
        (
            "operations-supported",
            OPERATIONS.iter().map(|one| Value::Enum(i32::from(one.0))).collect(),
        ),
        ("charset-configured", chars(CharKind::Charset, "utf-8")),
        (
            "charset-supported",
            ["us-ascii", "utf-8"].map(|one| Value::chars(CharKind::Charset, one)).to_vec(),
        ),
        ("natural-language-configured", chars(CharKind::Language, "en")),
        ("generated-natural-language-supported", chars(CharKind::Language, "en")),
        ("compression-supported", keywords(&COMPRESSIONS)),
        ("document-format-default", chars(CharKind::MediaType, format)),
        (
            "document-format-supported",
            [format, "application/pdf", "application/postscript", "text/plain"]
                .map(|one| Value::chars(CharKind::MediaType, one))
                .to_vec(),
        ),
        ("pdl-override-supported", keywords(&["not-attempted"])),
        ("multiple-document-jobs-supported", vec![Value::Boolean(true)]),
        ("multiple-operation-time-out", vec![Value::Integer(OPEN_FOR)]),
        ("which-jobs-supported", keywords(&["completed", "not-completed", "all"])),
        ("job-ids-supported", vec![Value::Boolean(true)]),
        ("color-supported", vec![Value::Boolean(false)]),
    ];
    let template = vec![
        ("copies-default", vec![Value::Integer(1)]),
        ("copies-supported", vec![Value::Range(1, 1)]),
        ("media-default", keywords(&["iso_a4_210x297mm"])),
        ("media-supported", keywords(&["iso_a4_210x297mm", "na_letter_8.5x11in"])),
        ("sides-default", keywords(&["one-sided"])),
        ("sides-supported", keywords(&["one-sided"])),
    ];
    wanted.pick("printer-description", description, &mut group);
    wanted.pick("job-template", template, &mut group);
    group
}
