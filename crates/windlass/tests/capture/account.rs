//! Sent = in the file + counted as lost, however a capture ends.

use std::sync::atomic::AtomicBool;

use windlass_sys::generator::{self, Frame, Generator, Load, LoadEnd};
use windlass_sys::process::Signal;

use super::{CaptureContents, NUMBER_AT, Wire, count, held, held_in, report_of};
use std::io::{Read, Write};
use std::thread;
use std::time::Duration;

/// Checks that a file accounts for every frame that was sent.
fn all_there(held: &CaptureContents, report: &serde_json::Value, sent: u64) {
    assert_eq!(held.packets, count(report, "written"), "{report:#}");
    assert_eq!(held.packets + count(report, "kernel_drops"), sent, "{report:#}");
    assert_eq!(held.info.drops, Some(count(report, "kernel_drops")));
    assert_eq!((held.info.received, held.twice), (Some(sent), 0));
    if count(report, "kernel_drops") == 0 {
        assert_eq!(held.numbers, (0..sent).collect());
        assert_eq!(held.disorder, 0);
    }
}

#[test]
fn a_stop_right_after_a_burst_loses_nothing() {
    let test = "a_stop_right_after_a_burst_loses_nothing";
    for signal in [Signal::INT, Signal::TERM] {
        for reader in ["ring", "single"] {
            for snap in ["96", "262144"] {
                let Some(wire) = Wire::make(test) else { return };
                let folder = tempfile::tempdir().unwrap();
                let file = folder.path().join("trace.pcapng");
                let name = file.to_str().unwrap();
                let arguments = ["right", "-w", name, "--json", "--reader", reader, "-s", snap];
                let running = wire.capture(&arguments, &file);
                let sent = wire.send(3_000);
                let report = running.stop(signal);
                assert_eq!(sent, 3_000);
                all_there(&held(&file), &report, sent);
                assert_eq!(report["ended_by"], "signal");
            }
        }
    }
}

/// A capture that is stopped after so many packets, while more come; what was sent
/// before the stop is in the file or counted, each packet of it.
fn stopped_in_between(wire: &Wire, place: u64, sent: u64) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.pcapng");
    let snap = if place.is_multiple_of(2) { "96" } else { "262144" };
    let arguments = ["right", "-w", file.to_str().unwrap(), "--json", "-s", snap];
    let running = wire.capture(&arguments, &file);
    let mut generator = Generator::open("left", Some(&wire.left)).unwrap();
    let bytes = Wire::frame();
    let mut send = |packets: u64| {
        let frame = Frame { bytes: &bytes, number_at: Some(NUMBER_AT) };
        let load = Load { frame, rate: None, until: LoadEnd::Packets(packets) };
        let done = generator::run(&mut generator, &load, &AtomicBool::new(false));
        assert!(done.failure.is_none() && done.packets == packets, "{done:?}");
    };
    send(sent);
    running.signal(if place.is_multiple_of(3) { Signal::TERM } else { Signal::INT });
    send(2_000);
    let report = running.report();
    let held = held(&file);
    let drops = count(&report, "kernel_drops");
    assert_eq!(held.packets, count(&report, "written"), "{report:#}");
    assert_eq!((held.disorder, held.twice), (0, 0));
    let before = held.numbers.iter().filter(|number| **number < sent).count() as u64;
    assert!(before + drops >= sent, "{before} of {sent}, {drops} dropped: {report:#}");
    if drops == 0 {
        assert_eq!(held.numbers, (0..held.packets).collect(), "none is missing before the last");
    }
}

#[test]
fn sixty_stops_lose_nothing_that_was_sent_before() {
    let test = "sixty_stops_lose_nothing_that_was_sent_before";
    thread::scope(|scope| {
        for part in 0..4_u64 {
            scope.spawn(move || {
                let Some(wire) = Wire::make(test) else { return };
                for round in 0..15 {
                    let place = part * 15 + round;
                    // Scattered over 0 to 8,000 (Knuth's multiplicative hash).
                    let hash = (place + 1).wrapping_mul(2_654_435_761) % (1 << 32);
                    let sent = (hash * 8_000) >> 32;
                    stopped_in_between(&wire, place, sent);
                }
            });
        }
    });
}

#[test]
fn what_the_ring_has_no_room_for_is_counted() {
    let Some(wire) = Wire::make("what_the_ring_has_no_room_for_is_counted") else { return };
    let folder = tempfile::tempdir().unwrap();
    for (reader, buffer) in [("ring", "128k"), ("single", "4k")] {
        let file = folder.path().join(reader);
        let name = file.to_str().unwrap();
        let arguments = [
            "right", "-w", name, "--json", "--reader", reader, "--buffer", buffer, "--block", "64k",
        ];
        let running = wire.capture(&arguments, &file);
        let sent = wire.send(60_000);
        let report = running.stop(Signal::INT);
        assert!(count(&report, "kernel_drops") > 0, "{report:#}");
        all_there(&held(&file), &report, sent);
        let told = report["drops"].as_array().unwrap();
        let told: u64 = told.iter().map(|one| one["packets"].as_u64().unwrap()).sum();
        assert_eq!(told, count(&report, "kernel_drops"), "each loss has its time");
    }
}

#[test]
fn a_count_takes_the_first_and_counts_the_rest() {
    let Some(wire) = Wire::make("a_count_takes_the_first_and_counts_the_rest") else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.pcapng");
    let arguments = ["right", "-w", file.to_str().unwrap(), "--json", "--count", "1234"];
    let running = wire.capture(&arguments, &file);
    let sent = wire.send(20_000);
    let report = running.report();
    assert_eq!((count(&report, "written"), &report["ended_by"]), (1_234, &"count".into()));
    assert!(count(&report, "received") <= sent);
    let held = held(&file);
    assert_eq!(held.numbers, (0..1_234).collect());
}

#[test]
fn a_time_ends_between_two_packets() {
    let Some(wire) = Wire::make("a_time_ends_between_two_packets") else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.pcapng");
    let arguments = ["right", "-w", file.to_str().unwrap(), "--json", "--time", "400ms"];
    let running = wire.capture(&arguments, &file);
    // It sends on when the time is over.
    let sender = thread::spawn(move || wire.send(400_000));
    let report = running.report();
    let sent = sender.join().unwrap();
    assert_eq!(report["ended_by"], "duration");
    assert!(report["seconds"].as_f64().unwrap() >= 0.4);
    let held = held(&file);
    assert_eq!(held.packets, count(&report, "written"));
    assert!(held.packets > 0 && held.packets < sent, "{} of {sent}", held.packets);
    if count(&report, "kernel_drops") == 0 {
        assert_eq!(held.numbers, (0..held.packets).collect(), "none is missing up to the end");
    }
}

#[test]
fn several_threads_take_each_packet_once() {
    let Some(wire) = Wire::make("several_threads_take_each_packet_once") else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.pcapng");
    let arguments = ["right", "-w", file.to_str().unwrap(), "--json", "--threads", "3"];
    let running = wire.capture(&arguments, &file);
    let sent = wire.send(5_000);
    let report = running.stop(Signal::INT);
    all_there(&held(&file), &report, sent);
    assert_eq!(report["threads"], 3);
}

#[test]
fn several_threads_take_fragments_as_they_come() {
    let Some(wire) = Wire::make("several_threads_take_fragments_as_they_come") else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.pcapng");
    let arguments = ["right", "-w", file.to_str().unwrap(), "--json", "--threads", "2"];
    let running = wire.capture(&arguments, &file);
    let mut fragment = Wire::frame();
    // More fragments, of which none comes.
    fragment[20] |= 0x20;
    let sent = wire.send_frames(&fragment, 20);
    let report = running.stop(Signal::INT);
    all_there(&held(&file), &report, sent);
}

#[test]
fn who_does_not_read_the_intervals_costs_no_packet() {
    let Some(wire) = Wire::make("who_does_not_read_the_intervals_costs_no_packet") else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.pcapng");
    let (mut reader, mut writer) = std::io::pipe().unwrap();
    // The pipe is full: whoever writes to it waits.
    writer.write_all(&[b' '; 1 << 16]).unwrap();
    let mut command = super::windlass();
    command.args(["capture", "right", "-q", "--interval", "100ms", "-w"]).arg(&file);
    command.args(["--buffer", "256k", "--block", "64k", "-s", "96"]).stdout(writer);
    wire.right.enter(&mut command);
    let mut child = command.spawn().unwrap();
    drop(command);
    wire.wait_until_captured();
    thread::sleep(Duration::from_millis(500));
    for _ in 0..10 {
        wire.send(400);
        thread::sleep(Duration::from_millis(150));
    }
    super::Process::of_child(child.id()).unwrap().signal(Signal::INT);
    let mut told = String::new();
    reader.read_to_string(&mut told).unwrap();
    assert!(child.wait().unwrap().success(), "{told}");
    assert_eq!(held(&file).info.drops, Some(0), "{told}");
    assert_eq!(held(&file).packets, 4_000, "{told}");
}

#[test]
fn files_in_a_row_hold_each_packet_once() {
    let Some(wire) = Wire::make("files_in_a_row_hold_each_packet_once") else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.pcapng");
    let first = folder.path().join("trace-00001.pcapng");
    let arguments = ["right", "-w", path.to_str().unwrap(), "--json", "--rotate-packets", "1000"];
    let running = wire.capture(&arguments, &first);
    let sent = wire.send(5_500);
    let report = running.stop(Signal::TERM);
    let files = report["files"].as_array().unwrap();
    let (mut next, mut drops) = (0, 0);
    for file in files {
        let held = held(file["file"].as_str().unwrap().as_ref());
        assert_eq!(held.packets, file["packets"].as_u64().unwrap());
        drops += held.info.drops.unwrap();
        if drops == 0 {
            assert_eq!(held.numbers, (next..next + held.packets).collect());
        }
        next += held.packets;
    }
    assert_eq!(next + drops, sent);
    assert_eq!(drops, count(&report, "kernel_drops"));
    assert!(drops > 0 || files.len() == 6, "{report:#}");
}

#[test]
fn a_slow_reader_of_a_pipe_costs_packets_that_are_counted() {
    let test = "a_slow_reader_of_a_pipe_costs_packets_that_are_counted";
    let Some(wire) = Wire::make(test) else { return };
    let mut command = super::windlass();
    command.args(["capture", "right", "-w", "-", "--json", "--buffer", "256k", "--block", "64k"]);
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    wire.right.enter(&mut command);
    let mut child = command.spawn().unwrap();
    let mut pipe = child.stdout.take().unwrap();
    let mut bytes = vec![0; 1 << 16];
    // Its first bytes come when it has begun.
    let there = pipe.read(&mut bytes).unwrap();
    bytes.truncate(there);
    let sent = wire.send(30_000);
    let slow = thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        pipe.read_to_end(&mut bytes).unwrap();
        bytes
    });
    super::Process::of_child(child.id()).unwrap().signal(Signal::INT);
    let bytes = slow.join().unwrap();
    let mut output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    // Standard output is the capture's: the report is on the other.
    output.stdout.clone_from(&output.stderr);
    let report = report_of(&output);
    assert!(count(&report, "kernel_drops") > 0, "{report:#}");
    all_there(&held_in(&bytes), &report, sent);
}
