//! Conversion of documents that a device does not take, by filters of this host.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{ChildStdin, Stdio};
use std::time::Duration;

use windlass_print::Target;
use windlass_spool_core::{Outcome, filter_options, respond};
use windlass_sys::file::available;

use super::Delivery;
use super::command::{CommandEnd, carry_out, prepared};
use crate::filters::{Filters, LAID_OUT, SHEETS, folder};
use crate::store::Document;

/// Maximum time of the filters for one document: other documents wait.
const MAX_TIME: Duration = Duration::from_secs(900);

/// Minimum free space for temporary files: with less, a filter's failure counts as a full disk.
const LEAST_ROOM: u64 = 1 << 20;

/// Input of the filters.
pub(super) enum Source<'a> {
    /// Document and its format.
    Document(&'a Document, &'a str),
    /// Name of a banner sheet.
    Sheet(&'a str),
}

/// Converts a document that the device does not take, into a file without a name. The filters run
/// confined, like commands, and apply the page options of the job.
pub(super) fn converted(
    delivery: &Delivery<'_>,
    filters: &Filters,
    source: &Source<'_>,
    to: &str,
    target: &Target,
) -> Result<File, Outcome> {
    let failed =
        |error: io::Error| Outcome::Failed(format!("cannot convert the document: {error}"));
    // The user of the filters creates files there, and reads the PPD file.
    let folder = folder().map_err(failed)?;
    fs::set_permissions(folder.path(), Permissions::from_mode(0o1777)).map_err(failed)?;
    let ppd = folder.path().join("printer.ppd");
    let file = File::create(&ppd).map_err(failed)?;
    fs::set_permissions(&ppd, Permissions::from_mode(0o644)).map_err(failed)?;
    let mut asking = prepared(delivery, &filters.driverless, "driverless")?;
    asking.arg("cat").arg(target.uri()).stdout(file);
    let most = delivery.commands.time.min(MAX_TIME);
    match carry_out(delivery, asking, "driverless", most, |_| Ok(()))? {
        CommandEnd::Well => {}
        CommandEnd::Badly { what, .. } | CommandEnd::TooLate(what) => {
            return Err(Outcome::Failed(format!("cannot ask the device for its formats: {what}")));
        }
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
    let has_room = || available(folder.path()).is_ok_and(|free| free >= LEAST_ROOM);
    match carry_out(delivery, filtering, "cupsfilter", most, feed)? {
        CommandEnd::Well => {}
        CommandEnd::Badly { .. } if !has_room() => {
            let folder = std::env::temp_dir();
            let what =
                format!("cannot convert its {what}: the disk of {} is full", folder.display());
            return Err(Outcome::Failed(what));
        }
        // A document that the filters cannot read in this time, they never will.
        CommandEnd::Badly { code: Some(_), what: why } | CommandEnd::TooLate(why)
            if !delivery.monitor.is_stopped() =>
        {
            return Err(Outcome::Refused(format!("its {what} cannot be converted to {to}: {why}")));
        }
        CommandEnd::Badly { what: why, .. } | CommandEnd::TooLate(why) => {
            return Err(Outcome::Failed(format!("cannot convert its {what}: {why}")));
        }
    }
    let is_empty = document.is_none_or(|document| document.size() == 0);
    if made.metadata().map_err(failed)?.len() == 0 && !is_empty {
        return Err(Outcome::Refused(format!("the filters produced no output for its {what}")));
    }
    Ok(made)
}

/// Returns a client's text without special characters, for the command line of a filter: some
/// filters are scripts.
fn plain(text: &str) -> String {
    let is_fine = |one: char| one.is_alphanumeric() || " ._".contains(one);
    text.chars().take(128).map(|one| if is_fine(one) { one } else { '_' }).collect()
}
