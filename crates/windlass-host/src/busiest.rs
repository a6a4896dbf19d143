//! The busiest processes over a whole run, and their names in words.

use std::collections::BTreeMap;

use serde::Serialize;
use windlass_base::figures::Share;
use windlass_base::{Sentence, sentence};

use super::census::{Belonging, BusyChildren, BusyProcess, Census, Scope, Shares};
use super::read::Source;

/// Minimum share of one processor in a sample that is kept, and minimum mean that is reported.
const LEAST_SHARE: f64 = 0.02;

/// Maximum number of processes of a sample, with an account, and in the report.
const MAX_OF_LOOK: usize = 16;
const MAX_KEPT: usize = 256;
const MAX_TOLD: usize = 8;

/// A process with its children over a whole run: the shares are means over all of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BusyOverTime {
    /// The process, its children and their shares.
    #[serde(flatten)]
    pub process: BusyProcess,
    /// The maximum of a sample.
    pub max_cpu_share: f64,
}

/// Adds up samples of all processes.
#[derive(Debug, Default)]
pub struct BusyTotals {
    seconds: f64,
    /// By number and name; the values are shares times seconds.
    known: BTreeMap<(u32, String), BusyOverTime>,
}

impl BusyTotals {
    /// Adds the interval between two samples.
    pub fn add(&mut self, before: &Census, now: &Census, source: &Source) {
        let shares = Shares::between(before, now, source.scale.ticks);
        let split = shares.ancestors(std::process::id());
        // The last of them is windlass itself.
        let split = split.into_iter().skip(1).collect();
        let scope = Scope { split, least: LEAST_SHARE, most: MAX_OF_LOOK, ..Scope::default() };
        let mut rows = shares.busiest(&scope, &mut |pid| source.unit(pid));
        for row in &mut rows {
            row.belongs_to = source.belongs_to(row.pid, row.belongs_to.is_kernel);
        }
        self.take(rows, (now.at - before.at).as_seconds());
    }

    fn take(&mut self, rows: Vec<BusyProcess>, seconds: f64) {
        self.seconds += seconds;
        for row in rows {
            let key = (row.pid, row.name.clone());
            if self.known.len() >= MAX_KEPT && !self.known.contains_key(&key) {
                self.drop_least();
            }
            let sum = self.known.entry(key).or_default();
            let before = std::mem::take(sum);
            let all = before.process;
            let mut children = all.children;
            for child in &row.children {
                let more = child.cpu_share * seconds;
                match children.iter_mut().find(|it| it.name == child.name) {
                    Some(known) => {
                        known.cpu_share += more;
                        known.processes = known.processes.max(child.processes);
                    }
                    None => children.push(BusyChildren { cpu_share: more, ..child.clone() }),
                }
            }
            children.sort_by(|one, next| next.cpu_share.total_cmp(&one.cpu_share));
            children.truncate(MAX_OF_LOOK);
            *sum = BusyOverTime {
                max_cpu_share: before.max_cpu_share.max(row.cpu_share),
                process: BusyProcess {
                    cpu_share: all.cpu_share + row.cpu_share * seconds,
                    own_cpu_share: all.own_cpu_share + row.own_cpu_share * seconds,
                    ended_cpu_share: all.ended_cpu_share + row.ended_cpu_share * seconds,
                    children,
                    ..row
                },
            };
        }
    }

    fn drop_least(&mut self) {
        let share = |it: &BusyOverTime| it.process.cpu_share;
        let least = self.known.iter().min_by(|one, next| share(one.1).total_cmp(&share(next.1)));
        if let Some(key) = least.map(|(key, _)| key.clone()) {
            self.known.remove(&key);
        }
    }

    /// Returns the processes with the largest shares over the whole time.
    pub fn finish(self) -> Vec<BusyOverTime> {
        let seconds = self.seconds.max(1e-9);
        let mean = |mut row: BusyOverTime| {
            let process = &mut row.process;
            process.cpu_share /= seconds;
            process.own_cpu_share /= seconds;
            process.ended_cpu_share /= seconds;
            process.children.iter_mut().for_each(|child| child.cpu_share /= seconds);
            row
        };
        let mut all: Vec<BusyOverTime> = self.known.into_values().map(mean).collect();
        all.retain(|row| row.process.cpu_share >= LEAST_SHARE);
        let share = |it: &BusyOverTime| it.process.cpu_share;
        all.sort_by(|one, next| share(next).total_cmp(&share(one)));
        all.truncate(MAX_TOLD);
        all
    }
}

/// Describes a process, its share and its owner for people: `make (811) of ann in session-3.scope
/// 163 % of one processor (cc1: 140 %)`.
pub fn named(process: &BusyProcess) -> Sentence {
    let mut all = sentence!(
        "{process.name} ({process.pid}){} {} of one processor",
        belonging(&process.belongs_to),
        Share(process.cpu_share)
    );
    let child = process.children.first();
    if let Some(child) = child.filter(|child| child.cpu_share >= process.cpu_share / 4.0) {
        all.push(&sentence!(" ({child.name}: {})", Share(child.cpu_share)));
    } else if process.ended_cpu_share >= process.cpu_share / 4.0 {
        let ended = Share(process.ended_cpu_share);
        all.push(&sentence!(" (ended children: {ended})"));
    }
    all
}

/// Returns the user and unit of a process, as words after its name; empty if unknown.
pub fn belonging(of: &Belonging) -> String {
    if of.is_kernel {
        return " of the kernel".to_owned();
    }
    let user = of.user.as_ref().map_or_else(String::new, |user| format!(" of {user}"));
    let unit = of.unit.as_ref().map_or_else(String::new, |unit| format!(" in {unit}"));
    format!("{user}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(pid: u32, share: f64) -> BusyProcess {
        BusyProcess {
            pid,
            name: "hog".to_owned(),
            cpu_share: share,
            own_cpu_share: share / 2.0,
            children: vec![BusyChildren {
                name: "cc1".to_owned(),
                processes: 2,
                cpu_share: share / 2.0,
            }],
            belongs_to: Belonging {
                user: Some("ann".to_owned()),
                unit: Some("session-3.scope".to_owned()),
                is_kernel: false,
            },
            ..BusyProcess::default()
        }
    }

    #[test]
    fn shares_are_means_over_all_of_the_time() {
        let mut busiest = BusyTotals::default();
        busiest.take(vec![row(7, 1.0), row(8, 0.5)], 1.0);
        busiest.take(vec![row(7, 0.2)], 3.0);
        let told = busiest.finish();
        assert_eq!(told.iter().map(|it| it.process.pid).collect::<Vec<_>>(), [7, 8]);
        let first = &told[0];
        assert!((first.process.cpu_share - 0.4).abs() < 1e-9, "{first:?}");
        assert!((first.process.children[0].cpu_share - 0.2).abs() < 1e-9, "{first:?}");
        assert!((first.max_cpu_share - 1.0).abs() < 1e-9);
        assert!((told[1].process.cpu_share - 0.125).abs() < 1e-9);
        let said = named(&first.process).to_string();
        assert_eq!(said, "hog (7) of ann in session-3.scope 40 % of one processor (cc1: 20 %)");
    }

    #[test]
    fn however_many_there_are_few_are_kept() {
        let mut busiest = BusyTotals::default();
        for pid in 0..1_000 {
            busiest.take(vec![row(pid, 0.5 + f64::from(pid) / 1e4)], 0.01);
        }
        assert_eq!(busiest.known.len(), MAX_KEPT);
        assert!(busiest.finish().len() <= MAX_TOLD);
        assert_eq!(
            belonging(&Belonging { is_kernel: true, ..Belonging::default() }),
            " of the kernel"
        );
    }
}
