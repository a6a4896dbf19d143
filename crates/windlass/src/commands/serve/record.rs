//! What the server says: a line for each event.

use std::net::SocketAddr;

use serde::Serialize;
use windlass_base::Schema;
use windlass_drive::Protocol;
use windlass_drive::report::SideReport;
use windlass_drive::server::Event;
use windlass_drive::transfer::{Direction, Role, Transfer, Until};
use windlass_host::HostReport;

use crate::commands::watch;
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
        /// For whom.
        protocols: &'static [Protocol],
        address: SocketAddr,
    },
    DoesNotListen {
        /// For whom.
        protocols: &'static [Protocol],
        why: String,
    },
    Begins {
        test: u64,
        client: SocketAddr,
        protocol: Protocol,
        transfer: Transfer,
    },
    Ends {
        test: u64,
        client: SocketAddr,
        protocol: Protocol,
        /// What this end measured.
        server: SideReport,
        /// What the client measured; null where it could not say.
        client_report: Option<SideReport>,
        /// Why it did not end as it should; null where it did.
        failure: Option<String>,
        /// What this machine did meanwhile; null without --watch.
        watched: Option<Box<HostReport>>,
        /// Why that is not known, where it was asked for and is not.
        unwatched: Option<String>,
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

    pub(super) const fn listens(protocols: &'static [Protocol], address: SocketAddr) -> Self {
        Self::new(What::Listens { protocols, address })
    }

    pub(super) const fn does_not_listen(protocols: &'static [Protocol], why: String) -> Self {
        Self::new(What::DoesNotListen { protocols, why })
    }

    /// That of an event; of one that ends a test, with what was watched of it.
    pub(super) fn of(event: &Event<'_>, watched: Option<Result<HostReport, String>>) -> Self {
        let (watched, unwatched) = match watched {
            Some(Ok(host)) => (Some(Box::new(host)), None),
            Some(Err(why)) => (None, Some(why)),
            None => (None, None),
        };
        Self::new(match event {
            Event::Begins { test, client, protocol, transfer } => What::Begins {
                test: *test,
                client: *client,
                protocol: *protocol,
                transfer: (*transfer).clone(),
            },
            Event::Ends { test, client, protocol, near, far, failure } => What::Ends {
                test: *test,
                client: *client,
                protocol: *protocol,
                server: (*near).clone(),
                client_report: far.cloned(),
                failure: failure.map(ToString::to_string),
                watched,
                unwatched,
            },
            Event::Echoes { client } => What::Echoes { client: *client },
            Event::Refused { client, why } => What::Refused { client: *client, why: why.clone() },
        })
    }

    /// Why a test did not end as it should.
    pub(super) fn failure(&self) -> Option<String> {
        let What::Ends { failure, server, .. } = &self.what else { return None };
        let streams = server.directions.iter().find_map(|direction| direction.error.clone());
        failure.clone().or(streams)
    }

    pub(super) const fn is_end(&self) -> bool {
        matches!(self.what, What::Ends { .. })
    }
}

impl Record for Said {
    fn text(&self, page: &mut Page) {
        match &self.what {
            What::Listens { protocols, address } => {
                let line = match protocols {
                    [Protocol::Windlass, ..] => "listening on ".to_owned(),
                    protocols => format!("listening for {} on ", names(protocols)),
                };
                page.line(Text::from(line).strong(address.to_string()));
            }
            What::DoesNotListen { protocols, why } => {
                let line = format!("not listening for {}: ", names(protocols));
                page.line(Text::from(line).with(Style::Warn, why.as_str()));
            }
            What::Begins { test, client, protocol, transfer } => {
                let asked = asked(*protocol, transfer);
                page.line(Text::from(format!("test {test}  {client}  {asked}")));
            }
            What::Ends { test, client, server, failure, watched, unwatched, .. } => {
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
                if let Some(host) = watched {
                    watch::summary(page, host);
                    page.gap();
                }
                if let Some(why) = unwatched {
                    let head = format!("test {test}  {client}  ");
                    page.line(Text::from(head).with(Style::Warn, why.as_str()));
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

fn names(protocols: &[Protocol]) -> String {
    protocols.iter().map(|protocol| protocol.name()).collect::<Vec<_>>().join(" and ")
}

fn asked(protocol: Protocol, transfer: &Transfer) -> String {
    if protocol.is_plain() {
        return format!("{protocol} sends");
    }
    let amount = match transfer.until {
        Until::Time(time) => time.to_string(),
        Until::Bytes(bytes) => bytes.to_string(),
        Until::SourceEnds if protocol == Protocol::Windlass => "a file".to_owned(),
        Until::SourceEnds => "data".to_owned(),
    };
    let way = match transfer.direction {
        Direction::Forward => "sends",
        Direction::Reverse => "asks for",
        Direction::Both => "sends and asks for",
    };
    let streams = transfer.streams;
    let who = match protocol {
        Protocol::Windlass => String::new(),
        protocol => format!("{protocol} "),
    };
    format!("{who}{way} {amount} over {streams} stream{}", if streams == 1 { "" } else { "s" })
}
