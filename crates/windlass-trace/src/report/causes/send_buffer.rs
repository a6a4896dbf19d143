//! A send buffer that the flight fills.

use windlass_base::{Bytes, Limit, Sentence, laws, sentence};

use super::{UNTOLD, Words};
use crate::ledger::Kind;
use crate::report::CaveatId;
use crate::report::evidence::repairs;
use crate::report::law::{Applied, by, bytes, on_its_path, seconds};
use crate::report::subject::Subject;

pub(super) const DELAYED_ACK: Words = Words {
    sentence: |subject @ &Subject { sender, receiver, finished, .. }, time| {
        sentence!(
            "{sender} keeps only {} in flight, its send buffer, and {receiver} holds back its ACK \
             for {} to wait for more: the sender waits {time}.",
            subject.plateau(),
            subject.cycle_of(subject.plateau()).or(finished.latency.median()).unwrap_or_default(),
        )
    },
    law: filled,
    remedies: |it| [it.larger_buffer()].into_iter().chain(it.ack_at_once()).collect(),
    shows: |kind| matches!(kind, Kind::Open | Kind::Blind { .. }),
    packets: repairs,
    // Less was in flight at each false timeout than at other times: then it may be the
    // congestion window, which each timeout cuts, and not the send buffer.
    is_doubtful: |it| {
        let counts = &it.subject.finished.counts;
        let timeouts = counts.blind_timeouts + counts.withheld;
        let cut = timeouts > 0 && counts.bytes / timeouts * 10 < counts.flight_most * 9;
        cut || it.subject.may_be_line(Some(it.subject.plateau()))
    },
    other_pace: writer,
    is_habit: true,
};

pub(super) const PATH_RTT: Words = Words {
    sentence: |subject @ &Subject { sender, finished, .. }, time| {
        sentence!(
            "{sender} keeps only {} in flight, its send buffer, {}: it waits for \
             ACKs {time}, though the receiver would take {}.",
            subject.plateau(),
            on_its_path(finished),
            Bytes::new(finished.window_most),
        )
    },
    law: filled,
    remedies: |it| vec![it.larger_buffer()],
    shows: |kind| kind == Kind::Open,
    is_doubtful: |it| {
        it.has(CaveatId::TakenAtReceiver)
            || it.subject.classified.by_pushes
            || it.subject.may_be_line(Some(it.subject.plateau()))
    },
    other_pace: |subject| writer(subject).or_else(|| own_pace(subject)),
    is_habit: true,
    ..UNTOLD
};

/// So many reactions behind an ACK, of which one is slow, are those of a host that it wakes.
const SLOW: u64 = 5;

/// Of so many waits that end with data of the other side, and not with an ACK alone, a program may
/// be what waits: four of five.
const MESSAGES: (u64, u64) = (4, 5);

/// The share of the time that a program's pauses take where they may make the pace; and where most
/// waits end with what Nagle's algorithm held back. (Less is what a program takes to fill its buffer
/// again.)
const PAUSES: f64 = 0.15;
const PAUSES_OF_PIECES: f64 = 0.05;

/// Of so many sends behind an ACK, and one behind none, the program's writes may be what sets the
/// pace: who waits for room sends when an ACK makes it.
const UNPROMPTED: u64 = 4;

/// The sender's program may be what sets the rate, where it pauses, or takes its time again and again
/// behind the ACK that it waits for: who waits for room in a buffer is woken by it.
fn writer(subject: &Subject<'_>) -> Option<Sentence> {
    let counts = &subject.finished.counts;
    if counts.reactions > 0 && counts.let_go * MESSAGES.1 >= counts.reactions * MESSAGES.0 {
        return Some(sentence!(
            "{counts.let_go} of {counts.reactions} waits ended with data of {subject.receiver}: \
             the program may keep a number of pieces open and wait for an answer to each; more of \
             them open at once would tell"
        ));
    }
    let in_pieces = counts.pieces_let_go * 2 >= counts.reactions.max(1);
    let pauses = subject.time_of_limit(Limit::Application).share_of(subject.total());
    let unprompted = counts.unprompted * UNPROMPTED >= counts.reactions.max(1);
    if unprompted || pauses >= if in_pieces { PAUSES_OF_PIECES } else { PAUSES } {
        return Some(
            "its program may write at a pace of its own, and what waits for ACKs be what Nagle's \
             algorithm holds back of each write; windlass top there tells whether its send buffer \
             is full"
                .into(),
        );
    }
    if counts.drained * 2 >= counts.reactions.max(1) {
        return Some(sentence!(
            "{counts.drained} of {counts.reactions} waits ended only when the last of several ACKs \
             had come, and hardly anything was in flight: its program may write piece after \
             piece, at a pace of its own or when the last one is through; windlass top on \
             {subject.sender} tells whether its send buffer is full"
        ));
    }
    reacts_late(subject).then(|| {
        sentence!(
            "{counts.slow_reactions} of {counts.reactions} waits for an ACK ended only some time \
             behind it, as where a program writes at a pace of its own; windlass top on \
             {subject.sender} tells whether its send buffer is full"
        )
    })
}

/// Full segments whose usual distance is this share of the mean one are spread over the whole time:
/// who waits for ACKs sends in bursts, with the wait between them, but over a line that is as good as
/// full.
const SPREAD: f64 = 0.7;

/// What answers ACKs takes no less than this share of the path's round trip.
const SOONER: f64 = 0.85;

/// What else than the ACKs that it seems to wait for may set a sender's pace: where its data comes
/// evenly, something that spaces it; and where the other side's program sends something in four of
/// five round trips, as one does that asks for piece after piece or lets its peer send so much at
/// a time (HTTP/2, SSH), that.
pub(super) fn own_pace(subject: &Subject<'_>) -> Option<Sentence> {
    let (finished, total) = (subject.finished, subject.total());
    let each = total / i64::try_from(finished.counts.segments).unwrap_or(i64::MAX).max(1);
    let usual = finished.packet_times.median().filter(|_| finished.is_far());
    if usual.is_some_and(|usual| usual >= each.scaled(SPREAD)) {
        return Some(sentence!(
            "its data comes evenly, and not in bursts with a wait between them: a pace \
             (SO_MAX_PACING_RATE, tc, a program) or a line may space it; capture at \
             {subject.sender} to tell"
        ));
    }
    let (cycle, path) = (subject.cycle()?, finished.path_rtt.unwrap_or_default());
    if finished.is_far() && cycle < path.scaled(SOONER) {
        return Some(sentence!(
            "its data comes {cycle} after what it seems to wait for, and the path takes {path}: a \
             pace or a line may space it; capture at {subject.sender} to tell"
        ));
    }
    let rounds = total.as_seconds() / cycle.as_seconds().max(f64::MIN_POSITIVE);
    let (back, ..) = finished.returned_losses.as_ref()?;
    let messages = back.segments as f64;
    (messages * MESSAGES.1 as f64 >= rounds * MESSAGES.0 as f64).then(|| {
        sentence!(
            "{subject.receiver} sends something in nearly each round trip: its program may ask for \
             piece after piece, or let so much come at a time; more of them open at once would tell"
        )
    })
}

/// Whether the sender takes its time again and again behind the ACK that it seems to wait for.
pub(super) fn reacts_late(subject: &Subject<'_>) -> bool {
    let counts = &subject.finished.counts;
    counts.slow_reactions > 0 && counts.slow_reactions * SLOW >= counts.reactions
}

fn filled(subject: &Subject<'_>) -> Option<Applied> {
    // Where timers ran out again and again there is no plateau; the flight is
    // the buffer then.
    let buffer = subject.plateau();
    let delay = subject.cycle_of(buffer)?;
    let inputs = vec![
        bytes("N", buffer, "the most that the sender had in flight"),
        seconds("D", delay, "from the first segment to its ACK"),
    ];
    Some(by(laws::send_buffer_rate(buffer, delay), "send-buffer", "N / D", inputs))
}
