//! SQL functions of windlass-archive.

mod in_subnet;
mod limit_name;
mod rtt_quantile;

use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::{AggregateUDF, ScalarUDF};

/// Returns the scalar functions.
pub fn scalar() -> [ScalarUDF; 2] {
    [in_subnet::InSubnet::new().into(), limit_name::LimitName::new().into()]
}

/// Returns the aggregate functions.
pub fn aggregate() -> [AggregateUDF; 1] {
    [rtt_quantile::RttQuantile::new().into()]
}

/// Registers all functions.
pub fn register(context: &SessionContext) {
    scalar().into_iter().for_each(|function| context.register_udf(function));
    aggregate().into_iter().for_each(|function| context.register_udaf(function));
}
