//! The JSON of `explain`, `show`, `lab`, `device` and `sweep` against its schemas, and
//! the schemas against each other.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod files;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use jsonschema::Validator;
use serde_json::{Value, json};
use windlass_base::{Cause, Limit};
use windlass_testkit::captures::{
    Findings, corpus, explained, explained_with, name, public_captures, shared,
};
use windlass_testkit::schema::{schema, validator};
use windlass_testkit::{told, windlass};
use windlass_wire::target::Protocol;

fn check(validator: &Validator, value: &Value, file: &str, findings: &mut Findings) {
    for error in validator.iter_errors(value).take(3) {
        findings.add(file, error.instance_path().to_string(), "fits the schema", &error);
    }
}

/// The corpus, the public captures, and the print-server document.
fn files(test: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = corpus().into_iter().map(|entry| entry.path).collect();
    files.extend(public_captures());
    files.extend(shared("sources/000_9b262035620079fe.txt", test));
    files
}

#[test]
fn what_explain_prints_fits_its_schema() {
    let validator = validator("explain");
    let mut findings = Findings::default();
    let folder = tempfile::tempdir().unwrap();
    for file in files("what_explain_prints_fits_its_schema") {
        check(&validator, &explained(&file), &name(&file), &mut findings);
    }
    // What the corpus does not have: a damaged file, an annotated copy, more
    // connections than are reported.
    let whole = corpus().remove(0).path;
    let cut = folder.path().join("cut.pcap.gz");
    let bytes = std::fs::read(&whole).unwrap();
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let damaged = explained(&cut);
    assert!(damaged["capture"]["damage"].is_string(), "{}", damaged["capture"]);
    check(&validator, &damaged, "cut.pcap.gz", &mut findings);
    let copy = folder.path().join("notes.pcapng");
    let annotated = explained_with(&whole, &["--annotate", copy.to_str().unwrap()]);
    assert!(annotated["annotated"]["comments"].as_u64().unwrap() > 0);
    check(&validator, &annotated, "annotated", &mut findings);
    for entry in corpus().iter().step_by(5) {
        let changed = explained_with(&entry.path, &["--what-if", "window=1M,loss=0,mss=1400"]);
        assert!(changed["connections"][0]["what_if"].is_object(), "{}", entry.file);
        check(&validator, &changed, &entry.file, &mut findings);
        let reasoned = explained_with(&entry.path, &["--why=all"]);
        assert!(reasoned["connections"][0]["why"]["waits"].is_array(), "{}", entry.file);
        check(&validator, &reasoned, &entry.file, &mut findings);
    }
    findings.assert_none();
}

fn shown(file: &Path, more: &[&str]) -> Vec<Value> {
    let output = windlass().args(["show", "--json"]).args(more).arg(file).output().unwrap();
    let (stdout, stderr, code) = told(&output);
    assert_eq!((stderr.as_str(), code), ("", 0), "{}", file.display());
    stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn what_show_prints_fits_its_schema() {
    let validator = validator("show");
    let mut findings = Findings::default();
    let all = files("what_show_prints_fits_its_schema");
    // Every tenth, and those that are read differently.
    let special = ["own", "sanders", "zeek_pppoe", "000_", "dlt_null", "no-handshake", "one-sided"];
    let chosen = all
        .iter()
        .enumerate()
        .filter(|(at, file)| at % 10 == 0 || special.iter().any(|part| name(file).contains(part)));
    for (_, file) in chosen {
        let lines = shown(file, &["--all"]);
        assert_eq!(lines[0]["schema"], "windlass.show/1");
        assert!(lines[1..].iter().all(|line| line.get("schema").is_none()));
        for line in &lines {
            check(&validator, line, &name(file), &mut findings);
        }
    }
    findings.assert_none();
}

#[test]
fn what_is_said_of_a_graph_fits_its_schema() {
    let validator = validator("show-xplot");
    let mut findings = Findings::default();
    let folder = tempfile::tempdir().unwrap();
    let graph = folder.path().join("graph.xpl");
    for entry in corpus().iter().step_by(20) {
        let mut show = windlass();
        show.args(["show", "--json", "--xplot"]).args([&graph, &entry.path]);
        let (stdout, stderr, code) = told(&show.output().unwrap());
        assert_eq!((stderr.as_str(), code), ("", 0), "{}", entry.file);
        check(&validator, &serde_json::from_str(&stdout).unwrap(), &entry.file, &mut findings);
    }
    findings.assert_none();
}

#[test]
fn what_is_learned_of_a_device_fits_its_schema() {
    let validator = validator("device-learn");
    let mut findings = Findings::default();
    for file in files("what_is_learned_of_a_device_fits_its_schema") {
        let output = windlass().args(["device", "learn", "--json"]).arg(&file).output().unwrap();
        let (stdout, _, code) = told(&output);
        if code == 0 {
            let record: Value = serde_json::from_str(&stdout).unwrap();
            assert_eq!(record["schema"], "windlass.device-learn/2");
            check(&validator, &record, &name(&file), &mut findings);
        }
    }
    findings.assert_none();
}

fn lab(line: &str) -> Value {
    let (stdout, stderr, code) = told(&windlass_testkit::run(&format!("lab --json {line}")));
    assert_eq!((stderr.as_str(), code), ("", 0), "{line}");
    serde_json::from_str(&stdout).unwrap()
}

#[test]
fn what_the_lab_prints_fits_its_schema() {
    let mut findings = Findings::default();
    let list = lab("");
    check(&validator("lab-list"), &list, "the list", &mut findings);
    let validator = validator("lab");
    let folder = tempfile::tempdir().unwrap();
    let kept = format!("--bytes 30000 --keep {}", folder.path().display());
    for scenario in list["scenarios"].as_array().unwrap() {
        let name = scenario["name"].as_str().unwrap();
        check(&validator, &lab(name), name, &mut findings);
        let record = lab(&format!("{name} {kept}"));
        check(&validator, &record, &format!("{name} {kept}"), &mut findings);
        assert!(Path::new(record["rows"][0]["capture"].as_str().unwrap()).is_file());
    }
    // A transfer that never ends, without a word of the device's.
    let path = folder.path().join("lost.toml");
    std::fs::write(&path, windlass_testkit::LOST).unwrap();
    let lost = lab(path.to_str().unwrap());
    assert_eq!(lost["rows"][0]["ended"], "gave-up", "{lost}");
    check(&validator, &lost, "lost", &mut findings);
    findings.assert_none();
}

#[test]
fn what_a_sweep_prints_fits_its_schema() {
    let validator = validator("sweep");
    let mut findings = Findings::default();
    let folder = tempfile::tempdir().unwrap();
    let uneven = folder.path().join("uneven.toml");
    let text = "title = \"x\"\nshows = \"y\"\n[[hop]]\nrate = \"10 Mb/s\"\nloss = \"1%\"\n\
                [[back]]\nrate = \"1 Mb/s\"\ndelay = \"5 ms\"\njitter = \"1 ms\"\n";
    std::fs::write(&uneven, text).unwrap();
    let dead = folder.path().join("dead.toml");
    let nothing = "title = \"x\"\nshows = \"y\"\n[[hop]]\nrate = \"1 Mb/s\"\nloss = \"100%\"\n";
    std::fs::write(&dead, nothing).unwrap();
    let lines = [
        "gigabit --time 100ms".to_owned(),
        "white-space --windows 1..64k --streams 1,3 --direction down".to_owned(),
        "long-fat --windows 1m --streams 1 --full".to_owned(),
        uneven.display().to_string(),
        dead.display().to_string(),
    ];
    for line in lines {
        let output = windlass_testkit::run(&format!("sweep --json --simulate {line}"));
        let (stdout, stderr, code) = told(&output);
        assert_eq!((stderr.as_str(), code), ("", 0), "{line}");
        check(&validator, &serde_json::from_str(&stdout).unwrap(), &line, &mut findings);
    }
    findings.assert_none();
}

#[test]
fn the_schemas_refuse_what_is_wrong() {
    let validator = validator("explain");
    let right = explained(&corpus().remove(0).path);
    assert!(validator.is_valid(&right));
    let wrongs: [(&str, Value); 10] = [
        ("/schema", json!("windlass.explain/1")),
        ("/connections/0/verdict/limit", json!("gremlins")),
        ("/connections/0/verdict/because", json!("bad-luck")),
        ("/connections/0/verdict/confidence", json!("certain")),
        ("/connections/0/timeline/0/limit", Value::Null),
        ("/connections/0/seconds", json!(-1)),
        ("/connections/0/shares", json!({ "gremlins": 1.0 })),
        ("/connections/0/verdict/law/inputs/0/unit", json!("furlongs")),
        ("/connections/0/verdict/remedies/0/side", json!("moon")),
        ("/connections/0/bytes", json!(1.5)),
    ];
    for (pointer, value) in wrongs {
        let mut wrong = right.clone();
        *wrong.pointer_mut(pointer).unwrap() = value;
        assert!(!validator.is_valid(&wrong), "{pointer}");
    }
    for pointer in ["", "/capture", "/connections/0", "/connections/0/verdict"] {
        let mut wrong = right.clone();
        wrong.pointer_mut(pointer).unwrap()["more"] = json!(1);
        assert!(!validator.is_valid(&wrong), "{pointer}: a field that nobody knows");
    }
}

#[test]
fn the_schema_knows_the_programs_words_and_no_others() {
    let schema = schema("definitions/limits");
    let words = |name: &str| -> BTreeSet<String> {
        let words = schema["$defs"][name]["enum"].as_array().unwrap();
        words.iter().map(|word| word.as_str().unwrap().to_owned()).collect()
    };
    let limits: BTreeSet<String> = Limit::ALL.iter().map(|limit| limit.id().to_owned()).collect();
    assert_eq!(words("limit"), limits);
    let because = Cause::ALL.iter().filter_map(|cause| cause.because());
    let because: BTreeSet<String> = because.map(|because| because.id().to_owned()).collect();
    assert_eq!(words("because"), because);
    let causes: BTreeSet<String> = Cause::ALL.iter().map(ToString::to_string).collect();
    assert_eq!(words("cause"), causes);
}

#[test]
fn the_schemas_know_the_print_protocols() {
    let places = [
        ("print", "/properties/target/properties/protocol/enum"),
        ("spool-load", "/properties/target/properties/protocol/enum"),
        ("lab-list", "/properties/profiles/items/properties/methods/items/enum"),
    ];
    for (name, place) in places {
        let schema = schema(name);
        let words = schema.pointer(place).and_then(Value::as_array).unwrap();
        for protocol in Protocol::ALL {
            assert!(words.contains(&json!(protocol.id())), "{name}: {}", protocol.id());
        }
    }
}

#[test]
fn limits_come_with_their_own_reasons() {
    let causes: BTreeSet<String> = Cause::ALL.iter().map(ToString::to_string).collect();
    let mut findings = Findings::default();
    for file in files("limits_come_with_their_own_reasons") {
        let record = explained(&file);
        for connection in record["connections"].as_array().unwrap() {
            let timeline = connection["timeline"].as_array().unwrap();
            for at in timeline.iter().chain([&connection["verdict"]]) {
                let limit = at["limit"].as_str().unwrap();
                let cause = match at["because"].as_str() {
                    Some(because) => format!("{limit}/{because}"),
                    None => limit.to_owned(),
                };
                let known = causes.contains(&cause);
                findings.check(known, &name(&file), "limit and reason", "a known pair", cause);
            }
        }
    }
    findings.assert_none();
}
