//! Compares the decoder with tshark, frame by frame, over real captures.

use std::path::Path;

use windlass_wire::decode::Damage;
use windlass_wire::{Decoded, Segment};

const FIELDS: [&str; 15] = [
    "frame.number",
    "tcp.seq_raw",
    "tcp.ack_raw",
    "tcp.len",
    "tcp.flags",
    "tcp.window_size_value",
    "tcp.srcport",
    "tcp.dstport",
    "ip.id",
    "ip.ttl",
    "tcp.options.mss_val",
    "tcp.options.wscale.shift",
    "tcp.options.timestamp.tsval",
    "tcp.options.sack_le",
    "frame.time_epoch",
];

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Returns the difference between a segment and tshark's fields of the same frame, if any.
fn difference(segment: &Segment, fields: &[&str]) -> Option<String> {
    let ours = [
        Some(segment.number),
        segment.sequence.map(u64::from),
        Some(u64::from(segment.acknowledgment)),
        Some(u64::from(segment.payload)),
        Some(u64::from(segment.flags.0)),
        Some(u64::from(segment.window)),
        Some(u64::from(segment.source.port)),
        Some(u64::from(segment.destination.port)),
        segment.identification.map(u64::from),
        segment.identification.map(|_| u64::from(segment.hop_limit)),
        segment.options.mss.map(u64::from),
        segment.options.window_scale.map(u64::from),
        segment.options.timestamps.map(|(sent, _)| u64::from(sent)),
        segment.options.sack.as_slice().first().map(|block| u64::from(block.left)),
    ];
    for (at, (name, ours)) in FIELDS.iter().zip(ours).enumerate() {
        let theirs = fields.get(at).copied().unwrap_or_default();
        let theirs = number(theirs.split(',').next().unwrap_or_default());
        // Flags: tshark counts the four reserved bits too. Without an ACK flag
        // its number is whatever the field held. Cut options are cut there too,
        // but not always at the same place.
        let theirs = match *name {
            "tcp.flags" => theirs.map(|flags| flags & 0xff),
            "tcp.ack_raw" if segment.flags.0 & 0x10 == 0 => Some(0),
            _ => theirs,
        };
        if ours != theirs && !(at >= 10 && segment.options.truncated) {
            return Some(format!("{name}: {ours:?} against {theirs:?}"));
        }
    }
    None
}

/// Compares one file; gives how many segments it has, or `None` where a tool is
/// missing.
fn compare(file: &Path, cut: bool) -> Option<usize> {
    let mut arguments = vec![
        "-o",
        "tcp.desegment_tcp_streams:FALSE",
        "-o",
        "tcp.analyze_sequence_numbers:FALSE",
        "-Tfields",
        "-Eoccurrence=a",
    ];
    arguments.extend(FIELDS.iter().flat_map(|field| ["-e", field]));
    let (theirs, ours) =
        (crate::support::run("tshark", &arguments, file)?, crate::support::decoded(file)?);
    let theirs = String::from_utf8_lossy(&theirs);
    let (mut segments, mut different) = (0, Vec::new());
    assert_eq!(theirs.lines().count(), ours.len(), "{}", file.display());
    for (line, ours) in theirs.lines().zip(&ours) {
        let fields: Vec<&str> = line.split('\t').collect();
        let wrong = match ours {
            Decoded::Segment(segment) => {
                segments += 1;
                difference(segment, &fields)
            }
            // tshark shows what little it has of a TCP header that was cut.
            Decoded::Damaged(Damage::Short) if cut => None,
            _ if fields[1].is_empty() => None,
            other => Some(format!("{other:?}")),
        };
        different.extend(wrong.map(|wrong| format!("frame {}: {wrong}", fields[0])));
    }
    different.truncate(10);
    assert!(different.is_empty(), "{}: {different:#?}", file.display());
    Some(segments)
}

#[test]
fn every_frame_reads_as_tshark_reads_it() {
    let Some(files) = crate::support::captures() else {
        println!("skipped: the folder of captures is not there");
        return;
    };
    for file in files {
        match compare(&file, false) {
            Some(segments) => println!("{}: {segments} segments", file.display()),
            None => println!("skipped: tshark or tcpdump is not installed"),
        }
    }
}

#[test]
fn every_frame_that_a_snap_length_cut_reads_as_tshark_reads_it() {
    let Some(files) = crate::support::captures() else {
        println!("skipped: the folder of captures is not there");
        return;
    };
    for file in files {
        for snap in ["54", "68"] {
            let Some(cut) = crate::support::cut(&file, snap) else {
                println!("skipped: editcap is not installed");
                return;
            };
            match compare(&cut, true) {
                Some(segments) => println!("{} at {snap}: {segments} segments", file.display()),
                None => println!("skipped: tshark is not installed"),
            }
        }
    }
}

#[test]
fn fragments_join_where_tshark_joins_them() {
    let files = crate::support::captures().unwrap_or_default();
    let Some(file) = files.iter().find(|file| file.ends_with("zeek_206_example_a.pcap")) else {
        println!("skipped: the folder of captures is not there");
        return;
    };
    let whole = crate::support::segments(&crate::support::decoded(file).unwrap());
    for most in [16, 552] {
        let copy = crate::support::fragmented(file, most).unwrap();
        match compare(&copy, false) {
            Some(segments) => assert_eq!(segments, whole.len()),
            None => println!("skipped: tshark is not installed"),
        }
    }
}
