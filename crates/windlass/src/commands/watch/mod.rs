//! `windlass watch`: what the machine does, as vmstat, iostat and top tell.

mod args;

use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;

pub use args::WatchArgs;
pub(super) use args::wanted;
use serde::Serialize;
use windlass_base::{Failure, Schema};
use windlass_host::{Error, HostReport, Interval, Times, WatchEvent, Watcher};
use windlass_output::records::host::lines::{Live, beginning};
use windlass_output::records::host::{csv, summary, view};
use windlass_output::{Format, Output, Page, Record};

use super::unwritten;

/// How often it looks whether it is to end.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// What `windlass watch` reports at its end.
#[derive(Clone, Debug, Serialize)]
pub struct WatchReport {
    /// The shape of the JSON.
    pub schema: Schema,
    /// What the machine did.
    #[serde(flatten)]
    pub host: HostReport,
    /// When that was.
    #[serde(flatten)]
    pub times: Times,
    /// Whether it was stopped before its end, where it had one.
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

/// Where intervals go as they come.
enum Showing {
    Text(Live),
    Csv,
    View(windlass_output::live::Live),
    Nothing,
}

/// Runs the command.
pub fn run(args: &WatchArgs, output: &mut Output) -> anyhow::Result<()> {
    let settings = args.settings(output.wants_intervals())?;
    let listening = args.live.listen(DOING)?;
    let times = Times::begin();
    let watcher = Watcher::start(settings).map_err(|error| failure(&error))?;
    let view = listening
        .show(output, || view::view(args.interval, !args.processes.is_empty(), &watcher))?;
    let mut showing = match (view, output.format()) {
        (Some(view), _) => Showing::View(view),
        _ if args.csv => Showing::Csv,
        (_, Format::Text) => Showing::Text(Live::new(
            args.interval,
            !args.disks.is_empty(),
            !args.processes.is_empty(),
        )),
        (_, Format::Json) => Showing::Nothing,
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
    args.count.is_some() || args.duration.is_some()
}

/// Says what is watched.
fn begin(
    showing: &mut Showing,
    args: &WatchArgs,
    watcher: &Watcher,
    output: &mut Output,
) -> io::Result<()> {
    match showing {
        Showing::Nothing | Showing::View(_) => Ok(()),
        Showing::Csv => output.raw(csv::head().as_bytes()),
        Showing::Text(live) => {
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
    showing: &mut Showing,
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
            Showing::Text(live) => output.say(|page| live.lines(&interval).text(page))?,
            Showing::Csv => output.raw(csv::rows(&interval).as_bytes())?,
            Showing::View(view) => view.push(view::stretch(!args.processes.is_empty(), &interval)),
            // As JSON there are none on the way.
            Showing::Nothing => {}
        }
    }
    match showing {
        Showing::Text(live) => output.raw(live.end()),
        _ => Ok(()),
    }
}

/// Whether all went well.
fn conclude(host: &HostReport) -> anyhow::Result<()> {
    if let Some(failure) = &host.failure {
        return Err(Failure::new("cannot go on watching this machine", failure).into());
    }
    let unseen = host.summary.totals.iter().find(|total| !total.seen);
    match unseen {
        Some(total) => Err(Failure::new(
            format!("cannot watch {}", total.wanted),
            format!("no process of that name ran in these {}", host.seconds),
        )
        .advise("Give the exact name, as ps -e has it, or the number of a process.")
        .into()),
        None => Ok(()),
    }
}

/// Why a machine cannot be watched, for people.
pub(crate) fn failure(error: &Error) -> Failure {
    match error {
        Error::Unreadable { .. } => Failure::new(DOING, error)
            .advise("The kernel's accounts are under /proc: mount -t proc proc /proc."),
        Error::Untraceable(refused) => {
            let doing = match refused.process {
                Some(process) => format!("cannot trace process {process}"),
                None => "cannot trace processes".to_owned(),
            };
            Failure::new(doing, refused).advise(refused.advice())
        }
        Error::Strange { .. } | Error::Thread(_) => Failure::new(DOING, error),
        Error::NoDisk { name, known } => {
            let failure = Failure::new(format!("cannot watch the disk {name}"), "it is not there");
            match known.as_slice() {
                [] => failure.advise("No disk here has ever moved anything."),
                known => failure.advise(format!("There are {}.", known.join(", "))),
            }
        }
        Error::NoProcess { pid } => {
            Failure::new(format!("cannot watch process {pid}"), "there is none of that number")
                .advise("ps -e lists all. With a name it would be waited for.")
        }
    }
}
