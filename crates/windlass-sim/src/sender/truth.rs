//! The truth about a transfer: the causes that held the sender back, recorded by the sender itself.
//!
//! The truth is the oracle for windlass's verdict on a capture, and is independent of windlass's
//! methods. A sender sees its own buffer, windows and timers, which a capture has to infer.

use windlass_base::{Limit, Named, Span, Timestamp};

/// Cause that holds a sender back at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Named)]
pub enum HoldCause {
    /// The handshake is under way.
    Opening,
    /// The host needs its time to send data that may leave.
    Sending,
    /// The receiver's window is full, but not closed.
    ReceiveWindow,
    /// The receiver's window is closed.
    ZeroWindow,
    /// The send buffer is full of unacknowledged data, and the program has more.
    SendBuffer,
    /// The congestion window is full.
    CongestionWindow,
    /// Duplicate ACKs reported a loss, which is not repaired yet.
    FastRecovery,
    /// The sender waited for the retransmission timer, or repairs the loss that the timer found.
    Timeout,
    /// Nagle's algorithm holds a small segment back.
    Nagle,
    /// The program has nothing to send at present.
    Application,
    /// Everything is sent; the sender waits for the end of the connection.
    Closing,
}

impl HoldCause {
    /// Returns the corresponding limit of the transfer; `None` for a cause that is no limit. A
    /// saturated path shows here as the congestion window or the receive window: the link's
    /// utilization tells them apart.
    pub const fn limit(self) -> Option<Limit> {
        match self {
            Self::ReceiveWindow => Some(Limit::ReceiverWindow),
            Self::ZeroWindow => Some(Limit::ZeroWindow),
            Self::SendBuffer => Some(Limit::SendBuffer),
            Self::CongestionWindow => Some(Limit::CongestionWindow),
            Self::FastRecovery | Self::Timeout => Some(Limit::Loss),
            Self::Nagle => Some(Limit::NagleDelayedAck),
            Self::Application => Some(Limit::Application),
            Self::Opening | Self::Sending | Self::Closing => None,
        }
    }
}

const KINDS: usize = HoldCause::ALL.len();

/// Time that each cause held the sender back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    spans: [Span; KINDS],
    /// Apparent causes during the time that a timer needed to expire.
    before_timeouts: [Span; KINDS],
}

impl Truth {
    /// Returns the time that `held` took.
    pub fn span(&self, held: HoldCause) -> Span {
        self.spans[held as usize]
    }

    /// Returns the time from the SYN to the end, or until now.
    pub fn total(&self) -> Span {
        self.spans.iter().copied().sum()
    }

    /// Returns `held`'s share of the whole time.
    pub fn share(&self, held: HoldCause) -> f64 {
        self.span(held).share_of(self.total())
    }

    /// Returns the cause that took the most time, among those that are limits of the transfer.
    pub fn most(&self) -> Option<HoldCause> {
        let limits = HoldCause::ALL.into_iter().filter(|held| held.limit().is_some());
        // The first of two equal causes wins, so that the answer is deterministic.
        limits
            .rev()
            .max_by_key(|held| self.span(*held))
            .filter(|held| self.span(*held) > Span::ZERO)
    }

    /// Returns the time that was added since an earlier truth of the same sender.
    #[must_use]
    pub fn since(mut self, earlier: &Self) -> Self {
        for (span, before) in self.spans.iter_mut().zip(earlier.spans) {
            *span = (*span - before).or_zero();
        }
        self
    }

    /// Returns the truth for a sender whose timers expired although nothing was lost. A receiver
    /// that withholds its ACK for longer than the RTO causes this. The time goes back to the
    /// apparent cause before.
    #[must_use]
    pub fn without_false_timeouts(mut self) -> Self {
        for (place, span) in std::mem::take(&mut self.before_timeouts).into_iter().enumerate() {
            self.spans[place] += span;
            self.spans[HoldCause::Timeout as usize] -= span;
        }
        self
    }
}

/// Record of the truth while the transfer lasts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ledger {
    truth: Truth,
    /// Time since data last left or was acknowledged: a timeout claims it.
    open: [Span; KINDS],
    held: HoldCause,
    since: Timestamp,
}

impl Ledger {
    pub(super) fn new(start: Timestamp) -> Self {
        Self {
            truth: Truth::default(),
            open: Default::default(),
            held: HoldCause::Opening,
            since: start,
        }
    }

    /// Sets the cause from `now` on.
    pub(super) fn turn(&mut self, now: Timestamp, held: HoldCause) {
        self.open[self.held as usize] += now.since(self.since).or_zero();
        self.since = self.since.max(now);
        self.held = held;
    }

    /// Records that data left or was acknowledged: the time until now keeps its causes.
    pub(super) fn progress(&mut self, now: Timestamp) {
        self.turn(now, self.held);
        for (slot, span) in self.truth.spans.iter_mut().zip(&mut self.open) {
            *slot += std::mem::take(span);
        }
    }

    /// Records that the retransmission timer expired: the time since the last progress was spent
    /// waiting for it.
    pub(super) fn timed_out(&mut self, now: Timestamp) {
        self.turn(now, self.held);
        for (place, span) in std::mem::take(&mut self.open).into_iter().enumerate() {
            self.truth.spans[HoldCause::Timeout as usize] += span;
            self.truth.before_timeouts[place] += span;
        }
    }

    /// Returns the truth up to `now`.
    pub(super) fn truth(&self, now: Timestamp) -> Truth {
        let mut ledger = *self;
        ledger.progress(now);
        ledger.truth
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn every_moment_is_charged_once() {
        let mut ledger = Ledger::new(at(0));
        ledger.turn(at(10), HoldCause::ReceiveWindow);
        ledger.turn(at(100), HoldCause::Application);
        ledger.turn(at(150), HoldCause::ReceiveWindow);
        let truth = ledger.truth(at(200));
        assert_eq!(truth.span(HoldCause::Opening), Span::from_millis(10));
        assert_eq!(truth.span(HoldCause::ReceiveWindow), Span::from_millis(140));
        assert_eq!(truth.total(), Span::from_millis(200));
        assert_eq!(truth.most(), Some(HoldCause::ReceiveWindow));
        assert!((truth.share(HoldCause::Application) - 0.25).abs() < 1e-9);
    }

    #[test]
    fn a_timeout_claims_the_time_since_the_last_progress_and_may_give_it_back() {
        let mut ledger = Ledger::new(at(0));
        ledger.turn(at(0), HoldCause::SendBuffer);
        ledger.progress(at(50));
        ledger.timed_out(at(250));
        ledger.turn(at(250), HoldCause::Timeout);
        let truth = ledger.truth(at(300));
        assert_eq!(truth.span(HoldCause::Timeout), Span::from_millis(250));
        let mended = truth.without_false_timeouts();
        assert_eq!(mended.span(HoldCause::SendBuffer), Span::from_millis(250));
        assert_eq!(mended.total(), Span::from_millis(300));
    }
}
