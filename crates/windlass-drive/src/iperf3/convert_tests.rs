//! Transfers and reports in iperf3's words.

use proptest::prelude::*;
use windlass_base::{Bytes, Rate, Span};
use windlass_wire::iperf3::{Code, NO_RETRANSMITS, Parameters, Results, StreamResults};
use windlass_wire::numbered::DatagramFormat;

use super::convert::{asked, flows_sent, heard, judged, told};
use crate::report::{
    Cpu, Datagrams, DirectionReport, FlowReport, SenderStream, SideReport, StreamReport,
};
use crate::transfer::{Buffers, Direction, End, EndCondition, Role, Transfer};

fn parameters() -> Parameters {
    Parameters { tcp: true, time: 10, parallel: 1, len: 131_072, ..Parameters::default() }
}

#[test]
fn what_is_asked_for_comes_back_as_it_was() {
    let size = Some(Bytes::new(65_536));
    let transfers = [
        Transfer::default(),
        Transfer { direction: Direction::Reverse, streams: 4, ..Transfer::default() },
        Transfer {
            until: EndCondition::Bytes(Bytes::new(12_345)),
            length: 100,
            ..Transfer::default()
        },
        Transfer { until: EndCondition::SourceEnds, nodelay: true, ..Transfer::default() },
        Transfer {
            direction: Direction::Both,
            omit: Span::from_millis(2_000),
            mss: Some(1_000),
            congestion: Some("reno".to_owned()),
            pace: Some(Rate::from_bits_per_second(80e6)),
            streams: 2,
            client: Buffers { window: size, send: size },
            server: Buffers { window: size, send: size },
            ..Transfer::default()
        },
    ];
    for transfer in transfers {
        let parameters = asked(&transfer).unwrap();
        let served = judged(&parameters).unwrap();
        assert_eq!(served.transfer, transfer);
        // The streams here end when the client says so, or after all bytes that it requests.
        let until = match transfer.until {
            EndCondition::Bytes(_) => transfer.until,
            _ => EndCondition::SourceEnds,
        };
        assert_eq!(served.run, Transfer { until, ..transfer });
    }
    let paced =
        Transfer { pace: Some(Rate::from_bits_per_second(8e6)), streams: 4, ..Transfer::default() };
    assert_eq!(asked(&paced).unwrap().fqrate, 2_000_000, "a stream's part");
}

#[test]
fn what_is_not_served_is_refused_in_iperf3s_numbers() {
    let refused = |change: fn(&mut Parameters)| {
        let mut parameters = parameters();
        change(&mut parameters);
        judged(&parameters).unwrap_err().0
    };
    assert_eq!(refused(|asked| (asked.udp, asked.len) = (true, 65_508)), Code::DATAGRAM_SIZE);
    assert_eq!(refused(|asked| (asked.udp, asked.len) = (true, 11)), Code::DATAGRAM_SIZE);
    let short = |asked: &mut Parameters| {
        (asked.udp, asked.udp_counters_64bit, asked.len) = (true, true, 15);
    };
    assert_eq!(refused(short), Code::DATAGRAM_SIZE);
    assert_eq!(refused(|asked| (asked.udp, asked.parallel) = (true, 129)), Code::STREAMS);
    assert_eq!(refused(|asked| asked.sctp = true), Code::PROTOCOL);
    assert_eq!(refused(|asked| asked.parallel = 0), Code::STREAMS);
    assert_eq!(refused(|asked| asked.parallel = -1), Code::STREAMS);
    assert_eq!(refused(|asked| asked.parallel = 65_537), Code::STREAMS);
    assert_eq!(refused(|asked| asked.len = -5), Code::BLOCK_SIZE);
    assert_eq!(refused(|asked| asked.len = i64::MAX), Code::BLOCK_SIZE);
    assert_eq!(
        refused(|asked| (asked.reverse, asked.bidirectional) = (true, true)),
        Code::NOT_BUILT
    );
    assert_eq!(refused(|asked| asked.omit = -1), Code::NOT_BUILT);
    assert_eq!(refused(|asked| asked.time = i64::MAX), Code::NOT_BUILT);
    assert_eq!(refused(|asked| asked.window = i64::MAX), Code::NOT_BUILT);
    assert_eq!(refused(|asked| asked.congestion = Some("../x".to_owned())), Code::NOT_BUILT);
}

#[test]
fn a_client_may_leave_much_out() {
    let served = judged(&Parameters { parallel: 1, ..Parameters::default() }).unwrap();
    assert_eq!(
        (served.transfer.length, served.transfer.until),
        (131_072, EndCondition::SourceEnds)
    );
    let blocks = Parameters { time: 0, blockcount: 7, len: 1_000, ..parameters() };
    let served = judged(&blocks).unwrap();
    assert_eq!(served.transfer.until, EndCondition::Bytes(Bytes::new(7_000)));
    assert_eq!(served.run.until, EndCondition::SourceEnds, "the client counts its reads");
    let again = Parameters { time: 0, num: 5, omit: 1, ..parameters() };
    assert_eq!(judged(&again).unwrap().run.until, EndCondition::SourceEnds);
    let rates = Parameters { bandwidth: 16, fqrate: 8_000, ..parameters() };
    let pace = judged(&rates).unwrap().transfer.pace.unwrap();
    assert!((pace.bits_per_second() - 16.0).abs() < 1e-9);
}

fn report(role: Role) -> SideReport {
    let stream = |number: u16| StreamReport {
        stream: number,
        bytes: Bytes::new(100 + u64::from(number)),
        congestion: "cubic".to_owned(),
        sender: (role == Role::Sender)
            .then(|| SenderStream { retransmissions: 3, ..SenderStream::default() }),
        ..StreamReport::default()
    };
    let direction = DirectionReport {
        role,
        seconds: Span::from_millis(2_000),
        bytes: Bytes::new(201),
        bytes_per_second: Rate::from_bytes_per_second(100.5),
        total_bytes: Bytes::new(201),
        cpu: Cpu {
            user_seconds: Span::from_millis(100),
            system_seconds: Span::from_millis(300),
            share: 0.2,
            busiest_share: 0.1,
            waiting_share: None,
        },
        streams: vec![stream(0), stream(1)],
        retransmissions: None,
        datagrams: None,
        delivery: None,
        machine: None,
        program_share: None,
        error: None,
    };
    let directions = vec![direction];
    SideReport {
        end: End::Client,
        directions,
        processors: Some(2),
        process_cpu_seconds: Span::ZERO,
    }
}

#[test]
fn what_was_measured_is_told_and_heard() {
    let transfer = Transfer { streams: 2, ..Transfer::default() };
    let own = report(Role::Sender);
    let written = |number, _| (number == 1).then_some(Bytes::new(150));
    let results = told(&own, |_| Span::from_millis(1_500), written);
    assert_eq!(
        (results.sender_has_retransmits, results.congestion_used.as_deref()),
        (1, Some("cubic"))
    );
    assert!((results.cpu_util_total - 20.0).abs() < 1e-9, "{results:?}");
    assert!((results.cpu_util_user - 5.0).abs() < 1e-9, "{results:?}");
    let streams: Vec<_> =
        results.streams.iter().map(|one| (one.id, one.bytes, one.retransmits)).collect();
    assert_eq!(streams, [(1, 100, 3), (3, 150, 3)]);
    let far = heard(&results, End::Client, &transfer).unwrap();
    let direction = &far.directions[0];
    assert_eq!((direction.role, direction.bytes), (Role::Sender, Bytes::new(250)));
    assert_eq!(direction.seconds, Span::from_millis(1_500));
    assert_eq!(direction.retransmissions, Some(6));
    assert_eq!((direction.streams.len(), far.processors), (0, None), "nothing is made up");
    // A receiver knows no retransmissions.
    let results = told(&report(Role::Receiver), |one| one.seconds, |_, _| None);
    assert_eq!(results.sender_has_retransmits, -1);
    assert!(results.streams.iter().all(|one| one.retransmits == NO_RETRANSMITS));
    let far = heard(&results, End::Server, &transfer).unwrap();
    assert_eq!(far.directions[0].retransmissions, None);
}

#[test]
fn results_of_a_stream_that_there_is_not_are_refused() {
    for id in [0, 2, 4, -1, i64::MAX] {
        let streams = vec![StreamResults { id, ..StreamResults::default() }];
        let results = Results { streams, ..Results::default() };
        let transfer = Transfer { streams: 2, ..Transfer::default() };
        let error = heard(&results, End::Server, &transfer).unwrap_err();
        assert!(error.to_string().contains(&format!("stream {id}")), "{error}");
    }
}

proptest! {
    #[test]
    fn any_parameters_are_served_or_refused(
        numbers: [i64; 10],
        flags: [bool; 5],
        small in 0..9_i64,
    ) {
        let [omit, time, num, blockcount, mss, parallel, window, len, bandwidth, fqrate] = numbers;
        let [udp, nodelay, reverse, bidirectional, is_small] = flags;
        let or_small = |number| if is_small { small } else { number };
        let parameters = Parameters {
            udp, nodelay, reverse, bidirectional, num, blockcount, mss, window, bandwidth, fqrate,
            omit: or_small(omit),
            time: or_small(time),
            parallel: or_small(parallel),
            len: or_small(len),
            ..Parameters::default()
        };
        if let Ok(served) = judged(&parameters) {
            served.transfer.check().unwrap();
            served.run.check().unwrap();
        }
    }

    #[test]
    fn any_results_are_heard_or_refused(
        id in prop_oneof![0..6_i64, any::<i64>()],
        numbers: [i64; 3],
        start: f64,
        end: f64,
        cpu: [f64; 3],
    ) {
        let [bytes, retransmits, has] = numbers;
        let [cpu_util_total, cpu_util_user, cpu_util_system] = cpu;
        let stream = StreamResults {
            id, bytes, retransmits, start_time: start, end_time: end, ..StreamResults::default()
        };
        let results = Results {
            cpu_util_total, cpu_util_user, cpu_util_system,
            sender_has_retransmits: has,
            streams: vec![stream.clone(), stream],
            ..Results::default()
        };
        let transfer = Transfer { direction: Direction::Both, streams: 2, ..Transfer::default() };
        if let Ok(far) = heard(&results, End::Server, &transfer) {
            prop_assert!(far.directions.iter().all(|one| one.seconds >= Span::ZERO));
            prop_assert!(far.directions.iter().all(|one| one.cpu.share.is_finite()));
        }
    }
}

/// A flow as one end saw it.
fn flow(stream: u16, datagrams: Datagrams) -> FlowReport {
    FlowReport {
        stream,
        bytes: Bytes::new(1_000 * datagrams.count),
        datagrams,
        ..FlowReport::default()
    }
}

#[test]
fn datagrams_are_asked_for_and_told_in_iperf3s_words() {
    let transfer = Transfer {
        udp: true,
        length: 1_000,
        streams: 2,
        pace: Some(Rate::from_bits_per_second(8e6)),
        ..Transfer::default()
    };
    let parameters = asked(&transfer).unwrap();
    assert_eq!(
        (parameters.tcp, parameters.udp, parameters.udp_counters_64bit),
        (false, true, true)
    );
    assert_eq!((parameters.bandwidth, parameters.fqrate), (4_000_000, 0));
    let served = judged(&parameters).unwrap();
    assert_eq!(
        (served.transfer, served.format),
        (transfer.clone(), DatagramFormat::Iperf3 { wide: true })
    );
    // A stock client's buffers, and options that UDP does not have.
    let more = Parameters {
        udp_counters_64bit: false,
        window: 65_536,
        mss: 1_000,
        nodelay: true,
        congestion: Some("reno".to_owned()),
        num: 5_000,
        ..parameters
    };
    let served = judged(&more).unwrap();
    let size = Some(Bytes::new(65_536));
    let buffers = Buffers { window: size, send: size };
    assert_eq!(served.transfer.server, buffers);
    assert_eq!((served.transfer.mss, &served.transfer.congestion), (None, &None));
    assert_eq!(served.format, DatagramFormat::Iperf3 { wide: false });
    // Some of so many bytes may be lost: it goes on until the client has them.
    assert_eq!(served.run.until, EndCondition::SourceEnds);

    let first = Datagrams {
        count: 90,
        sent: Some(100),
        lost: Some(10),
        out_of_order: Some(3),
        jitter_seconds: Some(Span::from_micros(250)),
        ..Datagrams::default()
    };
    let second = Datagrams { count: 7, sent: Some(7), lost: Some(0), ..Datagrams::default() };
    let mut datagrams =
        Datagrams { flows: vec![flow(0, first), flow(1, second)], ..Datagrams::default() };
    // The client says that more went behind the last that came.
    datagrams.learn(|stream| Some(if stream == 0 { 102 } else { 7 }));
    let receiver = DirectionReport {
        datagrams: Some(datagrams),
        ..crate::datagrams::direction(
            Role::Receiver,
            Bytes::new(97_000),
            Span::from_millis(1_000),
            97,
        )
    };
    let report = SideReport {
        end: End::Server,
        directions: vec![receiver],
        processors: None,
        process_cpu_seconds: Span::ZERO,
    };
    let results = told(&report, |one| one.seconds, |_, _| None);
    assert_eq!(results.sender_has_retransmits, 0);
    let told: Vec<_> =
        results.streams.iter().map(|one| (one.id, one.bytes, one.packets, one.errors)).collect();
    assert_eq!(told, [(1, 90_000, 102, 12), (3, 7_000, 7, 0)]);
    assert!((results.streams[0].jitter - 250e-6).abs() < 1e-12);
    // And back: what the other end says of its flows is what they were.
    let heard = heard(&results, End::Server, &transfer).unwrap();
    let all = heard.directions[0].datagrams.as_ref().unwrap();
    assert_eq!((all.count, all.sent, all.lost), (97, Some(109), Some(12)));
    assert_eq!((all.overflowed, all.out_of_order), (None, None), "it does not tell");
    assert_eq!(flows_sent(&results, End::Server, &transfer), [], "it received them");
    assert_eq!(flows_sent(&results, End::Client, &transfer), [(0, 102), (1, 7)]);
}

#[test]
fn datagrams_that_are_told_wrong_are_bounded() {
    let stream = StreamResults {
        id: 1,
        bytes: -4,
        packets: 5,
        errors: i64::MAX,
        jitter: f64::NAN,
        ..StreamResults::default()
    };
    let results = Results { streams: vec![stream], ..Results::default() };
    let transfer = Transfer { udp: true, length: 1_000, ..Transfer::default() };
    let heard = heard(&results, End::Server, &transfer).unwrap();
    let all = heard.directions[0].datagrams.as_ref().unwrap();
    assert_eq!((all.count, all.sent, all.lost), (0, Some(5), Some(5)));
    assert_eq!(all.jitter_seconds, None);
}

/// A receiver's packets and errors are of the whole test for iperf3, which takes away what was
/// left out.
#[test]
fn datagrams_that_do_not_count_are_told_and_taken_away() {
    let omit = Span::from_millis(1_000);
    let transfer = Transfer { udp: true, length: 1_000, omit, ..Transfer::default() };
    assert_eq!(judged(&asked(&transfer).unwrap()).unwrap().transfer.omit, transfer.omit);
    let datagrams =
        Datagrams { count: 90, sent: Some(100), lost: Some(10), ..Datagrams::default() };
    let flow =
        FlowReport { omitted: Some(50), omitted_lost: Some(5), ..flow(0, datagrams.clone()) };
    let mut side = report(Role::Receiver);
    side.directions.truncate(1);
    side.directions[0].streams.clear();
    side.directions[0].datagrams = Some(Datagrams { flows: vec![flow.clone()], ..datagrams });
    let results = told(&side, |direction| direction.seconds, |_, _| None);
    let [said] = &results.streams[..] else { panic!("{results:?}") };
    assert_eq!((said.packets, said.errors), (150, 15));
    assert_eq!((said.omitted_packets, said.omitted_errors), (Some(50), Some(5)));
    let far = heard(&results, End::Server, &transfer).unwrap();
    let flow_heard = &far.directions[0].datagrams.as_ref().unwrap().flows[0];
    assert_eq!((flow_heard.omitted, flow_heard.omitted_lost), (Some(50), Some(5)));
    assert_eq!((flow_heard.datagrams.sent, flow_heard.datagrams.lost), (Some(100), Some(10)));
    // Before 3.13 it does not say which of its errors count.
    let mut older = results;
    (older.streams[0].omitted_packets, older.streams[0].omitted_errors) = (None, None);
    let of = |results: &Results| -> FlowReport {
        let far = heard(results, End::Server, &transfer).unwrap();
        far.directions[0].datagrams.as_ref().unwrap().flows[0].clone()
    };
    let unknown = of(&older);
    assert_eq!((unknown.omitted, unknown.datagrams.count), (None, 90));
    assert_eq!((unknown.datagrams.sent, unknown.datagrams.lost), (None, None));
    (older.streams[0].packets, older.streams[0].errors) = (140, 0);
    let known = of(&older);
    assert_eq!((known.omitted, known.datagrams.count), (Some(50), 90));
    assert_eq!((known.datagrams.sent, known.datagrams.lost), (Some(90), Some(0)));
    // The sender says that 160 went, with those that it leaves out: ten more were lost.
    let mut known = Datagrams { flows: vec![flow], ..Datagrams::default() };
    known.learn(|_| Some(160));
    assert_eq!((known.sent, known.lost), (Some(110), Some(20)));
}
