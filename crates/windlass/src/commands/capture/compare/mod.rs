//! `windlass capture --compare`: the ring beside the single reader, and both beside
//! PCAUSA's document of 2007.

use std::time::Duration;

use windlass_netlab::compare::{self, Plan};
use windlass_output::{Output, Steps};

use super::args::CompareArgs;
use crate::commands::unwritten;
use crate::interrupt;

/// Runs the comparison. Where it fails or is interrupted, what was measured by then is
/// printed all the same.
pub(super) fn run(args: &CompareArgs, output: &mut Output) -> anyhow::Result<()> {
    let stop = interrupt::listen("cannot finish the comparison")?;
    let plan = Plan { runs: args.runs, rate: args.rate, frame_bytes: args.size, time: args.time };
    let mut steps = Steps::new(Duration::ZERO);
    let (report, broken) = compare::run(&plan, &stop, &mut |what, all| {
        let done = steps.done as usize;
        steps.tell(all.saturating_sub(done), None, |left| {
            let left = left.map_or_else(String::new, |left| format!("; some {left} left"));
            format!("measurement {} of {all}: {what}{left}", done + 1)
        });
    })?;
    drop(steps);
    // Tables of nothing help nobody.
    if let Some(report) = report {
        output.print(&report).map_err(unwritten)?;
    }
    broken.map_or(Ok(()), |failure| Err(failure.into()))
}
