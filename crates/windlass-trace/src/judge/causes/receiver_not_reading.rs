//! A closed window: the receiving program does not read.

use crate::follow::ledger::{Interval, Reopening, WaitKind};
use crate::judge::case::Case;
use crate::judge::causes::{Hypothesis, unknown};
use crate::judge::confidence::Doubt;
use crate::judge::evidence::probes;
use crate::judge::facts::Facts;
use crate::judge::habits::is_ack_slow;
use crate::judge::law::stalls;
use crate::judge::remedy::NO_TIME;
use crate::judge::rivals::{Rival, UNNAMED};
use crate::judge::rule::Rule;
use windlass_base::thresholds::{HALF_OF_IT, MOST_OF_IT, SEVERAL};
use windlass_base::verdict::Side;
use windlass_base::{Cause, Sentence, Span, sentence};

pub(crate) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::ReceiverNotReading,
    sentence: |case @ &Case { sender, receiver, facts, .. }, time| {
        let longest = facts.window.closures.most().unwrap_or_default();
        if are_both_closed(case) {
            return sentence!(
                "Neither program reads: the windows of {receiver} and of {sender} are closed at \
                 the same time, for {}, so that each waits for the other (a deadlock). The window \
                 of {receiver} is closed {time}, {longest} at the longest.",
                facts.window.both_closed,
            );
        }
        if facts.counts.closed_at_end && facts.counts.closures == 1 {
            return sentence!(
                "{receiver} stopped taking data and never started again: its window is closed \
                 {time}, {longest} at the end of the capture.",
            );
        }
        sentence!(
            "{receiver} stops taking data, for {longest} at the longest: its program does not \
             read, and its window is closed {time}.",
        )
    },
    law: stalls,
    remedies: |it| {
        let longest = it.case.facts.window.closures.most().unwrap_or_default();
        if are_both_closed(it.case) {
            return vec![it.remedy(
                Side::Sender,
                "let its program read what comes back while it writes (a second thread, or poll() \
                 with non-blocking writes), or wait for answers before it writes more than both \
                 buffers hold; the program of the receiver stops reading because it cannot write",
                NO_TIME,
                0.0,
            )];
        }
        let mut reads = it.remedy(
            Side::Receiver,
            sentence!(
                "find out why its program (or the printer behind it) takes no data for up to \
                 {longest}; a larger buffer only moves the wait"
            ),
            NO_TIME,
            0.0,
        );
        let is_once = it.case.facts.window.closures.count < SEVERAL.get();
        if is_once || closes_each_time(it.case.facts) {
            // No wait shows how fast it is with an open window, which is still one in a round trip;
            // and what is left beside a single stop was in buffers.
            it.bound(&mut reads);
        } else {
            // In a stop the window closes and a timer may run out: what is left may go, too.
            it.bracket(&mut reads);
        }
        vec![reads]
    },
    shows: is_closed_for_long,
    packets: probes,
    doubts: &[LATE_OPENINGS],
    rivals: &[UNASKED],
    ..unknown::HYPOTHESIS
};

/// Returns whether the other direction's window was closed, too, for most of the time.
fn are_both_closed(case: &Case<'_>) -> bool {
    let (both, closures) = (case.facts.window.both_closed, case.facts.window.closures);
    both > Span::ZERO && both.share_of(closures.total) >= HALF_OF_IT.get()
}

/// The window stayed closed for long.
pub(crate) const CLOSED: Rule = Rule {
    name: "closed-for-long",
    cause: Cause::ReceiverNotReading,
    of: is_closed_for_long,
    holds: None,
};

/// The window repeatedly fills and then stays closed: the program reads in large blocks, with long
/// pauses, and the wait for the ACK before is a part of such a pause.
pub(crate) const FILLS_AND_CLOSES: Rule = Rule {
    name: "fills-and-closes",
    cause: Cause::ReceiverNotReading,
    of: |kind| kind == WaitKind::Window,
    holds: Some(|it, checks| {
        let facts = it.facts;
        let behind = it.index.and_then(|index| facts.waits.get(index + 1..)).unwrap_or_default();
        let next = behind.iter().find(|wait| wait.charged > Span::ZERO);
        let closed = facts.time_of_waits(is_closed_for_long);
        let full = facts.time_of_waits(|kind| kind == WaitKind::Window);
        // Without a handshake a window of less than a segment looks the same.
        checks.is("a handshake tells the path", facts.opening.handshake.rtt().is_some())
            && is_ack_slow(facts, it.wait, checks)
            && checks.is("the window closes then", next.is_some_and(|next| next.kind.is_closed()))
            && checks.is("it closes nearly each time", closes_each_time(facts))
            && checks.at_least(
                "time for which the window is closed, of the time for which it is full",
                closed.share_of(full),
                HALF_OF_IT,
            )
    }),
};

/// Returns whether the window closes again and again, for most of the waits in which it is full.
fn closes_each_time(facts: &Facts) -> bool {
    let full = |wait: &&Interval| wait.kind == WaitKind::Window && wait.charged > Span::ZERO;
    let full = facts.waits.iter().filter(full).count() as u64;
    let closures = facts.window.closures.count;
    closures >= SEVERAL.get() && closures as f64 >= full as f64 * MOST_OF_IT.get()
}

fn is_closed_for_long(kind: WaitKind) -> bool {
    matches!(kind, WaitKind::NotReading | WaitKind::Partly(Reopening::AfterLong))
}

/// Half of the closures end as soon after a probe as an ACK comes: the path may be longer than its
/// handshake.
const LATE_OPENINGS: Doubt = Doubt {
    name: "opened-behind-probes",
    holds: |it, checks| {
        let counts = &it.case.facts.counts;
        let most = counts.closures.max(1);
        checks.at_least("twice the openings behind a probe", counts.late_openings * 2, most)
    },
};

/// The sender sent no probe when its timer was due: the time may not have passed, or probes are
/// missing.
const UNASKED: Rival = Rival { name: "time-that-did-not-pass", causes: UNNAMED, explains: unasked };

/// A sender asks for a window that stays closed. Where it does not, time may not have passed.
fn unasked(case: &Case<'_>) -> Option<Sentence> {
    let unasked = case.facts.counts.unasked;
    case.is_part_of(Cause::ReceiverNotReading, unasked, 2).then(|| {
        sentence!(
            "for {unasked} {} sent no window probe, though its persist timer should have sent one \
             (RFC 9293 section 3.8.6.1): it has no such timer, the capture lacks the probe, or the \
             clock was set ahead",
            case.sender
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::fixture::{
        OrdinaryTransfer, RTT, STEP, TIME, pace, quantiles, share_of, times,
    };

    #[test]
    fn a_window_stays_closed_for_long() {
        let named = |kind| OrdinaryTransfer::waiting(kind).is_named_by(&CLOSED);
        assert!(named(WaitKind::NotReading) && named(WaitKind::Partly(Reopening::AfterLong)));
        assert!(!named(WaitKind::OpensLate) && !named(WaitKind::Partly(Reopening::Late)));
    }

    #[test]
    fn a_full_window_that_closes_again_and_again_is_of_a_program_that_pauses() {
        let mut transfer = OrdinaryTransfer::waiting(WaitKind::Window);
        transfer.cause = Cause::ReceiverNotReading;
        transfer.charge(Cause::ReceiverNotReading, TIME / 2);
        // The line carries what the closed half of the time brings.
        let line = times(transfer.case().measured(), 2.0);
        transfer.facts.line.service = Some(pace(line));
        transfer.set_latency(RTT * 3);
        let closed = TIME.scaled(HALF_OF_IT.get());
        let closures = |count: u64| quantiles(vec![STEP; count as usize]);
        transfer.facts.window.closures = closures(SEVERAL.get());
        assert!(!transfer.is_named_by(&FILLS_AND_CLOSES), "it does not close");
        transfer.add_wait(WaitKind::NotReading, closed);
        assert!(transfer.is_named_by(&FILLS_AND_CLOSES));
        let promised = |transfer: &OrdinaryTransfer| {
            let remedy = &transfer.remedies(HYPOTHESIS.remedies)[0];
            [remedy.expected_bytes_per_second, remedy.at_most_bytes_per_second]
                .map(|it| it.is_some())
        };
        assert_eq!(promised(&transfer), [false, true]);
        transfer.facts.window.closures = closures(SEVERAL.get() - 1);
        assert!(!transfer.is_named_by(&FILLS_AND_CLOSES));
        assert_eq!(promised(&transfer), [false, true]);
        transfer.facts.window.closures = closures(SEVERAL.get());
        transfer.facts.waits[1].charged = closed - STEP;
        assert!(!transfer.is_named_by(&FILLS_AND_CLOSES));
        transfer.facts.waits[1].charged = closed;
        transfer.set_latency(RTT);
        assert!(!transfer.is_named_by(&FILLS_AND_CLOSES), "the ACK comes as soon as it can");
        transfer.set_latency(RTT * 3);
        for _ in 0..9 {
            let each = closed.scaled(0.01);
            transfer.add_wait(WaitKind::Window, each);
        }
        transfer.facts.waits[1].charged = TIME;
        let enough = share_of(MOST_OF_IT.get(), 10);
        transfer.facts.window.closures = closures(enough);
        assert!(transfer.is_named_by(&FILLS_AND_CLOSES));
        transfer.facts.window.closures = closures(enough - 1);
        assert!(!transfer.is_named_by(&FILLS_AND_CLOSES));
        assert_eq!(promised(&transfer), [true, false], "the others show an open window");
        transfer.facts.window.closures = closures(enough);
        transfer.forget_handshake();
        assert!(!transfer.is_named_by(&FILLS_AND_CLOSES), "the path is not known");
    }

    #[test]
    fn two_windows_closed_for_half_of_the_time_are_a_deadlock() {
        let mut transfer = OrdinaryTransfer::new();
        transfer.facts.window.closures = quantiles([TIME]);
        let said = |transfer: &OrdinaryTransfer| {
            (HYPOTHESIS.sentence)(&transfer.case(), &"all".into()).to_string()
        };
        transfer.facts.window.both_closed = TIME.scaled(HALF_OF_IT.get());
        assert!(said(&transfer).contains("Neither program reads"), "{}", said(&transfer));
        assert_eq!(transfer.remedies(HYPOTHESIS.remedies)[0].side, Side::Sender);
        transfer.facts.window.both_closed -= STEP;
        assert!(!said(&transfer).contains("Neither"), "{}", said(&transfer));
        assert_eq!(transfer.remedies(HYPOTHESIS.remedies)[0].side, Side::Receiver);
    }

    #[test]
    fn half_of_the_openings_behind_probes_are_a_doubt() {
        let mut transfer = OrdinaryTransfer::new();
        assert!(!transfer.is_doubted_by(&LATE_OPENINGS));
        (transfer.facts.counts.closures, transfer.facts.counts.late_openings) = (10, 5);
        assert!(transfer.is_doubted_by(&LATE_OPENINGS));
        transfer.facts.counts.late_openings = 4;
        assert!(!transfer.is_doubted_by(&LATE_OPENINGS));
    }

    #[test]
    fn a_sender_that_does_not_ask_for_half_of_the_time_may_have_slept() {
        let mut transfer = OrdinaryTransfer::new();
        transfer.charge(Cause::ReceiverNotReading, TIME);
        transfer.facts.counts.unasked = TIME / 2;
        assert!(transfer.is_explained_by(&UNASKED));
        transfer.facts.counts.unasked -= STEP;
        assert!(!transfer.is_explained_by(&UNASKED));
    }
}
