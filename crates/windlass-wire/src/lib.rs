//! Bytes to types and back: capture files, link layers, IP and TCP, and what
//! iperf's ends say to each other, or a printer and who prints on it.
//!
//! The way through: a [`Capture`] takes the bytes of a file and gives
//! [`Packet`]s; a [`Decoder`] takes packets and gives [`Segment`]s. The text
//! that tcpdump prints gives segments at once, by a [`TextReader`]. Nothing here
//! does I/O.

pub mod build;
mod bytes;
pub mod capture;
pub mod decode;
pub mod echo;
mod erf;
pub mod escape;
pub mod filter;
mod fragments;
pub mod http;
pub mod icmp;
pub mod incoming;
mod ip;
pub mod iperf2;
pub mod iperf3;
pub mod ipp;
mod link;
pub mod lpr;
pub mod other;
pub mod packet;
pub mod pjl;
#[cfg(test)]
mod samples;
pub mod segment;
pub mod sink;
mod tap;
pub mod target;
mod tcp;
pub mod text;
mod tunnel;
mod view;
mod wan;
mod wlan;
pub mod write;

pub use bytes::ByteOrder;
pub use capture::{Capture, CaptureInfo, Damage, Losses};
pub use decode::{Decoded, Decoder};
pub use other::Other;
pub use packet::{LinkType, Packet};
pub use segment::{Endpoint, Flags, Host, Options, SackBlocks, Segment, SequenceRange};
pub use sink::{Progress, Sink};
pub use text::TextReader;
