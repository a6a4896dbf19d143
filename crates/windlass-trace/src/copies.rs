//! Packets that the capture holds twice.

use windlass_base::{Span, Timestamp};
use windlass_wire::{Flags, Segment};

/// How many packets back a second copy is looked for.
const REMEMBERED: usize = 128;

/// Without an IP identification, copies must follow each other this closely: a
/// mirror port or two interfaces of one machine, not a retransmission.
const CLOSE: Span = Span::from_micros(100);

/// Copies with the same identification and the same TTL, without timestamps:
/// two ports of one switch, or a bridge and its member. Some middleboxes send
/// data again with the old identification, but only after a round trip.
const NEAR: Span = Span::from_millis(2);

/// Copies with the same identification and another TTL, or with the same
/// timestamps (a retransmission has a new one): both sides of a router or both
/// ends of a path, with its queues. A sender uses an identification again only
/// after the lifetime of a datagram (RFC 6864).
const APART: Span = Span::from_millis(1_000);

#[derive(Clone, Copy, Debug)]
struct Identity {
    number: u64,
    time: Timestamp,
    sequence: u32,
    acknowledgment: u32,
    payload: u32,
    flags: u8,
    window: u16,
    identification: u16,
    timestamps: Option<(u32, u32)>,
    first_sack: u32,
    hop_limit: u8,
}

/// The last packets of one direction, for finding copies.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    ring: Vec<Identity>,
    next: usize,
}

impl Copies {
    /// The packet that `segment` is a second copy of, if it is one.
    ///
    /// A copy has the same IP identification and the same TCP header. Where the
    /// identification says nothing (IPv6, or zero), only packets that follow
    /// within 100 µs count.
    pub(crate) fn first_copy(&mut self, segment: &Segment) -> Option<u64> {
        // Text does not tell: it leaves out what would tell copies apart.
        let sequence = segment.sequence?;
        let identification = segment.identification.unwrap_or(0);
        let blocks = segment.options.sack.as_slice();
        let new = Identity {
            number: segment.number,
            time: segment.time,
            sequence,
            acknowledgment: segment.acknowledgment,
            payload: segment.payload,
            flags: segment.flags.0,
            window: segment.window,
            identification,
            timestamps: segment.options.timestamps,
            first_sack: blocks.first().map_or(0, |block| block.right),
            hop_limit: segment.hop_limit,
        };
        let found = self.ring.iter().find(|old| {
            old.sequence == new.sequence
                && old.acknowledgment == new.acknowledgment
                && old.identification == new.identification
                && old.payload == new.payload
                && old.flags == new.flags
                && old.window == new.window
                && old.timestamps == new.timestamps
                && old.first_sack == new.first_sack
                && is_near(old, &new)
        });
        if let Some(old) = found {
            return Some(old.number);
        }
        if self.ring.len() < REMEMBERED {
            self.ring.push(new);
        } else {
            self.ring[self.next] = new;
            self.next = (self.next + 1) % REMEMBERED;
        }
        None
    }
}

fn is_near(old: &Identity, new: &Identity) -> bool {
    let apart = new.time.since(old.time);
    let stamped = new.timestamps.is_some();
    let most = match (new.identification, new.hop_limit == old.hop_limit) {
        (0, _) if stamped => APART,
        (0, _) => CLOSE,
        (_, true) if !stamped => NEAR,
        _ => APART,
    };
    // Repeated ACKs of one moment are duplicates of each other on purpose.
    let is_syn = Flags(new.flags).has(Flags::SYN);
    let tells = new.identification != 0 || new.payload > 0 || is_syn;
    tells && apart <= most && -apart <= most
}
