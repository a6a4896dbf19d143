#![doc = include_str!("../README.md")]
//!
//! No command formats its own numbers: bytes, rates and spans convert to [`Text`], and [`figures`]
//! has the rest. See `docs/decisions/0002-one-record-one-printer.md`.

mod bar;
pub mod csv;
pub mod figures;
pub mod html;
mod limits;
pub mod live;
mod output;
mod page;
mod pager;
mod progress;
pub mod records;
mod table;
mod text;
pub mod verdict;

pub use bar::{Bar, Mark};
pub use limits::mark;
pub use output::{ColorChoice, Format, Output};
pub use page::{Page, Rows};
pub use progress::{Progress, Steps};
pub use table::{Column, Table};
pub use text::{Style, Text};

/// Result of a command: prints as JSON through `serde`, and as text through [`Record::text`].
///
/// The first field of the JSON is a [`windlass_base::Schema`]. `schemas/` holds the JSON Schema
/// that a test checks the JSON against.
pub trait Record: serde::Serialize {
    /// Writes the record for people.
    fn text(&self, page: &mut Page);
}

impl<R: Record + ?Sized> Record for &R {
    fn text(&self, page: &mut Page) {
        R::text(self, page);
    }
}
