//! A congestion window that the flight fills.

use windlass_base::figures::Counted;
use windlass_base::{Bytes, Sentence, Span, laws, sentence};

use super::loss::{FULL_QUEUE, pausing, sharing};
use super::send_buffer::{own_pace, reacts_late};
use super::{UNTOLD, Words};
use crate::ledger::Kind;
use crate::report::evidence::{in_vain, repairs as repaired};
use crate::report::law::{by, bytes, kept, on_its_path, pftk, seconds, share};
use crate::report::remedy::{Advice, NO_LOSS};
use crate::report::subject::{Subject, repairs};
use crate::report::{CaveatId, Remedy, Side, Unit};

pub(super) const SLOW_START: Words = Words {
    sentence: |&Subject { sender, finished, .. }, time| {
        sentence!(
            "The transfer ends while {sender} still tests how much the path takes: it begins with \
             little and sends more with each round trip{}; {time} is slow start.",
            finished.told_rtt().map_or_else(Sentence::new, |rtt| sentence!(" of {rtt}")),
        )
    },
    law: |subject| {
        let finished = subject.finished;
        let rtt = finished.told_rtt()?;
        let initial = Bytes::new(finished.initial_flight.max(1));
        let time = laws::slow_start_time(subject.bytes(), initial, 2.0, rtt);
        let inputs = vec![
            bytes("B", subject.bytes(), "the transfer"),
            bytes("IW", initial, "the first flight"),
            seconds("RTT", rtt, "the path's round trip"),
        ];
        let formula = "B / (RTT · log₂(1 + B / IW))";
        Some(by(subject.bytes().per(time), "slow-start", formula, inputs))
    },
    remedies: |it| {
        let finished = it.subject.finished;
        // A flight may be sent faster than the path delivers it.
        let reached = finished.told_rtt().and_then(|rtt| {
            let reached = laws::window_rate(Bytes::new(finished.counts.flight_most), rtt);
            let reached = reached.min(finished.capacity?);
            Some(it.subject.shown().map_or(reached, |shown| reached.min(shown)))
        });
        vec![Remedy {
            expected_bytes_per_second: reached,
            ..it.remedy(
                Side::Sender,
                "send more over one connection instead of opening a new one for each piece: \
                 it keeps the rate it has reached",
                None,
                0.5,
            )
        }]
    },
    shows: |kind| kind == Kind::Open,
    // Slow start that timers interrupt may be what something else leaves of it.
    // Nor does what was seen of a connection whose start was not tell that it began then.
    is_doubtful: |it| it.subject.finished.counts.timeouts > 0 || it.has(CaveatId::NoHandshake),
    ..UNTOLD
};

pub(super) const AFTER_LOSS: Words = Words {
    sentence: |&Subject { sender, finished, .. }, time| {
        sentence!(
            "After losing {}, {sender} sends less and regains its rate slowly {}: that is \
             {time}.",
            Counted(finished.lost(), "segment"),
            on_its_path(finished),
        )
    },
    law: pftk,
    remedies: |it| {
        let counts = &it.subject.finished.counts;
        let sender = "try another congestion control: CUBIC regains its rate sooner than Reno on a \
                      long path, BBR does not lose it";
        let what = match it.subject.finished.full_queue() {
            Some(_) => FULL_QUEUE,
            None => "find what lost",
        };
        let path = sentence!(
            "{what} {} of {}",
            it.subject.finished.lost(),
            Counted(counts.sent(), "segment")
        );
        vec![
            uncut(it, it.remedy(Side::Sender, sender, None, 0.5)),
            uncut(it, it.remedy(Side::Path, path, NO_LOSS, 0.5)),
        ]
    },
    shows: |kind| kind == Kind::Open,
    packets: repaired,
    // A queue that stood all the time makes the shortest sample of a round trip too long.
    is_doubtful: |it| it.has(CaveatId::NoHandshake) || it.may_be_late(),
    other_pace: |subject| {
        let other = subject.stale_echoes().or_else(|| sharing(subject));
        other.or_else(|| pausing(subject)).or_else(|| acknowledged_late(subject))
    },
    ..UNTOLD
};

pub(super) const REORDERING: Words = Words {
    sentence: |&Subject { sender, finished, .. }, time| {
        sentence!(
            "The path changes the order of segments, and {sender} takes what is late for lost: {} \
             in vain. They, and the lower rate that each leaves behind, take {time}.",
            repairs(finished.sent_in_vain.vain_repairs),
        )
    },
    // Repairs of what was not lost: each cuts the congestion window, and no timer runs out.
    law: |subject| {
        let finished = subject.finished;
        let (mss, rtt) = (subject.segment(), finished.told_rtt()?);
        let ratio = finished.counts.event_ratio();
        let inputs = vec![
            bytes("MSS", mss, "a full segment"),
            seconds("RTT", rtt, "the path's round trip"),
            share("p", ratio, "repairs, each of which cut the congestion window, of segments"),
        ];
        Some(by(laws::mathis_rate(mss, rtt, ratio)?, "loss", "MSS / RTT · √(3/2) / √p", inputs))
    },
    remedies: |it| {
        let factor = if it.leaves_enough(0.0) { 0.0 } else { 0.5 };
        let path = "find what lets segments overtake each other: links that share one connection's \
                    packets, a router that balances by packet, a radio that sends again";
        let sender = "let it wait for what is only late before it repairs: RACK (RFC 8985; Linux \
                      and Windows have it), or a reordering threshold above 3";
        vec![
            in_order(uncut(it, it.remedy(Side::Path, path, NO_LOSS, factor))),
            in_order(uncut(it, it.remedy(Side::Sender, sender, None, factor))),
        ]
    },
    shows: |kind| matches!(kind, Kind::Recovery | Kind::Open),
    packets: in_vain,
    is_doubtful: |it| it.has_few_losses(),
    ..UNTOLD
};

/// As though all came in its order, or the sender waited for it.
fn in_order(remedy: Remedy) -> Remedy {
    Remedy { what_if: Some("reordering=0".to_owned()), ..remedy }
}

pub(super) const STEADY: Words = Words {
    sentence: |subject @ &Subject { sender, finished, .. }, time| {
        sentence!(
            "{sender} holds its own sending to about {} in flight (its congestion window, or a \
             send buffer that its program refills at once) {}, and waits for ACKs {time}.",
            subject.level_flight(),
            on_its_path(finished),
        )
    },
    law: |subject| {
        let meaning = "what the sender keeps in flight";
        kept(subject, subject.level_flight(), meaning)
    },
    remedies: |it| {
        let flight = it.subject.level_flight().get().max(1);
        let window = it.subject.finished.window_most.max(flight);
        let value = window.min(flight * 4);
        let raised = it.remedy(
            Side::Sender,
            sentence!(
                "raise what keeps its flight so small (a clamp on the route, the congestion \
                 control, its send buffer): the receiver takes {}",
                Bytes::new(window)
            ),
            Some((value as f64, Unit::Bytes)),
            flight as f64 / value as f64,
        );
        vec![raised, it.streams("")]
    },
    shows: |kind| kind == Kind::Open,
    // A send buffer that its program refills at once and a congestion window
    // that something holds fixed look alike, and more so far from the sender.
    is_doubtful: |_| true,
    other_pace: |subject| {
        subject.stale_echoes().or_else(|| paced(subject)).or_else(|| own_pace(subject))
    },
    is_habit: true,
    ..UNTOLD
};

/// An ACK lets out at once what a congestion window holds back. Who sends some time behind it has
/// another pace.
fn paced(subject: &Subject<'_>) -> Option<Sentence> {
    let counts = &subject.finished.counts;
    reacts_late(subject).then(|| {
        sentence!(
            "{counts.slow_reactions} of {counts.reactions} waits for an ACK ended only some time \
             behind it, as where {subject.sender} paces what it sends (SO_MAX_PACING_RATE, tc), or \
             its program does; ss -tin and tc -s qdisc there tell"
        )
    })
}

/// A round trip so much longer than the path's is another's doing as well: of a receiver that
/// acknowledges late, or of a queue.
const LATE: f64 = 1.5;

/// What is less is hosts' own time (as elsewhere for late ACKs).
const MIN_LATE: Span = Span::from_millis(20);

/// ACKs that come much later than the path has them hold the transfer as the window does.
fn acknowledged_late(subject: &Subject<'_>) -> Option<Sentence> {
    let (path, beyond) = (subject.finished.told_rtt()?, subject.beyond_path()?);
    let is_late = beyond >= path.scaled(LATE - 1.0).max(MIN_LATE);
    is_late.then(|| {
        sentence!(
            "each round trip takes {beyond} longer than the path's: a receiver that acknowledges \
             late, or a queue, holds it as much as its window does; windlass top on \
             {subject.receiver} tells what its program does"
        )
    })
}

/// With the rate of a window that nothing cuts: what is left when the slow time is gone, and
/// no more than what the path gave before.
fn uncut(it: &Advice<'_>, remedy: Remedy) -> Remedy {
    let rate = it.rate(if it.leaves_enough(0.0) { 0.0 } else { 0.5 });
    let best = it.subject.finished.capacity.map_or(rate, |best| rate.min(best));
    Remedy { expected_bytes_per_second: Some(best), ..remedy }
}
