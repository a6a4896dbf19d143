//! The processes with the largest shares of the processors, with their children.
//!
//! A program that starts others for its work, as a spooler its filters or a shell its commands, has
//! their time only together with them. The kernel adds the time of an ended child to its parent,
//! which waits for it (`cutime` and `cstime` of `proc_pid_stat(5)`). So a process's own time and
//! the times of its ended and living children miss nothing between two moments, however short-lived
//! each child was.

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use windlass_base::Span;

use super::proc::ProcessStat;

/// Own share of a process, as a part of its share with its children, from which on the process
/// works itself.
const WORKS: f64 = 0.10;

/// The first processes: the system's, and the parent of the kernel's threads.
const FIRST: [u32; 2] = [1, 2];

/// Maximum number of names of children that are reported of a process.
const MAX_NAMES: usize = 8;

/// All processes at one moment.
#[derive(Clone, Debug, Default)]
pub struct Census {
    /// Time of the census, since the start of watching.
    pub at: Span,
    /// The processes, by their numbers.
    pub processes: Vec<ProcessStat>,
}

/// A process and its children, with their processor time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BusyProcess {
    /// Its number.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Processor time with its children's, as a share of one processor.
    pub cpu_share: f64,
    /// Own part of that share.
    pub own_cpu_share: f64,
    /// Part of ended children, whatever their names.
    pub ended_cpu_share: f64,
    /// Living children and their children, by name: those with the largest shares.
    pub children: Vec<BusyChildren>,
    /// Owner of the process.
    pub belongs_to: Belonging,
}

/// Processes of one name among the children of one process.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BusyChildren {
    /// The name.
    pub name: String,
    /// Number of them at the end.
    pub processes: u64,
    /// Their processor time, as a share of one processor.
    pub cpu_share: f64,
}

/// Owner of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Belonging {
    /// User name, or user ID without a name; `None` if unknown.
    pub user: Option<String>,
    /// Unit, as `cups.service` or `session-3.scope`, or name of its control group; `None` without
    /// one.
    pub unit: Option<String>,
    /// True for a thread of the kernel.
    pub is_kernel: bool,
}

/// Processes to consider, and processes to leave out.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Processes that are left out with their children.
    pub without: Vec<u32>,
    /// Processes whose children are never summed under them, even if they work: the ancestors of
    /// windlass itself.
    pub split: Vec<u32>,
    /// Minimum share of one processor in the report.
    pub least: f64,
    /// Maximum number of processes in the report.
    pub most: usize,
}

/// Processor time of all processes between two moments.
#[derive(Debug)]
pub struct Shares<'a> {
    now: HashMap<u32, &'a ProcessStat>,
    children: HashMap<u32, Vec<u32>>,
    /// Ticks of each process: its own, and those of its ended children.
    spent: HashMap<u32, (f64, f64)>,
    ticks: f64,
}

impl<'a> Shares<'a> {
    /// Computes the shares between two censuses; `ticks_in_a_second` is the kernel's unit.
    pub fn between(before: &Census, now: &'a Census, ticks_in_a_second: u64) -> Self {
        let seconds = (now.at - before.at).as_seconds().max(1e-9);
        let mut shares = Self {
            now: now.processes.iter().map(|one| (one.pid, one)).collect(),
            children: HashMap::new(),
            spent: HashMap::with_capacity(now.processes.len()),
            ticks: ticks_in_a_second as f64 * seconds,
        };
        let earlier: HashMap<u32, &ProcessStat> =
            before.processes.iter().map(|one| (one.pid, one)).collect();
        for process in &now.processes {
            shares.children.entry(process.parent).or_default().push(process.pid);
            let known = earlier.get(&process.pid).filter(|it| it.started == process.started);
            // The census before had all processes: one that it lacks has begun since.
            let (own, ended) = known.map_or((0, 0), |known| (known.ticks, known.ended_ticks));
            let rose = |from: u64, to: u64| to.saturating_sub(from) as f64;
            let spent = (rose(own, process.ticks), rose(ended, process.ended_ticks));
            shares.spent.insert(process.pid, spent);
        }
        // Earlier time of a process that has ended is in its parent's account.
        let gone = before.processes.iter().filter(|gone| !shares.is_same(gone));
        for gone in gone.collect::<Vec<_>>() {
            let mut parent = gone.parent;
            for _ in 0..before.processes.len() {
                let Some(process) = earlier.get(&parent) else { break };
                if shares.is_same(process) {
                    if let Some((_, ended)) = shares.spent.get_mut(&parent) {
                        *ended = (*ended - (gone.ticks + gone.ended_ticks) as f64).max(0.0);
                    }
                    break;
                }
                parent = process.parent;
            }
        }
        shares
    }

    fn is_same(&self, process: &ProcessStat) -> bool {
        self.now.get(&process.pid).is_some_and(|now| now.started == process.started)
    }

    /// Returns a process with its children; `None` if the process is gone.
    pub fn family(&self, pid: u32, without: &[u32]) -> Option<BusyProcess> {
        let process = self.now.get(&pid)?;
        let without: HashSet<u32> = without.iter().copied().collect();
        let mut names: HashMap<&str, BusyChildren> = HashMap::new();
        let (own, mut ended) = self.spent.get(&pid).copied().unwrap_or_default();
        let mut all = own + ended;
        for child in self.descendants(pid, &without) {
            let (own_of_child, ended_of_child) =
                self.spent.get(&child).copied().unwrap_or_default();
            ended += ended_of_child;
            all += own_of_child + ended_of_child;
            let name = self.now.get(&child).map_or("", |child| child.name.as_str());
            let of_name = names.entry(name).or_default();
            of_name.processes += 1;
            of_name.cpu_share += own_of_child / self.ticks;
        }
        let mut children: Vec<BusyChildren> = names
            .into_iter()
            .map(|(name, of_name)| BusyChildren { name: name.to_owned(), ..of_name })
            .collect();
        children.sort_by(|one, next| {
            next.cpu_share.total_cmp(&one.cpu_share).then_with(|| one.name.cmp(&next.name))
        });
        children.truncate(MAX_NAMES);
        Some(BusyProcess {
            pid,
            name: process.name.clone(),
            cpu_share: all / self.ticks,
            own_cpu_share: own / self.ticks,
            ended_cpu_share: ended / self.ticks,
            children,
            belongs_to: Belonging { is_kernel: process.is_kernel(), ..Belonging::default() },
        })
    }

    /// Returns a process and its ancestors.
    pub fn ancestors(&self, pid: u32) -> Vec<u32> {
        let mut all = Vec::new();
        let mut next = pid;
        while let Some(process) = self.now.get(&next).filter(|_| !all.contains(&next)) {
            all.push(next);
            next = process.parent;
        }
        all
    }

    fn descendants(&self, pid: u32, without: &HashSet<u32>) -> Vec<u32> {
        let (mut found, mut seen) = (Vec::new(), HashSet::from([pid]));
        let mut open = vec![pid];
        while let Some(parent) = open.pop() {
            for child in self.children.get(&parent).into_iter().flatten() {
                if !without.contains(child) && seen.insert(*child) {
                    found.push(*child);
                    open.push(*child);
                }
            }
        }
        found
    }

    /// Returns the processes with the largest shares, each with its children. `unit` returns the
    /// unit of a process: a service counts as one with all that it starts.
    pub fn busiest(
        &self,
        scope: &Scope,
        unit: &mut dyn FnMut(u32) -> Option<String>,
    ) -> Vec<BusyProcess> {
        let without: HashSet<u32> = scope.without.iter().copied().collect();
        let mut found = Vec::new();
        let is_root = |process: &&ProcessStat| !self.now.contains_key(&process.parent);
        let mut open: Vec<u32> =
            self.now.values().copied().filter(is_root).map(|process| process.pid).collect();
        let mut seen = HashSet::new();
        while let Some(pid) = open.pop() {
            if without.contains(&pid) || !seen.insert(pid) {
                continue;
            }
            let Some(family) = self.family(pid, &scope.without) else { continue };
            if family.cpu_share < scope.least {
                continue;
            }
            if self.is_one(&family, scope, unit) {
                found.push(family);
                continue;
            }
            // The process itself is reported alone.
            let own = self.spent.get(&pid).map_or(0.0, |(own, ended)| own + ended) / self.ticks;
            if own >= scope.least {
                found.push(BusyProcess { cpu_share: own, children: Vec::new(), ..family });
            }
            open.extend(self.children.get(&pid).into_iter().flatten());
        }
        found.sort_by(|one, next| {
            next.cpu_share.total_cmp(&one.cpu_share).then(one.pid.cmp(&next.pid))
        });
        found.truncate(scope.most);
        found
    }

    /// Returns whether a process is reported as one with its children.
    fn is_one(
        &self,
        family: &BusyProcess,
        scope: &Scope,
        unit: &mut dyn FnMut(u32) -> Option<String>,
    ) -> bool {
        let pid = family.pid;
        if FIRST.contains(&pid) || scope.split.contains(&pid) {
            return false;
        }
        let (own, ended) = self.spent.get(&pid).copied().unwrap_or_default();
        if (own + ended) / self.ticks >= WORKS * family.cpu_share {
            return true;
        }
        // Workers of one kind, as of a web server, or compilers of one build.
        let most = family.children.first();
        if most.is_some_and(|it| it.processes > 1 && it.cpu_share >= family.cpu_share / 2.0) {
            return true;
        }
        let parent = self.now.get(&pid).map_or(0, |process| process.parent);
        let own_unit = unit(pid).filter(|unit| unit.ends_with(".service"));
        own_unit.is_some() && own_unit != unit(parent)
    }
}

/// Returns the unit of a control group: from `/proc/PID/cgroup` (`cgroups(7)`), the last part of
/// its path that systemd made, or the last part; `None` in the root.
pub fn unit(text: &str) -> Option<String> {
    // The file has one line with version 2 alone; else the line of systemd counts.
    let path = text
        .lines()
        .filter_map(|line| {
            let (number, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            (number == "0" || controllers == "name=systemd").then_some(path)
        })
        .find(|path| *path != "/")?;
    let parts = || path.split('/').filter(|part| !part.is_empty());
    let is_unit = |part: &&str| part.ends_with(".service") || part.ends_with(".scope");
    let found = parts().rev().find(is_unit).or_else(|| parts().next_back())?;
    Some(found.to_owned())
}

/// Returns the name of a user from the text of `/etc/passwd` (`passwd(5)`).
pub fn user_name(passwd: &str, uid: u32) -> Option<String> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, number) = (fields.next()?, fields.nth(1)?);
        (number.parse() == Ok(uid)).then(|| name.to_owned())
    })
}

#[cfg(test)]
#[path = "census_tests.rs"]
mod tests;
