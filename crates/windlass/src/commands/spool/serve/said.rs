//! Output of the server: a line for each event.

use std::path::PathBuf;

use serde::Serialize;
use windlass_base::{Bytes, Schema, Timestamp};
use windlass_output::{Page, Record, Style, Text, figures};
use windlass_spool::store::Durability;
use windlass_spool::{Event, Spooler};

/// An event.
#[derive(Debug, Serialize)]
pub(super) struct ServerEvent {
    schema: Schema,
    /// Time of the event.
    time: Timestamp,
    #[serde(flatten)]
    what: EventDetails,
}

#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
enum EventDetails {
    Opened {
        /// Null if jobs are in memory.
        spool: Option<PathBuf>,
        durability: Durability,
        /// Sentence about the moment of acknowledgement.
        promise: &'static str,
        printers: usize,
        /// Unfinished jobs.
        jobs: usize,
        document_bytes: Bytes,
        rights: Rights,
    },
    Listens {
        protocol: &'static str,
        /// The address and the port, or the path of a Unix socket.
        address: String,
        /// The printer, for raw data.
        printer: Option<String>,
    },
    Happened {
        /// Kind of event.
        kind: &'static str,
        text: String,
    },
    Ended {
        accepted: u64,
        refused: u64,
        completed: u64,
        canceled: u64,
        aborted: u64,
        /// Unfinished jobs.
        left: usize,
        accepted_bytes: Bytes,
        delivered_bytes: Bytes,
    },
}

/// Rights of the server and of commands.
#[derive(Debug, Serialize)]
pub(super) struct Rights {
    /// Sentence about the rights of root that the server keeps; null if another user started it.
    pub(super) server: Option<String>,
    /// Users of commands; null without commands.
    pub(super) commands: Option<String>,
}

impl ServerEvent {
    /// The shape of the JSON, described by `schemas/spool-serve.schema.json`.
    const SCHEMA: Schema = Schema { name: "windlass.spool-serve", version: 1 };

    fn new(what: EventDetails) -> Self {
        Self { schema: Self::SCHEMA, time: windlass_host::now(), what }
    }

    pub(super) fn opened(
        spooler: &Spooler,
        spool: Option<PathBuf>,
        durability: Durability,
        rights: Rights,
    ) -> Self {
        let (printers, jobs) = spooler.look(|table| (table.listed().count(), table.active()));
        Self::new(EventDetails::Opened {
            spool,
            durability,
            promise: match durability {
                Durability::Memory => {
                    "jobs are acknowledged once they are in memory; they are lost \
                                       when the server ends"
                }
                Durability::Cache => {
                    "jobs are acknowledged once the kernel has them; they survive \
                                      any end of the server, but not a power failure"
                }
                Durability::Fsync => "jobs are acknowledged once they are on the disk",
            },
            printers,
            jobs,
            document_bytes: Bytes::new(spooler.usage().documents),
            rights,
        })
    }

    pub(super) fn listens(
        protocol: &'static str,
        address: &dyn std::fmt::Display,
        printer: Option<String>,
    ) -> Self {
        Self::new(EventDetails::Listens { protocol, address: address.to_string(), printer })
    }

    pub(super) fn of(event: &Event) -> Self {
        let kind = match event {
            Event::Failed { .. } => "device-failed",
            Event::Recovered { .. } => "device-recovered",
            Event::Stalled { .. } => "device-stalled",
            Event::Moves { .. } => "device-moves-again",
            Event::Full(_) => "spool-full",
            Event::Room => "spool-has-room",
            Event::OutOfFiles(_) => "out-of-files",
            Event::Broken(_) => "spool-broken",
            Event::Orphan(_) => "job-not-taken-up",
            Event::PageLog(Some(_)) => "page-log-failed",
            Event::PageLog(None) => "page-log-written-again",
            Event::DoesNotListen(_) => "does-not-listen",
            Event::Client { .. } => "client-failed",
        };
        Self::new(EventDetails::Happened { kind, text: event.to_string() })
    }

    /// Returns the text with the time before each line, for a log file.
    pub(super) fn with_time(&self, text: &[u8]) -> Vec<u8> {
        let time = self.time.to_string();
        let lines = text.split_inclusive(|byte| *byte == b'\n');
        lines.flat_map(|line| [time.as_bytes(), b" ", line].concat()).collect()
    }

    /// Returns a notice.
    pub(super) fn told(kind: &'static str, text: String) -> Self {
        Self::new(EventDetails::Happened { kind, text })
    }

    pub(super) fn warning(kind: &'static str, text: String) -> Self {
        Self::new(EventDetails::Happened { kind, text })
    }

    pub(super) fn ended(spooler: &Spooler) -> Self {
        spooler.look(|table| {
            let sum = |of: fn(&windlass_spool::Printer) -> u64| {
                table.printers().iter().map(of).sum::<u64>()
            };
            Self::new(EventDetails::Ended {
                accepted: sum(|one| one.counts.accepted),
                refused: sum(|one| one.counts.refused),
                completed: sum(|one| one.counts.completed),
                canceled: sum(|one| one.counts.canceled),
                aborted: sum(|one| one.counts.aborted),
                left: table.active(),
                accepted_bytes: Bytes::new(sum(|one| one.counts.bytes_in)),
                delivered_bytes: Bytes::new(sum(|one| one.counts.bytes_out)),
            })
        })
    }
}

impl Record for ServerEvent {
    fn text(&self, page: &mut Page) {
        match &self.what {
            EventDetails::Opened {
                spool,
                durability: _,
                promise,
                printers,
                jobs,
                document_bytes,
                rights,
            } => {
                let place =
                    spool.as_ref().map_or("memory".to_owned(), |at| at.display().to_string());
                let text = Text::from(format!("spool in {place}: "))
                    .and(figures::counted(*printers as u64, "printer"))
                    .and(", ")
                    .and(figures::counted(*jobs as u64, "job"))
                    .and(" waiting (")
                    .and(*document_bytes);
                page.line(text.and(")"));
                page.line(*promise);
                if let Some(server) = &rights.server {
                    page.line(server.clone());
                }
                if let Some(users) = &rights.commands {
                    page.line(format!("commands and filters run as {users}"));
                }
            }
            EventDetails::Listens { protocol, address, printer } => {
                let to = printer.as_ref().map_or(String::new(), |name| format!(" for {name}"));
                page.line(format!("listening for {protocol} on {address}{to}"));
            }
            EventDetails::Happened { kind, text } => {
                let is_good = matches!(
                    *kind,
                    "device-recovered"
                        | "device-moves-again"
                        | "spool-has-room"
                        | "settings-changed"
                        | "reloaded"
                        | "page-log-written-again"
                );
                let style = match *kind {
                    _ if is_good => Style::Good,
                    "certificate" => Style::Plain,
                    _ => Style::Warn,
                };
                page.line(Text::styled(style, text.clone()));
            }
            EventDetails::Ended {
                accepted, refused, completed, canceled, aborted, left, ..
            } => {
                page.line(format!(
                    "jobs: accepted {}, refused {}; completed {}, canceled {}, aborted {}; {} left",
                    figures::count(*accepted),
                    figures::count(*refused),
                    figures::count(*completed),
                    figures::count(*canceled),
                    figures::count(*aborted),
                    figures::count(*left as u64),
                ));
            }
        }
    }
}
