//! Measures this host's processors, and the threads that have sockets, from look to look.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use windlass_base::Span;
use windlass_base::live::Thread;
use windlass_base::thresholds::BUSY_PROCESSORS;
use windlass_sys::cpu::of_this_thread;
use windlass_sys::sock_diag::Socket;

use super::ends::{HostProcessors, HostProgram, ProcessorFigures};
use super::owners::Owners;
use crate::census::{Census, Shares};
use crate::proc::Stat;
use crate::processors::others;
use crate::rates::CpuShares;
use crate::read::Source;

/// Maximum number of processes whose threads are measured: some 30 µs each, and so 0.1 % of one
/// processor.
const MAX_PROCESSES: usize = 32;

/// Time between two censuses of all processes, as a multiple of a census's duration: at most 0.1 %
/// of one processor. There are none while processors are idle enough.
const SELDOM: i64 = 1_000;

/// The processor time of a thread.
#[derive(Clone, Copy, Debug)]
struct ThreadTime {
    at: Span,
    ran: Duration,
    waited: Duration,
}

/// Measures this host's processors from look to look.
#[derive(Debug)]
pub(super) struct ProcessorMeter {
    /// `None` if this host does not tell.
    source: Option<Source>,
    stat: Option<Stat>,
    census: Option<Census>,
    others: Vec<HostProgram>,
    due: Option<Span>,
    threads: HashMap<u32, ThreadTime>,
}

impl ProcessorMeter {
    pub(super) fn new() -> Self {
        Self {
            source: Source::open(Path::new("/"), &[], &[]).ok(),
            stat: None,
            census: None,
            others: Vec::new(),
            due: None,
            threads: HashMap::new(),
        }
    }

    /// Measures the interval that ends `at` this time, with the threads that have these sockets.
    pub(super) fn look(
        &mut self,
        at: Span,
        sockets: &[Socket],
        owners: &Owners,
    ) -> ProcessorFigures {
        ProcessorFigures { host: self.host(at), threads: self.threads(at, sockets, owners) }
    }

    fn host(&mut self, at: Span) -> Option<HostProcessors> {
        let now = self.source.as_ref()?.stat().ok()?;
        let processors = now.cores.len().max(1);
        let before = self.stat.replace(now)?;
        let busy_share = CpuShares::between(&before.all, &self.stat.as_ref()?.all).busy();
        if busy_share < BUSY_PROCESSORS.get() {
            (self.census, self.others) = (None, Vec::new());
        } else if self.due.is_none_or(|due| due < at) {
            self.count_programs(at);
        }
        Some(HostProcessors { processors, busy_share, others: self.others.clone() })
    }

    /// Finds the programs with the largest shares since the census before.
    fn count_programs(&mut self, at: Span) {
        let Some(source) = &self.source else { return };
        let began = of_this_thread();
        let now = source.census();
        if let Some(before) = &self.census {
            let shares = Shares::between(before, &now, source.scale.ticks);
            let program = |other: crate::census::BusyProcess| HostProgram {
                pid: other.pid,
                name: other.name,
                cpu_share: other.cpu_share,
            };
            let own = std::process::id();
            self.others = others(source, &shares, &[own]).into_iter().map(program).collect();
        }
        self.census = Some(now);
        let took = Span::from_duration(of_this_thread().since(began).total());
        self.due = Some(at + took * SELDOM);
    }

    /// Measures the threads of single-threaded programs, by the cookies of their sockets.
    fn threads(&mut self, at: Span, sockets: &[Socket], owners: &Owners) -> HashMap<u64, Thread> {
        let mut of_process = HashMap::<u32, Option<Thread>>::new();
        let mut all = HashMap::new();
        let mut spent = HashMap::new();
        for socket in sockets {
            let Some(pid) = socket.inode.and_then(|inode| owners.process(inode)) else { continue };
            if !of_process.contains_key(&pid) && of_process.len() >= MAX_PROCESSES {
                continue;
            }
            let thread = of_process.entry(pid).or_insert_with(|| {
                let now = only_thread(owners.proc(), pid, at)?;
                spent.insert(pid, now);
                self.threads.get(&pid).and_then(|before| share(before, &now))
            });
            if let Some(thread) = thread {
                all.insert(socket.cookie, *thread);
            }
        }
        self.threads = spent;
        all
    }
}

/// Returns a thread's share of a processor, and its share of waiting for one.
fn share(before: &ThreadTime, now: &ThreadTime) -> Option<Thread> {
    let time = (now.at - before.at).as_seconds();
    let of = |now: Duration, before: Duration| now.saturating_sub(before).as_secs_f64() / time;
    let had = of(now.ran, before.ran);
    (time > 0.0).then(|| Thread {
        all: had,
        share: had,
        waiting: Some(of(now.waited, before.waited)),
    })
}

/// Reads the time of a process's only thread; `None` if it has several, or the kernel does not
/// tell.
fn only_thread(proc: &Path, pid: u32, at: Span) -> Option<ThreadTime> {
    let folder = proc.join(pid.to_string());
    if fs::read_dir(folder.join("task")).ok()?.take(2).count() != 1 {
        return None;
    }
    // Nanoseconds on a processor, and those on a run queue (`sched-stats.rst` of Linux).
    let text = fs::read_to_string(folder.join("schedstat")).ok()?;
    let mut numbers = text.split_whitespace().map(|word| word.parse().map(Duration::from_nanos));
    let (ran, waited) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    Some(ThreadTime { at, ran, waited })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a process with threads, and the time of the first.
    fn process(proc: &Path, threads: &[u32], schedstat: &str) {
        for thread in threads {
            fs::create_dir_all(proc.join(format!("7/task/{thread}"))).unwrap();
        }
        fs::write(proc.join("7/schedstat"), schedstat).unwrap();
    }

    #[test]
    fn the_thread_of_a_program_has_its_shares() {
        let folder = tempfile::tempdir().unwrap();
        process(folder.path(), &[7], "1000000000 500000000 12\n");
        let at = |seconds| only_thread(folder.path(), 7, Span::from_seconds(seconds)).unwrap();
        let before = at(1.0);
        process(folder.path(), &[7], "1900000000 700000000 99\n");
        let thread = share(&before, &at(2.0)).unwrap();
        assert!((thread.share - 0.9).abs() < 1e-9, "{thread:?}");
        assert!((thread.waiting.unwrap() - 0.2).abs() < 1e-9, "{thread:?}");
        assert_eq!(share(&before, &before), None);
    }

    #[test]
    fn of_several_threads_none_is_told() {
        let folder = tempfile::tempdir().unwrap();
        process(folder.path(), &[7, 8], "1 2 3\n");
        assert!(only_thread(folder.path(), 7, Span::ZERO).is_none());
        assert!(only_thread(folder.path(), 9, Span::ZERO).is_none(), "it has ended");
    }

    #[test]
    fn programs_are_told_of_full_processors_alone() {
        let mut meter = ProcessorMeter::new();
        assert_eq!(meter.host(Span::ZERO), None, "there is no look before");
        let host = meter.host(Span::from_millis(1)).unwrap();
        assert!(host.processors > 0 && host.busy_share <= 1.0, "{host:?}");
        assert!(host.busy_share >= BUSY_PROCESSORS.get() || host.others.is_empty());
    }
}
