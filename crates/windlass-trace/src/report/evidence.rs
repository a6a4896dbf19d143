//! The packets in which a limit shows.

use windlass_base::{Bytes, Cause, Sentence, Span, sentence};

use super::Evidence;
use super::subject::Subject;
use crate::ledger::{Kind, Opened, Wait};

/// How many waits are named.
const MAX: usize = 3;

fn shown(packets: &[u64], shows: impl Into<Sentence>) -> Evidence {
    Evidence { packets: packets.to_vec(), shows: shows.into() }
}

pub(super) fn evidence(subject: &Subject<'_>, cause: Cause) -> Vec<Evidence> {
    let counts = &subject.finished.counts;
    let mut found: Vec<Evidence> = Vec::new();
    let waits = waits(subject, cause);
    for (kind, wait) in waits.into_iter().take(MAX) {
        let shows = sentence!("{}: {}", words(kind, cause), wait.span);
        let packets = [wait.first.min(wait.last), wait.first.max(wait.last)];
        let apart = packets[0] < packets[1];
        found.push(shown(if apart { &packets } else { &packets[..1] }, shows));
    }
    if matches!(cause, Cause::ReceiverNotReading | Cause::NoWindowUpdate)
        && !counts.probed.as_slice().is_empty()
    {
        let shows = match counts.probes {
            1 => "the probe of the closed window".into(),
            probes => sentence!("probes of the closed window, {probes} in all"),
        };
        found.push(shown(counts.probed.as_slice(), shows));
    }
    if matches!(cause, Cause::ReceiverLimited | Cause::WindowBelowMss)
        && let Some((count, size, packets)) = subject.silly()
    {
        let shows =
            sentence!("small pieces of the window offered, {count} in all, {size} on average");
        found.push(shown(packets, shows));
    }
    found.extend(of_loss(subject, cause));
    let repairs = matches!(
        cause,
        Cause::FastRecovery
            | Cause::Timeout
            | Cause::SlowTimer
            | Cause::AfterLoss
            | Cause::BufferDelayedAck
    );
    if repairs && !counts.retransmitted.as_slice().is_empty() {
        let shows = match counts.retransmissions {
            1 => "the retransmission".into(),
            again => sentence!("retransmissions, {again} in all"),
        };
        found.push(shown(counts.retransmitted.as_slice(), shows));
    }
    if repairs || matches!(cause, Cause::AckLoss | Cause::Reordering) {
        found.extend(in_vain(subject));
    }
    found
}

/// The packets that no loss of data explains.
fn in_vain(subject: &Subject<'_>) -> Vec<Evidence> {
    let finished = subject.finished;
    let vain = &finished.sent_in_vain;
    let mut found = Vec::new();
    if vain.acks_lost > 0 {
        let shows = "sent again though the data had arrived: its ACK did not in time";
        found.push(shown(vain.unheard.as_slice(), shows));
    }
    if vain.vain_repairs > 0 {
        let shows = sentence!(
            "repaired after duplicate ACKs, though the first copy was only late, {} in all",
            vain.vain_repairs
        );
        found.push(shown(vain.repeated.as_slice(), shows));
    }
    if let Some((timer, _)) = finished.slow_timer() {
        let shows = sentence!("sent by a timer that ran for {} at least", timer.least);
        found.push(shown(timer.packets, shows));
    }
    found
}

/// The longest waits in which a cause shows, the longest first.
fn waits(subject: &Subject<'_>, cause: Cause) -> Vec<(Kind, Wait)> {
    let longest = subject.finished.ledger.longest.iter();
    let mut waits: Vec<(Kind, Wait)> = longest
        .filter(|(kind, _)| shows(*kind, cause))
        .flat_map(|(kind, waits)| waits.iter().map(|wait| (*kind, *wait)))
        .filter(|(_, wait)| wait.span > Span::ZERO && is_charged(subject, cause, wait))
        .collect();
    waits.sort_by_key(|(_, wait)| std::cmp::Reverse(wait.span));
    waits
}

/// Whether a wait lies where its time was charged to this cause.
fn is_charged(subject: &Subject<'_>, cause: Cause, wait: &Wait) -> bool {
    let (first, last) = (wait.first.min(wait.last), wait.first.max(wait.last));
    let mut charges = subject.classified.charges.iter().filter(|charge| charge.cause == cause);
    charges.any(|charge| charge.interval.first <= first && last <= charge.interval.last)
}

/// The longest that data stood in the path's queue.
pub(super) fn longest_queue(subject: &Subject<'_>) -> Option<Span> {
    if subject.time_of(Cause::PathQueue) == Span::ZERO {
        return None;
    }
    waits(subject, Cause::PathQueue).first().map(|(_, wait)| wait.span)
}

/// The packets that tell of what lost the data.
fn of_loss(subject: &Subject<'_>, cause: Cause) -> Vec<Evidence> {
    let finished = subject.finished;
    match (cause, &finished.discarding, &finished.black_hole, &finished.policer) {
        (Cause::ReceiverDiscards, Some(discarding), _, _) => {
            let shows = "from the first duplicate ACK, for a segment behind a hole, to the ACK of \
                         what was in flight then: none covers more than was sent again";
            let holes = discarding.examples.iter();
            holes.map(|(first, last)| shown(&[*first, *last], shows)).collect()
        }
        (Cause::BlackHole, _, Some(hole), _) => {
            let shows = sentence!("sent {} times with {} each", hole.sends, Bytes::new(hole.fails));
            vec![shown(&hole.numbers, shows)]
        }
        (Cause::PathPolicer, _, _, Some(policer)) => {
            let drops = policer.drops;
            let shows =
                sentence!("the first segments that were dropped, of {drops} drops on one line");
            vec![shown(&policer.numbers, shows)]
        }
        _ => Vec::new(),
    }
}

fn shows(kind: Kind, cause: Cause) -> bool {
    match cause {
        Cause::WindowPathRtt | Cause::WindowBelowMss => kind == Kind::Window,
        Cause::ReceiverLimited => matches!(kind, Kind::Window | Kind::Partly(_)),
        Cause::WindowAckLatency => matches!(kind, Kind::Window | Kind::Blind { window_full: true }),
        Cause::ReceiverNotReading => {
            matches!(kind, Kind::NotReading | Kind::Partly(Opened::AfterLong))
        }
        Cause::NoWindowUpdate => {
            matches!(kind, Kind::NoUpdate | Kind::Partly(Opened::WhenProbed))
        }
        Cause::WindowOpensLate => matches!(kind, Kind::OpensLate | Kind::Partly(Opened::Late)),
        Cause::BufferDelayedAck => matches!(kind, Kind::Open | Kind::Blind { .. }),
        Cause::BufferPathRtt
        | Cause::SlowStart
        | Cause::AfterLoss
        | Cause::Steady
        | Cause::SmallSegments => kind == Kind::Open,
        Cause::PathQueue | Cause::PathPolicer => {
            matches!(kind, Kind::Open | Kind::Window | Kind::Queued)
        }
        Cause::FastRecovery => kind == Kind::Recovery,
        Cause::Reordering => matches!(kind, Kind::Recovery | Kind::Open),
        Cause::AckLoss => kind == Kind::Unheard,
        Cause::ReceiverDiscards | Cause::BlackHole => {
            matches!(kind, Kind::Recovery | Kind::Timeout | Kind::Blind { .. })
        }
        Cause::Timeout | Cause::SlowTimer => {
            matches!(kind, Kind::Timeout | Kind::Blind { .. } | Kind::Skipped)
        }
        Cause::SenderIdle => matches!(kind, Kind::Idle | Kind::Skipped),
        Cause::AwaitsAnswer => kind == Kind::AwaitPeer,
        Cause::NagleDelayedAck => kind == Kind::Nagle,
        Cause::Processor | Cause::Unknown => kind == Kind::Missing,
    }
}

fn words(kind: Kind, cause: Cause) -> &'static str {
    match kind {
        Kind::Window | Kind::Open if cause == Cause::PathQueue => {
            "this ACK comes late: the data stood in the path's queue"
        }
        Kind::Window => "the window is full until this ACK",
        Kind::Open => "data waits for this ACK with room in the window",
        Kind::Nagle => "a small segment waits for this ACK",
        Kind::Recovery => "repair after duplicate ACKs",
        Kind::Timeout => "silence until the timer ran out, and repair",
        Kind::Blind { .. } => "the timer ran out before the ACK came",
        Kind::Partly(_) if cause == Cause::ReceiverLimited => {
            "the window is closed until a part of the buffer is read"
        }
        Kind::NotReading | Kind::Partly(Opened::AfterLong) => "the window stays closed",
        Kind::NoUpdate | Kind::Partly(Opened::WhenProbed) => {
            "the window is closed until a probe finds it open"
        }
        Kind::OpensLate | Kind::Partly(Opened::Late) => "the window is closed for a moment",
        Kind::Idle => "the sender sends nothing, though it may",
        Kind::AwaitPeer => "the sender waits for the other side's data",
        Kind::Queued => "data stood in a queue before it came here",
        Kind::Skipped => "the sender's count goes on, and nothing comes",
        Kind::Missing => "packets are missing here",
        Kind::Unheard => "silence until a timer sent again what had arrived",
    }
}
