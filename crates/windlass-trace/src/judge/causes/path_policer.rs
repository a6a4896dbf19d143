//! A path that drops what goes beyond a rate.

use crate::judge::case::Case;
use crate::judge::causes::{Hypothesis, path_queue, unknown};
use crate::judge::confidence::Doubt;
use crate::judge::evidence::shown;
use crate::judge::law::{AppliedLaw, by, bytes, rate, told};
use crate::judge::rule::TakeoverRule;
use windlass_base::tuning::Tuning;
use windlass_base::verdict::{Remedy, Side, Unit};
use windlass_base::{Bytes, Cause, Rate, sentence, whole_part};

pub(crate) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::PathPolicer,
    sentence: |&Case { facts, .. }, time| match &facts.line.policer {
        Some(policer) if facts.capture.is_far => sentence!(
            "A policer on the path drops data above {policer.rate}, after a burst of \
             {policer.burst}, without a queue: its token bucket is empty at each loss, and no data \
             before a loss came late. This takes {time}."
        ),
        Some(policer) => sentence!(
            "A policer on the path drops data above {policer.rate}, after a burst of \
             {policer.burst}, without a queue: its token bucket is empty at each loss, and no ACK \
             before a loss came late. This takes {time}."
        ),
        None => "".into(),
    },
    law: policed,
    remedies: |it| {
        let Some(policer) = &it.case.facts.line.policer else { return Vec::new() };
        let measured = it.case.measured();
        let paced =
            told(it.case, policed(it.case)).map_or(policer.rate, |law| law.rate).max(measured);
        // The policer's burst comes on top.
        let (bytes, burst) = (it.case.bytes().get() as f64, policer.burst.get() as f64);
        let twice =
            policer.rate.bytes_per_second() * 2.0 * bytes / (bytes - burst).max(bytes / 2.0);
        let twice = Rate::from_bytes_per_second(twice);
        let value = policer.rate.bytes_per_second();
        let to = |rate: Rate, remedy| Remedy {
            expected_bytes_per_second: Some(rate),
            at_most_bytes_per_second: None,
            at_most_by: None,
            ..remedy
        };
        let slower = it.remedy(
            Side::Sender,
            sentence!(
                "send no faster than {policer.rate}, paced, so that nothing is dropped; or shape \
                 with a queue before the policer"
            ),
            Some((value, Unit::BytesPerSecond)),
            1.0,
        );
        let raised = it.remedy(
            Side::Path,
            "raise the policer's rate, which is what the contract or the router's \
             configuration sets; with twice the rate",
            Some((value * 2.0, Unit::BytesPerSecond)),
            0.5,
        );
        let what_if = Some(format!("policer={}B/s", whole_part(value * 2.0)));
        // A sender's distance below that rate, with its losses there, is unknown.
        let raised = Remedy {
            what_if,
            expected_bytes_per_second: None,
            at_most_bytes_per_second: Some(twice),
            at_most_by: None,
            ..raised
        };
        vec![to(paced, slower).set_by(Tuning::Pacing), raised]
    },
    shows: path_queue::HYPOTHESIS.shows,
    packets: |case| {
        let policer = case.facts.line.policer.iter();
        let first =
            |drops| sentence!("the first segments that were lost, of {drops} runs of losses");
        policer.map(|policer| shown(&policer.numbers, first(policer.drops))).collect()
    },
    doubts: &[NOT_SURE],
    ..unknown::HYPOTHESIS
};

/// The losses of the token bucket are not surely its own.
const NOT_SURE: Doubt = Doubt {
    name: "the-bucket-is-not-sure",
    holds: |it, checks| {
        let is_sure = it.case.facts.line.policer.as_ref().is_some_and(|policer| policer.is_sure);
        checks.is("losses may be another's", !is_sure)
    },
};

/// The drops lie on the line of a token bucket, which drops what exceeds its rate.
pub(crate) const TOKEN_BUCKET: TakeoverRule = TakeoverRule {
    name: "token-bucket",
    from: |cause| {
        let repair = matches!(cause, Cause::FastRecovery | Cause::Timeout);
        repair || matches!(cause, Cause::AfterLoss | Cause::Steady | Cause::PathQueue)
    },
    to: Cause::PathPolicer,
    holds: |it, checks| {
        checks.is("the drops lie on the line of a token bucket", it.facts.line.policer.is_some())
    },
};

/// The burst passes at once, and the rest at the policer's rate.
fn policed(case: &Case<'_>) -> Option<AppliedLaw> {
    let policer = case.facts.line.policer.as_ref()?;
    let rest = case.bytes().get().checked_sub(policer.burst.get()).filter(|rest| *rest > 0)?;
    let bound = case.bytes().per(policer.rate.time_for(Bytes::new(rest)));
    let inputs = vec![
        bytes("B", case.bytes(), "the transfer"),
        rate("R", policer.rate, "what the policer lets pass"),
        bytes("b", policer.burst, "the burst that it let pass before"),
    ];
    Some(by(bound, "policer", "B · R / (B − b)", inputs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::loss_pattern::Policer;
    use crate::judge::fixture::OrdinaryTransfer;

    fn policed_transfer(is_sure: bool) -> OrdinaryTransfer {
        let mut transfer = OrdinaryTransfer::new();
        let (rate, burst) = (Rate::from_bytes_per_second(1e6), Bytes::new(100_000));
        transfer.facts.line.policer =
            Some(Policer { rate, burst, drops: 8, numbers: vec![100], is_sure });
        transfer
    }

    #[test]
    fn a_token_bucket_takes_what_losses_cost() {
        assert!(!OrdinaryTransfer::new().is_taken_by(&TOKEN_BUCKET));
        assert!(policed_transfer(false).is_taken_by(&TOKEN_BUCKET));
        assert!((TOKEN_BUCKET.from)(Cause::Timeout) && !(TOKEN_BUCKET.from)(Cause::SenderIdle));
    }

    #[test]
    fn a_bucket_that_is_not_sure_is_a_doubt() {
        assert!(policed_transfer(false).is_doubted_by(&NOT_SURE));
        assert!(!policed_transfer(true).is_doubted_by(&NOT_SURE));
    }

    #[test]
    fn a_transfer_exceeds_the_burst_for_the_law() {
        let mut transfer = policed_transfer(true);
        transfer.facts.sent.bytes = 100_000;
        assert!(policed(&transfer.case()).is_none());
        transfer.facts.sent.bytes += 1;
        assert!(policed(&transfer.case()).is_some());
    }
}
