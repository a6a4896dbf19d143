use proptest::prelude::*;
use windlass_base::{Span, Timestamp};
use windlass_wire::http::{CHUNK_END, LAST_CHUNK, chunk_head};
use windlass_wire::ipp::{
    CharKind, Decoder, GroupTag, JobState, Limits, Message, Operation, Status, Value, Version,
};

use super::*;

/// A connection to a printer, and its answers.
#[derive(Default)]
struct Talk {
    server: IppServer,
    said: Vec<u8>,
}

impl Talk {
    fn feed(&mut self, printer: &mut Printer, bytes: &[u8]) -> &mut Self {
        self.server.feed(&Payload::copy_of(bytes), printer, &mut self.said);
        self
    }

    fn zeros(&mut self, printer: &mut Printer, count: u32) -> &mut Self {
        self.server.feed(&Payload::Zeros(count), printer, &mut self.said);
        self
    }

    /// Returns the head and the body of the next answer.
    fn hears(&mut self) -> Option<(Response, Vec<u8>)> {
        let (head, used) = Response::decode(&self.said).unwrap()?;
        let length = match head.body().unwrap() {
            BodyLength::Of(length) => usize::try_from(length).unwrap(),
            other => panic!("{other:?}"),
        };
        let body = self.said.drain(..used + length).skip(used).collect();
        Some((head, body))
    }

    /// Returns the next IPP answer.
    fn answer(&mut self) -> Message {
        let (head, body) = self.hears().expect("an answer");
        assert_eq!(head.status, 200, "{}", String::from_utf8_lossy(&body));
        let mut decoder = Decoder::new(Limits::default());
        assert_eq!(decoder.take(&body), Ok(body.len()));
        decoder.message().expect("whole")
    }

    /// Sends a request, and returns its answer.
    fn ask(&mut self, printer: &mut Printer, request: &Message, document: &[u8]) -> Message {
        self.feed(printer, &posted(request, document.len() as u64));
        self.feed(printer, document).answer()
    }
}

fn request(operation: Operation) -> Message {
    let mut request = Message::request(Version(1, 1), operation, 7);
    request.add("printer-uri", Value::chars(CharKind::Uri, "ipp://192.0.2.2/ipp/print"));
    request.add("requesting-user-name", Value::chars(CharKind::Name, "me"));
    request
}

fn of_job(operation: Operation, id: i32) -> Message {
    let mut request = request(operation);
    request.add("job-id", Value::Integer(id));
    request
}

fn send_document(id: i32, is_last: bool) -> Message {
    let mut request = of_job(Operation::SEND_DOCUMENT, id);
    request.add("last-document", Value::Boolean(is_last));
    request
}

const HEAD: &str = "POST /ipp/print HTTP/1.1\r\nHost: 192.0.2.2:631\r\n\
    Content-Type: application/ipp\r\n";

/// Returns a request with its head. `document` bytes of a document follow.
fn posted(request: &Message, document: u64) -> Vec<u8> {
    let message = request.encode().unwrap();
    let length = message.len() as u64 + document;
    [format!("{HEAD}Content-Length: {length}\r\n\r\n").as_bytes(), &message].concat()
}

/// Returns a request in chunks: the message and the pieces of a document.
fn chunked(request: &Message, document: &[&[u8]]) -> Vec<u8> {
    let message = request.encode().unwrap();
    let mut bytes = format!("{HEAD}Transfer-Encoding: chunked\r\n\r\n").into_bytes();
    for piece in [&[&message[..]], document].concat() {
        bytes.extend(chunk_head(piece.len()));
        bytes.extend(piece);
        bytes.extend(CHUNK_END);
    }
    bytes.extend(LAST_CHUNK);
    bytes
}

fn status(answer: &Message) -> &'static str {
    Status(answer.code).name().unwrap()
}

fn state(answer: &Message) -> Option<JobState> {
    answer.number(GroupTag::JOB, "job-state").and_then(JobState::new)
}

fn received(jobs: u64, documents: u64, data_bytes: u64) -> IppTotals {
    IppTotals { jobs, documents, data_bytes: windlass_base::Bytes::new(data_bytes) }
}

#[test]
fn a_job_is_done_when_its_data_has_ended() {
    let (mut printer, mut talk) = (Printer::default(), Talk::default());
    let print = request(Operation::PRINT_JOB);
    talk.feed(&mut printer, &posted(&print, 3_000)).zeros(&mut printer, 2_999);
    assert!(talk.said.is_empty());
    assert_eq!(printer.received(), received(1, 0, 2_999));
    // Another connection sees it come.
    let mut other = Talk::default();
    let seen = other.ask(&mut printer, &of_job(Operation::GET_JOB_ATTRIBUTES, 1), b"");
    assert_eq!((state(&seen), seen.request_id), (Some(JobState::Processing), 7));
    talk.zeros(&mut printer, 1);
    let done = talk.answer();
    assert_eq!((status(&done), state(&done)), ("successful-ok", Some(JobState::Completed)));
    assert_eq!(done.number(GroupTag::JOB, "job-id"), Some(1));
    let uri = done.text(GroupTag::JOB, "job-uri").unwrap();
    assert_eq!(uri, "ipp://192.0.2.2:631/ipp/print/1");
    assert_eq!(printer.received(), received(1, 1, 3_000));
    assert!(!talk.server.is_closed());
    let again = talk.ask(&mut printer, &print, b"more");
    assert_eq!(again.number(GroupTag::JOB, "job-id"), Some(2));
    assert_eq!(printer.received(), received(2, 2, 3_004));
}

#[test]
fn who_asks_first_is_told_to_go_on() {
    let (mut printer, mut talk) = (Printer::default(), Talk::default());
    let message = request(Operation::PRINT_JOB).encode().unwrap();
    let length = message.len() + 5;
    let head = format!("{HEAD}Content-Length: {length}\r\nExpect: 100-continue\r\n\r\n");
    talk.feed(&mut printer, head.as_bytes());
    assert_eq!(talk.said, GO_ON);
    talk.said.clear();
    talk.feed(&mut printer, &message).feed(&mut printer, b"12345");
    assert_eq!(state(&talk.answer()), Some(JobState::Completed));
}

#[test]
fn chunks_are_not_of_the_document() {
    let (mut printer, mut talk) = (Printer::default(), Talk::default());
    let bytes = chunked(&request(Operation::PRINT_JOB), &[b"abc", b"defgh", b"\0\0"]);
    talk.feed(&mut printer, &bytes);
    assert_eq!(state(&talk.answer()), Some(JobState::Completed));
    assert_eq!(printer.received(), received(1, 1, 10));
    assert!(talk.hears().is_none());
}

#[test]
fn a_job_has_its_documents_from_any_connection() {
    let mut printer = Printer::default();
    let created = Talk::default().ask(&mut printer, &request(Operation::CREATE_JOB), b"");
    assert_eq!(state(&created), Some(JobState::Pending));
    let first = Talk::default().ask(&mut printer, &send_document(1, false), b"one");
    assert_eq!(state(&first), Some(JobState::Processing));
    let last = Talk::default().ask(&mut printer, &send_document(1, true), b"two");
    assert_eq!(state(&last), Some(JobState::Completed));
    assert_eq!(printer.received(), received(1, 2, 6));
    let late = Talk::default().ask(&mut printer, &send_document(1, true), b"three");
    assert_eq!(status(&late), "client-error-not-possible");
    // A last one without data ends the job, and is no document.
    Talk::default().ask(&mut printer, &request(Operation::CREATE_JOB), b"");
    Talk::default().ask(&mut printer, &send_document(2, false), b"one");
    let none = Talk::default().ask(&mut printer, &send_document(2, true), b"");
    assert_eq!(state(&none), Some(JobState::Completed));
    assert_eq!(printer.received(), received(2, 3, 9));
}

#[test]
fn what_is_cut_off_is_aborted() {
    let (mut printer, mut talk) = (Printer::default(), Talk::default());
    talk.feed(&mut printer, &posted(&request(Operation::PRINT_JOB), 100)).zeros(&mut printer, 60);
    talk.server.end(&mut printer);
    talk.server.end(&mut printer);
    assert!(talk.server.is_closed() && talk.said.is_empty());
    assert_eq!(printer.received(), received(1, 0, 60));
    let job = of_job(Operation::GET_JOB_ATTRIBUTES, 1);
    let seen = Talk::default().ask(&mut printer, &job, b"");
    assert_eq!(state(&seen), Some(JobState::Aborted));
}

#[test]
fn a_job_is_cancelled_while_it_comes() {
    let (mut printer, mut talk) = (Printer::default(), Talk::default());
    talk.feed(&mut printer, &posted(&request(Operation::PRINT_JOB), 100)).zeros(&mut printer, 60);
    let cancel = of_job(Operation::CANCEL_JOB, 1);
    assert_eq!(status(&Talk::default().ask(&mut printer, &cancel, b"")), "successful-ok");
    talk.zeros(&mut printer, 40);
    assert_eq!(status(&talk.answer()), "server-error-job-canceled");
    let again = Talk::default().ask(&mut printer, &cancel, b"");
    assert_eq!(status(&again), "client-error-not-possible");
    let none = Talk::default().ask(&mut printer, &of_job(Operation::CANCEL_JOB, 9), b"");
    assert_eq!(status(&none), "client-error-not-found");
}

#[test]
fn jobs_are_listed_and_the_oldest_forgotten() {
    let (mut printer, mut talk) = (Printer::default(), Talk::default());
    for _ in 0..40 {
        talk.ask(&mut printer, &request(Operation::PRINT_JOB), b"x");
    }
    talk.ask(&mut printer, &request(Operation::CREATE_JOB), b"");
    let ids = |answer: &Message| -> Vec<i32> {
        let jobs = answer.groups.iter().filter(|group| group.tag == GroupTag::JOB);
        jobs.map(|job| job.attribute("job-id").unwrap().values[0].number().unwrap()).collect()
    };
    let mut list = request(Operation::GET_JOBS);
    assert_eq!(ids(&talk.ask(&mut printer, &list, b"")), [41]);
    list.add("which-jobs", Value::keyword("completed"));
    let all: Vec<i32> = (10..=40).rev().collect();
    assert_eq!(ids(&talk.ask(&mut printer, &list, b"")), all);
    list.add("limit", Value::Integer(2));
    assert_eq!(ids(&talk.ask(&mut printer, &list, b"")), [40, 39]);
    list.add("my-jobs", Value::Boolean(true));
    list.groups[0].attributes[3].values = vec![Value::chars(CharKind::Name, "you")];
    assert_eq!(ids(&talk.ask(&mut printer, &list, b"")), [0; 0]);
    let mut forgotten = request(Operation::GET_JOB_ATTRIBUTES);
    forgotten.add("job-uri", Value::chars(CharKind::Uri, "ipp://x/ipp/print/2"));
    assert_eq!(status(&talk.ask(&mut printer, &forgotten, b"")), "client-error-not-found");
    // Jobs that wait for documents without end leave room for others.
    for _ in 0..100 {
        talk.ask(&mut printer, &request(Operation::CREATE_JOB), b"");
    }
    let next = talk.ask(&mut printer, &request(Operation::PRINT_JOB), b"x");
    assert_eq!(state(&next), Some(JobState::Completed));
}

#[test]
fn the_printer_tells_what_it_is_asked() {
    let (mut printer, mut talk) = (Printer::default(), Talk::default());
    let start = Timestamp::ZERO;
    printer.tick(start);
    printer.tick(start + Span::from_millis(90_500));
    let mut ask = request(Operation::GET_PRINTER_ATTRIBUTES);
    let all = talk.ask(&mut printer, &ask, b"");
    let of = GroupTag::PRINTER;
    assert_eq!(all.number(of, "printer-up-time"), Some(91));
    assert_eq!(all.number(of, "printer-state"), Some(3));
    assert_eq!(all.text(of, "media-default").unwrap(), "iso_a4_210x297mm");
    assert_eq!(
        all.group(of).unwrap().attribute("operations-supported").unwrap().values.len(),
        attributes::OPERATIONS.len()
    );
    ask.add("requested-attributes", Value::keyword("printer-state"));
    let one = talk.ask(&mut printer, &ask, b"");
    assert_eq!(one.group(of).unwrap().attributes.len(), 1);
    ask.groups[0].attributes.last_mut().unwrap().values = vec![Value::keyword("no-such-thing")];
    assert!(talk.ask(&mut printer, &ask, b"").group(of).is_none());
}

#[test]
fn a_job_that_would_do_is_none() {
    let (mut printer, mut talk) = (Printer::default(), Talk::default());
    let validate = request(Operation::VALIDATE_JOB);
    assert_eq!(status(&talk.ask(&mut printer, &validate, b"")), "successful-ok");
    let mut packed = request(Operation::VALIDATE_JOB);
    packed.add("compression", Value::keyword("compress"));
    let refused = talk.ask(&mut printer, &packed, b"");
    assert_eq!(status(&refused), "client-error-compression-not-supported");
    assert_eq!(printer.received(), IppTotals::default());
}

#[test]
fn what_cannot_be_done_is_refused_behind_its_document() {
    let (mut printer, mut talk) = (Printer::default(), Talk::default());
    let mut ask = |message: &Message| status(&talk.ask(&mut printer, message, &[0; 5_000]));
    let hold = of_job(Operation::HOLD_JOB, 1);
    assert_eq!(ask(&hold), "server-error-operation-not-supported");
    let old = Message { version: Version(3, 0), ..request(Operation::PRINT_JOB) };
    assert_eq!(ask(&old), "server-error-version-not-supported");
    let zero = Message { request_id: 0, ..request(Operation::PRINT_JOB) };
    assert_eq!(ask(&zero), "client-error-bad-request");
    let mut bare = request(Operation::PRINT_JOB);
    bare.groups[0].attributes.truncate(2);
    assert_eq!(ask(&bare), "client-error-bad-request");
    bare.groups[0].attributes.swap(0, 1);
    assert_eq!(ask(&bare), "client-error-bad-request");
    let mut latin = request(Operation::PRINT_JOB);
    latin.groups[0].attributes[0].values = vec![Value::chars(CharKind::Charset, "latin1")];
    assert_eq!(ask(&latin), "client-error-charset-not-supported");
    assert_eq!(ask(&of_job(Operation::SEND_DOCUMENT, 1)), "client-error-bad-request");
    assert_eq!(ask(&send_document(1, true)), "client-error-not-found");
    assert_eq!(printer.received(), IppTotals::default());
}

#[test]
fn what_is_no_ipp_is_refused_and_the_rest_ignored() {
    let message = request(Operation::GET_JOBS).encode().unwrap();
    let cut = [format!("{HEAD}Content-Length: 9\r\n\r\n").as_bytes(), &message].concat();
    let long = [HEAD.as_bytes(), &b"a: b\r\n".repeat(4_000)].concat();
    let no_chunk = format!("{HEAD}Transfer-Encoding: chunked\r\n\r\nxyz\r\n");
    for (bytes, expected) in [
        (&b"\x02raw\n\n"[..], 400),
        (b"GET / HTTP/1.1\r\n\r\n", 405),
        (b"POST / HTTP/1.1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nabcd", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 90\r\n\r\n\x01\x01\0\x02\0\0\0\x01\x41\0\0\0\0", 400),
        (&cut, 400),
        (&long, 431),
        (no_chunk.as_bytes(), 400),
    ] {
        let (mut printer, mut talk) = (Printer::default(), Talk::default());
        talk.feed(&mut printer, bytes);
        let (head, _) = talk.hears().unwrap();
        assert_eq!(head.status, expected, "{}", String::from_utf8_lossy(bytes));
        assert!(head.closes() && talk.server.is_closed());
        talk.feed(&mut printer, &posted(&request(Operation::PRINT_JOB), 0));
        assert!(talk.hears().is_none());
        assert_eq!(printer.received(), IppTotals::default());
    }
    let (mut printer, mut talk) = (Printer::default(), Talk::default());
    talk.zeros(&mut printer, u32::MAX);
    assert_eq!(talk.hears().unwrap().0.status, 431, "an endless line");
}

#[test]
fn who_wants_to_close_is_answered_and_left() {
    for (from, to) in [("HTTP/1.1\r\n", "HTTP/1.1\r\nConnection: close\r\n"), ("1.1", "1.0")] {
        let (mut printer, mut talk) = (Printer::default(), Talk::default());
        let bytes = posted(&request(Operation::PRINT_JOB), 0);
        let at = bytes.windows(from.len()).position(|part| part == from.as_bytes()).unwrap();
        let bytes = [&bytes[..at], to.as_bytes(), &bytes[at + from.len()..]].concat();
        talk.feed(&mut printer, &bytes);
        assert!(talk.server.is_closed(), "{to}");
        let (head, _) = talk.hears().unwrap();
        assert!(head.status == 200 && head.closes());
    }
}

#[test]
fn a_flood_of_questions_is_not_answered_for_ever() {
    let (mut printer, mut talk) = (Printer::default(), Talk::default());
    let one = posted(&request(Operation::GET_PRINTER_ATTRIBUTES), 0);
    talk.feed(&mut printer, &one.repeat(2_000));
    assert!(talk.server.is_closed());
    assert!(talk.said.len() < MAX_ANSWERS + 10_000, "{}", talk.said.len());
}

#[test]
fn terabytes_of_zeros_take_no_time() {
    let (mut printer, mut talk) = (Printer::default(), Talk::default());
    let bytes = 1_000 * u64::from(u32::MAX);
    talk.feed(&mut printer, &posted(&request(Operation::PRINT_JOB), bytes));
    for _ in 0..1_000 {
        talk.zeros(&mut printer, u32::MAX);
    }
    assert_eq!(state(&talk.answer()), Some(JobState::Completed));
    assert_eq!(printer.received(), received(1, 1, bytes));
}

/// Some requests behind each other, in words that are valid, and one that is
/// anything.
fn conversation() -> impl Strategy<Value = Vec<u8>> {
    let document = prop::collection::vec(prop_oneof![Just(0), any::<u8>()], 0..400);
    let request = (0_u8..8, 1_i32..4, any::<bool>(), document).prop_map(|(kind, id, yes, data)| {
        let message = match kind {
            0 | 1 => request(Operation::PRINT_JOB),
            2 => request(Operation::CREATE_JOB),
            3 => send_document(id, yes),
            4 => of_job(Operation::CANCEL_JOB, id),
            5 => of_job(Operation::GET_JOB_ATTRIBUTES, id),
            6 => request(Operation::GET_JOBS),
            _ => request(Operation::IDENTIFY_PRINTER),
        };
        if yes {
            [posted(&message, data.len() as u64), data].concat()
        } else {
            let pieces: Vec<&[u8]> = data.chunks(90).collect();
            chunked(&message, &pieces)
        }
    });
    let noise = prop::collection::vec(any::<u8>(), 0..60);
    (prop::collection::vec(request, 0..6), noise)
        .prop_map(|(requests, noise)| [requests.concat(), noise].concat())
}

proptest! {
    #[test]
    fn pieces_say_the_same_as_the_whole(
        bytes in conversation(),
        cuts in prop::collection::vec(1_usize..700, 1..30),
    ) {
        let (mut printer, mut talk) = (Printer::default(), Talk::default());
        talk.feed(&mut printer, &bytes);
        let (mut printer_of_pieces, mut pieces, mut rest) =
            (Printer::default(), Talk::default(), bytes.as_slice());
        for cut in cuts.iter().cycle() {
            let (piece, behind) = rest.split_at(rest.len().min(*cut));
            // Zeros are known by their number, wherever they are.
            if piece.iter().all(|byte| *byte == 0) {
                pieces.zeros(&mut printer_of_pieces, piece.len() as u32);
            } else {
                pieces.feed(&mut printer_of_pieces, piece);
            }
            rest = behind;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(talk.said, pieces.said);
        prop_assert_eq!(printer.received(), printer_of_pieces.received());
        prop_assert_eq!(talk.server.is_closed(), pieces.server.is_closed());
    }

    #[test]
    fn nothing_makes_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..2_000), cut in 1_usize..50) {
        let (mut printer, mut talk) = (Printer::default(), Talk::default());
        let head = format!("{HEAD}Transfer-Encoding: chunked\r\n\r\n");
        talk.feed(&mut printer, head.as_bytes());
        for piece in bytes.chunks(cut) {
            talk.feed(&mut printer, piece);
        }
        talk.server.end(&mut printer);
        prop_assert!(talk.said.len() < 100_000);
    }
}
