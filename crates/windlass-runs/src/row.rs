//! Rows of a table of runs, parsed without copies.

use std::borrow::Cow;
use std::ops::Deref;

use serde::{Deserialize, Serialize};
use windlass_base::Timestamp;

use crate::{FigureName, RunId, Summary};

/// Row of a table of runs, with everything that a filter needs. The row borrows: with 100,000 runs,
/// copies take most of the time.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Row<'a> {
    /// Name of the run.
    pub id: RunId,
    /// Command of the run.
    #[serde(borrow)]
    pub command: Word<'a>,
    /// Target of the run.
    #[serde(borrow)]
    pub target: Option<Word<'a>>,
    /// Peers of the run.
    #[serde(borrow)]
    pub peers: Vec<Word<'a>>,
    /// Start of the run.
    pub start_time: Timestamp,
    /// Exit code.
    pub exit_code: u8,
    /// Tags of the run.
    #[serde(borrow)]
    pub tags: Vec<Word<'a>>,
    /// First figure.
    pub result: FirstFigure,
    /// First limit.
    #[serde(borrow)]
    pub limit: FirstLimit<'a>,
}

/// Text borrowed from its line unless it has escapes.
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

/// First figure of a run, and the number of further rows with that figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FirstFigure {
    /// Name and value in its unit; `None` if the run has no figures.
    pub first: Option<(FigureName, f64)>,
    /// Number of further figures with this name.
    pub more: usize,
}

/// First limit of a run, without its reason, and the number of verdicts with another limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstLimit<'a> {
    /// Limit; `None` if the run has no verdicts.
    #[serde(borrow)]
    pub first: Option<Word<'a>>,
    /// Number of verdicts with another limit.
    pub others: usize,
}

/// Returns the limit of a cause, without its reason.
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
