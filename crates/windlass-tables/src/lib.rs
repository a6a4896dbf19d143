#![doc = include_str!("../README.md")]
//!
//! What the analyser says of captures, as Arrow record batches and Parquet tables:
//! [`Tables`] takes rows and gives batches, [`TableWriter`] writes the batches of one
//! [`Table`]. A table is a list of columns, written once: its schema, its documentation
//! (`docs/tables.md`) and its values follow from that.
//!
//! Nothing here opens a file or has a thread; the writer takes an [`std::io::Write`].

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
pub use rows::{CaptureRow, ConnectionRow, IntervalRow, RttRow, Taken};
pub use tables::{Table, Tables};
use windlass_base::Schema;
pub use write::{ANALYSER_KEY, SCHEMA_KEY, TABLE_KEY, TableWriter};

/// The name and version of the tables' shape. The version rises when a column goes or changes
/// its meaning.
pub const SCHEMA: Schema = Schema { name: "windlass.tables", version: 1 };

/// The version of the analyser that fills them.
pub const ANALYSER: &str = env!("CARGO_PKG_VERSION");
