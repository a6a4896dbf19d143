use windlass_base::thresholds::{MANY, PROMPT_LEAST};

use super::*;
use crate::estimate::longer_path::LongerPath;
use crate::estimate::split_tcp::SplitTcp;
use crate::follow::flow::Scale;
use crate::follow::ledger::{Reopening, Wait};
use crate::judge::causes::hypothesis;
use crate::judge::facts::ReaderFacts;
use crate::judge::fixture::{OrdinaryTransfer, RTT, STEP, TIME, share_of};
use crate::judge::tally::Charge;

/// Returns a doubt of a list by its name.
fn doubt(list: &'static [Doubt], name: &str) -> &'static Doubt {
    list.iter().find(|doubt| doubt.name == name).unwrap()
}

/// Returns an ordinary transfer whose verdict claims this cause, with a caveat.
fn claiming(cause: Cause, caveat: CaveatId) -> OrdinaryTransfer {
    let mut transfer = OrdinaryTransfer::new();
    transfer.cause = cause;
    transfer.caveats = vec![caveat];
    transfer
}

#[test]
fn nothing_makes_an_ordinary_transfer_doubtful() {
    let transfer = OrdinaryTransfer::new();
    for doubt in LOW.iter().chain(MEDIUM) {
        assert!(!transfer.is_doubted_by(doubt), "{}", doubt.name);
    }
}

#[test]
fn a_transfer_takes_time_and_has_a_cause() {
    let nothing = doubt(LOW, "nothing-is-known");
    let mut transfer = OrdinaryTransfer::new();
    transfer.tally.total = STEP;
    assert!(!transfer.is_doubted_by(nothing));
    transfer.tally.total = Span::ZERO;
    assert!(transfer.is_doubted_by(nothing));
    assert!(claiming(Cause::Unknown, CaveatId::Short).is_doubted_by(nothing));
}

#[test]
fn beside_a_rival_that_is_as_likely_a_cause_is_a_guess() {
    let guess = doubt(LOW, "a-rival-is-as-likely");
    let mut transfer = claiming(Cause::BufferPathRtt, CaveatId::Short);
    assert!(!transfer.is_doubted_by(guess));
    transfer.facts.counts.drained = transfer.facts.counts.reactions;
    assert!(transfer.is_doubted_by(guess));
    transfer.cause = Cause::BufferDelayedAck;
    assert!(!transfer.is_doubted_by(guess));
}

#[test]
fn one_direction_shows_timeouts_alone() {
    let one_sided = doubt(LOW, "one-direction-only");
    assert!(claiming(Cause::Steady, CaveatId::OneSided).is_doubted_by(one_sided));
    assert!(!claiming(Cause::Timeout, CaveatId::OneSided).is_doubted_by(one_sided));
    assert!(!claiming(Cause::SlowTimer, CaveatId::OneSided).is_doubted_by(one_sided));
}

#[test]
fn a_window_of_unknown_scale_has_a_shift() {
    let unknown = doubt(LOW, "window-of-unknown-scale");
    let mut transfer = claiming(Cause::WindowPathRtt, CaveatId::ScaleUnknown);
    transfer.facts.window.scale = Scale::AtLeast(0);
    assert!(!transfer.is_doubted_by(unknown));
    transfer.facts.window.scale = Scale::AtLeast(1);
    assert!(transfer.is_doubted_by(unknown));
    transfer.cause = Cause::Timeout;
    assert!(!transfer.is_doubted_by(unknown));
}

#[test]
fn a_pause_without_a_start_is_longer_than_paths() {
    let pauses = doubt(LOW, "pauses-without-a-start");
    let mut transfer = claiming(Cause::SenderIdle, CaveatId::NoHandshake);
    let mut is_doubted_after = |span| {
        let pause = Wait { first: 10, last: 11, span };
        transfer.facts.longest = vec![(WaitKind::Idle, vec![pause])];
        transfer.is_doubted_by(pauses)
    };
    let longest = LONGER_THAN_PATHS.get();
    assert!(is_doubted_after(longest - STEP) && !is_doubted_after(longest));
}

#[test]
fn the_start_tells_some_causes_from_others() {
    let start = doubt(LOW, "the-start-would-tell");
    let mut transfer = claiming(Cause::BufferPathRtt, CaveatId::NoHandshake);
    assert!(transfer.is_doubted_by(start));
    transfer.cause = Cause::Steady;
    assert!(!transfer.is_doubted_by(start));
    transfer.facts.path.rtt = None;
    assert!(transfer.is_doubted_by(start));
    for cause in [Cause::WindowPathRtt, Cause::ReceiverNotReading] {
        transfer.cause = cause;
        transfer.facts.window.reader = Some(ReaderFacts::default());
        assert!(!transfer.is_doubted_by(start));
        let (is_steady, makes_room_by_itself) = (true, true);
        let reader = ReaderFacts { is_steady, makes_room_by_itself, ..ReaderFacts::default() };
        transfer.facts.window.reader = Some(reader);
        assert!(transfer.is_doubted_by(start));
    }
}

#[test]
fn a_transfer_is_longer_than_one_flight() {
    let one = doubt(LOW, "one-flight");
    let is_doubted = |cause, total| {
        let mut transfer = claiming(cause, CaveatId::Short);
        transfer.tally.total = total;
        transfer.is_doubted_by(one)
    };
    assert!(is_doubted(Cause::Timeout, RTT / 2 - STEP) && !is_doubted(Cause::Timeout, RTT / 2));
    assert!(is_doubted(Cause::SenderIdle, RTT - STEP) && !is_doubted(Cause::SenderIdle, RTT));
}

#[test]
fn a_congestion_window_holds_less_than_the_transfer() {
    let one = doubt(LOW, "one-flight");
    let mut transfer = OrdinaryTransfer::new();
    transfer.facts.counts.flight_most = transfer.facts.counts.bytes - 1;
    assert!(!transfer.is_doubted_by(one));
    transfer.facts.counts.flight_most += 1;
    assert!(transfer.is_doubted_by(one));
    transfer.cause = Cause::Timeout;
    assert!(!transfer.is_doubted_by(one));
}

#[test]
fn hosts_next_to_each_other_set_their_own_pace() {
    let (low, medium) = (
        doubt(LOW, "hosts-are-next-to-each-other"),
        doubt(MEDIUM, "hosts-take-as-long-as-the-path"),
    );
    for (cause, is_low, is_medium) in [
        (Cause::Steady, true, true),
        (Cause::BufferPathRtt, true, true),
        (Cause::WindowPathRtt, false, true),
        (Cause::Timeout, false, false),
    ] {
        let transfer = claiming(cause, CaveatId::Local);
        assert_eq!(transfer.is_doubted_by(low), is_low, "{cause:?}");
        assert_eq!(transfer.is_doubted_by(medium), is_medium, "{cause:?}");
    }
}

#[test]
fn two_clocks_show_by_an_answer_before_its_question() {
    let clocks = doubt(LOW, "directions-have-two-clocks");
    let mut transfer = OrdinaryTransfer::new();
    transfer.facts.capture.clock_step = STEP;
    transfer.facts.capture.answered_before = PROMPT_LEAST.get() + STEP;
    assert!(!transfer.is_doubted_by(clocks));
    transfer.facts.capture.answered_before += STEP;
    assert!(transfer.is_doubted_by(clocks));
    transfer.cause = Cause::Timeout;
    assert!(!transfer.is_doubted_by(clocks));
}

#[test]
fn another_cause_or_limit_is_close() {
    let (of_cause, of_limit) =
        (doubt(MEDIUM, "another-cause-is-close"), doubt(MEDIUM, "another-limit-is-close"));
    let mut transfer = OrdinaryTransfer::new();
    transfer.share = A_TENTH.get();
    transfer.second = Some(0.0);
    assert!(!transfer.is_doubted_by(of_cause));
    transfer.share -= 1e-9;
    assert!(transfer.is_doubted_by(of_cause));
    transfer.second = None;
    assert!(!transfer.is_doubted_by(of_cause));
    transfer.share = ALIKE.get();
    assert!(!transfer.is_doubted_by(of_limit));
    transfer.share -= 1e-9;
    assert!(transfer.is_doubted_by(of_limit));
    (transfer.share, transfer.other_limit) = (1.0, 1.0 - ALIKE.get() + 1e-9);
    assert!(transfer.is_doubted_by(of_limit));
}

#[test]
fn one_of_several_causes_has_a_small_share() {
    let several = doubt(MEDIUM, "one-of-several-causes");
    let mut transfer = OrdinaryTransfer::new();
    transfer.share = HALF_OF_IT.get();
    assert!(!transfer.is_doubted_by(several));
    transfer.share -= 1e-9;
    assert!(transfer.is_doubted_by(several));
}

#[test]
fn some_caveats_are_doubts_by_themselves() {
    for (name, id) in [
        ("one-direction-only", CaveatId::OneSided),
        ("packets-are-missing", CaveatId::PacketsMissing),
        ("the-capture-lost-packets", CaveatId::CaptureDrops),
        ("parts-are-left-out", CaveatId::Fragments),
        ("few-segments", CaveatId::Short),
        ("the-clock-was-set", CaveatId::Clock),
        ("a-rival-explains-it-as-well", CaveatId::OtherPace),
    ] {
        assert!(claiming(Cause::Timeout, id).is_doubted_by(doubt(MEDIUM, name)), "{name}");
    }
}

#[test]
fn a_missing_start_and_other_paths_doubt_a_window() {
    let (start, paths) =
        (doubt(MEDIUM, "window-without-a-start"), doubt(MEDIUM, "one-path-of-several"));
    for (cause, is_doubted) in [(Cause::WindowPathRtt, true), (Cause::Timeout, false)] {
        let transfer = claiming(cause, CaveatId::NoHandshake);
        assert_eq!(transfer.is_doubted_by(start), is_doubted);
        let transfer = claiming(cause, CaveatId::Multipath);
        assert_eq!(transfer.is_doubted_by(paths), is_doubted);
    }
}

#[test]
fn a_window_that_opens_by_parts_for_half_of_the_time_may_be_of_a_reader() {
    let reads = doubt(MEDIUM, "the-program-may-always-read");
    let mut transfer = OrdinaryTransfer::waiting(WaitKind::Partly(Reopening::Late));
    transfer.cause = Cause::WindowOpensLate;
    transfer.charge(Cause::WindowOpensLate, TIME * 2);
    assert!(!transfer.is_doubted_by(reads));
    transfer.charge(Cause::WindowOpensLate, TIME * 2 - STEP);
    assert!(transfer.is_doubted_by(reads));
    transfer.cause = Cause::Steady;
    assert!(!transfer.is_doubted_by(reads));
}

#[test]
fn another_answers_in_the_place_of_a_sender_or_a_reader() {
    let split = doubt(MEDIUM, "another-answers-in-its-place");
    let is_doubted = |cause, opener| {
        let mut transfer = claiming(cause, CaveatId::SplitConnection);
        transfer.facts.path.split = Some(SplitTcp { opening: RTT, soonest: STEP });
        transfer.facts.opening.handshake.opener = Some(opener);
        transfer.is_doubted_by(split)
    };
    assert!(is_doubted(Cause::ReceiverLimited, 0) && !is_doubted(Cause::SenderIdle, 0));
    assert!(!is_doubted(Cause::ReceiverNotReading, 1) && is_doubted(Cause::SenderIdle, 1));
}

#[test]
fn an_early_answer_doubts_an_idle_sender() {
    let answers = doubt(MEDIUM, "another-may-answer");
    let mut transfer = claiming(Cause::SenderIdle, CaveatId::Short);
    assert!(!transfer.is_doubted_by(answers));
    transfer.facts.path.may_be_split = true;
    assert!(transfer.is_doubted_by(answers));
    transfer.cause = Cause::Steady;
    assert!(!transfer.is_doubted_by(answers));
}

#[test]
fn a_longer_path_doubts_what_rests_on_it() {
    let longer = doubt(MEDIUM, "the-path-may-be-longer");
    let is_doubted = |cause| {
        let mut transfer = claiming(cause, CaveatId::Short);
        transfer.tally.times.clear();
        transfer.charge(cause, TIME);
        transfer.facts.path.longer = Some(LongerPath { handshake: RTT, latency: RTT * 2 });
        transfer.is_doubted_by(longer)
    };
    assert!(is_doubted(Cause::WindowPathRtt) && is_doubted(Cause::FastRecovery));
    assert!(!is_doubted(Cause::Steady) && !is_doubted(Cause::Timeout));
}

#[test]
fn a_capture_of_two_places_has_a_part_of_the_packets_twice() {
    let copied = doubt(MEDIUM, "copied-in-part");
    let is_doubted = |share: f64, step: i64| {
        let mut transfer = claiming(Cause::Steady, CaveatId::CapturedTwice);
        let twice = share_of(share, 1_000);
        transfer.facts.capture.packets = 2_000;
        transfer.facts.capture.captured_twice = twice.saturating_add_signed(step);
        transfer.is_doubted_by(copied)
    };
    assert!(is_doubted(A_TENTH.get(), 0) && !is_doubted(A_TENTH.get(), -1));
    assert!(is_doubted(COPIED_WHOLE.get(), -1) && !is_doubted(COPIED_WHOLE.get(), 0));
}

#[test]
fn a_habit_lasts_for_several_round_trips() {
    let brief = doubt(MEDIUM, "too-brief-for-a-habit");
    let mut transfer = OrdinaryTransfer::new();
    transfer.charge(Cause::Steady, RTT * SEVERAL_ROUNDS.get() - STEP);
    assert!(!transfer.is_doubted_by(brief));
    transfer.is_habit = true;
    assert!(transfer.is_doubted_by(brief));
    transfer.charge(Cause::Steady, RTT * SEVERAL_ROUNDS.get());
    assert!(!transfer.is_doubted_by(brief));
}

#[test]
fn a_round_trip_has_several_steps_of_the_clock() {
    let coarse = doubt(MEDIUM, "the-clock-is-too-coarse");
    let mut transfer = OrdinaryTransfer::new();
    let step = RTT / CLOCK_STEPS.get();
    transfer.set_path(step * CLOCK_STEPS.get());
    transfer.facts.capture.clock_step = step;
    assert!(!transfer.is_doubted_by(coarse));
    transfer.facts.capture.clock_step = step + STEP;
    assert!(transfer.is_doubted_by(coarse));
    for (cause, rests_on_times) in
        [(Cause::Timeout, false), (Cause::WindowOpensLate, false), (Cause::Reordering, true)]
    {
        transfer.cause = cause;
        assert_eq!(transfer.is_doubted_by(coarse), rests_on_times);
    }
}

#[test]
fn few_losses_are_a_doubt() {
    let mut transfer = OrdinaryTransfer::new();
    transfer.lose(SEVERAL.get() - 1);
    assert!(transfer.is_doubted_by(&FEW_LOSSES));
    transfer.lose(SEVERAL.get());
    assert!(!transfer.is_doubted_by(&FEW_LOSSES));
}

#[test]
fn a_missing_start_is_a_doubt_of_causes_that_rest_on_it() {
    let mut transfer = OrdinaryTransfer::new();
    assert!(!transfer.is_doubted_by(&START_IS_MISSING));
    transfer.caveats = vec![CaveatId::NoHandshake];
    assert!(transfer.is_doubted_by(&START_IS_MISSING));
    for cause in [
        Cause::AfterLoss,
        Cause::FastRecovery,
        Cause::PathQueue,
        Cause::SenderIdle,
        Cause::SlowStart,
        Cause::WindowOpensLate,
    ] {
        let mut doubts = hypothesis(cause).doubts.iter();
        assert!(doubts.any(|doubt| doubt.name == START_IS_MISSING.name), "{cause}");
    }
}

#[test]
fn options_tell_which_copy_was_answered() {
    let mut transfer = OrdinaryTransfer::new();
    transfer.facts.counts.cut_acks = 1;
    assert!(!transfer.is_doubted_by(&MAY_BE_LATE));
    transfer.facts.capture.distance = STEP;
    assert!(transfer.is_doubted_by(&MAY_BE_LATE));
    transfer.facts.counts.cut_acks = 0;
    assert!(!transfer.is_doubted_by(&MAY_BE_LATE));
    transfer.forget_handshake();
    assert!(transfer.is_doubted_by(&MAY_BE_LATE));
}

#[test]
fn another_limit_that_leads_one_half_is_a_doubt() {
    let disagree = doubt(LOW, "halves-disagree");
    let is_doubted = |named, halves: [Cause; 2]| {
        let mut transfer = claiming(named, CaveatId::Short);
        let interval = *transfer.wait();
        transfer.tally.charges = halves.map(|cause| Charge { cause, interval }).into();
        transfer.is_doubted_by(disagree)
    };
    let (start, steady, idle) = (Cause::SlowStart, Cause::Steady, Cause::SenderIdle);
    assert!(!is_doubted(steady, [steady, steady]) && !is_doubted(steady, [start, steady]));
    assert!(is_doubted(steady, [idle, steady]) && is_doubted(steady, [steady, idle]));
    // Slow start is at the beginning.
    assert!(!is_doubted(start, [start, idle]) && is_doubted(start, [idle, start]));
}

#[test]
fn half_of_the_data_that_is_missing_is_a_doubt() {
    let missing = doubt(LOW, "most-is-missing");
    let mut transfer = OrdinaryTransfer::new();
    transfer.facts.counts.acked = 1_000;
    transfer.facts.counts.missing_bytes = 500;
    assert!(transfer.is_doubted_by(missing));
    transfer.facts.counts.missing_bytes = 499;
    assert!(!transfer.is_doubted_by(missing));
}

#[test]
fn a_transfer_of_few_round_trips_is_a_doubt() {
    let few = doubt(MEDIUM, "few-round-trips");
    let mut transfer = OrdinaryTransfer::new();
    transfer.tally.total = RTT * MANY.to::<i64>();
    assert!(!transfer.is_doubted_by(few));
    transfer.tally.total -= STEP;
    assert!(transfer.is_doubted_by(few));
    transfer.cause = Cause::SlowStart;
    assert!(!transfer.is_doubted_by(few));
}
