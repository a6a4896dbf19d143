//! `--explain`, and packets as text.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::process::Stdio;

use windlass_drive::bulk::{self, Bulk};
use windlass_sys::process::Signal;

use super::{Wire, count, report_of};
use windlass_testkit::clock::in_real_time;
use windlass_testkit::windlass;

const LEFT: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const RIGHT: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);

fn addressed(test: &str) -> Option<Wire> {
    let wire = Wire::make(test)?;
    wire.left.add_address("left", LEFT.into(), 24).unwrap();
    wire.right.add_address("right", RIGHT.into(), 24).unwrap();
    Some(wire)
}

#[test]
fn transfers_are_explained_as_they_are_captured() {
    let Some(wire) = addressed("transfers_are_explained_as_they_are_captured") else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.pcapng");
    let arguments =
        ["right", "--explain", "--tcp", "-s", "128", "-w", file.to_str().unwrap(), "--json"];
    let running = wire.capture(&arguments, &file);
    let carried =
        bulk::transfer(&Bulk::default(), &wire.left, (&wire.right, SocketAddrV4::new(RIGHT, 0)));
    let carried = carried.unwrap();
    let report = running.stop(Signal::INT);
    let connection = &report["explained"]["connections"][0];
    assert!(connection["verdict"]["limit"].is_string(), "{report:#}");
    if count(&report, "kernel_drops") == 0 {
        assert_eq!(connection["bytes"].as_u64(), Some(carried.bytes.get()), "{connection:#}");
    }
    // The file gives the same, and what only `explain` is asked for.
    let from_file = windlass().arg("explain").arg(&file).arg("--json").output().unwrap();
    let from_file: serde_json::Value = serde_json::from_slice(&from_file.stdout).unwrap();
    let mut again = from_file["connections"][0].clone();
    for asked in ["what_if", "why"] {
        again.as_object_mut().unwrap().remove(asked);
    }
    assert_eq!(&again, connection, "what was explained live is what the file gives");
}

#[test]
fn packets_as_text_can_be_explained() {
    let Some(wire) = addressed("packets_as_text_can_be_explained") else { return };
    let mut command = windlass();
    command.args(["capture", "right", "--tcp"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    wire.right.enter(&mut command);
    let child = command.spawn().unwrap();
    wire.wait_until_captured();
    let small = Bulk { writes: 64, ..Bulk::default() };
    let carried =
        bulk::transfer(&small, &wire.left, (&wire.right, SocketAddrV4::new(RIGHT, 0))).unwrap();
    super::Process::of_child(child.id()).unwrap().signal(Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    let account = String::from_utf8(output.stderr).unwrap();
    let first = text.lines().next().unwrap_or_else(|| panic!("no packets: {account}"));
    assert!(first.contains(" IP 192.0.2.1.") && first.contains("Flags [S]"), "{first}");
    assert!(account.contains("dropped by the kernel  0"), "{account}");
    let mut explain = windlass();
    explain.args(["explain", "-", "--json"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut explain = explain.spawn().unwrap();
    explain.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let explained = explain.wait_with_output().unwrap();
    let explained: serde_json::Value = serde_json::from_slice(&explained.stdout).unwrap();
    assert_eq!(explained["connections"][0]["bytes"].as_u64(), Some(carried.bytes.get()));
}

#[test]
fn every_figure_of_the_account_is_in_the_json() {
    let test = "every_figure_of_the_account_is_in_the_json";
    let Some(wire) = addressed(test) else { return };
    // Three intervals are those of a machine that wakes in time.
    in_real_time(test, || {
        let mut command = windlass();
        command.args(["capture", "right", "--quiet", "--interval", "200ms", "--time", "500ms"]);
        wire.right.enter(&mut command);
        let output = command.output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{text}");
        assert!(text.contains("buffers/s") && text.contains("0.2-0.4"), "{text}");
        let mut command = windlass();
        command.args(["capture", "right", "--quiet", "--interval", "200ms", "--time", "500ms"]);
        wire.right.enter(command.arg("--json"));
        let report = report_of(&command.output().unwrap());
        assert_eq!(report["intervals"].as_array().unwrap().len(), 3, "{report:#}");
    });
}
