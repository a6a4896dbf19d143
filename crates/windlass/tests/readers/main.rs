//! Readable inputs, and reports on others: a transfer behind each link header, in each tunnel and
//! in each file format, compared with tshark and editcap. Also the verdicts of built-in packet
//! filters.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(unreachable_pub, reason = "a test has no callers from outside")]

mod filters;
mod formats;
mod instead;
mod sample;
mod wrapped;
