#![doc = include_str!("../README.md")]
//!
//! Seeded hosts, devices, queues and links.
//!
//! Each of them is a state machine: `handle(now, input)` takes an arriving packet, `poll(now)`
//! returns the next departing packet, and `next_time()` says when to poll again. None has a clock.
//! The caller tells the time, so the same machine runs in virtual time, where fifteen minutes pass
//! in milliseconds, and in real time behind a TUN interface.
//!
//! A seed always gives the same result, on every platform.

pub mod device;
mod event_queue;
pub mod ipp;
pub mod link;
pub mod lpr;
mod numbering;
mod random;
pub mod segment;
pub mod sender;
#[cfg(test)]
#[path = "tests/timeline.rs"]
mod timeline;
pub mod world;
pub mod written;

pub use device::{ConnectionSnapshot, Device, Habits, Latency, ReaderActivity, Service};
pub use link::{
    Channel, Delivery, Fading, Fate, HalfDuplex, Link, LinkCounters, LinkSettings, Policer, Queue,
};
pub use lpr::LprTotals;
pub use segment::{Payload, Segment, SharedBytes};
pub use sender::{Ending, HoldCause, Sender, SenderSettings, Truth};
pub use world::{
    CapturePoint, Direction, Hop, PacketEvent, RunLimits, Setting, StopReason, Stream, World,
};
