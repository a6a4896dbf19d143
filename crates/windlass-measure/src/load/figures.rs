//! What the machine did in a part of a run: the server with its children, windlass,
//! and who had nothing to do with either.

use std::time::Duration;

use serde::Serialize;
use windlass_base::{Bytes, Rate, Span};
use windlass_host::census::{BusyChildren, BusyProcess, Census, Shares};
use windlass_host::proc::ProcessStat;
use windlass_host::processors::{SHORTEST, others};
use windlass_host::sample::Sample;
use windlass_host::{Interval, Source, WatchTarget};

/// The most threads of the server that are looked at, each for some microseconds.
const MAX_THREADS: u64 = 2_048;

/// A process of the server.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Processor time, as a share of one processor.
    pub cpu_share: Option<f64>,
    /// That of its thread with most to do; nothing where it began in between, or has
    /// too many.
    pub busiest_thread_share: Option<f64>,
    /// That of its children, of those that have ended, too.
    pub children_cpu_share: f64,
    /// Those that live, by their names.
    pub children: Vec<BusyChildren>,
    /// The number of its threads.
    pub threads: u64,
    /// Its memory.
    pub resident_bytes: Bytes,
    /// What it writes to disks, where that may be known.
    pub written_bytes_per_second: Option<Rate>,
}

/// The disk with most to do.
#[derive(Clone, Debug, Serialize)]
pub struct Disk {
    /// Its name.
    pub name: String,
    /// The share of the time in which something was under way.
    pub utilisation: f64,
    /// What is written to it.
    pub written_bytes_per_second: Rate,
    /// The time for which a request took; nothing where there was none.
    pub await_seconds: Option<Span>,
}

/// What the machine did.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// For how long.
    pub seconds: Span,
    /// The share of all processors' time in which they worked.
    pub busy_share: f64,
    /// In which they waited for a disk.
    pub iowait_share: f64,
    /// The number of them.
    pub processors: usize,
    /// The processes of the server that are watched.
    pub server: Vec<Process>,
    /// The processor time of windlass, as a share of one processor.
    pub client_cpu_share: f64,
    /// That of the programs that it ran.
    pub programs_cpu_share: f64,
    /// Who had most beside the server and windlass, with their children.
    pub others: Vec<BusyProcess>,
    /// The disk with most to do; nothing where none did anything.
    pub disk: Option<Disk>,
}

/// Takes samples between which there are parts.
#[derive(Debug)]
pub(super) struct Looker {
    source: Source,
    wanted: Vec<WatchTarget>,
    last: Option<Look>,
}

/// What was seen at one moment.
#[derive(Clone, Debug)]
struct Look {
    sample: Sample,
    census: Census,
    /// The threads of the server's processes.
    threads: Vec<(u32, Vec<ProcessStat>)>,
    spent: Spent,
}

/// Processor time of this process, and of the programs that it ran.
#[derive(Clone, Copy, Debug)]
struct Spent {
    own: Duration,
    programs: Duration,
}

impl Spent {
    fn now() -> Self {
        use windlass_host::cpu;
        Self { own: cpu::of_this_process().total(), programs: cpu::of_ended_children().total() }
    }
}

/// What a part of a run looked like.
#[derive(Debug)]
pub(super) enum Looked {
    /// So.
    Seen(Box<Figures>),
    /// It was too short to tell.
    TooShort,
    /// The machine does not tell.
    Unseen,
}

impl Looked {
    /// The figures, where there are some.
    pub(super) fn figures(self) -> Option<Figures> {
        match self {
            Self::Seen(figures) => Some(*figures),
            Self::TooShort | Self::Unseen => None,
        }
    }
}

impl Looker {
    /// Of the machine and these processes; nothing where it tells nothing.
    pub(super) fn new(wanted: Vec<WatchTarget>) -> Option<Self> {
        let source = Source::open(std::path::Path::new("/"), &wanted, &[]).ok()?;
        let mut looker = Self { source, wanted, last: None };
        looker.look();
        Some(looker)
    }

    /// The server has other processes by now.
    pub(super) fn follow(&mut self, wanted: Vec<WatchTarget>) {
        if let Ok(source) = Source::open(std::path::Path::new("/"), &wanted, &[]) {
            (self.source, self.wanted) = (source, wanted);
            // By another clock.
            self.last = None;
            self.look();
        }
    }

    fn now(&self) -> Option<Look> {
        let sample = self.source.sample().ok()?;
        let threads = sample.processes.iter().filter(|it| it.stat.threads <= MAX_THREADS);
        let threads = threads.map(|it| (it.stat.pid, self.source.threads(it.stat.pid)));
        let threads = threads.collect();
        Some(Look { threads, census: self.source.census(), spent: Spent::now(), sample })
    }

    /// What happened since the last look.
    pub(super) fn look(&mut self) -> Looked {
        let Some(now) = self.now() else { return Looked::Unseen };
        let Some(before) = self.last.replace(now.clone()) else { return Looked::Unseen };
        let interval =
            Interval::between(&before.sample, &now.sample, self.source.scale, &self.wanted);
        if Span::from_seconds(interval.seconds()) < SHORTEST {
            return Looked::TooShort;
        }
        let share = |from: Duration, to: Duration| {
            to.saturating_sub(from).as_secs_f64() / interval.seconds()
        };
        let ticks = self.source.scale.ticks;
        let shares = Shares::between(&before.census, &now.census, ticks);
        let pids: Vec<u32> = interval.processes.iter().map(|process| process.pid).collect();
        let server = interval.processes.iter().map(|process| {
            // One that is watched, too, is no child of another.
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
        Looked::Seen(Box::new(Figures {
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

/// The share of the thread of a process that had most.
fn busiest_thread(before: &Look, now: &Look, pid: u32, ticks: u64) -> Option<f64> {
    let of = |look: &Look| {
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
    /// The process of the server with most to do.
    pub(super) fn busiest(&self) -> Option<(&Process, f64)> {
        let known = self.server.iter().filter_map(|it| Some((it, it.cpu_share?)));
        known.max_by(|one, other| one.1.total_cmp(&other.1))
    }

    /// All that the server had, with its children, as a share of one processor.
    pub fn server_cpu_share(&self) -> f64 {
        let of = |it: &Process| it.cpu_share.unwrap_or(0.0) + it.children_cpu_share;
        self.server.iter().map(of).sum()
    }
}
