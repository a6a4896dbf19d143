//! Builds packets: a TCP segment or a UDP datagram in IPv4 or IPv6, optionally in Ethernet, with
//! correct lengths and checksums.
//!
//! Bytes are appended to a `Vec<u8>`. The caller writes them to a capture or to a TUN interface.

mod checksum;
mod congestion;
mod datagram;
mod joined;
mod options;

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::{Flags, Options};

pub(crate) use checksum::Sum;
pub use checksum::{ChecksumVerdict, check};
pub use congestion::mark_congestion;
pub use datagram::datagram;
pub use joined::CoalescedPackets;

/// The bytes of a TCP header without options (RFC 9293 section 3.1).
const TCP: usize = 20;
/// The bytes of an IPv4 header without options (RFC 791 section 3.1).
pub(crate) const IPV4: usize = 20;
/// The bytes of an IPv6 header (RFC 8200 section 3).
const IPV6: usize = 40;
/// IANA's number of TCP.
const PROTOCOL: u8 = 6;

/// Source and destination of an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// IPv4 addresses.
    V4 {
        /// Address of the sender.
        source: Ipv4Addr,
        /// Address of the receiver.
        destination: Ipv4Addr,
    },
    /// IPv6 addresses.
    V6 {
        /// Address of the sender.
        source: Ipv6Addr,
        /// Address of the receiver.
        destination: Ipv6Addr,
    },
}

/// The MAC addresses of an Ethernet frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Address of the sender.
    pub source: [u8; 6],
    /// Address of the receiver.
    pub destination: [u8; 6],
}

/// The headers below TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carrier {
    /// The Ethernet header; `None` for raw IP.
    pub frame: Option<Frame>,
    /// The addresses.
    pub addresses: Addresses,
    /// The IPv4 identification, as an [`Identification`] counts it; IPv6 has
    /// none.
    pub identification: u16,
    /// The IPv4 time to live or IPv6 hop limit.
    pub hop_limit: u8,
}

/// The IPv4 identifications of one host, which grow by one with each packet. RFC 6864 requires
/// nothing of packets that must not be fragmented. But the reader of a capture needs the
/// identification to tell a duplicate capture of a packet from a retransmission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Identification(u16);

impl Identification {
    /// Creates the counter of a host whose first packet has this identification.
    pub const fn from(first: u16) -> Self {
        Self(first)
    }

    /// Returns the identification of the next packet.
    #[expect(clippy::should_implement_trait, reason = "it has no end, so it is no iterator")]
    pub fn next(&mut self) -> u16 {
        let next = self.0;
        self.0 = next.wrapping_add(1);
        next
    }
}

/// Payload of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data<'a> {
    /// This many zeros, which take no memory.
    Zeros(u32),
    /// These bytes.
    Bytes(&'a [u8]),
}

impl Data<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Zeros(length) => *length as usize,
            Self::Bytes(bytes) => bytes.len(),
        }
    }

    /// Appends the first `kept` bytes.
    fn put(&self, out: &mut Vec<u8>, kept: usize) {
        match self {
            Self::Zeros(_) => out.resize(out.len() + kept, 0),
            Self::Bytes(bytes) => out.extend(&bytes[..kept]),
        }
    }
}

/// A TCP segment that becomes a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutgoingSegment<'a> {
    /// The sender's port.
    pub source: u16,
    /// The receiver's port.
    pub destination: u16,
    /// The sequence number of its first byte.
    pub sequence: u32,
    /// The acknowledgment number.
    pub acknowledgment: u32,
    /// The control bits.
    pub flags: Flags,
    /// The window field as sent, not scaled.
    pub window: u16,
    /// The options. SACK blocks that exceed the header's 40 bytes of options are left out.
    pub options: Options,
    /// The data.
    pub data: Data<'a>,
}

/// Error of building a packet whose payload is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a segment of {payload} bytes does not fit into an IP packet, which has 65,535 at most")]
pub struct PacketTooLong {
    /// The bytes of its payload.
    pub payload: usize,
}

/// Appends the packet of a segment, or its first `keep` bytes, as in a capture with that snap
/// length. The checksums cover the whole packet. Returns the length of the whole packet in bytes.
///
/// # Errors
/// Fails if the payload is too long for an IP packet. Nothing is appended then.
pub fn packet(
    out: &mut Vec<u8>,
    carrier: &Carrier,
    segment: &OutgoingSegment<'_>,
    keep: usize,
) -> Result<u32, PacketTooLong> {
    let options = options::written(&segment.options);
    let payload = segment.data.len();
    let tcp = TCP + options.as_slice().len() + payload;
    let start = out.len();
    let pseudo = headers(out, carrier, PROTOCOL, tcp).ok_or(PacketTooLong { payload })?;
    let header = out.len();
    out.extend(segment.source.to_be_bytes());
    out.extend(segment.destination.to_be_bytes());
    out.extend(segment.sequence.to_be_bytes());
    out.extend(segment.acknowledgment.to_be_bytes());
    // At most 60 bytes of header: 15 words, in the upper half of the byte.
    out.push(((TCP + options.as_slice().len()) as u8) << 2);
    out.push(segment.flags.0);
    out.extend(segment.window.to_be_bytes());
    // The checksum, then the urgent pointer.
    out.extend([0; 4]);
    out.extend(options.as_slice());
    let mut sum = pseudo.and(&out[header..]);
    if let Data::Bytes(bytes) = segment.data {
        sum = sum.and(bytes);
    }
    out[header + 16..header + 18].copy_from_slice(&sum.checksum());
    let whole = out.len() - start + payload;
    let kept = keep.saturating_sub(out.len() - start).min(payload);
    segment.data.put(out, kept);
    out.truncate(start + keep.min(whole));
    Ok(whole as u32)
}

/// Appends the IP header, after an Ethernet header if the carrier has one. Returns the sum of the
/// pseudo-header of TCP or UDP (RFC 9293 section 3.1, RFC 768). `inner` is the length of TCP or UDP
/// with its data; if it is too long for IP, nothing is appended.
fn headers(out: &mut Vec<u8>, carrier: &Carrier, protocol: u8, inner: usize) -> Option<Sum> {
    let (ether_type, counted) = match carrier.addresses {
        Addresses::V4 { .. } => ([0x08, 0x00], IPV4 + inner),
        // The length field of IPv6 does not count the IPv6 header.
        Addresses::V6 { .. } => ([0x86, 0xdd], inner),
    };
    let (total, inner) = (u16::try_from(counted).ok()?, u16::try_from(inner).ok()?);
    if let Some(frame) = &carrier.frame {
        out.extend(frame.destination);
        out.extend(frame.source);
        out.extend(ether_type);
    }
    let addresses = match carrier.addresses {
        Addresses::V4 { source, destination } => {
            let Carrier { identification, hop_limit, .. } = *carrier;
            ipv4_header(out, total, identification, hop_limit, protocol, (source, destination));
            Sum::default().and(&source.octets()).and(&destination.octets())
        }
        Addresses::V6 { source, destination } => {
            out.extend([0x60, 0, 0, 0]);
            out.extend(total.to_be_bytes());
            out.extend([protocol, carrier.hop_limit]);
            out.extend(source.octets());
            out.extend(destination.octets());
            Sum::default().and(&source.octets()).and(&destination.octets())
        }
    };
    Some(addresses.and_length(protocol, inner))
}

/// Appends an IPv4 header without options, for a packet of `total` bytes from
/// the first address to the second.
pub(crate) fn ipv4_header(
    out: &mut Vec<u8>,
    total: u16,
    identification: u16,
    hop_limit: u8,
    protocol: u8,
    (source, destination): (Ipv4Addr, Ipv4Addr),
) {
    let start = out.len();
    out.extend([0x45, 0]);
    out.extend(total.to_be_bytes());
    out.extend(identification.to_be_bytes());
    // "Don't fragment" is set, as by every current TCP.
    out.extend([0x40, 0, hop_limit, protocol, 0, 0]);
    out.extend(source.octets());
    out.extend(destination.octets());
    checksum::write_ipv4(&mut out[start..]);
}

#[cfg(test)]
#[path = "build_tests.rs"]
mod tests;
