//! The line of JSON of a job that is over.

use std::borrow::Cow;
use std::sync::LazyLock;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use windlass_base::{Schema, Span, Timestamp};
use windlass_spool_core::{Account, Attempt, Moment, respond};
use windlass_wire::pages::Pages;

/// The shape, as each line has it.
static SHAPE: LazyLock<String> = LazyLock::new(|| AccountLine::SCHEMA.to_string());

/// What is accounted for of a job that is over, as a line of JSON has it
/// (`schemas/spool-account-line.schema.json`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AccountLine<'a> {
    /// The shape of the line.
    pub schema: Cow<'a, str>,
    /// Which ending of a job it is since the spool was made.
    pub ending: u64,
    /// The job's number.
    pub job: u32,
    /// The printer that had it.
    pub printer: Cow<'a, str>,
    /// Whose it was.
    pub user: Cow<'a, str>,
    /// The host that it came from.
    pub host: Cow<'a, str>,
    /// What it was called.
    pub title: Cow<'a, str>,
    /// What its documents were: a media type.
    pub format: Cow<'a, str>,
    /// `completed`, `canceled` or `aborted`.
    pub outcome: Cow<'a, str>,
    /// When it came.
    pub created: String,
    /// When its printer got it first.
    pub began: Option<String>,
    /// When it ended.
    pub ended: String,
    /// The same in milliseconds since 1970.
    pub ended_milliseconds: u64,
    /// Bytes of its documents.
    pub bytes: u64,
    /// How many documents it had.
    pub documents: u16,
    /// Pages (sides) of its documents; null where that is not known.
    pub pages: Option<u64>,
    /// Why it is not.
    pub pages_unknown: Option<Cow<'a, str>>,
    /// How often they were printed.
    pub copies: u32,
    /// Sides that the printer was given; null where that is not known.
    pub impressions: Option<u64>,
    /// `job-billing`, `media` and `sides` as the client said them.
    pub billing: Option<String>,
    /// See above.
    pub media: Option<String>,
    /// See above.
    pub sides: Option<String>,
    /// How often it was tried.
    pub attempts: u32,
    /// From its arrival until its printer got it first.
    pub queue_seconds: Option<f64>,
    /// Of the last attempt: until the device took the connection, while data was sent, and
    /// until the device said that it has it.
    pub connecting_seconds: Option<f64>,
    /// See above.
    pub sending_seconds: Option<f64>,
    /// See above.
    pub answering_seconds: Option<f64>,
    /// What held the data back then, as `window/ack-latency`.
    pub limit: Option<String>,
    /// Why it did not go the last time that it did not.
    pub failure: Option<Cow<'a, str>>,
    /// Bytes that devices may have printed in attempts that broke off.
    #[serde(default)]
    pub broken_off_bytes: u64,
}

impl<'a> AccountLine<'a> {
    /// The shape of the line.
    pub const SCHEMA: Schema = Schema { name: "windlass.spool-account-line", version: 1 };

    /// Of a job.
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
