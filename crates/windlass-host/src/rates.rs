//! Rates and shares between two samples.
//!
//! The formulas are those of vmstat(8), of iostat(1) and pidstat(1) of sysstat, and of the kernel's
//! `Documentation/admin-guide/iostats.rst`; `docs/watch.md` has them all. Counters only ever rise.
//! A lower one has wrapped if it has 32 bits; else it was reset, as when a disk was removed and
//! came back.

use std::collections::HashMap;

use serde::Serialize;
use windlass_base::{Bytes, Named, Rate, Span};

use super::proc::{CpuTimes, Disk, SECTOR, Scale};
use super::sample::{Process, Sample, WatchTarget};
use super::syscalls::report::Syscalls;

/// Changes between two samples.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Interval {
    /// Start, since watching began.
    pub from_seconds: Span,
    /// End.
    pub to_seconds: Span,
    /// The machine as a whole.
    pub host: Host,
    /// Each disk.
    pub disks: Vec<DiskRates>,
    /// Each process.
    pub processes: Vec<ProcessRates>,
    /// All processes of each name that was asked for.
    pub totals: Vec<Total>,
    /// Processes that appeared and ended.
    pub events: Vec<Event>,
    /// The system calls of the processes; `None` if they were not asked for.
    pub syscalls: Option<Syscalls>,
}

/// The machine as a whole. Counts and sizes are those at the interval's end.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Host {
    /// Threads that run or are ready to, without the one that counts them.
    pub run_queue: u64,
    /// Threads that wait for a disk.
    pub blocked: u64,
    /// Mean of both over a minute.
    pub load_1min: Option<f64>,
    /// Unused memory.
    pub free_bytes: Bytes,
    /// Memory available to programs without swapping.
    pub available_bytes: Option<Bytes>,
    /// Raw blocks of disks.
    pub buffers_bytes: Bytes,
    /// File pages, and the kernel's data about files.
    pub cache_bytes: Bytes,
    /// Swap space in use.
    pub swap_used_bytes: Bytes,
    /// From swap into memory.
    pub swap_in_bytes_per_second: Option<Rate>,
    /// From memory to swap.
    pub swap_out_bytes_per_second: Option<Rate>,
    /// From disks into memory.
    pub block_in_bytes_per_second: Option<Rate>,
    /// From memory to disks.
    pub block_out_bytes_per_second: Option<Rate>,
    /// Interrupts, clock interrupts included.
    pub interrupts_per_second: f64,
    /// Context switches.
    pub context_switches_per_second: f64,
    /// Shares of the time of all processors.
    #[serde(flatten)]
    pub cpu: CpuShares,
    /// The busiest processor; `None` if the kernel counts none.
    pub busiest_core: Option<u32>,
    /// Its busy share.
    pub busiest_core_share: Option<f64>,
}

/// Shares of the processors' time, which add up to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CpuShares {
    /// User time, with that of guests.
    pub user_share: f64,
    /// User time at low priority.
    pub nice_share: f64,
    /// System time.
    pub system_share: f64,
    /// Idle.
    pub idle_share: f64,
    /// Idle while a request to a disk was in progress.
    pub iowait_share: f64,
    /// Hardware interrupts.
    pub irq_share: f64,
    /// Deferred work of interrupts.
    pub softirq_share: f64,
    /// Time that the host of this virtual machine gave to others.
    pub steal_share: f64,
}

/// A disk.
#[derive(Clone, Debug, Default, Serialize)]
pub struct DiskRates {
    /// Its name.
    pub name: String,
    /// Reads completed.
    pub reads_per_second: f64,
    /// Writes completed.
    pub writes_per_second: f64,
    /// Data read.
    pub read_bytes_per_second: Rate,
    /// Data written.
    pub written_bytes_per_second: Rate,
    /// Mean size of a request; `None` without requests.
    pub request_bytes: Option<Bytes>,
    /// Mean number of requests in progress.
    pub queue: f64,
    /// Mean time of a request, its wait included; `None` without requests.
    pub await_seconds: Option<Span>,
    /// Share of the time with requests in progress.
    pub utilisation: f64,
}

/// A process. Figures that may be secret are `None`: disk traffic and files of other users'
/// processes.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ProcessRates {
    /// Its number.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Its state at the end of the interval, as in top(1).
    pub state: char,
    /// Processor time, as a share of one processor.
    pub cpu_share: Option<f64>,
    /// Its resident memory.
    pub resident_bytes: Bytes,
    /// Its address space.
    pub virtual_bytes: Bytes,
    /// Its threads.
    pub threads: u64,
    /// Data read from disks.
    pub read_bytes_per_second: Option<Rate>,
    /// Data written that goes to disks.
    pub written_bytes_per_second: Option<Rate>,
    /// Number of its open files.
    pub open_files: Option<u64>,
}

/// All processes of a name. Processes with an unknown figure are left out of its sum.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Total {
    /// The name or number asked for.
    pub wanted: String,
    /// Number of processes.
    pub processes: u64,
    /// Sum of their processor time, as a share of one processor.
    pub cpu_share: f64,
    /// Sum of their resident memory; shared memory counts for each.
    pub resident_bytes: Bytes,
    /// Sum of their threads.
    pub threads: u64,
    /// Data that they read from disks.
    pub read_bytes_per_second: Option<Rate>,
    /// Data that they wrote that goes to disks.
    pub written_bytes_per_second: Option<Rate>,
    /// Number of their open files.
    pub open_files: Option<u64>,
}

/// A process that appeared or ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    /// Its number.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Kind of the event.
    pub what: ProcessEventKind,
}

/// Kind of a process event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum ProcessEventKind {
    /// The process is new.
    Appeared,
    /// The process is gone.
    Ended,
}

impl Interval {
    /// Computes the changes from one sample to the next.
    pub fn between(before: &Sample, now: &Sample, scale: Scale, wanted: &[WatchTarget]) -> Self {
        let seconds = lasted(before.at, now.at);
        let known: HashMap<&str, &Disk> =
            before.disks.iter().map(|disk| (disk.name.as_str(), disk)).collect();
        let disks = now.disks.iter().filter_map(|disk| {
            // A new disk has no rates yet.
            DiskRates::between(known.get(disk.name.as_str())?, disk, seconds)
        });
        let (processes, events) = processes(before, now, scale);
        let totals = wanted.iter().map(|wanted| Total::of(wanted, &processes)).collect();
        Self {
            from_seconds: before.at,
            to_seconds: now.at,
            host: Host::between(before, now, seconds, scale),
            disks: disks.collect(),
            processes,
            totals,
            events,
            syscalls: None,
        }
    }

    /// Returns its length in seconds.
    pub fn seconds(&self) -> f64 {
        lasted(self.from_seconds, self.to_seconds)
    }
}

/// Returns the seconds between two times, never zero.
fn lasted(from: Span, to: Span) -> f64 {
    (to - from).as_seconds().max(1e-9)
}

impl Host {
    fn between(before: &Sample, now: &Sample, seconds: f64, scale: Scale) -> Self {
        let per_second = |from, to| since(from, to).unwrap_or(0) as f64 / seconds;
        let pages = before.vmstat.zip(now.vmstat);
        let rate = |of: fn(&super::proc::Vmstat) -> u64, unit: u64| {
            let (from, to) = pages?;
            Some(bytes_per_second(since(of(&from), of(&to)).unwrap_or(0), unit, seconds))
        };
        let memory = now.memory;
        let busiest = busiest_core(before, now);
        Self {
            // The thread that reads the account runs, too.
            run_queue: now.stat.running.saturating_sub(1),
            blocked: now.stat.blocked,
            load_1min: now.load.map(|load| load[0]),
            free_bytes: memory.free,
            available_bytes: memory.available,
            buffers_bytes: memory.buffers,
            cache_bytes: memory.cached + memory.reclaimable,
            swap_used_bytes: memory.swap_total - memory.swap_free,
            swap_in_bytes_per_second: rate(|pages| pages.swap_in_pages, scale.page),
            swap_out_bytes_per_second: rate(|pages| pages.swap_out_pages, scale.page),
            block_in_bytes_per_second: rate(|pages| pages.in_kib, 1_024),
            block_out_bytes_per_second: rate(|pages| pages.out_kib, 1_024),
            interrupts_per_second: per_second(before.stat.interrupts, now.stat.interrupts),
            context_switches_per_second: per_second(
                before.stat.context_switches,
                now.stat.context_switches,
            ),
            cpu: CpuShares::between(&before.stat.all, &now.stat.all),
            busiest_core: busiest.map(|(core, _)| core),
            busiest_core_share: busiest.map(|(_, share)| share),
        }
    }
}

/// Returns the busiest processor, and its busy share.
fn busiest_core(before: &Sample, now: &Sample) -> Option<(u32, f64)> {
    let known: HashMap<u32, &CpuTimes> =
        before.stat.cores.iter().map(|(core, times)| (*core, times)).collect();
    let busy = now.stat.cores.iter().filter_map(|(core, times)| {
        Some((*core, CpuShares::between(known.get(core)?, times).busy()))
    });
    // Of equal ones the first.
    busy.reduce(|most, next| if next.1 > most.1 { next } else { most })
}

impl CpuShares {
    /// Computes the shares of the time between. Idle time may run back by a little
    /// (`proc_stat(5)`), which counts as zero.
    pub fn between(before: &CpuTimes, now: &CpuTimes) -> Self {
        let spent: CpuTimes = std::array::from_fn(|place| now[place].saturating_sub(before[place]));
        let all = spent.iter().fold(0, |sum: u64, ticks| sum.saturating_add(*ticks));
        let share = |part: u64| if all == 0 { 0.0 } else { part as f64 / all as f64 };
        let [user, nice, system, idle, iowait, irq, softirq, steal] = spent.map(share);
        Self {
            user_share: user,
            nice_share: nice,
            system_share: system,
            idle_share: idle,
            iowait_share: iowait,
            irq_share: irq,
            softirq_share: softirq,
            steal_share: steal,
        }
    }

    /// Returns the busy share. Time given to other guests counts as busy, as no more could be done
    /// in it.
    pub fn busy(&self) -> f64 {
        let work = self.user_share + self.nice_share + self.system_share;
        // Each share is rounded, so their sum may be slightly above 1.
        (work + self.irq_share + self.softirq_share + self.steal_share).min(1.0)
    }
}

impl DiskRates {
    /// Computes the rates; `None` if the disk was removed and came back.
    pub fn between(before: &Disk, now: &Disk, seconds: f64) -> Option<Self> {
        let done = |of: fn(&Disk) -> u64| since(of(before), of(now));
        let (reads, writes) = (done(|disk| disk.reads)?, done(|disk| disk.writes)?);
        let read_sectors = done(|disk| disk.read_sectors)?;
        let written_sectors = done(|disk| disk.written_sectors)?;
        let moved = (read_sectors.saturating_add(written_sectors)).saturating_mul(SECTOR);
        let requests = reads.saturating_add(writes);
        let took = done(|disk| disk.read_ms)?.saturating_add(done(|disk| disk.write_ms)?);
        let ms = seconds * 1e3;
        Some(Self {
            name: now.name.clone(),
            reads_per_second: reads as f64 / seconds,
            writes_per_second: writes as f64 / seconds,
            read_bytes_per_second: bytes_per_second(read_sectors, SECTOR, seconds),
            written_bytes_per_second: bytes_per_second(written_sectors, SECTOR, seconds),
            request_bytes: moved.checked_div(requests).map(Bytes::new),
            queue: done(|disk| disk.queued_ms)? as f64 / ms,
            await_seconds: (requests > 0)
                .then(|| Span::from_seconds(took as f64 / 1e3 / requests as f64)),
            utilisation: (done(|disk| disk.busy_ms)? as f64 / ms).min(1.0),
        })
    }
}

/// Returns the rates of each process, and the processes that appeared and ended.
fn processes(before: &Sample, now: &Sample, scale: Scale) -> (Vec<ProcessRates>, Vec<Event>) {
    let seconds = lasted(before.processes_at, now.processes_at);
    let known: HashMap<(u32, u64), &Process> =
        before.processes.iter().map(|process| (process.key(), process)).collect();
    let event = |process: &Process, what| Event {
        pid: process.stat.pid,
        name: process.stat.name.clone(),
        what,
    };
    let (mut rates, mut events) = (Vec::with_capacity(now.processes.len()), Vec::new());
    for process in &now.processes {
        let earlier = known.get(&process.key()).copied();
        if earlier.is_none() {
            events.push(event(process, ProcessEventKind::Appeared));
        }
        // A process that was started in between begins at zero.
        let newborn = Process { io: process.io.map(|_| Default::default()), ..Process::default() };
        let is_new = before
            .uptime
            .is_some_and(|uptime| process.stat.started as f64 / scale.ticks as f64 >= uptime);
        let from = earlier.or_else(|| is_new.then_some(&newborn));
        rates.push(ProcessRates::between(from, process, seconds, scale));
    }
    let still: HashMap<(u32, u64), ()> =
        now.processes.iter().map(|process| (process.key(), ())).collect();
    let gone = before.processes.iter().filter(|process| !still.contains_key(&process.key()));
    // If there are too many to read, a process that is not read may be alive.
    if now.processes_unread == 0 {
        events.extend(gone.map(|process| event(process, ProcessEventKind::Ended)));
    }
    (rates, events)
}

impl ProcessRates {
    fn between(before: Option<&Process>, now: &Process, seconds: f64, scale: Scale) -> Self {
        let io = before.and_then(|before| before.io.zip(now.io));
        let rate = |of: fn(&super::proc::Io) -> u64| {
            let (from, to) = io?;
            Some(bytes_per_second(since(of(&from), of(&to)).unwrap_or(0), 1, seconds))
        };
        let cpu_share = before.map(|before| {
            let ticks = now.stat.ticks.saturating_sub(before.stat.ticks);
            ticks as f64 / scale.ticks as f64 / seconds
        });
        Self {
            pid: now.stat.pid,
            name: now.stat.name.clone(),
            state: now.stat.state,
            cpu_share,
            resident_bytes: now.status.resident.unwrap_or_default(),
            virtual_bytes: now.status.virtual_bytes.unwrap_or(now.stat.virtual_bytes),
            threads: now.status.threads.unwrap_or(now.stat.threads),
            read_bytes_per_second: rate(|io| io.read),
            written_bytes_per_second: rate(|io| io.written),
            open_files: now.open_files,
        }
    }
}

impl Total {
    fn of(wanted: &WatchTarget, processes: &[ProcessRates]) -> Self {
        let mut total = Self { wanted: wanted.text(), ..Self::default() };
        let add = |sum: &mut Option<Rate>, more: Option<Rate>| {
            if let Some(more) = more {
                let so_far = sum.map_or(0.0, Rate::bytes_per_second);
                *sum = Some(Rate::from_bytes_per_second(so_far + more.bytes_per_second()));
            }
        };
        for process in processes.iter().filter(|process| wanted.is(process.pid, &process.name)) {
            total.processes += 1;
            total.cpu_share += process.cpu_share.unwrap_or(0.0);
            total.resident_bytes += process.resident_bytes;
            total.threads = total.threads.saturating_add(process.threads);
            add(&mut total.read_bytes_per_second, process.read_bytes_per_second);
            add(&mut total.written_bytes_per_second, process.written_bytes_per_second);
            if let Some(files) = process.open_files {
                total.open_files = Some(total.open_files.unwrap_or(0).saturating_add(files));
            }
        }
        total
    }
}

fn bytes_per_second(count: u64, unit: u64, seconds: f64) -> Rate {
    Rate::from_bytes_per_second(count as f64 * unit as f64 / seconds)
}

/// Returns the rise of a counter; `None` after a reset.
///
/// Times of disks are counted in 32 bits, and on machines of 32 bits all other counters, too. A
/// counter that wrapped has risen by less than half of its range: more would be 24 days of waiting
/// between two samples.
pub fn since(before: u64, now: u64) -> Option<u64> {
    const RANGE: u64 = 1 << 32;
    match now.checked_sub(before) {
        Some(rose) => Some(rose),
        None => {
            Some(RANGE.saturating_add(now).checked_sub(before)?).filter(|rose| *rose < RANGE / 2)
        }
    }
}

#[cfg(test)]
#[path = "rates_tests.rs"]
mod tests;
