//! A running sweep: its measurements so far.

use serde::Deserialize;
use windlass_base::{Bytes, Rate, Span};
use windlass_output::html::Html;
use windlass_output::{Page, Style, Table, Text, figures};

/// A line of `windlass sweep --json-stream`.
#[derive(Debug, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(super) enum SweepEvent {
    Begins { within_seconds: Option<Span> },
    Measurement(SweepPoint),
    Refused {},
}

/// A measurement.
#[derive(Debug, Deserialize)]
pub(super) struct SweepPoint {
    number: u64,
    direction: String,
    window_bytes: Option<Bytes>,
    streams: u64,
    congestion: Option<String>,
    bits_per_second: f64,
    rtt_seconds: Option<Span>,
    retransmissions: u64,
    verdict: Option<String>,
    spent_seconds: Span,
}

/// A sweep so far.
#[derive(Debug, Default)]
pub(super) struct SweepProgress {
    pub(super) has_begun: bool,
    within: Option<Span>,
    measured: Vec<SweepPoint>,
}

impl SweepProgress {
    /// Takes in a line.
    pub(super) fn push(&mut self, event: SweepEvent) {
        match event {
            SweepEvent::Begins { within_seconds } => {
                (self.has_begun, self.within) = (true, within_seconds);
            }
            SweepEvent::Measurement(measured) => self.measured.push(measured),
            SweepEvent::Refused {} => {}
        }
    }

    /// Writes its figures, the newest first.
    pub(super) fn write(&self, html: &mut Html, since: Span) {
        let last = self.measured.last();
        let rate = |measured: &SweepPoint| Rate::from_bits_per_second(measured.bits_per_second);
        let best = self
            .measured
            .iter()
            .map(rate)
            .max_by(|one, other| one.bytes_per_second().total_cmp(&other.bytes_per_second()));
        let spent = last.map(|last| match self.within {
            Some(within) => format!("{} of {within} at most", last.spent_seconds),
            None => last.spent_seconds.to_string(),
        });
        html.cards([
            ("best", "best so far".to_owned(), best.map(|rate| figures::both(rate).plain())),
            ("", "last".to_owned(), last.map(|last| figures::both(rate(last)).plain())),
            ("", "measurements".to_owned(), last.map(|last| last.number.to_string())),
            ("", "measured for".to_owned(), spent),
            ("", "since the start".to_owned(), Some(since.to_string())),
        ]);
        if self.measured.is_empty() {
            html.element(
                "p class=\"soft\"",
                "The first figures appear after the first measurement.",
            );
            return;
        }
        let mut table = Table::headed(
            "number: | direction | window: | streams: | congestion control | rate: | RTT: | \
             retransmissions: | limit",
        );
        for one in self.measured.iter().rev() {
            table.push([
                Text::from(one.number),
                Text::from(&one.direction),
                one.window_bytes.map_or_else(|| Text::from("autotuned"), figures::size),
                Text::from(one.streams),
                Text::known(one.congestion.as_ref()),
                Text::default().strong(figures::both(rate(one)).plain()),
                Text::known(one.rtt_seconds),
                Text::rare(one.retransmissions, Style::Warn),
                Text::known(one.verdict.as_ref()),
            ]);
        }
        let mut page = Page::html();
        page.table(&table);
        html.raw(&page.finish());
    }
}
