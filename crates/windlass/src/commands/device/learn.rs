//! `windlass device learn`: a profile from a capture.

use clap::Args;
use serde::Serialize;
use windlass_base::{Cause, Failure, Rate, Schema, Span, values};
use windlass_capture::{CaptureFacts, FirstPass, ReadSettings};
use windlass_lab::learn::{
    self, CapturePoint, Conversation, Heading, KnownPath, LearnedParameters, Path, PathSource,
    Recorder,
};
use windlass_output::records::not_tcp;
use windlass_output::{Output, Page, Record, Text, figures};
use windlass_trace::{Analyzer, Keep, Transfer};
use windlass_wire::target::Protocol;
use windlass_wire::{Observer, PacketRange, Segment};

use crate::arguments::{CaptureArgs, FilterArgs, RangeArgs, is_picked};
use crate::commands::unwritten;
use crate::reading;

/// The arguments of `windlass device learn`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass device learn upload.pcap > printer.toml
  windlass device learn upload.pcap --connection 2 --name 'Label printer'
  windlass device learn upload.pcap --path-rtt 4ms --line-rate 20mbit
  windlass device learn upload.pcap --json | jq '.parameters[] | select(.value)'")]
pub struct LearnArgs {
    /// The capture.
    #[command(flatten)]
    pub capture: CaptureArgs,

    /// Learn from connection number N [default: the largest]
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    #[arg(help_heading = "Which connection")]
    pub connection: Option<u64>,

    /// Connection filters.
    #[command(flatten)]
    pub filter: FilterArgs,

    /// Name of the device in the profile [default: its address]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// Round trip time from the capture to the device, as ping measures it [default: the time of
    /// the fastest reply]
    #[arg(long, value_name = "TIME", value_parser = values::span, help_heading = "The path")]
    pub path_rtt: Option<Span>,

    /// Rate of the bottleneck link to the device [default: from the spacing of ACKs]
    #[arg(long, value_name = "RATE", value_parser = values::rate, help_heading = "The path")]
    pub line_rate: Option<Rate>,
}

/// The record of `windlass device learn`.
#[derive(Debug, Serialize)]
struct LearnedProfile {
    schema: Schema,
    capture: CaptureFacts,
    /// Its number in reports.
    connection: u64,
    sender: String,
    /// The device.
    receiver: String,
    #[serde(flatten)]
    learned: LearnedParameters,
    /// Profile as text.
    profile: String,
}

impl LearnedProfile {
    /// The shape of the JSON, described by `schemas/device-learn.schema.json`.
    const SCHEMA: Schema = Schema { name: "windlass.device-learn", version: 2 };
}

impl Record for LearnedProfile {
    fn text(&self, page: &mut Page) {
        for line in self.profile.lines() {
            page.line(Text::whole(line));
        }
    }
}

/// The second pass: the conversation.
struct ConversationPass {
    analyzer: Analyzer,
    number: u64,
    recorder: Recorder,
}

impl Observer for ConversationPass {
    fn segment(&mut self, segment: &Segment) {
        if self.analyzer.segment(segment, &mut ()) == self.number {
            self.recorder.segment(segment);
        }
    }
}

/// Runs the command.
pub(super) fn run(args: &LearnArgs, output: &mut Output) -> anyhow::Result<()> {
    let reading = ReadSettings {
        file: &args.capture.file,
        filter: args.filter.into(),
        range: PacketRange::default(),
        follow: false,
        doing: "learn from",
    };
    let keep = args.connection.map_or(Keep::Largest(1), Keep::Only);
    let FirstPass { read, connections, totals, again, .. } =
        FirstPass::over(&reading, keep, (), |pass| reading::read(&reading, pass))?;
    let doing = format!("cannot learn from {}", args.capture.name());
    let facts = CaptureFacts::new(args.capture.name(), &read);
    if totals.connections == 0 {
        return Err(not_tcp::nothing_there(
            doing,
            &facts,
            is_picked(args.filter, RangeArgs::default()),
        )
        .into());
    }
    let Some(connection) = connections.first() else {
        return Err(no_data(doing, args.connection).into());
    };
    let mut second = ConversationPass {
        analyzer: Analyzer::new(Keep::Largest(0)),
        number: connection.number(),
        recorder: Recorder::new(connection.sender()),
    };
    again.read(&mut second, |second| reading::read(&reading, second))?;
    let conversation = second.recorder.finish();
    let report = connection.report(|end| read.name(end), None);
    let known = KnownPath {
        rtt: args.path_rtt,
        rate: args.line_rate,
        is_ack_withheld: report.verdict.cause == Cause::BufferDelayedAck,
    };
    let learned = learn::learn(&conversation, known)
        .ok_or_else(|| nothing_to_learn(doing, connection.number(), &conversation))?;
    let names = (read.name(connection.sender()), read.name(connection.receiver()));
    let record = record(args, facts, connection, names, learned, conversation.left_out());
    output.print(&record).map_err(unwritten)
}

fn no_data(doing: String, number: Option<u64>) -> Failure {
    match number {
        Some(number) => {
            Failure::new(doing, format!("connection {number} does not exist or carried no data"))
                .advise("`windlass explain --all` lists the connections with data.")
        }
        None => Failure::new(doing, "none of its TCP connections carried data")
            .advise("Capture while a transfer runs."),
    }
}

fn nothing_to_learn(doing: String, number: u64, conversation: &Conversation) -> Failure {
    if conversation.has_both() {
        let wrong = format!("connection {number} has no ACK of data that was sent only once");
        Failure::new(doing, wrong).advise("Capture while a transfer runs.")
    } else {
        let wrong = format!("connection {number} was captured in one direction only");
        Failure::new(doing, wrong)
            .advise("Capture where both directions pass: at the sender or at the device.")
    }
}

fn record(
    args: &LearnArgs,
    capture: CaptureFacts,
    connection: &Transfer,
    (sender, receiver): (String, String),
    learned: LearnedParameters,
    left_out: u64,
) -> LearnedProfile {
    let port = connection.receiver().port;
    let number = connection.number();
    let mut remarks = vec![
        format!("Learned from {}, connection {number}: {sender} to {receiver}.", capture.file),
        where_taken(learned.capture_point).to_owned(),
        whose_time(&learned.path),
    ];
    if left_out > 0 {
        let count = figures::count(left_out);
        remarks
            .push(format!("The last {count} segments were ignored: the connection has too many."));
    }
    let usual = Protocol::ALL.into_iter().find(|protocol| protocol.port() == port);
    let heading = Heading {
        remarks,
        name: args.name.clone().unwrap_or_else(|| receiver.clone()),
        about: format!("A device as a capture shows it, by {} of its ACKs.", learned.samples),
        source: format!("windlass device learn, from {}", capture.file),
        method: usual.unwrap_or(Protocol::Raw).id(),
        port,
    };
    let profile = learn::profile(&heading, &learned.parameters);
    LearnedProfile {
        schema: LearnedProfile::SCHEMA,
        capture,
        connection: number,
        sender,
        receiver,
        learned,
        profile,
    }
}

fn where_taken(capture_point: CapturePoint) -> &'static str {
    match capture_point {
        CapturePoint::Sender => {
            "The capture was taken at the sender: each time includes the round trip of the path."
        }
        CapturePoint::Device => {
            "The capture was taken at the device: the times are the device's own."
        }
        CapturePoint::Between => {
            "The capture was taken on the path: each time includes the round trip from there."
        }
        CapturePoint::Unknown => {
            "Without a handshake the place of the capture is unknown: times may include the path."
        }
    }
}

fn whose_time(path: &Path) -> String {
    let rtt = path.rtt;
    match path.source {
        PathSource::Given => format!("The path's round trip was given: {rtt}. It is subtracted."),
        PathSource::QuickestAnswer => format!(
            "The fastest reply took {rtt}. This is subtracted as the path's round trip, but it may \
             include a delay of the device: give the path's round trip with --path-rtt."
        ),
        PathSource::SameNetwork => "No router lies between, and the fastest reply takes longer \
             than such a path: nothing is subtracted. For a tunnel or an emulated link, give its \
             round trip with --path-rtt."
            .to_owned(),
        PathSource::Unknown => {
            "Nothing is subtracted for the path: give its round trip with --path-rtt.".to_owned()
        }
    }
}
