//! Data that is lost or seems to be: by the path, by a receiver, by its size; and its ACKs.

use windlass_base::figures::{Counted, Percent};
use windlass_base::{Bytes, Cause, Rate, Sentence, Span, laws, sentence};

use super::{UNTOLD, Words};
use crate::flow::SILENCE;
use crate::ledger::Kind;
use crate::report::confidence::SEVERAL;
use crate::report::evidence::{in_vain, repairs, shown};
use crate::report::law::{Applied, pftk, stop_and_go, timeout};
use crate::report::remedy::{Advice, NO_LOSS, WITHOUT_LOSS, advice};
use crate::report::subject::{Subject, were};
use crate::report::{CaveatId, Remedy, Side, Unit};

/// Duplicate ACKs after which a sender repairs a hole without its timer (RFC 5681
/// section 3.2).
const FAST: u64 = 3;

/// With so many segments in flight the loss of one ACK costs nothing: another one follows.
const FEW: u64 = 8;

/// The payload that the least MTU of IPv6 leaves (1,280 bytes, RFC 8200 section 5), with
/// timestamps or without. Nearly every path takes it.
const MIN_MTU: u64 = 1_208;

/// The least retransmission timer of Linux and of others (`TCP_RTO_MIN`).
const QUICK_TIMER: Span = Span::from_millis(200);

pub(super) const FAST_RECOVERY: Words = Words {
    sentence: |subject, time| {
        sentence!(
            "The path loses data: {}. Repair, and the lower rate that each loss leaves behind, \
             take {time}.",
            lost(subject),
        )
    },
    law: pftk,
    remedies: fewer_losses,
    shows: |kind| kind == Kind::Recovery,
    packets: repairs,
    // Whether the receiver keeps what comes behind a hole, the start would tell.
    is_doubtful: |it| it.has(CaveatId::NoHandshake) || it.has_few_losses() || it.may_be_late(),
    other_pace: |subject| sharing(subject).or_else(|| even(subject)).or_else(|| pausing(subject)),
    ..UNTOLD
};

pub(super) const TIMEOUT: Words = Words {
    sentence: |subject @ &Subject { sender, receiver, finished, .. }, time| {
        if !finished.never_came_back() {
            return sentence!(
                "The path loses data, and {sender} notices only when its timer runs out: {}, and \
                 waiting for the timer takes {time}.",
                lost(subject),
            );
        }
        let again = match finished.again() {
            0 => finished.counts.retransmissions,
            again => again,
        };
        let (again, each) = match again {
            1 => ("once".into(), ""),
            again => (sentence!("{again} times"), ", each time after a longer wait"),
        };
        sentence!(
            "{receiver} stopped answering: {sender} sent the same data {again} more{each}; \
             {time} is silence.",
        )
    },
    law: |subject| silences(subject, Cause::Timeout, subject.finished.counts.timeouts),
    remedies: fewer_losses,
    shows: by_timer,
    packets: repairs,
    is_doubtful: |it| it.subject.finished.sent_in_vain.may_be_of_acks() || may_be_fast(it.subject),
    ..UNTOLD
};

/// The path's own rate may be what loses data, where losses come as evenly as a sender takes to grow
/// to it: a policer, a queue too short to show.
fn even(subject: &Subject<'_>) -> Option<Sentence> {
    subject.finished.even_losses.then(|| {
        "losses come as evenly as where a policer or a short queue drops what is beyond its rate: \
         windlass send --udp --find-rate finds the rate from which on the path loses data"
            .into()
    })
}

/// What to do about the queue that is full when data is lost; what it dropped follows.
pub(super) const FULL_QUEUE: &str = "give the line less to carry, or its queue room for what a round \
                                     trip brings: it was full when it dropped";

/// A line may be full of what several connections send, where together they go on at one rate, or
/// of what others send whom the capture need not show.
pub(super) fn sharing(subject: &Subject<'_>) -> Option<Sentence> {
    let together = subject.finished.may_share_queue().map(|all| {
        sentence!(
            "{} connections of this capture sent {} together all the time: they may fill a line that \
             each loses data of; windlass send, by itself, tells what the path carries",
            all.connections,
            all.mean,
        )
    });
    let hidden = || {
        subject.finished.may_hide_queue(subject.measured()).then(|| {
            "others may fill a queue that loses this data, and what is late here does not tell them \
             from chance; a capture at the sender may, or windlass send by itself"
                .into()
        })
    };
    together.or_else(|| subject.queue_of_others()).or_else(hidden)
}

/// The sender's program may be what sets the rate, where it pauses again and again between what it
/// writes: then repair takes time from its pauses.
pub(super) fn pausing(subject: &Subject<'_>) -> Option<Sentence> {
    subject.pauses().then(|| {
        "the sender's program pauses again and again: it may set the rate, and repair only take the \
         time of its pauses; send without them to tell"
            .into()
    })
}

/// Whether what reads as a timer's may be a repair after duplicate ACKs: their options, which
/// tell, are cut off, or no silence is as long as a timer's.
fn may_be_fast(subject: &Subject<'_>) -> bool {
    let finished = subject.finished;
    let longest = finished.ledger.longest.iter().filter(|(kind, _)| *kind == Kind::Timeout);
    let longest = longest.flat_map(|(_, waits)| waits).map(|wait| wait.span).max();
    finished.counts.cut_acks > 0 || longest.is_some_and(|longest| longest < SILENCE)
}

pub(super) const SLOW_TIMER: Words = Words {
    sentence: |subject @ &Subject { sender, finished, .. }, time| {
        sentence!(
            "The path loses data, and {sender} notices only when its timer runs out, which takes \
             {} at least where round trips take {}: {}, and waiting for the timer takes {time}.",
            finished.slow_timer().map_or(Span::ZERO, |(timer, _)| timer.least),
            finished.told_rtt().or(finished.path_rtt).unwrap_or_default(),
            lost(subject),
        )
    },
    law: |subject| {
        let timer = subject.finished.costly_timer();
        silences(subject, Cause::SlowTimer, timer.map_or(0, |timer| timer.count.into()))
    },
    remedies: |it| {
        let mut remedies = fewer_losses(it);
        let is_timer = |remedy: &Remedy| remedy.unit == Some(Unit::Seconds);
        remedies.sort_by_key(|remedy| !is_timer(remedy));
        remedies
    },
    shows: by_timer,
    packets: repairs,
    // One or two timers may be how it went once.
    is_doubtful: |it| {
        let finished = it.subject.finished;
        finished.counts.timeouts < SEVERAL || finished.sent_in_vain.may_be_of_acks()
    },
    ..UNTOLD
};

pub(super) const ACK_LOSS: Words = Words {
    sentence: |&Subject { sender, receiver, finished, .. }, time| {
        sentence!(
            "{receiver} takes the data, but its ACKs do not reach {sender} in time: {} sent again \
             that had arrived, once a timer had run out. {time} is that silence.",
            were(finished.sent_in_vain.acks_lost),
        )
    },
    law: |subject| silences(subject, Cause::AckLoss, subject.finished.sent_in_vain.acks_lost),
    remedies: |it| {
        let finished = it.subject.finished;
        let path = it.remedy(
            Side::Path,
            "find what loses ACKs on their way back: cable, duplex mismatch, radio, or the full \
             queue of a slow upstream",
            NO_LOSS,
            0.0,
        );
        let path = Remedy { what_if: Some("ack-loss=0".to_owned()), ..path };
        // An ACK covers all before it, so with more in flight the next one stands in.
        let few = finished.counts.flight_most < FEW * finished.segment_size;
        let more = few.then(|| {
            advice(
                Side::Receiver,
                "offer a larger window: with more segments in flight the next ACK stands in for \
                 one that was lost",
            )
        });
        [path].into_iter().chain(shorter_timer(it)).chain(more).collect()
    },
    shows: |kind| kind == Kind::Unheard,
    packets: in_vain,
    ..UNTOLD
};

pub(super) const RECEIVER_DISCARDS: Words = Words {
    sentence: |subject @ &Subject { receiver, .. }, time| {
        sentence!(
            "{receiver} keeps nothing that comes behind a lost segment: the path lost about {}, \
             and {} that had arrived had to be sent again with them. {time} is this repair.",
            Counted(path_lost(subject), "segment"),
            Counted(discarded(subject), "segment"),
        )
    },
    // So much data, then a repair that sends all of a flight again.
    law: |subject| {
        let (holes, open) = (subject.finished.counts.loss_events, subject.finished.capacity?);
        let meanings = [
            "data between two losses of the path",
            "the rate between them",
            "until all that was discarded is there again, on average",
        ];
        let stopped = subject.time_of(Cause::ReceiverDiscards);
        Some(stop_and_go(subject, holes, open, stopped, meanings))
    },
    remedies: |it| {
        let sent = it.subject.finished.counts.sent();
        let lost = path_lost(it.subject);
        let keeps = Remedy {
            expected_bytes_per_second: with_reassembly(it),
            what_if: Some("reassembly=on".to_owned()),
            ..it.remedy(
                Side::Receiver,
                "keep what comes behind a lost segment until it is repaired (lwIP: \
                 TCP_QUEUE_OOSEQ), so that each loss costs one segment and one round trip, and \
                 say so by SACK, for several losses at once",
                None,
                repair_by_round_trips(it),
            )
        };
        let path = Remedy {
            what_if: Some(WITHOUT_LOSS.to_owned()),
            ..it.remedy(
                Side::Path,
                sentence!("find what loses about {lost} of {sent} segments"),
                NO_LOSS,
                0.0,
            )
        };
        vec![keeps, path]
    },
    shows: in_repair,
    packets: |subject| {
        let shows = "from the first duplicate ACK, for a segment behind a hole, to the ACK of \
                     what was in flight then: none covers more than was sent again";
        let holes = subject.finished.discarding.iter().flat_map(|discarding| &discarding.examples);
        holes.map(|(first, last)| shown(&[*first, *last], shows)).collect()
    },
    ..UNTOLD
};

pub(super) const BLACK_HOLE: Words = Words {
    sentence: |&Subject { receiver, finished, .. }, time| {
        let Some(hole) = &finished.black_hole else { return Sentence::new() };
        let (passes, fails) = (Bytes::new(hole.passes), Bytes::new(hole.fails));
        let then = if hole.escaped {
            "until its sender lowered the size by itself"
        } else {
            "and nothing told its sender to send smaller ones"
        };
        sentence!(
            "Segments with {fails} never reach {receiver}, while those with {passes} do: a link on \
             the path is too small for them, {then}. {time} is silence.",
        )
    },
    // What passed, and the silences until the sender lowered its size. Where it never did,
    // nothing more passes.
    law: |subject| {
        subject.finished.black_hole.as_ref().filter(|hole| hole.escaped)?;
        let (open, silence) = (subject.finished.capacity?, subject.time_of(Cause::BlackHole));
        let meanings = [
            "the transfer",
            "the rate with segments that pass",
            "until the sender lowered its size",
        ];
        Some(stop_and_go(subject, 1, open, silence, meanings))
    },
    remedies: smaller_segments,
    shows: in_repair,
    packets: |subject| {
        let hole = subject.finished.black_hole.iter();
        let sent = |sends, fails| sentence!("sent {sends} times with {} each", Bytes::new(fails));
        hole.map(|hole| shown(&hole.numbers, sent(hole.sends, hole.fails))).collect()
    },
    // What ends while the sender lowers its size may have been an outage.
    is_doubtful: |_| true,
    ..UNTOLD
};

fn by_timer(kind: Kind) -> bool {
    matches!(kind, Kind::Timeout | Kind::Blind { .. } | Kind::Skipped)
}

fn in_repair(kind: Kind) -> bool {
    matches!(kind, Kind::Recovery | Kind::Timeout | Kind::Blind { .. })
}

/// Transfers that wait for timers: so much data, then a silence that is charged to `cause`,
/// so many times.
fn silences(subject: &Subject<'_>, cause: Cause, count: u64) -> Option<Applied> {
    let open = subject.finished.capacity.filter(|_| subject.finished.counts.acks > 0)?;
    let meanings =
        ["data between two timeouts", "the rate between them", "silence and repair, on average"];
    Some(stop_and_go(subject, count, open, subject.time_of(cause), meanings))
}

/// What was lost of what was sent, and apart from that what was sent again needlessly.
fn lost(subject: &Subject<'_>) -> Sentence {
    let finished = subject.finished;
    let (lost, needless) = (finished.lost(), finished.needless());
    let were = if lost == 1 { "was" } else { "were" };
    let mut text = sentence!(
        "{lost} of {} {were} lost and sent again",
        Counted(finished.counts.sent(), "segment")
    );
    if needless > 0 {
        text.push(&sentence!(" (and {needless} needlessly)"));
    }
    text
}

/// The segments that arrived behind a hole, and that the receiver discarded.
fn discarded(subject: &Subject<'_>) -> u64 {
    subject.finished.discarding.as_ref().map_or(0, |discarding| discarding.segments)
}

/// The segments that the path itself lost: those that were sent again, without those
/// that the receiver had discarded.
fn path_lost(subject: &Subject<'_>) -> u64 {
    let finished = subject.finished;
    let again = finished.lost();
    let holes = finished.discarding.as_ref().map_or(0, |discarding| discarding.holes);
    again.saturating_sub(discarded(subject)).max(u64::from(holes))
}

/// Its share of all that were sent.
pub(in crate::report) fn path_loss(subject: &Subject<'_>) -> f64 {
    path_lost(subject) as f64 / subject.finished.counts.sent().max(1) as f64
}

fn fewer_losses(it: &Advice<'_>) -> Vec<Remedy> {
    let finished = it.subject.finished;
    if finished.never_came_back() {
        return vec![advice(
            Side::Receiver,
            "find out why it stopped answering: whether it still runs and can be reached, or \
             a firewall or translator on the way forgot the connection",
        )];
    }
    let ratio = finished.loss_ratio();
    let path = Remedy {
        what_if: Some(WITHOUT_LOSS.to_owned()),
        ..it.remedy(
            Side::Path,
            match finished.full_queue() {
                Some(_) => sentence!("{FULL_QUEUE} {} of the segments", Percent(ratio, 2)),
                None => sentence!(
                    "find what loses {} of the segments: cable, duplex mismatch, radio, or a full \
                     queue",
                    Percent(ratio, 2)
                ),
            },
            NO_LOSS,
            0.0,
        )
    };
    let offers = &finished.handshake.offers;
    let sack = offers.iter().all(|offer| offer.is_some_and(|offer| offer.sack_permitted));
    let known = offers.iter().all(Option::is_some);
    let mut remedies = vec![path];
    remedies.extend(shorter_timer(it));
    remedies.extend(fast_retransmit(it));
    if known && !sack {
        let lacking = offers[finished.direction].is_some_and(|offer| offer.sack_permitted);
        // What it brings hangs on how many are lost at once.
        remedies.push(advice(
            if lacking { Side::Receiver } else { Side::Sender },
            "turn on selective acknowledgments (SACK), so that several losses are repaired in \
             one round trip",
        ));
    }
    remedies
}

/// A timer that follows the round trip, where it is slow now.
fn shorter_timer(it: &Advice<'_>) -> Option<Remedy> {
    let (timer, rtt) = it.subject.finished.slow_timer()?;
    let shorter = QUICK_TIMER.max(rtt * 3);
    let causes = [Cause::Timeout, Cause::SlowTimer, Cause::AckLoss];
    let waits: Span = causes.iter().map(|cause| it.subject.time_of(*cause)).sum();
    let waited = waits.share_of(it.held());
    let quicker = it.remedy(
        Side::Sender,
        sentence!(
            "let the retransmission timer follow the path's round trip (RFC 6298): it runs for \
             {timer.least} at least, and {shorter} would do"
        ),
        Some((shorter.as_seconds(), Unit::Seconds)),
        1.0 - waited * (1.0 - shorter.share_of(timer.least)),
    );
    Some(Remedy { what_if: Some(format!("timer={}us", shorter.as_nanos() / 1_000)), ..quicker })
}

/// Fast retransmit, where enough duplicate ACKs came for it and the sender never did.
fn fast_retransmit(it: &Advice<'_>) -> Option<Remedy> {
    let counts = &it.subject.finished.counts;
    let rtt = it.subject.finished.told_rtt()?;
    let timeouts = counts.timeouts.max(1);
    if counts.fast > 0 || counts.duplicate_acks < FAST * timeouts {
        return None;
    }
    Some(it.remedy(
        Side::Sender,
        sentence!(
            "repair a loss after {FAST} duplicate ACKs (fast retransmit, RFC 5681 section 3.2): \
             {counts.duplicate_acks} came, and it waited for its timer"
        ),
        None,
        in_round_trips(it, rtt, timeouts),
    ))
}

/// The share of the limit's time that so many round trips take.
fn in_round_trips(it: &Advice<'_>, rtt: Span, count: u64) -> f64 {
    let repair = rtt * i64::try_from(count).unwrap_or(i64::MAX);
    repair.share_of(it.held().max(Span::from_nanos(1))).min(1.0)
}

/// The share of the repair that is left where each loss costs a round trip.
fn repair_by_round_trips(it: &Advice<'_>) -> f64 {
    let finished = it.subject.finished;
    in_round_trips(it, finished.path_rtt.unwrap_or_default(), finished.counts.loss_events.max(1))
}

/// The rate of a receiver that keeps all, as far as it can be told: where the flights
/// are long enough for a fast retransmit, and not above what the path's own loss
/// leaves.
fn with_reassembly(it: &Advice<'_>) -> Option<Rate> {
    let (finished, subject) = (it.subject.finished, it.subject);
    let discarding = finished.discarding.as_ref()?;
    if discarding.segments < FAST * u64::from(discarding.holes) {
        return None;
    }
    let rtt = finished.path_rtt?;
    let ratio = path_loss(subject);
    let window = Some(Bytes::new(finished.window_most));
    let bound = laws::pftk_rate(subject.segment(), rtt, ratio, timeout(rtt), 2, window)?;
    Some(it.rate(repair_by_round_trips(it)).min(bound).max(subject.measured()))
}

fn smaller_segments(it: &Advice<'_>) -> Vec<Remedy> {
    let Some(hole) = &it.subject.finished.black_hole else { return Vec::new() };
    let fails = Bytes::new(hole.fails);
    let size = if hole.fails > MIN_MTU { hole.passes.max(MIN_MTU) } else { hole.passes };
    let known = if size == hole.passes {
        "which is known to pass".into()
    } else {
        sentence!(
            "which nearly every path takes; here {} is known to pass",
            Bytes::new(hole.passes)
        )
    };
    let with_size = |side, action: Sentence| {
        let remedy = it.remedy(side, action, Some((size as f64, Unit::Bytes)), 0.0);
        // What a path gives that let nothing through, nothing tells.
        let expected = remedy.expected_bytes_per_second.filter(|_| hole.escaped);
        Remedy { expected_bytes_per_second: expected, ..remedy }
    };
    vec![
        with_size(
            Side::Path,
            sentence!(
                "let ICMP pass that tells of a smaller MTU (type 3 code 4; of IPv6, type 2), or \
                 clamp the MSS before the small link to {}, {known}: {fails} never arrived",
                Bytes::new(size)
            ),
        ),
        with_size(
            Side::Sender,
            sentence!(
                "let it look for a size that passes (on Linux, net.ipv4.tcp_mtu_probing = 1), or \
                 lower its MTU, so that a segment carries {} at most",
                Bytes::new(size)
            ),
        ),
    ]
}
