//! `windlass sweep`: of simulated paths, of real ones, and its page.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test has peers")]

mod hosts;
mod page;
mod simulated;
