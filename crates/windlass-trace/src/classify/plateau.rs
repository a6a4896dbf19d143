//! Where a send buffer holds the flight level.

use super::is_ack_withheld;
use crate::finished::Finished;
use crate::ledger::{Kind, Phase};

/// Rounds that a flight must stay level before it counts as a plateau. A
/// congestion window in congestion avoidance grows by a segment in each
/// (RFC 5681 section 3.1), so it would have grown by several.
const PLATEAU_ROUNDS: usize = 5;

/// The same where nothing but the level tells: a congestion window that grows by a segment
/// in two rounds (delayed ACKs) would have grown by ten.
const LONG_ROUNDS: u64 = 20;

/// By what a plateau shows to be a send buffer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// When the sender's waits end, and with what.
    Waits,
    /// Nothing waits behind its segments.
    Pushes,
}

/// Which intervals are part of a plateau that a send buffer makes: the flight
/// stays level over many rounds without loss, and the sender's waits do not
/// look like a congestion window's.
pub(super) fn plateaus(finished: &Finished) -> Vec<Option<Sign>> {
    let intervals = &finished.ledger.intervals;
    let mut marks = vec![None; intervals.len()];
    let rounds: Vec<usize> = (0..intervals.len())
        .filter(|&place| {
            let interval = &intervals[place];
            interval.kind == Kind::Open && interval.activity.flight_high > 0
        })
        .collect();
    let mut start = 0;
    while start < rounds.len() {
        let span = &rounds[start..start + level_run(finished, &rounds[start..])];
        let Some(sign) = sign(finished, span) else {
            start += 1;
            continue;
        };
        for &place in span {
            marks[place] = Some(sign);
        }
        start += span.len();
    }
    marks
}

/// How many of the first intervals form a plateau; 0 where they form none.
fn level_run(finished: &Finished, places: &[usize]) -> usize {
    let intervals = &finished.ledger.intervals;
    let flights: Vec<u64> = places
        .iter()
        .map(|&place| &intervals[place])
        .take_while(|interval| interval.phase != Phase::AfterLoss)
        .map(|interval| interval.activity.flight_high)
        .scan((u64::MAX, 0), |(low, high), flight| {
            (*low, *high) = ((*low).min(flight), (*high).max(flight));
            // A buffer counted in memory rather than in bytes holds now more,
            // now less.
            (*low * 2 > *high).then_some(flight)
        })
        .collect();
    let rounds: usize = places[..flights.len()]
        .iter()
        .map(|&place| intervals[place].activity.rounds.max(1) as usize)
        .sum();
    let (early, late) = flights.split_at(flights.len() / 2);
    let peak = |flights: &[u64]| flights.iter().copied().max().unwrap_or(0);
    let grew = peak(late) > peak(early) + finished.segment_size + finished.segment_size / 4;
    if rounds < PLATEAU_ROUNDS || (grew && flights.len() > 1) { 0 } else { flights.len() }
}

/// What in a plateau looks like a full send buffer rather than a congestion window that
/// something holds fixed, which lets out full segments with each ACK; nothing where nothing
/// does.
fn sign(finished: &Finished, places: &[usize]) -> Option<Sign> {
    let (mut prompt, mut deep, mut partial, mut segments) = (0_u64, 0_u64, 0_u64, 0_u64);
    let mut rounds = 0;
    for &place in places {
        let activity = &finished.ledger.intervals[place].activity;
        prompt += u64::from(activity.prompt);
        deep += u64::from(activity.deep);
        partial += u64::from(activity.partial_segments);
        segments += u64::from(activity.segments);
        rounds += u64::from(activity.rounds.max(1));
    }
    let withheld =
        || places.iter().any(|&place| is_ack_withheld(finished, &finished.ledger.intervals[place]));
    let pushes = (rounds >= LONG_ROUNDS && empties_its_buffer(finished)).then_some(Sign::Pushes);
    if deep == 0 && prompt == 0 && partial == 0 && rounds < LONG_ROUNDS && !withheld() {
        // Each ACK frees half of so small a flight, and lets out full segments. One that is
        // withheld tells more: of two segments, a receiver acknowledges the second at once.
        return pushes;
    }
    // A buffer that is no whole number of segments ends each refill with a
    // part of one, however large it is.
    if deep >= prompt || partial * 10 >= segments || partial * 2 >= rounds {
        return Some(Sign::Waits);
    }
    pushes
}

/// Whether nearly each segment is the last of what its sender has: it is pushed (RFC 9293 section
/// 3.9.1.2), so that no other waits behind it for a congestion window. (Of several segments that were
/// captured as one only the last shows. Linux pushes the end of each write, so that of a program that
/// writes less than a segment at a time this is said, too.)
fn empties_its_buffer(finished: &Finished) -> bool {
    let counts = &finished.counts;
    counts.super_packets == 0 && counts.pushes * 5 >= counts.segments * 4
}
