//! Data that comes as evenly as a line, a shaper or a pace spaces it.

use crate::judge::checks::{Checks, by};
use crate::judge::rivals::Rival;
use crate::judge::rule::{TakeoverRule, WaitContext, is_of_sender};
use windlass_base::thresholds::{HALF_OF_IT, MANY, MOST_OF_IT};
use windlass_base::{Bytes, Cause, sentence};

/// Something at the sender spaces its data: it leaves a segment or two at a time, at its own times,
/// and not at ends of writes. A pause of the program in between does not count.
pub(crate) const SPACED_AT_SENDER: TakeoverRule = TakeoverRule {
    name: "spaced-at-the-sender",
    from: |cause| is_of_sender(cause) || cause == Cause::SenderIdle,
    to: Cause::PathQueue,
    holds: |it, checks| {
        checks.is("data leaves evenly, apart from ACKs", it.facts.is_spaced_at_sender())
            && is_spacing(it, checks)
    },
};

/// Far from the sender, segments come in even steps, and a window or buffer would hold more.
pub(crate) const SPACED_FAR: TakeoverRule = TakeoverRule {
    name: "spaced-before-the-capture",
    from: |cause| matches!(cause, Cause::Steady | Cause::BufferPathRtt),
    to: Cause::PathQueue,
    holds: |it, checks| {
        checks.is("data comes in even steps", it.facts.is_spaced_far()) && is_spacing(it, checks)
    },
};

/// Returns whether about as much leaves in a wait as in as much of the transfer: it is no pause.
fn is_spacing(it: &WaitContext<'_>, checks: &mut Checks) -> bool {
    let mean = Bytes::new(it.facts.sent.bytes).per(it.facts.time_in_all()).bytes_per_second();
    let rate = Bytes::new(it.wait.activity.sent).per(it.wait.charged).bytes_per_second();
    checks.at_least("its rate in this wait", rate, by(HALF_OF_IT, mean * HALF_OF_IT.get()))
}

/// A program that writes a segment or two at a time spaces its data as a shaper does.
pub(super) const SPACED_BY_PROGRAM: Rival = Rival {
    name: "program-writes-evenly",
    causes: |_| vec![Cause::SenderIdle],
    explains: |case| {
        case.is_spaced().then(|| {
            sentence!(
                "a program that writes a segment or two at a time looks the same; run windlass top \
                 on {} to see whether its send buffer is empty",
                case.sender
            )
        })
    },
};

/// Far from the sender, nearly all pairs of segments have the spacing of the transfer's mean rate:
/// a line spaced them all, and was never idle.
pub(crate) const NEVER_IDLE: TakeoverRule = TakeoverRule {
    name: "line-is-never-idle",
    from: |cause| matches!(cause, Cause::FastRecovery | Cause::AfterLoss),
    to: Cause::PathQueue,
    holds: |it, checks| {
        let facts = it.facts;
        let segments = i64::try_from(facts.counts.segments).unwrap_or(i64::MAX).max(1);
        let mean = facts.time_in_all() / segments;
        let [close, usual] = [facts.line.packet_times.p10(), facts.line.packet_times.median()];
        let pairs = facts.line.packet_times.count;
        checks.is("the capture is far from the sender", facts.capture.is_far)
            && checks.at_least("pairs of segments", pairs, MANY)
            && [("one in ten pairs", close), ("half of the pairs", usual)].into_iter().all(
                |(what, apart)| {
                    let least = mean.scaled(MOST_OF_IT.get());
                    apart.is_some_and(|apart| checks.at_least(what, apart, by(MOST_OF_IT, least)))
                },
            )
    },
};

#[cfg(test)]
mod tests {
    use windlass_base::thresholds::{
        AS_GOOD_AS_EQUAL, LEVEL_FULLNESS, MOMENT, MOST_OF_IT, NEARLY_ALL, PROGRAMS_SHARE,
    };

    use super::*;
    use crate::estimate::program_pace::PaceShares;
    use crate::judge::fixture::{
        OrdinaryTransfer, ROUNDS, SEGMENT, SEGMENTS, TIME, quantiles, share_of,
    };

    /// Returns a transfer whose data leaves evenly, apart from ACKs.
    fn spaced() -> OrdinaryTransfer {
        let mut transfer = OrdinaryTransfer::new();
        let pace = PaceShares { own: 1.0, paced: 1.0, ..PaceShares::default() };
        transfer.facts.sent.pace = Some(pace);
        transfer.activity().sent = transfer.facts.sent.bytes;
        transfer.facts.counts.flight_most *= 2;
        transfer
    }

    #[test]
    fn a_shaper_sends_apart_from_acks_a_segment_or_two_at_a_time() {
        let with = |change: fn(&mut PaceShares, f64), value: f64| {
            let mut transfer = spaced();
            change(transfer.facts.sent.pace.as_mut().unwrap(), value);
            transfer.is_taken_by(&SPACED_AT_SENDER)
        };
        let least = MOST_OF_IT.get();
        assert!(with(|pace, own| pace.own = own, least));
        assert!(!with(|pace, own| pace.own = own, least - 1e-9));
        assert!(with(|pace, paced| pace.paced = paced, least));
        assert!(!with(|pace, paced| pace.paced = paced, least - 1e-9));
        assert!(!with(|pace, short| pace.behind_short = short, PROGRAMS_SHARE.get()));
        assert!(with(|pace, short| pace.behind_short = short, PROGRAMS_SHARE.get() - 1e-9));
    }

    #[test]
    fn a_program_pushes_each_write_and_ends_it_short_or_waits_until_all_came() {
        let with = |change: fn(&mut OrdinaryTransfer, u64), value| {
            let mut transfer = spaced();
            change(&mut transfer, value);
            transfer.is_taken_by(&SPACED_AT_SENDER)
        };
        let pushes = share_of(MOST_OF_IT.get(), SEGMENTS);
        assert!(!with(|transfer, pushes| transfer.facts.counts.pushes = pushes, pushes));
        assert!(with(|transfer, pushes| transfer.facts.counts.pushes = pushes, pushes - 1));
        let full = share_of(1.0 - AS_GOOD_AS_EQUAL.get(), SEGMENTS * SEGMENT);
        assert!(with(|transfer, bytes| transfer.facts.counts.bytes = bytes, full));
        assert!(!with(|transfer, bytes| transfer.facts.counts.bytes = bytes, full - 1));
        assert!(with(|transfer, alone| transfer.facts.counts.unprompted = alone, ROUNDS / 2));
        assert!(!with(|transfer, alone| transfer.facts.counts.unprompted = alone, ROUNDS / 2 + 1));
    }

    #[test]
    fn a_shaper_sends_often_and_leaves_room_in_the_flight() {
        let mut transfer = spaced();
        let pair = MOMENT.get() / 2;
        transfer.wait().charged = pair * i64::try_from(SEGMENTS).unwrap();
        assert!(transfer.is_taken_by(&SPACED_AT_SENDER));
        transfer.wait().charged += TIME;
        assert!(!transfer.is_taken_by(&SPACED_AT_SENDER));
        let mut transfer = spaced();
        let flight = transfer.facts.counts.flight_most as f64;
        let least = transfer.facts.fullness() * flight / LEVEL_FULLNESS.get();
        transfer.facts.counts.flight_most = windlass_base::whole_part(least);
        assert!(!transfer.is_taken_by(&SPACED_AT_SENDER));
        transfer.facts.counts.flight_most += 1;
        assert!(transfer.is_taken_by(&SPACED_AT_SENDER));
    }

    #[test]
    fn a_pause_is_no_spacing() {
        let mut transfer = spaced();
        let mean = share_of(HALF_OF_IT.get(), transfer.facts.sent.bytes);
        transfer.activity().sent = mean;
        assert!(transfer.is_taken_by(&SPACED_AT_SENDER));
        transfer.activity().sent = mean - SEGMENT;
        assert!(!transfer.is_taken_by(&SPACED_AT_SENDER));
    }

    #[test]
    fn far_away_a_shaper_makes_even_steps_and_leaves_room() {
        let steps = |regular, pushed: u64, room: f64| {
            let mut transfer = OrdinaryTransfer::far();
            transfer.facts.capture.is_far = true;
            transfer.activity().sent = transfer.facts.sent.bytes;
            transfer.facts.far.shares.regular = regular;
            transfer.facts.counts.pushes = pushed;
            let full = transfer.facts.fullness() / room;
            let flight = transfer.facts.counts.flight_most;
            transfer.facts.counts.flight_most = share_of(full, flight);
            transfer.is_taken_by(&SPACED_FAR)
        };
        let (even, room) = (NEARLY_ALL.get(), LEVEL_FULLNESS.get() - 0.01);
        let half = SEGMENTS / 2;
        assert!(steps(even, half, room) && !steps(even - 1e-9, half, room));
        assert!(!steps(even, half, room + 0.02));
        assert!(!steps(even, SEGMENTS, room) && !steps(even, 0, room));
    }

    #[test]
    fn a_line_that_is_never_idle_has_nearly_all_pairs_apart() {
        let many = |pairs, share: f64| {
            let mut transfer = OrdinaryTransfer::far();
            transfer.facts.capture.is_far = true;
            let mean = transfer.facts.time_in_all() / i64::try_from(SEGMENTS).unwrap();
            transfer.facts.line.packet_times = quantiles((0..pairs).map(|_| mean.scaled(share)));
            transfer
        };
        let pairs = |share| many(MANY.get(), share);
        assert!(!many(MANY.get() - 1, 1.0).is_taken_by(&NEVER_IDLE));
        assert!(pairs(MOST_OF_IT.get() + 0.05).is_taken_by(&NEVER_IDLE));
        assert!(!pairs(MOST_OF_IT.get() - 0.05).is_taken_by(&NEVER_IDLE));
        let mut transfer = pairs(1.0);
        transfer.facts.capture.is_far = false;
        assert!(!transfer.is_taken_by(&NEVER_IDLE));
    }

    #[test]
    fn a_program_may_space_what_something_at_the_sender_spaces() {
        let mut transfer = spaced();
        transfer.charge(Cause::PathQueue, TIME);
        assert!(!transfer.is_explained_by(&SPACED_BY_PROGRAM));
        transfer.tally.between_bursts = TIME / 2;
        assert!(transfer.is_explained_by(&SPACED_BY_PROGRAM));
    }
}
