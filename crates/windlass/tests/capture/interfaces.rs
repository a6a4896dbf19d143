//! Interfaces that go down, come back and go away; the loopback; and rights.

use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use windlass_sys::process::{Process, Signal};

use super::{Wire, count, held, report_of};
use windlass_testkit::clock::in_real_time;
use windlass_testkit::{skipped, told, windlass};

#[test]
fn a_capture_goes_on_when_the_link_is_back() {
    let test = "a_capture_goes_on_when_the_link_is_back";
    let Some(wire) = Wire::make(test) else { return };
    in_real_time(test, || {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("trace.pcapng");
        let running = wire.capture(&["right", "-w", file.to_str().unwrap(), "--json"], &file);
        let before = wire.send(10);
        wire.right.bring_down("right").unwrap();
        thread::sleep(Duration::from_millis(400));
        wire.right.bring_up("right").unwrap();
        wire.wait_until_captured();
        let after = wire.send(10);
        let report = running.stop(Signal::INT);
        assert_eq!(count(&report, "written"), before + after, "{report:#}");
        let gaps = report["gaps"].as_array().unwrap();
        let [gap] = gaps.as_slice() else { panic!("{report:#}") };
        let time = |key: &str| gap[key].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
        let lasted = time("end_time").duration_since(time("start_time")).as_secs_f64();
        assert!((0.3..1.5).contains(&lasted), "{report:#}");
        // A capture that spins would take all of a processor.
        assert!(report["cpu_seconds"].as_f64().unwrap() < 0.3, "{report:#}");
        let bytes = std::fs::read(&file).unwrap();
        let note = b"The interface was down for ";
        assert!(bytes.windows(note.len()).any(|window| window == note), "the file says so");
        assert_eq!(held(&file).packets, before + after);
    });
}

#[test]
fn an_interface_that_goes_away_ends_it_with_what_came() {
    let Some(wire) = Wire::make("an_interface_that_goes_away_ends_it_with_what_came") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.pcapng");
    let running = wire.capture(&["right", "-w", file.to_str().unwrap(), "--json"], &file);
    let sent = wire.send(50);
    thread::sleep(Duration::from_millis(100));
    wire.right.remove("right").unwrap();
    let output = running.end();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(stderr.contains("no longer exists"), "{stderr}");
    let report = report_of(&output);
    assert_eq!(report["ended_by"], "interface-gone");
    assert_eq!((count(&report, "written"), held(&file).packets), (sent, sent));
}

#[test]
fn the_loopback_shows_each_packet_once_unless_asked() {
    let Some(wire) = Wire::make("the_loopback_shows_each_packet_once_unless_asked") else { return };
    let folder = tempfile::tempdir().unwrap();
    let packets = |name: &str, more: &[&str], interface: &str| {
        let file = folder.path().join(name);
        let mut arguments = vec![interface, "-w", file.to_str().unwrap(), "--json", "--port", "9"];
        arguments.extend(more);
        let running = wire.capture(&arguments, &file);
        let mut sender = std::process::Command::new("bash");
        sender.args(["-c", "for i in 1 2 3 4 5; do echo hello > /dev/udp/127.0.0.1/9; done"]);
        wire.right.enter(&mut sender);
        sender.stderr(Stdio::null()).status().unwrap();
        count(&running.stop(Signal::INT), "written")
    };
    assert_eq!(packets("once", &[], "lo"), 5);
    assert_eq!(packets("any", &[], "any"), 5);
    assert_eq!(packets("twice", &["--direction", "both"], "lo"), 10);
    assert_eq!(packets("out", &["--direction", "out"], "lo"), 5);
}

#[test]
fn filters_let_through_what_they_say() {
    let Some(wire) = Wire::make("filters_let_through_what_they_say") else { return };
    let folder = tempfile::tempdir().unwrap();
    let packets = |name: &str, filter: &[&str]| {
        let file = folder.path().join(name);
        let mut arguments = vec!["right", "-w", file.to_str().unwrap(), "--json"];
        arguments.extend(filter);
        let running = wire.capture(&arguments, &file);
        wire.send(10);
        let report = running.stop(Signal::INT);
        (count(&report, "received"), report["filter"].clone())
    };
    assert_eq!(packets("port", &["--port", "9"]), (10, "port 9".into()));
    // With 0 packets are whole.
    let whole = folder.path().join("whole");
    let running =
        wire.capture(&["right", "-w", whole.to_str().unwrap(), "--json", "-s", "0"], &whole);
    wire.send(10);
    let report = running.stop(Signal::INT);
    assert_eq!((count(&report, "written"), &report["snap_length"]), (10, &262_144.into()));
    assert_eq!(packets("other", &["--port", "10"]), (0, "port 10".into()));
    assert_eq!(packets("tcp", &["--tcp", "--port", "9"]).0, 0);
    assert_eq!(packets("host", &["--host", "192.0.2.2", "--host", "192.0.2.9"]).0, 10);
    assert_eq!(packets("net", &["--net", "198.51.100.0/24"]).0, 0);
    if windlass_sys::pcap::Library::load().is_err() {
        skipped("filters_let_through_what_they_say", "libpcap is not installed");
        return;
    }
    assert_eq!(packets("i", &["-nn", "-U", "port", "9"]), (10, "port 9".into()));
    assert_eq!(packets("pcap", &["udp", "dst", "port", "9"]), (10, "udp dst port 9".into()));
    assert_eq!(packets("none", &["tcp or src host 192.0.2.2"]).0, 0);
    let wrong = windlass().args(["capture", "lo", "nonsense", "and"]).output().unwrap();
    let (_, stderr, code) = told(&wrong);
    assert!(code == 2 && stderr.contains("pcap-filter"), "{code} {stderr}");
}

#[test]
fn arp_is_found_by_its_hosts_on_one_interface_and_on_all() {
    let test = "arp_is_found_by_its_hosts_on_one_interface_and_on_all";
    let Some(wire) = Wire::make(test) else { return };
    let folder = tempfile::tempdir().unwrap();
    // 192.0.2.1 asks for 192.0.2.2, from Ethernet on.
    let mut arp = [[0xff; 6], [2, 0, 0, 0, 0, 1]].concat();
    arp.extend([8, 6, 0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 1, 192, 0, 2, 1]);
    arp.extend([0, 0, 0, 0, 0, 0, 192, 0, 2, 2]);
    arp.resize(60, 0);
    let mut cases = vec![("--host=192.0.2.2", 7), ("--net=192.0.2.0/24", 7), ("--tcp", 0)];
    if windlass_sys::pcap::Library::load().is_ok() {
        cases.extend([("arp", 7), ("arp host 192.0.2.1", 7), ("not arp", 0), ("ip", 0)]);
    } else {
        skipped(test, "libpcap is not installed: expressions are left out");
    }
    for (number, (filter, expected)) in cases.into_iter().enumerate() {
        for interface in ["right", "any"] {
            let file = folder.path().join(format!("{interface}-{number}"));
            let arguments = [interface, "-w", file.to_str().unwrap(), "--json", filter];
            let running = wire.capture(&arguments, &file);
            assert_eq!(wire.send_plain(&arp, 7), 7);
            let report = running.stop(Signal::INT);
            assert_eq!(count(&report, "written"), expected, "{interface} {filter}");
        }
    }
}

#[test]
fn without_the_right_it_says_which() {
    let mut command = windlass();
    command.args(["capture", "lo", "--time", "100ms"]);
    // SAFETY is not asked for: the standard library changes the user itself.
    let output = command.uid(65_534).gid(65_534).output();
    let Ok(output) = output else {
        skipped("without_the_right_it_says_which", "becoming another user takes root");
        return;
    };
    let (stdout, stderr, code) = told(&output);
    assert_eq!((stdout.as_str(), code), ("", 1), "{stderr}");
    assert!(stderr.contains("CAP_NET_RAW") && stderr.contains("setcap cap_net_raw=ep"), "{stderr}");
}

#[test]
fn more_memory_than_there_is_is_not_asked_of_the_kernel() {
    let (_, stderr, code) = told(&windlass_testkit::run("capture lo --buffer 900000G"));
    if stderr.contains("CAP_NET_RAW") {
        skipped("more_memory_than_there_is_is_not_asked_of_the_kernel", "it takes root");
        return;
    }
    assert!(code == 1 && stderr.contains("smaller --buffer"), "{stderr}");
}

#[test]
fn rights_are_gone_where_files_are_those_of_the_owner_of_the_folder() {
    let test = "rights_are_gone_where_files_are_those_of_the_owner_of_the_folder";
    let folder = tempfile::tempdir().unwrap();
    if std::os::unix::fs::chown(folder.path(), Some(65_534), Some(65_534)).is_err() {
        skipped(test, "giving a folder away takes root");
        return;
    }
    let file = folder.path().join("trace.pcapng");
    let mut command = windlass();
    command.args(["capture", "lo", "--json", "--tcp", "-s", "64", "-w"]).arg(&file);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while !std::fs::metadata(&file).is_ok_and(|about| about.len() > 0) {
        if child.try_wait().unwrap().is_some() {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.code() == Some(1), "{output:?}");
            return skipped(test, "capturing takes CAP_NET_RAW");
        }
        assert!(Instant::now() < until, "it does not begin");
        thread::sleep(Duration::from_millis(5));
    }
    // All of them, a moment after that.
    let wanted = [
        "Uid:\t65534\t65534",
        "CapEff:\t0000000000000000",
        "NoNewPrivs:\t1",
        "CapBnd:\t0000000000000000",
    ];
    loop {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", child.id())).unwrap();
        let statuses = tasks.map(|task| task.unwrap().path().join("status"));
        let with_rights = statuses
            .filter_map(|status| std::fs::read_to_string(status).ok())
            .find(|status| !wanted.iter().all(|line| status.contains(line)));
        let Some(status) = with_rights else { break };
        assert!(Instant::now() < until, "{status}");
        thread::sleep(Duration::from_millis(5));
    }
    Process::of_child(child.id()).unwrap().signal(Signal::INT);
    report_of(&child.wait_with_output().unwrap());
}

#[test]
fn what_is_asked_for_in_error_is_told() {
    let cases = [
        ("capture nosuch", "there is no interface"),
        ("capture lo --interval 1ms --quiet", "100 ms"),
        ("capture lo -s 300000", "snap length"),
        ("capture lo -w - --rotate-size 1M", "standard output cannot be rotated"),
        ("capture lo -w x --files 3", "--rotate-size"),
        ("capture any --promiscuous", "promiscuous"),
        ("capture lo --threads 0", "1 to 64"),
        ("capture lo --net 192.0.2.1/24", "192.0.2.0/24"),
        ("capture lo --host 192.0.2.1 tcp", "cannot be used with"),
        ("capture lo --count 0", "0"),
        ("capture any vlan 5 and tcp", "-i eth0 -i eth1"),
    ];
    for (line, wanted) in cases {
        let (stdout, stderr, code) = told(&windlass_testkit::run(line));
        assert!(code == 2 && stdout.is_empty(), "{line}: {code} {stderr}");
        assert!(stderr.contains(wanted), "{line}: {stderr}");
    }
}
