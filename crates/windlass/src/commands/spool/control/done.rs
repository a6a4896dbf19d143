//! Actions on jobs and printers.

use serde::Serialize;
use windlass_base::{Failure, Schema};
use windlass_output::{Page, Record, Style, Text, figures};
use windlass_print::load::names;
use windlass_print::{Asker, Error};
use windlass_wire::ipp::{Group, Message};

use super::jobs::list;
use super::server::Server;
use super::{Deed, JobArgs, PrinterArgs, failed};
use crate::commands::login;

/// Maximum number of a printer's jobs in one command.
const MAX_JOBS: usize = 10_000_000;

/// Maximum number of lines of a report.
const MAX_LINES: usize = 20;

/// Result of an action.
#[derive(Debug, Serialize)]
pub(super) struct ControlReport {
    schema: Schema,
    server: String,
    /// The action: held, released, canceled, restarted, stopped, started, moved,
    /// added, set, removed, made the default.
    deed: &'static str,
    /// Jobs, printers or classes.
    of: &'static str,
    done: u64,
    refused: Vec<RefusedAction>,
    #[serde(skip)]
    first: Vec<String>,
    /// True if the server asked for a login.
    #[serde(skip)]
    was_asked: bool,
}

/// A refused action.
#[derive(Debug, Serialize)]
struct RefusedAction {
    /// A job's number, or a printer's name.
    name: String,
    why: String,
}

impl ControlReport {
    pub(super) fn new(server: &Server, deed: &'static str, of: &'static str) -> Self {
        Self {
            schema: Schema { name: "windlass.spool-control", version: 1 },
            server: server.authority(),
            deed,
            of,
            done: 0,
            refused: Vec::new(),
            first: Vec::new(),
            was_asked: false,
        }
    }

    /// Counts an answer. An error that is no answer ends the command.
    fn count(&mut self, name: String, answer: Result<(), Error>) -> Result<(), Error> {
        match answer {
            Ok(()) => {
                self.done += 1;
                if self.first.len() < MAX_LINES {
                    self.first.push(name);
                }
                Ok(())
            }
            Err(error @ (Error::Ipp { .. } | Error::Http { .. })) => {
                self.was_asked |= matches!(error, Error::Http { status: 401 | 426, .. });
                self.refused.push(RefusedAction { name, why: error.to_string() });
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Returns a failure if anything was refused.
    pub(super) fn failure(&self) -> Option<Failure> {
        if self.refused.is_empty() {
            return None;
        }
        let (refused, all) = (self.refused.len() as u64, self.done + self.refused.len() as u64);
        let wrong = format!("{} of {} were refused", figures::count(refused), figures::count(all));
        let failure = Failure::new(format!("not all {} were {}", self.of, self.deed), wrong);
        Some(if self.was_asked { failure.advise(login::ADVICE) } else { failure })
    }
}

/// Performs an action on jobs.
pub(super) fn with_jobs(args: &JobArgs, deed: Deed) -> Result<ControlReport, Failure> {
    let server = &Server::new(&args.server)?;
    let doing = format!("the jobs on {} were not {}", server.authority(), deed.past);
    let mut ids = args.jobs.clone();
    for printer in &args.printer {
        let uri = server.printer(printer);
        let (jobs, _) = list(server, &uri, deed.which, MAX_JOBS, &["job-id"])
            .map_err(|error| failed(doing.clone(), &error))?;
        let found = jobs.iter().filter_map(|group: &Group| group.number("job-id"));
        ids.extend(found.filter_map(|id| u32::try_from(id).ok()));
    }
    let report = ControlReport::new(server, deed.past, "jobs");
    let names = ids.iter().map(u32::to_string);
    with_each(server, report, doing, names, |asker, id| {
        asker.request_of_job(deed.operation, &server.job(id))
    })
}

/// Performs an action on printers.
pub(super) fn with_printers(args: &PrinterArgs, deed: Deed) -> Result<ControlReport, Failure> {
    let server = &Server::new(&args.server)?;
    let doing = format!("the printers on {} were not {}", server.authority(), deed.past);
    let mut printers = Vec::new();
    for pattern in &args.printers {
        printers.extend(names(pattern).map_err(|error| Failure::usage(&doing, error))?);
    }
    let report = ControlReport::new(server, deed.past, "printers");
    with_each(server, report, doing, printers, |asker, name| {
        asker.request(deed.operation, &server.printer(name))
    })
}

/// Sends one request for each name.
pub(super) fn with_each(
    server: &Server,
    mut report: ControlReport,
    doing: String,
    names: impl IntoIterator<Item = String>,
    request: impl Fn(&mut Asker<'_>, &str) -> Message,
) -> Result<ControlReport, Failure> {
    let asked = server.asking(|asker| {
        names.into_iter().try_for_each(|name| {
            let request = request(asker, &name);
            let answer = asker.ask(&request).map(|_| ());
            report.count(name, answer)
        })
    });
    asked.map_err(|error| {
        let doing = match report.done {
            0 => doing,
            done => format!("{doing} ({} succeeded)", figures::count(done)),
        };
        failed(doing, &error)
    })?;
    Ok(report)
}

impl Record for ControlReport {
    fn text(&self, page: &mut Page) {
        let Self { deed, of, done, .. } = self;
        let shown = self.first.len() as u64;
        match *done {
            0 if self.refused.is_empty() => page.line(format!("no {of} to be {deed}")),
            0 => {}
            done if done == shown => page.line(format!("{deed}: {}", self.first.join(" "))),
            done => page.line(format!("{deed}: {} {of}", figures::count(done))),
        }
        for RefusedAction { name, why } in self.refused.iter().take(MAX_LINES) {
            page.line(Text::styled(Style::Warn, format!("{name}: {why}").as_str()));
        }
        if self.refused.len() > MAX_LINES {
            let more = figures::count((self.refused.len() - MAX_LINES) as u64);
            page.line(format!("… and {more} more"));
        }
    }
}
