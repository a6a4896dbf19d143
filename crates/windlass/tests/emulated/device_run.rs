//! `windlass device run` with real senders.
//!
//! All traffic stays in namespaces that the runs make. The devices' latency
//! decides the rates, so they hold on a busy machine.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use windlass::commands::watched::WatchedRecord;
use windlass_base::{Bytes, Rate, Span};
use windlass_host::CurrentRun;
use windlass_lab::{Profile, Scenario};
use windlass_netlab::device::{
    CaptureSummary, Connection, DeviceFacts, DeviceRunReport, ExtraPorts, IppTotals, LinkDirection,
    LinkReport, LprTotals, Services,
};
use windlass_netlab::{Ending, Scheduling};
use windlass_output::Format;
use windlass_wire::{Endpoint, Host};

use windlass_testkit::clock::in_real_time;
use windlass_testkit::figures::{figures, missing};
use windlass_testkit::left::nothing_is_left;
use windlass_testkit::printed::printed;
use windlass_testkit::schema::fits;
use windlass_testkit::{devices, has, is_root, repository, skipped, told, windlass};

/// Returns whether devices can run here, and python3 is there for the senders.
fn senders(test: &str) -> bool {
    has("python3", test) && devices(test)
}

fn sender(name: &str) -> String {
    let path = repository("crates/windlass/tests/senders").join(name);
    path.canonicalize().unwrap().to_str().unwrap().to_owned()
}

/// A run with its report as JSON.
struct Run {
    stdout: String,
    stderr: String,
    code: i32,
    report: Value,
}

fn device_run(options: &[&str], command: &[&str]) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.json");
    let output = windlass()
        .args(["device", "run", "--json", "--report"])
        .arg(&file)
        .args(options)
        .arg("--")
        .args(command)
        .output()
        .unwrap();
    let (stdout, stderr, code) = told(&output);
    let text = fs::read_to_string(file).unwrap();
    let report = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}{stderr}"));
    fits("device-run", &report);
    Run { stdout, stderr, code, report }
}

fn number(report: &Value, pointer: &str) -> f64 {
    report.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("{pointer}: {report}"))
}

fn connections(report: &Value) -> &[Value] {
    report["connections"].as_array().unwrap()
}

/// The bytes that came by a service, the least first.
fn received(report: &Value, service: &str) -> Vec<u64> {
    let of_service = connections(report).iter().filter(|one| one["service"] == service);
    let mut bytes: Vec<u64> =
        of_service.map(|one| one["received_bytes"].as_u64().unwrap()).collect();
    bytes.sort_unstable();
    bytes
}

fn cause(connection: &Value) -> String {
    let word = |name: &str| connection["verdict"][name].as_str().unwrap_or("-").to_owned();
    format!("{} / {}", word("limit"), word("because"))
}

#[test]
fn a_sender_finds_the_device() {
    let test = "a_sender_finds_the_device";
    if !has("bash", test) || !devices(test) {
        return;
    }
    let script = "env | grep -E '^WINDLASS_(DEVICE|LOCAL|PEER|RAW|LPR|IPP)=' | sort; \
        for port in 9100 515 9101 631 1515 8631 80; do \
          (: > /dev/tcp/192.0.2.2/$port) 2>/dev/null && echo $port open || echo $port closed; \
        done";
    let options = [
        "netgear-ps101",
        "--port",
        "9101",
        "--lpr-port",
        "1515",
        "--ipp-port",
        "8631",
        "--ipp-port",
        "631",
    ];
    let run = device_run(&options, &["bash", "-c", script]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert_eq!(
        run.stdout.lines().collect::<Vec<_>>(),
        [
            "WINDLASS_DEVICE=192.0.2.2",
            "WINDLASS_IPP=631",
            "WINDLASS_LOCAL=192.0.2.1",
            "WINDLASS_LPR=515",
            "WINDLASS_PEER=192.0.2.2",
            "WINDLASS_RAW=9100",
            "9100 open",
            "515 open",
            "9101 open",
            "631 open",
            "1515 open",
            "8631 open",
            "80 closed",
        ]
    );
    assert_eq!(run.report["device"]["services"]["lpr_in_profile"], false);
    assert_eq!(run.report["device"]["services"]["ipp_in_profile"], false);
    assert_eq!(run.report["device"]["services"]["more_ipp"], serde_json::json!([8_631]));
    assert_eq!(number(&run.report, "/without_data"), 7.0);
    assert!(connections(&run.report).is_empty());
}

#[test]
fn the_device_answers_ping() {
    let test = "the_device_answers_ping";
    if !has("ping", test) || !devices(test) {
        return;
    }
    let ping = || {
        let ping = ["ping", "-q", "-c", "5", "-i", "0.05", "-s", "1400", "192.0.2.2"];
        let run = device_run(&["healthy", "--rtt", "20ms"], &ping);
        assert_eq!(run.code, 0, "{}", run.stdout);
        assert_eq!(number(&run.report, "/pings"), 5.0);
        assert_eq!(number(&run.report, "/link/up/packets"), 5.0);
        let (_, times) = run.stdout.rsplit_once("= ").unwrap();
        let least: f64 = times.split('/').next().unwrap().parse().unwrap();
        // However late the machine is, nothing is too early.
        assert!(least >= 20.0, "{}", run.stdout);
        least
    };
    ping();
    in_real_time(test, || {
        let least = ping();
        assert!(least < 25.0, "{least}");
    });
}

#[test]
fn jobs_come_by_raw_and_by_lpr_and_are_explained() {
    let test = "jobs_come_by_raw_and_by_lpr_and_are_explained";
    if !senders(test) {
        return;
    }
    let jobs = sender("jobs.py");
    let sent = || {
        let command = ["python3", &jobs, "raw", "60000", "lpr", "60000"];
        let run = device_run(&["hawking-h-ps1u"], &command);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""));
        run.report
    };
    let report = &sent();
    assert_eq!(received(report, "raw 9100"), [60_000]);
    // With LPR's own lines.
    let lines = "\u{2}any-queue\n\u{2}22 cfA001host\nHhost\nPme\nldfA001host\n\0\
                 \u{3}60000 dfA001host\n\0";
    assert_eq!(received(report, "LPR 515"), [60_000 + lines.len() as u64]);
    assert_eq!(number(report, "/lpr/data_files"), 1.0);
    assert_eq!(number(report, "/lpr/control_files"), 1.0);
    assert_eq!(number(report, "/lpr/data_bytes"), 60_000.0);
    let all: u64 =
        [received(report, "raw 9100"), received(report, "LPR 515")].concat().iter().sum();
    assert_eq!(report["read_bytes"], all);
    in_real_time(test, || {
        let report = sent();
        for connection in connections(&report) {
            // The document: 24,801 B/s.
            let rate = connection["bytes_per_second"].as_f64().unwrap();
            assert!((22e3..27e3).contains(&rate), "{connection}");
            assert_eq!(cause(connection), "receiver-window / ack-latency", "{connection}");
        }
        assert_eq!(number(&report, "/link/missed"), 0.0);
    });
}

#[test]
fn many_connections_at_once_and_after_each_other() {
    let test = "many_connections_at_once_and_after_each_other";
    if !senders(test) {
        return;
    }
    let jobs = sender("jobs.py");
    let sizes: Vec<String> = (1..=14).map(|size| (size * 10_000).to_string()).collect();
    let words = sizes.iter().flat_map(|size| ["raw", size.as_str()]);
    let expected: Vec<u64> = sizes.iter().map(|size| size.parse().unwrap()).collect();
    for order in ["at once", "in turn"] {
        let mut command = vec!["python3", jobs.as_str()];
        command.extend((order == "in turn").then_some("--in-turn"));
        command.extend(words.clone());
        // It holds 8 at a time: the others are told to wait by no answer.
        let run = device_run(&["healthy", "--top", "5", "--rate", "10mbit"], &command);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{order}");
        assert_eq!(received(&run.report, "raw 9100"), expected[9..], "{order}: the largest");
        assert_eq!(number(&run.report, "/left_out"), 9.0, "{order}");
        assert_eq!(run.report["read_bytes"], expected.iter().sum::<u64>(), "{order}");
        let dropped = number(&run.report, "/syns_dropped");
        assert_eq!(dropped > 0.0, order == "at once", "{order}: {dropped}");
    }
}

#[test]
fn what_a_command_has_written_arrives_after_it() {
    let test = "what_a_command_has_written_arrives_after_it";
    if !has("bash", test) || !devices(test) {
        return;
    }
    // The kernel takes it at once. The device takes 0.8 s.
    let script = "head -c 20000 /dev/zero > /dev/tcp/192.0.2.2/9100";
    let run = device_run(&["hawking-h-ps1u"], &["bash", "-c", script]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(received(&run.report, "raw 9100"), [20_000]);
    // By when a machine that starves it sees the command's end, a part of that may be over.
    assert!(number(&run.report, "/sending_on_seconds") > 0.0, "{}", run.report);
    assert_eq!(number(&run.report, "/unsent_bytes"), 0.0);
}

#[test]
fn a_capture_can_be_read_while_it_grows_and_says_the_same() {
    let test = "a_capture_can_be_read_while_it_grows_and_says_the_same";
    if !senders(test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let capture = folder.path().join("job.pcapng");
    fs::write(&capture, "what was there before").unwrap();
    let capture = capture.to_str().unwrap();
    // Until the end of the connection is in it.
    let script = format!(
        "python3 {} raw 100000; for try in $(seq 600); do said=$({} explain --json {capture}); \
         case $said in *'\"both_closed\": true'*) break;; esac; sleep 0.1; done; echo \"$said\"",
        sender("jobs.py"),
        env!("CARGO_BIN_EXE_windlass"),
    );
    let run = device_run(&["zephyr-delayed-ack", "--keep", capture], &["sh", "-c", &script]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let within: Value = serde_json::from_str(&run.stdout).unwrap();
    let after = windlass_testkit::captures::explained(Path::new(capture));
    let reported = &connections(&run.report)[0];
    for explained in [&within, &after] {
        assert_eq!(explained["connections"][0]["verdict"], reported["verdict"]);
        assert_eq!(explained["connections"][0]["bytes"], 100_000);
        assert_eq!(explained["capture"]["damage"], Value::Null);
    }
    assert_eq!(run.report["capture"]["file"], capture);
    assert_eq!(run.report["capture"]["packets"], after["totals"]["segments"]);
}

/// Packets that no honest host sends, and transfers before, among and after them.
#[test]
fn hostile_packets_do_not_end_it() {
    let test = "hostile_packets_do_not_end_it";
    if !senders(test) {
        return;
    }
    let hostile = sender("hostile.py");
    for (seed, profile) in [("1", "healthy"), ("2", "netgear-ps101"), ("3", "hawking-h-ps1u")] {
        let options = [profile, "--top", "60", "--rate", "1gbit"];
        let run = device_run(&options, &["python3", &hostile, seed, "20000", "40000"]);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{profile}");
        // They have passed the interface: what the link has is what came for the
        // device, and was no nonsense to begin with.
        assert!(number(&run.report, "/link/up/packets") > 2_000.0, "{}", run.report);
        let ports: Vec<&str> = run.stdout.lines().collect();
        assert_eq!(ports.len(), 2, "{}", run.stdout);
        for port in ports {
            let sender = format!("192.0.2.1:{port}");
            let honest = connections(&run.report).iter().find(|one| one["sender"] == sender);
            let honest = honest.unwrap_or_else(|| panic!("{profile}, {sender}: {}", run.report));
            assert_eq!(honest["received_bytes"], 40_000, "{profile}");
            assert!(honest["verdict"].is_object(), "{honest}");
        }
    }
}

/// A failed run: what it says, and its exit code.
fn fails(arguments: &[&str]) -> (String, i32) {
    let (stdout, stderr, code) =
        told(&windlass().args(["device", "run"]).args(arguments).output().unwrap());
    assert_eq!(stdout, "", "{arguments:?}");
    (stderr, code)
}

#[test]
fn what_is_wrong_is_named() {
    let test = "what_is_wrong_is_named";
    let (stderr, code) = fails(&["laserjet", "--", "true"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("cannot run the device laserjet: there is no profile of this name"));
    assert!(stderr.contains("netgear-ps101") && stderr.contains("./laserjet.toml"), "{stderr}");
    let (stderr, code) = fails(&["./no-such.toml", "--", "true"]);
    assert_eq!(code, 1);
    assert!(stderr.contains("cannot read the profile ./no-such.toml"), "{stderr}");
    let folder = tempfile::tempdir().unwrap();
    let wrong = folder.path().join("wrong.toml");
    let profile = "name = \"x\"\nabout = \"x\"\nsource = \"x\"\nservices = { raw = 9100 }\n";
    fs::write(&wrong, format!("{profile}[tcp]\nwindw = 5\n")).unwrap();
    let (stderr, code) = fails(&[wrong.to_str().unwrap(), "--", "true"]);
    assert_eq!(code, 1);
    assert!(stderr.contains("line 6, `windw = 5`: unknown field `windw`"), "{stderr}");
    let (stderr, code) = fails(&["healthy", "--port", "515", "--", "true"]);
    assert_eq!((code, stderr.contains("Healthy host has LPR there")), (2, true), "{stderr}");
    if !devices(test) {
        return;
    }
    let (stderr, code) = fails(&["healthy", "--", "/no/such/program"]);
    assert_eq!(code, 1);
    assert!(stderr.contains("cannot run `/no/such/program`: "), "{stderr}");
    let run = device_run(&["healthy"], &["sh", "-c", "exit 3"]);
    assert_eq!((run.code, &run.report["ending"]["exit_status"]), (1, &3.into()));
    assert!(run.stderr.contains("failed: it ended with exit status 3"), "{}", run.stderr);
}

#[test]
fn what_cannot_be_written_is_named() {
    let test = "what_cannot_be_written_is_named";
    if !devices(test) {
        return;
    }
    let says = |arguments: &[&str], expected: &str, exit: i32| {
        let (stderr, code) = fails(&[arguments, &["--", "true"]].concat());
        assert_eq!(code, exit, "{stderr}");
        assert!(stderr.contains(expected), "{stderr}");
    };
    says(&["healthy", "--keep", "/no/such/folder/x"], "cannot write /no/such/folder/x: ", 1);
    says(&["healthy", "--keep", "/dev/full"], "cannot write /dev/full: it exists and is no", 2);
    says(&["healthy", "--keep", "-"], "the command writes to standard output", 2);
    says(&["healthy", "--report", "/no/such/folder/x"], "cannot write the report to /no/", 1);
    says(&["healthy", "--report", "/dev/full"], "cannot write the report: No space left", 1);
}

#[test]
fn a_full_disk_ends_the_capture_and_not_the_run() {
    let test = "a_full_disk_ends_the_capture_and_not_the_run";
    // A disk of its own, which goes with the process that mounted it.
    if !has("unshare", test) || !senders(test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let disk = folder.path().to_str().unwrap();
    let script = format!(
        "mount -t tmpfs -o size=64k none {disk} || exit 77; \
         {} device run healthy --keep {disk}/job.pcapng -- python3 {} raw 400000; code=$?; \
         {} explain {disk}/job.pcapng; exit $code",
        env!("CARGO_BIN_EXE_windlass"),
        sender("jobs.py"),
        env!("CARGO_BIN_EXE_windlass"),
    );
    let mut command = Command::new("unshare");
    let output = command.args(["-m", "sh", "-c", &script]).stdin(Stdio::null()).output().unwrap();
    let (stdout, stderr, code) = told(&output);
    if code == 77 || stderr.contains("unshare failed") {
        return skipped(test, "no file system can be mounted");
    }
    assert_eq!(code, 1, "{stderr}");
    assert!(stderr.contains("raw 9100  400,000 B"), "the report is there: {stderr}");
    assert!(stderr.contains("job.pcapng: No space left on device"), "{stderr}");
    assert!(stdout.contains(":9100"), "what was written before can be read: {stdout}");
}

#[test]
fn nothing_is_left_behind_however_it_ends() {
    let test = "nothing_is_left_behind_however_it_ends";
    if !has("setsid", test) || !devices(test) {
        return;
    }
    nothing_is_left(|near, _| {
        let mut run = windlass();
        run.args(["device", "run", "healthy", "--json", "--", "sh", "-c", near]);
        run
    });
}

#[test]
fn ctrl_c_reports_what_was_measured() {
    let test = "ctrl_c_reports_what_was_measured";
    if !senders(test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.json");
    // 5 MB would take three minutes. Of 60 kB it has 40 when it says so: SIOCOUTQ
    // tells what is not acknowledged.
    let script = "import array, fcntl, os, socket, termios, time\n\
        s = socket.create_connection((os.environ['WINDLASS_DEVICE'], 9100))\n\
        s.sendall(bytes(60000))\n\
        left = array.array('i', [60000])\n\
        while left[0] > 20000:\n    \
            time.sleep(0.02)\n    \
            fcntl.ioctl(s, termios.TIOCOUTQ, left)\n\
        print('under way', flush=True)\n\
        s.sendall(bytes(5000000))";
    let mut run = windlass()
        .args(["device", "run", "hawking-h-ps1u", "--json", "--report"])
        .arg(&file)
        .args(["--", "python3", "-c", script])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(run.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let id = run.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let (_, stderr, code) = told(&run.wait_with_output().unwrap());
    assert_eq!(code, 1, "{stderr}");
    let report: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    fits("device-run", &report);
    assert_eq!(report["interrupted"], true);
    assert_eq!(cause(&connections(&report)[0]), "receiver-window / ack-latency", "{report}");
    assert!(received(&report, "raw 9100")[0] > 15_000, "{report}");
}

/// Runs windlass as somebody without rights, in mounts of its own, after the
/// shell has done something before.
fn without_rights(arguments: &str, before: &str) -> Option<(String, String, i32)> {
    // /dev/net/tun is open to all on most systems: here it is, too. The program
    // may lie where only root gets to.
    let folder = tempfile::tempdir().ok()?;
    fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).ok()?;
    let folder = folder.path().to_str()?;
    let script = format!(
        "set -e; mount -t tmpfs none {folder}; cd {folder}; mknod tun c 10 200; chmod 666 tun; \
         mount --bind tun /dev/net/tun; cp {} windlass; chmod 755 . windlass; \
         {before} exec setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all \
         --bounding-set=-all ./windlass {arguments}",
        env!("CARGO_BIN_EXE_windlass"),
    );
    let mut command = Command::new("unshare");
    let output = command.args(["-m", "sh", "-c", &script]).stdin(Stdio::null()).output().ok()?;
    Some(told(&output))
}

/// Returns whether an unprivileged user with a TUN device can be made here.
fn nobody(test: &str) -> bool {
    if !is_root() {
        skipped(test, "only root can become somebody without rights: other tests show the rest");
        return false;
    }
    let tools = has("unshare", test) && has("setpriv", test) && devices(test);
    if tools && !Path::new("/dev/net/tun").exists() {
        skipped(test, "there is no /dev/net/tun");
        return false;
    }
    tools
}

#[test]
fn it_needs_no_root() {
    let test = "it_needs_no_root";
    if !nobody(test) {
        return;
    }
    let arguments = "device run healthy -- bash -c \
        'id -u; head -c 50000 /dev/zero > /dev/tcp/192.0.2.2/9100'";
    let (stdout, stderr, code) = without_rights(arguments, "").unwrap();
    if stderr.contains("cannot make a user namespace") {
        return skipped(test, "user namespaces are forbidden");
    }
    assert_eq!((stdout.as_str(), code), ("65534\n", 0), "{stderr}");
    assert!(stderr.contains("raw 9100  50,000 B"), "{stderr}");
}

#[test]
fn where_neither_is_possible_it_says_what_is_forbidden() {
    let test = "where_neither_is_possible_it_says_what_is_forbidden";
    if !has("unshare", test) || !has("setpriv", test) {
        return;
    }
    for command in ["device run healthy -- true", "link -- true"] {
        // The count belongs to the user namespace in which it is set: the host's
        // stays as it is.
        let script = format!(
            "echo 0 > /proc/sys/user/max_user_namespaces || exit 77; \
             exec setpriv --inh-caps=-all --bounding-set=-all {} {command}",
            env!("CARGO_BIN_EXE_windlass"),
        );
        let unshare = Command::new("unshare")
            .args(["--user", "--map-root-user", "sh", "-c", &script])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let (_, stderr, code) = told(&unshare);
        if code == 77 || stderr.starts_with("unshare: ") {
            return skipped(test, "no user namespace can be made to forbid them in");
        }
        assert_eq!(code, 1, "{stderr}");
        let wrong = "cannot make a private network: cannot make a user namespace: ";
        assert!(stderr.contains(wrong), "{stderr}");
        assert!(stderr.contains("sysctl user.max_user_namespaces=10000"), "{stderr}");
    }
}

#[test]
fn a_closed_tun_device_is_named() {
    let test = "a_closed_tun_device_is_named";
    if !nobody(test) {
        return;
    }
    let (_, stderr, code) = without_rights("device run healthy -- true", "chmod 600 tun;").unwrap();
    if stderr.contains("cannot make a user namespace") {
        return skipped(test, "user namespaces are forbidden");
    }
    assert_eq!(code, 1, "{stderr}");
    assert!(stderr.contains("cannot open /dev/net/tun"), "{stderr}");
    assert!(stderr.contains("chmod 666 /dev/net/tun"), "{stderr}");
}

/// A report in which no two counts are alike; its transfers are the simulation's.
fn example() -> DeviceRunReport {
    let profile = Profile::named("netgear-ps101", &|path| panic!("{}", path.display())).unwrap();
    let more = ExtraPorts { raw: &[9_101], lpr: &[1_515], ipp: &[80] };
    let device = DeviceFacts::new(&profile, Services::new(&profile, more).unwrap());
    let address = |last| Host::V4(Ipv4Addr::new(192, 0, 2, last));
    let (receiver, sender) =
        (Endpoint { host: address(2), port: 9_100 }, Endpoint { host: address(1), port: 49_152 });
    let mut row = Scenario::named("print-servers", &|path| panic!("{}", path.display()))
        .unwrap()
        .rows
        .swap_remove(1);
    row.bytes = Bytes::new(100_000);
    let simulated = || windlass_lab::run(&row, 1, None).report.unwrap();
    let job = Connection::new(&device, receiver, sender, simulated());
    // One in which the device said more, as an answer to lpq.
    let mut answer = simulated();
    (answer.number, answer.bytes, answer.bytes_returned) = (2, Bytes::new(11), Bytes::new(5));
    let device_end = Endpoint { port: 515, ..receiver };
    let answer = Connection::new(&device, Endpoint { port: 721, ..sender }, device_end, answer);
    let way = |k: u64| LinkDirection {
        packets: 4_424 + k,
        line_bytes: Bytes::new(3_461_193 + k),
        dropped_by_queue: 31 + k,
        lost: 3 + k,
    };
    DeviceRunReport {
        schema: DeviceRunReport::SCHEMA,
        command: vec!["./sender".into(), "--host".into(), "192.0.2.2".into()],
        ending: Ending { exit_status: None, signal: Some(2) },
        interrupted: true,
        local_address: Ipv4Addr::new(192, 0, 2, 1),
        congestion_control: Some("cubic".into()),
        device,
        seed: 42,
        mtu_bytes: 1_400,
        seconds: Span::from_millis(8_060),
        sending_on_seconds: Span::from_millis(1_230),
        unsent_bytes: Bytes::new(68_620),
        scheduling: Scheduling::Preferred,
        link: LinkReport {
            bytes_per_second: Rate::from_bits_per_second(1e8),
            delay_seconds: Span::from_micros(5),
            queue_bytes: Bytes::new(1_400_000),
            loss: 0.001,
            up: way(0),
            down: way(5),
            missed: Some(17),
            not_taken: 3,
        },
        connections: vec![job, answer],
        left_out: 9,
        without_data: 12,
        syns_dropped: 272,
        lost_by_device: 71,
        read_bytes: Bytes::new(100_021),
        lpr: LprTotals { control_files: 19, data_files: 23, data_bytes: Bytes::new(60_013) },
        ipp: IppTotals { jobs: 29, documents: 31, data_bytes: Bytes::new(70_017) },
        pings: 205,
        capture: Some(CaptureSummary { file: "job.pcapng".into(), packets: 8_848 }),
    }
}

#[test]
fn every_figure_of_the_text_is_in_the_json() {
    let report = example();
    let text = printed(&report, Format::Text);
    insta::assert_snapshot!("device_run_report", text);
    let json: Value = serde_json::from_str(&printed(
        &WatchedRecord::new(&report, CurrentRun::begin(None)),
        Format::Json,
    ))
    .unwrap();
    fits("device-run", &json);
    assert!(figures(&text).len() > 40);
    let missing = missing(&text, &json, &[]);
    assert!(missing.is_empty(), "{missing:#?}\n{text}");
}

#[test]
fn what_did_not_happen_is_not_told() {
    let mut report = example();
    report.connections.clear();
    (report.ending, report.interrupted) = (Ending { exit_status: Some(0), signal: None }, false);
    (report.left_out, report.without_data, report.pings) = (0, 0, 0);
    (report.syns_dropped, report.lost_by_device, report.unsent_bytes) = (0, 0, Bytes::ZERO);
    (report.sending_on_seconds, report.capture) = (Span::ZERO, None);
    report.lpr = LprTotals { control_files: 0, data_files: 0, data_bytes: Bytes::ZERO };
    report.ipp = IppTotals { jobs: 0, documents: 0, data_bytes: Bytes::ZERO };
    (report.link.missed, report.link.not_taken) = (None, 0);
    insta::assert_snapshot!("device_run_report_of_nothing", printed(&report, Format::Text));
    fits(
        "device-run",
        &serde_json::from_str(&printed(
            &WatchedRecord::new(&report, CurrentRun::begin(None)),
            Format::Json,
        ))
        .unwrap(),
    );
}
