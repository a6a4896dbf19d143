//! The cases, and the bounds of their figures.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use windlass_print::load::{DocumentStorage, Files, RequestedDocument};

use super::common::{self, Part, grouped, median};
use super::load::{Jobs, drained, files, queue, release, waiting};
use super::server::{Kind, Server, Shape};
use super::sink::Sink;
use super::{BenchSize, ceiling};

/// The names of the cases, in their order.
pub(super) const KNOWN: [&str; 14] = [
    "held",
    "at-once",
    "eight",
    "small",
    "small-eight",
    "forward",
    "drain",
    "sync-small",
    "sync",
    "accounted",
    "tls",
    "tls-small",
    "many",
    "document",
];

/// The document's size of a job.
const MEGABYTE: u64 = 1_011_712;

/// A small job.
const SMALL: u64 = 10_240;

/// A figure of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figure {
    pub(super) name: &'static str,
    pub(super) value: f64,
    pub(super) unit: Unit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    JobsPerSecond,
    MegabytesPerSecond,
    Megabytes,
    Seconds,
    Ratio,
}

impl Figure {
    pub(super) fn text(&self) -> String {
        let value = self.value;
        match self.unit {
            Unit::JobsPerSecond => format!("{} jobs/s", grouped(value)),
            Unit::MegabytesPerSecond => format!("{} MB/s", grouped(value)),
            Unit::Megabytes => format!("{} MB", grouped(value)),
            Unit::Seconds => format!("{value:.2} s"),
            Unit::Ratio => format!("{value:.2}"),
        }
    }
}

/// Bound of a figure.
#[derive(Clone, Copy, Debug)]
enum Bound {
    /// A multiple of cupsd's figure.
    Over(f64),
    Own(common::Bound),
}

/// A case.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    /// True if cupsd runs the case, too.
    pub(super) has_peer: bool,
    work: fn(Kind, &BenchSize, &Path) -> Result<Vec<Figure>>,
    bounds: &'static [(&'static str, Bound)],
}

pub(super) const CASES: [Case; KNOWN.len()] = [
    Case {
        name: "held",
        what: "1 MB jobs queued while the printer is stopped, then let go; both at their defaults",
        has_peer: true,
        work: |kind, wanted, folder| {
            let jobs = jobs(wanted.jobs, MEGABYTE, 1, 1);
            let mut figures = held(kind, folder, jobs, false)?;
            if kind == Kind::Ours {
                let bare = ceiling::bare(jobs, folder)?;
                let share = figures[0].value / bare;
                figures.push(figure("a socket into files", bare, Unit::JobsPerSecond));
                figures.push(figure("over that loop", share, Unit::Ratio));
                let disk = ceiling::disk(folder, jobs.number * jobs.size)?;
                let share = figures[1].value / disk;
                figures.push(figure("the disk", disk, Unit::MegabytesPerSecond));
                figures.push(figure("of the disk", share, Unit::Ratio));
            }
            Ok(figures)
        },
        bounds: &[("queued", Bound::Over(4.0))],
    },
    Case {
        name: "at-once",
        what: "1 MB jobs processed as they come, to /dev/null; both at their defaults",
        has_peer: true,
        work: |kind, wanted, folder| {
            let jobs = jobs(wanted.jobs, MEGABYTE, 1, 1);
            let mut figures = at_once(kind, folder, jobs)?;
            if kind == Kind::Ours
                && let Some(rate) = ceiling::p910nd(jobs, &files(jobs.size, folder)?)?
            {
                figures.push(figure("p910nd, raw, kept nowhere", rate, Unit::JobsPerSecond));
            }
            Ok(figures)
        },
        bounds: &[("processed", Bound::Over(1.5))],
    },
    Case {
        name: "eight",
        what: "the same over one connection and over eight",
        has_peer: true,
        work: |kind, wanted, folder| {
            let over = |connections| {
                let place = tempfile::tempdir_in(folder)?;
                let all = at_once(kind, place.path(), jobs(wanted.jobs, MEGABYTE, 1, connections))?;
                anyhow::Ok(all[0].value)
            };
            let (one, eight) = (over(1)?, over(8)?);
            Ok(vec![
                figure("one", one, Unit::JobsPerSecond),
                figure("eight", eight, Unit::JobsPerSecond),
                figure("eight over one", eight / one, Unit::Ratio),
            ])
        },
        bounds: &[("eight over one", Bound::Own(common::Bound::Least(1.0)))],
    },
    Case {
        name: "small",
        what: "10 kB jobs over 280 queues, queued while all are stopped, then let go",
        has_peer: true,
        work: |kind, wanted, folder| held(kind, folder, jobs(wanted.jobs, SMALL, 280, 1), false),
        bounds: &[("queued", Bound::Over(10.0))],
    },
    Case {
        name: "small-eight",
        what: "the same over eight connections",
        has_peer: true,
        work: |kind, wanted, folder| held(kind, folder, jobs(wanted.jobs, SMALL, 280, 8), false),
        bounds: &[],
    },
    Case {
        name: "forward",
        what: "10 kB jobs over 280 queues, forwarded to sockets",
        has_peer: true,
        work: forward,
        bounds: &[("forwarded", Bound::Over(10.0))],
    },
    Case {
        name: "drain",
        what: "10 kB jobs of one queue let go: 1,000, 4,000 and 15,000 of them",
        has_peer: true,
        work: drain,
        bounds: &[("15,000 over 1,000, a job", Bound::Own(common::Bound::Most(1.5)))],
    },
    Case {
        name: "sync-small",
        what: "10 kB jobs, each on the disk when it is acknowledged, 64 connections",
        has_peer: true,
        work: |kind, wanted, folder| held(kind, folder, jobs(wanted.jobs / 3, SMALL, 1, 64), true),
        bounds: &[("queued", Bound::Over(10.0))],
    },
    Case {
        name: "sync",
        what: "1 MB jobs, each on the disk when it is acknowledged, eight connections",
        has_peer: true,
        work: |kind, wanted, folder| {
            let number = wanted.jobs / 15;
            let disk = ceiling::synced_disk(folder, number * MEGABYTE)?;
            let mut figures = held(kind, folder, jobs(number, MEGABYTE, 1, 8), true)?;
            let share = figures[1].value / disk;
            figures.push(figure("the disk, synced", disk, Unit::MegabytesPerSecond));
            figures.push(figure("of the disk", share, Unit::Ratio));
            Ok(figures)
        },
        bounds: &[("of the disk", Bound::Own(common::Bound::Least(0.7)))],
    },
    Case {
        name: "accounted",
        what: "jobs processed as they come, to /dev/null, without and with a page log and an \
               account log; medians of 45 short runs in turn",
        has_peer: false,
        work: accounted,
        bounds: &[
            ("1 MB, with over without", Bound::Own(common::Bound::Least(0.95))),
            ("10 kB, with over without", Bound::Own(common::Bound::Least(0.95))),
        ],
    },
    Case {
        name: "tls",
        what: "1 MB jobs processed as they come, over one kept connection of TLS",
        has_peer: true,
        work: |kind, wanted, folder| {
            let jobs = jobs(wanted.jobs / 3, MEGABYTE, 1, 1);
            let mut figures = encrypted(kind, folder, jobs)?;
            if kind == Kind::Ours {
                let place = tempfile::tempdir_in(folder)?;
                let bare = ceiling::encrypted(jobs, place.path())?;
                let share = figures[0].value / bare;
                figures.push(figure("TLS alone, kept nowhere", bare, Unit::JobsPerSecond));
                figures.push(figure("over that loop", share, Unit::Ratio));
            }
            Ok(figures)
        },
        bounds: &[("processed", Bound::Over(5.0))],
    },
    Case {
        name: "tls-small",
        what: "10 kB jobs over 280 queues processed as they come, over eight kept connections of TLS",
        has_peer: true,
        work: |kind, wanted, folder| encrypted(kind, folder, jobs(wanted.jobs, SMALL, 280, 8)),
        bounds: &[("processed", Bound::Over(5.0))],
    },
    Case {
        name: "many",
        what: "201,600 jobs of 10 kB over 280 stopped queues; then a start with 140,000 and more",
        has_peer: false,
        work: many,
        bounds: &[
            ("last over first", Bound::Own(common::Bound::Least(0.8))),
            ("memory", Bound::Own(common::Bound::Most(200.0))),
            ("start", Bound::Own(common::Bound::Most(5.0))),
        ],
    },
    Case {
        name: "document",
        what: "the document's runs: 15,000 jobs of 1,011,712 bytes to one queue that processes \
               them as they come, and 201,600 PDFs over 280. In 2010, on a virtual machine of a \
               Core 2 Duo, CUPS 1.3.7 took 4,725 s to queue and 4,581 s to process them on disk, \
               4,620 and 76 s in memory, 4,618 and 86 s without a log; on a faster one 171 and \
               4 s in memory; and 3,049 s for the PDFs",
        has_peer: true,
        work: document,
        bounds: &[],
    },
];

const fn jobs(number: u64, size: u64, queues: usize, connections: usize) -> Jobs {
    Jobs { number, size, queues, connections }
}

const fn figure(name: &'static str, value: f64, unit: Unit) -> Figure {
    Figure { name, value, unit }
}

/// Returns the rates of these jobs.
fn rates(name: &'static str, jobs: Jobs, seconds: f64) -> [Figure; 2] {
    let number = jobs.number as f64;
    [
        figure(name, number / seconds, Unit::JobsPerSecond),
        figure(name, number * jobs.size as f64 / 1e6 / seconds, Unit::MegabytesPerSecond),
    ]
}

fn held(kind: Kind, folder: &Path, jobs: Jobs, durable: bool) -> Result<Vec<Figure>> {
    let files = files(jobs.size, folder)?;
    let shape = Shape { stopped: true, durable, ..Shape::new(jobs.queues, folder) };
    let server = Server::start(kind, shape)?;
    let queued = queue(&server, jobs, &files)?;
    let mut figures = rates("queued", jobs, queued).to_vec();
    let waiting = waiting(&server, jobs.queues)?;
    ensure!(waiting == jobs.number, "{waiting} of {} jobs wait", jobs.number);
    let since = Instant::now();
    release(&server, jobs.queues)?;
    figures.push(figure("time to process", drained(&server, jobs.queues, since)?, Unit::Seconds));
    figures.push(figure("processor time", server.cpu()?, Unit::Seconds));
    Ok(figures)
}

fn at_once(kind: Kind, folder: &Path, jobs: Jobs) -> Result<Vec<Figure>> {
    processed(kind, Shape::new(jobs.queues, folder), jobs)
}

fn encrypted(kind: Kind, folder: &Path, jobs: Jobs) -> Result<Vec<Figure>> {
    processed(kind, Shape { encrypted: true, ..Shape::new(jobs.queues, folder) }, jobs)
}

/// Submits jobs without and with accounting, in turn: a slow machine affects both.
fn accounted(kind: Kind, wanted: &BenchSize, folder: &Path) -> Result<Vec<Figure>> {
    const TURNS: usize = 45;
    let mut figures = Vec::new();
    for (jobs, names) in [
        (
            jobs(wanted.jobs / 10, MEGABYTE, 1, 1),
            ["1 MB, without", "1 MB, with", "1 MB, with over without"],
        ),
        (
            jobs(wanted.jobs / 3, SMALL, 280, 1),
            ["10 kB, without", "10 kB, with", "10 kB, with over without"],
        ),
    ] {
        let [mut without, mut with] = [Vec::new(), Vec::new()];
        for turn in 0..TURNS {
            // Who is first goes round: what one leaves to be written slows the next.
            for accounts in [turn % 2 == 0, turn % 2 != 0] {
                let place = tempfile::tempdir_in(folder)?;
                let shape = Shape { accounts, ..Shape::new(jobs.queues, place.path()) };
                let rates = if accounts { &mut with } else { &mut without };
                rates.push(processed(kind, shape, jobs)?[0].value);
            }
        }
        let ratios = with.iter().zip(&without).map(|(with, without)| with / without);
        let middle = |rates: &[f64]| median(rates.iter().copied()).unwrap_or(0.0);
        figures.push(figure(names[0], middle(&without), Unit::JobsPerSecond));
        figures.push(figure(names[1], middle(&with), Unit::JobsPerSecond));
        figures.push(figure(names[2], median(ratios).unwrap_or(0.0), Unit::Ratio));
    }
    Ok(figures)
}

fn processed(kind: Kind, shape: Shape<'_>, jobs: Jobs) -> Result<Vec<Figure>> {
    let files = files(jobs.size, shape.folder)?;
    let server = Server::start(kind, shape)?;
    let since = Instant::now();
    queue(&server, jobs, &files)?;
    let seconds = drained(&server, jobs.queues, since)?;
    let mut figures = rates("processed", jobs, seconds).to_vec();
    figures.push(figure("processor time", server.cpu()?, Unit::Seconds));
    Ok(figures)
}

fn forward(kind: Kind, wanted: &BenchSize, folder: &Path) -> Result<Vec<Figure>> {
    let sink = Sink::start()?;
    // cupsd has a process for each.
    let number = if kind == Kind::Cupsd { wanted.jobs / 15 } else { wanted.jobs };
    let jobs = jobs(number, SMALL, 280, 1);
    let files = files(jobs.size, folder)?;
    let device = format!("socket://127.0.0.1:{}", sink.port);
    let shape = Shape { device: &device, ..Shape::new(280, folder) };
    let server = Server::start(kind, shape)?;
    let since = Instant::now();
    queue(&server, jobs, &files)?;
    let seconds = drained(&server, jobs.queues, since)?;
    sleep(Duration::from_millis(200));
    ensure!(sink.jobs() == jobs.number, "{} of {} jobs came", sink.jobs(), jobs.number);
    Ok(rates("forwarded", jobs, seconds).to_vec())
}

fn drain(kind: Kind, _: &BenchSize, folder: &Path) -> Result<Vec<Figure>> {
    const NUMBERS: [(u64, &str); 3] =
        [(1_000, "1,000 jobs"), (4_000, "4,000 jobs"), (15_000, "15,000 jobs")];
    let files = files(SMALL, folder)?;
    let mut figures = Vec::new();
    for (number, name) in NUMBERS {
        let place = tempfile::tempdir_in(folder)?;
        let jobs = jobs(number, SMALL, 1, 1);
        let shape = Shape { stopped: true, ..Shape::new(1, place.path()) };
        let server = Server::start(kind, shape)?;
        queue(&server, jobs, &files)?;
        let since = Instant::now();
        release(&server, 1)?;
        figures.push(figure(name, drained(&server, 1, since)?, Unit::Seconds));
    }
    let each = |place: usize| figures[place].value / NUMBERS[place].0 as f64;
    figures.push(figure("15,000 over 1,000, a job", each(2) / each(0), Unit::Ratio));
    Ok(figures)
}

fn many(kind: Kind, _: &BenchSize, folder: &Path) -> Result<Vec<Figure>> {
    const QUEUES: usize = 280;
    const TENTH: u64 = 20_160;
    let files = files(SMALL, folder)?;
    let shape = Shape { stopped: true, ..Shape::new(QUEUES, folder) };
    let server = Server::start(kind, shape)?;
    let mut rates = Vec::new();
    for _ in 0..10 {
        rates.push(TENTH as f64 / queue(&server, jobs(TENTH, SMALL, QUEUES, 1), &files)?);
    }
    // A tenth takes some seconds, and the machine is not the same in each.
    let middle = |rates: &mut [f64]| {
        rates.sort_by(f64::total_cmp);
        rates[rates.len() / 2]
    };
    let (first, last) = (middle(&mut rates[..3]), middle(&mut rates[7..]));
    let mut figures = vec![
        figure("first three tenths", first, Unit::JobsPerSecond),
        figure("last three tenths", last, Unit::JobsPerSecond),
        figure("last over first", last / first, Unit::Ratio),
        figure("memory", server.most_memory()? as f64 / 1e6, Unit::Megabytes),
    ];
    drop(server);
    let since = Instant::now();
    let server = Server::start(kind, shape)?;
    let waiting = waiting(&server, QUEUES)?;
    figures.push(figure("start", since.elapsed().as_secs_f64(), Unit::Seconds));
    ensure!(waiting == 10 * TENTH, "{waiting} jobs wait after the start");
    let since = Instant::now();
    release(&server, QUEUES)?;
    figures.push(figure("time to process", drained(&server, QUEUES, since)?, Unit::Seconds));
    Ok(figures)
}

fn document(kind: Kind, wanted: &BenchSize, folder: &Path) -> Result<Vec<Figure>> {
    /// A place in memory.
    const MEMORY: &str = "/dev/shm";
    let mut figures = Vec::new();
    let run = |names: [&'static str; 2], shape: Shape<'_>, jobs: Jobs, files: &Files| {
        let server = Server::start(kind, shape)?;
        let queued = queue(&server, jobs, files)?;
        let since = Instant::now();
        let processed = drained(&server, jobs.queues, since)?;
        anyhow::Ok([
            figure(names[0], queued, Unit::Seconds),
            figure(names[1], processed, Unit::Seconds),
        ])
    };
    let all = jobs(wanted.jobs, MEGABYTE, 1, 1);
    let made = files(MEGABYTE, folder)?;
    let memory = || tempfile::Builder::new().prefix("windlass-spool-").tempdir_in(MEMORY);
    let disk = || tempfile::tempdir_in(folder);
    let (place, logs) = (disk()?, true);
    let shape = Shape { logs, ..Shape::new(1, place.path()) };
    figures.extend(run(["disk: to queue", "then to process"], shape, all, &made)?);
    let place = disk()?;
    let shape = Shape { logs, history: true, ..Shape::new(1, place.path()) };
    figures.extend(run(["disk, history: to queue", "then to process"], shape, all, &made)?);
    let place = memory()?;
    let shape = Shape { logs, ..Shape::new(1, place.path()) };
    figures.extend(run(["memory: to queue", "then to process"], shape, all, &made)?);
    let place = memory()?;
    let shape = Shape::new(1, place.path());
    figures.extend(run(["memory, no log: to queue", "then to process"], shape, all, &made)?);
    let place = disk()?;
    let pdfs = jobs(wanted.jobs * 201_600 / 15_000, 0, 280, 1);
    let samples = Files::prepare(&[RequestedDocument::Samples], &DocumentStorage::Memory, folder)?;
    let shape = Shape { logs, ..Shape::new(280, place.path()) };
    figures.extend(run(["PDFs, 280 queues: to queue", "then to process"], shape, pdfs, &samples)?);
    Ok(figures)
}

impl Case {
    pub(super) fn run(&self, kind: Kind, wanted: &BenchSize) -> Result<Vec<Figure>> {
        let folder =
            tempfile::Builder::new().prefix("windlass-spool-").tempdir_in(&wanted.folder)?;
        (self.work)(kind, wanted, folder.path())
    }

    /// The medians. A ratio is the median of those of the rounds: what slows the
    /// machine down for minutes is in both of its figures.
    pub(super) fn part(
        &self,
        rounds: usize,
        jobs: u64,
        ours: &[Vec<Figure>],
        theirs: &[Vec<Figure>],
    ) -> Part {
        let about =
            format!("{}. Medians of {rounds}; `--jobs {jobs}`", self.what.trim_end_matches('.'));
        let mut part = Part::new(self.name, about, &["", "windlass", "cupsd", "ratio", "bound"]);
        let all = |rounds: &[Vec<Figure>], place: usize| -> Vec<Figure> {
            rounds.iter().filter_map(|all| all.get(place).copied()).collect()
        };
        let middle = |all: &[Figure]| {
            let value = median(all.iter().map(|figure| figure.value))?;
            all.first().map(|figure| Figure { value, ..*figure })
        };
        let mut last = "";
        for place in 0.. {
            let (ours, theirs) = (all(ours, place), all(theirs, place));
            let Some(own) = middle(&ours) else { break };
            let ratio =
                median(ours.iter().zip(&theirs).map(|(our, their)| our.value / their.value));
            // Of a rate in two units the first is held to the bound.
            let bound = self.bounds.iter().find(|(name, _)| *name == own.name && last != own.name);
            last = own.name;
            let bound = match (bound.map(|(_, bound)| *bound), ratio) {
                (Some(Bound::Over(least)), Some(ratio)) => {
                    part.bound(&format!("at least {least} × cupsd"), ratio >= least)
                }
                (Some(Bound::Own(bound)), _) => part.bound(&bound.words(), bound.holds(own.value)),
                _ => String::new(),
            };
            part.row([
                own.name.to_owned(),
                own.text(),
                middle(&theirs).map_or_else(String::new, |theirs| theirs.text()),
                ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}")),
                bound,
            ]);
        }
        part
    }
}
