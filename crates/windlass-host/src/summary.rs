//! What the intervals come to, in bounded memory however many there were.

use std::collections::BTreeMap;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use windlass_base::Span;

use super::columns::{Column, DISK, HOST, PROCESS, TOTAL};
use super::findings::{Crossed, Finding};
use super::rates::{DiskRates, Happened, Host, Interval, ProcessRates, Total};
use super::spread::{Figures, Spread};

/// The most disks of which there is a summary.
const MAX_DISKS: usize = 256;
/// The most processes of which there is one each; names have theirs always.
const MAX_PROCESSES: usize = 64;

/// A column's spread under the column's name. What was never known is null.
#[derive(Clone, Debug, Default)]
pub struct Spreads(pub Vec<(&'static str, Option<Spread>)>);

impl Spreads {
    /// The spread of a column; nothing where it was never known.
    #[must_use]
    pub fn of(&self, name: &str) -> Option<Spread> {
        self.0.iter().find(|(known, _)| *known == name).and_then(|(_, spread)| *spread)
    }
}

impl Serialize for Spreads {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, spread) in &self.0 {
            map.serialize_entry(name, spread)?;
        }
        map.end()
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
    /// When it was seen first.
    pub from_seconds: Span,
    /// When it was seen to have ended; nothing where it had not.
    pub ended_seconds: Option<Span>,
    /// Its figures.
    pub figures: Spreads,
}

/// All processes of a name over all intervals.
#[derive(Clone, Debug, Serialize)]
pub struct TotalSummary {
    /// What was asked for.
    pub wanted: String,
    /// Whether there ever was one.
    pub seen: bool,
    /// How many different ones there were.
    pub different: u64,
    /// Their figures together.
    pub figures: Spreads,
}

/// What all intervals come to.
#[derive(Clone, Debug, Serialize)]
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

/// Figures for each column of a list.
#[derive(Clone, Debug)]
struct Table(Vec<Figures>);

impl Table {
    fn new<T>(columns: &[Column<T>]) -> Self {
        Self(vec![Figures::default(); columns.len()])
    }

    fn add<T>(&mut self, columns: &[Column<T>], of: &T, seconds: f64) {
        for (figures, column) in self.0.iter_mut().zip(columns) {
            if let Some(figure) = (column.of)(of) {
                figures.add(figure, seconds);
            }
        }
    }

    fn spreads<T>(&self, columns: &[Column<T>]) -> Spreads {
        let spread = |(figures, column): (&Figures, &Column<T>)| (column.name, figures.spread());
        Spreads(self.0.iter().zip(columns).map(spread).collect())
    }
}

/// Takes intervals as they come.
#[derive(Debug)]
pub struct Summing {
    host: Table,
    disks: BTreeMap<String, (u64, Table)>,
    /// Which disks are told even where nothing moved.
    asked: bool,
    processes: Vec<Watched>,
    processes_left_out: u64,
    totals: Vec<(String, u64, Table)>,
    crossed: Crossed,
}

#[derive(Debug)]
struct Watched {
    pid: u32,
    name: String,
    from: Span,
    ended: Option<Span>,
    table: Table,
}

impl Summing {
    /// Without intervals. The names are the processes asked for; `asked` is
    /// whether disks were named.
    #[must_use]
    pub fn new(wanted: &[String], asked: bool) -> Self {
        let total = |name: &String| (name.clone(), 0, Table::new::<Total>(&TOTAL));
        Self {
            host: Table::new::<Host>(&HOST),
            disks: BTreeMap::new(),
            asked,
            processes: Vec::new(),
            processes_left_out: 0,
            totals: wanted.iter().map(total).collect(),
            crossed: Crossed::default(),
        }
    }

    /// Counts a process that is there, in the totals at `wanted`.
    pub fn saw(&mut self, pid: u32, name: &str, at: Span, wanted: impl Iterator<Item = usize>) {
        for place in wanted {
            if let Some((_, different, _)) = self.totals.get_mut(place) {
                *different += 1;
            }
        }
        if self.processes.len() < MAX_PROCESSES {
            let (name, table) = (name.to_owned(), Table::new::<ProcessRates>(&PROCESS));
            self.processes.push(Watched { pid, name, from: at, ended: None, table });
        } else {
            self.processes_left_out += 1;
        }
    }

    /// Adds an interval.
    pub fn add(&mut self, interval: &Interval) {
        let seconds = interval.seconds();
        self.host.add(&HOST, &interval.host, seconds);
        for disk in &interval.disks {
            if !self.disks.contains_key(&disk.name) && self.disks.len() >= MAX_DISKS {
                continue;
            }
            let new = || (0, Table::new::<DiskRates>(&DISK));
            let (intervals, table) = self.disks.entry(disk.name.clone()).or_insert_with(new);
            *intervals += 1;
            table.add(&DISK, disk, seconds);
        }
        let running = self.processes.iter_mut().filter(|process| process.ended.is_none());
        for watched in running {
            let found = interval.processes.iter().find(|process| process.pid == watched.pid);
            if let Some(process) = found {
                watched.table.add(&PROCESS, process, seconds);
            }
        }
        for event in interval.events.iter().filter(|event| event.what == Happened::Ended) {
            let ended = |process: &&mut Watched| process.pid == event.pid;
            // Its number may be another's by now, which was seen later.
            let alive = self.processes.iter_mut().filter(|process| process.ended.is_none());
            if let Some(process) = alive.into_iter().find(ended) {
                process.ended = Some(interval.to_seconds);
            }
        }
        for ((_, _, table), total) in self.totals.iter_mut().zip(&interval.totals) {
            table.add(&TOTAL, total, seconds);
        }
        self.crossed.add(interval);
    }

    /// What they come to.
    #[must_use]
    pub fn finish(self) -> Summary {
        let moved = |figures: &Spreads| {
            ["reads_per_second", "writes_per_second", "utilisation"]
                .iter()
                .any(|name| figures.of(name).is_some_and(|spread| spread.max > 0.0))
        };
        let disks = self.disks.into_iter().map(|(name, (intervals, table))| DiskSummary {
            name,
            intervals,
            figures: table.spreads(&DISK),
        });
        let processes = self.processes.into_iter().map(|process| ProcessSummary {
            pid: process.pid,
            name: process.name,
            from_seconds: process.from,
            ended_seconds: process.ended,
            figures: process.table.spreads(&PROCESS),
        });
        let totals = self.totals.into_iter().map(|(wanted, different, table)| TotalSummary {
            wanted,
            seen: different > 0,
            different,
            figures: table.spreads(&TOTAL),
        });
        Summary {
            host: self.host.spreads(&HOST),
            disks: disks.filter(|disk| self.asked || moved(&disk.figures)).collect(),
            processes: processes.collect(),
            processes_left_out: self.processes_left_out,
            totals: totals.collect(),
            findings: self.crossed.finish(),
        }
    }
}

#[cfg(test)]
#[path = "summary_tests.rs"]
mod tests;
