//! Sequence numbers as tcpdump prints them.
//!
//! tcpdump prints the numbers of a connection's first segment that carries an
//! ACK as they are, then relative to it; a SYN, and what carries no ACK, always
//! as they are (`print-tcp.c`); with `-S` everything as it is. The text does not say which. And
//! a text may begin in the middle, so that the first line it holds is relative
//! to one that it does not.
//!
//! So the first numbers of a connection are taken as they are, and as the base
//! of what is relative. Of a later number both readings are tried: as it is, and
//! relative. The next numbers to expect are known from what came before. As soon
//! as one reading comes much nearer to them than the other it holds for the
//! whole connection; until then the nearer one is taken, number by number.
//!
//! The result is consistent within a connection: its numbers are those of the
//! wire, or, where the text does not hold the base, all shifted by one amount
//! in each direction. Where a number cannot be brought to the same amount, as
//! the one of an RST without ACK after a beginning that is missing, the
//! segment's sequence number is `None`.

use std::collections::{HashMap, VecDeque};

use super::line::Printed;
use crate::{Endpoint, Flags, SackBlocks, SequenceRange};

/// Connections that are kept. The oldest gives way; should it go on, its
/// numbers begin anew.
const MAX_CONNECTIONS: usize = 65_536;
/// One reading holds once the other is so many times as far from what is
/// expected.
const MUCH_NEARER: u32 = 16;
/// A number that is taken as it is may differ so much from what is expected:
/// the largest window there is (RFC 7323 section 2.2).
const LARGEST_WINDOW: u32 = 1 << 30;

/// A SACK block of a first line is as near to the ACK as a window without scaling is large,
/// sixteen times over. One in 4,000 of any numbers is.
const NEAR: u32 = 1 << 20;

type Key = (Endpoint, Endpoint);

/// The numbers of all connections.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    connections: HashMap<Key, Connection>,
    order: VecDeque<Key>,
}

/// How the numbers of a connection are printed.
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
    /// Whether the line is past that later ones may be relative to.
    based: bool,
    /// By direction: the smaller endpoint's first.
    sides: [Side; 2],
}

/// The numbers of one direction.
#[derive(Clone, Copy, Debug, Default)]
struct Side {
    /// What relative numbers are relative to.
    base: Option<u32>,
    /// Whether the base is that of the wire.
    certain: bool,
    /// The next number.
    next: Option<u32>,
}

impl Side {
    fn begin(base: u32, next: u32) -> Self {
        Self { base: Some(base), certain: true, next: Some(next) }
    }

    /// Moves on to `next`; an older number is a retransmission's.
    fn advance(&mut self, next: u32) {
        match self.next {
            Some(known) if next.wrapping_sub(known) >= 1 << 31 => {}
            _ => self.next = Some(next),
        }
    }

    /// How far the two readings of `printed` are from what is expected.
    fn distances(&self, printed: u32) -> Option<(u32, u32)> {
        let (base, next) = (self.base?, self.next?);
        Some((apart(printed, next), apart(base.wrapping_add(printed), next)))
    }

    /// What `printed` means.
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
    /// The sequence number, the acknowledgment number and the SACK blocks of a
    /// printed segment.
    pub(super) fn resolve(
        &mut self,
        source: Endpoint,
        destination: Endpoint,
        printed: &Printed<'_>,
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
    fn resolve(&mut self, me: usize, printed: &Printed<'_>) -> (Option<u32>, u32, SackBlocks) {
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
            // The line that later ones may be relative to is as a rule not relative
            // itself: what lies just above its ACK is meant so.
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

    /// Takes the bases from a SYN, whose numbers are printed as they are.
    fn handshake(&mut self, me: usize, printed: &Printed<'_>) {
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

    /// Whether a number that is printed as it is belongs to the numbers known.
    fn fits(&self, me: usize, number: u32) -> bool {
        let side = &self.sides[me];
        match side.next {
            Some(next) if !side.certain => {
                self.form != Form::Relative && apart(number, next) < LARGEST_WINDOW
            }
            _ => true,
        }
    }

    /// Learns from the numbers of a segment with an ACK how they are printed,
    /// and what they are relative to.
    fn learn(&mut self, me: usize, printed: &Printed<'_>) {
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
                // The first line with an ACK is printed as it is in any case,
                // and what follows is relative to it, even where a SYN came
                // before: as in a capture of one direction.
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
                // Where numbers are known to be relative, the text does not
                // hold this direction's base: they stay shifted by it.
                let relative = self.form == Form::Relative;
                side.base = Some(if relative { 0 } else { number.wrapping_sub(ahead) });
            }
        }
    }
}

/// How many times one distance is as far as the other. That one is nothing, and
/// the other not, is clear even where the base is small.
fn clear(a: u32, b: u32) -> u32 {
    match (a.max(b), a.min(b)) {
        (0, _) => 0,
        (far, 0) => far.max(MUCH_NEARER),
        (far, near) => far / near,
    }
}
