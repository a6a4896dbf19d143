//! A receive window too small for the receiver's slow ACKs.

use crate::follow::ledger::WaitKind;
use crate::judge::case::Case;
use crate::judge::causes::window_path_rtt::frames;
use crate::judge::causes::{Hypothesis, unknown};
use crate::judge::confidence::LINE_OR_WINDOW;
use crate::judge::habits::is_ack_slow;
use crate::judge::law;
use crate::judge::rivals;
use crate::judge::rule::Rule;
use crate::judge::rule::withholds_acks;
use windlass_base::{Cause, sentence};

pub(crate) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::WindowAckLatency,
    sentence: |case @ &Case { receiver, facts, .. }, time| {
        let window = case.window().unwrap_or_default();
        sentence!(
            "{receiver} takes only {window} ({}) at a time and acknowledges them {} later, \
             so the sender waits for its ACKs {time}.",
            frames(case, window),
            facts.acks.latency.median().unwrap_or_default(),
        )
    },
    law: law::window,
    remedies: |it| it.ack_at_once().into_iter().chain([it.larger_window()]).collect(),
    shows: |kind| matches!(kind, WaitKind::Window | WaitKind::Blind { window_full: true }),
    doubts: &[LINE_OR_WINDOW],
    rivals: &[rivals::FAR_EDGES, rivals::READER, rivals::QUEUE_OF_ACKS, rivals::TURNS],
    ..unknown::HYPOTHESIS
};

/// The window is full, and the receiver takes longer to acknowledge than the path does.
pub(crate) const ACKS_ARE_SLOW: Rule = Rule {
    name: "acks-are-slow",
    cause: Cause::WindowAckLatency,
    of: |kind| kind == WaitKind::Window,
    holds: Some(|it, checks| is_ack_slow(it.facts, it.wait, checks) || withholds_acks(it, checks)),
};

/// The window is full, and the sender's timer runs out before a withheld ACK comes.
pub(crate) const TIMER_BEFORE_ACK: Rule = Rule {
    name: "timer-before-ack-window-full",
    cause: Cause::WindowAckLatency,
    of: |kind| kind == WaitKind::Blind { window_full: true },
    holds: Some(withholds_acks),
};

#[cfg(test)]
mod tests {
    use windlass_base::Span;
    use windlass_base::thresholds::{
        BEFORE_TIMERS as LATE, HOST_TIME, SLOW_ACK_SPREAD, WITHHELD_ACK,
    };

    use super::*;
    use crate::judge::fixture::{OrdinaryTransfer, RTT, STEP};

    /// Returns whether ACKs of this latency are slow over a path of this round trip.
    fn is_slow(path: Span, latency: Span, has_handshake: bool) -> bool {
        let mut transfer = OrdinaryTransfer::waiting(WaitKind::Window);
        if !has_handshake {
            transfer.forget_handshake();
        }
        transfer.set_path(path);
        transfer.set_latency(latency);
        transfer.is_named_by(&ACKS_ARE_SLOW)
    }

    #[test]
    fn a_slow_ack_takes_twice_the_path() {
        assert!(is_slow(RTT, RTT * 2, true) && !is_slow(RTT, RTT * 2 - STEP, true));
    }

    #[test]
    fn a_slow_ack_takes_longer_than_hosts() {
        let (path, least) = (STEP, HOST_TIME.get());
        assert!(is_slow(path, path + least, true) && !is_slow(path, path + least - STEP, true));
    }

    #[test]
    fn without_a_handshake_a_slow_ack_takes_several_round_trips() {
        let least = RTT * SLOW_ACK_SPREAD.get();
        assert!(is_slow(RTT, least, false) && !is_slow(RTT, least - STEP, false));
    }

    #[test]
    fn without_a_handshake_a_slow_ack_is_withheld() {
        let (path, least) = (STEP, WITHHELD_ACK.get());
        assert!(is_slow(path, path + least, false) && !is_slow(path, path + least - STEP, false));
    }

    #[test]
    fn a_step_of_the_clock_is_not_the_receivers() {
        let mut transfer = OrdinaryTransfer::waiting(WaitKind::Window);
        transfer.set_latency(RTT * 2);
        transfer.facts.capture.clock_step = STEP;
        assert!(!transfer.is_named_by(&ACKS_ARE_SLOW));
    }

    #[test]
    fn a_timer_runs_out_before_a_withheld_ack() {
        let mut transfer = OrdinaryTransfer::waiting(WaitKind::Blind { window_full: true });
        transfer.set_latency(RTT + LATE.get() - STEP);
        assert!(!transfer.is_named_by(&TIMER_BEFORE_ACK));
        transfer.set_latency(RTT + LATE.get());
        assert!(transfer.is_named_by(&TIMER_BEFORE_ACK));
        transfer.facts.counts.fast = 1;
        assert!(!transfer.is_named_by(&TIMER_BEFORE_ACK));
    }

    #[test]
    fn several_timeouts_without_loss_show_withheld_acks() {
        let is_withheld = |blind: u64, duplicates, timeouts| {
            let mut transfer = OrdinaryTransfer::waiting(WaitKind::Blind { window_full: true });
            let counts = &mut transfer.facts.counts;
            (counts.blind_timeouts, counts.withheld) = (blind - 1, 1);
            (counts.duplicate_acks, counts.timeouts) = (duplicates, timeouts);
            transfer.is_named_by(&TIMER_BEFORE_ACK)
        };
        assert!(is_withheld(3, 0, 0) && !is_withheld(2, 0, 0));
        assert!(is_withheld(4, 6, 2));
        assert!(!is_withheld(4, 7, 2) && !is_withheld(4, 6, 3));
    }
}
