//! Clients that are slow, silent, half gone or hostile: each is bounded, and the next
//! one is served.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use socket2::Socket;
use windlass_sys::limits::raise_open_files;
use windlass_wire::ipp::{Operation, Status, Value};

use super::client::{
    Lpr, about_job, answer, ask, connect, connect_from, control, head, lpr, print, print_job, raw,
    said,
};
use super::server::{PATIENCE, Spool, open_to_all, wait_for};
use super::some_bytes;
use windlass_testkit::skipped;

/// The most memory that a server may have had.
const MAX_MEMORY: u64 = 100 << 10;

/// One that has more patience than a test needs.
fn start(folder: &std::path::Path) -> Spool {
    let more = ["--printer", "a=drop", "--raw", "a=127.0.0.1:0", "--patience", "10min"];
    Spool::start(folder, &more)
}

/// One that waits for who says nothing as long as a test can.
fn start_impatient(folder: &std::path::Path) -> Spool {
    let more = ["--printer", "a=drop", "--raw", "a=127.0.0.1:0", "--patience", "3s"];
    Spool::start(folder, &more)
}

/// The server takes a job by each protocol, and is as small as ever.
fn serves(spool: &Spool) {
    print(spool.ipp, "a", "after", b"1");
    assert!(lpr(spool.lpr, "a", "after", b"2").unwrap());
    raw(spool.raw("a"), b"3").unwrap();
    assert!(peak_memory(spool) < MAX_MEMORY);
}

/// The most kilobytes of memory that it has had.
fn peak_memory(spool: &Spool) -> u64 {
    let path = format!("/proc/{}/status", spool.child.id());
    let status = fs::read_to_string(path).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Returns the answer until the connection ends, or nothing after a reset.
fn rest(mut stream: &TcpStream) -> Vec<u8> {
    let mut got = Vec::new();
    let _ = stream.read_to_end(&mut got);
    got
}

#[test]
fn clients_that_drip_do_not_keep_others_from_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let spool = start(folder.path());
    let request = print_job(spool.ipp, "a", "dripped").encode().unwrap();
    let octets = [head(request.len() + 3).as_bytes(), &request, b"end"].concat();
    let mut drips: Vec<_> = (0..20).map(|_| connect(spool.ipp)).collect();
    for (number, piece) in octets.chunks(octets.len() / 20 + 1).enumerate() {
        for stream in &mut drips {
            stream.write_all(piece).unwrap();
        }
        if number % 4 == 0 {
            // The server has more patience with the others than this has with it.
            serves(&spool);
        }
    }
    for stream in &mut drips {
        assert_eq!(answer(stream).unwrap().0, 200);
    }
    spool.wait_counts("a", "completed", 35);
    assert_eq!(spool.stop().code, Some(0));
}

#[test]
fn what_comes_half_is_no_job() {
    let folder = tempfile::tempdir().unwrap();
    let spool = start(folder.path());
    let request = print_job(spool.ipp, "a", "half").encode().unwrap();
    // The connection ends within the head, the attributes, and the document.
    let octets = [head(request.len() + 1_000).as_bytes(), &request, &[b'x'; 999]].concat();
    for cut in [1, 40, octets.len() - 1_200, octets.len() - 500, octets.len()] {
        let mut stream = connect(spool.ipp);
        stream.write_all(&octets[..cut]).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        rest(&stream);
    }
    // By LPR: without its data, and with half of it.
    let (mut talk, _) = Lpr::begin(spool.lpr, "a");
    assert_eq!(talk.control(&control("half", &["dfA001host"])).unwrap(), [Some(0); 2]);
    drop(talk);
    let (mut talk, _) = Lpr::begin(spool.lpr, "a");
    assert_eq!(talk.control(&control("half", &["dfA001host"])).unwrap(), [Some(0); 2]);
    assert_eq!(talk.say(b"\x031000 dfA001host\n").unwrap(), Some(0));
    talk.0.write_all(&[b'x'; 500]).unwrap();
    talk.0.shutdown(Shutdown::Write).unwrap();
    assert_eq!(rest(&talk.0), b"");
    // Raw data that is broken off, and not ended.
    let stream = connect(spool.raw("a"));
    (&stream).write_all(&[b'x'; 100_000]).unwrap();
    let socket = Socket::from(stream);
    socket.set_linger(Some(Duration::ZERO)).unwrap();
    drop(socket);
    spool.says("its raw data was incomplete, and is discarded");
    wait_for("the end of all", || spool.metric("windlass_spool_active_jobs") == 0);
    assert_eq!(spool.metric("windlass_spool_jobs_accepted_total{printer=\"a\"}"), 0);
    assert_eq!(spool.metric("windlass_spool_document_bytes"), 0);
    // What of a job was lost is said, whoever sent it.
    let said = spool.events_once("client-failed", 6);
    assert!(said.iter().filter(|text| text.contains("within a request")).count() >= 4, "{said:#?}");
    assert_eq!(said.iter().filter(|text| text.contains("by LPR")).count(), 2, "{said:#?}");
    serves(&spool);
    assert_eq!(spool.stop().code, Some(0));
}

#[test]
fn who_says_nothing_is_left_after_the_patience() {
    let folder = tempfile::tempdir().unwrap();
    let spool = start_impatient(folder.path());
    let request = print_job(spool.ipp, "a", "silent").encode().unwrap();
    let octets = [head(request.len() + 1_000).as_bytes(), &request].concat();
    let silent = [
        (spool.ipp, &octets[..20]),
        (spool.ipp, &octets[..octets.len() - 5]),
        (spool.ipp, &octets[..]),
        (spool.lpr, b""),
        (spool.lpr, b"\x02a\n\x0210"),
        (spool.raw("a"), b""),
        (spool.raw("a"), b"some data and then nothing"),
    ];
    let began = Instant::now();
    let streams: Vec<_> = silent
        .iter()
        .map(|(port, said)| {
            let mut stream = connect(*port);
            stream.write_all(said).unwrap();
            stream
        })
        .collect();
    for stream in &streams {
        rest(stream);
    }
    let took = began.elapsed();
    // The server left them all: none of them had this test's own patience.
    assert!(took > Duration::from_millis(500) && took < PATIENCE, "{took:?}");
    spool.says("no data for 3s");
    wait_for("the end of all", || spool.metric("windlass_spool_active_jobs") == 0);
    assert_eq!(spool.metric("windlass_spool_jobs_accepted_total{printer=\"a\"}"), 0);
    serves(&spool);
    assert_eq!(spool.stop().code, Some(0));
}

#[test]
fn garbage_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let spool = start(folder.path());
    let noise = some_bytes(1, 3_000_000);
    let cases: [(u16, Vec<u8>); 12] = [
        (spool.ipp, noise.clone()),
        (spool.ipp, b"\0".repeat(1_000_000)),
        (spool.ipp, [&b"POST / HTTP/1.1\r\nX: "[..], &b"y".repeat(1_000_000)].concat()),
        (spool.ipp, [&b"POST / HTTP/1.1\r\n"[..], &b"X: y\r\n".repeat(100_000)].concat()),
        (spool.ipp, b"SSH-2.0-OpenSSH_9.2\r\n\r\n".to_vec()),
        (spool.ipp, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec()),
        // A request of many values, which all have to be kept before it can be
        // answered.
        (
            spool.ipp,
            [
                head(100_000_000).as_bytes(),
                b"\x02\x00\x00\x02\x00\x00\x00\x01\x01",
                &b"\x44\x00\x01a\x00\x01b".repeat(1_000_000),
            ]
            .concat(),
        ),
        (spool.lpr, noise),
        (spool.lpr, b"\0".repeat(1_000_000)),
        (spool.lpr, b"\x02".repeat(1_000_000)),
        (spool.lpr, b"\x02a\n\x0299999999999999999999999 cfA001host\n".to_vec()),
        (spool.lpr, b"\x02a\n\x0310 \n0123456789\0".to_vec()),
    ];
    for (place, (port, bytes)) in cases.into_iter().enumerate() {
        let stream = connect(port);
        // It may be refused before all of it is sent.
        let _ = (&stream).write_all(&bytes);
        let _ = stream.shutdown(Shutdown::Write);
        let got = rest(&stream);
        if port == spool.ipp && !got.is_empty() {
            assert!(got.starts_with(b"HTTP/1.1 4"), "{place}: {}", String::from_utf8_lossy(&got));
        }
    }
    assert_eq!(spool.metric("windlass_spool_jobs_accepted_total{printer=\"a\"}"), 0);
    serves(&spool);
    assert_eq!(spool.stop().code, Some(0));
}

#[test]
fn lies_about_a_length_are_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let spool = start_impatient(folder.path());
    let request = print_job(spool.ipp, "a", "lies").encode().unwrap();
    let post = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/ipp\r\n";
    let huge = u64::MAX;
    let lengths = [
        format!("Content-Length: {}\r\n\r\n", request.len() / 2),
        "Content-Length: -1\r\n\r\n".to_owned(),
        format!("Content-Length: {huge}\r\n\r\n"),
        format!("Content-Length: {huge}{huge}\r\n\r\n"),
        "Content-Length: 5\r\nContent-Length: 6\r\n\r\n".to_owned(),
        format!("Content-Length: {}\r\nTransfer-Encoding: chunked\r\n\r\n", request.len()),
        "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n".to_owned(),
        "Transfer-Encoding: chunked\r\n\r\n-5\r\n".to_owned(),
        "Transfer-Encoding: chunked, chunked\r\n\r\n5\r\n".to_owned(),
        "\r\n".to_owned(),
    ];
    // Some are waited for: all at once.
    let lied = lengths.map(|length| {
        let mut stream = connect(spool.ipp);
        let octets = [post.as_bytes(), length.as_bytes(), &request, b"x"].concat();
        let _ = stream.write_all(&octets);
        (stream, length)
    });
    for (stream, length) in lied {
        let got = rest(&stream);
        let text = String::from_utf8_lossy(&got);
        let is_refused = got.is_empty() || text.starts_with("HTTP/1.1 4");
        assert!(is_refused, "{length:?}: {text}");
    }
    // Of LPR: less than was said, and more.
    let (mut talk, _) = Lpr::begin(spool.lpr, "a");
    assert_eq!(talk.control(&control("more", &["dfA001host"])).unwrap(), [Some(0); 2]);
    assert_eq!(talk.say(b"\x033 dfA001host\n").unwrap(), Some(0));
    assert_eq!(talk.say(b"12345\0").unwrap(), Some(1));
    assert_eq!(spool.metric("windlass_spool_jobs_accepted_total{printer=\"a\"}"), 0);
    serves(&spool);
    assert_eq!(spool.stop().code, Some(0));
}

/// A client's job name is only a text: no path, no line of another protocol, no argument of a
/// command.
#[test]
fn names_of_jobs_are_texts_alone() {
    let folder = tempfile::tempdir().unwrap();
    open_to_all(folder.path());
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("out")).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let file = format!("file=file:{}", at("out").display());
    let command = format!(
        "command=exec:cat > /dev/null; printf '%s|' \"$WINDLASS_JOB_NAME\" >> {}",
        at("names").display()
    );
    let lpd = format!("lpd=lpd://127.0.0.1:{}/q", listener.local_addr().unwrap().port());
    let spool =
        Spool::start(&at("spool"), &["--printer", &file, "--printer", &command, "--printer", &lpd]);
    let long = "n".repeat(5_000);
    let names = [
        "../../../x",
        "/etc/passwd",
        "a\0b",
        "a\nb",
        "$(touch /tmp/x); `id` '\"",
        "\u{1b}[31m",
        "",
        &long,
    ];
    for name in names {
        print(spool.ipp, "file", name, b"1");
        print(spool.ipp, "command", name, b"1");
        assert!(lpr(spool.lpr, "file", &name.replace('\n', "\nP../../root\n"), b"1").unwrap());
    }
    let count = names.len() as u64;
    spool.wait_counts("file", "completed", 2 * count);
    spool.wait_counts("command", "completed", count);
    let mut files: Vec<_> = fs::read_dir(at("out"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(files.len() as u64, 2 * count);
    let is_plain =
        |name: &String| name.strip_prefix("file-").is_some_and(|id| id.parse::<u32>().is_ok());
    assert!(files.iter().all(is_plain), "{files:?}");
    let mut inside: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    inside.sort();
    assert_eq!(inside, ["names", "out", "spool"]);
    let said = fs::read_to_string(at("names")).unwrap();
    assert!(
        said.starts_with("../../../x|/etc/passwd|a b|a b|$(touch /tmp/x); `id` '\"| [31m|"),
        "{said}"
    );
    // A name with lines in it makes no lines of the control file that goes on.
    let received = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let mut all = Vec::new();
        let mut piece = [0; 4_096];
        while let Ok(got) = stream.read(&mut piece) {
            if got == 0 {
                break;
            }
            all.extend_from_slice(&piece[..got]);
            let _ = stream.write_all(&[0]);
        }
        String::from_utf8_lossy(&all).into_owned()
    });
    let id = print(spool.ipp, "lpd", "a\nHevil\nldfZ999evil", b"1");
    let control = received.join().unwrap();
    assert!(!control.contains("\nHevil") && !control.contains("\nldfZ999evil"), "{control:?}");
    let _ = ask(spool.ipp, &about_job(Operation::CANCEL_JOB, spool.ipp, "lpd", id), b"");
    // Nor do names of printers that clients make up.
    for name in ["../spool", "..%2f..%2fetc", "%00", "a%0ab"] {
        let refused = ask(spool.ipp, &print_job(spool.ipp, name, "one"), b"1");
        assert_eq!(Status(refused.code), Status::NOT_FOUND, "{name}");
        assert_ne!(Lpr::begin(spool.lpr, name).1, Some(0), "{name}");
    }
    assert_eq!(spool.stop().code, Some(0));
}

/// A host that opens as many connections as it gets leaves an eighth of them to others; and
/// so does each user of the Unix socket.
#[test]
fn a_flood_of_connections_leaves_room_for_others() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("spool.sock");
    let path = socket.to_str().unwrap();
    let more = ["--printer", "a=drop", "--connections", "64", "--listen", path];
    let spool = Spool::start(&folder.path().join("spool"), &more);
    let mut flood: Vec<_> = (0..300).map(|_| connect(spool.ipp)).collect();
    // Another of them is served while the flood is.
    let metric = |name: &str| {
        let mut stream = UnixStream::connect(&socket).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let get = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        stream.write_all(get).unwrap();
        let (status, body) = answer(&mut stream).unwrap();
        assert_eq!(status, 200);
        let text = String::from_utf8(body).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} "))).unwrap();
        line.parse::<u32>().unwrap()
    };
    wait_for("the flood to be counted", || {
        metric("windlass_spool_connections_over_limit_total") >= 300 - 56
    });
    spool.says("its host has 32 connections, the maximum of one host");
    assert_eq!(spool.events("client-failed").len(), 1, "a host is told of once");
    flood.clear();
    wait_for("room again", || metric("windlass_spool_connections") < 10);
    serves_ipp(&spool);
    assert_eq!(spool.stop().code, Some(0));
}

/// Ten thousand clients of a hundred hosts have begun to say something and say no more.
#[test]
fn ten_thousand_connections_keep_nobody_from_the_server() {
    const MANY: usize = 10_000;
    const HOSTS: usize = 100;
    let test = "ten_thousand_connections_keep_nobody_from_the_server";
    if raise_open_files() < 12_000 {
        return skipped(test, "no process may have 12,000 files open here");
    }
    let folder = tempfile::tempdir().unwrap();
    let more = ["--printer", "a=drop", "--connections", "11000", "--patience", "5min"];
    let spool = Spool::start(folder.path(), &more);
    let mut flood = Vec::new();
    for one in 0..MANY {
        let mut stream = connect_from(1 + one % HOSTS, spool.ipp);
        stream.write_all(b"POST /printers/a HTTP/1.1\r\nHost: localhost\r\n").unwrap();
        flood.push(stream);
    }
    wait_for("all of them", || spool.metric("windlass_spool_connections") >= MANY as u64);
    assert_eq!(spool.metric("windlass_spool_connections_over_limit_total"), 0);
    print(spool.ipp, "a", "among them", b"1");
    spool.wait_counts("a", "completed", 1);
    // Each has a thread and what it has said: so much, and no more.
    let most = 64 * MANY as u64;
    let had = peak_memory(&spool);
    assert!(had < most, "{had} KiB of memory for {MANY} connections");
    // They all go at once, and the log has a part of them.
    flood.clear();
    wait_for("their end", || spool.metric("windlass_spool_connections") < 10);
    let told = spool.events("client-failed");
    assert!(told.len() <= HOSTS * 50, "{} lines", told.len());
    assert_eq!(spool.stop().code, Some(0));
}

/// Errors of one host's clients do not fill the log.
#[test]
fn a_host_that_fails_again_and_again_is_told_of_now_and_then() {
    let folder = tempfile::tempdir().unwrap();
    let spool = start(folder.path());
    for _ in 0..120 {
        let mut stream = connect(spool.ipp);
        stream.write_all(b"POST / HTTP/1.1\r\n").unwrap();
    }
    let end = "are not logged for a minute";
    spool.says(end);
    wait_for("all of them", || spool.metric("windlass_spool_connections_accepted_total") >= 120);
    let told = spool.events("client-failed");
    assert_eq!(told.len(), 50, "{told:#?}");
    // Threads write them, and not in the order in which they were counted.
    let number = |part| told.iter().filter(|line| line.contains(part)).count();
    assert_eq!((number(end), number("within a request")), (1, 50), "{told:#?}");
    assert_eq!(spool.stop().code, Some(0));
}

/// The server takes a job, and is as small as ever.
fn serves_ipp(spool: &Spool) {
    print(spool.ipp, "a", "after", b"1");
    assert!(peak_memory(spool) < MAX_MEMORY);
}

#[test]
fn a_bomb_takes_disk_and_no_memory() {
    let folder = tempfile::tempdir().unwrap();
    let more = ["--printer", "a=drop", "--stopped", "--max-spool", "4MiB"];
    let spool = Spool::start(folder.path(), &more);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    for _ in 0..16 {
        packed.write_all(&vec![0; 1 << 20]).unwrap();
    }
    let packed = packed.finish().unwrap();
    assert!(packed.len() < 1 << 20);
    let mut request = print_job(spool.ipp, "a", "bomb");
    said(&mut request, "compression", Value::keyword("gzip"));
    let refused = ask(spool.ipp, &request, &packed);
    assert_eq!(Status(refused.code), Status::TEMPORARY_ERROR, "it is more than the spool may have");
    assert_eq!(spool.metric("windlass_spool_active_jobs"), 0);
    serves_ipp(&spool);
    assert_eq!(spool.stop().code, Some(0));
}
