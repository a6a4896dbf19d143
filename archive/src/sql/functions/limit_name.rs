//! `limit_name(limit)`.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray as _, StringArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use windlass_base::Limit;

/// Function that returns a limit in words, from the values of `limit`, `next` and `remedy_then`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct LimitName {
    signature: Signature,
}

impl LimitName {
    pub(super) fn new() -> Self {
        Self { signature: Signature::string(1, Volatility::Immutable) }
    }
}

/// Returns a limit in words.
const fn words(limit: Limit) -> &'static str {
    match limit {
        Limit::ReceiverWindow => "the receiver's window",
        Limit::ZeroWindow => "a window of zero",
        Limit::SendBuffer => "the sender's buffer",
        Limit::CongestionWindow => "the congestion window",
        Limit::Loss => "loss",
        Limit::PathCapacity => "the path's capacity",
        Limit::Application => "the program",
        Limit::SmallSegments => "small segments",
        Limit::NagleDelayedAck => "Nagle and delayed ACKs",
        Limit::Unknown => "the capture does not tell",
    }
}

impl ScalarUDFImpl for LimitName {
    fn name(&self) -> &str {
        "limit_name"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let [ids] = arrays.as_slice() else {
            return plan_err!("limit_name takes a limit");
        };
        let ids: ArrayRef = cast(ids, &DataType::Utf8)?;
        let name = |id: &str| Limit::ALL.into_iter().find(|limit| limit.id() == id).map(words);
        // Other values have no name.
        let names = ids.as_string::<i32>().iter().map(|id| name(id?));
        Ok(ColumnarValue::Array(Arc::new(names.collect::<StringArray>())))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_limit_has_its_own_words() {
        let all: BTreeSet<&str> = Limit::ALL.into_iter().map(words).collect();
        assert_eq!(all.len(), Limit::ALL.len());
    }
}
