#![doc = include_str!("../README.md")]
//!
//! Results of the analyser as Arrow record batches and Parquet tables: [`Tables`] takes rows and
//! returns batches, and [`TableWriter`] writes the batches of one [`Table`]. A table is a list of
//! columns, written once. Its schema, its documentation (`docs/tables.md`) and its values follow
//! from that.
//!
//! Nothing here opens a file or starts a thread; the writer takes an [`std::io::Write`].

mod batch;
mod captures;
mod column;
mod connections;
mod date;
mod intervals;
mod pattern;
mod rows;
mod rtt;
mod tables;
mod verdicts;
mod write;

pub use column::{ColumnFacts, UTC};
pub use date::Date;
pub use pattern::{PathField, PathPattern};
pub use rows::{CaptureRow, ConnectionRow, FileNameFields, IntervalRow, RttRow};
pub use tables::{Table, Tables};
use windlass_base::Schema;
pub use write::{ANALYSER_KEY, SCHEMA_KEY, TABLE_KEY, TableWriter};

/// Name and version of the tables' schema. The version rises when a column is removed or changes
/// its meaning.
pub const SCHEMA: Schema = Schema { name: "windlass.tables", version: 1 };

/// The version of the analyser that fills the tables.
pub const ANALYSER: &str = env!("CARGO_PKG_VERSION");
