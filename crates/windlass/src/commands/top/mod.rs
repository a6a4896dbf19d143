//! `windlass top`: all TCP connections of this host, with the limit of each, without a capture.

mod args;
mod screen;
mod text;

use std::io::{self, IsTerminal};
use std::sync::atomic::Ordering;
use std::time::Duration;

pub use args::TopArgs;
use screen::Screen;
use serde::Serialize;
use windlass_base::figures::Share;
use windlass_base::thresholds::BUSY_PROCESSORS;
use windlass_base::{Failure, Schema, Sentence, Span, sentence};
use windlass_host::RunTimes;
use windlass_host::connections::{Error, HostProcessors, Order, Top, TopEvent, View};
use windlass_output::{Format, Output, Page, Record};

use super::unwritten;
use crate::interrupt;

/// Time between two checks for the end of the run.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

const DOING: &str = "cannot read this host's connections";

/// Report of `windlass top` on an interval.
#[derive(Clone, Debug, Serialize)]
pub struct TopReport {
    /// The shape of the JSON.
    pub schema: Schema,
    /// Start and end of the interval.
    #[serde(flatten)]
    pub times: RunTimes,
    /// Length of an interval, as asked for.
    pub interval_seconds: Span,
    /// Time over which shares are computed.
    pub window_seconds: Span,
    /// Order of the connections.
    pub sort: Order,
    /// Connections and totals of the interval.
    #[serde(flatten)]
    pub view: View,
    /// Gaps in the report, with reasons.
    pub notes: Vec<Sentence>,
    /// True if the text has a second line for each connection.
    #[serde(skip)]
    pub details: bool,
    /// True if the text has rates in bits per second.
    #[serde(skip)]
    pub bits: bool,
    /// True if processes are selected: the totals include the others.
    #[serde(skip)]
    pub by_process: bool,
}

impl TopReport {
    /// The shape of the JSON, described by `schemas/top.schema.json`.
    pub const SCHEMA: Schema = Schema { name: "windlass.top", version: 1 };

    fn new(args: &TopArgs, view: View, times: RunTimes, deaf: Option<&String>) -> Self {
        Self {
            schema: Self::SCHEMA,
            times: times.end(),
            interval_seconds: args.interval,
            window_seconds: args.window(),
            sort: args.sort,
            notes: notes(&view, deaf),
            view,
            details: args.details,
            bits: args.bits,
            by_process: !args.processes.is_empty(),
        }
    }
}

impl Record for TopReport {
    fn text(&self, page: &mut Page) {
        for line in text::lines(self, page.width()) {
            page.line(line);
        }
    }
}

/// Returns the gaps in the report, with reasons.
fn notes(view: &View, deaf: Option<&String>) -> Vec<Sentence> {
    let mut notes = Vec::new();
    if let Some(why) = deaf {
        notes.push(sentence!(
            "Connections that open and close within an interval are missing, because the kernel \
             does not report closed sockets here: {why}."
        ));
    }
    if let Some(said) = view.processors.as_ref().and_then(busy) {
        notes.push(said);
    }
    let (unheard, ago) = (view.totals.unheard, view.looked_at_all_seconds_ago);
    if unheard > 0 {
        notes.push(sentence!(
            "{unheard} closed sockets are missing: the kernel reported them faster than windlass \
             could read."
        ));
    }
    if ago > Span::ZERO {
        notes.push(sentence!(
            "All connections were last read {ago} ago. Since then only those active at that time \
             are read, to save processor time."
        ));
    }
    notes
}

/// Returns a note on processors that were all busy, with the programs that had them.
fn busy(host: &HostProcessors) -> Option<Sentence> {
    if host.busy_share < BUSY_PROCESSORS.get() {
        return None;
    }
    let mut said = sentence!(
        "The {} processors of this host were busy {} of the time",
        host.processors,
        Share(host.busy_share)
    );
    for (place, other) in host.others.iter().enumerate() {
        let before = if place == 0 { ": " } else { ", " };
        let share = Share(other.cpu_share);
        said.push(&sentence!("{before}{} ({}) {share} of one", other.name, other.pid));
    }
    said.push(&sentence!("."));
    Some(said)
}

/// Runs the command.
pub fn run(args: &TopArgs, output: &mut Output) -> anyhow::Result<()> {
    let settings = args.settings()?;
    let stop = interrupt::listen(DOING)?;
    let mut times = RunTimes::begin();
    let mut top = Top::open(settings).map_err(|error| failure(&error))?;
    let mut showing = IntervalOutput::new(args, output);
    let deaf = top.deaf.clone();
    while !stop.load(Ordering::Relaxed) {
        match top.next(POLL_INTERVAL, showing.most(args)).map_err(|error| failure(&error))? {
            TopEvent::View(view) => {
                let report = TopReport::new(args, *view, times, deaf.as_ref());
                times = RunTimes::begin();
                showing.show(&report, output).map_err(unwritten)?;
            }
            TopEvent::Nothing => {}
            TopEvent::Ended => return Ok(()),
        }
    }
    let most = showing.most(args);
    if let Some(view) = top.finish(most).map_err(|error| failure(&error))? {
        let report = TopReport::new(args, view, times, deaf.as_ref());
        showing.show(&report, output).map_err(unwritten)?;
    }
    Ok(())
}

/// Destination of the intervals.
enum IntervalOutput {
    /// The screen, where each interval replaces the one before.
    Screen(Screen),
    /// Standard output, one interval after the other.
    Lines { has_begun: bool },
    /// The single record of the command.
    Record,
}

impl IntervalOutput {
    fn new(args: &TopArgs, output: &Output) -> Self {
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        match output.format() {
            _ if args.once => Self::Record,
            Format::Text if io::stdout().is_terminal() && !is_dumb => Self::Screen(Screen::new()),
            Format::Text | Format::Json => Self::Lines { has_begun: false },
        }
    }

    /// Returns the number of connections that fit; none if all do.
    fn most(&self, args: &TopArgs) -> Option<usize> {
        let fits = match self {
            Self::Screen(_) => Screen::rows(args.details),
            Self::Lines { .. } | Self::Record => None,
        };
        args.most().or(fits)
    }

    fn show(&mut self, report: &TopReport, output: &mut Output) -> io::Result<()> {
        match self {
            Self::Screen(screen) => screen.draw(report, output),
            Self::Record => output.print(report),
            Self::Lines { has_begun } => {
                if std::mem::replace(has_begun, true) && output.format() == Format::Text {
                    output.raw(b"\n")?;
                }
                output.print_line(report)?;
                output.flush()
            }
        }
    }
}

/// Returns the message of an error.
fn failure(error: &Error) -> Failure {
    let failure = Failure::new(DOING, error);
    match error {
        Error::Sockets(_) => failure.advise(
            "windlass top needs the kernel's sock_diag for TCP (CONFIG_INET_DIAG; modprobe \
             tcp_diag). A container's seccomp filter may refuse it: run windlass on the host.",
        ),
        Error::LastWords(_) => failure,
    }
}
