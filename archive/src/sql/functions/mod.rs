//! Functions that SQL has here beside its own.

mod in_subnet;
mod limit_name;
mod rtt_quantile;

use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::{AggregateUDF, ScalarUDF};

/// Makes them known.
pub fn register(context: &SessionContext) {
    context.register_udf(ScalarUDF::from(in_subnet::InSubnet::new()));
    context.register_udf(ScalarUDF::from(limit_name::LimitName::new()));
    context.register_udaf(AggregateUDF::from(rtt_quantile::RttQuantile::new()));
}
