//! JSON line of a finished job.

use std::borrow::Cow;
use std::sync::LazyLock;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use windlass_base::{Schema, Span, Timestamp};
use windlass_spool_core::{Account, Attempt, Moment, respond};
use windlass_wire::pages::Pages;

/// Schema id, as each line has it.
static SHAPE: LazyLock<String> = LazyLock::new(|| AccountLine::SCHEMA.to_string());

/// Accounting record of a finished job, as a line of JSON
/// (`schemas/spool-account-line.schema.json`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AccountLine<'a> {
    /// Schema id of the line.
    pub schema: Cow<'a, str>,
    /// Sequence number of the job's end since the spool was created.
    pub ending: u64,
    /// Number of the job.
    pub job: u32,
    /// Printer of the job.
    pub printer: Cow<'a, str>,
    /// User who owns the job.
    pub user: Cow<'a, str>,
    /// Host that sent the job.
    pub host: Cow<'a, str>,
    /// Name of the job.
    pub title: Cow<'a, str>,
    /// Media type of the documents.
    pub format: Cow<'a, str>,
    /// Outcome: `completed`, `canceled` or `aborted`.
    pub outcome: Cow<'a, str>,
    /// Time of arrival.
    pub created: String,
    /// Time at which a printer began the job first.
    pub began: Option<String>,
    /// Time of the end.
    pub ended: String,
    /// Time of the end, in milliseconds since 1970.
    pub ended_milliseconds: u64,
    /// Bytes of the documents.
    pub bytes: u64,
    /// Number of documents.
    pub documents: u16,
    /// Pages (sides) of the documents; null if unknown.
    pub pages: Option<u64>,
    /// Reason why the number of pages is unknown.
    pub pages_unknown: Option<Cow<'a, str>>,
    /// Number of copies.
    pub copies: u32,
    /// Sides that the printer was given; null if unknown.
    pub impressions: Option<u64>,
    /// `job-billing` as the client sent it.
    pub billing: Option<String>,
    /// `media` as the client sent it.
    pub media: Option<String>,
    /// `sides` as the client sent it.
    pub sides: Option<String>,
    /// Number of attempts.
    pub attempts: u32,
    /// Time from the arrival until a printer began the job first, in seconds.
    pub queue_seconds: Option<f64>,
    /// Last attempt: time until the device accepted the connection, in seconds.
    pub connecting_seconds: Option<f64>,
    /// Last attempt: time from the first byte of data to the last acknowledged one, in seconds.
    pub sending_seconds: Option<f64>,
    /// Last attempt: time from then until the device confirmed the job or closed, in seconds.
    pub answering_seconds: Option<f64>,
    /// Limit of the last attempt's transfer, as `window/ack-latency`.
    pub limit: Option<String>,
    /// Error of the last attempt that failed.
    pub failure: Option<Cow<'a, str>>,
    /// Bytes that devices may have printed in attempts that broke off.
    #[serde(default)]
    pub broken_off_bytes: u64,
}

impl<'a> AccountLine<'a> {
    /// Schema id of the line.
    pub const SCHEMA: Schema = Schema { name: "windlass.spool-account-line", version: 1 };

    /// Creates the line of a job.
    pub(super) fn new(account: &'a Account) -> Self {
        let template = respond::template(&account.ticket.template);
        let said = |name: &str| {
            let found = template.iter().find(|one| one.name == name)?;
            found.values.first()?.text().map(|text| text.to_string())
        };
        let pages_unknown = match account.pages {
            Some(Pages::Counted(_)) => None,
            Some(Pages::Unknown(why)) => Some(Cow::from(why.words())),
            None => Some(Cow::from("no printer began it")),
        };
        let attempt = account.last_attempt.as_deref();
        let took = |part: fn(&Attempt) -> Option<Duration>| {
            attempt.and_then(part).map(|part| part.as_secs_f64())
        };
        let ticket = &account.ticket;
        Self {
            schema: Cow::from(SHAPE.as_str()),
            ending: account.ending,
            job: account.job,
            printer: Cow::from(&account.printer),
            user: Cow::from(&*ticket.user),
            host: Cow::from(&*ticket.host),
            title: Cow::from(&*ticket.name),
            format: Cow::from(&*ticket.format),
            outcome: Cow::from(account.how.keyword()),
            created: time(account.created),
            began: account.began.map(time),
            ended: time(account.ended),
            ended_milliseconds: account.ended.0,
            bytes: account.bytes,
            documents: account.documents,
            pages: account.pages.and_then(Pages::known),
            pages_unknown,
            copies: account.copies,
            impressions: account.impressions(),
            billing: said("job-billing"),
            media: said("media"),
            sides: said("sides"),
            attempts: account.attempts,
            queue_seconds: account.began.map(|at| account.created.until(at).as_secs_f64()),
            connecting_seconds: took(|one| one.connecting),
            sending_seconds: took(|one| one.sending),
            answering_seconds: took(|one| one.answering),
            limit: attempt.and_then(|one| Some(one.limit.as_ref()?.cause.to_string())),
            failure: account.failure.as_deref().map(Cow::from),
            broken_off_bytes: account.broken_off,
        }
    }
}

fn time(moment: Moment) -> String {
    let span = Span::from_duration(Duration::from_millis(moment.0));
    (Timestamp::ZERO + span).to_string()
}
