//! Resources that were at their limit, and for how long.
//!
//! Each limit has a threshold, and an interval counts if it is at or above. A resource is reported
//! if it was at its limit for a fifth of the time.

use std::collections::BTreeMap;

use serde::Serialize;
use windlass_base::figures::Share;
use windlass_base::{Rate, Sentence, sentence};

use super::rates::Interval;

/// Share from which on a processor, all of them, a disk or a process is at its limit. A tick of 10
/// ms and the time between two readings keep a full second a little below 1.
pub const FULL: f64 = 0.95;

/// Share from which on the host takes time that its virtual machine needs.
pub const STOLEN: f64 = 0.10;

/// Rate from which on memory swaps, in bytes per second both ways: 256 pages.
pub const SWAPS: f64 = (1 << 20) as f64;

/// Minimum share of the time at a limit.
pub const LONG: f64 = 0.20;

/// Maximum number of names that are distinguished; later ones are left out.
const MAX_NAMES: usize = 1_024;

/// Kinds of limits. For limits that held equally long, the order is that of the report: a kind
/// that explains others comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Memory is swapped in and out.
    Memory,
    /// All processors.
    Processors,
    /// A disk.
    Disk,
    /// One processor.
    Core,
    /// A process that was asked for.
    Process,
    /// The host of the virtual machine.
    Stolen,
}

/// Something was at its limit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Kind of the limit.
    pub kind: Kind,
    /// The disk, the process, or the processor that was at its limit most; else none.
    pub name: Option<String>,
    /// The share of the time at the limit.
    pub time_share: f64,
    /// Mean of the figure in that time: a share, or bytes per second of swapping.
    pub mean: f64,
    /// The finding in a sentence.
    pub sentence: Sentence,
}

/// Time at a limit, and the figure's integral over it.
#[derive(Clone, Copy, Debug, Default)]
struct TimeAtLimit {
    seconds: f64,
    integral: f64,
}

/// Collects findings from intervals.
#[derive(Debug, Default)]
pub(super) struct FindingsBuilder {
    seconds: f64,
    held: BTreeMap<(Kind, Option<String>), TimeAtLimit>,
    /// The processors at their limit, and the time of each.
    cores: BTreeMap<u32, f64>,
    /// The mean of all processors while one was at its limit.
    beside: f64,
}

impl FindingsBuilder {
    /// Adds an interval.
    pub(super) fn add(&mut self, interval: &Interval) {
        let (host, seconds) = (&interval.host, interval.seconds());
        self.seconds += seconds;
        let swapped = [host.swap_in_bytes_per_second, host.swap_out_bytes_per_second];
        let swapped = swapped.into_iter().flatten().map(Rate::bytes_per_second).sum();
        self.look(Kind::Memory, None, swapped, SWAPS, seconds);
        let steal = host.cpu.steal_share;
        self.look(Kind::Stolen, None, steal, STOLEN, seconds);
        let busy = host.cpu.busy();
        let are_full = self.look(Kind::Processors, None, busy, FULL, seconds);
        let core = host.busiest_core.zip(host.busiest_core_share).filter(|_| !are_full);
        if let Some((core, share)) = core
            && self.look(Kind::Core, None, share, FULL, seconds)
        {
            *self.cores.entry(core).or_default() += seconds;
            self.beside += busy * seconds;
        }
        for disk in &interval.disks {
            self.look(Kind::Disk, Some(&disk.name), disk.utilisation, FULL, seconds);
        }
        for process in &interval.processes {
            // A process may use several processors, so one is no limit to it.
            let share = process.cpu_share.filter(|share| *share < 1.0 + 2.0 * (1.0 - FULL));
            let name = format!("{} ({})", process.name, process.pid);
            self.look(Kind::Process, Some(&name), share.unwrap_or(0.0), FULL, seconds);
        }
    }

    /// Adds the time of a figure at its limit.
    fn look(
        &mut self,
        kind: Kind,
        name: Option<&str>,
        figure: f64,
        limit: f64,
        seconds: f64,
    ) -> bool {
        if figure < limit {
            return false;
        }
        let key = (kind, name.map(str::to_owned));
        if self.held.len() < MAX_NAMES || self.held.contains_key(&key) {
            let held = self.held.entry(key).or_default();
            held.seconds += seconds;
            held.integral += figure * seconds;
        }
        true
    }

    /// Returns the resources that were at their limit for long, the longest first.
    pub(super) fn finish(self) -> Vec<Finding> {
        let core = self.cores.iter().max_by(|one, next| one.1.total_cmp(next.1));
        let core = core.map(|(core, _)| *core);
        let mut findings: Vec<Finding> = Vec::new();
        for ((kind, name), held) in &self.held {
            let time_share = held.seconds / self.seconds.max(1e-9);
            if time_share < LONG {
                continue;
            }
            let mean = held.integral / held.seconds.max(1e-9);
            let name = match kind {
                Kind::Core => core.map(|core| core.to_string()),
                _ => name.clone(),
            };
            let beside = self.beside / held.seconds.max(1e-9);
            let sentence = sentence(*kind, name.as_deref(), time_share, mean, beside);
            findings.push(Finding { kind: *kind, name, time_share, mean, sentence });
        }
        // The sort is stable: equal findings keep the order of the kinds.
        findings.sort_by(|one, next| next.time_share.total_cmp(&one.time_share));
        findings
    }
}

/// Describes a finding for people.
fn sentence(kind: Kind, name: Option<&str>, time_share: f64, mean: f64, beside: f64) -> Sentence {
    let (time, at) = (Share(time_share), Share(mean));
    let name = name.unwrap_or("?");
    match kind {
        Kind::Memory => sentence!(
            "Memory was swapped at {} for {time} of the time: the programs need more memory than \
             there is.",
            Rate::from_bytes_per_second(mean)
        ),
        Kind::Processors => sentence!(
            "All processors together were {at} busy for {time} of the time: programs wait for a \
             processor."
        ),
        Kind::Core => sentence!(
            "One core (most often core {name}) was at its limit for {time} of the time, with all \
             processors together at {}: one thread can go no faster.",
            Share(beside)
        ),
        Kind::Disk => sentence!(
            "Disk {name} was {at} busy for {time} of the time. A disk that serves one request at a \
             time can do no more; an SSD or an array may."
        ),
        Kind::Process => sentence!(
            "Process {name} took {at} of one core for {time} of the time: if one thread does the \
             work, it can go no faster."
        ),
        Kind::Stolen => sentence!(
            "The hypervisor gave {at} of this machine's processor time to others (steal) for \
             {time} of the time."
        ),
    }
}

/// Sentence for a run in which nothing was at its limit.
pub(super) const NOTHING: &str = "Nothing was at its limit for long: no core, no disk, and no \
                                  swapping.";

#[cfg(test)]
#[path = "findings_tests.rs"]
mod tests;
