//! Keeps each measurement: its command, its host, and its results.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::value::to_raw_value;
use windlass_base::{Failure, Timestamp};
use windlass_host::rates::Interval;
use windlass_host::sample::Sample;
use windlass_host::{Source, now};
use windlass_runs::{Host, Note, Run, RunId, RunRecord, Store, without_password};

use crate::arguments::COMMON;

/// The variable that names the folder of the runs; an empty one keeps no runs.
pub const VARIABLE: &str = "WINDLASS_STORE";

/// The help of `--store`.
pub const FOLDER: &str = "Folder of the runs [default: $WINDLASS_STORE, or windlass/runs in \
                          $XDG_DATA_HOME or ~/.local/share]";

/// The options for keeping a measurement.
#[derive(Args, Clone, Debug, Default)]
pub struct KeepArgs {
    /// Do not keep this run for windlass runs
    #[arg(long, hide_short_help = true, help_heading = COMMON, conflicts_with_all = ["store", "tag", "note"])]
    pub no_save: bool,

    /// Keep it in this folder
    #[arg(long, value_name = "FOLDER", hide_short_help = true, help_heading = COMMON)]
    #[arg(help = "Keep this run in this folder [default: $WINDLASS_STORE, or windlass/runs in \
                  $XDG_DATA_HOME or ~/.local/share]")]
    pub store: Option<PathBuf>,

    /// Tag of this run, for windlass runs; may be repeated
    #[arg(long, value_name = "WORD", hide_short_help = true, help_heading = COMMON, value_parser = tag)]
    pub tag: Vec<String>,

    /// Note about this run
    #[arg(long, value_name = "TEXT", hide_short_help = true, help_heading = COMMON)]
    pub note: Option<String>,
}

/// Reads a tag: one word, so that lists and command lines need no quotes.
pub fn tag(text: &str) -> Result<String, String> {
    let is_word = |one: char| one.is_alphanumeric() || "-_.:/+@=".contains(one);
    if !text.is_empty() && text.len() <= 100 && text.chars().all(is_word) {
        return Ok(text.to_owned());
    }
    Err("a tag is a word of letters, digits and -_.:/+@=".to_owned())
}

/// Returns the folder of the runs.
///
/// # Errors
/// Fails if neither an option nor a variable names the folder.
pub fn folder(given: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(given) = given {
        return Ok(given.to_owned());
    }
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || set("HOME").map(|home| home.join(".local/share"));
    let data = || set("XDG_DATA_HOME").filter(|data| data.is_absolute()).or_else(home);
    set(VARIABLE).or_else(|| Some(data()?.join("windlass/runs"))).ok_or_else(|| {
        Failure::new("cannot find the folder of the runs", "neither HOME nor XDG_DATA_HOME is set")
            .advise(format!("Name the folder with --store or {VARIABLE}."))
    })
}

/// A measurement that is made now, and is to be kept.
pub(crate) struct RunKeeper {
    command: &'static str,
    args: KeepArgs,
    arguments: Vec<String>,
    start_time: Timestamp,
    machine: Option<(Source, Sample)>,
}

impl RunKeeper {
    /// Begins a measurement; returns `None` if it is not to be kept.
    pub(crate) fn begin(
        command: &'static str,
        args: &KeepArgs,
        arguments: &[OsString],
    ) -> Option<Self> {
        let is_off = std::env::var_os(VARIABLE).is_some_and(|value| value.is_empty());
        if args.no_save || is_off && args.store.is_none() {
            return None;
        }
        let arguments = arguments.iter().skip(1).map(|one| one.to_string_lossy());
        let machine = Source::open(Path::new("/"), &[], &[]).ok();
        Some(Self {
            command,
            args: args.clone(),
            arguments: arguments.map(|one| without_password(&one)).collect(),
            start_time: now(),
            machine: machine.and_then(|source| source.sample().ok().map(|first| (source, first))),
        })
    }

    /// Ends the measurement and keeps its results. A failure to keep them is only a warning:
    /// the measurement itself stays valid.
    pub(crate) fn end(self, records: Vec<RunRecord>, exit_code: u8, failure: Option<String>) {
        // A command that failed before its first measurement is not kept.
        if records.is_empty() {
            return;
        }
        match self.keep(records, exit_code, failure) {
            Ok(id) if std::io::stderr().is_terminal() => {
                eprintln!("windlass: kept as run {}", id.short());
            }
            Ok(_) => {}
            Err(error) => {
                let error = error.in_one_line();
                eprintln!("windlass: warning: {error}. Use --no-save to keep no run.");
            }
        }
    }

    fn keep(
        self,
        records: Vec<RunRecord>,
        exit_code: u8,
        failure: Option<String>,
    ) -> Result<RunId, Failure> {
        let store = Store::at(folder(self.args.store.as_deref())?);
        let no = |error: &dyn std::fmt::Display| Failure::new("cannot keep this run", error);
        let end_time = now();
        let machine = self.machine.and_then(|(source, first)| {
            let last = source.sample().ok()?;
            let meanwhile = Interval::between(&first, &last, source.scale, &[]);
            to_raw_value(&meanwhile).ok()
        });
        let note = self.args.note.map(|text| Note { time: self.start_time, text });
        let run = Run {
            schema: Run::SCHEMA.to_string(),
            id: RunId::by_chance().map_err(|error| no(&error))?,
            command: self.command.to_owned(),
            arguments: self.arguments,
            directory: std::env::current_dir().ok().map(|path| path.display().to_string()),
            program_version: env!("CARGO_PKG_VERSION").to_owned(),
            host: Host::read(Path::new("/")),
            start_time: self.start_time,
            end_time,
            exit_code,
            failure,
            tags: self.args.tag,
            notes: note.into_iter().collect(),
            machine,
            records,
        };
        store.add(&run)?;
        Ok(run.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_a_word() {
        for word in ["baseline", "v1.2", "of:k2f9ab", "büro"] {
            assert_eq!(tag(word), Ok(word.to_owned()));
        }
        for wrong in ["", "two words", "a\n", "\u{1b}[31m", "a,b"] {
            assert!(tag(wrong).is_err(), "{wrong:?}");
        }
    }
}
