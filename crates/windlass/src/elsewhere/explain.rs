//! Where no interface is captured.

use windlass_output::Output;
use windlass_trace::Keep;

use super::ExplainArgs;
use super::gather::Gathered;

pub(super) const fn gathered(
    _: &ExplainArgs,
    _: Keep,
    _: usize,
    _: &mut Output,
) -> anyhow::Result<Option<Gathered>> {
    Ok(None)
}
