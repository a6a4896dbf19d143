//! Storage of an archive: its log, and objects of rows.

pub mod log;
pub mod objects;
pub mod place;
mod reader;

pub use log::{Batch, Change, ChangeReason, State, new_id};
pub use place::Place;

use windlass_tables::Table;

use crate::sums::Sum;

/// Name of the table of captures.
pub const CAPTURES: &str = Table::Captures.id();

/// Returns the names of an archive's tables: those of `windlass-tables`, and the sums.
pub fn tables() -> impl Iterator<Item = &'static str> {
    Table::ALL.into_iter().map(Table::id).chain(Sum::ALL.into_iter().map(Sum::id))
}
