//! What an archive is made of: its log, and objects of rows.

pub mod log;
pub mod objects;
pub mod place;
mod reader;

pub use log::{Batch, Change, Did, State, new_id};
pub use place::Place;
