//! How many pages a document has, told from its data as it passes.
//!
//! A [`Counter`] takes the bytes of a document in pieces of any size and in the end says
//! how many pages a printer prints of it, or that this cannot be told: what is unknown
//! is never guessed. Whatever the bytes are, it keeps a bounded amount of them, and
//! takes a time that is bounded by their number. Bytes that it need not see it names
//! beforehand ([`Counter::skips`]): of a PDF those are most.
//!
//! | format | how it is counted |
//! |---|---|
//! | PDF | leaves of the page tree, which must be as many as its `/Count` says; object streams are unpacked; encrypted is unknown |
//! | PostScript | the comments `%%Pages` and `%%Page`, which must agree (DSC 3.0); without them unknown |
//! | PCL 5 | form feeds and what else ejects a page with something on it |
//! | PCL XL | `EndPage`, with its copies |
//! | PWG and CUPS raster, URF | headers of pages, with the lines between walked through |
//! | JPEG, PNG | one |
//! | plain text | form feeds, where no page is longer or wider than any printer's; else unknown |
//! | PJL | the data within, each by its own format, with `COPIES` and `QTY` |

mod format;
mod jobs;
mod language;
mod number;
mod packed_lines;
mod pcl;
mod pcl_xl;
mod pdf;
mod picture;
mod postscript;
mod raster;
mod text;
mod urf;

pub use format::{Format, HEAD};
pub use jobs::Counter;
pub use language::{Pages, Unknown};

#[cfg(test)]
#[path = "pages_tests.rs"]
mod tests;
