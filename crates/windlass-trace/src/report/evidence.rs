//! The packets in which a limit shows.

use windlass_base::{Cause, Sentence, Span, sentence};

use super::Evidence;
use super::subject::Subject;
use crate::counts::Examples;
use crate::ledger::{Kind, Opened, Wait};

/// Whether a cause shows in a kind of waiting.
pub(super) type Shows = fn(Kind) -> bool;

/// How many waits are named.
const MAX: usize = 3;

pub(super) fn shown(packets: &[u64], shows: impl Into<Sentence>) -> Evidence {
    Evidence { packets: packets.to_vec(), shows: shows.into() }
}

/// The longest waits of a cause, which shows in these kinds of waiting.
pub(super) fn evidence(subject: &Subject<'_>, cause: Cause, shows: Shows) -> Vec<Evidence> {
    let mut found: Vec<Evidence> = Vec::new();
    for (kind, wait) in waits(subject, cause, shows).into_iter().take(MAX) {
        let shows = sentence!("{}: {wait.span}", wait_in_words(kind, cause));
        let packets = [wait.first.min(wait.last), wait.first.max(wait.last)];
        let apart = packets[0] < packets[1];
        found.push(shown(if apart { &packets } else { &packets[..1] }, shows));
    }
    found
}

/// The same where there may be none.
pub(super) fn listed(examples: &Examples, shows: Sentence) -> Vec<Evidence> {
    let packets = examples.as_slice();
    if packets.is_empty() { Vec::new() } else { vec![shown(packets, shows)] }
}

/// Offers of small pieces of the window.
pub(super) fn silly_windows(subject: &Subject<'_>) -> Vec<Evidence> {
    let offers = subject.silly().into_iter();
    offers
        .map(|(count, size, packets)| {
            let shows =
                sentence!("small pieces of the window offered, {count} in all, {size} on average");
            shown(packets, shows)
        })
        .collect()
}

/// What was sent again.
pub(super) fn repairs(subject: &Subject<'_>) -> Vec<Evidence> {
    let counts = &subject.finished.counts;
    let shows = match counts.retransmissions {
        1 => "the retransmission".into(),
        again => sentence!("retransmissions, {again} in all"),
    };
    let mut found = listed(&counts.retransmitted, shows);
    found.extend(in_vain(subject));
    found
}

/// The packets that no loss of data explains.
pub(super) fn in_vain(subject: &Subject<'_>) -> Vec<Evidence> {
    let finished = subject.finished;
    let vain = &finished.sent_in_vain;
    let mut found = Vec::new();
    if vain.acks_lost > 0 {
        let shows = "sent again though the data had arrived: its ACK did not in time";
        found.push(shown(vain.unheard.as_slice(), shows));
    }
    if vain.vain_repairs > 0 {
        let shows = sentence!(
            "repaired after duplicate ACKs, though the first copy was only late, \
             {vain.vain_repairs} in all"
        );
        found.push(shown(vain.repeated.as_slice(), shows));
    }
    if let Some((timer, _)) = finished.slow_timer() {
        let shows = sentence!("sent by a timer that ran for {timer.least} at least");
        found.push(shown(timer.packets, shows));
    }
    found
}

/// The longest waits in which a cause shows, the longest first.
fn waits(subject: &Subject<'_>, cause: Cause, shows: Shows) -> Vec<(Kind, Wait)> {
    let longest = subject.finished.ledger.longest.iter();
    let mut waits: Vec<(Kind, Wait)> = longest
        .filter(|(kind, _)| shows(*kind))
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
pub(super) fn longest_queue(subject: &Subject<'_>, shows: Shows) -> Option<Span> {
    if subject.time_of(Cause::PathQueue) == Span::ZERO {
        return None;
    }
    waits(subject, Cause::PathQueue, shows).first().map(|(_, wait)| wait.span)
}

fn wait_in_words(kind: Kind, cause: Cause) -> &'static str {
    match kind {
        Kind::Window | Kind::Open if cause == Cause::PathQueue => {
            "this ACK comes late: the data stood in the path's queue"
        }
        Kind::Window => "the window is full until this ACK",
        Kind::Open => "data waits for this ACK with room in the window",
        Kind::Paced => "the sender spaces its segments",
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
