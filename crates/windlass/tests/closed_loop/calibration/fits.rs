//! The fit of the models that `--what-if` changes, over the transfers of each set, as a table.

use std::fmt::Write as _;
use std::path::PathBuf;

use windlass_lab::what_if::{WhatIf, changes, report};
use windlass_trace::{Analyzer, Keep};

use super::SEEDS;
use crate::setting::Injected;
use windlass_testkit::captures::{corpus, explained_with, shared_if_there};
use windlass_testkit::judged::{listed, wild};

/// A change that changes nothing: there is one stream.
const NOTHING: &str = "streams=1";

/// Fits of one set: the model's rate over the measured one; nothing where there is no model.
struct Fits {
    name: &'static str,
    all: Vec<Option<f64>>,
}

impl Fits {
    /// Fits of the largest transfer of each file.
    fn of_files(name: &'static str, files: impl Iterator<Item = PathBuf>) -> Self {
        let fit = |file: PathBuf| {
            let record = explained_with(&file, &["--top", "1", "--what-if", NOTHING]);
            record["connections"][0]["what_if"]["fit"].as_f64()
        };
        Self { name, all: files.map(fit).collect() }
    }

    fn of_the_simulator() -> Self {
        let nothing = changes(NOTHING).unwrap();
        let mut all = Vec::new();
        for injected in Injected::ALL {
            for seed in SEEDS.step_by(10) {
                let (_, segments) = crate::transfer::captured(&injected.prepare(seed));
                let mut analyzer = Analyzer::new(Keep::Largest(1));
                for segment in &segments {
                    analyzer.segment(segment, &mut ());
                }
                for transfer in &analyzer.finish().0 {
                    let report = report(transfer, |end| end.to_string(), None);
                    all.push(WhatIf::of(&nothing, &report, transfer).fit);
                }
            }
        }
        Self { name: "simulator", all }
    }

    fn row(&self) -> String {
        let within = |least: f64, most: f64| {
            self.all.iter().flatten().filter(|fit| (least..=most).contains(*fit)).count()
        };
        let models = self.all.iter().flatten().count();
        let share =
            |count: usize| format!("{count}, {:.0} %", 100.0 * count as f64 / models as f64);
        let (near, fair) = (share(within(0.9, 1.1)), share(within(0.67, 1.5)));
        format!("| {} | {} | {models} | {near} | {fair} |\n", self.name, self.all.len())
    }
}

/// The table of all sets.
pub(super) fn table() -> String {
    let hard = shared_if_there("captures/hard").map_or_else(Vec::new, |folder| listed(&folder));
    let sets = [
        Fits::of_the_simulator(),
        Fits::of_files("corpus", corpus().into_iter().map(|entry| entry.path)),
        Fits::of_files("wild", wild().into_iter().map(|capture| capture.path)),
        Fits::of_files("hard", hard.into_iter().map(|capture| capture.path)),
    ];
    let mut text = String::from(
        "How well the models of [`--what-if`](what-if.md) fit, by their rate over the measured \
         one:\n\n| set | transfers | with a model | within 10 % | 0.67 to 1.5 |\n\
         |---|---|---|---|---|\n",
    );
    for set in sets.iter().filter(|set| set.all.iter().flatten().next().is_some()) {
        let _ = write!(text, "{}", set.row());
    }
    text
}
