//! Ends of an Ethernet frame: MAC addresses and VLANs.

use std::fmt;

use windlass_base::AsText;

use crate::decode::link::is_vlan_tag;
use crate::decode::view::be16;
use crate::{LinkType, Packet};

/// A MAC address (IEEE 802).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, AsText)]
pub struct Mac(pub [u8; 6]);

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// The ends of an Ethernet frame, and the VLANs that it is tagged with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EthernetEnds {
    /// MAC address of the sender.
    pub source: Mac,
    /// MAC address of the receiver.
    pub destination: Mac,
    /// The outer VLAN identifier, then the inner one.
    vlans: [Option<u16>; 2],
}

impl EthernetEnds {
    /// Iterates over the VLAN identifiers of the first two tags, the outer one first (IEEE 802.1Q,
    /// 802.1ad).
    pub fn vlans(&self) -> impl Iterator<Item = u16> {
        self.vlans.into_iter().flatten()
    }
}

/// First bytes of a packet's Ethernet header, parsed on demand. Two tags end after 22 bytes, and
/// every payload has at least two more. The bytes of each packet are copied: a copy of 24 bytes is
/// measurably faster than one of 22.
#[derive(Clone, Copy, Debug, Default)]
pub struct EthernetHead(Option<[u8; 24]>);

impl EthernetHead {
    /// Copies the header of a packet. A packet that is no Ethernet frame gives an empty one.
    #[inline]
    pub fn of(packet: &Packet<'_>) -> Self {
        let is_ethernet = packet.link == LinkType::ETHERNET;
        Self(packet.data.first_chunk().filter(|_| is_ethernet).copied())
    }

    /// Returns the ends of the frame.
    pub fn ends(&self) -> Option<EthernetEnds> {
        let head = self.0.as_ref()?;
        let mac = |at: usize| {
            Mac([head[at], head[at + 1], head[at + 2], head[at + 3], head[at + 4], head[at + 5]])
        };
        // The VLAN identifier is the last 12 bits.
        let tag = |at| is_vlan_tag(be16(head, at)).then(|| be16(head, at + 2) & 0x0fff);
        let outer = tag(12);
        let vlans = [outer, outer.and_then(|_| tag(16))];
        Some(EthernetEnds { source: mac(6), destination: mac(0), vlans })
    }
}

#[cfg(test)]
mod tests {
    use windlass_base::Timestamp;

    use super::*;

    fn ends(link: LinkType, behind: &[u8]) -> Option<EthernetEnds> {
        let mut data = vec![0x02, 0, 0, 0, 0, 0x0a, 0x00, 0x1b, 0xa9, 1, 2, 3];
        data.extend_from_slice(behind);
        data.resize(60, 0);
        let original_length = 60;
        let (number, time, big_endian) = (1, Timestamp::ZERO, false);
        let packet = Packet { number, time, link, big_endian, original_length, data: &data };
        EthernetHead::of(&packet).ends()
    }

    #[test]
    fn both_ends_and_the_vlans_are_told() {
        let vlans = |behind: &[u8]| -> Vec<u16> {
            let ends = ends(LinkType::ETHERNET, behind).unwrap();
            assert_eq!(ends.source.to_string(), "00:1b:a9:01:02:03");
            assert_eq!(ends.destination.to_string(), "02:00:00:00:00:0a");
            ends.vlans().collect()
        };
        assert_eq!(vlans(&[0x08, 0x00, 0x45, 0x00]), [0; 0]);
        // A priority of 5 is no part of the VLAN identifier.
        assert_eq!(vlans(&[0x81, 0x00, 0xa0, 0x64, 0x08, 0x00]), [100]);
        assert_eq!(vlans(&[0x88, 0xa8, 0x00, 0x07, 0x81, 0x00, 0x0f, 0xff, 0x08, 0]), [7, 4_095]);
    }

    #[test]
    fn other_links_and_short_frames_say_nothing() {
        assert_eq!(ends(LinkType::RAW, &[0x08, 0x00]), None);
        assert_eq!(EthernetHead::default().ends(), None);
    }
}
