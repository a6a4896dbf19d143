//! `windlass runs repeat`.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::Args;
use windlass_base::Failure;
use windlass_output::records::runs::{command_line, result};
use windlass_output::{Output, Progress, figures};
use windlass_runs::compare::Group;
use windlass_runs::{Row, Run, RunId, Selector, Store};

use super::compare::CompareReport;
use super::{all, members};
use crate::commands::unwritten;
use crate::interrupt;

/// The arguments of `windlass runs repeat`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass runs repeat last -n 10          repeat the last run ten times
  windlass runs repeat k2f9ab -n 10 -- send HOST --window 256k
                                           ten runs of each command, in turn
  windlass runs repeat last -n 10 --tag cable-b
                                           add a tag, for a later comparison

Each repeat runs in the folder and with the arguments of the original run, and is kept with the tag
of the series. Two commands alternate, and swap their order each time: A B, B A, A B.")]
pub struct RepeatArgs {
    /// Run to repeat: the beginning of its name, last, or last~1
    #[arg(value_name = "RUN")]
    pub run: Selector,

    /// Number of repeats of each command
    #[arg(long, short = 'n', value_name = "N", default_value_t = 10)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub number: u32,

    /// Tag for the repeats, besides the tag of the series; may be repeated
    #[arg(long, value_name = "WORD", value_parser = crate::keeping::tag)]
    pub tag: Vec<String>,

    /// Second windlass command to alternate with, after `--`
    #[arg(last = true, value_name = "COMMAND")]
    pub other: Vec<OsString>,
}

/// Time between two changes of the progress line.
const CHANGE: Duration = Duration::from_millis(100);

/// Number of failures in a row after which the series ends.
const HOPELESS: u32 = 3;

/// A setting that is repeated.
struct Setting {
    /// Name of its group.
    name: String,
    /// The tag of its repeats.
    tag: String,
    arguments: Vec<OsString>,
    directory: Option<String>,
}

/// Results of the repeats.
#[derive(Default)]
struct Tally {
    failed: u32,
    in_a_row: u32,
    /// Message of the first failure.
    first: Option<String>,
}

/// Runs the command.
pub(super) fn run(
    args: &RepeatArgs,
    store: &Store,
    is_kept: fn(&[String]) -> bool,
    output: &mut Output,
) -> anyhow::Result<()> {
    let id = args.run.one(&all(store)?)?;
    let first = store.read([id])?.next().transpose()?.ok_or_else(|| {
        Failure::new(format!("cannot repeat run {}", id.short()), "the run is not in the store")
    })?;
    let doing = format!("cannot repeat run {}", first.id.short());
    let series = RunId::by_chance().map_err(|error| Failure::new(&doing, error))?;
    let settings = settings(args, &first, series, is_kept)?;
    let stop = interrupt::listen(&doing)?;
    let program = std::env::current_exe().map_err(|error| Failure::new(&doing, error))?;
    let mut progress = Progress::new(CHANGE, CHANGE);
    let all = args.number as usize * settings.len();
    let (mut tally, mut made, mut last) = (Tally::default(), 0_usize, String::new());
    for turn in 0..args.number {
        // The order alternates, so that drift meets both settings alike.
        let order: Vec<&Setting> =
            if turn % 2 == 0 { settings.iter().collect() } else { settings.iter().rev().collect() };
        for setting in order {
            if stop.load(Ordering::Relaxed) || tally.in_a_row >= HOPELESS {
                continue;
            }
            progress.tell(|| {
                let of = figures::count(all as u64);
                format!("{} of {of}: {}{last}", made + 1, setting.name)
            });
            let before = made;
            made += 1;
            match once(&program, setting, args, store) {
                Ok(()) => tally.in_a_row = 0,
                Err(wrong) if stop.load(Ordering::Relaxed) => {
                    made = before;
                    drop(wrong);
                }
                Err(wrong) => {
                    tally.failed += 1;
                    tally.in_a_row += 1;
                    tally.first.get_or_insert(wrong);
                }
            }
            last = newest(store, &setting.tag).map(|text| format!("; {text}")).unwrap_or_default();
        }
    }
    progress.clear();
    let groups = groups(&settings, store)?;
    if groups.is_empty() {
        let wrong = tally.first.unwrap_or_else(|| "the series was stopped".to_owned());
        return Err(Failure::new(doing, wrong).into());
    }
    output.print(&CompareReport::new(&groups)).map_err(unwritten)?;
    let tags: Vec<String> = settings.iter().map(|one| format!("tag:{}", one.tag)).collect();
    eprintln!("windlass: to compare again: windlass runs compare {}", tags.join(" "));
    conclude(&doing, &tally, made, all)
}

/// Returns an error if a repeat failed or is missing.
fn conclude(doing: &str, tally: &Tally, made: usize, all: usize) -> anyhow::Result<()> {
    let first = tally.first.as_deref().unwrap_or_default();
    if tally.in_a_row >= HOPELESS {
        let wrong = format!("{HOPELESS} repeats failed in a row: {first}");
        return Err(Failure::new(doing, wrong).into());
    }
    if tally.failed > 0 {
        let wrong = format!("{} of {made} repeats failed: {first}", tally.failed);
        return Err(Failure::new(doing, wrong).into());
    }
    if made < all {
        let wrong = format!("the series was stopped after {made} of {all} repeats");
        return Err(Failure::new(doing, wrong).into());
    }
    Ok(())
}

/// Returns the settings to alternate: those of the run, and those after `--`.
fn settings(
    args: &RepeatArgs,
    first: &Run,
    series: RunId,
    is_kept: fn(&[String]) -> bool,
) -> Result<Vec<Setting>, Failure> {
    let doing = || format!("cannot repeat run {}", first.id.short());
    let arguments: Vec<OsString> = bare(&first.arguments).into_iter().map(OsString::from).collect();
    if is_redacted(&first.arguments) {
        let wrong = "its arguments were not kept in full: one has a password, or is not text";
        return Err(Failure::new(doing(), wrong).advise(format!(
            "Give the command after --: windlass {}",
            command_line(&first.arguments)
        )));
    }
    let tag = |side: &str| format!("series-{}{side}", series.short());
    let one = Setting {
        name: "A".to_owned(),
        tag: tag(if args.other.is_empty() { "" } else { "-a" }),
        arguments,
        directory: first.directory.clone(),
    };
    if args.other.is_empty() {
        return Ok(vec![Setting { name: first.id.short().to_owned(), ..one }]);
    }
    let other = args.other.iter().map(|one| one.to_string_lossy().into_owned());
    let other: Vec<String> = bare(&other.collect::<Vec<_>>());
    if !is_kept(&other) {
        let wrong = format!("windlass {} does not keep its runs", command_line(&other));
        return Err(Failure::usage(doing(), wrong).advise(
            "Give a command that measures after --, without windlass: send HOST --window 256k",
        ));
    }
    let other = Setting {
        name: "B".to_owned(),
        tag: tag("-b"),
        arguments: other.into_iter().map(OsString::from).collect(),
        directory: None,
    };
    Ok(vec![one, other])
}

/// Returns whether a run's arguments were changed to keep them: one had a password, or was not
/// text.
pub(in crate::commands) fn is_redacted(arguments: &[String]) -> bool {
    arguments.iter().any(|one| one.contains('\u{fffd}') || one.contains(":…@"))
}

/// Returns the arguments without `--store` and `--note`.
pub(in crate::commands) fn bare(arguments: &[String]) -> Vec<String> {
    let mut bare = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if ["--store", "--note"].contains(&word.as_str()) {
            words.next();
        } else if !word.starts_with("--store=") && !word.starts_with("--note=") {
            bare.push(word.clone());
        }
    }
    bare
}

/// Runs one repeat. The error is its message.
fn once(program: &Path, setting: &Setting, args: &RepeatArgs, store: &Store) -> Result<(), String> {
    let mut command = Command::new(program);
    command.args(&setting.arguments).arg("--store").arg(store.folder());
    for tag in args.tag.iter().chain([&setting.tag]) {
        command.args(["--tag", tag]);
    }
    if let Some(directory) = &setting.directory {
        command.current_dir(directory);
    }
    let output = command.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let error = said.lines().find_map(|line| line.strip_prefix("error: "));
    Err(error.map_or_else(|| format!("the command ended with {}", output.status), str::to_owned))
}

/// Returns the result of the newest run, if it has this tag.
fn newest(store: &Store, tag: &str) -> Option<String> {
    let has_tag = |row: &Row<'_>| row.tags.iter().any(|one| **one == *tag);
    let seen = |row: &Row<'_>| has_tag(row).then(|| result(row).plain());
    store.rows(1, None, seen).ok()?.runs.into_iter().flatten().next()
}

/// Returns the groups of the repeats that were kept.
fn groups(settings: &[Setting], store: &Store) -> Result<Vec<Group>, Failure> {
    let runs = store.list()?.runs;
    let mut groups = Vec::new();
    for setting in settings {
        let of_it = runs.iter().filter(|run| run.tags.contains(&setting.tag));
        let members = members(store, of_it.map(|run| run.id).collect())?;
        if !members.is_empty() {
            groups.push(Group { name: setting.name.clone(), members });
        }
    }
    Ok(groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_run_was_kept_is_not_repeated() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let bared = bare(&words("send host --store /x --window 64k --note=a --tag t --note b"));
        assert_eq!(bared, words("send host --window 64k --tag t"));
    }
}
