//! A packet as a capture file holds it.

use windlass_base::Timestamp;

use crate::LinkType;

/// One packet of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Number in Wireshark's count: the first packet of the file is 1.
    pub number: u64,
    /// Capture time.
    pub time: Timestamp,
    /// Link type, which tells the type of the first header.
    pub link: LinkType,
    /// True if the writer of the file was big-endian, which [`LinkType::NULL`] depends on.
    pub big_endian: bool,
    /// Length on the wire in bytes, of which `data` may hold fewer.
    pub original_length: u32,
    /// The captured bytes.
    pub data: &'a [u8],
}
