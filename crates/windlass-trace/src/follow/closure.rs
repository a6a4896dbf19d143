//! A window that the receiver keeps closed.

use windlass_base::thresholds::{
    BEYOND_JITTER, BUSY_HOST, FIRST_PROBE, MOMENT, MOST_OF_IT, ONE_IN_HUNDRED, PROBE_BACK_OFF,
    SHORTEST_TIME,
};
use windlass_base::{Span, Timestamp};
use windlass_macros::Packed;

use crate::follow::ledger::WaitKind;

/// The latencies of ACKs of data, from their data on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AckLatencies {
    /// The soonest of them; none before the first.
    pub(crate) soonest: Option<Span>,
    /// The latest.
    pub(crate) latest: Option<Span>,
}

/// A closed window, from the ACK that closed it.
#[derive(Clone, Copy, Debug, Packed)]
pub(crate) struct Closure {
    since: Timestamp,
    probes: u32,
    /// The time when its sender asked last, or it closed; and how long it had waited then.
    asked: Timestamp,
    waited: Span,
    /// The time over which its sender should have asked, and did not.
    unasked: Span,
    /// The last probe that was not answered yet.
    last_probe: Option<Timestamp>,
    /// True if that carried data that fits, and not a byte beyond the window:
    /// the receiver may take its time for the ACK, as with all data.
    is_data: bool,
    /// True if the receiver offers what it offered before, though all of that came: its
    /// program reads, and it is the sender that waits for more than there is.
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

    /// The same for a window that is not closed, and that its sender does not use.
    pub(crate) const fn offered(self) -> Self {
        Self { is_offered: true, ..self }
    }

    /// The receiver offers less than before: that is a window that closes.
    pub(crate) const fn shrinks(&mut self) {
        self.is_offered = false;
    }

    /// A probe; gives how many there were.
    pub(crate) fn probe(&mut self, time: Timestamp, number: u64) -> u32 {
        self.probes += 1;
        self.unasked = self.unasked(time);
        (self.waited, self.asked) = (time.since(self.asked), time);
        (self.last_probe, self.is_data) = (Some(time), false);
        self.last = (time, number);
        self.probes
    }

    /// A segment that fills what is left of the window, and so asks as a probe
    /// does.
    pub(crate) fn fill(&mut self, time: Timestamp, number: u64) {
        self.probe(time, number);
        self.is_data = true;
    }

    /// A packet that leaves it closed.
    pub(crate) fn goes_on(&mut self, time: Timestamp, number: u64) {
        self.last = (time.max(self.last.0), number);
    }

    pub(crate) fn since(&self, time: Timestamp) -> Span {
        time.since(self.since).or_zero()
    }

    /// Returns whether an ACK at `time` answers the last probe: it comes within two
    /// round trips of it, and within 10 ms where the path is shorter. Where the
    /// probe was data, it may come as late as the receiver's ACKs of data do, of
    /// which the latest took `latest`. What comes sooner than the path allows was
    /// on its way before, where that is likely to happen: sooner than the soonest ACK of data,
    /// which beside the receiver comes at once.
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

    /// Returns whether an ACK at `time` may answer the last probe, where the path takes longer than
    /// it is known to: as long as the soonest ACK of data did.
    pub(crate) fn may_answer_probe(&self, time: Timestamp, soonest: Option<Span>) -> bool {
        let soon = soonest.unwrap_or_default() * 2;
        self.last_probe.is_some_and(|probe| time.since(probe) <= soon)
    }

    /// Takes an ACK that leaves it closed, and tells whether it answers a probe.
    pub(crate) fn stays(
        &mut self,
        time: Timestamp,
        number: u64,
        rtt: Option<Span>,
        latencies: AckLatencies,
    ) -> bool {
        let answers = self.answers_probe(time, rtt, latencies);
        if answers {
            // What opens the window now comes by itself.
            self.last_probe = None;
        }
        self.goes_on(time, number);
        answers
    }

    /// The time over which its sender should have asked again, and did not.
    pub(crate) fn unasked(&self, until: Timestamp) -> Span {
        let silence = until.since(self.asked);
        let late = silence >= FIRST_PROBE.get().max(self.waited * PROBE_BACK_OFF.get());
        self.unasked + if late { silence } else { Span::ZERO }
    }

    /// What the closed time was, once it has ended.
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
