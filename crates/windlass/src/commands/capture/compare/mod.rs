//! `windlass capture --compare`: the ring beside the single reader, and both beside
//! PCAUSA's document of 2007.

mod progress;
mod text;

use windlass_netlab::compare::{self, Plan};

use self::progress::Progress;
use super::args::CompareArgs;
use crate::commands::unwritten;
use crate::interrupt;
use crate::print::Output;

/// Runs the comparison. Where it fails or is interrupted, what was measured by then is
/// printed all the same.
pub(super) fn run(args: &CompareArgs, output: &mut Output) -> anyhow::Result<()> {
    let stop = interrupt::listen("cannot finish the comparison")?;
    let plan = Plan { runs: args.runs, rate: args.rate, frame_bytes: args.size, time: args.time };
    let mut progress = Progress::new();
    let (report, broken) = compare::run(&plan, &stop, &mut |what, all| progress.tell(what, all))?;
    drop(progress);
    // Tables of nothing help nobody.
    if let Some(report) = report {
        output.print(&report).map_err(unwritten)?;
    }
    broken.map_or(Ok(()), |failure| Err(failure.into()))
}
