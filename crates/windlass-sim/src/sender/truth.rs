//! The truth about a transfer: what held the sender back, kept by the sender
//! itself.
//!
//! It is the oracle for what windlass says of a capture, and knows nothing of
//! how windlass finds it: a sender sees its own buffer, windows and timers,
//! where a capture has to infer them.

use windlass_base::{Limit, Named, Span, Timestamp};

/// What holds a sender back at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Named)]
pub enum HeldBy {
    /// The handshake is under way.
    Opening,
    /// The host takes its time to send what it may.
    Sending,
    /// The receiver's window has no room, and is not closed.
    ReceiveWindow,
    /// The receiver's window is closed.
    ZeroWindow,
    /// The send buffer is full of what is not acknowledged, and the program has
    /// more.
    SendBuffer,
    /// The congestion window has no room.
    CongestionWindow,
    /// Duplicate ACKs told of loss, which is not repaired yet.
    FastRecovery,
    /// The retransmission timer ran, or what it told of is not repaired yet.
    Timeout,
    /// Nagle's algorithm holds a small segment back.
    Nagle,
    /// The program has nothing to send just now.
    Application,
    /// Everything is sent; the end is awaited.
    Closing,
}

impl HeldBy {
    /// The limit that this is; `None` for what is no limit of the transfer.
    /// A path that is full shows here as a window, the congestion window or the
    /// receiver's: how busy the link was tells them apart.
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

const KINDS: usize = HeldBy::ALL.len();

/// How long what held the sender back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    spans: [Span; KINDS],
    /// What seemed to hold the sender back during the time that a timer took to
    /// run out.
    before_timeouts: [Span; KINDS],
}

impl Truth {
    /// The time that `held` took.
    pub fn span(&self, held: HeldBy) -> Span {
        self.spans[held as usize]
    }

    /// The time from the SYN to the end, or so far.
    pub fn total(&self) -> Span {
        self.spans.iter().copied().sum()
    }

    /// The share of the whole time that `held` took.
    pub fn share(&self, held: HeldBy) -> f64 {
        self.span(held).share_of(self.total())
    }

    /// What took the most time, among what is a limit of the transfer.
    pub fn most(&self) -> Option<HeldBy> {
        let limits = HeldBy::ALL.into_iter().filter(|held| held.limit().is_some());
        // The first of two that are equal, so that the answer is always the same.
        limits
            .rev()
            .max_by_key(|held| self.span(*held))
            .filter(|held| self.span(*held) > Span::ZERO)
    }

    /// Returns what was added since an earlier truth of the same sender.
    #[must_use]
    pub fn since(mut self, earlier: &Self) -> Self {
        for (span, before) in self.spans.iter_mut().zip(earlier.spans) {
            *span = (*span - before).or_zero();
        }
        self
    }

    /// The truth for a sender whose timers ran out although nothing was lost, as
    /// against a receiver that withholds its ACK for longer than the RTO: the
    /// time goes back to what held the sender before.
    #[must_use]
    pub fn without_false_timeouts(mut self) -> Self {
        for (place, span) in std::mem::take(&mut self.before_timeouts).into_iter().enumerate() {
            self.spans[place] += span;
            self.spans[HeldBy::Timeout as usize] -= span;
        }
        self
    }
}

/// Keeps the truth while the transfer lasts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ledger {
    truth: Truth,
    /// Time since something last left or was acknowledged: a timeout claims it.
    open: [Span; KINDS],
    held: HeldBy,
    since: Timestamp,
}

impl Ledger {
    pub(super) fn new(start: Timestamp) -> Self {
        Self {
            truth: Truth::default(),
            open: Default::default(),
            held: HeldBy::Opening,
            since: start,
        }
    }

    /// From `now` on, `held` holds the sender.
    pub(super) fn turn(&mut self, now: Timestamp, held: HeldBy) {
        self.open[self.held as usize] += now.since(self.since).or_zero();
        self.since = self.since.max(now);
        self.held = held;
    }

    /// Something left, or was acknowledged: the time until now stands.
    pub(super) fn progress(&mut self, now: Timestamp) {
        self.turn(now, self.held);
        for (slot, span) in self.truth.spans.iter_mut().zip(&mut self.open) {
            *slot += std::mem::take(span);
        }
    }

    /// The retransmission timer ran out: the time since the last progress was
    /// spent waiting for it.
    pub(super) fn timed_out(&mut self, now: Timestamp) {
        self.turn(now, self.held);
        for (place, span) in std::mem::take(&mut self.open).into_iter().enumerate() {
            self.truth.spans[HeldBy::Timeout as usize] += span;
            self.truth.before_timeouts[place] += span;
        }
    }

    /// What is known by `now`.
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
        ledger.turn(at(10), HeldBy::ReceiveWindow);
        ledger.turn(at(100), HeldBy::Application);
        ledger.turn(at(150), HeldBy::ReceiveWindow);
        let truth = ledger.truth(at(200));
        assert_eq!(truth.span(HeldBy::Opening), Span::from_millis(10));
        assert_eq!(truth.span(HeldBy::ReceiveWindow), Span::from_millis(140));
        assert_eq!(truth.total(), Span::from_millis(200));
        assert_eq!(truth.most(), Some(HeldBy::ReceiveWindow));
        assert!((truth.share(HeldBy::Application) - 0.25).abs() < 1e-9);
    }

    #[test]
    fn a_timeout_claims_the_time_since_the_last_progress_and_may_give_it_back() {
        let mut ledger = Ledger::new(at(0));
        ledger.turn(at(0), HeldBy::SendBuffer);
        ledger.progress(at(50));
        ledger.timed_out(at(250));
        ledger.turn(at(250), HeldBy::Timeout);
        let truth = ledger.truth(at(300));
        assert_eq!(truth.span(HeldBy::Timeout), Span::from_millis(250));
        let mended = truth.without_false_timeouts();
        assert_eq!(mended.span(HeldBy::SendBuffer), Span::from_millis(250));
        assert_eq!(mended.total(), Span::from_millis(300));
    }
}
