//! What is told while a capture runs.

use std::io;
use std::time::Duration;

use windlass_base::{Bytes, MAX_INTERVALS};
use windlass_capture::live::Count;
use windlass_host::proc::CpuTimes;
use windlass_host::processors;
use windlass_host::rates::CpuShares;
use windlass_output::live::{Live, MOST_ROWS, Stretch};
use windlass_output::{Format, Output, Progress, figures};
use windlass_trace::Look;

use super::args::CaptureCommand;
use super::report::Interval;
use super::{SHORTEST, text};
use crate::commands::moving;

/// How often the line on a terminal changes.
const CHANGE: Duration = Duration::from_millis(500);

/// The most connections that are shown on the way.
const MAX_SHOWN: usize = 10;

/// Tells of each interval.
pub(super) struct Teller<'a> {
    output: &'a mut Output,
    /// The view, where one is shown in place of lines.
    live: Option<Live>,
    /// Nothing where nothing is told on the way.
    every: Option<Duration>,
    /// Whether what was counted is told; else only what is explained is.
    counts: bool,
    /// How many connections are shown.
    top: usize,
    before: Count,
    /// The time of all processors when this began, and when the interval did.
    processors: [CpuTimes; 2],
    intervals: Vec<Interval>,
    has_begun: bool,
    failed: Option<io::Error>,
    /// Where nothing else is told.
    progress: Option<Progress>,
}

/// How much has come.
fn line(count: &Count) -> String {
    let packets = figures::counted(count.tally.taken, "packet").plain();
    let dropped = figures::count(count.kernel.dropped);
    format!("{packets}, {}, {dropped} dropped", Bytes::new(count.tally.bytes))
}

impl<'a> Teller<'a> {
    pub(super) fn new(args: &CaptureCommand, output: &'a mut Output, live: Option<Live>) -> Self {
        let every = args.told_interval().map(windlass_base::Span::to_duration);
        let (before, intervals) = (Count::default(), Vec::new());
        let processors = [processors(); 2];
        let counts = args.quiet || !args.explain;
        // A view scrolls.
        let most = if live.is_some() { MOST_ROWS } else { usize::from(args.top).min(MAX_SHOWN) };
        let (has_begun, failed) = (false, None);
        let is_quiet = every.is_none() && !args.prints_packets();
        let progress = is_quiet.then(|| Progress::new(Duration::ZERO, CHANGE));
        Self {
            output,
            live,
            every,
            counts,
            top: most,
            before,
            processors,
            intervals,
            has_begun,
            failed,
            progress,
        }
    }

    /// So much has come by now.
    pub(super) fn tick(&mut self, count: &Count, look: &dyn Fn(usize) -> Option<Look>) {
        if self.every.is_some_and(|every| count.elapsed >= self.before.elapsed + every) {
            self.interval(count, look(self.top));
        }
        if let Some(progress) = &mut self.progress {
            progress.tell(|| line(count));
        }
    }

    fn interval(&mut self, count: &Count, transfers: Option<Look>) {
        let now = processors();
        let share = CpuShares::between(&self.processors[1], &now).busy();
        let interval = Interval { transfers, ..Interval::between(&self.before, count, share) };
        (self.before, self.processors[1]) = (*count, now);
        if let (Some(live), Some(look)) = (&self.live, &interval.transfers) {
            let stretch = moving::stretch(interval.from_seconds, interval.to_seconds, look);
            live.push(Stretch { state: stretch.state.and("; ").and(line(count)), ..stretch });
        }
        if self.live.is_some() {
            return;
        }
        if self.output.format() == Format::Json {
            if self.intervals.len() < MAX_INTERVALS {
                self.intervals.push(interval);
            }
            return;
        }
        if self.failed.is_some() {
            return;
        }
        let (begins, counts) = (!self.has_begun, self.counts);
        self.has_begun = true;
        let told = self.output.say(|page| {
            if begins {
                page.line(if counts { text::table().head() } else { moving::table().head() });
            }
            if counts {
                page.line(text::line(&interval));
            } else {
                if let Some(look) = &interval.transfers {
                    let lines = moving::lines(interval.from_seconds, interval.to_seconds, look);
                    lines.into_iter().for_each(|line| page.line(line));
                }
            }
        });
        self.failed = told.err();
    }

    /// It is over. Gives the intervals, how much of all processors was at work, and why
    /// they could not be told.
    pub(super) fn finish(mut self, count: &Count) -> (Vec<Interval>, f64, Option<io::Error>) {
        let share = CpuShares::between(&self.processors[0], &processors()).busy();
        drop(self.progress.take());
        let left = count.elapsed.saturating_sub(self.before.elapsed);
        // What is explained is told whole at the end.
        if self.every.is_some() && self.counts && left >= SHORTEST.to_duration() {
            self.interval(count, None);
        }
        if self.has_begun && self.failed.is_none() {
            self.failed = self.output.raw(b"\n").err();
        }
        (self.intervals, share, self.failed)
    }
}
