//! Scalar subqueries, each under a unique column name.
//!
//! Ballista joins a scalar subquery to its outer query. The engine fails if both sides have a
//! column with the same name, as in `sum(x) / (select sum(x) from t)`.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode as _};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Subquery};

/// Renames the columns of scalar subqueries. The columns of the plan itself keep their names.
///
/// # Errors
/// Returns an error if the plan is not valid.
pub fn named_apart(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut count = 0;
    let named = plan.transform_down_with_subqueries(|node| {
        let names = NamePreserver::new(&node);
        node.map_expressions(|expression| {
            let name = names.save(&expression);
            let done = expression.transform_up(|part| match part {
                Expr::ScalarSubquery(query) if query.outer_ref_columns.is_empty() => {
                    count += 1;
                    Ok(Transformed::yes(Expr::ScalarSubquery(named(query, count)?)))
                }
                other => Ok(Transformed::no(other)),
            })?;
            Ok(done.update_data(|expression| name.restore(expression)))
        })
    })?;
    Ok(named.data)
}

fn named(query: Subquery, count: usize) -> Result<Subquery> {
    let columns = query.subquery.schema().columns();
    let columns = columns
        .into_iter()
        .map(|column| Expr::from(column).alias(format!("__windlass_value_{count}")));
    let plan = LogicalPlanBuilder::from(Arc::clone(&query.subquery)).project(columns)?.build()?;
    Ok(Subquery { subquery: Arc::new(plan), ..query })
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::{SessionConfig, SessionContext};

    use super::*;

    #[test]
    fn columns_are_called_as_before_and_values_by_their_own() {
        let run = tokio::runtime::Builder::new_current_thread().build().unwrap();
        run.block_on(async {
            // As in Ballista.
            let config = SessionConfig::new().set_bool(
                "datafusion.optimizer.enable_physical_uncorrelated_scalar_subquery",
                false,
            );
            let context = SessionContext::new_with_config(config);
            let query = "select sum(a) / (select sum(a) from t), (select max(a) from t) \
                         from t where a < (select max(a) from t)";
            let table = "create table t as select column1 as a from (values (1.0), (2.0), (3.0))";
            context.sql(table).await.unwrap().collect().await.unwrap();
            let plan = context.state().create_logical_plan(query).await.unwrap();
            assert!(context.state().create_physical_plan(&plan).await.is_err());
            let apart = named_apart(plan.clone()).unwrap();
            assert_eq!(plan.schema().field_names(), apart.schema().field_names());
            let rows = context.execute_logical_plan(apart).await.unwrap().collect().await.unwrap();
            let rows = arrow::util::pretty::pretty_format_batches(&rows).unwrap().to_string();
            assert!(rows.contains("0.5") && rows.contains("3.0"), "{rows}");
        });
    }
}
