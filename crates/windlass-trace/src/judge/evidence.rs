//! The packets in which a limit shows.
use windlass_base::verdict::Evidence;
use windlass_base::{Cause, Sentence, Span, sentence};

use super::case::Case;
use crate::follow::counts::Examples;
use crate::follow::ledger::{Reopening, Wait, WaitKind};

/// Test whether a cause shows in a kind of wait.
pub(crate) type WaitTest = fn(WaitKind) -> bool;

/// Number of named waits.
const MAX: usize = 3;

pub(crate) fn shown(packets: &[u64], shows: impl Into<Sentence>) -> Evidence {
    Evidence { packets: packets.to_vec(), shows: shows.into() }
}

/// Returns the longest waits of a cause, which shows in these kinds of waiting.
pub(crate) fn evidence(case: &Case<'_>, cause: Cause, shows: WaitTest) -> Vec<Evidence> {
    let mut found: Vec<Evidence> = Vec::new();
    for (kind, wait) in waits(case, cause, shows).into_iter().take(MAX) {
        let shows = sentence!("{}: {wait.span}", wait_in_words(case, kind, cause));
        let packets = [wait.first.min(wait.last), wait.first.max(wait.last)];
        let apart = packets[0] < packets[1];
        found.push(shown(if apart { &packets } else { &packets[..1] }, shows));
    }
    found
}

/// Returns the evidence of these examples; none without examples.
pub(crate) fn listed(examples: &Examples, shows: Sentence) -> Vec<Evidence> {
    let packets = examples.as_slice();
    if packets.is_empty() { Vec::new() } else { vec![shown(packets, shows)] }
}

/// Returns the offers of small pieces of the window.
pub(crate) fn silly_windows(case: &Case<'_>) -> Vec<Evidence> {
    let offers = case.silly().into_iter();
    offers
        .map(|(count, size, packets)| {
            let shows =
                sentence!("small pieces of the window offered, {count} in all, {size} on average");
            shown(packets, shows)
        })
        .collect()
}

/// Returns the retransmissions.
pub(crate) fn repairs(case: &Case<'_>) -> Vec<Evidence> {
    let counts = &case.facts.counts;
    let shows = match counts.retransmissions {
        1 => "the retransmission".into(),
        again => sentence!("retransmissions, {again} in all"),
    };
    let mut found = listed(&counts.retransmitted, shows);
    found.extend(in_vain(case));
    found
}

/// Returns the packets that no loss of data explains.
pub(crate) fn in_vain(case: &Case<'_>) -> Vec<Evidence> {
    let facts = case.facts;
    let vain = &facts.loss.in_vain;
    let mut found = Vec::new();
    if vain.acks_lost > 0 {
        let shows = "sent again though the data had arrived: its ACK came too late or not at all";
        found.push(shown(vain.unheard.as_slice(), shows));
    }
    if vain.vain_repairs > 0 {
        let shows = sentence!(
            "repaired after duplicate ACKs, though the first copy was only late, \
             {vain.vain_repairs} in all"
        );
        found.push(shown(vain.repeated.as_slice(), shows));
    }
    if let Some((timer, _)) = facts.slow_timer() {
        let shows = sentence!("sent by a timer that ran for {timer.least} at least");
        found.push(shown(timer.packets, shows));
    }
    found
}

/// Returns the longest waits in which a cause shows, the longest first.
fn waits(case: &Case<'_>, cause: Cause, shows: WaitTest) -> Vec<(WaitKind, Wait)> {
    let longest = case.facts.longest.iter();
    let mut waits: Vec<(WaitKind, Wait)> = longest
        .filter(|(kind, _)| shows(*kind))
        .flat_map(|(kind, waits)| waits.iter().map(|wait| (*kind, *wait)))
        .filter(|(_, wait)| wait.span > Span::ZERO && is_charged(case, cause, wait))
        .collect();
    waits.sort_by_key(|(_, wait)| std::cmp::Reverse(wait.span));
    waits
}

/// Returns whether a wait lies where its time was charged to this cause.
fn is_charged(case: &Case<'_>, cause: Cause, wait: &Wait) -> bool {
    let (first, last) = (wait.first.min(wait.last), wait.first.max(wait.last));
    let mut charges = case.tally.charges.iter().filter(|charge| charge.cause == cause);
    charges.any(|charge| charge.interval.first <= first && last <= charge.interval.last)
}

/// Returns the longest time that data stood in the path's queue.
pub(crate) fn longest_queue(case: &Case<'_>, shows: WaitTest) -> Option<Span> {
    if case.time_of(Cause::PathQueue) == Span::ZERO || case.is_spaced() {
        return None;
    }
    waits(case, Cause::PathQueue, shows).first().map(|(_, wait)| wait.span)
}

fn wait_in_words(case: &Case<'_>, kind: WaitKind, cause: Cause) -> &'static str {
    match kind {
        WaitKind::Open | WaitKind::Idle if cause == Cause::PathQueue && case.is_spaced() => {
            "the next data leaves late, and not after an ACK"
        }
        WaitKind::Window | WaitKind::Open if cause == Cause::PathQueue => {
            "this ACK comes late: the data waited in the path's queue"
        }
        WaitKind::Window | WaitKind::Open if cause == Cause::AckPath => {
            "this ACK comes late: it waited in a queue on its way back"
        }
        WaitKind::Window => "the window is full until this ACK",
        WaitKind::Open => "data waits for this ACK with room in the window",
        WaitKind::Paced => "the sender spaces its segments",
        WaitKind::Nagle => "a small segment waits for this ACK",
        WaitKind::Recovery => "repair after duplicate ACKs",
        WaitKind::Timeout => "silence until the timer ran out, and repair",
        WaitKind::Blind { .. } => "the timer ran out before the ACK came",
        WaitKind::Partly(_) if cause == Cause::ReceiverLimited => {
            "the window is closed until a part of the buffer is read"
        }
        WaitKind::NotReading | WaitKind::Partly(Reopening::AfterLong) => "the window stays closed",
        WaitKind::NoUpdate | WaitKind::Partly(Reopening::WhenProbed) => {
            "the window is closed until a probe finds it open"
        }
        WaitKind::OpensLate | WaitKind::Partly(Reopening::Late) => {
            "the window is closed for a moment"
        }
        WaitKind::Idle => "the sender sends nothing, though it may",
        WaitKind::AwaitPeer => "the sender waits for the other side's data",
        WaitKind::Queued => "data waited in a queue before the capture",
        WaitKind::Skipped => "the sender's packet count goes on, and no packet comes",
        WaitKind::Missing => "packets are missing here",
        WaitKind::Unheard => "silence until a timer sent again what had arrived",
    }
}

pub(crate) fn probes(case: &Case<'_>) -> Vec<Evidence> {
    let counts = &case.facts.counts;
    let shows = match counts.probes {
        1 => "the probe of the closed window".into(),
        probes => sentence!("probes of the closed window, {probes} in all"),
    };
    listed(&counts.probed, shows)
}
