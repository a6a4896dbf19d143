//! `windlass top`: all TCP connections of this host, and what limits each, without a capture.

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
use windlass_host::Times;
use windlass_host::connections::{Error, HostProcessors, Order, Top, TopEvent, View};
use windlass_output::{Format, Output, Page, Record};

use super::unwritten;
use crate::interrupt;

/// How often it looks whether it is to end.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

const DOING: &str = "cannot look at this host's connections";

/// What `windlass top` reports of an interval.
#[derive(Clone, Debug, Serialize)]
pub struct TopReport {
    /// The shape of the JSON.
    pub schema: Schema,
    /// When the interval was.
    #[serde(flatten)]
    pub times: Times,
    /// From one look to the next, as asked for.
    pub interval_seconds: Span,
    /// How far back shares go.
    pub window_seconds: Span,
    /// By what connections are sorted.
    pub sort: Order,
    /// What happened.
    #[serde(flatten)]
    pub view: View,
    /// What could not be known, and why.
    pub notes: Vec<Sentence>,
    /// Whether the text has all that is known of each connection.
    #[serde(skip)]
    pub details: bool,
    /// True if the text has rates in bits per second.
    #[serde(skip)]
    pub bits: bool,
}

impl TopReport {
    /// The shape of the JSON, described by `schemas/top.schema.json`.
    pub const SCHEMA: Schema = Schema { name: "windlass.top", version: 1 };

    fn new(args: &TopArgs, view: View, times: Times, deaf: Option<&String>) -> Self {
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

/// What could not be known.
fn notes(view: &View, deaf: Option<&String>) -> Vec<Sentence> {
    let mut notes = Vec::new();
    if let Some(why) = deaf {
        notes.push(sentence!(
            "Connections that begin and end between two looks are not seen, as the kernel does not \
             tell of those that end: {why}."
        ));
    }
    if let Some(said) = view.processors.as_ref().and_then(busy) {
        notes.push(said);
    }
    let (unheard, ago) = (view.totals.unheard, view.looked_at_all_seconds_ago);
    if unheard > 0 {
        notes.push(sentence!(
            "Of {unheard} sockets that ended nothing is known: they came faster than they could be \
             read."
        ));
    }
    if ago > Span::ZERO {
        notes.push(sentence!(
            "All connections were looked at {ago} ago, and since then those that moved then: a look \
             at so many takes its time."
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
    let mut times = Times::begin();
    let mut top = Top::open(settings).map_err(|error| failure(&error))?;
    let mut showing = Showing::new(args, output);
    let deaf = top.deaf.clone();
    while !stop.load(Ordering::Relaxed) {
        match top.next(POLL_INTERVAL, showing.most(args)).map_err(|error| failure(&error))? {
            TopEvent::View(view) => {
                let report = TopReport::new(args, *view, times, deaf.as_ref());
                times = Times::begin();
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

/// Where intervals go.
enum Showing {
    /// Onto the screen, each in the place of the one before.
    Screen(Screen),
    /// One behind the other.
    Lines { has_begun: bool },
    /// As the one record of the command.
    Record,
}

impl Showing {
    fn new(args: &TopArgs, output: &Output) -> Self {
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        match output.format() {
            _ if args.once => Self::Record,
            Format::Text if io::stdout().is_terminal() && !is_dumb => Self::Screen(Screen::new()),
            Format::Text | Format::Json => Self::Lines { has_begun: false },
        }
    }

    /// How many connections there is room for; nothing where for all.
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

/// Why connections cannot be looked at, for people.
fn failure(error: &Error) -> Failure {
    let failure = Failure::new(DOING, error);
    match error {
        Error::Sockets(_) => failure.advise(
            "It takes the kernel's sock_diag for TCP (CONFIG_INET_DIAG, modprobe tcp_diag), which \
             a container's seccomp filter may refuse: run it on the host.",
        ),
        Error::LastWords(_) => failure,
    }
}
