//! Map step as a plan: packs in, receipts out.
//!
//! Its input is rows in memory, with a partition for each task: the scheduler reduces those to the
//! partition of a task. Without an input, each task would run the whole plan.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use arrow::array::{Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, exec_err, internal_err};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{
    Boundedness, ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties as _, Partitioning,
    PlanProperties,
};
use futures::TryStreamExt as _;

use super::pack::{self, Pack};
use super::task::{Order, Receipt, TaskError, Worker};

/// Plan that adds packs to an archive.
#[derive(Debug)]
pub struct AddExec {
    order: Order,
    input: Arc<dyn ExecutionPlan>,
    /// Worker of an executor; `None` where the plan is only built.
    worker: Option<Arc<Worker>>,
    properties: Arc<PlanProperties>,
}

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("executor", DataType::Utf8, false),
        Field::new("told", DataType::Int64, false),
        Field::new("absent", DataType::Int64, false),
    ]))
}

impl AddExec {
    /// Creates a plan over an input with the packs.
    pub fn new(order: Order, input: Arc<dyn ExecutionPlan>, worker: Option<Arc<Worker>>) -> Self {
        let count = input.output_partitioning().partition_count();
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema()),
            Partitioning::UnknownPartitioning(count),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Self { order, input, worker, properties: Arc::new(properties) }
    }

    /// Creates a plan over these packs.
    ///
    /// # Errors
    /// Returns an error if the packs cannot be encoded as rows.
    pub fn over(order: Order, packs: &[Pack]) -> Result<Self> {
        let partitions = packs.iter().map(|pack| Ok(vec![pack.rows()?]));
        let partitions = partitions.collect::<Result<Vec<Vec<RecordBatch>>>>()?;
        let Some(rows) = partitions.first().and_then(|partition| partition.first()) else {
            return internal_err!("there is nothing to add");
        };
        let source = MemorySourceConfig::try_new(&partitions, rows.schema(), None)?;
        Ok(Self::new(order, DataSourceExec::from_data_source(source), None))
    }

    /// Returns the order for the executors.
    pub const fn order(&self) -> &Order {
        &self.order
    }
}

impl DisplayAs for AddExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AddExec: into={}", self.order.into)
    }
}

impl ExecutionPlan for AddExec {
    fn name(&self) -> &str {
        "AddExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        self.replace_children(children, options)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Ok([input]) = <[_; 1]>::try_from(children) else {
            return internal_err!("AddExec stands over one plan");
        };
        Ok(Arc::new(Self::new(self.order.clone(), input, self.worker.clone())))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let Some(worker) = self.worker.clone() else {
            return exec_err!("only executors of windlass-archive can add captures");
        };
        let order = self.order.clone();
        let stop = worker.stops().flag(&job_of(context.task_id().as_deref()));
        let input = self.input.execute(partition, context)?;
        let work = async move {
            let rows: Vec<RecordBatch> = input.try_collect().await?;
            let name = worker.name().to_owned();
            let receipt = done(worker, order, rows, stop).await?;
            receipt_rows(&name, receipt)
        };
        let rows = futures::stream::once(work);
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema(), rows)))
    }
}

/// Returns the job of a task with this name: `TID <job>/<stage>.<attempt>/<task>.<attempt>`.
fn job_of(task: Option<&str>) -> String {
    let name = task.unwrap_or_default();
    let name = name.strip_prefix("TID ").unwrap_or(name);
    name.split('/').next().unwrap_or(name).to_owned()
}

/// Guard that sets a flag when nobody waits any longer.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Processes a pack in a thread of its own, which reads files and waits for nothing else.
async fn done(
    worker: Arc<Worker>,
    order: Order,
    rows: Vec<RecordBatch>,
    stop: Arc<AtomicBool>,
) -> Result<Receipt> {
    let waiting = StopOnDrop(Arc::clone(&stop));
    let (tell, told) = tokio::sync::oneshot::channel();
    let work = move || {
        let done = pack::sources(&rows)
            .map_err(|failure| TaskError::Always(failure.in_one_line().to_string()))
            .and_then(|sources| worker.work(&order, sources, &stop));
        // Nobody listens to an abandoned task.
        let _ = tell.send(done);
    };
    // The thread needs a large stack: it asks the query engine for sums of what it adds.
    let thread = thread::Builder::new().name("windlass-add".to_owned());
    thread.stack_size(crate::STACK).spawn(work)?;
    let done = told.await;
    drop(waiting);
    match done {
        Ok(done) => done.map_err(DataFusionError::from),
        Err(_) => exec_err!("a task failed"),
    }
}

fn receipt_rows(executor: &str, receipt: Receipt) -> Result<RecordBatch> {
    let count = |of: u64| Arc::new(Int64Array::from(vec![i64::try_from(of).unwrap_or(i64::MAX)]));
    let executor = Arc::new(StringArray::from(vec![executor]));
    let columns: Vec<arrow::array::ArrayRef> =
        vec![executor, count(receipt.told), count(receipt.absent)];
    Ok(RecordBatch::try_new(schema(), columns)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_says_of_which_job_it_is() {
        assert_eq!(job_of(Some("TID aB3/1.0/7.2")), "aB3");
        assert_eq!(job_of(None), "");
    }
}
