//! Documents that a device does not take: filters of this host make others of them.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{ChildStdin, Stdio};

use windlass_print::Target;
use windlass_spool_core::{Outcome, filter_options, respond};

use super::Delivery;
use super::command::{Ended, carry_out, prepared};
use crate::filters::{Filters, LAID_OUT, SHEETS};
use crate::store::Document;

/// Something that filters read.
pub(super) enum Source<'a> {
    /// A document of this format.
    Document(&'a Document, &'a str),
    /// A sheet of this name.
    Sheet(&'a str),
}

/// Makes a document for a device of one that it does not take, as a file without a name. The
/// filters run as commands do, confined, and have done what the job asks of its pages.
pub(super) fn converted(
    delivery: &Delivery<'_>,
    filters: &Filters,
    source: &Source<'_>,
    to: &str,
    target: &Target,
) -> Result<File, Outcome> {
    let failed = |error: io::Error| Outcome::Failed(format!("convert its document: {error}"));
    // Whoever runs the filters makes files there, and reads what the printer is.
    let folder = tempfile::Builder::new().prefix("windlass-").tempdir().map_err(failed)?;
    fs::set_permissions(folder.path(), Permissions::from_mode(0o1777)).map_err(failed)?;
    let ppd = folder.path().join("printer.ppd");
    let file = File::create(&ppd).map_err(failed)?;
    fs::set_permissions(&ppd, Permissions::from_mode(0o644)).map_err(failed)?;
    let mut asking = prepared(delivery, &filters.driverless, "driverless")?;
    asking.arg("cat").arg(target.uri()).stdout(file);
    if let Ended::Badly { what, .. } = carry_out(delivery, asking, "driverless", |_| Ok(()))? {
        return Err(Outcome::Failed(format!("ask the device what it prints: {what}")));
    }
    let made = tempfile::tempfile_in(folder.path()).map_err(failed)?;
    let mut filtering = prepared(delivery, &filters.cupsfilter, "cupsfilter")?;
    let ticket = &delivery.work.ticket;
    filtering
        .env("TMPDIR", folder.path())
        .args(["-m", if to == "application/pdf" { LAID_OUT } else { to }])
        .arg("-p")
        .arg(&ppd)
        // The device makes the copies.
        .args(["-n", "1", "-U", &plain(&ticket.user), "-t", &plain(&ticket.name)])
        .stdout(Stdio::from(made.try_clone().map_err(failed)?));
    let options = filter_options(&respond::template(&ticket.template));
    let (what, document) = match source {
        Source::Document(document, from) => {
            filtering.args(options.iter().flat_map(|option| ["-o", option]));
            filtering.args(["-i", from, "-"]);
            (*from, Some(document))
        }
        Source::Sheet(name) => {
            filtering.arg(Path::new(SHEETS).join(name));
            (*name, None)
        }
    };
    let feed = |stdin: &mut ChildStdin| {
        document.map_or(Ok(0), |document| io::copy(&mut document.reader(), stdin)).map(drop)
    };
    match carry_out(delivery, filtering, "cupsfilter", feed)? {
        Ended::Well => {}
        // What filters do not read they never will.
        Ended::Badly { code: Some(_), what: why } if !delivery.monitor.is_stopped() => {
            return Err(Outcome::Refused(format!("its {what} cannot be made {to}: {why}")));
        }
        Ended::Badly { what: why, .. } => {
            return Err(Outcome::Failed(format!("convert its {what}: {why}")));
        }
    }
    let is_empty = document.is_none_or(|document| document.size() == 0);
    if made.metadata().map_err(failed)?.len() == 0 && !is_empty {
        return Err(Outcome::Refused(format!("filters made nothing of its {what}")));
    }
    Ok(made)
}

/// A client's text as filters may have it in their words: some are scripts.
fn plain(text: &str) -> String {
    let is_fine = |one: char| one.is_alphanumeric() || " ._".contains(one);
    text.chars().take(128).map(|one| if is_fine(one) { one } else { '_' }).collect()
}
