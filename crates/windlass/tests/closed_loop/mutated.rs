//! Captures to which happened what happens to captures, by the thousand: no report of them
//! may contradict itself.
//!
//! `WINDLASS_TRIAL=<capture>:<seed> cargo test -p windlass --test closed_loop one_trial --
//! --ignored --nocapture` runs one of them again, and writes what it read as a pcap.

mod audit;
mod trial;
mod why;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use trial::{Source, Trial, TrialBreach};

use crate::setting::Injected;
use windlass_testkit::captures::{corpus, name, public_captures, shared_if_there};
use windlass_testkit::judged::wild;
use windlass_testkit::repository;
use windlass_testkit::segments::{pcap_of, segments_of};

/// Transfers of the simulator of each kind.
const SIMULATED: u64 = 3;

/// The packed captures of a folder, by name.
fn packed(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let files = entries.map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|end| end == "gz")).collect();
    files.sort();
    files
}

/// All captures to start from: the repository's, the simulator's, and what is shared beside the
/// repository, where it is.
fn sources() -> Vec<Source> {
    let from = |path: &Path| Source { name: name(path), segments: segments_of(path) };
    let mut all: Vec<Source> = corpus().iter().map(|entry| from(&entry.path)).collect();
    for folder in ["tests/judged", "tests/other-pace", "tests/small-stacks"] {
        all.extend(packed(&repository(folder)).iter().map(|path| from(path)));
    }
    for injected in Injected::ALL {
        all.extend((0..SIMULATED).map(|seed| Source {
            name: format!("{}-{seed}", injected.name().replace('/', "-")),
            segments: crate::transfer::captured(&injected.prepare(seed)).1,
        }));
    }
    all.extend(public_captures().iter().map(|path| from(path)));
    let is_new = |source: &Source, all: &[Source]| all.iter().all(|one| one.name != source.name);
    let hard = shared_if_there("captures/hard").map(|folder| packed(&folder));
    for source in hard.into_iter().flatten().map(|path| from(&path)) {
        if is_new(&source, &all) {
            all.push(source);
        }
    }
    all.extend(wild().iter().map(|capture| from(&capture.path)));
    all
}

/// Returns the breaches in the trials of these seeds, each over the captures in turn.
fn breaches(sources: &[Source], count: usize, first: u64) -> Vec<TrialBreach> {
    let next = AtomicUsize::new(0);
    let all = Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= count {
                        return;
                    }
                    let source = &sources[at % sources.len()];
                    let seed = first + (at / sources.len()) as u64;
                    let found = Trial { source, seed }.run();
                    all.lock().unwrap().extend(found);
                }
            });
        }
    });
    let mut all = all.into_inner().unwrap();
    all.sort_by(|one, two| (&one.name, one.seed).cmp(&(&two.name, two.seed)));
    all
}

/// The breaches by rule: how many, in how many trials, by which mutations, and some to look
/// at.
fn table(all: &[TrialBreach]) -> String {
    let mut rules: BTreeMap<&str, Vec<&TrialBreach>> = BTreeMap::new();
    for found in all {
        rules.entry(found.rule).or_default().push(found);
    }
    let mut text = String::new();
    for (rule, found) in rules {
        let trials: BTreeSet<_> = found.iter().map(|one| (&one.name, one.seed)).collect();
        let sure = found.iter().filter(|one| one.sure).count();
        let _ = writeln!(text, "\n{rule}: {} in {} trials, {sure} sure", found.len(), trials.len());
        let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
        for one in &found {
            *kinds.entry(one.kinds.as_str()).or_default() += 1;
        }
        let mut kinds: Vec<_> = kinds.into_iter().collect();
        kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let list = kinds.iter().take(8).map(|(kind, count)| format!("{kind} {count}"));
        let _ = writeln!(text, "    by {}", list.collect::<Vec<_>>().join(", "));
        let mut shown = BTreeSet::new();
        for one in found.iter().filter(|one| shown.insert(&one.name)).take(6) {
            let TrialBreach { name, seed, kinds, how, .. } = one;
            let _ = writeln!(text, "    {name}:{seed} ({kinds}) {how}");
        }
    }
    text
}

fn assert_none(all: &[TrialBreach]) {
    assert!(all.is_empty(), "{} breaches\n{}", all.len(), table(all));
}

#[test]
fn no_report_of_a_capture_contradicts_itself() {
    let sources = sources();
    assert_none(&breaches(&sources, sources.len(), 0));
}

/// The trials, unless `WINDLASS_TRIALS` says how many.
const TRIALS: usize = 10_000;

#[test]
fn no_report_of_a_mutated_capture_contradicts_itself() {
    let sources = sources();
    let count = std::env::var("WINDLASS_TRIALS").map_or(TRIALS, |count| count.parse().unwrap());
    assert_none(&breaches(&sources, count, 1));
}

#[test]
#[ignore = "runs the trial that WINDLASS_TRIAL names, as `capture:seed`"]
fn one_trial() {
    let Ok(wanted) = std::env::var("WINDLASS_TRIAL") else { return };
    let (name, seed) = wanted.rsplit_once(':').unwrap();
    let sources = sources();
    let source = sources.iter().find(|source| source.name == name).unwrap();
    let trial = Trial { source, seed: seed.parse().unwrap() };
    let (mutations, _, after) = trial.make();
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("trial.pcap");
    std::fs::write(&file, pcap_of(&after)).unwrap();
    println!("{mutations:?}\n{} packets, in {}", after.len(), file.display());
    println!("{}", table(&trial.run()));
}

#[test]
fn a_trial_hangs_on_its_name_and_seed_alone() {
    let segments = crate::transfer::captured(&Injected::FullPath.prepare(0)).1;
    let source = Source { name: "one".to_owned(), segments };
    for seed in 0..40 {
        let trial = Trial { source: &source, seed };
        assert_eq!(trial.make().2, trial.make().2);
    }
}
