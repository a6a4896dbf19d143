//! Output of the server: one or two lines for each event.

pub mod view;

use windlass_base::figures::Share;
use windlass_base::thresholds::{BUSY_PROCESSORS, OTHER_PROGRAMS};
use windlass_drive::Protocol;
use windlass_drive::report::{DirectionReport, Machine};
use windlass_drive::server::Event;
use windlass_drive::transfer::{Direction, EndCondition, Role, Transfer};
use windlass_measure::serve::ServeReport;

use crate::records::host;
use crate::{Page, Record, Style, Text, figures};

impl Record for ServeReport {
    fn text(&self, page: &mut Page) {
        match &self.event {
            Event::Listens { protocols, udp, address } => {
                let line = match protocols {
                    [Protocol::Windlass, ..] if !udp => "listening on ".to_owned(),
                    protocols => format!("listening for {} on ", names(protocols, *udp)),
                };
                page.line(Text::from(line).strong(address.to_string()));
            }
            Event::DoesNotListen { protocols, udp, why } => {
                let line = format!("not listening for {}: ", names(protocols, *udp));
                page.line(Text::from(line).with(Style::Warn, why.as_str()));
            }
            Event::Begins { test, client, protocol, transfer } => {
                let asked = asked(*protocol, transfer);
                page.line(Text::from(format!("test {test}  {client}  {asked}")));
            }
            Event::Ends { test, client, near, failure, .. } => {
                for (place, direction) in near.directions.iter().enumerate() {
                    // All directions share one machine.
                    let machine = direction.machine.as_ref().filter(|machine| {
                        place == 0 && machine.busy_share >= BUSY_PROCESSORS.get()
                    });
                    let did = match direction.role {
                        Role::Sender => "sent",
                        Role::Receiver => "received",
                    };
                    page.line(
                        Text::from(format!("test {test}  {client}  {did} "))
                            .and(direction.bytes)
                            .and(datagrams(direction))
                            .and(" in ")
                            .and(direction.seconds)
                            .and(": ")
                            .strong(direction.bytes_per_second.in_bits())
                            .and(", ")
                            .and(figures::percent(direction.cpu.share))
                            .and(" of a processor")
                            .with(Style::Warn, machine.map(busy).unwrap_or_default()),
                    );
                }
                if let Some(failure) = failure {
                    let head = format!("test {test}  {client}  ");
                    page.line(Text::from(head).with(Style::Bad, failure.as_str()));
                }
                let Some(over) = &self.test else { return };
                if let Some(host) = &over.meanwhile.watched {
                    host::summary(page, host);
                    page.gap();
                }
                if let Some(why) = &over.unwatched {
                    let head = format!("test {test}  {client}  ");
                    page.line(Text::from(head).with(Style::Warn, why.as_str()));
                }
            }
            // The latency is part of its test.
            Event::Echoes { .. } => {}
            Event::Refused { client, why } => {
                page.line(Text::from(format!("{client}  ")).with(Style::Warn, why.as_str()));
            }
        }
    }
}

/// Returns the number of datagrams of a test over UDP.
fn datagrams(direction: &DirectionReport) -> Text {
    direction.datagrams.as_ref().map_or_else(Text::default, |datagrams| {
        let count = Text::from(" in ").and(figures::counted(datagrams.count, "datagram"));
        let count = match datagrams.lost.zip(datagrams.loss()).filter(|(lost, _)| *lost > 0) {
            Some((lost, share)) => {
                let share = Text::from(" (").and(figures::percent(share)).and(")");
                count.and(", ").and(figures::count(lost)).and(share).and(" lost")
            }
            None => count,
        };
        match datagrams.overflowed.filter(|overflowed| *overflowed > 0) {
            Some(overflowed) => {
                let least = if datagrams.overflowed_is_least { "at least " } else { "" };
                let lost = Text::from(format!(" (this socket dropped {least}"))
                    .and(figures::count(overflowed))
                    .and(" more)");
                count.and(lost)
            }
            None => count,
        }
    })
}

fn names(protocols: &[Protocol], udp: bool) -> String {
    let names = protocols.iter().map(|protocol| protocol.id()).collect::<Vec<_>>().join(" and ");
    if udp { format!("{names} by UDP") } else { names }
}

fn asked(protocol: Protocol, transfer: &Transfer) -> String {
    if protocol.is_plain() {
        return format!("{protocol} sends{}", if transfer.udp { " by UDP" } else { "" });
    }
    let amount = match transfer.until {
        EndCondition::Time(time) => time.to_string(),
        EndCondition::Bytes(bytes) => bytes.to_string(),
        EndCondition::SourceEnds if protocol == Protocol::Windlass => "a file".to_owned(),
        EndCondition::SourceEnds => "data".to_owned(),
    };
    let way = match transfer.direction {
        Direction::Forward => "sends",
        Direction::Reverse => "asks for",
        Direction::Both => "sends and asks for",
    };
    let streams = transfer.streams;
    let by = if transfer.udp { " by UDP" } else { "" };
    let who = match protocol {
        Protocol::Windlass => String::new(),
        protocol => format!("{protocol} "),
    };
    let plural = if streams == 1 { "" } else { "s" };
    format!("{who}{way} {amount}{by} over {streams} stream{plural}")
}

/// Returns the busy share of the processors, and the programs with most of it.
fn busy(machine: &Machine) -> String {
    let share = Share(machine.busy_share);
    let mut said = format!("; the processors of this machine were busy {share} of the time");
    let others = machine.others.iter().filter(|one| one.cpu_share >= OTHER_PROGRAMS.get());
    for (place, other) in others.enumerate() {
        said.push_str(if place == 0 { ": " } else { ", " });
        said.push_str(&format!("{} ({}) {} of one", other.name, other.pid, Share(other.cpu_share)));
    }
    said
}
