//! Lines that `windlass send --json-stream` prints before its report: one for each event.

use serde::Serialize;
use windlass_base::Schema;
use windlass_drive::Protocol;
use windlass_drive::report::Interval;
use windlass_drive::transfer::Transfer;
use windlass_output::{Page, Record};

/// A line.
#[derive(Debug, Serialize)]
pub(super) struct Line<'a> {
    schema: Schema,
    #[serde(flatten)]
    event: Event<'a>,
}

/// Event of a test.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(super) enum Event<'a> {
    /// A test is asked for.
    Begins { host: &'a str, port: u16, protocol: Protocol, transfer: &'a Transfer },
    /// An interval of the test is over.
    Interval { interval: &'a Interval },
}

impl<'a> Line<'a> {
    /// The shape of the JSON, described by `schemas/send-stream.schema.json`.
    const SCHEMA: Schema = Schema { name: "windlass.send-stream", version: 1 };

    pub(super) const fn of(event: Event<'a>) -> Self {
        Self { schema: Self::SCHEMA, event }
    }
}

impl Record for Line<'_> {
    // These lines exist as JSON only.
    fn text(&self, _: &mut Page) {}
}
