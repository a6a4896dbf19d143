//! The limits of the spool: its disk, its documents, its jobs, its connections, and
//! who may do what.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use windlass_wire::ipp::{CharKind, Message, Operation, Status, Value};

use super::client::{
    Lpr, about, about_job, ask, asked_on, connect, control, get, job_id, lpr, print, print_job,
    raw, said, state,
};
use super::server::{Spool, wait_for, words};
use super::some_bytes;
use windlass_testkit::{copy_program, skipped, windlass};

fn status(answer: &Message) -> Status {
    Status(answer.code)
}

/// A small disk, as long as this lives.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn new(test: &str, size: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size},mode=755"), "windlass-test"])
            .arg(folder.path())
            .stderr(Stdio::null())
            .status();
        if !mounted.is_ok_and(|status| status.success()) {
            skipped(test, "it takes the right to mount a small disk");
            return None;
        }
        Some(Self(folder))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

/// Fills a spool by all three protocols, and sees it go on when there is room.
fn full(spool: &Spool, out: &Path) {
    let data = some_bytes(1, 300_000);
    let mut kept = Vec::new();
    // A document that comes whole, and one in chunks, of which nobody knows the size.
    let refused = loop {
        let answer = ask(spool.ipp, &print_job(spool.ipp, "a", "one of many"), &data);
        if answer.code != Status::OK.0 {
            break answer;
        }
        kept.push(job_id(&answer));
        assert!(kept.len() < 100, "it does not get full");
    };
    assert_eq!(status(&refused), Status::TEMPORARY_ERROR);
    assert!(kept.len() > 3, "{kept:?}");
    let (mut talk, begun) = Lpr::begin(spool.lpr, "a");
    assert_eq!(begun, Some(0));
    assert_eq!(talk.control(&control("too much", &["dfA001host"])).unwrap(), [Some(0); 2]);
    // It says no as soon as it knows, or at the end.
    match talk.data("dfA001host", &data) {
        Ok([announced, done]) => {
            assert!(announced == Some(2) || done == Some(2), "{announced:?} {done:?}");
        }
        // The answer may be lost where the connection was closed before it was read.
        Err(error) => assert!(
            matches!(
                error.kind(),
                std::io::ErrorKind::BrokenPipe | std::io::ErrorKind::ConnectionReset
            ),
            "{error}"
        ),
    }
    let accepted = spool.metric("windlass_spool_jobs_accepted_total{printer=\"a\"}");
    // It is no end in order, which would be a yes.
    raw(spool.raw("a"), &data).unwrap_err();
    spool.says("its raw data was refused: the spool is full");
    assert_eq!(spool.metric("windlass_spool_jobs_accepted_total{printer=\"a\"}"), accepted);
    assert_eq!(accepted as usize, kept.len());
    spool.says("new jobs are refused until there is room");
    assert_eq!(spool.events("spool-full").len(), 1, "{:#?}", spool.lines());
    // Space returns as jobs are delivered.
    let resume = about(Operation::RESUME_PRINTER, spool.ipp, "a");
    assert_eq!(status(&ask(spool.ipp, &resume, b"")), Status::OK);
    spool.wait_counts("a", "completed", kept.len() as u64);
    for id in &kept {
        assert!(fs::read(out.join(format!("a-{id:08}"))).unwrap() == data, "job {id}");
    }
    let id = print(spool.ipp, "a", "after", &data);
    assert!(id > *kept.last().unwrap());
    assert!(lpr(spool.lpr, "a", "after", &data).unwrap());
    raw(spool.raw("a"), &data).unwrap();
    spool.wait_counts("a", "completed", kept.len() as u64 + 3);
    assert_eq!(spool.events_once("spool-has-room", 1).len(), 1, "{:#?}", spool.lines());
    assert_eq!(spool.events("spool-full").len(), 1, "{:#?}", spool.lines());
}

#[test]
fn a_full_disk_refuses_new_jobs_and_keeps_the_others() {
    let test = "a_full_disk_refuses_new_jobs_and_keeps_the_others";
    let Some(disk) = SmallDisk::new(test, "4m") else { return };
    let out = tempfile::tempdir().unwrap();
    let printer = format!("a=file:{}", out.path().display());
    let spool = Spool::start(
        &disk.0.path().join("spool"),
        &["--printer", &printer, "--raw", "a=127.0.0.1:0", "--stopped", "--raw-wait", "1ms"],
    );
    full(&spool, out.path());
    assert_eq!(spool.stop().code, Some(0));
}

#[test]
fn the_most_that_a_spool_holds_is_kept_to() {
    let folder = tempfile::tempdir().unwrap();
    let out = tempfile::tempdir().unwrap();
    let printer = format!("a=file:{}", out.path().display());
    let more = [
        "--printer",
        &printer,
        "--raw",
        "a=127.0.0.1:0",
        "--stopped",
        "--raw-wait",
        "1ms",
        "--max-spool",
        "3MB",
    ];
    let spool = Spool::start(&folder.path().join("spool"), &more);
    full(&spool, out.path());
    assert_eq!(spool.stop().code, Some(0));
}

#[test]
fn documents_that_are_too_long_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::start(
        folder.path(),
        &["--printer", "a=drop", "--raw", "a=127.0.0.1:0", "--max-document", "100kB", "--stopped"],
    );
    let (fits, does_not) = (some_bytes(1, 100_000), some_bytes(1, 100_001));
    let job = print_job(spool.ipp, "a", "long");
    assert_eq!(status(&ask(spool.ipp, &job, &fits)), Status::OK);
    assert_eq!(status(&ask(spool.ipp, &job, &does_not)), Status::ENTITY_TOO_LARGE);
    // A bomb: what counts is what it is when it is unpacked.
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    Write::write_all(&mut packed, &vec![0; 50_000_000]).unwrap();
    let bomb = packed.finish().unwrap();
    assert!(bomb.len() < 100_000);
    let mut gzip = job.clone();
    said(&mut gzip, "compression", Value::keyword("gzip"));
    assert_eq!(status(&ask(spool.ipp, &gzip, &bomb)), Status::ENTITY_TOO_LARGE);
    // LPR: announced, and streamed.
    let (mut talk, _) = Lpr::begin(spool.lpr, "a");
    assert_eq!(talk.control(&control("long", &["dfA001host"])).unwrap(), [Some(0); 2]);
    assert_eq!(talk.say(b"\x03100001 dfA001host\n").unwrap(), Some(3));
    let (mut talk, _) = Lpr::begin(spool.lpr, "a");
    assert_eq!(talk.control(&control("long", &["dfA001host"])).unwrap(), [Some(0); 2]);
    if let Ok(said) = talk.stream("0", "dfA001host", &some_bytes(1, 200_000)) {
        assert_eq!(said, [3]);
    }
    raw(spool.raw("a"), &does_not).unwrap_err();
    spool.says("its raw data was refused: the document is longer than 100000 bytes");
    raw(spool.raw("a"), &fits).unwrap();
    wait_for("the second job", || spool.metric("windlass_spool_queued_jobs{printer=\"a\"}") == 2);
    // Nothing of what was refused takes any room.
    assert_eq!(spool.metric("windlass_spool_document_bytes"), 200_000);
    let ended = spool.stop();
    assert_eq!((ended.code, ended.count("left")), (Some(0), 2));
}

#[test]
fn too_many_jobs_are_refused_by_each_protocol() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("spool.toml");
    fs::write(
        &config,
        "max-jobs = 5\n\
         [[printer]]\nname = \"few\"\ndevice = \"drop\"\nmax-jobs = 2\nstopped = true\n\
         [[printer]]\nname = \"many\"\ndevice = \"drop\"\nstopped = true\n",
    )
    .unwrap();
    let spool = Spool::start(
        &folder.path().join("spool"),
        &["--config", config.to_str().unwrap(), "--raw", "few=127.0.0.1:0", "--raw-wait", "1ms"],
    );
    assert!(lpr(spool.lpr, "few", "first", b"1").unwrap());
    // The last that there is room for ends as any other.
    let (mut talk, _) = Lpr::begin(spool.lpr, "few");
    assert_eq!(talk.control(&control("second", &["dfA001host"])).unwrap(), [Some(0); 2]);
    assert_eq!(talk.data("dfA001host", b"2").unwrap(), [Some(0); 2]);
    talk.0.shutdown(std::net::Shutdown::Write).unwrap();
    let mut rest = Vec::new();
    talk.0.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, b"");
    assert_eq!(spool.metric("windlass_spool_jobs_refused_total{printer=\"few\"}"), 0);
    let refused = ask(spool.ipp, &print_job(spool.ipp, "few", "third"), b"3");
    assert_eq!(status(&refused), Status::TOO_MANY_JOBS);
    let created = ask(spool.ipp, &about(Operation::CREATE_JOB, spool.ipp, "few"), b"");
    assert_eq!(status(&created), Status::TOO_MANY_JOBS);
    assert!(!lpr(spool.lpr, "few", "third", b"3").unwrap());
    raw(spool.raw("few"), b"3").unwrap_err();
    spool.says("its raw data was refused: too many jobs: the limit of \"few\" is 2");
    for _ in 0..3 {
        print(spool.ipp, "many", "one", b"1");
    }
    let refused = ask(spool.ipp, &print_job(spool.ipp, "many", "sixth"), b"6");
    assert_eq!(status(&refused), Status::TOO_MANY_JOBS);
    // A job less is room for one.
    let first = about_job(Operation::CANCEL_JOB, spool.ipp, "few", 1);
    assert_eq!(status(&ask(spool.ipp, &first, b"")), Status::OK);
    print(spool.ipp, "few", "fourth", b"4");
    let ended = spool.stop();
    assert_eq!((ended.code, ended.count("accepted"), ended.count("left")), (Some(0), 6, 5));
    assert_eq!(ended.count("refused"), 5);
}

#[test]
fn more_connections_than_a_host_may_have_are_closed() {
    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::start(folder.path(), &["--printer", "a=drop", "--connections", "8"]);
    let mut held: Vec<TcpStream> = (0..4).map(|_| connect(spool.ipp)).collect();
    let job = print_job(spool.ipp, "a", "one");
    for stream in &mut held {
        assert_eq!(status(&asked_on(stream, &job, b"1").unwrap()), Status::OK);
        // It is in the middle of another request.
        stream.write_all(b"POST /printers/a HTTP/1.1\r\n").unwrap();
    }
    let mut fifth = connect(spool.ipp);
    assert_eq!(fifth.read(&mut [0]).unwrap_or(0), 0);
    spool.says("its host has 4 connections, the maximum of one host");
    // One that ends makes room for another.
    drop(held.pop());
    wait_for("room for a connection", || asked_on(&mut connect(spool.ipp), &job, b"3").is_ok());
    drop(held);
    assert_eq!(spool.stop().code, Some(0));
}

#[test]
fn idle_connections_make_room_for_others() {
    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::start(folder.path(), &["--printer", "a=drop", "--connections", "8"]);
    let job = print_job(spool.ipp, "a", "one");
    let mut held: Vec<TcpStream> = (0..4).map(|_| connect(spool.ipp)).collect();
    for stream in &mut held {
        assert_eq!(status(&asked_on(stream, &job, b"1").unwrap()), Status::OK);
    }
    // As soon as the server sees that nothing comes, the first of them ends for another.
    wait_for("room", || asked_on(&mut connect(spool.ipp), &job, b"2").is_ok());
    assert_eq!(held[0].read(&mut [0]).unwrap_or(0), 0, "it is closed between two requests");
    assert!(spool.metric("windlass_spool_connections_over_limit_total") >= 1);
    assert_eq!(spool.stop().code, Some(0));
}

#[test]
fn who_is_not_on_the_list_is_turned_away() {
    let test = "who_is_not_on_the_list_is_turned_away";
    let folder = tempfile::tempdir().unwrap();
    // Two hosts: the server at 192.0.2.1, which is 192.0.2.9, too; and another that may
    // print as .2, and may not as .3.
    let line = words(folder.path(), &["--printer", "a=drop", "--allow", "192.0.2.2"]).join(" ");
    let line =
        line.replace("--listen 127.0.0.1:0", "--listen 192.0.2.1:631 --listen 127.0.0.1:631");
    let script = format!(
        "set -e; unshare -n sleep 60 & other=$!; trap 'kill $other' EXIT; \
         until [ \"$(readlink /proc/$other/ns/net)\" != \"$(readlink /proc/self/ns/net)\" ]; \
         do sleep 0.01; done; there=\"nsenter -t $other -n\"; \
         ip link set lo up; ip link add far type veth peer name near netns $other; \
         ip addr add 192.0.2.1/24 dev far; ip addr add 192.0.2.9/32 dev lo; ip link set far up; \
         $there ip link set near up; \
         for at in 2 3; do $there ip addr add 192.0.2.$at/24 dev near; done; \
         {} {line} > {1}/out & pid=$!; trap 'kill $pid $other' EXIT; for i in $(seq 600); do \
         grep -q '192.0.2.1:631' {1}/out && grep -q '127.0.0.1:631' {1}/out && break; \
         sleep 0.1; done; \
         for at in 127.0.0.1 192.0.2.9 192.0.2.2 192.0.2.3; do \
         run=; case $at in *.2|*.3) run=$there;; esac; \
         code=0; $run curl -s --max-time 60 --interface $at -o {1}/page.$at http://192.0.2.1:631/ \
         || code=$?; echo $code > {1}/code.$at; \
         $run curl -s --max-time 60 --interface $at -H 'Content-Type: application/ipp' \
         --data-binary @{1}/pause -o {1}/pause.$at http://192.0.2.1:631/printers/a || true; done; \
         trap 'kill $other' EXIT; kill $pid; wait $pid",
        env!("CARGO_BIN_EXE_windlass"),
        folder.path().display()
    );
    if !windlass_testkit::has("curl", test) || !windlass_testkit::has("ip", test) {
        return;
    }
    let mut pause =
        Message::request(windlass_wire::ipp::Version(2, 0), Operation::PAUSE_PRINTER, 1);
    said(&mut pause, "printer-uri", Value::chars(CharKind::Uri, "ipp://192.0.2.1/printers/a"));
    fs::write(folder.path().join("pause"), pause.encode().unwrap()).unwrap();
    let unshared = Command::new("unshare").args(["-rn", "bash", "-c", &script]).output().unwrap();
    let stderr = String::from_utf8_lossy(&unshared.stderr);
    if stderr.contains("unshare") {
        return skipped(test, "no private network can be made");
    }
    assert_eq!(unshared.status.code(), Some(0), "{stderr}");
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap_or_default();
    let code = |at: &str| String::from_utf8(read(&format!("code.{at}"))).unwrap().trim().to_owned();
    assert_eq!([code("127.0.0.1"), code("192.0.2.2")], ["0", "0"]);
    assert!(read("page.192.0.2.2").starts_with(b"windlass spool"));
    // No answer at all: 52 and 56 are curl's words for that.
    assert!(["52", "56"].contains(&&*code("192.0.2.3")), "{}", code("192.0.2.3"));
    let answer = |at: &str| super::client::message(&read(&format!("pause.{at}")));
    assert_eq!(status(&answer("127.0.0.1")), Status::OK);
    assert_eq!(status(&answer("192.0.2.9")), Status::OK, "it is this host's, too");
    assert_eq!(status(&answer("192.0.2.2")), Status::FORBIDDEN);
    let said = String::from_utf8(read("out")).unwrap();
    let told = said.matches("it may not print here: no setting allows it").count();
    assert_eq!(told, 1, "once a minute: {said}");
}

#[test]
fn this_host_cancels_jobs_of_anybody() {
    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::start(folder.path(), &["--printer", "a=drop", "--stopped"]);
    let id = print(spool.ipp, "a", "mine", b"1");
    let mut other = about_job(Operation::CANCEL_JOB, spool.ipp, "a", id);
    other.groups[0].attributes.retain(|one| one.name != "requesting-user-name");
    assert_eq!(status(&ask(spool.ipp, &other, b"")), Status::OK);
    assert_eq!(state(spool.ipp, "a", id), Some("canceled"));
    assert_eq!(get(spool.ipp, "/nowhere").0, 404);
}

#[test]
fn a_server_that_cannot_start_says_why_and_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::start(folder.path(), &["--printer", "a=drop"]);
    let run = |words: &[String]| windlass_testkit::told(&windlass().args(words).output().unwrap());
    // The folder of another.
    let (_, stderr, code) = run(&words(folder.path(), &["--printer", "a=drop"]));
    assert_eq!(code, 1);
    assert!(stderr.contains("is in use by process"), "{stderr}");
    assert!(stderr.contains("End the other server, or give another --spool."), "{stderr}");
    // A port of another.
    let other = tempfile::tempdir().unwrap();
    let port = format!("127.0.0.1:{}", spool.lpr);
    let (_, stderr, code) = run(&words(other.path(), &["--printer", "a=drop", "--listen", &port]));
    assert_eq!(code, 1);
    assert!(stderr.contains(&format!("listen for IPP at {port}")), "{stderr}");
    assert!(
        stderr.contains("Give another port, or end the server that uses this one."),
        "{stderr}"
    );
    // What cannot be written to: a file in place of a folder.
    let file = other.path().join("file");
    fs::write(&file, "").unwrap();
    let (_, stderr, code) = run(&words(&file.join("spool"), &["--printer", "a=drop"]));
    assert_eq!(code, 1);
    assert!(stderr.contains("cannot open the spool in"), "{stderr}");
    for (more, said) in [
        (&["--printer", "a=nowhere:/x"][..], "is not a device: write drop, file:/PATH"),
        (&[], "there is no printer"),
        (&["--printer", "a=drop", "--printer", "a=drop"], "two printers have the name"),
        (&["--printer", "a/b=drop"], "is not a printer name"),
        (&["--printer", "a=drop", "--allow", "host"], "is not a network"),
        (&["--printer", "a=drop", "--history", "some"], "a number of jobs, all, or off"),
    ] {
        let (stdout, stderr, code) = run(&words(other.path(), more));
        assert_eq!((stdout.as_str(), code), ("", 2), "{more:?}: {stderr}");
        assert!(stderr.contains(said), "{more:?}: {stderr}");
    }
    let (_, stderr, code) =
        run(&words(other.path(), &["--printer", "a=drop", "--raw", "b=127.0.0.1:0"]));
    assert!(stderr.contains("there is no printer \"b\""), "{stderr}");
    assert_eq!(code, 1);
    assert_eq!(spool.stop().code, Some(0));
}

#[test]
fn both_signals_end_a_server_in_order() {
    for signal in ["INT", "TERM"] {
        let folder = tempfile::tempdir().unwrap();
        // A device that takes long is broken off, and has its job again at the start.
        let more = ["--printer", "slow=exec:sleep 600", "--printer", "a=drop"];
        let spool = Spool::start(folder.path(), &more);
        print(spool.ipp, "slow", "long", b"1");
        print(spool.ipp, "a", "short", b"1");
        spool.wait_counts("a", "completed", 1);
        // A connection that says nothing does not keep it.
        let idle = connect(spool.ipp);
        // Long before that device has done.
        let ended = spool.signaled(signal);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{signal}");
        assert_eq!(
            [ended.count("accepted"), ended.count("completed"), ended.count("left")],
            [2, 1, 1]
        );
        drop(idle);
        let spool = Spool::start(folder.path(), &["--printer", "slow=drop", "--printer", "a=drop"]);
        assert_eq!(spool.lines()[0]["jobs"], 1);
        spool.wait_counts("slow", "completed", 1);
        assert_eq!(spool.stop().code, Some(0));
    }
}

#[test]
fn who_lacks_a_right_is_told_what_to_do() {
    let test = "who_lacks_a_right_is_told_what_to_do";
    if !windlass_testkit::has("setpriv", test) {
        return;
    }
    if !windlass_testkit::is_root() {
        return skipped(test, "only root can become somebody who may less");
    }
    let folder = tempfile::tempdir().unwrap();
    // The program may be where nobody else can run it.
    let program = folder.path().join("windlass");
    copy_program(env!("CARGO_BIN_EXE_windlass"), &program);
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(folder.path(), open).unwrap();
    let nobody = |words: &[String]| {
        let who = ["--reuid=65534", "--regid=65534", "--clear-groups"];
        windlass_testkit::told(
            &Command::new("setpriv").args(who).arg(&program).args(words).output().unwrap(),
        )
    };
    let (_, stderr, code) = nobody(&words(&folder.path().join("spool"), &["--printer", "a=drop"]));
    if stderr.contains("setpriv:") {
        return skipped(test, "setpriv cannot become nobody here");
    }
    assert_eq!(code, 1, "{stderr}");
    assert!(stderr.contains("Permission denied"), "{stderr}");
    assert!(stderr.contains("Give a folder of your own with --spool."), "{stderr}");
    let low = fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start").unwrap();
    if low.trim() != "1024" {
        return skipped(test, "low ports are open to everybody here");
    }
    // Port 1 is nobody's.
    let line = "spool serve --durability memory --printer a=drop --listen 127.0.0.1:1";
    let line: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let (_, stderr, code) = nobody(&line);
    assert_eq!(code, 1, "{stderr}");
    assert!(stderr.contains("listen for IPP at 127.0.0.1:1"), "{stderr}");
    assert!(stderr.contains("Ports below 1024 need root, or CAP_NET_BIND_SERVICE"), "{stderr}");
}

#[test]
fn the_text_says_what_the_json_says() {
    // Without a history nobody remembers the job when its end is told.
    for history in ["all", "off"] {
        let folder = tempfile::tempdir().unwrap();
        let mut words = words(
            folder.path(),
            &["--printer", "a=exec:exit 7", "--on-error", "abort-job", "--history", history],
        );
        words.retain(|word| word != "--json");
        let mut child =
            windlass().args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines =
            std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
        let mut next = || lines.next().unwrap().unwrap();
        assert_eq!(
            next(),
            format!("spool in {}: 1 printer, 0 jobs waiting (0 B)", folder.path().display())
        );
        let promise = "jobs are acknowledged once the kernel has them; they survive any end of the \
                       server, but not a power failure";
        assert_eq!(next(), promise);
        if windlass_testkit::is_root() {
            let rights = next();
            assert!(
                rights.starts_with("runs as root and keeps these rights of root: "),
                "{rights}"
            );
        }
        let commands = next();
        assert!(commands.starts_with("commands and filters run as "), "{commands}");
        let listens = next();
        let port =
            listens.strip_prefix("listening for IPP on 127.0.0.1:").unwrap().parse().unwrap();
        assert!(next().starts_with("listening for LPR on 127.0.0.1:"));
        print(port, "a", "one", b"1");
        let failed = next();
        assert!(
            failed.starts_with("printer a: job 1: ") && failed.ends_with(": aborted"),
            "{failed}"
        );
        let pid = child.id().to_string();
        assert!(Command::new("kill").arg(&pid).status().unwrap().success());
        assert_eq!(
            next(),
            "jobs: accepted 1, refused 0; completed 0, canceled 0, aborted 1; 0 left"
        );
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn a_full_spool_takes_no_job_that_is_only_said_to_come() {
    let folder = tempfile::tempdir().unwrap();
    // Room for two pages.
    let more = ["--printer", "a=drop", "--max-spool", "8192", "--stopped"];
    let spool = Spool::start(folder.path(), &more);
    let first = print(spool.ipp, "a", "one", b"1");
    let create = || ask(spool.ipp, &about(Operation::CREATE_JOB, spool.ipp, "a"), b"");
    assert_eq!(status(&create()), Status::OK);
    print(spool.ipp, "a", "two", b"2");
    assert_eq!(status(&create()), Status::TEMPORARY_ERROR);
    assert_eq!(spool.metric("windlass_spool_queued_jobs{printer=\"a\"}"), 3);
    let cancel = about_job(Operation::CANCEL_JOB, spool.ipp, "a", first);
    assert_eq!(status(&ask(spool.ipp, &cancel, b"")), Status::OK);
    assert_eq!(status(&create()), Status::OK);
    assert_eq!(spool.stop().code, Some(0));
}

/// A server that may have so many files open.
fn with_files(folder: &Path, limit: &str, more: &[&str]) -> Spool {
    let mut command = Command::new("/bin/sh");
    let program = windlass();
    command.args(["-c", &format!("ulimit {limit}; exec \"$0\" \"$@\"")]).arg(program.get_program());
    command.args(words(folder, more));
    Spool::of(command).unwrap_or_else(|ended| panic!("it ends: {}", ended.stderr))
}

#[test]
fn a_server_without_files_left_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    fs::create_dir(&out).unwrap();
    let printer = format!("a=file:{}", out.display());
    let more = ["--printer", &printer, "--max-spool", "100MB", "--stopped"];
    // Fewer than it needs for itself, and none for all that come.
    let spool = with_files(&folder.path().join("spool"), "-n 40", &more);
    let few = spool.events_once("few-files", 1);
    assert!(few.len() == 1 && few[0].contains("40 are allowed: 8 connections"), "{few:?}");
    let one = print(spool.ipp, "a", "one", b"1");
    // Seven of one host are served; others are closed at once, or wait in the kernel.
    let idle: Vec<TcpStream> = (0..60).map(|_| connect(spool.ipp)).collect();
    wait_for("the first that is too many", || !spool.events("client-failed").is_empty());
    drop(idle);
    let large = some_bytes(1, 5_000_000);
    wait_for("a free connection", || {
        let mut stream = connect(spool.ipp);
        asked_on(&mut stream, &print_job(spool.ipp, "a", "two"), &large)
            .is_ok_and(|answer| answer.code == Status::OK.0)
    });
    let resume = about(Operation::RESUME_PRINTER, spool.ipp, "a");
    assert_eq!(status(&ask(spool.ipp, &resume, b"")), Status::OK);
    spool.wait_counts("a", "completed", 2);
    assert!(fs::read(out.join(format!("a-{:08}", one + 1))).unwrap() == large);
    assert_eq!(spool.stop().code, Some(0));
    // The soft limit is raised by itself.
    let spool = with_files(&folder.path().join("spool"), "-Sn 40", &more);
    let hard = Command::new("/bin/sh").args(["-c", "ulimit -Hn"]).output().unwrap();
    let hard: u64 = String::from_utf8(hard.stdout).unwrap().trim().parse().unwrap_or(u64::MAX);
    let ended = spool.stop();
    let few = ended.lines.iter().any(|line| line["kind"] == "few-files");
    assert_eq!((few, ended.code), (hard < 1_100, Some(0)), "{hard}");
}

#[test]
fn who_opens_jobs_and_brings_nothing_leaves_others_room() {
    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::start(folder.path(), &["--printer", "a=drop"]);
    let create = |user: &str| {
        let mut request = about(Operation::CREATE_JOB, spool.ipp, "a");
        request.groups[0].attributes.retain(|one| one.name != "requesting-user-name");
        said(&mut request, "requesting-user-name", Value::chars(CharKind::Name, user));
        request
    };
    let mut stream = connect(spool.ipp);
    for _ in 0..250 {
        assert_eq!(status(&asked_on(&mut stream, &create("greedy"), b"").unwrap()), Status::OK);
    }
    let no = asked_on(&mut stream, &create("greedy"), b"").unwrap();
    assert_eq!(status(&no), Status::TOO_MANY_JOBS);
    let why = no.said("status-message").unwrap();
    assert!(why.contains("the limit of user \"greedy\" is 250"), "{why}");
    assert_eq!(status(&asked_on(&mut stream, &create("ann"), b"").unwrap()), Status::OK);
    // His whole jobs are taken.
    print(spool.ipp, "a", "whole", b"x");
    assert_eq!(spool.stop().code, Some(0));
}
