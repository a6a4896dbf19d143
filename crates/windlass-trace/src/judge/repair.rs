//! Shared parts of the causes of loss: what was lost, what a repair costs, and how it costs less.

use crate::follow::ledger::{Phase, WaitKind};
use crate::judge::case::Case;
use crate::judge::checks::Checks;
use crate::judge::evidence::listed;
use crate::judge::law::{AppliedLaw, stop_and_go};
use crate::judge::remedy::{Advice, NO_LOSS, WITHOUT_LOSS, advice};
use crate::judge::rule::WaitContext;
use windlass_base::figures::{ItemCount, Percent};
use windlass_base::thresholds::{DUPLICATE_ACKS, FREQUENT_LOSS, LEAST_TIMER};
use windlass_base::tuning::Tuning;
use windlass_base::verdict::{Evidence, Remedy, Side, Unit};
use windlass_base::{Cause, Sentence, Span, sentence};

/// Advice about the queue that is full when data is lost; what it dropped follows.
pub(crate) const FULL_QUEUE: &str = "reduce the load on the bottleneck, or enlarge its queue to a \
                                     bandwidth-delay product: it was full when it dropped";

pub(crate) fn by_timer(kind: WaitKind) -> bool {
    matches!(kind, WaitKind::Timeout | WaitKind::Blind { .. } | WaitKind::Skipped)
}

pub(crate) fn in_repair(kind: WaitKind) -> bool {
    matches!(kind, WaitKind::Recovery | WaitKind::Timeout | WaitKind::Blind { .. })
}

/// Transfers that wait for timers: so much data, then a silence that is charged to `cause`,
/// so many times.
pub(crate) fn silences(case: &Case<'_>, cause: Cause, count: u64) -> Option<AppliedLaw> {
    let open = case.facts.line.capacity.filter(|_| case.facts.counts.acks > 0)?;
    let meanings =
        ["data between two timeouts", "the rate between them", "silence and repair, on average"];
    Some(stop_and_go(case, count, open, case.time_of(cause), meanings))
}

/// Says who loses data: the path, or the receiver that drops what arrives damaged.
pub(crate) fn loser(case: &Case<'_>) -> Sentence {
    match case.facts.damage() {
        Some(damaged) => sentence!(
            "Segments arrive damaged ({} with a wrong TCP checksum, which {} dropped)",
            damaged.segments,
            case.receiver,
        ),
        None => "The path loses data".into(),
    }
}

/// Says that the receiver's SACK blocks are useless, where they are.
pub(crate) fn useless_sack(case: &Case<'_>) -> Sentence {
    let counts = &case.facts.counts;
    if !case.facts.has_useless_sack() {
        return Sentence::new();
    }
    sentence!(
        "{counts.sacks_outside} of {counts.sack_blocks} SACK blocks of {} lie outside the data \
         that was sent: a device on the path rewrites sequence numbers but not this option, so {} \
         does not take the duplicate ACKs for a loss.",
        case.receiver,
        case.sender,
    )
}

/// The ACKs whose SACK blocks are useless.
pub(crate) fn useless_sack_packets(case: &Case<'_>) -> Vec<Evidence> {
    if !case.facts.has_useless_sack() {
        return Vec::new();
    }
    listed(&case.facts.counts.sacked_outside, "SACK blocks outside of what was sent".into())
}

/// Says what to look for where most of what was lost arrived damaged.
pub(crate) fn find_damage(case: &Case<'_>) -> Option<Sentence> {
    let damaged = case.facts.damage()?;
    // By chance, few are damaged twice.
    Some(if damaged.again * 2 >= damaged.segments {
        sentence!(
            "find the device that changes these bytes without their checksum: the same data came \
             damaged {} more. Firewalls and translators (NAT) with helpers for single protocols do \
             that, and so do network cards and drivers with a fault (try without offloads: ethtool \
             -K DEVICE tx off rx off tso off gro off)",
            if damaged.again == 1 { "once".into() } else { sentence!("{damaged.again} times") },
        )
    } else {
        sentence!(
            "find the device that damages segments behind the check of the link (a lossy cable \
             or radio drops them instead): a network card or driver (try without offloads: \
             ethtool -K DEVICE tx off rx off tso off gro off), the memory of a switch or router, \
             or a firewall that changes bytes"
        )
    })
}

/// The segments that arrived damaged.
pub(crate) fn damaged_packets(case: &Case<'_>) -> Vec<Evidence> {
    let Some(damaged) = case.facts.damage() else { return Vec::new() };
    let shows = match damaged.segments {
        1 => "arrived with a wrong TCP checksum, and was dropped".into(),
        all => sentence!("arrived with a wrong TCP checksum, and were dropped, {all} in all"),
    };
    listed(&damaged.packets, shows)
}

/// Says what was lost of what was sent, and apart from that what was sent again needlessly.
pub(crate) fn lost(case: &Case<'_>) -> Sentence {
    let facts = case.facts;
    let (lost, needless) = (facts.lost(), facts.needless());
    let were = if lost == 1 { "was" } else { "were" };
    let mut text = sentence!(
        "{lost} of {} {were} lost and sent again",
        ItemCount(facts.counts.sent(), "segment")
    );
    if needless > 0 {
        text.push(&sentence!(" (and {needless} needlessly)"));
    }
    text
}

/// The segments that the path itself lost: those that were sent again, without those
/// that the receiver had discarded.
pub(crate) fn path_lost(case: &Case<'_>) -> u64 {
    let facts = case.facts;
    let again = facts.lost();
    let holes = facts.loss.discarding.as_ref().map_or(0, |discarding| discarding.holes);
    again.saturating_sub(discarded(case)).max(u64::from(holes))
}

/// Its share of all that were sent.
pub(crate) fn path_loss(case: &Case<'_>) -> f64 {
    path_lost(case) as f64 / case.facts.counts.sent().max(1) as f64
}

pub(crate) fn fewer_losses(it: &Advice<'_>) -> Vec<Remedy> {
    let facts = it.case.facts;
    if facts.loss.never_came_back {
        let mut remedies = vec![advice(
            Side::Receiver,
            "find out why it stopped answering: whether it still runs and can be reached, or \
             a firewall or translator on the way forgot the connection",
        )];
        if !facts.loss.full_arrived {
            remedies.push(advice(
                Side::Sender,
                "try a smaller MTU, such as 1280: no full segment has arrived, so a link on the path \
                 may be too small for it",
            )
            .set_by(Tuning::SmallerSegments));
        }
        return remedies;
    }
    let ratio = facts.loss_ratio();
    let path = Remedy {
        what_if: Some(WITHOUT_LOSS.to_owned()),
        ..it.remedy(
            Side::Path,
            match (find_damage(it.case), facts.full_queue()) {
                (Some(find), _) => find,
                (_, Some(_)) => sentence!("{FULL_QUEUE} {} of the segments", Percent(ratio, 2)),
                (_, None) => sentence!(
                    "find what loses {} of the segments: cable, duplex mismatch, radio, or a full \
                     queue",
                    Percent(ratio, 2)
                ),
            },
            NO_LOSS,
            0.0,
        )
    };
    let offers = &facts.opening.handshake.offers;
    let sack = offers.iter().all(|offer| offer.is_some_and(|offer| offer.sack_permitted));
    let known = facts.opening.handshake.is_whole();
    let mut remedies = vec![path];
    remedies.extend(shorter_timer(it));
    if facts.has_useless_sack() {
        remedies.splice(0..0, fast_retransmit(it));
    } else {
        remedies.extend(fast_retransmit(it));
    }
    if known && !sack {
        let lacking = offers[facts.opening.direction].is_some_and(|offer| offer.sack_permitted);
        // The gain depends on the number of segments lost at once.
        remedies.push(
            advice(
                if lacking { Side::Receiver } else { Side::Sender },
                "turn on selective acknowledgments (SACK), so that several losses are repaired in \
             one round trip",
            )
            .set_by(Tuning::Sack),
        );
    }
    remedies
}

/// A timer that follows the round trip, where it is slow now.
pub(crate) fn shorter_timer(it: &Advice<'_>) -> Option<Remedy> {
    let (timer, rtt) = it.case.facts.slow_timer()?;
    let shorter = LEAST_TIMER.get().max(rtt * 3);
    let causes = [Cause::Timeout, Cause::SlowTimer, Cause::AckLoss];
    let waits: Span = causes.iter().map(|cause| it.case.time_of(*cause)).sum();
    let waited = waits.share_of(it.held());
    let quicker = it.remedy(
        Side::Sender,
        sentence!(
            "let the retransmission timer follow the path's round trip (RFC 6298): it runs for at \
             least {timer.least}, and {shorter} would be enough"
        ),
        Some((shorter.as_seconds(), Unit::Seconds)),
        1.0 - waited * (1.0 - shorter.share_of(timer.least)),
    );
    let quicker = quicker.set_by(Tuning::RetransmissionTimer);
    Some(Remedy { what_if: Some(format!("timer={}us", shorter.as_nanos() / 1_000)), ..quicker })
}

/// Fast retransmit, where enough duplicate ACKs came for it and the sender never did.
pub(crate) fn fast_retransmit(it: &Advice<'_>) -> Option<Remedy> {
    let counts = &it.case.facts.counts;
    let rtt = it.case.facts.path.told_rtt?;
    let timeouts = counts.timeouts.max(1);
    // Its repairs may have come, and damaged again.
    let came_again = it.case.facts.damage().is_some_and(|damaged| damaged.again > 0);
    if came_again || counts.fast > 0 || counts.duplicate_acks < DUPLICATE_ACKS.get() * timeouts {
        return None;
    }
    if it.case.facts.has_useless_sack() {
        return Some(it.remedy(
            Side::Path,
            "let the firewall that rewrites sequence numbers also rewrite the SACK option, or keep \
             the numbers (Cisco ASA: set connection random-sequence-number disable); until then \
             turn SACK off at one end (Linux: sysctl -w net.ipv4.tcp_sack=0), so that duplicate \
             ACKs lead to repairs again",
            None,
            in_round_trips(it, rtt, timeouts),
        ));
    }
    let mut repair = it.remedy(
        Side::Sender,
        sentence!(
            "repair a loss after {} duplicate ACKs (fast retransmit, RFC 5681 section 3.2): \
             {counts.duplicate_acks} came, and it waited for its timer",
            DUPLICATE_ACKS.get()
        ),
        None,
        in_round_trips(it, rtt, timeouts),
    );
    // Which losses have as many duplicate ACKs behind them is chance.
    it.bound(&mut repair);
    Some(repair.set_by(Tuning::FastRetransmit))
}

/// The share of the limit's time that so many round trips take.
pub(crate) fn in_round_trips(it: &Advice<'_>, rtt: Span, count: u64) -> f64 {
    let repair = rtt * i64::try_from(count).unwrap_or(i64::MAX);
    repair.share_of(it.held().max(Span::from_nanos(1))).min(1.0)
}

/// With the rate of a window that nothing cuts: what is left when the slow time is gone, and
/// no more than what the path gave before.
pub(crate) fn uncut(it: &Advice<'_>, remedy: Remedy) -> Remedy {
    let rate = it.rate(if it.leaves_enough(0.0) { 0.0 } else { 0.5 });
    let best = it.case.facts.line.capacity.map_or(rate, |best| rate.min(best));
    let mut remedy = remedy;
    remedy.set_expected(best);
    // The data that passed in a cut window is only a part of what the path carries.
    it.bracket(&mut remedy);
    remedy
}

/// Returns whether the next loss comes before the window has regained what the last one took: it is
/// loss then that keeps the window small.
pub(crate) fn is_loss_frequent(it: &WaitContext<'_>, checks: &mut Checks) -> bool {
    checks.is("the window has not regained what loss took", it.wait.phase == Phase::AfterLoss)
        && checks.at_least("segments lost", it.facts.loss_ratio(), FREQUENT_LOSS)
}

/// The segments that arrived behind a hole, and that the receiver discarded.
pub(crate) fn discarded(case: &Case<'_>) -> u64 {
    case.facts.loss.discarding.as_ref().map_or(0, |discarding| discarding.segments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::fixture::{OrdinaryTransfer, RTT, SEGMENTS, share_of};
    use windlass_base::thresholds::{NEARLY_ALL, SEVERAL};

    #[test]
    fn a_fast_retransmit_takes_several_duplicate_acks_for_each_timeout() {
        let helps = |timeouts, duplicates, fast| {
            let mut transfer = OrdinaryTransfer::new();
            let counts = &mut transfer.facts.counts;
            (counts.timeouts, counts.duplicate_acks, counts.fast) = (timeouts, duplicates, fast);
            !transfer.remedies(|it| fast_retransmit(it).into_iter().collect()).is_empty()
        };
        let enough = DUPLICATE_ACKS.get();
        assert!(helps(0, enough, 0) && !helps(0, enough - 1, 0));
        assert!(helps(2, enough * 2, 0) && !helps(2, enough * 2 - 1, 0));
        assert!(!helps(0, enough, 1));
    }

    #[test]
    fn half_of_what_was_lost_or_more_arrived_damaged() {
        let mut transfer = OrdinaryTransfer::new();
        transfer.lose(10);
        transfer.arrive_damaged(4);
        assert_eq!(loser(&transfer.case()).to_string(), "The path loses data");
        assert!(find_damage(&transfer.case()).is_none());
        transfer.arrive_damaged(5);
        let loser = loser(&transfer.case()).to_string();
        assert!(loser.contains("5 with a wrong TCP checksum, which 10.0.0.2 dropped"), "{loser}");
        let find = |transfer: &OrdinaryTransfer| find_damage(&transfer.case()).unwrap().to_string();
        assert!(find(&transfer).contains("damages segments"), "{}", find(&transfer));
        for (again, is_of_data) in [(2, false), (3, true)] {
            transfer.facts.loss.damaged.as_mut().unwrap().again = again;
            assert_eq!(find(&transfer).contains("changes these bytes"), is_of_data);
        }
    }

    #[test]
    fn sack_blocks_are_useless_where_nearly_all_lie_outside() {
        let mut transfer = OrdinaryTransfer::new();
        transfer.facts.path.told_rtt = Some(RTT);
        let counts = &mut transfer.facts.counts;
        (counts.timeouts, counts.duplicate_acks) = (1, DUPLICATE_ACKS.get());
        let mut is_useless = |outside, blocks| {
            let counts = &mut transfer.facts.counts;
            (counts.sacks_outside, counts.sack_blocks) = (outside, blocks);
            let remedies = transfer.remedies(|it| fast_retransmit(it).into_iter().collect());
            let is_advised = remedies[0].action.to_string().contains("tcp_sack=0");
            assert_eq!(is_advised, !useless_sack(&transfer.case()).is_empty());
            is_advised
        };
        let outside = share_of(NEARLY_ALL.get(), 100);
        assert!(is_useless(outside, 100) && !is_useless(outside - 1, 100));
        assert!(is_useless(SEVERAL.get(), 3) && !is_useless(SEVERAL.get() - 1, 2));
    }

    #[test]
    fn repairs_that_come_damaged_again_ask_for_no_fast_retransmit() {
        let mut transfer = OrdinaryTransfer::new();
        let counts = &mut transfer.facts.counts;
        (counts.timeouts, counts.duplicate_acks) = (1, DUPLICATE_ACKS.get());
        let helps = |transfer: &OrdinaryTransfer| {
            !transfer.remedies(|it| fast_retransmit(it).into_iter().collect()).is_empty()
        };
        transfer.arrive_damaged(2);
        assert!(helps(&transfer));
        transfer.facts.loss.damaged.as_mut().unwrap().again = 1;
        assert!(!helps(&transfer));
    }

    #[test]
    fn frequent_loss_keeps_a_window_from_regaining() {
        let is_frequent = |lost, phase| {
            let mut transfer = OrdinaryTransfer::new();
            transfer.lose(lost);
            transfer.wait().phase = phase;
            transfer.ask(is_loss_frequent)
        };
        let frequent = share_of(FREQUENT_LOSS.get(), SEGMENTS);
        assert!(is_frequent(frequent, Phase::AfterLoss));
        assert!(!is_frequent(frequent - 1, Phase::AfterLoss));
        assert!(!is_frequent(frequent, Phase::Level));
    }
}
