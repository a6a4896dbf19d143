//! `windlass show --xplot` beside `tcptrace -S`, over the corpus.
//!
//! Both draw each segment, each step of the ACK and each step of the window's edge. They must
//! be the same, to the microsecond that tcptrace writes. One thing is read otherwise by
//! convention, and not compared: which segments were sent again. tcptrace calls what fills a
//! gap out of order (`O`); behind the place of a loss that is a retransmission whose first
//! copy never came by, and windlass says so by its time (`R`), as its reports do. These are
//! held against the reports instead.

use std::collections::HashSet;
use std::io::Read;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use windlass_testkit::captures::{Findings, corpus, explained, name};
use windlass_testkit::{has, told, windlass};

/// A line from a time to another, in microseconds, and from a sequence number to another, as
/// on the wire: ours go on past the wrap.
type Line = [i64; 4];

/// The lines of a graph.
#[derive(Debug, Default, PartialEq)]
struct Graph {
    title: String,
    /// Of segments, ACK, window and SACK blocks.
    lines: [HashSet<Line>; 4],
    /// Letters above segments that were sent again.
    again: u64,
}

const KINDS: [&str; 4] = ["segments", "ACK", "window", "SACK"];

fn line(words: [&str; 4]) -> Line {
    let micros = |time: &str| {
        let (seconds, micros) = time.split_once('.').unwrap();
        assert_eq!(micros.len(), 6, "{time}");
        seconds.parse::<i64>().unwrap() * 1_000_000 + micros.parse::<i64>().unwrap()
    };
    let wire = |number: &str| number.parse::<i64>().unwrap().rem_euclid(1 << 32);
    let [from, start, to, end] = words;
    [micros(from), micros(to), wire(start), wire(end)]
}

fn parsed(text: &str) -> Graph {
    assert!(text.starts_with("timeval double\ntitle\n") && text.ends_with("\ngo\n"));
    let title = text.lines().nth(2).unwrap().to_owned();
    let mut graph = Graph { title, ..Graph::default() };
    let mut kind = 0;
    for said in text.lines().skip(3) {
        if let Some(places) = said.strip_prefix("line ") {
            let mut words = places.split(' ');
            graph.lines[kind].insert(line([0; 4].map(|_| words.next().unwrap())));
            assert_eq!(words.next(), None, "{said}");
            continue;
        }
        kind = match said {
            "green" => 1,
            "yellow" => 2,
            "purple" => 3,
            "white" | "red" | "pink" | "blue" | "orange" | "magenta" => 0,
            _ => kind,
        };
        graph.again += u64::from(said == "R");
    }
    graph
}

/// A plain copy of a capture in a folder of its own: tcptrace reads no other, and writes its
/// files where it runs.
fn plain(file: &Path, folder: &Path) -> String {
    let mut bytes = Vec::new();
    let packed = std::fs::File::open(file).unwrap();
    flate2::read::MultiGzDecoder::new(packed).read_to_end(&mut bytes).unwrap();
    let copy = name(file).trim_end_matches(".gz").to_owned();
    std::fs::write(folder.join(&copy), bytes).unwrap();
    copy
}

/// Both graphs that tcptrace draws of a connection.
fn traced(copy: &str, folder: &Path) -> Vec<Graph> {
    let mut tcptrace = Command::new("tcptrace");
    let output = tcptrace.args(["-S", "-n", copy]).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{copy}");
    let graph = |file| parsed(&std::fs::read_to_string(folder.join(file)).unwrap());
    ["a2b_tsg.xpl", "b2a_tsg.xpl"].map(graph).into()
}

/// Returns the record of `show --xplot`, and its graphs.
fn drawn(capture: &Path, to: &Path) -> (Value, Vec<Graph>) {
    let arguments = ["show", "--json", "--xplot"];
    let output = windlass().args(arguments).arg(to).arg(capture).output().unwrap();
    let (stdout, stderr, code) = told(&output);
    assert_eq!((stderr.as_str(), code), ("", 0), "{}", capture.display());
    let record: Value = serde_json::from_str(&stdout).unwrap();
    let files = record["files"].as_array().unwrap().iter();
    let read = |file: &Value| std::fs::read_to_string(file["file"].as_str().unwrap()).unwrap();
    let graphs = files.map(|file| parsed(&read(file))).collect();
    (record, graphs)
}

#[test]
fn graphs_are_those_of_tcptrace() {
    if !has("tcptrace", "graphs_are_those_of_tcptrace") {
        return;
    }
    let mut findings = Findings::default();
    let mut same = [0; KINDS.len()];
    let mut both = 0;
    for entry in corpus() {
        let folder = tempfile::tempdir().unwrap();
        let copy = plain(&entry.path, folder.path());
        let theirs = traced(&copy, folder.path());
        let (_, ours) = drawn(&folder.path().join(&copy), &folder.path().join("ours.xpl"));
        both += usize::from(ours.len() == 2);
        for graph in &ours {
            let found = theirs.iter().find(|other| other.title == graph.title);
            let other = found.unwrap_or_else(|| panic!("{copy}: {}", graph.title));
            for (kind, name) in KINDS.into_iter().enumerate() {
                let (own, their) = (&graph.lines[kind], &other.lines[kind]);
                same[kind] += own.intersection(their).count();
                let more: Vec<_> = own.difference(their).take(3).collect();
                let less: Vec<_> = their.difference(own).take(3).collect();
                let differs = !more.is_empty() || !less.is_empty();
                findings.check(!differs, &copy, name, format!("{less:?}"), format!("{more:?}"));
            }
        }
    }
    findings.assert_none();
    let [segments, acks, windows, sacks] = same;
    assert!(segments > 30_000 && acks > 50_000 && windows > 50_000 && sacks > 1_500, "{same:?}");
    assert!(both >= 3, "{both} have data both ways");
}

#[test]
fn what_was_sent_again_is_marked_as_reports_count_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut marked = 0;
    for entry in corpus().iter().step_by(14) {
        let (record, graphs) = drawn(&entry.path, &folder.path().join("ours.xpl"));
        let report = &explained(&entry.path)["connections"][0];
        assert_eq!(report["losses"]["retransmissions"], graphs[0].again, "{}", entry.file);
        assert_eq!(record["files"][0]["sender"], report["sender"], "{}", entry.file);
        assert_eq!(record["files"][0]["segments"].as_u64().map(|some| some > 0), Some(true));
        marked += graphs[0].again;
    }
    assert!(marked > 20, "{marked}");
}

#[test]
fn a_graph_is_written_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let capture = corpus().remove(0).path;
    let to = folder.path().join("up.xpl");
    let shown = |more: &[&str], to: &Path| {
        told(
            &windlass()
                .args(["show", "--xplot"])
                .arg(to)
                .args(more)
                .arg(&capture)
                .output()
                .unwrap(),
        )
    };
    for (more, to, code, says) in [
        (&["--packets", "900000.."][..], to.as_path(), 1, "holds no packet of the connection"),
        (&["--connection", "9"], &to, 1, "there is no connection 9; there are 1"),
        (&["--all"], &to, 2, "cannot be used with"),
        (&[], folder.path(), 2, "it exists and is not a regular file"),
        (&[], Path::new("-"), 2, "Name a file for the graph."),
        (&[], Path::new("/nowhere/up.xpl"), 1, "there is no directory /nowhere"),
        (&[], &capture, 2, "it is the capture that is being read"),
    ] {
        let (stdout, stderr, exit) = shown(more, to);
        assert!(stdout.is_empty() && stderr.contains(says), "{stderr}");
        assert_eq!(exit, code, "{stderr}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    let (stdout, stderr, code) = shown(&["--packets", "1..50"], &to);
    assert_eq!((stderr.as_str(), code), ("", 0));
    assert!(stdout.contains("Wrote ") && stdout.contains(" segments with data"), "{stdout}");
    let part = parsed(&std::fs::read_to_string(&to).unwrap());
    assert!(!part.lines[0].is_empty() && part.lines[0].len() <= 50);
}

/// A capture may name hosts, and a title is a line of the format.
#[test]
fn a_name_cannot_become_a_command() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("trace.txt");
    let line = |at: u32, first: u32| {
        let end = first + 100;
        format!(
            "00:00:0{at}.000000 IP go\u{1b}[1m<b>.5 > b.9100: Flags [P.], seq {first}:{end}, \
             ack 1, win 512, length 100\n"
        )
    };
    let lines = line(1, 1) + &line(2, 101);
    std::fs::write(&text, lines).unwrap();
    let (_, graphs) = drawn(&text, &folder.path().join("up.xpl"));
    let title = &graphs[0].title;
    assert!(title.ends_with("_==>_b:9100 (time sequence graph)"), "{title}");
    assert!(!title.contains(char::is_control), "{title:?}");
    assert_eq!(graphs[0].lines[0].len(), 2);
}
