//! A device at a moment, for who watches it.

use windlass_base::{Bytes, Span};

/// A connection of a device at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLook {
    /// The port of the device.
    pub port: u16,
    /// The port of its peer.
    pub peer_port: u16,
    /// Payload that has come in order, each byte once.
    pub received: Bytes,
    /// Of it, what lies in the buffer: nobody has read it.
    pub unread: Bytes,
    /// What the peer may send still, by what the device has offered.
    pub window: Bytes,
    /// What its program does.
    pub reading: Reading,
}

/// What a program does with what has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// It has read all of it.
    Waiting,
    /// It reads it as it comes.
    AtOnce,
    /// What it read last is being printed.
    Printing,
    /// It reads no more before that is acknowledged.
    BeforeAck,
    /// It is acknowledged, and will be read in a moment.
    AfterAck,
    /// It stalls, for so long still.
    Stalled {
        /// How long.
        left: Span,
    },
    /// It reads no more before its peer has taken its answers.
    Clogged,
}
