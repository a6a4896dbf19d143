//! `windlass runs`: the measurements that were kept.

mod change;
mod compare;
mod export;
mod list;
mod repeat;
mod show;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use windlass_base::{Failure, Timestamp, values};
use windlass_host::now;
use windlass_runs::compare::Member;
use windlass_runs::{Filter, RunId, Selector, Store, Summary};

pub use change::{DeleteArgs, NoteArgs, TagArgs};
pub use compare::CompareArgs;
pub use export::ExportArgs;
pub use list::ListArgs;
pub use repeat::RepeatArgs;
pub use show::ShowArgs;

pub(super) use compare::CompareReport;
pub(super) use repeat::{bare, is_redacted};

use windlass_output::Output;

use crate::arguments::JsonArgs;
use crate::keeping;

/// The arguments of `windlass runs`.
#[derive(Args, Clone, Debug)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_long_help = "\
Examples:
  windlass runs list --target printer --since 7d
                                           measurements of a printer in the last week
  windlass runs show last                  the last run, as it was printed
  windlass runs tag last baseline          tag the last run, to find it later
  windlass runs compare tag:baseline last  the differences, and if chance explains them
  windlass runs repeat last -n 10 -- send HOST --window 256k
                                           ten runs of each in turn, then compared
  windlass runs export --format csv -o runs.csv
                                           a table for a spreadsheet, one row per run

Values of RUN:
  k2f9ab (the beginning of a run's name), last, last~1 (the run before the last), or tag:WORD (all
  runs with the tag). docs/runs.md has more."
)]
pub struct RunsArgs {
    /// The subcommand.
    #[command(subcommand)]
    pub runs: Runs,

    /// The folder of the runs
    #[arg(long, global = true, value_name = "FOLDER", help = keeping::FOLDER)]
    pub store: Option<PathBuf>,

    /// Text or JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// Subcommands of `windlass runs`.
#[derive(Clone, Debug, Subcommand)]
pub enum Runs {
    /// List runs, newest last
    List(ListArgs),

    /// Show a run as it was printed, with its command line and host
    ///
    /// --json prints everything that is kept: the arguments, the host with its settings, and the
    /// records with each interval.
    Show(ShowArgs),

    /// Add a note to runs
    Note(NoteArgs),

    /// Add tags to runs, or remove them
    Tag(TagArgs),

    /// Delete runs
    Delete(DeleteArgs),

    /// Export runs as JSON, as a table, or as one long table of all values
    Export(ExportArgs),

    /// Compare runs, or groups of repeated runs, with a baseline
    ///
    /// The report has the differences in options and machine, the median of each figure with a
    /// 95 % confidence interval, and the change with its p-value (Mann-Whitney rank test). It also
    /// says if the limit changed. A difference is claimed only with five or more runs in each
    /// group.
    Compare(CompareArgs),

    /// Repeat a run, alone or in turn with another command
    ///
    /// Each repeat is kept, with a tag for the series. Two commands take turns, so that both meet
    /// the same changes in load; at the end they are compared.
    Repeat(RepeatArgs),
}

/// Runs the command. `is_kept` returns whether a command with these arguments keeps its run.
pub fn run(
    args: &RunsArgs,
    is_kept: fn(&[String]) -> bool,
    output: &mut Output,
) -> anyhow::Result<()> {
    let store = Store::at(keeping::folder(args.store.as_deref())?);
    match &args.runs {
        Runs::List(args) => list::run(args, &store, output),
        Runs::Show(args) => show::run(args, &store, output),
        Runs::Note(args) => change::note(args, &store, output),
        Runs::Tag(args) => change::tag(args, &store, output),
        Runs::Delete(args) => change::delete(args, &store, output),
        Runs::Export(args) => export::run(args, &store, output),
        Runs::Compare(args) => compare::run(args, &store, output),
        Runs::Repeat(args) => repeat::run(args, &store, is_kept, output),
    }
}

/// Options that select runs.
#[derive(Args, Clone, Debug, Default)]
pub struct FilterArgs {
    /// Only runs of this command: send, "spool load"
    #[arg(long, value_name = "NAME", help_heading = "Which runs")]
    pub command: Option<String>,

    /// Only runs to a host, printer or path with this in its name or address
    #[arg(long, value_name = "TEXT", help_heading = "Which runs")]
    pub target: Option<String>,

    /// Only runs with this tag; with several tags, only runs that have all
    #[arg(long = "tag", value_name = "WORD", help_heading = "Which runs")]
    pub tags: Vec<String>,

    /// Only runs since this date, time, or age (7d, 12h)
    #[arg(long, value_name = "WHEN", help_heading = "Which runs", value_parser = when)]
    pub since: Option<PointInTime>,

    /// Only runs before this date, time, or age
    #[arg(long, value_name = "WHEN", help_heading = "Which runs", value_parser = when)]
    pub until: Option<PointInTime>,

    /// Only runs that failed
    #[arg(long, help_heading = "Which runs")]
    pub failed: bool,
}

impl FilterArgs {
    fn filter(&self) -> Filter {
        Filter {
            command: self.command.clone(),
            target: self.target.clone(),
            tags: self.tags.clone(),
            since: self.since.map(PointInTime::time),
            until: self.until.map(PointInTime::time),
            failed: self.failed,
        }
    }
}

/// A point in time, absolute or relative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointInTime {
    /// An absolute time.
    At(Timestamp),
    /// A span before now.
    Ago(windlass_base::Span),
}

impl PointInTime {
    fn time(self) -> Timestamp {
        match self {
            Self::At(time) => time,
            Self::Ago(span) => now() - span,
        }
    }
}

/// Parses a date or a time in UTC, or an age.
fn when(text: &str) -> Result<PointInTime, String> {
    let allowed = "a time is written as 2026-11-26, 2026-11-26T11:17:31Z, 7d or 12h";
    if let Some(days) = text.strip_suffix('d') {
        let days = days.parse::<u32>().map_err(|_| allowed.to_owned())?;
        return Ok(PointInTime::Ago(windlass_base::Span::from_seconds(f64::from(days) * 86_400.0)));
    }
    if let Ok(span) = values::span_with_unit(text) {
        return Ok(PointInTime::Ago(span));
    }
    let whole = if text.len() == 10 { format!("{text}T00:00:00Z") } else { text.to_owned() };
    whole.parse().map(PointInTime::At).map_err(|_| allowed.to_owned())
}

/// Returns all runs of a store, at least one.
fn all(store: &Store) -> Result<Vec<Summary>, Failure> {
    let runs = store.list()?.runs;
    if runs.is_empty() {
        let wrong = format!("no run is kept in {}", store.folder().display());
        return Err(Failure::new("cannot find a run", wrong).advise(
            "Measure first: each run of send, ping, print and other measurements is kept.",
        ));
    }
    Ok(runs)
}

/// Returns the named runs (all if none is named) that pass the filter, each once, oldest first.
fn chosen<'a>(
    selectors: &[Selector],
    filter: &FilterArgs,
    runs: &'a [Summary],
) -> Result<Vec<&'a Summary>, Failure> {
    let mut chosen: Vec<&Summary> = Vec::new();
    for selector in selectors {
        chosen.extend(selector.of(runs)?);
    }
    if selectors.is_empty() {
        chosen.extend(runs);
    }
    let filter = filter.filter();
    chosen.retain(|run| filter.passes(run));
    chosen.sort_by_key(|run| (run.start_time, run.id));
    chosen.dedup_by_key(|run| run.id);
    Ok(chosen)
}

/// Reads runs as members of a comparison.
pub(super) fn members(store: &Store, ids: Vec<RunId>) -> Result<Vec<Member>, Failure> {
    store.read(ids)?.map(|run| Ok(Member::of(&run?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_day_or_a_moment_or_a_while_ago() {
        let day = Timestamp::from_nanos(1_795_651_200_000_000_000);
        assert_eq!(when("2026-11-26"), Ok(PointInTime::At(day)));
        assert_eq!(when("2026-11-26T01:00:00+01:00"), Ok(PointInTime::At(day)));
        let ago = |seconds: f64| Ok(PointInTime::Ago(windlass_base::Span::from_seconds(seconds)));
        assert_eq!((when("7d"), when("12h")), (ago(604_800.0), ago(43_200.0)));
        for wrong in ["", "yesterday", "d", "-3d", "2026-13-01", "26.11.2026"] {
            assert!(when(wrong).is_err(), "{wrong}");
        }
    }
}
