//! Where no interface is captured.

use windlass_trace::Keep;

use super::ExplainArgs;
use super::gather::Gathered;
use crate::print::Output;

pub(super) const fn gathered(
    _: &ExplainArgs,
    _: Keep,
    _: usize,
    _: &mut Output,
) -> anyhow::Result<Option<Gathered>> {
    Ok(None)
}
