//! Summary of the intervals, in bounded memory however many there are.

use serde::{Serialize, Serializer};
use windlass_base::Span;

use super::columns::{Column, DISK, HOST, PROCESS, TOTAL};
use super::findings::{Finding, FindingsBuilder};
use super::rates::{Interval, ProcessEventKind};
use super::spread::{Figures, Spread};

/// Maximum number of disks with a summary.
const MAX_DISKS: usize = 256;
/// Maximum number of processes with a summary each; selected names always have one.
const MAX_PROCESSES: usize = 64;

/// Figures of each column of a list over all intervals. In JSON the distribution of a column is
/// under its name, and null if it was never known.
#[derive(Clone, Debug, Default)]
pub struct Spreads(Vec<(&'static str, Figures)>);

impl Spreads {
    fn new<T>(columns: &[Column<T>]) -> Self {
        Self(columns.iter().map(|column| (column.name, Figures::default())).collect())
    }

    fn add<T>(&mut self, columns: &[Column<T>], of: &T, seconds: f64) {
        for ((_, figures), column) in self.0.iter_mut().zip(columns) {
            if let Some(figure) = (column.of)(of) {
                figures.add(figure, seconds);
            }
        }
    }

    /// Returns the distribution of a column; `None` if it was never known.
    pub fn of(&self, name: &str) -> Option<Spread> {
        self.0.iter().find(|(known, _)| *known == name).and_then(|(_, figures)| figures.spread())
    }
}

impl Serialize for Spreads {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, figures)| (name, figures.spread())))
    }
}

/// A disk over all intervals.
#[derive(Clone, Debug, Serialize)]
pub struct DiskSummary {
    /// Its name.
    pub name: String,
    /// Number of intervals with it.
    pub intervals: u64,
    /// Its figures.
    pub figures: Spreads,
}

/// A process over all intervals.
#[derive(Clone, Debug, Serialize)]
pub struct ProcessSummary {
    /// Its number.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Time at which it was first seen.
    pub from_seconds: Span,
    /// Time at which its end was seen; `None` if it had not ended.
    pub ended_seconds: Option<Span>,
    /// Its figures.
    pub figures: Spreads,
}

/// All processes of a name over all intervals.
#[derive(Clone, Debug, Serialize)]
pub struct TotalSummary {
    /// The name or number asked for.
    pub wanted: String,
    /// True if a process was ever seen.
    pub seen: bool,
    /// Number of different processes.
    pub different: u64,
    /// Their figures together.
    pub figures: Spreads,
}

/// Summary of all intervals.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Summary {
    /// The machine as a whole.
    pub host: Spreads,
    /// Disks with traffic, and disks asked for.
    pub disks: Vec<DiskSummary>,
    /// Processes, in the order in which they were seen.
    pub processes: Vec<ProcessSummary>,
    /// Number of processes beyond the bounded list.
    pub processes_left_out: u64,
    /// Totals of the names and numbers asked for.
    pub totals: Vec<TotalSummary>,
    /// Resources that were at their limit, the longest first.
    pub findings: Vec<Finding>,
}

/// Sums up intervals.
#[derive(Debug)]
pub struct SummaryBuilder {
    summary: Summary,
    /// True if disks are reported even without traffic.
    asked: bool,
    crossed: FindingsBuilder,
}

impl SummaryBuilder {
    /// Starts a summary. `wanted` are the processes asked for; `asked` tells whether disks were
    /// named.
    pub fn new(wanted: &[String], asked: bool) -> Self {
        let total = |name: &String| TotalSummary {
            wanted: name.clone(),
            seen: false,
            different: 0,
            figures: Spreads::new(&TOTAL),
        };
        let totals = wanted.iter().map(total).collect();
        let summary = Summary { host: Spreads::new(&HOST), totals, ..Summary::default() };
        Self { summary, asked, crossed: FindingsBuilder::default() }
    }

    /// Counts a process in the totals at the indices `wanted`.
    pub fn saw(&mut self, pid: u32, name: &str, at: Span, wanted: impl Iterator<Item = usize>) {
        for place in wanted {
            if let Some(total) = self.summary.totals.get_mut(place) {
                total.seen = true;
                total.different += 1;
            }
        }
        if self.summary.processes.len() < MAX_PROCESSES {
            self.summary.processes.push(ProcessSummary {
                pid,
                name: name.to_owned(),
                from_seconds: at,
                ended_seconds: None,
                figures: Spreads::new(&PROCESS),
            });
        } else {
            self.summary.processes_left_out += 1;
        }
    }

    /// Adds an interval.
    pub fn add(&mut self, interval: &Interval) {
        let seconds = interval.seconds();
        let Summary { host, disks, processes, totals, .. } = &mut self.summary;
        host.add(&HOST, &interval.host, seconds);
        for disk in &interval.disks {
            let place = match disks.binary_search_by(|known| known.name.cmp(&disk.name)) {
                Ok(place) => place,
                Err(_) if disks.len() >= MAX_DISKS => continue,
                Err(place) => {
                    let (name, figures) = (disk.name.clone(), Spreads::new(&DISK));
                    disks.insert(place, DiskSummary { name, intervals: 0, figures });
                    place
                }
            };
            disks[place].intervals += 1;
            disks[place].figures.add(&DISK, disk, seconds);
        }
        for watched in processes.iter_mut().filter(|process| process.ended_seconds.is_none()) {
            let found = interval.processes.iter().find(|process| process.pid == watched.pid);
            if let Some(process) = found {
                watched.figures.add(&PROCESS, process, seconds);
            }
        }
        for event in interval.events.iter().filter(|event| event.what == ProcessEventKind::Ended) {
            // Its number may now belong to another process, which was seen later.
            let mut alive = processes.iter_mut().filter(|process| process.ended_seconds.is_none());
            if let Some(process) = alive.find(|process| process.pid == event.pid) {
                process.ended_seconds = Some(interval.to_seconds);
            }
        }
        for (summary, total) in totals.iter_mut().zip(&interval.totals) {
            summary.figures.add(&TOTAL, total, seconds);
        }
        self.crossed.add(interval);
    }

    /// Returns the summary.
    pub fn finish(self) -> Summary {
        let mut summary = self.summary;
        let moved = |figures: &Spreads| {
            ["reads_per_second", "writes_per_second", "utilisation"]
                .iter()
                .any(|name| figures.of(name).is_some_and(|spread| spread.max > 0.0))
        };
        summary.disks.retain(|disk| self.asked || moved(&disk.figures));
        summary.findings = self.crossed.finish();
        summary
    }
}

#[cfg(test)]
#[path = "summary_tests.rs"]
mod tests;
