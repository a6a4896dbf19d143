//! The programs that are compared.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::program::{is_there, windlass};

/// A program and how it is called.
pub(crate) struct Program {
    pub(crate) name: &'static str,
    before: &'static [&'static str],
    after: &'static [&'static str],
}

/// Returns the programs to compare, windlass first.
pub(crate) fn all() -> Vec<Program> {
    vec![
        Program { name: "windlass", before: &["explain"], after: &["--json"] },
        // The same and a page of it, for which it reads twice.
        Program { name: REPORT, before: &["report"], after: &[] },
        // Connections in the long form: the only one that counts what
        // `explain` counts.
        Program { name: "tcptrace", before: &["-l"], after: &[] },
        // Wireshark's own judgement of each packet.
        Program { name: "tshark", before: &["-q", "-z", "expert", "-r"], after: &[] },
        // Reading and writing the records, and nothing else.
        Program { name: "tcpdump", before: &["-r"], after: &["-w", "/dev/null"] },
        // The reading speed of the file itself.
        Program { name: "cat", before: &[], after: &[] },
    ]
}

/// Name of the program that makes a page.
pub(crate) const REPORT: &str = "windlass report";

/// The page that it makes of a capture.
pub(crate) fn page(capture: &Path) -> PathBuf {
    capture.with_extension("html")
}

impl Program {
    pub(crate) fn is_windlass(&self) -> bool {
        self.name.starts_with("windlass")
    }

    pub(crate) fn is_installed(&self) -> bool {
        self.is_windlass() || is_there(self.name)
    }

    /// The call on one capture.
    pub(crate) fn command(&self, capture: &Path) -> Command {
        let mut command = if self.is_windlass() { windlass() } else { Command::new(self.name) };
        command.args(self.before).arg(capture).args(self.after);
        if self.name == REPORT {
            command.arg("-o").arg(page(capture));
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }
}
