#![doc = include_str!("../README.md")]
//!
//! Seeded hosts, devices, queues and links.
//!
//! Each is a state machine: `handle(now, input)` takes what arrives,
//! `poll(now)` gives what leaves, and `next_time()` says when to poll again.
//! None has a clock. Time is what the caller says it is, so the same machine
//! runs in virtual time, where fifteen minutes pass in milliseconds, and in
//! real time behind a TUN interface.
//!
//! The same seed gives the same result, always and on every platform.

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

pub use device::{ConnectionLook, Device, Habits, Latency, Reading, Service};
pub use link::{
    Channel, Delivery, Fading, Fate, HalfDuplex, Link, LinkCounters, LinkSettings, Policer, Queue,
};
pub use lpr::Received;
pub use segment::{Payload, Segment, SharedBytes};
pub use sender::{Ending, HeldBy, Sender, SenderSettings, Truth};
pub use world::{
    CapturePoint, Direction, Hop, PacketEvent, Setting, Stopped, Stream, Until, World,
};
