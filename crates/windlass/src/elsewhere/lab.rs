//! Scenarios on systems that run none in real time.

use windlass_base::Failure;
use windlass_lab::Scenario;
use windlass_output::Output;

use super::LabArgs;

pub(super) fn run(
    _: &LabArgs,
    scenario: &mut Scenario,
    _: u64,
    _: &mut Output,
) -> anyhow::Result<()> {
    let doing = format!("cannot run {} in real time", scenario.id);
    Err(Failure::usage(doing, "that takes Linux").into())
}
