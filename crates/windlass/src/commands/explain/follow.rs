//! What moves, while a capture that grows is read.

use std::io;

use serde::Serialize;
use windlass_base::{MAX_INTERVALS, Span, Timestamp};
use windlass_trace::{Analysis, Look};
use windlass_wire::{Observer, Packet, Segment};

use crate::commands::moving;
use crate::print::{Format, Output};

/// How often it is told, by the capture's clock, as `capture --explain` does.
const EVERY: Span = Span::from_millis(1_000);

/// The most connections that are shown on the way.
const MAX_SHOWN: usize = 10;

/// What moved in a stretch of the capture's time.
#[derive(Debug, Serialize)]
pub(super) struct Interval {
    from_seconds: Span,
    to_seconds: Span,
    transfers: Look,
}

/// An analysis that tells of each second.
pub(super) struct Following<'a> {
    pub(super) analysis: Analysis<()>,
    output: &'a mut Output,
    top: usize,
    /// The first segment, and when the interval began.
    first: Option<Timestamp>,
    began: Timestamp,
    intervals: Vec<Interval>,
    has_begun: bool,
    failed: Option<io::Error>,
}

impl<'a> Following<'a> {
    pub(super) fn new(analysis: Analysis<()>, top: usize, output: &'a mut Output) -> Self {
        Self {
            analysis,
            output,
            top: top.min(MAX_SHOWN),
            first: None,
            began: Timestamp::from_nanos(0),
            intervals: Vec::new(),
            has_begun: false,
            failed: None,
        }
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
        let end = self.began + EVERY;
        self.interval(self.began.since(first), end);
        self.began = end;
        if over > 1 {
            // Seconds without a packet are told of together.
            let end = self.began + EVERY * (over - 1);
            self.interval(self.began.since(first), end);
            self.began = end;
        }
    }

    fn interval(&mut self, from: Span, end: Timestamp) {
        let to = from + end.since(self.began);
        let transfers = self.analysis.analyzer.look(self.top, end);
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

    /// All was read. Gives the analysis and the intervals.
    ///
    /// # Errors
    /// Where what moved could not be told.
    pub(super) fn finish(mut self) -> io::Result<(Analysis<()>, Vec<Interval>)> {
        if self.has_begun && self.failed.is_none() {
            self.failed = self.output.raw(b"\n").err();
        }
        self.failed.map_or(Ok((self.analysis, self.intervals)), Err)
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
}
