//! Files in a row: named by their time, compressed, and handed to a command.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;
use windlass_sys::process::Signal;

use super::{Wire, count, held, held_in, report_of};
use windlass_testkit::{copy_program, has, run, skipped, told};

/// The names of a folder, in their order.
pub(super) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Waits until something is so, and does something meanwhile.
pub(super) fn until(is_so: impl Fn() -> bool, mut meanwhile: impl FnMut()) {
    let patience = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < patience, "it does not come");
        meanwhile();
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A program that writes its arguments into a file, one a line.
pub(super) fn logger(folder: &Path, log: &Path, then: &str) -> PathBuf {
    let program = folder.join("logger");
    let text =
        format!("#!/bin/sh\necho said; printf '%s\\n' \"$@\" >> {}\n{then}\n", log.display());
    let written = folder.join("logger.text");
    fs::write(&written, text).unwrap();
    copy_program(written, &program);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    program
}

fn packets_of(report: &Value) -> Vec<(String, u64)> {
    let files = report["files"].as_array().unwrap();
    let of = |file: &Value| (file["file"].as_str().unwrap().to_owned(), count(file, "packets"));
    files.iter().map(of).collect()
}

#[test]
fn files_are_named_by_the_time_at_which_they_begin() {
    let Some(wire) = Wire::make("files_are_named_by_the_time_at_which_they_begin") else { return };
    let folder = tempfile::tempdir().unwrap();
    let pattern = folder.path().join("t%%%s.pcapng");
    let mut command = super::windlass();
    command.args(["capture", "right", "--json", "-G", "1", "-w"]).arg(&pattern);
    command.stdout(std::process::Stdio::piped());
    wire.right.enter(&mut command);
    let child = command.spawn().unwrap();
    wire.wait_until_captured();
    let mut sent = 0;
    until(|| names(folder.path()).len() >= 3, || sent += wire.send(3));
    let running = super::RunningCapture { child };
    let report = running.stop(Signal::INT);
    assert_eq!(count(&report, "written"), sent);
    let files = packets_of(&report);
    assert_eq!(files.iter().map(|(_, packets)| packets).sum::<u64>(), sent);
    for (file, packets) in &files {
        let path = Path::new(file);
        assert_eq!(held(path).packets, *packets, "{file}");
        // Its name is the second in which it began: that of its first packet, but
        // for the first file, which began before.
        let name = path.file_name().unwrap().to_str().unwrap();
        let second: i64 = name["t%".len()..name.len() - ".pcapng".len()].parse().unwrap();
        let first = held(path).info.earliest.unwrap().as_nanos() / 1_000_000_000;
        let is_first = *file == files[0].0;
        assert!(second == first || (is_first && second < first), "{file}: {first}");
    }
    let told: Vec<_> = files.iter().map(|(file, _)| file.rsplit('/').next().unwrap()).collect();
    assert_eq!(names(folder.path()), told);
}

#[test]
fn files_are_compressed_and_handed_to_a_command() {
    let test = "files_are_compressed_and_handed_to_a_command";
    let Some(wire) = Wire::make(test) else { return };
    let (folder, beside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let log = beside.path().join("log");
    let program = logger(beside.path(), &log, "test -s \"$1\"");
    let file = folder.path().join("trace.pcapng");
    let arguments = [
        "right",
        "-w",
        file.to_str().unwrap(),
        "--json",
        "--rotate-packets",
        "10",
        "--files",
        "3",
        "--compress",
        "-z",
        program.to_str().unwrap(),
    ];
    let running = wire.capture(&arguments, &folder.path().join("trace-00001.pcapng"));
    let sent = wire.send(45);
    assert_eq!(sent, 45);
    let report = running.stop(Signal::INT);
    assert_eq!((count(&report, "written"), count(&report, "files_removed")), (45, 2));
    let afterwards = &report["afterwards"];
    let numbers = ["compressed", "commands", "failed", "left_out"];
    assert_eq!(numbers.map(|name| count(afterwards, name)), [5, 5, 0, 0], "{report:#}");
    // Those that are kept are compressed, and none of the others is left.
    let expected = ["trace-00003.pcapng.gz", "trace-00004.pcapng.gz", "trace-00005.pcapng.gz"];
    assert_eq!(names(folder.path()), expected);
    for (number, file) in report["files"].as_array().unwrap().iter().enumerate() {
        let path = Path::new(file["file"].as_str().unwrap());
        let about = fs::metadata(path).unwrap();
        assert_eq!(about.permissions().mode() & 0o777, 0o600);
        assert_eq!(count(file, "packed_bytes"), about.len());
        let mut bytes = Vec::new();
        let packed = fs::File::open(path).unwrap();
        std::io::copy(&mut flate2::read::GzDecoder::new(packed), &mut bytes).unwrap();
        assert_eq!(bytes.len() as u64, count(file, "bytes"));
        let packets = held_in(&bytes).packets;
        assert_eq!((packets, count(file, "packets")), ([10, 10, 5][number], packets));
        // gzip itself agrees, and windlass reads it as it is.
        if has("gzip", test) {
            let tested = std::process::Command::new("gzip").arg("-t").arg(path).status();
            assert!(tested.unwrap().success());
        }
    }
    // The command heard each name as the file was called by then.
    let heard = fs::read_to_string(&log).unwrap();
    let heard: Vec<_> = heard.lines().map(|line| line.rsplit('/').next().unwrap()).collect();
    let all: Vec<_> = (1..=5).map(|number| format!("trace-{number:05}.pcapng.gz")).collect();
    assert_eq!(heard, all);
}

#[test]
fn a_command_that_fails_is_told_and_the_capture_is_whole() {
    let Some(wire) = Wire::make("a_command_that_fails_is_told_and_the_capture_is_whole") else {
        return;
    };
    let (folder, beside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let log = beside.path().join("log");
    let program = logger(beside.path(), &log, "exit 7");
    let ways = [
        (program.to_str().unwrap(), "it ended with exit code 7"),
        ("/nonexistent/program", "No such file"),
        // It is a program's name and no line of a shell.
        ("true; true", "No such file"),
    ];
    for (number, (command, wanted)) in ways.into_iter().enumerate() {
        let file = folder.path().join(format!("{number}.pcap"));
        let arguments =
            ["right", "-w", file.to_str().unwrap(), "--format", "pcap", "--json", "-z", command];
        let running = wire.capture(&arguments, &file);
        wire.send(10);
        running.signal(Signal::INT);
        let output = running.end();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains(wanted) && stderr.contains("The capture is complete"), "{stderr}");
        let report = report_of(&output);
        let failures = report["afterwards"]["failures"].as_array().unwrap();
        let [failed] = failures.as_slice() else { panic!("{report:#}") };
        assert_eq!(failed["file"], file.to_str().unwrap());
        assert!(failed["wrong"].as_str().unwrap().contains(wanted), "{report:#}");
        assert_eq!((count(&report, "written"), held(&file).packets), (10, 10));
    }
    // What it prints is no part of the report.
    assert_eq!(fs::read_to_string(&log).unwrap().lines().count(), 1);
}

#[test]
fn a_disk_without_room_for_the_compressed_file_keeps_the_whole_one() {
    let test = "a_disk_without_room_for_the_compressed_file_keeps_the_whole_one";
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = super::files::Disk::mount(folder.path(), "64k", test) else { return };
    let Some(wire) = Wire::make(test) else { return };
    // pcap has nothing at its end: the capture needs no more room for it.
    let file = folder.path().join("trace.pcap");
    let arguments =
        ["right", "-w", file.to_str().unwrap(), "--format=pcap", "--json", "-s64", "--compress"];
    let running = wire.capture(&arguments, &file);
    let sent = wire.send(100);
    until(|| fs::metadata(&file).unwrap().len() == 24 + sent * (16 + 64), || ());
    // All the room that is left.
    let filled = fs::write(folder.path().join("filler"), vec![7; 64 << 10]);
    assert_eq!(filled.unwrap_err().kind(), std::io::ErrorKind::StorageFull);
    running.signal(Signal::INT);
    let output = running.end();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let report = report_of(&output);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("cannot compress it: No space left"), "{stderr}");
    assert_eq!((count(&report, "written"), &report["ended_by"]), (sent, &"signal".into()));
    assert_eq!(names(folder.path()), ["filler", "trace.pcap"]);
    assert_eq!(held(&file).packets, sent);
    drop(disk);
}

#[test]
fn what_cannot_be_finished_is_refused() {
    let cases = [
        ("capture lo -w - --compress", "standard output is not a file"),
        ("capture lo -w - -z true", "standard output is not a file"),
        ("capture lo -w - --print", "already go to standard output"),
        ("capture lo -w /dev/null --compress", "it is no file on a disk"),
        ("capture lo -w x -W 3", "-C or -G"),
        ("capture lo -w x -W 3 -C 1 -G 1", "--files N"),
        ("capture lo -w x -G 1 --rotate-time 2s", "cannot be used with"),
        ("capture lo -F /nonexistent", "No such file"),
        ("capture lo --compress", "--write"),
    ];
    for (line, wanted) in cases {
        let (stdout, stderr, code) = told(&run(line));
        if stderr.contains("CAP_NET_RAW") {
            skipped("what_cannot_be_finished_is_refused", "capturing takes CAP_NET_RAW");
            continue;
        }
        assert!(code == 2 && stdout.is_empty(), "{line}: {code} {stderr}");
        assert!(stderr.contains(wanted), "{line}: {stderr}");
    }
}
