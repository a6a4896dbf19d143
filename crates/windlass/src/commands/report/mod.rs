//! `windlass report`: captures and kept runs as a page, or as text for a ticket.

mod contents;
mod gather;
mod ladder;
mod markdown;
mod page;
#[cfg_attr(not(target_os = "linux"), path = "../../elsewhere/report.rs")]
mod run;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use windlass_base::{Bytes, Failure};
use windlass_capture::{CaptureFacts, FirstPass, ReadSettings};
use windlass_lab::what_if::try_remedies;
use windlass_output::{Output, Text, figures};
use windlass_trace::report::ConnectionReport;
use windlass_trace::{Keep, Totals};

use self::contents::Contents;
use self::gather::{ChartCollector, ChartData};
use self::run::{NamedRun, RunsArgs};
use super::{explain, unwritten};
use crate::arguments::{FilterArgs, RangeArgs, is_picked};
use crate::files::{self, WholeFile, check_output};
use crate::reading;
use crate::system::{by_system, on_linux};

/// Returns the examples of the help.
fn examples() -> String {
    format!(
        "\
Examples:
  windlass report upload.pcap -o report.html
  windlass report upload.pcap -o ticket.md
  windlass report upload.pcap --chart throughput --chart sequence -o upload.svg
  windlass report before.pcap after.pcap -o both.html --title 'Before and after the update'
  windlass report upload.pcap.zst --connection 2 -o report.html
  windlass report upload.pcap --port 9100 -o report.html{}",
        on_linux(
            "
  windlass report last -o run.html         the last kept run (windlass runs lists them)
  windlass report last -o run.svg          only the graph of that run"
        )
    )
}

/// Returns the help of the subjects.
fn subjects_help() -> String {
    format!(
        "Captures: pcap, pcapng or snoop, plain or compressed with gzip or zstd, or text output \
         of tcpdump; `-` reads standard input{}",
        on_linux(
            ". Or kept runs: the start of a name, last, last~1 or tag:WORD; a file of the same \
             name has priority"
        )
    )
}

/// The arguments of `windlass report`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = examples())]
pub struct ReportArgs {
    /// Captures and runs.
    #[arg(value_name = by_system("CAPTURE|RUN", "CAPTURE"), required = true)]
    #[arg(help = subjects_help())]
    pub captures: Vec<PathBuf>,

    /// Output file: a self-contained page (.html), Markdown without charts (.md), or only the
    /// charts (.svg)
    #[arg(short, long, value_name = "FILE", required = true, help_heading = "Output")]
    pub output: PathBuf,

    /// Title of the report
    #[arg(long, value_name = "TEXT", help_heading = "Output")]
    pub title: Option<String>,

    /// Report only on connection number N [default: the three largest of each capture]
    #[arg(long, value_name = "N", help_heading = "Which connections")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub connection: Option<u64>,

    /// Chart of the .svg, for the largest connection or that of --connection; may be repeated
    /// [default: all charts]
    #[arg(long = "chart", value_name = "NAME", help_heading = "Output")]
    pub charts: Vec<ChartName>,

    /// Connection filters.
    #[command(flatten)]
    pub filter: FilterArgs,

    /// Range of the capture.
    #[command(flatten)]
    pub range: RangeArgs,

    /// Kept runs.
    #[command(flatten)]
    pub runs: RunsArgs,
}

/// Subject of a report.
enum Subject<'a> {
    Capture(&'a Path),
    Run(Box<NamedRun>),
}

/// Returns the subjects that the arguments name. A name without a file may be a run.
fn subjects(args: &ReportArgs) -> Result<Vec<Subject<'_>>, Failure> {
    let mut subjects = Vec::new();
    for path in &args.captures {
        match args.runs.named(path)? {
            Some(runs) => subjects.extend(runs.into_iter().map(|run| Subject::Run(Box::new(run)))),
            None => subjects.push(Subject::Capture(path)),
        }
    }
    Ok(subjects)
}

/// A chart of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ChartName {
    /// Throughput, with a band of the limits above it
    Throughput,
    /// Sequence numbers, ACKs and window over time
    Sequence,
    /// Bytes in flight and receive window over time
    Flight,
    /// ACK latency and round trip time
    Latency,
}

impl ChartName {
    /// Returns the chart with this name on pages.
    fn of(id: &str) -> Option<Self> {
        Self::from_str(id, false).ok()
    }
}

/// The connections of a capture that are reported on.
const LARGEST: usize = 3;

/// Format of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Html,
    Markdown,
    Svg,
}

impl Form {
    /// Returns the format of a file name's ending.
    fn of(path: &Path) -> Result<Self, Failure> {
        match path.extension().and_then(|end| end.to_str()) {
            Some("html" | "htm") => Ok(Self::Html),
            Some("md" | "markdown") => Ok(Self::Markdown),
            Some("svg") => Ok(Self::Svg),
            _ => {
                let doing = format!("cannot write {}", path.display());
                Err(Failure::usage(doing, "its name does not end in .html, .md or .svg")
                    .advise("Name a file that ends in .html, .md or .svg."))
            }
        }
    }
}

/// Contents of a report on a capture.
struct CaptureContents {
    capture: CaptureFacts,
    totals: Totals,
    /// The largest first.
    reports: Vec<ConnectionReport>,
    /// Chart data of each connection; empty for Markdown.
    gathered: Vec<ChartData>,
}

impl CaptureContents {
    /// Connections that carried data but are not reported on.
    fn left_out(&self) -> u64 {
        self.totals.connections_with_data.saturating_sub(self.reports.len() as u64)
    }
}

/// Runs the command.
pub fn run(args: &ReportArgs, output: &mut Output) -> anyhow::Result<()> {
    let form = Form::of(&args.output)?;
    for capture in &args.captures {
        check_output(capture, &args.output, "the report")?;
    }
    if args.connection.is_some() && args.captures.len() > 1 {
        let doing = format!("cannot write {}", args.output.display());
        let wrong =
            "--connection selects a connection of one capture, and there are several captures";
        return Err(Failure::usage(doing, wrong)
            .advise("Give one capture, or leave --connection out.")
            .into());
    }
    let unwritable = |error: std::io::Error| {
        files::unwritable(format!("cannot write {}", args.output.display()), &error)
    };
    if form != Form::Svg && !args.charts.is_empty() {
        let doing = format!("cannot write {}", args.output.display());
        return Err(Failure::usage(
            doing,
            "--chart selects the charts of an SVG file, and this is not one",
        )
        .advise("Name a file that ends in .svg, or leave --chart out: a page has all charts.")
        .into());
    }
    let subjects = subjects(args)?;
    let runs = subjects.iter().filter(|one| matches!(one, Subject::Run(_))).count();
    if let Some(Subject::Run(run)) = subjects.iter().find(|subject| match subject {
        Subject::Run(run) => form == Form::Svg && run.figures().is_empty(),
        Subject::Capture(_) => false,
    }) {
        let doing = format!("cannot write {}", args.output.display());
        let wrong = format!("there is no chart of {}", run.title());
        let advice = "Only runs of send and sweep, and runs with --watch, have charts. For other \
                      runs, name a file that ends in .html.";
        return Err(Failure::usage(doing, wrong).advise(advice).into());
    }
    if runs > 0 && !args.charts.is_empty() {
        let doing = format!("cannot write {}", args.output.display());
        let wrong = "--chart selects the charts of a capture, and this is a run";
        return Err(Failure::usage(doing, wrong).advise("Leave --chart out.").into());
    }
    // A wrong path fails before the captures are read.
    let file = WholeFile::create(&args.output).map_err(unwritable)?;
    let title = args.title.clone().unwrap_or_else(|| title(&subjects));
    let mut text = match form {
        Form::Html => page::begin(&title),
        Form::Markdown => markdown::begin(&title),
        Form::Svg => String::new(),
    };
    let top = text.len();
    let mut picture = page::Picture::default();
    let (mut connections, mut contents) = (0, Contents::default());
    for (place, subject) in subjects.iter().enumerate() {
        let capture = match subject {
            Subject::Capture(capture) => capture,
            Subject::Run(run) if form == Form::Svg => {
                picture.run(&run.title(), &run.figures());
                continue;
            }
            Subject::Run(run) => {
                contents.run(place, run.title(), run.result(), run.limit());
                match form {
                    Form::Html => run.html(&mut text, place, subjects.len() == 1),
                    _ => run.markdown(&mut text),
                }
                continue;
            }
        };
        // Each capture is let go before the next is read.
        let reported = reported(args, capture, form)?;
        connections += reported.reports.len() as u64;
        contents.capture(place, &reported);
        match form {
            Form::Html => page::capture(&mut text, &reported, place),
            Form::Markdown => markdown::capture(&mut text, &reported),
            Form::Svg => picture.capture(&reported, &args.charts),
        }
    }
    if subjects.len() > 1 {
        match form {
            Form::Html => text.insert_str(top, &contents.html()),
            Form::Markdown => text.insert_str(top, &contents.markdown()),
            Form::Svg => {}
        }
    }
    match form {
        Form::Html => page::end(&mut text, connections > 0),
        Form::Markdown => {}
        Form::Svg => text = picture.finish(&title),
    }
    let write = |mut out: std::fs::File| out.write_all(text.as_bytes());
    file.writer().and_then(write).and_then(|()| file.take_name()).map_err(unwritable)?;
    let counted = [(connections, "connection"), (runs as u64, "run")];
    let counted = counted.into_iter().filter(|(count, _)| *count > 0);
    let said = counted.fold(
        Text::from("Wrote ").strong(args.output.display().to_string()).and(": "),
        |said, (count, of)| said.and(figures::counted(count, of)).and(", "),
    );
    let said = said.and(Bytes::new(text.len() as u64)).and(".");
    output.say(|page| page.paragraph(said)).map_err(unwritten)
}

/// Returns the default title.
fn title(subjects: &[Subject<'_>]) -> String {
    let name = |subject: &Subject<'_>| match subject {
        Subject::Run(run) => run.title(),
        Subject::Capture(path) => match path.file_name() {
            Some(name) if path.as_os_str() != "-" => name.to_string_lossy().into_owned(),
            _ => "standard input".to_owned(),
        },
    };
    let names: Vec<String> = subjects.iter().take(3).map(name).collect();
    let more = if subjects.len() > names.len() { " and others" } else { "" };
    let has_capture = subjects.iter().any(|one| matches!(one, Subject::Capture(_)));
    let begin = if has_capture { "What held back " } else { "" };
    format!("{begin}{}{more}", names.join(", "))
}

/// Reads a capture once for the reports, and again for the charts.
fn reported(args: &ReportArgs, file: &Path, form: Form) -> Result<CaptureContents, Failure> {
    let filter = args.filter.into();
    let range = args.range.into();
    let reading = ReadSettings { file, filter, range, follow: false, doing: "report on" };
    let largest = if form == Form::Svg { 1 } else { LARGEST };
    let keep = args.connection.map_or(Keep::Largest(largest), Keep::Only);
    let first = FirstPass::over(&reading, keep, (), |pass| reading::read(&reading, pass))?;
    let FirstPass { read, connections, totals, again, .. } = first;
    let capture = CaptureFacts::new(reading.name(), &read);
    let doing = format!("cannot report on {}", reading.name());
    let stopped = || Failure::new(&doing, "stopped by Ctrl-C; nothing was written");
    if capture.interrupted {
        return Err(stopped());
    }
    if connections.is_empty() {
        let is_picked = is_picked(args.filter, args.range);
        return Err(explain::without_data(doing, &capture, totals, args.connection, is_picked));
    }
    let report = |connection| {
        let mut report = explain::report_of(connection, &read);
        try_remedies(&mut report, connection);
        report
    };
    let reports: Vec<ConnectionReport> = connections.iter().map(report).collect();
    let mut gathering = ChartCollector::new(&connections, &reports);
    if form != Form::Markdown {
        let mut interrupted = false;
        again.read(&mut gathering, |gathering| {
            let read = reading::read(&reading, gathering)?;
            interrupted = read.interrupted;
            Ok(read)
        })?;
        if interrupted {
            return Err(stopped());
        }
    }
    Ok(CaptureContents { capture, totals, reports, gathered: gathering.all })
}
