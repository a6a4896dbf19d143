//! A window that the receiver keeps closed.

use windlass_base::thresholds::{
    BEYOND_JITTER, BUSY_HOST, FIRST_PROBE, MOMENT, MOST_OF_IT, ONE_IN_HUNDRED, PROBE_BACK_OFF,
    SHORTEST_TIME,
};
use windlass_base::{Span, Timestamp};
use windlass_macros::Packed;

use crate::follow::ledger::WaitKind;

/// ACK latencies, from the data on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AckLatencies {
    /// Least latency; none before the first.
    pub(crate) soonest: Option<Span>,
    /// Greatest latency.
    pub(crate) latest: Option<Span>,
}

/// A closed window, from the ACK that closed it.
#[derive(Clone, Copy, Debug, Packed)]
pub(crate) struct Closure {
    since: Timestamp,
    probes: u32,
    /// Time of the last probe, or of the closing; and the wait until then.
    asked: Timestamp,
    waited: Span,
    /// Time over which its sender should have asked, and did not.
    unasked: Span,
    /// Last probe without an answer so far.
    last_probe: Option<Timestamp>,
    /// True if the probe carried data that fits into the window, and not a byte beyond it. The
    /// receiver may then take its time for the ACK, as with all data.
    is_data: bool,
    /// True if the receiver offers as much as before, though all of that came: its program reads,
    /// and the sender waits for more than there is.
    pub(crate) is_offered: bool,
    /// The last packet that belongs to it.
    pub(crate) last: (Timestamp, u64),
}

impl Closure {
    pub(crate) fn new(time: Timestamp, number: u64) -> Self {
        Self {
            since: time,
            probes: 0,
            asked: time,
            waited: Span::ZERO,
            unasked: Span::ZERO,
            last_probe: None,
            is_data: false,
            is_offered: false,
            last: (time, number),
        }
    }

    /// Returns this closure for a window that is open, and that its sender does not use.
    pub(crate) const fn offered(self) -> Self {
        Self { is_offered: true, ..self }
    }

    /// Takes a smaller offer of the receiver: the window is closing.
    pub(crate) const fn shrinks(&mut self) {
        self.is_offered = false;
    }

    /// Counts a probe, and returns the number of probes so far.
    pub(crate) fn probe(&mut self, time: Timestamp, number: u64) -> u32 {
        self.probes += 1;
        self.unasked = self.unasked(time);
        (self.waited, self.asked) = (time.since(self.asked), time);
        (self.last_probe, self.is_data) = (Some(time), false);
        self.last = (time, number);
        self.probes
    }

    /// Takes a segment that fills the rest of the window, and so asks as a probe does.
    pub(crate) fn fill(&mut self, time: Timestamp, number: u64) {
        self.probe(time, number);
        self.is_data = true;
    }

    /// Takes a packet that leaves the window closed.
    pub(crate) fn goes_on(&mut self, time: Timestamp, number: u64) {
        self.last = (time.max(self.last.0), number);
    }

    pub(crate) fn since(&self, time: Timestamp) -> Span {
        time.since(self.since).or_zero()
    }

    /// Returns whether an ACK at `time` answers the last probe: it comes within two round trips, or
    /// within 10 ms on a shorter path. If the probe was data, the ACK may come as late as the
    /// receiver's ACKs of data, of which the latest took `latest`. An ACK that comes sooner than
    /// the soonest ACK of data was probably on its way before: beside the receiver, ACKs of data
    /// come at once.
    pub(crate) fn answers_probe(
        &self,
        time: Timestamp,
        rtt: Option<Span>,
        AckLatencies { soonest, latest }: AckLatencies,
    ) -> bool {
        let rtt = rtt.unwrap_or_default();
        let of_data =
            latest.filter(|_| self.is_data).unwrap_or_default().scaled(BEYOND_JITTER.get());
        let soon = (rtt * 2).max(BUSY_HOST.get()).max(of_data);
        let soonest = soonest.map_or(rtt, |soonest| soonest.min(rtt)).scaled(MOST_OF_IT.get());
        self.last_probe.is_some_and(|probe| {
            let after = time.since(probe);
            let is_short = rtt <= SHORTEST_TIME.get()
                && soonest * ONE_IN_HUNDRED.to::<i64>() < self.since(probe);
            let too_soon = after < soonest && !is_short;
            after >= Span::ZERO && !too_soon && after <= soon
        })
    }

    /// Returns whether an ACK at `time` may answer the last probe, if the path takes longer than
    /// known: as long as the soonest ACK of data.
    pub(crate) fn may_answer_probe(&self, time: Timestamp, soonest: Option<Span>) -> bool {
        let soon = soonest.unwrap_or_default() * 2;
        self.last_probe.is_some_and(|probe| time.since(probe) <= soon)
    }

    /// Takes an ACK that leaves the window closed. Returns whether it answers a probe.
    pub(crate) fn stays(
        &mut self,
        time: Timestamp,
        number: u64,
        rtt: Option<Span>,
        latencies: AckLatencies,
    ) -> bool {
        let answers = self.answers_probe(time, rtt, latencies);
        if answers {
            // The window opens without a probe from now on.
            self.last_probe = None;
        }
        self.goes_on(time, number);
        answers
    }

    /// Returns the time over which its sender should have asked again, and did not.
    pub(crate) fn unasked(&self, until: Timestamp) -> Span {
        let silence = until.since(self.asked);
        let late = silence >= FIRST_PROBE.get().max(self.waited * PROBE_BACK_OFF.get());
        self.unasked + if late { silence } else { Span::ZERO }
    }

    /// Returns the kind of a closed time after its end.
    pub(crate) fn end(&self, time: Timestamp, when_probed: bool) -> WaitKind {
        if self.is_offered {
            WaitKind::Window
        } else if when_probed {
            WaitKind::NoUpdate
        } else if self.probes > 0 || self.since(time) >= MOMENT.get() {
            WaitKind::NotReading
        } else {
            WaitKind::OpensLate
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: AckLatencies = AckLatencies { soonest: None, latest: None };

    fn latest(millis: i64) -> AckLatencies {
        AckLatencies { latest: Some(Span::from_millis(millis)), ..NONE }
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn the_opening_tells_why_the_window_was_closed() {
        let mut closure = Closure::new(at(0), 1);
        assert_eq!(closure.end(at(2), false), WaitKind::OpensLate);
        assert_eq!(closure.end(at(2_000), false), WaitKind::NotReading);
        closure.probe(at(200), 2);
        let rtt = Some(Span::from_millis(4));
        assert!(!closure.answers_probe(at(202), rtt, NONE));
        assert!(closure.answers_probe(at(204), rtt, NONE));
        assert!(!closure.answers_probe(at(300), rtt, latest(100)));
        assert_eq!(closure.end(at(204), true), WaitKind::NoUpdate);
        assert!(closure.stays(at(204), 3, rtt, NONE));
        assert!(!closure.answers_probe(at(205), rtt, NONE));
    }

    #[test]
    fn a_sender_asks_after_twice_as_long_again() {
        let mut closure = Closure::new(at(0), 1);
        for (number, millis) in [(2, 1_000), (3, 3_000), (4, 7_000), (5, 15_000)] {
            closure.probe(at(millis), number);
        }
        assert_eq!(closure.unasked(at(31_000)), Span::ZERO);
        assert_eq!(closure.unasked(at(45_000)), Span::from_millis(30_000));
        closure.probe(at(45_000), 6);
        assert_eq!(closure.unasked(at(45_010)), Span::from_millis(30_000));
        assert_eq!(Closure::new(at(0), 1).unasked(at(1_900)), Span::ZERO);
    }

    #[test]
    fn on_a_short_path_an_answer_comes_sooner_than_that_of_data() {
        let micros = |micros: i64| Timestamp::from_nanos(micros * 1_000);
        let mut closure = Closure::new(micros(0), 1);
        closure.probe(micros(208_000), 2);
        // 40 bytes take a line of 100 Mbit/s 3 µs, a segment of 640 takes 51.
        assert!(closure.answers_probe(micros(208_035), Some(Span::from_micros(125)), NONE));
        // On a path of 10 ms that was no answer.
        assert!(!closure.answers_probe(micros(208_035), Some(Span::from_millis(10)), NONE));
    }

    #[test]
    fn data_that_fills_the_window_is_answered_as_late_as_data_is() {
        let mut closure = Closure::new(at(0), 1);
        closure.fill(at(300), 2);
        let (rtt, latest) = (Some(Span::from_millis(4)), latest(100));
        assert!(!closure.answers_probe(at(405), rtt, NONE));
        assert!(closure.answers_probe(at(405), rtt, latest));
        assert!(!closure.answers_probe(at(450), rtt, latest));
        assert!(!closure.answers_probe(at(302), rtt, latest));
    }

    #[test]
    fn beside_the_receiver_an_answer_comes_at_once() {
        let mut closure = Closure::new(at(0), 1);
        closure.probe(at(300), 2);
        // The path takes 20 ms; the receiver's own ACKs take none of it here.
        let rtt = Some(Span::from_millis(20));
        let soonest = Some(Span::from_micros(50));
        let answer = at(300) + Span::from_micros(60);
        assert!(closure.answers_probe(answer, rtt, AckLatencies { soonest, ..NONE }));
        assert!(!closure.answers_probe(answer, rtt, NONE));
    }
}
