use super::*;

fn source(port: u16) -> StatusSource {
    format!("snmp:secret@{port}").parse().unwrap()
}

fn poll(agent: &UdpSocket, now: Instant) -> StatusPoll {
    let peer: SocketAddr = ([127, 0, 0, 1], 9_100).into();
    StatusPoll::new(Some(&source(agent.local_addr().unwrap().port())), Some(peer), now).unwrap()
}

/// Returns how many datagrams came.
fn came(agent: &UdpSocket) -> usize {
    agent.set_nonblocking(true).unwrap();
    std::iter::from_fn(|| agent.recv(&mut [0; 2_000]).ok()).count()
}

fn silent() -> UdpSocket {
    UdpSocket::bind("127.0.0.1:0").unwrap()
}

#[test]
fn nothing_is_asked_without_a_source_or_a_peer() {
    let now = Instant::now();
    let peer = Some(([127, 0, 0, 1], 9_100).into());
    assert!(StatusPoll::new(None, peer, now).is_none());
    assert!(StatusPoll::new(Some(&StatusSource::Pjl), peer, now).is_none());
    assert!(StatusPoll::new(Some(&source(161)), None, now).is_none());
}

#[test]
fn a_silent_agent_is_asked_less_and_less_and_never_waited_for() {
    let (agent, start) = (silent(), Instant::now());
    let mut poll = poll(&agent, start);
    let mut asked = Vec::new();
    // A look each 100 ms for five minutes, by a clock whose hand the test moves.
    for tenths in 0..3_000 {
        let now = start + Duration::from_millis(100 * tenths);
        assert_eq!(poll.reasons_changed(now), None);
        if came(&agent) > 0 {
            asked.push(tenths / 10);
        }
    }
    assert_eq!(asked, [2, 7, 16, 33, 66, 127, 188, 249]);
}

#[test]
fn what_an_agent_said_is_forgotten_when_it_falls_silent() {
    let (agent, start) = (silent(), Instant::now());
    let mut poll = poll(&agent, start);
    poll.reasons = vec!["media-empty"];
    let looks = (0..600).map(|tenths| start + Duration::from_millis(100 * tenths));
    let told: Vec<_> = looks.filter_map(|now| poll.reasons_changed(now)).collect();
    assert_eq!(told, [Vec::<String>::new()]);
}

#[test]
fn a_host_without_an_agent_ends_a_reading() {
    let (agent, start) = (silent(), Instant::now());
    let mut poll = poll(&agent, start);
    drop(agent);
    for seconds in 0..30 {
        assert_eq!(poll.reasons_changed(start + Duration::from_secs(seconds)), None);
    }
    assert!(poll.unanswered > 1, "{poll:?}");
}

#[test]
fn a_flood_of_other_datagrams_ends_with_the_reading() {
    let (agent, start) = (silent(), Instant::now());
    let mut poll = poll(&agent, start);
    let asks = start + INTERVAL;
    assert_eq!(poll.reasons_changed(asks), None);
    let (_, from) = agent.recv_from(&mut [0; 2_000]).unwrap();
    for _ in 0..3 * MAX_DATAGRAMS {
        agent.send_to(&[0x30; 1_000], from).unwrap();
    }
    assert_eq!(poll.reasons_changed(asks + ANSWER / 2), None);
    assert!(poll.reading.is_some());
    assert_eq!(poll.reasons_changed(asks + ANSWER), None);
    assert!(poll.reading.is_none());
}
