//! Emulated links and devices in real time, and what measures a round trip.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test has peers")]

mod device_run;
mod link;
mod ping;
mod real;
