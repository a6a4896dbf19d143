//! Disks that are full, and readers that go away.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use windlass_sys::process::Signal;

use super::{Wire, count, held, report_of};
use windlass_testkit::{has, skipped};

/// A disk of a given size, which goes with its value.
pub(super) struct Disk(PathBuf);

impl Disk {
    pub(super) fn mount(folder: &Path, size: &str, test: &str) -> Option<Self> {
        let options = format!("size={size}");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &options, "none"]).arg(folder).stderr(Stdio::null());
        if !mount.status().is_ok_and(|status| status.success()) {
            skipped(test, "mounting a small disk takes root");
            return None;
        }
        Some(Self(folder.to_owned()))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_keeps_what_was_written_and_counts_the_rest() {
    let test = "a_full_disk_keeps_what_was_written_and_counts_the_rest";
    for (format, snap) in [("pcapng", "262144"), ("pcapng", "64"), ("pcap", "262144")] {
        let folder = tempfile::tempdir().unwrap();
        let Some(disk) = Disk::mount(folder.path(), "400k", test) else { return };
        let Some(wire) = Wire::make(test) else { return };
        let file = folder.path().join("trace");
        let name = file.to_str().unwrap();
        let arguments = ["right", "-w", name, "--json", "--format", format, "-s", snap];
        let running = wire.capture(&arguments, &file);
        let sent = wire.send(20_000);
        // It ends by itself.
        let output = running.end();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        let report = report_of(&output);
        let (written, lost) = (count(&report, "written"), count(&report, "write_losses"));
        assert!(written > 0 && lost > 0, "{report:#}");
        assert_eq!(report["ended_by"], "write-failed");
        assert!(count(&report, "received") <= sent);
        let told = format!("{} packets are in the file", windlass_output::figures::count(written));
        assert!(stderr.contains("No space left") && stderr.contains(&told), "{stderr}");
        let held = held(&file);
        assert_eq!(held.packets, written);
        assert_eq!(held.numbers.len() as u64, written);
        if format == "pcapng" {
            // The file itself says what is missing from it.
            assert_eq!(held.info.received, Some(written + lost + count(&report, "kernel_drops")));
        }
        if has("tshark", test) {
            let mut tshark = Command::new("tshark");
            let read = tshark.arg("-r").arg(&file).args(["-T", "fields", "-e", "frame.number"]);
            let read = read.output().unwrap();
            assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
            let lines = String::from_utf8_lossy(&read.stdout).lines().count() as u64;
            assert_eq!(lines, written, "tshark reads it to its end");
        }
        drop(disk);
    }
}

#[test]
fn a_disk_that_is_full_at_the_next_file_leaves_whole_ones() {
    let test = "a_disk_that_is_full_at_the_next_file_leaves_whole_ones";
    for format in ["pcapng", "pcap"] {
        // Files of a few pages each: the disk ends within one, or before one.
        for (size, rotate) in [("96k", "4k"), ("100k", "30k"), ("100k", "9k")] {
            let folder = tempfile::tempdir().unwrap();
            let Some(disk) = Disk::mount(folder.path(), size, test) else { return };
            let Some(wire) = Wire::make(test) else { return };
            let file = folder.path().join("trace");
            let name = file.to_str().unwrap();
            let arguments = [
                "right",
                "-w",
                name,
                "--json",
                "--format",
                format,
                "-s",
                "64",
                "--rotate-size",
                rotate,
            ];
            let running = wire.capture(&arguments, &folder.path().join("trace-00001"));
            wire.send(4_000);
            let output = running.end();
            assert_eq!(output.status.code(), Some(1), "{output:?}");
            let report = report_of(&output);
            assert_eq!(report["ended_by"], "write-failed");
            let files = report["files"].as_array().unwrap();
            let mut written = 0;
            for file in files {
                let held = held(file["file"].as_str().unwrap().as_ref());
                assert_eq!(file["packets"], held.packets, "{format} {rotate} {report:#}");
                written += held.packets;
            }
            assert_eq!(written, count(&report, "written"), "{report:#}");
            let there = std::fs::read_dir(folder.path()).unwrap().count();
            assert_eq!(there, files.len(), "each is named once");
            drop(disk);
        }
    }
}

#[test]
fn text_that_cannot_be_written_is_told() {
    let Some(wire) = Wire::make("text_that_cannot_be_written_is_told") else { return };
    let mut command = super::windlass();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    command.args(["capture", "right"]).stdout(full).stderr(Stdio::piped());
    wire.right.enter(&mut command);
    let child = command.spawn().unwrap();
    wire.wait_until_captured();
    wire.send(100);
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && stderr.contains("No space left"), "{output:?}");
}

#[test]
fn a_reader_that_goes_away_ends_it_with_a_report() {
    let Some(wire) = Wire::make("a_reader_that_goes_away_ends_it_with_a_report") else { return };
    for arguments in [&["-w", "-", "--json"][..], &["-w", "-"], &[]] {
        let mut command = super::windlass();
        command.arg("capture").arg("right").args(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        wire.right.enter(&mut command);
        let mut child = command.spawn().unwrap();
        wire.wait_until_captured();
        drop(child.stdout.take());
        let began = Instant::now();
        let mut sent = 0;
        while child.try_wait().unwrap().is_none() {
            sent += wire.send(100);
            assert!(began.elapsed() < Duration::from_secs(60), "it ends when it has to write");
            std::thread::sleep(Duration::from_millis(20));
        }
        let mut output = child.wait_with_output().unwrap();
        // To leave is no failure of whom is left.
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        if arguments.contains(&"--json") {
            output.stdout.clone_from(&output.stderr);
            let report = report_of(&output);
            assert_eq!(report["ended_by"], "reader-gone");
            let received = count(&report, "received");
            assert!(received > 0 && received <= sent, "{received} of {sent}");
            assert!(count(&report, "write_losses") > 0, "{report:#}");
        } else {
            assert!(stderr.contains("the reader closed the pipe"), "{stderr}");
            assert!(!stderr.contains("error"), "{stderr}");
        }
    }
}

/// The first record of a text, behind which an error may stand.
fn first_record(text: &[u8]) -> serde_json::Value {
    let mut records = serde_json::Deserializer::from_slice(text).into_iter();
    let record: serde_json::Value = records.next().unwrap().unwrap();
    super::schema::checked("capture", &record.to_string())
}

#[test]
fn a_pipe_that_nobody_empties_holds_no_end_up() {
    let Some(wire) = Wire::make("a_pipe_that_nobody_empties_holds_no_end_up") else { return };
    let ways: [(&[&str], Option<Signal>); 4] = [
        (&["-w", "-", "--json"], Some(Signal::INT)),
        (&["-w", "-", "--json"], Some(Signal::TERM)),
        (&["-w", "-", "--json", "--time", "1s"], None),
        (&[], Some(Signal::INT)),
    ];
    for (arguments, signal) in ways {
        let mut command = super::windlass();
        command.args(["capture", "right", "--buffer", "4M"]).args(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        wire.right.enter(&mut command);
        let mut child = command.spawn().unwrap();
        wire.wait_until_captured();
        let sent = wire.send(6_000);
        let mut pipe = child.stdout.take().unwrap();
        if let Some(signal) = signal {
            // All that goes into the pipe is there when its reader has lost the rest.
            super::Process::of_child(child.id()).unwrap().signal(signal);
        }
        let began = Instant::now();
        while child.try_wait().unwrap().is_none() {
            assert!(began.elapsed() < Duration::from_secs(60), "{arguments:?} does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
        let (mut bytes, mut stderr) = (Vec::new(), Vec::new());
        pipe.read_to_end(&mut bytes).unwrap();
        child.stderr.take().unwrap().read_to_end(&mut stderr).unwrap();
        let told = String::from_utf8_lossy(&stderr).into_owned();
        assert_eq!(child.wait().unwrap().code(), Some(1), "{told}");
        assert!(told.contains("its reader took nothing for 1 s"), "{told}");
        if arguments.is_empty() {
            assert!(told.contains("right: 6,000 packets"), "{told}");
            continue;
        }
        let report = first_record(&stderr);
        let [written, drops, lost] =
            ["written", "kernel_drops", "write_losses"].map(|name| count(&report, name));
        assert_eq!((written + drops + lost, count(&report, "received")), (sent, sent));
        assert!(written > 0 && lost > 0, "{report:#}");
        assert_eq!(report["ended_by"], if signal.is_some() { "signal" } else { "duration" });
        // What is counted as written is what the pipe has, but for a cut record.
        let (mut capture, mut held) = (super::Capture::new(), super::CaptureContents::default());
        capture.read(&bytes, true, &mut held);
        assert_eq!(held.packets, written);
    }
}
