//! A packet as a capture file holds it.

use windlass_base::Timestamp;

use crate::LinkType;

/// One packet of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Its number as Wireshark counts: the first packet of the file is 1.
    pub number: u64,
    /// When it was captured.
    pub time: Timestamp,
    /// What its first bytes are.
    pub link: LinkType,
    /// Whether the writer of the file was big-endian; [`LinkType::NULL`] needs
    /// it.
    pub big_endian: bool,
    /// Its length on the wire in bytes, of which `data` may hold fewer.
    pub original_length: u32,
    /// The captured bytes.
    pub data: &'a [u8],
}
