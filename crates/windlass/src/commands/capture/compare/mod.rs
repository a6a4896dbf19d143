//! `windlass capture --compare`: the ring beside the single reader, and both beside
//! PCAUSA's document of 2007.

use std::ops::RangeInclusive;
use std::time::Duration;

use windlass_base::{Failure, Span};
use windlass_netlab::compare::{self, ComparePlan};
use windlass_output::{Output, Steps};

use super::args::CompareArgs;
use crate::commands::unwritten;
use crate::interrupt;

/// The time for which frames are sent in each run.
const USUAL_TIME: Span = Span::from_millis(2_000);

/// The allowed times: in less than the least the reader has hardly begun.
const TIMES: RangeInclusive<Span> = Span::from_millis(10)..=Span::from_millis(60_000);

/// Runs the comparison. After a failure or an interrupt, the results so far are still printed.
pub(super) fn run(
    args: &CompareArgs,
    time: Option<Span>,
    output: &mut Output,
) -> anyhow::Result<()> {
    let time = time.unwrap_or(USUAL_TIME);
    if !TIMES.contains(&time) {
        let wrong = format!("--time is {} to {}, not {time}", TIMES.start(), TIMES.end());
        return Err(Failure::usage("cannot compare the readers", wrong).into());
    }
    let stop = interrupt::listen("cannot finish the comparison")?;
    let plan = ComparePlan { runs: args.runs, rate: args.rate, frame_bytes: args.size, time };
    let mut steps = Steps::new(Duration::ZERO);
    let (report, broken) = compare::run(&plan, &stop, &mut |what, all| {
        let done = steps.done as usize;
        steps.tell(all.saturating_sub(done), None, |left| {
            let left = left.map_or_else(String::new, |left| format!("; some {left} left"));
            format!("measurement {} of {all}: {what}{left}", done + 1)
        });
    })?;
    drop(steps);
    // An empty table is useless.
    if let Some(report) = report {
        output.print(&report).map_err(unwritten)?;
    }
    broken.map_or(Ok(()), |failure| Err(failure.into()))
}
