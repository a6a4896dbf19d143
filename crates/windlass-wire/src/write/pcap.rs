//! Writer of pcap (draft-ietf-opsawg-pcap, version 2.4).

use windlass_base::Timestamp;

use crate::{ByteOrder, LinkType};

/// Writer of a pcap file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PcapWriter {
    /// Byte order of the headers.
    pub order: ByteOrder,
    /// True for times in nanoseconds, false for microseconds.
    pub nanoseconds: bool,
    /// Link type of the packets.
    pub link: LinkType,
    /// Snap length, in bytes.
    pub snap_length: u32,
}

/// The default: Ethernet, nanoseconds, little-endian, whole packets.
impl Default for PcapWriter {
    fn default() -> Self {
        Self {
            order: ByteOrder::Little,
            nanoseconds: true,
            link: LinkType::ETHERNET,
            snap_length: crate::capture::MAX_PACKET_BYTES,
        }
    }
}

impl PcapWriter {
    /// Appends the file header.
    pub fn header(&self, out: &mut Vec<u8>) {
        let magic = if self.nanoseconds { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
        out.extend(self.order.u32(magic));
        out.extend(self.order.u16(2));
        out.extend(self.order.u16(4));
        // Time zone and accuracy, which are unused.
        out.extend([0; 8]);
        out.extend(self.order.u32(self.snap_length));
        out.extend(self.order.u32(self.link.0.into()));
    }

    /// Appends a packet that had `original_length` bytes on the wire. The format cannot hold times
    /// before 1970 and after 2106: they become the nearest possible time.
    pub fn record(&self, out: &mut Vec<u8>, time: Timestamp, original_length: u32, data: &[u8]) {
        const SECOND: u64 = 1_000_000_000;
        let last = u64::from(u32::MAX) * SECOND + (SECOND - 1);
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(0).min(last);
        let fraction = nanos % SECOND / if self.nanoseconds { 1 } else { 1_000 };
        out.extend(self.order.u32((nanos / SECOND) as u32));
        out.extend(self.order.u32(fraction as u32));
        let data = &data[..data.len().min(u32::MAX as usize)];
        out.extend(self.order.u32(data.len() as u32));
        out.extend(self.order.u32(original_length));
        out.extend_from_slice(data);
    }
}
