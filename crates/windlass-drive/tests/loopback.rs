//! Tests between a client and a server on the loopback.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::cell::Cell;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use windlass_base::{Bytes, Rate, Span};
use windlass_drive::Sink;
use windlass_drive::client::{self, Test};
use windlass_drive::control::Token;
use windlass_drive::report::{Interval, Outcome};
use windlass_drive::server::{Event, Server, Settings};
use windlass_drive::side::ThreadSettings;
use windlass_drive::transfer::{Buffers, Direction, EndCondition, Role, Transfer};
use windlass_drive::{Error, Source};

/// A server in a thread.
struct TestServer {
    at: SocketAddr,
    stop: Arc<AtomicBool>,
    said: Arc<Mutex<Vec<String>>>,
    thread: Option<JoinHandle<()>>,
}

impl TestServer {
    fn start(settings: Settings) -> Self {
        let said = Arc::<Mutex<Vec<String>>>::default();
        let heard = Arc::clone(&said);
        let tell = Box::new(move |event: Event| {
            heard.lock().unwrap().push(match event {
                Event::Begins { test, .. } => format!("test {test} begins"),
                Event::Ends { test, failure: None, .. } => format!("test {test} ends"),
                Event::Ends { test, failure: Some(error), .. } => format!("test {test}: {error}"),
                Event::Listens { .. } | Event::DoesNotListen { .. } => "listens".to_owned(),
                Event::Echoes { .. } => "echoes".to_owned(),
                Event::Refused { why, .. } => format!("refused: {why}"),
            });
        });
        let server = Server::bind((Ipv4Addr::LOCALHOST, 0).into(), settings, tell).unwrap();
        let at = server.address().unwrap();
        let stop = Arc::<AtomicBool>::default();
        let stopped = Arc::clone(&stop);
        let thread =
            thread::spawn(move || server.run(&|| stopped.load(Ordering::Relaxed)).unwrap());
        Self { at, stop, said, thread: Some(thread) }
    }

    fn said(&self) -> Vec<String> {
        self.said.lock().unwrap().clone()
    }

    /// Waits until it has said something.
    fn awaits(&self, what: &str) {
        let since = Instant::now();
        while !self.said().iter().any(|said| said.contains(what)) {
            assert!(since.elapsed() < Duration::from_secs(60), "no {what}: {:?}", self.said());
            thread::sleep(Duration::from_millis(5));
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

fn serving() -> TestServer {
    TestServer::start(Settings::default())
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

fn test<'a>(serving: &TestServer, transfer: &'a Transfer) -> Test<'a> {
    Test { to: serving.at, token: None, transfer, latency: false }
}

fn run(serving: &TestServer, transfer: &Transfer) -> Outcome {
    let outcome =
        client::run(&test(serving, transfer), ThreadSettings::default(), &|| false, &mut |_| ())
            .unwrap();
    assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
    outcome
}

#[test]
fn a_stream_that_has_ended_is_still_known_by_both_its_addresses() {
    let serving = serving();
    for transfer in [bytes(1_000_000), millis(50)] {
        for direction in [Direction::Forward, Direction::Reverse] {
            let transfer = Transfer { direction, streams: 2, ..transfer.clone() };
            let outcome = run(&serving, &transfer);
            let far = outcome.far.unwrap();
            let [near, far] = [&outcome.near, &far].map(|side| &side.directions[0].streams);
            for (here, there) in near.iter().zip(far) {
                // The near end of one is the far end of the other.
                assert_eq!(here.local, there.remote, "{direction:?}");
                assert_eq!(here.remote, there.local, "{direction:?}");
                assert_eq!(here.remote, serving.at.to_string(), "{direction:?}");
                assert!(!here.congestion.is_empty() && !there.congestion.is_empty());
            }
        }
    }
}

#[test]
fn each_byte_is_counted_on_both_ends() {
    let serving = serving();
    for (direction, streams) in [
        (Direction::Forward, 1),
        (Direction::Forward, 7),
        (Direction::Reverse, 3),
        (Direction::Both, 2),
    ] {
        let transfer = Transfer { direction, streams, length: 8_192, ..bytes(16_384 * 8_192 + 5) };
        let outcome = run(&serving, &transfer);
        let far = outcome.far.unwrap();
        let all: Vec<_> = outcome.near.directions.iter().chain(&far.directions).collect();
        let expected = if direction == Direction::Both { 4 } else { 2 };
        assert_eq!(all.len(), expected, "{direction:?}");
        for one in all {
            let case = format!("{direction:?} {streams} {one:#?}");
            if direction != Direction::Both {
                assert_eq!(one.bytes, Bytes::new(134_217_733), "{case}");
            }
            assert_eq!(one.total_bytes, one.bytes, "{case}");
            assert_eq!(one.error, None);
            assert_eq!(one.streams.len(), usize::from(streams));
            let sum: u64 = one.streams.iter().map(|stream| stream.bytes.get()).sum();
            assert_eq!(sum, one.bytes.get(), "{case}");
            assert!(one.bytes_per_second > Rate::ZERO && one.seconds > Span::ZERO);
            let senders = one.streams.iter().all(|stream| stream.sender.is_some());
            assert_eq!(senders, one.role == Role::Sender);
        }
    }
    serving.awaits("test 4 ends");
}

#[test]
fn a_time_is_kept_and_its_intervals_tell_of_it() {
    let serving = serving();
    let transfer = Transfer { omit: Span::from_millis(200), streams: 2, ..millis(1_500) };
    let mut intervals = Vec::<Interval>::new();
    let began = Instant::now();
    let mut tell = |interval: &Interval| intervals.push(*interval);
    let outcome =
        client::run(&test(&serving, &transfer), ThreadSettings::default(), &|| false, &mut tell)
            .unwrap();
    assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
    let near = &outcome.near.directions[0];
    // A loaded machine may look late where the time that counts begins, and where it ends.
    let took = Span::from_duration(began.elapsed());
    assert!((Span::ZERO..took).contains(&near.seconds), "{near:#?}");
    let own: Vec<_> = intervals.iter().filter(|one| one.role == Role::Sender).collect();
    assert!(own.iter().any(|one| one.omitted) && own.iter().any(|one| !one.omitted));
    let counted = own.iter().filter(|one| !one.omitted).map(|one| one.bytes.get()).sum::<u64>();
    assert_eq!(counted, near.bytes.get(), "{own:#?}");
    for pair in own.windows(2) {
        assert_eq!(pair[0].to_seconds, pair[1].from_seconds);
    }
    assert!(own.iter().all(|one| one.sender.is_some()));
    // The other end tells of its intervals, too.
    assert!(intervals.iter().any(|one| one.role == Role::Receiver && one.sender.is_none()));
    let stream = near.streams[0].sender.unwrap();
    assert!(stream.times.busy_seconds > Span::ZERO && stream.segments > 0, "{stream:#?}");
}

#[test]
fn bytes_count_from_where_nothing_is_left_out_any_more() {
    let serving = serving();
    // So few that a machine which starves the sender for a part of that time sends them, too.
    let bytes = Bytes::new(100_000);
    let omit = Span::from_millis(300);
    let transfer = Transfer { omit, until: EndCondition::Bytes(bytes), ..Transfer::default() };
    let mut intervals = Vec::<Interval>::new();
    let mut tell = |interval: &Interval| intervals.push(*interval);
    let outcome =
        client::run(&test(&serving, &transfer), ThreadSettings::default(), &|| false, &mut tell)
            .unwrap();
    assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
    let near = &outcome.near.directions[0];
    // Data written before but not yet delivered arrives after it.
    assert!(near.bytes >= bytes, "{near:#?}");
    assert!(near.total_bytes > near.bytes, "the time left out sent something");
    let left_out = intervals.iter().filter(|one| one.omitted && one.role == Role::Sender);
    let sent = left_out.map(|one| one.bytes.get()).sum::<u64>();
    assert!(sent > bytes.get(), "as fast as it goes for 300 ms: {sent}");
}

/// A writer that stores its data.
#[derive(Clone, Default)]
struct StoredData(Arc<Mutex<Vec<u8>>>);
impl std::io::Write for StoredData {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn data_goes_through_whole() {
    let serving = serving();
    let data: Vec<u8> = (0..3_000_000_u32).map(|number| (number % 251) as u8).collect();
    let sent = data.len() as u64;
    let ends = ThreadSettings {
        source: Some(Source::reader(std::io::Cursor::new(data))),
        ..ThreadSettings::default()
    };
    let transfer =
        Transfer { until: EndCondition::SourceEnds, length: 10_000, ..Transfer::default() };
    let outcome = client::run(&test(&serving, &transfer), ends, &|| false, &mut |_| ()).unwrap();
    assert_eq!(outcome.far.unwrap().directions[0].bytes, Bytes::new(sent));
    // And comes into a sink.
    let kept = StoredData::default();
    let ends = ThreadSettings { sink: Some(Sink::new(kept.clone())), ..ThreadSettings::default() };
    let transfer = Transfer { direction: Direction::Reverse, ..bytes(100_000) };
    client::run(&test(&serving, &transfer), ends, &|| false, &mut |_| ()).unwrap();
    assert_eq!(kept.0.lock().unwrap().len(), 100_000);
}

#[test]
fn buffers_are_granted_and_told() {
    let serving = serving();
    let own = Buffers { window: Some(Bytes::new(30_000)), send: Some(Bytes::new(40_000)) };
    let transfer = Transfer {
        client: own,
        server: own,
        mss: Some(1_000),
        congestion: Some("cubic".to_owned()),
        nodelay: true,
        ..bytes(5_000_000)
    };
    let outcome = run(&serving, &transfer);
    let stream = &outcome.near.directions[0].streams[0];
    assert_eq!(stream.granted_send_buffer_bytes, Bytes::new(80_000), "Linux doubles it");
    assert_eq!(stream.granted_receive_buffer_bytes, Bytes::new(120_000));
    assert_eq!(stream.congestion, "cubic");
    assert!(stream.mss_bytes <= 1_000, "{stream:#?}");
    let far = outcome.far.unwrap();
    assert_eq!(far.directions[0].streams[0].granted_receive_buffer_bytes, Bytes::new(120_000));
}

#[test]
fn a_pace_is_kept() {
    let serving = serving();
    let pace = Some(Rate::from_bits_per_second(80e6));
    let transfer = Transfer { pace, streams: 2, ..millis(1_000) };
    let rate = run(&serving, &transfer).near.directions[0].bytes_per_second;
    assert!(rate.bytes_per_second() < 13e6, "{rate}");
}

#[test]
fn only_who_knows_the_token_is_served() {
    let token = Token::new("sesame");
    let serving = TestServer::start(Settings { token: token.clone(), ..Settings::default() });
    let transfer = bytes(1_000);
    let run = |token: Option<&Token>| {
        let test = Test { to: serving.at, token, transfer: &transfer, latency: false };
        client::run(&test, ThreadSettings::default(), &|| false, &mut |_| ())
    };
    assert!(matches!(run(None), Err(Error::TokenNeeded)));
    let wrong = Token::new("barley").unwrap();
    assert!(matches!(run(Some(&wrong)), Err(Error::Refused(why)) if why.contains("token")));
    assert!(run(token.as_ref()).unwrap().failure.is_none());
}

#[test]
fn latency_is_measured_idle_and_under_load() {
    let serving = serving();
    let transfer = millis(1_500);
    let test = Test { to: serving.at, token: None, transfer: &transfer, latency: true };
    let outcome = client::run(&test, ThreadSettings::default(), &|| false, &mut |_| ()).unwrap();
    let (idle, loaded) =
        (outcome.latency.idle_seconds.unwrap(), outcome.latency.loaded_seconds.unwrap());
    assert!(idle.count == 20 && loaded.count > 0, "{idle:?} {loaded:?}");
    assert!(idle.min > Span::ZERO && idle.min <= idle.p50);
}

#[test]
fn a_test_that_is_stopped_tells_what_it_measured() {
    let serving = serving();
    for direction in [Direction::Forward, Direction::Reverse] {
        // Ten minutes, of which none comes to its end.
        let transfer = Transfer { direction, ..millis(600_000) };
        // Once both ends have told of data.
        let told = Cell::new((false, false));
        let mut tell = |interval: &Interval| {
            let (sent, received) = told.get();
            let moved = |role| interval.role == role && interval.bytes > Bytes::ZERO;
            told.set((sent || moved(Role::Sender), received || moved(Role::Receiver)));
        };
        let stop = || told.get() == (true, true);
        let outcome =
            client::run(&test(&serving, &transfer), ThreadSettings::default(), &stop, &mut tell)
                .unwrap();
        assert!(outcome.stopped && outcome.failure.is_none(), "{:?}", outcome.failure);
        let near = &outcome.near.directions[0];
        assert!(near.bytes > Bytes::ZERO && near.seconds < Span::from_millis(600_000));
        assert!(outcome.far.unwrap().directions[0].bytes > Bytes::ZERO);
    }
}

#[test]
fn a_server_that_ends_is_an_error_and_the_figures_stay() {
    let serving = serving();
    let transfer = millis(600_000);
    let mut tell = |interval: &Interval| {
        let moved = interval.bytes > Bytes::ZERO;
        serving.stop.fetch_or(moved, Ordering::Relaxed);
    };
    let outcome =
        client::run(&test(&serving, &transfer), ThreadSettings::default(), &|| false, &mut tell)
            .unwrap();
    assert!(outcome.near.directions[0].bytes > Bytes::ZERO);
    // A server that is told to end says so, and what it measured.
    assert!(outcome.stopped && outcome.far.is_some(), "{:?}", outcome.failure);
}

#[test]
fn several_clients_are_served_at_once() {
    let serving = serving();
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                let transfer = Transfer { streams: 2, ..bytes(20_000_000) };
                let outcome = run(&serving, &transfer);
                assert_eq!(outcome.far.unwrap().directions[0].bytes, Bytes::new(20_000_000));
            });
        }
    });
    serving.awaits("test 6 ends");
}

#[test]
fn who_listens_for_nothing_and_who_says_nonsense_are_told_apart() {
    use std::io::{Read, Write};
    let serving = serving();
    // A look whether the port is open is no event.
    drop(TcpStream::connect(serving.at).unwrap());
    let mut stream = TcpStream::connect(serving.at).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    stream.read_to_end(&mut Vec::new()).unwrap_or(0);
    serving.awaits("refused: the other end violates the protocol");
    // A stream for a test that there is not.
    let preamble = windlass_drive::control::Preamble::Data { test: Default::default(), stream: 0 };
    let mut stream = TcpStream::connect(serving.at).unwrap();
    stream.write_all(&preamble.bytes()).unwrap();
    serving.awaits("of no test that waits");
    // A frame that claims to be huge.
    let mut stream = TcpStream::connect(serving.at).unwrap();
    stream.write_all(&windlass_drive::control::Preamble::Control.bytes()).unwrap();
    stream.write_all(&[0xff; 8]).unwrap();
    serving.awaits("a message of 4294967295 bytes");
    assert_eq!(serving.said().len(), 3, "{:?}", serving.said());
    // It serves all the same.
    run(&serving, &bytes(1_000));
}
