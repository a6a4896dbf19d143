//! `windlass sweep`: the best window and streams of a path.

mod args;
mod files;
#[cfg_attr(not(target_os = "linux"), path = "../../elsewhere/sweep_host.rs")]
mod host;
#[cfg_attr(not(target_os = "linux"), path = "../../elsewhere/sweep.rs")]
mod real;
mod simulate;
mod state;
mod stream;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub use args::SweepArgs;
use files::Target;
use simulate::Simulation;
use state::SweepState;
use stream::{Event, Stream};
use windlass_base::{Failure, Measurement, Span};
use windlass_lab::PathScenario;
use windlass_output::html::sweep as page;
use windlass_output::live::{LiveView, MOST_ROWS};
use windlass_output::records::sweep::{csv, view};
use windlass_output::{Format, Output, Progress, Text, figures};
use windlass_sweep::report::{Path, SweepReport};
use windlass_sweep::{Limits, Plan, Probe, Sweep};

use super::unwritten;
use super::watched::WatchedRecord;
use crate::files::read_text;

/// Time between two updates of the progress line.
const UPDATE: Duration = Duration::from_millis(100);

/// Result of a probe.
pub(super) enum ProbeResult {
    /// The measurement.
    Measured(Box<Measurement>),
    /// The sender does not offer the congestion control.
    Refused,
}

/// Measures a probe; returns `None` if it was stopped.
type Measure<'a> =
    dyn FnMut(Probe, Limits, &AtomicBool) -> Result<Option<ProbeResult>, Failure> + 'a;

/// Runs the command. After a failure, the results so far are still printed.
pub fn run(args: &SweepArgs, output: &mut Output) -> anyhow::Result<()> {
    args.check()?;
    match &args.simulate {
        Some(scenario) => simulated(scenario, args, output),
        None => real::sweep(args, output),
    }
}

/// Sweeps a path in virtual time.
fn simulated(name: &str, args: &SweepArgs, output: &mut Output) -> anyhow::Result<()> {
    if args.ip.is_set() {
        let wrong = "a simulated path has no IP packets to mark";
        return Err(Failure::usage("cannot sweep", wrong)
            .advise("Omit --dscp, --tos, --ttl and --bind, or omit --simulate.")
            .into());
    }
    let simulation = Simulation::new(PathScenario::named(name, &read_text)?, args.seed);
    let mut plan = args.plan(simulation.is_alike(), simulation.repeats(args.repeat));
    plan.longest = simulation.longest(args.time);
    plan.congestions = simulate::congestions(&args.congestion);
    let measure = |probe: Probe, limits: Limits, stop: &AtomicBool| {
        Ok(simulation.measure(probe, limits, stop))
    };
    drive(args, plan, simulation.path(), measure, output, WatchedRecord::virtually)
}

/// Sweeps with any method of measuring, and writes the results.
fn drive(
    args: &SweepArgs,
    plan: Plan,
    path: Path,
    mut measure: impl FnMut(Probe, Limits, &AtomicBool) -> Result<Option<ProbeResult>, Failure>,
    output: &mut Output,
    watched: impl FnOnce(SweepReport) -> WatchedRecord<SweepReport>,
) -> anyhow::Result<()> {
    let doing = match path.kind {
        "host" => format!("cannot finish the sweep of the path to {}", path.name),
        _ => format!("cannot finish the sweep of {}", path.name),
    };
    let csv = args.csv.as_deref().map(|place| Target::open("the table", place)).transpose()?;
    let html = args.html.as_deref().map(|place| Target::open("the page", place)).transpose()?;
    let mut sweep = Sweep::new(plan);
    let mut state = match &args.state {
        Some(file) => Some(SweepState::open(file, &path.identity, &mut sweep)?),
        None => None,
    };
    let listening = args.measuring.live.listen(&doing)?;
    let title = || format!("windlass sweep: {}", path.title);
    let view = listening.show(output, || view::view(title()))?;
    let mut telling = match view {
        Some(view) => ProgressOutput::View(view, Vec::new()),
        None if args.json_stream => ProgressOutput::Stream(Stream::new(output)),
        None => ProgressOutput::Line(Progress::new(Duration::ZERO, UPDATE)),
    };
    if let ProgressOutput::Stream(stream) = &mut telling {
        stream.say(Event::Begins { name: &path.name, within_seconds: sweep.budget() });
    }
    let mut broken =
        measured(&mut sweep, &mut measure, state.as_mut(), &listening.stop, &mut telling).err();
    let streamed = match telling {
        ProgressOutput::Stream(stream) => stream.end(),
        ProgressOutput::Line(_) | ProgressOutput::View(..) => Ok(()),
    };
    let taken = sweep.taken();
    if broken.is_none() && sweep.next().is_some() {
        let wrong = format!("interrupted after {taken} measurements");
        let mut failure = Failure::new(&doing, wrong);
        if let Some(state) = &state {
            failure =
                failure.advise(format!("Run the same command to continue with {}.", state.name()));
        }
        broken = Some(failure);
    }
    if taken == 0
        && let Some(failure) = broken
    {
        // An empty table is useless.
        return Err(failure.into());
    }
    let record = watched(SweepReport::new(&sweep, path));
    // The files come first: standard output may be a pipe whose reader stops early. A file that
    // cannot be written does not lose the results.
    let mut unwritable = None;
    let mut to_stdout = None;
    let pages = [(csv, csv_of as fn(&WatchedRecord<SweepReport>) -> String), (html, page_of)];
    for (target, make) in pages {
        match target {
            Some(Target::Stdout) => to_stdout = Some(make),
            Some(Target::File(file)) => {
                let wrote = file.write(make(&record).as_bytes());
                unwritable = unwritable.or(wrote.err());
            }
            None => {}
        }
    }
    match to_stdout {
        Some(make) if output.format() == Format::Text => {
            output.keep(&record);
            output.raw(make(&record).as_bytes())
        }
        _ if args.json_stream => {
            output.keep(&record);
            streamed.and_then(|()| output.print_line(&record)).and_then(|()| output.flush())
        }
        _ => output.print(&record),
    }
    .map_err(unwritten)?;
    broken.or(unwritable).map_or(Ok(()), |failure| Err(failure.into()))
}

fn csv_of(record: &WatchedRecord<SweepReport>) -> String {
    csv::table(&record.record)
}

fn page_of(record: &WatchedRecord<SweepReport>) -> String {
    let start = record.start_time().map(|time| time.to_string());
    page::page(&record.record, start.as_deref())
}

/// Form in which progress is reported.
enum ProgressOutput<'a> {
    /// A changing line on the terminal.
    Line(Progress),
    /// A view with the measurements, newest first.
    View(LiveView, Vec<Vec<Text>>),
    /// A line of JSON for each measurement.
    Stream(Stream<'a>),
}

/// Measures until the sweep has no more probes, or is stopped.
fn measured(
    sweep: &mut Sweep,
    measure: &mut Measure<'_>,
    mut state: Option<&mut SweepState>,
    stop: &AtomicBool,
    telling: &mut ProgressOutput<'_>,
) -> Result<(), Failure> {
    while let Some(probe) = sweep.next() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        match telling {
            ProgressOutput::Line(progress) => progress.tell(|| line(probe, sweep)),
            ProgressOutput::View(view, _) => view.say(line(probe, sweep)),
            ProgressOutput::Stream(_) => {}
        }
        let before = sweep.spent();
        let Some(gave) = measure(probe, sweep.limits(probe), stop)? else { break };
        // `handle` cannot fail: the sweep asked for this probe just now.
        let measurement = match gave {
            ProbeResult::Measured(measurement) => {
                let _ = sweep.handle(probe, *measurement);
                Some(measurement)
            }
            ProbeResult::Refused => {
                let _ = sweep.refuse(probe);
                None
            }
        };
        match (&mut *telling, &measurement) {
            (ProgressOutput::View(view, rows), Some(measurement)) => {
                rows.insert(0, view::row(probe, measurement));
                rows.truncate(MOST_ROWS);
                let (from, to) = (before, sweep.spent());
                view.push(view::stretch((from, to), measurement, rows.clone()));
            }
            (ProgressOutput::Stream(stream), measurement) => {
                stream.tell(probe, measurement.as_deref(), sweep);
            }
            (ProgressOutput::View(..), None) | (ProgressOutput::Line(_), _) => {}
        }
        if let Some(state) = &mut state {
            state.keep(probe, measurement.as_deref())?;
        }
    }
    Ok(())
}

/// Returns the progress line: the current measurement, and the time spent and allowed.
fn line(probe: Probe, sweep: &Sweep) -> String {
    let setting = probe.setting;
    let mut text = format!(
        "measurement {}: {}, {}",
        sweep.taken() + 1,
        setting.window.map_or("autotuned".to_owned(), |window| figures::size(window).plain()),
        figures::counted(u64::from(setting.streams), "stream").plain(),
    );
    if let Some(congestion) = setting.congestion {
        text.push_str(&format!(", {congestion}"));
    }
    if sweep.plan().directions.len() > 1 {
        text.push_str(&format!(", {}", setting.direction));
    }
    let whole = |time: Span| Span::from_seconds(time.as_seconds().round());
    match sweep.budget() {
        Some(most) => {
            text.push_str(&format!("; {} of {} at most", whole(sweep.spent()), whole(most)));
        }
        None => text.push_str(&format!("; {} so far", whole(sweep.spent()))),
    }
    text
}
