//! Writes captures: bytes appended to a `Vec<u8>`, which the caller puts where
//! it wants.

mod pcap;
mod pcapng;

pub use pcap::PcapWriter;
pub use pcapng::{Counts, Interface, PcapngWriter, Section};
