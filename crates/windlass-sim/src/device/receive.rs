//! Reassembly of arriving data (RFC 9293 section 3.10.7.4, RFC 2018, RFC 2883).

use windlass_wire::{SackBlocks, SequenceRange};

use crate::numbering::{Numbering, START};
use crate::segment::Payload;

/// Maximum number of pieces kept out of order. It bounds the memory whatever a peer sends; a window
/// of 1.4 MB with every second segment lost still fits.
const MAX_PIECES: usize = 512;

/// Maximum number of blocks in a SACK option, and so the number that is remembered.
const BLOCKS: usize = 4;

/// The data of one direction, with the pieces that arrived out of order.
#[derive(Clone, Debug)]
pub(crate) struct ReassemblyBuffer {
    numbering: Numbering,
    /// RCV.NXT: the next expected position, which an ACK acknowledges.
    pub(crate) next: u64,
    /// Position of the FIN, once it is known.
    fin: Option<u64>,
    /// Data beyond `next`, in order and without overlaps.
    ahead: Vec<(u64, Payload)>,
    /// Positions of data that arrived out of order, the latest first.
    recent: [u64; BLOCKS],
    /// The latest data that had arrived before.
    twice: Option<(u64, u64)>,
}

/// Effect of a segment's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// The data, with pieces that waited behind it, extends the order by this number of bytes.
    InOrder(u64),
    /// The data lies beyond a gap.
    Ahead,
    /// None of the data was new, or none was kept.
    Nothing,
}

impl ReassemblyBuffer {
    pub(crate) const fn new(initial: u32) -> Self {
        Self {
            numbering: Numbering::new(initial),
            next: START + 1,
            fin: None,
            ahead: Vec::new(),
            recent: [0; BLOCKS],
            twice: None,
        }
    }

    pub(crate) const fn number(&self) -> u32 {
        self.numbering.number(self.next)
    }

    pub(crate) const fn position(&self, number: u32) -> u64 {
        self.numbering.position(number, self.next)
    }

    /// Returns whether the FIN and all data before it have arrived.
    pub(crate) fn is_finished(&self) -> bool {
        self.fin.is_some_and(|fin| self.next > fin)
    }

    /// Returns whether there is a gap.
    pub(crate) const fn has_gap(&self) -> bool {
        !self.ahead.is_empty()
    }

    /// Takes the data at `start` up to `edge`, the window's right edge. Passes the data that is now
    /// in order to `take`.
    pub(crate) fn data(
        &mut self,
        start: u64,
        payload: &Payload,
        edge: u64,
        keeps_ahead: bool,
        mut take: impl FnMut(Payload),
    ) -> Arrival {
        let end = (start + u64::from(payload.len())).min(edge).min(self.fin.unwrap_or(u64::MAX));
        if end <= self.next {
            return Arrival::Nothing;
        }
        if start > self.next {
            return if keeps_ahead && self.keep(start, end, payload) {
                Arrival::Ahead
            } else {
                Arrival::Nothing
            };
        }
        let before = self.next;
        take(part(payload, start, self.next, end));
        self.next = end;
        let mut joined = 0;
        for (start, piece) in &self.ahead {
            if *start > self.next {
                break;
            }
            joined += 1;
            let end = start + u64::from(piece.len());
            if end > self.next {
                take(part(piece, *start, self.next, end));
                self.next = end;
            }
        }
        self.ahead.drain(..joined);
        Arrival::InOrder(self.next - before)
    }

    /// Records a duplicate of data that lies before the expected position.
    pub(crate) fn again(&mut self, start: u64, length: u32) {
        let end = start + u64::from(length);
        if length > 0 && end <= self.next {
            self.twice = Some((start, end));
        }
    }

    /// Records a FIN at `position`. Only the first one counts: a later one must not move the end.
    pub(crate) fn fin(&mut self, position: u64) {
        let furthest =
            self.ahead.last().map_or(self.next, |(start, piece)| start + u64::from(piece.len()));
        if self.fin.is_none() && position >= furthest {
            self.fin = Some(position);
        }
        if self.fin == Some(self.next) {
            self.next += 1;
        }
    }

    /// Keeps the missing parts of `start..end`. Returns whether anything was kept.
    fn keep(&mut self, start: u64, end: u64, payload: &Payload) -> bool {
        let mut from = start;
        let mut place =
            self.ahead.partition_point(|(at, piece)| at + u64::from(piece.len()) <= start);
        let mut kept = false;
        while from < end {
            let next = self.ahead.get(place).map(|(at, piece)| (*at, at + u64::from(piece.len())));
            if let Some((at, after)) = next
                && at <= from
            {
                from = after;
                place += 1;
                continue;
            }
            let to = next.map_or(end, |(at, _)| at.min(end));
            if !self.insert(place, from, part(payload, start, from, to)) {
                break;
            }
            kept = true;
            // The piece may have joined the one before it; look again from there.
            place = self.ahead.partition_point(|(at, piece)| at + u64::from(piece.len()) < to);
            from = to;
        }
        if kept {
            let known = self.recent.iter().position(|at| self.same_block(*at, start));
            if let Some(older) = self.recent.get_mut(..=known.unwrap_or(BLOCKS - 1)) {
                older.rotate_right(1);
            }
            self.recent[0] = start;
        }
        kept
    }

    /// Inserts a piece at an index, joined to the one before if both are zeros.
    fn insert(&mut self, place: usize, start: u64, piece: Payload) -> bool {
        if let (Some((at, Payload::Zeros(length))), Payload::Zeros(more)) =
            (place.checked_sub(1).and_then(|before| self.ahead.get_mut(before)), &piece)
            && *at + u64::from(*length) == start
            && let Some(sum) = length.checked_add(*more)
        {
            *length = sum;
            return true;
        }
        if self.ahead.len() >= MAX_PIECES {
            return false;
        }
        self.ahead.insert(place, (start, piece));
        true
    }

    fn same_block(&self, a: u64, b: u64) -> bool {
        self.block(a).is_some_and(|(left, right)| (left..right).contains(&b))
    }

    /// Returns the block of kept data that contains `position`.
    fn block(&self, position: u64) -> Option<(u64, u64)> {
        let place = self.ahead.partition_point(|(at, _)| *at <= position).checked_sub(1)?;
        let (start, piece) = self.ahead.get(place)?;
        let (mut left, mut right) = (*start, start + u64::from(piece.len()));
        if position >= right {
            return None;
        }
        for (at, piece) in self.ahead.iter().take(place).rev() {
            if at + u64::from(piece.len()) != left {
                break;
            }
            left = *at;
        }
        for (at, piece) in self.ahead.iter().skip(place + 1) {
            if *at != right {
                break;
            }
            right += u64::from(piece.len());
        }
        Some((left, right))
    }

    /// Returns the blocks to report: the one with the latest data first, then those reported before
    /// it (RFC 2018 section 4). With `d_sack`, a duplicate comes before them all, once (RFC 2883
    /// section 4).
    pub(crate) fn sack(&mut self, most: usize, d_sack: bool) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        if let Some((start, end)) = self.twice.take().filter(|_| d_sack) {
            let (left, right) = (self.numbering.number(start), self.numbering.number(end));
            blocks.push(SequenceRange { left, right });
        }
        if self.ahead.is_empty() {
            return blocks;
        }
        for position in self.recent {
            let Some((left, right)) = self.block(position) else { continue };
            let range = SequenceRange {
                left: self.numbering.number(left),
                right: self.numbering.number(right),
            };
            if blocks.as_slice().len() < most && !blocks.as_slice().contains(&range) {
                blocks.push(range);
            }
        }
        blocks
    }
}

/// Returns the part `from..to` of a payload at `start`, to be kept.
fn part(payload: &Payload, start: u64, from: u64, to: u64) -> Payload {
    let offset = |position: u64| u32::try_from(position - start).unwrap_or(u32::MAX);
    payload.slice(offset(from), offset(to)).compact()
}

#[cfg(test)]
#[path = "receive_tests.rs"]
mod tests;
