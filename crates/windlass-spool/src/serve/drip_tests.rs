//! Tests of clients that send byte by byte, with a simulated clock.

use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use windlass_sys::clock::Hand;

use super::super::budget::Budget;
use super::super::tests::Conversation;
use super::super::{Gate, Limits, PortProtocol};
use super::{Client, ConnectionEnd, IDLE_AFTER, Stream};

/// A client that sends `first` and then `again` without end, a byte at a time.
struct SlowClient {
    first: Vec<u8>,
    again: &'static [u8],
    at: usize,
    /// Time before each byte.
    each: Duration,
    /// Time before the client reads a byte.
    takes: Duration,
    told: Arc<Mutex<Vec<u8>>>,
    hand: Hand,
}

impl Stream for SlowClient {
    fn read_now(&mut self, bytes: &mut [u8]) -> io::Result<Option<usize>> {
        self.read(bytes).map(Some)
    }
}

impl Read for SlowClient {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let beyond = |again: &[u8]| again[(self.at - self.first.len()) % again.len()];
        into[0] = match self.first.get(self.at) {
            // The client has waited for its turn to send this.
            Some(byte) => *byte,
            None if self.again.is_empty() => return Ok(0),
            None => {
                self.hand.pass(self.each);
                beyond(self.again)
            }
        };
        self.at += 1;
        Ok(1)
    }
}

impl Write for SlowClient {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let took = if self.takes.is_zero() { bytes.len() } else { 1 };
        self.hand.pass(self.takes);
        self.told.lock().unwrap().extend_from_slice(&bytes[..took]);
        Ok(took)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the time that such a client was given, and the answer to it.
fn given(
    protocol: PortProtocol,
    first: &[u8],
    again: &'static [u8],
    (each, takes): (Duration, Duration),
) -> (Duration, Vec<u8>) {
    let (hand, told) = (Hand::default(), Arc::default());
    let (first, to) = (first.to_vec(), Arc::clone(&told));
    let client = SlowClient { first, again, at: 0, each, takes, told: to, hand: hand.clone() };
    Conversation::by(hand.clock()).unwrap().over(protocol, Box::new(client));
    let told = std::mem::take(&mut *told.lock().unwrap());
    (hand.passed(), told)
}

/// One second.
const SECOND: Duration = Duration::from_secs(1);

const POST: &[u8] =
    b"POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/ipp\r\nTransfer-Encoding: ";

fn post(body: &[u8]) -> Vec<u8> {
    [POST, b"chunked\r\n\r\n", body].concat()
}

/// Returns a request to print a job, in a chunk.
fn print_job() -> Vec<u8> {
    use windlass_wire::ipp::{CharKind, Message, Operation, Value, Version};
    let mut request = Message::request(Version(2, 0), Operation::PRINT_JOB, 7);
    request.add("printer-uri", Value::chars(CharKind::Uri, "ipp://h/printers/a"));
    let octets = request.encode().unwrap();
    post(&[format!("{:x}\r\n", octets.len()).as_bytes(), &octets, b"\r\n"].concat())
}

#[test]
fn what_stands_before_a_document_has_an_end() {
    let Limits { patience, idle, .. } = Limits::default();
    let most = patience + idle;
    let cases: [(&str, PortProtocol, Vec<u8>, &[u8]); 8] = [
        ("a head", PortProtocol::Ipp, b"GET / HTTP/1.1\r\nX: ".to_vec(), b"x"),
        ("headers", PortProtocol::Ipp, b"GET / HTTP/1.1\r\n".to_vec(), b"Header: x\r\n"),
        (
            "attributes",
            PortProtocol::Ipp,
            post(b"fff\r\n\x02\0\0\x02\0\0\0\x01\x01"),
            b"\x44\0\x01a\0\x01b",
        ),
        ("the line of a chunk", PortProtocol::Ipp, post(b""), b"0"),
        ("a command", PortProtocol::Lpr, b"\x02".to_vec(), b"a"),
        ("a command for a job", PortProtocol::Lpr, b"\x02a\n\x0299".to_vec(), b" "),
        ("a control file", PortProtocol::Lpr, b"\x02a\n\x029999 cfA001h\n".to_vec(), b"Hh\n"),
        // Each line is complete soon, and none is of a data file.
        ("taking back", PortProtocol::Lpr, b"\x02a\n".to_vec(), b"\x01\n"),
    ];
    for (name, protocol, first, again) in cases {
        let (passed, told) = given(protocol, &first, again, (SECOND, Duration::ZERO));
        assert!((most..most + SECOND * 2).contains(&passed), "{name}: {passed:?}");
        // Only the acknowledgements of LPR before.
        assert!(told.iter().all(|byte| *byte == 0), "{name}: {told:?}");
    }
}

#[test]
fn a_document_may_come_slowly_up_to_a_day() {
    let Limits { patience, longest, .. } = Limits::default();
    let each = patience - SECOND;
    let lpr = b"\x02a\n\x033 cfA001h\nHh\n\0\x030 dfA001h\n";
    let cases: [(&str, PortProtocol, Vec<u8>, &[u8]); 3] = [
        ("by IPP", PortProtocol::Ipp, print_job(), b"1\r\nx\r\n"),
        ("by LPR", PortProtocol::Lpr, lpr.to_vec(), b"x"),
        ("raw", PortProtocol::Raw(0), b"x".to_vec(), b"x"),
    ];
    for (name, protocol, first, again) in cases {
        let (passed, told) = given(protocol, &first, again, (each, Duration::ZERO));
        assert!((longest..longest + patience * 2).contains(&passed), "{name}: {passed:?}");
        assert!(told.iter().all(|byte| *byte == 0), "{name}: {told:?}");
    }
}

#[test]
fn a_file_whose_size_is_said_is_there_already() {
    let Limits { patience, idle, .. } = Limits::default();
    let each = patience - SECOND;
    let lpr = b"\x02a\n\x033 cfA001h\nHh\n\0\x03300000 dfA001h\n";
    let (passed, told) = given(PortProtocol::Lpr, lpr, b"x", (each, Duration::ZERO));
    // One second for each 1,000 bytes, in addition to the usual limits.
    let most = patience + idle + SECOND * 300;
    assert!((most..most + patience * 2).contains(&passed), "{passed:?}");
    assert!(told.iter().all(|byte| *byte == 0), "{told:?}");
}

#[test]
fn an_answer_is_taken_within_the_patience() {
    let Limits { patience, .. } = Limits::default();
    let page = b"GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n";
    let (passed, told) = given(PortProtocol::Ipp, page, b"", (SECOND, SECOND));
    assert_eq!((passed, told.len() as u64), (patience, patience.as_secs()));
    // A client that reads slowly gets all of the answer.
    let slowly = patience / 100_000;
    let (passed, told) = given(PortProtocol::Ipp, page, b"", (SECOND, slowly));
    assert!(told.ends_with(b"# EOF\n"), "{}", String::from_utf8_lossy(&told));
    assert_eq!(passed, slowly * u32::try_from(told.len()).unwrap());
}

/// A client that sends nothing, and tries whether another would get its seat.
struct SilentClient {
    hand: Hand,
    budget: Arc<Budget>,
    /// Time at which another got the seat.
    gave_way: Arc<Mutex<Option<Duration>>>,
}

impl Stream for SilentClient {
    fn read_now(&mut self, _: &mut [u8]) -> io::Result<Option<usize>> {
        Ok(None)
    }
}

impl Read for SilentClient {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        if self.budget.take("another", 1, || false).is_ok() {
            *self.gave_way.lock().unwrap() = Some(self.hand.passed());
        }
        self.hand.pass(SECOND);
        Err(io::ErrorKind::WouldBlock.into())
    }
}

impl Write for SilentClient {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn who_sends_nothing_for_a_minute_makes_room_and_between_requests_at_once() {
    type Fill = fn(&mut Client) -> Result<(), ConnectionEnd>;
    let cases: [(Fill, Duration); 3] = [
        (|client| client.fill_by(client.deadline(Duration::MAX)), IDLE_AFTER),
        (|client| client.fill(Duration::MAX), IDLE_AFTER),
        (Client::fill_between, Duration::ZERO),
    ];
    for (fill, idle_after) in cases {
        let (hand, budget) = (Hand::default(), Arc::new(Budget::default()));
        let seat = budget.take("one", 1, || false).unwrap();
        let gave_way = Arc::default();
        let stream = SilentClient {
            hand: hand.clone(),
            budget: Arc::clone(&budget),
            gave_way: Arc::clone(&gave_way),
        };
        let gate = Arc::new(Gate { clock: hand.clock(), ..Gate::default() });
        let peer = std::net::SocketAddr::from(([192, 0, 2, 1], 9)).into();
        let mut client = Client::over(Box::new(stream), peer, gate);
        client.presence = Arc::clone(&seat.presence);
        client.limits.patience = IDLE_AFTER * 9;
        assert!(matches!(fill(&mut client), Err(ConnectionEnd::Crowded)));
        let gave_way = gave_way.lock().unwrap().unwrap();
        assert!((idle_after..=idle_after + SECOND * 2).contains(&gave_way), "{gave_way:?}");
    }
}
