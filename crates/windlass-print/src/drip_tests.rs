//! Servers that drip, over real connections, with a clock that the tests move. Each byte comes at
//! once, and advances the clock. A byte is therefore always available, however slow the machine is.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use windlass_sys::clock::Hand;
use windlass_sys::socket::receive_now;
use windlass_wire::ipp::Compression;
use windlass_wire::ipp::Version;
use windlass_wire::target::{Protocol, Target};

use crate::dial::dial_within;
use crate::document::{Document, Payload};
use crate::error::Error;
use crate::ipp::exchange::GOING_ON;
use crate::job::{FollowMode, Ipp, Job, JobProtocol, Lpr, OnBreak, Raw};
use crate::load::Control;
use crate::monitor::Monitor;
use crate::raw::{GREETING, RawAnswer, RawEnd};
use crate::send::{Answer, send};

const PATIENCE: Duration = Duration::from_secs(1);

/// Clock time that each byte takes.
const TENTH: Duration = Duration::from_millis(100);

/// Real time after which a test is given up. No test comes near it.
const GUARD: Duration = Duration::from_secs(60);

/// Starts a server for one connection; returns its target.
fn server<T: Send + 'static>(
    protocol: Protocol,
    work: impl FnOnce(TcpStream) -> T + Send + 'static,
) -> (Target, JoinHandle<T>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap().to_string();
    let queue = (protocol != Protocol::Raw).then_some("q");
    let target = Target::new(&at, Some(protocol), queue).unwrap();
    let thread = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(GUARD)).unwrap();
        stream.set_write_timeout(Some(GUARD)).unwrap();
        stream.set_nodelay(true).unwrap();
        work(stream)
    });
    (target, thread)
}

/// Writes `what` again and again while the client is there, and advances the clock by the time that
/// `each` returns, until it returns none.
fn drip(
    mut stream: &TcpStream,
    what: &[u8],
    hand: &Hand,
    mut each: impl FnMut() -> Option<Duration>,
) {
    let began = Instant::now();
    while let Some(time) = each() {
        if stream.write_all(what).is_err() {
            return;
        }
        hand.pass(time);
        assert!(began.elapsed() < GUARD, "it is waited for for ever");
    }
}

/// Returns an iterator over this many times.
fn times(count: u32, each: Duration) -> impl FnMut() -> Option<Duration> {
    let mut left = (0..count).map(move |_| each);
    move || left.next()
}

/// Reads up to the end of the client's direction.
fn all(mut stream: &TcpStream) -> Vec<u8> {
    let mut got = Vec::new();
    stream.read_to_end(&mut got).unwrap();
    got
}

/// Reads until the received bytes end with `end`.
fn up_to(mut stream: &TcpStream, end: &[u8]) -> Vec<u8> {
    let (mut got, mut one) = (Vec::new(), [0]);
    while !got.ends_with(end) {
        stream.read_exact(&mut one).unwrap();
        got.push(one[0]);
    }
    got
}

/// Sends some data, and returns the result.
fn print(
    target: &Target,
    way: JobProtocol,
    patience: Duration,
    monitor: &Monitor,
) -> Result<Answer, Error> {
    let (name, user) = ("job".to_owned(), "ann".to_owned());
    let (patience, on_break) = (patience.into(), OnBreak::Close);
    let job = Job { target: target.clone(), way, name, user, patience, on_break, status: None };
    let mut document = Document::of(Payload::Random, 5_000);
    send(&job, &mut document, monitor, &dial_within(GUARD))
}

fn raw(target: &Target, monitor: &Monitor) -> Result<RawAnswer, Error> {
    raw_of(print(target, JobProtocol::Raw(Raw::default()), PATIENCE, monitor))
}

fn raw_of(sent: Result<Answer, Error>) -> Result<RawAnswer, Error> {
    sent.map(|answer| match answer {
        Answer::Raw(answer) => answer,
        other => panic!("{other:?}"),
    })
}

fn ipp() -> JobProtocol {
    JobProtocol::Ipp(Ipp {
        version: Version(2, 0),
        create_job: false,
        compression: Compression::None,
        format: "application/octet-stream".to_owned(),
        template: Vec::new(),
        follow: FollowMode::No,
    })
}

/// Starts a raw printer that drips after it has everything, and does not close. It calls `has_all`
/// meanwhile, which returns the clock time of each drop.
fn dripping(
    hand: &Hand,
    monitor: &Arc<Monitor>,
    has_all: impl Fn(&Monitor) -> Duration + Send + 'static,
) -> (Target, JoinHandle<usize>) {
    let (drips, asked) = (hand.clone(), Arc::clone(monitor));
    server(Protocol::Raw, move |stream| {
        let got = all(&stream).len();
        drip(&stream, b".", &drips, || {
            // The clock advances after the printer is known to have everything.
            let is_known = asked.times().acknowledged.is_some();
            Some(if is_known { has_all(&asked) } else { Duration::ZERO })
        });
        got
    })
}

#[test]
fn a_printer_that_drips_and_does_not_close_is_left_after_the_patience() {
    let hand = Hand::default();
    let monitor = Arc::new(Monitor::by(hand.clock()));
    let (target, served) = dripping(&hand, &monitor, |_| TENTH);
    let answer = raw(&target, &monitor).unwrap();
    assert_eq!(answer.ended, RawEnd::LeftOpen);
    assert!(hand.passed() >= PATIENCE, "{:?}", hand.passed());
    assert!(monitor.times().acknowledged.is_some());
    assert_eq!(served.join().unwrap(), 5_000);
}

#[test]
fn a_printer_that_has_all_and_does_not_close_is_waited_for_no_longer_than_that() {
    for is_stopped in [false, true] {
        let hand = Hand::default();
        let monitor = Arc::new(Monitor::by(hand.clock()));
        let (target, served) = dripping(&hand, &monitor, move |monitor| {
            if is_stopped {
                monitor.stop();
                return Duration::ZERO;
            }
            TENTH
        });
        let way = JobProtocol::Raw(Raw { pjl: false, close: Some(PATIENCE) });
        let answer = raw_of(print(&target, way, Duration::MAX, &monitor)).unwrap();
        assert_eq!(answer.ended, RawEnd::LeftOpen);
        assert_eq!(hand.passed() >= PATIENCE, !is_stopped, "{:?}", hand.passed());
        assert_eq!(monitor.taken(), None, "it has all");
        assert_eq!(served.join().unwrap(), 5_000);
    }
}

#[test]
fn a_printer_that_tells_of_itself_and_closes_within_the_patience_is_heard_to_the_end() {
    let hand = Hand::default();
    let drips = hand.clone();
    let (target, served) = server(Protocol::Raw, move |stream| {
        let got = all(&stream).len();
        drip(&stream, b"page ", &drips, times(9, TENTH));
        got
    });
    let answer = raw(&target, &Monitor::by(hand.clock())).unwrap();
    assert_eq!((answer.ended, answer.received_bytes.get()), (RawEnd::Closed, 45));
    assert_eq!(hand.passed(), TENTH * 9);
    assert_eq!(served.join().unwrap(), 5_000);
}

#[test]
fn what_came_in_time_counts_however_late_it_is_found() {
    let hand = Hand::default();
    let passes = hand.clone();
    let (target, served) = server(Protocol::Ipp, move |stream| {
        let head = up_to(&stream, b"\r\n\r\n");
        assert!(head.starts_with(b"POST /printers/q HTTP/1.1\r\n"));
        // The server refuses the document, in two pieces.
        (&stream).write_all(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n").unwrap();
        (&stream).write_all(b"\r\nNo").unwrap();
        // Nobody reads for a long time.
        passes.pass(PATIENCE * 100);
        all(&stream);
    });
    let error = print(&target, ipp(), PATIENCE, &Monitor::by(hand.clock())).unwrap_err();
    assert!(matches!(error, Error::Http { status: 413, .. }), "{error}");
    served.join().unwrap();
}

#[test]
fn who_waits_for_a_printer_that_drips_can_be_stopped() {
    let hand = Hand::default();
    let drips = hand.clone();
    let monitor = Arc::new(Monitor::by(hand.clock()));
    let stopped = Arc::clone(&monitor);
    let (target, served) = server(Protocol::Raw, move |stream| {
        all(&stream);
        // The clock stands still.
        let mut count = 0;
        drip(&stream, b".", &drips, || {
            count += 1;
            if count == 50 {
                stopped.stop();
            }
            Some(Duration::ZERO)
        });
    });
    let error = raw(&target, &monitor).unwrap_err();
    assert!(matches!(error, Error::Stopped), "{error}");
    served.join().unwrap();
}

#[test]
fn a_printer_that_says_no_status_is_asked_for_three_seconds() {
    let hand = Hand::default();
    let drips = hand.clone();
    let (target, served) = server(Protocol::Raw, move |stream| {
        up_to(&stream, b"DEVICE=ON\r\n");
        // Until the job begins.
        let mut rest = Vec::new();
        drip(&stream, b".", &drips, || {
            let mut some = [0; 64];
            let got = receive_now(&stream, &mut some).unwrap().unwrap_or(0);
            rest.extend_from_slice(&some[..got]);
            (got == 0).then_some(TENTH)
        });
        rest.extend(all(&stream));
        assert!(rest.starts_with(b"\x1b%-12345X"));
        rest.len()
    });
    let (way, monitor) =
        (JobProtocol::Raw(Raw { pjl: true, close: None }), Monitor::by(hand.clock()));
    let answer = raw_of(print(&target, way, Duration::MAX, &monitor)).unwrap();
    assert_eq!((answer.status_before, answer.ended), (None, RawEnd::Closed));
    assert!(hand.passed() >= GREETING, "{:?}", hand.passed());
    assert!(served.join().unwrap() > 5_000);
}

#[test]
fn an_answer_of_ipp_that_drips_ends_as_silence() {
    let hand = Hand::default();
    let drips = hand.clone();
    let (target, served) = server(Protocol::Ipp, move |stream| {
        up_to(&stream, b"\r\n\r\n");
        (&stream).write_all(b"HTTP/1.1 403 Forbidden\r\n\r\n<html>").unwrap();
        drip(&stream, b".", &drips, || Some(TENTH));
    });
    let error = print(&target, ipp(), PATIENCE, &Monitor::by(hand.clock())).unwrap_err();
    assert!(matches!(error, Error::Silent { after, .. } if after >= PATIENCE), "{error}");
    served.join().unwrap();
}

#[test]
fn a_document_is_sent_to_who_only_says_that_it_goes_on() {
    let hand = Hand::default();
    let drips = hand.clone();
    let (target, served) = server(Protocol::Ipp, move |stream| {
        up_to(&stream, b"\r\n\r\n");
        drip(&stream, b"HTTP/1.1 102 Processing\r\n\r\n", &drips, times(2, TENTH * 6));
        // The document comes nevertheless.
        let mut first = [0];
        drip(&stream, b"", &drips, || {
            thread::yield_now();
            receive_now(&stream, &mut first).unwrap().is_none().then_some(TENTH)
        });
        (&stream).read_exact(&mut [0; 4_999]).unwrap();
        (&stream).write_all(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n").unwrap();
        all(&stream);
    });
    let monitor = Monitor::by(hand.clock());
    let error = print(&target, ipp(), Duration::MAX, &monitor).unwrap_err();
    assert!(matches!(error, Error::Http { status: 403, .. }), "{error}");
    assert!(hand.passed() >= GOING_ON, "{:?}", hand.passed());
    served.join().unwrap();
}

#[test]
fn the_reason_of_a_refusal_of_lpr_is_read_for_a_while() {
    let hand = Hand::default();
    let drips = hand.clone();
    let (target, served) = server(Protocol::Lpr, move |stream| {
        up_to(&stream, b"\x02q\n");
        (&stream).write_all(&[3]).unwrap();
        drip(&stream, b"no ", &drips, || Some(TENTH));
    });
    let (host, number) = ("here".to_owned(), 1);
    let way = JobProtocol::Lpr(Lpr { data_first: false, stream: None, host, number, copies: 1 });
    let error = print(&target, way, PATIENCE, &Monitor::by(hand.clock())).unwrap_err();
    let Error::Lpr { step: "the queue", text, .. } = &error else { panic!("{error}") };
    assert!(text.is_empty() || text.starts_with("no"), "{text}");
    served.join().unwrap();
}

#[test]
fn a_list_of_lpr_that_drips_ends_as_silence() {
    let hand = Hand::default();
    let drips = hand.clone();
    let (target, served) = server(Protocol::Lpr, move |stream| {
        up_to(&stream, b"\x03q \n");
        drip(&stream, b".", &drips, || Some(TENTH));
    });
    let (queues, monitor) = ([target], Monitor::by(hand.clock()));
    let dial = |target: &Target| Ok(TcpStream::connect((&*target.host, target.port))?);
    let mut control = Control::new(&queues, "ann", &monitor, &dial, PATIENCE);
    let error = control.waiting().unwrap_err();
    assert!(matches!(error, Error::Silent { .. }), "{error}");
    served.join().unwrap();
}
