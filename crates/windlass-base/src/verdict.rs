//! What a transfer's time comes to: the limit that cost most of it, the law that
//! predicts the rate, and what to change.
//!
//! Captures and live transfers come to the same verdicts in the same words.
//! Units are in the names of the JSON's fields.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use windlass_macros::Named;

use crate::thresholds::{ESTIMATE_ERROR, TELLING_BOUND};
use crate::tuning::{Instructions, Tuning};
use crate::{Cause, Limit, Rate, Sentence, sentence};

/// What a transfer's timeline comes to.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// The limit that cost most time, and its reason.
    #[serde(flatten)]
    pub cause: Cause,
    /// The causes of which it is one, where what was measured cannot tell them apart, the
    /// likelier first: the named one, or several where the named one is unknown. Else none.
    pub between: Vec<Cause>,
    /// The share of the transfer's time that it cost, for this reason.
    pub share: f64,
    /// The share that the limit cost for all of its reasons.
    pub limit_share: f64,
    /// The limit in a sentence.
    pub sentence: Sentence,
    /// Where it shows.
    pub evidence: Vec<Evidence>,
    /// The law that predicts the rate.
    pub law: Option<Law>,
    /// The rate by that law.
    pub predicted_bytes_per_second: Option<Rate>,
    /// The rate that was measured.
    pub measured_bytes_per_second: Rate,
    /// The limit that cost most time after this one.
    pub next: Option<Limit>,
    /// What to change.
    pub remedies: Vec<Remedy>,
    /// How sure this is.
    pub confidence: Confidence,
    /// What weakens it, or what the capture cannot tell.
    pub caveats: Vec<Caveat>,
}

/// Where a limit shows.
#[derive(Clone, Debug, Serialize)]
pub struct Evidence {
    /// Packet numbers, as Wireshark counts; none where it was not a capture that
    /// showed it.
    pub packets: Vec<u64>,
    /// What they show.
    pub shows: Sentence,
}

/// A law with the numbers put in.
#[derive(Clone, Debug, Serialize)]
pub struct Law {
    /// Its name, as `windlass law` knows it.
    pub name: &'static str,
    /// Its formula.
    pub formula: &'static str,
    /// The numbers, by the letters of the formula.
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
    /// What it is.
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
    /// What lies between.
    Path,
}

/// The law or the figure that a bound of a rate comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum BoundSource {
    /// The fastest that the capture shows of the path, whose capacity it does not show.
    Path,
    /// The receiver's window, once in each round trip.
    Window,
    /// Slow start: the congestion window doubles in each round trip.
    SlowStart,
}

/// The most that a change can bring.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// The rate.
    pub rate: Rate,
    /// Its source; nothing where that is the limit's own law.
    pub source: Option<BoundSource>,
}

impl From<Rate> for Bound {
    fn from(rate: Rate) -> Self {
        Self { rate, source: None }
    }
}

/// The change that is needed after another, and the promise of both together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SecondChange {
    /// The change, as `windlass explain --what-if` takes it.
    pub what_if: String,
    /// The rate to expect with both.
    #[serde(flatten, serialize_with = "serialize_estimate")]
    pub expected_bytes_per_second: Option<Rate>,
    /// The most that both can bring, where no rate is to be expected.
    pub at_most_bytes_per_second: Option<Rate>,
    /// The source of that bound.
    pub at_most_by: Option<BoundSource>,
}

/// A change that would lift the rate.
#[derive(Clone, Debug, Serialize)]
pub struct Remedy {
    /// Who has to change it.
    pub side: Side,
    /// What to do.
    pub action: Sentence,
    /// Settings that do it; none where no setting does.
    pub how: Instructions,
    /// The value to set.
    pub value: Option<f64>,
    /// Its unit.
    pub unit: Option<Unit>,
    /// The same as `windlass explain --what-if` takes it, as `window=65535`; nothing where
    /// that knows no such change.
    pub what_if: Option<String>,
    /// The rate to expect then.
    #[serde(flatten, serialize_with = "serialize_estimate")]
    pub expected_bytes_per_second: Option<Rate>,
    /// The most that the law allows then, where nothing that was measured shows that the path
    /// carries as much; nothing where a rate is expected, or no law bounds it.
    pub at_most_bytes_per_second: Option<Rate>,
    /// The source of that bound; nothing where there is none, or where it is the limit's own law.
    pub at_most_by: Option<BoundSource>,
    /// The limit that holds the transfer then.
    pub then: Option<Limit>,
    /// The change for that limit, where both together bring more; else nothing.
    pub second: Option<SecondChange>,
}

/// Writes an estimate with its error.
///
/// # Errors
/// Fails where the serializer does.
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
    /// Returns it with the settings of a kind of change.
    #[must_use]
    pub fn set_by(mut self, tuning: Tuning) -> Self {
        self.how.tuning = Some(tuning);
        self
    }

    /// In place of what it promises, where it promises something, says that it is no more than
    /// `most`.
    pub fn promise_at_most(&mut self, most: impl Into<Bound>) {
        if self.expected_bytes_per_second.is_some() {
            self.set_bound(most);
        }
    }

    /// Promises no more than this bound.
    pub fn set_bound(&mut self, most: impl Into<Bound>) {
        let Bound { rate, source } = most.into();
        self.expected_bytes_per_second = None;
        self.at_most_bytes_per_second = Some(rate);
        self.at_most_by = source;
        (self.then, self.second) = (None, None);
    }

    /// Promises this rate, and the limit that holds the transfer then stays.
    pub fn set_expected(&mut self, rate: Rate) {
        self.expected_bytes_per_second = Some(rate);
        self.at_most_bytes_per_second = None;
        self.at_most_by = None;
    }

    /// Takes back what it promises, where it promises something, and says so.
    pub fn promise_nothing(&mut self) {
        let expected = self.expected_bytes_per_second.take();
        self.at_most_by = None;
        if expected.or(self.at_most_bytes_per_second.take()).is_some() {
            (self.then, self.second) = (None, None);
            self.action = sentence!("{self.action}; this capture does not tell what that brings");
        }
    }
}

/// Returns whether a bound tells the reader something: that is not so far above the measured rate
/// that anything may come of the change.
pub fn is_telling(most: Rate, measured: Rate) -> bool {
    most.bytes_per_second() <= measured.bytes_per_second() * TELLING_BOUND.get()
}

/// How sure a verdict is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Named)]
pub enum Confidence {
    /// The capture tells too little.
    #[default]
    Low,
    /// Something is missing, or another limit is close.
    Medium,
    /// The capture shows it.
    High,
}

/// A law that is off by more than this factor makes its verdict doubtful: medians of
/// windows and waits, taken alone, miss a rate that both make by up to that much.
const DOUBTFUL: f64 = 1.5;

/// By more than this, improbable.
const IMPROBABLE: f64 = 4.0;

impl Confidence {
    /// How sure a verdict can be whose law predicts this rate.
    pub fn by_prediction(predicted: Option<Rate>, measured: Rate) -> Self {
        Self::by_prediction_within(predicted, measured, 1.0)
    }

    /// The same of a law that is known up to this factor only, 1 or more. That excuses a
    /// rate that is far off, but makes nobody sure.
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

/// What to change where a queue of the path marks data (ECN), whoever tells that.
pub const AGAINST_MARKS: &str = "give the line behind that queue less to carry, or more rate; where \
                                 that is not full, its queue marks too soon (on Linux, tc -s qdisc \
                                 shows how much it marks, and from which wait on)";

/// What weakens a verdict.
#[derive(Clone, Debug, Serialize)]
pub struct Caveat {
    /// Its stable name.
    pub id: CaveatId,
    /// What it means, and which capture would tell.
    pub text: Sentence,
}

/// The name of what weakens a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum CaveatId {
    /// Only one direction was captured.
    OneSided,
    /// A device on the way gives other sequence numbers, and both sides were captured.
    SequenceRewritten,
    /// The times are none of a network.
    MadeUpTimes,
    /// ACKs without data were left out of the capture.
    AcksMissing,
    /// The handshake was not captured whole.
    NoHandshake,
    /// The window scale is not known.
    ScaleUnknown,
    /// The capture was taken away from the sender.
    TakenAtReceiver,
    /// A proxy may answer in a host's place (RFC 3135).
    SplitConnection,
    /// It is one of several paths of a connection (RFC 8684).
    Multipath,
    /// The round trip stays within one machine or one switch.
    Local,
    /// Packets that passed are not in the capture.
    PacketsMissing,
    /// The capture's writer says that it lost packets.
    CaptureDrops,
    /// The capture holds parts of the conversation.
    Fragments,
    /// The capture's clock moves in large steps.
    CoarseClock,
    /// The capture's clock was set, or is another one for each direction.
    Clock,
    /// The network delivered packets twice.
    DuplicatedByNetwork,
    /// Packets are in the capture twice.
    CapturedTwice,
    /// Segments are larger than any on the wire.
    SuperPackets,
    /// ACKs were lost, or came too late.
    AckLoss,
    /// Data may have been lost, or ACKs.
    DataOrAcks,
    /// The path changes the order of segments.
    Reordering,
    /// The sender takes ACKs that tell of copies for signs of a loss.
    CopiesOfCopies,
    /// Segments arrived with a wrong checksum, and were dropped.
    DamagedSegments,
    /// The sender's retransmission timer is shorter than the path's round trip.
    FastTimer,
    /// The sender's retransmission timer is slow.
    SlowTimer,
    /// The capture ended before the last data was acknowledged.
    Unanswered,
    /// The receiver offers small pieces of its window (RFC 9293 section 3.8.6.2.2).
    SillyWindow,
    /// There are few segments.
    Short,
    /// A program, or something else with a pace of its own, may set the rate.
    OtherPace,
    /// The report's own figures refuted what it looked like at first.
    Contradiction,
}
