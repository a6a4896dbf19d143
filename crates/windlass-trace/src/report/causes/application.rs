//! A program that does not send, does not answer or reads slowly.

use windlass_base::{Bytes, Cause, Rate, Sentence, Span, laws, sentence};

use super::{UNTOLD, Words};
use crate::ledger::Kind;
use crate::moving::MovingRates;
use crate::reader::Reading;
use crate::report::evidence::silly_windows;
use crate::report::law::{Applied, by, rate, stop_and_go};
use crate::report::remedy::{KEPT, NO_TIME, WORTH, advice};
use crate::report::subject::Subject;
use crate::report::{CaveatId, Remedy, Side, Unit};

/// So many messages in a pause are no answer: that is one.
const PIECES: u64 = 2;

/// The share of a wait that must be left, so that it tells a rate.
const MIN_LEFT: f64 = 0.01;

/// A program takes time for an answer where it is beyond the path by more than this.
const MIN_ANSWER: Span = Span::from_millis(1);

/// A message that comes so many round trips after the last ACK was late by its program.
const SLOW_ANSWER: i64 = 2;

pub(super) const SENDER_IDLE: Words = Words {
    sentence: |subject @ &Subject { sender, receiver, .. }, time| match may_wait(subject) {
        Some(_) => sentence!(
            "{sender} sent nothing {time}, and nothing that this capture shows held it back.",
        ),
        None => sentence!(
            "{sender} had nothing to send {time}: neither the network nor {receiver} held it back.",
        ),
    },
    remedies: |it| {
        let mut steady = it.remedy(
            Side::Sender,
            "look at the sending program: it could send without a pause (what does it wait for: \
             its disk, a computation, another connection?)",
            NO_TIME,
            0.0,
        );
        keep_to_pace(&mut steady, it.subject);
        if let Some((rate, shown)) = steady.expected_bytes_per_second.zip(shown(it.subject))
            && rate > shown
        {
            // What it sends at a time is short: how fast that is bounds nothing.
            match it.most() {
                Some(most) => steady.promise_at_most(most),
                None => steady.promise_nothing(),
            }
        }
        vec![steady]
    },
    shows: |kind| matches!(kind, Kind::Idle | Kind::Skipped),
    // Who paused, the start would tell. What was lost before the capture looks like a pause,
    // and so does a path that became slower, or a host that is slow to answer each ACK.
    is_doubtful: |it| {
        let counts = &it.subject.finished.counts;
        let looks_so = counts.loss_events > 0 || counts.skips > 0 || !it.is_beyond_path();
        // Nor is a window that moves as a program reads one that waits for data.
        let reads = it.subject.finished.reader.as_ref().is_some_and(|it| it.moves_out_of_step());
        it.has(CaveatId::NoHandshake) || it.has(CaveatId::TakenAtReceiver) && (looks_so || reads)
    },
    other_pace: |subject| clock_stood(subject).or_else(|| may_wait(subject)),
    ..UNTOLD
};

/// The most that it had in flight, once in each round trip of the path: nothing shows that its
/// buffer holds more.
fn shown(subject: &Subject<'_>) -> Option<Rate> {
    let finished = subject.finished;
    let most = laws::window_rate(Bytes::new(finished.counts.flight_most), finished.told_rtt()?);
    Some(Rate::from_bytes_per_second(most.bytes_per_second() * KEPT))
}

/// Without its pauses a transfer is as fast as its data was acknowledged and read while there was
/// some: in a pause the path and the receiver catch up.
fn keep_to_pace(remedy: &mut Remedy, subject: &Subject<'_>) {
    let MovingRates { acked, read } = subject.finished.moving;
    let pace = [acked, read].into_iter().flatten().reduce(Rate::min);
    let Some((expected, pace)) = remedy.expected_bytes_per_second.zip(pace) else { return };
    if pace.bytes_per_second() < subject.measured().bytes_per_second() * WORTH {
        // Something else was as slow meanwhile, or the little that was seen of it.
        remedy.promise_nothing();
    } else {
        remedy.expected_bytes_per_second = Some(expected.min(pace));
    }
}

/// Why it may have had something to send, and waited.
fn may_wait(subject: &Subject<'_>) -> Option<Sentence> {
    let stale = subject.stale_echoes();
    stale
        .or_else(|| became_longer(subject))
        .or_else(|| is_soon(subject))
        .or_else(|| had_more(subject))
}

/// The sender's own clock may count less than the capture's over its pauses.
fn clock_stood(subject: &Subject<'_>) -> Option<Sentence> {
    let stood = subject.finished.counts.clock_stood;
    subject.is_part_of(Cause::SenderIdle, stood, 2).then(|| {
        sentence!(
            "by {subject.sender}'s own timestamps its pauses took {stood} less than in the \
             capture: it slept, or the capture's clock was set ahead"
        )
    })
}

/// Far from the sender each pause may be a wait for an ACK, where the path became longer.
fn became_longer(subject: &Subject<'_>) -> Option<Sentence> {
    subject.finished.turns.became_slower().then(|| {
        "since early on none of its data answers an ACK as soon as it did at first: the path may \
         have become longer, and each pause be a wait for an ACK; capture at the sender to tell"
            .into()
    })
}

/// Far from the sender a pause that is hardly longer than the path may be a wait for an ACK, where
/// the delay of its way swings.
fn is_soon(subject: &Subject<'_>) -> Option<Sentence> {
    subject.is_part_of(Cause::SenderIdle, subject.finished.counts.idle_soon, 3).then(|| {
        sentence!(
            "its pauses are no longer than ACKs may take to {subject.sender} and a busy host to \
             answer: it may wait for them; capture at the sender to tell"
        )
    })
}

/// A sender that says of what it sends that there is more behind it has data.
fn had_more(subject: &Subject<'_>) -> Option<Sentence> {
    let counts = &subject.finished.counts;
    let had_more =
        counts.pushes > 0 && subject.is_part_of(Cause::SenderIdle, counts.idle_unpushed, 3);
    had_more.then(|| {
        sentence!(
            "many of its pauses begin behind a full segment without PSH, so that {subject.sender} \
             had more to send: what it waits for may be ACKs that come late, or a queue of its \
             own; capture at the sender to tell"
        )
    })
}

pub(super) const AWAITS_ANSWER: Words = Words {
    sentence: |subject @ &Subject { sender, receiver, finished, .. }, time| {
        let each = awaits(subject).map_or_else(Sentence::new, |(count, wait)| {
            let path = finished.told_rtt().filter(|rtt| *rtt < wait);
            let path = path
                .map_or_else(Sentence::new, |rtt| sentence!(" (the path's round trip is {rtt})"));
            match count {
                1 => sentence!(", {wait}, once{path}"),
                count => sentence!(", {wait} each of {count} times{path}"),
            }
        });
        match subject.asks() {
            Some(true) => sentence!(
                "{sender} has sent all that {receiver} asked for, and waits {time} for its next \
                 request{each}.",
            ),
            Some(false) => sentence!(
                "{sender} waits {time} for an answer of {receiver}'s program before it sends \
                 more{each}.",
            ),
            None => sentence!(
                "{sender} waits {time} for a message of {receiver}'s program, an answer or the \
                 next request, before it sends more{each}.",
            ),
        }
    },
    law: dialogue,
    other_pace: |subject| {
        let counts = &subject.finished.counts;
        (counts.awaits > 0 && counts.awaited_pieces >= PIECES * counts.awaits).then(|| {
            sentence!(
                "in each pause {subject.receiver} sends several messages: they may be no answers, \
                 and {subject.sender} may pause by itself; windlass top there tells what its \
                 program waits for"
            )
        })
    },
    remedies: |it| {
        let asks = it.subject.asks();
        let (side, ahead) = match asks {
            Some(true) => (
                Side::Receiver,
                "nothing in TCP is wrong; ask for more at once: send the next request before the \
                 last one is answered (pipelining, several requests at a time), or ask for larger \
                 pieces",
            ),
            Some(false) => (
                Side::Sender,
                "do not wait for each answer before sending more, or send larger pieces for each",
            ),
            None => (
                Side::Sender,
                "do not wait for each message of the other side before sending more, or send \
                 larger pieces for each; where that asks for the data, it has to ask for more at \
                 once",
            ),
        };
        let rtt = it.subject.finished.told_rtt().unwrap_or_default();
        let mut ahead = it.remedy(side, ahead, None, 0.0);
        keep_to_pace(&mut ahead, it.subject);
        if let Some((count, wait)) = awaits(it.subject)
            && rtt > Span::ZERO
            && wait - rtt > MIN_ANSWER
        {
            // What the other program takes for an answer it takes for each of several at least.
            let served = Bytes::new(it.subject.bytes().get() / count).per(wait - rtt);
            let most = it.most().map_or(served, |most| most.min(served));
            ahead.promise_at_most(most.max(it.subject.measured()));
        }
        let mut remedies = vec![ahead];
        if let Some((_, wait)) = awaits(it.subject)
            && rtt > Span::ZERO
            && wait >= rtt * SLOW_ANSWER
        {
            let action = sentence!(
                "look at what its program does for {wait} before {}: the path takes {rtt} of it",
                if asks == Some(true) { "it asks for more" } else { "its message comes" },
            );
            // The path's own part of it is left. A hundredth of the time tells no rate.
            let left = rtt.share_of(wait);
            remedies.push(if left >= MIN_LEFT {
                let value = Some((rtt.as_seconds(), Unit::Seconds));
                let mut sooner = it.remedy(Side::Receiver, action, value, left);
                keep_to_pace(&mut sooner, it.subject);
                sooner
            } else {
                advice(Side::Receiver, action)
            });
        }
        remedies
    },
    shows: |kind| kind == Kind::AwaitPeer,
    ..UNTOLD
};

pub(super) const RECEIVER_LIMITED: Words = Words {
    sentence: |&Subject { receiver, finished, .. }, time| match finished.reading {
        Some(Reading { rate, steady, .. }) => sentence!(
            "{receiver}'s program, or the device behind it, reads {rate} {}: it always has data \
             that it has not read, and its window moves on only as it reads, {time}. A larger \
             window or another buffer would only hold more of it.",
            if steady { "and no more" } else { "most of the time, and less now and then" },
        ),
        None => sentence!(
            "{receiver}'s program takes the data more slowly than it comes: what it leaves unread \
             fills the window {time}. A larger window would only hold more of it.",
        ),
    },
    law: |subject| {
        let reading = subject.finished.reading?.rate;
        let meaning = "how fast the right edge of its window moves on, by the median";
        Some(by(reading, "reader", "R", vec![rate("R", reading, meaning)]))
    },
    remedies: |it| {
        let faster = advice(
            Side::Receiver,
            "look at the receiving program, or the device behind it: how fast it reads is the \
             rate, and a larger window, a second buffer, the network or the sender cannot \
             raise it",
        );
        [faster].into_iter().chain(it.no_silly_windows()).collect()
    },
    shows: |kind| matches!(kind, Kind::Window | Kind::Partly(_)),
    packets: silly_windows,
    // Two or three windows may be how a program began.
    is_doubtful: |it| {
        it.subject.finished.reading.is_none_or(|reading| !reading.sure || !reading.steady)
    },
    ..UNTOLD
};

/// How often a sender waits for a message of the other side, and how long on average.
fn awaits(subject: &Subject<'_>) -> Option<(u64, Span)> {
    let count = subject.finished.counts.awaits;
    (count > 0).then(|| (count, subject.time_of(Cause::AwaitsAnswer).part_of(count)))
}

fn dialogue(subject: &Subject<'_>) -> Option<Applied> {
    let (count, wait) = awaits(subject)?;
    let waited = subject.time_of(Cause::AwaitsAnswer);
    let sending = subject.total() - waited;
    if sending <= Span::ZERO || wait <= Span::ZERO {
        return None;
    }
    let (asks, between) = match subject.asks() {
        Some(true) => ("from the end of it to the next request, on average", "data for a request"),
        _ => {
            ("from the end of it to the other side's message, on average", "data between two waits")
        }
    };
    let open = subject.bytes().per(sending);
    Some(stop_and_go(subject, count, open, waited, [between, "the rate without the waits", asks]))
}
