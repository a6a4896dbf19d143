//! The Linux edge: what the kernel offers and the standard library does not.
//!
//! This is the only crate with `unsafe`. Each block of it says why it is sound.
//! It holds no policy: what to do with what the kernel says is up to the
//! caller.
#![allow(unsafe_code, reason = "this crate is where the house keeps it")]
#![deny(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

pub mod cache;
pub mod map;
