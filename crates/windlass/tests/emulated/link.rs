//! `windlass link` with real programs across it.
//!
//! All traffic stays in namespaces that the runs make. Bounds on time are wide:
//! `cargo bench -p windlass --bench link` measures.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::process::Stdio;

use serde_json::Value;
use windlass::commands::watched::WatchedRecord;
use windlass_base::{Bytes, Quantiles, Rate, Span};
use windlass_host::CurrentRun;
use windlass_netlab::link::{
    Addresses, Delay, Fading, HalfDuplex, LinkDirectionReport, LinkRunReport, LinkSettings,
    PeerReport, Policer,
};
use windlass_netlab::{Ending, Scheduling};
use windlass_output::Format;
use windlass_sys::process::{Process, Signal};

use windlass_testkit::clock::{in_real_time, kept_by_link};
use windlass_testkit::figures::{figures, missing};
use windlass_testkit::left::nothing_is_left;
use windlass_testkit::printed::printed;
use windlass_testkit::schema::fits;
use windlass_testkit::{has, skipped, told, windlass};

/// Returns whether links can be made here. If not, the test says that it is skipped.
fn links(test: &str) -> bool {
    let output = windlass().args(["link", "--", "true"]).output().unwrap();
    let (_, stderr, code) = told(&output);
    if code != 0 {
        skipped(test, stderr.lines().next().unwrap_or("no link can be made"));
    }
    code == 0
}

/// A run of `link` with its report as JSON.
struct Run {
    stdout: String,
    stderr: String,
    code: i32,
    report: Value,
}

fn link(options: &[&str], command: &[&str]) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.json");
    let output = windlass()
        .args(["link", "--json", "--report"])
        .arg(&file)
        .args(options)
        .arg("--")
        .args(command)
        .output()
        .unwrap();
    let (stdout, stderr, code) = told(&output);
    let text = fs::read_to_string(file).unwrap();
    let report = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}{stderr}"));
    fits("link", &report);
    Run { stdout, stderr, code, report }
}

fn number(report: &Value, pointer: &str) -> f64 {
    report.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("{pointer}: {report}"))
}

#[test]
fn a_ping_takes_the_round_trip() {
    let test = "a_ping_takes_the_round_trip";
    if !has("ping", test) || !links(test) {
        return;
    }
    let ping = |address: &str| {
        let ping = ["ping", "-q", "-c", "10", "-i", "0.05", address];
        let run = link(&["--rate", "100mbit", "--rtt", "20ms"], &ping);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""));
        // An idle link carries what was sent and nothing else.
        assert_eq!(number(&run.report, "/up/packets"), 10.0);
        assert_eq!(number(&run.report, "/down/packets"), 10.0);
        // rtt min/avg/max/mdev = 20.1/20.2/20.5/0.1 ms
        let (_, times) = run.stdout.rsplit_once("= ").unwrap();
        let least: f64 = times.split('/').next().unwrap().parse().unwrap();
        let way = number(&run.report, "/up/delay_seconds/min");
        // However late the machine is, nothing is too early.
        assert!(least >= 20.0 && way >= 0.010, "{least} {way}");
        (least, way)
    };
    let addresses = ["192.0.2.2", "2001:db8::2"];
    for address in addresses {
        ping(address);
    }
    in_real_time(test, || {
        for (least, way) in addresses.map(ping) {
            assert!(least < 25.0 && way < 0.0125, "{least} {way}");
        }
    });
}

#[test]
fn the_ways_may_differ() {
    let test = "the_ways_may_differ";
    if !has("ping", test) || !links(test) {
        return;
    }
    let options = ["--rtt", "10ms", "--up-delay", "30ms", "--down-loss", "100%", "--seed", "7"];
    let run = link(&options, &["ping", "-q", "-c", "3", "-i", "0.01", "-W", "2", "192.0.2.2"]);
    assert_eq!(run.code, 1, "{}", run.stdout);
    assert!(run.stdout.contains("3 packets transmitted, 0 received"), "{}", run.stdout);
    assert!(run.stderr.contains("failed: it ended with exit status 1"), "{}", run.stderr);
    assert_eq!(run.report["ending"]["exit_status"], 1);
    assert_eq!(number(&run.report, "/down/lost"), 3.0);
    assert_eq!(number(&run.report, "/down/packets"), 0.0);
    assert_eq!(run.report["down"]["delay_seconds"], Value::Null);
    assert!(number(&run.report, "/up/delay_seconds/min") >= 0.030);
    assert_eq!(number(&run.report, "/down/settings/delay_seconds"), 0.005);
    assert_eq!(number(&run.report, "/seed"), 7.0);
}

#[test]
fn a_transfer_takes_the_rate_and_keeps_to_the_queue() {
    let test = "a_transfer_takes_the_rate_and_keeps_to_the_queue";
    if !has("iperf3", test) || !links(test) {
        return;
    }
    let options = [
        "--rate",
        "20mbit",
        "--rtt",
        "10ms",
        "--queue",
        "64k",
        "--peer",
        "iperf3 -s -1 >/dev/null",
    ];
    let iperf3 = ["iperf3", "-c", "192.0.2.2", "-C", "cubic", "-t", "3", "--json"];
    in_real_time(test, || {
        let run = link(&options, &iperf3);
        kept_by_link(&run.report);
        assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
        let said: Value = serde_json::from_str(&run.stdout).unwrap();
        let rate = number(&said, "/end/sum_received/bits_per_second");
        // The line allows 19.3 Mbit/s of payload.
        assert!((10e6..20e6).contains(&rate), "{rate}");
        let high = number(&run.report, "/up/queue_high_water_bytes");
        assert!((30_000.0..=65_536.0).contains(&high), "{high}");
        assert!(number(&run.report, "/up/dropped_by_queue") > 0.0);
        assert!(number(&run.report, "/up/busy") > 0.5);
        assert_eq!(number(&run.report, "/up/missed"), 0.0);
        assert_eq!(run.report["peer"]["command"], "iperf3 -s -1 >/dev/null");
        // 5 ms of delay, 26 ms of queue, and what a busy machine adds.
        assert!(number(&run.report, "/up/delay_seconds/mean") < 0.060, "{}", run.report["up"]);
    });
}

#[test]
fn both_ways_share_a_radio_and_a_policer_lets_its_rate_pass() {
    let test = "both_ways_share_a_radio_and_a_policer_lets_its_rate_pass";
    if !has("iperf3", test) || !links(test) {
        return;
    }
    let peer = "iperf3 -s -1 >/dev/null";
    let iperf3 = ["iperf3", "-c", "192.0.2.2", "-C", "cubic", "-t", "2", "--bidir", "--json"];
    let radio = ["--rate", "20mbit", "--half-duplex", "400us", "--rtt", "10ms", "--queue", "64k"];
    let run = link(&[&radio[..], &["--peer", peer]].concat(), &iperf3);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let [up, down] = ["/up/busy", "/down/busy"].map(|way| number(&run.report, way));
    assert!(up > 0.0 && down > 0.0 && up + down <= 1.0, "{up} and {down}");
    // Packets of 1,500 bytes take 1 ms there, and at least 0.4 ms each in any case.
    let packets = number(&run.report, "/up/packets") + number(&run.report, "/down/packets");
    assert!(packets * 0.000_4 < number(&run.report, "/seconds"), "{packets}");
    let policed = ["--rtt", "10ms", "--policer", "20mbit", "--burst", "30k", "--peer", peer];
    let run = link(&policed, &["iperf3", "-c", "192.0.2.2", "-C", "cubic", "-t", "2"]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    assert!(number(&run.report, "/up/policed") > 0.0);
    let seconds = number(&run.report, "/seconds");
    let most = 20e6 / 8.0 * seconds + 30_720.0;
    assert!(number(&run.report, "/up/bytes") <= most, "{}", run.report["up"]);
}

/// Packets with a long queueing time are marked if the sender allows it, and the far end accepts
/// them.
#[test]
fn a_queue_marks_what_waits_for_long() {
    let test = "a_queue_marks_what_waits_for_long";
    if !has("ping", test) || !links(test) {
        return;
    }
    for address in ["192.0.2.2", "2001:db8::2"] {
        for (ecn, is_marked) in [("2", true), ("0", false)] {
            // Ten come at once, and each takes the line 4 ms or more.
            let ping = ["ping", "-q", "-c", "20", "-l", "10", "-s", "1000", "-i", "0.05"];
            let ping = [&ping[..], &["-Q", ecn, address]].concat();
            let marking = ["--rate", "2mbit", "--rtt", "4ms", "--queue", "1M", "--mark", "10ms"];
            let mut run = link(&marking, &ping);
            // On a machine with a lot to do no pong may come within the half second of the pings.
            if run.code == 1 {
                run = link(&marking, &ping);
            }
            assert_eq!((run.code, run.stderr.as_str()), (0, ""));
            assert!(run.stdout.contains("20 received"), "{}", run.stdout);
            let marked = number(&run.report, "/up/marked");
            assert_eq!(marked > 0.0, is_marked, "{address}, {ecn}: {marked}");
            assert!(marked < 20.0, "the first does not wait");
        }
    }
}

/// On a fast line segments arrive that are one packet: the far end's kernel must take them for
/// what was sent, and a slow line has each by itself.
#[test]
fn what_arrives_as_one_is_what_was_sent() {
    let test = "what_arrives_as_one_is_what_was_sent";
    if !has("python3", test) || !links(test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let said = folder.path().join("said.json");
    // Says what came, how many packets the interface counted, and what TCP found damaged.
    let peer = format!(
        "python3 -c '\
import hashlib, json, socket
listener = socket.create_server((\"::\", 9000), family=socket.AF_INET6, dualstack_ipv6=True)
connection, _ = listener.accept()
came = hashlib.sha256()
while data := connection.recv(1 << 20):
    came.update(data)
count = [line.split()[2] for line in open(\"/proc/net/dev\") if \"tun0\" in line]
names, values = [line.split() for line in open(\"/proc/net/snmp\") if line.startswith(\"Tcp:\")]
damaged = dict(zip(names, values))[\"InCsumErrors\"]
says = {{\"came\": came.hexdigest(), \"packets\": int(count[0]), \"damaged\": int(damaged)}}
open(\"{}\", \"w\").write(json.dumps(says))
connection.send(b\"!\")
'",
        said.display()
    );
    let send = "
import hashlib, random, socket, sys
data = random.Random(1).randbytes(8_000_000)
connection = socket.create_connection((sys.argv[1], 9000))
connection.sendall(data)
connection.shutdown(socket.SHUT_WR)
assert connection.recv(1)
print(hashlib.sha256(data).hexdigest())";
    for (rate, address) in
        [("10gbit", "192.0.2.2"), ("10gbit", "2001:db8::2"), ("100mbit", "192.0.2.2")]
    {
        let options = ["--rate", rate, "--rtt", "2ms", "--queue", "1m", "--peer", &peer];
        let run = link(&options, &["python3", "-c", send, address]);
        assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
        let said: Value = serde_json::from_str(&fs::read_to_string(&said).unwrap()).unwrap();
        assert_eq!(said["came"], run.stdout.trim());
        assert_eq!(said["damaged"], 0);
        let (sent, came) = (number(&run.report, "/up/packets"), number(&said, "/packets"));
        if rate == "10gbit" {
            assert!(came < sent / 2.0, "{came} of {sent}");
        } else {
            // What ends the connection comes after the peer has counted.
            assert!(sent - came <= 3.0, "{came} of {sent}");
        }
    }
}

/// A queue drops what comes faster than the line for too long, not what is looked at late.
#[test]
fn a_link_that_is_held_up_drops_nothing_for_it() {
    let test = "a_link_that_is_held_up_drops_nothing_for_it";
    if !has("bash", test) || !links(test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.json");
    // 100 datagrams of 1 kB, 3 ms apart at the least, need no more than a third of the line.
    // What is refused afterwards has gone behind them.
    let send = "echo begun; payload=$(printf %01000d 0)
        for i in {1..100}; do printf %s $payload >/dev/udp/192.0.2.2/9; sleep 0.003; done
        echo sent; (exec 4<>/dev/tcp/192.0.2.2/1) 2>/dev/null; exit 0";
    let mut link = windlass();
    link.args(["link", "--json", "--rate", "8mbit", "--rtt", "20ms", "--queue", "15000"]);
    link.arg("--report").arg(&file).args(["--", "bash", "-c", send]).stdout(Stdio::piped());
    let mut link = link.spawn().unwrap();
    let process = Process::of_child(link.id()).unwrap();
    let mut lines = BufReader::new(link.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "begun");
    process.signal(Signal::STOP);
    // The command is a process of its own.
    assert_eq!(lines.next().unwrap().unwrap(), "sent");
    process.signal(Signal::CONT);
    assert!(link.wait().unwrap().success());
    let report: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    fits("link", &report);
    assert_eq!(number(&report, "/up/dropped_by_queue"), 0.0);
    assert_eq!(number(&report, "/up/missed"), 0.0);
    assert!(number(&report, "/up/packets") >= 101.0, "{}", report["up"]);
    // It says how late it was: those that were sent first waited longest.
    assert!(number(&report, "/up/late_seconds/max") > 0.2, "{}", report["up"]);
    assert!(number(&report, "/lengthened") > 1.0);
}

#[test]
fn a_record_has_standard_output_for_itself() {
    let test = "a_record_has_standard_output_for_itself";
    if !links(test) {
        return;
    }
    let mut link = windlass();
    link.args(["link", "--json", "--rtt", "2ms", "--", "echo", "of the command"]);
    let (stdout, stderr, code) = told(&link.output().unwrap());
    assert_eq!(code, 0, "{stderr}");
    fits("link", &serde_json::from_str(&stdout).unwrap());
    assert!(stderr.contains("of the command"), "{stderr}");
}

#[test]
fn the_environment_has_the_addresses() {
    let test = "the_environment_has_the_addresses";
    if !links(test) {
        return;
    }
    let show = "echo $WINDLASS_LOCAL $WINDLASS_PEER $WINDLASS_LOCAL6 $WINDLASS_PEER6";
    let run = link(&["--peer", show], &["sh", "-c", show]);
    assert_eq!(run.stdout, "192.0.2.1 192.0.2.2 2001:db8::1 2001:db8::2\n");
    // The peer's output is kept apart from the command's.
    assert_eq!(run.stderr, "192.0.2.2 192.0.2.1 2001:db8::2 2001:db8::1\n");
    assert_eq!(run.report["peer"]["ending"]["exit_status"], 0);
    assert_eq!(run.report["command"][2], show);
}

#[test]
fn the_text_goes_to_standard_error() {
    let test = "the_text_goes_to_standard_error";
    if !links(test) {
        return;
    }
    let output = windlass().args(["link", "--rtt", "1ms", "--", "echo", "mine"]).output().unwrap();
    let (stdout, stderr, code) = told(&output);
    assert_eq!((stdout.as_str(), code), ("mine\n", 0));
    assert!(stderr.contains("echo mine: ended with exit status 0"), "{stderr}");
}

#[test]
fn commands_that_fail_are_named() {
    let test = "commands_that_fail_are_named";
    if !links(test) {
        return;
    }
    let run = link(&[], &["sh", "-c", "kill -KILL $$"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("it was ended by signal 9 (SIGKILL)"), "{}", run.stderr);
    assert_eq!(run.report["ending"]["signal"], 9);
    let output = windlass().args(["link", "--", "/no/such/program"]).output().unwrap();
    let (_, stderr, code) = told(&output);
    assert_eq!(code, 1);
    assert!(stderr.contains("cannot run `/no/such/program`: "), "{stderr}");
    let output = windlass().args(["link", "--report", "/no/such/folder/x", "--", "true"]).output();
    let (_, stderr, code) = told(&output.unwrap());
    assert_eq!(code, 1);
    assert!(stderr.contains("cannot write the report to /no/such/folder/x"), "{stderr}");
    let (_, _, code) =
        told(&windlass().args(["link", "--mtu", "576", "--", "true"]).output().unwrap());
    assert_eq!(code, 2);
}

#[test]
fn nothing_is_left_behind_however_it_ends() {
    let test = "nothing_is_left_behind_however_it_ends";
    if !has("setsid", test) || !links(test) {
        return;
    }
    nothing_is_left(|near, far| {
        let mut link = windlass();
        link.args(["link", "--json", "--peer", far]);
        link.args(["--peer-wait", "1ms", "--", "sh", "-c", near]);
        link
    });
}

/// A report in which no two figures are alike.
fn example() -> LinkRunReport {
    let way = |k: u64| LinkDirectionReport {
        settings: LinkSettings {
            rate: Some(Rate::from_bits_per_second(1e8 + 1e7 * k as f64)),
            delay: Span::from_micros(1_225 + k.cast_signed()),
            queue: Some(Bytes::new(30_625 + k)),
            loss: 0.0012 + 0.001 * k as f64,
            jitter: Span::from_micros(310 + k.cast_signed()),
            reorder: 0.021 + 0.01 * k as f64,
            reorder_by: Span::from_micros(1_700 + k.cast_signed()),
            mark: Some(Span::from_micros(4_900 + k.cast_signed())),
            policer: Some(Policer {
                rate: Rate::from_bits_per_second(5.1e7 + 1e6 * k as f64),
                burst: Bytes::new(65_600 + k),
            }),
            half_duplex: Some(HalfDuplex { access: Span::from_micros(45 + k.cast_signed()) }),
            fading: Some(Fading {
                least: Rate::from_bits_per_second(1.9e7 + 1e6 * k as f64),
                every: Span::from_millis(222 + k.cast_signed()),
            }),
            ..LinkSettings::PERFECT
        },
        packets: 63_689 + k,
        bytes: Bytes::new(95_507_281 + k),
        dropped_by_queue: 151 + k,
        policed: 33 + k,
        lost: 76 + k,
        reordered: 1_273 + k,
        marked: 412 + k,
        missed: Some(17 + k),
        refused: 5 + k,
        queue_high_water_bytes: Bytes::new(30_000 + k),
        busy: 0.954 - 0.1 * k as f64,
        delay_seconds: Some(Delay {
            min: Span::from_micros(1_231),
            mean: Span::from_micros(2_503),
            max: Span::from_micros(3_714),
        }),
        late_seconds: Some(Quantiles {
            count: 63_689 + k,
            min: Span::from_nanos(211),
            mean: Span::from_nanos(1_103),
            p50: Span::from_nanos(847),
            p90: Some(Span::from_nanos(6_912)),
            p99: Some(Span::from_nanos(17_408)),
            p99_9: Some(Span::from_nanos(96_256)),
            max: Span::from_micros(201),
        }),
    };
    let end = |last| Addresses {
        ipv4: Ipv4Addr::new(192, 0, 2, last),
        ipv6: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last.into()),
    };
    LinkRunReport {
        schema: LinkRunReport::SCHEMA,
        command: vec!["iperf3".into(), "-c".into(), "192.0.2.2".into()],
        ending: Ending { exit_status: None, signal: Some(2) },
        interrupted: true,
        peer: Some(PeerReport { command: "iperf3 -s -1".into(), ending: Ending::default() }),
        local_addresses: end(1),
        peer_addresses: end(2),
        seconds: Span::from_millis(8_060),
        mtu_bytes: 1_500,
        seed: 42,
        scheduling: Scheduling::Preferred,
        lengthened: Some(0.000_9),
        up: way(0),
        down: way(1),
    }
}

#[test]
fn every_figure_of_the_text_is_in_the_json() {
    let report = example();
    let text = printed(&report, Format::Text);
    insta::assert_snapshot!("link_report", text);
    let json: Value = serde_json::from_str(&printed(
        &WatchedRecord::new(&report, CurrentRun::begin(None)),
        Format::Json,
    ))
    .unwrap();
    fits("link", &json);
    // `99 of 100` is the name of a row.
    let text = text.replace("99 of 100", "");
    assert!(figures(&text).len() > 40);
    let missing = missing(&text, &json, &[]);
    assert!(missing.is_empty(), "{missing:#?}\n{text}");
    // And every number is in the text, but for what the text leaves to it.
    assert!(text.contains("was ended by signal 2 (SIGINT), interrupted"), "{text}");
}

#[test]
fn what_did_not_happen_is_not_a_figure() {
    let mut report = example();
    for way in [&mut report.up, &mut report.down] {
        (way.delay_seconds, way.late_seconds, way.missed) = (None, None, None);
        way.settings = LinkSettings { delay: way.settings.delay, ..LinkSettings::PERFECT };
        way.policed = 0;
    }
    report.peer = None;
    report.ending = Ending { exit_status: Some(0), signal: None };
    insta::assert_snapshot!("link_report_of_an_idle_link", printed(&report, Format::Text));
    fits(
        "link",
        &serde_json::from_str(&printed(
            &WatchedRecord::new(&report, CurrentRun::begin(None)),
            Format::Json,
        ))
        .unwrap(),
    );
}
