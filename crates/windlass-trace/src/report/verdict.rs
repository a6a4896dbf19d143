//! The verdict: the cause that cost most time, and how sure that is.

use windlass_base::{Cause, Limit, Span};

use super::subject::Subject;
use super::{Caveat, Confidence, Verdict, evidence, law, remedy, sentence};

/// A share this close to the first makes the first uncertain.
const CLOSE: f64 = 0.1;

pub(super) fn verdict(subject: &Subject<'_>, caveats: Vec<Caveat>) -> Verdict {
    let causes = causes(subject);
    let (cause, time) = causes.first().copied().unwrap_or((Cause::Unknown, Span::ZERO));
    let total = subject.total();
    let share = if causes.is_empty() { 1.0 } else { time.share_of(total) };
    let of_limit = |limit: Limit| -> Span {
        let same = causes.iter().filter(|(cause, _)| cause.limit() == limit);
        same.map(|(_, time)| *time).sum()
    };
    let limit_share = if causes.is_empty() { 1.0 } else { of_limit(cause.limit()).share_of(total) };
    let measured = subject.bytes().per(total);
    let others = Limit::ALL.iter().filter(|limit| **limit != cause.limit());
    let next = others.copied().max_by_key(|limit| of_limit(*limit));
    let next = next.filter(|limit| of_limit(*limit) > Span::ZERO);
    let law = law::law(subject, cause);
    let predicted = law.as_ref().map(|applied| applied.rate);
    Verdict {
        limit: cause.limit(),
        because: cause.because(),
        share,
        limit_share,
        sentence: sentence::sentence(subject, cause, share),
        evidence: evidence::evidence(subject, cause),
        predicted_bytes_per_second: predicted,
        law: law.map(|applied| applied.law),
        measured_bytes_per_second: measured,
        next,
        remedies: remedy::remedies(subject, cause, next),
        confidence: confidence(subject, &causes, &caveats)
            .min(Confidence::by_prediction(predicted, measured)),
        caveats,
    }
}

/// The causes with their times, the costliest first. Each counts by itself: a limit of
/// several reasons may take more time than the costliest cause.
fn causes(subject: &Subject<'_>) -> Vec<(Cause, Span)> {
    let times = subject.classified.times.iter();
    let mut causes: Vec<(Cause, Span)> = times.map(|(cause, time)| (*cause, *time)).collect();
    causes.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
    causes
}

/// Whether less was in flight at each false timeout than at other times: then it
/// may be the congestion window, which each timeout cuts, and not the send buffer.
fn is_window_cut(subject: &Subject<'_>) -> bool {
    let counts = &subject.finished.counts;
    let timeouts = counts.blind_timeouts + counts.withheld;
    timeouts > 0 && counts.bytes / timeouts * 10 < counts.flight_most * 9
}

fn confidence(subject: &Subject<'_>, causes: &[(Cause, Span)], caveats: &[Caveat]) -> Confidence {
    let counts = &subject.finished.counts;
    let has = |id: &str| caveats.iter().any(|caveat| caveat.id == id);
    let total = subject.total();
    let cause = causes.first().map_or(Cause::Unknown, |(cause, _)| *cause);
    let shares: Vec<f64> = causes.iter().map(|(_, time)| time.share_of(total)).collect();
    if cause == Cause::Unknown || total == Span::ZERO {
        return Confidence::Low;
    }
    let depends_on_window = matches!(cause.limit(), Limit::ReceiverWindow | Limit::SendBuffer);
    if has("one-sided") && cause != Cause::Timeout
        || has("scale-unknown") && depends_on_window && subject.finished.scale.shift() > 0
    {
        return Confidence::Low;
    }
    let close = shares.len() > 1 && shares[0] - shares[1] < CLOSE;
    let depends_on_hosts =
        !matches!(cause.limit(), Limit::ZeroWindow | Limit::Loss | Limit::NagleDelayedAck);
    let depends_on_path = depends_on_window || cause == Cause::PathQueue;
    let weak = has("one-sided")
        || has("packets-missing")
        || has("capture-drops")
        || has("fragments")
        || has("short")
        || has("clock")
        || has("no-handshake") && depends_on_path
        // Taken at the receiver, which nothing tells then, each wait for an ACK looks
        // like a pause.
        || has("no-handshake") && cause == Cause::SenderIdle
        || has("local") && depends_on_hosts
        // A send buffer that its program refills at once and a congestion window
        // that something holds fixed look alike, and more so far from the sender.
        || cause == Cause::Steady
        || cause == Cause::BufferDelayedAck && is_window_cut(subject)
        || has("taken-at-receiver") && cause == Cause::BufferPathRtt
        // What was lost before the capture looks like a pause.
        || has("taken-at-receiver")
            && cause == Cause::SenderIdle
            && (counts.loss_events > 0 || counts.skips > 0);
    if close || weak || shares.first().is_some_and(|share| *share < 0.4) {
        Confidence::Medium
    } else {
        Confidence::High
    }
}
