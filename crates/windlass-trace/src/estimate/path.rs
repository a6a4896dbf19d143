//! Path RTT from several sources, each with its doubt.
//!
//! A capture divides the path in two. The part to the receiver shows in the time
//! from data to its ACK, the part to the sender (the *turn*) in the time from an
//! ACK to the data that it lets go. A handshake tells both once, and may be wrong:
//! its third packet came late, or another host answered. So whatever proves that a
//! turn took no longer than something lowers it.

use windlass_base::thresholds::{
    A_QUARTER, A_TENTH, BEYOND_JITTER, HALF_OF_IT, LEAST_DISTANCE, MANY, SEVERAL, SHORTEST_TIME,
};
use windlass_base::{Span, Timestamp};
use windlass_macros::Packed;

use crate::estimate::split_tcp::{Answers, SplitTcp, is_soon};

/// Number of last bursts that count.
const RECENT: usize = 5;

/// Promptness of replies, to data or to ACKs, compared with the first ones.
#[derive(Clone, Copy, Debug, Default, Packed)]
pub(crate) struct Promptness {
    first: Option<Timestamp>,
    last_quick: Option<Timestamp>,
    last: Option<Timestamp>,
    /// Number of fast replies.
    quick: u32,
    /// Number of slow replies since the last fast one.
    late: u32,
}

impl Promptness {
    /// Takes an answer at this time, which took so long; the path's own part is `least`.
    pub(crate) fn took(&mut self, time: Timestamp, answer: Span, least: Span) {
        self.first = self.first.or(Some(time));
        self.last = Some(time);
        if answer <= least.scaled(BEYOND_JITTER.get()) + SHORTEST_TIME.get() {
            (self.last_quick, self.late) = (Some(time), 0);
            self.quick = self.quick.saturating_add(1);
        } else {
            self.late = self.late.saturating_add(1);
        }
    }

    /// Returns whether some answers were quick at first, and none since early on. A habitually slow
    /// host is slow from the first.
    pub(crate) fn became_slower(&self) -> bool {
        let Some((first, last)) = self.first.zip(self.last) else { return false };
        let quick = self.last_quick.unwrap_or(first).since(first);
        self.quick >= SEVERAL.to::<u32>()
            && self.late >= MANY.to::<u32>()
            && quick < last.since(first).scaled(A_QUARTER.get())
    }
}

/// The path of one direction's data.
#[derive(Clone, Debug, Default, Packed)]
pub(crate) struct Path {
    /// Whole round trip: the handshake's, or the least of all evidence.
    pub(crate) rtt: Option<Span>,
    /// From the capture to the receiver and back, by the handshake.
    pub(crate) opening: Option<Span>,
    /// From the capture to the sender and back, by the handshake.
    opened: Span,
    /// From the capture to the sender and back, by the handshake or by a later bound. Zero at the
    /// sender.
    bounded: Span,
    /// Present turn: the time of an ACK from the capture to the sender, and of the sender's answer
    /// back. The last bursts have it in common, if that is shorter. Zero if the capture was taken
    /// at the sender.
    pub(crate) turn: Span,
    /// The two least bounds of the turn. The second one holds: a packet that was
    /// captured out of order would prove anything once.
    bounds: [Option<Span>; 2],
    /// The last waits from an ACK to the burst that may answer it.
    recent: Vec<Span>,
    /// ACK latency of the receiver.
    answers: Answers,
}

impl Path {
    /// Returns the path by its handshake: the whole round trip, the receiver's part, and the
    /// sender's.
    pub(crate) fn opened(rtt: Option<Span>, opening: Option<Span>, turn: Option<Span>) -> Self {
        let turn = turn.filter(|_| rtt.is_some()).unwrap_or_default();
        let mut path = Self { rtt, opening, opened: turn, bounded: turn, ..Self::default() };
        path.settle();
        path
    }

    /// Returns the turn that the last bursts have in common.
    fn usual(&self) -> Option<Span> {
        let mut recent = <[Span; RECENT]>::try_from(self.recent.as_slice()).ok()?;
        recent.sort_unstable();
        let [_, low, middle, high, _] = recent;
        (high - low <= middle.scaled(A_TENTH.get())).then_some(middle)
    }

    /// Returns the least time in which an ACK is answered.
    pub(crate) fn soonest(&self) -> Span {
        self.recent.iter().copied().min().unwrap_or(self.bounded).min(self.bounded)
    }

    /// Returns the longest turn that the evidence allows.
    pub(crate) const fn longest_turn(&self) -> Span {
        self.bounded
    }

    /// Returns the time beyond the usual turn within which an ACK's answer may come. The limit is
    /// the handshake's time, or a quarter more than the quickest answer that disproved it.
    pub(crate) fn slack(&self) -> Span {
        if self.bounded == Span::ZERO {
            return Span::ZERO;
        }
        let latest = self.opened.min(self.bounded.scaled(BEYOND_JITTER.get())).max(self.bounded);
        latest - self.turn
    }

    /// Returns the split of the connection, if something else acknowledges for the receiver.
    pub(crate) fn split(&self) -> Option<SplitTcp> {
        let soonest = self.answers.soonest_of_another()?;
        Some(SplitTcp { opening: self.opening?, soonest })
    }

    /// Returns whether something else may acknowledge for the receiver.
    pub(crate) const fn may_be_split(&self) -> bool {
        self.answers.may_be_of_another()
    }

    /// Returns whether its round trip rests on a few ACKs that came far sooner than the opening and
    /// most others.
    pub(crate) const fn is_of_few(&self) -> bool {
        self.answers.are_few_soon()
    }

    /// Takes the time from data to its ACK, as captured.
    pub(crate) fn answered(&mut self, latency: Span) {
        if let Some(opening) = self.opening {
            self.answers.heard(latency, opening);
        }
        self.reconsider(latency);
        let rtt = latency + self.bounded;
        if latency > Span::ZERO && self.rtt.is_none_or(|path| rtt < path) {
            self.rtt = Some(rtt);
        }
    }

    /// Counts the sender's time in the handshake as a part of the path, once ACKs come sooner than
    /// that. No host alone takes so long: the receiver had been slow to open.
    fn reconsider(&mut self, latency: Span) {
        let is_sooner = |span: Span| span > Span::ZERO && span < self.opened;
        if self.bounded == Span::ZERO
            && self.opened >= SHORTEST_TIME.get()
            && self.bounds[0].is_none()
            && is_sooner(latency)
            && let Some(rtt) = self.rtt.filter(|rtt| is_sooner(*rtt))
        {
            self.bounded = self.opened;
            self.rtt = Some(rtt + self.opened);
            self.settle();
        }
    }

    /// Takes an ACK by the sender, which came this long after the other side's data was captured.
    /// If that is far sooner than its handshake, something else on the way sent the ACK: the
    /// translator of a virtual machine, a proxy.
    pub(crate) fn acknowledged(&mut self, turn: Span) {
        if !is_soon(turn, self.opened) {
            self.bound(turn);
        }
    }

    /// Takes proof that a turn took no longer than this: data for which a captured ACK made room,
    /// or an ACK that the sender gave.
    pub(crate) fn bound(&mut self, turn: Span) {
        if self.bounded <= turn {
            return;
        }
        let [least, second] = &mut self.bounds;
        let turn = match *least {
            None => return *least = Some(turn),
            Some(known) if turn < known => {
                *least = Some(turn);
                known
            }
            Some(_) => turn,
        };
        if second.is_some_and(|second| second <= turn) {
            return;
        }
        *second = Some(turn);
        let turn = turn.or_zero();
        if let Some(rtt) = self.rtt {
            self.rtt = Some((rtt - (self.bounded - turn)).max(Span::from_nanos(1)));
        }
        self.bounded = turn;
        self.recent.clear();
        self.settle();
    }

    /// Takes proof that the turn takes at least this time, and the receiver as long as `latency`.
    pub(crate) fn is_no_less(&mut self, turn: Span, latency: Span) {
        if self.turn > Span::ZERO {
            self.turn = self.turn.max(turn);
            self.rtt = self.rtt.map(|rtt| rtt.max(self.turn + latency));
        }
    }

    /// Returns whether data that comes so long after an ACK may answer it.
    pub(crate) fn may_answer(&self, wait: Span) -> bool {
        wait >= self.bounded.scaled(HALF_OF_IT.get())
    }

    /// Takes a burst that began so long after an ACK that it may answer the ACK. Returns whether it
    /// does, as far as the length of a turn tells.
    pub(crate) fn burst(&mut self, wait: Span) -> bool {
        let answers = self.may_answer(wait) && wait <= self.bounded;
        if answers && self.bounded > Span::ZERO {
            if self.recent.len() == RECENT {
                self.recent.remove(0);
            }
            self.recent.push(wait);
            self.turn = self.usual().map_or(self.bounded, |usual| usual.min(self.bounded));
        }
        answers
    }

    /// Sets the turn. If the rest of it is the sender's own time, the capture was taken at the
    /// sender.
    fn settle(&mut self) {
        let counts = self.bounded >= LEAST_DISTANCE.get()
            && self.rtt.is_some_and(|rtt| self.bounded.share_of(rtt) >= A_TENTH.get());
        if !counts {
            self.bounded = Span::ZERO;
            self.recent.clear();
        }
        self.turn = self.usual().map_or(self.bounded, |usual| usual.min(self.bounded));
    }
}
