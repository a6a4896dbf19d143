//! Calibration of verdicts, over the simulator, the corpus and the captures from the wild: how
//! often they are right, by confidence.
//!
//! `cargo test -p windlass --test closed_loop -- --ignored write_tables` writes the tables
//! of docs/accuracy.md, and those of each truth beside this file.

mod fits;
mod tables;

use serde_json::Value;
use windlass_base::Span;
use windlass_trace::{Analyzer, Keep};

use tables::{Judged, Set};

use crate::setting::Injected;
use crate::transfer::{Outcome, Purity};
use windlass_testkit::captures::{corpus, explained_with, verdict};
use windlass_testkit::judged::{matches, named, wild};
use windlass_testkit::mutate::Mutation;
use windlass_testkit::random::Random;
use windlass_testkit::segments::segments_of;
use windlass_testkit::{marked, repository};

/// Settings of each kind, of other seeds than those of the closed loop's own tests.
const SEEDS: std::ops::Range<u64> = 1_000..1_060;

fn simulated() -> Set {
    let mut set = Set::new("simulator", "closed loop, one limit each");
    for injected in Injected::ALL {
        for seed in SEEDS {
            let outcome = Outcome::of(injected, seed);
            if outcome.purity == Purity::Single {
                set.add(of(injected, &outcome));
            }
        }
    }
    set
}

fn disturbed() -> Set {
    let mut set = Set::new("simulator, disturbed", "the same, as imperfect captures show them");
    for injected in Injected::ALL {
        for seed in SEEDS {
            if let Some((_, outcome)) = crate::disturb::disturbed(injected, seed) {
                set.add(of(injected, &outcome));
            }
        }
    }
    set
}

fn of(injected: Injected, outcome: &Outcome) -> Judged {
    Judged {
        truth: injected.name().to_owned(),
        named: outcome.named.clone(),
        confidence: outcome.confidence.id().to_owned(),
        right: outcome.is_right(),
        of: outcome.to_string(),
    }
}

fn confidence(connection: &Value) -> String {
    connection["verdict"]["confidence"].as_str().unwrap().to_owned()
}

fn of_the_corpus() -> Set {
    let mut set = Set::new("corpus", "Linux with a known cause, `tests/corpus`");
    for entry in corpus() {
        let record = explained_with(&entry.path, &["--top", "1"]);
        let connection = &record["connections"][0];
        let named = verdict(connection);
        set.add(Judged {
            right: entry.accepted.contains(&named),
            confidence: confidence(connection),
            truth: entry.expected,
            named,
            of: entry.file,
        });
    }
    set
}

/// The steps of the clocks of other systems, in microseconds: of many, of Windows, and of
/// Windows in older ones.
const STEPS: [i64; 3] = [1_000, 10_000, 15_625];

fn of_the_corpus_by_coarse_clocks() -> Set {
    let mut set = Set::new("corpus, coarse clocks", "the same by clocks of 1, 10 and 15.625 ms");
    for entry in corpus() {
        let segments = segments_of(&entry.path);
        for step in STEPS {
            let coarse = Mutation::Coarsen(Span::from_micros(step));
            let mut analyzer = Analyzer::new(Keep::Largest(1));
            for segment in coarse.of(&segments, &mut Random::new(0, 0)) {
                analyzer.segment(&segment, &mut ());
            }
            let (finished, _) = analyzer.finish();
            let verdict = finished[0].report(|end| end.to_string(), None).verdict;
            let named = crate::transfer::named(&verdict);
            set.add(Judged {
                right: entry.accepted.contains(&named),
                confidence: verdict.confidence.id().to_owned(),
                truth: entry.expected.clone(),
                named,
                of: format!("{} by {} ms", entry.file, step as f64 / 1e3),
            });
        }
    }
    set
}

/// All of them; the first takes as long as the others together.
fn sets() -> [Set; 5] {
    std::thread::scope(|scope| {
        let simulated = scope.spawn(simulated);
        let others =
            (disturbed(), of_the_corpus(), of_the_corpus_by_coarse_clocks(), of_the_wild());
        let simulated = simulated.join().unwrap();
        [simulated, others.0, others.1, others.2, others.3]
    })
}

fn of_the_wild() -> Set {
    let mut set = Set::new("wild", "captures of others, read by hand first");
    for capture in wild() {
        let record = explained_with(&capture.path, &["--top", "1"]);
        let connection = &record["connections"][0];
        let verdict = &connection["verdict"];
        let limit = verdict["limit"].as_str().unwrap();
        let got = named(limit, verdict["because"].as_str());
        set.add(Judged {
            right: matches(&capture.wanted, &got),
            named: got.trim_end_matches('/').to_owned(),
            confidence: confidence(connection),
            truth: capture.wanted.replace('|', " or ").replace(['@', '(', ')'], ""),
            of: capture.file,
        });
    }
    set
}

/// The tables of each truth.
const NAMED: &str = "crates/windlass/tests/closed_loop/calibration/named.md";

/// The marks between which the tables stand in both documents.
const BEGIN: &str = "<!-- written by the test `calibration`: begin -->\n";
const END: &str = "<!-- written by the test `calibration`: end -->\n";

#[test]
#[ignore = "writes the tables of docs/accuracy.md and of each truth"]
fn write_tables() {
    let sets = sets();
    let text = format!("{}\n{}", tables::by_confidence(&sets), fits::table());
    println!("{text}");
    for set in &sets {
        println!("{}, wrong with high confidence:\n{}", set.name, set.wrong("high"));
    }
    write("docs/accuracy.md", &format!("\n{text}\n"));
    write(NAMED, &format!("{}\n", tables::named(&sets)));
}

/// Puts a text between the marks of a document.
fn write(document: &str, text: &str) {
    let path = repository(document);
    let document = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, marked::with_part(&document, [BEGIN, END], text)).unwrap();
}

/// Verdicts of high confidence are right 99 times in 100, those of medium confidence 85 times: on
/// each set. In a set that is too small for that, one may be wrong.
#[test]
fn confidence_is_what_it_says() {
    for set in sets() {
        for (confidence, percent) in [("high", 99), ("medium", 85)] {
            let (right, all) = set.of(confidence);
            let least = all * percent / 100;
            assert!(
                right >= least,
                "{}: of {all} with {confidence} confidence {right} are right\n{}",
                set.name,
                set.wrong(confidence)
            );
        }
    }
}
