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

/// Up to so many packets are looked through one by one.
const FEW: usize = 16;

/// Chains of the index; a power of two, and twice the packets.
const CHAINS: usize = 256;

/// The end of a chain.
const NONE: u8 = u8::MAX;

/// A packet of the past.
#[derive(Clone, Copy, Debug)]
struct Seen {
    number: u64,
    time: Timestamp,
    /// See [`fingerprint`].
    fingerprint: u64,
}

/// The last packets of one direction, for finding copies.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    ring: Vec<Seen>,
    index: Option<Box<Index>>,
    next: u8,
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
        let new = Seen {
            number: segment.number,
            time: segment.time,
            fingerprint: fingerprint(segment, sequence),
        };
        let is_copy = |old: &&Seen| {
            same_header(old.fingerprint, new.fingerprint) && is_near(old, &new, segment)
        };
        let found = match &self.index {
            None => self.ring.iter().find(is_copy),
            // The chain leads to ever older packets.
            Some(index) => index
                .chain(new.fingerprint)
                .filter_map(|place| self.ring.get(place))
                .filter(is_copy)
                .last(),
        };
        if let Some(old) = found {
            return Some(old.number);
        }
        self.remember(new);
        None
    }

    fn remember(&mut self, new: Seen) {
        let place = if self.ring.len() < REMEMBERED {
            self.ring.push(new);
            self.ring.len() - 1
        } else {
            let place = usize::from(self.next);
            let old = std::mem::replace(&mut self.ring[place], new);
            self.next = (self.next + 1) % REMEMBERED as u8;
            if let Some(index) = &mut self.index {
                index.remove(old.fingerprint, place as u8);
            }
            place
        };
        match &mut self.index {
            Some(index) => index.add(new.fingerprint, place as u8),
            None if self.ring.len() > FEW => {
                let mut index = Box::<Index>::default();
                for (place, seen) in (0..).zip(&self.ring) {
                    index.add(seen.fingerprint, place);
                }
                self.index = Some(index);
            }
            None => {}
        }
    }
}

/// Finds the packets of one fingerprint: chains of places, the newest first.
#[derive(Debug)]
struct Index {
    heads: [u8; CHAINS],
    older: [u8; REMEMBERED],
}

impl Default for Index {
    fn default() -> Self {
        Self { heads: [NONE; CHAINS], older: [NONE; REMEMBERED] }
    }
}

impl Index {
    fn head(fingerprint: u64) -> usize {
        (fingerprint >> HOP_LIMIT_BITS) as usize % CHAINS
    }

    fn chain(&self, fingerprint: u64) -> impl Iterator<Item = usize> {
        let mut place = self.heads[Self::head(fingerprint)];
        std::iter::from_fn(move || {
            let this = usize::from(place);
            place = *self.older.get(this)?;
            Some(this)
        })
    }

    fn add(&mut self, fingerprint: u64, place: u8) {
        let head = &mut self.heads[Self::head(fingerprint)];
        self.older[usize::from(place)] = std::mem::replace(head, place);
    }

    /// Takes the oldest packet of all out, which ends its chain.
    fn remove(&mut self, fingerprint: u64, place: u8) {
        let head = &mut self.heads[Self::head(fingerprint)];
        if *head == place {
            *head = NONE;
            return;
        }
        let mut newer = *head;
        while let Some(older) = self.older.get_mut(usize::from(newer)) {
            if *older == place {
                *older = NONE;
                return;
            }
            newer = *older;
        }
    }
}

/// The hop limit takes the lowest bits of a fingerprint, as copies may differ
/// in it.
const HOP_LIMIT_BITS: u32 = 8;

/// What tells one packet of a direction from another, in one word: 56 bits of a
/// hash over its header, and the hop limit. Two different headers with the same
/// hash, close together, come once in some 10¹⁴ packets.
fn fingerprint(segment: &Segment, sequence: u32) -> u64 {
    let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    let identification = segment.identification.unwrap_or(0);
    let (value, echo) = segment.options.timestamps.unwrap_or_default();
    let stamped = u64::from(segment.options.timestamps.is_some());
    let first_sack = segment.options.sack.as_slice().first().map_or(0, |block| block.right);
    let small = u64::from(segment.window) << 16 | u64::from(identification);
    // The constants are digits of pi.
    let one = folded(
        pair(sequence, segment.acknowledgment) ^ 0x243f_6a88_85a3_08d3,
        pair(value, echo) ^ 0x1319_8a2e_0370_7344,
    );
    let two = folded(
        (u64::from(segment.payload) << 32 | small) ^ 0xa409_3822_299f_31d0,
        (pair(first_sack, 0) | u64::from(segment.flags.0) << 1 | stamped) ^ 0x082e_fa98_ec4e_6c89,
    );
    let hash = folded(one ^ 0x4528_21e6_38d0_1377, two ^ 0xbe54_66cf_34e9_0c6c);
    hash << HOP_LIMIT_BITS | u64::from(segment.hop_limit)
}

/// Both halves of the product, mixed.
fn folded(one: u64, two: u64) -> u64 {
    let product = u128::from(one) * u128::from(two);
    product as u64 ^ (product >> 64) as u64
}

fn same_header(one: u64, two: u64) -> bool {
    (one ^ two) >> HOP_LIMIT_BITS == 0
}

/// Whether a packet with the same header is near enough to be the same one.
fn is_near(old: &Seen, new: &Seen, segment: &Segment) -> bool {
    let apart = new.time.since(old.time);
    let stamped = segment.options.timestamps.is_some();
    let identification = segment.identification.unwrap_or(0);
    let most = match (identification, new.fingerprint == old.fingerprint) {
        (0, _) if stamped => APART,
        (0, _) => CLOSE,
        (_, true) if !stamped => NEAR,
        _ => APART,
    };
    // Repeated ACKs of one moment are duplicates of each other on purpose.
    let is_syn = segment.flags.has(Flags::SYN);
    let tells = identification != 0 || segment.payload > 0 || is_syn;
    tells && apart <= most && -apart <= most
}
