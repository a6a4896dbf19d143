//! Detection of a sender's program that sets the pace of a transfer.
//!
//! A window or a send buffer releases data at an ACK: the sender departs one reaction time of its
//! host behind the ACK that made room. A program that writes by a clock departs whenever that clock
//! runs out: between two ACKs, as likely near the next one as near the last. It also has nothing
//! more to send before that. Its last segment ends a write, so that it is pushed (RFC 9293 section
//! 3.9.1.2) or short. Both signs are required. A host that is slow to react sends late as well, and
//! any segment may happen to be pushed, in some captures every one.

use windlass_base::thresholds::{ENOUGH, MORE_THAN_ONE, PACED_WAIT, PROGRAMS_SHARE};
use windlass_base::{Span, Timestamp};
use windlass_macros::Packed;

use crate::estimate::segment_size::has_short_end;

/// Segment of new data that leaves the sender after a wait with room in its window, and without a
/// message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    pub(crate) time: Timestamp,
    pub(crate) length: u64,
    /// A full segment.
    pub(crate) size: u64,
    /// Data in flight before it.
    pub(crate) flight: u64,
    /// Time since the last data.
    pub(crate) wait: Span,
    /// The last ACK of new data in that wait.
    pub(crate) acked: Option<Timestamp>,
    /// The path's round trip.
    pub(crate) rtt: Option<Span>,
    /// The longest reaction of a host and its own line to an ACK.
    pub(crate) reaction: Span,
}

/// The end of a write, as the last segment shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed)]
struct Tail {
    /// True if the segment is pushed or short, and the window did not cut it.
    ends_write: bool,
    is_short: bool,
}

/// Wait of the sender, as far as it is known.
#[derive(Clone, Copy, Debug, Packed)]
struct PaceWait {
    length: Span,
    /// Wait before it, if that ended with a single piece of less than a segment.
    before: Span,
    behind: Tail,
    /// True if the burst before it is no larger than a paced one.
    is_paced: bool,
}

/// Wait whose next ACK decides whether it ended at the ACK before.
#[derive(Clone, Copy, Debug, Packed)]
struct UndecidedWait {
    wait: PaceWait,
    acked: Timestamp,
    departed: Timestamp,
    reaction: Span,
}

/// Evidence for a program with a pace of its own, from a capture at the sender.
#[derive(Clone, Debug, Default, Packed)]
pub(crate) struct ProgramPace {
    /// Segments that the window did not cut; of these, segments that end a write, and short ones.
    segments: u64,
    tails: u64,
    short: u64,
    last: Tail,
    /// True if the window cut the segment, and holds the data behind it.
    is_cut: bool,
    /// The bytes since the last wait.
    burst: u64,
    /// Last wait, if only a piece of less than a segment ended it.
    piece: Span,
    untold: Option<UndecidedWait>,
    /// Time of all waits, each of a round trip at most, and of those that the program ended. Of the
    /// latter, the waits behind the end of a write, behind a short segment, and behind a burst that
    /// may be paced.
    waits: Span,
    own: Span,
    behind_tails: Span,
    behind_short: Span,
    paced: Span,
    count: u64,
}

/// Shares of the waits of a sender, by how they began and ended.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PaceShares {
    /// Share of the time of all waits that ended apart from any ACK.
    pub(crate) own: f64,
    /// Part of this share behind the end of a write, and behind a short segment, beyond chance.
    pub(crate) behind_tails: f64,
    pub(crate) behind_short: f64,
    /// Part of this share behind bursts that may be paced.
    pub(crate) paced: f64,
}

impl ProgramPace {
    /// Takes a segment of new data that leaves; `room` is the rest of its window behind it.
    #[inline]
    pub(crate) fn sent(&mut self, length: u64, size: u64, pushed: bool, room: u64) {
        self.burst += length;
        self.is_cut = room < size;
        if self.is_cut {
            return;
        }
        let is_short = has_short_end(length, size);
        self.last = Tail { ends_write: pushed || is_short, is_short };
        self.segments += 1;
        self.tails += u64::from(self.last.ends_write);
        self.short += u64::from(is_short);
    }

    /// Records that the next segment leaves together with the last one.
    #[inline]
    pub(crate) fn goes_on(&mut self) {
        self.piece = Span::ZERO;
    }

    /// Takes the wait before a segment.
    pub(crate) fn departed(&mut self, departure: &Departure) {
        if departure.wait > departure.reaction && !self.is_cut {
            self.waited(departure, departure.wait);
        } else {
            self.goes_on();
        }
    }

    fn waited(&mut self, departure: &Departure, wait: Span) {
        // A long pause tells no more than a short one.
        let length = departure.rtt.map_or(wait, |rtt| wait.min(rtt));
        self.waits += length;
        let burst = std::mem::take(&mut self.burst);
        let before = std::mem::take(&mut self.piece);
        let is_paced = burst <= MORE_THAN_ONE.get() * departure.size || wait <= PACED_WAIT.get();
        let wait = PaceWait { length, before, behind: self.last, is_paced };
        // Nagle's algorithm holds back what is left of a write: nothing waits behind that.
        let is_piece = departure.length < departure.size;
        self.untold = None;
        match departure.acked {
            Some(acked) if departure.time.since(acked) <= departure.reaction => {
                self.piece = if is_piece { length } else { Span::ZERO };
                let (departed, reaction) = (departure.time, departure.reaction);
                let is_told = departure.flight == 0;
                self.untold =
                    (!is_told).then_some(UndecidedWait { wait, acked, departed, reaction });
            }
            _ => self.add(&wait),
        }
    }

    /// Takes an ACK of new data.
    pub(crate) fn acked(&mut self, time: Timestamp) {
        let Some(untold) = self.untold.take() else { return };
        let UndecidedWait { wait, acked, departed, reaction } = untold;
        let between = time.since(acked);
        if between >= reaction && departed.since(acked) * 2 > between {
            self.piece = Span::ZERO;
            self.add(&wait);
        }
    }

    fn add(&mut self, wait: &PaceWait) {
        let of = |is: bool| if is { wait.length } else { Span::ZERO };
        self.count += 1;
        self.own += wait.length + wait.before;
        self.behind_tails += of(wait.behind.ends_write) + wait.before;
        self.behind_short += of(wait.behind.is_short) + wait.before;
        self.paced += of(wait.is_paced);
    }

    /// Returns the shares of its waits, if there are enough.
    pub(crate) fn shares(&self) -> Option<PaceShares> {
        let beyond_chance = |behind: Span, of_all: u64| {
            let chance = of_all as f64 / self.segments.max(1) as f64;
            if chance < 1.0 { (behind.share_of(self.own) - chance) / (1.0 - chance) } else { 0.0 }
        };
        (self.count >= ENOUGH.get()).then(|| PaceShares {
            own: self.own.share_of(self.waits),
            behind_tails: beyond_chance(self.behind_tails, self.tails),
            behind_short: beyond_chance(self.behind_short, self.short),
            paced: self.paced.share_of(self.own),
        })
    }
}

impl PaceShares {
    /// Returns whether the program sets the pace.
    pub(crate) fn are_of_program(&self) -> bool {
        self.own >= PROGRAMS_SHARE.get()
            && (self.behind_short >= PROGRAMS_SHARE.get()
                || self.behind_tails >= PROGRAMS_SHARE.get() && self.paced * 2.0 < 1.0)
    }
}

#[cfg(test)]
mod tests {
    use windlass_base::thresholds::SLOW_REACTION;

    use super::*;

    const SIZE: u64 = 1_448;

    fn is_of_program(pace: &ProgramPace) -> bool {
        pace.shares().is_some_and(|shares| shares.are_of_program())
    }

    fn at(micros: i64) -> Timestamp {
        Timestamp::from_nanos(micros * 1_000)
    }

    /// Bursts of four segments, the last one of `last` bytes, each 10 ms, `late` behind an ACK; the
    /// next ACK comes 400 µs behind that.
    fn bursts(last: u64, pushed: bool, late: i64) -> ProgramPace {
        let mut pace = ProgramPace::default();
        for burst in 0..20 {
            let acked = burst * 10_000;
            for (index, length) in [SIZE, SIZE, SIZE, last].into_iter().enumerate() {
                if index == 0 {
                    pace.departed(&Departure {
                        time: at(acked + late),
                        length,
                        size: SIZE,
                        flight: 20 * SIZE,
                        wait: Span::from_millis(10),
                        acked: Some(at(acked)),
                        rtt: Some(Span::from_millis(30)),
                        reaction: SLOW_REACTION.get(),
                    });
                } else {
                    pace.goes_on();
                }
                pace.sent(length, SIZE, pushed && index == 3, 100 * SIZE);
            }
            pace.acked(at(acked + 400));
        }
        pace
    }

    #[test]
    fn a_program_departs_between_acks_behind_the_end_of_a_write() {
        assert!(is_of_program(&bursts(SIZE, true, 230)));
        assert!(is_of_program(&bursts(300, false, 3_000)));
    }

    #[test]
    fn a_buffer_departs_right_behind_an_ack() {
        assert!(!is_of_program(&bursts(SIZE, true, 40)));
        assert!(!is_of_program(&bursts(300, true, 190)));
    }

    #[test]
    fn a_slow_host_has_no_tails() {
        assert!(!is_of_program(&bursts(SIZE, false, 3_000)));
    }
}
