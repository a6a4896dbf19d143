//! What can be read, and what is said of the rest: the same transfer behind each link
//! header, in each tunnel and in each file format, with tshark and editcap to compare
//! with. And what the built-in packet filters let through.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(unreachable_pub, reason = "a test has no callers from outside")]

#[path = "../support/mod.rs"]
mod support;

mod filters;
mod formats;
mod instead;
mod sample;
mod wrapped;
