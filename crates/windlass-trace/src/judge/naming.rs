//! Naming of waits by the rules, for the use of a transfer's time.

use std::collections::BTreeMap;

use windlass_base::{Cause, Span, Timestamp};

use super::causes::unknown;
use super::checks::Checks;
use super::facts::Facts;
use super::habits::{Habits, PlateauSign, line_time, passed};
use super::rule::WaitContext;
use super::rules::{self, TAKES_LOSSES, TAKES_PACE, TAKES_WAITS};
use super::tally::{Charge, Tally};
use crate::follow::ledger::{AbsorbedTime, Interval, WaitKind};

/// The rule by which a line takes its part of a wait.
const LINE_WAS_BUSY: &str = "the-line-was-busy";

/// Charges each wait of a transfer to a cause.
pub(crate) fn tally(facts: &Facts, habits: &Habits) -> Tally {
    let mut tally = TallyBuilder::default();
    for index in 0..facts.waits.len() {
        tally.charge(&name_wait(facts, habits, index, &mut Checks::silent()));
    }
    // Time whose wait was merged away goes where its kind went.
    for absorbed in &facts.absorbed {
        tally.absorb(facts, habits, absorbed);
    }
    let TallyBuilder { charges, mut times, delivered, between_bursts, .. } = tally;
    times.retain(|_, span| *span > Span::ZERO);
    let total = times.values().copied().sum();
    let by_pushes = habits.plateaus.contains(&Some(PlateauSign::Pushes));
    Tally {
        charges,
        times,
        total,
        plateau: habits.plateau(facts),
        by_pushes,
        between_bursts,
        delivered,
    }
}

/// Named wait: the rules that named it, and its time by cause.
#[derive(Debug)]
pub(crate) struct NamedWait {
    pub(crate) kind: WaitKind,
    /// The rule that named it.
    pub(crate) rule: &'static str,
    /// Its time by cause, in order: a line's part comes first, as its position in the wait is not
    /// kept.
    pub(crate) parts: Vec<NamedPart>,
    /// Bytes that the path delivered meanwhile, where it was full.
    delivered: u64,
    charged: Span,
    /// True if the wait was for an ACK between bursts whose pace a program sets.
    between_bursts: bool,
}

/// A part of a wait, with the rules that took its time from the cause that was named.
#[derive(Debug)]
pub(crate) struct NamedPart {
    pub(crate) cause: Cause,
    pub(crate) interval: Interval,
    pub(crate) takings: Vec<&'static str>,
}

/// Names a wait by the rules.
pub(crate) fn name_wait(
    facts: &Facts,
    habits: &Habits,
    index: usize,
    checks: &mut Checks,
) -> NamedWait {
    let wait = &facts.waits[index];
    let context_of = |index: usize| {
        let wait = &facts.waits[index];
        WaitContext { facts, habits, wait, index: Some(index) }
    };
    let context = context_of(index);
    // A pace follows the rate at which data is delivered, so what sets that rate at the nearest
    // wait for the receiver or the path holds a paced sender, too.
    let is_paced = wait.kind == WaitKind::Paced;
    let nearest = if is_paced { nearest_wait(&facts.waits, index) } else { None };
    let rule = rules::name(&nearest.map_or(context, context_of), checks);
    let mut takings = Vec::new();
    let mut cause = rule.cause;
    if let Some(taking) = rules::take(TAKES_WAITS, cause, &context, checks) {
        takings.push(taking.name);
        cause = taking.to;
    }
    let pace = rules::take(TAKES_PACE, cause, &context, checks);
    if let Some(taking) = pace {
        takings.push(taking.name);
        cause = taking.to;
    }
    let on_line = match cause {
        Cause::PathQueue => wait.charged,
        Cause::Unknown | Cause::ReceiverLimited => Span::ZERO,
        _ => {
            let time = line_time(facts, habits.line, wait, checks);
            checks.rule(LINE_WAS_BUSY, Cause::PathQueue, time > Span::ZERO);
            time
        }
    };
    let mut delivered = 0;
    if on_line > Span::ZERO {
        // A line that spaced the data did so before the capture.
        let spaced = cause != Cause::PathQueue;
        delivered = if spaced { wait.activity.sent } else { passed(facts, &wait.activity) };
    }
    let by_line = on_line > Span::ZERO && cause != Cause::PathQueue;
    if rules::take(&[unknown::MAY_BE_PATH], cause, &context, checks).is_some() {
        takings.push(unknown::MAY_BE_PATH.name);
        cause = Cause::Unknown;
    }
    let parts = parts(wait, on_line, cause).into_iter().map(|(cause, interval)| {
        let mut takings = takings.clone();
        if by_line && cause == Cause::PathQueue {
            takings.push(LINE_WAS_BUSY);
        }
        let taken = rules::take(TAKES_LOSSES, cause, &context, checks);
        takings.extend(taken.map(|taking| taking.name));
        NamedPart { cause: taken.map_or(cause, |taking| taking.to), interval, takings }
    });
    let parts = parts.collect();
    NamedWait {
        kind: wait.kind,
        rule: rule.name,
        parts,
        delivered,
        between_bursts: pace.is_some(),
        charged: wait.charged,
    }
}

/// A tally under way.
#[derive(Default)]
struct TallyBuilder {
    charges: Vec<Charge>,
    times: BTreeMap<Cause, Span>,
    by_kind: Vec<(WaitKind, Cause, Span)>,
    delivered: u64,
    between_bursts: Span,
}

impl TallyBuilder {
    fn charge(&mut self, named: &NamedWait) {
        self.delivered += named.delivered;
        if named.between_bursts {
            self.between_bursts += named.charged;
        }
        for &NamedPart { cause, interval: part, .. } in &named.parts {
            let time = part.charged;
            *self.times.entry(cause).or_default() += time;
            let key = (named.kind, cause);
            match self.by_kind.iter_mut().find(|(kind, known, _)| (*kind, *known) == key) {
                Some((_, _, sum)) => *sum += time,
                None => self.by_kind.push((named.kind, cause, time)),
            }
            match self.charges.last_mut() {
                Some(last) if last.cause == cause => last.extend(&part),
                _ => self.charges.push(Charge { cause, interval: part }),
            }
        }
    }

    fn absorb(&mut self, facts: &Facts, habits: &Habits, absorbed: &AbsorbedTime) {
        let same = self.by_kind.iter().filter(|(known, _, _)| *known == absorbed.kind);
        let most = same.max_by_key(|(_, _, sum)| *sum);
        let cause = most.map_or_else(|| plain(facts, habits, absorbed), |(_, cause, _)| *cause);
        *self.times.entry(cause).or_default() += absorbed.charged;
        if cause == Cause::PathQueue {
            self.delivered += passed(facts, &absorbed.activity);
        }
    }
}

/// Returns the cause of time whose kind no kept wait has.
fn plain(facts: &Facts, habits: &Habits, absorbed: &AbsorbedTime) -> Cause {
    let AbsorbedTime { kind, charged, activity } = *absorbed;
    let start = Timestamp::from_nanos(0);
    let (phase, end) = (Default::default(), start);
    let wait = Interval { kind, phase, start, end, charged, first: 0, last: 0, activity };
    let context = WaitContext { facts, habits, wait: &wait, index: None };
    let checks = &mut Checks::silent();
    if rules::is_untold(&context, checks) {
        return Cause::Unknown;
    }
    let cause = rules::plain(kind).cause;
    let taken = rules::take(TAKES_LOSSES, cause, &context, checks);
    taken.map_or(cause, |taking| taking.to)
}

/// Returns the nearest wait in which the sender waited for the receiver or the path.
fn nearest_wait(waits: &[Interval], index: usize) -> Option<usize> {
    let waited = |kind| {
        matches!(
            kind,
            WaitKind::Window | WaitKind::Open | WaitKind::Partly(_) | WaitKind::OpensLate
        )
    };
    let places = (0..waits.len()).filter(|&other| waited(waits[other].kind));
    places.min_by_key(|other| other.abs_diff(index))
}

/// Returns the causes of a wait, of which the line took so much.
fn parts(wait: &Interval, on_line: Span, cause: Cause) -> Vec<(Cause, Interval)> {
    if on_line <= Span::ZERO {
        return vec![(cause, *wait)];
    }
    if on_line >= wait.charged {
        return vec![(Cause::PathQueue, *wait)];
    }
    let whole = wait.end.since(wait.start);
    let parted = wait.start + whole.scaled(on_line.share_of(wait.charged));
    let first = Interval { charged: on_line, end: parted, ..*wait };
    let rest = Interval { charged: wait.charged - on_line, start: parted, ..*wait };
    vec![(Cause::PathQueue, first), (cause, rest)]
}
