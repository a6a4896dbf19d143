//! Rows on their way into a record batch.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema};

use crate::column::{Column, Values};

/// The record batch of a table while rows are added.
pub(crate) struct Batch<R> {
    columns: Vec<Column<R>>,
    schema: Arc<Schema>,
    values: Vec<Values>,
    pub(crate) rows: usize,
}

/// Returns the schema of a table of these columns.
pub(crate) fn schema<R>(columns: &[Column<R>]) -> Arc<Schema> {
    Arc::new(Schema::new(columns.iter().map(Column::field).collect::<Vec<_>>()))
}

impl<R> Batch<R> {
    pub(crate) fn new(columns: Vec<Column<R>>) -> Self {
        let values = columns.iter().map(Values::of).collect();
        Self { schema: schema(&columns), columns, values, rows: 0 }
    }

    pub(crate) fn push(&mut self, row: &R) {
        for (values, column) in self.values.iter_mut().zip(&self.columns) {
            values.push(column, row);
        }
        self.rows += 1;
    }

    /// Returns the rows so far as a record batch, and starts an empty one.
    pub(crate) fn take(&mut self) -> Result<RecordBatch, ArrowError> {
        self.rows = 0;
        let arrays = self.values.iter_mut().map(Values::finish).collect();
        RecordBatch::try_new(Arc::clone(&self.schema), arrays)
    }
}
