//! Jobs come byte for byte, whoever sends them.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::PathBuf;
use std::process::Command;

use windlass_wire::http::chunk_head;
use windlass_wire::ipp::{GroupTag, Operation, Status, Value};

use super::client::{
    Lpr, about, about_job, answer, ask, connect, control, job_id, message, print_job, raw, said,
};
use super::server::{Spool, wait_for};
use super::{content, some_bytes};
use windlass_testkit::cups::Cups;
use windlass_testkit::{has, skipped};

/// A server with a printer whose jobs become files of a folder.
struct ReceivingServer {
    spool: Spool,
    folder: tempfile::TempDir,
    seen: u32,
}

impl ReceivingServer {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        fs::create_dir(&out).unwrap();
        let printer = format!("a=file:{}", out.display());
        let spool = Spool::start(
            &folder.path().join("spool"),
            &["--printer", &printer, "--raw", "a=127.0.0.1:0"],
        );
        Self { spool, folder, seen: 0 }
    }

    /// A file of such bytes.
    fn file(&self, name: &str, data: &[u8]) -> String {
        let path = self.folder.path().join(name);
        fs::write(&path, data).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn path(&self, job: u32) -> PathBuf {
        self.folder.path().join(format!("out/a-{job:08}"))
    }

    /// The next job is just that.
    fn next_is(&mut self, what: &str, expected: &[u8]) {
        self.seen += 1;
        let path = self.path(self.seen);
        let spool = &self.spool;
        wait_for(&format!("{what}: job {}", self.seen), || {
            let lines = spool.lines();
            let odd: Vec<_> = lines.iter().filter(|line| line["event"] == "happened").collect();
            assert!(odd.is_empty(), "{what}: {odd:#?}");
            path.exists()
        });
        let got = fs::read(&path).unwrap();
        assert!(got == expected, "{what}: {} bytes, not {}", got.len(), expected.len());
    }

    /// There were no other jobs, and no client did anything odd.
    fn end(self) {
        // A document is there before its job is over.
        self.spool.wait_counts("a", "completed", u64::from(self.seen));
        let ended = self.spool.stop();
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
        let counts = ["completed", "refused", "left"].map(|of| ended.count(of));
        assert_eq!(counts, [u64::from(self.seen), 0, 0], "{:#?}", ended.lines);
    }
}

#[test]
fn lp_and_lpr_of_cups_send_byte_for_byte() {
    let test = "lp_and_lpr_of_cups_send_byte_for_byte";
    if !has("lp", test) || !has("lpr", test) {
        return;
    }
    let mut received = ReceivingServer::new();
    let (one, two) = (some_bytes(1, 1_011_712), some_bytes(2, 70_001));
    let (first, second) = (received.file("one", &one), received.file("two", &two));
    let server = format!("127.0.0.1:{}", received.spool.ipp);
    let said = content("lp", &["-h", &server, "-d", "a", &first]);
    assert_eq!(said.trim(), "request id is a-1 (1 file(s))");
    received.next_is("lp", &one);
    // Several files are documents of a job.
    let said = content("lp", &["-h", &server, "-d", "a", "-t", "both", &first, &second]);
    assert_eq!(said.trim(), "request id is a-2 (2 file(s))");
    received.next_is("lp of two files", &[&one[..], &two].concat());
    for version in ["1.1", "2.0"] {
        let server = format!("{server}/version={version}");
        content("lpr", &["-H", &server, "-P", "a", &second]);
        received.next_is(version, &two);
    }
    // From standard input, without a size.
    let mut child = Command::new("lp")
        .args(["-h", &server, "-d", "a"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&one).unwrap();
    assert!(child.wait().unwrap().success());
    received.next_is("lp of standard input", &one);
    received.end();
}

#[test]
fn rlpr_sends_byte_for_byte() {
    let test = "rlpr_sends_byte_for_byte";
    if !has("rlpr", test) {
        return;
    }
    let mut received = ReceivingServer::new();
    let data = some_bytes(3, 333_333);
    let (file, other) = (received.file("one", &data), received.file("two", b"two"));
    let port = format!("--port={}", received.spool.lpr);
    let rlpr = |words: &[&str]| {
        let first = ["-N", "-H", "127.0.0.1", &port, "-P", "a"];
        content("rlpr", &[&first[..], words].concat());
    };
    rlpr(&[&file]);
    received.next_is("rlpr", &data);
    rlpr(&["-#", "3", &other]);
    received.next_is("rlpr of three copies", b"twotwotwo");
    rlpr(&[&file, &other]);
    received.next_is("rlpr of two files", &data);
    received.next_is("rlpr of two files", b"two");
    received.end();
}

/// CUPS's own senders, as cupsd starts them.
#[test]
fn backends_of_cups_send_byte_for_byte() {
    let test = "backends_of_cups_send_byte_for_byte";
    let folder = PathBuf::from("/usr/lib/cups/backend");
    if !folder.join("ipp").exists() {
        return skipped(test, "CUPS's backends are not installed");
    }
    let mut received = ReceivingServer::new();
    let data = some_bytes(4, 2_000_000);
    let file = received.file("one", &data);
    let devices = [
        ("ipp", format!("ipp://127.0.0.1:{}/printers/a", received.spool.ipp)),
        ("ipp", format!("ipp://127.0.0.1:{}/printers/a?compression=gzip", received.spool.ipp)),
        ("ipp", format!("ipp://127.0.0.1:{}/printers/a?version=1.1", received.spool.ipp)),
        ("socket", format!("socket://127.0.0.1:{}", received.spool.raw("a"))),
        ("lpd", format!("lpd://127.0.0.1:{}/a?reserve=none", received.spool.lpr)),
        (
            "lpd",
            format!("lpd://127.0.0.1:{}/a?reserve=none&order=data,control", received.spool.lpr),
        ),
        ("lpd", format!("lpd://127.0.0.1:{}/a?reserve=none&mode=stream", received.spool.lpr)),
    ];
    for (backend, device) in &devices {
        let output = Command::new(folder.join(backend))
            .args(["7", "tester", "a title", "1", "", &file])
            .env("DEVICE_URI", device)
            .env("PRINTER", "a")
            .env("CONTENT_TYPE", "application/octet-stream")
            .env("FINAL_CONTENT_TYPE", "application/octet-stream")
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{device}: {stderr}\n{:#?}", received.spool.lines());
        received.next_is(&format!("{device}: {stderr}"), &data);
    }
    received.end();
}

/// People print to cupsd, and its queue points here.
#[test]
fn cupsd_in_front_sends_byte_for_byte() {
    let test = "cupsd_in_front_sends_byte_for_byte";
    let mut received = ReceivingServer::new();
    let data = some_bytes(5, 1_000_000);
    let file = received.file("one", &data);
    let devices = [
        format!("ipp://127.0.0.1:{}/printers/a", received.spool.ipp),
        format!("socket://127.0.0.1:{}", received.spool.raw("a")),
        format!("lpd://127.0.0.1:{}/a?reserve=none", received.spool.lpr),
    ];
    for device in devices {
        let Some(cups) = Cups::start(test, &device, "", None) else { return };
        let server = format!("127.0.0.1:{}", cups.port);
        content("lp", &["-h", &server, "-d", "dummy", "-o", "raw", &file]);
        received.next_is(&format!("{device}: {}", cups.log()), &data);
        wait_for("cupsd's end of the job", || {
            content("lpstat", &["-h", &server, "-o"]).trim().is_empty()
        });
        let completed = content("lpstat", &["-h", &server, "-W", "completed", "-o"]);
        assert_eq!(completed.lines().count(), 1, "{device}: {completed}");
    }
    received.end();
}

#[test]
fn documents_of_ipp_come_in_every_dress() {
    let mut received = ReceivingServer::new();
    let data = some_bytes(6, 1_500_000);
    let port = received.spool.ipp;
    let packed = |kind: &str| {
        let mut out = Vec::new();
        let level = flate2::Compression::fast();
        match kind {
            "gzip" => flate2::read::GzEncoder::new(&data[..], level).read_to_end(&mut out),
            "bare" => flate2::read::DeflateEncoder::new(&data[..], level).read_to_end(&mut out),
            _ => flate2::read::ZlibEncoder::new(&data[..], level).read_to_end(&mut out),
        }
        .unwrap();
        out
    };
    // IPP's deflate has no frame (RFC 1951); some put HTTP's around it (RFC 1950).
    for kind in ["gzip", "bare", "framed"] {
        let mut job = print_job(port, "a", kind);
        let word = if kind == "gzip" { "gzip" } else { "deflate" };
        said(&mut job, "compression", Value::keyword(word));
        job_id(&ask(port, &job, &packed(kind)));
        received.next_is(kind, &data);
        // What is cut off is no document.
        let packed = packed(kind);
        let refused = ask(port, &job, &packed[..packed.len() / 2]);
        assert_eq!(Status(refused.code), Status::COMPRESSION_ERROR, "{kind}");
        // What is not packed at all is none either.
        let refused = ask(port, &job, b"plainly not");
        assert_eq!(Status(refused.code), Status::COMPRESSION_ERROR, "{kind}");
    }
    // In chunks of any size, and with a word of how it goes on first.
    for size in [1_usize, 7, 4_096, 1 << 20] {
        let length = if size == 1 { 2_000 } else { data.len() };
        let mut octets = print_job(port, "a", "chunks").encode().unwrap();
        octets.extend_from_slice(&data[..length]);
        let mut stream = connect(port);
        let head = "POST /printers/a HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n\
                    Content-Type: application/ipp\r\nTransfer-Encoding: chunked\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        let mut said = [0; 25];
        stream.read_exact(&mut said).unwrap();
        assert_eq!(&said, b"HTTP/1.1 100 Continue\r\n\r\n");
        let mut body = Vec::new();
        for chunk in octets.chunks(size) {
            body.extend_from_slice(&chunk_head(chunk.len()));
            body.extend_from_slice(chunk);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(b"0\r\n\r\n");
        stream.write_all(&body).unwrap();
        let (status, answered) = answer(&mut stream).unwrap();
        assert_eq!(status, 200);
        job_id(&message(&answered));
        received.next_is(&format!("chunks of {size}"), &data[..length]);
    }
    // Several documents of a job, the last of them empty and only the end.
    let created = ask(port, &about(Operation::CREATE_JOB, port, "a"), b"");
    let id = job_id(&created);
    for (place, document) in [&data[..], b"", &data[..5], b""].into_iter().enumerate() {
        let mut send = about_job(Operation::SEND_DOCUMENT, port, "a", id);
        said(&mut send, "last-document", Value::Boolean(place == 3));
        assert_eq!(Status(ask(port, &send, document).code), Status::OK);
    }
    received.next_is("several documents", &[&data[..], &data[..5]].concat());
    let asked = ask(port, &about_job(Operation::GET_JOB_ATTRIBUTES, port, "a", id), b"");
    assert_eq!(asked.number(GroupTag::JOB, "number-of-documents"), Some(3));
    // Many requests on a connection, sent before any is answered.
    let mut stream = connect(port);
    let mut octets = Vec::new();
    for place in 0..20_u8 {
        let request = print_job(port, "a", "one of many").encode().unwrap();
        octets.extend_from_slice(super::client::head(request.len() + 1).as_bytes());
        octets.extend_from_slice(&request);
        octets.push(place);
    }
    stream.write_all(&octets).unwrap();
    for place in 0..20_u8 {
        // Answers may come together: one byte at a time keeps them apart.
        let (status, _) = answer(&mut ByteWiseReader(&stream)).unwrap();
        assert_eq!(status, 200);
        received.next_is("one of many", &[place]);
    }
    let refused = received.spool.metric("windlass_spool_jobs_refused_total{printer=\"a\"}");
    assert_eq!(refused, 6);
    assert_eq!(received.spool.stop().code, Some(0));
}

/// Reads a byte at a time.
struct ByteWiseReader<'a>(&'a TcpStream);

impl Read for ByteWiseReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(&mut buffer[..1])
    }
}

#[test]
fn jobs_of_lpr_come_with_all_quirks() {
    let mut received = ReceivingServer::new();
    let data = some_bytes(7, 700_000);
    let port = received.spool.lpr;
    let begin = || {
        let (talk, begun) = Lpr::begin(port, "a");
        assert_eq!(begun, Some(0));
        talk
    };
    // Sizes that mean: up to the end of the connection.
    for size in ["0", "999999999999", "125899906843000"] {
        let mut talk = begin();
        assert_eq!(talk.control(&control("streamed", &["dfA001host"])).unwrap(), [Some(0); 2]);
        assert_eq!(talk.stream(size, "dfA001host", &data).unwrap(), [0], "{size}");
        received.next_is(size, &data);
    }
    // Nothing, and it is meant.
    let mut talk = begin();
    assert_eq!(talk.control(&control("empty", &["dfA001host"])).unwrap(), [Some(0); 2]);
    assert_eq!(talk.data("dfA001host", b"").unwrap(), [Some(0); 2]);
    received.next_is("an empty file", b"");
    drop(talk);
    // Data first.
    let mut talk = begin();
    assert_eq!(talk.data("dfA001host", &data).unwrap(), [Some(0); 2]);
    assert_eq!(talk.control(&control("data first", &["dfA001host"])).unwrap(), [Some(0); 2]);
    received.next_is("data first", &data);
    // Several files in a job, and then another job on the same connection.
    let files = ["dfA001host", "dfB001host", "dfC001host"];
    assert_eq!(talk.control(&control("several", &files)).unwrap(), [Some(0); 2]);
    for (place, file) in files.iter().enumerate() {
        assert_eq!(talk.data(file, &data[..place + 1]).unwrap(), [Some(0); 2]);
    }
    let expected = [&data[..1], &data[..2], &data[..3]].concat();
    received.next_is("several files", &expected);
    // Copies are lines of the control file.
    let copies = "Hhost\nPtester\nJcopies\nldfA001host\nldfA001host\nldfA001host\nUdfA001host\n";
    assert_eq!(talk.control(copies).unwrap(), [Some(0); 2]);
    assert_eq!(talk.data("dfA001host", b"copy").unwrap(), [Some(0); 2]);
    received.next_is("copies", b"copycopycopy");
    // What is taken back does not count.
    assert_eq!(talk.control(&control("taken back", &["dfA001host"])).unwrap(), [Some(0); 2]);
    assert_eq!(talk.say(b"\x01\n").unwrap(), Some(0));
    assert_eq!(talk.control(&control("kept", &["dfA001host"])).unwrap(), [Some(0); 2]);
    assert_eq!(talk.data("dfA001host", b"kept").unwrap(), [Some(0); 2]);
    received.next_is("kept", b"kept");
    talk.0.shutdown(Shutdown::Write).unwrap();
    drop(talk);
    // Who names no printer that there is.
    let (_, said) = Lpr::begin(port, "nowhere");
    assert_eq!(said, Some(1));
    received.end();
}

#[test]
fn raw_data_is_a_job_up_to_its_end() {
    let mut received = ReceivingServer::new();
    let port = received.spool.raw("a");
    for length in [1, 65_536, 3_000_000] {
        let data = some_bytes(8, length);
        raw(port, &data).unwrap();
        received.next_is("raw data", &data);
    }
    // Who only looks whether there is somebody prints nothing.
    drop(connect(port));
    raw(port, b"").unwrap();
    raw(port, b"last").unwrap();
    received.next_is("raw data", b"last");
    received.end();
}

#[test]
fn a_gate_of_windlass_prints_by_every_protocol() {
    let mut received = ReceivingServer::new();
    let data = some_bytes(9, 400_000);
    let file = received.file("one", &data);
    let spool = &received.spool;
    let targets = [
        format!("{} --wait", spool.uri("a")),
        format!("{} --create-job --compression gzip", spool.uri("a")),
        format!("lpd://127.0.0.1:{}/a", spool.lpr),
        format!("socket://127.0.0.1:{}", spool.raw("a")),
    ];
    for target in targets {
        let (_, stderr, code) =
            windlass_testkit::told(&windlass_testkit::run(&format!("print {target} {file}")));
        assert_eq!((stderr.as_str(), code), ("", 0), "{target}");
        received.next_is(&target, &data);
    }
    received.end();
}
