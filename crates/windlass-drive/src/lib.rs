//! Drives a path, measures it, and finds the window that fits it.
//!
//! This crate opens sockets and has threads. It knows neither the analyser nor
//! the simulator, so what it measures can be held against both.
#![cfg(target_os = "linux")]

pub mod control;
mod error;
pub mod report;
pub mod socket;
pub mod transfer;

pub use error::Error;
