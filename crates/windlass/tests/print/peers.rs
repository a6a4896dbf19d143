//! Real servers: cupsd, cups-lpd, ippeveprinter, p910nd.

use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use super::{file, print, print_with, some_bytes};
use windlass_testkit::cups::Cups;
use windlass_testkit::eve::Eve;
use windlass_testkit::{has, listens, skipped};

#[test]
fn cupsd_completes_a_job_of_each_kind() {
    let test = "cupsd_completes_a_job_of_each_kind";
    let Some(cups) = Cups::start(test, "file:/dev/null", "", None) else { return };
    let queue = cups.queue();
    for (options, operations) in [
        ("--payload text --bytes 1011712", 1),
        ("--payload random --bytes 1011712 --create-job", 2),
        ("--payload text --bytes 1011712 --compression gzip --ipp-version 1.1", 1),
    ] {
        let printed = print(&format!("{queue} --wait {options}"));
        assert_eq!((printed.code, printed.stderr.as_str()), (0, ""), "{options}\n{}", cups.log());
        let report = &printed.report;
        assert_eq!(report["answer"]["end"]["state"], "completed", "{options}");
        assert_eq!(report["answer"]["operations"].as_array().unwrap().len(), operations);
        assert_eq!(report["document"]["read_bytes"], 1_011_712);
        assert_eq!(report["transfer"]["complete"], true);
    }
    let printed = print_with(&format!("{queue} --wait -"), b"a line\n");
    assert_eq!((printed.code, printed.stderr.as_str()), (0, ""));
    // A queue that is not there.
    let nowhere = queue.replace("dummy", "nowhere");
    let printed = print(&format!("{nowhere} --payload zeros --bytes 5MB"));
    assert_eq!(printed.code, 1);
    assert!(printed.stderr.contains("client-error-not-found"), "{}", printed.stderr);
}

#[test]
fn cupsd_delivers_byte_for_byte() {
    let test = "cupsd_delivers_byte_for_byte";
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let device = format!("socket://127.0.0.1:{}", listener.local_addr().unwrap().port());
    let Some(cups) = Cups::start(test, &device, "", None) else { return };
    let data = some_bytes(2_000_000);
    let (_folder, path) = file(&data);
    for compression in ["none", "gzip"] {
        let listener = listener.try_clone().unwrap();
        let served = thread::spawn(move || {
            let mut got = Vec::new();
            listener.accept().unwrap().0.read_to_end(&mut got).unwrap();
            got
        });
        // cupsd takes the format for a type of its own, unless it is told not to.
        let line = format!(
            "{} {path} --wait --wait-limit 60s --format application/vnd.cups-raw \
             --compression {compression}",
            cups.queue()
        );
        let printed = print(&line);
        let context = || format!("{compression}\n{}{}", printed.stderr, cups.log());
        assert_eq!(printed.code, 0, "{}", context());
        assert_eq!(printed.report["answer"]["end"]["state"], "completed", "{}", context());
        assert!(served.join().unwrap() == data, "{}", context());
    }
}

#[test]
fn a_full_spool_and_too_many_jobs_are_named() {
    let test = "a_full_spool_and_too_many_jobs_are_named";
    let spool = tempfile::tempdir().unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=4m,mode=755", "windlass-test"])
        .arg(spool.path())
        .stderr(Stdio::null())
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        return skipped(test, "it takes the right to mount a small disk");
    }
    let done = std::panic::catch_unwind(|| {
        let Some(cups) = Cups::start(test, "file:/dev/null", "", Some(spool.path())) else {
            return;
        };
        let printed = print(&format!("{} --payload random --bytes 9MB", cups.queue()));
        assert_eq!(printed.code, 1);
        let named = "client-error-request-entity-too-large";
        assert!(printed.stderr.contains(named), "{}{}", printed.stderr, cups.log());
        // It recovers: a job that fits is taken.
        let printed = print(&format!("{} --payload random --bytes 9k --wait", cups.queue()));
        assert_eq!(printed.code, 0, "{}{}", printed.stderr, cups.log());
    });
    let unmounted = Command::new("umount").arg(spool.path()).status().unwrap();
    assert!(unmounted.success());
    if let Err(failure) = done {
        std::panic::resume_unwind(failure);
    }
}

#[test]
fn too_many_jobs_are_named() {
    let test = "too_many_jobs_are_named";
    let Some(cups) = Cups::start(test, "file:/dev/null", "MaxJobs 2", None) else { return };
    let uri = format!("ipp://127.0.0.1:{}/printers/dummy", cups.port);
    let disable = Command::new("cupsdisable")
        .args(["-h", &format!("127.0.0.1:{}", cups.port), "dummy"])
        .output();
    if !disable.is_ok_and(|output| output.status.success()) {
        return skipped(test, "cupsdisable cannot stop a printer here");
    }
    let line = format!("{uri} --payload text --bytes 9k");
    let printed: Vec<_> = (0..3).map(|_| print(&line)).collect();
    assert_eq!(printed.iter().map(|one| one.code).collect::<Vec<_>>(), [0, 0, 1]);
    // cupsd 2.4 calls it so (add_job of its scheduler/ipp.c).
    let said = "client-error-not-possible to Print-Job; it says \"Too many active jobs.\"";
    assert!(printed[2].stderr.contains(said), "{}", printed[2].stderr);
}

/// cups-lpd has a connection as its standard input and output, as inetd gives it.
#[test]
fn cups_lpd_takes_a_job() {
    let test = "cups_lpd_takes_a_job";
    let program = Path::new("/usr/lib/cups/daemon/cups-lpd");
    if !program.exists() {
        return skipped(test, "cups-lpd is not installed");
    }
    let device = TcpListener::bind("127.0.0.1:0").unwrap();
    let uri = format!("socket://127.0.0.1:{}", device.local_addr().unwrap().port());
    let Some(cups) = Cups::start(test, &uri, "", None) else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = format!("127.0.0.1:{}", cups.port);
    let inetd = thread::spawn(move || {
        for _ in 0..2 {
            let (stream, _) = listener.accept().unwrap();
            let (input, output) =
                (OwnedFd::from(stream.try_clone().unwrap()), OwnedFd::from(stream));
            let done = Command::new(program)
                .args(["-h", &server])
                .env("CUPS_SERVER", &server)
                .stdin(input)
                .stdout(output)
                .stderr(Stdio::null())
                .status();
            done.unwrap();
        }
    });
    let data = some_bytes(500_000);
    let (_folder, path) = file(&data);
    let printed = print(&format!("lpd://127.0.0.1:{port}/dummy {path}"));
    assert_eq!((printed.code, printed.stderr.as_str()), (0, ""), "{}", cups.log());
    assert_eq!(printed.report["answer"]["steps"].as_array().unwrap().len(), 5);
    let mut got = Vec::new();
    device.accept().unwrap().0.read_to_end(&mut got).unwrap();
    assert!(got == data, "{}", cups.log());
    let printed = print(&format!("lpd://127.0.0.1:{port}/nowhere {path}"));
    assert_eq!(printed.code, 1);
    assert!(printed.stderr.contains("to the queue: refused"), "{}", printed.stderr);
    inetd.join().unwrap();
}

#[test]
fn p910nd_takes_a_raw_job() {
    let test = "p910nd_takes_a_raw_job";
    if !has("p910nd", test) {
        return;
    }
    // Printer 0 is on port 9100: in a network of its own it is free.
    let folder = tempfile::tempdir().unwrap();
    let got = folder.path().join("device");
    fs::write(&got, "").unwrap();
    let data = some_bytes(700_000);
    let path = folder.path().join("job.prn");
    fs::write(&path, &data).unwrap();
    // It locks a file in a folder that only its installation makes.
    let script = format!(
        "mount -t tmpfs lock /run/lock && mkdir /run/lock/p910nd && ip link set lo up && {{ p910nd -d -f {} 0 >/dev/null & }} && pid=$! && {} && \
         {} print socket://127.0.0.1:9100 {} --json --patience 30s; code=$?; \
         kill $pid; wait $pid; exit $code",
        got.display(),
        listens(9_100),
        env!("CARGO_BIN_EXE_windlass"),
        path.display()
    );
    let unshared = Command::new("unshare").args(["-rnm", "sh", "-c", &script]).output().unwrap();
    let stderr = String::from_utf8_lossy(&unshared.stderr);
    if stderr.contains("unshare") {
        return skipped(test, "no private network can be made");
    }
    let report = super::checked(&String::from_utf8(unshared.stdout.clone()).unwrap());
    assert_eq!(unshared.status.code(), Some(0), "{stderr}");
    assert_eq!(report["answer"]["ended"], "closed", "{stderr}");
    assert!(fs::read(&got).unwrap() == data);
}

#[test]
fn ippeveprinter_takes_a_job() {
    let test = "ippeveprinter_takes_a_job";
    let Some(eve) = Eve::start(test) else { return };
    let port = eve.port;
    let data = some_bytes(100_000);
    let (_folder, path) = file(&data);
    for options in ["", "--create-job --ipp-version 1.1"] {
        let line = format!(
            "ipp://127.0.0.1:{port}/ipp/print {path} --wait --format application/pdf {options}"
        );
        let printed = print(&line);
        assert_eq!((printed.code, printed.stderr.as_str()), (0, ""), "{options}");
        assert_eq!(printed.report["answer"]["end"]["state"], "completed", "{options}");
    }
    let kept = eve.kept();
    assert_eq!(kept.iter().filter(|kept| **kept == data).count(), 2);
}
