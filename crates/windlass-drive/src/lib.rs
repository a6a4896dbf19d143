//! Drives a path, measures it, and finds the window that fits it.
//!
//! This crate opens sockets and has threads. It knows neither the analyser nor
//! the simulator, so what it measures can be held against both.

pub mod sweep;
