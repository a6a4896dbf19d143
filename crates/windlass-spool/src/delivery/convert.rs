//! Documents that a device does not take: filters of this host make others of them.

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

/// The longest that filters may take for a document: others wait.
const MAX_TIME: Duration = Duration::from_secs(900);

/// With less room than this on the disk for temporary files, filters fail for want of it.
const LEAST_ROOM: u64 = 1 << 20;

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
            return Err(Outcome::Failed(format!("ask the device what it prints: {what}")));
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
            let what = format!("convert its {what}: the disk of {} is full", folder.display());
            return Err(Outcome::Failed(what));
        }
        // What filters do not read in this time they never will.
        CommandEnd::Badly { code: Some(_), what: why } | CommandEnd::TooLate(why)
            if !delivery.monitor.is_stopped() =>
        {
            return Err(Outcome::Refused(format!("its {what} cannot be made {to}: {why}")));
        }
        CommandEnd::Badly { what: why, .. } | CommandEnd::TooLate(why) => {
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
