//! Reasons of a verdict: each rule that was asked, with its figures.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;
use windlass_base::verdict::{Caveat, Confidence};
use windlass_base::{Cause, Sentence, Span, Timestamp, thresholds};

use super::case::Case;
use super::causes::hypothesis;
use super::checks::{AskedRule, Checks};
use super::facts::{Fact, Facts};
use super::habits::Habits;
use super::naming::{NamedPart, NamedWait, name_wait};
use super::tally::Tally;
use super::verdict::claim;

/// Reasons of a verdict.
#[derive(Clone, Debug, Serialize)]
pub struct Reasons {
    /// The cause that the verdict names.
    #[serde(flatten)]
    pub cause: Cause,
    /// The confidence of the verdict.
    pub confidence: Confidence,
    /// The causes that the rules named, the costliest first.
    pub causes: Vec<CauseTime>,
    /// The number of waits of the transfer.
    pub waits_in_all: u64,
    /// The costliest waits, or the one that was asked for.
    pub waits: Vec<WaitReasons>,
    /// Doubts that apply.
    pub doubts: Vec<AppliedDoubt>,
    /// The doubts that were asked about, with their conditions.
    pub doubts_asked: Vec<AskedRule>,
    /// The alternative explanations that were considered.
    pub rivals: Vec<RivalConsidered>,
    /// The facts.
    pub facts: Vec<Fact>,
    /// The thresholds that the conditions name.
    pub thresholds: Vec<ThresholdLine>,
}

/// A cause, and the rules that named waits for it.
#[derive(Clone, Debug, Serialize)]
pub struct CauseTime {
    /// The cause.
    #[serde(flatten)]
    pub cause: Cause,
    /// Its time.
    pub seconds: Span,
    /// Its share of the transfer's time.
    pub share: f64,
    /// The rules that its time went through, as `phase-is-slow-start`, with their time.
    pub rules: Vec<RuleTime>,
}

/// The time that went through a chain of rules.
#[derive(Clone, Debug, Serialize)]
pub struct RuleTime {
    /// The rule that named the waits, and those that took the time to this cause.
    pub rules: Vec<&'static str>,
    /// The time.
    pub seconds: Span,
    /// The number of waits.
    pub waits: u64,
}

/// A wait, and the rules that were asked about it.
#[derive(Clone, Debug, Serialize)]
pub struct WaitReasons {
    /// Its number, from 1 in order of time.
    pub number: u64,
    /// The kind of wait, as the sender's own packets show it.
    pub kind: &'static str,
    /// Its start, from the start of the transfer.
    pub start: Span,
    /// Its end.
    pub end: Span,
    /// The time charged to it.
    pub charged: Span,
    /// The packets at which it begins and ends.
    pub first_packet: u64,
    /// The packet at which it ends.
    pub last_packet: u64,
    /// The rule that named it.
    pub rule: &'static str,
    /// The rules that took its time to another cause.
    pub takings: Vec<&'static str>,
    /// Its time by cause.
    pub parts: Vec<WaitPart>,
    /// The rules that were asked, in order.
    pub asked: Vec<AskedRule>,
}

/// A part of a wait.
#[derive(Clone, Debug, Serialize)]
pub struct WaitPart {
    /// The cause that the time went to.
    #[serde(flatten)]
    pub cause: Cause,
    /// The time.
    pub seconds: Span,
}

/// A doubt that applies.
#[derive(Clone, Debug, Serialize)]
pub struct AppliedDoubt {
    /// Its name.
    pub doubt: &'static str,
    /// The confidence that it leaves.
    pub leaves: Confidence,
}

/// An alternative explanation that was considered.
#[derive(Clone, Debug, Serialize)]
pub struct RivalConsidered {
    /// Its name.
    pub rival: &'static str,
    /// Its sentence, where it may hold.
    pub says: Option<Sentence>,
}

/// A line of the table of thresholds.
#[derive(Clone, Debug, Serialize)]
pub struct ThresholdLine {
    /// Its name.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
    /// Its unit; null for a number, a factor or a share.
    pub unit: Option<&'static str>,
    /// Its meaning, and the source of the value.
    pub meaning: &'static str,
}

/// Selection of waits to explain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitSelection {
    /// This many of the costliest.
    Costliest(usize),
    /// The one of this number.
    Number(u64),
}

impl Reasons {
    /// Judges a transfer again, and keeps an account of it.
    pub(crate) fn of(
        habits: &Habits,
        case: &Case<'_>,
        confidence: Confidence,
        caveats: &[Caveat],
        refuted: &[Cause],
        which: WaitSelection,
    ) -> Self {
        let facts = case.facts;
        let silent = &mut Checks::silent();
        let named = (0..facts.waits.len()).map(|index| name_wait(facts, habits, index, silent));
        let named: Vec<NamedWait> = named.map(|named| take_back(named, refuted)).collect();
        let start = facts.waits.first().map_or(Timestamp::default(), |first| first.start);
        let indices = indices(facts, which);
        let waits: Vec<WaitReasons> =
            indices.into_iter().map(|index| wait(facts, habits, index, start, refuted)).collect();
        let mut checks = Checks::recording();
        let claim = claim(case, caveats);
        let doubts = claim.ask_all(&mut checks);
        let doubts = doubts.into_iter().map(|(leaves, doubt)| AppliedDoubt { doubt, leaves });
        let rivals = hypothesis(claim.cause)
            .all_rivals()
            .map(|rival| RivalConsidered { rival: rival.name, says: (rival.explains)(case) });
        let mut why = Self {
            cause: claim.cause,
            confidence,
            causes: causes(case.tally, &named),
            waits_in_all: facts.waits.len() as u64,
            waits,
            doubts: doubts.collect(),
            doubts_asked: checks.into_rules(),
            rivals: rivals.collect(),
            facts: facts.list(),
            thresholds: Vec::new(),
        };
        why.thresholds = why.thresholds();
        why
    }

    /// Returns the thresholds that its conditions name.
    fn thresholds(&self) -> Vec<ThresholdLine> {
        let asked = self.waits.iter().flat_map(|wait| &wait.asked).chain(&self.doubts_asked);
        let named = asked.flat_map(|rule| &rule.checks).filter_map(|check| check.threshold);
        let mut names: Vec<&str> = named.collect();
        names.sort_unstable();
        names.dedup();
        let lines = thresholds::all().into_iter().filter(|line| names.contains(&line.name));
        let lines = lines.map(|line| ThresholdLine {
            name: line.name,
            value: line.value,
            unit: (line.unit == thresholds::ThresholdUnit::Seconds).then_some("s"),
            meaning: line.meaning,
        });
        lines.collect()
    }
}

/// Returns the indices of the reported waits, the costliest first.
fn indices(facts: &Facts, which: WaitSelection) -> Vec<usize> {
    match which {
        WaitSelection::Number(number) => {
            let index = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
            index.filter(|index| *index < facts.waits.len()).into_iter().collect()
        }
        WaitSelection::Costliest(most) => {
            let mut indices: Vec<usize> = (0..facts.waits.len()).collect();
            indices.sort_by_key(|index| Reverse(facts.waits[*index].charged));
            indices.truncate(most);
            indices
        }
    }
}

/// The rule by which the report's own figures take a cause back.
const REFUTED: &str = "refuted-by-the-report";

/// The time that was merged into other waits, of which no rule is known.
const MERGED: &str = "merged-into-other-waits";

/// Takes back the parts of causes that the report refuted.
fn take_back(mut named: NamedWait, refuted: &[Cause]) -> NamedWait {
    for part in named.parts.iter_mut().filter(|part| refuted.contains(&part.cause)) {
        part.cause = Cause::Unknown;
        part.takings.push(REFUTED);
    }
    named
}

fn wait(
    facts: &Facts,
    habits: &Habits,
    index: usize,
    start: Timestamp,
    refuted: &[Cause],
) -> WaitReasons {
    let mut checks = Checks::recording();
    let named = take_back(name_wait(facts, habits, index, &mut checks), refuted);
    let wait = &facts.waits[index];
    let mut takings: Vec<&str> = Vec::new();
    for taking in named.parts.iter().flat_map(|part| &part.takings) {
        if !takings.contains(taking) {
            takings.push(taking);
        }
    }
    let parts = named.parts.iter();
    let parts = parts.map(|part| WaitPart { cause: part.cause, seconds: part.interval.charged });
    WaitReasons {
        number: index as u64 + 1,
        kind: named.kind.id(),
        start: wait.start.since(start),
        end: wait.end.since(start),
        charged: wait.charged,
        // Far from the sender an ACK takes effect behind packets with higher numbers.
        first_packet: wait.first.min(wait.last),
        last_packet: wait.first.max(wait.last),
        rule: named.rule,
        takings,
        parts: parts.collect(),
        asked: checks.into_rules(),
    }
}

/// Returns the causes with the rules that their time went through, the costliest first.
fn causes(tally: &Tally, named: &[NamedWait]) -> Vec<CauseTime> {
    let mut chains: BTreeMap<(Cause, Vec<&'static str>), (Span, u64)> = BTreeMap::new();
    for wait in named {
        for NamedPart { cause, interval, takings } in &wait.parts {
            let chain: Vec<&str> = [wait.rule].into_iter().chain(takings.iter().copied()).collect();
            let (time, count) = chains.entry((*cause, chain)).or_default();
            *time += interval.charged;
            *count += 1;
        }
    }
    let mut causes: Vec<CauseTime> = tally
        .times
        .iter()
        .map(|(cause, time)| {
            let rules = chains.iter().filter(|((of, _), _)| of == cause);
            let mut rules: Vec<RuleTime> = rules
                .map(|((_, rules), (seconds, waits))| RuleTime {
                    rules: rules.clone(),
                    seconds: *seconds,
                    waits: *waits,
                })
                .collect();
            let known: Span = rules.iter().map(|rule| rule.seconds).sum();
            if *time > known {
                rules.push(RuleTime { rules: vec![MERGED], seconds: *time - known, waits: 0 });
            }
            rules.sort_by_key(|rule| Reverse(rule.seconds));
            let share = time.share_of(tally.total);
            CauseTime { cause: *cause, seconds: *time, share, rules }
        })
        .collect();
    causes.sort_by_key(|cause| Reverse(cause.seconds));
    if causes.is_empty() {
        let (cause, seconds) = (Cause::Unknown, Span::ZERO);
        causes.push(CauseTime { cause, seconds, share: 1.0, rules: Vec::new() });
    }
    causes
}
