//! A congestion window that is cut as others overtake segments, which looks like loss.

use crate::follow::ledger::WaitKind;
use crate::judge::case::{Case, repairs};
use crate::judge::causes::{Hypothesis, unknown};
use crate::judge::confidence::FEW_LOSSES;
use crate::judge::evidence::in_vain;
use crate::judge::law::{by, bytes, seconds, share};
use crate::judge::remedy::NO_LOSS;
use crate::judge::repair::uncut;
use crate::judge::rule::{Rule, TakeoverRule};
use windlass_base::tuning::Tuning;
use windlass_base::verdict::{Remedy, Side};
use windlass_base::{Bytes, Cause, laws, sentence};

pub(crate) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::Reordering,
    sentence: |&Case { sender, facts, .. }, time| {
        sentence!(
            "The path reorders segments, and {sender} takes late segments for lost: {} in vain. \
             These repairs, and the lower rate after each, take {time}.",
            repairs(facts.loss.in_vain.vain_repairs),
        )
    },
    // Repairs of what was not lost: each cuts the congestion window, and no timer runs out.
    law: |case| {
        let facts = case.facts;
        let (mss, rtt) = (case.segment(), facts.path.told_rtt?);
        let ratio = facts.counts.event_ratio();
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
        let sender = "let it wait for late segments before it repairs: RACK (RFC 8985; Linux and \
                      Windows have it), or a reordering threshold above 3";
        let mut waiting = uncut(it, it.remedy(Side::Sender, sender, None, factor));
        // A sender waits for late segments as long as its own rules say, which no packet shows.
        it.bound(&mut waiting);
        vec![
            in_order(uncut(it, it.remedy(Side::Path, path, NO_LOSS, factor))),
            waiting.set_by(Tuning::ReorderingTolerance),
        ]
    },
    shows: |kind| matches!(kind, WaitKind::Recovery | WaitKind::Open),
    packets: in_vain,
    doubts: &[FEW_LOSSES],
    ..unknown::HYPOTHESIS
};

/// Most repairs were in vain, and the flight is at least half of what Mathis's law leaves it.
pub(crate) const CUT_BY_OVERTAKING: Rule = Rule {
    name: "cut-by-overtaking",
    cause: Cause::Reordering,
    of: |kind| kind == WaitKind::Open,
    holds: Some(|it, checks| {
        let size = Bytes::new(it.facts.window.segment);
        let flight = laws::mathis_flight(size, it.facts.counts.event_ratio());
        let twice = it.wait.activity.flight_high as f64 * 2.0;
        checks.is("most repairs were in vain", it.facts.reorders())
            && flight.is_some_and(|flight| checks.at_least("twice the flight", twice, flight))
    }),
};

/// Most repairs were in vain: the segments were only reordered.
pub(crate) const OVERTAKEN: TakeoverRule = TakeoverRule {
    name: "overtaken-and-not-lost",
    from: |cause| matches!(cause, Cause::FastRecovery | Cause::AfterLoss),
    to: Cause::Reordering,
    holds: |it, checks| checks.is("most repairs were in vain", it.facts.reorders()),
};

/// As though all came in its order.
fn in_order(remedy: Remedy) -> Remedy {
    Remedy { what_if: Some("reordering=0".to_owned()), ..remedy }
}

#[cfg(test)]
mod tests {
    use windlass_base::thresholds::{MOST_OF_IT, SEVERAL};
    use windlass_base::whole_part;

    use super::*;
    use crate::judge::fixture::{OrdinaryTransfer, SEGMENT, share_of};

    /// Returns a transfer with so many repairs, of which so many were in vain.
    fn repaired(repairs: u64, in_vain: u64) -> OrdinaryTransfer {
        let mut transfer = OrdinaryTransfer::new();
        transfer.lose(repairs);
        transfer.facts.loss.in_vain.vain_repairs = in_vain;
        transfer
    }

    #[test]
    fn most_repairs_in_vain_are_of_what_was_overtaken() {
        let vain = share_of(MOST_OF_IT.get(), 10);
        assert!(repaired(10, vain).is_taken_by(&OVERTAKEN));
        assert!(!repaired(10, vain - 1).is_taken_by(&OVERTAKEN));
    }

    #[test]
    fn a_few_repairs_in_vain_are_no_habit() {
        let few = SEVERAL.get() - 1;
        assert!(!repaired(few, few).is_taken_by(&OVERTAKEN));
        assert!(repaired(few + 1, few + 1).is_taken_by(&OVERTAKEN));
    }

    #[test]
    fn repairs_in_vain_leave_half_of_the_flight_of_mathis() {
        let mut transfer = repaired(10, 10);
        let ratio = transfer.facts.counts.event_ratio();
        let flight = laws::mathis_flight(Bytes::new(SEGMENT), ratio).unwrap();
        transfer.activity().flight_high = whole_part((flight / 2.0).ceil());
        assert!(transfer.is_named_by(&CUT_BY_OVERTAKING));
        transfer.activity().flight_high -= 1;
        assert!(!transfer.is_named_by(&CUT_BY_OVERTAKING));
        transfer.activity().flight_high += 1;
        transfer.facts.loss.in_vain.vain_repairs = 1;
        assert!(!transfer.is_named_by(&CUT_BY_OVERTAKING));
    }

    #[test]
    fn few_repairs_are_a_doubt() {
        assert!(repaired(SEVERAL.get() - 1, 0).is_doubted_by(&FEW_LOSSES));
        assert!(!repaired(SEVERAL.get(), 0).is_doubted_by(&FEW_LOSSES));
    }
}
