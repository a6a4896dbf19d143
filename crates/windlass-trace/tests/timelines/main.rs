//! The analyser on captures written as timelines: each cause, and what looks
//! like it. And what holds for every capture.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::cast_possible_truncation,
    reason = "a test that cannot go on says why, and its numbers are small"
)]

#[path = "../support/mod.rs"]
mod support;

mod ack_path;
mod aggregate;
mod application;
mod audit;
mod capture_loss;
mod clock;
mod compare;
mod congestion;
mod copies;
mod damaged;
mod edges;
mod facts;
mod far;
mod farewell;
mod full_segment;
mod golden;
mod handshake;
mod hostile;
mod keep_alive;
mod line;
mod look;
mod loss;
mod loss_causes;
mod opening;
mod partial;
mod power_save;
mod properties;
mod reader;
mod send_buffer;
mod sent_again;
mod window;
mod zero_window;
