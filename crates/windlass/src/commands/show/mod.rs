//! `windlass show`: a conversation packet by packet.

mod numbers;
mod xplot;

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use windlass_base::values::{self, PacketRange};
use windlass_base::{Failure, Schema, Span, Timestamp};
use windlass_capture::{CaptureFacts, FirstPass, ReadSettings};
use windlass_output::records::not_tcp;
use windlass_output::{Column, Output, Page, Record, Style, Table, Text, figures};
use windlass_trace::Keep;
use windlass_wire::{Endpoint, Observer, Segment};

use self::numbers::Numbers;
use super::annotate::{Notes, notes_on};
use super::unwritten;
use crate::arguments::{CaptureArgs, FilterArgs, JsonArgs, RangeArgs, is_picked};
use crate::reading;

/// The arguments of `windlass show`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass show upload.pcap
  windlass show upload.pcap --connection 2 --packets 100..200
  windlass show upload.pcap --all --port 9100
  windlass show upload.pcap --xplot upload.xpl && xplot upload.xpl
  windlass show upload.pcap --json | jq 'select(.notes != [])'

With --json the first line describes the capture, and each line after it one packet.")]
pub struct ShowArgs {
    /// The capture.
    #[command(flatten)]
    pub capture: CaptureArgs,

    /// Show only connection number N of the report
    #[arg(long, value_name = "N", conflicts_with = "all")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    #[arg(help_heading = "Which connections")]
    pub connection: Option<u64>,

    /// Show all connections, with packets in the order of the capture
    #[arg(long, help_heading = "Which connections")]
    pub all: bool,

    /// Connection filters.
    #[command(flatten)]
    pub filter: FilterArgs,

    /// Range of the capture.
    #[command(flatten)]
    pub range: RangeArgs,

    /// Show only these packets: 10..20 (both included), 10.., ..20 or 10
    #[arg(long, value_name = "A..B", value_parser = values::packets)]
    pub packets: Option<PacketRange>,

    /// Write a time-sequence graph for xplot instead: sequence numbers over time, with ACKs and
    /// window. FILE holds the direction with more data. A second file, such as upload.back.xpl
    /// for upload.xpl, holds the other direction if it carried data
    #[arg(long, value_name = "FILE", conflicts_with = "all", help_heading = "Output")]
    pub xplot: Option<PathBuf>,

    /// Text or JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// The first record of `windlass show`; the packets follow.
#[derive(Debug, Serialize)]
struct Heading {
    schema: Schema,
    capture: CaptureFacts,
    /// The connection that is shown; null with `--all`.
    connection: Option<u64>,
    sender: Option<String>,
    receiver: Option<String>,
}

/// One packet of a conversation.
#[derive(Debug, Serialize)]
struct Row {
    /// As Wireshark counts.
    packet: u64,
    /// From 1 in order of appearance; 0 for a late packet of an ended connection.
    connection: u64,
    /// From the first packet that is shown.
    seconds: Span,
    /// From the previous packet.
    delta_seconds: Span,
    source: String,
    destination: String,
    /// True if the packet goes from the sender to the receiver.
    from_sender: bool,
    flags: String,
    /// Sequence number from the start of its direction; null if the capture does not show it.
    sequence: Option<u64>,
    bytes: u32,
    /// From the start of the other direction.
    acknowledgment: Option<u64>,
    /// Window in bytes, scaled if the handshake shows the scale.
    window_bytes: Option<u64>,
    notes: Vec<String>,
    #[serde(skip)]
    wide: bool,
}

impl Heading {
    /// The shape of the lines, described by `schemas/show.schema.json`.
    const SCHEMA: Schema = Schema { name: "windlass.show", version: 1 };
}

impl Record for Heading {
    fn text(&self, page: &mut Page) {
        let mut head = Text::default().strong(self.capture.file.as_str());
        head = head.and(": ").and(figures::counted(self.capture.packets, "packet"));
        if let Some(connection) = self.connection {
            head = head.and(format!(", connection {connection}"));
        }
        page.paragraph(head);
        if let Some(damage) = &self.capture.damage {
            page.paragraph(Text::styled(
                Style::Warn,
                format!("Damaged {damage}. Everything before it is shown."),
            ));
        }
        if let (Some(sender), Some(receiver)) = (&self.sender, &self.receiver) {
            page.paragraph(format!("→ is {sender} to {receiver}, ← the answers"));
        }
        page.gap();
        page.line(Text::styled(Style::Dim, table(self.connection.is_none()).head()));
    }
}

fn table(wide: bool) -> Table {
    let mut columns = vec![Column::right("packet").least(7), Column::right("delta").least(9)];
    columns.push(if wide { Column::left("from → to").least(42) } else { Column::left("") });
    columns.extend([
        Column::left("flags").least(5),
        Column::right("bytes").least(6),
        Column::right("seq").least(10),
        Column::right("ack").least(10),
        Column::right("window").least(8),
        Column::left("notes"),
    ]);
    Table::new(columns)
}

impl Record for Row {
    fn text(&self, page: &mut Page) {
        let number = |number: Option<u64>| number.map_or_else(Text::default, Text::from);
        let way = match (self.wide, self.from_sender) {
            (true, _) => Text::whole(&format!("{} → {}", self.source, self.destination)),
            (false, true) => Text::styled(Style::Hue(0), "→"),
            (false, false) => Text::styled(Style::Hue(1), "←"),
        };
        let bytes = (self.bytes > 0).then_some(u64::from(self.bytes));
        let cells = [
            number(Some(self.packet)),
            Text::from(self.delta_seconds),
            way,
            Text::from(self.flags.as_str()),
            number(bytes),
            number(self.sequence),
            number(self.acknowledgment),
            number(self.window_bytes),
            Text::styled(Style::Warn, self.notes.join("; ").as_str()),
        ];
        page.line(table(self.wide).line(&cells));
    }
}

/// Runs the command.
pub fn run(args: &ShowArgs, output: &mut Output) -> anyhow::Result<()> {
    let reading = ReadSettings {
        file: &args.capture.file,
        filter: args.filter.into(),
        range: args.range.into(),
        follow: false,
        doing: "show",
    };
    let keep = args.connection.map_or(Keep::Largest(1), Keep::Only);
    if let Some(path) = &args.xplot {
        xplot::check(&args.capture.file, path)?;
        let first = FirstPass::over(&reading, keep, (), |pass| reading::read(&reading, pass))?;
        let number = chosen(args, &first)?.unwrap_or(1);
        let drawn = xplot::draw(args, path, &reading, first, number)?;
        return output.print(&drawn).map_err(unwritten);
    }
    let first = FirstPass::over(&reading, keep, Vec::new(), |pass| reading::read(&reading, pass))?;
    let shown = chosen(args, &first)?;
    let FirstPass { read, connections, mut notes, again, .. } = first;
    notes.sort_by_key(|(number, _)| *number);
    let ends = connections.first().filter(|connection| Some(connection.number()) == shown);
    let heading = Heading {
        schema: Heading::SCHEMA,
        capture: CaptureFacts::new(args.capture.name(), &read),
        connection: shown,
        sender: ends.map(|connection| read.name(connection.sender())),
        receiver: ends.map(|connection| read.name(connection.receiver())),
    };
    output.print_line(&heading).map_err(unwritten)?;
    let mut second = PrintPass {
        output,
        shown,
        range: args.packets,
        sender: ends.map(windlass_trace::Transfer::sender),
        analyzer: windlass_trace::Analyzer::new(Keep::Largest(0)),
        numbers: Numbers::default(),
        notes: notes.into_iter().peekable(),
        name: &|end| read.name(end),
        first: None,
        before: None,
        failed: None,
    };
    again.read(&mut second, |second| reading::read(&reading, second))?;
    match second.failed {
        Some(error) => Err(unwritten(error)),
        None => Ok(()),
    }
}

/// Returns the number of the shown connection; `None` with `--all`.
fn chosen<N>(args: &ShowArgs, first: &FirstPass<N>) -> anyhow::Result<Option<u64>> {
    let doing = format!("cannot show {}", args.capture.name());
    let totals = first.totals;
    if totals.connections == 0 {
        let facts = CaptureFacts::new(args.capture.name(), &first.read);
        return Err(
            not_tcp::nothing_there(doing, &facts, is_picked(args.filter, args.range)).into()
        );
    }
    match (args.all, args.connection) {
        (true, _) => Ok(None),
        (false, Some(number)) if number > totals.connections => {
            let wrong =
                format!("there is no connection {number}; there are {}", totals.connections);
            Err(Failure::new(doing, wrong).advise("`windlass explain --all` lists them.").into())
        }
        (false, Some(number)) => Ok(Some(number)),
        (false, None) => {
            Ok(Some(first.connections.first().map_or(1, windlass_trace::Transfer::number)))
        }
    }
}

/// The second pass: prints.
struct PrintPass<'a> {
    output: &'a mut Output,
    shown: Option<u64>,
    range: Option<PacketRange>,
    sender: Option<Endpoint>,
    analyzer: windlass_trace::Analyzer,
    numbers: Numbers,
    notes: Notes,
    name: &'a dyn Fn(Endpoint) -> String,
    first: Option<Timestamp>,
    before: Option<Timestamp>,
    failed: Option<std::io::Error>,
}

impl Observer for PrintPass<'_> {
    fn segment(&mut self, segment: &Segment) {
        if self.failed.is_some() {
            return;
        }
        let connection = self.analyzer.segment(segment, &mut ());
        let notes = notes_on(&mut self.notes, segment.number);
        if self.shown.is_some_and(|shown| shown != connection) {
            return;
        }
        let relative = self.numbers.relative(connection, segment);
        if self.range.is_some_and(|range| !range.contains(segment.number)) {
            return;
        }
        let first = *self.first.get_or_insert(segment.time);
        let before = self.before.replace(segment.time).unwrap_or(segment.time);
        let sender = self.sender.unwrap_or(segment.source);
        let row = Row {
            packet: segment.number,
            connection,
            seconds: segment.time.since(first),
            delta_seconds: segment.time.since(before),
            source: (self.name)(segment.source),
            destination: (self.name)(segment.destination),
            from_sender: segment.source == sender,
            flags: segment.flags.to_string(),
            sequence: relative.sequence,
            bytes: segment.payload,
            acknowledgment: relative.acknowledgment,
            window_bytes: relative.window,
            notes,
            wide: self.shown.is_none(),
        };
        if let Err(error) = self.output.print_line(&row) {
            self.failed = Some(error);
        }
    }
}
