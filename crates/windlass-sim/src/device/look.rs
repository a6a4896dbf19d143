//! Snapshots of a device.

use windlass_base::{Bytes, Span};

/// Snapshot of a connection of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionSnapshot {
    /// The port of the device.
    pub port: u16,
    /// The port of its peer.
    pub peer_port: u16,
    /// Payload that has arrived in order, each byte once.
    pub received: Bytes,
    /// Part of this payload that the program has not read yet.
    pub unread: Bytes,
    /// Bytes that the peer may still send within the offered window.
    pub window: Bytes,
    /// Activity of the program that reads.
    pub reading: ReaderActivity,
}

/// Activity of the program that reads a connection's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReaderActivity {
    /// The program has read everything.
    Waiting,
    /// The program reads data as it arrives.
    AtOnce,
    /// The printer still prints the data that was read last.
    Printing,
    /// The program waits until the data is acknowledged.
    BeforeAck,
    /// The data is acknowledged, and will be read in a moment.
    AfterAck,
    /// The program stalls.
    Stalled {
        /// Remaining time of the stall.
        left: Span,
    },
    /// The program waits until its peer has taken its answers.
    Clogged,
}
