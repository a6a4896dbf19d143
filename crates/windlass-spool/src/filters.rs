//! Filters of this host: CUPS's `cupsfilter`, which picks those of cups-filters by their tables of
//! formats, and `driverless`, which asks a device what it prints.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use windlass_spool_core::Conversions;

/// Where programs are looked for.
const FOLDERS: [&str; 4] = ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin"];

/// Formats that clients send, and filters may read.
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

/// The format to which all of them go first: pages that filters can lay out.
pub(crate) const LAID_OUT: &str = "application/vnd.cups-pdf";

/// The programs that convert documents, where this host has them.
#[derive(Clone, Debug)]
pub(crate) struct Filters {
    pub(crate) cupsfilter: PathBuf,
    pub(crate) driverless: PathBuf,
    /// Conversions that they do.
    pub(crate) conversions: Conversions,
}

impl Filters {
    /// Returns whether this host has them.
    pub(crate) fn are_here() -> bool {
        program("cupsfilter").is_some() && program("driverless").is_some()
    }

    /// Looks for them; none where this host has none.
    pub(crate) fn find() -> Option<Self> {
        let cupsfilter = program("cupsfilter")?;
        let driverless = program("driverless")?;
        let from = SENT.into_iter().filter(|from| can_read(&cupsfilter, from));
        let from: Vec<String> = from.map(str::to_owned).collect();
        let conversions = Conversions { from, sheets: sheets() };
        (!conversions.from.is_empty()).then_some(Self { cupsfilter, driverless, conversions })
    }
}

/// Where the sheets are that filters print before and behind a job.
pub(crate) const SHEETS: &str = "/usr/share/cups/banners";

/// The names of sheets that there are, as far as IPP has words for such.
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

/// Returns whether there are filters that read a format: it names them, and runs none.
fn can_read(cupsfilter: &Path, from: &str) -> bool {
    let mut command = Command::new(cupsfilter);
    command.args(["--list-filters", "-i", from, "-m", LAID_OUT, "/dev/null"]).env_clear();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
