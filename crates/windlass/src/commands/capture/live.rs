//! What is told while a capture runs.

use std::io;
use std::time::Duration;

use serde::Serialize;

use super::args::CaptureCommand;
use super::report::Interval;
use super::{MOST_INTERVALS, SHORTEST, text};
use crate::capture::{Count, Sink};
use crate::print::{Format, Output, Page, Record, Text};

/// Tells of each interval.
pub(super) struct Teller<'a> {
    output: &'a mut Output,
    /// Nothing where nothing is told on the way.
    every: Option<Duration>,
    before: Count,
    intervals: Vec<Interval>,
    has_begun: bool,
    failed: Option<io::Error>,
}

/// Lines that stand for themselves.
#[derive(Serialize)]
struct Lines {
    #[serde(skip)]
    lines: Vec<Text>,
}

impl Record for Lines {
    fn text(&self, page: &mut Page) {
        for line in &self.lines {
            page.line(line.clone());
        }
    }
}

impl<'a> Teller<'a> {
    pub(super) fn new(args: &CaptureCommand, output: &'a mut Output) -> Self {
        let every = args.told_interval().map(windlass_base::Span::to_duration);
        let (before, intervals) = (Count::default(), Vec::new());
        let before = Count { ticks: crate::capture::Ticks::now(), ..before };
        Self { output, every, before, intervals, has_begun: false, failed: None }
    }

    /// So much has come by now.
    pub(super) fn tick(&mut self, count: &Count, _: &mut Sink) {
        if self.every.is_some_and(|every| count.elapsed >= self.before.elapsed + every) {
            self.interval(count);
        }
    }

    fn interval(&mut self, count: &Count) {
        let interval = Interval::between(&self.before, count);
        self.before = *count;
        if self.intervals.len() < MOST_INTERVALS {
            self.intervals.push(interval);
        }
        if self.output.format() == Format::Json || self.failed.is_some() {
            return;
        }
        let mut lines = Vec::new();
        if !self.has_begun {
            self.has_begun = true;
            lines.push(text::table().head());
        }
        lines.push(text::line(&interval));
        let told = self.output.print_line(&Lines { lines }).and_then(|()| self.output.flush());
        self.failed = told.err();
    }

    /// It is over. Gives the intervals, and why they could not be told.
    pub(super) fn finish(mut self, count: &Count) -> (Vec<Interval>, Option<io::Error>) {
        let left = count.elapsed.saturating_sub(self.before.elapsed);
        if self.every.is_some() && left >= SHORTEST.to_duration() {
            self.interval(count);
        }
        (self.intervals, self.failed)
    }
}
