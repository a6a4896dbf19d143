//! A situation: what is kept apart when a judgement is fitted and scored.

use crate::draw::Draw;
use crate::plan::Plan;

/// A program, what limits it, and a kind of path.
pub(crate) struct Situation {
    /// Its name, which no other has.
    pub(crate) name: &'static str,
    /// The limit and cause, as a pattern of Bash with extended globs.
    pub(crate) truth: &'static str,
    /// The sending program.
    pub(crate) program: &'static str,
    /// Draws a transfer.
    pub(crate) plan: fn(&mut Draw) -> Plan,
}

impl Situation {
    /// Returns whether this machine has the programs.
    pub(crate) fn is_possible(&self) -> bool {
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let is_there = |tool: &str| std::env::split_paths(&paths).any(|at| at.join(tool).is_file());
        self.program.split('+').all(|tool| tool == "python" || is_there(tool))
    }
}
