//! Live output of a capture.

use std::io;
use std::time::Duration;

use windlass_base::{Bytes, MAX_INTERVALS};
use windlass_capture::live::Count;
use windlass_host::proc::CpuTimes;
use windlass_host::processors;
use windlass_host::rates::CpuShares;
use windlass_output::live::{LiveView, MOST_ROWS, ViewInterval};
use windlass_output::{Format, Output, Progress, figures};
use windlass_trace::Snapshot;

use super::args::CaptureCommand;
use super::report::Interval;
use super::{SHORTEST, text};
use crate::commands::moving;

/// Update interval of the line on a terminal.
const CHANGE: Duration = Duration::from_millis(500);

/// Maximum number of connections shown in an interval.
const MAX_SHOWN: usize = 10;

/// Prints each interval.
pub(super) struct Teller<'a> {
    output: &'a mut Output,
    /// The live view, if it replaces the lines.
    live: Option<LiveView>,
    /// `None` without live output.
    every: Option<Duration>,
    /// True if the counts are printed, not only the transfers.
    counts: bool,
    /// Number of connections shown.
    top: usize,
    before: Count,
    /// CPU times of the host at the start, and at the start of the interval.
    processors: [CpuTimes; 2],
    intervals: Vec<Interval>,
    has_begun: bool,
    failed: Option<io::Error>,
    /// Progress line without other output.
    progress: Option<Progress>,
}

/// Returns the packets so far.
fn line(count: &Count) -> String {
    let packets = figures::counted(count.tally.taken, "packet").plain();
    let dropped = figures::count(count.kernel.dropped);
    format!("{packets}, {}, {dropped} dropped", Bytes::new(count.tally.bytes))
}

impl<'a> Teller<'a> {
    pub(super) fn new(
        args: &CaptureCommand,
        output: &'a mut Output,
        live: Option<LiveView>,
    ) -> Self {
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

    /// Takes the counts so far.
    pub(super) fn tick(&mut self, count: &Count, look: &dyn Fn(usize) -> Option<Snapshot>) {
        if self.every.is_some_and(|every| count.elapsed >= self.before.elapsed + every) {
            self.interval(count, look(self.top));
        }
        if let Some(progress) = &mut self.progress {
            progress.tell(|| line(count));
        }
    }

    fn interval(&mut self, count: &Count, transfers: Option<Snapshot>) {
        let now = processors();
        let share = CpuShares::between(&self.processors[1], &now).busy();
        let interval = Interval { transfers, ..Interval::between(&self.before, count, share) };
        (self.before, self.processors[1]) = (*count, now);
        if let (Some(live), Some(look)) = (&self.live, &interval.transfers) {
            let stretch = moving::stretch(interval.from_seconds, interval.to_seconds, look);
            live.push(ViewInterval { state: stretch.state.and("; ").and(line(count)), ..stretch });
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

    /// Ends the output. Returns the intervals, the CPU load of the host, and the error of printing
    /// them.
    pub(super) fn finish(mut self, count: &Count) -> (Vec<Interval>, f64, Option<io::Error>) {
        let share = CpuShares::between(&self.processors[0], &processors()).busy();
        drop(self.progress.take());
        let left = count.elapsed.saturating_sub(self.before.elapsed);
        // Explained connections are reported completely at the end.
        if self.every.is_some() && self.counts && left >= SHORTEST.to_duration() {
            self.interval(count, None);
        }
        if self.has_begun && self.failed.is_none() {
            self.failed = self.output.raw(b"\n").err();
        }
        (self.intervals, share, self.failed)
    }
}
