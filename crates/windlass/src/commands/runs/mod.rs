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
                                           what was measured to a printer in a week
  windlass runs show last                  the last run, as it was printed
  windlass runs tag last baseline          a word to find it by
  windlass runs compare tag:baseline last  what differs, and whether chance explains it
  windlass runs repeat last -n 10 -- send HOST --window 256k
                                           ten of each, in turn, and how they compare
  windlass runs export --format csv -o runs.csv
                                           a table for a spreadsheet

Which run:
  the beginning of its name (k2f9ab), last, last~1 for the one before, or tag:WORD for all that
  have the tag. docs/runs.md has more."
)]
pub struct RunsArgs {
    /// What to do.
    #[command(subcommand)]
    pub runs: Runs,

    /// The folder of the runs
    #[arg(long, global = true, value_name = "FOLDER", help = keeping::FOLDER)]
    pub store: Option<PathBuf>,

    /// Text or JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// What there is to do.
#[derive(Clone, Debug, Subcommand)]
pub enum Runs {
    /// List the runs, the newest last
    List(ListArgs),

    /// Show a run as it was printed, and where it was made
    ///
    /// With --json it is all that is kept: the arguments, the host with its settings, and the
    /// records with each interval.
    Show(ShowArgs),

    /// Write a note to runs
    Note(NoteArgs),

    /// Give runs a tag, or take it away
    Tag(TagArgs),

    /// Delete runs
    Delete(DeleteArgs),

    /// Write runs as JSON, as a table, or as one long table of all figures
    Export(ExportArgs),

    /// Hold runs, or groups of repeats, against the first of them
    ///
    /// It tells what differed between them in what was asked for and in the machine, the medians
    /// of their figures with intervals of 95 %, by how much they differ, with which likelihood
    /// chance alone does that (the rank test of Wilcoxon, Mann and Whitney), and whether the
    /// limit changed. With fewer than five runs each no difference is claimed.
    Compare(CompareArgs),

    /// Make a run again, so many times, in turn with another where one is named
    ///
    /// Each repeat is kept, with a tag for the series. Two settings take turns, so that what
    /// changes with time meets both alike; at the end they are compared.
    Repeat(RepeatArgs),
}

/// Runs the command; `is_kept` tells whether arguments are of a command whose run is kept.
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

/// Which runs.
#[derive(Args, Clone, Debug, Default)]
pub struct FilterArgs {
    /// Only runs of this command: send, "spool load"
    #[arg(long, value_name = "NAME", help_heading = "Which runs")]
    pub command: Option<String>,

    /// Only runs to a host, printer or path with this in its name or address
    #[arg(long, value_name = "TEXT", help_heading = "Which runs")]
    pub target: Option<String>,

    /// Only runs with this tag; of several with all of them
    #[arg(long = "tag", value_name = "WORD", help_heading = "Which runs")]
    pub tags: Vec<String>,

    /// Only runs that began then or later: a day, a time, or how long ago (7d, 12h)
    #[arg(long, value_name = "WHEN", help_heading = "Which runs", value_parser = when)]
    pub since: Option<When>,

    /// Only runs that began before
    #[arg(long, value_name = "WHEN", help_heading = "Which runs", value_parser = when)]
    pub until: Option<When>,

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
            since: self.since.map(When::time),
            until: self.until.map(When::time),
            failed: self.failed,
        }
    }
}

/// A point in time, as people say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Then.
    At(Timestamp),
    /// So many nanoseconds ago.
    Ago(windlass_base::Span),
}

impl When {
    fn time(self) -> Timestamp {
        match self {
            Self::At(time) => time,
            Self::Ago(span) => now() - span,
        }
    }
}

/// A day or a time in UTC, or how long ago.
fn when(text: &str) -> Result<When, String> {
    let allowed = "a time is 2026-11-26, 2026-11-26T11:17:31Z, 7d or 12h";
    if let Some(days) = text.strip_suffix('d') {
        let days = days.parse::<u32>().map_err(|_| allowed.to_owned())?;
        return Ok(When::Ago(windlass_base::Span::from_seconds(f64::from(days) * 86_400.0)));
    }
    if let Ok(span) = values::span_with_unit(text) {
        return Ok(When::Ago(span));
    }
    let whole = if text.len() == 10 { format!("{text}T00:00:00Z") } else { text.to_owned() };
    whole.parse().map(When::At).map_err(|_| allowed.to_owned())
}

/// All runs of a store, one at least.
fn all(store: &Store) -> Result<Vec<Summary>, Failure> {
    let runs = store.list()?.runs;
    if runs.is_empty() {
        let wrong = format!("{} has none", store.folder().display());
        return Err(Failure::new("cannot find a run", wrong)
            .advise("Measure something: each run of send, ping, print and the like is kept."));
    }
    Ok(runs)
}

/// Those of them that are named, or all where none is, as far as they pass; each once, the oldest
/// first.
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

/// Runs as a comparison takes them.
pub(super) fn members(store: &Store, ids: Vec<RunId>) -> Result<Vec<Member>, Failure> {
    store.read(ids)?.map(|run| Ok(Member::of(&run?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_day_or_a_moment_or_a_while_ago() {
        let day = Timestamp::from_nanos(1_795_651_200_000_000_000);
        assert_eq!(when("2026-11-26"), Ok(When::At(day)));
        assert_eq!(when("2026-11-26T01:00:00+01:00"), Ok(When::At(day)));
        let ago = |seconds: f64| Ok(When::Ago(windlass_base::Span::from_seconds(seconds)));
        assert_eq!((when("7d"), when("12h")), (ago(604_800.0), ago(43_200.0)));
        for wrong in ["", "yesterday", "d", "-3d", "2026-13-01", "26.11.2026"] {
            assert!(when(wrong).is_err(), "{wrong}");
        }
    }
}
