#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{self, Read, Write};
use std::net::Ipv4Addr;

use windlass_spool_core::{Device, PrinterSettings, Rules};
use windlass_wire::ipp::{Attribute, CharKind, GroupTag, Message, Operation, Value, Version};

use super::*;
use crate::commands::CommandSettings;
use crate::spooler::SpoolerSettings;
use crate::store::{Durability, Error, Settings};

#[path = "../../tests/support/said.rs"]
mod said;
#[path = "../../tests/support/stopped.rs"]
mod stopped;
use said::ScriptedClient;
use stopped::stopped;

/// A server without sockets, whose printers are stopped.
pub(super) struct Conversation {
    spooler: Arc<Spooler>,
    gate: Arc<Gate>,
}

impl Conversation {
    /// Creates a server without jobs.
    fn new() -> Result<Self, Error> {
        Self::by(Clock::default())
    }

    /// Creates a server without jobs, with another clock.
    pub(super) fn by(clock: Clock) -> Result<Self, Error> {
        let spooler = stopped()?;
        let names = Names::new("h", &[]);
        let gate = Gate { clock, names, ..Gate::default() };
        Ok(Self { spooler, gate: Arc::new(gate) })
    }

    /// Returns the answer to a client that sends these bytes in pieces of `piece` bytes.
    fn with(&self, protocol: PortProtocol, bytes: &[u8], piece: usize) -> Vec<u8> {
        let (said, told) = ScriptedClient::new(bytes, piece.max(1));
        self.over(protocol, Box::new(said));
        std::mem::take(&mut told.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Serves a client to its end.
    pub(super) fn over(&self, protocol: PortProtocol, stream: Box<dyn Stream>) {
        let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 1)).into();
        let client = Client::over(stream, peer, Arc::clone(&self.gate));
        protocol.serve(client, &self.spooler);
        let shared = self.spooler.lock();
        let live = shared.table.printers().iter().map(|one| one.live.len()).sum::<usize>();
        assert_eq!(shared.table.active(), live, "a job is on its way in for ever");
        assert!(!self.spooler.committer.is_broken());
    }
}

fn request(operation: Operation, own: Vec<Attribute>) -> Vec<u8> {
    let mut request = Message::request(Version(2, 0), operation, 7);
    let uri = Value::chars(CharKind::Uri, "ipp://h/printers/a");
    request.add("printer-uri", uri);
    request.groups[0].attributes.extend(own);
    request.encode().unwrap()
}

fn post(minor: u8, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "POST / HTTP/1.{minor}\r\nHost: h\r\nContent-Type: application/ipp\r\n\
         Content-Length: {length}\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

/// Returns the status lines of the answers.
fn answers(told: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(told);
    let lines = text.split("\r\n").filter_map(|line| line.find("HTTP/1.1 ").map(|at| &line[at..]));
    lines.map(str::to_owned).collect()
}

fn http(bytes: &[u8]) -> Vec<String> {
    answers(&Conversation::new().unwrap().with(PortProtocol::Ipp, bytes, 100))
}

#[test]
fn what_follows_a_request_is_not_another_of_somebody_elses() {
    let inner = "GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n";
    let length = inner.len();
    let refused = ["HTTP/1.1 400 Bad Request".to_owned()];
    for head in [
        format!("OPTIONS * HTTP/1.1\r\nHost: h\r\nContent-Length: {length}\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: {length}\r\n\r\n"),
        "GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned(),
        format!(
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/ipp\r\nContent-Length: {length}\r\n\
             Transfer-Encoding: chunked\r\n\r\n"
        ),
        "POST / HTTP/1.0\r\nHost: h\r\nContent-Type: application/ipp\r\nTransfer-Encoding: chunked\r\n\r\n"
            .to_owned(),
    ] {
        assert_eq!(http(format!("{head}{inner}").as_bytes()), refused, "{head}");
    }
    // HEAD returns the length of the body that it omits, for a missing page, too.
    let told = Conversation::new().unwrap().with(
        PortProtocol::Ipp,
        b"HEAD /x HTTP/1.1\r\nHost: h\r\n\r\n",
        9,
    );
    assert!(told.starts_with(b"HTTP/1.1 404 Not Found\r\n"));
    assert!(told.ends_with(b"\r\n\r\n"));
}

#[test]
fn a_head_without_end_is_refused() {
    let long = [b"GET / HTTP/1.1\r\nX: ".to_vec(), vec![b'x'; 1 << 20]].concat();
    assert_eq!(http(&long), ["HTTP/1.1 431 Request Header Fields Too Large"]);
}

#[test]
fn a_list_of_jobs_comes_in_chunks_or_up_to_the_end() {
    let conversation = Conversation::new().unwrap();
    let job = post(1, &[&request(Operation::PRINT_JOB, vec![])[..], b"data"].concat());
    let list = request(Operation::GET_JOBS, vec![]);
    let all = [&job[..], &job, &post(1, &list), &post(1, &list)].concat();
    let told = conversation.with(PortProtocol::Ipp, &all, 5);
    assert_eq!(answers(&told), ["HTTP/1.1 200 OK"; 4]);
    assert!(told.ends_with(b"\x03\r\n0\r\n\r\n"));
    let old = conversation.with(PortProtocol::Ipp, &[post(0, &list), post(0, &list)].concat(), 5);
    assert_eq!(answers(&old), ["HTTP/1.1 200 OK"]);
    let at = old.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
    let mut decoder = windlass_wire::ipp::Decoder::new(windlass_wire::ipp::Limits::default());
    assert_eq!(decoder.take(&old[at..]), Ok(old.len() - at));
    let groups = decoder.message().unwrap().groups;
    assert_eq!(groups.iter().filter(|group| group.tag == GroupTag::JOB).count(), 2);
}

/// A client that is gone before the answer.
struct LeavingClient(ScriptedClient);

impl Stream for LeavingClient {
    fn read_now(&mut self, bytes: &mut [u8]) -> io::Result<Option<usize>> {
        self.0.read_now(bytes)
    }
}

impl Read for LeavingClient {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

impl Write for LeavingClient {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn who_leaves_before_the_answer_has_failed_if_it_brought_a_document() {
    let conversation = Conversation::new().unwrap();
    let end = |body: &[u8]| {
        let (said, _) = ScriptedClient::new(&post(1, body), 100);
        let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 1)).into();
        let stream = Box::new(LeavingClient(said));
        let mut client = Client::over(stream, peer, Arc::clone(&conversation.gate));
        http::one(&mut client, &conversation.spooler)
    };
    for question in [Operation::GET_PRINTER_ATTRIBUTES, Operation::GET_JOBS] {
        assert!(matches!(end(&request(question, vec![])), Ok(http::Continuation::Close)));
    }
    let job = [&request(Operation::PRINT_JOB, vec![])[..], b"data"].concat();
    assert!(matches!(end(&job), Err(client::ConnectionEnd::Failed(_))));
}

#[test]
fn what_unpacks_to_more_than_is_taken_is_refused() {
    let own = vec![Attribute::new("compression", Value::keyword("gzip"))];
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(&vec![0; 20 << 20]).unwrap();
    let packed = packed.finish().unwrap();
    assert!(packed.len() < 1 << 16);
    let body = [request(Operation::PRINT_JOB, own), packed].concat();
    let told = Conversation::new().unwrap().with(PortProtocol::Ipp, &post(1, &body), 4_000);
    let text = String::from_utf8_lossy(&told);
    assert!(text.contains("the document is longer than 1048576 bytes"), "{text}");
}

/// Returns an LPR job with `copies` copies.
fn lpr(name: &str, copies: usize) -> Vec<u8> {
    let control = format!("Hh\nPann\nJ{name}\n{}", "ldfA001h\n".repeat(copies));
    let length = control.len();
    format!("\x02{length} cfA001h\n{control}\0\x034 dfA001h\ndata\0").into_bytes()
}

#[test]
fn copies_with_a_long_name_are_kept() {
    let conversation = Conversation::new().unwrap();
    let said = [b"\x02a\n".to_vec(), lpr(&"n".repeat(300), 999)].concat();
    // The queue, the control file twice, the data file twice.
    assert_eq!(conversation.with(PortProtocol::Lpr, &said, 999), [0; 5]);
}

#[test]
fn a_client_of_lpr_has_no_place_before_and_after_its_jobs() {
    let conversation = Conversation::new().unwrap();
    let job = lpr("one", 1);
    // The maximum number of jobs, and then the end of the conversation.
    let said = [b"\x02a\n".to_vec(), job.repeat(100)].concat();
    assert_eq!(conversation.with(PortProtocol::Lpr, &said, 999), vec![0; 401]);
    assert_eq!(conversation.with(PortProtocol::Lpr, b"\x02a\n", 999), [0]);
    // One more job is refused for now.
    let told = conversation.with(PortProtocol::Lpr, &[b"\x02a\n".to_vec(), job].concat(), 999);
    assert_eq!((told.len(), told[0]), (2, 0));
    assert_ne!(told[1], 0);
}

#[test]
fn names_do_not_move_the_terminal_of_who_asks() {
    let conversation = Conversation::new().unwrap();
    let name = Value::chars(CharKind::Name, "a\u{1b}[2J\nb\u{9b}");
    let own = vec![
        Attribute::new("requesting-user-name", name.clone()),
        Attribute::new("job-name", name),
    ];
    let body = [request(Operation::PRINT_JOB, own), b"data".to_vec()].concat();
    assert_eq!(answers(&conversation.with(PortProtocol::Ipp, &post(1, &body), 99)).len(), 1);
    for code in ["\x03", "\x04"] {
        let told = conversation.with(PortProtocol::Lpr, format!("{code}a\n").as_bytes(), 99);
        let text = String::from_utf8(told).unwrap();
        assert!(text.contains("a [2J b"), "{text:?}");
        assert!(!text.replace('\n', "").contains(char::is_control), "{text:?}");
    }
}
