//! Segments that are smaller than they could be.

use std::ops::RangeInclusive;

use windlass_base::{Bytes, Cause, Span, laws, sentence};

use super::send_buffer::own_pace;
use super::{UNTOLD, Words};
use crate::finished::Finished;
use crate::flow::{INITIAL_WINDOW, LATEST_ACK};
use crate::ledger::Kind;
use crate::report::law::{by, bytes, flight, seconds};
use crate::report::remedy::NO_TIME;
use crate::report::subject::Subject;
use crate::report::{Side, Unit};

pub(super) const SMALL: Words = Words {
    sentence: |subject @ &Subject { sender, finished, .. }, time| {
        sentence!(
            "{sender} sends {} at a time where {} would fit: {time} goes to handling many small \
             segments.",
            Bytes::new(average(finished)),
            subject.segment(),
        )
    },
    law: flight,
    remedies: |it| {
        let finished = it.subject.finished;
        vec![it.remedy(
            Side::Sender,
            sentence!(
                "write larger pieces (64 KiB at a time), or leave TCP_NODELAY off, so that each \
                 segment carries {}",
                it.subject.segment()
            ),
            Some((65_536.0, Unit::Bytes)),
            average(finished) as f64 / finished.segment_size as f64,
        )]
    },
    shows: |kind| kind == Kind::Open,
    other_pace: |subject| {
        let finished = subject.finished;
        let packets = finished.counts.flight_most / average(finished).max(1);
        // Linux counts packets, however small.
        if packets < INITIAL_WINDOW {
            return Some(sentence!(
                "no more than {packets} segments were in flight, which no congestion window asks \
                 for: the program may write at a pace of its own, and larger pieces then bring \
                 nothing; windlass top on {subject.sender} tells what it waits for"
            ));
        }
        if is_passed_on(finished) {
            return Some(sentence!(
                "each segment is as large as Ethernet's, and no link between hosts takes {}: a \
                 translator (of a virtual machine, a container) may hand on what comes to it as it \
                 comes; capture beyond {subject.sender}, too",
                subject.segment()
            ));
        }
        own_pace(subject)
    },
    is_habit: true,
    ..UNTOLD
};

/// The largest segment that a frame takes which is usual on a network: a jumbo frame of 9,000 B.
const JUMBO: u64 = 9_000;

/// What a frame of 1,500 B carries, at the least (tunnels and options take some of it), and two of
/// them, which a card may join.
const ETHERNET: RangeInclusive<u64> = 1_200..=2 * 1_460;

/// Whether, far from the sender, segments are those of another path.
fn is_passed_on(finished: &Finished) -> bool {
    finished.is_far() && finished.segment_size > JUMBO && ETHERNET.contains(&average(finished))
}

/// What a segment carries, in bytes.
fn average(finished: &Finished) -> u64 {
    finished.counts.bytes / finished.counts.segments.max(1)
}

pub(super) const NAGLE_DELAYED_ACK: Words = Words {
    sentence: |subject @ &Subject { sender, receiver, .. }, time| {
        sentence!(
            "{sender} holds back a small last piece until what it sent before is acknowledged \
             (Nagle's algorithm), and {receiver} delays that ACK by {}: {time} is this wait.",
            ack_delay(subject),
        )
    },
    law: |subject| {
        let each = subject.bytes().get().checked_div(subject.finished.counts.nagle)?;
        let (each, wait) = (Bytes::new(each), nagle_wait(subject));
        let inputs = vec![
            bytes("N", each, "data between two such waits"),
            seconds("D", wait, "how long each lasts"),
        ];
        Some(by(laws::send_buffer_rate(each, wait), "send-buffer", "N / D", inputs))
    },
    remedies: |it| {
        let at_once = "write each message with one call, or set TCP_NODELAY";
        let acknowledged = "acknowledge small segments at once (TCP_QUICKACK)";
        vec![
            it.remedy(Side::Sender, at_once, None, 0.0),
            it.remedy(Side::Receiver, acknowledged, NO_TIME, 0.0),
        ]
    },
    shows: |kind| kind == Kind::Nagle,
    // No host delays an ACK for so long (RFC 1122 section 4.2.3.2).
    is_doubtful: |it| {
        let rtt = it.subject.finished.told_rtt().unwrap_or_default();
        ack_delay(it.subject) > LATEST_ACK + rtt
    },
    ..UNTOLD
};

/// How long such an ACK takes, where waits were seen to end with it; else what each of them costs.
fn ack_delay(subject: &Subject<'_>) -> Span {
    let finished = subject.finished;
    let waits = finished.ledger.intervals.iter().filter(|one| one.kind == Kind::Nagle);
    match finished.counts.nagle {
        0 => nagle_wait(subject)
            .part_of((finished.counts.blind_timeouts + finished.counts.withheld).max(1)),
        count => waits.map(|one| one.charged).sum::<Span>().part_of(count),
    }
}

/// What each of them costs, with the silences that are charged to the same.
fn nagle_wait(subject: &Subject<'_>) -> Span {
    subject.time_of(Cause::NagleDelayedAck).part_of(subject.finished.counts.nagle.max(1))
}
