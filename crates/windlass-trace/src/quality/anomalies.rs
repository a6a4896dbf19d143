//! Signs that a capture does not hold what two hosts exchanged: both sides of a device that
//! rewrites packets, a display filter, or invented timestamps.

use windlass_base::thresholds::{
    A_TENTH, AS_GOOD_AS_EQUAL, BEFORE_TIMERS, ENOUGH, EQUAL_GAPS, HABIT, LARGE_SEGMENT, MANY,
    ONE_IN_FIVE, SEVERAL, UNANSWERED_RUN,
};
use windlass_base::{Span, Timestamp};
use windlass_macros::{Packed, PackedSparsely};
use windlass_wire::{Flags, Segment};

/// Number of packets that are examined; further ones would only cost time.
const TOLD: u32 = 1 << 16;

/// Fields that a rewriting device leaves unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Packed)]
struct HeaderFingerprint {
    identification: u16,
    payload: u32,
    window: u16,
    flags: u8,
}

/// The last packet of a side.
#[derive(Clone, Copy, Debug, PartialEq, Packed)]
struct LastPacket {
    face: HeaderFingerprint,
    sequence: u32,
    time: Timestamp,
}

/// The oddities of a connection.
#[derive(Clone, Debug, Default, PackedSparsely)]
pub(crate) struct CaptureAnomalies {
    last: [Option<LastPacket>; 2],
    rewritten: u32,
    /// Packets of each side, and those that only acknowledge.
    packets: [u32; 2],
    pure_acks: [u32; 2],
    /// Full segments of each side since the other side's last packet: their number, its maximum,
    /// and the times that there were many.
    run: [u32; 2],
    longest_run: [u32; 2],
    long_runs: [u32; 2],
    gaps: f64,
    gaps_squared: f64,
}

impl CaptureAnomalies {
    /// Takes a packet that came `gap` after the last one of the connection.
    #[inline]
    pub(crate) fn saw(&mut self, segment: &Segment, direction: usize, gap: Span) {
        if self.packets[0].saturating_add(self.packets[1]) < TOLD {
            self.count(segment, direction, gap);
        }
    }

    fn count(&mut self, segment: &Segment, direction: usize, gap: Span) {
        // In nanoseconds: only their ratio matters.
        let gap = gap.or_zero().as_nanos() as f64;
        self.gaps += gap;
        self.gaps_squared += gap * gap;
        self.packets[direction] = self.packets[direction].saturating_add(1);
        let other = 1 - direction;
        let run = std::mem::take(&mut self.run[other]);
        self.longest_run[other] = self.longest_run[other].max(run);
        let many = u32::from(run >= HABIT.to::<u32>());
        self.long_runs[other] = self.long_runs[other].saturating_add(many);
        let opens_or_ends = segment.flags.has(Flags::SYN.with(Flags::FIN).with(Flags::RST));
        if segment.payload >= LARGE_SEGMENT.get() {
            self.run[direction] = self.run[direction].saturating_add(1);
        } else if segment.payload == 0 && !opens_or_ends {
            self.pure_acks[direction] = self.pure_acks[direction].saturating_add(1);
        }
        let (Some(identification), Some(sequence)) = (segment.identification, segment.sequence)
        else {
            return;
        };
        let face = HeaderFingerprint {
            identification,
            payload: segment.payload,
            window: segment.window,
            flags: segment.flags.0,
        };
        let this = LastPacket { face, sequence, time: segment.time };
        if let Some(last) = self.last[direction].replace(this)
            && last.face == face
            && identification != 0
            && last.sequence.abs_diff(sequence) > 1 << 16
            && segment.time.since(last.time) <= BEFORE_TIMERS.get()
        {
            self.rewritten = self.rewritten.saturating_add(1);
        }
    }

    /// Returns whether packets came twice, the second time with other sequence numbers.
    pub(crate) fn is_rewritten(&self) -> bool {
        self.rewritten >= SEVERAL.to::<u32>()
    }

    /// Returns whether the ACKs of the data in `direction` are missing throughout: the capture has
    /// no ACK without data, where there must have been some.
    pub(crate) fn lacks_acks(&self, direction: usize) -> bool {
        let longest = self.longest_run[direction].max(self.run[direction]);
        self.pure_acks[1 - direction] == 0
            && (longest >= UNANSWERED_RUN.get() || self.long_runs[direction] >= SEVERAL.to::<u32>())
    }

    /// Returns whether all packets follow each other after the same time, in both directions: no
    /// pair of hosts does that.
    pub(crate) fn has_made_up_times(&self) -> bool {
        let all = self.packets[0].saturating_add(self.packets[1]);
        let least = self.packets[0].min(self.packets[1]);
        if all < ENOUGH.to::<u32>() || self.gaps <= 0.0 {
            return false;
        }
        let count = f64::from(all - 1);
        let mean = self.gaps / count;
        let deviation = (self.gaps_squared / count - mean * mean).max(0.0).sqrt() / mean;
        if all < MANY.to::<u32>() {
            return deviation < EQUAL_GAPS.get() && least > 0;
        }
        let talk = least * ONE_IN_FIVE.to::<u32>() >= all;
        deviation < if talk { A_TENTH.get() } else { AS_GOOD_AS_EQUAL.get() } && least > 2
    }
}
