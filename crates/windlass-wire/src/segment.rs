//! TCP segments, which the analyser reads.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use windlass_base::Timestamp;

/// A host, by address or by the name in a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Host {
    /// An IPv4 address.
    V4(Ipv4Addr),
    /// An IPv6 address.
    V6(Ipv6Addr),
    /// Index of a name in the reader's table: tcpdump's text may hold names instead of addresses.
    Named(u32),
}

impl Host {
    /// Returns its address; `None` if the capture has a name instead.
    pub const fn address(self) -> Option<IpAddr> {
        match self {
            Self::V4(address) => Some(IpAddr::V4(address)),
            Self::V6(address) => Some(IpAddr::V6(address)),
            Self::Named(_) => None,
        }
    }
}

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// The host.
    pub host: Host,
    /// The TCP port.
    pub port: u16,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host {
            Host::V4(address) => f.pad(&format!("{address}:{}", self.port)),
            Host::V6(address) => f.pad(&format!("[{address}]:{}", self.port)),
            Host::Named(name) => f.pad(&format!("#{name}:{}", self.port)),
        }
    }
}

/// The control bits of RFC 9293 section 3.1.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u8);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(0x02);
    /// Reset the connection.
    pub const RST: Self = Self(0x04);
    /// Push the data to the application.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgment number is valid.
    pub const ACK: Self = Self(0x10);
    /// The urgent pointer is valid.
    pub const URG: Self = Self(0x20);
    /// Explicit congestion notification echo (RFC 3168).
    pub const ECE: Self = Self(0x40);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: Self = Self(0x80);

    /// tcpdump's letters.
    pub(crate) const LETTERS: [(Self, char); 8] = [
        (Self::FIN, 'F'),
        (Self::SYN, 'S'),
        (Self::RST, 'R'),
        (Self::PSH, 'P'),
        (Self::ACK, '.'),
        (Self::URG, 'U'),
        (Self::ECE, 'E'),
        (Self::CWR, 'W'),
    ];

    /// Returns whether any of the bits of `other` is set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns these bits and those of `other`.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// tcpdump's notation: `S`, `S.`, `P.`, `.`; `none` if no bit is set.
impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.pad("none");
        }
        let text: String = Self::LETTERS
            .iter()
            .filter(|(flag, _)| self.has(*flag))
            .map(|(_, letter)| letter)
            .collect();
        f.pad(&text)
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{self}]")
    }
}

/// A range of sequence numbers, `left` inclusive to `right` exclusive, as in a SACK block (RFC
/// 2018). Numbers wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SequenceRange {
    /// The first number.
    pub left: u32,
    /// The number after the last.
    pub right: u32,
}

/// Up to four SACK blocks, the most that the options can hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SackBlocks {
    count: u8,
    blocks: [SequenceRange; 4],
}

impl SackBlocks {
    /// Adds a block. A fifth block is ignored.
    pub fn push(&mut self, block: SequenceRange) {
        if let Some(slot) = self.blocks.get_mut(usize::from(self.count)) {
            *slot = block;
            self.count += 1;
        }
    }

    /// Returns the blocks in the order of the option.
    #[inline]
    pub fn as_slice(&self) -> &[SequenceRange] {
        &self.blocks[..usize::from(self.count)]
    }

    /// Returns whether there is no block.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// The TCP options that matter for a transfer's rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options {
    /// Maximum segment size in bytes (RFC 9293 section 3.7.1).
    pub mss: Option<u16>,
    /// Window scale shift (RFC 7323 section 2).
    pub window_scale: Option<u8>,
    /// SACK permitted (RFC 2018 section 2).
    pub sack_permitted: bool,
    /// Timestamp value and echo reply (RFC 7323 section 3).
    pub timestamps: Option<(u32, u32)>,
    /// SACK blocks.
    pub sack: SackBlocks,
    /// True if an option of Multipath TCP is among them (RFC 8684 section 3).
    pub multipath: bool,
    /// True if the snap length cut the options, so that some may be missing.
    pub truncated: bool,
}

/// Result of verifying the TCP checksum of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Checksum {
    /// The checksum was not verified: the packet is cut or a fragment, checksum offload has not
    /// filled it in yet, or nobody asked.
    #[default]
    Unknown,
    /// The checksum is correct.
    Right,
    /// The checksum is wrong: the receiver drops the segment.
    Wrong,
}

/// The ECN field of an IP header (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EcnField {
    /// Not ECN-capable, or unknown from the capture.
    #[default]
    NotEct,
    /// ECT(1), of L4S (RFC 9331).
    Ect1,
    /// ECT(0).
    Ect0,
    /// Congestion experienced: a queue marked the packet.
    Ce,
}

impl EcnField {
    /// Returns the field from the lower bits of the traffic class (IPv6) or the former type of
    /// service (IPv4).
    pub const fn of(byte: u8) -> Self {
        match byte & 3 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }
}

/// A TCP segment with fields of its IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Number of the packet in Wireshark's count.
    pub number: u64,
    /// Capture time.
    pub time: Timestamp,
    /// Sender.
    pub source: Endpoint,
    /// Receiver.
    pub destination: Endpoint,
    /// Sequence number of the first byte; `None` if the text of a capture lacks it (tcpdump omits
    /// it for segments without data).
    pub sequence: Option<u32>,
    /// Acknowledgment number; zero unless [`Flags::ACK`] is set.
    pub acknowledgment: u32,
    /// Control bits.
    pub flags: Flags,
    /// Window field as sent, not scaled.
    pub window: u16,
    /// Bytes of payload on the wire, by the IP length, even if fewer were captured.
    pub payload: u32,
    /// TCP options.
    pub options: Options,
    /// IPv4 identification; `None` for IPv6 or if unknown.
    pub identification: Option<u16>,
    /// IPv4 time to live or IPv6 hop limit; 0 if unknown.
    pub hop_limit: u8,
    /// Result of the checksum's verification.
    pub checksum: Checksum,
    /// ECN field of the IP header.
    pub ecn: EcnField,
    /// AE bit of accurate ECN (RFC 9768 section 3.1), beside the control bits.
    pub accurate_ecn: bool,
}

impl Segment {
    /// Returns the ACE field (RFC 9768 section 3.2.1): three bits that count marked packets, if
    /// both ends use accurate ECN.
    pub const fn ace(&self) -> u8 {
        (self.accurate_ecn as u8) << 2
            | (self.flags.has(Flags::CWR) as u8) << 1
            | self.flags.has(Flags::ECE) as u8
    }
}
