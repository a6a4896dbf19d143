//! Any bytes on the control connection, at any point of a test, lead either end
//! of iperf3's protocol to its end or to a failure that stays.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use windlass_wire::iperf3::client::{self, Client};
use windlass_wire::iperf3::server::{self, Server};
use windlass_wire::iperf3::{Code, Cookie, Failure, NO_RETRANSMITS, Parameters, Phase, Results};
use windlass_wire::iperf3::{StreamResults, stream_id};

/// What happens to an end.
#[derive(Arbitrary, Debug)]
enum Step {
    Bytes(Vec<u8>),
    /// JSON behind its right length.
    Message(Vec<u8>),
    /// What this end has to do next to go on.
    Own,
    Closed,
    Stop,
    Refuse(i32),
}

fn results() -> Results {
    let stream =
        StreamResults { id: stream_id(0), retransmits: NO_RETRANSMITS, ..Default::default() };
    Results { streams: vec![stream], ..Results::default() }
}

fn framed(json: &[u8]) -> Vec<u8> {
    let mut bytes = (json.len() as u32).to_be_bytes().to_vec();
    bytes.extend_from_slice(json);
    bytes
}

fn serve(server: &mut Server, step: &Step) -> Result<(), Failure> {
    use server::Input;
    server.handle(match (step, server.phase()) {
        (Step::Bytes(bytes), _) => return server.handle(Input::Bytes(bytes)),
        (Step::Message(json), _) => return server.handle(Input::Bytes(&framed(json))),
        (Step::Closed, _) => Input::Closed,
        (Step::Stop, _) => Input::Stop,
        (Step::Refuse(code), _) => Input::Refuse { code: Code(*code), errno: 1 },
        (Step::Own, Phase::Judging) => Input::Accept,
        (Step::Own, Phase::Opening) => Input::StreamsOpen,
        (Step::Own, Phase::Collecting) => Input::Results(results()),
        (Step::Own, _) => return Ok(()),
    })
}

fn ask(client: &mut Client, step: &Step) -> Result<(), Failure> {
    use client::Input;
    client.handle(match (step, client.phase()) {
        (Step::Bytes(bytes), _) => return client.handle(Input::Bytes(bytes)),
        (Step::Message(json), _) => return client.handle(Input::Bytes(&framed(json))),
        (Step::Closed, _) => Input::Closed,
        (Step::Stop, _) => Input::Stop,
        (Step::Own, Phase::Opening) => Input::StreamsOpen,
        (Step::Own, Phase::Running) => Input::Over,
        (Step::Own, Phase::Collecting) => Input::Results(results()),
        (Step::Own | Step::Refuse(_), _) => return Ok(()),
    })
}

fuzz_target!(|steps: Vec<Step>| {
    let mut server = Server::default();
    let mut client = Client::new(Cookie::from_random([3; 36]), Parameters::default());
    let (mut served, mut asked) = (None, None);
    let mut finished = 0;
    for step in &steps {
        let done = serve(&mut server, step);
        // What a failed end is told makes no difference.
        if let Some(failure) = &served {
            assert!(matches!(step, Step::Own) || done.as_ref().err() == Some(failure));
        }
        served = served.or(done.err());
        let done = ask(&mut client, step);
        if let Some(failure) = &asked {
            let ignored = matches!(step, Step::Own | Step::Refuse(_));
            assert!(ignored || done.as_ref().err() == Some(failure));
        }
        asked = asked.or(done.err());
        while let Some(output) = server.poll_output() {
            finished += usize::from(output == server::Output::Finished);
        }
        while let Some(output) = client.poll_output() {
            finished += usize::from(output == client::Output::Finished);
        }
    }
    let ends = [server.phase(), client.phase()];
    let are = |phase: &&Phase| **phase == Phase::Finished;
    // A failure once all was said is none: it cannot come.
    assert_eq!(finished, ends.iter().filter(are).count());
});
