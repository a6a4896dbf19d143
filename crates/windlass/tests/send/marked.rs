//! IP options of sent packets are on the wire, both ways, and the packets leave by the chosen
//! interface.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use windlass_sys::namespace::Namespace;
use windlass_sys::process::{Process, Signal};
use windlass_wire::{Capture, Observer, Packet, Segment};

use super::checked;
use windlass_testkit::{has, skipped, told, windlass};

/// Seen fields of a packet: its source, the type of service, and the hops.
type Mark = (String, u8, u8);

/// The packets of a capture on `lo` that carry TCP to a port or from it, or ICMP.
#[derive(Default)]
struct Marks {
    port: u16,
    to: BTreeSet<Mark>,
    /// Those from there that carry data: no word of a control connection is so long.
    from: BTreeSet<Mark>,
    icmp: BTreeSet<Mark>,
    /// Source ports of SYNs and of long datagrams.
    ports: BTreeSet<u16>,
    /// Ports that SYNs go to.
    called: BTreeSet<u16>,
}

impl Observer for Marks {
    fn packet(&mut self, packet: &Packet<'_>) {
        let ip = &packet.data[14..];
        let (mark, protocol, head) = match ip[0] >> 4 {
            4 => {
                let source = format!("{}.{}.{}.{}", ip[12], ip[13], ip[14], ip[15]);
                ((source, ip[1], ip[8]), ip[9], 20)
            }
            _ => {
                let source: [u8; 16] = ip[8..24].try_into().unwrap();
                let class = ip[0] << 4 | ip[1] >> 4;
                ((std::net::Ipv6Addr::from(source).to_string(), class, ip[7]), ip[6], 40)
            }
        };
        if matches!(protocol, 1 | 58) {
            self.icmp.insert(mark);
            return;
        }
        let port = |at: usize| u16::from_be_bytes([ip[head + at], ip[head + at + 1]]);
        if protocol == 17 {
            // The datagrams that measure latency are shorter than those of data.
            if port(2) == self.port && packet.original_length > 1_000 {
                self.ports.insert(port(0));
            }
            return;
        }
        // What the kernel answers for a connection that is over has its own mark.
        let header = usize::from(ip[head + 12] >> 4) * 4;
        let is_syn = ip[head + 13] & 2 != 0;
        if is_syn && ip[head + 13] & 0x10 == 0 {
            self.called.insert(port(2));
        }
        if port(2) == self.port && is_syn {
            self.ports.insert(port(0));
        }
        let has_data = packet.original_length as usize > 14 + head + header;
        if port(2) == self.port && (is_syn || has_data) {
            self.to.insert(mark);
        } else if port(0) == self.port && packet.original_length > 20_000 {
            self.from.insert(mark);
        }
    }

    fn segment(&mut self, _: &Segment) {}
}

/// A host of its own, with a server.
struct Host {
    namespace: Namespace,
    server: Child,
    port: u16,
}

impl Host {
    fn start(test: &str, options: &[&str]) -> Option<Self> {
        let namespace = match Namespace::new() {
            Ok(namespace) => namespace,
            Err(refused) => {
                skipped(test, &refused.to_string());
                return None;
            }
        };
        let mut command = windlass();
        command.args(["serve", "--json", "--port", "5201"]).args(options).stdout(Stdio::piped());
        namespace.enter(&mut command);
        let mut server = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("\"listens\""), "{line}");
        Some(Self { namespace, server, port: 5_201 })
    }

    fn run(&self, command: &mut Command) -> (String, String, i32) {
        self.namespace.enter(command);
        told(&command.output().unwrap())
    }

    /// Captures `lo` while `work` runs.
    fn seen(&self, folder: &Path, work: impl FnOnce()) -> Marks {
        let file = folder.join("trace.pcapng");
        let _ = std::fs::remove_file(&file);
        let mut command = windlass();
        command.args(["capture", "lo", "-s", "128", "-w"]).arg(&file);
        self.namespace.enter(command.stdout(Stdio::null()).stderr(Stdio::null()));
        let mut capture = command.spawn().unwrap();
        let patience = Instant::now() + Duration::from_secs(60);
        while !std::fs::metadata(&file).is_ok_and(|about| about.len() > 0) {
            assert!(Instant::now() < patience, "nothing is captured");
            std::thread::sleep(Duration::from_millis(5));
        }
        work();
        Process::of_child(capture.id()).unwrap().signal(Signal::INT);
        assert!(capture.wait().unwrap().success());
        let mut marks = Marks { port: self.port, ..Marks::default() };
        Capture::new().read(&std::fs::read(&file).unwrap(), true, &mut marks);
        marks
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn only(source: &str, tos: u8, ttl: u8) -> BTreeSet<Mark> {
    [(source.to_owned(), tos, ttl)].into()
}

#[test]
fn the_packets_of_both_ends_are_marked() {
    let test = "the_packets_of_both_ends_are_marked";
    let Some(host) = Host::start(test, &[]) else { return };
    let folder = tempfile::tempdir().unwrap();
    let send = |to: &str, options: &str| {
        let mut report = Value::Null;
        let marks = host.seen(folder.path(), || {
            let mut command = windlass();
            // So much that a machine which starves one of the ends only makes it later.
            command.args(["send", to, "--json", "--bytes", "4M", "--length", "32k"]);
            let (stdout, stderr, code) = host.run(command.args(options.split_whitespace()));
            assert_eq!(code, 0, "{options}: {stderr}");
            report = checked("send", &stdout);
        });
        (marks, report)
    };
    let (marks, report) = send("127.0.0.1", "--dscp ef --ttl 5 --bind 127.0.0.9");
    assert_eq!(marks.to, only("127.0.0.9", 0xb8, 5));
    let ip = &report["transfer"]["ip"];
    assert_eq!((&ip["tos"], &ip["ttl"]), (&184.into(), &5.into()));
    assert_eq!(ip["bind"]["address"], "127.0.0.9");
    // What comes back is sent as it was asked for; a server is not bound by a client.
    let (marks, _) = send("127.0.0.1", "--tos 0x20 --ttl 7 --bind 127.0.0.9%lo --reverse");
    assert_eq!(marks.from, only("127.0.0.1", 0x20, 7));
    let (marks, _) = send("127.0.0.1", "--bind %lo --no-latency");
    assert_eq!(marks.to, only("127.0.0.1", 0, 64));
    if std::net::TcpListener::bind("[::1]:0").is_ok() {
        let (marks, _) = send("::1", "--dscp af11 --ttl 9 --streams 2");
        assert_eq!(marks.to, only("::1", 40, 9));
        let (marks, _) = send("::1", "--dscp af11 --ttl 9 --reverse");
        assert_eq!(marks.from, only("::1", 40, 9));
    }
    // A stock client's -S is served, too.
    if has("iperf3", test) {
        let marks = host.seen(folder.path(), || {
            let mut client = Command::new("iperf3");
            let line = "-c 127.0.0.1 -n 4M -R --dscp af11 -l 32K";
            let (stdout, stderr, code) = host.run(client.args(line.split(' ')));
            assert_eq!(code, 0, "{stdout} {stderr}");
        });
        assert_eq!(marks.from, only("127.0.0.1", 40, 64));
    }
}

#[test]
fn data_comes_from_the_ports_that_were_asked_for() {
    let test = "data_comes_from_the_ports_that_were_asked_for";
    let Some(host) = Host::start(test, &[]) else { return };
    let folder = tempfile::tempdir().unwrap();
    let ports = |options: &str| {
        let marks = host.seen(folder.path(), || {
            let mut command = windlass();
            command.args(["send", "127.0.0.1", "--json", "--bytes", "1M", "--length", "1400"]);
            let (stdout, stderr, code) = host.run(command.args(options.split_whitespace()));
            assert_eq!(code, 0, "{options}: {stderr}");
            assert_eq!(checked("send", &stdout)["transfer"]["ip"]["bind"]["port"], 40_000);
        });
        // The control connection comes from another port.
        marks.ports.range(40_000..40_008).copied().collect::<Vec<_>>()
    };
    assert_eq!(ports("--cport 40000 --no-latency"), [40_000]);
    // The last connection from there is remembered for a minute.
    assert_eq!(ports("--cport 40000 --streams 3"), [40_000, 40_001, 40_002]);
    assert_eq!(ports("--cport 40000 --streams 2 --protocol iperf3"), [40_000, 40_001]);
    let datagrams = "--cport 40000 --streams 2 --udp --pace 1gbit";
    assert_eq!(ports(datagrams), [40_000, 40_001]);
    assert_eq!(ports(&format!("{datagrams} --protocol iperf3")), [40_000, 40_001]);
}

#[test]
fn questions_of_each_kind_are_marked() {
    let test = "questions_of_each_kind_are_marked";
    let Some(host) = Host::start(test, &[]) else { return };
    let folder = tempfile::tempdir().unwrap();
    let ping = |line: &str| {
        host.seen(folder.path(), || {
            let mut command = windlass();
            command.args(["ping", "--json", "--count", "3", "--rate", "flood"]);
            let marked = ["--dscp", "cs1", "--ttl", "3", "--bind", "127.0.0.9%lo"];
            let (stdout, stderr, code) =
                host.run(command.args(marked).args(line.split_whitespace()));
            assert_eq!(code, 0, "{line}: {stderr}");
            assert_eq!(checked("ping", &stdout)["ip"]["tos"], 32);
        })
    };
    assert_eq!(ping("127.0.0.1:5201").to, only("127.0.0.9", 32, 3));
    assert_eq!(ping("127.0.0.1 --latency").to, only("127.0.0.9", 32, 3));
    // The answer of the system has the mark of the question.
    let icmp = ping("127.0.0.1").icmp;
    assert!(icmp.contains(&("127.0.0.9".to_owned(), 32, 3)), "{icmp:?}");
}

#[test]
fn what_cannot_be_set_is_told() {
    let test = "what_cannot_be_set_is_told";
    let Some(host) = Host::start(test, &["--bind", "%lo"]) else { return };
    let cases = [
        ("send 127.0.0.1 --bind 198.51.100.1", 1, "the address to send from"),
        ("send 127.0.0.1 --bind %nosuch", 1, "the interface"),
        ("send 127.0.0.1 --bind ::1", 1, "other family"),
        ("send 127.0.0.1 --dscp nothing", 2, "af11"),
        ("send 127.0.0.1 --tos 1 --dscp ef", 2, "cannot be used with"),
        ("send 127.0.0.1 --ttl 0", 2, "--ttl"),
        ("send 127.0.0.1 --cport 65535 --streams 2", 2, "need 2 source ports"),
        ("send 127.0.0.1 --cport 5201 --bind 127.0.0.1", 1, "the address and port to send from"),
        ("sweep --simulate gigabit --ttl 5", 2, "no IP packets"),
        ("ping 127.0.0.1:5201 --bind 198.51.100.1", 1, "the address to send from"),
        ("serve --port 0 --bind %nosuch", 1, "the interface"),
    ];
    for (line, expected, wanted) in cases {
        let (stdout, stderr, code) = host.run(windlass().args(line.split(' ')));
        assert_eq!(code, expected, "{line}: {stdout} {stderr}");
        assert!(stderr.contains(wanted), "{line}: {stderr}");
    }
    // A server that keeps to an interface is there on it.
    let (_, stderr, code) =
        host.run(windlass().args(["send", "127.0.0.1", "--bytes", "1M", "--no-latency"]));
    assert_eq!(code, 0, "{stderr}");
}

#[test]
fn all_connections_go_to_one_port() {
    let Some(host) = Host::start("all_connections_go_to_one_port", &[]) else { return };
    let folder = tempfile::tempdir().unwrap();
    let seen = host.seen(folder.path(), || {
        for words in [
            "send ::1 --time 300ms --window 32k --mss 1000 --streams 2",
            "send 127.0.0.1 --time 300ms --window 32k --reverse",
            "send 127.0.0.1 --protocol iperf3 --time 1s --window 64k",
            "ping 127.0.0.1 --latency --count 3",
            "sweep 127.0.0.1 --within 2s",
        ] {
            let (_, stderr, code) = host.run(windlass().args(words.split(' ')));
            assert_eq!(code, 0, "{words}: {stderr}");
        }
    });
    assert_eq!(seen.called, [host.port].into());
}

#[test]
fn link_local_addresses_are_reached_by_tcp_and_udp() {
    let test = "link_local_addresses_are_reached_by_tcp_and_udp";
    let Some(host) = Host::start(test, &[]) else { return };
    if host.namespace.add_address("lo", "fe80::1".parse().unwrap(), 64).is_err() {
        return skipped(test, "there is no IPv6");
    }
    for words in [
        "send fe80::1%lo --time 300ms --bind fe80::1%lo",
        "send [fe80::1%lo]:5201 --time 300ms --window 32k --reverse",
        "send fe80::1%lo --time 300ms --udp",
        "send fe80::1%lo --time 1s --udp --protocol iperf3",
        "ping fe80::1%lo --icmp --count 1",
        "ping [fe80::1%lo]:5201 --count 1",
        "ping fe80::1%lo --latency --count 3",
        "ping fe80::1%lo --udp --count 3",
        "sweep fe80::1%lo --within 1s",
    ] {
        let (_, stderr, code) = host.run(windlass().args(words.split(' ')));
        assert_eq!(code, 0, "{words}: {stderr}");
    }
}
