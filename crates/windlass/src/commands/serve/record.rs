//! What the server says: a line for each event.

use std::net::SocketAddr;

use serde::Serialize;
use windlass_base::Schema;
use windlass_drive::report::SideReport;
use windlass_drive::server::Event;
use windlass_drive::transfer::{Direction, Role, Transfer, Until};

use crate::print::{Page, Record, Style, Text, figures};

/// An event.
#[derive(Debug, Serialize)]
pub(super) struct Said {
    schema: Schema,
    #[serde(flatten)]
    what: What,
}

#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
enum What {
    Listens {
        address: SocketAddr,
    },
    Begins {
        test: u64,
        client: SocketAddr,
        transfer: Transfer,
    },
    Ends {
        test: u64,
        client: SocketAddr,
        /// What this end measured.
        server: SideReport,
        /// What the client measured; null where it could not say.
        client_report: Option<SideReport>,
        /// Why it did not end as it should; null where it did.
        failure: Option<String>,
    },
    Echoes {
        client: SocketAddr,
    },
    Refused {
        client: SocketAddr,
        why: String,
    },
}

impl Said {
    /// The shape of the JSON, described by `schemas/serve.schema.json`.
    const SCHEMA: Schema = Schema { name: "windlass.serve", version: 1 };

    const fn new(what: What) -> Self {
        Self { schema: Self::SCHEMA, what }
    }

    pub(super) const fn listens(address: SocketAddr) -> Self {
        Self::new(What::Listens { address })
    }

    pub(super) fn of(event: &Event<'_>) -> Self {
        Self::new(match event {
            Event::Begins { test, client, transfer } => {
                What::Begins { test: *test, client: *client, transfer: (*transfer).clone() }
            }
            Event::Ends { test, client, near, far, failure } => What::Ends {
                test: *test,
                client: *client,
                server: (*near).clone(),
                client_report: far.cloned(),
                failure: failure.map(ToString::to_string),
            },
            Event::Echoes { client } => What::Echoes { client: *client },
            Event::Refused { client, why } => What::Refused { client: *client, why: why.clone() },
        })
    }

    pub(super) const fn is_end(&self) -> bool {
        matches!(self.what, What::Ends { .. })
    }
}

impl Record for Said {
    fn text(&self, page: &mut Page) {
        match &self.what {
            What::Listens { address } => {
                page.line(Text::from("listening on ").strong(address.to_string()));
            }
            What::Begins { test, client, transfer } => {
                page.line(Text::from(format!("test {test}  {client}  {}", asked(transfer))));
            }
            What::Ends { test, client, server, failure, .. } => {
                for direction in &server.directions {
                    let did = match direction.role {
                        Role::Sender => "sent",
                        Role::Receiver => "received",
                    };
                    page.line(
                        Text::from(format!("test {test}  {client}  {did} "))
                            .and(direction.bytes)
                            .and(" in ")
                            .and(direction.seconds)
                            .and(": ")
                            .strong(direction.bytes_per_second.in_bits())
                            .and(", ")
                            .and(figures::percent(direction.cpu.share))
                            .and(" of a processor"),
                    );
                }
                if let Some(failure) = failure {
                    let head = format!("test {test}  {client}  ");
                    page.line(Text::from(head).with(Style::Bad, failure.as_str()));
                }
            }
            // The latency beside a test is a part of it.
            What::Echoes { .. } => {}
            What::Refused { client, why } => {
                page.line(Text::from(format!("{client}  ")).with(Style::Warn, why.as_str()));
            }
        }
    }
}

fn asked(transfer: &Transfer) -> String {
    let amount = match transfer.until {
        Until::Time(time) => time.to_string(),
        Until::Bytes(bytes) => bytes.to_string(),
        Until::SourceEnds => "a file".to_owned(),
    };
    let way = match transfer.direction {
        Direction::Forward => "sends",
        Direction::Reverse => "asks for",
        Direction::Both => "sends and asks for",
    };
    let streams = transfer.streams;
    format!("{way} {amount} over {streams} stream{}", if streams == 1 { "" } else { "s" })
}
