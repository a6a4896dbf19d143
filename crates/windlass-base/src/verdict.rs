//! The verdict on a transfer: the limit that cost most of its time, the law that predicts the rate,
//! and what to change.
//!
//! Captures and live transfers get the same verdicts in the same words.
//! Units are in the names of the JSON's fields.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use windlass_macros::Named;

use crate::thresholds::{A_TENTH_MORE, ESTIMATE_ERROR, TELLING_BOUND};
use crate::tuning::{Instructions, Tuning};
use crate::{Cause, Limit, Rate, Sentence, sentence};

/// The verdict on a transfer.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// The limit that cost most time, and its reason.
    #[serde(flatten)]
    pub cause: Cause,
    /// The causes that the figures cannot tell apart, the likelier first: with the named one among
    /// them, or several if the named one is unknown. Empty otherwise.
    pub between: Vec<Cause>,
    /// Share of the transfer's time that this cause cost.
    pub share: f64,
    /// Share that the limit cost for all of its reasons.
    pub limit_share: f64,
    /// The limit in a sentence.
    pub sentence: Sentence,
    /// Evidence of the limit.
    pub evidence: Vec<Evidence>,
    /// The law that predicts the rate.
    pub law: Option<Law>,
    /// The rate by that law.
    pub predicted_bytes_per_second: Option<Rate>,
    /// The measured rate.
    pub measured_bytes_per_second: Rate,
    /// The limit with the second-largest cost in time.
    pub next: Option<Limit>,
    /// Changes that would lift the rate.
    pub remedies: Vec<Remedy>,
    /// Confidence in the verdict.
    pub confidence: Confidence,
    /// Caveats that weaken the verdict, and questions that the capture leaves open.
    pub caveats: Vec<Caveat>,
}

/// Evidence of a limit.
#[derive(Clone, Debug, Serialize)]
pub struct Evidence {
    /// Packet numbers, as in Wireshark; empty without a capture.
    pub packets: Vec<u64>,
    /// The meaning of the evidence.
    pub shows: Sentence,
}

/// A law with its numbers.
#[derive(Clone, Debug, Serialize)]
pub struct Law {
    /// Its name, as in `windlass law`.
    pub name: &'static str,
    /// Its formula.
    pub formula: &'static str,
    /// The numbers, by their letters in the formula.
    pub inputs: Vec<Input>,
}

/// A number in a law.
#[derive(Clone, Debug, Serialize)]
pub struct Input {
    /// Its letter.
    pub symbol: &'static str,
    /// Its value.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
    /// Its meaning.
    pub meaning: &'static str,
}

/// The unit of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Seconds.
    Seconds,
    /// Bytes per second.
    BytesPerSecond,
    /// A share, from 0 to 1.
    Share,
    /// A number of things.
    Count,
}

/// The side that has to change something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum Side {
    /// The host that sends.
    Sender,
    /// The host or device that receives.
    Receiver,
    /// The path between them.
    Path,
}

/// The law or the figure behind a bound of a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum BoundSource {
    /// The highest rate on the path in the capture, which does not show the path's capacity.
    Path,
    /// The receiver's window, once per round trip.
    Window,
    /// Slow start: the congestion window doubles in each round trip.
    SlowStart,
}

/// The upper bound of a change's effect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// The rate.
    pub rate: Rate,
    /// Its source; `None` for the limit's own law.
    pub source: Option<BoundSource>,
}

impl Bound {
    /// Returns it with the margin of a promise: the rate and the round trip of one transfer differ
    /// by as much from those of the next.
    #[must_use]
    pub fn with_margin(self) -> Self {
        let rate = self.rate.bytes_per_second() * A_TENTH_MORE.get();
        Self { rate: Rate::from_bytes_per_second(rate), ..self }
    }
}

impl From<Rate> for Bound {
    fn from(rate: Rate) -> Self {
        Self { rate, source: None }
    }
}

/// The change that is needed after another, and the effect of both together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SecondChange {
    /// The change, in the form of `windlass explain --what-if`.
    pub what_if: String,
    /// Expected rate with both.
    #[serde(flatten, serialize_with = "serialize_estimate")]
    pub expected_bytes_per_second: Option<Rate>,
    /// Upper bound of the rate with both, if no rate is expected.
    pub at_most_bytes_per_second: Option<Rate>,
    /// Source of that bound.
    pub at_most_by: Option<BoundSource>,
}

/// A change that would lift the rate.
#[derive(Clone, Debug, Serialize)]
pub struct Remedy {
    /// The side that has to change it.
    pub side: Side,
    /// The action to take.
    pub action: Sentence,
    /// Settings for it; none if no setting does it.
    pub how: Instructions,
    /// The value to set.
    pub value: Option<f64>,
    /// Its unit.
    pub unit: Option<Unit>,
    /// The change in the form of `windlass explain --what-if`, as `window=65535`; `None` if that
    /// has no such change.
    pub what_if: Option<String>,
    /// Expected rate after the change.
    #[serde(flatten, serialize_with = "serialize_estimate")]
    pub expected_bytes_per_second: Option<Rate>,
    /// Upper bound of the rate by the law, if no measurement shows that the path carries as much;
    /// `None` if a rate is expected, or no law bounds it.
    pub at_most_bytes_per_second: Option<Rate>,
    /// Source of that bound; `None` without a bound, or for the limit's own law.
    pub at_most_by: Option<BoundSource>,
    /// The limit after the change.
    pub then: Option<Limit>,
    /// The change for that next limit, if both together bring more.
    pub second: Option<SecondChange>,
}

/// Serialises an estimate with its error.
///
/// # Errors
/// Fails if the serializer fails.
pub fn serialize_estimate<S: Serializer>(
    expected: &Option<Rate>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut keys = serializer.serialize_map(Some(2))?;
    keys.serialize_entry("expected_bytes_per_second", expected)?;
    keys.serialize_entry("expected_error_share", &expected.map(|_| ESTIMATE_ERROR.get()))?;
    keys.end()
}

impl Remedy {
    /// Adds the settings of a kind of change.
    #[must_use]
    pub fn set_by(mut self, tuning: Tuning) -> Self {
        self.how.tuning = Some(tuning);
        self
    }

    /// Replaces an expected rate, if there is one, by the bound `most`, with its margin.
    pub fn promise_at_most(&mut self, most: Bound) {
        if self.expected_bytes_per_second.is_some() {
            self.set_bound(most.with_margin());
        }
    }

    /// Sets a bound in place of an expected rate.
    pub fn set_bound(&mut self, most: impl Into<Bound>) {
        let Bound { rate, source } = most.into();
        self.expected_bytes_per_second = None;
        self.at_most_bytes_per_second = Some(rate);
        self.at_most_by = source;
        (self.then, self.second) = (None, None);
    }

    /// Sets an expected rate in place of a bound. The limit after the change stays.
    pub fn set_expected(&mut self, rate: Rate) {
        self.expected_bytes_per_second = Some(rate);
        self.at_most_bytes_per_second = None;
        self.at_most_by = None;
    }

    /// Removes the expected rate, if there is one, and says so.
    pub fn promise_nothing(&mut self) {
        let expected = self.expected_bytes_per_second.take();
        self.at_most_by = None;
        if expected.or(self.at_most_bytes_per_second.take()).is_some() {
            (self.then, self.second) = (None, None);
            self.action = sentence!("{self.action}; this capture does not tell what that brings");
        }
    }
}

/// Returns whether a bound tells the reader something: a bound far above the measured rate does
/// not.
pub fn is_telling(most: Rate, measured: Rate) -> bool {
    most.bytes_per_second() <= measured.bytes_per_second() * TELLING_BOUND.get()
}

/// Confidence in a verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Named)]
pub enum Confidence {
    /// The capture shows too little.
    #[default]
    Low,
    /// Something is missing, or another limit is close.
    Medium,
    /// The capture shows it.
    High,
}

/// Factor of a law's error that makes its verdict doubtful: medians of windows and waits, taken
/// alone, miss a rate that both determine by up to that much.
const DOUBTFUL: f64 = 1.5;

/// Factor of a law's error that makes its verdict improbable.
const IMPROBABLE: f64 = 4.0;

impl Confidence {
    /// Returns the confidence in a verdict whose law predicts this rate.
    pub fn by_prediction(predicted: Option<Rate>, measured: Rate) -> Self {
        Self::by_prediction_within(predicted, measured, 1.0)
    }

    /// Returns the confidence if the law is known only up to this factor, 1 or more. That excuses a
    /// large error, but never raises the confidence.
    pub fn by_prediction_within(predicted: Option<Rate>, measured: Rate, error_bar: f64) -> Self {
        let (Some(predicted), true) = (predicted, measured > Rate::ZERO) else {
            return Self::High;
        };
        let ratio = predicted.bytes_per_second() / measured.bytes_per_second();
        let off = ratio.max(1.0 / ratio.max(f64::MIN_POSITIVE));
        if off / error_bar.max(1.0) > IMPROBABLE {
            Self::Low
        } else if off > DOUBTFUL {
            Self::Medium
        } else {
            Self::High
        }
    }
}

/// Advice against a queue of the path that marks data (ECN), for captures and live transfers.
pub const AGAINST_MARKS: &str = "give the line behind that queue less to carry, or more rate; where \
                                 that is not full, its queue marks too soon (on Linux, tc -s qdisc \
                                 shows how much it marks, and from which wait on)";

/// A caveat of a verdict.
#[derive(Clone, Debug, Serialize)]
pub struct Caveat {
    /// Its stable name.
    pub id: CaveatId,
    /// Its meaning, and the capture that would answer it.
    pub text: Sentence,
}

/// Name of a caveat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum CaveatId {
    /// Only one direction was captured.
    OneSided,
    /// A device on the path rewrites sequence numbers, and both sides were captured.
    SequenceRewritten,
    /// The times are not those of a network.
    MadeUpTimes,
    /// ACKs without data were left out of the capture.
    AcksMissing,
    /// The handshake is incomplete in the capture.
    NoHandshake,
    /// The window scale is unknown.
    ScaleUnknown,
    /// The capture was not taken at the sender.
    TakenAtReceiver,
    /// A proxy may answer in a host's place (RFC 3135).
    SplitConnection,
    /// The connection is one of several paths (MPTCP, RFC 8684).
    Multipath,
    /// The round trip stays within one machine or one switch.
    Local,
    /// Some packets are missing from the capture.
    PacketsMissing,
    /// The capture's writer reports drops.
    CaptureDrops,
    /// The capture holds parts of the conversation.
    Fragments,
    /// The capture's clock moves in large steps.
    CoarseClock,
    /// The capture's clock was set, or each direction has its own.
    Clock,
    /// The network delivered packets twice.
    DuplicatedByNetwork,
    /// Packets were captured twice.
    CapturedTwice,
    /// Segments are larger than any on the wire.
    SuperPackets,
    /// ACKs were lost, or came too late.
    AckLoss,
    /// Data may have been lost, or ACKs.
    DataOrAcks,
    /// The path reorders segments.
    Reordering,
    /// The sender takes ACKs of duplicates for signs of a loss.
    CopiesOfCopies,
    /// Segments arrived with a wrong checksum, and were dropped.
    DamagedSegments,
    /// The sender's retransmission timer is shorter than the path's round trip.
    FastTimer,
    /// The sender's retransmission timer is too long.
    SlowTimer,
    /// The capture ended before the last data was acknowledged.
    Unanswered,
    /// The receiver announces small increments of its window (RFC 9293 section 3.8.6.2.2).
    SillyWindow,
    /// There are few segments.
    Short,
    /// A program, or something else with a pace of its own, may set the rate.
    OtherPace,
    /// The report's own figures contradict the first conclusion.
    Contradiction,
}
