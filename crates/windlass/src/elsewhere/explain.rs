//! Explanations on systems that capture no interface.

use windlass_output::Output;
use windlass_trace::Keep;

use super::ExplainArgs;
use super::gather::ExplainInput;

pub(super) const fn gathered(
    _: &ExplainArgs,
    _: Keep,
    _: usize,
    _: &mut Output,
) -> anyhow::Result<Option<ExplainInput>> {
    Ok(None)
}
