//! `windlass explain`: why a capture's transfers were slow.

mod archive;
mod compare;
mod follow;
mod gather;
#[cfg_attr(not(target_os = "linux"), path = "../../elsewhere/explain.rs")]
mod interface;
mod tables;

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use windlass_base::{Failure, Schema};
use windlass_capture::CaptureFacts;
use windlass_explain::MODELLED;
pub(in crate::commands) use windlass_explain::report_of;
use windlass_explain::why_of;
use windlass_lab::what_if::{Changes, WhatIf, changes, joined, try_remedies};
use windlass_output::records::capture_head;
use windlass_output::records::explain::overview::{JUDGED, Overview, OverviewBuilder};
use windlass_output::records::explain::{self, Extent};
use windlass_output::records::not_tcp;
use windlass_output::{Format, Output, Page, Record, Text, figures};
use windlass_trace::report::{ConnectionReport, Stream};
use windlass_trace::{Keep, Reasons, Totals, WaitSelection};

use self::follow::Interval;
use self::gather::{ExplainInput, InputKind};
use self::tables::TablesArgs;
use super::annotate::{self, AnnotatedCapture};
use super::unwritten;
use crate::arguments::{CaptureArgs, FilterArgs, JsonArgs, RangeArgs, is_picked};
use crate::live::LiveArgs;
use crate::system::on_linux;

/// Returns the examples of the help.
fn examples() -> String {
    format!(
        "\
Examples:
  windlass explain upload.pcap
  windlass explain before.pcap after.pcap --brief
  windlass explain --compare before.pcap after.pcap
  windlass explain --compare client.pcap server.pcap
  windlass explain upload.pcap.zst --connection 2
  windlass explain upload.pcap --host 192.0.2.7 --port 9100
  windlass explain trace.txt                     text output of tcpdump
  windlass explain 2026-11-26.tgz                each capture of an archive, and totals
  windlass explain 2026-11-26.tgz::a/b.pcap      one capture of the archive
  tcpdump -i eth0 -s 96 -U -w - tcp | windlass explain --follow -
{}  windlass explain upload.pcap --annotate notes.pcapng
  windlass explain upload.pcap --what-if window=65535,ack-latency=5ms
  windlass explain upload.pcap --json | jq '.connections[0].verdict'
  windlass explain --parquet tables --path-pattern '{{site}}/{{date}}/*' */*/*.pcap.gz",
        on_linux(
            "  windlass explain --follow eth0 --live          \
             the active transfers of an interface, as a live view\n"
        )
    )
}

/// Returns the help of `--follow`.
fn follow_help() -> String {
    format!(
        "Keep reading while the capture grows: show the active transfers each second, and \
         report on Ctrl-C or at the end of a pipe{}",
        on_linux(". FILE may also be an interface of this host, such as eth0")
    )
}

/// Number of waits that `--why` explains without a value.
const COSTLIEST: usize = 10;

/// The arguments of `windlass explain`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = examples())]
pub struct ExplainArgs {
    /// The capture.
    #[command(flatten)]
    pub capture: CaptureArgs,

    /// Explain only connection number N of the report
    #[arg(long, value_name = "N", conflicts_with_all = ["all", "top"])]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    #[arg(help_heading = "Which connections")]
    pub connection: Option<u64>,

    /// Explain the N connections that carried the most data
    #[arg(long, value_name = "N", default_value_t = 10, conflicts_with = "all")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    #[arg(help_heading = "Which connections")]
    pub top: u64,

    /// Explain every connection that carried data
    #[arg(long, help_heading = "Which connections")]
    pub all: bool,

    /// Connection filters.
    #[command(flatten)]
    pub filter: FilterArgs,

    /// Range of the capture.
    #[command(flatten)]
    pub range: RangeArgs,

    /// Also write the capture as pcapng with notes: packet comments that Wireshark shows
    #[arg(long, value_name = "OUT.pcapng", conflicts_with = "follow", help_heading = "Output")]
    pub annotate: Option<PathBuf>,

    /// Also predict the effect of a change: fit the simulator to each transfer, then run it with
    /// the change. KEY is window or send-buffer (64k), ack-latency, rtt or timer (5ms), read-rate
    /// or policer (2MB/s), loss, ack-loss or reordering (1%), streams (4), mss (1460) or
    /// reassembly (on)
    #[arg(long, value_name = "KEY=VALUE,...", value_parser = changes)]
    #[arg(help_heading = "What if")]
    pub what_if: Vec<Changes>,

    /// Also show the reasoning: the rules behind each wait with figures and thresholds, the
    /// doubts, the rival explanations and the facts. WAIT is the number of a wait, or `all`
    /// [default: the ten costliest]
    #[arg(long, value_name = "WAIT", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "", value_parser = which_waits)]
    #[arg(help_heading = "Output")]
    pub why: Option<WaitSelection>,

    /// Also show the law, the evidence, and each connection's handshake,
    /// windows, round trips, losses and end
    #[arg(long, help_heading = "Output")]
    pub details: bool,

    /// Print one line for each connection
    #[arg(long, conflicts_with_all = ["details", "why", "what_if"], help_heading = "Output")]
    pub brief: bool,

    /// Compare two captures: one connection at client and server, or one service before and after
    /// a change
    #[arg(long, help_heading = "Output")]
    #[arg(conflicts_with_all = ["top", "all", "annotate", "what_if", "why", "details", "brief"])]
    #[arg(conflicts_with_all = ["parquet", "follow", "live"])]
    pub compare: bool,

    /// Tables.
    #[command(flatten)]
    pub tables: TablesArgs,

    /// True if the capture is followed while it grows.
    #[arg(long, help = follow_help())]
    pub follow: bool,

    /// Live view.
    #[command(flatten)]
    pub live: LiveArgs,

    /// Text or JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// Parses the value of `--why`.
fn which_waits(text: &str) -> Result<WaitSelection, String> {
    match text {
        "" => Ok(WaitSelection::Costliest(COSTLIEST)),
        "all" => Ok(WaitSelection::Costliest(usize::MAX)),
        number => match number.parse() {
            Ok(number) if number > 0 => Ok(WaitSelection::Number(number)),
            _ => Err("the value is the number of a wait, from 1, or `all`".to_owned()),
        },
    }
}

/// Amount of text for each connection.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Detail {
    /// One line.
    Brief,
    /// The answer, of the first connection only.
    Answer,
    /// The answer of each connection.
    EachAnswer,
    /// All details.
    Whole,
}

impl Detail {
    fn of(args: &ExplainArgs) -> Self {
        match args {
            ExplainArgs { brief: true, .. } => Self::Brief,
            ExplainArgs { details: true, .. } => Self::Whole,
            _ if args.why.is_some() || !args.what_if.is_empty() => Self::EachAnswer,
            _ => Self::Answer,
        }
    }
}

/// The record of `windlass explain`.
#[derive(Debug, Serialize)]
pub struct Explanation {
    #[serde(skip)]
    detail: Detail,
    /// True if the command explains this capture alone.
    #[serde(skip)]
    is_alone: bool,
    schema: Schema,
    capture: CaptureFacts,
    totals: Totals,
    /// Summary of the connections; null if only one is judged.
    overview: Option<Overview>,
    connections: Vec<ExplainedConnection>,
    /// Connections that carried data but are not in `connections`.
    left_out: u64,
    /// The annotated capture.
    annotated: Option<AnnotatedCapture>,
    /// Transfers of each second; empty without --follow.
    intervals: Vec<Interval>,
}

/// A connection, with the predicted effect of a change.
#[derive(Debug, Serialize)]
struct ExplainedConnection {
    #[serde(flatten)]
    report: ConnectionReport,
    /// Null without --what-if.
    what_if: Option<WhatIf>,
    /// Null without --why.
    why: Option<Reasons>,
}

impl Explanation {
    /// The shape of the JSON, described by `schemas/explain.schema.json`.
    pub const SCHEMA: Schema = Schema { name: "windlass.explain", version: 2 };
}

/// Runs the command.
pub fn run(args: &ExplainArgs, output: &mut Output) -> anyhow::Result<()> {
    if args.tables.parquet.is_some() && args.why.is_some() {
        let wrong = "--why explains single connections, and --parquet writes tables";
        return Err(Failure::usage(doing(args), wrong).advise("Leave one of them out.").into());
    }
    if let Some(directory) = &args.tables.parquet {
        return tables::run(args, directory, output);
    }
    if args.compare {
        return compare::run(args, output);
    }
    match (args.tables.more.is_empty(), args.follow) {
        (true, false) => explain(args, CapturePosition::Alone, output),
        (true, true) => explain(args, CapturePosition::Followed, output),
        (false, _) => explain_each(args, output),
    }
}

/// Explains several captures separately. After a failure the next capture is still explained.
fn explain_each(args: &ExplainArgs, output: &mut Output) -> anyhow::Result<()> {
    let mut failed: Option<anyhow::Error> = None;
    for (index, file) in std::iter::once(&args.capture.file).chain(&args.tables.more).enumerate() {
        let mut one = args.clone();
        one.capture.file.clone_from(file);
        match explain(&one, CapturePosition::Several { gap: index > 0 && !args.brief }, output) {
            Err(error) if error.is::<Failure>() => {
                if let Some(earlier) = failed.replace(error) {
                    crate::told(&earlier, output.color_choice());
                }
            }
            done => done?,
        }
    }
    failed.map_or(Ok(()), Err)
}

/// The place of a capture among those that the command explains.
#[derive(Clone, Copy, Debug, PartialEq)]
enum CapturePosition {
    /// The only capture.
    Alone,
    /// The only capture, and followed: its report stays below the live output.
    Followed,
    /// One of several captures; an empty line may separate it from the previous one.
    Several { gap: bool },
}

/// Explains one capture.
fn explain(args: &ExplainArgs, among: CapturePosition, output: &mut Output) -> anyhow::Result<()> {
    let wanted = joined(&args.what_if)?;
    let top = usize::try_from(args.top).unwrap_or(usize::MAX);
    let keep = match args.connection {
        Some(number) => Keep::Only(number),
        None if args.all => Keep::All,
        None => Keep::Largest(top.max(JUDGED)),
    };
    if args.live.live && !args.follow {
        let wrong = "--live shows a growing capture, and without --follow the file is read once";
        return Err(Failure::usage(doing(args), wrong).advise("Add --follow.").into());
    }
    if let Some(output) = &args.annotate {
        annotate::check(&args.capture.file, output)?;
    }
    let found = match interface::gathered(args, keep, top, output)? {
        Some(gathered) => InputKind::One(gathered),
        None => gather::gather(args, keep, top, wanted.as_ref(), output)?,
    };
    let ExplainInput { source, connections, totals, intervals, notes } = match found {
        InputKind::One(gathered) => gathered,
        InputKind::Archive(record) => {
            print(&*record, among, output)?;
            return record.failure(args).map_or(Ok(()), |failure| Err(failure.into()));
        }
    };
    let annotated = match &args.annotate {
        Some(path) if !connections.is_empty() && !source.is_interrupted() => {
            Some(annotate::write(&gather::reading(args), path, notes))
        }
        _ => None,
    };
    let (annotated, unwritable) = match annotated {
        Some(Ok(annotated)) => (Some(annotated), None),
        Some(Err(failure)) => (None, Some(failure)),
        None => (None, None),
    };
    let explained = if args.all { usize::MAX } else { top };
    let mut judged = OverviewBuilder::default();
    let mut reports: Vec<ExplainedConnection> = Vec::new();
    for connection in &connections {
        let mut report = source.report(connection);
        if reports.len() < explained.min(MODELLED) {
            try_remedies(&mut report, connection);
        }
        let stream = Stream::of(connection, &report);
        judged.add(&report, source.name(connection.peer()), stream);
        if reports.len() < explained {
            let what_if = wanted.as_ref().map(|changes| WhatIf::of(changes, &report, connection));
            let why = args.why.map(|which| source.why(connection, which));
            reports.push(ExplainedConnection { report, what_if, why });
        }
    }
    let found = !reports.is_empty();
    let record = Explanation {
        detail: Detail::of(args),
        is_alone: !matches!(among, CapturePosition::Several { .. }),
        schema: Explanation::SCHEMA,
        capture: source.facts(args.capture.name()),
        left_out: totals.connections_with_data - reports.len() as u64,
        overview: judged.overview(totals.connections_with_data, |host| source.host(host)),
        totals,
        connections: reports,
        annotated,
        intervals,
    };
    print(&record, among, output)?;
    match unwritable.or(source.failure()) {
        _ if !found => Err(nothing_found(args, &record).into()),
        // The report is printed even if the file or the interface failed.
        Some(failure) => Err(failure.into()),
        None => Ok(()),
    }
}

/// Prints a record, by a pager or as one of several.
fn print<R: Record>(record: &R, among: CapturePosition, output: &mut Output) -> anyhow::Result<()> {
    let printed = match among {
        CapturePosition::Alone => output.print_paged(record),
        CapturePosition::Followed => output.print(record),
        CapturePosition::Several { gap } => {
            if gap && output.format() == Format::Text {
                output.say(|page| page.line("")).map_err(unwritten)?;
            }
            output.print_line(record).and_then(|()| output.flush())
        }
    };
    printed.map_err(unwritten)
}

fn doing(args: &ExplainArgs) -> String {
    format!("cannot explain {}", args.capture.name())
}

fn nothing_found(args: &ExplainArgs, record: &Explanation) -> Failure {
    let Explanation { capture, totals, .. } = record;
    let is_picked = is_picked(args.filter, args.range);
    without_data(doing(args), capture, *totals, args.connection, is_picked)
}

/// Returns the error for a capture without a connection to report on.
pub(in crate::commands) fn without_data(
    doing: String,
    capture: &CaptureFacts,
    totals: Totals,
    number: Option<u64>,
    is_picked: bool,
) -> Failure {
    match number {
        Some(number) if totals.connections > 0 => {
            let wrong = format!(
                "connection {number} does not exist or carried no data; the capture has {}",
                figures::counted(totals.connections, "connection").plain()
            );
            Failure::new(doing, wrong).advise("Leave --connection out to see the largest.")
        }
        _ if totals.connections > 0 => {
            Failure::new(doing, "none of its TCP connections carried data")
                .advise("Capture while a transfer runs.")
        }
        _ => not_tcp::nothing_there(doing, capture, is_picked),
    }
}

impl Detail {
    /// Prints connections, each with its file if there are several files.
    fn text(self, page: &mut Page, connections: &[(Option<&str>, &ExplainedConnection)]) {
        if self == Self::Brief {
            for (file, connection) in connections {
                explain::in_brief(page, *file, &connection.report);
            }
            return;
        }
        // An archive has a line for each capture already.
        let is_archive = connections.iter().any(|(file, _)| file.is_some());
        let has_table = self == Self::Answer && connections.len() > 1 && !is_archive;
        if has_table {
            page.gap();
            explain::table(page, connections.iter().map(|(_, one)| &one.report));
        }
        let shown = if self == Self::Answer { 1 } else { connections.len() };
        for (file, ExplainedConnection { report, what_if, why }) in connections.iter().take(shown) {
            let extent = match self {
                Self::Whole => Extent::Whole,
                _ if has_table => Extent::First,
                _ => Extent::Answer,
            };
            if let Some(file) = file {
                page.gap();
                page.paragraph(Text::default().dim(*file));
            }
            explain::connection(page, extent, report, what_if.as_ref(), why.as_ref());
        }
        if self != Self::Whole && !connections.is_empty() {
            page.gap();
            let other = match shown < connections.len() {
                true if is_archive => "--brief shows a line for each connection; ",
                true => "--connection N shows another; ",
                false => "",
            };
            page.paragraph(Text::default().dim(format!(
                "{other}--details shows the law, the evidence, windows, round trips and losses."
            )));
        }
    }
}

impl Record for Explanation {
    fn text(&self, page: &mut Page) {
        let is_named = self.detail == Detail::Brief && !self.is_alone;
        let file = is_named.then_some(self.capture.file.as_str());
        let connections: Vec<_> = self.connections.iter().map(|one| (file, one)).collect();
        if self.detail == Detail::Brief {
            return self.detail.text(page, &connections);
        }
        capture_head::write(page, &self.capture, self.totals);
        if let Some(overview) = &self.overview {
            overview.text(page);
        }
        self.detail.text(page, &connections);
        // An overview names those that it does not judge.
        if self.left_out > 0 && !self.connections.is_empty() && self.overview.is_none() {
            page.gap();
            page.paragraph(
                figures::counted(self.left_out, "more connection")
                    .and(" carried data; --all explains each, --top N the N largest."),
            );
        }
        if let Some(annotated) = &self.annotated {
            page.gap();
            page.paragraph(
                Text::from("Wrote ")
                    .and(annotated.file.as_str())
                    .and(" with ")
                    .and(figures::counted(annotated.comments, "comment"))
                    .and(" on ")
                    .and(figures::counted(annotated.packets, "packet"))
                    .and("."),
            );
        }
    }
}
