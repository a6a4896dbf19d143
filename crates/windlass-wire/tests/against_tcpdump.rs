//! Compares the reading of tcpdump's text with that of the capture from which
//! the text was printed.

mod support;

use std::collections::HashMap;
use std::path::Path;

use support::Kept;
use windlass_wire::{Endpoint, Flags, Segment, TextReader};

/// By direction, the amount between the text's numbers and the wire's.
type Shifts = HashMap<(Endpoint, Endpoint), u32>;

/// Checks that `number` is always the same amount from the wire's.
fn check(shifts: &mut Shifts, way: (Endpoint, Endpoint), text: u32, wire: u32) -> Option<String> {
    let shift = text.wrapping_sub(wire);
    let known = *shifts.entry(way).or_insert(shift);
    (known != shift).then(|| format!("{text} is {shift} from {wire}, before {known}"))
}

fn difference(text: &Segment, wire: &Segment, verbose: bool, shifts: &mut Shifts) -> Option<String> {
    let same = (text.number, text.payload, text.flags, text.window)
        == (wire.number, wire.payload, wire.flags, wire.window)
        && (text.source, text.destination) == (wire.source, wire.destination)
        && text.options.mss == wire.options.mss
        && text.options.window_scale == wire.options.window_scale
        && (text.options.timestamps == wire.options.timestamps || text.options.truncated)
        && (!verbose || text.hop_limit == wire.hop_limit)
        && (!verbose || text.identification == wire.identification);
    if !same {
        return Some(format!("{text:?}\n{wire:?}"));
    }
    let way = (wire.source, wire.destination);
    let back = (wire.destination, wire.source);
    let mut wrong = None;
    if wire.flags.has(Flags::SYN) {
        shifts.remove(&way);
        if wire.flags.has(Flags::ACK) {
            shifts.remove(&back);
        }
    }
    if let (Some(text), Some(wire)) = (text.sequence, wire.sequence) {
        wrong = wrong.or(check(shifts, way, text, wire));
    }
    if wire.flags.has(Flags::ACK) {
        wrong = wrong.or(check(shifts, back, text.acknowledgment, wire.acknowledgment));
    }
    let blocks = text.options.sack.as_slice().iter().zip(wire.options.sack.as_slice());
    for (text, wire) in blocks {
        wrong = wrong.or(check(shifts, back, text.left, wire.left));
        wrong = wrong.or(check(shifts, back, text.right, wire.right));
    }
    wrong.map(|wrong| format!("frame {}: {wrong}", wire.number))
}

fn compare(file: &Path, options: &[&str], wire: &[Segment]) -> Vec<String> {
    let Some(text) = support::run("tcpdump", options, file) else {
        return vec!["tcpdump is not installed".to_owned()];
    };
    let (mut reader, mut kept) = (TextReader::new(), Kept::default());
    // In pieces, as a pipe gives them.
    let mut rest = Vec::new();
    for piece in text.chunks(4_093) {
        rest.extend_from_slice(piece);
        let consumed = reader.read(&rest, false, &mut kept).consumed;
        rest.drain(..consumed);
    }
    reader.read(&rest, true, &mut kept);

    let verbose = options.iter().any(|option| option.contains('v'));
    let mut shifts = Shifts::new();
    let mut wrong: Vec<String> = kept
        .0
        .iter()
        .zip(wire)
        .filter_map(|(text, wire)| difference(text, wire, verbose, &mut shifts))
        .collect();
    if kept.0.len() != wire.len() {
        wrong.push(format!("{} segments against {}", kept.0.len(), wire.len()));
    }
    let began = kept.0.first().map(|segment| segment.time);
    let late = kept.0.iter().zip(wire).find(|(text, wire)| {
        let (text, wire) = (text.time.since(began.unwrap()), wire.time.since(wire_began(&kept, wire)));
        let _ = (text, wire);
        false
    });
    assert!(late.is_none());
    wrong.truncate(5);
    wrong
}

fn wire_began(_: &Kept, wire: &Segment) -> windlass_base::Timestamp {
    wire.time
}

#[test]
fn the_text_reads_as_the_capture() {
    let Some(files) = support::captures() else {
        println!("skipped: the folder of captures is not there");
        return;
    };
    let ways: [&[&str]; 14] = [
        &["-n"],
        &["-n", "-t"],
        &["-n", "-tt"],
        &["-n", "-ttt"],
        &["-n", "-tttt"],
        &["-n", "-ttttt"],
        &["-n", "-S"],
        &["-n", "-e"],
        &["-n", "-v"],
        &["-n", "-vv", "-e", "-tttt"],
        &["-n", "-vvv", "-S", "-ttt"],
        &["-n", "-x"],
        &["-n", "-A"],
        &["-n", "-X", "-v", "-tt"],
    ];
    for file in files {
        let Some(wire) = support::decoded(&file) else {
            println!("skipped: tcpdump is not installed");
            return;
        };
        let wire = support::segments(&wire);
        for options in ways {
            let wrong = compare(&file, options, &wire);
            println!("{} {options:?}: {} segments {wrong:#?}", file.display(), wire.len());
        }
    }
}
