//! Activity during a time, and changes of the congestion window.

use windlass_base::Span;
use windlass_macros::PackedSparsely;

use crate::packed::packed;
use crate::quality::clock_jumps::SilenceMeasurements;

/// Phase of the congestion window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Phase {
    /// Growth by doubling with each round trip.
    #[default]
    SlowStart,
    /// Recovery of the flight before a loss.
    AfterLoss,
    /// Neither of these.
    Level,
}

packed!(Phase [Self::SlowStart, Self::AfterLoss, Self::Level]);

/// Share of a window that is as large as the largest, in its parts.
const WHOLE_WINDOW: u64 = 1 << 16;

/// Activity during a time, to tell an open window's limits apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, PackedSparsely)]
pub(crate) struct Activity {
    /// The greatest flight at which the sender waited.
    pub(crate) flight_high: u64,
    pub(crate) acked: u64,
    pub(crate) sent: u64,
    pub(crate) acks: u32,
    pub(crate) segments: u32,
    pub(crate) small_segments: u32,
    /// Segments that are not full.
    pub(crate) partial_segments: u32,
    /// Waits that ended as soon as an ACK made a little room.
    pub(crate) prompt: u32,
    /// Waits that went on over several ACKs until half the flight was gone.
    pub(crate) deep: u32,
    pub(crate) latency_sum: Span,
    pub(crate) latency_count: u32,
    /// Sum and number of the turns from the capture to the sender and back.
    pub(crate) turn_sum: Span,
    pub(crate) turn_count: u32,
    /// The windows of ACKs as shares of the largest so far, in parts of 65,536,
    /// and their number.
    pub(crate) window_shares: u64,
    pub(crate) windows: u32,
    /// The time between ACKs of new data, and its squares in seconds.
    pub(crate) gaps: Span,
    pub(crate) gaps_squared: f64,
    /// Round trips that began in this time.
    pub(crate) rounds: u32,
}

/// Joins each count of one with that of another.
macro_rules! each_count {
    ($one:ident.$join:ident($other:ident)) => {
        each_count!($one.$join($other): acked sent acks segments small_segments partial_segments
            prompt deep latency_count turn_count window_shares windows rounds);
    };
    ($one:ident.$join:ident($other:ident): $($count:ident)*) => {
        $($one.$count = $one.$count.$join($other.$count);)*
    };
}

impl Activity {
    pub(super) fn absorb(&mut self, other: &Self) {
        each_count!(self.saturating_add(other));
        self.flight_high = self.flight_high.max(other.flight_high);
        self.latency_sum += other.latency_sum;
        self.turn_sum += other.turn_sum;
        self.gaps += other.gaps;
        self.gaps_squared += other.gaps_squared;
    }

    /// Subtracts earlier counts; the greatest flight stays that of the whole.
    pub(super) fn take_away(&mut self, before: &Self) {
        each_count!(self.saturating_sub(before));
        self.latency_sum -= before.latency_sum;
        self.turn_sum -= before.turn_sum;
        self.gaps -= before.gaps;
        self.gaps_squared = (self.gaps_squared - before.gaps_squared).max(0.0);
    }

    /// Leaves out time that did not pass from the measurements over a silence.
    pub(super) fn leave_out(&mut self, by: Span, spanned: &mut SilenceMeasurements) {
        let take = |sum: &mut Span, count: u32, spanned: &mut u32| {
            let taken = count.min(*spanned);
            *sum = (*sum - by * i64::from(taken)).or_zero();
            *spanned -= taken;
        };
        take(&mut self.latency_sum, self.latency_count, &mut spanned.latencies);
        take(&mut self.turn_sum, self.turn_count, &mut spanned.turns);
    }

    /// Takes a window that was offered, and the largest so far.
    pub(crate) fn window(&mut self, window: u64, most: u64) {
        self.window_shares += window * WHOLE_WINDOW / most.max(1);
        self.windows = self.windows.saturating_add(1);
    }

    /// Takes the time between two ACKs of new data.
    pub(crate) fn gap(&mut self, gap: Span) {
        self.gaps += gap;
        self.gaps_squared += gap.as_seconds() * gap.as_seconds();
    }

    /// Returns the mean latency from data to its ACK.
    pub(crate) fn latency(&self) -> Option<Span> {
        (self.latency_count > 0).then(|| self.latency_sum / i64::from(self.latency_count))
    }

    /// Returns the mean offered share of the largest window: data that the receiver's program
    /// leaves unread reduces it.
    pub(crate) fn window_share(&self) -> Option<f64> {
        (self.windows > 0)
            .then(|| self.window_shares as f64 / WHOLE_WINDOW as f64 / f64::from(self.windows))
    }

    /// Returns the gap between ACKs at a random moment: short for an even train, nearly a round
    /// trip for bursts.
    pub(crate) fn usual_gap(&self) -> Option<Span> {
        (self.gaps > Span::ZERO)
            .then(|| Span::from_seconds(self.gaps_squared / self.gaps.as_seconds()))
    }

    /// Returns the mean time from an ACK to the data that echoes it.
    pub(crate) fn turn(&self) -> Option<Span> {
        (self.turn_count > 0).then(|| self.turn_sum / i64::from(self.turn_count))
    }
}
