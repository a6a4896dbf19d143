//! Page counts of documents, from their data as it passes.
//!
//! A [`Counter`] takes the bytes of a document in pieces of any size. In the end it returns the
//! number of pages that a printer prints, or that the number is unknown; it never guesses. It keeps
//! a bounded number of bytes, and its time is bounded by the length of the document. It announces
//! bytes that it does not need ([`Counter::skips`]), which are most of a PDF.
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

pub use format::{DocumentFormat, HEAD};
pub use jobs::Counter;
pub use language::{Pages, UnknownReason};

#[cfg(test)]
#[path = "pages_tests.rs"]
mod tests;
