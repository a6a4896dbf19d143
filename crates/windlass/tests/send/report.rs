//! The report of a test, as text and as JSON.

use std::io::Write;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use windlass::commands::watched::WatchedRecord;
use windlass_base::{Bytes, Quantiles, Rate, Span};
use windlass_drive::Protocol;
use windlass_drive::report::{
    Cpu, DirectionReport, Latency, LimitTimes, Outcome, SenderStream, SideReport, StreamReport,
};
use windlass_drive::transfer::{Buffers, Direction, End, Role, Transfer};
use windlass_host::CurrentRun;
use windlass_output::records::send::SendReport;
use windlass_output::{Format, Output};

use windlass_testkit::figures::{figures, leaves};
use windlass_testkit::schema::checked;

fn stream(number: u16, role: Role) -> StreamReport {
    let more = u64::from(number) * 1_000;
    let sender = SenderStream {
        min_rtt_seconds: Some(Span::from_micros(2_467)),
        mean_rtt_seconds: Some(Span::from_micros(2_859)),
        max_rtt_seconds: Some(Span::from_micros(3_021)),
        mean_congestion_window_bytes: Bytes::new(35_889 + more),
        max_congestion_window_bytes: Bytes::new(40_000),
        max_peer_window_bytes: Some(Bytes::new(15_928)),
        mean_peer_window_bytes: Some(Bytes::new(15_928)),
        min_peer_window_bytes: Some(Bytes::new(14_480)),
        mean_flight_bytes: Bytes::new(15_000),
        max_delivery_bytes_per_second: Rate::from_bytes_per_second(5.4e6),
        segments: 10_891,
        retransmissions: 3,
        retransmission_share: 3.0 / 10_891.0,
        needless_retransmissions: 1,
        marked_segments: Some(57),
        sent_bytes: Bytes::new(15_758_584),
        retransmitted_bytes: Bytes::new(4_344),
        times: LimitTimes {
            busy_seconds: Span::from_millis(2_990),
            receiver_limited_seconds: Span::from_millis(2_950),
            buffer_limited_seconds: Span::from_millis(7),
        },
        ..SenderStream::default()
    };
    StreamReport {
        stream: number,
        local: "192.0.2.1:40000".to_owned(),
        remote: "192.0.2.2:5201".to_owned(),
        bytes: Bytes::new(7_877_120),
        bytes_per_second: Rate::from_bytes_per_second(2_625_706.0),
        congestion: "cubic".to_owned(),
        mss_bytes: 1_448,
        granted_receive_buffer_bytes: Bytes::new(32_768),
        granted_send_buffer_bytes: Bytes::new(115_200 + more),
        sender: (role == Role::Sender).then_some(sender),
    }
}

fn side(end: End, role: Role) -> SideReport {
    let direction = DirectionReport {
        role,
        seconds: Span::from_millis(3_000),
        bytes: Bytes::new(15_754_240),
        bytes_per_second: Rate::from_bytes_per_second(5_251_413.0),
        total_bytes: Bytes::new(15_754_240),
        cpu: Cpu {
            user_seconds: Span::from_millis(12),
            system_seconds: Span::from_millis(168),
            share: 0.06,
            busiest_share: 0.04,
            waiting_share: None,
        },
        streams: vec![stream(0, role), stream(1, role)],
        retransmissions: None,
        datagrams: None,
        delivery: None,
        machine: None,
        program_share: None,
        error: None,
    };
    SideReport {
        end,
        directions: vec![direction],
        processors: Some(2),
        process_cpu_seconds: Span::from_millis(200),
    }
}

fn example(far: Option<SideReport>) -> SendReport {
    let latency = |micros| Quantiles {
        count: 120,
        min: Span::from_micros(2_500),
        mean: Span::from_micros(micros),
        p50: Span::from_micros(micros),
        p90: Some(Span::from_micros(3_500)),
        p99: Some(Span::from_micros(3_600)),
        p99_9: None,
        max: Span::from_micros(3_700),
    };
    let window = Buffers { window: Some(Bytes::new(16_384)), send: None };
    let transfer = Transfer { streams: 2, client: window, server: window, ..Transfer::default() };
    let outcome = Outcome {
        near: side(End::Client, Role::Sender),
        far,
        latency: Latency {
            idle_seconds: Some(latency(2_562)),
            loaded_seconds: Some(latency(2_690)),
            loaded_p10_seconds: Some(Span::from_micros(2_580)),
        },
        failure: None,
        stopped: false,
    };
    report(Protocol::Windlass, &transfer, &outcome)
}

fn report(protocol: Protocol, transfer: &Transfer, outcome: &Outcome) -> SendReport {
    let address = "192.0.2.2:5201".parse().unwrap();
    SendReport::new("192.0.2.2", address, protocol, transfer, outcome, Vec::new())
}

#[derive(Clone, Default)]
struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

impl Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn printed(report: &SendReport, format: Format) -> String {
    let report = &WatchedRecord::new(report, CurrentRun::begin(None));
    let sink = SharedBuffer::default();
    Output::new(Box::new(sink.clone()), format, 80, false).print(report).unwrap();
    let bytes = sink.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn every_figure_of_the_text_is_in_the_json() {
    let report = example(Some(side(End::Server, Role::Receiver)));
    let text = printed(&report, Format::Text);
    insta::with_settings!({ snapshot_path => "../snapshots" }, {
        insta::assert_snapshot!("send_report", text);
    });
    let json: Value = checked("send", &printed(&report, Format::Json));
    let (mut numbers, mut strings) = (Vec::new(), String::new());
    leaves(&json, &mut numbers, &mut strings);
    let sentences = strings.split_whitespace().collect::<Vec<_>>().join(" ");
    // `99 of 100` names a figure, and `1` of `of one` is a word.
    let found = figures(&text.replace("99 of 100", ""));
    assert!(found.len() > 40, "{}", found.len());
    for figure in found {
        let (value, half) =
            (figure.value * figure.scale, figure.half * figure.scale * 1.001 + 1e-12);
        let known = numbers.iter().any(|number| (number - value).abs() <= half);
        assert!(known || sentences.contains(figure.written.trim_end()), "{figure:?}\n{text}");
    }
}

#[test]
fn a_server_that_could_not_say_is_not_made_up() {
    let report = example(None);
    insta::with_settings!({ snapshot_path => "../snapshots" }, {
        insta::assert_snapshot!("send_report_of_one_end", printed(&report, Format::Text));
    });
    let json = checked("send", &printed(&report, Format::Json));
    assert_eq!(json["directions"][0]["receiver"], Value::Null);
}

#[test]
fn an_iperf3_server_tells_what_it_knows_and_no_more() {
    let mut server = side(End::Server, Role::Sender);
    server.processors = None;
    server.directions[0].streams.clear();
    server.directions[0].retransmissions = Some(12);
    let transfer = Transfer { direction: Direction::Reverse, streams: 2, ..Transfer::default() };
    let outcome = Outcome {
        near: side(End::Client, Role::Receiver),
        far: Some(server),
        latency: Latency::default(),
        failure: None,
        stopped: false,
    };
    let report = report(Protocol::Iperf3, &transfer, &outcome);
    insta::with_settings!({ snapshot_path => "../snapshots" }, {
        insta::assert_snapshot!("send_report_iperf3_reverse", printed(&report, Format::Text));
    });
    let json = checked("send", &printed(&report, Format::Json));
    assert_eq!(json["protocol"], "iperf3");
    let way = &json["directions"][0];
    assert_eq!((&way["verdict"], &way["kernel"]), (&Value::Null, &Value::Null));
    assert_eq!(way["sender"]["retransmissions"], 12);
    assert_eq!(json["processors"]["server"], Value::Null);
}

#[test]
fn ttcp_says_nothing_and_counts_in_1024s() {
    let transfer = Transfer::default();
    let outcome = Outcome {
        near: side(End::Client, Role::Sender),
        far: None,
        latency: Latency::default(),
        failure: None,
        stopped: false,
    };
    let report = report(Protocol::Ttcp, &transfer, &outcome);
    let text = printed(&report, Format::Text);
    assert!(text.contains("not known: ttcp does not report it"), "{text}");
    // 5,251,413 bytes per second.
    assert!(text.contains("5,128.33 KB/s of 1,024 B"), "{text}");
    let json = checked("send", &printed(&report, Format::Json));
    assert_eq!(json["directions"][0]["ttcp"]["kilobyte_bytes"], 1_024);
    assert_eq!(json["directions"][0]["receiver"], Value::Null);
}
