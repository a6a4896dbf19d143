//! Packets to segments.

mod fragments;
pub(crate) mod ip;
pub(crate) mod link;
mod tcp;
mod tunnel;
pub(crate) mod view;

use self::fragments::{Fragments, Joined};
use self::ip::Found;
use self::link::wlan::Msdus;
use self::view::{View, be16, be32};
use crate::other::{Other, Wlan};
use crate::{EcnField, Host, LinkType, Packet, Segment};

/// What a packet turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// A TCP segment.
    Segment(Segment),
    /// A part of a TCP segment whose IP datagram is not complete yet.
    Fragment,
    /// Something else.
    NotTcp(Other),
    /// Something that cannot be read.
    Damaged(Damage),
}

/// Why a packet cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Damage {
    /// The packet, or what the snap length left of it, ends within the headers
    /// that a segment needs.
    Short,
    /// A link header or a tag says what cannot be.
    Link,
    /// A frame of a wireless network that its receiver found damaged.
    Check,
    /// An IP header says what cannot be.
    Ip,
    /// A TCP header says what cannot be.
    Tcp,
    /// IP fragments contradict each other, or are more than is sane.
    Fragments,
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Short => "cut within its headers",
            Self::Link => "a link header that cannot be",
            Self::Check => "a frame that arrived damaged",
            Self::Ip => "an IP header that cannot be",
            Self::Tcp => "a TCP header that cannot be",
            Self::Fragments => "IP fragments that contradict each other",
        })
    }
}

/// Why decoding stopped before a TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    NotTcp(Other),
    Damaged(Damage),
    /// The packet holds several.
    Several(Msdus),
}

impl Stop {
    pub(crate) const SHORT: Self = Self::Damaged(Damage::Short);
    pub(crate) const WRONG_LINK: Self = Self::Damaged(Damage::Link);
}

/// Reads packets.
///
/// A segment with a wrong checksum is a segment: a capture at the sender sees packets before the
/// network card has filled theirs in, and a snap length leaves nothing to sum. Where asked for
/// ([`Decoder::verify_checksums`]), [`Segment::checksum`] tells.
///
/// Fragments of IP datagrams are joined, by their lengths alone: see
/// [`Decoded::Fragment`]. The segment is given when the last missing fragment
/// comes, with the number and time of *that* packet. So segments come in the
/// order of the file, and the number is the one at which Wireshark shows the
/// segment.
///
/// A frame of a wireless network may hold several packets (an A-MSDU):
/// [`Decoder::decode`] gives the first, [`Decoder::more`] those behind it, all with
/// the number and time of the frame.
#[derive(Debug, Default)]
pub struct Decoder {
    fragments: Fragments,
    /// Packets of the last frame that were not given yet, and its number.
    several: Option<(u64, Msdus)>,
    /// Whether the checksums of the packets to come are verified.
    verifies: bool,
}

impl Decoder {
    /// A decoder that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Has the checksums of the packets to come verified, or not. Those of segments without data
    /// never are.
    #[inline]
    pub fn verify_checksums(&mut self, verifies: bool) {
        self.verifies = verifies;
    }

    /// Reads one packet. It does not allocate, but for a small table when the
    /// first fragments come.
    #[inline]
    pub fn decode(&mut self, packet: &Packet<'_>) -> Decoded {
        if let Some((carrier, length)) = plain(packet) {
            return self.tcp(packet, &carrier, &packet.data[PLAIN..], length);
        }
        self.any(packet)
    }

    /// Reads the next packet in the same frame, where it holds several. `packet` is
    /// the one that was decoded last.
    #[inline]
    pub fn more(&mut self, packet: &Packet<'_>) -> Option<Decoded> {
        let (number, msdus) = self.several?;
        self.next_of(packet, number, msdus)
    }

    #[cold]
    fn next_of(&mut self, packet: &Packet<'_>, number: u64, mut msdus: Msdus) -> Option<Decoded> {
        // They were of another packet where nobody asked for the rest of it.
        let next = (number == packet.number).then(|| msdus.next(packet.data)).flatten();
        self.several = next.is_some().then_some((number, msdus));
        next.map(|carried| self.carried(packet, carried))
    }

    /// Reads a packet of any kind.
    fn any(&mut self, packet: &Packet<'_>) -> Decoded {
        let whole = View::new(packet.data, packet.original_length);
        self.carried(packet, link::carried(packet.link, whole))
    }

    /// Reads what a link carries.
    #[inline]
    fn carried(
        &mut self,
        packet: &Packet<'_>,
        carried: Result<link::Carried<'_>, Stop>,
    ) -> Decoded {
        if let Ok(link::Carried::V4(view)) = carried
            && let Some((carrier, tcp)) = ip::plain(view)
        {
            return self.tcp(packet, &carrier, tcp.data, tcp.wire);
        }
        match carried.and_then(ip::find) {
            Ok(Found::Whole(carrier, tcp)) => self.tcp(packet, &carrier, tcp.data, tcp.wire),
            Ok(Found::Part(carrier, part)) => self.join(packet, carrier, &part),
            Err(stop) => self.stopped(packet, stop),
        }
    }

    /// Reads a TCP segment, and verifies its checksum where that is asked for.
    #[inline]
    fn tcp(&self, packet: &Packet<'_>, carrier: &ip::Carrier, data: &[u8], length: u32) -> Decoded {
        let mut decoded = tcp::read(packet, carrier, data, length);
        if self.verifies
            && let Decoded::Segment(segment) = &mut decoded
            && segment.payload > 0
        {
            segment.checksum = tcp::verify(carrier, data, length);
        }
        decoded
    }

    /// Says why there is no segment, or looks into a frame that holds several packets.
    fn stopped(&mut self, packet: &Packet<'_>, stop: Stop) -> Decoded {
        match stop {
            Stop::NotTcp(other) => Decoded::NotTcp(other),
            Stop::Damaged(damage) => Decoded::Damaged(damage),
            Stop::Several(msdus) => self
                .next_of(packet, packet.number, msdus)
                .unwrap_or(Decoded::NotTcp(Other::Wlan(Wlan::NoData))),
        }
    }

    /// Datagrams given up because fragments were missing for 30 seconds, or
    /// because too many were incomplete at once. Nothing is given for them.
    pub fn lost_datagrams(&self) -> u64 {
        self.fragments.lost()
    }

    /// Datagrams that still wait for a fragment.
    pub fn incomplete_datagrams(&self) -> usize {
        self.fragments.waiting()
    }

    #[cold]
    fn join(&mut self, packet: &Packet<'_>, carrier: ip::Carrier, part: &ip::Part<'_>) -> Decoded {
        match self.fragments.add(packet.time, carrier, part) {
            Joined::Waiting => Decoded::Fragment,
            Joined::Refused => Decoded::Damaged(Damage::Fragments),
            Joined::Complete(datagram) => {
                tcp::read(packet, &datagram.carrier, datagram.head(), datagram.length)
            }
        }
    }
}

/// The bytes of an Ethernet and a plain IPv4 header.
const PLAIN: usize = 34;

/// What the headers say of the packet that nearly all are: TCP in IPv4 without
/// options, whole, in Ethernet without tags. The general way comes to the same
/// for them, at twice the time.
#[inline]
fn plain(packet: &Packet<'_>) -> Option<(ip::Carrier, u32)> {
    let head: &[u8; PLAIN] = packet.data.first_chunk()?;
    let total = be16(head, 16);
    let is_plain = packet.link == LinkType::ETHERNET
        && be32(head, 12) & 0xffff_ff00 == 0x0800_4500
        && be16(head, 20) & 0x3fff == 0
        && head[23] == 6
        && total >= 20;
    is_plain.then(|| {
        let carrier = ip::Carrier {
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
