//! The TCP segments that simulated hosts exchange.

use std::sync::Arc;

use windlass_base::Timestamp;
use windlass_base::laws::Framing;
use windlass_wire::{Endpoint, Flags, Options};

/// IPv4 without options, and TCP without options (RFC 791, RFC 9293).
const HEADERS: u32 = 20 + 20;

/// The MSS of a peer that announces none (RFC 9293 section 3.7.1).
pub(crate) const DEFAULT_MSS: u16 = 536;

/// The largest window shift (RFC 7323 section 2.3).
pub(crate) const MAX_SHIFT: u8 = 14;

/// Bytes that share their memory, so that a segment is moved and not copied.
#[derive(Clone, Debug)]
pub struct SharedBytes {
    whole: Arc<[u8]>,
    from: u32,
    to: u32,
}

impl SharedBytes {
    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        self.whole.get(self.from as usize..self.to as usize).unwrap_or_default()
    }
}

impl PartialEq for SharedBytes {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for SharedBytes {}

/// Payload of a segment.
///
/// Bulk data is zeros, of which only the number is kept: the print-server document sent a file of
/// NULs as well. Data that a protocol reads has its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// This number of zeros.
    Zeros(u32),
    /// These bytes.
    Bytes(SharedBytes),
}

impl Payload {
    /// Payload without a byte.
    pub const EMPTY: Self = Self::Zeros(0);

    /// Returns a payload with a copy of `bytes`, cut off at 4 GB.
    pub fn copy_of(bytes: &[u8]) -> Self {
        let to = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        Self::Bytes(SharedBytes { whole: bytes.into(), from: 0, to })
    }

    /// Returns the number of bytes.
    pub const fn len(&self) -> u32 {
        match self {
            Self::Zeros(length) => *length,
            Self::Bytes(shared) => shared.to - shared.from,
        }
    }

    /// Returns whether the payload is empty.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes from `from` up to `to`, or up to the end if the payload is shorter.
    pub fn slice(&self, from: u32, to: u32) -> Self {
        let to = to.min(self.len());
        let from = from.min(to);
        match self {
            Self::Zeros(_) => Self::Zeros(to - from),
            Self::Bytes(shared) => Self::Bytes(SharedBytes {
                whole: Arc::clone(&shared.whole),
                from: shared.from + from,
                to: shared.from + to,
            }),
        }
    }

    /// Returns this payload without memory that it does not need: bytes that are less than half of
    /// their shared memory are copied. Otherwise many small parts of large segments would keep the
    /// large segments in memory.
    #[must_use]
    pub fn compact(self) -> Self {
        match self {
            Self::Bytes(shared) if shared.as_slice().len() < shared.whole.len() / 2 => {
                Self::copy_of(shared.as_slice())
            }
            other => other,
        }
    }

    /// Returns as many zeros as the payload has bytes, for readers that need only the number.
    pub const fn as_zeros(&self) -> Self {
        Self::Zeros(self.len())
    }
}

/// A TCP segment between simulated hosts.
///
/// A segment has ports but no addresses. The caller knows the two hosts: numbered streams of a
/// simulation, or real addresses behind a TUN interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The sender's port.
    pub source: u16,
    /// The receiver's port.
    pub destination: u16,
    /// The sequence number of its first byte.
    pub sequence: u32,
    /// The acknowledgment number; without meaning unless [`Flags::ACK`] is set.
    pub acknowledgment: u32,
    /// The control bits.
    pub flags: Flags,
    /// The window field as sent, not scaled.
    pub window: u16,
    /// The options.
    pub options: Options,
    /// The data.
    pub payload: Payload,
}

impl Segment {
    /// Returns the number of sequence numbers that the segment takes: SEG.LEN of RFC 9293 section
    /// 3.3.1, which counts SYN and FIN.
    pub fn length(&self) -> u32 {
        let controls =
            u32::from(self.flags.has(Flags::SYN)) + u32::from(self.flags.has(Flags::FIN));
        self.payload.len().saturating_add(controls)
    }

    /// Returns the bytes of the segment's IPv4 packet.
    pub fn packet_bytes(&self) -> u32 {
        HEADERS + option_bytes(&self.options) + self.payload.len()
    }

    /// Returns the bytes that the segment takes on an Ethernet line: the packet, padded if it is
    /// short, with header, FCS, preamble and gap. A link whose rate is the raw line rate needs this
    /// figure.
    pub fn line_bytes(&self) -> u32 {
        line_bytes(self.packet_bytes())
    }

    /// Returns the segment as a capture would show it.
    pub fn captured(
        &self,
        number: u64,
        time: Timestamp,
        source: windlass_wire::Host,
        destination: windlass_wire::Host,
    ) -> windlass_wire::Segment {
        windlass_wire::Segment {
            number,
            time,
            source: Endpoint { host: source, port: self.source },
            destination: Endpoint { host: destination, port: self.destination },
            sequence: Some(self.sequence),
            acknowledgment: if self.flags.has(Flags::ACK) { self.acknowledgment } else { 0 },
            flags: self.flags,
            window: self.window,
            payload: self.payload.len(),
            options: self.options,
            identification: None,
            hop_limit: 64,
            checksum: windlass_wire::Checksum::Unknown,
            ecn: windlass_wire::EcnField::NotEct,
            accurate_ecn: false,
        }
    }

    /// Returns the reset by which a host answers that has no such connection (RFC 9293 section
    /// 3.10.7.1); `None` if this segment is a reset itself.
    pub fn refused(&self) -> Option<Self> {
        if self.flags.has(Flags::RST) {
            return None;
        }
        let (sequence, acknowledgment, flags) = if self.flags.has(Flags::ACK) {
            (self.acknowledgment, 0, Flags::RST)
        } else {
            (0, self.sequence.wrapping_add(self.length()), Flags::RST.with(Flags::ACK))
        };
        Some(Self {
            source: self.destination,
            destination: self.source,
            sequence,
            acknowledgment,
            flags,
            window: 0,
            options: Options::default(),
            payload: Payload::EMPTY,
        })
    }
}

/// Returns the bytes that a packet of `packet` bytes takes on an Ethernet line.
pub fn line_bytes(packet: u32) -> u32 {
    let framing = Framing::ETHERNET;
    packet.max(framing.least_packet).saturating_add(framing.per_packet)
}

/// Returns the value of the timestamp clock: one tick a millisecond, as in Linux (RFC 7323 section
/// 5.4 asks for 1 ms to 1 s).
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the clock wraps, which its readers expect"
)]
pub(crate) fn timestamp_clock(now: Timestamp) -> u32 {
    (now.as_nanos() / 1_000_000) as u32
}

/// Returns the bytes that the options take in a header, padded to whole words. The layout is that
/// of Linux: no-operations before timestamps and SACK blocks.
pub fn option_bytes(options: &Options) -> u32 {
    let blocks = u32::try_from(options.sack.as_slice().len()).unwrap_or(0);
    let mss = if options.mss.is_some() { 4 } else { 0 };
    let scale = if options.window_scale.is_some() { 4 } else { 0 };
    let stamps = if options.timestamps.is_some() { 12 } else { 0 };
    // SACK permitted takes the place of the no-operations before timestamps.
    let permitted = if options.sack_permitted && stamps == 0 { 4 } else { 0 };
    let sack = if blocks > 0 { 4 + 8 * blocks } else { 0 };
    mss + scale + stamps + permitted + sack
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_wire::SequenceRange;

    fn data(payload: Payload, options: Options) -> Segment {
        Segment {
            source: 3_692,
            destination: 515,
            sequence: 1,
            acknowledgment: 1,
            flags: Flags::ACK,
            window: 2_920,
            options,
            payload,
        }
    }

    #[test]
    fn a_full_segment_takes_1538_bytes_of_an_ethernet_line_and_a_bare_ack_84() {
        let full = data(Payload::Zeros(1_460), Options::default());
        assert_eq!((full.packet_bytes(), full.line_bytes()), (1_500, 1_538));
        assert_eq!(data(Payload::EMPTY, Options::default()).line_bytes(), 84);
    }

    #[test]
    fn options_take_whole_words() {
        let syn = Options {
            mss: Some(1_460),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: Some((1, 0)),
            ..Options::default()
        };
        // Linux: 2-2-8-1-1... 20 bytes of options, 60 bytes of packet.
        assert_eq!(data(Payload::EMPTY, syn).packet_bytes(), 60);
        let mut sack = Options { timestamps: Some((1, 1)), ..Options::default() };
        for _ in 0..3 {
            sack.sack.push(SequenceRange { left: 1, right: 2 });
        }
        assert_eq!(option_bytes(&sack), 40);
    }

    #[test]
    fn payloads_slice_without_a_copy() {
        let payload = Payload::copy_of(b"receive job");
        let Payload::Bytes(middle) = payload.slice(8, 100) else { panic!("bytes stay bytes") };
        assert_eq!(middle.as_slice(), b"job");
        assert_eq!(middle.whole.len(), 11);
        let Payload::Bytes(middle) = Payload::Bytes(middle).compact() else { panic!("bytes") };
        assert_eq!((middle.as_slice(), middle.whole.len()), (&b"job"[..], 3));
        assert_eq!(payload.slice(20, 30).len(), 0);
        assert_eq!(Payload::Zeros(10).slice(3, 8), Payload::Zeros(5));
    }

    #[test]
    fn who_knows_no_connection_resets_it() {
        let mut stray = data(Payload::Zeros(10), Options::default());
        let reset = stray.refused().unwrap();
        assert_eq!((reset.flags, reset.sequence), (Flags::RST, 1));
        stray.flags = Flags::SYN;
        let reset = stray.refused().unwrap();
        assert_eq!(reset.acknowledgment, 12);
        assert_eq!(reset.refused(), None);
    }
}
