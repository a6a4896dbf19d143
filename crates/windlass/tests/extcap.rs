//! `windlass extcap` as Wireshark runs it, and Wireshark's own programs with it.
//!
//! The device's traffic stays in namespaces that the runs make. The ring is
//! tried on the loopback.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test has peers")]

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use windlass_testkit::left::interfaces;
use windlass_testkit::work::until_caught;
use windlass_testkit::{devices, has, run, skipped, told, windlass};
use windlass_wire::{Capture, CaptureInfo, Host, LinkType, Observer, Packet, Segment};

/// No run takes so long that ends at all.
const BOUND: Duration = Duration::from_secs(60);

/// Returns whether packets can be captured here.
fn rings(test: &str) -> bool {
    let output = run("capture lo --quiet --time 1ms");
    let (_, stderr, code) = told(&output);
    if code != 0 {
        skipped(test, stderr.lines().next().unwrap_or("no packets can be captured"));
    }
    code == 0
}

/// Returns whether expressions of tcpdump are supported here.
fn expressions(test: &str) -> bool {
    let output = extcap("--extcap-interface windlass-ring --extcap-capture-filter tcp");
    let (stdout, ..) = told(&output);
    if !stdout.is_empty() {
        skipped(test, stdout.trim());
    }
    stdout.is_empty()
}

fn extcap(words: &str) -> Output {
    run(&format!("extcap {words}"))
}

/// Returns the answer, which comes without any other output.
fn answer(words: &str) -> String {
    let (stdout, stderr, code) = told(&extcap(words));
    assert_eq!((stderr.as_str(), code), ("", 0), "{words}");
    stdout
}

/// A folder with a pipe in it.
fn pipe() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    (folder, path)
}

/// A capture as Wireshark starts it.
fn start(interface: &str, fifo: &Path, options: &[&str]) -> Child {
    let mut command = windlass();
    command.args(["extcap", "--capture", "--extcap-interface", interface, "--fifo"]).arg(fifo);
    let piped = command.args(options).stdout(Stdio::piped()).stderr(Stdio::piped());
    piped.spawn().unwrap()
}

fn signal(child: &Child, signal: &str) {
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status();
    assert!(status.unwrap().success());
}

/// Waits for the end, within a bound.
fn ended(mut child: Child, bound: Duration) -> (String, String, i32) {
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > bound {
            child.kill().unwrap();
            panic!("it has not ended: {:?}", told(&child.wait_with_output().unwrap()));
        }
        thread::sleep(Duration::from_millis(5));
    }
    told(&child.wait_with_output().unwrap())
}

fn quiet() -> (String, String, i32) {
    (String::new(), String::new(), 0)
}

/// Reads a pipe to its end, in pieces as they come.
fn pieces(fifo: &Path) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    let fifo = fifo.to_owned();
    thread::spawn(move || {
        let mut pipe = File::open(fifo).unwrap();
        let mut piece = vec![0; 1 << 16];
        loop {
            let bytes = pipe.read(&mut piece).unwrap();
            if bytes == 0 || sender.send(piece[..bytes].to_vec()).is_err() {
                return;
            }
        }
    });
    receiver
}

/// All of them.
fn rest(pieces: &Receiver<Vec<u8>>) -> Vec<u8> {
    let mut all = Vec::new();
    let end = Instant::now() + BOUND;
    loop {
        match pieces.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(piece) => all.extend(piece),
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return all,
            Err(wrong) => panic!("the pipe has no end: {wrong}"),
        }
    }
}

/// Contents of a stream.
#[derive(Default)]
struct StreamContents {
    packets: Vec<Vec<u8>>,
    segments: Vec<Segment>,
}

impl Observer for StreamContents {
    fn packet(&mut self, packet: &Packet<'_>) {
        self.packets.push(packet.data.to_vec());
    }
    fn segment(&mut self, _: &Segment) {}
}

/// Reads a stream, which must be whole.
fn read(bytes: &[u8]) -> (StreamContents, CaptureInfo) {
    let (mut capture, mut seen) = (Capture::new(), StreamContents::default());
    let progress = capture.read(bytes, true, &mut seen);
    assert!(progress.finished);
    let info = capture.info().clone();
    assert!(info.damage.is_none(), "{:?}", info.damage);
    let mut decoder = windlass_wire::Decoder::new();
    for (number, data) in (1..).zip(&seen.packets) {
        let packet = Packet {
            number,
            time: windlass_base::Timestamp::ZERO,
            link: info.link_types[0],
            big_endian: false,
            original_length: u32::try_from(data.len()).unwrap(),
            data,
        };
        if let windlass_wire::Decoded::Segment(segment) = decoder.decode(&packet) {
            seen.segments.push(segment);
        }
    }
    (seen, info)
}

const DEVICE: Host = Host::V4(Ipv4Addr::new(192, 0, 2, 2));

#[test]
fn wireshark_learns_which_interfaces_there_are() {
    let version = env!("CARGO_PKG_VERSION");
    let expected = format!(
        "extcap {{version={version}}}{{display=windlass}}\n\
         interface {{value=windlass-ring}}{{display=windlass: ring}}\n\
         interface {{value=windlass-device}}{{display=windlass: emulated device}}\n"
    );
    for words in [
        "--extcap-interfaces",
        "--extcap-interfaces --extcap-version=4.0",
        "--extcap-interfaces --extcap-version 4.4",
        "--brand-new --extcap-interfaces --extcap-version=9.9 --with value",
    ] {
        assert_eq!(answer(words), expected, "{words}");
    }
    assert_eq!(answer("--extcap-version"), expected.lines().next().unwrap().to_owned() + "\n");
    assert_eq!(answer("--extcap-cleanup-postkill --extcap-interface windlass-ring"), "");
}

#[test]
fn each_interface_says_what_its_packets_begin_with() {
    let link = |name| answer(&format!("--extcap-dlts --extcap-interface {name}"));
    assert_eq!(link("windlass-ring"), "dlt {number=1}{name=EN10MB}{display=Ethernet}\n");
    assert_eq!(link("windlass-device"), "dlt {number=12}{name=RAW}{display=Raw IP}\n");
}

#[test]
fn each_interface_has_its_options() {
    insta::assert_snapshot!(answer("--extcap-interface windlass-device --extcap-config"));
    let ring = answer("--extcap-config --extcap-interface=windlass-ring --log-level debug");
    let mut expected = String::from(
        "arg {number=0}{call=--interface}{display=Interface}{type=selector}\
         {tooltip=Interface to capture on}\n\
         value {arg=0}{value=any}{display=any: all interfaces}{default=true}\n",
    );
    for name in interfaces() {
        let name = name.to_string_lossy();
        expected += &format!("value {{arg=0}}{{value={name}}}{{display={name}}}\n");
    }
    expected += "\
        arg {number=1}{call=--snap-length}{display=Snap length}{type=unsigned}{range=1,262144}\
        {default=262144}{tooltip=Maximum bytes to keep of a packet}\n\
        arg {number=2}{call=--direction}{display=Direction}{type=selector}\
        {tooltip=Direction of the packets}\n\
        value {arg=2}{value=usual}{display=both; in on the loopback, where each appears twice}\
        {default=true}\n\
        value {arg=2}{value=in}{display=in}\n\
        value {arg=2}{value=out}{display=out}\n\
        value {arg=2}{value=both}{display=both}\n\
        arg {number=3}{call=--promiscuous}{display=Promiscuous}{type=boolflag}{default=false}\
        {tooltip=Also packets for other hosts; not with any}\n";
    assert_eq!(ring, expected);
}

#[test]
fn a_filter_is_checked_before_it_is_used() {
    if !expressions("a_filter_is_checked_before_it_is_used") {
        return;
    }
    let checked = |interface: &str, filter: &str| {
        let mut command = windlass();
        command.args(["extcap", "--extcap-capture-filter", filter, "--extcap-interface"]);
        let (stdout, stderr, code) = told(&command.arg(interface).output().unwrap());
        assert_eq!((stderr.as_str(), code), ("", 0));
        stdout
    };
    for interface in ["windlass-ring", "windlass-device"] {
        assert_eq!(checked(interface, "tcp port 9100 and host 192.0.2.2"), "");
        let wrong = checked(interface, "tcp pirt 9100");
        assert!(wrong.starts_with("cannot set the filter `tcp pirt 9100`: "), "{wrong}");
        assert_eq!(wrong.lines().count(), 1, "Wireshark shows the first");
    }
    // The device's packets have no Ethernet header.
    assert_eq!(checked("windlass-ring", "ether host 02:00:00:00:00:01"), "");
    assert_ne!(checked("windlass-device", "ether host 02:00:00:00:00:01"), "");
}

#[test]
fn what_cannot_be_is_told_in_one_line() {
    let (_folder, path) = pipe();
    let fifo = path.to_str().unwrap();
    let ring = format!("--capture --extcap-interface windlass-ring --fifo {fifo}");
    let device = format!("--capture --extcap-interface windlass-device --fifo {fifo}");
    for (words, part) in [
        (String::new(), "--install"),
        ("--extcap-dlts".into(), "no interface is named"),
        ("--extcap-interface other --extcap-dlts".into(), "interfaces are windlass-ring and"),
        ("--extcap-interface windlass-ring".into(), "there is no request"),
        ("--capture --extcap-interface windlass-ring".into(), "--fifo is missing"),
        ("--capture --extcap-interface windlass-ring --fifo".into(), "its value is missing"),
        (format!("{ring} --snap-length 0"), "a snap length is 1 to 262144 bytes"),
        (format!("{ring} --snap-length many"), "a snap length is 1 to 262144 bytes"),
        (format!("{ring} --direction up"), "there is no direction up"),
        (format!("{device} --profile other"), "there is no profile of this name. Name one of"),
        (format!("{device} --bytes 1Mb"), "write a size as"),
        (format!("{device} --rate 100"), "write a rate with its unit"),
        (format!("{device} --rtt 10"), "write a time with its unit"),
    ] {
        // Who reads the pipe is not left to wait: there is an end, and nothing before.
        let pieces = words.contains(fifo).then(|| pieces(&path));
        let (stdout, stderr, code) = told(&extcap(&words));
        assert_eq!((stdout.as_str(), stderr.lines().count()), ("", 1), "{words}: {stderr}");
        assert!(code != 0 && stderr.contains(part), "{words}: {stderr}");
        assert!(pieces.is_none_or(|pieces| rest(&pieces).is_empty()), "{words}");
    }
}

#[test]
fn a_device_is_sent_to_while_wireshark_looks_on() {
    if !devices("a_device_is_sent_to_while_wireshark_looks_on") {
        return;
    }
    let before = interfaces();
    // A KiB takes it some 10 ms: all of it takes more than eight minutes.
    {
        let (_folder, fifo) = pipe();
        let pieces = pieces(&fifo);
        let options = ["--profile", "netgear-ps101", "--bytes", "50MB"];
        let mut child = start("windlass-device", &fifo, &options);
        let (mut so_far, mut packets) = (Vec::new(), 0);
        while packets < 20 {
            so_far.extend(pieces.recv_timeout(BOUND).unwrap());
            let mut seen = StreamContents::default();
            Capture::new().read(&so_far, false, &mut seen);
            packets = seen.packets.len();
        }
        // They come as they pass.
        assert!(child.try_wait().unwrap().is_none(), "most is still to come");
        assert_eq!(interfaces(), before, "nothing of it is in the host's network");
        signal(&child, "-TERM");
        rest(&pieces);
        assert_eq!(ended(child, BOUND), quiet());
    }
    let (_folder, fifo) = pipe();
    let pieces = pieces(&fifo);
    let options = ["--profile", "netgear-ps101", "--bytes", "200kB", "--new-in-4.9", "x"];
    let child = start("windlass-device", &fifo, &options);
    let bytes = rest(&pieces);
    assert_eq!(ended(child, BOUND), quiet());
    let (seen, info) = read(&bytes);
    assert_eq!(info.link_types, [LinkType::RAW]);
    assert_eq!((info.drops, info.received), (Some(0), Some(info.packets)));
    assert_eq!(seen.segments.len(), seen.packets.len(), "all of it is TCP");
    let to_device = |segment: &&Segment| segment.destination.host == DEVICE;
    let ports: BTreeSet<u16> =
        seen.segments.iter().filter(to_device).map(|segment| segment.destination.port).collect();
    assert_eq!(ports, BTreeSet::from([9_100]));
    // Whatever was sent twice: the device has acknowledged each byte, and the FIN.
    let first = seen.segments[0].sequence.unwrap();
    let acknowledged = seen.segments.iter().filter(|segment| segment.source.host == DEVICE);
    let acknowledged =
        acknowledged.map(|segment| segment.acknowledgment.wrapping_sub(first)).max().unwrap();
    assert_eq!(acknowledged, 200_000 + 2);
}

#[test]
fn a_device_that_has_lpr_only_gets_a_job() {
    let test = "a_device_that_has_lpr_only_gets_a_job";
    if !devices(test) || !expressions(test) {
        return;
    }
    let (_folder, fifo) = pipe();
    let pieces = pieces(&fifo);
    let filter = "src host 192.0.2.2";
    let options = [
        "--profile",
        "hp-laserjet-4100n-lpr",
        "--bytes=20kB",
        "--extcap-capture-filter",
        filter,
        "--rtt",
        "20ms",
    ];
    let child = start("windlass-device", &fifo, &options);
    let bytes = rest(&pieces);
    assert_eq!(ended(child, BOUND), quiet());
    let (seen, _) = read(&bytes);
    assert!(seen.segments.len() > 5);
    for segment in &seen.segments {
        assert_eq!((segment.source.host, segment.source.port), (DEVICE, 515), "{filter}");
    }
    // LPR answers each of its five lines and files with a zero byte.
    let answered: u64 = seen.segments.iter().map(|segment| u64::from(segment.payload)).sum();
    assert_eq!(answered, 5);
}

#[test]
fn a_full_disk_ends_the_transfer() {
    let test = "a_full_disk_ends_the_transfer";
    if !has("unshare", test) || !devices(test) {
        return;
    }
    // A disk of its own, which goes with the process that mounted it. Two gigabytes
    // would take minutes.
    let folder = tempfile::tempdir().unwrap();
    let disk = folder.path().to_str().unwrap();
    let script = format!(
        "mount -t tmpfs -o size=64k none {disk} || exit 77; \
         exec {} extcap --capture --extcap-interface windlass-device --fifo {disk}/x --bytes 2GB",
        env!("CARGO_BIN_EXE_windlass"),
    );
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", &script]).stdin(Stdio::null());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (stdout, stderr, code) = ended(child, BOUND);
    if code == 77 || stderr.contains("unshare failed") {
        return skipped(test, "no file system can be mounted");
    }
    assert_eq!((stdout.as_str(), stderr.lines().count(), code), ("", 1, 1), "{stderr}");
    assert!(stderr.contains("cannot go on writing to Wireshark: No space left"), "{stderr}");
}

#[test]
fn the_ring_gives_what_passes_the_loopback() {
    let test = "the_ring_gives_what_passes_the_loopback";
    if !rings(test) || !expressions(test) {
        return;
    }
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let own = socket.local_addr().unwrap();
    let filter = format!("udp dst port {}", own.port());
    // Promiscuous on all interfaces is what Wireshark's boxes may come to.
    for options in [&["--interface", "lo", "--snap-length", "50"][..], &["--promiscuous"]] {
        let options = [options, &["--extcap-capture-filter", &filter]].concat();
        let (_folder, fifo) = pipe();
        let pieces = pieces(&fifo);
        let child = start("windlass-ring", &fifo, &options);
        // The head of the file says that it is open.
        let mut bytes = pieces.recv_timeout(BOUND).unwrap();
        for number in 0..10_u8 {
            socket.send_to(&[number; 100], own).unwrap();
        }
        // They come without an end of the capture.
        let mut seen = StreamContents::default();
        while seen.packets.len() < 10 {
            bytes.extend(pieces.recv_timeout(BOUND).unwrap());
            seen = StreamContents::default();
            Capture::new().read(&bytes, false, &mut seen);
        }
        signal(&child, "-TERM");
        bytes.extend(rest(&pieces));
        assert_eq!(ended(child, BOUND), quiet(), "{options:?}");
        let (seen, info) = read(&bytes);
        assert_eq!((info.packets, info.drops, info.received), (10, Some(0), Some(10)));
        let (link, length) = match options.contains(&"lo") {
            true => (LinkType::ETHERNET, 50),
            // Linux's own header of 20 bytes, and IP.
            false => (LinkType::LINUX_SLL2, 20 + 128),
        };
        assert_eq!(info.link_types, [link]);
        assert!(seen.packets.iter().all(|packet| packet.len() == length), "{options:?}");
    }
}

#[test]
fn it_ends_when_nobody_reads_any_more() {
    let test = "it_ends_when_nobody_reads_any_more";
    let mut cases = Vec::new();
    if devices(test) {
        // A device that takes minutes, and one that is quick.
        cases.push(("windlass-device", vec!["--profile", "netgear-ps101", "--bytes", "50MB"]));
        cases.push(("windlass-device", vec!["--bytes", "2GB"]));
    }
    if rings(test) && expressions(test) {
        // Nothing of this passes, so nothing is ever written.
        let nothing = "host 127.99.99.99";
        cases
            .push(("windlass-ring", vec!["--interface", "lo", "--extcap-capture-filter", nothing]));
    }
    for (interface, options) in cases {
        let (_folder, fifo) = pipe();
        let child = start(interface, &fifo, &options);
        let mut reader = File::open(&fifo).unwrap();
        reader.read_exact(&mut [0; 64]).unwrap();
        drop(reader);
        assert_eq!(ended(child, BOUND), quiet(), "{options:?}");
    }
}

#[test]
fn it_ends_when_wireshark_says_so() {
    if !devices("it_ends_when_wireshark_says_so") {
        return;
    }
    let options = ["--profile", "netgear-ps101", "--bytes", "50MB"];
    for name in ["-TERM", "-INT"] {
        let (_folder, fifo) = pipe();
        let pieces = pieces(&fifo);
        let child = start("windlass-device", &fifo, &options);
        let mut bytes = pieces.recv_timeout(BOUND).unwrap();
        signal(&child, name);
        bytes.extend(rest(&pieces));
        assert_eq!(ended(child, BOUND), quiet(), "{name}");
        read(&bytes);
    }
    // Before anybody reads.
    let (_folder, fifo) = pipe();
    let child = start("windlass-device", &fifo, &options);
    until_caught(child.id(), 15);
    signal(&child, "-TERM");
    assert_eq!(ended(child, BOUND), quiet());
    // With a reader that is there and takes nothing, behind a full pipe.
    let (_folder, fifo) = pipe();
    let child = start("windlass-device", &fifo, &["--bytes", "2GB"]);
    let mut reader = File::open(&fifo).unwrap();
    reader.read_exact(&mut [0; 64]).unwrap();
    thread::sleep(Duration::from_millis(300));
    signal(&child, "-TERM");
    assert_eq!(ended(child, BOUND), quiet());
}

#[test]
fn without_rights_one_line_says_which() {
    let test = "without_rights_one_line_says_which";
    if !has("setpriv", test) {
        return;
    }
    let (_folder, fifo) = pipe();
    let _reader = pieces(&fifo);
    let mut command = Command::new("setpriv");
    command.args(["--no-new-privs", "--inh-caps=-all"]);
    // Who is not root has no rights to lose.
    if rings(test) {
        command.arg("--bounding-set=-all");
    }
    command.arg(env!("CARGO_BIN_EXE_windlass"));
    command.args(["extcap", "--capture", "--extcap-interface", "windlass-ring", "--interface=lo"]);
    let output = command.arg("--fifo").arg(&fifo).stdin(Stdio::null()).output().unwrap();
    let (stdout, stderr, code) = told(&output);
    assert_eq!((stdout.as_str(), code), ("", 1), "{stderr}");
    assert!(stderr.starts_with("error: cannot capture on lo: it needs CAP_NET_RAW"), "{stderr}");
    assert!(stderr.contains("sudo setcap cap_net_raw=ep"), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
}

/// The program in a home of its own.
fn at_home(program: impl AsRef<OsStr>, home: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("HOME", home).env("TMPDIR", home).stdin(Stdio::null());
    for name in ["XDG_CONFIG_HOME", "WIRESHARK_CONFIG_DIR", "WIRESHARK_EXTCAP_DIR"] {
        command.env_remove(name);
    }
    command
}

fn own(home: &Path, words: &str) -> (String, String, i32) {
    let mut command = at_home(env!("CARGO_BIN_EXE_windlass"), home);
    told(&command.arg("extcap").args(words.split(' ')).output().unwrap())
}

#[test]
fn it_installs_itself_and_takes_itself_out_again() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("new/extcap");
    let script = folder.join("windlass");
    let settings = home.path().display();
    let words = |what: &str| format!("{what} --folder {} --settings {settings}", folder.display());
    let (stdout, stderr, code) = own(home.path(), &words("--uninstall"));
    assert_eq!((stderr.as_str(), code), ("", 0));
    assert_eq!(stdout, format!("There is no {}\n", script.display()));
    // A second time it writes over its own.
    for _ in 0..2 {
        let (stdout, stderr, code) = own(home.path(), &words("--install"));
        assert_eq!((stderr.as_str(), code), ("", 0));
        let program = Path::new(env!("CARGO_BIN_EXE_windlass")).canonicalize().unwrap();
        let first = format!("{} runs {}\n", script.display(), program.display());
        assert!(stdout.starts_with(&first), "{stdout}");
        assert!(stdout.contains("Refresh Interfaces"), "{stdout}");
        assert!(stdout.contains("--install --profile\n"), "it is offered: {stdout}");
        assert_eq!(fs::metadata(&script).unwrap().permissions().mode() & 0o7777, 0o755);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing else is in the folder");
        let output = Command::new(&script).arg("--extcap-interfaces").output().unwrap();
        assert_eq!(told(&output).0, answer("--extcap-interfaces"));
    }
    assert_eq!(own(home.path(), &words("--uninstall")).2, 0);
    assert!(!script.exists());
    // What somebody else has written stays.
    fs::write(&script, "#!/bin/sh\nexec other\n").unwrap();
    for what in ["--install", "--uninstall"] {
        let (stdout, stderr, code) = own(home.path(), &words(what));
        assert_eq!((stdout.as_str(), code), ("", 1));
        assert!(stderr.contains("windlass has not written"), "{stderr}");
        assert_eq!(fs::read_to_string(&script).unwrap(), "#!/bin/sh\nexec other\n");
    }
}

/// Returns tshark's view of each packet of a capture with notes, by the profile; nothing if tshark
/// rejects a rule or a column.
#[test]
fn tshark_shows_notes_by_the_profile() {
    let test = "tshark_shows_notes_by_the_profile";
    if !has("tshark", test) {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let (stdout, stderr, code) = own(home.path(), "--install --profile");
    assert_eq!((stderr.as_str(), code), ("", 0));
    assert!(stdout.contains("tshark -C windlass"), "{stdout}");
    let notes = home.path().join("notes.pcapng");
    let capture =
        windlass_testkit::repository("tests/corpus/receiver-window-ack-latency.snd.pcap.gz");
    let mut explain = windlass();
    explain.arg("explain").arg(capture).arg("--annotate").arg(&notes);
    assert!(explain.output().unwrap().status.success());
    let shown = |words: &[&str]| {
        let mut tshark = at_home("tshark", home.path());
        tshark.args(["-C", "windlass", "--color", "-r"]).arg(&notes).args(words);
        let (stdout, stderr, code) = told(&tshark.output().unwrap());
        let wrong = |line: &&str| !line.starts_with("Running as user");
        assert_eq!((stderr.lines().find(wrong), code), (None, 0));
        stdout
    };
    let fields = ["-T", "fields", "-E", "occurrence=f"];
    let rules =
        shown(&[&fields[..], &["-e", "frame.comment", "-e", "frame.coloring_rule.name"]].concat());
    let rules: Vec<_> = rules.lines().filter_map(|line| line.split_once('\t')).collect();
    let mut by_rule = BTreeSet::new();
    for (note, rule) in rules {
        assert_eq!(note.is_empty(), !rule.starts_with("windlass: "), "{note}: {rule}");
        by_rule.insert(rule);
    }
    for rule in ["windlass: the window is filled", "windlass: an ACK that was waited for"] {
        assert!(by_rule.contains(rule), "{by_rule:?}");
    }
    // The columns: data and window of the packet that fills it, and the note.
    let columns = shown(&[]);
    let filled = columns.lines().find(|line| line.contains("window filled")).unwrap();
    let words: Vec<_> = filled.split_ascii_whitespace().collect();
    assert!(words.contains(&"1460") && words.contains(&"2920"), "{filled}");
    let (stdout, stderr, code) = own(home.path(), "--uninstall");
    assert_eq!((stderr.as_str(), code), ("", 0));
    assert!(stdout.contains("Removed the profile"), "{stdout}");
    let mut tshark = at_home("tshark", home.path());
    let output = tshark.args(["-C", "windlass", "-r"]).arg(&notes).output().unwrap();
    assert!(!output.status.success(), "it is gone");
}

#[test]
fn without_tshark_it_takes_the_folder_of_today() {
    let home = tempfile::tempdir().unwrap();
    let mut command = at_home(env!("CARGO_BIN_EXE_windlass"), home.path());
    let output = command.args(["extcap", "--install"]).env("PATH", home.path()).output().unwrap();
    assert_eq!(told(&output).2, 0);
    assert!(home.path().join(".local/lib/wireshark/extcap/windlass").is_file());
    let mut command = at_home(env!("CARGO_BIN_EXE_windlass"), home.path());
    command.args(["extcap", "--install"]).env("PATH", home.path()).env_remove("HOME");
    let (_, stderr, code) = told(&command.output().unwrap());
    assert!(code == 2 && stderr.contains("--folder"), "{stderr}");
}

#[test]
fn tshark_lists_both_and_captures_a_device() {
    let test = "tshark_lists_both_and_captures_a_device";
    if !has("tshark", test) || !devices(test) {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    assert_eq!(own(home.path(), "--install").2, 0);
    let tshark = |words: &[&str]| {
        let output = at_home("tshark", home.path()).args(words).output().unwrap();
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (listed, stderr) = tshark(&["-D"]);
    for line in ["windlass-ring (windlass: ring)", "windlass-device (windlass: emulated device)"] {
        assert!(listed.lines().any(|one| one.ends_with(line)), "{listed}{stderr}");
    }
    let (links, stderr) = tshark(&["-L", "-i", "windlass-device"]);
    assert!(links.contains("RAW (Raw IP)") || stderr.contains("RAW (Raw IP)"), "{links}{stderr}");
    // The profile's port is 9100, and its window 1,024 bytes.
    let fields = ["-T", "fields", "-e", "ip.dst", "-e", "tcp.dstport", "-e", "tcp.window_size"];
    let options = [
        "-i",
        "windlass-device",
        "-o",
        "extcap.windlass_device.profile:netgear-ps101",
        "-o",
        "extcap.windlass_device.bytes:30kB",
        "-c",
        "20",
    ];
    let (printed, stderr) = tshark(&[&options[..], &fields].concat());
    if stderr.contains("dumpcap") && printed.is_empty() {
        return skipped(test, stderr.trim());
    }
    assert_eq!(printed.lines().count(), 20, "{stderr}");
    assert!(printed.starts_with("192.0.2.2\t9100\t"), "{printed}");
    let from_device = printed.lines().filter(|line| line.starts_with("192.0.2.1\t"));
    let windows: BTreeSet<&str> =
        from_device.map(|line| line.rsplit('\t').next().unwrap()).collect();
    assert_eq!(windows, BTreeSet::from(["0", "1024"]), "{printed}");
    assert!(!stderr.contains("Error by extcap"), "{stderr}");
    // To the end of the transfer, which ends the capture.
    let file = home.path().join("job.pcapng");
    let whole = [&options[..6], &["-w", file.to_str().unwrap()]].concat();
    let (_, stderr) = tshark(&whole);
    assert!(!stderr.contains("Error by extcap"), "{stderr}");
    let (seen, _) = read(&fs::read(&file).unwrap());
    let sent = seen.segments.iter().filter(|segment| segment.destination.host == DEVICE);
    assert!(sent.map(|segment| u64::from(segment.payload)).sum::<u64>() >= 30_000);
    // What is wrong is shown by tshark.
    let wrong = ["-i", "windlass-device", "-o", "extcap.windlass_device.bytes:much"];
    let (_, stderr) = tshark(&wrong);
    assert!(stderr.contains("Error by extcap pipe: error: cannot send to the device"), "{stderr}");
}
