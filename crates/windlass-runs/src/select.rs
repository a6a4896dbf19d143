//! Selection of runs.

use std::str::FromStr;

use windlass_base::{Failure, Timestamp};

use crate::{Row, RunId, Summary};

/// Selector that people write for one or several runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector {
    /// A prefix of the run's name.
    Name(String),
    /// The last run, or one of those before it: `last`, `last~2`.
    Last(usize),
    /// All runs with a tag: `tag:NAME`.
    Tag(String),
}

impl FromStr for Selector {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(tag) = text.strip_prefix("tag:").filter(|tag| !tag.is_empty()) {
            return Ok(Self::Tag(tag.to_owned()));
        }
        if text == "last" {
            return Ok(Self::Last(0));
        }
        if let Some(back) = text.strip_prefix("last~").and_then(|back| back.parse().ok()) {
            return Ok(Self::Last(back));
        }
        let is_name = |one: char| one.is_ascii_lowercase() || one.is_ascii_digit();
        if !text.is_empty() && text.len() <= 10 && text.chars().all(is_name) {
            return Ok(Self::Name(text.to_owned()));
        }
        Err("a run is the beginning of its name, last, last~1, or tag:NAME".to_owned())
    }
}

impl Selector {
    /// Returns the selected runs among all of a store, which are in the order of their times. There
    /// is at least one.
    ///
    /// # Errors
    /// Returns an error if there is none, or if several names have the prefix.
    pub fn of<'a>(&self, runs: &'a [Summary]) -> Result<Vec<&'a Summary>, Failure> {
        let no = |what: &str, wrong: &str| {
            Failure::new(format!("cannot find {what}"), wrong)
                .advise("windlass runs list shows all runs.")
        };
        match self {
            Self::Last(back) => {
                let place = runs.len().checked_sub(back + 1);
                let run = place.and_then(|place| runs.get(place));
                let many = format!("the store has {}", runs.len());
                run.map(|run| vec![run]).ok_or_else(|| no("that run", &many))
            }
            Self::Tag(tag) => {
                let found: Vec<&Summary> =
                    runs.iter().filter(|run| run.tags.contains(tag)).collect();
                let none = || no(&format!("runs with the tag {tag:?}"), "no run has this tag");
                if found.is_empty() { Err(none()) } else { Ok(found) }
            }
            Self::Name(name) => {
                let found: Vec<&Summary> =
                    runs.iter().filter(|run| run.id.as_str().starts_with(name.as_str())).collect();
                match found.as_slice() {
                    [run] => Ok(vec![run]),
                    [] => Err(no(&format!("run {name}"), "no run has this name")),
                    [one, other, ..] => Err(no(
                        &format!("run {name}"),
                        &format!(
                            "the name fits {} and {}, {} runs in total",
                            one.id,
                            other.id,
                            found.len()
                        ),
                    )),
                }
            }
        }
    }

    /// Returns the selected run if the selector means a single one.
    ///
    /// # Errors
    /// Returns the errors of [`Selector::of`], and an error if the selector means several runs.
    pub fn one(&self, runs: &[Summary]) -> Result<RunId, Failure> {
        match self.of(runs)?.as_slice() {
            [run] => Ok(run.id),
            several => Err(Failure::usage(
                "cannot choose one run",
                format!("{} runs have this tag", several.len()),
            )
            .advise("Name one run.")),
        }
    }
}

/// Filter of a list of runs. Unset fields accept every run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Accepts only this command: `send`, `spool load`.
    pub command: Option<String>,
    /// Accepts only targets or peers with this in their names.
    pub target: Option<String>,
    /// Accepts only runs with all of these tags.
    pub tags: Vec<String>,
    /// Accepts only runs that began then or later.
    pub since: Option<Timestamp>,
    /// Accepts only runs that began before.
    pub until: Option<Timestamp>,
    /// Accepts only failed runs.
    pub failed: bool,
}

impl Filter {
    /// Returns whether the filter accepts all runs.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether the filter accepts a run.
    pub fn passes(&self, run: &Summary) -> bool {
        self.passes_row(&run.into())
    }

    pub(crate) fn passes_row(&self, run: &Row<'_>) -> bool {
        let is_command = |wanted: &String| {
            let command = &*run.command;
            command == wanted || command.split(' ').next() == Some(wanted.as_str())
        };
        let is_target = |wanted: &String| {
            let wanted = wanted.to_lowercase();
            let mut all = run.target.iter().chain(&run.peers);
            all.any(|one| one.to_lowercase().contains(&wanted))
        };
        self.command.as_ref().is_none_or(is_command)
            && self.target.as_ref().is_none_or(is_target)
            && self.tags.iter().all(|tag| run.tags.iter().any(|one| **one == **tag))
            && self.since.is_none_or(|since| run.start_time >= since)
            && self.until.is_none_or(|until| run.start_time < until)
            && (!self.failed || run.exit_code != 0)
    }
}
