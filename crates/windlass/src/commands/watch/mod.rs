//! `windlass watch`: processors, memory, disks and processes, as in vmstat, iostat and top.

mod args;

use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;

pub use args::WatchArgs;
pub(super) use args::wanted;
use serde::Serialize;
use windlass_base::{Failure, Schema};
use windlass_host::{Error, HostReport, Interval, RunTimes, WatchEvent, Watcher};
use windlass_output::records::host::lines::{LineFormatter, beginning};
use windlass_output::records::host::{csv, summary, view};
use windlass_output::{Format, Output, Page, Record};

use super::unwritten;

/// Time between two checks for the end of the run.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Report of `windlass watch` at its end.
#[derive(Clone, Debug, Serialize)]
pub struct WatchReport {
    /// The shape of the JSON.
    pub schema: Schema,
    /// Figures of the machine.
    #[serde(flatten)]
    pub host: HostReport,
    /// Start and end of the run.
    #[serde(flatten)]
    pub times: RunTimes,
    /// True if the run was stopped before its planned end.
    pub interrupted: bool,
}

impl WatchReport {
    /// The shape of the JSON, described by `schemas/watch.schema.json`.
    pub const SCHEMA: Schema = Schema { name: "windlass.watch", version: 2 };
}

impl Record for WatchReport {
    fn text(&self, page: &mut Page) {
        summary(page, &self.host);
    }
}

/// Destination of the intervals.
enum IntervalOutput {
    Text(LineFormatter),
    Csv,
    View(windlass_output::live::LiveView),
    Nothing,
}

/// Runs the command.
pub fn run(args: &WatchArgs, output: &mut Output) -> anyhow::Result<()> {
    let settings = args.settings(output.wants_intervals())?;
    let listening = args.live.listen(DOING)?;
    let times = RunTimes::begin();
    let watcher = Watcher::start(settings).map_err(|error| failure(&error))?;
    let view = listening
        .show(output, || view::view(args.interval, !args.processes.is_empty(), &watcher))?;
    let mut showing = match (view, output.format()) {
        (Some(view), _) => IntervalOutput::View(view),
        _ if args.csv => IntervalOutput::Csv,
        (_, Format::Text) => IntervalOutput::Text(LineFormatter::new(
            args.interval,
            !args.disks.is_empty(),
            !args.processes.is_empty(),
        )),
        (_, Format::Json) => IntervalOutput::Nothing,
    };
    let stopped = || listening.stop.load(Ordering::Relaxed);
    let shown = begin(&mut showing, args, &watcher, output)
        .and_then(|()| show(&mut showing, args, &watcher, output, &stopped));
    drop(showing);
    let interrupted = stopped() && has_end(args);
    let host = watcher.finish();
    let report = WatchReport { schema: WatchReport::SCHEMA, host, times: times.end(), interrupted };
    if shown.is_err() || args.csv {
        output.keep(&report);
        shown.map_err(unwritten)?;
    } else {
        output.print(&report).map_err(unwritten)?;
    }
    conclude(&report.host)
}

const DOING: &str = "cannot watch this machine";

const fn has_end(args: &WatchArgs) -> bool {
    args.count.is_some() || args.time.is_some()
}

/// Writes the lines before the first interval.
fn begin(
    showing: &mut IntervalOutput,
    args: &WatchArgs,
    watcher: &Watcher,
    output: &mut Output,
) -> io::Result<()> {
    match showing {
        IntervalOutput::Nothing | IntervalOutput::View(_) => Ok(()),
        IntervalOutput::Csv => output.raw(csv::head().as_bytes()),
        IntervalOutput::Text(live) => {
            output.say(|page| beginning(page, args.interval, watcher))?;
            if let Some(interval) = &watcher.since_boot {
                output.say(|page| live.since_boot(interval).text(page))?;
            }
            Ok(())
        }
    }
}

/// Shows intervals as they come, to the last.
fn show(
    showing: &mut IntervalOutput,
    args: &WatchArgs,
    watcher: &Watcher,
    output: &mut Output,
    stopped: &dyn Fn() -> bool,
) -> io::Result<()> {
    let mut is_asked = false;
    let mut ask_once = || {
        if stopped() && !is_asked {
            is_asked = true;
            watcher.stop();
        }
    };
    loop {
        ask_once();
        let interval: Box<Interval> = match watcher.next(POLL_INTERVAL) {
            WatchEvent::Interval(interval) => interval,
            WatchEvent::Nothing => continue,
            WatchEvent::Ended => break,
        };
        match showing {
            IntervalOutput::Text(live) => output.say(|page| live.lines(&interval).text(page))?,
            IntervalOutput::Csv => output.raw(csv::rows(&interval).as_bytes())?,
            IntervalOutput::View(view) => {
                view.push(view::stretch(!args.processes.is_empty(), &interval));
            }
            // JSON has one record, at the end.
            IntervalOutput::Nothing => {}
        }
    }
    match showing {
        IntervalOutput::Text(live) => output.raw(live.end()),
        _ => Ok(()),
    }
}

/// Returns an error if watching failed, or if a process never appeared.
fn conclude(host: &HostReport) -> anyhow::Result<()> {
    if let Some(failure) = &host.failure {
        return Err(Failure::new("cannot continue to watch this machine", failure).into());
    }
    let unseen = host.summary.totals.iter().find(|total| !total.seen);
    match unseen {
        Some(total) => Err(Failure::new(
            format!("cannot watch {}", total.wanted),
            format!("no process of this name ran in the {} watched", host.seconds),
        )
        .advise("Give the exact name, as in ps -e, or a PID.")
        .into()),
        None => Ok(()),
    }
}

/// Returns the message of an error.
pub(crate) fn failure(error: &Error) -> Failure {
    match error {
        Error::Unreadable { .. } => Failure::new(DOING, error)
            .advise("windlass reads the kernel's counters in /proc: mount -t proc proc /proc."),
        Error::Untraceable(refused) => {
            let doing = match refused.process {
                Some(process) => format!("cannot trace process {process}"),
                None => "cannot trace processes".to_owned(),
            };
            Failure::new(doing, refused).advise(refused.advice())
        }
        Error::Strange { .. } | Error::Thread(_) => Failure::new(DOING, error),
        Error::NoDisk { name, known } => {
            let failure =
                Failure::new(format!("cannot watch the disk {name}"), "there is no such disk");
            match known.as_slice() {
                [] => failure.advise("No disk of this machine has transferred data yet."),
                known => failure.advise(format!("The disks are {}.", known.join(", "))),
            }
        }
        Error::NoProcess { pid } => Failure::new(
            format!("cannot watch process {pid}"),
            "there is no process with this PID",
        )
        .advise("ps -e lists all processes. Give a name to wait for a process that starts later."),
    }
}
