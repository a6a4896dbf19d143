//! Compares the reading of tcpdump's text with that of the capture from which
//! the text was printed.

use std::collections::HashMap;
use std::path::Path;

use windlass_base::Span;
use windlass_wire::{Endpoint, Flags, Segment, TextReader};

use crate::support::CollectedSegments;

/// By direction, the amount between the text's numbers and the wire's.
type Shifts = HashMap<(Endpoint, Endpoint), u32>;

/// Checks that `number` is always the same amount from the wire's.
fn check(shifts: &mut Shifts, way: (Endpoint, Endpoint), text: u32, wire: u32) -> Option<String> {
    let shift = text.wrapping_sub(wire);
    let known = *shifts.entry(way).or_insert(shift);
    (known != shift).then(|| format!("{text} is {shift} from {wire}, before {known}"))
}

fn difference(
    text: &Segment,
    wire: &Segment,
    verbose: bool,
    shifts: &mut Shifts,
) -> Option<String> {
    // tcpdump believes the IP length of packets that PPPoE says are padded.
    let payload = text.payload == wire.payload || (text.payload == 6 && wire.payload == 0);
    let same = payload
        && (text.number, text.flags, text.window) == (wire.number, wire.flags, wire.window)
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
    let Some(text) = crate::support::run("tcpdump", options, file) else {
        return vec!["tcpdump is not installed".to_owned()];
    };
    let (mut reader, mut kept) = (TextReader::default(), CollectedSegments::default());
    // In pieces, as a pipe gives them.
    let mut rest = Vec::new();
    for piece in text.chunks(4_093) {
        rest.extend_from_slice(piece);
        let consumed = reader.read(&rest, false, &mut kept).consumed;
        rest.drain(..consumed);
    }
    reader.read(&rest, true, &mut kept);

    let verbose = options.iter().any(|option| option.contains('v'));
    // Deltas that only grow may be a clock as well.
    let deltas: Vec<Span> = wire.windows(2).map(|pair| pair[1].time.since(pair[0].time)).collect();
    let unclear = options.contains(&"-ttt") && deltas.is_sorted();
    let timed = !options.contains(&"-t") && !unclear;
    let (mut shifts, mut began, mut wrong) = (Shifts::new(), None, Vec::new());
    let by_number: HashMap<u64, &Segment> = kept.0.iter().map(|one| (one.number, one)).collect();
    for wire in wire {
        let Some(text) = by_number.get(&wire.number) else {
            wrong.push(format!("frame {}: not read", wire.number));
            continue;
        };
        let (first_text, first_wire) = *began.get_or_insert((text.time, wire.time));
        let (passed, truth) = (text.time.since(first_text), wire.time.since(first_wire));
        // A time of day does not tell days apart, and tcpdump's spans leave
        // whole days out.
        let same_day = truth < Span::from_seconds(12.0 * 3_600.0);
        let days = options.iter().any(|option| matches!(*option, "-tt" | "-tttt"));
        if timed && (days || same_day) && passed != truth {
            wrong.push(format!("frame {}: {passed} after the first, not {truth}", wire.number));
        }
        wrong.extend(difference(text, wire, verbose, &mut shifts));
    }
    if reader.segments() != kept.0.len() as u64 || kept.0.len() > wire.len() {
        wrong.push(format!("{} segments against {}", kept.0.len(), wire.len()));
    }
    wrong
}

/// The packets that tcpdump refuses to print: those of which more was captured
/// than there was.
fn refused(file: &Path) -> Vec<u64> {
    let text = crate::support::run("tcpdump", &["-n"], file).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines = (1..).zip(text.lines());
    lines.filter(|(_, line)| line.starts_with("[Invalid")).map(|(number, _)| number).collect()
}

#[test]
fn the_text_reads_as_the_capture() {
    let Some(files) = crate::support::captures() else {
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
        let cut = crate::support::cut(&file, "68");
        for options in ways {
            assert_same(&file, options);
        }
        for options in [&["-n"][..], &["-n", "-v", "-S"]] {
            if let Some(cut) = &cut {
                assert_same(cut, options);
            }
        }
    }
}

fn assert_same(file: &Path, options: &[&str]) {
    let Some(decoded) = crate::support::decoded(file) else {
        println!("skipped: tcpdump is not installed");
        return;
    };
    let refused = refused(file);
    let mut wire = crate::support::segments(&decoded);
    wire.retain(|segment| !refused.contains(&segment.number));
    let mut wrong = compare(file, options, &wire);
    println!("{} {options:?}: {} segments", file.display(), wire.len());
    wrong.truncate(3);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
