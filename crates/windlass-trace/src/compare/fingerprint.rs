//! Connections known again in another capture, by their sequence numbers.
//!
//! Addresses do not tell: a NAT changes them. The first sequence numbers of both ends are 64 random
//! bits (RFC 9293 section 3.4.1). Where a handshake is missing, both directions must share a
//! stretch of sequence numbers.

use std::cmp::Reverse;

use hashbrown::HashMap;
use serde::Serialize;
use windlass_macros::Named;
use windlass_wire::{Endpoint, Flags, Segment};

/// The most connections that are remembered. Beyond that the half with less data is forgotten.
const MAX_REMEMBERED: usize = 1 << 16;

/// The connections of each capture that are compared by stretches, those with most data: each of
/// one capture with each of the other.
const BY_STRETCH: usize = 256;

/// A stretch of sequence numbers, which wrap.
#[derive(Clone, Copy, Debug)]
struct SequenceRange {
    first: u32,
    length: u32,
}

impl SequenceRange {
    const WHOLE: u32 = u32::MAX;

    const fn of(number: u32) -> Self {
        Self { first: number, length: 0 }
    }

    /// Takes a number into the stretch, on the side that is nearer.
    const fn add(&mut self, number: u32) {
        let ahead = number.wrapping_sub(self.first);
        if self.length == Self::WHOLE || ahead <= self.length {
            return;
        }
        let behind = self.first.wrapping_sub(number);
        let beyond = ahead - self.length;
        if beyond <= behind {
            self.length = ahead;
        } else {
            self.first = number;
            self.length = self.length.saturating_add(behind);
        }
        // More than half of all numbers may be any: nothing can be told by them.
        if self.length > Self::WHOLE / 2 {
            self.length = Self::WHOLE;
        }
    }

    const fn touches(self, other: Self) -> bool {
        other.first.wrapping_sub(self.first) <= self.length
            || self.first.wrapping_sub(other.first) <= other.length
    }
}

/// Figures that tell a connection from others.
#[derive(Clone, Copy, Debug)]
pub struct Fingerprint {
    /// Its number in the capture.
    pub number: u64,
    /// Its ends; the first is the source of its first packet.
    pub ends: [Endpoint; 2],
    /// The payload that each end sent, copies included.
    pub payload: [u64; 2],
    /// The first sequence numbers, where the SYNs were captured.
    initial: [Option<u32>; 2],
    /// The sequence numbers that each end sent, or had acknowledged.
    stretches: [Option<SequenceRange>; 2],
}

impl Fingerprint {
    fn new(number: u64, segment: &Segment) -> Self {
        Self {
            number,
            ends: [segment.source, segment.destination],
            payload: [0; 2],
            initial: [None; 2],
            stretches: [None; 2],
        }
    }

    fn take(&mut self, segment: &Segment) {
        let from = usize::from(segment.source != self.ends[0]);
        self.payload[from] = self.payload[from].saturating_add(u64::from(segment.payload));
        if let Some(sequence) = segment.sequence {
            if segment.flags.has(Flags::SYN) {
                self.initial[from] = self.initial[from].or(Some(sequence));
            }
            self.touch(from, sequence);
            self.touch(from, sequence.wrapping_add(segment.payload));
        }
        let acknowledges = segment.flags.has(Flags::ACK) && !segment.flags.has(Flags::RST);
        if acknowledges {
            self.touch(1 - from, segment.acknowledgment);
        }
    }

    fn touch(&mut self, end: usize, number: u32) {
        match &mut self.stretches[end] {
            Some(stretch) => stretch.add(number),
            empty => *empty = Some(SequenceRange::of(number)),
        }
    }

    /// Returns the payload of both ends.
    pub const fn data(&self) -> u64 {
        self.payload[0].saturating_add(self.payload[1])
    }

    /// Returns a number near those that an end sent, from which both captures count.
    pub(crate) fn reference(&self, end: usize) -> u32 {
        let first = self.stretches[end].map_or(0, |stretch| stretch.first);
        self.initial[end].unwrap_or(first)
    }

    /// Returns the first sequence numbers of both ends, in order of size; nothing where one is
    /// missing.
    fn both_initial(&self) -> Option<[u32; 2]> {
        let mut both = [self.initial[0]?, self.initial[1]?];
        both.sort_unstable();
        Some(both)
    }

    /// Returns whether a first number of the one end differs in another capture.
    fn contradicts(&self, other: &Self, is_turned: bool) -> bool {
        let turned = usize::from(is_turned);
        (0..2).any(|end| {
            let both = self.initial[end].zip(other.initial[end ^ turned]);
            both.is_some_and(|(own, other)| own != other)
        })
    }

    /// Returns whether both directions share sequence numbers.
    fn shares_stretches(&self, other: &Self, is_turned: bool) -> bool {
        let turned = usize::from(is_turned);
        (0..2).all(|end| {
            let both = self.stretches[end].zip(other.stretches[end ^ turned]);
            both.is_some_and(|(own, other)| own.touches(other))
        })
    }
}

/// The fingerprints of a capture's connections.
#[derive(Debug, Default)]
pub struct Fingerprints {
    /// By number.
    all: HashMap<u64, Fingerprint>,
}

impl Fingerprints {
    /// Takes a segment of the connection with this number; 0 is none.
    pub fn take(&mut self, segment: &Segment, number: u64) {
        if number == 0 {
            return;
        }
        if self.all.len() >= MAX_REMEMBERED && !self.all.contains_key(&number) {
            self.forget_small();
        }
        let new = || Fingerprint::new(number, segment);
        self.all.entry(number).or_insert_with(new).take(segment);
    }

    /// Forgets the half with less data, of equals the older.
    fn forget_small(&mut self) {
        let mut sizes: Vec<(u64, u64)> =
            self.all.values().map(|one| (one.data(), one.number)).collect();
        let middle = sizes.len() / 2;
        let (_, bound, _) = sizes.select_nth_unstable(middle);
        let bound = *bound;
        self.all.retain(|_, one| (one.data(), one.number) >= bound);
    }

    /// Returns the fingerprint of the connection with this number.
    pub fn of(&self, number: u64) -> Option<&Fingerprint> {
        self.all.get(&number)
    }

    /// Returns those that carried data, the largest first.
    fn largest(&self) -> Vec<&Fingerprint> {
        let mut all: Vec<&Fingerprint> = self.all.values().filter(|one| one.data() > 0).collect();
        all.sort_unstable_by_key(|one| (Reverse(one.data()), one.number));
        all
    }
}

/// The reason why two connections count as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum MatchBasis {
    /// Both ends began with the same sequence numbers.
    InitialSequenceNumbers,
    /// Both directions share sequence numbers; a handshake is missing.
    SequenceNumbers,
}

/// A connection that both captures hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Match {
    /// Its numbers in the captures.
    pub numbers: [u64; 2],
    /// The reason.
    pub matched_by: MatchBasis,
    /// True if the captures name its first packet's source differently.
    #[serde(skip)]
    pub(crate) is_turned: bool,
    /// Payload of the capture that holds less of it.
    #[serde(skip)]
    data: u64,
}

impl Match {
    fn of(one: &Fingerprint, other: &Fingerprint) -> Option<Self> {
        // By the ends as they are named, where no NAT renames them.
        let is_turned = one.ends[0] == other.ends[1] || one.ends[1] == other.ends[0];
        [is_turned, !is_turned].into_iter().find_map(|is_turned| {
            if one.contradicts(other, is_turned) || !one.shares_stretches(other, is_turned) {
                return None;
            }
            let is_whole = one.both_initial().is_some() && other.both_initial().is_some();
            Some(Self {
                numbers: [one.number, other.number],
                matched_by: match is_whole {
                    true => MatchBasis::InitialSequenceNumbers,
                    false => MatchBasis::SequenceNumbers,
                },
                is_turned,
                data: one.data().min(other.data()),
            })
        })
    }
}

/// Returns the connections with data that both captures hold, the largest first; `only` is the
/// number of the only one of the first capture that is wanted.
pub fn common(first: &Fingerprints, second: &Fingerprints, only: Option<u64>) -> Vec<Match> {
    let mut by_initial: HashMap<[u32; 2], &Fingerprint> = HashMap::new();
    // Of several that began alike, which simulators make, the largest.
    for one in second.largest().into_iter().rev() {
        if let Some(initial) = one.both_initial() {
            by_initial.insert(initial, one);
        }
    }
    let is_wanted = |one: &&&Fingerprint| only.is_none_or(|only| one.number == only);
    let all = first.largest();
    let mut found: Vec<Match> = all
        .iter()
        .filter(is_wanted)
        .filter_map(|one| Match::of(one, by_initial.get(&one.both_initial()?)?))
        .collect();
    let others: Vec<&Fingerprint> = second.largest().into_iter().take(BY_STRETCH).collect();
    for one in all.iter().filter(is_wanted).take(BY_STRETCH) {
        for other in &others {
            let is_whole = one.both_initial().is_some() && other.both_initial().is_some();
            // A stretch that stands for all numbers tells nothing.
            let tells = |one: &Fingerprint| {
                one.stretches.iter().flatten().all(|one| one.length < SequenceRange::WHOLE)
            };
            if !is_whole && tells(one) && tells(other) {
                found.extend(Match::of(one, other));
            }
        }
    }
    found.sort_by_key(|one| (Reverse(one.data), one.numbers));
    // Each connection once, in its largest match.
    let mut seen: [hashbrown::HashSet<u64>; 2] = Default::default();
    found.retain(|one| {
        let is_new = (0..2).all(|side| !seen[side].contains(&one.numbers[side]));
        if is_new {
            (0..2).for_each(|side| _ = seen[side].insert(one.numbers[side]));
        }
        is_new
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_grows_on_both_sides_and_past_the_wrap() {
        let mut stretch = SequenceRange::of(u32::MAX - 10);
        stretch.add(20);
        stretch.add(u32::MAX - 30);
        assert_eq!((stretch.first, stretch.length), (u32::MAX - 30, 51));
        assert!(stretch.touches(SequenceRange::of(0)));
        assert!(!stretch.touches(SequenceRange::of(21)));
        // Numbers from everywhere tell nothing.
        stretch.add(1 << 31);
        stretch.add(1 << 30);
        stretch.add(3 << 30);
        assert_eq!(stretch.length, SequenceRange::WHOLE);
    }
}
