//! The promise of a change: an estimate, a bound, or none.

use windlass_base::verdict::{Bound, CaveatId, Remedy};
use windlass_base::{Bytes, Limit, Rate};
use windlass_trace::report::{ConnectionReport, Measures};

use super::change::{Change, Changes};
use super::model::Model;

/// Factors of a change that stay near the captured transfer.
pub(super) const NEAR: std::ops::RangeInclusive<f64> = 0.1..=10.0;

/// Tolerance for the rounding of a rate that was divided and multiplied again.
const ROUNDED: f64 = 1.0 + 1e-9;

/// The promise of a change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Promise {
    /// An expected rate.
    Estimate(Rate),
    /// An upper bound.
    AtMost(Bound),
    /// No promise: the capture does not show it.
    Unknown,
}

impl Promise {
    /// Returns the promise of a remedy.
    pub(super) fn of_remedy(remedy: &Remedy) -> Self {
        match (remedy.expected_bytes_per_second, remedy.at_most_bytes_per_second) {
            (Some(rate), _) => Self::Estimate(rate),
            (None, Some(rate)) => Self::AtMost(Bound { rate, source: remedy.at_most_by }),
            (None, None) => Self::Unknown,
        }
    }

    /// Writes the promise into a remedy.
    pub(super) fn give_to(self, remedy: &mut Remedy) {
        match self {
            Self::Estimate(rate) => remedy.set_expected(rate),
            Self::AtMost(bound) => remedy.set_bound(bound),
            Self::Unknown => remedy.promise_nothing(),
        }
    }

    /// Returns the rate; `None` if it is unknown.
    pub(super) fn rate(self) -> Option<Rate> {
        match self {
            Self::Estimate(rate) | Self::AtMost(Bound { rate, .. }) => Some(rate),
            Self::Unknown => None,
        }
    }
}

/// A change to a transfer with a fitted model.
pub(super) struct ChangedTransfer<'a> {
    pub(super) changes: &'a Changes,
    pub(super) model: &'a Model,
    pub(super) measures: &'a Measures,
    pub(super) report: &'a ConnectionReport,
}

impl ChangedTransfer<'_> {
    fn any(&self, is: impl Fn(&Change) -> bool) -> bool {
        self.changes.0.iter().any(is)
    }

    /// Returns whether a rival of the verdict explains the transfer as well.
    fn is_contested(&self) -> bool {
        self.report.verdict.caveats.iter().any(|caveat| caveat.id == CaveatId::OtherPace)
    }

    /// Returns whether the verdict leaves several causes.
    fn is_doubtful(&self) -> bool {
        !self.report.verdict.between.is_empty()
    }

    /// Returns the reasons for which the rate has no bound either.
    pub(super) fn unbounded(&self) -> Vec<&'static str> {
        let mut reasons = Vec::new();
        if self.is_contested() {
            reasons.push(
                "Another cause explains this transfer as well, and the effect of a change depends \
                 on the cause.",
            );
        }
        if self.measures.is_split {
            reasons.push(
                "The cause lies beyond the host that opened the connection, so the effect of a \
                 change there does not show.",
            );
        }
        if self.measures.rtt_of_few && self.any(|change| matches!(change, Change::AckLatency(_))) {
            reasons.push(
                "Only a few ACKs show the path's round trip: something nearer than the receiver \
                 may have sent them.",
            );
        }
        reasons
    }

    /// Returns whether only a law predicts the change: a sender's distance below a policer's rate
    /// is unknown.
    pub(super) fn is_by_law(&self) -> bool {
        self.any(|change| matches!(change, Change::Policer(_)))
    }

    /// Returns the reasons for which this rate is no estimate, even with a good model.
    pub(super) fn uncertain(&self, expected: Rate, next: Limit) -> Vec<&'static str> {
        let measured = self.report.bytes_per_second;
        let mut reasons = Vec::new();
        if !self.is_carried(expected, next) {
            reasons.push(
                "The path was never full, so its capacity is not in the model: it may limit the \
                 transfer earlier.",
            );
        }
        let two_segments = Bytes::new(2 * u64::from(self.model.segment));
        if self.any(|change| matches!(change, Change::Loss(_))) && self.model.window < two_segments
        {
            reasons.push("The receiver may then delay the ACK of each single segment.");
        }
        if self.is_doubtful() && !self.is_contested() {
            reasons.push("The capture does not tell two causes apart, and the change helps one.");
        }
        let usual = self.report.receive_window.bytes;
        if self.any(|change| matches!(change, Change::Loss(_)))
            && next == Limit::ReceiverWindow
            && usual.is_some_and(|usual| self.model.window.get() > usual.get() * 2)
        {
            reasons.push("The receive window varies, and may stay as small as it mostly was.");
        }
        if self.any(|change| matches!(change, Change::Reassembly(_))) {
            reasons.push(
                "How the sender repairs losses with a receiver that discards nothing is unknown.",
            );
        }
        if self.any(|change| matches!(change, Change::Timer(_))) {
            reasons.push("The number of timeouts in another transfer is random.");
        }
        if self.any(|change| matches!(change, Change::AckLatency(_))) {
            reasons.push("The capture does not show how soon the receiver can acknowledge.");
        }
        let limit = self.report.verdict.cause.limit();
        if next == Limit::Application && limit != Limit::Application {
            reasons.push("The capture does not show which of the program's pauses stay.");
        }
        if !NEAR.contains(&(expected.bytes_per_second() / measured.bytes_per_second())) {
            reasons.push("The change goes beyond ten times what the capture shows.");
        }
        reasons
    }

    /// Returns whether the rate is at most the measured one, rounding aside.
    pub(super) fn is_no_faster(&self, expected: Rate) -> bool {
        let measured = self.report.bytes_per_second.bytes_per_second();
        expected.bytes_per_second() <= measured * ROUNDED
    }

    /// Returns whether the path carries this rate, by the rate that it carried or by its
    /// bottleneck. Only packet pairs show the rate of a bottleneck that was never full: if it holds
    /// the transfer next, its rate is a bound.
    fn is_carried(&self, expected: Rate, next: Limit) -> bool {
        let was_full = self.report.verdict.cause.limit() == Limit::PathCapacity;
        self.model.capacity.is_some() && (was_full || next != Limit::PathCapacity)
            || self.is_no_faster(expected)
            || self.measures.best.is_some_and(|best| expected <= best)
    }

    /// Returns the highest rate that windows, slow start and the path allow with the changes. A
    /// shorter path and larger segments have other bounds than the measured ones.
    pub(super) fn bound(&self) -> Option<Bound> {
        let is_other = |change: &Change| match *change {
            Change::Rtt(new) => new < self.model.rtt,
            Change::Mss(new) => new > self.model.segment,
            Change::Policer(_) => true,
            _ => false,
        };
        if self.any(is_other) || !self.unbounded().is_empty() {
            return None;
        }
        let bounds = self.measures.bounds?;
        let bounds = if self.is_doubtful() { bounds.without_path() } else { bounds };
        Some(bounds.most(self.window(), self.streams()))
    }

    /// Returns the window of the changes; `None` if they leave it.
    fn window(&self) -> Option<Bytes> {
        self.changes.0.iter().find_map(|change| match *change {
            Change::Window(window) => Some(window),
            _ => None,
        })
    }

    /// Returns the number of connections of the changes.
    fn streams(&self) -> u16 {
        let streams = self.changes.0.iter().find_map(|change| match *change {
            Change::Streams(streams) => Some(streams),
            _ => None,
        });
        streams.unwrap_or(1)
    }
}
