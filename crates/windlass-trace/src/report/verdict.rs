//! The verdict: the cause that cost most time, and how sure that is.

use windlass_base::figures::Share;
use windlass_base::{Cause, Limit, Sentence, Span, sentence};

use super::causes::words;
use super::remedy::Advice;
use super::subject::Subject;
use super::{Caveat, CaveatId, Confidence, Verdict, confidence, evidence, law, remedy};
use crate::classify::Classified;

pub(super) fn verdict(subject: &Subject<'_>, mut caveats: Vec<Caveat>) -> Verdict {
    let causes = causes(subject.classified);
    let (cause, time) = causes.first().copied().unwrap_or((Cause::Unknown, Span::ZERO));
    let total = subject.total();
    let share = if causes.is_empty() { 1.0 } else { time.share_of(total) };
    let of_limit = |limit: Limit| subject.time_of_limit(limit);
    let limit_share = if causes.is_empty() { 1.0 } else { of_limit(cause.limit()).share_of(total) };
    let measured = subject.measured();
    let others = Limit::ALL.iter().filter(|limit| **limit != cause.limit());
    let next = others.copied().max_by_key(|limit| of_limit(*limit));
    let next = next.filter(|limit| of_limit(*limit) > Span::ZERO);
    let words = words(cause);
    let law = law::told(subject, (words.law)(subject));
    let predicted = law.as_ref().map(|applied| applied.rate);
    let step = subject.finished.clock_step;
    let error_bar = law.as_ref().map_or(1.0, |applied| law::error_bar(&applied.law, step));
    let by_law = Confidence::by_prediction_within(predicted, measured, error_bar);
    let other_pace = (words.other_pace)(subject);
    let is_paced = other_pace.is_some();
    caveats.extend(other_pace.map(|text| Caveat { id: CaveatId::OtherPace, text }));
    let confidence = confidence::confidence(subject, &causes, next, &caveats, words);
    let remedies = (words.remedies)(&Advice { subject, cause, next });
    let mut remedies = remedy::worth(subject, remedies);
    if is_paced || confidence::is_split(subject, cause) {
        for remedy in &mut remedies {
            remedy.promise_nothing();
            // Nor does a model of it.
            remedy.what_if = None;
        }
    }
    let mut evidence = evidence::evidence(subject, cause, words.shows);
    evidence.extend((words.packets)(subject));
    Verdict {
        between: Vec::new(),
        cause,
        share,
        limit_share,
        sentence: (words.sentence)(subject, &sentence!("{} of the time", percent(share))),
        evidence,
        predicted_bytes_per_second: predicted,
        law: law.map(|applied| applied.law),
        measured_bytes_per_second: measured,
        next,
        remedies,
        confidence: confidence.min(by_law),
        caveats,
    }
}

/// The causes with their times, the costliest first. Each counts by itself: a limit of
/// several reasons may take more time than the costliest cause.
fn causes(classified: &Classified) -> Vec<(Cause, Span)> {
    let times = classified.times.iter();
    let mut causes: Vec<(Cause, Span)> = times.map(|(cause, time)| (*cause, *time)).collect();
    causes.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
    causes
}

/// The costliest cause.
pub(super) fn cause(classified: &Classified) -> Cause {
    causes(classified).first().map_or(Cause::Unknown, |(cause, _)| *cause)
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
