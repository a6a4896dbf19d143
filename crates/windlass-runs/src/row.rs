//! What a table of runs shows of one, read where it stands.

use std::borrow::Cow;
use std::ops::Deref;

use serde::{Deserialize, Serialize};
use windlass_base::Timestamp;

use crate::{FigureName, RunId, Summary};

/// What a table of runs shows of one, and what a filter looks at. It borrows: of 100,000 runs
/// most of the time goes to what is copied.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Row<'a> {
    /// Its name.
    pub id: RunId,
    /// The command.
    #[serde(borrow)]
    pub command: Word<'a>,
    /// To whom or what.
    #[serde(borrow)]
    pub target: Option<Word<'a>>,
    /// Whom it spoke with.
    #[serde(borrow)]
    pub peers: Vec<Word<'a>>,
    /// When it began.
    pub start_time: Timestamp,
    /// What it ended with.
    pub exit_code: u8,
    /// Words by which it is found.
    #[serde(borrow)]
    pub tags: Vec<Word<'a>>,
    /// What it came to.
    pub result: FirstFigure,
    /// What held it back.
    #[serde(borrow)]
    pub limit: FirstLimit<'a>,
}

/// A word where it stands, as far as nothing in it is escaped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Word<'a>(#[serde(borrow)] Cow<'a, str>);

impl Deref for Word<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'a> From<&'a String> for Word<'a> {
    fn from(word: &'a String) -> Self {
        Self(Cow::Borrowed(word))
    }
}

/// The first of a run's figures, and in how many rows more it has such a one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FirstFigure {
    /// Which, and its value in its unit; nothing where it has no figures.
    pub first: Option<(FigureName, f64)>,
    /// More of this name.
    pub more: usize,
}

/// The limit that the first of a run's verdicts names, without its reason, and how many of its
/// verdicts name another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstLimit<'a> {
    /// The limit; nothing where it has no verdicts.
    #[serde(borrow)]
    pub first: Option<Word<'a>>,
    /// Those of another.
    pub others: usize,
}

/// The limit of a cause: what stands before its reason.
fn limit(cause: &str) -> &str {
    cause.split('/').next().unwrap_or(cause)
}

impl<'a> From<&'a Summary> for Row<'a> {
    fn from(run: &'a Summary) -> Self {
        let figures = &run.figures;
        let result = figures.first().map_or_else(FirstFigure::default, |first| FirstFigure {
            first: Some((first.name, first.value)),
            more: figures[1..].iter().filter(|one| one.name == first.name).count(),
        });
        let mut limits = run.verdicts.iter().map(|verdict| limit(&verdict.cause));
        let limit = limits.next().map_or_else(FirstLimit::default, |first| FirstLimit {
            first: Some(Word(Cow::Borrowed(first))),
            others: limits.filter(|one| *one != first).count(),
        });
        Self {
            id: run.id,
            command: Word::from(&run.command),
            target: run.target.as_ref().map(Word::from),
            peers: run.peers.iter().map(Word::from).collect(),
            start_time: run.start_time,
            exit_code: run.exit_code,
            tags: run.tags.iter().map(Word::from).collect(),
            result,
            limit,
        }
    }
}
