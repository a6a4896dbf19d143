//! Comparison of groups of runs with the first group: differing parameters, figures, and whether
//! chance alone explains a difference.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use windlass_base::{Named, Timestamp};

use crate::figure::{FigureName, Preference, Unit};
use crate::statistics::{self, Difference, Sample};
use crate::{Host, Run, RunId, Summary};

/// Minimum number of runs in a group for a claim. With four and four, even the most uneven order
/// comes by chance three times in a hundred; benchstat, too, refuses there.
pub const LEAST_REPEATS: usize = 5;

/// Significance level: maximum probability that chance alone makes as large a difference. It is low
/// because tables have several figures, and each may err.
pub const SIGNIFICANT: f64 = 0.01;

/// Part of a run that is compared.
#[derive(Clone, Debug)]
pub struct Member {
    /// Summary of the run, as in lists.
    pub summary: Summary,
    /// Machine of the run.
    pub host: Host,
    /// Version of windlass.
    pub program_version: String,
}

impl Member {
    /// Extracts the compared part of a run.
    pub fn of(run: &Run) -> Self {
        Self {
            summary: Summary::of(run),
            host: run.host.clone(),
            program_version: run.program_version.clone(),
        }
    }
}

/// Group of repeated runs.
#[derive(Clone, Debug)]
pub struct Group {
    /// Name for people.
    pub name: String,
    /// Runs of the group.
    pub members: Vec<Member>,
}

/// Comparison of groups of runs. The first group is the baseline.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Groups in the given order.
    pub groups: Vec<GroupSummary>,
    /// Facts that differ: parameters, the machine, the program.
    pub differs: Vec<DifferingFact>,
    /// Figures that runs of at least one group have.
    pub figures: Vec<FigureComparison>,
    /// Limits of the transfers.
    pub verdicts: Vec<Verdicts>,
    /// Cautions about the comparison.
    pub cautions: Vec<Caution>,
}

/// Summary of a group.
#[derive(Clone, Debug, Serialize)]
pub struct GroupSummary {
    /// Name for people.
    pub name: String,
    /// Runs of the group.
    pub runs: Vec<RunId>,
    /// Start of the first run.
    pub first_time: Timestamp,
    /// Start of the last run.
    pub last_time: Timestamp,
    /// Number of failed runs.
    pub failed: usize,
}

/// Fact that differs between runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DifferingFact {
    /// Origin of the fact.
    pub of: FactOrigin,
    /// Name of the fact: an option, a kernel setting.
    pub what: String,
    /// Values in each group: none if the fact was not given, several if runs of the group differ.
    pub values: Vec<Vec<String>>,
}

/// Origin of a fact about a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Named)]
pub enum FactOrigin {
    /// A parameter of the command.
    Parameter,
    /// The machine.
    Host,
    /// The program.
    Program,
}

/// Figure in each group.
#[derive(Clone, Debug, Serialize)]
pub struct FigureComparison {
    /// Name of the figure.
    pub name: FigureName,
    /// Row of the records, if they have several.
    pub of: Option<String>,
    /// Unit of the figure.
    pub unit: Unit,
    /// Better direction.
    pub better: Preference,
    /// Spread in each group; `None` if no run has the figure.
    pub groups: Vec<Option<Spread>>,
    /// Change of each group from the first; `None` for the first itself, and for groups that cannot
    /// be compared.
    pub changes: Vec<Option<Change>>,
}

/// Spread of a figure in a group.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Number of runs that have the figure.
    pub count: usize,
    /// Median of the runs.
    pub median: f64,
    /// Lower end of the median's 95 % confidence interval; `None` with fewer than six runs.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
    /// Minimum.
    pub min: f64,
    /// Maximum.
    pub max: f64,
}

/// Change of a figure from the first group.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Increase in the figure's unit: the median of the differences of all pairs of runs.
    pub difference: f64,
    /// Increase as a share of the first group, by quotients; `None` if a value is not above zero.
    pub share: Option<f64>,
    /// Lower end of the 95 % confidence interval of the share, or of the difference if there is no
    /// share.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
    /// Probability that chance alone makes as large a difference.
    pub p: f64,
    /// Claim about the change.
    pub claim: Claim,
}

/// Claim about a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum Claim {
    /// There are too few runs for a claim.
    TooFew,
    /// Chance alone may explain the difference.
    None,
    /// The figure is higher, which is neither better nor worse.
    More,
    /// The figure is lower, which is neither better nor worse.
    Less,
    /// The figure is better.
    Better,
    /// The figure is worse.
    Worse,
}

/// Limits of the runs of each group.
#[derive(Clone, Debug, Serialize)]
pub struct Verdicts {
    /// Row of the records, if they have several.
    pub of: Option<String>,
    /// Causes in each group, most frequent first.
    pub groups: Vec<Vec<CauseCount>>,
    /// True if the most frequent cause differs between groups that have one.
    pub changed: bool,
}

/// Number of runs with a cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CauseCount {
    /// Limit and reason.
    pub cause: String,
    /// Number of runs.
    pub runs: usize,
}

/// Caution about a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "caution", rename_all = "kebab-case")]
pub enum Caution {
    /// Groups have too few runs for a claim.
    FewRuns {
        /// Names of the groups.
        groups: Vec<String>,
        /// Minimum number of runs among them.
        fewest: usize,
    },
    /// All runs of a group were before or after all runs of the first group: the difference
    /// includes any change over time.
    NotInterleaved {
        /// Name of the group.
        group: String,
    },
    /// The groups have different commands.
    Commands,
    /// Runs failed. They count as far as they went.
    Failed {
        /// Name of the group.
        group: String,
        /// Number of failed runs.
        runs: usize,
    },
    /// A run is in two groups.
    Shared {
        /// The run.
        run: RunId,
    },
}

impl Comparison {
    /// Compares groups of at least one run each with the first group.
    pub fn of(groups: &[Group]) -> Self {
        Self {
            groups: groups.iter().map(seen).collect(),
            differs: differs(groups),
            figures: figures(groups),
            verdicts: verdicts(groups),
            cautions: cautions(groups),
        }
    }
}

fn seen(group: &Group) -> GroupSummary {
    let times = || group.members.iter().map(|member| member.summary.start_time);
    GroupSummary {
        name: group.name.clone(),
        runs: group.members.iter().map(|member| member.summary.id).collect(),
        first_time: times().min().unwrap_or_default(),
        last_time: times().max().unwrap_or_default(),
        failed: failed(group),
    }
}

fn failed(group: &Group) -> usize {
    group.members.iter().filter(|member| member.summary.exit_code != 0).count()
}

/// Returns the facts that differ between runs.
fn differs(groups: &[Group]) -> Vec<DifferingFact> {
    let mut names: BTreeSet<(FactOrigin, String)> = BTreeSet::new();
    let facts: Vec<Vec<BTreeMap<(FactOrigin, String), String>>> = groups
        .iter()
        .map(|group| group.members.iter().map(facts).collect::<Vec<_>>())
        .inspect(|facts| names.extend(facts.iter().flat_map(|one| one.keys().cloned())))
        .collect();
    let all = |name: &(FactOrigin, String)| {
        let values = facts.iter().map(|facts| {
            let mut values: Vec<String> =
                facts.iter().filter_map(|facts| facts.get(name).cloned()).collect();
            values.sort();
            values.dedup();
            // A fact that only some runs of a group have is a difference, too.
            let lacks = facts.iter().any(|facts| !facts.contains_key(name));
            if lacks && !values.is_empty() {
                values.insert(0, String::new());
            }
            values
        });
        values.collect::<Vec<_>>()
    };
    names
        .into_iter()
        .map(|name| (all(&name), name))
        .filter(|(values, _)| {
            values.iter().any(|one| one.len() > 1) || values.windows(2).any(|two| two[0] != two[1])
        })
        .map(|(values, (of, what))| DifferingFact { of, what, values })
        .collect()
}

/// Returns a run's parameters, its machine and its program.
fn facts(member: &Member) -> BTreeMap<(FactOrigin, String), String> {
    let parameters = parameters(&member.summary.arguments);
    let parameters =
        parameters.into_iter().map(|(what, value)| ((FactOrigin::Parameter, what), value));
    let host =
        member.host.facts().into_iter().map(|(what, value)| ((FactOrigin::Host, what), value));
    let version = (FactOrigin::Program, "windlass".to_owned());
    parameters.chain(host).chain([(version, member.program_version.clone())]).collect()
}

/// Options for storing and printing a run, which do not affect the measurement.
const OF_NO_MATTER: [&str; 7] =
    ["--tag", "--note", "--store", "--no-save", "--json", "--json-stream", "--color"];

/// Returns the options of a command line with their values, and all other words together. The
/// parser does not know which options take a value: a word after an option counts as its value
/// unless it begins with a dash.
fn parameters(arguments: &[String]) -> Vec<(String, String)> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut words = arguments.iter().peekable();
    while let Some(word) = words.next() {
        let is_option = word.starts_with('-') && word.len() > 1 && word != "--";
        let (name, value) = match word.split_once('=') {
            _ if !is_option => ("arguments".to_owned(), word.clone()),
            Some((name, value)) if name.starts_with("--") => (name.to_owned(), value.to_owned()),
            _ => {
                let value = words.next_if(|next| !next.starts_with('-'));
                (word.clone(), value.cloned().unwrap_or_else(|| "given".to_owned()))
            }
        };
        if !OF_NO_MATTER.contains(&name.as_str()) {
            found.entry(name).or_default().push(value);
        }
    }
    found.into_iter().map(|(name, values)| (name, values.join(" "))).collect()
}

/// Compares the figures, in the order of the first run that has each.
fn figures(groups: &[Group]) -> Vec<FigureComparison> {
    let mut names: Vec<(FigureName, Option<String>)> = Vec::new();
    let members = groups.iter().flat_map(|group| &group.members);
    for figure in members.flat_map(|member| &member.summary.figures) {
        let name = (figure.name, figure.of.clone());
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.into_iter().map(|(name, of)| compared(groups, name, of)).collect()
}

fn compared(groups: &[Group], name: FigureName, of: Option<String>) -> FigureComparison {
    let sample = |group: &Group| {
        let members = group.members.iter();
        Sample::new(members.filter_map(|member| member.summary.figure(name, of.as_deref())))
    };
    let samples: Vec<Sample> = groups.iter().map(sample).collect();
    let change = |(place, sample): (usize, &Sample)| {
        let first = samples.first().filter(|first| place > 0 && !first.is_empty())?;
        (!sample.is_empty()).then(|| change(first, sample, name.better()))
    };
    FigureComparison {
        name,
        unit: name.unit(),
        better: name.better(),
        groups: samples.iter().map(spread).collect(),
        changes: samples.iter().enumerate().map(change).collect(),
        of,
    }
}

fn spread(sample: &Sample) -> Option<Spread> {
    let (median, range) = (sample.median()?, sample.range()?);
    let interval = sample.interval();
    Some(Spread {
        count: sample.len(),
        median,
        low: interval.map(|interval| interval.low),
        high: interval.map(|interval| interval.high),
        min: range.low,
        max: range.high,
    })
}

fn change(first: &Sample, second: &Sample, better: Preference) -> Change {
    let found = Difference::between(first, second);
    let interval: Option<statistics::Interval> =
        if found.median_share.is_some() { found.interval_share } else { found.interval };
    let is_more = found.median > 0.0;
    let claim = if first.len().min(second.len()) < LEAST_REPEATS {
        Claim::TooFew
    } else if found.p > SIGNIFICANT || found.median == 0.0 {
        Claim::None
    } else {
        match better {
            Preference::More if is_more => Claim::Better,
            Preference::Less if !is_more => Claim::Better,
            Preference::More | Preference::Less => Claim::Worse,
            Preference::Neither if is_more => Claim::More,
            Preference::Neither => Claim::Less,
        }
    };
    Change {
        difference: found.median,
        share: found.median_share,
        low: interval.map(|interval| interval.low),
        high: interval.map(|interval| interval.high),
        p: found.p,
        claim,
    }
}

fn verdicts(groups: &[Group]) -> Vec<Verdicts> {
    let mut rows: Vec<Option<String>> = Vec::new();
    let members = groups.iter().flat_map(|group| &group.members);
    for verdict in members.flat_map(|member| &member.summary.verdicts) {
        if !rows.contains(&verdict.of) {
            rows.push(verdict.of.clone());
        }
    }
    rows.into_iter()
        .map(|of| {
            let groups: Vec<Vec<CauseCount>> =
                groups.iter().map(|group| causes(group, of.as_deref())).collect();
            let firsts: BTreeSet<&str> = groups
                .iter()
                .filter_map(|causes| causes.first().map(|first| first.cause.as_str()))
                .collect();
            Verdicts { changed: firsts.len() > 1, groups, of }
        })
        .collect()
}

/// Counts the causes of a group's verdicts, most frequent first.
fn causes(group: &Group, of: Option<&str>) -> Vec<CauseCount> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for cause in group.members.iter().filter_map(|member| member.summary.cause(of)) {
        *counts.entry(cause).or_default() += 1;
    }
    let mut counted: Vec<CauseCount> = counts
        .into_iter()
        .map(|(cause, runs)| CauseCount { cause: cause.to_owned(), runs })
        .collect();
    counted.sort_by_key(|counted| std::cmp::Reverse(counted.runs));
    counted
}

fn cautions(groups: &[Group]) -> Vec<Caution> {
    let mut cautions = Vec::new();
    let mut commands = groups.iter().flat_map(|group| &group.members);
    if let Some(first) = commands.next()
        && commands.any(|other| other.summary.command != first.summary.command)
    {
        cautions.push(Caution::Commands);
    }
    let few = groups.iter().filter(|group| group.members.len() < LEAST_REPEATS);
    if let Some(fewest) = few.clone().map(|group| group.members.len()).min()
        && groups.len() > 1
    {
        let groups = few.map(|group| group.name.clone()).collect();
        cautions.push(Caution::FewRuns { groups, fewest });
    }
    for group in groups {
        if failed(group) > 0 {
            cautions.push(Caution::Failed { group: group.name.clone(), runs: failed(group) });
        }
    }
    let Some((first, others)) = groups.split_first() else { return cautions };
    for group in others {
        let (one, other) = (seen(first), seen(group));
        let is_apart = one.last_time < other.first_time || other.last_time < one.first_time;
        let enough = one.runs.len().min(other.runs.len()) >= LEAST_REPEATS;
        if enough && is_apart {
            cautions.push(Caution::NotInterleaved { group: group.name.clone() });
        }
    }
    let mut ids = BTreeSet::new();
    let all = groups.iter().flat_map(|group| &group.members).map(|member| member.summary.id);
    cautions.extend(all.filter(|id| !ids.insert(*id)).map(|run| Caution::Shared { run }));
    cautions
}

#[cfg(test)]
#[path = "compare_tests.rs"]
pub(crate) mod tests;
