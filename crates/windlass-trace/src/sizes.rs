//! Which sizes of segments pass the path, and which never arrive.
//!
//! Where a link on the path is too small for a segment, its router drops it and says so
//! by ICMP (RFC 1191, RFC 8201). Where that message is filtered, the sender sends the
//! segment again and again, and smaller ones pass all the while: a black hole (RFC 2923
//! section 2.1). A sender that probes its way out (RFC 4821) proves it: it sends the same
//! data in smaller pieces, and these arrive.

use windlass_macros::{Packed, PackedSparsely};

/// Times that a segment of one size is sent, all in vain, before its size is thought to
/// matter. With a tenth of all segments lost, that is one in a thousand.
const MIN_SENDS: u32 = 3;

/// The same where the sender never lowers its size, and only what came behind the
/// segment tells that smaller ones pass.
const MIN_SENDS_ALONE: u32 = 4;

/// A segment that the receiver lacks, and that was sent again.
#[derive(Clone, Debug, PartialEq, Packed)]
struct Stuck {
    start: u64,
    /// The least size in which it was sent before it was lowered.
    size: u64,
    /// How often it was sent so.
    sends: u32,
    /// The packets that sent it again.
    numbers: Vec<u64>,
    /// The size to which the sender lowered it.
    lowered: Option<u64>,
}

/// How many packets are kept as examples.
const EXAMPLES: usize = 6;

/// A size that passed where a larger one did not.
#[derive(Clone, Debug, PartialEq, Eq, Packed)]
pub(crate) struct Hole {
    /// The largest payload that arrived, and the least that did not.
    pub(crate) passes: u64,
    pub(crate) fails: u64,
    /// How often it was sent in vain.
    pub(crate) sends: u32,
    pub(crate) numbers: Vec<u64>,
    /// Whether the sender lowered its size, and went on.
    pub(crate) escaped: bool,
}

/// The sizes of one direction.
#[derive(Clone, Debug, Default, PackedSparsely)]
pub(crate) struct Sizes {
    stuck: Option<Stuck>,
    hole: Option<Hole>,
    /// The largest size that arrived though it had to be sent again.
    passed: u64,
}

impl Sizes {
    /// Data from `start` was sent again, which the receiver asked for. It was sent first
    /// in a segment of the size `first`.
    pub(crate) fn again(&mut self, number: u64, start: u64, length: u64, first: u64) {
        match &mut self.stuck {
            Some(stuck) if stuck.start == start => {
                if length < stuck.size && stuck.sends >= MIN_SENDS {
                    stuck.lowered = Some(length.max(stuck.lowered.unwrap_or(0)));
                } else if stuck.lowered.is_none() {
                    stuck.size = stuck.size.min(length);
                    stuck.sends = stuck.sends.saturating_add(1);
                }
                if stuck.numbers.len() < EXAMPLES {
                    stuck.numbers.push(number);
                }
            }
            _ => {
                let size = first.min(length);
                self.stuck =
                    Some(Stuck { start, size, sends: 2, numbers: vec![number], lowered: None });
            }
        }
    }

    /// An ACK of new data.
    pub(crate) fn advance(&mut self, ack: u64) {
        let Some(stuck) = self.stuck.take_if(|stuck| ack > stuck.start) else { return };
        match stuck.lowered {
            None => self.passed = self.passed.max(stuck.size.min(ack - stuck.start)),
            // The first hole tells most: what follows goes by the lowered size.
            Some(lowered) if self.hole.is_none() => {
                self.hole = Some(Hole {
                    passes: lowered,
                    fails: stuck.size,
                    sends: stuck.sends,
                    numbers: stuck.numbers,
                    escaped: true,
                });
            }
            Some(_) => {}
        }
    }

    /// The start and the size of what is stuck.
    pub(crate) fn stuck(&self) -> Option<(u64, u64)> {
        self.stuck.as_ref().map(|stuck| (stuck.start, stuck.size))
    }

    /// The capture ends with a segment stuck, behind which so large a one arrived.
    pub(crate) fn arrived_behind(&mut self, size: u64) {
        let Some(stuck) = &self.stuck else { return };
        if self.hole.is_none() && stuck.sends >= MIN_SENDS_ALONE && stuck.lowered.is_none() {
            self.hole = Some(Hole {
                passes: size,
                fails: stuck.size,
                sends: stuck.sends,
                numbers: stuck.numbers.clone(),
                escaped: false,
            });
        }
    }

    /// The black hole that these sizes show, where `largest` is the largest segment that
    /// arrived at its first sending.
    pub(crate) fn hole(self, largest: u64) -> Option<Hole> {
        let passed = self.passed.max(largest);
        let hole = self.hole.filter(|hole| hole.fails > hole.passes && hole.fails > passed)?;
        Some(Hole { passes: hole.passes.max(passed), ..hole })
    }
}
