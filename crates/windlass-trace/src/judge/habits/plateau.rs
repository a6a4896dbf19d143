//! Intervals in which a send buffer holds the flight level.

use super::receiver::is_ack_withheld;
use crate::follow::ledger::{Phase, WaitKind};
use crate::judge::checks::Checks;
use crate::judge::facts::Facts;
use windlass_base::thresholds::{MANY, PLATEAU_ROUNDS};

/// By what a plateau shows to be a send buffer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlateauSign {
    /// When the sender's waits end, and with what.
    Waits,
    /// Nothing waits behind its segments.
    Pushes,
}

/// Which intervals are part of a plateau that a send buffer makes: the flight
/// stays level over many rounds without loss, and the sender's waits do not
/// look like a congestion window's.
pub(super) fn plateaus(facts: &Facts) -> Vec<Option<PlateauSign>> {
    let intervals = &facts.waits;
    let mut marks = vec![None; intervals.len()];
    let rounds: Vec<usize> = (0..intervals.len())
        .filter(|&place| {
            let interval = &intervals[place];
            interval.kind == WaitKind::Open && interval.activity.flight_high > 0
        })
        .collect();
    let mut start = 0;
    while start < rounds.len() {
        let span = &rounds[start..start + level_run(facts, &rounds[start..])];
        let Some(sign) = sign(facts, span) else {
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

/// Returns the number of first intervals that form a plateau; 0 for none.
fn level_run(facts: &Facts, places: &[usize]) -> usize {
    let intervals = &facts.waits;
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
    let grew = peak(late) > peak(early) + facts.window.segment + facts.window.segment / 4;
    if rounds < PLATEAU_ROUNDS.get() || (grew && flights.len() > 1) { 0 } else { flights.len() }
}

/// Returns the sign of a full send buffer in a plateau, or `None`. The alternative is a congestion
/// window that something holds fixed, which lets out full segments with each ACK.
fn sign(facts: &Facts, places: &[usize]) -> Option<PlateauSign> {
    let (mut prompt, mut deep, mut partial, mut segments) = (0_u64, 0_u64, 0_u64, 0_u64);
    let mut rounds = 0;
    for &place in places {
        let activity = &facts.waits[place].activity;
        prompt += u64::from(activity.prompt);
        deep += u64::from(activity.deep);
        partial += u64::from(activity.partial_segments);
        segments += u64::from(activity.segments);
        rounds += u64::from(activity.rounds.max(1));
    }
    let withheld = || {
        places
            .iter()
            .any(|&place| is_ack_withheld(facts, &facts.waits[place], &mut Checks::silent()))
    };
    let pushes = (rounds >= MANY.get() && empties_its_buffer(facts)).then_some(PlateauSign::Pushes);
    if deep == 0 && prompt == 0 && partial == 0 && rounds < MANY.get() && !withheld() {
        // Each ACK frees half of so small a flight, and lets out full segments. One that is
        // withheld tells more: of two segments, a receiver acknowledges the second at once.
        return pushes;
    }
    // A buffer that is no whole number of segments ends each refill with a
    // part of one, however large it is.
    if deep >= prompt || partial * 10 >= segments || partial * 2 >= rounds {
        return Some(PlateauSign::Waits);
    }
    pushes
}

/// Returns whether nearly each segment is the last data of its sender, as its PSH tells (RFC 9293
/// section 3.9.1.2). No other segment then waits behind it for a congestion window. (Of several
/// segments captured as one, only the last shows. Linux pushes the end of each write, so a program
/// that writes less than a segment at a time counts, too.)
fn empties_its_buffer(facts: &Facts) -> bool {
    let counts = &facts.counts;
    counts.super_packets == 0 && counts.pushes * 5 >= counts.segments * 4
}

#[cfg(test)]
mod tests {
    use windlass_base::thresholds::WITHHELD_ACK;

    use super::*;
    use crate::judge::fixture::{OrdinaryTransfer, SEGMENT, SEGMENTS, STEP};

    /// Returns a transfer with a flight that is level for so many rounds, and that a buffer may
    /// hold: each of its waits goes on until half of the flight is gone.
    fn level(rounds: usize) -> OrdinaryTransfer {
        let mut transfer = OrdinaryTransfer::new();
        let activity = transfer.activity();
        activity.rounds = u32::try_from(rounds).unwrap();
        (activity.prompt, activity.deep) = (0, activity.rounds);
        transfer
    }

    /// Returns a transfer with these flights, in bytes. Each by itself is too short for a plateau.
    fn flights<const N: usize>(flights: [u64; N]) -> OrdinaryTransfer {
        let mut transfer = level(PLATEAU_ROUNDS.get().div_ceil(2));
        let mut wait = transfer.facts.waits[0];
        transfer.facts.waits = flights
            .map(|flight| {
                wait.activity.flight_high = flight;
                wait
            })
            .to_vec();
        transfer
    }

    /// Returns the sign of the first wait's plateau.
    fn sign_of(transfer: &OrdinaryTransfer) -> Option<PlateauSign> {
        plateaus(&transfer.facts)[0]
    }

    #[test]
    fn a_plateau_lasts_for_several_rounds() {
        assert_eq!(sign_of(&level(PLATEAU_ROUNDS.get())), Some(PlateauSign::Waits));
        assert_eq!(sign_of(&level(PLATEAU_ROUNDS.get() - 1)), None);
    }

    #[test]
    fn a_full_window_is_no_plateau() {
        let mut transfer = level(PLATEAU_ROUNDS.get());
        transfer.wait().kind = WaitKind::Window;
        assert_eq!(sign_of(&transfer), None);
    }

    #[test]
    fn a_loss_ends_a_plateau() {
        let mut transfer = level(PLATEAU_ROUNDS.get());
        transfer.wait().phase = Phase::AfterLoss;
        assert_eq!(sign_of(&transfer), None);
    }

    #[test]
    fn a_level_flight_holds_more_than_half_of_its_most() {
        let sign_with = |low| sign_of(&flights([40_000, low]));
        assert_eq!((sign_with(20_001), sign_with(20_000)), (Some(PlateauSign::Waits), None));
    }

    #[test]
    fn a_level_flight_grows_by_no_more_than_a_segment_and_a_quarter() {
        let grown = |by| sign_of(&flights([20_000, 20_000 + by]));
        let most = SEGMENT + SEGMENT / 4;
        assert_eq!((grown(most), grown(most + 1)), (Some(PlateauSign::Waits), None));
    }

    #[test]
    fn a_long_plateau_of_nothing_but_a_level_flight_is_a_buffers() {
        let plain = |rounds| {
            let mut transfer = level(rounds);
            transfer.activity().deep = 0;
            sign_of(&transfer)
        };
        let long = usize::try_from(MANY.get()).unwrap();
        assert_eq!((plain(long), plain(long - 1)), (Some(PlateauSign::Waits), None));
    }

    #[test]
    fn a_withheld_ack_shows_a_short_plateau() {
        let withheld = |latency| {
            let mut transfer = level(PLATEAU_ROUNDS.get());
            transfer.activity().deep = 0;
            transfer.set_path(STEP);
            transfer.set_latency(latency);
            sign_of(&transfer)
        };
        let latency = STEP + WITHHELD_ACK.get();
        assert_eq!((withheld(latency), withheld(latency - STEP)), (Some(PlateauSign::Waits), None));
    }

    #[test]
    fn a_buffers_waits_go_on_over_several_acks() {
        let mut transfer = level(PLATEAU_ROUNDS.get());
        transfer.activity().prompt = transfer.activity().deep;
        assert_eq!(sign_of(&transfer), Some(PlateauSign::Waits));
        transfer.activity().prompt += 1;
        assert_eq!(sign_of(&transfer), None);
    }

    #[test]
    fn a_buffer_ends_its_refills_with_a_part_of_a_segment() {
        let partial = |parts, segments| {
            let mut transfer = level(PLATEAU_ROUNDS.get());
            let activity = transfer.activity();
            (activity.prompt, activity.deep) = (1, 0);
            (activity.partial_segments, activity.segments) = (parts, segments);
            activity.rounds = 11;
            sign_of(&transfer)
        };
        assert_eq!((partial(5, 50), partial(5, 51)), (Some(PlateauSign::Waits), None));
        assert_eq!((partial(6, 1_000), partial(5, 1_000)), (Some(PlateauSign::Waits), None));
    }

    #[test]
    fn pushes_of_four_in_five_segments_show_a_long_plateau() {
        let pushed = |pushes, rounds: u64| {
            let mut transfer = level(usize::try_from(rounds).unwrap());
            (transfer.activity().prompt, transfer.activity().deep) = (1, 0);
            transfer.facts.counts.pushes = pushes;
            sign_of(&transfer)
        };
        let (most, long) = (SEGMENTS * 4 / 5, MANY.get());
        assert_eq!((pushed(most, long), pushed(most - 1, long)), (Some(PlateauSign::Pushes), None));
        assert_eq!(pushed(most, long - 1), None);
        let mut transfer = level(usize::try_from(long).unwrap());
        (transfer.activity().prompt, transfer.activity().deep) = (1, 0);
        (transfer.facts.counts.pushes, transfer.facts.counts.super_packets) = (most, 1);
        assert_eq!(sign_of(&transfer), None);
    }
}
