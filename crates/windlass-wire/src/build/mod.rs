//! Builds packets: a TCP segment or a UDP datagram in IPv4 or IPv6, in Ethernet
//! where it is wanted, with right lengths and checksums.
//!
//! Bytes are appended to a `Vec<u8>`, which the caller puts where it wants: into
//! a capture, or into a TUN interface.

mod checksum;
mod congestion;
mod datagram;
mod joined;
mod options;

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::{Flags, Options};

pub(crate) use checksum::Sum;
pub use checksum::{Checked, check};
pub use congestion::mark_congestion;
pub use datagram::datagram;
pub use joined::Joined;

/// The bytes of a TCP header without options (RFC 9293 section 3.1).
const TCP: usize = 20;
/// The bytes of an IPv4 header without options (RFC 791 section 3.1).
pub(crate) const IPV4: usize = 20;
/// The bytes of an IPv6 header (RFC 8200 section 3).
const IPV6: usize = 40;
/// IANA's number of TCP.
const PROTOCOL: u8 = 6;

/// Who sends an IP packet to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// By IPv4.
    V4 {
        /// Who sends.
        source: Ipv4Addr,
        /// To whom.
        destination: Ipv4Addr,
    },
    /// By IPv6.
    V6 {
        /// Who sends.
        source: Ipv6Addr,
        /// To whom.
        destination: Ipv6Addr,
    },
}

/// The MAC addresses of an Ethernet frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Who sends.
    pub source: [u8; 6],
    /// To whom.
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

/// The IPv4 identifications of one host: one more with each packet. RFC 6864
/// asks nothing of packets that may not be fragmented; but a capture's reader
/// tells a packet that was captured twice from a retransmission by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Identification(u16);

impl Identification {
    /// A host whose first packet has this identification.
    pub const fn from(first: u16) -> Self {
        Self(first)
    }

    /// The identification of the next packet.
    #[expect(clippy::should_implement_trait, reason = "it has no end, so it is no iterator")]
    pub fn next(&mut self) -> u16 {
        let next = self.0;
        self.0 = next.wrapping_add(1);
        next
    }
}

/// What a segment carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data<'a> {
    /// So many zeros, which nobody has to hold in memory.
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

    /// Appends the first of it.
    fn put(&self, out: &mut Vec<u8>, kept: usize) {
        match self {
            Self::Zeros(_) => out.resize(out.len() + kept, 0),
            Self::Bytes(bytes) => out.extend(&bytes[..kept]),
        }
    }
}

/// A TCP segment that becomes a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing<'a> {
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
    /// The options. SACK blocks beyond the 40 bytes that a header has for them
    /// are left out.
    pub options: Options,
    /// The data.
    pub data: Data<'a>,
}

/// Why a packet cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a segment of {payload} bytes does not fit into an IP packet, which has 65,535 at most")]
pub struct TooLong {
    /// The bytes of its payload.
    pub payload: usize,
}

/// Appends the packet of a segment, or its first `keep` bytes, as a capture
/// with that snap length holds it. The checksums are those of the whole packet.
/// Gives the bytes that the whole packet has.
///
/// # Errors
/// Where the payload is too long for an IP packet. Nothing is appended then.
pub fn packet(
    out: &mut Vec<u8>,
    carrier: &Carrier,
    segment: &Outgoing<'_>,
    keep: usize,
) -> Result<u32, TooLong> {
    let options = options::written(&segment.options);
    let payload = segment.data.len();
    let tcp = TCP + options.as_slice().len() + payload;
    let start = out.len();
    let pseudo = headers(out, carrier, PROTOCOL, tcp).ok_or(TooLong { payload })?;
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

/// Appends the Ethernet header, where one is wanted, and the IP header; gives the sum
/// of what the checksum of TCP or UDP counts besides its own bytes, which are `inner`
/// (RFC 9293 section 3.1, RFC 768). Appends nothing where those are too many.
fn headers(out: &mut Vec<u8>, carrier: &Carrier, protocol: u8, inner: usize) -> Option<Sum> {
    let (ether_type, counted) = match carrier.addresses {
        Addresses::V4 { .. } => ([0x08, 0x00], IPV4 + inner),
        // The length of an IPv6 packet does not count its header.
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
    // Do not fragment, as every TCP of today asks.
    out.extend([0x40, 0, hop_limit, protocol, 0, 0]);
    out.extend(source.octets());
    out.extend(destination.octets());
    checksum::write_ipv4(&mut out[start..]);
}

#[cfg(test)]
#[path = "build_tests.rs"]
mod tests;
