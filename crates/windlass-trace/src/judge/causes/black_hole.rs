//! Segments too large for a link on the path, or for what should split them.

use crate::estimate::black_hole::{BlackHole, BlackHoleSign};
use crate::judge::case::Case;
use crate::judge::causes::{Hypothesis, unknown};
use crate::judge::confidence::Doubt;
use crate::judge::evidence::shown;
use crate::judge::law::stop_and_go;
use crate::judge::remedy::{Advice, advice};
use crate::judge::repair::in_repair;
use crate::judge::rule::TakeoverRule;
use windlass_base::thresholds::LEAST_MTU_PAYLOAD;
use windlass_base::tuning::Tuning;
use windlass_base::verdict::{Remedy, Side, Unit};
use windlass_base::{Bytes, Cause, Sentence, sentence};

pub(crate) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::BlackHole,
    sentence: |case @ &Case { receiver, facts, .. }, time| {
        let Some(hole) = &facts.loss.black_hole else { return Sentence::new() };
        let (passes, fails) = (Bytes::new(hole.passes), Bytes::new(hole.fails));
        let sender = case.sender;
        match hole.sign {
            BlackHoleSign::Told { mtu } => sentence!(
                "A router reports by ICMP that the next link takes packets of {} at most. {sender} \
                 keeps sending segments with {fails}, which never reach {receiver}. Silence takes \
                 {time}.",
                Bytes::new(mtu),
            ),
            BlackHoleSign::Offload => sentence!(
                "{sender} leaves packets of several segments to its network card to split, and none \
                 of them reaches {receiver}: all {} packets of {fails} or more were lost, while \
                 single segments of {passes} arrive. Repairing them takes {time}.",
                hole.sends,
            ),
            BlackHoleSign::Escaped | BlackHoleSign::Smaller => sentence!(
                "Segments with {fails} never reach {receiver}, while those with {passes} do: a link \
                 on the path is too small for them. {} Silence takes {time}.",
                if hole.sign == BlackHoleSign::Escaped {
                    "The sender got through by smaller segments."
                } else {
                    "The sender never sent smaller ones in their place."
                },
            ),
        }
    },
    // The law adds the time of the data that passed, and the silences until the sender lowered its
    // size. If it never did, nothing more passes.
    law: |case| {
        case.facts.loss.black_hole.as_ref().filter(|hole| hole.sign == BlackHoleSign::Escaped)?;
        let (open, silence) = (case.facts.line.capacity?, case.time_of(Cause::BlackHole));
        let meanings = [
            "the transfer",
            "the rate with segments that pass",
            "until the sender lowered its size",
        ];
        Some(stop_and_go(case, 1, open, silence, meanings))
    },
    remedies: smaller_segments,
    shows: in_repair,
    packets: |case| {
        let hole = case.facts.loss.black_hole.iter();
        let sent = |hole: &BlackHole| match hole.sign {
            BlackHoleSign::Offload => {
                sentence!("packets of several segments, {} lost in all", hole.sends)
            }
            _ => sentence!("sent {} times with {} each", hole.sends, Bytes::new(hole.fails)),
        };
        hole.map(|hole| shown(&hole.numbers, sent(hole))).collect()
    },
    doubts: &[MAY_BE_OUTAGE],
    ..unknown::HYPOTHESIS
};

/// Large segments never arrive, and smaller ones do.
pub(crate) const NEVER_ARRIVES: TakeoverRule = TakeoverRule {
    name: "large-segments-never-arrive",
    from: |cause| cause == Cause::Timeout,
    to: Cause::BlackHole,
    holds: |it, checks| {
        checks
            .is("large segments never arrive, smaller ones do", it.facts.loss.black_hole.is_some())
            && checks.is("what was lost did not arrive damaged", it.facts.damage().is_none())
    },
};

/// No packet that a card should split arrives: every loss is of that kind.
pub(crate) const NEVER_SPLIT: TakeoverRule = TakeoverRule {
    name: "packets-that-a-card-should-split-never-arrive",
    from: |cause| matches!(cause, Cause::FastRecovery | Cause::AfterLoss),
    to: Cause::BlackHole,
    holds: |it, checks| {
        let hole = &it.facts.loss.black_hole;
        let is_offload = hole.as_ref().is_some_and(|hole| hole.sign == BlackHoleSign::Offload);
        checks.is("packets of several segments never arrive", is_offload)
            && checks.is("what was lost did not arrive damaged", it.facts.damage().is_none())
    },
};

/// No router told, and an outage may have ended while the sender lowered its segment size.
const MAY_BE_OUTAGE: Doubt = Doubt {
    name: "may-be-an-outage",
    holds: |it, checks| {
        let hole = &it.case.facts.loss.black_hole;
        let is_told =
            hole.as_ref().is_some_and(|hole| matches!(hole.sign, BlackHoleSign::Told { .. }));
        checks.is("an outage may end while the sender lowers its size", !is_told)
    },
};

fn smaller_segments(it: &Advice<'_>) -> Vec<Remedy> {
    let Some(hole) = &it.case.facts.loss.black_hole else { return Vec::new() };
    if hole.sign == BlackHoleSign::Offload {
        let action = "let its system split segments itself (turn segmentation offload off), or mend the \
                      driver, card or virtual switch that should split them";
        return vec![advice(Side::Sender, action).set_by(Tuning::NoSegmentationOffload)];
    }
    let fails = Bytes::new(hole.fails);
    let size = if hole.fails > LEAST_MTU_PAYLOAD.get() {
        hole.passes.max(LEAST_MTU_PAYLOAD.get())
    } else {
        hole.passes
    };
    let known = if size == hole.passes {
        "which is known to pass".into()
    } else {
        sentence!(
            "which nearly every path takes; here {} is known to pass",
            Bytes::new(hole.passes)
        )
    };
    let with_size = |side, action: Sentence| {
        let mut remedy = it.remedy(side, action, Some((size as f64, Unit::Bytes)), 0.0);
        // The data in small segments between silences is only a part of what the path carries.
        it.bound(&mut remedy);
        // A path that let nothing through does not tell its rate.
        if hole.sign != BlackHoleSign::Escaped {
            (remedy.expected_bytes_per_second, remedy.at_most_bytes_per_second) = (None, None);
            remedy.at_most_by = None;
        }
        remedy
    };
    let heed = sentence!(
        "let it heed ICMP \"fragmentation needed\" (IPv4 type 3 code 4, IPv6 type 2): find the filter \
         on the host that drops it, or lower the host's MTU to that of the link"
    );
    if let BlackHoleSign::Told { .. } = hole.sign {
        return vec![with_size(Side::Sender, heed).set_by(Tuning::SmallerSegments)];
    }
    vec![
        with_size(
            Side::Path,
            sentence!(
                "allow ICMP \"fragmentation needed\" (IPv4 type 3 code 4, IPv6 type 2), or \
                 clamp the MSS before the small link to {}, {known}: {fails} never arrived",
                Bytes::new(size)
            ),
        ),
        with_size(
            Side::Sender,
            sentence!(
                "let it probe for a size that passes, or lower its MTU, so that a segment carries {} at most",
                Bytes::new(size)
            ),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::fixture::OrdinaryTransfer;

    fn hole(sign: BlackHoleSign, fails: u64) -> OrdinaryTransfer {
        let mut transfer = OrdinaryTransfer::new();
        let numbers = vec![10, 11, 12];
        transfer.facts.loss.black_hole =
            Some(BlackHole { passes: 500, fails, sends: 3, numbers, sign });
        transfer
    }

    #[test]
    fn a_black_hole_takes_timeouts() {
        assert!(!OrdinaryTransfer::new().is_taken_by(&NEVER_ARRIVES));
        assert!(hole(BlackHoleSign::Escaped, 1_460).is_taken_by(&NEVER_ARRIVES));
    }

    #[test]
    fn packets_that_a_card_should_split_take_repairs() {
        assert!(!hole(BlackHoleSign::Escaped, 1_460).is_taken_by(&NEVER_SPLIT));
        assert!(hole(BlackHoleSign::Offload, 2_920).is_taken_by(&NEVER_SPLIT));
    }

    #[test]
    fn a_routers_word_leaves_no_doubt() {
        assert!(hole(BlackHoleSign::Escaped, 1_460).is_doubted_by(&MAY_BE_OUTAGE));
        assert!(!hole(BlackHoleSign::Told { mtu: 1_400 }, 1_460).is_doubted_by(&MAY_BE_OUTAGE));
    }

    #[test]
    fn the_least_mtu_passes_where_only_more_is_known_to_fail() {
        let size =
            |fails| hole(BlackHoleSign::Escaped, fails).remedies(HYPOTHESIS.remedies)[0].value;
        let least = LEAST_MTU_PAYLOAD.get();
        assert_eq!(size(least), Some(500.0));
        assert_eq!(size(least + 1), Some(least as f64));
    }
}
