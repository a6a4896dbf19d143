//! Answers that need no other program: laws, lab, manual pages, manners, and completions of shells.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test has peers")]

mod completions;
mod lab;
mod law;
mod man;
mod manners;
