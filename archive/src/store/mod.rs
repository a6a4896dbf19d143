//! What an archive is made of: its log, and objects of rows.

pub mod log;
pub mod objects;
pub mod place;
mod reader;

pub use log::{Batch, Change, Did, State, new_id};
pub use place::Place;

use windlass_tables::Table;

use crate::sums::Sum;

/// The table of the captures themselves.
pub const CAPTURES: &str = Table::Captures.id();

/// The names of an archive's tables: those of `windlass-tables`, and the sums of them.
pub fn tables() -> impl Iterator<Item = &'static str> {
    Table::ALL.into_iter().map(Table::id).chain(Sum::ALL.into_iter().map(Sum::id))
}
