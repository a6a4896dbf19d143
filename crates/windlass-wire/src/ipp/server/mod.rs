//! Common parts of IPP servers: validation of requests, requested attributes, and answers. A spool
//! and an emulated printer share this code.

mod asked;
mod fit;
mod reply;
mod wanted;

pub use asked::Compression;
pub use fit::InvalidRequest;
pub(super) use reply::beginning;
pub use reply::{IppRefusal, Reply, cut, in_one_line, name, number, text, uri, when, words};
pub use wanted::{AttributeCategory, FilteredGroup, RequestedAttributes};
