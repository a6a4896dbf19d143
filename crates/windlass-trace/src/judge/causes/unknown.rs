//! Waits of which the capture does not tell the cause.

use crate::follow::ledger::WaitKind;
use crate::judge::causes::Hypothesis;
use crate::judge::rule::{Rule, TakeoverRule, withholds_acks};
use windlass_base::Cause;

pub(crate) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::Unknown,
    sentence: |_, _| "This capture does not tell what held the transfer back.".into(),
    law: |_| None,
    remedies: |_| Vec::new(),
    shows: |kind| kind == WaitKind::Missing,
    packets: |_| Vec::new(),
    doubts: &[],
    as_likely: &[],
    rivals: &[],
    is_habit: false,
};

/// The capture shows no real conversation: a device rewrote sequence numbers, or its times are made
/// up.
pub(crate) const UNTRUE_CAPTURE: Rule = Rule {
    name: "untrue-capture",
    cause: Cause::Unknown,
    of: |_| true,
    holds: Some(|it, checks| {
        checks.is("sequence numbers are rewritten, or times made up", it.facts.is_untrue())
    }),
};

/// The receiver's ACKs are missing: each flight seems to grow, and each wait to be a pause.
pub(crate) const WITHOUT_ACKS: Rule = Rule {
    name: "without-acks",
    cause: Cause::Unknown,
    of: |kind| kind != WaitKind::AwaitPeer,
    holds: Some(|it, checks| {
        checks.is("the receiver's ACKs are missing", it.facts.capture.lacks_acks)
    }),
};

/// Something nearer, such as a proxy, answers for the sender, which waits for ACKs of another
/// connection.
pub(crate) const BEYOND_A_PROXY: Rule = Rule {
    name: "beyond-a-proxy",
    cause: Cause::Unknown,
    of: |kind| matches!(kind, WaitKind::Open | WaitKind::Nagle),
    holds: Some(|it, checks| {
        checks.is("something nearer answers for the sender", it.facts.splits_sender())
    }),
};

/// ACKs were lost too seldom for a habit, or most segments came again: a host may have stood still.
pub(crate) const RARE_ACK_LOSS: Rule = Rule {
    name: "rare-ack-loss",
    cause: Cause::Unknown,
    of: |kind| kind == WaitKind::Unheard,
    holds: Some(|it, checks| checks.is("ACKs are lost by habit", !it.facts.loses_acks())),
};

/// A window with a guessed scale may be larger than shown.
pub(crate) const WINDOW_OF_UNKNOWN_SCALE: Rule = Rule {
    name: "window-of-unknown-scale",
    cause: Cause::Unknown,
    of: |kind| matches!(kind, WaitKind::Window | WaitKind::Blind { window_full: true }),
    holds: Some(|it, checks| {
        checks.is("the scale of the window is a guess", !it.facts.has_told_window())
            && checks.is("the path is not full", !it.is_path_full())
            && (it.wait.kind == WaitKind::Window || withholds_acks(it, checks))
    }),
};

/// Packets of this time are missing from the capture.
pub(crate) const PACKETS_MISSING: Rule = Rule {
    name: "packets-missing",
    cause: Cause::Unknown,
    of: |kind| kind == WaitKind::Missing,
    holds: None,
};

/// The pauses are no longer than an ACK and its answer may take on the path.
pub(crate) const MAY_BE_PATH: TakeoverRule = TakeoverRule {
    name: "pause-may-be-the-path",
    from: |cause| cause == Cause::SenderIdle,
    to: Cause::Unknown,
    holds: |it, checks| {
        let pauses = i64::from(it.wait.activity.rounds.max(1));
        it.facts
            .longest_turn()
            .is_some_and(|longest| checks.below("pauses", it.wait.charged, longest * pauses))
    },
};

#[cfg(test)]
mod tests {
    use windlass_base::thresholds::{BEFORE_TIMERS, BEYOND_JITTER, LONGER_THAN_PATHS, SEVERAL};
    use windlass_base::{Rate, Span};

    use super::*;
    use crate::estimate::split_tcp::SplitTcp;
    use crate::follow::flow::Scale;
    use crate::judge::fixture::{OrdinaryTransfer, RTT, STEP, full_queue};

    #[test]
    fn an_untrue_capture_tells_of_no_wait() {
        let mut transfer = OrdinaryTransfer::new();
        assert!(!transfer.is_named_by(&UNTRUE_CAPTURE));
        transfer.facts.capture.made_up_times = true;
        assert!(transfer.is_named_by(&UNTRUE_CAPTURE));
        transfer.facts.capture.made_up_times = false;
        transfer.facts.capture.rewritten = true;
        assert!(transfer.is_named_by(&UNTRUE_CAPTURE));
    }

    #[test]
    fn missing_acks_leave_messages() {
        let mut transfer = OrdinaryTransfer::new();
        assert!(!transfer.is_named_by(&WITHOUT_ACKS));
        transfer.facts.capture.lacks_acks = true;
        assert!(transfer.is_named_by(&WITHOUT_ACKS));
        transfer.wait().kind = WaitKind::AwaitPeer;
        assert!(!transfer.is_named_by(&WITHOUT_ACKS));
    }

    #[test]
    fn a_proxy_answers_for_a_sender_that_did_not_open() {
        let mut transfer = OrdinaryTransfer::new();
        transfer.facts.opening.handshake.opener = Some(1);
        assert!(!transfer.is_named_by(&BEYOND_A_PROXY));
        transfer.facts.path.split = Some(SplitTcp { opening: RTT, soonest: STEP });
        assert!(transfer.is_named_by(&BEYOND_A_PROXY));
        transfer.facts.opening.handshake.opener = Some(0);
        assert!(!transfer.is_named_by(&BEYOND_A_PROXY));
    }

    #[test]
    fn a_few_lost_acks_are_rare() {
        let mut transfer = OrdinaryTransfer::waiting(WaitKind::Unheard);
        transfer.facts.loss.in_vain.acks_lost = SEVERAL.get() - 1;
        assert!(transfer.is_named_by(&RARE_ACK_LOSS));
        transfer.facts.loss.in_vain.acks_lost = SEVERAL.get();
        assert!(!transfer.is_named_by(&RARE_ACK_LOSS));
    }

    #[test]
    fn most_segments_come_again_where_a_host_stood_still() {
        let mut transfer = OrdinaryTransfer::waiting(WaitKind::Unheard);
        let half = transfer.facts.counts.segments / 2;
        transfer.facts.loss.in_vain.acks_lost = half;
        assert!(!transfer.is_named_by(&RARE_ACK_LOSS));
        transfer.facts.loss.in_vain.acks_lost = half + 1;
        assert!(transfer.is_named_by(&RARE_ACK_LOSS));
    }

    /// Returns a transfer that waits with a full window, whose scale is a guess.
    fn guessed() -> OrdinaryTransfer {
        let mut transfer = OrdinaryTransfer::waiting(WaitKind::Window);
        transfer.facts.window.scale = Scale::AtLeast(0);
        transfer
    }

    #[test]
    fn a_window_of_unknown_scale_may_be_larger() {
        assert!(guessed().is_named_by(&WINDOW_OF_UNKNOWN_SCALE));
        assert!(!OrdinaryTransfer::waiting(WaitKind::Window).is_named_by(&WINDOW_OF_UNKNOWN_SCALE));
        let mut transfer = guessed();
        transfer.facts.counts.window_held = 1;
        assert!(transfer.is_named_by(&WINDOW_OF_UNKNOWN_SCALE));
        transfer.facts.counts.window_held = 2;
        assert!(!transfer.is_named_by(&WINDOW_OF_UNKNOWN_SCALE));
    }

    #[test]
    fn a_sender_that_stops_at_the_edge_shows_the_scale() {
        let is_guess = |waits, exact, near| {
            let mut transfer = guessed();
            let counts = &mut transfer.facts.counts;
            (counts.window_waits, counts.window_exact, counts.window_near) = (waits, exact, near);
            transfer.is_named_by(&WINDOW_OF_UNKNOWN_SCALE)
        };
        let several = SEVERAL.get();
        assert!(is_guess(several, several - 1, 0) && !is_guess(several, several, 0));
        assert!(is_guess(several, 0, several - 1) && !is_guess(several, 0, several));
        assert!(!is_guess(40, 30, 0) && is_guess(40, 29, 0));
    }

    #[test]
    fn a_full_path_and_a_withheld_ack_tell_without_the_scale() {
        let mut transfer = guessed();
        transfer.set_gap(RTT / 10);
        transfer.set_latency(RTT * 2);
        assert!(!transfer.is_named_by(&WINDOW_OF_UNKNOWN_SCALE));
        let mut transfer = guessed();
        transfer.wait().kind = WaitKind::Blind { window_full: true };
        transfer.set_latency(RTT + BEFORE_TIMERS.get() - STEP);
        assert!(!transfer.is_named_by(&WINDOW_OF_UNKNOWN_SCALE));
        transfer.set_latency(RTT + BEFORE_TIMERS.get());
        assert!(transfer.is_named_by(&WINDOW_OF_UNKNOWN_SCALE));
    }

    /// Returns a transfer whose capture tells of no path, with a pause of this time.
    fn paused(time: Span, rounds: u32) -> OrdinaryTransfer {
        let mut transfer = OrdinaryTransfer::waiting(WaitKind::Idle);
        transfer.forget_handshake();
        transfer.facts.capture.hop_limit = 60;
        transfer.wait().charged = time;
        transfer.activity().rounds = rounds;
        transfer
    }

    #[test]
    fn a_pause_may_be_as_long_as_any_path() {
        let longest = LONGER_THAN_PATHS.get();
        assert!(paused(longest - STEP, 0).is_taken_by(&MAY_BE_PATH));
        assert!(!paused(longest, 1).is_taken_by(&MAY_BE_PATH));
        assert!(paused(longest * 2 - STEP, 2).is_taken_by(&MAY_BE_PATH));
        assert!(!paused(longest * 2, 2).is_taken_by(&MAY_BE_PATH));
    }

    #[test]
    fn the_other_directions_round_trip_tells_the_path() {
        let is_path = |time| {
            let mut transfer = paused(time, 1);
            transfer.facts.path.returned_rtt = Some(RTT);
            transfer.is_taken_by(&MAY_BE_PATH)
        };
        let longest = RTT.scaled(BEYOND_JITTER.get());
        assert!(is_path(longest - STEP) && !is_path(longest));
    }

    #[test]
    fn a_sender_next_to_the_capture_pauses_by_itself() {
        let mut transfer = paused(STEP, 1);
        assert!(transfer.is_taken_by(&MAY_BE_PATH));
        transfer.facts.capture.hop_limit = 64;
        assert!(!transfer.is_taken_by(&MAY_BE_PATH));
        transfer.facts.capture.hop_limit = 60;
        transfer.facts.capture.distance = RTT;
        assert!(!transfer.is_taken_by(&MAY_BE_PATH));
    }

    #[test]
    fn far_away_a_full_queue_lengthens_the_path() {
        let mut transfer = OrdinaryTransfer::far();
        transfer.facts.line.full_queue = Some(full_queue(Rate::from_bytes_per_second(1e6)));
        // The distance, and the queue on both ways.
        transfer.wait().charged = RTT * 3;
        transfer.activity().rounds = 1;
        assert!(!transfer.is_taken_by(&MAY_BE_PATH));
        transfer.wait().charged -= STEP;
        assert!(transfer.is_taken_by(&MAY_BE_PATH));
    }
}
