//! Peers that keep to nothing: each test ends in an error within a bound.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windlass_base::{Bytes, Span};
use windlass_drive::Error;
use windlass_drive::client::{self, Test};
use windlass_drive::control::{Control, PATIENCE, PREAMBLE, RequestedService, frame};
use windlass_drive::report::Outcome;
use windlass_drive::server::{Server, Settings};
use windlass_drive::side::ThreadSettings;
use windlass_drive::socket::Options;
use windlass_drive::transfer::{EndCondition, Transfer};

/// Longest time of a whole test: the patience of several steps.
const BOUND: Duration = Duration::from_secs(45);

/// A server that does `what` with its first connection.
fn server(what: impl FnOnce(TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let at = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_exact(&mut [0; PREAMBLE]).unwrap();
        what(stream);
        // Others may come, and wait in vain.
        let _waiting: Vec<_> = listener.incoming().take(4).collect();
    });
    at
}

fn ask(to: SocketAddr) -> Result<Outcome, Error> {
    let transfer =
        Transfer { until: EndCondition::Time(Span::from_millis(1_500)), ..Transfer::default() };
    let test = Test { to, token: None, transfer: &transfer, latency: false };
    let began = Instant::now();
    let outcome = client::run(&test, ThreadSettings::default(), &|| false, &mut |_| ());
    assert!(began.elapsed() < BOUND, "{outcome:?}");
    outcome
}

fn say(stream: &mut TcpStream, message: &Value) {
    frame::write(stream, message).unwrap();
}

fn welcome() -> Value {
    json!({ "welcome": { "software": "a stranger", "nonce": null } })
}

fn accepted() -> Value {
    json!({ "accepted": { "test": "00112233445566778899aabbccddeeff", "port": null } })
}

/// Keeps a connection open until the other end has closed it.
fn linger(mut stream: TcpStream) {
    let _ = stream.set_read_timeout(Some(BOUND));
    let _ = stream.read_to_end(&mut Vec::new());
}

#[test]
fn a_server_that_says_nothing_is_not_waited_for() {
    let error = ask(server(linger)).unwrap_err();
    assert!(matches!(error, Error::Silent { .. }), "{error}");
}

#[test]
fn a_server_that_closes_at_once_is_named() {
    let error = ask(server(drop)).unwrap_err();
    assert!(matches!(error, Error::Gone { .. }), "{error}");
}

#[test]
fn a_message_that_claims_to_be_huge_is_refused() {
    let error = ask(server(|mut stream| {
        stream.write_all(&[0x7f; 64]).unwrap();
        linger(stream);
    }));
    assert!(matches!(error, Err(Error::Protocol(_))), "{error:?}");
}

#[test]
fn words_at_the_wrong_time_are_refused() {
    let wrong = [
        accepted(),
        json!("begin"),
        json!({ "welcome": 7 }),
        json!({ "interval": {} }),
        json!([[[[[[]]]]]]),
    ];
    for message in wrong {
        let error = ask(server(move |mut stream| {
            say(&mut stream, &message);
            linger(stream);
        }));
        assert!(matches!(error, Err(Error::Protocol(_))), "{error:?}");
    }
    let twice = ask(server(|mut stream| {
        say(&mut stream, &welcome());
        say(&mut stream, &welcome());
        linger(stream);
    }));
    assert!(matches!(twice, Err(Error::Protocol(_))), "{twice:?}");
}

#[test]
fn a_byte_at_a_time_is_too_slow() {
    let error = ask(server(|mut stream| {
        let mut message = Vec::new();
        frame::write(&mut message, &welcome()).unwrap();
        for byte in message {
            if stream.write_all(&[byte]).is_err() {
                return;
            }
            thread::sleep(Duration::from_secs(1));
        }
    }));
    assert!(matches!(error, Err(Error::Silent { .. })), "{error:?}");
}

#[test]
fn a_test_that_never_begins_is_given_up() {
    let error = ask(server(|mut stream| {
        say(&mut stream, &welcome());
        say(&mut stream, &accepted());
        linger(stream);
    }));
    assert!(matches!(error, Err(Error::Silent { .. })), "{error:?}");
}

#[test]
fn a_server_that_falls_silent_in_a_test_costs_no_figures() {
    // The data arrives, in the backlog of a listener, and nobody speaks.
    let outcome = ask(server(|mut stream| {
        say(&mut stream, &welcome());
        say(&mut stream, &accepted());
        say(&mut stream, &json!("begin"));
        linger(stream);
    }))
    .unwrap();
    assert!(matches!(outcome.failure, Some(Error::Silent { .. })), "{:?}", outcome.failure);
    assert!(outcome.near.directions[0].bytes > Bytes::ZERO);
}

#[test]
fn a_report_of_nonsense_is_refused() {
    let outcome = ask(server(|mut stream| {
        say(&mut stream, &welcome());
        say(&mut stream, &accepted());
        say(&mut stream, &json!("begin"));
        say(&mut stream, &json!({ "done": { "end": "moon" } }));
        linger(stream);
    }))
    .unwrap();
    assert!(matches!(outcome.failure, Some(Error::Protocol(_))), "{:?}", outcome.failure);
}

#[test]
fn clients_that_drip_or_promise_streams_are_given_up_and_others_are_served() {
    let server =
        Server::bind((Ipv4Addr::LOCALHOST, 0).into(), Settings::default(), Box::new(|_| ()));
    let server = server.unwrap();
    let at = server.address().unwrap();
    let over = std::sync::atomic::AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            server.run(&|| over.load(std::sync::atomic::Ordering::Relaxed)).unwrap();
        });
        let bounded = |first: &[u8], drip: bool| {
            let mut stream = TcpStream::connect(at).unwrap();
            stream.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
            stream.write_all(first).unwrap();
            let began = Instant::now();
            loop {
                // A server that has given up closes.
                match stream.read(&mut [0; 4_096]) {
                    Ok(0) => break,
                    Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => break,
                    _ => {}
                }
                if drip && stream.write_all(b"W").is_err() {
                    break;
                }
                assert!(began.elapsed() < BOUND, "it waits for ever");
            }
        };
        let control = windlass_drive::control::Preamble::Control.bytes();
        let mut promising = control.to_vec();
        let transfer = Transfer { streams: 7, ..Transfer::default() };
        let request = json!({ "proof": null, "ask": { "transfer": transfer } });
        frame::write(&mut promising, &request).unwrap();
        thread::scope(|clients| {
            clients.spawn(|| bounded(b"", false));
            clients.spawn(|| bounded(b"", true));
            clients.spawn(|| bounded(&control, false));
            clients.spawn(|| bounded(&control[..9], true));
            clients.spawn(|| bounded(&promising, false));
            let transfer =
                Transfer { until: EndCondition::Bytes(Bytes::new(1_000)), ..Transfer::default() };
            let test = Test { to: at, token: None, transfer: &transfer, latency: true };
            client::run(&test, ThreadSettings::default(), &|| false, &mut |_| ()).unwrap();
        });
        over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn a_client_that_goes_before_its_streams_came_gives_its_place_back() {
    let settings = Settings { most_tests: 1, ..Settings::default() };
    let server = Server::bind((Ipv4Addr::LOCALHOST, 0).into(), settings, Box::new(|_| ()));
    let server = server.unwrap();
    let at = server.address().unwrap();
    let over = std::sync::atomic::AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            server.run(&|| over.load(std::sync::atomic::Ordering::Relaxed)).unwrap();
        });
        let mut gone = Control::open(at, &Options::default()).unwrap();
        gone.ask(None, RequestedService::Transfer(Box::default())).unwrap();
        drop(gone);
        let began = Instant::now();
        let transfer =
            Transfer { until: EndCondition::Bytes(Bytes::new(1_000)), ..Transfer::default() };
        let test = Test { to: at, token: None, transfer: &transfer, latency: false };
        while let Err(error) = client::run(&test, ThreadSettings::default(), &|| false, &mut |_| ())
        {
            assert!(matches!(error, Error::Refused(_)), "{error}");
            assert!(began.elapsed() < PATIENCE / 2, "it waits for who has gone");
            thread::sleep(Duration::from_millis(20));
        }
        over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}
