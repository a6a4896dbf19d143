//! Jobs go on byte for byte, and what happens where a device does not take them.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use windlass_wire::ipp::{CharKind, Operation, Status, Value};

use super::client::{about, about_job, ask, job_id, print, print_job, said, state};
use super::server::{Spool, open_to_all, wait_for};
use super::{content, some_bytes};
use windlass_testkit::cups::Cups;
use windlass_testkit::eve::Eve;
use windlass_testkit::port::free_port;
use windlass_testkit::{has, listens, skipped};

/// A device on a port that keeps what comes to it.
fn device() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let uri = format!("socket://127.0.0.1:{}", listener.local_addr().unwrap().port());
    (listener, uri)
}

fn taken(listener: &TcpListener) -> Vec<u8> {
    let mut got = Vec::new();
    listener.accept().unwrap().0.read_to_end(&mut got).unwrap();
    got
}

#[test]
fn jobs_go_on_by_socket_command_and_file() {
    let folder = tempfile::tempdir().unwrap();
    open_to_all(folder.path());
    let (listener, uri) = device();
    let at = |name: &str| folder.path().join(name);
    let socket = format!("socket={uri}");
    let command = format!("command=exec:cat > {}", at("command").display());
    let file = format!("file=file:{}", at("file").display());
    let spool = Spool::start(
        &at("spool"),
        &["--printer", &socket, "--printer", &command, "--printer", &file],
    );
    for length in [0, 1, 1_500_000] {
        let data = some_bytes(1, length);
        for printer in ["socket", "command", "file"] {
            print(spool.ipp, printer, "one", &data);
        }
        assert!(taken(&listener) == data);
        for printer in ["command", "file"] {
            wait_for(printer, || fs::read(at(printer)).is_ok_and(|got| got == data));
        }
    }
    let said = spool.lines();
    assert!(spool.events("device-failed").is_empty(), "{said:#?}");
    let ended = spool.stop();
    assert_eq!([ended.count("completed"), ended.count("left")], [9, 0]);
    assert_eq!(ended.count("delivered_bytes"), 3 * 1_500_001);
}

/// Through a second spool by each protocol, which keeps the name and the user.
#[test]
fn jobs_go_on_to_another_spool() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    fs::create_dir(&out).unwrap();
    let last = format!("last=file:{}", out.display());
    let behind = Spool::start(
        &folder.path().join("behind"),
        &["--printer", &last, "--raw", "last=127.0.0.1:0"],
    );
    let devices = [
        format!("ipp={}", behind.uri("last")),
        format!("lpd=lpd://127.0.0.1:{}/last", behind.lpr),
        format!("raw=socket://127.0.0.1:{}", behind.raw("last")),
    ];
    let more: Vec<&str> = devices.iter().flat_map(|device| ["--printer", &**device]).collect();
    let front = Spool::start(&folder.path().join("front"), &more);
    let data = some_bytes(2, 1_000_001);
    for (place, printer) in ["ipp", "lpd", "raw"].into_iter().enumerate() {
        print(front.ipp, printer, &format!("by {printer}"), &data);
        let path = out.join(format!("last-{:08}", place + 1));
        wait_for(&format!("{printer}: {:#?}", front.lines()), || path.exists());
        assert!(fs::read(path).unwrap() == data, "{printer}");
        front.wait_counts(printer, "completed", 1);
    }
    if has("lpstat", "jobs_go_on_to_another_spool") {
        let server = format!("127.0.0.1:{}", behind.ipp);
        let listed = content("lpstat", &["-h", &server, "-W", "completed", "-o"]);
        assert_eq!(listed.matches("tester").count(), 2, "{listed}");
    }
    assert_eq!((front.stop().code, behind.stop().code), (Some(0), Some(0)));
}

#[test]
fn jobs_go_on_to_cupsd() {
    let test = "jobs_go_on_to_cupsd";
    let (listener, uri) = device();
    let Some(cups) = Cups::start(test, &uri, "", None) else { return };
    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::start(folder.path(), &["--printer", &format!("a={}", cups.queue())]);
    let data = some_bytes(3, 800_000);
    print(spool.ipp, "a", "for cupsd", &data);
    assert!(taken(&listener) == data, "{}", cups.log());
    spool.wait_counts("a", "completed", 1);
    assert_eq!(spool.stop().code, Some(0));
    // By LPR to cups-lpd, which has a connection as its standard input, as inetd
    // gives it.
    let program = Path::new("/usr/lib/cups/daemon/cups-lpd");
    if !program.exists() {
        return skipped(test, "cups-lpd is not installed");
    }
    let inetd = TcpListener::bind("127.0.0.1:0").unwrap();
    let printer = format!("b=lpd://127.0.0.1:{}/dummy", inetd.local_addr().unwrap().port());
    let server = format!("127.0.0.1:{}", cups.port);
    let served = thread::spawn(move || {
        let (stream, _) = inetd.accept().unwrap();
        let (input, output) = (OwnedFd::from(stream.try_clone().unwrap()), OwnedFd::from(stream));
        Command::new(program)
            .args(["-h", &server])
            .env("CUPS_SERVER", &server)
            .stdin(input)
            .stdout(output)
            .stderr(Stdio::null())
            .status()
            .unwrap();
    });
    let spool = Spool::start(folder.path(), &["--printer", &printer]);
    print(spool.ipp, "b", "for cups-lpd", &data);
    assert!(taken(&listener) == data, "{}", cups.log());
    spool.wait_counts("b", "completed", 1);
    served.join().unwrap();
    assert_eq!(spool.stop().code, Some(0));
}

#[test]
fn jobs_go_on_to_ippeveprinter() {
    let test = "jobs_go_on_to_ippeveprinter";
    let Some(eve) = Eve::start(test) else { return };
    let folder = tempfile::tempdir().unwrap();
    let printer = format!("a=ipp://127.0.0.1:{}/ipp/print", eve.port);
    let spool = Spool::start(folder.path(), &["--printer", &printer]);
    let pdf = |seed| [&b"%PDF-1.4\n"[..], &some_bytes(seed, 200_000)].concat();
    let all: Vec<Vec<u8>> = (0..2).map(pdf).collect();
    let mut request = print_job(spool.ipp, "a", "for ippeveprinter");
    said(&mut request, "document-format", Value::chars(CharKind::MediaType, "application/pdf"));
    for data in &all {
        job_id(&ask(spool.ipp, &request, data));
    }
    // It takes one job at a time, and refuses another meanwhile: it is tried again.
    spool.wait_counts("a", "completed", 2);
    let kept = eve.kept();
    for data in &all {
        assert_eq!(kept.iter().filter(|kept| *kept == data).count(), 1);
    }
    assert_eq!(spool.stop().code, Some(0));
}

#[test]
fn jobs_go_on_to_p910nd() {
    let test = "jobs_go_on_to_p910nd";
    if !has("p910nd", test) || !has("unshare", test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    fs::write(at("device"), "").unwrap();
    let data = some_bytes(4, 700_000);
    fs::write(at("job"), &data).unwrap();
    let program = env!("CARGO_BIN_EXE_windlass");
    // Printer 0 is on port 9100: in a network of its own it is free. It locks a file
    // in a folder that only its installation makes.
    let script = format!(
        "mount -t tmpfs lock /run/lock && mkdir /run/lock/p910nd && ip link set lo up && \
         {{ p910nd -d -f {device} 0 >/dev/null & }} && p=$! && {printer} && \
         {{ {program} spool serve --spool {spool} --printer a=socket://127.0.0.1 > {out} & }} && \
         s=$! && {spooler} && {program} print ipp://127.0.0.1:8631/printers/a {job} --wait; code=$?; \
         kill $s $p; wait; exit $code",
        device = at("device"),
        printer = listens(9_100),
        spooler = listens(8_631),
        spool = at("spool"),
        out = at("out"),
        job = at("job"),
    );
    let unshared = Command::new("unshare").args(["-rnm", "sh", "-c", &script]).output().unwrap();
    let stderr = String::from_utf8_lossy(&unshared.stderr);
    if stderr.contains("unshare") {
        return skipped(test, "no private network can be made");
    }
    assert_eq!(unshared.status.code(), Some(0), "{stderr}");
    assert!(fs::read(at("device")).unwrap() == data);
}

#[test]
fn a_device_that_is_away_is_tried_again_until_it_is_back() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let uri = format!("socket://127.0.0.1:{port}");
    let spool = Spool::start(folder.path(), &["--printer", &format!("a={uri}")]);
    let data = some_bytes(5, 100_000);
    print(spool.ipp, "a", "one", &data);
    print(spool.ipp, "a", "two", &data);
    // It waits 1 s, then 2 s, and then 4 s.
    spool.says("tried again in 1 s");
    spool.says("tried again in 2 s");
    spool.says("tried again in 4 s");
    let failed = spool.events("device-failed");
    assert!(failed[0].starts_with("printer a: job 1: "), "{failed:?}");
    assert!(failed[0].contains("Connection refused"), "{failed:?}");
    assert_eq!(spool.metric("windlass_spool_device_failing{printer=\"a\"}"), 1);
    assert_eq!(state(spool.ipp, "a", 1), Some("pending"));
    let listener = TcpListener::bind(format!("127.0.0.1:{port}")).unwrap();
    assert!(taken(&listener) == data);
    // The next one does not wait: it would do so for 8 s.
    let began = Instant::now();
    assert!(taken(&listener) == data);
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    spool.says("printer a: takes jobs again after 3 failures");
    spool.wait_counts("a", "completed", 2);
    assert_eq!(spool.metric("windlass_spool_device_failing{printer=\"a\"}"), 0);
    assert_eq!(spool.stop().code, Some(0));
}

/// Which goes on with the jobs behind it.
#[test]
fn a_device_that_drips_and_does_not_close_is_left_after_the_patience() {
    let folder = tempfile::tempdir().unwrap();
    let (listener, uri) = device();
    let drips = thread::spawn(move || {
        [1, 2].map(|_| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut got = Vec::new();
            stream.read_to_end(&mut got).unwrap();
            // As long as somebody waits for more.
            while stream.write_all(b".").is_ok() {
                thread::sleep(Duration::from_millis(10));
            }
            got
        })
    });
    let more = ["--printer", &format!("a={uri}"), "--device-patience", "1s"];
    let spool = Spool::start(folder.path(), &more);
    let data = some_bytes(7, 100_000);
    print(spool.ipp, "a", "one", &data);
    print(spool.ipp, "a", "two", &data);
    spool.wait_counts("a", "completed", 2);
    assert!(drips.join().unwrap() == [data.clone(), data]);
    assert!(spool.events("device-failed").is_empty(), "{:#?}", spool.lines());
    assert_eq!(spool.stop().code, Some(0));
}

#[test]
fn a_policy_says_what_becomes_of_a_job_that_fails() {
    let folder = tempfile::tempdir().unwrap();
    let fails = "a=exec:cat > /dev/null; echo 'no paper' >&2; exit 3";
    for (policy, words, end, printer) in [
        (&["--on-error", "abort-job"][..], "aborted", "aborted", 0),
        (&["--attempts", "2"], "aborted", "aborted", 0),
        (
            &["--on-error", "stop-printer"],
            "the printer is stopped until it is resumed",
            "pending",
            1,
        ),
    ] {
        let at = folder.path().join(policy[1]);
        let spool = Spool::start(&at, &[&["--printer", fails], policy].concat());
        let id = print(spool.ipp, "a", "one", b"1");
        spool.says(words);
        let failed = spool.events("device-failed");
        assert!(failed[0].contains("exit status: 3; it says \"no paper\""), "{failed:?}");
        wait_for(end, || state(spool.ipp, "a", id) == Some(end));
        let stopped = spool.metric("windlass_spool_printer_stopped{printer=\"a\"}");
        assert_eq!(stopped, printer, "{policy:?}");
        if printer == 1 {
            // It stays so over a start, and with the job; another device then takes it.
            assert_eq!(spool.stop().code, Some(0));
            let spool = Spool::start(&at, &["--printer", "a=drop"]);
            assert_eq!(state(spool.ipp, "a", id), Some("pending"));
            let resume = about(Operation::RESUME_PRINTER, spool.ipp, "a");
            assert_eq!(Status(ask(spool.ipp, &resume, b"").code), Status::OK);
            spool.wait_counts("a", "completed", 1);
        }
    }
}

/// Cancel of a job that the device has, by each kind of device that can hang.
#[test]
fn a_job_that_a_slow_device_has_can_be_canceled() {
    let folder = tempfile::tempdir().unwrap();
    let (listener, uri) = device();
    let socket = format!("socket={uri}");
    let spool = Spool::start(
        &folder.path().join("spool"),
        // The shell starts another process, which has the pipe as well.
        &["--printer", "command=exec:sleep 600; :", "--printer", &socket],
    );
    let large = some_bytes(6, 20_000_000);
    for printer in ["command", "socket"] {
        let id = print(spool.ipp, printer, "unwanted", &large);
        let next = print(spool.ipp, printer, "next", b"next");
        let slow = (printer == "socket").then(|| listener.accept().unwrap());
        wait_for("the device has it", || state(spool.ipp, printer, id) == Some("processing"));
        let cancel = about_job(Operation::CANCEL_JOB, spool.ipp, printer, id);
        assert_eq!(Status(ask(spool.ipp, &cancel, b"").code), Status::OK);
        wait_for("its end", || state(spool.ipp, printer, id) == Some("canceled"));
        drop(slow);
        // The next one has its turn, and is as whole as ever.
        if printer == "socket" {
            assert_eq!(taken(&listener), b"next");
            spool.wait_counts("socket", "completed", 1);
        } else {
            wait_for("the next", || state(spool.ipp, printer, next) == Some("processing"));
        }
        // Nobody is told of a failure where somebody did not want the job.
        let failed = spool.events("device-failed");
        assert!(failed.iter().all(|text| text.ends_with(": canceled")), "{failed:?}");
    }
    let ended = spool.stop();
    assert_eq!([ended.count("canceled"), ended.count("completed"), ended.count("left")], [2, 1, 1]);
}
