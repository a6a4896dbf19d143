//! The tables, and the analyser's results on their way into them.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema};
use windlass_macros::Named;
use windlass_trace::LatencySecond;

use crate::batch::{self, Batch};
use crate::column::{Column, ColumnFacts};
use crate::pattern::PathPattern;
use crate::rows::{CaptureRow, ConnectionRow, IntervalRow, RttRow};
use crate::{connections, intervals, pattern, rtt, verdicts};

/// Number of rows after which a batch is returned: enough that their columns are encoded in one go,
/// in little memory.
const BATCH: usize = 8_192;

/// A table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Named)]
pub enum Table {
    /// A row for each file.
    Captures,
    /// A row for each connection that carried data.
    Connections,
    /// The timelines: a row for each interval of a connection during which one limit held.
    Intervals,
    /// The verdict on each connection.
    Verdicts,
    /// The ACKs of each connection in each second.
    Rtt,
}

impl Table {
    /// Describes its rows.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Captures => {
                "One row for each file, explained or not, and for each capture of an archive."
            }
            Self::Connections => {
                "One row for each connection that carried data, reduced to its larger transfer."
            }
            Self::Intervals => {
                "Timelines of connections: one row for each interval with one limit."
            }
            Self::Verdicts => "The verdict on each connection, and the best change.",
            Self::Rtt => "ACK latency of a connection's data: one row for each second with ACKs.",
        }
    }

    /// Returns its columns. `captures` has the fields of a pattern behind its own.
    pub fn columns(self, pattern: Option<&PathPattern>) -> Vec<ColumnFacts> {
        fn facts<R>(columns: &[Column<R>]) -> Vec<ColumnFacts> {
            columns.iter().map(Column::facts).collect()
        }
        match self {
            Self::Captures => facts(&pattern::columns(pattern)),
            Self::Connections => facts(&connections::columns()),
            Self::Intervals => facts(&intervals::columns()),
            Self::Verdicts => facts(&verdicts::columns()),
            Self::Rtt => facts(&rtt::columns()),
        }
    }

    /// Returns its schema.
    pub fn schema(self, pattern: Option<&PathPattern>) -> Arc<Schema> {
        match self {
            Self::Captures => batch::schema(&pattern::columns(pattern)),
            Self::Connections => batch::schema(&connections::columns()),
            Self::Intervals => batch::schema(&intervals::columns()),
            Self::Verdicts => batch::schema(&verdicts::columns()),
            Self::Rtt => batch::schema(&rtt::columns()),
        }
    }
}

/// Rows of all tables on their way into record batches.
pub struct Tables {
    captures: Batch<CaptureRow>,
    connections: Batch<ConnectionRow>,
    intervals: Batch<IntervalRow>,
    verdicts: Batch<ConnectionRow>,
    rtt: Batch<RttRow>,
}

impl std::fmt::Debug for Tables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(Table::ALL.map(|table| (table, self.rows(table)))).finish()
    }
}

impl Tables {
    /// Creates tables without rows. `captures` has the fields of the pattern.
    pub fn new(pattern: Option<&PathPattern>) -> Self {
        Self {
            captures: Batch::new(pattern::columns(pattern)),
            connections: Batch::new(connections::columns()),
            intervals: Batch::new(intervals::columns()),
            verdicts: Batch::new(verdicts::columns()),
            rtt: Batch::new(rtt::columns()),
        }
    }

    /// Adds a file.
    pub fn capture(&mut self, row: &CaptureRow) {
        self.captures.push(row);
    }

    /// Adds a connection, and its ACKs in each second ([`windlass_trace::Transfer::latencies`]).
    pub fn connection(&mut self, row: &ConnectionRow, seconds: Vec<LatencySecond>) {
        self.connections.push(row);
        self.verdicts.push(row);
        for interval in row.intervals() {
            self.intervals.push(&interval);
        }
        for of in seconds {
            let (capture, connection) = (Arc::clone(&row.capture), row.report.number);
            self.rtt.push(&RttRow { capture, connection, of });
        }
    }

    /// Returns how many rows wait to be taken.
    pub fn rows(&self, table: Table) -> usize {
        match table {
            Table::Captures => self.captures.rows,
            Table::Connections => self.connections.rows,
            Table::Intervals => self.intervals.rows,
            Table::Verdicts => self.verdicts.rows,
            Table::Rtt => self.rtt.rows,
        }
    }

    /// Takes the batches that have enough rows to be worth writing.
    ///
    /// # Errors
    /// Arrow refuses a batch, as it does beyond 2 GB of text.
    pub fn full(&mut self) -> Result<Vec<(Table, RecordBatch)>, ArrowError> {
        self.take(BATCH)
    }

    /// Takes all remaining rows.
    ///
    /// # Errors
    /// As [`Tables::full`].
    pub fn rest(&mut self) -> Result<Vec<(Table, RecordBatch)>, ArrowError> {
        self.take(1)
    }

    fn take(&mut self, least: usize) -> Result<Vec<(Table, RecordBatch)>, ArrowError> {
        let wanted = Table::ALL.into_iter().filter(|table| self.rows(*table) >= least);
        let wanted: Vec<Table> = wanted.collect();
        let batch = |table| {
            let batch = match table {
                Table::Captures => self.captures.take(),
                Table::Connections => self.connections.take(),
                Table::Intervals => self.intervals.take(),
                Table::Verdicts => self.verdicts.take(),
                Table::Rtt => self.rtt.take(),
            };
            Ok((table, batch?))
        };
        wanted.into_iter().map(batch).collect()
    }
}
