//! The built-in packet filters: beside those of libpcap, and in the kernel.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod against_libpcap;
mod in_the_kernel;
mod packets;
