//! A receiving program that reads at a rate of its own.

use crate::estimate::reader::ReadingRate;
use crate::follow::ledger::WaitKind;
use crate::judge::case::Case;
use crate::judge::causes::{Hypothesis, unknown};
use crate::judge::checks::Checks;
use crate::judge::checks::by as bound;
use crate::judge::confidence::Doubt;
use crate::judge::evidence::silly_windows;
use crate::judge::facts::Facts;
use crate::judge::law::{by, rate};
use crate::judge::remedy::advice;
use crate::judge::rivals::Rival;
use crate::judge::rule::{Rule, TakeoverRule};
use windlass_base::thresholds::{
    A_QUARTER, A_TENTH, AS_GOOD_AS_ALL, BEYOND_JITTER, LARGE_PART, LATE_ROOM, NEARLY_ALL,
};
use windlass_base::verdict::Side;
use windlass_base::{Cause, sentence};

pub(crate) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::ReceiverLimited,
    sentence: |&Case { receiver, facts, .. }, time| match facts.window.reading {
        Some(ReadingRate { rate, steady, .. }) => sentence!(
            "{receiver}'s program, or the device behind it, reads {rate} {}: it always has unread \
             data, and its window opens only as it reads, {time}. A larger window or another \
             buffer would only hold more unread data.",
            if steady { "and no more" } else { "most of the time, and less now and then" },
        ),
        None => sentence!(
            "{receiver}'s program reads the data more slowly than it comes: unread data fills the \
             window {time}. A larger window would only hold more unread data.",
        ),
    },
    law: |case| {
        let reading = case.facts.window.reading?.rate;
        let meaning = "how fast the right edge of its window moves on, by the median";
        Some(by(reading, "reader", "R", vec![rate("R", reading, meaning)]))
    },
    remedies: |it| {
        let faster = advice(
            Side::Receiver,
            "check the receiving program, or the device behind it: its reading rate is the limit, \
             and a larger window, a second buffer, the network or the sender cannot raise it",
        );
        [faster].into_iter().chain(it.no_silly_windows()).collect()
    },
    shows: |kind| matches!(kind, WaitKind::Window | WaitKind::Partly(_)),
    packets: silly_windows,
    doubts: &[UNSURE_PACE],
    rivals: &[WINDOW_FULL],
    ..unknown::HYPOTHESIS
};

/// Returns whether the windows are those of a receiver whose program leaves data unread: they
/// differ, or are a small part of the largest one.
fn leaves_some(facts: &Facts, checks: &mut Checks) -> bool {
    let window = &facts.window;
    let part = window.usual.map(|usual| usual.get() as f64 / window.most as f64);
    checks.below("ACKs that offer the usual window", window.usual_share, NEARLY_ALL)
        || checks.some_below("usual window, as a share of the largest", part, A_QUARTER)
}

/// The program always has data to read, and the receiver offers less than its largest window.
pub(crate) const READS_ALL_THE_TIME: Rule = Rule {
    name: "reads-all-the-time",
    cause: Cause::ReceiverLimited,
    of: |kind| kind == WaitKind::Window,
    holds: Some(|it, checks| {
        let offered = it.wait.activity.window_share();
        checks.is("the program always has data to read", it.facts.window.reading.is_some())
            && leaves_some(it.facts, checks)
            && (offered.is_none()
                || checks.some_below("share of the window offered", offered, LARGE_PART))
    }),
};

/// The receiver offers less than its largest window and hardly closes it; the right edge does not
/// show a reader.
pub(crate) const LEAVES_DATA_UNREAD: Rule = Rule {
    name: "leaves-data-unread",
    cause: Cause::ReceiverLimited,
    of: |kind| kind == WaitKind::Window,
    holds: Some(|it, checks| {
        let facts = it.facts;
        let is_told = facts.window.reader.as_ref().is_some_and(|reader| reader.is_told);
        let closed = facts.window.closures.total.share_of(it.wait.end.since(it.wait.start));
        let offered = it.wait.activity.window_share();
        checks.is("the right edge tells nothing of a reader", !is_told)
            && leaves_some(facts, checks)
            && checks.below("time that the window was closed", closed, A_TENTH)
            && checks.some_below("share of the window offered", offered, LARGE_PART)
    }),
};

/// A closed window opens by a part only, and the program always has data to read.
pub(crate) const OPENS_IN_PARTS: Rule = Rule {
    name: "opens-in-parts",
    cause: Cause::ReceiverLimited,
    of: |kind| matches!(kind, WaitKind::Partly(_)),
    holds: Some(|it, checks| {
        checks.is("the program always has data to read", it.facts.window.reading.is_some())
    }),
};

/// The window opens when the program reads, not with the ACKs: apart from them, or in even steps
/// that take longer than the path.
pub(crate) const MAKES_ROOM: TakeoverRule = TakeoverRule {
    name: "room-comes-as-the-program-reads",
    from: |cause| matches!(cause, Cause::WindowPathRtt | Cause::WindowAckLatency),
    to: Cause::ReceiverLimited,
    holds: |it, checks| {
        let window = &it.facts.window;
        let Some(reader) = window.reader.as_ref().filter(|reader| reader.moves_out_of_step) else {
            return checks.is("the window moves on apart from ACKs", false);
        };
        let share = window.usual_share;
        let closed = window.closures.total * 2;
        checks.at_most("twice the time that it was closed", closed, it.facts.time_in_all())
            && has_late_room(it.facts, checks)
            && (checks.at_least("room apart from ACKs", reader.own_room, A_QUARTER)
                && checks.below("ACKs that offer the usual window", share, AS_GOOD_AS_ALL)
                || checks.some_below(
                    "nine in ten blocks, by the median",
                    reader.spread,
                    BEYOND_JITTER,
                ) && checks.below("ACKs that offer the usual window", share, NEARLY_ALL))
    },
};

/// Returns whether room comes later than the path's ACKs do.
fn has_late_room(facts: &Facts, checks: &mut Checks) -> bool {
    let path = facts.path.rtt.unwrap_or_default().scaled(LATE_ROOM.get());
    facts.cycle().is_some_and(|cycle| checks.at_least("round trip", cycle, bound(LATE_ROOM, path)))
}

/// The window may be the limit: no pace of a reader is known.
const WINDOW_FULL: Rival = Rival {
    name: "window-holds-it",
    causes: |_| vec![Cause::WindowPathRtt],
    explains: |case| {
        let window = &case.facts.window;
        let moves = window.reader.as_ref().is_some_and(|reader| reader.moves_out_of_step);
        (window.reading.is_none() && moves).then(|| {
            sentence!(
                "the window is whole again at times, so it may limit the transfer by itself; run \
                 windlass top on {} to see whether its program leaves data unread",
                case.receiver
            )
        })
    },
};

/// The program does not read at a known, steady pace.
const UNSURE_PACE: Doubt = Doubt {
    name: "the-pace-of-reading-is-not-sure",
    holds: |it, checks| {
        let reading = it.case.facts.window.reading;
        checks.is(
            "the program reads at no sure and steady pace",
            reading.is_none_or(|reading| !reading.sure || !reading.steady),
        )
    },
};

#[cfg(test)]
mod tests {
    use windlass_base::{Bytes, Rate, Span};

    use super::*;
    use crate::follow::ledger::Reopening;
    use crate::judge::facts::ReaderFacts;
    use crate::judge::fixture::{OrdinaryTransfer, RTT, STEP, TIME, quantiles, share_of};

    /// Returns a transfer whose receiver offers less than its largest window, in a few ACKs as much
    /// as in others.
    fn reading(of: Option<ReadingRate>) -> OrdinaryTransfer {
        let mut transfer = OrdinaryTransfer::waiting(WaitKind::Window);
        transfer.facts.window.reading = of;
        transfer.facts.window.usual_share = 0.0;
        offer(&mut transfer, 1);
        transfer
    }

    fn steady() -> Option<ReadingRate> {
        Some(ReadingRate { rate: Rate::from_bytes_per_second(1e6), steady: true, sure: true })
    }

    /// Offers, in 10 ACKs, windows of so many 655,360th parts of the largest.
    fn offer(transfer: &mut OrdinaryTransfer, parts: u64) {
        (transfer.activity().window_shares, transfer.activity().windows) = (parts, 10);
    }

    const WHOLE: u64 = 10 * 65_536;

    #[test]
    fn a_program_with_unread_data_offers_less_than_the_window() {
        let unread = share_of(LARGE_PART.get(), WHOLE);
        for (rule, reader) in [(&READS_ALL_THE_TIME, steady()), (&LEAVES_DATA_UNREAD, None)] {
            let mut transfer = reading(reader);
            offer(&mut transfer, unread);
            assert!(!transfer.is_named_by(rule));
            offer(&mut transfer, unread - 1);
            assert!(transfer.is_named_by(rule));
        }
    }

    #[test]
    fn each_read_changes_the_window() {
        for (rule, reader) in [(&READS_ALL_THE_TIME, steady()), (&LEAVES_DATA_UNREAD, None)] {
            let mut transfer = reading(reader);
            transfer.facts.window.usual_share = NEARLY_ALL.get();
            assert!(!transfer.is_named_by(rule));
            transfer.facts.window.usual_share = NEARLY_ALL.get() - 1e-9;
            assert!(transfer.is_named_by(rule));
        }
    }

    #[test]
    fn a_small_part_of_the_largest_window_is_no_fixed_one() {
        let mut transfer = reading(steady());
        transfer.facts.window.usual_share = 1.0;
        let part = share_of(A_QUARTER.get(), transfer.facts.window.most);
        transfer.facts.window.usual = Some(Bytes::new(part));
        assert!(!transfer.is_named_by(&READS_ALL_THE_TIME));
        transfer.facts.window.usual = Some(Bytes::new(part - 1));
        assert!(transfer.is_named_by(&READS_ALL_THE_TIME));
    }

    #[test]
    fn a_reader_is_named_where_no_ack_came_during_the_wait() {
        let mut transfer = reading(steady());
        transfer.activity().windows = 0;
        assert!(transfer.is_named_by(&READS_ALL_THE_TIME));
        transfer.facts.window.reading = None;
        assert!(!transfer.is_named_by(&READS_ALL_THE_TIME));
        assert!(!transfer.is_named_by(&LEAVES_DATA_UNREAD));
    }

    #[test]
    fn a_closed_window_tells_who_does_not_read() {
        let mut transfer = reading(None);
        let closed = TIME.scaled(A_TENTH.get());
        transfer.facts.window.closures = quantiles([closed]);
        assert!(!transfer.is_named_by(&LEAVES_DATA_UNREAD));
        transfer.facts.window.closures = quantiles([closed - STEP]);
        assert!(transfer.is_named_by(&LEAVES_DATA_UNREAD));
    }

    #[test]
    fn a_right_edge_that_tells_of_no_reader_is_believed() {
        let mut transfer = reading(None);
        transfer.facts.window.reader = Some(ReaderFacts::default());
        assert!(transfer.is_named_by(&LEAVES_DATA_UNREAD));
        transfer.facts.window.reader =
            Some(ReaderFacts { is_told: true, ..ReaderFacts::default() });
        assert!(!transfer.is_named_by(&LEAVES_DATA_UNREAD));
    }

    #[test]
    fn a_window_opens_in_parts_as_a_program_reads() {
        let mut transfer = reading(steady());
        transfer.wait().kind = WaitKind::Partly(Reopening::Late);
        assert!(transfer.is_named_by(&OPENS_IN_PARTS));
        transfer.facts.window.reading = None;
        assert!(!transfer.is_named_by(&OPENS_IN_PARTS));
    }

    #[test]
    fn a_pace_of_reading_is_sure_and_steady() {
        assert!(!reading(steady()).is_doubted_by(&UNSURE_PACE));
        let unsteady = steady().map(|pace| ReadingRate { steady: false, ..pace });
        let unsure = steady().map(|pace| ReadingRate { sure: false, ..pace });
        for pace in [None, unsteady, unsure] {
            assert!(reading(pace).is_doubted_by(&UNSURE_PACE));
        }
    }

    /// Returns a transfer whose window moves on apart from ACKs.
    fn moving(of: ReaderFacts) -> OrdinaryTransfer {
        let mut transfer = OrdinaryTransfer::waiting(WaitKind::Window);
        transfer.facts.window.reader = Some(ReaderFacts { moves_out_of_step: true, ..of });
        transfer.facts.window.usual_share = 0.0;
        transfer.facts.acks.cycles = quantiles([RTT * 2; 8]);
        transfer
    }

    #[test]
    fn a_reader_makes_room_by_itself() {
        let own = |own_room| moving(ReaderFacts { own_room, ..ReaderFacts::default() });
        assert!(own(A_QUARTER.get()).is_taken_by(&MAKES_ROOM));
        assert!(!own(A_QUARTER.get() - 1e-9).is_taken_by(&MAKES_ROOM));
        let mut transfer = own(1.0);
        transfer.facts.window.usual_share = AS_GOOD_AS_ALL.get();
        assert!(!transfer.is_taken_by(&MAKES_ROOM));
        transfer.facts.window.usual_share -= 1e-9;
        assert!(transfer.is_taken_by(&MAKES_ROOM));
        assert!(!OrdinaryTransfer::waiting(WaitKind::Window).is_taken_by(&MAKES_ROOM));
    }

    #[test]
    fn a_window_that_is_closed_for_half_of_the_time_is_another_matter() {
        let mut transfer = moving(ReaderFacts { own_room: 1.0, ..ReaderFacts::default() });
        let half = transfer.facts.time_in_all() / 2;
        transfer.facts.window.closures = quantiles([half]);
        assert!(transfer.is_taken_by(&MAKES_ROOM));
        transfer.facts.window.closures = quantiles([half + STEP]);
        assert!(!transfer.is_taken_by(&MAKES_ROOM));
    }

    #[test]
    fn a_reader_in_steps_makes_room_later_than_the_path() {
        let steps = |spread, late: Span| {
            let mut transfer =
                moving(ReaderFacts { spread: Some(spread), ..ReaderFacts::default() });
            transfer.facts.acks.cycles = quantiles([late; 8]);
            transfer
        };
        let late = RTT.scaled(LATE_ROOM.get()) + STEP;
        assert!(steps(1.0, late).is_taken_by(&MAKES_ROOM));
        assert!(!steps(BEYOND_JITTER.get(), late).is_taken_by(&MAKES_ROOM));
        assert!(!steps(1.0, RTT).is_taken_by(&MAKES_ROOM));
        let mut transfer = steps(1.0, late);
        transfer.facts.window.usual_share = NEARLY_ALL.get();
        assert!(!transfer.is_taken_by(&MAKES_ROOM));
    }

    #[test]
    fn a_window_may_hold_what_no_pace_of_a_reader_explains() {
        let mut transfer = moving(ReaderFacts::default());
        assert!(transfer.is_explained_by(&WINDOW_FULL));
        transfer.facts.window.reading = steady();
        assert!(!transfer.is_explained_by(&WINDOW_FULL));
    }
}
