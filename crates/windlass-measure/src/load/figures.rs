//! Load of the machine in a part of a run: the server with its children, windlass, and other
//! programs.

use std::time::Duration;

use serde::Serialize;
use windlass_base::{Bytes, Rate, Span};
use windlass_host::census::{BusyChildren, BusyProcess, Census, Shares};
use windlass_host::proc::ProcessStat;
use windlass_host::processors::{SHORTEST, others};
use windlass_host::sample::Sample;
use windlass_host::{Interval, Source, WatchTarget};

/// Maximum number of sampled threads of the server, each for some microseconds.
const MAX_THREADS: u64 = 2_048;

/// Figures of a process of the server.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Process {
    /// Process ID.
    pub pid: u32,
    /// Name of the process.
    pub name: String,
    /// Processor time, as a share of one processor.
    pub cpu_share: Option<f64>,
    /// Processor time of its busiest thread; nothing if the thread began in between, or there are
    /// too many.
    pub busiest_thread_share: Option<f64>,
    /// Processor time of its children, including ended ones.
    pub children_cpu_share: f64,
    /// Running children, by their names.
    pub children: Vec<BusyChildren>,
    /// Number of its threads.
    pub threads: u64,
    /// Memory of the process.
    pub resident_bytes: Bytes,
    /// Rate of its writes to disks, if it can be known.
    pub written_bytes_per_second: Option<Rate>,
}

/// The busiest disk.
#[derive(Clone, Debug, Serialize)]
pub struct Disk {
    /// Name of the disk.
    pub name: String,
    /// Share of the time with a request in progress.
    pub utilisation: f64,
    /// Rate of the writes to the disk.
    pub written_bytes_per_second: Rate,
    /// Mean time of a request; nothing if there was none.
    pub await_seconds: Option<Span>,
}

/// Figures of the machine.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// Duration of the figures.
    pub seconds: Span,
    /// Share of all processors' time in which they worked.
    pub busy_share: f64,
    /// Share of all processors' time in which they waited for a disk.
    pub iowait_share: f64,
    /// Number of processors.
    pub processors: usize,
    /// Observed processes of the server.
    pub server: Vec<Process>,
    /// Processor time of windlass, as a share of one processor.
    pub client_cpu_share: f64,
    /// Processor time of the programs that windlass ran.
    pub programs_cpu_share: f64,
    /// Busiest other programs, with their children.
    pub others: Vec<BusyProcess>,
    /// The busiest disk; nothing if none did anything.
    pub disk: Option<Disk>,
}

/// Takes samples at the boundaries of the parts of a run.
#[derive(Debug)]
pub(super) struct MachineSampler {
    source: Source,
    wanted: Vec<WatchTarget>,
    last: Option<MachineSnapshot>,
}

/// Sample of one moment.
#[derive(Clone, Debug)]
struct MachineSnapshot {
    sample: Sample,
    census: Census,
    /// Threads of the server's processes.
    threads: Vec<(u32, Vec<ProcessStat>)>,
    spent: ProcessorTimes,
}

/// Processor time of this process, and of the programs that it ran.
#[derive(Clone, Copy, Debug)]
struct ProcessorTimes {
    own: Duration,
    programs: Duration,
}

impl ProcessorTimes {
    fn now() -> Self {
        use windlass_host::cpu;
        Self { own: cpu::of_this_process().total(), programs: cpu::of_ended_children().total() }
    }
}

/// Outcome of observing a part of a run.
#[derive(Debug)]
pub(super) enum PartFigures {
    /// Figures of the part.
    Seen(Box<Figures>),
    /// The part was too short.
    TooShort,
    /// The machine does not report figures.
    Unseen,
}

impl PartFigures {
    /// Returns the figures, if there are any.
    pub(super) fn figures(self) -> Option<Figures> {
        match self {
            Self::Seen(figures) => Some(*figures),
            Self::TooShort | Self::Unseen => None,
        }
    }
}

impl MachineSampler {
    /// Begins to sample the machine and these processes; returns nothing if the machine does not
    /// report them.
    pub(super) fn new(wanted: Vec<WatchTarget>) -> Option<Self> {
        let source = Source::open(std::path::Path::new("/"), &wanted, &[]).ok()?;
        let mut looker = Self { source, wanted, last: None };
        looker.look();
        Some(looker)
    }

    /// Follows new processes of the server.
    pub(super) fn follow(&mut self, wanted: Vec<WatchTarget>) {
        if let Ok(source) = Source::open(std::path::Path::new("/"), &wanted, &[]) {
            (self.source, self.wanted) = (source, wanted);
            // The new source uses another clock.
            self.last = None;
            self.look();
        }
    }

    fn now(&self) -> Option<MachineSnapshot> {
        let sample = self.source.sample().ok()?;
        let threads = sample.processes.iter().filter(|it| it.stat.threads <= MAX_THREADS);
        let threads = threads.map(|it| (it.stat.pid, self.source.threads(it.stat.pid)));
        let threads = threads.collect();
        Some(MachineSnapshot {
            threads,
            census: self.source.census(),
            spent: ProcessorTimes::now(),
            sample,
        })
    }

    /// Returns the figures since the last sample.
    pub(super) fn look(&mut self) -> PartFigures {
        let Some(now) = self.now() else { return PartFigures::Unseen };
        let Some(before) = self.last.replace(now.clone()) else { return PartFigures::Unseen };
        let interval =
            Interval::between(&before.sample, &now.sample, self.source.scale, &self.wanted);
        if Span::from_seconds(interval.seconds()) < SHORTEST {
            return PartFigures::TooShort;
        }
        let share = |from: Duration, to: Duration| {
            to.saturating_sub(from).as_secs_f64() / interval.seconds()
        };
        let ticks = self.source.scale.ticks;
        let shares = Shares::between(&before.census, &now.census, ticks);
        let pids: Vec<u32> = interval.processes.iter().map(|process| process.pid).collect();
        let server = interval.processes.iter().map(|process| {
            // A process that is itself observed is no child of another.
            let without: Vec<u32> =
                pids.iter().copied().filter(|pid| *pid != process.pid).collect();
            let family = shares.family(process.pid, &without).unwrap_or_default();
            Process {
                pid: process.pid,
                name: process.name.clone(),
                cpu_share: process.cpu_share,
                busiest_thread_share: busiest_thread(&before, &now, process.pid, ticks),
                children_cpu_share: (family.cpu_share - family.own_cpu_share).max(0.0),
                children: family.children,
                threads: process.threads,
                resident_bytes: process.resident_bytes,
                written_bytes_per_second: process.written_bytes_per_second,
            }
        });
        let without: Vec<u32> = pids.iter().copied().chain([std::process::id()]).collect();
        let cpu = interval.host.cpu;
        let disk = interval.disks.iter().max_by(|one, other| {
            let key = |disk: &windlass_host::rates::DiskRates| disk.utilisation;
            key(one).total_cmp(&key(other))
        });
        let disk = disk.filter(|disk| disk.utilisation > 0.0).map(|disk| Disk {
            name: disk.name.clone(),
            utilisation: disk.utilisation,
            written_bytes_per_second: disk.written_bytes_per_second,
            await_seconds: disk.await_seconds,
        });
        PartFigures::Seen(Box::new(Figures {
            seconds: Span::from_seconds(interval.seconds()),
            busy_share: cpu.busy(),
            iowait_share: cpu.iowait_share,
            processors: now.sample.stat.cores.len().max(1),
            server: server.collect(),
            client_cpu_share: share(before.spent.own, now.spent.own),
            programs_cpu_share: share(before.spent.programs, now.spent.programs),
            others: others(&self.source, &shares, &without),
            disk,
        }))
    }
}

/// Returns the share of the busiest thread of a process.
fn busiest_thread(
    before: &MachineSnapshot,
    now: &MachineSnapshot,
    pid: u32,
    ticks: u64,
) -> Option<f64> {
    let of = |look: &MachineSnapshot| {
        let found = look.threads.iter().find(|(of, _)| *of == pid);
        found.map(|(_, threads)| threads.clone())
    };
    let (before_it, now_it) = (of(before)?, of(now)?);
    let seconds = (now.sample.processes_at - before.sample.processes_at).as_seconds().max(1e-9);
    let most = now_it.iter().map(|thread| {
        let known =
            before_it.iter().find(|it| (it.pid, it.started) == (thread.pid, thread.started));
        thread.ticks.saturating_sub(known.map_or(0, |known| known.ticks))
    });
    most.max().map(|most| most as f64 / ticks as f64 / seconds)
}

impl Figures {
    /// Returns the busiest process of the server.
    pub(super) fn busiest(&self) -> Option<(&Process, f64)> {
        let known = self.server.iter().filter_map(|it| Some((it, it.cpu_share?)));
        known.max_by(|one, other| one.1.total_cmp(&other.1))
    }

    /// Returns the processor time of the server, with its children, as a share of one processor.
    pub fn server_cpu_share(&self) -> f64 {
        let of = |it: &Process| it.cpu_share.unwrap_or(0.0) + it.children_cpu_share;
        self.server.iter().map(of).sum()
    }
}
