use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};

use super::*;
use crate::control::{
    Control, Nonce, PREAMBLE, Preamble, Reply, Request as Asked, RequestedService, TestId, Token,
};
use crate::ip::Ip;
use crate::server::echo;

const NEVER: &dyn Fn() -> bool = &|| false;

/// This many trips as fast as they go, with a patience that no test machine needs.
fn plan(count: u64) -> Plan {
    let timeout = Duration::from_secs(20);
    Plan { count: Some(count), time: None, interval: None, warmup: 0, timeout }
}

/// A prober that gives what it was told to.
struct Scripted {
    trips: VecDeque<Result<Option<Trip>, Error>>,
    each: Duration,
    kind: Kind,
}

impl Scripted {
    fn new(trips: impl IntoIterator<Item = Result<Option<Trip>, Error>>) -> Self {
        let (trips, each) = (trips.into_iter().collect(), Duration::ZERO);
        Self { trips, each, kind: Kind::Connect }
    }
}

impl Prober for Scripted {
    fn kind(&self) -> Kind {
        self.kind
    }

    fn trip(&mut self, _: Duration, _: &dyn Fn() -> bool) -> Result<Option<Trip>, Error> {
        thread::sleep(self.each);
        self.trips.pop_front().unwrap_or(Ok(None))
    }
}

fn trip(outcome: TripOutcome, millis: u64) -> Result<Option<Trip>, Error> {
    Ok(Some(Trip::new(outcome, Duration::from_millis(millis))))
}

fn unreachable() -> TripOutcome {
    TripOutcome::Unreachable { why: "no route".to_owned(), by: None }
}

#[test]
fn each_trip_counts_as_what_it_was() {
    let resent =
        Trip { resent: true, ..Trip::new(TripOutcome::Answered, Duration::from_millis(1_001)) };
    let mut prober = Scripted::new([
        trip(TripOutcome::Answered, 900),
        trip(TripOutcome::Silent, 800),
        trip(TripOutcome::Answered, 5),
        trip(TripOutcome::Refused, 7),
        trip(TripOutcome::Silent, 2_000),
        trip(unreachable(), 3_000),
        Ok(Some(resent)),
    ]);
    let numbers = RefCell::new(Vec::new());
    let plan = Plan { warmup: 2, ..plan(5) };
    let mut saw = |seen: &TripSeen<'_>| numbers.borrow_mut().push(seen.number);
    let measured = run(&mut prober, &plan, &mut saw, NEVER);
    assert_eq!(*numbers.borrow(), [None, None, Some(1), Some(2), Some(3), Some(4), Some(5)]);
    let PingResults { warmup, sent, answered, refused, silent, unreachable, resent, .. } = measured;
    assert_eq!((warmup, sent, answered, refused), (2, 5, 3, 1));
    assert_eq!((silent, unreachable, resent), (1, 1, Some(1)));
    assert!((measured.loss - 0.4).abs() < 1e-9);
    // Warm-up and what had no answer give no time.
    assert_eq!(measured.times.count(), 3);
    assert_eq!(measured.times.least(), Span::from_millis(5));
    assert_eq!(measured.times.most(), Span::from_millis(1_001));
    assert!(measured.failure.is_none() && !measured.interrupted);
}

#[test]
fn an_answer_after_the_timeout_is_none() {
    let mut prober = Scripted::new([10, 11, 12].map(|millis| trip(TripOutcome::Answered, millis)));
    prober.kind = Kind::Udp;
    let plan = Plan { timeout: Duration::from_millis(11), ..plan(3) };
    let measured = run(&mut prober, &plan, &mut |_| {}, NEVER);
    assert_eq!((measured.sent, measured.answered, measured.silent), (3, 2, 1));
    assert_eq!(measured.late, Some(1), "it came all the same");
    assert_eq!(measured.times.most(), Span::from_millis(11));
}

#[test]
fn a_run_ends_by_its_time() {
    let mut prober = Scripted::new((0..1_000).map(|_| trip(TripOutcome::Answered, 1)));
    prober.each = Duration::from_millis(50);
    let time = Some(Duration::from_millis(400));
    let plan = Plan { count: None, time, warmup: 10, ..plan(0) };
    let measured = run(&mut prober, &plan, &mut |_| {}, NEVER);
    // The warm-up of 500 ms takes nothing off it.
    assert_eq!(measured.warmup, 10);
    assert!((1..=8).contains(&measured.sent), "{}", measured.sent);
    assert!(measured.seconds >= Span::from_millis(50));
}

#[test]
fn a_run_can_be_stopped_and_keeps_what_it_has() {
    let left = Cell::new(3);
    let mut prober = Scripted::new((0..10).map(|_| trip(TripOutcome::Answered, 1)));
    let mut saw = |_: &TripSeen<'_>| left.set(left.get() - 1);
    let measured = run(&mut prober, &plan(10), &mut saw, &|| left.get() == 0);
    assert_eq!((measured.sent, measured.interrupted), (3, true));
}

#[test]
fn what_ends_a_run_is_kept_with_what_it_had() {
    let during = "testing";
    let gone = || Err(Error::Gone { during });
    let mut prober = Scripted::new([trip(TripOutcome::Answered, 1), gone()]);
    let measured = run(&mut prober, &plan(9), &mut |_| {}, NEVER);
    // The request without an answer was one.
    assert_eq!((measured.sent, measured.answered, measured.silent), (2, 1, 1));
    assert!(matches!(measured.failure, Some(Error::Gone { .. })));
    let own = Error::io("cannot")(io::Error::other("no more"));
    let measured = run(&mut Scripted::new([Err(own)]), &plan(9), &mut |_| {}, NEVER);
    assert_eq!((measured.sent, measured.silent), (0, 0), "nothing was sent");
}

#[test]
fn a_placement_lists_each_processor_once() {
    let mut placement = Placement::default();
    for cpu in [None, Some(3), Some(3), Some(1), None, Some(3)] {
        placement.saw(cpu);
    }
    assert_eq!((placement.cpus.as_slice(), placement.moves), (&[3, 1][..], 2));
    (0..10_000).for_each(|cpu| placement.saw(Some(cpu)));
    assert_eq!(placement.cpus.len(), Placement::MAX, "a peer may name any");
}

#[test]
fn a_handshake_is_timed_and_leaves_nothing() {
    for address in [SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), (Ipv6Addr::LOCALHOST, 0).into()] {
        let Ok(listener) = TcpListener::bind(address) else {
            eprintln!("skipped: a_handshake_is_timed_and_leaves_nothing: no {address} here");
            continue;
        };
        let to = listener.local_addr().unwrap();
        let mut from = Vec::new();
        for asleep in [false, true] {
            let accepting = {
                let listener = listener.try_clone().unwrap();
                thread::spawn(move || {
                    let accept = |_| {
                        let (mut stream, from) = listener.accept().unwrap();
                        let end = stream.read(&mut [0]).unwrap_err();
                        assert_eq!(end.kind(), io::ErrorKind::ConnectionReset);
                        from.port()
                    };
                    (0..5).map(accept).collect::<Vec<u16>>()
                })
            };
            let measured = run(&mut Connect::new(to, asleep), &plan(5), &mut |_| {}, NEVER);
            from.extend(accepting.join().unwrap());
            assert!(measured.failure.is_none(), "{:?}", measured.failure);
            assert_eq!((measured.answered, measured.resent, measured.loss), (5, Some(0), 0.0));
            assert!(measured.times.least() > Span::ZERO);
            assert!(!measured.client.cpus.is_empty());
        }
        // In TIME_WAIT, which /proc calls 06, there is none of them. One of another test's to a
        // port of this number may be.
        let table = if to.is_ipv4() { "/proc/net/tcp" } else { "/proc/net/tcp6" };
        let has = |end: &str, port: u16| end.ends_with(&format!(":{port:04X}"));
        let waiting = std::fs::read_to_string(table).unwrap();
        let waiting = waiting.lines().skip(1).filter(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            from.iter().any(|from| has(words[1], *from))
                && has(words[2], to.port())
                && words[3] == "06"
        });
        assert_eq!(waiting.count(), 0);
    }
}

#[test]
fn a_refusal_is_an_answer() {
    let closed = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let measured = run(&mut Connect::new(closed, false), &plan(3), &mut |_| {}, NEVER);
    assert!(measured.failure.is_none(), "{:?}", measured.failure);
    assert_eq!((measured.sent, measured.refused, measured.loss), (3, 3, 0.0));
    assert_eq!(measured.times.count(), 3);
}

#[test]
fn a_connection_to_itself_is_none() {
    // Bound to a port of its own and connected to it, a socket gets through.
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()).unwrap();
    let own = socket.local_addr().unwrap().as_socket().unwrap();
    socket.connect(&own.into()).unwrap();
    assert!(Connect::new(own, false).is_to_itself(&socket));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let to = listener.local_addr().unwrap();
    let stream = TcpStream::connect(to).unwrap();
    assert!(!Connect::new(to, false).is_to_itself(&stream.into()));
}

#[test]
fn who_does_not_answer_is_silent() {
    // A listener whose queue is full takes no handshake.
    let listener =
        socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    listener.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()).unwrap();
    listener.listen(0).unwrap();
    let to = listener.local_addr().unwrap().as_socket().unwrap();
    let _held: Vec<TcpStream> = (0..4)
        .map_while(|_| TcpStream::connect_timeout(&to, Duration::from_millis(200)).ok())
        .collect();
    let timeout = Duration::from_millis(60);
    let plan = Plan { timeout, ..plan(2) };
    let measured = run(&mut Connect::new(to, false), &plan, &mut |_| {}, NEVER);
    assert_eq!((measured.sent, measured.silent, measured.loss), (2, 2, 1.0));
    assert_eq!((measured.times.count(), measured.interrupted), (0, false));
    assert!(measured.seconds.to_duration() >= 2 * timeout);
}

/// A server that greets, and answers requests of one client with `serve`.
fn server(
    token: Option<Token>,
    serve: impl FnOnce(TcpStream, u32, u32) + Send + 'static,
) -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let serving = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut preamble = [0; PREAMBLE];
        stream.read_exact(&mut preamble).unwrap();
        assert_eq!(Preamble::read(&preamble), Ok(Preamble::Control));
        let mut control = Control::new(stream).unwrap();
        let nonce = token.as_ref().map(|_| Nonce::new([5; 16]));
        control
            .say(&Reply::Welcome { software: "a test".to_owned(), nonce: nonce.clone() })
            .unwrap();
        // A client without the token has nothing to ask.
        let Ok(asked) = control.await_word::<Asked>("a request was waited for") else { return };
        if let (Some(token), Some(nonce)) = (&token, &nonce) {
            assert!(token.accepts(nonce, &asked.proof.unwrap()));
        }
        let RequestedService::Echo { request, response, asleep } = asked.ask else {
            panic!("{:?}", asked.ask)
        };
        let accepted = Reply::Accepted { test: TestId::default(), asleep: Some(asleep) };
        control.say(&accepted).unwrap();
        serve(control.stream, request, response);
    });
    (address, serving)
}

/// Both ends alike.
fn open(
    to: SocketAddr,
    token: Option<&Token>,
    sizes: (u32, u32),
    asleep: bool,
) -> Result<Exchange, Error> {
    Exchange::open(to, token, sizes, SleepingEnds { near: asleep, far: asleep }, &Ip::default())
}

fn answering(stream: TcpStream, request: u32, response: u32) {
    echo::serve(&stream, (request, response), false, NEVER).unwrap();
    drop(stream);
}

#[test]
fn requests_are_answered_over_one_connection() {
    for (request, response) in [(64, 64), (1, 1), (20_000, 3), (3, echo::LARGEST)] {
        for asleep in [false, true] {
            let (to, serving) = server(Token::new("sesame"), answering);
            let token = Token::new("sesame");
            let mut exchange = open(to, token.as_ref(), (request, response), asleep).unwrap();
            let plan = Plan { warmup: 3, ..plan(20) };
            let measured = run(&mut exchange, &plan, &mut |_| {}, NEVER);
            assert!(measured.failure.is_none(), "{:?}", measured.failure);
            assert_eq!((measured.answered, measured.warmup), (20, 3));
            assert!(measured.times.least() > Span::ZERO);
            assert_eq!(measured.server.is_none(), response < 4, "{:?}", measured.server);
            let kernel = measured.connection.unwrap();
            assert!(kernel.min_rtt_seconds.is_some_and(|rtt| rtt <= measured.times.most()));
            assert_eq!(kernel.retransmissions, 0);
            assert_eq!(measured.server_asleep, Some(asleep), "as it was asked for");
            let deviation = measured.deviation_seconds.unwrap();
            assert!(deviation <= measured.times.most(), "{deviation}");
            drop(exchange);
            serving.join().unwrap();
        }
    }
}

#[test]
fn requests_keep_their_distance() {
    let (to, serving) = server(None, answering);
    let mut exchange = open(to, None, (64, 64), false).unwrap();
    let interval = Duration::from_millis(10);
    let plan = Plan { interval: Some(interval), ..plan(6) };
    let measured = run(&mut exchange, &plan, &mut |_| {}, NEVER);
    assert_eq!(measured.answered, 6);
    assert!(measured.seconds.to_duration() >= 5 * interval);
    drop(exchange);
    serving.join().unwrap();
}

#[test]
fn without_the_token_there_is_no_exchange() {
    let (to, serving) = server(Token::new("sesame"), answering);
    let error = open(to, None, (64, 64), false).unwrap_err();
    assert!(matches!(error, Error::TokenNeeded), "{error}");
    serving.join().unwrap();
    let error = open(to, None, (64, 0), false).unwrap_err();
    assert!(error.to_string().contains("1 B to 1048576 B"), "{error}");
}

#[test]
fn a_server_that_falls_silent_or_leaves_ends_it() {
    for asleep in [false, true] {
        // It answers the first request, and then not.
        let (to, serving) = server(None, |mut stream, _, _| {
            stream.set_read_timeout(None).unwrap();
            stream.read_exact(&mut [0; 64]).unwrap();
            stream.write_all(&[0; 64]).unwrap();
            stream.read_exact(&mut [0; 64]).unwrap();
            // Half of an answer is none.
            stream.write_all(&[0; 32]).unwrap();
            let _ = stream.read(&mut [0; 64]);
        });
        let mut exchange = open(to, None, (64, 64), asleep).unwrap();
        let plan = Plan { timeout: Duration::from_secs(3), ..plan(10) };
        let measured = run(&mut exchange, &plan, &mut |_| {}, NEVER);
        drop(exchange);
        serving.join().unwrap();
        assert_eq!((measured.sent, measured.answered, measured.silent), (2, 1, 1));
        assert!(matches!(measured.failure, Some(Error::Silent { .. })), "{:?}", measured.failure);

        let (to, serving) = server(None, |mut stream, _, _| {
            stream.set_read_timeout(None).unwrap();
            stream.read_exact(&mut [0; 64]).unwrap();
        });
        let mut exchange = open(to, None, (64, 64), asleep).unwrap();
        let measured = run(&mut exchange, &self::plan(10), &mut |_| {}, NEVER);
        serving.join().unwrap();
        assert_eq!((measured.sent, measured.silent), (1, 1));
        assert!(matches!(measured.failure, Some(Error::Gone { .. })), "{:?}", measured.failure);
    }
}

#[test]
fn waiting_for_an_answer_can_be_stopped() {
    let (to, serving) = server(None, |mut stream, _, _| {
        stream.set_read_timeout(None).unwrap();
        while stream.read(&mut [0; 64]).is_ok_and(|bytes| bytes > 0) {}
    });
    let mut exchange = open(to, None, (64, 64), false).unwrap();
    let began = Instant::now();
    let stop = || began.elapsed() > Duration::from_millis(50);
    // It does not wait for its timeout.
    let plan = Plan { timeout: Duration::from_secs(600), ..plan(10) };
    let measured = run(&mut exchange, &plan, &mut |_| {}, &stop);
    drop(exchange);
    serving.join().unwrap();
    assert_eq!((measured.sent, measured.interrupted), (0, true));
    assert!(measured.failure.is_none(), "{:?}", measured.failure);
}

/// ICMP to this system itself. Where this user may not have it, the test says so.
fn icmp(to: IpAddr, size: u32, test: &str) -> Option<Icmp> {
    match Icmp::open((to, 0).into(), size, false, &Ip::default()) {
        Ok(icmp) => Some(icmp),
        Err(error @ (Error::NoIcmp { .. } | Error::Connect { .. })) => {
            eprintln!("skipped: {test}: {to}: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_host_answers_echoes() {
    for to in [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()] {
        for size in [0, 1, 56, 20_000] {
            let Some(mut icmp) = icmp(to, size, "a_host_answers_echoes") else { continue };
            let measured = run(&mut icmp, &plan(5), &mut |_| {}, NEVER);
            assert!(measured.failure.is_none(), "{:?}", measured.failure);
            assert_eq!(
                (measured.sent, measured.answered, measured.altered),
                (5, 5, Some(0)),
                "{to}"
            );
            assert_eq!((measured.late, measured.repeated), (Some(0), Some(0)));
        }
    }
    let error =
        Icmp::open((Ipv4Addr::LOCALHOST, 0).into(), 65_508, false, &Ip::default()).unwrap_err();
    assert!(error.to_string().contains("65507 B"), "{error}");
}

#[test]
fn two_that_ask_at_once_take_their_own_answers() {
    let test = "two_that_ask_at_once_take_their_own_answers";
    let to = IpAddr::from(Ipv4Addr::LOCALHOST);
    let (Some(mut first), Some(mut second)) = (icmp(to, 56, test), icmp(to, 56, test)) else {
        return;
    };
    let other = thread::spawn(move || run(&mut second, &plan(200), &mut |_| {}, NEVER));
    let measured = [run(&mut first, &plan(200), &mut |_| {}, NEVER), other.join().unwrap()];
    for measured in measured {
        assert_eq!((measured.answered, measured.altered), (200, Some(0)));
        assert_eq!((measured.late, measured.repeated), (Some(0), Some(0)));
    }
}
