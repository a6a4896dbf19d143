//! Runs held against each other, and made again.

use super::{RunsFolder, checked, figure};

/// Makes this many runs of a device, with a tag.
fn lab(kept: &RunsFolder, device: &str, bytes: &str, tag: &str, count: usize) {
    for _ in 0..count {
        kept.done(&format!("lab imagen --device {device} --bytes {bytes} --tag {tag}"));
    }
}

#[test]
fn two_runs_stand_side_by_side() {
    let kept = RunsFolder::new();
    lab(&kept, "imagen-v2", "20kB", "old", 1);
    lab(&kept, "imagen-v3.3", "20kB", "new", 1);
    let found = kept.json("runs-compare", "compare tag:old last");
    assert_eq!(found["groups"][0]["name"], "old");
    let differs = found["differs"].as_array().unwrap();
    assert_eq!(differs.len(), 1, "the store's own options do not count: {differs:?}");
    assert_eq!(differs[0]["what"], "--device");
    assert_eq!(differs[0]["values"], serde_json::json!([["imagen-v2"], ["imagen-v3.3"]]));
    assert_eq!(found["cautions"][0]["caution"], "few-runs");
    let text = kept.done("runs compare tag:old last");
    assert!(text.contains("--device") && text.contains("No difference is claimed"), "{text}");
}

#[test]
fn repeats_are_compared_and_a_condition_decides_the_exit_code() {
    let kept = RunsFolder::new();
    lab(&kept, "imagen-v3.3", "20kB", "fast", 5);
    lab(&kept, "imagen-v3.3", "2kB", "short", 5);
    let found = kept.json("runs-compare", "compare tag:fast tag:short");
    let figures = found["figures"].as_array().unwrap();
    let time = figures.iter().find(|one| one["name"] == "time").unwrap();
    let change = &time["changes"][1];
    assert_eq!(change["claim"], "better", "{time:#}");
    // Of five and five none is as uneven but two of 252.
    assert!((change["p"].as_f64().unwrap() - 2.0 / 252.0).abs() < 1e-9);
    let runs = kept.list();
    let (before, after) = (&runs[0], &runs[9]);
    let of = time["of"].as_str();
    let share = figure(after, "time", of) / figure(before, "time", of) - 1.0;
    assert!((change["share"].as_f64().unwrap() - share).abs() < 1e-9);
    assert!(found["cautions"].to_string().contains("not-interleaved"), "{}", found["cautions"]);

    let (stdout, stderr, code) =
        told(&kept, &["tag:fast", "tag:short", "--fail-if", "time < 0.9 * baseline"]);
    assert_eq!(code, 1, "{stdout}");
    assert!(stdout.contains("holds: time < 0.9 * baseline"), "{stdout}");
    assert!(stderr.contains("time < 0.9 * baseline holds"), "{stderr}");
    let (stdout, _, code) = told(&kept, &["tag:fast", "tag:short", "--fail-if", "time > baseline"]);
    assert!(stdout.contains("does not hold") && code == 0, "{stdout}");
    let (_, stderr, code) = told(&kept, &["tag:fast", "tag:short", "--fail-if", "jitter > 1ms"]);
    assert!(code == 2 && stderr.contains("these runs have no jitter"), "{stderr}");
    let (_, stderr, code) = told(&kept, &["tag:fast", "--fail-if", "speed > 1"]);
    assert!(code == 2 && stderr.contains("\"speed\" is not a figure"), "{stderr}");
}

fn told(kept: &RunsFolder, words: &[&str]) -> (String, String, i32) {
    let all: Vec<&str> = ["runs", "compare"].iter().chain(words).copied().collect();
    windlass_testkit::told(&kept.command(&all).output().unwrap())
}

#[test]
fn a_run_is_repeated_in_turn_with_another() {
    let kept = RunsFolder::new();
    lab(&kept, "imagen-v3.3", "20kB", "mine", 1);
    let words =
        "runs repeat last -n 5 --tag night --json -- lab imagen --device imagen-v3.3 --bytes 10kB";
    let (stdout, stderr, code) = kept.told(words);
    assert_eq!(code, 0, "{stderr}");
    let found = checked("runs-compare", &stdout);
    let counts: Vec<usize> = found["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|group| group["runs"].as_array().unwrap().len())
        .collect();
    assert_eq!(counts, [5, 5]);
    let series = stderr.trim().rsplit_once("compare ").unwrap().1;
    assert_eq!(
        kept.json("runs-compare", &format!("compare {series}"))["differs"],
        found["differs"]
    );
    assert!(!found["cautions"].to_string().contains("not-interleaved"), "{}", found["cautions"]);
    // Now the one is first and now the other.
    let runs = kept.list();
    assert_eq!(runs.len(), 11);
    let order: String = runs[1..]
        .iter()
        .map(|run| if run["arguments"].to_string().contains("10kB") { 'B' } else { 'A' })
        .collect();
    assert_eq!(order, "ABBAABBAAB");
    assert!(runs[1..].iter().all(|run| run["tags"].to_string().contains("night")));
    assert!(runs[1]["tags"].to_string().contains("mine"), "{}", runs[1]);
    let (_, stderr, code) = kept.told("runs repeat last -- law window --window 1k --rtt 1ms");
    assert!(code == 2 && stderr.contains("does not keep its runs"), "{stderr}");
}

#[test]
fn what_cannot_be_repeated_says_why() {
    let kept = RunsFolder::new();
    let scenario = kept.folder.path().join("own.toml");
    std::fs::write(&scenario, windlass_testkit::LOST).unwrap();
    kept.told(&format!("lab {}", scenario.display()));
    std::fs::remove_file(&scenario).unwrap();
    let (_, stderr, code) = kept.told("runs repeat last");
    assert_eq!(code, 1);
    assert!(stderr.contains("own.toml") && stderr.contains("cannot repeat run"), "{stderr}");
    assert_eq!(kept.list().len(), 1);
}
