//! What a request is about: a printer, a job, or all of them.

use windlass_wire::escape;
use windlass_wire::ipp::server::No;
use windlass_wire::ipp::{GroupTag, Status};

use super::operations::Asked;
use crate::job::{JobId, Stored};
use crate::table::{JobTable, Refusal};

/// The place of the printer of a path, which may be one that is removed and has jobs
/// still; none where that is of all of them.
fn of_path<D: Stored>(path: &str, table: &JobTable<D>) -> Result<Option<usize>, No> {
    let path = path.trim_end_matches('/');
    let name = ["/printers/", "/ipp/print/", "/classes/"]
        .iter()
        .find_map(|before| path.strip_prefix(before));
    match (name, path) {
        (Some(name), _) => Ok(Some(table.known_place(&escape::undone(name))?)),
        (None, "/ipp/print" | "/ipp") => Ok(Some(table.default_place()?)),
        (None, "" | "/printers" | "/jobs" | "/admin") => Ok(None),
        _ => Err(No::new(Status::NOT_FOUND, format!("there is no printer at {path:?}"))),
    }
}

impl<D: Stored> Asked<'_, D> {
    /// The place of the printer that a request is about; none where that is all.
    pub(super) fn place(&self) -> Result<Option<usize>, No> {
        let Some(uri) = self.request.said("printer-uri") else {
            return Err(No::new(Status::BAD_REQUEST, "the request has no printer-uri"));
        };
        of_path(path_of(&uri).unwrap_or(self.context.path), self.table)
    }

    /// The same, where it has to be one.
    pub(super) fn one_place(&self) -> Result<usize, No> {
        let why = "the request names no printer";
        let place = self.place()?.ok_or_else(|| No::new(Status::NOT_FOUND, why))?;
        let printer = &self.table.printers()[place];
        if printer.is_removed {
            // Its jobs are there, and nothing else.
            return Err(Refusal::NoPrinter(printer.settings.name.clone()).into());
        }
        Ok(place)
    }

    /// The job of a request: by its own URI, or by that of its printer and a number.
    pub(super) fn job(&self) -> Result<JobId, No> {
        if let Some(uri) = self.request.said("job-uri") {
            let number = path_of(&uri).and_then(|path| path.strip_prefix("/jobs/"));
            let number = number.and_then(|number| number.parse().ok());
            let why = || No::new(Status::NOT_FOUND, format!("{uri:?} is not the URI of a job"));
            return number.ok_or_else(why);
        }
        let place = self.place()?;
        let Some(id) = self.request.number(GroupTag::OPERATION, "job-id") else {
            return Err(No::new(Status::BAD_REQUEST, "the request names no job"));
        };
        let id = JobId::try_from(id)
            .map_err(|_| No::new(Status::BAD_REQUEST, "a job has a number from 1 on"))?;
        let known = self.table.job(id).ok_or(Refusal::NoJob(id))?;
        let is_there = place.is_none_or(|place| known.printer == place);
        if is_there { Ok(id) } else { Err(Refusal::NoJob(id).into()) }
    }
}

/// The path of a URI.
fn path_of(uri: &str) -> Option<&str> {
    let rest = uri.split_once("://")?.1;
    let path = &rest[rest.find('/').unwrap_or(rest.len())..];
    Some(path.split(['?', '#']).next().unwrap_or(path))
}
