//! Precomputed sums over the connections of a batch, for the usual questions. They have a
//! thousandth of the rows, so an archive of a year answers as fast as one of a day.
//!
//! A sum is a query of `queries/sums`, which runs on each batch before the commit. Questions add up
//! the sums of the batches. If captures are dropped, the sums of the rest are computed again.

use std::os::fd::AsRawFd as _;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::error::DataFusionError;
use datafusion::execution::context::SessionContext;
use futures::TryStreamExt as _;
use object_store::local::LocalFileSystem;
use windlass_base::{Bytes, Failure};
use windlass_tables::{Table, TableWriter, UTC};

use crate::sql::{ArchiveTable, Part, context, store_url};
use crate::store::objects::{StagedTable, adapted};

/// Memory for the sums of a batch; the rest spills to temporary files.
const MEMORY: Bytes = Bytes::new(512 << 20);

/// Table of sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sum {
    /// Time by limit, network and hour.
    LimitHours,
    /// Transfers by hour.
    Hours,
    /// Devices limited by their window.
    Devices,
    /// Time by limit, pair of hosts and day.
    PairDays,
}

impl Sum {
    /// All tables of sums.
    pub const ALL: [Self; 4] = [Self::LimitHours, Self::Hours, Self::Devices, Self::PairDays];

    /// Returns the name of the table.
    pub const fn id(self) -> &'static str {
        match self {
            Self::LimitHours => "limit_hours",
            Self::Hours => "hours",
            Self::Devices => "devices",
            Self::PairDays => "pair_days",
        }
    }

    /// Returns the query that computes the sum from the tables of a batch.
    pub const fn query(self) -> &'static str {
        match self {
            Self::LimitHours => include_str!("../../queries/sums/limit_hours.sql"),
            Self::Hours => include_str!("../../queries/sums/hours.sql"),
            Self::Devices => include_str!("../../queries/sums/devices.sql"),
            Self::PairDays => include_str!("../../queries/sums/pair_days.sql"),
        }
    }

    /// Returns the columns, in the order of the query's.
    pub fn schema(self) -> SchemaRef {
        let time = || DataType::Timestamp(TimeUnit::Nanosecond, Some(UTC.into()));
        let columns: Vec<(&str, DataType)> = match self {
            Self::LimitHours => vec![
                ("prefix", DataType::Utf8),
                ("hour", time()),
                ("limit", DataType::Utf8),
                ("seconds", DataType::Float64),
            ],
            Self::Hours => vec![
                ("hour", time()),
                ("connections", DataType::Int64),
                ("bytes", DataType::Int64),
                ("transfer_seconds", DataType::Float64),
            ],
            Self::Devices => vec![
                ("device", DataType::Utf8),
                ("service_port", DataType::Int32),
                ("mac", DataType::Utf8),
                ("connections", DataType::Int64),
                ("bytes", DataType::Int64),
                ("seconds", DataType::Float64),
                ("limited_seconds", DataType::Float64),
                ("saved_seconds", DataType::Float64),
                ("receive_window_bytes", DataType::Int64),
            ],
            Self::PairDays => vec![
                ("sender", DataType::Utf8),
                ("receiver", DataType::Utf8),
                ("service_port", DataType::Int32),
                ("day", time()),
                ("limit", DataType::Utf8),
                ("seconds", DataType::Float64),
            ],
        };
        let fields = columns.into_iter().map(|(name, kind)| Field::new(name, kind, true));
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }
}

fn failed(wrong: &dyn std::fmt::Display) -> Failure {
    Failure::new("cannot sum up captures", wrong)
        .advise("Check if the disk of temporary files is full, or set TMPDIR to another folder.")
}

fn by_engine(error: &DataFusionError) -> Failure {
    failed(&error.strip_backtrace())
}

/// Adds the sums of a batch's tables, in place of any existing sums.
///
/// # Errors
/// Returns an error if the tables cannot be read, or there is no room for the sums.
pub async fn add(tables: &mut Vec<StagedTable>) -> Result<(), Failure> {
    tables.retain(|staged| Sum::ALL.iter().all(|sum| sum.id() != staged.table));
    let context = over(tables)?;
    let mut sums = Vec::new();
    for sum in Sum::ALL {
        sums.push(one(&context, sum).await?);
    }
    tables.extend(sums);
    Ok(())
}

/// Returns a session over the files of tables that are not in the archive yet.
fn over(tables: &[StagedTable]) -> Result<SessionContext, Failure> {
    let context = context(MEMORY)?;
    let url = store_url()?;
    context.register_object_store(url.as_ref(), Arc::new(LocalFileSystem::new()));
    for table in [Table::Connections, Table::Intervals, Table::Verdicts] {
        let staged = tables.iter().find(|staged| staged.table == table.id() && staged.rows > 0);
        let part = |staged: &StagedTable| -> std::io::Result<Part> {
            Ok(Part {
                // The file has no name.
                key: format!("proc/self/fd/{}", staged.file.as_raw_fd()),
                bytes: staged.file.metadata()?.len(),
                rows: staged.rows,
            })
        };
        let parts = staged.map(part).transpose().map_err(|error| failed(&error))?;
        let provider =
            ArchiveTable::new(table.schema(None), url.clone(), parts.into_iter().collect());
        context
            .register_table(table.id(), Arc::new(provider))
            .map_err(|error| by_engine(&error))?;
    }
    Ok(context)
}

async fn one(context: &SessionContext, sum: Sum) -> Result<StagedTable, Failure> {
    let rows = async { context.sql(sum.query()).await?.execute_stream().await };
    let mut rows = rows.await.map_err(|error| by_engine(&error))?;
    let schema = sum.schema();
    let file = tempfile::tempfile().map_err(|error| failed(&error))?;
    let mut writer = TableWriter::with_schema(file, sum.id(), Arc::clone(&schema))
        .map_err(|error| failed(&error))?;
    while let Some(batch) = rows.try_next().await.map_err(|error| by_engine(&error))? {
        let batch = adapted(&batch, &schema).map_err(|wrong| failed(&wrong))?;
        writer.write(&batch).map_err(|error| failed(&error))?;
    }
    let rows = writer.rows();
    let file = writer.finish().map_err(|error| failed(&error))?;
    Ok(StagedTable { table: sum.id(), file, rows })
}
