//! What to change, on which side, and the rate to expect then.
//!
//! The rate to expect follows Amdahl (1967): the time that goes to the limit
//! shrinks by a factor that its law gives, and all other time stays. It is no more
//! than slow start allows, nor than what the capture shows of the path. What would
//! bring less than a tenth is no remedy.

use windlass_base::figures::Counted;
use windlass_base::{Bytes, Cause, Limit, Rate, Sentence, Span, laws, sentence};

mod loss;

use super::law::{awaits, capacity_seen, usable_window};
use super::subject::Subject;
use super::{Remedy, Side, Unit};
use crate::windows::UNSCALED;

/// A remedy brings a tenth more at least: transfers differ by that from one time to the
/// next.
const WORTH: f64 = 1.1;

/// The share of a wait that must be left, so that it tells a rate.
const MIN_LEFT: f64 = 0.01;

/// A message that comes so many round trips after the last ACK was late by its program.
const SLOW_ANSWER: i64 = 2;

/// What is to be gone: a wait, a loss.
const NO_TIME: Option<(f64, Unit)> = Some((0.0, Unit::Seconds));
const NO_LOSS: Option<(f64, Unit)> = Some((0.0, Unit::Share));

pub(super) fn remedies(subject: &Subject<'_>, cause: Cause, next: Option<Limit>) -> Vec<Remedy> {
    let then = Advice { subject, cause, next };
    let least = subject.measured().bytes_per_second() * WORTH;
    let mut remedies = then.of_cause();
    remedies.retain(|remedy| {
        let expected = remedy.expected_bytes_per_second;
        expected.is_none_or(|rate| rate.bytes_per_second() >= least)
    });
    remedies
}

/// What to look at where no law says what it brings.
fn advice(side: Side, action: impl Into<Sentence>) -> Remedy {
    let action = action.into();
    Remedy { side, action, value: None, unit: None, expected_bytes_per_second: None, then: None }
}

struct Advice<'a> {
    subject: &'a Subject<'a>,
    cause: Cause,
    next: Option<Limit>,
}

impl Advice<'_> {
    fn of_cause(&self) -> Vec<Remedy> {
        match self.cause {
            Cause::WindowAckLatency => {
                self.ack_at_once().into_iter().chain([self.larger_window()]).collect()
            }
            Cause::WindowPathRtt => self.path_rtt(),
            Cause::WindowBelowMss => self.below_mss(),
            Cause::ReceiverNotReading => self.not_reading(),
            Cause::NoWindowUpdate => self.no_update(),
            Cause::WindowOpensLate => self.opens_late(),
            Cause::BufferDelayedAck => {
                [self.larger_buffer()].into_iter().chain(self.ack_at_once()).collect()
            }
            Cause::BufferPathRtt => vec![self.larger_buffer()],
            Cause::SlowStart => self.slow_start(),
            Cause::AfterLoss => self.after_loss(),
            Cause::Steady => self.steady(),
            Cause::FastRecovery | Cause::Timeout => self.loss(),
            Cause::SlowTimer => self.slow_timer(),
            Cause::AckLoss => self.ack_loss(),
            Cause::Reordering => self.reordering(),
            Cause::ReceiverDiscards => self.receiver_discards(),
            Cause::BlackHole => self.black_hole(),
            Cause::PathQueue => self.capacity(),
            Cause::PathPolicer => self.policer(),
            Cause::SenderIdle => self.sender_idle(),
            Cause::ReceiverLimited => self.receiver_limited(),
            Cause::AwaitsAnswer => self.awaits_answer(),
            Cause::SmallSegments => self.small_segments(),
            Cause::NagleDelayedAck => self.nagle(),
            Cause::Processor | Cause::Unknown => Vec::new(),
        }
    }

    /// The fastest that the capture shows of the path: how close two full segments came
    /// to each other, or the best rate of the ACKs; and no more than the line that
    /// spaces its data carries. `None` where it shows no such thing.
    fn shown(&self) -> Option<Rate> {
        let finished = self.subject.finished;
        // What came to several connections is the line's rate only where it was full.
        let full = self.subject.time_of(Cause::PathQueue) > Span::ZERO;
        let line = finished.shared().filter(|_| full).map(|line| line.rate);
        let line = line.or_else(|| finished.line().map(|line| line.rate));
        // A card that cuts or joins segments hides how close they were. And where the
        // start is missing, so may be the only two segments that followed each other.
        let whole = finished.counts.super_packets == 0
            && finished.handshake.offers[finished.direction].is_some();
        let closest = finished.packet_time.filter(|time| whole && *time > Span::ZERO);
        let bursts = closest.map(|time| {
            self.subject.segment().per(time).max(finished.capacity.unwrap_or_default())
        });
        let shown = match (bursts, line) {
            (Some(bursts), Some(line)) => bursts.min(line),
            (bursts, line) => bursts.or(line)?,
        };
        Some(shown.max(self.subject.measured()))
    }

    /// The rate when the limit's time shrinks to `factor` of itself. No remedy
    /// makes a transfer faster than slow start lets it become, or than the path is.
    fn rate(&self, factor: f64) -> Rate {
        let rate = self.rate_on_any_path(factor);
        self.shown().map_or(rate, |shown| rate.min(shown))
    }

    fn rate_on_any_path(&self, factor: f64) -> Rate {
        let held = self.held();
        let rest = self.subject.total() - held + held.scaled(factor.clamp(0.0, 1.0));
        let rate = self.subject.bytes().per(rest);
        if rest <= Span::ZERO {
            // Nothing else took time, so nothing but slow start tells the rest.
            return self.fastest().unwrap_or(rate);
        }
        self.fastest().map_or(rate, |fastest| rate.min(fastest))
    }

    /// What slow start alone allows; never less than what was measured.
    fn fastest(&self) -> Option<Rate> {
        let finished = self.subject.finished;
        let (rtt, bytes) = (finished.told_rtt()?, self.subject.bytes());
        if finished.initial_flight == 0 || rtt <= Span::ZERO {
            return None;
        }
        let initial = Bytes::new(finished.initial_flight);
        let fastest = bytes.per(laws::slow_start_time(bytes, initial, 2.0, rtt));
        Some(fastest.max(self.subject.measured()))
    }

    fn held(&self) -> Span {
        self.subject.time_of_limit(self.cause.limit())
    }

    /// The limit that holds next, when this one's time shrinks to `factor`.
    fn then(&self, factor: f64) -> Option<Limit> {
        if self.fastest().is_some_and(|fastest| self.rate(factor) == fastest) {
            return Some(Limit::CongestionWindow);
        }
        let left = self.held().scaled(factor.clamp(0.0, 1.0));
        let next = self.next.map_or(Span::ZERO, |next| self.subject.time_of_limit(next));
        if left > next { Some(self.cause.limit()) } else { self.next }
    }

    fn remedy(
        &self,
        side: Side,
        action: impl Into<Sentence>,
        value: Option<(f64, Unit)>,
        factor: f64,
    ) -> Remedy {
        Remedy {
            value: value.map(|(value, _)| value),
            unit: value.map(|(_, unit)| unit),
            expected_bytes_per_second: Some(self.rate(factor))
                .filter(|rate| *rate > Rate::ZERO && self.leaves_enough(factor)),
            then: self.then(factor),
            ..advice(side, action)
        }
    }

    /// Whether the rate without the limit's time can be told: by its law, or by
    /// what is left of the transfer, if that is 1 % of its time or more.
    fn leaves_enough(&self, factor: f64) -> bool {
        let rest = self.subject.total() - self.held();
        factor > 0.0 || rest.share_of(self.subject.total()) >= 0.01
    }

    /// How much of the wait is left when the receiver's own latency is gone.
    fn without_own_latency(&self) -> Option<f64> {
        let (path, cycle) = (self.subject.finished.told_rtt()?, self.subject.cycle()?);
        (cycle > Span::ZERO).then(|| path.share_of(cycle))
    }

    /// A larger window: the largest without scaling, or four times what there
    /// is.
    fn larger_window(&self) -> Remedy {
        let window = usable_window(self.subject).unwrap_or_default().get().max(1);
        let scaled = self.subject.finished.scale.shift() > 0;
        let (value, how) = if window * 2 <= UNSCALED && !scaled {
            (UNSCALED, "the largest without window scaling")
        } else if scaled {
            ((window * 4).next_power_of_two(), "four times as much")
        } else {
            ((window * 4).next_power_of_two(), "which needs the window scale option")
        };
        self.remedy(
            Side::Receiver,
            sentence!("offer a larger receive window: {}, {how}", Bytes::new(value)),
            Some((value as f64, Unit::Bytes)),
            window as f64 / value as f64,
        )
    }

    fn ack_at_once(&self) -> Option<Remedy> {
        let path = self.subject.finished.told_rtt()?;
        let factor = self.without_own_latency()?;
        Some(self.remedy(
            Side::Receiver,
            sentence!(
                "acknowledge when data arrives, at the latest every second segment: the path \
                 itself takes {path}"
            ),
            Some((path.as_seconds(), Unit::Seconds)),
            factor,
        ))
    }

    fn path_rtt(&self) -> Vec<Remedy> {
        const STREAMS: u32 = 4;
        let streams = self.remedy(
            Side::Sender,
            sentence!("send over {STREAMS} connections at once, where the receiver takes them"),
            Some((f64::from(STREAMS), Unit::Count)),
            1.0 / f64::from(STREAMS),
        );
        vec![self.larger_window(), streams]
    }

    fn below_mss(&self) -> Vec<Remedy> {
        let size = self.subject.finished.segment_size;
        let window = usable_window(self.subject).unwrap_or_default().get().max(1);
        let value = size * 4;
        let larger = self.remedy(
            Side::Receiver,
            sentence!("offer a window of at least 4 full segments: {}", Bytes::new(value)),
            Some((value as f64, Unit::Bytes)),
            window as f64 / value as f64,
        );
        [larger].into_iter().chain(self.ack_at_once()).chain(self.no_silly_windows()).collect()
    }

    fn not_reading(&self) -> Vec<Remedy> {
        let longest = self.subject.finished.closures.most().unwrap_or_default();
        vec![self.remedy(
            Side::Receiver,
            sentence!(
                "find out why its program (or the printer behind it) takes no data for up to \
                 {longest}; a larger buffer only moves the wait"
            ),
            NO_TIME,
            0.0,
        )]
    }

    fn no_update(&self) -> Vec<Remedy> {
        vec![self.remedy(
            Side::Receiver,
            "send a window update as soon as there is room for a segment (RFC 9293 section \
             3.8.6.2.2), not only when probed",
            NO_TIME,
            0.0,
        )]
    }

    fn opens_late(&self) -> Vec<Remedy> {
        let finished = self.subject.finished;
        let size = finished.segment_size;
        let window = 2 * finished.window_most.max(size);
        let open = self.subject.cycle().unwrap_or_default();
        let closed = finished.closures.median().unwrap_or_default();
        // It still takes as long for each buffer, but takes the next meanwhile: of T + Z
        // the longer one is left.
        let left = (closed - open).or_zero().share_of(closed);
        let second = self.remedy(
            Side::Receiver,
            sentence!(
                "give it a second buffer, so that it can take data while it handles the last: a \
                 window of {} that does not close",
                Bytes::new(window),
            ),
            Some((window as f64, Unit::Bytes)),
            left,
        );
        let faster = self.remedy(
            Side::Receiver,
            sentence!("empty its buffer sooner: it takes {closed} for each"),
            NO_TIME,
            0.0,
        );
        // Where it handles a buffer for ten times as long as it takes to fill it, a second
        // one brings less than a tenth.
        if left > 0.9 {
            vec![faster]
        } else if left > 0.5 {
            vec![second, faster]
        } else {
            vec![second]
        }
    }

    fn larger_buffer(&self) -> Remedy {
        let window = self.subject.finished.window_most;
        let held = self.subject.plateau().get().max(1);
        let capped = laws::send_buffer_for(Bytes::new(window), Bytes::new(held)).get();
        self.remedy(
            Side::Sender,
            sentence!(
                "let the send buffer hold what the receiver offers: SO_SNDBUF of at least {} (or \
                 leave it unset, so that the system sizes it)",
                Bytes::new(capped)
            ),
            Some((capped as f64, Unit::Bytes)),
            held as f64 / capped as f64 * self.wait_left(capped),
        )
    }

    /// The share of each wait that is left once the buffer holds so much. Where
    /// that is the whole window, the ACK comes as soon as the window is taken, and
    /// only the path's round trip is left.
    fn wait_left(&self, buffer: u64) -> f64 {
        let finished = self.subject.finished;
        match (finished.told_rtt(), self.subject.cycle()) {
            (Some(rtt), Some(cycle))
                if self.cause == Cause::BufferDelayedAck && buffer >= finished.window_most =>
            {
                rtt.share_of(cycle)
            }
            _ => 1.0,
        }
    }

    fn slow_start(&self) -> Vec<Remedy> {
        let finished = self.subject.finished;
        // A flight may be sent faster than the path delivers it.
        let reached = finished.told_rtt().and_then(|rtt| {
            let reached = laws::window_rate(Bytes::new(finished.counts.flight_most), rtt);
            let seen = finished.capacity?;
            let reached = reached.min(seen);
            Some(self.shown().map_or(reached, |shown| reached.min(shown)))
        });
        vec![Remedy {
            expected_bytes_per_second: reached,
            ..self.remedy(
                Side::Sender,
                "send more over one connection instead of opening a new one for each piece: \
                     it keeps the rate it has reached",
                None,
                0.5,
            )
        }]
    }

    fn after_loss(&self) -> Vec<Remedy> {
        let finished = self.subject.finished;
        // What the path gave before, and what is left when the slow time is gone.
        let factor = if self.leaves_enough(0.0) { 0.0 } else { 0.5 };
        let rate = self.rate(factor);
        let best = Some(finished.capacity.map_or(rate, |best| rate.min(best)));
        vec![
            Remedy {
                expected_bytes_per_second: best,
                ..self.remedy(
                    Side::Sender,
                    "try another congestion control: CUBIC regains its rate sooner than Reno on a \
                     long path, BBR does not lose it",
                    None,
                    0.5,
                )
            },
            Remedy {
                expected_bytes_per_second: best,
                ..self.remedy(
                    Side::Path,
                    sentence!(
                        "find what lost {} of {}",
                        finished.lost(),
                        Counted(finished.counts.sent(), "segment")
                    ),
                    NO_LOSS,
                    0.5,
                )
            },
        ]
    }

    fn steady(&self) -> Vec<Remedy> {
        const STREAMS: u32 = 4;
        let flight = self.subject.finished.counts.flight_most.max(1);
        let window = self.subject.finished.window_most.max(flight);
        let value = window.min(flight * 4);
        vec![
            self.remedy(
                Side::Sender,
                sentence!(
                    "raise what holds its congestion window (a clamp on the route, the congestion \
                     control): the receiver takes {}",
                    Bytes::new(window)
                ),
                Some((value as f64, Unit::Bytes)),
                flight as f64 / value as f64,
            ),
            self.remedy(
                Side::Sender,
                sentence!("send over {STREAMS} connections at once"),
                Some((f64::from(STREAMS), Unit::Count)),
                1.0 / f64::from(STREAMS),
            ),
        ]
    }

    fn capacity(&self) -> Vec<Remedy> {
        let capacity = capacity_seen(self.subject).unwrap_or_default();
        vec![Remedy {
            expected_bytes_per_second: Some(self.rate_on_any_path(0.5)),
            ..self.remedy(
                Side::Path,
                "only a faster path helps: the hosts already fill it; with twice the capacity",
                Some((capacity.bytes_per_second() * 2.0, Unit::BytesPerSecond)),
                0.5,
            )
        }]
    }

    fn sender_idle(&self) -> Vec<Remedy> {
        vec![self.remedy(
            Side::Sender,
            "look at the sending program: it could send without a pause (what does it wait for: \
             its disk, a computation, another connection?)",
            NO_TIME,
            0.0,
        )]
    }

    fn receiver_limited(&self) -> Vec<Remedy> {
        let faster = advice(
            Side::Receiver,
            "look at the receiving program, or the device behind it: how fast it reads is the \
             rate, and a larger window, a second buffer, the network or the sender cannot \
             raise it",
        );
        [faster].into_iter().chain(self.no_silly_windows()).collect()
    }

    /// Where small offers are one in eight segments or more.
    fn no_silly_windows(&self) -> Option<Remedy> {
        let (count, size, _) = self.subject.silly()?;
        (count * 8 >= self.subject.finished.counts.segments).then(|| {
            let action = sentence!(
                "offer more room only once it is a full segment, or half the buffer (RFC 9293 \
                 section 3.8.6.2.2): it offers {size} at a time now, and each piece is a segment \
                 of its own"
            );
            advice(Side::Receiver, action)
        })
    }

    fn awaits_answer(&self) -> Vec<Remedy> {
        let ahead = match self.subject.asks() {
            Some(true) => (
                Side::Receiver,
                "nothing in TCP is wrong; ask for more at once: send the next request before the last one is answered \
                 (pipelining, several requests at a time), or ask for larger pieces",
            ),
            Some(false) => (
                Side::Sender,
                "do not wait for each answer before sending more, or send larger pieces for each",
            ),
            None => (
                Side::Sender,
                "do not wait for each message of the other side before sending more, or send \
                 larger pieces for each; where that asks for the data, it has to ask for more at \
                 once",
            ),
        };
        let mut remedies = vec![self.remedy(ahead.0, ahead.1, None, 0.0)];
        let rtt = self.subject.finished.told_rtt().unwrap_or_default();
        if let Some((_, wait)) = awaits(self.subject)
            && rtt > Span::ZERO
            && wait >= rtt * SLOW_ANSWER
        {
            let action = sentence!(
                "look at what its program does for {wait} before {}: the path takes {rtt} of it",
                if self.subject.asks() == Some(true) {
                    "it asks for more"
                } else {
                    "its message comes"
                },
            );
            // The path's own part of it is left. A hundredth of the time tells no rate.
            let left = rtt.share_of(wait);
            remedies.push(if left >= MIN_LEFT {
                let value = Some((rtt.as_seconds(), Unit::Seconds));
                self.remedy(Side::Receiver, action, value, left)
            } else {
                advice(Side::Receiver, action)
            });
        }
        remedies
    }

    fn small_segments(&self) -> Vec<Remedy> {
        let counts = &self.subject.finished.counts;
        let average = counts.bytes / counts.segments.max(1);
        let size = self.subject.finished.segment_size;
        vec![self.remedy(
            Side::Sender,
            sentence!(
                "write larger pieces (64 KiB at a time), or leave TCP_NODELAY off, so that each \
                 segment carries {}",
                self.subject.segment()
            ),
            Some((65_536.0, Unit::Bytes)),
            average as f64 / size as f64,
        )]
    }

    fn nagle(&self) -> Vec<Remedy> {
        vec![
            self.remedy(
                Side::Sender,
                "write each message with one call, or set TCP_NODELAY",
                None,
                0.0,
            ),
            self.remedy(
                Side::Receiver,
                "acknowledge small segments at once (TCP_QUICKACK)",
                NO_TIME,
                0.0,
            ),
        ]
    }
}
