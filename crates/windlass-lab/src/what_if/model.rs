//! A transfer reduced to what the simulator needs to make it again.
//!
//! Each limit has the simplest model that shows it. `docs/what-if.md` says
//! which figure comes from where.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use windlass_base::thresholds::WITHHELD_ACK;
use windlass_base::{Bytes, Cause, Limit, Rate, Span, whole_part};
use windlass_trace::report::{ConnectionReport, Interval, Measures, Offer};

use super::change::{Change, Changes};

/// The share of its window that a receiver which withholds its ACK waits for:
/// that of the IMAGEN printer (G. Cooper, 1986).
const WITHHELD_SHARE: f64 = 0.35;

/// From this share of the time on, pauses of the program are in the model; less
/// changes the rate by less than that.
const PAUSES: f64 = 0.05;

/// From this share of segments on, loss is in the model: one in a hundred
/// thousand.
const LOSS: f64 = 1e-5;

/// A queue that was never full holds whatever comes: nothing shows its end.
pub(super) const NEVER_FULL: Bytes = Bytes::new(4 << 20);

/// A full segment goes in so many pieces at the most.
const MOST_PIECES: f64 = 8.0;

/// The first flight that Linux sends since 2011, in segments (RFC 6928).
const INITIAL: u64 = 10;

/// When the receiver acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Acks {
    /// Each segment at once.
    EachSegment,
    /// Every second segment at once.
    EverySecondSegment,
    /// After a share of the window, or else when a timer says so: the latency.
    Withheld(#[serde(skip)] f64),
}

/// Something that happens again and again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recurring {
    /// After so many bytes.
    pub every: Bytes,
    /// For so long.
    pub lasting: Span,
}

/// How the window closes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Closing {
    /// It stays open.
    Never,
    /// With each ACK, and opens so long after.
    AfterAck(Span),
    /// When the reader stalls.
    Stalls(Recurring),
    /// For a reader that takes so many bytes each so often.
    Reads(Recurring),
}

/// What the program does between its data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pauses {
    /// It has more at once.
    Never,
    /// It writes a piece each so often, whatever the network does.
    Paced(Recurring),
    /// It writes a piece, and goes on so long after its answer.
    Answered(Recurring),
}

/// The model of a transfer. In its record null is what does not apply.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Model {
    #[serde(skip)]
    pub(super) cause: Cause,
    #[serde(skip)]
    pub(super) bytes: Bytes,
    /// What an ACK covers, on average.
    #[serde(skip)]
    pub(super) covered: u64,
    /// The receive window.
    #[serde(rename = "window_bytes")]
    pub window: Bytes,
    /// The payload of a full segment.
    #[serde(rename = "segment_bytes")]
    pub segment: u16,
    /// The receiver's own part of an ACK's time.
    #[serde(rename = "ack_latency_seconds")]
    pub ack_latency: Span,
    /// The time when it acknowledges.
    pub acks: Acks,
    /// The path's round trip.
    #[serde(rename = "rtt_seconds")]
    pub rtt: Span,
    /// Goodput of the full path.
    #[serde(rename = "capacity_bytes_per_second")]
    pub capacity: Option<Rate>,
    /// The queue before it.
    #[serde(rename = "queue_bytes")]
    pub queue: Option<Bytes>,
    /// The share of segments that the path loses.
    pub loss: f64,
    /// The share of ACKs that the path loses.
    pub ack_loss: f64,
    /// The share of segments that come late by a quarter of a round trip.
    pub reordering: f64,
    /// The sender's least timer, where it shows.
    #[serde(rename = "timer_seconds")]
    pub timer: Option<Span>,
    /// True if the receiver keeps what comes behind a hole.
    #[serde(rename = "keeps_out_of_order")]
    pub keeps: bool,
    /// What a token bucket lets pass in each second.
    #[serde(rename = "policer_bytes_per_second")]
    pub policer: Option<Rate>,
    /// What it lets pass at once.
    #[serde(rename = "policer_burst_bytes")]
    pub burst: Option<Bytes>,
    /// The send buffer.
    #[serde(rename = "send_buffer_bytes")]
    pub send_buffer: Option<Bytes>,
    /// A flight that something unnamed holds level: no change lifts it.
    #[serde(rename = "held_flight_bytes")]
    pub hold: Option<Bytes>,
    /// The first flight.
    #[serde(rename = "initial_window_bytes")]
    pub initial_window: Bytes,
    /// How the window closes.
    #[serde(flatten)]
    pub closing: Closing,
    /// What the program does between its data.
    #[serde(flatten)]
    pub pauses: Pauses,
    /// How fast the receiver's program reads, where it is the one that sets the rate.
    #[serde(skip)]
    pub(super) reader: Option<Rate>,
    /// What a segment carried on average: below a window of two segments a sender fills it with
    /// several that are not full.
    #[serde(skip)]
    pub(super) piece: Bytes,
    /// True if duplicate ACKs make the sender repair a loss.
    #[serde(skip)]
    pub(super) repairs_fast: bool,
    #[serde(skip)]
    pub(super) sack: bool,
    #[serde(skip)]
    pub(super) nagle: bool,
    #[serde(skip)]
    pub(super) streams: u16,
}

/// How long and after how much data it closes, and how much is read how often.
impl Serialize for Closing {
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

/// How long it pauses, after how much data, and when.
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
    /// The model of a transfer, or what the capture lacks for one.
    pub(super) fn of(report: &ConnectionReport, measures: &Measures) -> Result<Self, &'static str> {
        let offered = &report.receive_window;
        let cause = report.verdict.cause;
        let time = report.seconds;
        if report.bytes == Bytes::ZERO || time <= Span::ZERO {
            return Err("Too little data for a model.");
        }
        if cause == Cause::AckPath {
            return Err("The way back of the ACKs held it, and the model has none.");
        }
        if cause == Cause::PathMarks {
            return Err("A queue that marks data (ECN) held it, and the model has none.");
        }
        let cycle = measures
            .cycle
            .ok_or("No ACK that answers data was captured, and a model needs its time.")?
            .p50;
        let usual =
            offered.bytes.ok_or("No window of the receiver was captured, and a model needs it.")?;
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
        // Each ACK by itself answers so many bytes, also those of super-packets.
        let per_ack = report.bytes.get() / measures.acks.max(1);
        // A line that was not full shows where nothing else parts the data.
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
            Some(_) => Closing::Never,
            None => closing(report, measures, flight.min(most)),
        };
        let acks = match cause {
            Cause::BufferDelayedAck => {
                let held = flight.get() as f64 / most.get().max(1) as f64;
                Acks::Withheld(if held < WITHHELD_SHARE { WITHHELD_SHARE } else { 1.0 })
            }
            _ if own >= WITHHELD_ACK.get()
                || reader.is_some()
                || closing != Closing::Never
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
        // What the window or the buffer cut short is no initial window.
        let bound = if buffered { level.min(window) } else { window };
        let cut = first.get() + whole > bound.get() || share(report, Limit::Application) > 0.0;
        let initial_window = if cut { first.max(Bytes::new(INITIAL * whole)) } else { first };
        let (policer, burst) = measures.policer.filter(|_| cause == Cause::PathPolicer).unzip();
        Ok(Self {
            cause,
            bytes: report.bytes,
            // Of segments that a card joins, an ACK may cover many.
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

    /// The same on a path that loses nothing.
    pub(super) fn without_loss(self) -> Self {
        Self { loss: 0.0, ..self }
    }

    /// The share that is lost of what the simulated sender sends at once, where the one that was
    /// seen sends it in pieces, of which each may be lost.
    pub(super) fn loss_of_one(&self) -> f64 {
        let one = Bytes::new(self.segment.into()).min(self.window);
        let pieces = one.get() as f64 / self.piece.get().max(1) as f64;
        1.0 - (1.0 - self.loss).powf(pieces.clamp(1.0, MOST_PIECES))
    }

    /// The model with the changes made.
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
                    model.closing = Closing::Never;
                }
                Change::SendBuffer(buffer) => {
                    model.send_buffer = Some(buffer);
                    // No packet tells a steady congestion window from a buffer that
                    // is refilled at once: who asks for a buffer takes it for one.
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
                    // A tenth of a second of the rate, where nothing tells.
                    let usual = whole_part(rate.bytes_per_second() / 10.0).max(10 * 1_460);
                    model.policer = Some(rate);
                    model.burst.get_or_insert(Bytes::new(usual));
                }
            }
        }
        model
    }
}

/// The share of the time that a limit cost.
fn share(report: &ConnectionReport, limit: Limit) -> f64 {
    report.shares.get(limit.id()).copied().unwrap_or(0.0)
}

/// The share of segments that the model loses, one by one. Where loss is
/// repaired all the time, losses that came together count once, as they brought
/// one reduction of the congestion window.
fn loss(report: &ConnectionReport, measures: &Measures, cause: Cause) -> f64 {
    let losses = &report.losses;
    if let Some(path) = measures.path_loss {
        // What the receiver discards the simulated one discards as well.
        return if path < LOSS { 0.0 } else { path.min(0.5) };
    }
    let reactions = losses.events as f64 / measures.segments.max(1) as f64;
    let together = cause == Cause::FastRecovery;
    let loss = if together { reactions.min(losses.ratio) } else { losses.ratio };
    if loss < LOSS { 0.0 } else { loss.min(0.5) }
}

/// Returns whether its sender waits for timers.
fn by_timer(cause: Cause) -> bool {
    matches!(cause, Cause::Timeout | Cause::SlowTimer | Cause::AckLoss)
}

/// The share of ACKs that a path loses where that made a timer run out so often. One that is
/// lost costs nothing where another of the same flight arrives.
fn ack_loss(bytes: Bytes, timers: u64, flight: u64, per_ack: u64) -> f64 {
    let flights = (bytes.get() / flight.max(1)).max(1);
    let all = (timers as f64 / flights as f64).min(0.5);
    let acks = (flight as f64 / per_ack.max(1) as f64).max(1.0);
    all.powf(1.0 / acks).min(0.5)
}

/// What stood before the path beyond what the path holds; ten segments at least,
/// as the shortest queue of a common device.
fn queue(rate: Rate, rtt: Span, flight: Bytes, segment: u64) -> Bytes {
    let path = rate.bytes_per_second() * rtt.as_seconds();
    let standing = flight.get() as f64 - path;
    Bytes::new(whole_part(standing).max(INITIAL * segment))
}

/// How the window closed: with each window's data, or now and then.
fn closing(report: &ConnectionReport, measures: &Measures, window: Bytes) -> Closing {
    let Some(closure) = measures.closure.filter(|_| measures.closures > 0) else {
        return Closing::Never;
    };
    if report.receive_window.closed_seconds.share_of(report.seconds) < PAUSES {
        return Closing::Never;
    }
    // Nothing closes after the last of the data.
    let every = Bytes::new(report.bytes.get().div_ceil(measures.closures + 1));
    let windows = every.get() as f64 / window.get().max(1) as f64;
    if windows > 1.5 {
        return Closing::Stalls(Recurring { every, lasting: closure.mean });
    }
    if windows > 0.67 {
        return Closing::AfterAck(closure.mean);
    }
    // Less than the buffer between two closures: the reader sets the pace.
    let parts = i64::try_from(measures.closures).unwrap_or(i64::MAX);
    Closing::Reads(Recurring { every, lasting: report.seconds / parts })
}

/// The pauses of the program, with the data between: those of the timeline.
fn pauses(report: &ConnectionReport, first: Bytes) -> Pauses {
    // A program that reads slowly is no pause of the one that sends.
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
        // The timeline merges pauses that follow each other closely; what left
        // first is then a better measure of a piece.
        let count = seen.max(report.bytes.get() / first.get().max(1));
        let tail = report.rtt_seconds.map_or(Span::ZERO, |rtt| rtt.min);
        return Pauses::Paced(Recurring {
            every: Bytes::new(report.bytes.get().div_ceil(count + 1)),
            lasting: (report.seconds - tail).or_zero() / parts(count),
        });
    }
    Pauses::Answered(Recurring {
        every: Bytes::new(report.bytes.get().div_ceil(seen + 1)),
        lasting: report.seconds.scaled(share) / parts(seen),
    })
}
