//! The verdict: the cause that cost most time, and how sure that is.

use windlass_base::figures::Share;
use windlass_base::{Cause, Limit, Sentence, Span, sentence};

use windlass_base::verdict::{Caveat, CaveatId, Confidence, Verdict};

use super::between::between;
use super::case::Case;
use super::causes::hypothesis;
use super::confidence::{self, Claim};
use super::remedy::Advice;
use super::{evidence, host_stack, law, opening, power_save, remedy};

/// Comes to a verdict on a transfer, with these caveats and those that the cause brings.
pub(crate) fn verdict(case: &Case<'_>, mut caveats: Vec<Caveat>) -> Verdict {
    let causes = case.tally.causes();
    let (cause, time) = causes.first().copied().unwrap_or((Cause::Unknown, Span::ZERO));
    let total = case.total();
    let share = if causes.is_empty() { 1.0 } else { time.share_of(total) };
    let limit_share =
        if causes.is_empty() { 1.0 } else { case.time_of_limit(cause.limit()).share_of(total) };
    let next = next_limit(case, cause).filter(|(_, time)| *time > Span::ZERO);
    let next = next.map(|(limit, _)| limit);
    let hypothesis = hypothesis(cause);
    let rivals = hypothesis.explaining_rivals(case);
    let likeliest = rivals.first().map(|(_, text)| text.clone());
    caveats.extend(likeliest.map(|text| Caveat { id: CaveatId::OtherPace, text }));
    let claim = claim(case, &caveats);
    let confidence = claim.confidence();
    let between = between(&claim, confidence, &rivals);
    let law = claim.law;
    let advice = Advice { case, cause, next };
    let mut remedies = remedy::worth(case, (hypothesis.remedies)(&advice));
    if !between.is_empty() {
        remedies.iter_mut().for_each(|remedy| advice.doubt(remedy));
    }
    if !rivals.is_empty() || confidence::is_split(case, cause) {
        for remedy in &mut remedies {
            remedy.promise_nothing();
            // Nor does a model of it.
            remedy.what_if = None;
        }
    }
    let mut evidence = evidence::evidence(case, cause, hypothesis.shows);
    evidence.extend((hypothesis.packets)(case));
    let mut sentence = (hypothesis.sentence)(case, &sentence!("{} of the time", percent(share)));
    power_save::add(case, &mut sentence, &mut remedies, &mut evidence);
    if let Some(wait) = opening::wait(case) {
        sentence = wait.before(&sentence, total);
        wait.advise(&mut remedies);
        evidence.push(wait.evidence());
    }
    host_stack::name_hosts(case.facts, &mut remedies);
    Verdict {
        between,
        cause,
        share,
        limit_share,
        sentence,
        evidence,
        predicted_bytes_per_second: law.as_ref().map(|applied| applied.rate),
        law: law.map(|applied| applied.law),
        measured_bytes_per_second: case.measured(),
        next,
        remedies,
        confidence,
        caveats,
    }
}

/// Returns what the verdict claims, with what may make it doubtful.
pub(crate) fn claim<'a>(case: &'a Case<'a>, caveats: &'a [Caveat]) -> Claim<'a> {
    let causes = case.tally.causes();
    let cause = causes.first().map_or(Cause::Unknown, |(cause, _)| *cause);
    let shares: Vec<f64> = causes.iter().map(|(_, time)| time.share_of(case.total())).collect();
    let next = next_limit(case, cause).map_or(Span::ZERO, |(_, time)| time);
    let hypothesis = hypothesis(cause);
    let law = law::told(case, (hypothesis.law)(case));
    let step = case.facts.capture.clock_step;
    let error_bar = law.as_ref().map_or(1.0, |applied| law::error_bar(&applied.law, step));
    let predicted = law.as_ref().map(|applied| applied.rate);
    Claim {
        case,
        is_habit: hypothesis.is_habit,
        doubts: hypothesis.doubts,
        as_likely: hypothesis.as_likely,
        cause,
        share: shares.first().copied().unwrap_or(1.0),
        second: shares.get(1).copied(),
        other_limit: next.share_of(case.total()),
        caveats,
        by_law: Confidence::by_prediction_within(predicted, case.measured(), error_bar),
        law,
    }
}

/// Returns the costliest other limit than that of a cause, with its time.
fn next_limit(case: &Case<'_>, cause: Cause) -> Option<(Limit, Span)> {
    let others = Limit::ALL.iter().filter(|limit| **limit != cause.limit());
    others.map(|limit| (*limit, case.time_of_limit(*limit))).max_by_key(|(_, time)| *time)
}

/// A share of the time: what [`Share`] writes as `>99 %` and `<1 %` has words here.
fn percent(share: f64) -> Sentence {
    match share {
        1.0.. => "all".into(),
        share if share > 0.99 => "nearly all".into(),
        share if share < 0.01 => "under 1 %".into(),
        share => sentence!("{}", Share(share)),
    }
}
