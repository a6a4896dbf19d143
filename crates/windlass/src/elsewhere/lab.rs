//! Where no scenario runs in real time.

use windlass_base::Failure;
use windlass_lab::Scenario;

use super::LabArgs;
use crate::print::Output;

pub(super) fn run(
    _: &LabArgs,
    scenario: &mut Scenario,
    _: u64,
    _: &mut Output,
) -> anyhow::Result<()> {
    let doing = format!("cannot run {} in real time", scenario.id);
    Err(Failure::usage(doing, "that takes Linux").into())
}
