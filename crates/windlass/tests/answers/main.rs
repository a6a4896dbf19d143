//! What the program answers by itself: its laws, its lab, its manual pages, its manners, and
//! what shells complete.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test has peers")]

mod completions;
mod lab;
mod law;
mod man;
mod manners;
#[path = "../support/mod.rs"]
mod support;
