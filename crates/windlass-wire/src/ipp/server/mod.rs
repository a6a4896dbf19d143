//! What servers have in common, whatever they print: how requests have to begin,
//! what they ask for, and how answers are made. A spool and an emulated printer
//! answer by the same.

mod asked;
mod fit;
mod reply;
mod wanted;

pub use asked::Compression;
pub use fit::Unfit;
pub(super) use reply::beginning;
pub use reply::{No, Reply, cut, in_one_line, name, number, text, uri, when, words};
pub use wanted::{Part, Picked, Wanted};
