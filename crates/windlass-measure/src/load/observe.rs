//! Repeated observation of the filters and backends of CUPS.
//!
//! Samples are evenly spread, so the share of samples in which jobs are in a stage is the share of
//! their time in that stage.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde::Serialize;
use windlass_host::proc::ProcessStat;
use windlass_host::{Source, WatchTarget};
use windlass_print::rest;

use super::stages::{JobProcess, JobStage, Role, connections, role, stage, telling};

/// Shortest time between two samples.
const PAUSE: Duration = Duration::from_millis(50);

/// Multiple of a sample's duration that lies between two samples: at most 2 % of one processor.
const SELDOM: u32 = 50;

/// Maximum number of reported programs.
const MAX_PROGRAMS: usize = 16;

/// Maximum number of processes whose role is remembered.
const MAX_KNOWN: usize = 65_536;

/// Stages of jobs while they were processed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct JobStages {
    /// Number of samples.
    pub looks: u64,
    /// Jobs with a filter or a backend in a sample, summed over all samples.
    pub jobs_seen: u64,
    /// Shares of these jobs at each stage.
    pub stages: Vec<StageShare>,
    /// Programs that worked in a sample, with their shares of the jobs seen.
    pub programs: Vec<ProgramShare>,
}

/// Share of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StageShare {
    /// The stage.
    pub stage: JobStage,
    /// Share of the jobs seen.
    pub share: f64,
}

/// Share of a program.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProgramShare {
    /// Name of the program.
    pub name: String,
    /// Share of the jobs seen.
    pub share: f64,
}

/// Running counts of the samples.
#[derive(Debug, Default)]
struct StageCounts {
    looks: u64,
    jobs: u64,
    stages: BTreeMap<JobStage, u64>,
    programs: BTreeMap<String, u64>,
}

impl StageCounts {
    fn stages(self) -> Option<JobStages> {
        if self.jobs == 0 {
            return None;
        }
        let share = |count: u64| count as f64 / self.jobs as f64;
        let mut stages: Vec<StageShare> = self
            .stages
            .iter()
            .map(|(stage, count)| StageShare { stage: *stage, share: share(*count) })
            .collect();
        stages.sort_by(|one, next| next.share.total_cmp(&one.share));
        let mut programs: Vec<ProgramShare> = self
            .programs
            .iter()
            .map(|(name, count)| ProgramShare { name: name.clone(), share: share(*count) })
            .collect();
        programs.sort_by(|one, next| next.share.total_cmp(&one.share));
        programs.truncate(MAX_PROGRAMS);
        Some(JobStages { looks: self.looks, jobs_seen: self.jobs, stages, programs })
    }
}

/// Takes samples in its own thread.
#[derive(Debug)]
pub(super) struct Observer {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<StageCounts>,
}

impl Observer {
    /// Begins to observe the children of these processes; returns nothing if there are none.
    pub(super) fn begin(server: &[WatchTarget]) -> Option<Self> {
        if server.is_empty() {
            return None;
        }
        let source = Source::open(Path::new("/"), &[], &[]).ok()?;
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, server) = (Arc::clone(&stop), server.to_vec());
        let thread = thread::Builder::new().name("observe".to_owned());
        let thread = thread.spawn(move || watch(&source, &server, &stopped)).ok()?;
        Some(Self { stop, thread })
    }

    /// Returns the stages; nothing if no job had a filter or a backend.
    pub(super) fn end(self) -> Option<JobStages> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().ok()?.stages()
    }
}

fn watch(source: &Source, server: &[WatchTarget], stopped: &AtomicBool) -> StageCounts {
    let (mut counted, mut known) = (StageCounts::default(), KnownProcesses::default());
    let is_stopped = || stopped.load(Ordering::Relaxed);
    loop {
        let began = Instant::now();
        known.look(source, server, &mut counted);
        if !rest(PAUSE.max(began.elapsed() * SELDOM), is_stopped) {
            return counted;
        }
    }
}

/// State of processes between two samples.
#[derive(Debug, Default)]
struct KnownProcesses {
    roles: HashMap<(u32, u64), Option<(Role, u32)>>,
    ticks: HashMap<(u32, u64), u64>,
}

impl KnownProcesses {
    fn look(&mut self, source: &Source, server: &[WatchTarget], counted: &mut StageCounts) {
        let all = source.census().processes;
        counted.looks += 1;
        if self.roles.len() > MAX_KNOWN {
            self.roles.clear();
        }
        let is_server = |process: &&ProcessStat| {
            server.iter().any(|wanted| wanted.is(process.pid, &process.name))
        };
        let mut children: HashMap<u32, Vec<&ProcessStat>> = HashMap::new();
        all.iter().for_each(|process| children.entry(process.parent).or_default().push(process));
        // Each process inherits the role of its parent: the programs of a script belong to its
        // filter.
        let mut open: Vec<(&ProcessStat, Option<(Role, u32)>)> = Vec::new();
        let of = |pid: u32| children.get(&pid).into_iter().flatten().copied();
        all.iter().filter(is_server).for_each(|process| {
            open.extend(of(process.pid).map(|child| (child, None)));
        });
        let mut jobs: HashMap<u32, Vec<JobProcess>> = HashMap::new();
        let mut working: HashMap<(u32, &str), ()> = HashMap::new();
        let mut ticks = HashMap::new();
        let mut table = None;
        let mut left = all.len();
        while let Some((process, inherited)) = open.pop() {
            // No process is visited twice, whatever the kernel reports about parents.
            left = left.saturating_sub(1);
            if left == 0 {
                break;
            }
            let key = (process.pid, process.started);
            let role = match inherited {
                Some(role) => Some(role),
                None => match self.roles.get(&key) {
                    Some(role) if role.is_some() => *role,
                    _ => {
                        // The process may not have become its program yet, so its role is not
                        // final.
                        let role = role(&process.name, &source.words(process.pid));
                        self.roles.insert(key, role);
                        role
                    }
                },
            };
            open.extend(of(process.pid).map(|child| (child, role)));
            let Some((what, job)) = role.filter(|_| process.state != 'Z') else { continue };
            let spent = self.ticks.get(&key).is_some_and(|before| process.ticks > *before);
            ticks.insert(key, process.ticks);
            let works = spent || matches!(process.state, 'R' | 'D');
            if works {
                working.insert((job, process.name.as_str()), ());
            }
            let sockets = (what == Role::Backend).then(|| sockets(process.pid));
            let connection = sockets.as_ref().and_then(|found| {
                let table = table.get_or_insert_with(tables);
                telling(found.as_ref()?.iter().filter_map(|inode| table.get(inode).copied()))
            });
            let is_open = sockets.is_none_or(|found| found.is_some());
            let part = JobProcess { role: what, works, connection, is_open };
            jobs.entry(job).or_default().push(part);
        }
        self.ticks = ticks;
        for parts in jobs.values() {
            counted.jobs += 1;
            *counted.stages.entry(stage(parts)).or_default() += 1;
        }
        for (_, name) in working.keys() {
            *counted.programs.entry((*name).to_owned()).or_default() += 1;
        }
    }
}

/// Returns all connections of this machine.
fn tables() -> HashMap<u64, super::stages::Connection> {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let mut all = connections(&read("/proc/net/tcp"));
    all.extend(connections(&read("/proc/net/tcp6")));
    all
}

/// Returns the sockets of a process; nothing if they cannot be read.
fn sockets(pid: u32) -> Option<Vec<u64>> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
    let inode = |entry: fs::DirEntry| {
        let link = fs::read_link(entry.path()).ok()?;
        link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    };
    Some(entries.flatten().filter_map(inode).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_the_jobs_that_were_seen() {
        assert_eq!(StageCounts { looks: 9, ..StageCounts::default() }.stages(), None);
        let counted = StageCounts {
            looks: 9,
            jobs: 4,
            stages: [(JobStage::Filter, 1), (JobStage::Device, 3)].into(),
            programs: (0..40).map(|number| (format!("p{number}"), 1)).collect(),
        };
        let seen = counted.stages().unwrap();
        assert_eq!(seen.stages[0], StageShare { stage: JobStage::Device, share: 0.75 });
        assert_eq!((seen.stages[1].share, seen.programs.len()), (0.25, MAX_PROGRAMS));
    }

    #[test]
    fn what_is_no_filter_is_not_counted() {
        let server = [WatchTarget::Pid(std::process::id())];
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let observer = Observer::begin(&server).unwrap();
        thread::sleep(Duration::from_millis(1));
        assert_eq!(observer.end(), None);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(Observer::begin(&[]).is_none());
    }
}
