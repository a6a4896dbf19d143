#![doc = include_str!("../README.md")]
//!
//! Bytes to types and back: capture files, link layers, IP and TCP, iperf's control messages, and
//! the protocols between printers and their clients.
//!
//! A [`Capture`] reads the bytes of a file and gives [`Packet`]s. A [`Decoder`] decodes packets to
//! [`Segment`]s. A [`TextReader`] reads segments directly from tcpdump's text. Each reader passes
//! its results to an [`Observer`]; [`Segments`] is an observer that decodes packets and passes
//! their segments on. Nothing here does I/O.

pub mod build;
mod bytes;
pub mod capture;
pub mod decode;
pub mod echo;
pub mod escape;
mod ethernet;
pub mod filter;
#[cfg(feature = "printing")]
pub mod http;
pub mod icmp;
pub mod incoming;
#[cfg(feature = "iperf")]
pub mod iperf2;
#[cfg(feature = "iperf")]
pub mod iperf3;
#[cfg(feature = "printing")]
pub mod ipp;
mod link_type;
#[cfg(feature = "printing")]
pub mod lpr;
#[cfg(feature = "printing")]
pub mod media_type;
#[cfg(feature = "iperf")]
pub mod numbered;
mod observer;
pub mod other;
pub mod packet;
mod packet_range;
#[cfg(feature = "printing")]
pub mod pages;
pub mod passed;
#[cfg(feature = "printing")]
pub mod pjl;
#[cfg(test)]
#[path = "tests/samples.rs"]
mod samples;
pub mod segment;
mod segments;
#[cfg(feature = "printing")]
pub mod snmp;
#[cfg(feature = "printing")]
pub mod status_source;
pub mod target;
pub mod text;
pub mod too_big;
pub mod write;

pub use bytes::ByteOrder;
pub use capture::{Capture, CaptureDamage, CaptureInfo, Losses};
pub use decode::{Decoded, Decoder};
pub use ethernet::{EthernetEnds, EthernetHead, Mac};
pub use link_type::LinkType;
pub use observer::{Observer, Progress};
pub use other::NonTcpPacket;
pub use packet::Packet;
pub use packet_range::{CapturePosition, PacketRange};
pub use segment::{
    Checksum, EcnField, Endpoint, Flags, Host, Options, SackBlocks, Segment, SequenceRange,
};
pub use segments::{ConnectionFilter, Segments};
pub use text::TextReader;
pub use too_big::PacketTooBig;
