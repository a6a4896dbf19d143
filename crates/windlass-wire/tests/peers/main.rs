//! The readers, beside what other tools read and write.

#![allow(clippy::disallowed_methods, reason = "a test may read files and run tools")]
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test may fail")]

mod against_tcpdump;
mod against_tshark;
#[cfg(feature = "printing")]
mod pages_of_tools;
mod shared_captures;
#[path = "../support/mod.rs"]
mod support;
