use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

use windlass_sys::clock::Clock;
use windlass_sys::clock::Hand;
use windlass_sys::socket::is_pause;
use windlass_wire::http::{Headers, Request, Response};
use windlass_wire::ipp::Compression;
use windlass_wire::ipp::{Group, GroupTag, Message, Status, Value, Version};
use windlass_wire::target::Protocol;

use super::*;
use crate::document::Payload;
use crate::job::{FollowMode, Ipp, Raw};

/// Longest time without progress, by a clock that only [`ServerBehaviour::Nothing`] moves, so that
/// no machine is too slow for an answer.
const PATIENCE: Duration = Duration::from_millis(500);

/// Returns a plan for one job.
pub(super) fn plan(target: Target) -> Plan {
    Plan {
        way: ipp(false),
        queues: vec![target],
        jobs: 1,
        connections: 1,
        user: "ann".to_owned(),
        name: "load".to_owned(),
        patience: PATIENCE,
        retry_full: None,
        follows: false,
    }
}

fn ipp(create_job: bool) -> Submission {
    let compression = Compression::None;
    let format = "application/octet-stream".to_owned();
    Submission::Job(JobProtocol::Ipp(Ipp {
        version: Version(2, 0),
        create_job,
        compression,
        format,
        template: Vec::new(),
        follow: FollowMode::No,
    }))
}

/// Behaviour of a server for a request.
#[derive(Clone, Copy)]
enum ServerBehaviour {
    /// Answer with this status after the document.
    Answers(Status),
    /// Answer with a page before the document, and close.
    Page,
    /// Close after the document.
    Closes,
    /// Close in the middle of the document.
    Breaks,
    /// Send nothing, and let the clock run until the client has gone.
    Nothing,
    /// Send invalid HTTP.
    Garbage,
    /// Send half of an answer, and close.
    Half,
    /// Send 100 Continue, and answer.
    GoesOn,
}

fn answer(status: Status, id: [u8; 4], number: i32) -> Vec<u8> {
    let id = u32::from_be_bytes(id);
    let mut message = Message {
        code: status.0,
        ..Message::request(Version(2, 0), windlass_wire::ipp::Operation(0), id)
    };
    let job = Group::new(GroupTag::JOB).with("job-id", Value::Integer(number));
    message.groups.push(job);
    let body = message.encode().unwrap();
    let headers = Headers::default()
        .with("Content-Type", "application/ipp")
        .with("Content-Length", body.len().to_string());
    let head = Response { status: 200, reason: "OK".to_owned(), minor: 1, headers };
    [head.encode().unwrap(), body].concat()
}

/// Lets the clock run until the client has gone.
fn outwait(mut stream: &TcpStream, hand: &Hand) {
    stream.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    loop {
        hand.pass(PATIENCE);
        match stream.read(&mut [0; 4_096]) {
            Err(error) if is_pause(&error) => {}
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
    }
}

/// Serves one connection: `does` gives the behaviour for each request, by its number.
fn serve(
    mut stream: TcpStream,
    served: &AtomicU64,
    hand: &Hand,
    does: &dyn Fn(u64) -> ServerBehaviour,
) -> Option<()> {
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut held = Vec::new();
    let more = |held: &mut Vec<u8>, stream: &mut TcpStream| {
        let mut some = [0; 65_536];
        let got = stream.read(&mut some).ok().filter(|got| *got > 0)?;
        held.extend_from_slice(&some[..got]);
        Some(())
    };
    loop {
        let (head, used) = loop {
            match Request::decode(&held).unwrap() {
                Some(found) => break found,
                None => more(&mut held, &mut stream)?,
            }
        };
        let length: usize = head.headers.text("Content-Length").unwrap().parse().unwrap();
        let number = served.fetch_add(1, Ordering::Relaxed);
        let what = does(number);
        let wanted = match what {
            ServerBehaviour::Page | ServerBehaviour::Breaks => used + 1_000,
            _ => used + length,
        };
        while held.len() < wanted {
            more(&mut held, &mut stream)?;
        }
        let id: [u8; 4] = held[used + 4..used + 8].try_into().unwrap();
        let mut say = |bytes: &[u8]| stream.write_all(bytes).ok();
        match what {
            ServerBehaviour::Answers(status) => say(&answer(status, id, number as i32 + 1))?,
            ServerBehaviour::GoesOn => {
                say(b"HTTP/1.1 100 Continue\r\n\r\n")?;
                say(&answer(Status::OK, id, number as i32 + 1))?;
            }
            ServerBehaviour::Page => {
                let page = "<html><title>Request Entity Too Large</title></html>";
                let head = "HTTP/1.1 413 Request Entity Too Large\r\nConnection: close\r\n\
                            Content-Type: text/html\r\nContent-Length: ";
                say(format!("{head}{}\r\n\r\n{page}", page.len()).as_bytes())?;
                return None;
            }
            ServerBehaviour::Closes | ServerBehaviour::Breaks => return None,
            ServerBehaviour::Nothing => {
                outwait(&stream, hand);
                return None;
            }
            ServerBehaviour::Garbage => say(b"\x00\xff what?\r\n\r\n")?,
            ServerBehaviour::Half => {
                let all = answer(Status::OK, id, 1);
                say(&all[..all.len() - 5])?;
                return None;
            }
        }
        held.drain(..wanted);
    }
}

/// Starts a server with this behaviour; returns its address and the clock of its clients.
fn server(does: impl Fn(u64) -> ServerBehaviour + Send + Sync + 'static) -> (SocketAddr, Clock) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (served, does) = (Arc::new(AtomicU64::new(0)), Arc::new(does));
    let hand = Hand::default();
    let clock = hand.clock();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, does) = (stream.unwrap(), Arc::clone(&does));
            let (served, hand) = (Arc::clone(&served), hand.clone());
            thread::spawn(move || serve(stream, &served, &hand, &*does));
        }
    });
    (address, clock)
}

/// Loads a server with this behaviour.
fn loaded(
    change: impl FnOnce(&mut Plan),
    size: u64,
    does: impl Fn(u64) -> ServerBehaviour + Send + Sync + 'static,
) -> QueueingResult {
    let (address, clock) = server(does);
    let target = Target::new(&address.to_string(), Some(Protocol::Ipp), Some("q")).unwrap();
    let mut plan = plan(target);
    change(&mut plan);
    let scratch = tempfile::tempdir().unwrap();
    let wanted = [RequestedDocument::Made(Payload::Random, size)];
    let files = Files::prepare(&wanted, &DocumentStorage::Memory, scratch.path()).unwrap();
    let mut load = Load::new(plan);
    load.monitors.iter_mut().for_each(|monitor| monitor.clock = clock.clone());
    let queued = load.run(&files, &|_: &Target| Ok(TcpStream::connect(address)?)).unwrap();
    assert_eq!(queued.counts.ended() + queued.counts.not_sent, load.plan.jobs);
    assert_eq!(load.so_far(), (queued.counts.acknowledged, queued.counts.ended()));
    queued
}

fn counts(queued: &QueueingResult) -> [u64; 5] {
    let counts = queued.counts;
    [counts.acknowledged, counts.refused, counts.failed, counts.unknown, counts.not_sent]
}

#[test]
fn jobs_are_acknowledged_over_connections_that_are_kept() {
    for connections in [1, 3] {
        let queued = loaded(
            |plan| (plan.jobs, plan.connections) = (200, connections),
            20_000,
            |number| {
                if number % 7 == 3 {
                    ServerBehaviour::GoesOn
                } else {
                    ServerBehaviour::Answers(Status::OK)
                }
            },
        );
        assert_eq!(counts(&queued), [200, 0, 0, 0, 0]);
        let ids = queued.queueing.first_job_id.zip(queued.queueing.last_job_id);
        assert_eq!((queued.queueing.bytes, ids), (Bytes::new(200 * 20_000), Some((1, 200))));
        assert_eq!(queued.queueing.latency_seconds.unwrap().count, 200);
        assert!(queued.wrong.troubles.is_empty() && queued.wrong.full.is_empty());
    }
}

#[test]
fn jobs_are_created_before_their_documents() {
    // Every second document is refused, and its job is cancelled.
    let queued = loaded(
        |plan| (plan.jobs, plan.way) = (4, ipp(true)),
        5_000,
        |number| {
            // create, send; create, send (no), cancel.
            let refused = number % 5 == 3;
            ServerBehaviour::Answers(if refused { Status::ENTITY_TOO_LARGE } else { Status::OK })
        },
    );
    assert_eq!(counts(&queued), [2, 2, 0, 0, 0]);
    assert_eq!((queued.queueing.ghosts, queued.queueing.ghosts_cancelled), (2, 2));
}

#[test]
fn a_page_in_the_middle_of_a_job_is_read() {
    let queued = loaded(
        |plan| plan.jobs = 3,
        20_000_000,
        |number| {
            if number == 1 { ServerBehaviour::Page } else { ServerBehaviour::Answers(Status::OK) }
        },
    );
    assert_eq!(counts(&queued), [2, 1, 0, 0, 0]);
    let trouble = &queued.wrong.troubles[0];
    assert_eq!(
        (trouble.kind, trouble.became),
        (ProblemKind::SpoolFull, SubmissionFailure::Refused)
    );
    assert!(trouble.words.contains("client-error-request-entity-too-large"), "{}", trouble.words);
    // It was full from the second job to the third.
    assert_eq!((queued.wrong.full.len(), queued.wrong.full[0].refusals), (1, 1));
    assert!(queued.wrong.full[0].accepted_seconds.unwrap() > queued.wrong.full[0].refused_seconds);
}

#[test]
fn a_full_spool_is_tried_again() {
    let does = |number| match number {
        2..6 => ServerBehaviour::Answers(Status::TOO_MANY_JOBS),
        _ => ServerBehaviour::Answers(Status::OK),
    };
    let queued = loaded(
        |plan| (plan.jobs, plan.retry_full) = (5, Some(Duration::from_secs(30))),
        1_000,
        does,
    );
    assert_eq!(counts(&queued), [5, 0, 0, 0, 0]);
    assert_eq!((queued.queueing.retries, queued.wrong.full[0].refusals), (4, 4));
    let queued = loaded(|plan| plan.jobs = 8, 1_000, does);
    assert_eq!(counts(&queued), [4, 4, 0, 0, 0]);
    assert_eq!(queued.wrong.troubles[0].jobs, 4);
}

#[test]
fn a_connection_that_ends_leaves_a_job_unknown_or_failed() {
    let queued = loaded(
        |plan| plan.jobs = 4,
        20_000_000,
        |number| match number {
            1 => ServerBehaviour::Closes,
            2 => ServerBehaviour::Breaks,
            _ => ServerBehaviour::Answers(Status::OK),
        },
    );
    assert_eq!(counts(&queued), [2, 0, 1, 1, 0]);
    assert!(queued.wrong.troubles.iter().all(|trouble| trouble.kind == ProblemKind::Closed));
}

#[test]
fn whatever_a_server_says_it_ends() {
    for (does, kind, expected) in [
        (ServerBehaviour::Nothing, ProblemKind::Silent, [0, 0, 0, 2, 38]),
        (ServerBehaviour::Garbage, ProblemKind::Protocol, [0, 0, 0, 10, 30]),
        (ServerBehaviour::Half, ProblemKind::Protocol, [0, 0, 0, 10, 30]),
        (ServerBehaviour::Closes, ProblemKind::Closed, [0, 0, 0, 10, 30]),
    ] {
        let began = Instant::now();
        let queued = loaded(|plan| plan.jobs = 40, 1_000, move |_| does);
        assert_eq!(counts(&queued), expected, "{kind:?} {:?}", queued.wrong.troubles);
        assert_eq!(queued.wrong.troubles[0].kind, kind, "{:?}", queued.wrong.troubles);
        assert!(queued.queueing.given_up && began.elapsed() < Duration::from_secs(60));
    }
}

#[test]
fn without_connections_it_ends() {
    let target = Target::new("127.0.0.1:9", Some(Protocol::Ipp), Some("q")).unwrap();
    // As for a port without a listener; a real one may belong to another test by then.
    let refused = |_: &Target| -> Result<TcpStream, DialError> {
        Err(std::io::Error::from(std::io::ErrorKind::ConnectionRefused).into())
    };
    for way in [ipp(false), Submission::Job(JobProtocol::Raw(Raw::default()))] {
        let load = Load::new(Plan { jobs: 50, way, ..plan(target.clone()) });
        let scratch = tempfile::tempdir().unwrap();
        let wanted = [RequestedDocument::Made(Payload::Text, 10)];
        let files = Files::prepare(&wanted, &DocumentStorage::Memory, scratch.path()).unwrap();
        let queued = load.run(&files, &refused).unwrap();
        assert_eq!(counts(&queued), [0, 0, 10, 0, 40]);
        assert_eq!(queued.wrong.troubles[0].kind, ProblemKind::NoConnection);
    }
}

#[test]
fn printers_are_stopped_and_started_again() {
    // Each printer is asked for its state, and stopped; then each is started, until the server
    // refuses.
    for (answered, left) in [(9, 0), (7, 2), (0, 0)] {
        let (address, clock) = server(move |number| {
            if number < answered {
                ServerBehaviour::Answers(Status::OK)
            } else {
                ServerBehaviour::Nothing
            }
        });
        let host = address.to_string();
        let queue = |name| Target::new(&host, Some(Protocol::Ipp), Some(name)).unwrap();
        let queues = ["a", "b", "c"].map(queue);
        let (monitor, dialing) =
            (Monitor::by(clock), |_: &Target| Ok(TcpStream::connect(address)?));
        let control = Control::new(&queues, "ann", &monitor, &dialing, PATIENCE);
        let (mut paused, began) = (Vec::new(), Instant::now());
        let stopped = control.pause(&mut paused);
        if answered == 0 {
            assert!(stopped.is_err() && paused.is_empty());
            continue;
        }
        stopped.unwrap();
        assert_eq!(paused, [0, 1, 2]);
        assert_eq!(control.resume(&mut paused).is_err(), left > 0);
        assert_eq!(paused.len(), left);
        assert!(began.elapsed() < Duration::from_secs(60));
    }
}

#[test]
fn a_server_that_was_away_is_waited_for() {
    let (address, clock) = server(|number| match number {
        // It breaks the connection, and accepts none for a while.
        3 => ServerBehaviour::Closes,
        _ => ServerBehaviour::Answers(Status::OK),
    });
    let target = Target::new(&address.to_string(), Some(Protocol::Ipp), Some("q")).unwrap();
    let patience = Duration::from_secs(600);
    let mut load = Load::new(Plan { jobs: 9, patience, follows: true, ..plan(target) });
    load.monitors.iter_mut().for_each(|monitor| monitor.clock = clock.clone());
    let scratch = tempfile::tempdir().unwrap();
    let wanted = [RequestedDocument::Made(Payload::Text, 10)];
    let files = Files::prepare(&wanted, &DocumentStorage::Memory, scratch.path()).unwrap();
    let dials = AtomicU64::new(0);
    let dial = |_: &Target| -> Result<TcpStream, DialError> {
        match dials.fetch_add(1, Ordering::Relaxed) {
            1..4 => Err("refused".into()),
            _ => Ok(TcpStream::connect(address)?),
        }
    };
    let queued = load.run(&files, &dial).unwrap();
    // One job was in progress, and the others waited.
    assert_eq!(counts(&queued), [8, 0, 0, 1, 0]);
    let absences = load.absences();
    assert_eq!((absences.times.len(), absences.lasts), (1, false), "{absences:?}");
    let time = absences.times[0];
    assert!(time.to_seconds.unwrap() - time.from_seconds >= Span::from_duration(BREATH * 3));
    assert_eq!(load.open(), Some(8));
    assert!(!queued.queueing.given_up);
}

#[test]
fn a_server_that_stays_away_is_given_up_after_the_patience() {
    let (address, _) = server(|_| ServerBehaviour::Answers(Status::OK));
    let target = Target::new(&address.to_string(), Some(Protocol::Ipp), Some("q")).unwrap();
    let patience = Duration::from_millis(700);
    let (way, jobs) = (Submission::Job(JobProtocol::Raw(Raw::default())), 50);
    let load = Load::new(Plan { jobs, patience, way, ..plan(target) });
    let scratch = tempfile::tempdir().unwrap();
    let wanted = [RequestedDocument::Made(Payload::Text, 10)];
    let files = Files::prepare(&wanted, &DocumentStorage::Memory, scratch.path()).unwrap();
    // The observer hears the first answer, and then no connection is accepted.
    drop(load.tally());
    load.heard();
    let began = Instant::now();
    let refused = |_: &Target| -> Result<TcpStream, DialError> { Err("refused".into()) };
    let queued = load.run(&files, &refused).unwrap();
    assert!(began.elapsed() >= patience);
    assert_eq!(counts(&queued), [0, 0, 1, 0, 49]);
    assert!(queued.queueing.given_up && load.absences().lasts);
    assert!(load.absences().seconds >= Span::from_duration(patience));
}
