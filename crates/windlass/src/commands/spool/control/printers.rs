//! The printers of a spool.

use serde::Serialize;
use windlass_base::{Failure, Schema};
use windlass_output::{Page, Record, Style, Table, Text, figures};
use windlass_wire::ipp::{Group, GroupTag, Operation, PrinterState, Value};

use super::jobs::{text, texts};
use super::server::Server;
use super::{PrintersArgs, failed};

/// Attributes to request of each printer.
const WANTED: [&str; 8] = [
    "printer-name",
    "printer-state",
    "printer-state-reasons",
    "printer-state-message",
    "printer-is-accepting-jobs",
    "queued-job-count",
    "printer-info",
    "printer-location",
];

/// Attribute of windlass's server: the number of waiting jobs whose printers are removed.
const JOBS_OF_REMOVED: &str = "windlass-jobs-of-removed-printers";

/// The printers of a spool.
#[derive(Debug, Serialize)]
pub(super) struct PrintersReport {
    schema: Schema,
    server: String,
    printers: Vec<Printer>,
    /// Jobs of removed printers.
    jobs_of_removed_printers: u64,
    /// Jobs of all listed printers.
    jobs: u64,
}

#[derive(Debug, Serialize)]
struct Printer {
    name: String,
    /// idle, processing or stopped; unknown if the server does not report it.
    state: &'static str,
    reasons: Vec<String>,
    message: String,
    accepting: Option<bool>,
    jobs: u64,
    info: String,
    location: String,
}

impl Printer {
    fn of(group: &Group) -> Option<Self> {
        let accepting = match group.value("printer-is-accepting-jobs") {
            Some(Value::Boolean(yes)) => Some(*yes),
            _ => None,
        };
        Some(Self {
            name: text(group, "printer-name")?,
            state: group
                .number("printer-state")
                .and_then(PrinterState::new)
                .map_or("unknown", PrinterState::id),
            reasons: texts(group, "printer-state-reasons"),
            message: text(group, "printer-state-message").unwrap_or_default(),
            accepting,
            jobs: group.number("queued-job-count").and_then(|jobs| u64::try_from(jobs).ok())?,
            info: text(group, "printer-info").unwrap_or_default(),
            location: text(group, "printer-location").unwrap_or_default(),
        })
    }
}

/// Asks for printers: all, or those that are named.
pub(super) fn ask(args: &PrintersArgs) -> Result<PrintersReport, Failure> {
    let server = &Server::new(&args.server)?;
    let doing = || format!("cannot list the printers of {}", server.authority());
    let groups = server
        .asking(|asker| {
            if args.printers.is_empty() {
                let mut request = asker.request(Operation::CUPS_GET_PRINTERS, &server.uri());
                request.want(&WANTED);
                return asker.ask(&request).map(|answer| answer.groups);
            }
            let mut groups = Vec::new();
            for name in &args.printers {
                let uri = server.printer(name);
                let mut request = asker.request(Operation::GET_PRINTER_ATTRIBUTES, &uri);
                request.want(&WANTED);
                groups.extend(asker.ask(&request)?.groups);
            }
            Ok(groups)
        })
        .map_err(|error| failed(doing(), &error))?;
    let printers = groups.iter().filter(|group| group.tag == GroupTag::PRINTER);
    let printers: Vec<Printer> = printers.filter_map(Printer::of).collect();
    let mut operation = groups.iter().filter(|group| group.tag == GroupTag::OPERATION);
    let of_removed = operation.find_map(|group| group.number(JOBS_OF_REMOVED));
    let of_removed = of_removed.and_then(|jobs| u64::try_from(jobs).ok()).unwrap_or(0);
    Ok(PrintersReport {
        schema: Schema { name: "windlass.spool-printers", version: 1 },
        server: server.authority(),
        jobs: printers.iter().map(|printer| printer.jobs).sum::<u64>() + of_removed,
        jobs_of_removed_printers: of_removed,
        printers,
    })
}

impl Record for PrintersReport {
    fn text(&self, page: &mut Page) {
        if self.printers.is_empty() && self.jobs == 0 {
            page.line("no printers");
            return;
        }
        let mut table = Table::headed("printer | jobs: | state | about");
        for printer in &self.printers {
            let is_failing =
                printer.reasons.iter().any(|one| one.starts_with("connecting-to-device"));
            let is_stalled = printer.reasons.iter().any(|one| one.starts_with("timed-out"));
            let state = match printer.state {
                "stopped" => "stopped",
                _ if is_failing => "device fails",
                _ if is_stalled => "device stalls",
                state => state,
            };
            let is_fine = !is_failing && !is_stalled && printer.state != "stopped";
            let style = if is_fine { Style::Plain } else { Style::Warn };
            let closed = if printer.accepting == Some(false) { ", rejects jobs" } else { "" };
            let about = [&printer.message, &printer.info, &printer.location];
            let about = about.into_iter().find(|text| !text.is_empty() && **text != printer.name);
            table.push([
                printer.name.as_str().into(),
                printer.jobs.into(),
                Text::styled(style, format!("{state}{closed}").as_str()),
                about.map_or("", String::as_str).into(),
            ]);
        }
        page.table(&table);
        if self.jobs_of_removed_printers > 0 {
            let jobs = figures::counted(self.jobs_of_removed_printers, "job");
            page.line(jobs.and(" of removed printers"));
        }
        page.line(Text::from("total: ").and(figures::counted(self.jobs, "job")));
    }
}
