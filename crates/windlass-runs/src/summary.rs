//! What a list shows of a run.

use serde::{Deserialize, Serialize};
use windlass_base::Timestamp;

use crate::figure::{Figure, FigureName, VerdictSeen};
use crate::shapes::{Shown, shown};
use crate::{Run, RunId};

/// What a list shows of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Its name.
    pub id: RunId,
    /// The command.
    pub command: String,
    /// What the program was called with.
    pub arguments: Vec<String>,
    /// To whom or what.
    pub target: Option<String>,
    /// Whom it spoke with.
    pub peers: Vec<String>,
    /// The machine on which it ran.
    pub host: String,
    /// When it began.
    pub start_time: Timestamp,
    /// When it was over.
    pub end_time: Timestamp,
    /// What it ended with.
    pub exit_code: u8,
    /// Words by which it is found.
    pub tags: Vec<String>,
    /// How many notes it has.
    pub notes: usize,
    /// Its figures, the more telling first.
    pub figures: Vec<Figure>,
    /// What it found to hold it back.
    pub verdicts: Vec<VerdictSeen>,
    /// Files with its packets.
    pub captures: Vec<String>,
}

impl Summary {
    /// What a list shows of this run.
    pub fn of(run: &Run) -> Self {
        let mut all = Shown::default();
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

    /// A figure of it.
    pub fn figure(&self, name: FigureName, of: Option<&str>) -> Option<f64> {
        let mut figures = self.figures.iter();
        figures.find(|one| one.name == name && one.of.as_deref() == of).map(|one| one.value)
    }

    /// The cause that its verdict names.
    pub fn cause(&self, of: Option<&str>) -> Option<&str> {
        let mut verdicts = self.verdicts.iter();
        verdicts.find(|one| one.of.as_deref() == of).map(|one| one.cause.as_str())
    }
}
