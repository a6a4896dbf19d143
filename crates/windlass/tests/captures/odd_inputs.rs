//! Unreadable inputs and unwritable outputs: exit codes, and messages with the action, its object,
//! the error and advice.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use windlass_testkit::captures::{Findings, corpus};
use windlass_testkit::{has, skipped, told, windlass};

/// A plain capture of 110 packets, and the folder that holds it.
fn sample() -> (TempDir, PathBuf, Vec<u8>) {
    let entry =
        corpus().into_iter().find(|entry| entry.file == "receiver-window-ack-latency.snd.pcap.gz");
    let packed = std::fs::File::open(entry.unwrap().path).unwrap();
    let mut bytes = Vec::new();
    flate2::read::MultiGzDecoder::new(packed).read_to_end(&mut bytes).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("upload.pcap");
    std::fs::write(&path, &bytes).unwrap();
    (folder, path, bytes)
}

/// Runs a command that must end by itself.
fn run(arguments: &[&str], file: &Path) -> (String, String, i32) {
    let mut command = windlass();
    command.args(arguments).arg(file);
    ended(command)
}

fn ended(mut command: Command) -> (String, String, i32) {
    let (sender, receiver) = mpsc::channel::<Output>();
    std::thread::spawn(move || sender.send(command.output().unwrap()));
    told(&receiver.recv_timeout(Duration::from_secs(60)).expect("it must not hang"))
}

/// Checks a failure: exit code 1, nothing reported, one message with advice.
fn fails(findings: &mut Findings, case: &str, said: &str, got: &(String, String, i32)) {
    let (stdout, stderr, code) = got;
    findings.check(*code == 1, case, "exit code", 1, code);
    let starts = stderr.starts_with("error: cannot ") && stderr.contains(said);
    findings.check(starts, case, "message", said, stderr.lines().next().unwrap_or_default());
    let advises = stderr.contains("\n  tip: ") || stderr.contains("windlass reads pcap");
    findings.check(advises, case, "advice", "tip: …", stderr.replace('\n', " "));
    findings.check(!stderr.contains("panicked"), case, "message", "no panic", stderr);
    // What was read may be described, but nothing is explained.
    findings.check(!stdout.contains("of the time"), case, "output", "none", stdout);
}

#[test]
fn what_is_no_capture_fails_and_says_why() {
    let (folder, _, whole) = sample();
    let mut findings = Findings::default();
    // Bytes that look random and are always the same.
    let mut seed = 1_u64;
    let random = std::iter::repeat_with(|| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        seed.to_be_bytes()[0]
    });
    let random: Vec<u8> = random.take(100_000).collect();
    let mut unknown_link = whole.clone();
    unknown_link[20..24].copy_from_slice(&[0x34, 0x12, 0, 0]);
    let cases: [(&str, Vec<u8>, &str); 9] = [
        ("empty.pcap", Vec::new(), "the input is empty"),
        ("random.bin", random, "this is no capture"),
        ("zeros.pcap", vec![0; 4096], "this is no capture"),
        (
            "words.txt",
            b"The quick brown fox\n".repeat(100),
            "no line of this text is a TCP segment",
        ),
        ("cut-magic.pcap", whole[..3].to_vec(), "no "),
        ("cut-header.pcap", whole[..20].to_vec(), "ends within its file header"),
        ("cut-record.pcap", whole[..30].to_vec(), "ends within the header of record 1"),
        ("bare.pcap", whole[..24].to_vec(), "no TCP connection"),
        ("unknown-link.pcap", unknown_link, "link type 4660"),
    ];
    for (name, bytes, said) in cases {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        for command in ["explain", "show"] {
            let got = run(&[command], &path);
            fails(&mut findings, &format!("{command} {name}"), said, &got);
            let names = got.1.contains(&format!("cannot {command} {}", path.display()));
            findings.check(names, name, "message", format!("cannot {command} FILE"), &got.1);
            // No filter was given: it cannot be to blame.
            findings.check(!got.1.contains("--host"), name, "message", "no --host", &got.1);
        }
    }
    findings.assert_none();
}

#[test]
fn what_cannot_be_opened_fails_and_says_why() {
    let (folder, path, _) = sample();
    let mut findings = Findings::default();
    let missing = folder.path().join("missing.pcap");
    fails(&mut findings, "missing", "No such file", &run(&["explain"], &missing));
    fails(&mut findings, "directory", "it is a directory", &run(&["explain"], folder.path()));
    fails(&mut findings, "show", "it is a directory", &run(&["show"], folder.path()));
    findings.assert_none();

    let mut permissions = std::fs::metadata(&path).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0);
    std::fs::set_permissions(&path, permissions).unwrap();
    if std::fs::File::open(&path).is_ok() {
        skipped("what_cannot_be_opened_fails_and_says_why", "root may open every file");
        return;
    }
    fails(&mut findings, "forbidden", "Permission denied", &run(&["explain"], &path));
    findings.assert_none();
}

/// The packets that a truncated capture must still give, at least: what is
/// there of it.
fn cut_reads(findings: &mut Findings, path: &Path, whole: &[u8], least_share: f64) {
    let full = explained_bytes(path, whole);
    let all = full.as_ref().unwrap()["capture"]["packets"].as_f64().unwrap();
    let mut before = 0.0;
    for tenth in 1..10 {
        let length = whole.len() * tenth / 10 + 7;
        let case = format!("{} at {length}", path.file_name().unwrap().display());
        let Some(record) = explained_bytes(path, &whole[..length]) else {
            findings.check(least_share == 0.0, &case, "report", "one", "none");
            continue;
        };
        let damage = record["capture"]["damage"].as_str().unwrap_or_default();
        findings.check(!damage.is_empty(), &case, "damage", "named", "not named");
        let packets = record["capture"]["packets"].as_f64().unwrap();
        let due = (all * tenth as f64 / 10.0 * least_share).floor();
        findings.check(packets >= due, &case, "packets", format!("at least {due}"), packets);
        findings.check(packets >= before, &case, "packets", format!("at least {before}"), packets);
        before = packets;
    }
}

/// The report of these bytes; `None` where they fail with a message.
fn explained_bytes(path: &Path, bytes: &[u8]) -> Option<Value> {
    std::fs::write(path, bytes).unwrap();
    let (stdout, stderr, code) = run(&["explain", "--all", "--json"], path);
    assert!(!stderr.contains("panicked"), "{stderr}");
    if code == 0 {
        assert_eq!(stderr, "");
        return Some(serde_json::from_str(&stdout).unwrap());
    }
    assert_eq!(code, 1, "{stderr}");
    assert!(stderr.starts_with("error: cannot explain "), "{stderr}");
    None
}

#[test]
fn a_truncated_capture_is_used_up_to_the_damage() {
    let (folder, path, whole) = sample();
    let mut findings = Findings::default();
    cut_reads(&mut findings, &path, &whole, 0.9);

    // Packed streams hold back a block until it is whole.
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packer.write_all(&whole).unwrap();
    let packed = packer.finish().unwrap();
    cut_reads(&mut findings, &folder.path().join("upload.pcap.gz"), &packed, 0.0);

    let test = "a_truncated_capture_is_used_up_to_the_damage";
    if has("editcap", test) {
        let copy = folder.path().join("upload.pcapng");
        std::fs::write(&path, &whole).unwrap();
        let done = Command::new("editcap").arg(&path).arg(&copy).status().unwrap();
        assert!(done.success());
        let bytes = std::fs::read(&copy).unwrap();
        cut_reads(&mut findings, &copy, &bytes, 0.85);
    }
    if has("zstd", test) {
        let copy = folder.path().join("upload.pcap.zst");
        let status =
            Command::new("zstd").args(["-q", "-f"]).arg(&path).arg("-o").arg(&copy).status();
        assert!(status.unwrap().success());
        let bytes = std::fs::read(&copy).unwrap();
        cut_reads(&mut findings, &copy, &bytes, 0.0);
    }
    findings.assert_none();
}

#[test]
fn a_record_that_lies_is_named_as_damage() {
    let (_folder, path, whole) = sample();
    // The second record says that it holds 2 GB.
    let first = u32::from_le_bytes(whole[32..36].try_into().unwrap()) as usize;
    let mut lying = whole;
    let second = 24 + 16 + first;
    lying[second + 8..second + 12].copy_from_slice(&0x7fff_ffff_u32.to_le_bytes());
    std::fs::write(&path, lying).unwrap();
    let (stdout, stderr, _) = run(&["show", "--json"], &path);
    assert!(!stderr.contains("panicked"), "{stderr}");
    let head: Value = serde_json::from_str(stdout.lines().next().unwrap()).unwrap();
    assert!(head["capture"]["damage"].as_str().unwrap().contains("record"), "{head}");
}

#[test]
fn standard_input_reads_like_a_file() {
    let (_folder, path, whole) = sample();
    for command in ["explain", "show"] {
        let mut piped = windlass();
        let mut child = piped
            .args([command, "--json", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(&whole).unwrap();
        let (piped, stderr, code) = told(&child.wait_with_output().unwrap());
        assert_eq!((stderr.as_str(), code), ("", 0), "{command}");
        let (read, _, _) = run(&[command, "--json"], &path);
        let read = read.replace(path.to_str().unwrap(), "standard input");
        assert_eq!(piped, read, "{command}");
    }
    let mut empty = windlass();
    empty.args(["explain", "-"]);
    let mut findings = Findings::default();
    fails(&mut findings, "standard input", "the input is empty", &ended(empty));
    findings.assert_none();
}

#[test]
fn a_full_disk_is_told_and_a_closed_pipe_is_not() {
    let (_folder, path, _) = sample();
    let path = path.to_str().unwrap();
    for line in [["explain", path, ""], ["explain", path, "--json"], ["show", path, ""]] {
        let words = line.iter().filter(|word| !word.is_empty());
        match OpenOptions::new().write(true).open("/dev/full") {
            Ok(full) => {
                let output = windlass().args(words.clone()).stdout(full).output().unwrap();
                let (_, stderr, code) = told(&output);
                assert_eq!(code, 1, "{line:?}");
                let said = "error: cannot write to standard output: No space left on device";
                assert!(stderr.starts_with(said), "{line:?}: {stderr}");
            }
            Err(_) => skipped("a_full_disk_is_told_and_a_closed_pipe_is_not", "no /dev/full"),
        }
        let mut child = windlass();
        let child = child.args(words).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = child.spawn().unwrap();
        drop(child.stdout.take());
        let (_, stderr, code) = told(&child.wait_with_output().unwrap());
        assert_eq!((stderr.as_str(), code), ("", 0), "{line:?}");
    }
}

#[test]
fn what_is_asked_for_and_not_there_is_told() {
    let (folder, path, _) = sample();
    let mut findings = Findings::default();
    let absent = [
        (&["explain", "--connection", "99"][..], "connection 99"),
        (&["show", "--connection", "99"][..], "connection 99"),
        (&["explain", "--host", "198.51.100.9"][..], "--host"),
        (&["show", "--port", "9"][..], "filter"),
    ];
    for (arguments, said) in absent {
        fails(&mut findings, &arguments.join(" "), said, &run(arguments, &path));
    }
    let nowhere = folder.path().join("no/where.pcapng");
    let got = run(&["explain", "--annotate", nowhere.to_str().unwrap()], &path);
    fails(&mut findings, "--annotate", "cannot write", &got);
    // To write over what is being read is a mistake on the command line.
    let before = std::fs::read(&path).unwrap();
    let (_, stderr, code) = run(&["explain", "--annotate", path.to_str().unwrap()], &path);
    findings.check(code == 2, "--annotate itself", "exit code", 2, code);
    findings.check(stderr.contains("tip: "), "--annotate itself", "advice", "tip: …", &stderr);
    assert_eq!(std::fs::read(&path).unwrap(), before);
    findings.assert_none();
}

/// A pcap file of raw IP with one UDP datagram.
fn udp() -> Vec<u8> {
    let mut bytes = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0];
    bytes.extend([101, 0, 0, 0]);
    bytes.extend([1, 0, 0, 0, 0, 0, 0, 0, 28, 0, 0, 0, 28, 0, 0, 0]);
    bytes.extend([0x45, 0, 0, 28, 0, 1, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
    bytes.extend([0, 53, 0, 53, 0, 8, 0, 0]);
    bytes
}

#[test]
fn a_capture_without_tcp_is_told() {
    let (folder, ..) = sample();
    let path = folder.path().join("dns.pcap");
    std::fs::write(&path, udp()).unwrap();
    let mut findings = Findings::default();
    for command in ["explain", "show"] {
        let got = run(&[command], &path);
        fails(&mut findings, command, "no packet is TCP: the only one is UDP port 53 (DNS)", &got);
        // No filter was given: it cannot be to blame.
        findings.check(!got.1.contains("--host"), command, "message", "no --host", &got.1);
    }
    findings.assert_none();
}

#[test]
fn a_capture_whose_connections_carry_no_data_is_told() {
    let (_folder, path, whole) = sample();
    // The handshake alone.
    let lengths = |at: usize| u32::from_le_bytes(whole[at + 8..at + 12].try_into().unwrap());
    let mut end = 24;
    for _ in 0..3 {
        end += 16 + lengths(end) as usize;
    }
    std::fs::write(&path, &whole[..end]).unwrap();
    let mut findings = Findings::default();
    fails(&mut findings, "handshake", "carried data", &run(&["explain"], &path));
    findings.assert_none();
    // It can be shown all the same.
    let (stdout, stderr, code) = run(&["show", "--json"], &path);
    assert_eq!((stdout.lines().count(), stderr.as_str(), code), (4, "", 0));
}

/// A capture that is mapped into memory, and cut while it is looked at: that
/// would be a signal, and must be an error.
#[test]
fn a_capture_that_shrinks_while_it_is_read_fails_and_says_so() {
    let (_folder, path, whole) = sample();
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    let records = whole[24..].repeat((6 << 20) / whole.len());
    file.write_all(&records).unwrap();
    let size = file.metadata().unwrap().len();
    let mut show = windlass();
    show.args(["show", "--all", "--json"]).arg(&path);
    let mut child = show.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Once it prints it reads for the second time. It cannot go on until
    // somebody takes what it printed.
    let mut stdout = child.stdout.take().unwrap();
    let mut printed = vec![0; 1];
    stdout.read_exact(&mut printed).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    file.set_len(size / 2).unwrap();
    stdout.read_to_end(&mut printed).unwrap();
    let (_, stderr, code) = told(&child.wait_with_output().unwrap());
    let wrong = format!("error: cannot show {}: it shrank from ", path.display());
    assert!(stderr.starts_with(&wrong) && stderr.contains("\n  tip: "), "{stderr}");
    assert_eq!(code, 1);
    // What was printed was there.
    let printed = String::from_utf8(printed).unwrap();
    let numbers = printed.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    assert!(numbers.count() > 100);
}
