//! Decoding of packets to TCP segments.

mod fragments;
pub(crate) mod ip;
pub(crate) mod link;
mod tcp;
mod tunnel;
pub(crate) mod view;

use self::fragments::{Fragments, Reassembly};
use self::ip::TcpPayload;
use self::link::wlan::Msdus;
use self::view::{View, be16, be32};
use crate::other::{NonTcpPacket, Wlan};
use crate::{EcnField, Host, LinkType, Packet, Segment};

/// Result of decoding a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// A TCP segment.
    Segment(Segment),
    /// A fragment of a TCP segment whose IP datagram is still incomplete.
    Fragment,
    /// A packet without TCP.
    NotTcp(NonTcpPacket),
    /// A packet that cannot be read.
    Damaged(Damage),
}

/// Reason for which a packet cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Damage {
    /// The packet, or its captured part, ends within the headers that a segment needs.
    Short,
    /// A link header or a tag has an impossible value.
    Link,
    /// The receiver found the check sequence of a wireless frame wrong.
    Check,
    /// An IP header has an impossible value.
    Ip,
    /// A TCP header has an impossible value.
    Tcp,
    /// IP fragments contradict each other, or there are too many.
    Fragments,
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Short => "cut within its headers",
            Self::Link => "an invalid link header",
            Self::Check => "a frame that arrived damaged",
            Self::Ip => "an invalid IP header",
            Self::Tcp => "an invalid TCP header",
            Self::Fragments => "IP fragments that contradict each other",
        })
    }
}

/// Reason for which decoding stopped before a TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    NotTcp(NonTcpPacket),
    Damaged(Damage),
    /// The frame holds several packets.
    Several(Msdus),
}

impl Stop {
    pub(crate) const SHORT: Self = Self::Damaged(Damage::Short);
    pub(crate) const WRONG_LINK: Self = Self::Damaged(Damage::Link);
}

/// Decoder of packets to TCP segments.
///
/// A segment with a wrong checksum is decoded all the same. A capture at the sender sees packets
/// before the network card fills the checksums in, and a snap length cuts bytes that the sum needs.
/// [`Segment::checksum`] holds the verdict if [`Decoder::verify_checksums`] asked for it.
///
/// Fragments of IP datagrams are reassembled by their lengths alone: see [`Decoded::Fragment`]. The
/// segment is returned with the last missing fragment, with the number and time of *that* packet.
/// So segments come in the order of the file, and Wireshark shows the segment at the same number.
///
/// A frame of a wireless network may hold several packets (an A-MSDU). [`Decoder::decode`] returns
/// the first and [`Decoder::more`] the others, all with the number and time of the frame.
#[derive(Debug, Default)]
pub struct Decoder {
    fragments: Fragments,
    /// Packets of the last frame that are not returned yet, with the frame's number.
    several: Option<(u64, Msdus)>,
    /// True if checksums are verified.
    verifies: bool,
}

impl Decoder {
    /// Creates a decoder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether the checksums of the next packets are verified. Checksums of segments without
    /// data never are.
    #[inline]
    pub fn verify_checksums(&mut self, verifies: bool) {
        self.verifies = verifies;
    }

    /// Decodes one packet. Only the first fragments allocate memory, for a small table.
    #[inline]
    pub fn decode(&mut self, packet: &Packet<'_>) -> Decoded {
        if let Some((carrier, length)) = plain(packet) {
            return self.tcp(packet, &carrier, &packet.data[PLAIN..], length);
        }
        self.any(packet)
    }

    /// Decodes the next packet of the same frame, if the frame holds several. `packet` is the one
    /// that was decoded last.
    #[inline]
    pub fn more(&mut self, packet: &Packet<'_>) -> Option<Decoded> {
        let (number, msdus) = self.several?;
        self.next_of(packet, number, msdus)
    }

    #[cold]
    fn next_of(&mut self, packet: &Packet<'_>, number: u64, mut msdus: Msdus) -> Option<Decoded> {
        // They belong to another packet if the caller did not ask for the rest of that one.
        let next = (number == packet.number).then(|| msdus.next(packet.data)).flatten();
        self.several = next.is_some().then_some((number, msdus));
        next.map(|carried| self.carried(packet, carried))
    }

    /// Decodes a packet of any kind.
    fn any(&mut self, packet: &Packet<'_>) -> Decoded {
        let whole = View::new(packet.data, packet.original_length);
        self.carried(packet, link::carried(packet.link, whole))
    }

    /// Decodes the IP packet that a link carries.
    #[inline]
    fn carried(
        &mut self,
        packet: &Packet<'_>,
        carried: Result<link::IpPacket<'_>, Stop>,
    ) -> Decoded {
        if let Ok(link::IpPacket::V4(view)) = carried
            && let Some((carrier, tcp)) = ip::plain(view)
        {
            return self.tcp(packet, &carrier, tcp.data, tcp.wire);
        }
        match carried.and_then(ip::find) {
            Ok(TcpPayload::Whole(carrier, tcp)) => self.tcp(packet, &carrier, tcp.data, tcp.wire),
            Ok(TcpPayload::Part(carrier, part)) => self.join(packet, carrier, &part),
            Err(stop) => self.stopped(packet, stop),
        }
    }

    /// Decodes a TCP segment, and verifies its checksum if asked to.
    #[inline]
    fn tcp(
        &self,
        packet: &Packet<'_>,
        carrier: &ip::IpHeader,
        data: &[u8],
        length: u32,
    ) -> Decoded {
        let mut decoded = tcp::read(packet, carrier, data, length);
        if self.verifies
            && let Decoded::Segment(segment) = &mut decoded
            && segment.payload > 0
        {
            segment.checksum = tcp::verify(carrier, data, length);
        }
        decoded
    }

    /// Returns the reason for which there is no segment, or looks into a frame that holds several
    /// packets.
    fn stopped(&mut self, packet: &Packet<'_>, stop: Stop) -> Decoded {
        match stop {
            Stop::NotTcp(other) => Decoded::NotTcp(other),
            Stop::Damaged(damage) => Decoded::Damaged(damage),
            Stop::Several(msdus) => self
                .next_of(packet, packet.number, msdus)
                .unwrap_or(Decoded::NotTcp(NonTcpPacket::Wlan(Wlan::NoData))),
        }
    }

    /// Returns the number of datagrams given up because fragments were missing for 30 seconds, or
    /// because too many datagrams were incomplete. No segment is returned for these datagrams.
    pub fn lost_datagrams(&self) -> u64 {
        self.fragments.lost()
    }

    /// Returns the number of datagrams that still wait for a fragment.
    pub fn incomplete_datagrams(&self) -> usize {
        self.fragments.waiting()
    }

    #[cold]
    fn join(
        &mut self,
        packet: &Packet<'_>,
        carrier: ip::IpHeader,
        part: &ip::TcpFragment<'_>,
    ) -> Decoded {
        match self.fragments.add(packet.time, carrier, part) {
            Reassembly::Waiting => Decoded::Fragment,
            Reassembly::Refused => Decoded::Damaged(Damage::Fragments),
            Reassembly::Complete(datagram) => {
                tcp::read(packet, &datagram.carrier, datagram.head(), datagram.length)
            }
        }
    }
}

/// Bytes of an Ethernet header and an IPv4 header without options.
const PLAIN: usize = 34;

/// Reads the headers of the most common packet: an unfragmented TCP segment in IPv4 without
/// options, in Ethernet without tags. The general decoding has the same result in twice the time.
#[inline]
fn plain(packet: &Packet<'_>) -> Option<(ip::IpHeader, u32)> {
    let head: &[u8; PLAIN] = packet.data.first_chunk()?;
    let total = be16(head, 16);
    let is_plain = packet.link == LinkType::ETHERNET
        && be32(head, 12) & 0xffff_ff00 == 0x0800_4500
        && be16(head, 20) & 0x3fff == 0
        && head[23] == 6
        && total >= 20;
    is_plain.then(|| {
        let carrier = ip::IpHeader {
            source: Host::V4(be32(head, 26).into()),
            destination: Host::V4(be32(head, 30).into()),
            identification: Some(be16(head, 18)),
            hop_limit: head[22],
            ecn: EcnField::of(head[15]),
        };
        (carrier, u32::from(total) - 20)
    })
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
