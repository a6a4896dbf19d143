//! Filters of this host: CUPS's `cupsfilter`, which picks those of cups-filters by their tables of
//! formats, and `driverless`, which asks a device what it prints.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;
use windlass_spool_core::Conversions;
use windlass_sys::privileges::Identity;

/// Folders that are searched for the programs.
const FOLDERS: [&str; 4] = ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin"];

/// Formats that clients send and filters may read.
const SENT: [&str; 9] = [
    "application/pdf",
    "application/postscript",
    "image/gif",
    "image/jpeg",
    "image/png",
    "image/pwg-raster",
    "image/tiff",
    "image/urf",
    "text/plain",
];

/// Format that all documents are converted to first: pages that filters can lay out.
pub(crate) const LAID_OUT: &str = "application/vnd.cups-pdf";

/// Programs that convert documents, if this host has them.
#[derive(Clone, Debug)]
pub(crate) struct Filters {
    pub(crate) cupsfilter: PathBuf,
    pub(crate) driverless: PathBuf,
    /// Conversions that the programs do.
    pub(crate) conversions: Conversions,
}

impl Filters {
    /// Returns whether this host has the programs.
    pub(crate) fn are_here() -> bool {
        program("cupsfilter").is_some() && program("driverless").is_some()
    }

    /// Finds the programs; `None` if this host has none. Removes temporary folders of servers that
    /// were killed.
    pub(crate) fn find() -> Option<Self> {
        clear(&std::env::temp_dir());
        let cupsfilter = program("cupsfilter")?;
        let driverless = program("driverless")?;
        let from = SENT.into_iter().filter(|from| can_read(&cupsfilter, from));
        let from: Vec<String> = from.map(str::to_owned).collect();
        let conversions = Conversions { from, sheets: sheets() };
        (!conversions.from.is_empty()).then_some(Self { cupsfilter, driverless, conversions })
    }
}

/// Prefix of the names of temporary folders, before the server's process id.
const FOLDER: &str = "windlass-filters-";

/// Creates a folder for temporary files of filters. Dropping it removes the folder.
pub(crate) fn folder() -> io::Result<TempDir> {
    let prefix = format!("{FOLDER}{}-", std::process::id());
    tempfile::Builder::new().prefix(&prefix).tempdir()
}

/// Removes temporary folders whose server is gone.
fn clear(folders: &Path) {
    for entry in std::fs::read_dir(folders).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(FOLDER)?.split('-').next());
        let Some(process) = process.filter(|number| number.parse::<u32>().is_ok()) else {
            continue;
        };
        // Does not follow links, which anybody may create there.
        let is_own = entry
            .metadata()
            .is_ok_and(|found| found.is_dir() && found.uid() == Identity::own().user);
        if is_own && !Path::new("/proc").join(process).exists() {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Folder of the sheets that filters print before and after a job.
pub(crate) const SHEETS: &str = "/usr/share/cups/banners";

/// Returns the names of the sheets that are valid IPP keywords.
fn sheets() -> Vec<String> {
    let entries = std::fs::read_dir(SHEETS).into_iter().flatten();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let is_word = |name: &String| {
        (1..=127).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let mut names: Vec<String> = names.filter(is_word).collect();
    names.sort_unstable();
    names
}

fn program(name: &str) -> Option<PathBuf> {
    FOLDERS.iter().map(|folder| Path::new(folder).join(name)).find(|path| path.is_file())
}

/// Returns whether there are filters that read a format. The program lists the filters, and runs
/// none.
fn can_read(cupsfilter: &Path, from: &str) -> bool {
    let mut command = Command::new(cupsfilter);
    command.args(["--list-filters", "-i", from, "-m", LAID_OUT, "/dev/null"]).env_clear();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_servers_that_are_gone_go() {
        let all = tempfile::tempdir().unwrap();
        let at = |name: &str| all.path().join(name);
        // No process has this number: they end at 2²² on Linux.
        let gone = at(&format!("{FOLDER}99999999-a"));
        let (own, other) = (at(&format!("{FOLDER}{}-b", std::process::id())), at("windlass-c"));
        for folder in [&gone, &own, &other] {
            std::fs::create_dir(folder).unwrap();
        }
        let link = at(&format!("{FOLDER}99999999-d"));
        std::os::unix::fs::symlink(&other, &link).unwrap();
        clear(all.path());
        assert!(!gone.exists() && own.exists() && other.exists() && link.exists());
    }
}
