//! What a capture says of itself, and where it breaks off.

use std::fmt;

use windlass_base::Timestamp;
use windlass_base::figures::Count;

use super::{Foreign, ReadStep};
use crate::{ByteOrder, LinkType};

/// The kinds of capture that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// pcap (draft-ietf-opsawg-pcap).
    Pcap {
        /// The byte order of its headers.
        order: ByteOrder,
        /// Whether it counts nanoseconds instead of microseconds.
        nanoseconds: bool,
        /// Whether its records have the longer header of Kuznetzov's patch to
        /// libpcap.
        modified: bool,
    },
    /// pcapng (draft-ietf-opsawg-pcapng).
    Pcapng,
    /// snoop (RFC 1761).
    Snoop,
    /// The text that tcpdump prints.
    Text,
}

impl Format {
    /// Whether it holds packets, rather than what somebody printed of them.
    pub const fn is_binary(self) -> bool {
        !matches!(self, Self::Text)
    }
}

impl fmt::Display for Format {
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

/// What a capture said of itself so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaptureInfo {
    /// Its format; `None` until its first bytes are known, and for what is no
    /// capture.
    pub format: Option<Format>,
    /// Packets so far; for text, segments.
    pub packets: u64,
    /// The link types that its interfaces have, in their order, each once. No
    /// more than [`CaptureInfo::MAX_LINK_TYPES`] are listed.
    pub link_types: Vec<LinkType>,
    /// The most bytes that were kept of a packet, as the file states it (of
    /// several interfaces, the largest). `None` where it states no limit.
    pub snap_length: Option<u32>,
    /// The smallest timestamp of a packet.
    pub earliest: Option<Timestamp>,
    /// The largest timestamp of a packet.
    pub latest: Option<Timestamp>,
    /// Packets that have no timestamp (pcapng's Simple Packet Blocks). They
    /// were handed on with the time of the packet before.
    pub untimed: u64,
    /// Packets that the capturing machine received, as the file states it.
    pub received: Option<u64>,
    /// Packets that the capturing machine lost, as the file states it: by the
    /// interface and by the operating system together. `None` where it says
    /// nothing of losses, as pcap never does, and snoop only by stating some.
    pub drops: Option<u64>,
    /// When packets were lost, as far as the file states that: where it holds
    /// several statistics of an interface, between which two of them. No more than
    /// [`CaptureInfo::MAX_LOSSES`] are kept apart.
    pub losses: Vec<Losses>,
    /// Why reading ended before the end, if it did.
    pub damage: Option<Damage>,
    /// What it is, where that is known and not read: the damage then says so.
    pub foreign: Option<Foreign>,
}

/// Packets that the capturing machine lost in a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Losses {
    /// When they had not been lost yet; `None` where it may have been from the start
    /// of the capture on.
    pub after: Option<Timestamp>,
    /// When they had been lost; `None` where nothing tells.
    pub until: Option<Timestamp>,
    /// How many.
    pub packets: u64,
}

impl CaptureInfo {
    /// How many stretches with losses are kept apart. Those behind are joined with
    /// the last.
    pub const MAX_LOSSES: usize = 1_024;

    /// Packets that the capturing machine may have lost between these two times, as
    /// far as the file tells when it lost any; else all that it lost. `None` where
    /// it says nothing of losses.
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

    /// Notes when packets were lost.
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

    /// Notes that this is a format that is not read, as shows behind so many bytes.
    pub(super) fn not_read(&mut self, consumed: usize, foreign: &Foreign) -> ReadStep {
        self.foreign = Some(*foreign);
        ReadStep::damage(consumed, format!("this is {foreign}, which windlass does not read"))
    }

    /// How many link types are listed at most: real captures have one or two.
    pub const MAX_LINK_TYPES: usize = 64;

    /// Notes the link type of an interface.
    pub(super) fn saw_link(&mut self, link: LinkType) {
        if self.link_types.len() < Self::MAX_LINK_TYPES && !self.link_types.contains(&link) {
            self.link_types.push(link);
        }
    }

    /// Notes the stated snap length of an interface; 0 states none.
    pub(super) fn saw_snap_length(&mut self, snap: u32) {
        if snap != 0 {
            self.snap_length = Some(self.snap_length.map_or(snap, |known| known.max(snap)));
        }
    }

    /// Widens the stretch of time to these two.
    pub(super) fn saw_times(&mut self, earliest: Timestamp, latest: Timestamp) {
        self.earliest = Some(self.earliest.map_or(earliest, |known| known.min(earliest)));
        self.latest = Some(self.latest.map_or(latest, |known| known.max(latest)));
    }
}

/// Where a capture cannot be read further. All that came before was used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at byte {}, after packet {}: {what}", Count(*offset), Count(*after_packet))]
pub struct Damage {
    /// The byte of the (uncompressed) stream where the broken part begins.
    pub offset: u64,
    /// The last packet before it; 0 where there was none.
    pub after_packet: u64,
    /// What is wrong, in words.
    pub what: String,
}
