//! Summaries of runs for lists.

use serde::{Deserialize, Serialize};
use windlass_base::Timestamp;

use crate::figure::{Figure, FigureName, VerdictSummary};
use crate::shapes::{RecordDigest, shown};
use crate::{Run, RunId};

/// Summary of a run for lists.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Name of the run.
    pub id: RunId,
    /// Command of the run.
    pub command: String,
    /// Arguments of the program.
    pub arguments: Vec<String>,
    /// Target of the run.
    pub target: Option<String>,
    /// Peers of the run.
    pub peers: Vec<String>,
    /// Name of the machine.
    pub host: String,
    /// Start of the run.
    pub start_time: Timestamp,
    /// End of the run.
    pub end_time: Timestamp,
    /// Exit code.
    pub exit_code: u8,
    /// Tags of the run.
    pub tags: Vec<String>,
    /// Number of notes.
    pub notes: usize,
    /// Figures, the most important first.
    pub figures: Vec<Figure>,
    /// Verdicts of the run.
    pub verdicts: Vec<VerdictSummary>,
    /// Capture files of the run.
    pub captures: Vec<String>,
}

impl Summary {
    /// Summarizes a run.
    pub fn of(run: &Run) -> Self {
        let mut all = RecordDigest::default();
        for kept in &run.records {
            let record = serde_json::from_str(kept.record.get()).unwrap_or_default();
            let shown = shown(&record);
            all.target = all.target.or(shown.target);
            all.peers.extend(shown.peers);
            all.captures.extend(shown.captures);
            all.figures.extend(shown.figures);
            all.verdicts.extend(shown.verdicts);
        }
        Self {
            id: run.id,
            command: run.command.clone(),
            arguments: run.arguments.clone(),
            target: all.target,
            peers: all.peers,
            host: run.host.name.clone(),
            start_time: run.start_time,
            end_time: run.end_time,
            exit_code: run.exit_code,
            tags: run.tags.clone(),
            notes: run.notes.len(),
            figures: all.figures,
            verdicts: all.verdicts,
            captures: all.captures,
        }
    }

    /// Returns a figure of the run.
    pub fn figure(&self, name: FigureName, of: Option<&str>) -> Option<f64> {
        let mut figures = self.figures.iter();
        figures.find(|one| one.name == name && one.of.as_deref() == of).map(|one| one.value)
    }

    /// Returns the cause that the verdict names.
    pub fn cause(&self, of: Option<&str>) -> Option<&str> {
        let mut verdicts = self.verdicts.iter();
        verdicts.find(|one| one.of.as_deref() == of).map(|one| one.cause.as_str())
    }
}
