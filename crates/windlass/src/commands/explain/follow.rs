//! The active transfers of a growing capture.

use std::io;

use serde::Serialize;
use windlass_base::{MAX_INTERVALS, Span, Timestamp};
use windlass_output::live::{LiveView, MOST_ROWS};
use windlass_output::{Format, Output};
use windlass_trace::{Analysis, Snapshot};
use windlass_wire::{Observer, Packet, PacketTooBig, Segment};

use crate::commands::moving;

/// Interval of the output, by the capture's clock, as in `capture --explain`.
pub(super) const EVERY: Span = Span::from_millis(1_000);

/// Maximum number of connections shown in an interval.
const MAX_SHOWN: usize = 10;

/// The active transfers of an interval.
#[derive(Debug, Serialize)]
pub(super) struct Interval {
    from_seconds: Span,
    to_seconds: Span,
    transfers: Snapshot,
}

/// Prints the intervals.
pub(super) struct IntervalPrinter<'a> {
    output: &'a mut Output,
    /// The live view, if it replaces the lines.
    live: Option<LiveView>,
    /// Maximum number of connections shown.
    pub(super) top: usize,
    intervals: Vec<Interval>,
    has_begun: bool,
    failed: Option<io::Error>,
}

impl<'a> IntervalPrinter<'a> {
    pub(super) fn new(top: usize, output: &'a mut Output, live: Option<LiveView>) -> Self {
        // A view scrolls.
        let top = if live.is_some() { MOST_ROWS } else { top.min(MAX_SHOWN) };
        Self { output, live, top, intervals: Vec::new(), has_begun: false, failed: None }
    }

    /// Prints a finished interval.
    pub(super) fn tell(&mut self, from: Span, to: Span, transfers: Snapshot) {
        if let Some(live) = &self.live {
            live.push(moving::stretch(from, to, &transfers));
            return;
        }
        if self.output.format() == Format::Json {
            if self.intervals.len() < MAX_INTERVALS {
                self.intervals.push(Interval { from_seconds: from, to_seconds: to, transfers });
            }
            return;
        }
        if self.failed.is_some() {
            return;
        }
        let begins = !std::mem::replace(&mut self.has_begun, true);
        let told = self.output.say(|page| {
            if begins {
                page.line(moving::table().head());
            }
            moving::lines(from, to, &transfers).into_iter().for_each(|line| page.line(line));
        });
        self.failed = told.err();
    }

    /// Ends the output, and returns the intervals of the report.
    ///
    /// # Errors
    /// Returns the error of printing an interval.
    pub(super) fn finish(mut self) -> io::Result<Vec<Interval>> {
        if self.has_begun && self.failed.is_none() {
            self.failed = self.output.raw(b"\n").err();
        }
        self.failed.map_or(Ok(self.intervals), Err)
    }
}

/// An analysis that prints each second.
pub(super) struct FollowedAnalysis<'a> {
    pub(super) analysis: Analysis<()>,
    pub(super) telling: IntervalPrinter<'a>,
    /// The first segment, and when the interval began.
    first: Option<Timestamp>,
    began: Timestamp,
}

impl<'a> FollowedAnalysis<'a> {
    pub(super) const fn new(analysis: Analysis<()>, telling: IntervalPrinter<'a>) -> Self {
        Self { analysis, telling, first: None, began: Timestamp::from_nanos(0) }
    }

    /// Prints the finished seconds.
    fn advance(&mut self, now: Timestamp) {
        let Some(first) = self.first else {
            // Connections that end before the first interval are only counted.
            let _ = self.analysis.analyzer.look(0, now);
            (self.first, self.began) = (Some(now), now);
            return;
        };
        let over = now.since(self.began).as_nanos() / EVERY.as_nanos();
        if over < 1 {
            return;
        }
        self.interval(first, self.began + EVERY);
        if over > 1 {
            // Seconds without a packet are reported together.
            self.interval(first, self.began + EVERY * (over - 1));
        }
    }

    fn interval(&mut self, first: Timestamp, end: Timestamp) {
        let (from, to) = (self.began.since(first), end.since(first));
        self.began = end;
        let transfers = self.analysis.analyzer.look(self.telling.top, end);
        self.telling.tell(from, to, transfers);
    }
}

impl Observer for FollowedAnalysis<'_> {
    fn packet(&mut self, packet: &Packet<'_>) {
        self.analysis.packet(packet);
    }

    fn segment(&mut self, segment: &Segment) {
        self.advance(segment.time);
        self.analysis.segment(segment);
    }

    fn too_big(&mut self, message: &PacketTooBig) {
        self.analysis.too_big(message);
    }

    fn wants_checksum(&self) -> bool {
        self.analysis.wants_checksum()
    }
}
