//! What the server says: a line for each event.

use std::path::PathBuf;

use serde::Serialize;
use windlass_base::{Bytes, Schema, Timestamp};
use windlass_output::{Page, Record, Style, Text, figures};
use windlass_spool::store::Durability;
use windlass_spool::{Event, Spooler};

/// An event.
#[derive(Debug, Serialize)]
pub(super) struct Said {
    schema: Schema,
    /// When it was said.
    time: Timestamp,
    #[serde(flatten)]
    what: What,
}

#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
enum What {
    Opened {
        /// Null where jobs are in memory.
        spool: Option<PathBuf>,
        durability: Durability,
        /// When a job is acknowledged, in a sentence.
        promise: &'static str,
        printers: usize,
        /// Jobs that are not over.
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
        /// A word for what it was.
        kind: &'static str,
        text: String,
    },
    Ended {
        accepted: u64,
        refused: u64,
        completed: u64,
        canceled: u64,
        aborted: u64,
        /// Jobs that are not over.
        left: usize,
        accepted_bytes: Bytes,
        delivered_bytes: Bytes,
    },
}

/// Whose rights there are.
#[derive(Debug, Serialize)]
pub(super) struct Rights {
    /// What a server that root began keeps of root's, in a sentence; null where another
    /// began it.
    pub(super) server: Option<String>,
    /// Whom commands run as; null where there are none.
    pub(super) commands: Option<String>,
}

impl Said {
    /// The shape of the JSON, described by `schemas/spool-serve.schema.json`.
    const SCHEMA: Schema = Schema { name: "windlass.spool-serve", version: 1 };

    fn new(what: What) -> Self {
        Self { schema: Self::SCHEMA, time: windlass_host::now(), what }
    }

    pub(super) fn opened(
        spooler: &Spooler,
        spool: Option<PathBuf>,
        durability: Durability,
        rights: Rights,
    ) -> Self {
        let (printers, jobs) = spooler.look(|table| (table.listed().count(), table.active()));
        Self::new(What::Opened {
            spool,
            durability,
            promise: match durability {
                Durability::Memory => {
                    "a job is acknowledged when it is in memory, and lost with \
                                       the server"
                }
                Durability::Cache => {
                    "a job is acknowledged when the kernel has it: it outlives \
                                      the server, but not a loss of power"
                }
                Durability::Fsync => "a job is acknowledged when it is on the disk",
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
        Self::new(What::Listens { protocol, address: address.to_string(), printer })
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
        Self::new(What::Happened { kind, text: event.to_string() })
    }

    /// Its text with the time in front of each line, for a file that is read later.
    pub(super) fn with_time(&self, text: &[u8]) -> Vec<u8> {
        let time = self.time.to_string();
        let lines = text.split_inclusive(|byte| *byte == b'\n');
        lines.flat_map(|line| [time.as_bytes(), b" ", line].concat()).collect()
    }

    /// Something that people should know.
    pub(super) fn told(kind: &'static str, text: String) -> Self {
        Self::new(What::Happened { kind, text })
    }

    pub(super) fn warning(kind: &'static str, text: String) -> Self {
        Self::new(What::Happened { kind, text })
    }

    pub(super) fn ended(spooler: &Spooler) -> Self {
        spooler.look(|table| {
            let sum = |of: fn(&windlass_spool::Printer) -> u64| {
                table.printers().iter().map(of).sum::<u64>()
            };
            Self::new(What::Ended {
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

impl Record for Said {
    fn text(&self, page: &mut Page) {
        match &self.what {
            What::Opened {
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
                    .and(if *jobs == 1 { " waits (" } else { " wait (" })
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
            What::Listens { protocol, address, printer } => {
                let to = printer.as_ref().map_or(String::new(), |name| format!(" for {name}"));
                page.line(format!("listening for {protocol} on {address}{to}"));
            }
            What::Happened { kind, text } => {
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
            What::Ended { accepted, refused, completed, canceled, aborted, left, .. } => {
                page.line(format!(
                    "accepted {} and refused {}; delivered {}, canceled {}, given up {}; {} left",
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
