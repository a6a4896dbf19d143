//! Several interfaces in one capture.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use windlass_sys::generator::{self, Frame, Generator, Load, LoadEnd};
use windlass_sys::process::Signal;
use windlass_sys::tun::Tun;

use super::rotated::until;
use super::{AtomicBool, NUMBER_AT, Wire, count, held, report_of, windlass};
use windlass_testkit::{has, skipped, told};

/// Two wires, whose ends in `right` are captured.
fn wires(test: &str) -> Option<Wire> {
    let wire = Wire::make(test)?;
    wire.left.add_veth("left2", &wire.right, "right2").unwrap();
    wire.left.bring_up("left2").unwrap();
    wire.right.bring_up("right2").unwrap();
    Some(wire)
}

/// Sends numbered frames by the second wire.
fn send_second(wire: &Wire, packets: u64) -> u64 {
    let mut generator = Generator::open("left2", Some(&wire.left)).unwrap();
    let bytes = Wire::frame();
    let frame = Frame { bytes: &bytes, number_at: Some(NUMBER_AT) };
    let load = Load { frame, rate: None, until: LoadEnd::Packets(packets) };
    generator::run(&mut generator, &load, &AtomicBool::new(false)).packets
}

/// Returns the name and the packets of each interface in the report.
fn each(report: &Value) -> Vec<(String, u64)> {
    let all = report["interfaces"].as_array().unwrap();
    all.iter()
        .map(|one| (one["name"].as_str().unwrap().to_owned(), count(one, "received")))
        .collect()
}

/// The interface of each packet of a file, as tshark reads it.
fn by_tshark(file: &Path) -> Vec<String> {
    let mut tshark = Command::new("tshark");
    let read = tshark.arg("-r").arg(file).args(["-T", "fields", "-e", "frame.interface_name"]);
    let (stdout, stderr, code) = told(&read.output().unwrap());
    assert_eq!(code, 0, "{stderr}");
    stdout.lines().map(str::to_owned).collect()
}

#[test]
fn two_interfaces_are_described_and_counted_each() {
    let test = "two_interfaces_are_described_and_counted_each";
    let Some(wire) = wires(test) else { return };
    let folder = tempfile::tempdir().unwrap();
    for (name, more) in
        [("ring", &[][..]), ("single", &["--reader=single"]), ("threads", &["--threads=2"])]
    {
        let file = folder.path().join(name);
        let mut arguments =
            vec!["-i", "right", "-i", "right2", "-w", file.to_str().unwrap(), "--json"];
        arguments.extend(more);
        let running = wire.capture(&arguments, &file);
        let (first, second) = (wire.send(30), send_second(&wire, 20));
        let report = running.stop(Signal::INT);
        assert_eq!(count(&report, "written"), first + second);
        assert_eq!(each(&report), [("right".to_owned(), first), ("right2".to_owned(), second)]);
        assert_eq!(report["interface"], "right, right2");
        let held = held(&file);
        assert_eq!((held.packets, held.info.received), (50, Some(50)));
        if has("tshark", test) {
            let read = by_tshark(&file);
            let of = |name: &str| read.iter().filter(|interface| *interface == name).count() as u64;
            assert_eq!((of("right"), of("right2")), (first, second));
        }
    }
}

#[test]
fn interfaces_of_different_kinds_stand_in_one_file() {
    let test = "interfaces_of_different_kinds_stand_in_one_file";
    let Some(wire) = wires(test) else { return };
    let tun = match Tun::open_in(&wire.right, "tun0") {
        Ok(tun) => tun,
        Err(refused) => return skipped(test, &refused.to_string()),
    };
    wire.right.add_address("tun0", [198, 51, 100, 1].into(), 24).unwrap();
    wire.right.bring_up("tun0").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.pcapng");
    let interfaces = ["-i", "right", "-i", "tun0", "-w", file.to_str().unwrap(), "--json"];
    let arguments = [&interfaces[..], &["udp", "dst", "port", "9"]].concat();
    let running = wire.capture(&arguments, &file);
    let first = wire.send(10);
    let mut sender = Command::new("bash");
    sender.args(["-c", "for i in 1 2 3; do echo hello > /dev/udp/198.51.100.2/9; done"]);
    wire.right.enter(&mut sender);
    assert!(sender.status().unwrap().success());
    let report = running.stop(Signal::INT);
    assert_eq!(each(&report), [("right".to_owned(), first), ("tun0".to_owned(), 3)]);
    assert_eq!(report["link_type"], "Ethernet, raw IP");
    let info = held(&file).info;
    assert_eq!((info.packets, info.link_types.len()), (13, 2));
    if has("tshark", test) {
        assert_eq!(by_tshark(&file).iter().filter(|name| *name == "tun0").count(), 3);
    }
    // pcap has one kind of header for all.
    let mut command = windlass();
    command.args(["capture", "-i", "right", "-i", "tun0", "--format", "pcap", "-w"]);
    command.arg(folder.path().join("trace.pcap"));
    wire.right.enter(&mut command);
    let (_, stderr, code) = told(&command.output().unwrap());
    assert!(code == 2 && stderr.contains("different link types"), "{stderr}");
    drop(tun);
}

#[test]
fn the_others_go_on_when_one_goes_away() {
    let Some(wire) = wires("the_others_go_on_when_one_goes_away") else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.pcapng");
    let arguments = ["-i", "right", "-i", "right2", "-w", file.to_str().unwrap(), "--json"];
    let running = wire.capture(&arguments, &file);
    let mut first = wire.send(10);
    let second = send_second(&wire, 10);
    let written = || held_whole(&file);
    until(|| written() == 20, || ());
    wire.right.remove("right2").unwrap();
    first += wire.send(10);
    until(|| written() == 30, || ());
    running.signal(Signal::INT);
    let output = running.end();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("on right2: the interface no longer exists"), "{stderr}");
    let report = report_of(&output);
    assert_eq!((&report["ended_by"], count(&report, "written")), (&"signal".into(), 30));
    assert_eq!(each(&report), [("right".to_owned(), first), ("right2".to_owned(), second)]);
    assert_eq!(report["gaps"][0]["interface"], "right2");
    assert!(report["gaps"][0]["end_time"].is_null());
    let gone = |at: usize| report["interfaces"][at]["gone"].clone();
    assert_eq!((gone(0), gone(1)), (false.into(), true.into()));

    // When the last has gone it ends by itself.
    let file = folder.path().join("again.pcapng");
    let arguments = ["-i", "right", "-w", file.to_str().unwrap(), "--json"];
    let running = wire.capture(&arguments, &file);
    wire.right.remove("right").unwrap();
    let output = running.end();
    assert_eq!(report_of(&output)["ended_by"], "interface-gone");
}

/// Returns the number of packets in an unfinished file.
fn held_whole(file: &Path) -> u64 {
    let (mut capture, mut held) = (super::Capture::new(), super::CaptureContents::default());
    capture.read(&std::fs::read(file).unwrap(), false, &mut held);
    held.packets
}

#[test]
fn what_cannot_be_captured_together_is_refused() {
    let cases = [
        ("capture -i lo -i lo", "lo is named twice"),
        ("capture -i any -i lo", "`any` already means all interfaces"),
        ("capture -i lo -i nosuch", "there is no interface \"nosuch\""),
    ];
    for (line, wanted) in cases {
        let (stdout, stderr, code) = told(&windlass_testkit::run(line));
        if stderr.contains("CAP_NET_RAW") {
            return skipped("what_cannot_be_captured_together_is_refused", "it takes CAP_NET_RAW");
        }
        assert!(code == 2 && stdout.is_empty(), "{line}: {code} {stderr}");
        assert!(stderr.contains(wanted), "{line}: {stderr}");
    }
}
