//! Metadata of a capture, and the point where a damaged capture ends.

use std::fmt;

use windlass_base::Timestamp;
use windlass_base::figures::Count;

use super::{ForeignFormat, ReadStep};
use crate::{ByteOrder, LinkType};

/// Formats of captures that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CaptureFormat {
    /// pcap (draft-ietf-opsawg-pcap).
    Pcap {
        /// Byte order of the headers.
        order: ByteOrder,
        /// True for timestamps in nanoseconds, false for microseconds.
        nanoseconds: bool,
        /// True if the records have the longer header of Kuznetzov's patch to libpcap.
        modified: bool,
    },
    /// pcapng (draft-ietf-opsawg-pcapng).
    Pcapng,
    /// snoop (RFC 1761).
    Snoop,
    /// The text that tcpdump prints.
    Text,
}

impl CaptureFormat {
    /// Returns whether the format holds packets rather than their printed text.
    pub const fn is_binary(self) -> bool {
        !matches!(self, Self::Text)
    }
}

impl fmt::Display for CaptureFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Pcap { modified: true, .. } => "modified pcap",
            Self::Pcap { nanoseconds: true, .. } => "pcap in nanoseconds",
            Self::Pcap { .. } => "pcap",
            Self::Pcapng => "pcapng",
            Self::Snoop => "snoop",
            Self::Text => "tcpdump text",
        })
    }
}

/// Metadata of a capture as far as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaptureInfo {
    /// Format; `None` until the first bytes are known, and for a file that is no capture.
    pub format: Option<CaptureFormat>,
    /// Packets so far; for text, segments.
    pub packets: u64,
    /// Link types of the interfaces, in their order and each once. At most
    /// [`CaptureInfo::MAX_LINK_TYPES`] are listed.
    pub link_types: Vec<LinkType>,
    /// Snap length in bytes as the file states it; the largest of several interfaces. `None` if the
    /// file states no limit.
    pub snap_length: Option<u32>,
    /// Smallest timestamp of a packet.
    pub earliest: Option<Timestamp>,
    /// Largest timestamp of a packet.
    pub latest: Option<Timestamp>,
    /// Packets without a timestamp (pcapng's Simple Packet Blocks). They get the time of the packet
    /// before.
    pub untimed: u64,
    /// Packets that the capturing machine received, as the file states it.
    pub received: Option<u64>,
    /// Packets that the capturing machine dropped, as the file states it: by the interface and by
    /// the operating system together. `None` if the file states no count: pcap never does, and
    /// snoop states only a count above zero.
    pub drops: Option<u64>,
    /// Intervals in which the capturing machine dropped packets, from successive statistics of an
    /// interface. At most [`CaptureInfo::MAX_LOSSES`] intervals are kept apart.
    pub losses: Vec<Losses>,
    /// Damage that ended the reading before the end of the file.
    pub damage: Option<CaptureDamage>,
    /// Foreign format, if it is recognised but not read. `damage` then says so.
    pub foreign: Option<ForeignFormat>,
}

/// Packets that the capturing machine dropped in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Losses {
    /// Start of the interval; `None` if it may be the start of the capture.
    pub after: Option<Timestamp>,
    /// End of the interval; `None` if unknown.
    pub until: Option<Timestamp>,
    /// Number of dropped packets.
    pub packets: u64,
}

impl CaptureInfo {
    /// Maximum number of intervals with losses that are kept apart. Later ones are merged into the
    /// last.
    pub const MAX_LOSSES: usize = 1_024;

    /// Returns the packets that the capturing machine may have dropped between these two times. If
    /// the file states no times of losses, this is the total. `None` if the file states no losses.
    pub fn drops_between(&self, from: Timestamp, to: Timestamp) -> Option<u64> {
        let drops = self.drops?;
        if self.losses.is_empty() {
            return Some(drops);
        }
        let meets = |losses: &&Losses| {
            losses.after.is_none_or(|after| after <= to)
                && losses.until.is_none_or(|until| until >= from)
        };
        Some(self.losses.iter().filter(meets).map(|losses| losses.packets).sum())
    }

    /// Records an interval in which packets were dropped.
    pub(super) fn saw_losses(&mut self, losses: Losses) {
        let full = self.losses.len() == Self::MAX_LOSSES;
        match self.losses.last_mut() {
            Some(last) if full => {
                last.after = last.after.min(losses.after);
                last.until = last.until.zip(losses.until).map(|(one, other)| one.max(other));
                last.packets = last.packets.saturating_add(losses.packets);
            }
            _ => self.losses.push(losses),
        }
    }

    /// Records that this is a format that is not read, as recognised after `consumed` bytes.
    pub(super) fn not_read(&mut self, consumed: usize, foreign: &ForeignFormat) -> ReadStep {
        self.foreign = Some(*foreign);
        ReadStep::damage(consumed, format!("this is {foreign}, which windlass does not read"))
    }

    /// Maximum number of link types listed. Real captures have one or two.
    pub const MAX_LINK_TYPES: usize = 64;

    /// Records the link type of an interface.
    pub(super) fn saw_link(&mut self, link: LinkType) {
        if self.link_types.len() < Self::MAX_LINK_TYPES && !self.link_types.contains(&link) {
            self.link_types.push(link);
        }
    }

    /// Records the stated snap length of an interface; 0 states none.
    pub(super) fn saw_snap_length(&mut self, snap: u32) {
        if snap != 0 {
            self.snap_length = Some(self.snap_length.map_or(snap, |known| known.max(snap)));
        }
    }

    /// Extends the time range of the capture to these two timestamps.
    pub(super) fn saw_times(&mut self, earliest: Timestamp, latest: Timestamp) {
        self.earliest = Some(self.earliest.map_or(earliest, |known| known.min(earliest)));
        self.latest = Some(self.latest.map_or(latest, |known| known.max(latest)));
    }
}

/// Damage of a capture, at which reading ends. Everything before the damage was used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at byte {}, after packet {}: {what}", Count(*offset), Count(*after_packet))]
pub struct CaptureDamage {
    /// Offset in the (uncompressed) stream where the damaged part begins, in bytes.
    pub offset: u64,
    /// Number of the last packet before the damage; 0 if there was none.
    pub after_packet: u64,
    /// Description of the damage in words.
    pub what: String,
}
