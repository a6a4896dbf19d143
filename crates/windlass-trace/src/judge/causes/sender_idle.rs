//! A sender with nothing to send.

use crate::estimate::far::FarLimit;
use crate::follow::ledger::{Interval, WaitKind};
use crate::judge::case::Case;
use crate::judge::causes::{Hypothesis, unknown};
use crate::judge::checks::by;
use crate::judge::confidence::{Doubt, START_IS_MISSING};
use crate::judge::remedy::{NO_TIME, keep_to_pace};
use crate::judge::rivals;
use crate::judge::rivals::{Rival, UNNAMED, holder};
use crate::judge::rule::{Rule, TakeoverRule, is_of_sender};
use windlass_base::thresholds::{
    A_QUARTER, A_TENTH_MORE, DOUBTED_PART, LEAST_TIMER, LEVEL_FULLNESS, MORE_THAN_ONE, ONE_IN_FIVE,
    OWN_TIMES, REGULAR_STEPS, SEVERAL, SPARE_FLIGHT,
};
use windlass_base::verdict::{CaveatId, Side};
use windlass_base::{Bytes, Cause, Rate, Sentence, Span, laws, sentence};

pub(crate) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::SenderIdle,
    sentence: |case @ &Case { sender, receiver, .. }, time| {
        // Some of it went to sending, however little.
        let whole = case.time_of(Cause::SenderIdle) >= case.total();
        let time = if whole { &"nearly all of the time".into() } else { time };
        match may_wait(case) {
            Some(_) => sentence!(
                "{sender} sent nothing {time}, and this capture shows nothing that held it back.",
            ),
            None => sentence!(
                "{sender} had nothing to send {time}: neither the network nor {receiver} held it \
                 back.",
            ),
        }
    },
    remedies: |it| {
        let mut steady = it.remedy(
            Side::Sender,
            "check what the sending program waits for (its disk, a computation, another \
             connection?): it could send without a pause",
            NO_TIME,
            0.0,
        );
        keep_to_pace(&mut steady, it);
        if let Some((rate, shown)) = steady.expected_bytes_per_second.zip(shown(it.case))
            && rate > shown
        {
            // The program's pieces are short: their rate bounds nothing.
            it.bound(&mut steady);
        }
        it.bracket_pauses(&mut steady);
        vec![steady]
    },
    shows: |kind| matches!(kind, WaitKind::Idle | WaitKind::Skipped),
    doubts: &[START_IS_MISSING, FAR],
    as_likely: &[BEGINS_AGAIN],
    rivals: &[CLOCK_STOOD, MAY_WAIT, WRITES_BETWEEN_ACKS, WRITES_FAR, SPACED_FAR],
    ..unknown::HYPOTHESIS
};

/// The program sends in the same steps without an ACK due: it keeps its own time.
pub(crate) const KEEPS_TIME: Rule = Rule {
    name: "keeps-time",
    cause: Cause::SenderIdle,
    of: |kind| kind == WaitKind::Nagle,
    holds: Some(|it, checks| {
        let counts = &it.facts.counts;
        let parts = counts.nagle_in_step * ONE_IN_FIVE.get();
        checks.at_least("pauses in step", counts.nagle_in_step, SEVERAL)
            && checks.at_least("the same, by their part", parts, by(ONE_IN_FIVE, counts.nagle))
    }),
};

/// The sender may send, waits for no ACK, and sends nothing.
pub(crate) const NOTHING_TO_SEND: Rule = Rule {
    name: "nothing-to-send",
    cause: Cause::SenderIdle,
    of: |kind| matches!(kind, WaitKind::Idle | WaitKind::Skipped),
    holds: None,
};

/// Far from the sender, unseen losses, a slower path or a reader's own pace look like pauses.
const FAR: Doubt = Doubt {
    name: "taken-at-the-receiver",
    holds: |it, checks| {
        let facts = it.case.facts;
        it.has(CaveatId::TakenAtReceiver, checks)
            && (checks.above("losses", facts.counts.loss_events, 0)
                || checks.above("silences with unseen sends", facts.counts.skips, 0)
                || checks.is("pauses are as short as the path", !it.is_beyond_path())
                || checks.is(
                    "the window moves as a program reads",
                    facts.window.reader.as_ref().is_some_and(|it| it.moves_out_of_step),
                ))
    },
};

/// The sender slept, or the capture's clock was set ahead: its timestamps count less than its
/// pauses.
const CLOCK_STOOD: Rival =
    Rival { name: "the-sender-slept", causes: UNNAMED, explains: clock_stood };

/// The program writes at its own times, and its pauses alone are not most of the time: waits for
/// ACKs between its writes cost nothing.
pub(crate) const PROGRAM_SETS_PACE: TakeoverRule = TakeoverRule {
    name: "program-sets-the-pace",
    from: is_of_sender,
    to: Cause::SenderIdle,
    holds: |it, checks| {
        let (idle, busy) = (it.facts.time_of_kind(WaitKind::Idle), it.facts.time_busy());
        checks.is("departures show a program's own times", it.facts.sent.is_paced_by_program)
            && checks.at_most("its pauses", idle, busy)
    },
};

/// Most waits end without an ACK: no window releases data like that.
pub(crate) const SENDS_APART: TakeoverRule = TakeoverRule {
    name: "sends-at-other-times-than-acks",
    from: |cause| matches!(cause, Cause::BufferPathRtt | Cause::BufferDelayedAck | Cause::Steady),
    to: Cause::SenderIdle,
    holds: |it, checks| {
        let own = it.facts.sent.pace.map(|pace| pace.own);
        own.is_some_and(|own| checks.at_least("waits that end apart from ACKs", own, OWN_TIMES))
            && checks.is("one clock", !it.facts.has_two_clocks())
            && checks.below("its part of the largest flight", it.facts.fullness(), LEVEL_FULLNESS)
    },
};

/// Far from the sender, a buffer that holds a transfer is full all the time, and this is not.
pub(crate) const FILLS_NO_BUFFER: TakeoverRule = TakeoverRule {
    name: "fills-no-buffer",
    from: |cause| cause == Cause::BufferPathRtt,
    to: Cause::SenderIdle,
    holds: |it, checks| {
        checks.is("the capture is far from the sender", it.facts.capture.is_far)
            && checks.below("its part of the largest flight", it.facts.fullness(), SPARE_FLIGHT)
    },
};

/// Far from the sender, data comes in regular steps with silence between them, and the flight is
/// not level.
pub(crate) const STEPS_FAR: TakeoverRule = TakeoverRule {
    name: "regular-steps",
    from: |cause| cause == Cause::Steady,
    to: Cause::SenderIdle,
    holds: |it, checks| {
        let shares = &it.facts.far.shares;
        checks.is("the capture is far from the sender", it.facts.capture.is_far)
            && checks.below("its part of the largest flight", it.facts.fullness(), SPARE_FLIGHT)
            && checks.is("ACKs let no level flight go", !shares.is_clocked())
            && checks.at_least("steps as long as the last", shares.regular, REGULAR_STEPS)
            && checks.at_least("silence", shares.silent, A_QUARTER)
    },
};

/// A buffer that a slow host refills looks the same, if its size is no whole number of segments.
const WRITES_BETWEEN_ACKS: Rival = Rival {
    name: "writes-between-acks",
    causes: |_| vec![Cause::BufferPathRtt],
    explains: |case| {
        case.is_between_bursts(Cause::SenderIdle).then(|| {
            sentence!(
                "{case.sender} sends between two ACKs, each time after all earlier writes of its \
                 program have left: the program sets the pace. Run windlass top on {case.sender} \
                 to see that its send buffer is not full"
            )
        })
    },
};

/// Far from the sender, a lost segment whose timer runs out looks like a pause. Behind a timeout a
/// sender begins with one segment and waits for its ACK (RFC 5681 section 3.1), though it has
/// several in flight at other times.
const BEGINS_AGAIN: Rival = Rival {
    name: "begins-again-with-one-segment",
    causes: |_| vec![Cause::Timeout, Cause::BlackHole],
    explains: |case| {
        let segment = case.facts.window.segment;
        let begins = |pair: &&[Interval]| {
            matches!(pair[0].kind, WaitKind::Idle | WaitKind::Skipped)
                && pair[0].charged >= LEAST_TIMER.get()
                && pair[1].kind == WaitKind::Open
                && pair[1].activity.flight_high <= segment
        };
        let pairs = case.facts.waits.windows(2).filter(begins);
        let silent: Span = pairs.map(|pair| pair[0].charged).sum();
        let is_most = silent * 2 >= case.time_of(Cause::SenderIdle) && silent > Span::ZERO;
        let sends_more = case.facts.counts.flight_most >= SEVERAL.get() * segment;
        (case.facts.capture.is_far && is_most && sends_more).then(|| {
            sentence!(
                "after its pauses {case.sender} begins with one segment and waits for its ACK, as \
                 after a timeout: segments may have been lost before the capture; capture at the \
                 sender to tell"
            )
        })
    },
};

/// Far from the sender, a line may be what spaces the data between its bursts.
const SPACED_FAR: Rival = Rival {
    name: "a-line-may-space-it",
    causes: |_| vec![Cause::PathQueue],
    explains: |case| {
        case.is_between_bursts(Cause::SenderIdle)
            .then(|| (rivals::OWN_PACE.explains)(case))
            .flatten()
    },
};

/// Far from the sender, bursts that a program writes look like those of a send buffer that it
/// refills in the same pieces.
const WRITES_FAR: Rival = Rival {
    name: "a-refilled-buffer-far-away",
    causes: |_| vec![Cause::BufferPathRtt],
    explains: |case| {
        case.facts.far.decides(FarLimit::Program).then(|| {
            sentence!(
                "bursts end as writes do, or come at regular times, independently of ACKs: the \
                 sending program, or pacing, sets the rate; run windlass top on {case.sender} to \
                 see whether its send buffer is full"
            )
        })
    },
};

/// The sender may wait: its pauses are short, follow a full segment without PSH, or echo old
/// timestamps.
const MAY_WAIT: Rival =
    Rival { name: "it-may-wait-for-acks", causes: waited_for, explains: may_wait };

/// The most that it had in flight, once in each round trip of the path: nothing shows that its
/// buffer holds more.
fn shown(case: &Case<'_>) -> Option<Rate> {
    let facts = case.facts;
    let most = laws::window_rate(Bytes::new(facts.counts.flight_most), facts.path.told_rtt?);
    Some(Rate::from_bytes_per_second(most.bytes_per_second() * A_TENTH_MORE.get()))
}

/// Returns a reason why it may have had something to send, and waited.
fn may_wait(case: &Case<'_>) -> Option<Sentence> {
    let reasons: [fn(&Case<'_>) -> Option<Sentence>; 5] =
        [|case| case.stale_echoes(), doubles, became_longer, is_soon, had_more];
    reasons.into_iter().find_map(|reason| reason(case))
}

/// Bursts that double with nothing in flight between are those of slow start.
fn doubles(case: &Case<'_>) -> Option<Sentence> {
    let (doublings, sender) = (case.facts.counts.doublings, case.sender);
    (doublings >= MORE_THAN_ONE.get()).then(|| {
        sentence!(
            "each burst has twice the segments of the one before, {doublings} times in turn, as a \
             congestion window grows in slow start: the path to {sender} may be longer than \
             its handshake shows; capture at the sender to tell"
        )
    })
}

/// Returns what it would wait for: a queue of its own where it had more to send, else an ACK.
fn waited_for(case: &Case<'_>) -> Vec<Cause> {
    if doubles(case).is_some() {
        return vec![Cause::SlowStart];
    }
    let is_queued = case.stale_echoes().is_some() || had_more(case).is_some();
    if is_queued { vec![Cause::PathQueue, Cause::Steady] } else { holder(case) }
}

/// The sender's own clock may count less than the capture's over its pauses.
fn clock_stood(case: &Case<'_>) -> Option<Sentence> {
    let stood = case.facts.counts.clock_stood;
    case.is_part_of(Cause::SenderIdle, stood, 2).then(|| {
        sentence!(
            "by {case.sender}'s own timestamps its pauses took {stood} less than in the \
             capture: it slept, or the capture's clock was set ahead"
        )
    })
}

/// Far from the sender each pause may be a wait for an ACK, where the path became longer.
fn became_longer(case: &Case<'_>) -> Option<Sentence> {
    case.facts.path.answers_became_slower.then(|| {
        "after the start none of its data follows an ACK as soon as at first: the path may have \
         become longer, and each pause may be a wait for an ACK; capture at the sender to tell"
            .into()
    })
}

/// Far from the sender a pause that is hardly longer than the path may be a wait for an ACK, where
/// the delay of its way swings.
fn is_soon(case: &Case<'_>) -> Option<Sentence> {
    case.is_part_of(Cause::SenderIdle, case.facts.counts.idle_soon, DOUBTED_PART.get()).then(|| {
        sentence!(
            "many of its pauses are short enough for an ACK to reach {case.sender} and a busy host \
             to respond: it may wait for ACKs; capture at the sender to tell"
        )
    })
}

/// A sender that says of what it sends that there is more behind it has data.
fn had_more(case: &Case<'_>) -> Option<Sentence> {
    let counts = &case.facts.counts;
    let had_more = counts.pushes > 0
        && case.is_part_of(Cause::SenderIdle, counts.idle_unpushed, DOUBTED_PART.get());
    had_more.then(|| {
        sentence!(
            "many of its pauses begin after a full segment without PSH, so {case.sender} had more \
             to send: it may wait for late ACKs, or for its own queue; capture at the sender to \
             tell"
        )
    })
}

#[cfg(test)]
mod tests {
    use windlass_base::thresholds::{HALF_AGAIN, LONGER_THAN_PATHS};
    use windlass_base::{Span, whole_part};

    use super::*;
    use crate::estimate::far::FarShares;
    use crate::estimate::program_pace::PaceShares;
    use crate::follow::ledger::Wait;
    use crate::judge::facts::ReaderFacts;
    use crate::judge::fixture::{OrdinaryTransfer, RTT, SEGMENT, STEP, TIME, pace, share_of};

    /// Returns a transfer at its receiver whose longest pause takes this time.
    fn pausing(longest: Span) -> OrdinaryTransfer {
        let mut transfer = OrdinaryTransfer::far();
        transfer.caveats = vec![CaveatId::TakenAtReceiver];
        let pause = Wait { first: 10, last: 11, span: longest };
        transfer.facts.longest = vec![(WaitKind::Idle, vec![pause])];
        transfer
    }

    #[test]
    fn bursts_that_double_twice_are_of_slow_start() {
        let mut transfer = OrdinaryTransfer::far();
        transfer.facts.counts.doublings = MORE_THAN_ONE.get();
        assert!(transfer.is_explained_by(&MAY_WAIT));
        assert_eq!(waited_for(&transfer.case()), [Cause::SlowStart]);
        transfer.facts.counts.doublings -= 1;
        assert!(!transfer.is_explained_by(&MAY_WAIT));
    }

    #[test]
    fn a_program_keeps_time_in_several_pauses_alike() {
        let mut transfer = OrdinaryTransfer::waiting(WaitKind::Nagle);
        let counts = &mut transfer.facts.counts;
        (counts.nagle, counts.nagle_in_step) = (1, SEVERAL.get());
        assert!(transfer.is_named_by(&KEEPS_TIME));
        transfer.facts.counts.nagle_in_step -= 1;
        assert!(!transfer.is_named_by(&KEEPS_TIME));
    }

    #[test]
    fn a_program_keeps_time_in_its_part_of_the_pauses() {
        let mut transfer = OrdinaryTransfer::waiting(WaitKind::Nagle);
        let counts = &mut transfer.facts.counts;
        counts.nagle_in_step = SEVERAL.get() + 1;
        counts.nagle = counts.nagle_in_step * ONE_IN_FIVE.get();
        assert!(transfer.is_named_by(&KEEPS_TIME));
        transfer.facts.counts.nagle += 1;
        assert!(!transfer.is_named_by(&KEEPS_TIME));
    }

    #[test]
    fn pauses_far_away_are_longer_than_the_path_varies() {
        let path = HALF_AGAIN * RTT;
        assert!(!pausing(path).is_doubted_by(&FAR));
        assert!(pausing(path - STEP).is_doubted_by(&FAR));
        let longest = |span| {
            let mut transfer = pausing(span);
            transfer.set_path(LONGER_THAN_PATHS.get());
            transfer
        };
        assert!(!longest(LONGER_THAN_PATHS.get()).is_doubted_by(&FAR));
        assert!(longest(LONGER_THAN_PATHS.get() - STEP).is_doubted_by(&FAR));
    }

    #[test]
    fn losses_unseen_sends_and_a_reader_doubt_pauses_far_away() {
        let mut transfer = pausing(TIME);
        transfer.facts.counts.loss_events = 1;
        assert!(transfer.is_doubted_by(&FAR));
        let mut transfer = pausing(TIME);
        transfer.facts.counts.skips = 1;
        assert!(transfer.is_doubted_by(&FAR));
        let mut transfer = pausing(TIME);
        transfer.facts.window.reader = Some(ReaderFacts::default());
        assert!(!transfer.is_doubted_by(&FAR));
        let reader = ReaderFacts { moves_out_of_step: true, ..ReaderFacts::default() };
        transfer.facts.window.reader = Some(reader);
        assert!(transfer.is_doubted_by(&FAR));
        transfer.caveats.clear();
        assert!(!transfer.is_doubted_by(&FAR));
    }

    #[test]
    fn pauses_do_not_have_most_of_the_time_of_a_paced_program() {
        let mut transfer = OrdinaryTransfer::new();
        transfer.add_wait(WaitKind::Idle, TIME);
        assert!(!transfer.is_taken_by(&PROGRAM_SETS_PACE));
        transfer.facts.sent.is_paced_by_program = true;
        assert!(transfer.is_taken_by(&PROGRAM_SETS_PACE));
        transfer.wait().charged -= STEP;
        assert!(!transfer.is_taken_by(&PROGRAM_SETS_PACE));
    }

    #[test]
    fn writes_between_acks_have_half_of_the_time() {
        let mut transfer = OrdinaryTransfer::new();
        transfer.charge(Cause::SenderIdle, TIME);
        transfer.tally.between_bursts = TIME / 2;
        assert!(transfer.is_explained_by(&WRITES_BETWEEN_ACKS));
        transfer.tally.between_bursts -= STEP;
        assert!(!transfer.is_explained_by(&WRITES_BETWEEN_ACKS));
    }

    #[test]
    fn far_away_the_ends_of_writes_decide() {
        let mut transfer = OrdinaryTransfer::far();
        transfer.facts.far.limit = Some(FarLimit::Program);
        assert!(!transfer.is_explained_by(&WRITES_FAR));
        transfer.facts.far.decides = true;
        assert!(transfer.is_explained_by(&WRITES_FAR));
    }

    #[test]
    fn a_program_is_promised_what_its_flight_shows() {
        let promise = |busy, line: Option<f64>| {
            let mut transfer = OrdinaryTransfer::new();
            transfer.cause = Cause::SenderIdle;
            transfer.facts.line.service = line.map(|line| pace(Rate::from_bytes_per_second(line)));
            // The path was seen to carry any rate.
            transfer.facts.line.capacity = Some(Rate::from_bytes_per_second(1e12));
            transfer.tally.total = TIME * 2;
            transfer.charge(Cause::SenderIdle, TIME * 2 - busy);
            let remedy = transfer.remedies(HYPOTHESIS.remedies).remove(0);
            (remedy.expected_bytes_per_second.is_some(), remedy.at_most_bytes_per_second.is_some())
        };
        // The transfer has its largest flight in each round trip.
        let busy = TIME.scaled(1.0 / A_TENTH_MORE.get());
        let line = Some(1.2e6);
        assert_eq!(promise(busy + Span::from_micros(1), line), (true, false));
        assert_eq!(promise(busy - Span::from_micros(1), line), (false, true));
        // Without a line near that rate its window may grow.
        assert_eq!(promise(busy + Span::from_micros(1), None), (false, true));
    }

    #[test]
    fn a_clock_that_stood_for_half_of_the_pauses_slept() {
        let mut transfer = OrdinaryTransfer::new();
        assert!(!transfer.is_explained_by(&CLOCK_STOOD));
        transfer.charge(Cause::SenderIdle, TIME);
        transfer.facts.counts.clock_stood = TIME / 2;
        assert!(transfer.is_explained_by(&CLOCK_STOOD));
        transfer.facts.counts.clock_stood -= STEP;
        assert!(!transfer.is_explained_by(&CLOCK_STOOD));
    }

    #[test]
    fn a_part_of_short_pauses_may_wait_for_acks() {
        let mut transfer = OrdinaryTransfer::new();
        transfer.charge(Cause::SenderIdle, TIME);
        let part = TIME / DOUBTED_PART.get();
        transfer.facts.counts.idle_soon = part;
        assert!(transfer.is_explained_by(&MAY_WAIT));
        transfer.facts.counts.idle_soon = part - STEP;
        assert!(!transfer.is_explained_by(&MAY_WAIT));
    }

    #[test]
    fn a_part_of_pauses_behind_a_full_segment_may_wait_where_any_is_pushed() {
        let mut transfer = OrdinaryTransfer::new();
        transfer.charge(Cause::SenderIdle, TIME);
        let part = TIME / DOUBTED_PART.get();
        transfer.facts.counts.idle_unpushed = part;
        assert!(!transfer.is_explained_by(&MAY_WAIT));
        transfer.facts.counts.pushes = 1;
        assert!(transfer.is_explained_by(&MAY_WAIT));
        transfer.facts.counts.idle_unpushed = part - STEP;
        assert!(!transfer.is_explained_by(&MAY_WAIT));
    }

    #[test]
    fn a_path_that_became_longer_and_stale_echoes_may_be_waits() {
        let mut transfer = OrdinaryTransfer::new();
        transfer.facts.path.answers_became_slower = true;
        assert!(transfer.is_explained_by(&MAY_WAIT));
        let mut transfer = OrdinaryTransfer::new();
        transfer.facts.path.has_stale_echoes = true;
        assert!(transfer.is_explained_by(&MAY_WAIT));
    }

    #[test]
    fn far_away_one_segment_behind_a_long_pause_may_follow_a_timeout() {
        let explained = |pause: Span, flight, most| {
            let mut transfer = OrdinaryTransfer::far();
            transfer.facts.capture.is_far = true;
            transfer.charge(Cause::SenderIdle, pause);
            transfer.add_wait(WaitKind::Idle, pause);
            transfer.add_wait(WaitKind::Open, RTT);
            transfer.facts.waits.last_mut().unwrap().activity.flight_high = flight;
            transfer.facts.counts.flight_most = most;
            transfer.is_explained_by(&BEGINS_AGAIN)
        };
        let (timer, several) = (LEAST_TIMER.get(), SEVERAL.get() * SEGMENT);
        assert!(explained(timer, SEGMENT, several));
        assert!(!explained(timer - STEP, SEGMENT, several));
        assert!(!explained(timer, SEGMENT + 1, several));
        assert!(!explained(timer, SEGMENT, several - 1));
    }

    #[test]
    fn a_program_sends_apart_from_acks() {
        let is_taken = |own| {
            let mut transfer = OrdinaryTransfer::new();
            transfer.facts.sent.pace = Some(PaceShares { own, ..PaceShares::default() });
            transfer.facts.counts.flight_most *= 2;
            transfer.is_taken_by(&SENDS_APART)
        };
        let mut full = OrdinaryTransfer::new();
        full.facts.sent.pace = Some(PaceShares { own: 1.0, ..PaceShares::default() });
        assert!(full.facts.fullness() >= LEVEL_FULLNESS.get() && !full.is_taken_by(&SENDS_APART));
        assert!(is_taken(OWN_TIMES.get()) && !is_taken(OWN_TIMES.get() - 1e-9));
        assert!(!(SENDS_APART.from)(Cause::PathQueue) && (SENDS_APART.from)(Cause::Steady));
    }

    /// Returns a transfer at its receiver that fills this part of its largest flight.
    fn filling(part: f64) -> OrdinaryTransfer {
        let mut transfer = OrdinaryTransfer::far();
        transfer.facts.capture.is_far = true;
        let full = transfer.facts.fullness();
        let flight = transfer.facts.counts.flight_most as f64;
        transfer.facts.counts.flight_most = share_of(full / part, whole_part(flight));
        transfer
    }

    #[test]
    fn a_buffer_that_holds_a_transfer_is_full() {
        assert!(filling(SPARE_FLIGHT.get() - 0.01).is_taken_by(&FILLS_NO_BUFFER));
        assert!(!filling(SPARE_FLIGHT.get() + 0.01).is_taken_by(&FILLS_NO_BUFFER));
        let mut transfer = filling(SPARE_FLIGHT.get() - 0.01);
        transfer.facts.capture.is_far = false;
        assert!(!transfer.is_taken_by(&FILLS_NO_BUFFER));
    }

    #[test]
    fn regular_steps_with_silence_are_of_a_program() {
        let steps = |part, regular, silent| {
            let mut transfer = filling(part);
            transfer.facts.far.shares = FarShares { regular, silent, ..FarShares::default() };
            assert!(!transfer.facts.far.shares.is_clocked());
            let is_taken = transfer.is_taken_by(&STEPS_FAR);
            (transfer.facts.far.shares.prompt, transfer.facts.far.shares.level) = (1.0, 1.0);
            assert!(!transfer.is_taken_by(&STEPS_FAR));
            is_taken
        };
        let (part, regular, silent) =
            (SPARE_FLIGHT.get() - 0.01, REGULAR_STEPS.get(), A_QUARTER.get());
        assert!(steps(part, regular, silent));
        assert!(!steps(part + 0.02, regular, silent));
        assert!(!steps(part, regular - 1e-9, silent) && !steps(part, regular, silent - 1e-9));
    }
}
