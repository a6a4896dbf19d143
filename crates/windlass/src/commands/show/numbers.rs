//! Relative sequence numbers, and windows in bytes.

use std::collections::HashMap;

use windlass_wire::{Endpoint, Flags, Segment};

/// Maximum number of directions with a known start; others are shown with absolute sequence
/// numbers.
const MAX_STARTS: usize = 1 << 16;

/// Start of a direction's sequence numbers, and its window scale.
#[derive(Clone, Copy, Debug, Default)]
struct Start {
    sequence: Option<u32>,
    scale: Option<u8>,
    syn: bool,
}

/// Starts by connection and sender.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    starts: HashMap<(u64, Endpoint), Start>,
}

/// A segment's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RelativeNumbers {
    pub(super) sequence: Option<u64>,
    pub(super) acknowledgment: Option<u64>,
    pub(super) window: Option<u64>,
}

impl Numbers {
    /// Returns a segment's numbers from the start of its connection: a SYN has 0, the first data 1.
    pub(super) fn relative(&mut self, connection: u64, segment: &Segment) -> RelativeNumbers {
        let (from, to) = ((connection, segment.source), (connection, segment.destination));
        let has_ack = segment.flags.has(Flags::ACK);
        let is_syn = segment.flags.has(Flags::SYN);
        if self.starts.len() < MAX_STARTS {
            let start = self.starts.entry(from).or_default();
            if is_syn {
                start.sequence = segment.sequence;
                start.scale = segment.options.window_scale;
                start.syn = true;
            } else if start.sequence.is_none() {
                start.sequence = segment.sequence.map(|sequence| sequence.wrapping_sub(1));
            }
            if has_ack {
                let other = self.starts.entry(to).or_default();
                other.sequence = other.sequence.or(Some(segment.acknowledgment.wrapping_sub(1)));
            }
        }
        let start = self.starts.get(&from).copied().unwrap_or_default();
        let other = self.starts.get(&to).copied().unwrap_or_default();
        let count = |number: u32, start: Option<u32>| {
            u64::from(number.wrapping_sub(start.unwrap_or_default()))
        };
        let shift = match (start.syn && other.syn && !is_syn, start.scale, other.scale) {
            (true, Some(shift), Some(_)) => shift.min(14),
            _ => 0,
        };
        RelativeNumbers {
            sequence: segment.sequence.map(|sequence| count(sequence, start.sequence)),
            acknowledgment: has_ack.then(|| count(segment.acknowledgment, other.sequence)),
            window: (!segment.flags.has(Flags::RST)).then(|| u64::from(segment.window) << shift),
        }
    }
}
