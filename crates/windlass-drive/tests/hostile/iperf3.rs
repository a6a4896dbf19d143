//! Client and server in iperf3's protocol on the loopback: with each other, and
//! with peers that keep to nothing.

use std::cell::Cell;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::json;
use windlass_base::{Bytes, Rate, Span};
use windlass_drive::iperf3::{Code, Failure, client};
use windlass_drive::report::{Interval, Outcome};
use windlass_drive::server::{Event, Server, Settings};
use windlass_drive::side::ThreadSettings;
use windlass_drive::transfer::{Buffers, Direction, EndCondition, Role, Transfer};
use windlass_drive::{Error, Protocol};
use windlass_wire::iperf3::{Cookie, Phase};

/// Longest time of a whole test: the patience of several steps.
const BOUND: Duration = Duration::from_secs(45);

/// Report of a server at the end of a test.
#[derive(Clone, Debug, Default, PartialEq)]
struct ServerReport {
    /// Roles of its directions, and their bytes.
    moved: Vec<(Role, Bytes)>,
    /// Directions in the client's report.
    client: Vec<(Role, Bytes)>,
    failure: Option<String>,
}

/// A server in a thread.
struct TestServer {
    at: SocketAddr,
    stop: Arc<AtomicBool>,
    ended: Arc<Mutex<Vec<ServerReport>>>,
    refused: Arc<Mutex<Vec<String>>>,
    thread: Option<JoinHandle<()>>,
}

impl TestServer {
    fn start(settings: Settings) -> Self {
        let (ended, refused) =
            (Arc::<Mutex<Vec<ServerReport>>>::default(), Arc::<Mutex<Vec<String>>>::default());
        let (ends, refuses) = (Arc::clone(&ended), Arc::clone(&refused));
        let tell = Box::new(move |event: Event| match event {
            Event::Ends { near, far, failure, protocol, .. } => {
                assert_eq!(protocol, Protocol::Iperf3);
                let of = |side: &windlass_drive::report::SideReport| {
                    let all = side.directions.iter();
                    all.map(|direction| (direction.role, direction.total_bytes)).collect()
                };
                ends.lock().unwrap().push(ServerReport {
                    moved: of(&near),
                    client: far.as_ref().map(of).unwrap_or_default(),
                    failure,
                });
            }
            Event::Refused { why, .. } => refuses.lock().unwrap().push(why),
            _ => {}
        });
        let server = Server::bind((Ipv4Addr::LOCALHOST, 0).into(), settings, tell).unwrap();
        let at = server.address().unwrap();
        let stop = Arc::<AtomicBool>::default();
        let stopped = Arc::clone(&stop);
        let thread =
            thread::spawn(move || server.run(&|| stopped.load(Ordering::Relaxed)).unwrap());
        Self { at, stop, ended, refused, thread: Some(thread) }
    }

    /// Waits for the report at the end of the test.
    fn ended(&self, number: usize) -> ServerReport {
        let since = Instant::now();
        loop {
            if let Some(ended) = self.ended.lock().unwrap().get(number) {
                return ended.clone();
            }
            assert!(since.elapsed() < BOUND, "test {number} does not end");
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits until it has refused something for this reason.
    fn awaits_refusal(&self, why: &str) {
        let since = Instant::now();
        while !self.refused.lock().unwrap().iter().any(|said| said.contains(why)) {
            let said = self.refused.lock().unwrap().clone();
            assert!(since.elapsed() < BOUND, "no {why}: {said:?}");
            thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

fn ask_with(
    to: SocketAddr,
    transfer: &Transfer,
    stop: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(&Interval),
) -> Result<Outcome, Error> {
    let control = TcpStream::connect(to).unwrap();
    let began = Instant::now();
    let outcome = client::run((control, to), transfer, ThreadSettings::default(), stop, tell);
    assert!(began.elapsed() < BOUND, "{outcome:?}");
    outcome
}

fn ask(to: SocketAddr, transfer: &Transfer) -> Result<Outcome, Error> {
    ask_with(to, transfer, &|| false, &mut |_| ())
}

fn run(serving: &TestServer, transfer: &Transfer) -> Outcome {
    let outcome = ask(serving.at, transfer).unwrap();
    assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
    outcome
}

fn bytes(bytes: u64) -> Transfer {
    Transfer { until: EndCondition::Bytes(Bytes::new(bytes)), ..Transfer::default() }
}

fn millis(millis: i64) -> Transfer {
    Transfer {
        until: EndCondition::Time(Span::from_millis(millis)),
        interval: Span::from_millis(100),
        ..Transfer::default()
    }
}

#[test]
fn each_byte_is_counted_on_both_ends() {
    let serving = TestServer::start(Settings::default());
    let cases = [
        (Direction::Forward, 1),
        (Direction::Forward, 7),
        (Direction::Reverse, 1),
        (Direction::Reverse, 3),
        (Direction::Both, 2),
    ];
    for (number, (direction, streams)) in cases.into_iter().enumerate() {
        let transfer = Transfer { direction, streams, length: 8_192, ..bytes(10_000_005) };
        let outcome = run(&serving, &transfer);
        let far = outcome.far.unwrap();
        let ended = serving.ended(number);
        assert_eq!(ended.failure, None);
        let expected = if direction == Direction::Both { 2 } else { 1 };
        for side in [&outcome.near, &far] {
            assert_eq!(side.directions.len(), expected, "{direction:?}");
            for one in &side.directions {
                assert_eq!(one.bytes, Bytes::new(10_000_005), "{direction:?} {streams} {one:#?}");
                assert_eq!((one.total_bytes, &one.error), (one.bytes, &None));
                assert!(one.bytes_per_second > Rate::ZERO);
            }
        }
        for (_, moved) in ended.moved.iter().chain(&ended.client) {
            assert_eq!(*moved, Bytes::new(10_000_005), "{direction:?} {ended:?}");
        }
        // The own kernel is known, the other is not.
        let kernels = |side: &windlass_drive::report::SideReport| {
            side.directions.iter().any(|one| one.kernel().is_some())
        };
        assert_eq!(kernels(&outcome.near), direction != Direction::Reverse);
        assert!(!kernels(&far));
    }
}

#[test]
fn what_a_time_sends_arrives_whole() {
    let serving = TestServer::start(Settings::default());
    let outcome = run(&serving, &Transfer { streams: 2, ..millis(300) });
    let (near, far) = (&outcome.near.directions[0], &outcome.far.unwrap().directions[0]);
    assert!(near.total_bytes > Bytes::ZERO && near.bytes <= near.total_bytes, "{near:#?}");
    assert_eq!(near.total_bytes, far.bytes);
    assert_eq!(serving.ended(0).moved, [(Role::Receiver, near.total_bytes)]);
    let outcome = run(&serving, &Transfer { direction: Direction::Reverse, ..millis(300) });
    let (near, far) = (&outcome.near.directions[0], &outcome.far.unwrap().directions[0]);
    assert_eq!(near.total_bytes, far.bytes, "all that the server wrote came");
    // Omitted data is excluded at both ends.
    let omit = Span::from_millis(1_000);
    let began = Instant::now();
    let outcome = run(&serving, &Transfer { omit, ..millis(300) });
    let took = Span::from_duration(began.elapsed());
    let (near, far) = (&outcome.near.directions[0], &outcome.far.unwrap().directions[0]);
    assert!(near.bytes < near.total_bytes, "{near:#?}");
    assert!(far.bytes < near.total_bytes, "{near:#?} {far:#?}");
    assert!(far.seconds + omit <= took, "{took}: {far:#?}");
}

#[test]
fn options_come_through() {
    let serving = TestServer::start(Settings::default());
    let size = Some(Bytes::new(32_768));
    let buffers = Buffers { window: size, send: size };
    let transfer = Transfer {
        client: buffers,
        server: buffers,
        mss: Some(1_000),
        congestion: Some("cubic".to_owned()),
        nodelay: true,
        pace: Some(Rate::from_bits_per_second(400e6)),
        ..bytes(2_000_000)
    };
    let outcome = run(&serving, &transfer);
    let stream = &outcome.near.directions[0].streams[0];
    assert_eq!(stream.congestion, "cubic");
    assert_eq!(stream.granted_send_buffer_bytes, Bytes::new(65_536), "Linux doubles it");
    assert!(stream.mss_bytes <= 1_000, "{stream:#?}");
    let reverse = Transfer { direction: Direction::Reverse, ..transfer };
    assert_eq!(run(&serving, &reverse).near.directions[0].bytes, Bytes::new(2_000_000));
    let unknown = Transfer { congestion: Some("no_such".to_owned()), ..reverse };
    let error = ask(serving.at, &unknown).unwrap_err();
    assert!(error.to_string().contains("no_such"), "{error}");
}

#[test]
fn several_clients_are_served_at_once() {
    let serving = TestServer::start(Settings::default());
    thread::scope(|scope| {
        for number in 0..6 {
            let serving = &serving;
            scope.spawn(move || {
                let direction =
                    [Direction::Forward, Direction::Reverse, Direction::Both][number % 3];
                let transfer = Transfer { direction, streams: 2, ..bytes(5_000_000) };
                let outcome = run(serving, &transfer);
                for one in outcome.near.directions.iter().chain(&outcome.far.unwrap().directions) {
                    assert_eq!(one.bytes, Bytes::new(5_000_000), "{direction:?} {one:#?}");
                }
            });
        }
    });
    for number in 0..6 {
        assert_eq!(serving.ended(number).failure, None);
    }
}

#[test]
fn a_server_has_its_bounds_and_says_so() {
    let full = TestServer::start(Settings { most_tests: 0, ..Settings::default() });
    let error = ask(full.at, &bytes(1_000)).unwrap_err();
    assert!(matches!(error, Error::Iperf3(Failure::Busy)), "{error}");
    let token = windlass_drive::control::Token::new("sesame");
    let closed = TestServer::start(Settings { token, ..Settings::default() });
    let error = ask(closed.at, &bytes(1_000)).unwrap_err();
    assert!(matches!(error, Error::Iperf3(Failure::Server { code: Code::LOGIN, .. })), "{error}");
    closed.awaits_refusal("iperf3 knows none");
}

#[test]
fn a_test_that_is_stopped_tells_what_it_measured() {
    let serving = TestServer::start(Settings::default());
    for direction in [Direction::Forward, Direction::Reverse, Direction::Both] {
        // Ten minutes, of which none comes to its end.
        let transfer = Transfer { direction, ..millis(600_000) };
        // Once there is data each way that there is to be.
        let told = Cell::new((direction == Direction::Reverse, direction == Direction::Forward));
        let mut tell = |interval: &Interval| {
            let (sent, received) = told.get();
            let moved = |role| interval.role == role && interval.bytes > Bytes::ZERO;
            told.set((sent || moved(Role::Sender), received || moved(Role::Receiver)));
        };
        let stop = || told.get() == (true, true);
        let outcome = ask_with(serving.at, &transfer, &stop, &mut tell).unwrap();
        assert!(outcome.stopped && outcome.failure.is_none(), "{:?}", outcome.failure);
        assert!(outcome.near.directions[0].bytes > Bytes::ZERO);
        assert!(outcome.far.unwrap().directions[0].bytes > Bytes::ZERO);
    }
}

#[test]
fn a_server_that_ends_says_so() {
    let serving = TestServer::start(Settings::default());
    let mut tell = |interval: &Interval| {
        let moved = interval.bytes > Bytes::ZERO;
        serving.stop.fetch_or(moved, Ordering::Relaxed);
    };
    let outcome = ask_with(serving.at, &millis(600_000), &|| false, &mut tell).unwrap();
    assert!(
        matches!(outcome.failure, Some(Error::Iperf3(Failure::Left { during: Phase::Running }))),
        "{:?}",
        outcome.failure
    );
    assert!(outcome.near.directions[0].bytes > Bytes::ZERO, "the figures stay");
    assert!(serving.ended(0).failure.is_some());
}

/// A server that does `what` with its first connection. The streams behind it come
/// to its listener.
fn strange(what: impl FnOnce(&mut TcpStream, &TcpListener) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let at = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut cookie = [0; Cookie::LENGTH];
        if stream.read_exact(&mut cookie).is_ok() {
            Cookie::read(&cookie).unwrap();
            what(&mut stream, &listener);
        }
        // Half a connection stays: the other end has to give it up.
        let _ = stream.set_read_timeout(Some(BOUND));
        let _ = stream.read_to_end(&mut Vec::new());
    });
    at
}

/// Asks it for a test whose bytes its kernel takes, although nobody reads them.
fn ask_strange(
    what: impl FnOnce(&mut TcpStream, &TcpListener) + Send + 'static,
) -> Result<Outcome, Error> {
    ask(strange(what), &bytes(20_000))
}

/// Wants a stream, and lets the test begin once it has come.
fn begin(stream: &mut TcpStream, listener: &TcpListener) -> TcpStream {
    stream.write_all(&[9, 10]).unwrap();
    let (data, _) = listener.accept().unwrap();
    stream.write_all(&[1, 2]).unwrap();
    let mut state = [0; 1];
    // Parameters come first, whose last byte is a brace.
    while state != [4] {
        stream.read_exact(&mut state).unwrap();
    }
    data
}

/// Reads the results of the other end.
fn read_results(stream: &mut TcpStream) {
    let mut length = [0; 4];
    stream.read_exact(&mut length).unwrap();
    let mut results = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut results).unwrap();
}

#[test]
fn servers_that_keep_to_nothing_end_in_an_error() {
    let said = |bytes: &'static [u8]| {
        let error = ask_strange(move |stream, _| stream.write_all(bytes).unwrap()).unwrap_err();
        match error {
            Error::Iperf3(failure) => failure,
            error => panic!("{error}"),
        }
    };
    assert!(matches!(said(b"H"), Failure::Unexpected { byte: b'H', during: Phase::Greeting }));
    assert!(matches!(said(b"\x0a"), Failure::Unexpected { byte: 10, .. }));
    assert!(matches!(said(b"\x09\x02"), Failure::Unexpected { byte: 2, during: Phase::Asking }));
    assert!(matches!(said(b"\x09\x09"), Failure::Unexpected { byte: 9, .. }));
    assert!(matches!(said(b"\xff"), Failure::Busy));
    assert!(matches!(said(b"\x0b"), Failure::Left { .. }));
    let denied = said(b"\x09\xfe\0\0\0\x83\0\0\0\0");
    assert!(matches!(denied, Failure::Server { code: Code::PROTOCOL, errno: 0, .. }), "{denied}");
    // It closes without a word.
    let closed = ask_strange(|stream, _| stream.shutdown(std::net::Shutdown::Both).unwrap());
    assert!(matches!(closed, Err(Error::Iperf3(Failure::Gone { .. }))), "{closed:?}");
}

#[test]
fn servers_that_wait_or_drip_are_given_up() {
    thread::scope(|scope| {
        let silent = |during: &'static [u8]| {
            let error =
                ask_strange(move |stream, _| stream.write_all(during).unwrap()).unwrap_err();
            assert!(matches!(error, Error::Silent { .. }), "{during:?} {error}");
        };
        scope.spawn(move || silent(b""));
        scope.spawn(move || silent(b"\x09"));
        // It wants streams, and never begins; it begins, and never runs.
        scope.spawn(move || silent(b"\x09\x0a"));
        // An error whose numbers do not come.
        scope.spawn(move || silent(b"\x09\xfe\0"));
        // A million bytes of results that come one by one, and then no more.
        scope.spawn(|| {
            let outcome = ask_strange(|stream, listener| {
                let _data = begin(stream, listener);
                stream.write_all(&[13]).unwrap();
                read_results(stream);
                stream.write_all(&[0, 0x10, 0, 0]).unwrap();
                for _ in 0..10 {
                    stream.write_all(b" ").unwrap();
                    thread::sleep(Duration::from_millis(200));
                }
                stream.shutdown(std::net::Shutdown::Both).unwrap();
            });
            let outcome = outcome.unwrap();
            assert!(outcome.failure.is_some());
            assert!(outcome.near.directions[0].bytes > Bytes::ZERO, "the figures stay");
        });
    });
}

/// Results of a stream that there is not.
const STRANGE: &[u8] = b"\0\0\0\x52{\"streams\":[{\"id\":2,\"bytes\":1,\
    \"retransmits\":0,\"jitter\":0,\"errors\":0,\"packets\":0}]}\x0e";

#[test]
fn nonsense_at_the_end_of_a_test_costs_no_figures() {
    let ended = |first: &'static [u8], last: &'static [u8]| {
        let outcome = ask_strange(move |stream, listener| {
            let _data = begin(stream, listener);
            stream.write_all(first).unwrap();
            if !last.is_empty() {
                read_results(stream);
                stream.write_all(last).unwrap();
            }
        });
        let outcome = outcome.unwrap();
        assert!(outcome.near.directions[0].bytes > Bytes::ZERO, "{last:?}");
        outcome.failure.unwrap().to_string()
    };
    let says = |failure: String, what: &str| assert!(failure.contains(what), "{failure}");
    says(ended(b"\x0e", b""), "DISPLAY_RESULTS (14) while the test ended");
    says(ended(b"\x0d\0\0", b""), "it says 0x00 while");
    says(ended(b"\x0d", &[0x7f, 0xff, 0xff, 0xff]), "it says 0x7f while");
    says(ended(b"\x0d", &[0, 0xff, 0xff, 0xff]), "a message of 16777215 bytes");
    says(ended(b"\x0d", b"\0\0\0\x02[]"), "does not read");
    says(ended(b"\x0d", STRANGE), "stream 2, which there is not");
}

/// A control connection to a server whose cookie is said and answered.
fn greeted(at: SocketAddr, cookie: Cookie) -> TcpStream {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(BOUND)).unwrap();
    stream.write_all(&cookie.bytes()).unwrap();
    let mut state = [0; 1];
    stream.read_exact(&mut state).unwrap();
    assert_eq!(state, [9]);
    stream
}

fn say_parameters(stream: &mut TcpStream, parameters: &serde_json::Value) {
    let text = parameters.to_string();
    stream.write_all(&u32::try_from(text.len()).unwrap().to_be_bytes()).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
}

/// Reads all bytes until the server closes.
fn rest(stream: &mut TcpStream) -> Vec<u8> {
    let (mut all, mut some) = (Vec::new(), [0; 4_096]);
    loop {
        match stream.read(&mut some) {
            Ok(0) => return all,
            Ok(bytes) => all.extend_from_slice(&some[..bytes]),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return all,
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn clients_that_keep_to_nothing_are_told_and_others_are_served() {
    let serving = TestServer::start(Settings::default());
    let cookie = |number: u8| Cookie::from_random([number; 36]);
    // Neither a cookie nor a preamble.
    let mut stream = TcpStream::connect(serving.at).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: windlass.example.invalid\r\n\r\n").unwrap();
    assert_eq!(rest(&mut stream), b"");
    serving.awaits_refusal("neither windlass's protocol nor iperf3's");
    // Garbage behind the cookie, a huge length, parameters that do not read.
    let told = |number, bytes: &[u8]| {
        let mut stream = greeted(serving.at, cookie(number));
        stream.write_all(bytes).unwrap();
        rest(&mut stream)
    };
    assert_eq!(told(1, b"garbage")[..5], [254, 0, 0, 0, 110]);
    assert_eq!(told(2, &[0, 0xff, 0xff, 0xff])[..5], [254, 0, 0, 0, 114]);
    assert_eq!(told(3, b"\0\0\0\x03[7]")[..5], [254, 0, 0, 0, 114]);
    assert_eq!(told(4, &[12]), b"", "it has gone");
    serving.awaits_refusal("a message of 16777215 bytes");
    // UDP is refused in iperf3's own number.
    let mut stream = greeted(serving.at, cookie(5));
    say_parameters(&mut stream, &json!({ "udp": true, "time": 1, "parallel": 1, "len": 1460 }));
    assert_eq!(rest(&mut stream), [254, 0, 0, 0, 131, 0, 0, 0, 0]);
    serving.awaits_refusal("it asks for UDP, and this server does not take UDP on its port");
    // The end of a test that has not begun.
    let mut stream = greeted(serving.at, cookie(6));
    say_parameters(&mut stream, &json!({ "tcp": true, "time": 1, "parallel": 2, "len": 1000 }));
    let mut state = [0; 1];
    stream.read_exact(&mut state).unwrap();
    assert_eq!(state, [10]);
    stream.write_all(&[4]).unwrap();
    assert_eq!(rest(&mut stream)[..5], [254, 0, 0, 0, 110]);
    // A client that goes while its test runs.
    let mut stream = greeted(serving.at, cookie(7));
    say_parameters(&mut stream, &json!({ "tcp": true, "time": 9, "parallel": 1, "len": 1000 }));
    stream.read_exact(&mut state).unwrap();
    let mut data = TcpStream::connect(serving.at).unwrap();
    data.write_all(&cookie(7).bytes()).unwrap();
    data.write_all(b"some data").unwrap();
    stream.read_exact(&mut [0; 2]).unwrap();
    drop((stream, data));
    let ended = serving.ended(0);
    let failure = ended.failure.unwrap();
    assert!(failure.contains("closed the control connection while the test ran"), "{failure}");
    // And all the while it serves.
    assert_eq!(run(&serving, &bytes(1_000)).near.directions[0].bytes, Bytes::new(1_000));
}

#[test]
fn clients_that_wait_or_drip_are_given_up() {
    let serving = TestServer::start(Settings::default());
    let serving = &serving;
    let drip = |mut stream: TcpStream, byte: &[u8]| {
        let began = Instant::now();
        stream.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        loop {
            match stream.read(&mut [0; 64]) {
                Ok(0) => break,
                Err(error) if error.kind() == ErrorKind::ConnectionReset => break,
                _ => {}
            }
            if stream.write_all(byte).is_err() {
                break;
            }
            assert!(began.elapsed() < BOUND, "it waits for ever");
        }
    };
    thread::scope(|scope| {
        // Half a cookie, and no more; or a letter from time to time.
        scope.spawn(|| {
            let mut stream = TcpStream::connect(serving.at).unwrap();
            stream.write_all(b"abcdefghijkl").unwrap();
            drip(stream, b"");
        });
        scope.spawn(|| {
            let mut stream = TcpStream::connect(serving.at).unwrap();
            stream.write_all(b"abcdefghijkl").unwrap();
            drip(stream, b"x");
        });
        // Parameters that never end.
        scope.spawn(|| {
            let mut stream = greeted(serving.at, Cookie::from_random([11; 36]));
            stream.write_all(&[0, 0, 0xff, 0xff]).unwrap();
            drip(stream, b" ");
        });
        // Streams that never come.
        scope.spawn(|| {
            let mut stream = greeted(serving.at, Cookie::from_random([12; 36]));
            let parameters = json!({ "tcp": true, "time": 1, "parallel": 3, "len": 1000 });
            say_parameters(&mut stream, &parameters);
            stream.read_exact(&mut [0; 1]).unwrap();
            let mut data = TcpStream::connect(serving.at).unwrap();
            data.write_all(&Cookie::from_random([12; 36]).bytes()).unwrap();
            drip(stream, b"");
        });
        scope.spawn(|| run(serving, &millis(100)));
    });
    serving.awaits_refusal("sent nothing");
}

#[test]
fn results_that_promise_more_than_came_are_waited_for_only_so_long() {
    let serving = TestServer::start(Settings::default());
    let cookie = Cookie::from_random([13; 36]);
    let mut stream = greeted(serving.at, cookie);
    say_parameters(&mut stream, &json!({ "tcp": true, "time": 1, "parallel": 1, "len": 1000 }));
    stream.read_exact(&mut [0; 1]).unwrap();
    let mut data = TcpStream::connect(serving.at).unwrap();
    data.write_all(&cookie.bytes()).unwrap();
    stream.read_exact(&mut [0; 2]).unwrap();
    data.write_all(&[7; 500]).unwrap();
    stream.write_all(&[4]).unwrap();
    stream.read_exact(&mut [0; 1]).unwrap();
    let one = json!({ "id": 1, "bytes": 1_000_000, "retransmits": 0, "jitter": 0, "errors": 0,
        "packets": 0 });
    say_parameters(&mut stream, &json!({ "streams": [one] }));
    let mut length = [0; 4];
    stream.read_exact(&mut length).unwrap();
    let mut text = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut text).unwrap();
    let results: serde_json::Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(results["streams"][0]["bytes"], 500, "it says what came");
    stream.read_exact(&mut [0; 1]).unwrap();
    stream.write_all(&[16]).unwrap();
    let ended = serving.ended(0);
    assert_eq!(ended.failure, None);
    assert_eq!(ended.moved, [(Role::Receiver, Bytes::new(500))]);
}
