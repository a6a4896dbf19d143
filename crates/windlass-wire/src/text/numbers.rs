//! Sequence numbers as tcpdump prints them.
//!
//! tcpdump prints absolute numbers in a connection's first segment with an ACK. Later numbers are
//! relative to that segment. Numbers of a SYN and of segments without ACK are always absolute
//! (`print-tcp.c`), and with `-S` all numbers are. The text does not tell which numbers are
//! relative. A text may also begin in the middle, so that its first line is relative to a line that
//! it lacks.
//!
//! So the first numbers of a connection are taken as absolute, and as the base of relative ones.
//! Both readings of a later number are tried: absolute and relative. The expected numbers follow
//! from the segments before. Once one reading is much nearer to them than the other, it holds for
//! the whole connection. Until then the nearer reading is taken for each number.
//!
//! The result is consistent within a connection: its numbers are those of the wire. If the text
//! lacks the base, all are shifted by one amount in each direction. If a number cannot be shifted
//! by this amount, the segment's sequence number is `None`. An example is an RST without ACK in a
//! text without the beginning.

use std::collections::{HashMap, VecDeque};

use super::line::PrintedSegment;
use crate::{Endpoint, Flags, SackBlocks, SequenceRange};

/// Maximum connections that are kept. Beyond it, the oldest is evicted; if it continues, its
/// numbers begin anew.
const MAX_CONNECTIONS: usize = 65_536;
/// One reading holds once the other is this many times as far from the expected number.
const MUCH_NEARER: u32 = 16;
/// Maximum difference of an absolute number from the expected one: the largest window (RFC 7323
/// section 2.2).
const LARGEST_WINDOW: u32 = 1 << 30;

/// Maximum distance of a SACK block from the ACK in a first line: sixteen times the largest window
/// without scaling. One in 4,000 random numbers is as near.
const NEAR: u32 = 1 << 20;

type Key = (Endpoint, Endpoint);

/// Sequence numbers of all connections.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    connections: HashMap<Key, Connection>,
    order: VecDeque<Key>,
}

/// Form of the printed numbers of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Form {
    #[default]
    Unclear,
    AsIs,
    Relative,
}

#[derive(Clone, Copy, Debug, Default)]
struct Connection {
    form: Form,
    /// True once the line was read that later ones may be relative to.
    based: bool,
    /// Numbers by direction: first that of the smaller endpoint.
    sides: [Side; 2],
}

/// The numbers of one direction.
#[derive(Clone, Copy, Debug, Default)]
struct Side {
    /// Base of relative numbers.
    base: Option<u32>,
    /// True if the base is that of the wire.
    certain: bool,
    /// Next expected number.
    next: Option<u32>,
}

impl Side {
    fn begin(base: u32, next: u32) -> Self {
        Self { base: Some(base), certain: true, next: Some(next) }
    }

    /// Advances to `next`. An older number belongs to a retransmission and is ignored.
    fn advance(&mut self, next: u32) {
        match self.next {
            Some(known) if next.wrapping_sub(known) >= 1 << 31 => {}
            _ => self.next = Some(next),
        }
    }

    /// Returns the distances of the absolute and the relative reading of `printed` from the
    /// expected number.
    fn distances(&self, printed: u32) -> Option<(u32, u32)> {
        let (base, next) = (self.base?, self.next?);
        Some((apart(printed, next), apart(base.wrapping_add(printed), next)))
    }

    /// Converts `printed` to an absolute number.
    fn read(&self, printed: u32, form: Form) -> u32 {
        let relative = self.base.unwrap_or(0).wrapping_add(printed);
        match form {
            Form::AsIs => printed,
            Form::Relative => relative,
            Form::Unclear => match self.distances(printed) {
                Some((as_is, shifted)) if shifted < as_is => relative,
                _ => printed,
            },
        }
    }
}

fn apart(a: u32, b: u32) -> u32 {
    a.wrapping_sub(b).min(b.wrapping_sub(a))
}

impl Numbers {
    /// Returns the absolute sequence number, acknowledgment number and SACK blocks of a printed
    /// segment.
    pub(super) fn resolve(
        &mut self,
        source: Endpoint,
        destination: Endpoint,
        printed: &PrintedSegment<'_>,
    ) -> (Option<u32>, u32, SackBlocks) {
        let me = usize::from(source > destination);
        let key = (source.min(destination), source.max(destination));
        if !self.connections.contains_key(&key) {
            if self.connections.len() >= MAX_CONNECTIONS
                && let Some(oldest) = self.order.pop_front()
            {
                self.connections.remove(&oldest);
            }
            self.order.push_back(key);
        }
        self.connections.entry(key).or_default().resolve(me, printed)
    }
}

impl Connection {
    fn resolve(
        &mut self,
        me: usize,
        printed: &PrintedSegment<'_>,
    ) -> (Option<u32>, u32, SackBlocks) {
        let peer = 1 - me;
        let is_first = !self.based;
        let acknowledgment = printed.acknowledgment;
        let sequence = if printed.flags.has(Flags::SYN) {
            self.handshake(me, printed);
            printed.sequence
        } else if acknowledgment.is_none() {
            printed.sequence.filter(|number| self.fits(me, *number))
        } else {
            self.learn(me, printed);
            printed.sequence.map(|number| self.sides[me].read(number, self.form))
        };
        let acknowledgment = match acknowledgment {
            Some(number) if printed.flags.has(Flags::SYN) => number,
            Some(number) => self.sides[peer].read(number, self.form),
            None => 0,
        };

        if let Some(number) = sequence {
            let control =
                u32::from(printed.flags.has(Flags::SYN)) + u32::from(printed.flags.has(Flags::FIN));
            self.sides[me].advance(number.wrapping_add(printed.payload).wrapping_add(control));
        }
        if printed.acknowledgment.is_some() {
            self.sides[peer].advance(acknowledgment);
        }
        let mut sack = SackBlocks::default();
        for block in printed.options.sack.as_slice() {
            // The line that later ones are relative to is usually absolute: a block just above its
            // ACK is absolute.
            let is_near = block.left.wrapping_sub(acknowledgment) < NEAR;
            let form = match self.form {
                Form::Unclear if is_first && is_near => Form::AsIs,
                form => form,
            };
            // Both edges are printed in one form.
            let left = self.sides[peer].read(block.left, form);
            let length = block.right.wrapping_sub(block.left);
            sack.push(SequenceRange { left, right: left.wrapping_add(length) });
        }
        (sequence, acknowledgment, sack)
    }

    /// Takes the bases from a SYN, whose numbers are absolute.
    fn handshake(&mut self, me: usize, printed: &PrintedSegment<'_>) {
        let Some(base) = printed.sequence else { return };
        let known = |side: &Side, base| side.certain && side.base == Some(base);
        let peer_base = printed.acknowledgment.map(|number| number.wrapping_sub(1));
        let again = known(&self.sides[me], base)
            && peer_base.is_none_or(|base| known(&self.sides[1 - me], base));
        if !again {
            let answers = peer_base.is_some_and(|base| known(&self.sides[1 - me], base));
            let peer = self.sides[1 - me];
            *self = Self::default();
            self.sides[me] = Side::begin(base, base.wrapping_add(1));
            if answers {
                self.sides[1 - me] = peer;
            } else if let Some(base) = peer_base {
                self.sides[1 - me] = Side::begin(base, base.wrapping_add(1));
            }
        }
        self.based |= peer_base.is_some();
    }

    /// Returns whether an absolute number is consistent with the known numbers.
    fn fits(&self, me: usize, number: u32) -> bool {
        let side = &self.sides[me];
        match side.next {
            Some(next) if !side.certain => {
                self.form != Form::Relative && apart(number, next) < LARGEST_WINDOW
            }
            _ => true,
        }
    }

    /// Learns the form and the base of the numbers from a segment with an ACK.
    fn learn(&mut self, me: usize, printed: &PrintedSegment<'_>) {
        let numbers = [(me, printed.sequence, 0), (1 - me, printed.acknowledgment, 1)];
        if self.form == Form::Unclear {
            let clearest = numbers
                .iter()
                .filter_map(|(side, number, _)| self.sides[*side].distances((*number)?))
                .max_by_key(|(as_is, relative)| clear(*as_is, *relative))
                .filter(|(as_is, relative)| clear(*as_is, *relative) >= MUCH_NEARER);
            match clearest {
                Some((as_is, relative)) if relative < as_is => {
                    self.form = Form::Relative;
                    for side in &mut self.sides {
                        side.certain |= side.base.is_some();
                    }
                }
                // The first line with an ACK is always absolute, and later ones are relative to it.
                // This holds even after a SYN, as in a capture of one direction.
                _ if !self.based => {
                    for (side, number, ahead) in numbers {
                        let side = &mut self.sides[side];
                        side.base = number.map(|number| number.wrapping_sub(ahead)).or(side.next);
                    }
                }
                Some(_) => self.form = Form::AsIs,
                None => {}
            }
        }
        self.based = true;
        for (side, number, ahead) in numbers {
            let side = &mut self.sides[side];
            if let (Some(number), None) = (number, side.base) {
                // If numbers are known to be relative, the text lacks the base of this direction,
                // and the numbers stay shifted by it.
                let relative = self.form == Form::Relative;
                side.base = Some(if relative { 0 } else { number.wrapping_sub(ahead) });
            }
        }
    }
}

/// Returns the ratio of the larger distance to the smaller one. If only one distance is zero, the
/// ratio is clear even with a small base.
fn clear(a: u32, b: u32) -> u32 {
    match (a.max(b), a.min(b)) {
        (0, _) => 0,
        (far, 0) => far.max(MUCH_NEARER),
        (far, near) => far / near,
    }
}
