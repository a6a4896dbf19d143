//! What moves, while a capture that grows is read.

use std::io;

use serde::Serialize;
use windlass_base::{MAX_INTERVALS, Span, Timestamp};
use windlass_output::live::{Live, MOST_ROWS};
use windlass_output::{Format, Output};
use windlass_trace::{Analysis, Look};
use windlass_wire::{Observer, Packet, Segment, TooBig};

use crate::commands::moving;

/// How often it is told, by the capture's clock, as `capture --explain` does.
pub(super) const EVERY: Span = Span::from_millis(1_000);

/// The most connections that are shown on the way.
const MAX_SHOWN: usize = 10;

/// What moved in a stretch of the capture's time.
#[derive(Debug, Serialize)]
pub(super) struct Interval {
    from_seconds: Span,
    to_seconds: Span,
    transfers: Look,
}

/// Tells of intervals as they come.
pub(super) struct Telling<'a> {
    output: &'a mut Output,
    /// The view, where one is shown in place of lines.
    live: Option<Live>,
    /// The most connections that are shown.
    pub(super) top: usize,
    intervals: Vec<Interval>,
    has_begun: bool,
    failed: Option<io::Error>,
}

impl<'a> Telling<'a> {
    pub(super) fn new(top: usize, output: &'a mut Output, live: Option<Live>) -> Self {
        // A view scrolls.
        let top = if live.is_some() { MOST_ROWS } else { top.min(MAX_SHOWN) };
        Self { output, live, top, intervals: Vec::new(), has_begun: false, failed: None }
    }

    /// An interval is over.
    pub(super) fn tell(&mut self, from: Span, to: Span, transfers: Look) {
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

    /// There are no more. Gives those that are for the report.
    ///
    /// # Errors
    /// Where what moved could not be told.
    pub(super) fn finish(mut self) -> io::Result<Vec<Interval>> {
        if self.has_begun && self.failed.is_none() {
            self.failed = self.output.raw(b"\n").err();
        }
        self.failed.map_or(Ok(self.intervals), Err)
    }
}

/// An analysis that tells of each second.
pub(super) struct Following<'a> {
    pub(super) analysis: Analysis<()>,
    pub(super) telling: Telling<'a>,
    /// The first segment, and when the interval began.
    first: Option<Timestamp>,
    began: Timestamp,
}

impl<'a> Following<'a> {
    pub(super) const fn new(analysis: Analysis<()>, telling: Telling<'a>) -> Self {
        Self { analysis, telling, first: None, began: Timestamp::from_nanos(0) }
    }

    /// Tells of the seconds that are over now.
    fn advance(&mut self, now: Timestamp) {
        let Some(first) = self.first else {
            // What ends before the first look is only counted.
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
            // Seconds without a packet are told of together.
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

impl Observer for Following<'_> {
    fn packet(&mut self, packet: &Packet<'_>) {
        self.analysis.packet(packet);
    }

    fn segment(&mut self, segment: &Segment) {
        self.advance(segment.time);
        self.analysis.segment(segment);
    }

    fn too_big(&mut self, message: &TooBig) {
        self.analysis.too_big(message);
    }

    fn wants_checksum(&self) -> bool {
        self.analysis.wants_checksum()
    }
}
