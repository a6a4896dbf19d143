//! A receive window too small for the path's round trip.

use crate::follow::ledger::WaitKind;
use crate::judge::case::Case;
use crate::judge::causes::{Hypothesis, unknown};
use crate::judge::confidence::{Doubt, LINE_OR_WINDOW};
use crate::judge::law::window_of_path;
use crate::judge::rivals;
use crate::judge::rivals::Rival;
use crate::judge::rule::{Rule, TakeoverRule};
use windlass_base::thresholds::{A_TENTH, HOST_TIME};
use windlass_base::{Bytes, Cause, Sentence, sentence};

pub(crate) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::WindowPathRtt,
    sentence: |case @ &Case { sender, receiver, facts, .. }, time| {
        let Some(window) = case.window() else {
            return sentence!(
                "{receiver}'s window changes all the time, and {sender} fills it each time, with \
                 up to {} in flight: it waits with a full window {time}.",
                Bytes::new(facts.counts.flight_most),
            );
        };
        let most = Bytes::new(facts.counts.flight_most);
        if window > most + case.segment() {
            return sentence!(
                "{sender} waits with a full window {time}: {receiver} offers {window} later, but \
                 less at first, and {sender} never has more than {most} in flight."
            );
        }
        sentence!(
            "{receiver} takes only {window} ({}) at a time, and each round trip to it takes \
             {}, so the sender waits with a full window {time}.",
            frames(case, window),
            case.cycle_of(window).or(facts.path.rtt).unwrap_or_default(),
        )
    },
    law: window_of_path,
    remedies: |it| vec![it.larger_window(), it.streams(", where the receiver takes them")],
    shows: |kind| kind == WaitKind::Window,
    doubts: &[LINE_OR_WINDOW, BEYOND_PATH],
    rivals: &[rivals::FAR_EDGES, rivals::READER, LATE_RECEIVER],
    ..unknown::HYPOTHESIS
};

/// After the start no ACK is as fast as the first ones: a path that became longer delays all of
/// them, while a slow receiver is sometimes fast.
pub(crate) const PATH_BECAME_LONGER: TakeoverRule = TakeoverRule {
    name: "path-became-longer",
    from: |cause| cause == Cause::WindowAckLatency,
    to: Cause::WindowPathRtt,
    holds: |it, checks| checks.is("ACKs became slower", it.facts.path.acks_became_slower),
};

/// A receiver that acknowledges late since then looks the same at the sender.
const LATE_RECEIVER: Rival = Rival {
    name: "receiver-became-slower",
    causes: |_| vec![Cause::WindowAckLatency],
    explains: rivals::LONGER_PATH.explains,
};

/// The window is full, and nothing else explains why the ACK comes no sooner.
pub(crate) const FULL_WINDOW: Rule = Rule {
    name: "full-window",
    cause: Cause::WindowPathRtt,
    of: |kind| kind == WaitKind::Window,
    holds: None,
};

/// Round trips take longer than the path: a queue, or a program with a pace of its own, may set the
/// rate.
const BEYOND_PATH: Doubt = Doubt {
    name: "round-trips-beyond-the-path",
    holds: |it, checks| {
        let Some((cycle, beyond)) = it.case.cycle().zip(it.case.beyond_path()) else {
            return false;
        };
        let beyond = beyond - it.case.facts.capture.clock_step;
        checks.above("round trip beyond the path", beyond, HOST_TIME)
            && checks.at_least("its share of the round trip", beyond.share_of(cycle), A_TENTH)
    },
};

pub(crate) fn frames(case: &Case<'_>, bytes: Bytes) -> Sentence {
    match bytes.get() / case.facts.window.segment {
        0 => "less than one full segment".into(),
        1 => "1 full segment".into(),
        count => sentence!("{count} full segments"),
    }
}

#[cfg(test)]
mod tests {
    use windlass_base::Span;

    use super::*;
    use crate::judge::fixture::{OrdinaryTransfer, RTT, STEP};

    #[test]
    fn a_full_window_that_nothing_else_explains_waits_for_the_path() {
        assert!(OrdinaryTransfer::waiting(WaitKind::Window).is_named_by(&FULL_WINDOW));
        assert!(!OrdinaryTransfer::new().is_named_by(&FULL_WINDOW));
    }

    #[test]
    fn acks_that_became_slower_come_over_a_longer_path() {
        let mut transfer = OrdinaryTransfer::waiting(WaitKind::Window);
        assert!(!transfer.is_taken_by(&PATH_BECAME_LONGER));
        assert!(!transfer.is_explained_by(&LATE_RECEIVER));
        transfer.facts.path.acks_became_slower = true;
        assert!(transfer.is_taken_by(&PATH_BECAME_LONGER));
        assert!(transfer.is_explained_by(&LATE_RECEIVER));
        assert!((PATH_BECAME_LONGER.from)(Cause::WindowAckLatency));
    }

    /// Returns whether round trips of this time are a doubt over a path of this one.
    fn is_doubted(path: Span, round_trip: Span) -> bool {
        let mut transfer = OrdinaryTransfer::new();
        transfer.set_path(path);
        transfer.set_latency(round_trip);
        transfer.is_doubted_by(&BEYOND_PATH)
    }

    #[test]
    fn round_trips_beyond_the_path_have_a_share() {
        let path = RTT - RTT.scaled(A_TENTH.get());
        assert!(is_doubted(path, RTT) && !is_doubted(path + STEP, RTT));
    }

    #[test]
    fn round_trips_exceed_the_path_by_a_queue() {
        let (path, queue) = (HOST_TIME.get(), HOST_TIME.get());
        assert!(!is_doubted(path, path + queue) && is_doubted(path, path + queue + STEP));
    }

    #[test]
    fn a_step_of_the_clock_is_not_of_a_round_trip() {
        let mut transfer = OrdinaryTransfer::new();
        transfer.set_path(HOST_TIME.get());
        transfer.set_latency(HOST_TIME.get() * 2 + STEP);
        transfer.facts.capture.clock_step = STEP;
        assert!(!transfer.is_doubted_by(&BEYOND_PATH));
    }
}
