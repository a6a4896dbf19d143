//! Alternative explanations of a transfer's pace that several causes share.
//!
//! If a rival explains the pace as well, the verdict is not sure, and no rate is promised of a
//! change.

use crate::estimate::far::FarLimit;
use crate::follow::ledger::WaitKind;
use crate::judge::case::Case;
use windlass_base::figures::ItemCount;
use windlass_base::thresholds::{
    HALF_AGAIN, LARGE_PART, LOST_TOGETHER, MOST_OF_IT, NEARLY_ALL, ONE_IN_FIVE, PACING_PAUSES,
    SOONER_THAN_PATH, WITHHELD_ACK,
};
use windlass_base::{Bytes, Cause, Limit, Sentence, Span, sentence};

/// An alternative explanation.
pub(crate) struct Rival {
    /// Its name in `--why`.
    pub(crate) name: &'static str,
    /// The causes that it speaks for, the likelier first.
    pub(crate) causes: fn(&Case<'_>) -> Vec<Cause>,
    /// Its sentence, where it may hold, with what would tell.
    pub(crate) explains: fn(&Case<'_>) -> Option<Sentence>,
}

/// Returns no cause, for a rival that has no name in the vocabulary.
pub(crate) const UNNAMED: fn(&Case<'_>) -> Vec<Cause> = |_| Vec::new();

/// Returns what holds the flight where the delay of its round trips is the path's: the window where
/// it was full, else a buffer where the flight stayed level, else the congestion window.
pub(crate) fn holder(case: &Case<'_>) -> Vec<Cause> {
    let facts = case.facts;
    if facts.time_of_kind(WaitKind::Window) * 2 >= facts.time_busy() {
        return vec![Cause::WindowPathRtt];
    }
    if case.tally.plateau.is_some() {
        return vec![Cause::BufferPathRtt, Cause::Steady];
    }
    vec![Cause::Steady, Cause::BufferPathRtt]
}

/// The receiver's program sets the rate: its window opens independently of ACKs.
pub(crate) const READER: Rival = Rival {
    name: "reader-with-a-pace",
    causes: |_| vec![Cause::ReceiverLimited],
    explains: reader,
};

/// Far from the sender, only the ends of bursts show the window, and no rate.
pub(crate) const FAR_EDGES: Rival =
    Rival { name: "shown-by-edges-alone", causes: UNNAMED, explains: edges };

/// By the receiver's timestamps, ACKs wait in a queue on their way back.
pub(crate) const QUEUE_OF_ACKS: Rival =
    Rival { name: "queue-on-the-way-back", causes: holder, explains: |case| case.queue_of_acks() };

/// The path became longer: after the start no ACK is as fast as the first ones.
pub(crate) const LONGER_PATH: Rival =
    Rival { name: "path-became-longer", causes: holder, explains: longer };

/// The medium is shared (radio, cable): the delay of ACKs varies widely.
pub(crate) const TURNS: Rival =
    Rival { name: "way-waits-for-its-turn", causes: holder, explains: turns };

/// The sender's program sets the rate: it pauses, or its sends do not follow the ACKs.
pub(crate) const WRITER: Rival = Rival {
    name: "program-writes-at-its-own-pace",
    causes: |_| vec![Cause::SenderIdle],
    explains: writer,
};

/// The receiver's program requests piece by piece, or limits the data in flight (HTTP/2, SSH).
pub(crate) const ASKED_FOR: Rival = Rival {
    name: "receiver-asks-for-pieces",
    causes: |_| vec![Cause::AwaitsAnswer],
    explains: asked_for,
};

/// Something else spaces the data, which comes evenly, or too soon for the path.
pub(crate) const OWN_PACE: Rival = Rival {
    name: "data-is-spaced",
    causes: |_| vec![Cause::SenderIdle, Cause::PathQueue],
    explains: own_pace,
};

/// The window: a sender that waits until a whole burst fits leaves a part of it empty.
pub(crate) const NEARLY_FULL_WINDOW: Rival = Rival {
    name: "window-is-nearly-full",
    causes: |_| vec![Cause::WindowPathRtt],
    explains: nearly_full,
};

/// Something holds data or ACKs back: data echoes older timestamps than ACKs that came long before
/// it.
pub(crate) const STALE_ECHOES: Rival = Rival {
    name: "stale-echoes",
    causes: |_| vec![Cause::PathQueue],
    explains: |case| case.stale_echoes(),
};

/// The sender paces what it sends, which leaves some time after the ACK that it waits for.
pub(crate) const PACED: Rival =
    Rival { name: "sender-paces", causes: |_| vec![Cause::SenderIdle], explains: paced };

/// Late ACKs of the receiver, or a queue, limit the transfer as much: round trips exceed the
/// path's.
pub(crate) const LATE_ACKS: Rival = Rival {
    name: "acks-come-late",
    causes: |_| vec![Cause::WindowAckLatency, Cause::PathQueue],
    explains: acknowledged_late,
};

/// Others fill the line as well, in this capture or unseen.
pub(crate) const SHARED_LINE: Rival =
    Rival { name: "others-share-the-line", causes: |_| vec![Cause::PathQueue], explains: sharing };

/// A policer or a short queue drops what exceeds its rate: losses come evenly.
pub(crate) const EVEN_LOSSES: Rival = Rival {
    name: "losses-come-evenly",
    causes: |_| vec![Cause::PathPolicer, Cause::PathQueue],
    explains: even,
};

/// A full queue or a policer drops many segments at once, and chance one or two.
pub(crate) const DROPPED_TOGETHER: Rival = Rival {
    name: "many-are-lost-at-once",
    causes: |_| vec![Cause::PathPolicer, Cause::PathQueue],
    explains: together,
};

/// The sender's program pauses, and repair may only take the time of its pauses.
pub(crate) const PAUSES: Rival =
    Rival { name: "program-pauses", causes: |_| vec![Cause::SenderIdle], explains: pausing };

/// Far from the sender, the bursts end at edges of the window.
fn edges(case: &Case<'_>) -> Option<Sentence> {
    case.facts.far.decides(FarLimit::Window).then(|| {
        sentence!(
            "the waits begin where {case.receiver}'s window ends, but the times at which its ACKs \
             reach {case.sender} are too uncertain for a rate: ACKs come late or are lost; capture \
             at {case.sender} to tell"
        )
    })
}

/// The receiver's program may be what sets the rate, where the window does not move on with the
/// ACKs alone.
fn reader(case: &Case<'_>) -> Option<Sentence> {
    let reader = case.facts.window.reader.as_ref()?;
    reader.moves_out_of_step.then(|| {
        sentence!(
            "the window opens independently of ACKs, as when a program reads and leaves some data \
             unread: the reading rate of {case.receiver} may be the limit; run windlass top there \
             to tell"
        )
    })
}

/// ACKs that were as quick as the path at first, and never since: it may have become longer.
fn longer(case: &Case<'_>) -> Option<Sentence> {
    case.facts.path.acks_became_slower.then(|| {
        sentence!(
            "after the start no ACK is as fast as the first ones: the path may have become longer; \
             capture at {case.receiver} to tell whether it acknowledges late"
        )
    })
}

/// ACKs that are late by anything between little and a bound: a way that waits for its turn (radio,
/// cable) makes that, too, and at the sender it looks the same.
fn turns(case: &Case<'_>) -> Option<Sentence> {
    let facts = case.facts;
    let (quick, usual) = (facts.acks.latency.p10()?, facts.acks.latency.median()?);
    let path = facts.path.rtt.unwrap_or_default();
    let own = usual - path;
    let is_spread = own > Span::ZERO && quick - path < own.scaled(MOST_OF_IT.get());
    (facts.capture.distance == Span::ZERO && is_spread).then(|| {
        sentence!(
            "the delay of ACKs varies widely, as with medium access on radio or cable: capture at \
             {case.receiver} to tell whether it acknowledges late"
        )
    })
}

/// The sender's program may be what sets the rate, where it pauses, or takes its time again and
/// again behind the ACK that it waits for: who waits for room in a buffer is woken by it.
fn writer(case: &Case<'_>) -> Option<Sentence> {
    let counts = &case.facts.counts;
    let pauses = case.time_of_limit(Limit::Application).share_of(case.total());
    let unprompted = counts.unprompted * ONE_IN_FIVE.get() >= counts.reactions.max(1);
    if unprompted || pauses >= PACING_PAUSES.get() {
        return Some(
            "its program may write at its own pace, and Nagle's algorithm may hold back the end of \
             each write; run windlass top there to see whether its send buffer is full"
                .into(),
        );
    }
    if counts.drained * 2 >= counts.reactions.max(1) {
        return Some(sentence!(
            "{counts.drained} of {counts.reactions} waits ended only after almost everything was \
             acknowledged: the program may send one piece at a time; run windlass top on \
             {case.sender} to see whether its send buffer is full"
        ));
    }
    reacts_late(case).then(|| {
        sentence!(
            "{counts.slow_reactions} of {counts.reactions} waits for an ACK ended some time after \
             the ACK: the program may write at its own pace; run windlass top on {case.sender} to \
             see whether its send buffer is full"
        )
    })
}

/// Something else than the ACKs that it seems to wait for may set a sender's pace: its data comes
/// evenly, or at other times than an ACK lets it go.
fn own_pace(case: &Case<'_>) -> Option<Sentence> {
    let (facts, total) = (case.facts, case.total());
    let each = total / i64::try_from(facts.counts.segments).unwrap_or(i64::MAX).max(1);
    let usual = facts.line.packet_times.median().filter(|_| facts.capture.is_far);
    if usual.is_some_and(|usual| usual >= each.scaled(LARGE_PART.get())) {
        return Some(sentence!(
            "its data comes evenly, without bursts: pacing (SO_MAX_PACING_RATE, tc, a program) or \
             a link may space it; capture at {case.sender} to tell"
        ));
    }
    if facts.far.is_unprompted {
        return Some(sentence!(
            "its bursts do not closely follow ACKs: pacing (BBR, SO_MAX_PACING_RATE, a program) \
             may space them; capture at {case.sender} to tell"
        ));
    }
    let (cycle, path) = (case.cycle()?, facts.path.rtt.unwrap_or_default());
    (facts.capture.is_far && cycle < path.scaled(SOONER_THAN_PATH.get())).then(|| {
        sentence!(
            "its data comes {cycle} after the ACK that it seems to wait for, and the path takes \
             {path}: pacing or a link may space it; capture at {case.sender} to tell"
        )
    })
}

/// The flight comes near the largest window. Linux waits with less than a burst of segmentation
/// offload, where the next ACKs let it send a whole one (`tcp_tso_should_defer`).
fn nearly_full(case: &Case<'_>) -> Option<Sentence> {
    let (flight, window) = (case.level_flight(), Bytes::new(case.facts.window.most));
    let nearly = window.get() as f64 * NEARLY_ALL.get();
    (flight.get() as f64 >= nearly).then(|| {
        sentence!(
            "{flight} in flight nearly fill the window of {window}: a sender that waits until a \
             whole burst fits is limited by the window; offer a larger window to tell"
        )
    })
}

/// Messages of the receiver's program end most waits, or come in nearly each round trip.
fn asked_for(case: &Case<'_>) -> Option<Sentence> {
    if let Some((by_messages, waits)) = case.facts.sent.ended_by_messages {
        return Some(sentence!(
            "{by_messages} of {waits} of waiting ended with data of {case.receiver}: its program \
             may allow a fixed number of unanswered pieces; allow more of them to tell"
        ));
    }
    let messages = case.facts.messages_per_round()?;
    (messages >= MOST_OF_IT.get()).then(|| {
        sentence!(
            "{case.receiver} sends data in nearly every round trip: its program may request piece \
             by piece, or limit the data in flight; raise that limit to tell"
        )
    })
}

/// Returns whether the sender takes its time again and again behind the ACK that it seems to wait
/// for.
fn reacts_late(case: &Case<'_>) -> bool {
    let counts = &case.facts.counts;
    counts.slow_reactions > 0 && counts.slow_reactions * ONE_IN_FIVE.get() >= counts.reactions
}

/// An ACK lets out at once what a congestion window holds back. Who sends some time behind it has
/// another pace.
fn paced(case: &Case<'_>) -> Option<Sentence> {
    let counts = &case.facts.counts;
    reacts_late(case).then(|| {
        sentence!(
            "{counts.slow_reactions} of {counts.reactions} waits for an ACK ended some time after \
             the ACK: {case.sender} or its program may pace the data (SO_MAX_PACING_RATE, tc); run \
             ss -tin and tc -s qdisc there to tell"
        )
    })
}

/// ACKs that come much later than the path has them hold the transfer as the window does.
fn acknowledged_late(case: &Case<'_>) -> Option<Sentence> {
    let (path, beyond) = (case.facts.path.told_rtt?, case.beyond_path()?);
    let is_late = beyond >= path.scaled(HALF_AGAIN.get() - 1.0).max(WITHHELD_ACK.get());
    is_late.then(|| {
        sentence!(
            "each round trip takes {beyond} longer than the path's: late ACKs of the receiver, or \
             a queue, limit it as much as the window; run windlass top on {case.receiver} to see \
             what its program does"
        )
    })
}

/// A line may be full of what several connections send, where together they go on at one rate, or
/// of what others send whom the capture need not show.
fn sharing(case: &Case<'_>) -> Option<Sentence> {
    // No queue damages what it drops.
    if case.facts.damage().is_some() {
        return None;
    }
    let together = case.facts.may_share_queue().map(|all| {
        sentence!(
            "{} connections of this capture sent {} together all the time: they may fill a shared \
             bottleneck; run windlass send alone to measure the path",
            all.connections,
            all.mean,
        )
    });
    let hidden = || {
        case.facts.may_hide_queue(case.measured()).then(|| {
            "other traffic may fill the queue that drops this data, or the losses may be random; \
             capture at the sender, or run windlass send alone, to tell"
                .into()
        })
    };
    together.or_else(|| case.queue_of_others()).or_else(hidden)
}

/// The path's own rate may be what loses data, where losses come as evenly as a sender takes to
/// grow to it: a policer, a queue too short to show.
fn even(case: &Case<'_>) -> Option<Sentence> {
    let is_even = case.facts.loss.are_even && case.facts.damage().is_none();
    is_even.then(|| {
        "losses are as regular as those of a policer or a short queue: run windlass send --udp \
         --find-rate to find the rate at which loss begins"
            .into()
    })
}

/// Losses that come many at a time are those of a queue that overflows, or of a policer. The first
/// of several does not tell: slow start overshoots any path.
fn together(case: &Case<'_>) -> Option<Sentence> {
    let counts = &case.facts.counts;
    let (mut lost, mut events, mut after) = (case.facts.lost(), counts.loss_events, "");
    if events > 1 {
        lost = lost.saturating_sub(counts.first_retransmissions);
        events -= 1;
        after = "after the first loss, ";
    }
    (events > 0 && lost >= events * LOST_TOGETHER.get()).then(|| {
        let events = ItemCount(events, "loss event");
        sentence!(
            "{after}{lost} segments were lost in {events}, as by a policer or a full queue: run \
             windlass send --udp --find-rate to find the rate at which loss begins"
        )
    })
}

/// The sender's program may be what sets the rate, where it pauses again and again between what it
/// writes: then repair takes time from its pauses.
fn pausing(case: &Case<'_>) -> Option<Sentence> {
    case.pauses().then(|| {
        "the sender's program pauses repeatedly: it may set the rate, and repair may only fill its \
         pauses; send without pauses to tell"
            .into()
    })
}

#[cfg(test)]
mod tests {
    use windlass_base::Rate;
    use windlass_base::thresholds::{A_TENTH_MORE, MOST_OF_IT, PAUSES_SHARE, SEVERAL};

    use super::*;
    use crate::estimate::arrivals::Aggregate;
    use crate::follow::counts::Counts;
    use crate::judge::facts::ReaderFacts;
    use crate::judge::fixture::{
        OrdinaryTransfer, ROUNDS, RTT, SEGMENT, SEGMENTS, STEP, TIME, full_queue, quantiles,
        share_of,
    };

    /// Returns whether a rival explains the transfer with these counts.
    fn is_explained_with(rival: &Rival, count: impl Fn(&mut Counts)) -> bool {
        let mut transfer = OrdinaryTransfer::new();
        count(&mut transfer.facts.counts);
        transfer.is_explained_by(rival)
    }

    #[test]
    fn a_reader_moves_the_window_apart_from_acks() {
        let mut transfer = OrdinaryTransfer::new();
        transfer.facts.window.reader = Some(ReaderFacts::default());
        assert!(!transfer.is_explained_by(&READER));
        let reader = ReaderFacts { moves_out_of_step: true, ..ReaderFacts::default() };
        transfer.facts.window.reader = Some(reader);
        assert!(transfer.is_explained_by(&READER));
    }

    #[test]
    fn many_lost_at_once_are_of_a_queue_or_a_policer() {
        let is_explained = |first: u64, others: u64, events: u64| {
            let mut transfer = OrdinaryTransfer::new();
            transfer.lose(first + others);
            let counts = &mut transfer.facts.counts;
            (counts.first_retransmissions, counts.loss_events) = (first, events);
            transfer.is_explained_by(&DROPPED_TOGETHER)
        };
        let many = LOST_TOGETHER.get();
        assert!(is_explained(many, 0, 1) && !is_explained(many - 1, 0, 1));
        // Slow start overshoots any path.
        assert!(is_explained(1, 2 * many, 3) && !is_explained(100, 2 * many - 1, 3));
        assert!(!OrdinaryTransfer::new().is_explained_by(&DROPPED_TOGETHER));
    }

    #[test]
    fn far_away_edges_decide_for_a_window() {
        let mut transfer = OrdinaryTransfer::far();
        transfer.facts.far.limit = Some(FarLimit::Window);
        assert!(!transfer.is_explained_by(&FAR_EDGES));
        transfer.facts.far.decides = true;
        assert!(transfer.is_explained_by(&FAR_EDGES));
    }

    #[test]
    fn acks_stand_in_a_queue_for_a_third_of_their_delay() {
        let is_queued = |queued, late| {
            is_explained_with(&QUEUE_OF_ACKS, |counts| {
                (counts.acks_queued, counts.acks_late) = (queued, late);
            })
        };
        assert!(is_queued(RTT, RTT * 3) && !is_queued(RTT - STEP, RTT * 3));
        assert!(!is_queued(Span::ZERO, Span::ZERO));
    }

    #[test]
    fn far_away_no_queue_of_acks_shows() {
        let mut transfer = OrdinaryTransfer::far();
        transfer.facts.counts.acks_queued = RTT;
        assert!(!transfer.is_explained_by(&QUEUE_OF_ACKS));
    }

    #[test]
    fn a_path_becomes_longer_where_its_acks_do() {
        let mut transfer = OrdinaryTransfer::new();
        assert!(!transfer.is_explained_by(&LONGER_PATH));
        transfer.facts.path.acks_became_slower = true;
        assert!(transfer.is_explained_by(&LONGER_PATH));
    }

    #[test]
    fn one_ack_in_ten_is_late_by_less_where_the_way_waits_for_its_turn() {
        let late = Span::from_millis(8);
        let is_turn = |quick: Span| {
            let mut transfer = OrdinaryTransfer::new();
            let times = (0..10).map(|ack| RTT + if ack == 0 { quick } else { late });
            transfer.facts.acks.latency = quantiles(times);
            transfer.is_explained_by(&TURNS)
        };
        let least = late.scaled(MOST_OF_IT.get());
        assert!(is_turn(least - STEP) && !is_turn(least));
        let mut transfer = OrdinaryTransfer::new();
        transfer.facts.acks.latency = quantiles([RTT - STEP, RTT, RTT]);
        assert!(!transfer.is_explained_by(&TURNS));
    }

    #[test]
    fn a_flight_of_nine_tenths_nearly_fills_the_window() {
        let mut transfer = OrdinaryTransfer::new();
        let flight = transfer.case().level_flight().get();
        transfer.facts.window.most = flight * 10 / 9;
        assert!(transfer.is_explained_by(&NEARLY_FULL_WINDOW));
        transfer.facts.window.most += 2;
        assert!(!transfer.is_explained_by(&NEARLY_FULL_WINDOW));
    }

    #[test]
    fn messages_end_most_waits() {
        let mut transfer = OrdinaryTransfer::new();
        assert!(!transfer.is_explained_by(&ASKED_FOR));
        transfer.facts.sent.ended_by_messages = Some((TIME, TIME));
        assert!(transfer.is_explained_by(&ASKED_FOR));
    }

    #[test]
    fn a_writer_sends_behind_no_ack() {
        let is_writer = |unprompted| {
            is_explained_with(&WRITER, |counts| {
                (counts.reactions, counts.unprompted) = (10 * ONE_IN_FIVE.get(), unprompted);
            })
        };
        assert!(is_writer(10) && !is_writer(9));
    }

    #[test]
    fn a_writer_pauses() {
        let is_writer = |pauses| {
            let mut transfer = OrdinaryTransfer::new();
            transfer.charge(Cause::SenderIdle, pauses);
            transfer.is_explained_by(&WRITER)
        };
        let usual = TIME.scaled(PACING_PAUSES.get());
        assert!(is_writer(usual) && !is_writer(usual - STEP));
    }

    #[test]
    fn a_writer_lets_half_of_its_flights_drain() {
        let is_writer = |drained| is_explained_with(&WRITER, |counts| counts.drained = drained);
        assert!(is_writer(ROUNDS / 2) && !is_writer(ROUNDS / 2 - 1));
    }

    #[test]
    fn a_writer_reacts_late() {
        let is_writer = |slow| {
            is_explained_with(&WRITER, |counts| {
                (counts.reactions, counts.slow_reactions) = (10 * ONE_IN_FIVE.get(), slow);
            })
        };
        assert!(is_writer(10) && !is_writer(9));
    }

    #[test]
    fn spaced_data_comes_evenly() {
        let mut transfer = OrdinaryTransfer::far();
        let usual = TIME.part_of(SEGMENTS).scaled(LARGE_PART.get());
        transfer.facts.line.packet_times = quantiles([usual]);
        assert!(transfer.is_explained_by(&OWN_PACE));
        transfer.facts.line.packet_times = quantiles([usual - STEP]);
        assert!(!transfer.is_explained_by(&OWN_PACE));
    }

    #[test]
    fn spaced_bursts_come_behind_no_ack() {
        let mut transfer = OrdinaryTransfer::far();
        transfer.facts.far.is_unprompted = true;
        assert!(transfer.is_explained_by(&OWN_PACE));
    }

    #[test]
    fn spaced_data_comes_sooner_than_the_path_has_it() {
        let mut transfer = OrdinaryTransfer::far();
        let soonest = RTT.scaled(SOONER_THAN_PATH.get());
        transfer.facts.capture.distance = soonest;
        assert!(!transfer.is_explained_by(&OWN_PACE));
        transfer.facts.capture.distance = soonest - STEP;
        assert!(transfer.is_explained_by(&OWN_PACE));
    }

    #[test]
    fn messages_come_in_most_round_trips() {
        let is_explained = |messages| {
            let mut transfer = OrdinaryTransfer::new();
            let back = Counts { segments: messages, ..Counts::default() };
            transfer.facts.loss.returned = Some((back, Default::default(), Default::default()));
            transfer.is_explained_by(&ASKED_FOR)
        };
        let most = share_of(MOST_OF_IT.get(), ROUNDS);
        assert!(is_explained(most) && !is_explained(most - 1));
    }

    #[test]
    fn late_acks_exceed_the_path_by_a_factor() {
        let mut transfer = OrdinaryTransfer::new();
        transfer.set_path(RTT * 2);
        let late = transfer.facts.path.told_rtt.unwrap().scaled(HALF_AGAIN.get());
        transfer.set_latency(late);
        assert!(transfer.is_explained_by(&LATE_ACKS));
        transfer.set_latency(late - STEP);
        assert!(!transfer.is_explained_by(&LATE_ACKS));
    }

    #[test]
    fn late_acks_exceed_the_path_by_a_withheld_one() {
        let mut transfer = OrdinaryTransfer::new();
        transfer.set_path(STEP);
        transfer.set_latency(STEP + WITHHELD_ACK.get());
        assert!(transfer.is_explained_by(&LATE_ACKS));
        transfer.set_latency(WITHHELD_ACK.get());
        assert!(!transfer.is_explained_by(&LATE_ACKS));
    }

    #[test]
    fn several_connections_share_a_line_that_data_waits_for() {
        let mut transfer = OrdinaryTransfer::new();
        let rate = Rate::from_bytes_per_second(1e6);
        transfer.facts.line.aggregate = Some(Aggregate {
            is_line: false,
            rate,
            busy: 1.0,
            connections: 2,
            mean: rate,
            most: rate,
            own: rate,
            span: RTT,
        });
        let longer = RTT.scaled(A_TENTH_MORE.get());
        transfer.set_latency(longer);
        assert!(transfer.is_explained_by(&SHARED_LINE));
        transfer.set_latency(longer - STEP);
        assert!(!transfer.is_explained_by(&SHARED_LINE));
    }

    #[test]
    fn a_short_queue_of_losses_may_be_of_others() {
        let mut transfer = OrdinaryTransfer::new();
        let mut queue = full_queue(Rate::from_bytes_per_second(1e6));
        queue.is_sure = false;
        assert!(!transfer.is_explained_by(&SHARED_LINE));
        transfer.facts.line.full_queue = Some(queue);
        assert!(transfer.is_explained_by(&SHARED_LINE));
        transfer.arrive_damaged(1);
        assert!(!transfer.is_explained_by(&SHARED_LINE));
    }

    #[test]
    fn far_away_several_losses_may_be_of_others() {
        let mut transfer = OrdinaryTransfer::far();
        transfer.facts.counts.loss_events = SEVERAL.get() - 1;
        assert!(!transfer.is_explained_by(&SHARED_LINE));
        transfer.facts.counts.loss_events = SEVERAL.get();
        assert!(transfer.is_explained_by(&SHARED_LINE));
        transfer.facts.line.tells_lateness = true;
        assert!(!transfer.is_explained_by(&SHARED_LINE));
    }

    #[test]
    fn far_away_a_transfer_with_most_of_the_line_leaves_none_to_others() {
        let mut transfer = OrdinaryTransfer::far();
        transfer.facts.counts.loss_events = SEVERAL.get();
        let each = Span::from_millis(1);
        transfer.facts.line.packet_times = quantiles([each]);
        let line = Bytes::new(SEGMENT).per(each);
        let in_time = windlass_base::whole_part(line.bytes_per_second() * TIME.as_seconds());
        transfer.facts.sent.bytes = share_of(MOST_OF_IT.get(), in_time);
        assert!(!transfer.is_explained_by(&SHARED_LINE));
        transfer.facts.sent.bytes -= 1;
        assert!(transfer.is_explained_by(&SHARED_LINE));
    }

    #[test]
    fn even_losses_and_stale_echoes_are_rivals() {
        let mut transfer = OrdinaryTransfer::new();
        assert!(
            !transfer.is_explained_by(&EVEN_LOSSES) && !transfer.is_explained_by(&STALE_ECHOES)
        );
        transfer.facts.loss.are_even = true;
        transfer.facts.path.has_stale_echoes = true;
        assert!(transfer.is_explained_by(&EVEN_LOSSES) && transfer.is_explained_by(&STALE_ECHOES));
        transfer.arrive_damaged(1);
        assert!(!transfer.is_explained_by(&EVEN_LOSSES));
    }

    #[test]
    fn a_program_pauses_for_a_share_of_the_time() {
        let mut transfer = OrdinaryTransfer::new();
        let pauses = TIME.scaled(PAUSES_SHARE.get());
        transfer.charge(Cause::SenderIdle, pauses);
        assert!(transfer.is_explained_by(&PAUSES));
        transfer.charge(Cause::SenderIdle, pauses - STEP);
        assert!(!transfer.is_explained_by(&PAUSES));
    }
}
