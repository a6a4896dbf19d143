//! Writers of captures, which append bytes to a `Vec<u8>` of the caller.

mod pcap;
mod pcapng;

pub use pcap::PcapWriter;
pub use pcapng::{Counts, Interface, PcapngWriter, Section};
