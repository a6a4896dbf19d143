//! Disks that are full, and readers that go away.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::support::{has, skipped};
use super::{Wire, count, held, report_of};

/// A disk of a given size, which goes with its value.
struct Disk(PathBuf);

impl Disk {
    fn mount(folder: &Path, size: &str, test: &str) -> Option<Self> {
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
        let told = format!("{} packets are in the file", windlass::print::figures::count(written));
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
fn a_reader_that_goes_away_ends_it_quietly() {
    let Some(wire) = Wire::make("a_reader_that_goes_away_ends_it_quietly") else { return };
    for arguments in [&["-w", "-"][..], &[]] {
        let mut command = super::windlass();
        command.arg("capture").arg("right").args(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        wire.right.enter(&mut command);
        let mut child = command.spawn().unwrap();
        wire.wait_until_captured();
        drop(child.stdout.take());
        let began = Instant::now();
        while child.try_wait().unwrap().is_none() {
            wire.send(100);
            assert!(began.elapsed() < Duration::from_secs(20), "it ends when it has to write");
            std::thread::sleep(Duration::from_millis(20));
        }
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
