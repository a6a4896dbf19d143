//! Groups of runs, held against the first of them: what differed between them, what their
//! figures came to, and whether chance alone explains the difference.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use windlass_base::{Named, Timestamp};

use crate::figure::{Better, FigureName, Unit};
use crate::statistics::{self, Difference, Sample};
use crate::{Host, Run, RunId, Summary};

/// With fewer runs a difference is not claimed: of four and four even the most uneven order
/// comes by chance three times in a hundred, and benchstat, too, refuses there.
pub const LEAST_REPEATS: usize = 5;

/// A difference is claimed where chance alone makes one as large less often than this. Tables
/// have several figures, and each may err.
pub const SIGNIFICANT: f64 = 0.01;

/// What of a run is compared.
#[derive(Clone, Debug)]
pub struct Member {
    /// What lists show of it.
    pub summary: Summary,
    /// Where it ran.
    pub host: Host,
    /// By which windlass.
    pub program_version: String,
}

impl Member {
    /// What of this run is compared.
    pub fn of(run: &Run) -> Self {
        Self {
            summary: Summary::of(run),
            host: run.host.clone(),
            program_version: run.program_version.clone(),
        }
    }
}

/// Runs that are repeats of each other.
#[derive(Clone, Debug)]
pub struct Group {
    /// What people call it.
    pub name: String,
    /// Its runs.
    pub members: Vec<Member>,
}

/// What groups of runs come to, the first being the baseline.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The groups.
    pub groups: Vec<GroupSeen>,
    /// What was not the same for all: parameters, the machine, the program.
    pub differs: Vec<Differing>,
    /// The figures that runs of at least one group have.
    pub figures: Vec<Compared>,
    /// What held the transfers back.
    pub verdicts: Vec<Verdicts>,
    /// What is to be known of them all.
    pub cautions: Vec<Caution>,
}

/// A group.
#[derive(Clone, Debug, Serialize)]
pub struct GroupSeen {
    /// What people call it.
    pub name: String,
    /// Its runs.
    pub runs: Vec<RunId>,
    /// When the first of them began.
    pub first_time: Timestamp,
    /// When the last of them began.
    pub last_time: Timestamp,
    /// How many of them failed.
    pub failed: usize,
}

/// Something that was not the same for all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Differing {
    /// Whose it is.
    pub of: Kind,
    /// What: an option, a setting of the kernel.
    pub what: String,
    /// Its values in each group: none where it was not given, several where runs of one group
    /// differ.
    pub values: Vec<Vec<String>>,
}

/// Whose something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Named)]
pub enum Kind {
    /// What was asked for.
    Parameter,
    /// The machine's.
    Host,
    /// The program's.
    Program,
}

/// A figure in each group.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// What it is.
    pub name: FigureName,
    /// Of which row of the records, where they have several.
    pub of: Option<String>,
    /// What it counts.
    pub unit: Unit,
    /// Which way is better.
    pub better: Better,
    /// What it came to in each group; nothing where no run has it.
    pub groups: Vec<Option<Spread>>,
    /// How each group differs from the first; the first itself, and what cannot be held
    /// against it, does not.
    pub changes: Vec<Option<Change>>,
}

/// What the runs of a group came to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Runs that have the figure.
    pub count: usize,
    /// Their median.
    pub median: f64,
    /// Where the median lies with a likelihood of 95 %; nothing of fewer than six.
    pub low: Option<f64>,
    /// The upper end of that.
    pub high: Option<f64>,
    /// The least of all.
    pub min: f64,
    /// The most of all.
    pub max: f64,
}

/// How a group differs from the first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Change {
    /// By how much it lies higher, in the figure's unit: the median of the differences of all
    /// pairs of runs.
    pub difference: f64,
    /// The same as a share of the first, by quotients; nothing where a value is not above zero.
    pub share: Option<f64>,
    /// Where the share lies with a likelihood of 95 %, and the difference where there is none.
    pub low: Option<f64>,
    /// The upper end of that.
    pub high: Option<f64>,
    /// With which likelihood chance alone makes as large a difference.
    pub p: f64,
    /// What may be said of it.
    pub claim: Claim,
}

/// What may be said of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum Claim {
    /// There are too few runs to say anything.
    TooFew,
    /// Chance alone may have made it.
    None,
    /// It is more, and neither better nor worse.
    More,
    /// It is less, and neither better nor worse.
    Less,
    /// It is better.
    Better,
    /// It is worse.
    Worse,
}

/// What held the runs of each group back.
#[derive(Clone, Debug, Serialize)]
pub struct Verdicts {
    /// Of which row of the records, where they have several.
    pub of: Option<String>,
    /// Of each group, its causes, the most frequent first.
    pub groups: Vec<Vec<CauseCount>>,
    /// Whether the most frequent one is not the same in all groups that have one.
    pub changed: bool,
}

/// A cause, and how many runs have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CauseCount {
    /// The limit and its reason.
    pub cause: String,
    /// In so many runs.
    pub runs: usize,
}

/// What is to be known of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "caution", rename_all = "kebab-case")]
pub enum Caution {
    /// Groups have too few runs for a difference to be claimed.
    FewRuns {
        /// Which.
        groups: Vec<String>,
        /// The fewest that one of them has.
        fewest: usize,
    },
    /// All runs of a group were before or after all of the first: what changed with time lies
    /// in the difference, too.
    NotInterleaved {
        /// Which.
        group: String,
    },
    /// The groups are of different commands.
    Commands,
    /// Runs failed, and count as far as they went.
    Failed {
        /// In which group.
        group: String,
        /// So many.
        runs: usize,
    },
    /// A run is in two groups.
    Shared {
        /// It.
        run: RunId,
    },
}

impl Comparison {
    /// Holds groups of at least one run each against the first.
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

fn seen(group: &Group) -> GroupSeen {
    let times = || group.members.iter().map(|member| member.summary.start_time);
    GroupSeen {
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

/// What is not the same for all runs.
fn differs(groups: &[Group]) -> Vec<Differing> {
    let mut names: BTreeSet<(Kind, String)> = BTreeSet::new();
    let facts: Vec<Vec<BTreeMap<(Kind, String), String>>> = groups
        .iter()
        .map(|group| group.members.iter().map(facts).collect::<Vec<_>>())
        .inspect(|facts| names.extend(facts.iter().flat_map(|one| one.keys().cloned())))
        .collect();
    let all = |name: &(Kind, String)| {
        let values = facts.iter().map(|facts| {
            let mut values: Vec<String> =
                facts.iter().filter_map(|facts| facts.get(name).cloned()).collect();
            values.sort();
            values.dedup();
            // Where one run of a group has it and another has not, that is a difference too.
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
        .map(|(values, (of, what))| Differing { of, what, values })
        .collect()
}

/// What a run was asked for, and where it ran.
fn facts(member: &Member) -> BTreeMap<(Kind, String), String> {
    let parameters = parameters(&member.summary.arguments);
    let parameters = parameters.into_iter().map(|(what, value)| ((Kind::Parameter, what), value));
    let host = member.host.facts().into_iter().map(|(what, value)| ((Kind::Host, what), value));
    let version = (Kind::Program, "windlass".to_owned());
    parameters.chain(host).chain([(version, member.program_version.clone())]).collect()
}

/// Options that say how a run is kept and printed, and change nothing of it.
const OF_NO_MATTER: [&str; 7] =
    ["--tag", "--note", "--store", "--no-save", "--json", "--json-stream", "--color"];

/// The options of a command line with their values, and its other words together. What takes a
/// value is not known here: the word behind an option is one where it does not begin with a
/// dash.
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

/// The figures in the order of the first run that has each.
fn figures(groups: &[Group]) -> Vec<Compared> {
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

fn compared(groups: &[Group], name: FigureName, of: Option<String>) -> Compared {
    let sample = |group: &Group| {
        let members = group.members.iter();
        Sample::new(members.filter_map(|member| member.summary.figure(name, of.as_deref())))
    };
    let samples: Vec<Sample> = groups.iter().map(sample).collect();
    let change = |(place, sample): (usize, &Sample)| {
        let first = samples.first().filter(|first| place > 0 && !first.is_empty())?;
        (!sample.is_empty()).then(|| change(first, sample, name.better()))
    };
    Compared {
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

fn change(first: &Sample, second: &Sample, better: Better) -> Change {
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
            Better::More if is_more => Claim::Better,
            Better::Less if !is_more => Claim::Better,
            Better::More | Better::Less => Claim::Worse,
            Better::Neither if is_more => Claim::More,
            Better::Neither => Claim::Less,
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

/// The causes that a group's verdicts name, the most frequent first.
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
