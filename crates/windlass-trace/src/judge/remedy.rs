//! Changes to make, on which side, and the rate to expect.
//!
//! The rate to expect follows Amdahl (1967): the time of the limit shrinks by a factor that its law
//! gives, and all other time stays. The rate is no more than slow start allows, nor than the
//! capture shows of the path. A change that would bring less than a tenth is no remedy.
use windlass_base::thresholds::{A_TENTH, A_TENTH_MORE, BEYOND_JITTER, ENOUGH, TIME_LEFT};
use windlass_base::tuning::{Instructions, Tuning};
use windlass_base::verdict::{Bound, Remedy, Side, Unit};
use windlass_base::{Bytes, Cause, Limit, Rate, Sentence, Span, laws, sentence, whole_part};

use super::bounds::Bounds;
use super::case::Case;
use super::law::usable_window;
use crate::estimate::active_rates::ActiveRates;
use crate::follow::flow::INITIAL_WINDOW;
use crate::follow::windows::{MOST_SCALE, UNSCALED};

/// The limit to remove: a wait, a loss.
pub(crate) const NO_TIME: Option<(f64, Unit)> = Some((0.0, Unit::Seconds));
pub(crate) const NO_LOSS: Option<(f64, Unit)> = Some((0.0, Unit::Share));

/// Form of this change for `--what-if`.
pub const WITHOUT_LOSS: &str = "loss=0";

/// Returns the remedies that are worth it.
pub(crate) fn worth(case: &Case<'_>, mut remedies: Vec<Remedy>) -> Vec<Remedy> {
    let least = case.measured().bytes_per_second() * A_TENTH_MORE.get();
    remedies.retain(|remedy| {
        let expected = remedy.expected_bytes_per_second;
        expected.is_none_or(|rate| rate.bytes_per_second() >= least)
    });
    remedies
}

/// Returns advice whose effect no law predicts.
pub(crate) fn advice(side: Side, action: impl Into<Sentence>) -> Remedy {
    let action = action.into();
    Remedy {
        side,
        action,
        how: Instructions::default(),
        value: None,
        unit: None,
        what_if: None,
        expected_bytes_per_second: None,
        at_most_bytes_per_second: None,
        at_most_by: None,
        then: None,
        second: None,
    }
}

/// Input of advice.
pub(crate) struct Advice<'a> {
    pub(crate) case: &'a Case<'a>,
    pub(crate) cause: Cause,
    pub(crate) next: Option<Limit>,
}

impl Advice<'_> {
    /// Returns whether nothing shows that the line carries as much. Round trips of data may be the
    /// path's own, and longer than the handshake's. Then a line may need the rest for the flight,
    /// and be as slow as that. A faster line looks the same.
    fn is_beyond_line(&self, rate: Rate) -> bool {
        let facts = self.case.facts;
        if facts.data_line().is_some() || facts.service().is_some() {
            return false;
        }
        let held = match self.cause {
            Cause::WindowPathRtt => self.case.window(),
            Cause::BufferPathRtt => Some(self.case.plateau()),
            _ => None,
        };
        self.case.line_of_round_trips(held).is_some_and(|(line, share)| {
            share >= A_TENTH.get()
                && rate.bytes_per_second()
                    > line.max(self.case.measured()).bytes_per_second() * A_TENTH_MORE.get()
        })
    }

    /// Returns the rate when the limit's time shrinks to `factor` of itself. No remedy makes a
    /// transfer faster than slow start, the path, or the window allows.
    pub(crate) fn rate(&self, factor: f64) -> Rate {
        let bounds = [self.case.shown(), self.by_window_that_stayed()];
        bounds.into_iter().flatten().fold(self.rate_on_any_path(factor), Rate::min)
    }

    /// Returns the rate of the receiver's largest window, once in each round trip. Without the
    /// handshake the window scale is unknown.
    fn by_window(&self) -> Option<Rate> {
        let facts = self.case.facts;
        facts.opening.handshake.offers[1 - facts.opening.direction]?;
        Some(laws::window_rate(Bytes::new(facts.window.most), facts.path.told_rtt?))
    }

    /// Returns the rate of the receiver's window, if another limit is removed and the window stayed
    /// as it was in the handshake.
    fn by_window_that_stayed(&self) -> Option<Rate> {
        let facts = self.case.facts;
        if matches!(self.cause.limit(), Limit::ReceiverWindow | Limit::ZeroWindow) {
            return None;
        }
        let window = Bytes::new(facts.window.most);
        let first = facts.opening.handshake.offers[1 - facts.opening.direction]?.first_window_bytes;
        // A scaled window is rounded.
        let stayed = window <= first + Bytes::new(1 << facts.window.scale.shift().min(14));
        let had_time = self.case.bytes().get() / window.get().max(1) >= ENOUGH.get();
        let rate = self.by_window()?.max(self.case.measured());
        (stayed && had_time).then_some(rate)
    }

    pub(crate) fn rate_on_any_path(&self, factor: f64) -> Rate {
        let held = self.held();
        let rest = self.case.total() - held + held.scaled(factor.clamp(0.0, 1.0));
        let rate = self.case.bytes().per(rest);
        if rest <= Span::ZERO {
            // Nothing else took time, so nothing but slow start tells the rest.
            return self.fastest().unwrap_or(rate);
        }
        self.fastest().map_or(rate, |fastest| rate.min(fastest))
    }

    /// Returns the rate that slow start allows; never less than the measured rate.
    fn fastest(&self) -> Option<Rate> {
        let facts = self.case.facts;
        let (rtt, bytes) = (facts.path.told_rtt?, self.case.bytes());
        if facts.sent.initial_flight == 0 || rtt <= Span::ZERO {
            return None;
        }
        // Ten full segments are sent first, whatever small ones were.
        let full = match self.cause {
            Cause::SmallSegments => INITIAL_WINDOW * facts.window.segment,
            _ => 0,
        };
        let initial = Bytes::new(facts.sent.initial_flight.max(full));
        let fastest = bytes.per(laws::slow_start_time(bytes, initial, 2.0, rtt));
        Some(fastest.max(self.case.measured()))
    }

    /// Returns the rate that the receiver's window, slow start and the visible path allow.
    pub(crate) fn most(&self) -> Option<Bound> {
        Some(Bounds::of(self.case)?.most(None, 1))
    }

    /// Makes a bound of what a remedy promises.
    pub(crate) fn bound(&self, remedy: &mut Remedy) {
        promise(remedy, self.most());
    }

    /// Makes a bound of what a remedy promises, where the rest may become faster as well: what is
    /// left of the time is an estimate only where no law allows much more.
    pub(crate) fn bracket(&self, remedy: &mut Remedy) {
        let Some(least) = remedy.expected_bytes_per_second else { return };
        match self.most() {
            Some(most)
                if most.rate.bytes_per_second()
                    > least.bytes_per_second() * BEYOND_JITTER.get() =>
            {
                remedy.promise_at_most(most);
            }
            Some(_) => {}
            None => remedy.promise_nothing(),
        }
    }

    /// Makes a bound of what is left without a program's pauses, unless a window or a line holds
    /// the rest: these stay as they are. What the program's own writes hold goes with its pauses; a
    /// congestion window may begin anew after a pause, and losses come to other data. The rate of a
    /// transfer so short that a round trip more is a tenth of it is a bound, too.
    pub(crate) fn bracket_pauses(&self, remedy: &mut Remedy) {
        match self.next {
            _ if self.is_of_few_round_trips(remedy) => self.bound(remedy),
            // A rate that only the capture's own pace limits is no estimate of a faster transfer.
            Some(Limit::PathCapacity) if self.is_capped(remedy) => self.bracket(remedy),
            Some(Limit::ReceiverWindow | Limit::ZeroWindow | Limit::PathCapacity) => {}
            Some(Limit::SendBuffer | Limit::NagleDelayedAck | Limit::SmallSegments) => {
                self.bound(remedy);
            }
            _ => self.bracket(remedy),
        }
    }

    /// Returns whether the transfer of an estimate takes few round trips.
    fn is_of_few_round_trips(&self, remedy: &Remedy) -> bool {
        let Some(rate) = remedy.expected_bytes_per_second else { return false };
        let time = rate.time_for(self.case.bytes());
        let rtt = self.case.facts.path.told_rtt.unwrap_or_default();
        time + rtt > time.scaled(A_TENTH_MORE.get())
    }

    /// Returns whether an estimate is as fast as the capture shows the path, or clearly below what
    /// the rest of the time allows.
    fn is_capped(&self, remedy: &Remedy) -> bool {
        let Some(rate) = remedy.expected_bytes_per_second else { return false };
        let rest = self.rate(0.0).bytes_per_second();
        let is_below_rest = rest > rate.bytes_per_second() * BEYOND_JITTER.get();
        is_below_rest || self.case.shown().is_some_and(|shown| rate >= shown)
    }

    /// Makes a bound of an estimate that holds only for one of two causes.
    pub(crate) fn doubt(&self, remedy: &mut Remedy) {
        let Some(rate) = remedy.expected_bytes_per_second else { return };
        let bounds = Bounds::of(self.case).map(Bounds::without_path);
        let most = match remedy.side {
            Side::Path => Some(Bound::from(rate)),
            _ => bounds.map(|bounds| bounds.most(window_of(remedy), 1)),
        };
        promise(remedy, most);
    }

    pub(crate) fn held(&self) -> Span {
        self.case.time_of_limit(self.cause.limit())
    }

    /// The limit that holds next, when this one's time shrinks to `factor`.
    fn then(&self, factor: f64) -> Option<Limit> {
        if self.fastest().is_some_and(|fastest| self.rate(factor) == fastest) {
            return Some(Limit::CongestionWindow);
        }
        let left = self.held().scaled(factor.clamp(0.0, 1.0));
        let next = self.next.map_or(Span::ZERO, |next| self.case.time_of_limit(next));
        if left > next { Some(self.cause.limit()) } else { self.next }
    }

    pub(crate) fn remedy(
        &self,
        side: Side,
        action: impl Into<Sentence>,
        value: Option<(f64, Unit)>,
        factor: f64,
    ) -> Remedy {
        let rate = self.rate(factor);
        let mut action = action.into();
        let is_beyond_line = self.is_beyond_line(rate);
        if is_beyond_line {
            action = sentence!("{action}; the capture does not show the rate of the link");
        }
        let is_told = rate > Rate::ZERO && self.leaves_enough(factor);
        let mut remedy = Remedy {
            value: value.map(|(value, _)| value),
            unit: value.map(|(_, unit)| unit),
            expected_bytes_per_second: is_told.then_some(rate),
            then: self.then(factor),
            ..advice(side, action)
        };
        if is_beyond_line || !self.case.is_carried(rate) {
            let bounds = Bounds::of(self.case);
            let most = bounds.map(|bounds| bounds.most(window_of(&remedy), 1));
            promise(&mut remedy, most);
        }
        remedy
    }

    /// Returns whether the rate without the limit's time can be told: by its law, or by
    /// what is left of the transfer, if that is 1 % of its time or more.
    pub(crate) fn leaves_enough(&self, factor: f64) -> bool {
        let rest = self.case.total() - self.held();
        factor > 0.0 || rest.share_of(self.case.total()) >= TIME_LEFT.get()
    }

    /// Returns the share of the wait that is left without the receiver's latency.
    fn without_own_latency(&self) -> Option<f64> {
        let (path, cycle) = (self.case.facts.path.told_rtt?, self.case.cycle()?);
        (cycle > Span::ZERO).then(|| path.share_of(cycle))
    }

    /// A larger window: the largest without scaling, or four times what there
    /// is.
    pub(crate) fn larger_window(&self) -> Remedy {
        let most = self.case.facts.counts.flight_most;
        let window = usable_window(self.case).map_or(most, Bytes::get).max(1);
        let shift = self.case.facts.window.scale.shift();
        let scaled = shift > 0;
        let larger = laws::larger(Bytes::new(window)).get();
        let (value, how) = if window * 2 <= UNSCALED && !scaled {
            (UNSCALED, "the largest without window scaling".into())
        } else if scaled && larger <= UNSCALED << shift.min(MOST_SCALE) {
            (larger, "four times as much".into())
        } else if scaled {
            let needed = (0..MOST_SCALE).find(|shift| larger <= UNSCALED << shift);
            let needed = needed.unwrap_or(MOST_SCALE);
            (larger, sentence!("which needs a window scale of {needed}; it chose {shift}"))
        } else {
            (larger, "which needs the window scale option".into())
        };
        let larger = self.remedy(
            Side::Receiver,
            sentence!("offer a larger receive window: {}, {how}", Bytes::new(value)),
            Some((value as f64, Unit::Bytes)),
            window as f64 / value as f64,
        );
        Remedy { what_if: Some(format!("window={value}")), ..larger.set_by(Tuning::ReceiveWindow) }
    }

    pub(crate) fn ack_at_once(&self) -> Option<Remedy> {
        let path = self.case.facts.path.told_rtt?;
        let factor = self.without_own_latency()?;
        let mut at_once = self.remedy(
            Side::Receiver,
            sentence!(
                "acknowledge when data arrives, at the latest every second segment: the path \
                 itself takes {path}"
            ),
            Some((path.as_seconds(), Unit::Seconds)),
            factor,
        );
        // Something nearer may have sent those few.
        if self.case.facts.path.rtt_of_few {
            at_once.promise_nothing();
        } else {
            at_once.what_if = Some("ack-latency=0".to_owned());
        }
        Some(at_once.set_by(Tuning::PromptAcks))
    }

    /// Several connections; `end` says where.
    pub(crate) fn streams(&self, end: &'static str) -> Remedy {
        const STREAMS: u32 = 4;
        let more = self.remedy(
            Side::Sender,
            sentence!("send over {STREAMS} connections at once{end}"),
            Some((f64::from(STREAMS), Unit::Count)),
            1.0 / f64::from(STREAMS),
        );
        Remedy { what_if: Some(format!("streams={STREAMS}")), ..more.set_by(Tuning::Streams) }
    }

    pub(crate) fn larger_buffer(&self) -> Remedy {
        let window = self.case.facts.window.most;
        let held = self.case.plateau().get().max(1);
        let capped = laws::send_buffer_for(Bytes::new(window), Bytes::new(held)).get();
        let larger = self.remedy(
            Side::Sender,
            sentence!(
                "raise the send buffer to the receiver's window: SO_SNDBUF of at least {} (or \
                 leave it unset, so that the system sizes it)",
                Bytes::new(capped)
            ),
            Some((capped as f64, Unit::Bytes)),
            held as f64 / capped as f64 * self.wait_left(capped),
        );
        Remedy {
            what_if: Some(format!("send-buffer={capped}")),
            ..larger.set_by(Tuning::SendBuffer)
        }
    }

    /// The share of each wait that is left once the buffer holds so much. Where
    /// that is the whole window, the ACK comes as soon as the window is taken, and
    /// only the path's round trip is left.
    fn wait_left(&self, buffer: u64) -> f64 {
        let facts = self.case.facts;
        match (facts.path.told_rtt, self.case.cycle()) {
            (Some(rtt), Some(cycle))
                if self.cause == Cause::BufferDelayedAck && buffer >= facts.window.most =>
            {
                rtt.share_of(cycle)
            }
            _ => 1.0,
        }
    }

    /// Returns the remedy against silly windows, if small offers are one in eight segments or more.
    pub(crate) fn no_silly_windows(&self) -> Option<Remedy> {
        let (count, size, _) = self.case.silly()?;
        (count * 8 >= self.case.facts.counts.segments).then(|| {
            let action = sentence!(
                "open the window only by a full segment or half the buffer (RFC 9293 section \
                 3.8.6.2.2): now it opens by {size} at a time, and each piece is a segment of its \
                 own"
            );
            advice(Side::Receiver, action)
        })
    }
}

/// Makes a bound of what a remedy promises; without one it promises nothing.
fn promise(remedy: &mut Remedy, most: Option<Bound>) {
    match most {
        Some(most) => remedy.promise_at_most(most),
        None => remedy.promise_nothing(),
    }
}

/// Returns the receive window that a remedy asks for.
fn window_of(remedy: &Remedy) -> Option<Bytes> {
    let is_window = remedy.side == Side::Receiver && remedy.unit == Some(Unit::Bytes);
    remedy.value.filter(|_| is_window).map(|bytes| Bytes::new(whole_part(bytes)))
}

/// Without its pauses a transfer is as fast as its data was acknowledged and read while there was
/// some: in a pause the path and the receiver catch up. The programs' other waits stay.
pub(crate) fn keep_to_pace(remedy: &mut Remedy, it: &Advice<'_>) {
    let ActiveRates { acked, read } = it.case.facts.line.moving;
    let pace = [acked, read].into_iter().flatten().reduce(Rate::min);
    let promised = remedy.expected_bytes_per_second.or(remedy.at_most_bytes_per_second);
    let Some((_, pace)) = promised.zip(pace) else { return };
    if pace.bytes_per_second() < it.case.measured().bytes_per_second() * A_TENTH_MORE.get() {
        // Something else was as slow meanwhile, or the little that was seen of it.
        remedy.promise_nothing();
    } else {
        let of_programs = it.case.time_of_limit(Limit::Application)
            + it.case.time_of_limit(Limit::NagleDelayedAck);
        let kept = (of_programs - it.case.time_of(it.cause)).or_zero();
        let at_pace = pace.time_for(it.case.bytes()) + kept;
        remedy.set_expected(it.rate(0.0).min(it.case.bytes().per(at_pace)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::fixture::{OrdinaryTransfer, TIME};

    #[test]
    fn what_holds_the_rest_stays_without_pauses() {
        let is_estimate = |next| {
            let mut transfer = OrdinaryTransfer::new();
            transfer.cause = Cause::SenderIdle;
            // The path was seen to carry any rate.
            transfer.facts.line.capacity = Some(Rate::from_bytes_per_second(1e12));
            transfer.tally.total = TIME * 2;
            transfer.charge(Cause::SenderIdle, TIME);
            let case = transfer.case();
            let it = Advice { case: &case, cause: Cause::SenderIdle, next };
            let mut remedy = it.remedy(Side::Sender, "do not pause", NO_TIME, 0.0);
            it.bracket_pauses(&mut remedy);
            remedy.expected_bytes_per_second.is_some()
        };
        for next in [Limit::ReceiverWindow, Limit::ZeroWindow, Limit::PathCapacity] {
            assert!(is_estimate(Some(next)), "{next}");
        }
        let others = [
            Limit::CongestionWindow,
            Limit::Loss,
            Limit::SendBuffer,
            Limit::NagleDelayedAck,
            Limit::SmallSegments,
        ];
        for next in [None].into_iter().chain(others.map(Some)) {
            assert!(!is_estimate(next), "{next:?}");
        }
    }
}
