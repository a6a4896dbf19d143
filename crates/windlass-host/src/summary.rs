//! What the intervals come to, in bounded memory however many there were.

use serde::{Serialize, Serializer};
use windlass_base::Span;

use super::columns::{Column, DISK, HOST, PROCESS, TOTAL};
use super::findings::{Crossed, Finding};
use super::rates::{Happened, Interval};
use super::spread::{Figures, Spread};

/// The most disks of which there is a summary.
const MAX_DISKS: usize = 256;
/// The most processes of which there is one each; names have theirs always.
const MAX_PROCESSES: usize = 64;

/// The figures of each column of a list over all intervals. In JSON a column's
/// spread is under the column's name; what was never known is null.
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

    /// The spread of a column; nothing where it was never known.
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
    /// In how many intervals it was there.
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
    /// The time when it was seen first.
    pub from_seconds: Span,
    /// The time when it was seen to have ended; nothing where it had not.
    pub ended_seconds: Option<Span>,
    /// Its figures.
    pub figures: Spreads,
}

/// All processes of a name over all intervals.
#[derive(Clone, Debug, Serialize)]
pub struct TotalSummary {
    /// What was asked for.
    pub wanted: String,
    /// True if there ever was one.
    pub seen: bool,
    /// How many different ones there were.
    pub different: u64,
    /// Their figures together.
    pub figures: Spreads,
}

/// What all intervals come to.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Summary {
    /// The machine as a whole.
    pub host: Spreads,
    /// Disks that moved something, or were asked for.
    pub disks: Vec<DiskSummary>,
    /// Processes, in the order in which they were seen.
    pub processes: Vec<ProcessSummary>,
    /// Processes that are not in the list, which is bounded.
    pub processes_left_out: u64,
    /// What was asked for.
    pub totals: Vec<TotalSummary>,
    /// What was at its limit, that for the longest time first.
    pub findings: Vec<Finding>,
}

/// Takes intervals as they come.
#[derive(Debug)]
pub struct Summing {
    summary: Summary,
    /// True if disks are told even where nothing moved.
    asked: bool,
    crossed: Crossed,
}

impl Summing {
    /// Without intervals. The names are the processes asked for; `asked` is
    /// whether disks were named.
    pub fn new(wanted: &[String], asked: bool) -> Self {
        let total = |name: &String| TotalSummary {
            wanted: name.clone(),
            seen: false,
            different: 0,
            figures: Spreads::new(&TOTAL),
        };
        let totals = wanted.iter().map(total).collect();
        let summary = Summary { host: Spreads::new(&HOST), totals, ..Summary::default() };
        Self { summary, asked, crossed: Crossed::default() }
    }

    /// Counts a process that is there, in the totals at `wanted`.
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
        for event in interval.events.iter().filter(|event| event.what == Happened::Ended) {
            // Its number may be another's by now, which was seen later.
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

    /// What they come to.
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
