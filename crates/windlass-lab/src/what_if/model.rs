//! A model of a transfer, from which the simulator can reproduce it.
//!
//! Each limit has the simplest model that shows it. `docs/what-if.md` tells the source of each
//! figure.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use windlass_base::thresholds::WITHHELD_ACK;
use windlass_base::{Bytes, Cause, Limit, Rate, Span, whole_part};
use windlass_trace::report::{ConnectionReport, Interval, Measures, Offer};

use super::change::{Change, Changes};

/// Share of its window for which a receiver waits that withholds its ACK: that of the IMAGEN
/// printer (G. Cooper, 1986).
const WITHHELD_SHARE: f64 = 0.35;

/// Share of the time from which pauses of the program are in the model. A smaller share has a
/// smaller effect on the rate.
const PAUSES: f64 = 0.05;

/// Share of lost segments from which loss is in the model: one in a hundred thousand.
const LOSS: f64 = 1e-5;

/// Size of a queue that was never full, whose end is unknown.
pub(super) const NEVER_FULL: Bytes = Bytes::new(4 << 20);

/// Maximum number of pieces of a full segment.
const MOST_PIECES: f64 = 8.0;

/// Initial window of Linux since 2011, in segments (RFC 6928).
const INITIAL: u64 = 10;

/// Timing of the receiver's ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Acks {
    /// An immediate ACK for each segment.
    EachSegment,
    /// An immediate ACK for every second segment.
    EverySecondSegment,
    /// An ACK after a share of the window, otherwise when a timer expires: the latency.
    Withheld(#[serde(skip)] f64),
}

/// A recurring event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recurrence {
    /// Bytes between two events.
    pub every: Bytes,
    /// Length of an event.
    pub lasting: Span,
}

/// Pattern of the window's closures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ClosurePattern {
    /// The window stays open.
    Never,
    /// The window closes with each ACK, and opens this time later.
    AfterAck(Span),
    /// The window closes when the reader stalls.
    Stalls(Recurrence),
    /// The reader takes a fixed amount at fixed intervals.
    Reads(Recurrence),
}

/// Pauses of the program between its data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pauses {
    /// The program has more data at once.
    Never,
    /// The program writes a piece at fixed intervals, whatever the network does.
    Paced(Recurrence),
    /// The program writes a piece, and continues a fixed time after its answer.
    Answered(Recurrence),
}

/// The model of a transfer. In its record, null means that a property does not apply.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Model {
    #[serde(skip)]
    pub(super) cause: Cause,
    #[serde(skip)]
    pub(super) bytes: Bytes,
    /// Mean bytes that an ACK covers.
    #[serde(skip)]
    pub(super) covered: u64,
    /// The receive window.
    #[serde(rename = "window_bytes")]
    pub window: Bytes,
    /// The payload of a full segment.
    #[serde(rename = "segment_bytes")]
    pub segment: u16,
    /// The receiver's own share of an ACK's time.
    #[serde(rename = "ack_latency_seconds")]
    pub ack_latency: Span,
    /// Timing of the ACKs.
    pub acks: Acks,
    /// The path's round trip.
    #[serde(rename = "rtt_seconds")]
    pub rtt: Span,
    /// Goodput of the full path.
    #[serde(rename = "capacity_bytes_per_second")]
    pub capacity: Option<Rate>,
    /// Queue of the path.
    #[serde(rename = "queue_bytes")]
    pub queue: Option<Bytes>,
    /// Share of segments that the path loses.
    pub loss: f64,
    /// Share of ACKs that the path loses.
    pub ack_loss: f64,
    /// Share of segments that arrive late, by a quarter of a round trip.
    pub reordering: f64,
    /// Shortest timeout of the sender, if the capture shows one.
    #[serde(rename = "timer_seconds")]
    pub timer: Option<Span>,
    /// True if the receiver keeps data beyond a gap.
    #[serde(rename = "keeps_out_of_order")]
    pub keeps: bool,
    /// Rate of a policer.
    #[serde(rename = "policer_bytes_per_second")]
    pub policer: Option<Rate>,
    /// Burst of the policer.
    #[serde(rename = "policer_burst_bytes")]
    pub burst: Option<Bytes>,
    /// The send buffer.
    #[serde(rename = "send_buffer_bytes")]
    pub send_buffer: Option<Bytes>,
    /// A constant flight without a known cause: no change raises it.
    #[serde(rename = "held_flight_bytes")]
    pub hold: Option<Bytes>,
    /// Initial window.
    #[serde(rename = "initial_window_bytes")]
    pub initial_window: Bytes,
    /// Pattern of the window's closures.
    #[serde(flatten)]
    pub closing: ClosurePattern,
    /// Pauses of the program between its data.
    #[serde(flatten)]
    pub pauses: Pauses,
    /// Rate of the receiver's program, if the program sets the rate.
    #[serde(skip)]
    pub(super) reader: Option<Rate>,
    /// Mean payload of a segment. A sender fills a window of less than two segments with several
    /// small ones.
    #[serde(skip)]
    pub(super) piece: Bytes,
    /// True if duplicate ACKs trigger the sender's repair.
    #[serde(skip)]
    pub(super) repairs_fast: bool,
    #[serde(skip)]
    pub(super) sack: bool,
    #[serde(skip)]
    pub(super) nagle: bool,
    #[serde(skip)]
    pub(super) streams: u16,
}

/// Length of the closures and the data between them, or length and size of the reads.
impl Serialize for ClosurePattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (closed, every, reads) = match self {
            Self::Never => (None, None, None),
            Self::AfterAck(closed) => (Some(closed), None, None),
            Self::Stalls(stall) => (Some(&stall.lasting), Some(&stall.every), None),
            Self::Reads(reads) => (None, None, Some(reads)),
        };
        let mut keys = serializer.serialize_map(Some(4))?;
        keys.serialize_entry("closed_seconds", &closed)?;
        keys.serialize_entry("closed_every_bytes", &every)?;
        keys.serialize_entry("read_seconds", &reads.map(|reads| reads.lasting))?;
        keys.serialize_entry("read_every_bytes", &reads.map(|reads| reads.every))?;
        keys.end()
    }
}

/// Length of the pauses, the data between them, and their occasion.
impl Serialize for Pauses {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (pauses, when) = match self {
            Self::Never => (None, None),
            Self::Paced(pauses) => (Some(pauses), Some("between-writes")),
            Self::Answered(pauses) => (Some(pauses), Some("after-answer")),
        };
        let mut keys = serializer.serialize_map(Some(3))?;
        keys.serialize_entry("pause_seconds", &pauses.map(|pauses| pauses.lasting))?;
        keys.serialize_entry("pause_every_bytes", &pauses.map(|pauses| pauses.every))?;
        keys.serialize_entry("pause_is", &when)?;
        keys.end()
    }
}

impl Model {
    /// Returns the model of a transfer.
    ///
    /// # Errors
    /// Names the figure that the capture lacks.
    pub(super) fn of(report: &ConnectionReport, measures: &Measures) -> Result<Self, &'static str> {
        let offered = &report.receive_window;
        let cause = report.verdict.cause;
        let time = report.seconds;
        if report.bytes == Bytes::ZERO || time <= Span::ZERO {
            return Err("Too little data for a model.");
        }
        if cause == Cause::AckPath {
            return Err("The return path of the ACKs was the limit, and the model has none.");
        }
        if cause == Cause::PathMarks {
            return Err("A queue that marks data (ECN) was the limit, and the model has none.");
        }
        let cycle = measures
            .cycle
            .ok_or("The capture has no ACK of data, and a model needs its time.")?
            .p50;
        let usual =
            offered.bytes.ok_or("The capture has no receive window, and a model needs it.")?;
        let most = offered.max_bytes.unwrap_or(usual).max(usual);
        let flight = offered.max_flight_bytes.max(Bytes::new(1));
        let rtt = report.rtt_seconds.map_or(cycle, |rtt| rtt.min).or_zero();
        let mut segment = offered.segment_bytes;
        if cause == Cause::SmallSegments {
            segment = Bytes::new(report.bytes.get().div_ceil(measures.segments.max(1)));
        }
        let segment = u16::try_from(segment.get().max(1)).unwrap_or(u16::MAX);
        let whole = u64::from(segment);
        let full = share(report, Limit::PathCapacity) >= 0.3 && cause != Cause::PathPolicer;
        let was_full = measures.capacity.filter(|_| full);
        // Mean bytes of an ACK, super-packets included.
        let per_ack = report.bytes.get() / measures.acks.max(1);
        // The spacing of the ACKs shows a bottleneck that was not full, if nothing else separates
        // the data.
        let parts = matches!(
            cause.limit(),
            Limit::ReceiverWindow | Limit::SendBuffer | Limit::CongestionWindow | Limit::Loss
        );
        let line = measures.known_line.filter(|_| parts && was_full.is_none());
        let on_line = line.map_or(Span::ZERO, |line| line.time_for(Bytes::new(per_ack)));
        let own = match was_full {
            Some(_) => Span::ZERO,
            None => (cycle - rtt - on_line).or_zero(),
        };
        let capacity = was_full.or(line);
        let reader = report.verdict.predicted_bytes_per_second;
        let reader = reader.filter(|_| cause == Cause::ReceiverLimited);
        let closing = match reader {
            Some(_) => ClosurePattern::Never,
            None => closing(report, measures, flight.min(most)),
        };
        let acks = match cause {
            Cause::BufferDelayedAck => {
                let held = flight.get() as f64 / most.get().max(1) as f64;
                Acks::Withheld(if held < WITHHELD_SHARE { WITHHELD_SHARE } else { 1.0 })
            }
            _ if own >= WITHHELD_ACK.get()
                || reader.is_some()
                || closing != ClosurePattern::Never
                || per_ack * 2 < whole * 3 =>
            {
                Acks::EachSegment
            }
            _ => Acks::EverySecondSegment,
        };
        let window = match cause.limit() {
            Limit::ReceiverWindow => usual.min(flight),
            Limit::ZeroWindow => most.min(flight),
            _ => most,
        };
        let window = window.max(Bytes::new(1));
        let level = measures.plateau.unwrap_or(flight);
        let buffered = cause.limit() == Limit::SendBuffer;
        let first = measures.initial_flight.max(Bytes::new(1));
        // A flight that the window or the buffer limits is no initial window.
        let bound = if buffered { level.min(window) } else { window };
        let cut = first.get() + whole > bound.get() || share(report, Limit::Application) > 0.0;
        let initial_window = if cut { first.max(Bytes::new(INITIAL * whole)) } else { first };
        let (policer, burst) = measures.policer.filter(|_| cause == Cause::PathPolicer).unzip();
        Ok(Self {
            cause,
            bytes: report.bytes,
            // An ACK may cover many segments that the network card merged.
            covered: if measures.super_packets { 0 } else { per_ack },
            segment,
            window,
            closing,
            reader,
            acks,
            ack_latency: own,
            rtt,
            capacity,
            queue: capacity.map(|rate| match was_full {
                Some(_) if report.losses.events > 0 => queue(rate, rtt, flight, whole),
                _ => NEVER_FULL,
            }),
            loss: match (cause, was_full) {
                (Cause::PathPolicer, _) | (_, Some(_)) => 0.0,
                (_, None) => loss(report, measures, cause),
            },
            ack_loss: if cause == Cause::AckLoss {
                ack_loss(report.bytes, report.losses.unheard, flight.get(), per_ack)
            } else {
                0.0
            },
            reordering: if cause == Cause::Reordering {
                (report.losses.vain_repairs as f64 / measures.segments.max(1) as f64).min(0.5)
            } else {
                0.0
            },
            timer: report.losses.timer_seconds.filter(|_| by_timer(cause)),
            repairs_fast: report.losses.fast > 0 || !by_timer(cause) || cause == Cause::AckLoss,
            keeps: measures.path_loss.is_none(),
            policer,
            burst,
            send_buffer: buffered.then_some(level),
            hold: matches!(cause, Cause::Steady | Cause::SmallSegments).then_some(level),
            initial_window,
            pauses: pauses(report, first),
            piece: Bytes::new(report.bytes.get() / measures.segments.max(1)),
            sack: report.handshake.as_ref().is_none_or(|opening| {
                let offers = [&opening.sender, &opening.receiver];
                let may = |offer: &Offer| offer.sack_permitted || offer.options_cut;
                offers.iter().all(|offer| offer.as_ref().is_none_or(may))
            }),
            nagle: cause == Cause::NagleDelayedAck,
            streams: 1,
        })
    }

    /// Returns the model on a path without loss.
    pub(super) fn without_loss(self) -> Self {
        Self { loss: 0.0, ..self }
    }

    /// Returns the loss rate of the simulated sender's segments. The captured sender sends each in
    /// several pieces, of which each may be lost.
    pub(super) fn loss_of_one(&self) -> f64 {
        let one = Bytes::new(self.segment.into()).min(self.window);
        let pieces = one.get() as f64 / self.piece.get().max(1) as f64;
        1.0 - (1.0 - self.loss).powf(pieces.clamp(1.0, MOST_PIECES))
    }

    /// Returns the model with the changes applied.
    pub(super) fn changed(&self, changes: &Changes) -> Self {
        let mut model = self.clone();
        for change in &changes.0 {
            match *change {
                Change::Window(window) => {
                    model.window = window;
                    model.piece = Bytes::new(self.segment.into());
                }
                Change::AckLatency(latency) => model.ack_latency = latency,
                Change::ReadRate(rate) => {
                    model.reader = Some(rate);
                    model.closing = ClosurePattern::Never;
                }
                Change::SendBuffer(buffer) => {
                    model.send_buffer = Some(buffer);
                    // The packets do not separate a steady congestion window from a buffer that is
                    // refilled at once. A user who asks for another buffer assumes the buffer.
                    if model.cause == Cause::Steady {
                        model.hold = None;
                    }
                }
                Change::Rtt(rtt) => model.rtt = rtt,
                Change::Loss(loss) => model.loss = loss,
                Change::AckLoss(loss) => model.ack_loss = loss,
                Change::Reordering(share) => model.reordering = share,
                Change::Timer(timer) => model.timer = Some(timer),
                Change::Streams(streams) => model.streams = streams,
                Change::Mss(mss) => model.segment = mss,
                Change::Reassembly(keeps) => model.keeps = keeps,
                Change::Policer(rate) => {
                    // Without a measured burst, a tenth of a second of the rate.
                    let usual = whole_part(rate.bytes_per_second() / 10.0).max(10 * 1_460);
                    model.policer = Some(rate);
                    model.burst.get_or_insert(Bytes::new(usual));
                }
            }
        }
        model
    }
}

/// Returns the share of the time that a limit cost.
fn share(report: &ConnectionReport, limit: Limit) -> f64 {
    report.shares.get(limit.id()).copied().unwrap_or(0.0)
}

/// Returns the loss rate of the model, with independent losses. If loss is repaired all the time,
/// losses that came together count once: they caused one reduction of the congestion window.
fn loss(report: &ConnectionReport, measures: &Measures, cause: Cause) -> f64 {
    let losses = &report.losses;
    if let Some(path) = measures.path_loss {
        // The simulated receiver discards the same data as the captured one.
        return if path < LOSS { 0.0 } else { path.min(0.5) };
    }
    let reactions = losses.events as f64 / measures.segments.max(1) as f64;
    let together = cause == Cause::FastRecovery;
    let loss = if together { reactions.min(losses.ratio) } else { losses.ratio };
    if loss < LOSS { 0.0 } else { loss.min(0.5) }
}

/// Returns whether the sender waits for timers.
fn by_timer(cause: Cause) -> bool {
    matches!(cause, Cause::Timeout | Cause::SlowTimer | Cause::AckLoss)
}

/// Returns the share of ACKs that a path loses to cause this number of timeouts. A lost ACK costs
/// nothing if another one of the same flight arrives.
fn ack_loss(bytes: Bytes, timers: u64, flight: u64, per_ack: u64) -> f64 {
    let flights = (bytes.get() / flight.max(1)).max(1);
    let all = (timers as f64 / flights as f64).min(0.5);
    let acks = (flight as f64 / per_ack.max(1) as f64).max(1.0);
    all.powf(1.0 / acks).min(0.5)
}

/// Returns the standing queue: the flight beyond the path's own capacity. It has at least ten
/// segments, as the smallest queue of a common device.
fn queue(rate: Rate, rtt: Span, flight: Bytes, segment: u64) -> Bytes {
    let path = rate.bytes_per_second() * rtt.as_seconds();
    let standing = flight.get() as f64 - path;
    Bytes::new(whole_part(standing).max(INITIAL * segment))
}

/// Returns the pattern of the window's closures: with each window of data, or occasionally.
fn closing(report: &ConnectionReport, measures: &Measures, window: Bytes) -> ClosurePattern {
    let Some(closure) = measures.closure.filter(|_| measures.closures > 0) else {
        return ClosurePattern::Never;
    };
    if report.receive_window.closed_seconds.share_of(report.seconds) < PAUSES {
        return ClosurePattern::Never;
    }
    // There is no closure after the last of the data.
    let every = Bytes::new(report.bytes.get().div_ceil(measures.closures + 1));
    let windows = every.get() as f64 / window.get().max(1) as f64;
    if windows > 1.5 {
        return ClosurePattern::Stalls(Recurrence { every, lasting: closure.mean });
    }
    if windows > 0.67 {
        return ClosurePattern::AfterAck(closure.mean);
    }
    // Less than the window between two closures: the reader sets the rate.
    let parts = i64::try_from(measures.closures).unwrap_or(i64::MAX);
    ClosurePattern::Reads(Recurrence { every, lasting: report.seconds / parts })
}

/// Returns the program's pauses and the data between them, from the timeline.
fn pauses(report: &ConnectionReport, first: Bytes) -> Pauses {
    // A slow reader at the receiver is no pause of the sending program.
    let reads = report.causes.get(&Cause::ReceiverLimited.to_string()).copied().unwrap_or(0.0);
    let share = share(report, Limit::Application) - reads + share(report, Limit::NagleDelayedAck);
    if share < PAUSES {
        return Pauses::Never;
    }
    let paused = |part: &&Interval| {
        matches!(part.cause.limit(), Limit::Application | Limit::NagleDelayedAck)
            && part.cause != Cause::ReceiverLimited
    };
    let seen = report.timeline.iter().filter(paused).count().max(1) as u64;
    let parts = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let idle = report.causes.get(&Cause::SenderIdle.to_string()).copied().unwrap_or(0.0);
    if idle >= 0.5 {
        // The timeline merges pauses that follow each other closely; then the first flight is a
        // better measure of a piece.
        let count = seen.max(report.bytes.get() / first.get().max(1));
        let tail = report.rtt_seconds.map_or(Span::ZERO, |rtt| rtt.min);
        return Pauses::Paced(Recurrence {
            every: Bytes::new(report.bytes.get().div_ceil(count + 1)),
            lasting: (report.seconds - tail).or_zero() / parts(count),
        });
    }
    Pauses::Answered(Recurrence {
        every: Bytes::new(report.bytes.get().div_ceil(seen + 1)),
        lasting: report.seconds.scaled(share) / parts(seen),
    })
}
