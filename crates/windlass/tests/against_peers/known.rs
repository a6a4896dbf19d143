//! Known disagreements, each with its reason.

/// Captures that a tool is known to read otherwise.
pub(crate) struct Known {
    pub(crate) tool: &'static str,
    pub(crate) figure: &'static str,
    pub(crate) files: &'static [&'static str],
    pub(crate) why: &'static str,
}

impl Known {
    pub(crate) fn covers(&self, tool: &str, figure: &str, file: &str) -> bool {
        self.tool == tool && self.figure == figure && self.files.contains(&file)
    }
}

pub(crate) const KNOWN: &[Known] = &[];
