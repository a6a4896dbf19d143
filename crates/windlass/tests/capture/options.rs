//! The options of tcpdump, one by one: what both can do is done by both, at the
//! same time, and has the same packets.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use windlass::commands::capture::tcpdump::{OptionSupport, ROWS, Row, table};
use windlass_sys::process::{Process, Signal};

use super::rotated::{logger, names, until};
use super::{CaptureContents, Wire, windlass};
use windlass_testkit::{has, run, told};

/// Returns the number of packets in the files of a folder, unfinished files included.
fn packets_in(folder: &Path) -> u64 {
    let of = |name: String| {
        let (mut capture, mut held) = (super::Capture::new(), CaptureContents::default());
        let bytes = fs::read(folder.join(name)).unwrap_or_default();
        capture.read(&bytes, false, &mut held);
        held.packets
    };
    names(folder).into_iter().map(of).sum()
}

/// Sends seven datagrams from `right`, out of the interface that is captured: by
/// UDP itself, as what goes past the queues is seen by nobody.
fn send_seven_out(wire: &Wire) {
    let mut sender = Command::new("bash");
    sender.args(["-c", "for i in 1 2 3 4 5 6 7; do echo hello > /dev/udp/192.0.2.1/9; done"]);
    wire.right.enter(&mut sender);
    assert!(sender.status().unwrap().success());
}

/// Maximum time until both have the packets that were sent.
const PATIENCE: Duration = Duration::from_secs(60);

/// Ours and theirs, side by side in folders of their own.
struct Pair {
    folders: [tempfile::TempDir; 2],
    children: Vec<Child>,
}

impl Pair {
    /// Starts both with the same words, into a file of this name.
    fn start(wire: &Wire, words: &[&str], file: &str) -> Self {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let mut ours = windlass();
        ours.args(["capture", "-i", "right", "--format", "pcap"]);
        let mut theirs = Command::new("tcpdump");
        // With the 2 MiB that it has by itself it loses some where it is kept from a processor.
        theirs.args(["-i", "right", "-Z", "root", "-U", "-B", "65536"]);
        let mut children = Vec::new();
        for (mut command, folder) in [ours, theirs].into_iter().zip(&folders) {
            command.args(words).arg("-w").arg(folder.path().join(file));
            let beside = |kind: &str| File::create(folder.path().with_extension(kind)).unwrap();
            command.stdout(beside("stdout")).stderr(beside("stderr")).stdin(Stdio::null());
            wire.right.enter(&mut command);
            children.push(command.spawn().unwrap());
        }
        let pair = Self { folders, children };
        // Each has its socket then: tcpdump says so, and windlass has begun its file.
        until(
            || {
                let begun = !names(pair.folders[0].path()).is_empty();
                begun && pair.said("stderr")[1].contains("listening on")
            },
            || (),
        );
        pair
    }

    /// Returns the output of both.
    fn said(&self, kind: &str) -> [String; 2] {
        self.folders.each_ref().map(|folder| {
            fs::read_to_string(folder.path().with_extension(kind)).unwrap_or_default()
        })
    }

    fn packets(&self) -> [u64; 2] {
        self.folders.each_ref().map(|folder| packets_in(folder.path()))
    }

    /// Waits until each has so many packets.
    fn await_packets(&self, packets: u64) {
        let since = Instant::now();
        while self.packets() != [packets; 2] {
            let (has, said) = (self.packets(), self.said("stderr"));
            assert!(since.elapsed() < PATIENCE, "{has:?} of {packets}: {said:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Sends 2,000 frames, and no more at a time than tcpdump's buffer holds: on a busy
    /// machine it is late, and loses the others. `kept` says how many of them files
    /// hold still.
    fn send_many(&self, wire: &Wire, kept: fn(u64) -> u64) -> u64 {
        let mut sent = 0;
        while sent < 2_000 {
            sent += wire.send(250);
            self.await_packets(kept(sent));
        }
        sent
    }

    /// Waits until each has so many packets, and ends them.
    fn end_with(&mut self, packets: u64) {
        self.await_packets(packets);
        for child in &self.children {
            Process::of_child(child.id()).unwrap().signal(Signal::INT);
        }
        self.ended();
        assert_eq!(self.packets(), [packets; 2]);
    }

    /// Waits until they have ended by themselves.
    fn ended(&mut self) {
        for child in &mut self.children {
            assert!(child.wait().unwrap().success());
        }
    }

    /// The names of each one's files.
    fn names(&self) -> [Vec<String>; 2] {
        self.folders.each_ref().map(|folder| names(folder.path()))
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
        for folder in &self.folders {
            for kind in ["stdout", "stderr"] {
                let _ = fs::remove_file(folder.path().with_extension(kind));
            }
        }
    }
}

/// Options that do not change which packets are taken.
fn the_same_packets(wire: &Wire, words: &[&str]) {
    let mut pair = Pair::start(wire, words, "t");
    let sent = wire.send(20);
    pair.end_with(sent);
}

/// Trial of an option.
type OptionTrial = fn(&Wire);

const TRIED: [(&[&str], OptionTrial); 15] = [
    (&["-B"], |wire| the_same_packets(wire, &["-B", "4096"])),
    (&["-i", "-w"], |wire| the_same_packets(wire, &[])),
    (&["-n", "-l", "-U"], |wire| the_same_packets(wire, &["-n", "-l", "-U"])),
    (&["-p"], |wire| the_same_packets(wire, &["-p"])),
    (&["--nano"], |wire| the_same_packets(wire, &["--nano"])),
    (&["-c"], |wire| {
        let mut pair = Pair::start(wire, &["-c", "5"], "t");
        wire.send(20);
        pair.ended();
        assert_eq!(pair.packets(), [5, 5]);
    }),
    (&["-s"], |wire| {
        let mut pair = Pair::start(wire, &["-s", "64"], "t");
        let sent = wire.send(20);
        pair.end_with(sent);
        let sizes = pair
            .folders
            .each_ref()
            .map(|folder| fs::metadata(folder.path().join("t")).unwrap().len());
        assert_eq!(sizes, [24 + sent * (16 + 64); 2]);
    }),
    (&["-F"], |wire| {
        let folder = tempfile::tempdir().unwrap();
        let filter = folder.path().join("filter");
        fs::write(&filter, "udp dst port\n 10").unwrap();
        let words = ["-F", filter.to_str().unwrap()];
        let mut pair = Pair::start(wire, &words, "t");
        wire.send(20);
        // One that the filter lets through, to see that both have come so far.
        let mut other = Wire::frame();
        other[14 + 20 + 3] = 10;
        wire.send_plain(&other, 1);
        pair.end_with(1);
    }),
    (&["-Q"], |_| {
        // Whose hosts answer: not for the others.
        let Some(wire) = Wire::make("the directions of tcpdump") else { return };
        let wire = &wire;
        wire.left.add_address("left", [192, 0, 2, 1].into(), 24).unwrap();
        wire.right.add_address("right", [192, 0, 2, 2].into(), 24).unwrap();
        for (way, expected) in [("in", 20), ("out", 7), ("inout", 27)] {
            let mut pair = Pair::start(wire, &["-Q", way, "udp"], "t");
            wire.send(20);
            send_seven_out(wire);
            pair.end_with(expected);
        }
    }),
    (&["--print"], |wire| {
        let mut pair = Pair::start(wire, &["--print", "-tt", "-n"], "t");
        let sent = wire.send(20);
        pair.end_with(sent);
        let lines = pair
            .said("stdout")
            .map(|text| text.lines().filter(|line| line.contains("192.0.2.2.9:")).count() as u64);
        assert_eq!(lines, [sent, sent]);
    }),
    (&["-t"], |wire| {
        let mut pair = Pair::start(wire, &["--print", "-tt", "-n"], "t");
        wire.send(1);
        pair.end_with(1);
        // The same line, but for how the rest of a datagram is told.
        let lines = pair.said("stdout");
        let head = |text: &str| text.split_once(": ").map(|(head, _)| head.to_owned());
        let [ours, theirs] = lines.each_ref().map(|text| head(text).unwrap());
        let time = |text: &str| text.split('.').next().unwrap().to_owned();
        assert_eq!(time(&ours), time(&theirs));
        let rest = |text: &str| text.split_once(' ').unwrap().1.to_owned();
        assert_eq!(rest(&ours), rest(&theirs));
    }),
    (&["-C"], |wire| {
        let mut pair = Pair::start(wire, &["-C", "1"], "t.pcap");
        let sent = pair.send_many(wire, |sent| sent);
        pair.end_with(sent);
        let [ours, theirs] = pair.names().map(|names| names.len());
        // 654 packets of 1,530 bytes are a million.
        assert_eq!((ours, theirs), (4, 4));
    }),
    (&["-W"], |wire| {
        let mut pair = Pair::start(wire, &["-C", "1", "-W", "2"], "t.pcap");
        let kept = |sent: u64| sent - sent.div_ceil(654).saturating_sub(2) * 654;
        let sent = pair.send_many(wire, kept);
        pair.end_with(kept(sent));
        assert_eq!(pair.names().map(|names| names.len()), [2, 2]);
        // With -G both end by themselves.
        let mut pair = Pair::start(wire, &["-G", "1", "-W", "2"], "t-%s.pcap");
        let mut ended = [false; 2];
        while ended != [true; 2] {
            wire.send(1);
            for (child, ended) in pair.children.iter_mut().zip(&mut ended) {
                *ended = child.try_wait().unwrap().is_some();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(pair.names().map(|names| names.len()), [2, 2]);
    }),
    (&["-G"], |wire| {
        let mut pair = Pair::start(wire, &["-G", "1"], "t-%s.pcap");
        let mut sent = 0;
        until(|| pair.names().iter().all(|names| names.len() >= 3), || sent += wire.send(2));
        pair.end_with(sent);
        // Both are named by the second.
        for name in pair.names().concat() {
            let second = name.strip_prefix("t-").and_then(|name| name.strip_suffix(".pcap"));
            assert!(second.is_some_and(|second| second.parse::<u32>().is_ok()), "{name}");
        }
    }),
    (&["-z"], |wire| {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let program = logger(folder.path(), &log, "");
        let words = ["-C", "1", "-z", program.to_str().unwrap()];
        let mut pair = Pair::start(wire, &words, "t.pcap");
        let sent = pair.send_many(wire, |sent| sent);
        let folders = pair.folders.each_ref().map(|folder| folder.path().to_owned());
        let of = |which: usize| {
            let heard = fs::read_to_string(&log).unwrap_or_default();
            heard.lines().filter(|path| Path::new(path).starts_with(&folders[which])).count()
        };
        // tcpdump does not wait for what it starts, which ends with it here, and starts nothing for
        // the last.
        until(|| of(1) == 3, || ());
        pair.end_with(sent);
        assert_eq!((of(0), of(1)), (4, 3));
    }),
];

/// Rows that are tried by other tests, or by what every command has.
const ELSEWHERE: [&str; 3] = ["-D", "-h", "--version"];

#[test]
fn what_both_can_do_has_the_same_packets() {
    let test = "what_both_can_do_has_the_same_packets";
    let done = ROWS.iter().filter(|row| !matches!(row.here, OptionSupport::Refused(_)));
    let tried: BTreeSet<&str> = TRIED.iter().flat_map(|(options, _)| *options).copied().collect();
    let known: BTreeSet<&str> = done.filter_map(|row| row.words().next()).collect();
    let all: BTreeSet<&str> = tried.iter().copied().chain(ELSEWHERE).collect();
    assert_eq!(known, all, "each row is tried");
    if !has("tcpdump", test) {
        return;
    }
    let Some(wire) = Wire::make(test) else { return };
    for (options, attempt) in TRIED {
        // The runner shows it where a test fails.
        eprintln!("trying {options:?}");
        attempt(&wire);
    }
}

#[test]
fn what_is_refused_says_why() {
    for row in ROWS {
        let OptionSupport::Refused(why) = row.here else { continue };
        for word in row.words() {
            // Two words stand for something else here.
            if ["-q", "--count"].contains(&word) {
                continue;
            }
            // Behind its words stands what it takes.
            let has_value = row.option.rsplit(' ').next() != row.words().last();
            let value = if has_value { " x" } else { "" };
            let (stdout, stderr, code) = told(&run(&format!("capture lo {word}{value}")));
            assert!(code == 2 && stdout.is_empty(), "{word}: {code} {stderr}");
            assert!(stderr.contains(why) && stderr.contains("docs/capture.md"), "{word}: {stderr}");
        }
    }
}

/// Every option that tcpdump names is in the table: those of its usage, and of its
/// manual where that is installed.
#[test]
fn no_option_of_tcpdump_is_left_out() {
    let test = "no_option_of_tcpdump_is_left_out";
    if !has("tcpdump", test) {
        return;
    }
    let usage = Command::new("tcpdump").arg("--help").output().unwrap();
    let usage = String::from_utf8_lossy(&[usage.stdout, usage.stderr].concat()).into_owned();
    let known: BTreeSet<&str> = ROWS.iter().flat_map(Row::words).collect();
    let mut there = BTreeSet::new();
    for word in usage.split(|letter: char| letter.is_whitespace() || "[]|".contains(letter)) {
        if word.starts_with("--") {
            there.insert(word.to_owned());
        } else if let Some(letters) = word.strip_prefix('-') {
            there.extend(letters.chars().map(|letter| format!("-{letter}")));
        }
    }
    assert!(there.len() > 40, "{usage}");
    let missing: Vec<_> = there.iter().filter(|word| !known.contains(word.as_str())).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/capture.md");

#[test]
fn the_page_has_the_table() {
    let advice = "cargo test -p windlass --test capture -- --ignored write_table";
    assert!(fs::read_to_string(PAGE).unwrap().contains(&table()), "docs/capture.md: {advice}");
}

#[test]
#[ignore = "it writes docs/capture.md"]
fn write_table() {
    let page = fs::read_to_string(PAGE).unwrap();
    let from = page.find("| tcpdump |").unwrap();
    let to = from + page[from..].find("\n\n").unwrap() + 1;
    fs::write(PAGE, [&page[..from], &table(), &page[to..]].concat()).unwrap();
}
