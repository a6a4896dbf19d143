//! `windlass capture --compare`: its accounts are exact, its text and its JSON
//! agree. No test measures speed.

use serde_json::Value;
use windlass_base::{Bytes, Rate, Span};
use windlass_capture::live::ReaderKind;
use windlass_host::RunTimes;
use windlass_netlab::compare::{CaptureFigures, CompareReport, Document, Findings, Load, Row, Run};
use windlass_output::Format;

use windlass_testkit::figures::missing;
use windlass_testkit::printed::printed;
use windlass_testkit::{run, schema, skipped, told};

/// A record that keeps to its schema.
fn checked(text: &str) -> Value {
    schema::checked("capture-compare", text)
}

fn count(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_else(|| panic!("no {name} in {value:#}"))
}

#[test]
fn every_packet_is_taken_or_counted_as_lost() {
    let test = "every_packet_is_taken_or_counted_as_lost";
    let line = "capture --compare --json --runs 1 --rate 20000 --time 200ms";
    let (stdout, stderr, code) = told(&run(line));
    if stderr.contains("cannot make a private network") {
        return skipped(test, stderr.lines().next().unwrap_or_default());
    }
    assert_eq!((stderr.as_str(), code), ("", 0));
    let record = checked(&stdout);
    assert_eq!(record["complete"], true);
    let rows = |part: &str| record[part].as_array().unwrap().clone();
    let (tcp, frames, mtu) = (rows("tcp"), rows("frames"), rows("mtu"));
    let readers = |rows: &[Value]| -> Vec<String> {
        rows.iter().map(|row| row["reader"].as_str().unwrap_or("none").to_owned()).collect()
    };
    assert_eq!(readers(&tcp), ["none", "single", "ring"]);
    assert_eq!(readers(&frames), ["single", "ring", "single", "ring"]);
    let sizes: Vec<u64> = mtu.iter().map(|row| count(row, "frame_bytes")).collect();
    assert_eq!(sizes, [1_500, 1_000, 600, 300, 150]);
    let mut all_sent = 0;
    for row in tcp.iter().chain(&frames).chain(&mtu) {
        assert_eq!(row["runs"].as_array().unwrap().len(), 1);
        assert_eq!(row["runs"][0], row["median"], "of one run it is that");
        let (load, captured) = (&row["median"]["load"], &row["median"]["captured"]);
        if row["reader"].is_null() {
            assert!(captured.is_null());
            continue;
        }
        let [received, taken, lost] =
            ["received", "taken", "lost"].map(|name| count(captured, name));
        assert_eq!(received, taken + lost, "{row:#}");
        assert_eq!(count(row, "max_lost"), lost);
        match load["packets"].as_u64() {
            // All that was sent came by, and nothing else did.
            Some(sent) => {
                all_sent += sent;
                assert_eq!(received, sent, "{row:#}");
                assert_eq!(count(captured, "bytes"), taken * count(row, "frame_bytes"));
            }
            // Without offloads a packet has 1,448 bytes of data at most.
            None => assert!(received >= 134_217_728 / 1_448, "{row:#}"),
        }
        if row["reader"] == "single" {
            assert_eq!(count(captured, "buffers"), taken);
        } else if taken > 1_000 {
            assert!(count(captured, "buffers") * 2 < taken, "many come at a time: {row:#}");
        }
    }
    // A machine that starves a sender for one of its fifths of a second leaves it none to send.
    assert!(all_sent > 0, "{record:#}");
    assert_eq!(count(&tcp[0]["median"]["load"], "bytes"), 134_217_728);
}

fn captured(lost: u64, buffers: u64) -> CaptureFigures {
    CaptureFigures {
        received: 800_001,
        taken: 800_001 - lost,
        lost,
        loss: lost as f64 / 800_001.0,
        ring_freezes: 0,
        bytes: Bytes::new((800_001 - lost) * 1_514),
        bytes_per_second: Rate::from_bytes_per_second((800_001 - lost) as f64 * 757.0),
        packets_per_second: (800_001 - lost) as f64 / 2.0,
        buffers,
        buffers_per_second: buffers as f64 / 2.0,
        packets_per_buffer: Some((800_001 - lost) as f64 / buffers as f64),
        cpu_seconds: 0.0432,
        cpu_share: 0.0216,
        cpu_seconds_per_million_packets: Some(0.054),
    }
}

fn row(reader: Option<ReaderKind>, frame: Option<u64>, captured: Option<CaptureFigures>) -> Row {
    let load = Load {
        bytes: Bytes::new(800_001 * 1_514),
        bytes_per_second: Rate::from_bytes_per_second(605.6e6),
        packets: frame.map(|_| 800_001),
        packets_per_second: frame.map(|_| 399_987.3),
        behind_seconds: frame.map(|_| Span::from_micros(612)),
        cpu_seconds: 1.234,
    };
    let run = Run { seconds: Span::from_millis(2_000), load, captured };
    let is_ring = reader == Some(ReaderKind::Ring);
    Row {
        reader,
        snap_length: reader.map(|_| 96),
        ring_bytes: is_ring.then_some(Bytes::new(64 << 20)),
        block_bytes: is_ring.then_some(Bytes::new(64 << 10)),
        within_seconds: is_ring.then_some(Span::from_millis(100)),
        frame_bytes: frame.map(Bytes::new),
        asked_packets_per_second: frame.map(|_| 400_000),
        median: run,
        max_lost: captured.map(|one| one.lost),
        runs: vec![run],
    }
}

fn report() -> CompareReport {
    let (single, ring) = (Some(ReaderKind::Single), Some(ReaderKind::Ring));
    let (lossy, whole) = (Some(captured(77_123, 722_878)), Some(captured(0, 1_103)));
    let tcp = vec![row(None, None, None), row(single, None, lossy), row(ring, None, whole)];
    let frames = vec![row(single, Some(1_514), lossy), row(ring, Some(1_514), whole)];
    let mtu = vec![row(ring, Some(1_500), whole), row(ring, Some(150), whole)];
    let document = Document::default();
    CompareReport {
        schema: CompareReport::SCHEMA,
        times: RunTimes::begin().end(),
        complete: false,
        runs: 3,
        processors: 2,
        tcp_bytes: Bytes::new(134_217_728),
        tcp_write_bytes: Bytes::new(8_192),
        frames_seconds: Span::from_millis(2_000),
        frames_packets_per_second: 400_000,
        frame_bytes: Bytes::new(1_514),
        findings: Findings::of(&tcp, &frames, &mtu, &document),
        tcp,
        frames,
        mtu,
        document,
    }
}

#[test]
fn the_text_has_no_figure_that_the_json_lacks() {
    let mut report = report();
    let text = printed(&report, Format::Text);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let record = checked(&printed(&report, Format::Json));
    let missing = missing(&text, &record, &[]);
    assert!(missing.is_empty(), "{missing:#?}\n{text}");
    for told in ["PCANDIS", "PCAMPR", "passed", "The comparison is incomplete"] {
        assert!(text.contains(told), "{told} is not in\n{text}");
    }
    // What lost packets has not passed.
    report.tcp.clear();
    report.mtu.clear();
    report.frames.pop();
    report.findings = Findings::of(&report.tcp, &report.frames, &report.mtu, &report.document);
    let text = printed(&report, Format::Text);
    assert!(text.contains("not reached") && !text.contains("passed"), "{text}");
    checked(&printed(&report, Format::Json));
}

#[test]
fn a_comparison_is_no_capture() {
    for line in [
        "capture --compare lo",
        "capture --compare -w x.pcapng",
        "capture --compare --reader ring",
        "capture --compare --block 1MiB",
        "capture --runs 3 lo",
        "capture --rate 5 lo",
        "capture --size 60 lo",
        "capture --runs 3",
        "capture",
        "capture --compare --runs 0",
        "capture --compare --rate 0",
        "capture --compare --size 59",
        "capture --compare --size 1515",
        "capture --compare --time 9ms",
        "capture --compare --time 2min",
    ] {
        let (stdout, stderr, code) = told(&run(line));
        assert_eq!((stdout.as_str(), code), ("", 2), "{line}: {stderr}");
    }
}
