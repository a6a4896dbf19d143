//! Target of a request: a printer, a job, or all printers.

use windlass_wire::escape;
use windlass_wire::ipp::server::IppRefusal;
use windlass_wire::ipp::{GroupTag, Status};

use super::operations::RequestHandler;
use crate::job::{JobId, StoredDocument};
use crate::table::{JobTable, Refusal};

/// Returns the index of the printer of a path; `None` if the path is that of all printers. A
/// removed printer that still has jobs counts.
fn of_path<D: StoredDocument>(
    path: &str,
    table: &JobTable<D>,
) -> Result<Option<usize>, IppRefusal> {
    let path = path.trim_end_matches('/');
    let name = ["/printers/", "/ipp/print/", "/classes/"]
        .iter()
        .find_map(|before| path.strip_prefix(before));
    match (name, path) {
        (Some(name), _) => Ok(Some(table.known_place(&escape::undone(name))?)),
        (None, "/ipp/print" | "/ipp") => Ok(Some(table.default_place()?)),
        (None, "" | "/printers" | "/jobs" | "/admin") => Ok(None),
        _ => Err(IppRefusal::new(Status::NOT_FOUND, format!("there is no printer at {path:?}"))),
    }
}

impl<D: StoredDocument> RequestHandler<'_, D> {
    /// Returns the index of the printer that a request is about; `None` for all printers.
    pub(super) fn place(&self) -> Result<Option<usize>, IppRefusal> {
        let Some(uri) = self.request.said("printer-uri") else {
            return Err(IppRefusal::new(Status::BAD_REQUEST, "the request has no printer-uri"));
        };
        of_path(path_of(&uri).unwrap_or(self.context.path), self.table)
    }

    /// Returns the index of the printer that a request is about, which must be a single one.
    pub(super) fn one_place(&self) -> Result<usize, IppRefusal> {
        let why = "the request names no printer";
        let place = self.place()?.ok_or_else(|| IppRefusal::new(Status::NOT_FOUND, why))?;
        let printer = &self.table.printers()[place];
        if printer.is_removed {
            // Only its jobs are still there.
            return Err(Refusal::NoPrinter(printer.settings.name.clone()).into());
        }
        Ok(place)
    }

    /// Returns the job of a request: by its own URI, or by its printer's URI and a number.
    pub(super) fn job(&self) -> Result<JobId, IppRefusal> {
        if let Some(uri) = self.request.said("job-uri") {
            let number = path_of(&uri).and_then(|path| path.strip_prefix("/jobs/"));
            let number = number.and_then(|number| number.parse().ok());
            let why =
                || IppRefusal::new(Status::NOT_FOUND, format!("{uri:?} is not the URI of a job"));
            return number.ok_or_else(why);
        }
        let place = self.place()?;
        let Some(id) = self.request.number(GroupTag::OPERATION, "job-id") else {
            return Err(IppRefusal::new(Status::BAD_REQUEST, "the request names no job"));
        };
        let id = JobId::try_from(id)
            .map_err(|_| IppRefusal::new(Status::BAD_REQUEST, "job-id must be 1 or more"))?;
        let known = self.table.job(id).ok_or(Refusal::NoJob(id))?;
        let is_there = place.is_none_or(|place| known.printer == place);
        if is_there { Ok(id) } else { Err(Refusal::NoJob(id).into()) }
    }
}

/// Returns the path of a URI.
fn path_of(uri: &str) -> Option<&str> {
    let rest = uri.split_once("://")?.1;
    let path = &rest[rest.find('/').unwrap_or(rest.len())..];
    Some(path.split(['?', '#']).next().unwrap_or(path))
}
