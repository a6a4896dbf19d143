//! What a request is about: a printer, a job, or all of them.

use windlass_wire::escape;
use windlass_wire::ipp::server::No;
use windlass_wire::ipp::{GroupTag, Status};

use super::operations::Asked;
use crate::job::{JobId, Stored};
use crate::table::{JobTable, Refusal};

/// A printer, or all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The printer of this place.
    One(usize),
    /// The server itself.
    All,
}

impl Place {
    /// That of a path.
    fn of_path<D: Stored>(path: &str, table: &JobTable<D>) -> Result<Self, No> {
        let path = path.trim_end_matches('/');
        let name = ["/printers/", "/ipp/print/", "/classes/"]
            .iter()
            .find_map(|before| path.strip_prefix(before));
        match name {
            Some(name) => {
                let name = escape::undone(name);
                Ok(table.place(&name).map(Self::One)?)
            }
            None if path == "/ipp/print" || path == "/ipp" => table.default_place().map_or_else(
                || Err(Refusal::NoPrinter(String::new()).into()),
                |place| Ok(Self::One(place)),
            ),
            None if matches!(path, "" | "/printers" | "/jobs" | "/admin") => Ok(Self::All),
            None => Err(No::new(Status::NOT_FOUND, format!("there is no printer at {path:?}"))),
        }
    }

    /// The printer, or none for all.
    pub(super) const fn place(self) -> Option<usize> {
        match self {
            Self::One(place) => Some(place),
            Self::All => None,
        }
    }

    /// The printer, where it has to be one.
    pub(super) fn one(self) -> Result<usize, No> {
        match self {
            Self::One(place) => Ok(place),
            Self::All => Err(No::new(Status::NOT_FOUND, "the request names no printer")),
        }
    }
}

impl<D: Stored> Asked<'_, D> {
    /// The printer, or all, that a request is about.
    pub(super) fn place(&self) -> Result<Place, No> {
        let Some(uri) = self.request.said("printer-uri") else {
            return Err(No::new(Status::BAD_REQUEST, "the request has no printer-uri"));
        };
        Place::of_path(path_of(&uri).unwrap_or(self.context.path), self.table)
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
        match place {
            Place::One(place) if known.printer != place => Err(Refusal::NoJob(id).into()),
            _ => Ok(id),
        }
    }
}

/// The path of a URI.
fn path_of(uri: &str) -> Option<&str> {
    let rest = uri.split_once("://")?.1;
    let path = &rest[rest.find('/').unwrap_or(rest.len())..];
    Some(path.split(['?', '#']).next().unwrap_or(path))
}
