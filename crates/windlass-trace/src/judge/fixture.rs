//! An ordinary transfer for the tests of rules: 1,000 segments in 50 round trips of 30 ms, as the
//! sender's capture shows them.
//!
//! A test changes the facts that a rule reads, to either side of a threshold, and asks the rule.

use windlass_base::verdict::{Caveat, CaveatId, Confidence, Remedy};
use windlass_base::{Bytes, Cause, Rate, Span, Timestamp};

use super::between::between;
use super::case::Case;
use super::causes::hypothesis;
use super::checks::Checks;
use super::confidence::{Claim, Doubt};
use super::facts::{
    AckFacts, CaptureFacts, Facts, LineFacts, OpeningFacts, PathFacts, Quantiles, SentFacts,
    WindowFacts,
};
use super::habits::Habits;
use super::remedy::Advice;
use super::rivals::Rival;
use super::rule::{Rule, RuleTest, TakeoverRule, WaitContext};
use super::tally::Tally;
use crate::estimate::damaged_segments::DamagedSegments;
use crate::estimate::distribution::Distribution;
use crate::estimate::loss_pattern::FullQueue;
use crate::estimate::packet_pairs::Pace;
use crate::estimate::trains::LineSpacing;
use crate::follow::counts::{Counts, Examples};
use crate::follow::flow::Scale;
use crate::follow::handshake::{Handshake, Offer};
use crate::follow::ledger::{Activity, Interval, Phase, WaitKind};

/// The path's round trip.
pub(crate) const RTT: Span = Span::from_millis(30);
/// The number of round trips.
pub(crate) const ROUNDS: u64 = 50;
/// The payload of a full segment.
pub(crate) const SEGMENT: u64 = 1_460;
/// The number of segments, 20 in each round trip.
pub(crate) const SEGMENTS: u64 = 1_000;
/// The time that the transfer takes.
pub(crate) const TIME: Span = Span::from_millis(1_500);
/// The step by which a time exceeds a threshold.
pub(crate) const STEP: Span = Span::from_nanos(1);

/// An ordinary transfer, whose waits for ACKs are one wait.
pub(crate) struct OrdinaryTransfer {
    pub(crate) facts: Facts,
    /// Changes of the habits that the facts show.
    pub(crate) habits: fn(&mut Habits),
    pub(crate) tally: Tally,
    /// The cause that a verdict claims, with its share of the time and those of others.
    pub(crate) cause: Cause,
    pub(crate) share: f64,
    pub(crate) second: Option<f64>,
    pub(crate) other_limit: f64,
    pub(crate) is_habit: bool,
    pub(crate) caveats: Vec<CaveatId>,
}

impl OrdinaryTransfer {
    /// Returns the transfer as it is.
    pub(crate) fn new() -> Self {
        let mut transfer = Self {
            facts: facts(),
            habits: |_| (),
            tally: Tally {
                charges: Vec::new(),
                times: [(Cause::Steady, TIME)].into(),
                total: TIME,
                plateau: None,
                by_pushes: false,
                between_bursts: Span::ZERO,
                delivered: 0,
            },
            cause: Cause::Steady,
            share: 1.0,
            second: None,
            other_limit: 0.0,
            is_habit: false,
            caveats: Vec::new(),
        };
        transfer.set_latency(RTT);
        transfer
    }

    /// Returns the transfer with a wait of another kind.
    pub(crate) fn waiting(kind: WaitKind) -> Self {
        let mut transfer = Self::new();
        transfer.wait().kind = kind;
        transfer
    }

    /// Returns the transfer as captured at its receiver.
    pub(crate) fn far() -> Self {
        let mut transfer = Self::new();
        transfer.facts.capture.is_far = true;
        transfer.facts.capture.distance = RTT;
        transfer.set_latency(Span::ZERO);
        transfer
    }

    /// Returns the wait that rules are asked about.
    pub(crate) fn wait(&mut self) -> &mut Interval {
        &mut self.facts.waits[0]
    }

    /// Returns what happened during the wait.
    pub(crate) fn activity(&mut self) -> &mut Activity {
        &mut self.wait().activity
    }

    /// Adds a wait of another kind behind the others.
    pub(crate) fn add_wait(&mut self, kind: WaitKind, charged: Span) {
        let start = self.facts.waits.last().map_or(Timestamp::ZERO, |last| last.end);
        let (end, activity) = (start + charged, Activity::default());
        let phase = Phase::Level;
        self.facts.waits.push(Interval {
            kind,
            phase,
            start,
            end,
            charged,
            first: 1,
            last: 2,
            activity,
        });
    }

    /// Sets the time from each segment to its ACK, as captured.
    pub(crate) fn set_latency(&mut self, latency: Span) {
        self.facts.acks.latency = quantiles([latency]);
        self.facts.acks.cycles = quantiles([latency]);
        let activity = self.activity();
        (activity.latency_sum, activity.latency_count) = (latency, 1);
    }

    /// Sets the usual gap between two ACKs.
    pub(crate) fn set_gap(&mut self, gap: Span) {
        let activity = self.activity();
        activity.gaps_squared = activity.gaps.as_seconds() * gap.as_seconds();
    }

    /// Sets the path's round trip.
    pub(crate) fn set_path(&mut self, rtt: Span) {
        self.facts.path.rtt = Some(rtt);
        self.facts.path.told_rtt = Some(rtt);
    }

    /// Takes so many of the 1,000 segments for lost, each by itself.
    pub(crate) fn lose(&mut self, segments: u64) {
        let counts = &mut self.facts.counts;
        counts.segments = SEGMENTS - segments;
        counts.retransmissions = segments;
        counts.loss_events = segments;
    }

    /// Takes so many segments for damaged when they arrived.
    pub(crate) fn arrive_damaged(&mut self, segments: u64) {
        self.facts.loss.damaged = Some(DamagedSegments {
            segments,
            again: 0,
            right: SEGMENTS,
            packets: Examples::default(),
        });
    }

    /// Forgets the handshake.
    pub(crate) fn forget_handshake(&mut self) {
        self.facts.opening.handshake = Handshake::default();
    }

    /// Charges a cause with a time.
    pub(crate) fn charge(&mut self, cause: Cause, time: Span) {
        self.tally.times.insert(cause, time);
    }

    /// Returns whether a rule names the wait.
    pub(crate) fn is_named_by(&self, rule: &Rule) -> bool {
        let ask = |holds: RuleTest| self.ask(holds);
        (rule.of)(self.facts.waits[0].kind) && rule.holds.is_none_or(ask)
    }

    /// Returns whether a rule takes the wait from the cause that was named.
    pub(crate) fn is_taken_by(&self, taking: &TakeoverRule) -> bool {
        self.ask(taking.holds)
    }

    /// Asks a condition of the wait.
    pub(crate) fn ask(&self, holds: RuleTest) -> bool {
        let mut habits = Habits::of(&self.facts);
        (self.habits)(&mut habits);
        let wait = &self.facts.waits[0];
        let context = WaitContext { facts: &self.facts, habits: &habits, wait, index: Some(0) };
        holds(&context, &mut Checks::silent())
    }

    /// Returns whether a doubt applies to the verdict.
    pub(crate) fn is_doubted_by(&self, doubt: &Doubt) -> bool {
        self.claims(|claim| (doubt.holds)(claim, &mut Checks::silent()))
    }

    /// Returns the causes that fit a verdict of this confidence.
    pub(crate) fn between(&self, confidence: Confidence) -> Vec<Cause> {
        self.claims(|claim| {
            let rivals = hypothesis(claim.cause).explaining_rivals(claim.case);
            between(claim, confidence, &rivals)
        })
    }

    fn claims<T>(&self, asked: impl FnOnce(&Claim<'_>) -> T) -> T {
        let text = || "a caveat".into();
        let caveats: Vec<Caveat> =
            self.caveats.iter().map(|id| Caveat { id: *id, text: text() }).collect();
        asked(&Claim {
            case: &self.case(),
            is_habit: self.is_habit,
            doubts: &[],
            as_likely: hypothesis(self.cause).as_likely,
            cause: self.cause,
            share: self.share,
            second: self.second,
            other_limit: self.other_limit,
            caveats: &caveats,
            law: None,
            by_law: Confidence::High,
        })
    }

    /// Returns whether a rival explains the transfer as well.
    pub(crate) fn is_explained_by(&self, rival: &Rival) -> bool {
        (rival.explains)(&self.case()).is_some()
    }

    /// Returns the remedies of a verdict.
    pub(crate) fn remedies(&self, remedies: fn(&Advice<'_>) -> Vec<Remedy>) -> Vec<Remedy> {
        remedies(&Advice { case: &self.case(), cause: self.cause, next: None })
    }

    /// Returns the transfer with its facts and its tally.
    pub(crate) fn case(&self) -> Case<'_> {
        Case { facts: &self.facts, tally: &self.tally, sender: "10.0.0.1", receiver: "10.0.0.2" }
    }
}

/// Returns the quantiles of some times.
pub(crate) fn quantiles(times: impl IntoIterator<Item = Span>) -> Quantiles {
    let mut distribution = Distribution::default();
    times.into_iter().for_each(|time| distribution.record(time));
    Quantiles::of(&distribution)
}

/// Returns a queue that is surely full at each loss, behind which a rate is left.
pub(crate) fn full_queue(rate: Rate) -> FullQueue {
    FullQueue { wait: RTT, rate, is_sure: true }
}

/// Returns a sure pace of bursts.
pub(crate) fn pace(rate: Rate) -> Pace {
    Pace { rate, slowest: rate, sure: true }
}

/// Returns a line of a rate.
pub(crate) fn line(rate: Rate) -> LineSpacing {
    LineSpacing { rate, gap: rate.time_for(Bytes::new(2 * SEGMENT)), few: false }
}

/// Returns the least whole number that is this share of another.
pub(crate) fn share_of(share: f64, whole: u64) -> u64 {
    windlass_base::whole_part((share * whole as f64).ceil())
}

/// Returns a rate by a factor.
pub(crate) fn times(rate: Rate, factor: f64) -> Rate {
    Rate::from_bytes_per_second(rate.bytes_per_second() * factor)
}

fn facts() -> Facts {
    let bytes = SEGMENTS * SEGMENT;
    let flight = bytes / ROUNDS;
    let rate = Bytes::new(flight).per(RTT);
    let counts = Counts {
        bytes,
        segments: SEGMENTS,
        acks: SEGMENTS / 2,
        acked: bytes,
        flight_most: flight,
        reactions: ROUNDS,
        ..Counts::default()
    };
    Facts {
        capture: CaptureFacts { packets: 1_503, hop_limit: 64, ..CaptureFacts::default() },
        opening: OpeningFacts {
            handshake: handshake(),
            ports: [40_000, 9_100],
            ..OpeningFacts::default()
        },
        path: PathFacts { rtt: Some(RTT), told_rtt: Some(RTT), ..PathFacts::default() },
        line: LineFacts { capacity: Some(rate), ..LineFacts::default() },
        window: WindowFacts {
            scale: Scale::Known(7),
            most: 131_072,
            usual: Some(Bytes::new(131_072)),
            usual_share: 1.0,
            offers: counts.acks,
            segment: SEGMENT,
            ..WindowFacts::default()
        },
        acks: AckFacts { mean_stay: Some(RTT), ..AckFacts::default() },
        loss: Default::default(),
        sent: SentFacts { bytes, initial_flight: 10 * SEGMENT, ..SentFacts::default() },
        far: Default::default(),
        waits: vec![waits(&counts)],
        counts,
        absorbed: Vec::new(),
        longest: Vec::new(),
    }
}

/// Returns the waits for ACKs as one: a burst of segments in each round trip, then one of ACKs.
fn waits(counts: &Counts) -> Interval {
    let count = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let rtt = RTT.as_seconds();
    Interval {
        kind: WaitKind::Open,
        phase: Phase::Level,
        start: Timestamp::ZERO,
        end: Timestamp::ZERO + TIME,
        charged: TIME,
        first: 4,
        last: 1_503,
        activity: Activity {
            flight_high: counts.flight_most,
            acked: counts.acked,
            sent: counts.bytes,
            acks: count(counts.acks),
            segments: count(counts.segments),
            prompt: count(ROUNDS),
            gaps: TIME,
            gaps_squared: ROUNDS as f64 * rtt * rtt,
            rounds: count(ROUNDS),
            ..Activity::default()
        },
    }
}

fn handshake() -> Handshake {
    let offer = |packet, time| Offer {
        packet,
        sent: 1,
        mss: Some(1_460),
        window_scale: Some(7),
        sack_permitted: true,
        timestamps: true,
        multipath: false,
        ecn: false,
        accurate_ecn: false,
        first_window_bytes: Bytes::new(65_535),
        options_cut: false,
        time,
        sequence: 0,
        stamps: None,
    };
    let start = Timestamp::ZERO - RTT;
    let mut handshake = Handshake::default();
    handshake.offers = [Some(offer(1, start)), Some(offer(2, start + RTT))];
    handshake.opener = Some(0);
    handshake.completed(start + RTT, 0);
    handshake
}
