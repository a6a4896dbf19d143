//! Both machines: against each other, against what stock ends said, and against
//! whatever else may come.

use proptest::prelude::*;

use super::client::{self, Client};
use super::server::{self, Server};
use super::{
    Code, Cookie, Failure, LONGEST_PARAMETERS, LONGEST_RESULTS, NO_RETRANSMITS, Parameters, Phase,
    Results, StreamResults, TestState, framed, stream_id,
};

/// Recorded exchanges of iperf 3.12 with its server, by the options of the client.
const RECORDED: [(&str, &str); 7] = [
    ("-P 3", include_str!("recorded/parallel.txt")),
    ("-R -P 2", include_str!("recorded/reverse.txt")),
    ("--bidir", include_str!("recorded/both.txt")),
    ("-w -M -N -b -C -l -O", include_str!("recorded/options.txt")),
    ("--fq-rate -Z -S -T", include_str!("recorded/other-options.txt")),
    ("-k 10", include_str!("recorded/blocks.txt")),
    ("-u, and the client leaves", include_str!("recorded/left.txt")),
];

/// Reads the turns of an exchange: whether the client spoke, and the bytes. The cookie is left out.
fn recorded(text: &str) -> Vec<(bool, Vec<u8>)> {
    let mut turns: Vec<_> = text
        .lines()
        .map(|line| {
            let (who, hex) = line.split_once(' ').unwrap();
            let pairs = hex.as_bytes().chunks(2);
            let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
            (who == "client", pairs.map(byte).collect::<Vec<_>>())
        })
        .collect();
    Cookie::read(turns[0].1.first_chunk().unwrap()).unwrap();
    turns.remove(0);
    turns
}

fn message<M: serde::de::DeserializeOwned>(bytes: &[u8]) -> M {
    let length = u32::from_be_bytes(*bytes.first_chunk().unwrap()) as usize;
    serde_json::from_slice(&bytes[4..4 + length]).unwrap()
}

fn some_results(streams: u16) -> Results {
    Results {
        sender_has_retransmits: 1,
        congestion_used: Some("cubic".to_owned()),
        streams: (0..streams)
            .map(|place| StreamResults {
                id: stream_id(place),
                bytes: 1 << 40,
                retransmits: NO_RETRANSMITS,
                end_time: 1.5,
                ..StreamResults::default()
            })
            .collect(),
        ..Results::default()
    }
}

fn some_parameters() -> Parameters {
    Parameters { tcp: true, time: 10, parallel: 2, len: 131_072, ..Parameters::default() }
}

fn served(server: &mut Server, bytes: &[u8]) -> Result<(), Failure> {
    server.handle(server::Input::Bytes(bytes))
}

fn outputs(server: &mut Server) -> Vec<server::Output> {
    std::iter::from_fn(|| server.poll_output()).collect()
}

/// All that a machine wants to send now.
fn sent(server: &mut Server) -> Vec<u8> {
    let sends = outputs(server).into_iter().filter_map(|output| match output {
        server::Output::Send(bytes) => Some(bytes),
        _ => None,
    });
    sends.flatten().collect()
}

fn client_outputs(client: &mut Client) -> Vec<client::Output> {
    std::iter::from_fn(|| client.poll_output()).collect()
}

/// Takes a machine to its next phase.
type Step<'a, M> = &'a dyn Fn(&mut M) -> Result<(), Failure>;

/// A server in each phase before the last.
fn servers() -> Vec<Server> {
    let parameters = framed(&some_parameters()).unwrap();
    let results = framed(&some_results(2)).unwrap();
    let mut all = vec![Server::default()];
    let steps: [Step<'_, Server>; 6] = [
        &|server| served(server, &parameters),
        &|server| server.handle(server::Input::Accept),
        &|server| server.handle(server::Input::StreamsOpen),
        &|server| served(server, &[TestState::TestEnd.byte()]),
        &|server| served(server, &results),
        &|server| server.handle(server::Input::Results(some_results(2))),
    ];
    for step in steps {
        let mut next = all.last().unwrap().clone();
        step(&mut next).unwrap();
        all.push(next);
    }
    all
}

/// A client in each phase before the last, and the outputs taken.
fn clients() -> Vec<Client> {
    let mut all = vec![Client::new(Cookie::from_random([1; 36]), some_parameters())];
    let results = framed(&some_results(2)).unwrap();
    let says = |state: TestState| {
        move |client: &mut Client| client.handle(client::Input::Bytes(&[state.byte()]))
    };
    let steps: [Step<'_, Client>; 8] = [
        &says(TestState::ParamExchange),
        &says(TestState::CreateStreams),
        &|client| client.handle(client::Input::StreamsOpen),
        &|client| client.handle(client::Input::Bytes(&[1, 2])),
        &|client| client.handle(client::Input::Over),
        &says(TestState::ExchangeResults),
        &|client| client.handle(client::Input::Results(some_results(2))),
        &|client| client.handle(client::Input::Bytes(&results)),
    ];
    for step in steps {
        let mut next = all.last().unwrap().clone();
        step(&mut next).unwrap();
        all.push(next);
    }
    all
}

#[test]
fn stream_ids_are_those_of_iperf3() {
    assert_eq!([0, 1, 2, 3, 127].map(stream_id), [1, 3, 4, 5, 129]);
    let turns = recorded(RECORDED[0].1);
    let results = turns.iter().filter(|(_, bytes)| bytes.len() > 200);
    for (_, bytes) in results {
        let ids: Vec<_> = message::<Results>(bytes).streams.iter().map(|one| one.id).collect();
        assert_eq!(ids, [1, 3, 4]);
    }
}

#[test]
fn what_iperf3_writes_is_read_and_written_the_same() {
    for (case, text) in RECORDED {
        let turns = recorded(text);
        let (_, bytes) = turns.iter().find(|(client, _)| *client).unwrap();
        let parameters: Parameters = message(bytes);
        if !case.contains("-T") {
            assert_eq!(framed(&parameters).unwrap(), *bytes, "{case}");
        }
        assert_eq!(parameters.client_version.as_deref(), Some("3.12"));
        assert_eq!(parameters.udp, case.contains("-u"));
        assert_eq!(parameters.reverse, case.contains("-R"));
        assert_eq!(parameters.bidirectional, case.contains("--bidir"));
    }
    let options: Parameters = message(&recorded(RECORDED[3].1)[1].1);
    let expected = Parameters {
        tcp: true,
        omit: 1,
        time: 1,
        mss: 1_000,
        nodelay: true,
        parallel: 1,
        window: 65_536,
        len: 4_096,
        bandwidth: 10_000_000,
        pacing_timer: Some(1_000),
        congestion: Some("reno".to_owned()),
        client_version: Some("3.12".to_owned()),
        ..Parameters::default()
    };
    assert_eq!(options, expected);
    // A receiver knows no retransmissions.
    let turns = recorded(RECORDED[0].1);
    let (_, bytes) = turns.iter().rfind(|(client, bytes)| !client && bytes.len() > 200).unwrap();
    let results: Results = message(bytes);
    assert_eq!(results.sender_has_retransmits, -1);
    assert!(results.streams.iter().all(|stream| stream.retransmits == NO_RETRANSMITS));
}

#[test]
fn the_server_says_what_the_stock_one_said() {
    for (case, text) in RECORDED {
        let mut server = Server::default();
        let mut own = None;
        let turns = recorded(text);
        let last = turns.len() - 1;
        for (place, (from_client, bytes)) in turns.into_iter().enumerate() {
            if from_client {
                // As small as they may come.
                for byte in &bytes {
                    match served(&mut server, &[*byte]) {
                        Ok(()) => {}
                        Err(failure) => {
                            assert!(case.contains("leaves") && place == last, "{case}: {failure}");
                            assert_eq!(failure, Failure::Left { during: Phase::Opening });
                        }
                    }
                }
                continue;
            }
            // The actions of the own end follow from the phase.
            match server.phase() {
                Phase::Judging => {
                    server.handle(server::Input::Accept).unwrap();
                    if bytes.len() > 1 {
                        server.handle(server::Input::StreamsOpen).unwrap();
                    }
                }
                Phase::Collecting => {
                    own = Some(message::<Results>(&bytes));
                    server.handle(server::Input::Results(own.clone().unwrap())).unwrap();
                }
                _ => {}
            }
            let said = sent(&mut server);
            match &own {
                // Numbers are written otherwise, and are the same.
                Some(own) => {
                    assert_eq!(message::<Results>(&said), *own, "{case}");
                    assert_eq!(said.last(), bytes.last());
                }
                None => assert_eq!(said, bytes, "{case}"),
            }
        }
        let finished = server.phase() == Phase::Finished;
        assert_eq!(finished, !case.contains("leaves"), "{case}");
    }
}

#[test]
fn the_client_says_what_the_stock_one_said() {
    for (case, text) in RECORDED.into_iter().filter(|(case, _)| !case.contains("leaves")) {
        let turns = recorded(text);
        let asked: Parameters = message(&turns.iter().find(|(client, _)| *client).unwrap().1);
        let mut client = Client::new(Cookie::from_random([0; 36]), asked);
        let mut said = Vec::new();
        let mut told = None;
        let results: Vec<&[u8]> = turns
            .iter()
            .filter(|(from_client, bytes)| *from_client && bytes.len() > 200)
            .map(|(_, bytes)| bytes.as_slice())
            .collect();
        let own: Results = message(results.last().unwrap());
        for (_, bytes) in turns.iter().filter(|(from_client, _)| !from_client) {
            for byte in bytes {
                client.handle(client::Input::Bytes(&[*byte])).unwrap();
                for output in client_outputs(&mut client) {
                    match output {
                        client::Output::Send(bytes) => said.push(bytes),
                        client::Output::OpenStreams => {
                            client.handle(client::Input::StreamsOpen).unwrap();
                        }
                        client::Output::Begin => client.handle(client::Input::Over).unwrap(),
                        client::Output::Collect => {
                            client.handle(client::Input::Results(own.clone())).unwrap();
                        }
                        client::Output::Told(results) => told = Some(results),
                        client::Output::Finished => {}
                    }
                }
            }
        }
        assert_eq!(client.phase(), Phase::Finished, "{case}");
        let states: Vec<_> = said.iter().filter(|bytes| bytes.len() == 1).collect();
        assert_eq!(states, [&[4], &[16]], "{case}");
        assert!(!told.unwrap().streams.is_empty());
    }
}

#[test]
fn a_client_and_a_server_come_to_an_end() {
    let mut client = Client::new(Cookie::from_random([9; 36]), some_parameters());
    let mut server = Server::default();
    let (mut cookie, mut told) = (0, 0);
    for _ in 0..40 {
        for output in client_outputs(&mut client) {
            match output {
                client::Output::Send(bytes) if cookie == 0 => cookie = bytes.len(),
                client::Output::Send(bytes) => served(&mut server, &bytes).unwrap(),
                client::Output::OpenStreams => client.handle(client::Input::StreamsOpen).unwrap(),
                client::Output::Begin => client.handle(client::Input::Over).unwrap(),
                client::Output::Collect => {
                    client.handle(client::Input::Results(some_results(2))).unwrap();
                }
                client::Output::Told(results) => {
                    assert_eq!(results, some_results(3));
                    told += 1;
                }
                client::Output::Finished => told += 1,
            }
        }
        for output in outputs(&mut server) {
            match output {
                server::Output::Send(bytes) => client.handle(client::Input::Bytes(&bytes)).unwrap(),
                server::Output::Asked(asked) => {
                    assert_eq!(*asked, some_parameters());
                    server.handle(server::Input::Accept).unwrap();
                }
                server::Output::AwaitStreams => {
                    // The client opens them while this end says that it may.
                    for output in client_outputs(&mut client) {
                        assert_eq!(output, client::Output::OpenStreams);
                        client.handle(client::Input::StreamsOpen).unwrap();
                    }
                    server.handle(server::Input::StreamsOpen).unwrap();
                }
                server::Output::Told(results) => {
                    assert_eq!(results, some_results(2));
                    server.handle(server::Input::Results(some_results(3))).unwrap();
                    told += 1;
                }
                server::Output::Finished => told += 1,
                server::Output::Begin | server::Output::Over => {}
            }
        }
    }
    assert_eq!((cookie, told), (37, 4));
    assert_eq!((client.phase(), server.phase()), (Phase::Finished, Phase::Finished));
}

/// Each byte in each phase of the server: where it leads, or why not.
#[test]
fn a_server_takes_what_is_the_clients_turn_to_say() {
    for server in servers() {
        let during = server.phase();
        for byte in 0..=u8::MAX {
            let mut server = server.clone();
            outputs(&mut server);
            let done = served(&mut server, &[byte]);
            match (during, TestState::read(byte)) {
                (Phase::Parameters | Phase::Results, None) if byte == 0 => {
                    assert_eq!((done, server.phase()), (Ok(()), during));
                }
                (Phase::Running, Some(TestState::TestEnd)) => {
                    assert_eq!((done, server.phase()), (Ok(()), Phase::Results));
                    assert_eq!(sent(&mut server), [TestState::ExchangeResults.byte()]);
                }
                (Phase::Closing, Some(TestState::IperfDone)) => {
                    assert_eq!((done, server.phase()), (Ok(()), Phase::Finished));
                }
                (_, Some(TestState::ClientTerminate | TestState::IperfDone)) => {
                    assert_eq!(done, Err(Failure::Left { during }));
                    assert!(sent(&mut server).is_empty(), "it has gone");
                }
                _ => {
                    assert_eq!(done, Err(Failure::Unexpected { byte, during }));
                    assert_eq!(sent(&mut server), [254, 0, 0, 0, 110, 0, 0, 0, 0]);
                    let again = server.handle(server::Input::Accept);
                    assert_eq!(again, done, "a failure stays");
                    assert_eq!((server.phase(), server.kept()), (during, 0));
                }
            }
        }
        // Its own end has to keep to the turns as well.
        let (mut closed, mut stopped, mut early) = (server.clone(), server.clone(), server);
        if during == Phase::Closing {
            closed.handle(server::Input::Closed).unwrap();
        } else {
            assert_eq!(closed.handle(server::Input::Closed), Err(Failure::Gone { during }));
        }
        outputs(&mut stopped);
        assert_eq!(stopped.handle(server::Input::Stop), Err(Failure::Ended { during }));
        assert_eq!(sent(&mut stopped), [TestState::ServerTerminate.byte()]);
        let out_of_turn = early.handle(server::Input::StreamsOpen);
        assert_eq!(out_of_turn.is_ok(), during == Phase::Opening, "{during:?}");
    }
}

/// Each byte in each phase of the client.
#[test]
fn a_client_takes_what_is_the_servers_turn_to_say() {
    for client in clients() {
        let during = client.phase();
        for byte in 0..=u8::MAX {
            let mut client = client.clone();
            client_outputs(&mut client);
            let done = client.handle(client::Input::Bytes(&[byte]));
            let leads =
                |client: &Client, to| assert_eq!((done.clone(), client.phase()), (Ok(()), to));
            match (during, TestState::read(byte)) {
                (Phase::Greeting, Some(TestState::ParamExchange)) => leads(&client, Phase::Asking),
                (Phase::Asking, Some(TestState::CreateStreams)) => leads(&client, Phase::Opening),
                (Phase::Starting, Some(TestState::TestStart)) => leads(&client, Phase::Starting),
                (Phase::Ending, Some(TestState::ExchangeResults)) => {
                    leads(&client, Phase::Collecting);
                }
                (Phase::Closing, Some(TestState::DisplayResults)) => {
                    leads(&client, Phase::Finished);
                }
                (Phase::Results, None) if byte == 0 => leads(&client, Phase::Results),
                // Its numbers follow.
                (_, Some(TestState::ServerError)) => leads(&client, during),
                (_, Some(TestState::ServerTerminate)) => {
                    assert_eq!(done, Err(Failure::Left { during }));
                }
                (Phase::Greeting, Some(TestState::AccessDenied)) => {
                    assert_eq!(done, Err(Failure::Busy));
                }
                _ => {
                    assert_eq!(done, Err(Failure::Unexpected { byte, during }));
                    assert_eq!(client.handle(client::Input::Over), done, "a failure stays");
                    assert_eq!((client.phase(), client.kept()), (during, 0));
                }
            }
        }
        let (mut closed, mut error, mut stopped) = (client.clone(), client.clone(), client);
        if during == Phase::Closing {
            closed.handle(client::Input::Closed).unwrap();
        } else {
            assert_eq!(closed.handle(client::Input::Closed), Err(Failure::Gone { during }));
        }
        error.handle(client::Input::Bytes(&[254, 0, 0, 0])).unwrap();
        let failure = error.clone().handle(client::Input::Bytes(&[131, 0, 0, 0, 93]));
        let code = Code::PROTOCOL;
        assert_eq!(failure, Err(Failure::Server { during, code, errno: 93 }));
        // One that says only its own number, and closes.
        error.handle(client::Input::Bytes(&[142])).unwrap();
        if during != Phase::Closing {
            let closed = error.handle(client::Input::Closed);
            assert_eq!(closed, Err(Failure::Server { during, code: Code::LOGIN, errno: 0 }));
        }
        client_outputs(&mut stopped);
        assert_eq!(stopped.handle(client::Input::Stop), Err(Failure::Ended { during }));
        let says = client::Output::Send(vec![TestState::ClientTerminate.byte()]);
        assert_eq!(client_outputs(&mut stopped), [says]);
    }
}

#[test]
fn a_test_does_not_start_twice() {
    let mut client = clients().into_iter().find(|one| one.phase() == Phase::Starting).unwrap();
    let failure = client.handle(client::Input::Bytes(&[1, 1]));
    assert_eq!(failure, Err(Failure::Unexpected { byte: 1, during: Phase::Starting }));
    let mut client = clients().into_iter().find(|one| one.phase() == Phase::Starting).unwrap();
    let failure = client.handle(client::Input::Bytes(&[2]));
    assert_eq!(failure, Err(Failure::Unexpected { byte: 2, during: Phase::Starting }));
}

#[test]
fn a_length_is_believed_only_so_far() {
    for server in servers() {
        let most = match server.phase() {
            Phase::Parameters => LONGEST_PARAMETERS,
            Phase::Results => LONGEST_RESULTS,
            _ => continue,
        };
        let during = server.phase();
        let length = most + 1;
        let bytes = u32::try_from(length).unwrap().to_be_bytes();
        let failure = served(&mut server.clone(), &bytes);
        assert_eq!(failure, Err(Failure::TooLong { during, length, most }));
        // As long as it may be, and slow: it is kept up to its end only.
        let mut server = server;
        served(&mut server, &u32::try_from(most).unwrap().to_be_bytes()).unwrap();
        for piece in vec![b' '; most - 1].chunks(1_000) {
            served(&mut server, piece).unwrap();
        }
        assert_eq!(server.kept(), most + 3);
        let failure = served(&mut server, b" ").unwrap_err();
        assert!(matches!(failure, Failure::Unreadable { .. }), "{failure}");
        assert_eq!(server.kept(), 0);
    }
    let mut client = clients().into_iter().find(|one| one.phase() == Phase::Results).unwrap();
    let failure = client.handle(client::Input::Bytes(&[0, 0xff, 0xff, 0xff])).unwrap_err();
    assert!(matches!(failure, Failure::TooLong { .. }), "{failure}");
}

#[test]
fn what_does_not_read_is_told() {
    for json in ["", "[]", "[7]", "[]x", "{\"time\":\"ten\"}", "{\"tcp\":", "\u{7f}", "7"] {
        let mut server = Server::default();
        let mut bytes = u32::try_from(json.len()).unwrap().to_be_bytes().to_vec();
        bytes.extend_from_slice(json.as_bytes());
        let failure = served(&mut server, &bytes).unwrap_err();
        assert!(matches!(failure, Failure::Unreadable { .. }), "{json}: {failure}");
        assert_eq!(sent(&mut server)[1..], [254, 0, 0, 0, 114, 0, 0, 0, 0], "{json}");
    }
    // Deep nesting does not end in the stack.
    let deep = "[".repeat(LONGEST_PARAMETERS);
    let mut bytes = u32::try_from(deep.len()).unwrap().to_be_bytes().to_vec();
    bytes.extend_from_slice(deep.as_bytes());
    assert!(served(&mut Server::default(), &bytes).is_err());
}

#[test]
fn a_refusal_is_iperf3s_own() {
    let mut server = servers().into_iter().find(|one| one.phase() == Phase::Judging).unwrap();
    outputs(&mut server);
    let refuse = server::Input::Refuse { code: Code::PROTOCOL, errno: 0 };
    assert_eq!(server.handle(refuse), Err(Failure::Ended { during: Phase::Judging }));
    let bytes = sent(&mut server);
    let mut client = clients().into_iter().find(|one| one.phase() == Phase::Asking).unwrap();
    let failure = client.handle(client::Input::Bytes(&bytes)).unwrap_err();
    assert_eq!(
        failure.to_string(),
        "the iperf3 server cannot go on: it does not serve this transport protocol (iperf3's \
         error 131)"
    );
    let mut client = clients().remove(0);
    assert_eq!(client.handle(client::Input::Bytes(&Server::busy())), Err(Failure::Busy));
}

#[test]
fn failures_say_where() {
    let during = Phase::Opening;
    let failure = Failure::Unexpected { byte: 1, during };
    let expected = "the other end does not keep to iperf3's protocol: it says TEST_START (1) \
                    while the streams were opened";
    assert_eq!(failure.to_string(), expected);
    let failure = Failure::Unexpected { byte: 7, during };
    assert!(failure.to_string().contains("it says 0x07 while"), "{failure}");
}

proptest! {
    #[test]
    fn messages_read_back(time in 0..100_000_i64, num: i64, reverse: bool, streams in 0..200_u16) {
        let parameters = Parameters { time, num, reverse, udp: !reverse, ..some_parameters() };
        prop_assert_eq!(message::<Parameters>(&framed(&parameters).unwrap()), parameters);
        let results = some_results(streams);
        prop_assert_eq!(message::<Results>(&framed(&results).unwrap()), results);
    }

    #[test]
    fn any_bytes_end_somewhere(
        place in 0..7_usize,
        client_place in 0..9_usize,
        pieces in prop::collection::vec(
            prop::collection::vec(prop_oneof![0..17_u8, 254..=255_u8, any::<u8>()], 0..20), 0..10),
    ) {
        let mut server = servers().swap_remove(place);
        let mut client = clients().swap_remove(client_place);
        for piece in &pieces {
            let _ = served(&mut server, piece);
            let _ = client.handle(client::Input::Bytes(piece));
        }
        let all: usize = pieces.iter().map(Vec::len).sum();
        prop_assert!(server.kept() <= all && client.kept() <= all);
    }

    #[test]
    fn pieces_make_no_difference(
        bytes in prop::collection::vec(prop_oneof![0..17_u8, any::<u8>()], 0..40),
        place in 0..7_usize,
    ) {
        let mut whole = servers().swap_remove(place);
        let mut pieces = whole.clone();
        let at_once = served(&mut whole, &bytes);
        let mut in_pieces = Ok(());
        for byte in &bytes {
            in_pieces = served(&mut pieces, &[*byte]);
        }
        prop_assert_eq!(at_once, in_pieces);
        prop_assert_eq!(whole.phase(), pieces.phase());
        prop_assert_eq!(outputs(&mut whole), outputs(&mut pieces));
    }
}
