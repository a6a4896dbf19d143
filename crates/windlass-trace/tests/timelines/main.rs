//! The analyser on captures written as timelines: each cause, and what looks
//! like it.

#[path = "../support/mod.rs"]
mod support;

mod application;
mod congestion;
mod copies;
mod edges;
mod golden;
mod hostile;
mod loss;
mod partial;
mod send_buffer;
mod window;
mod zero_window;
