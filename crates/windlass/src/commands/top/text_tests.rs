//! Tables of made intervals.

use std::collections::BTreeMap;

use windlass_base::{Bytes, LimitReason, Rate, Sentence, Span};
use windlass_host::RunTimes;
use windlass_host::connections::row::Cookie;
use windlass_host::connections::{
    HostProcessors, HostProgram, PossibleLimits, Process, State, Totals, View,
};

use super::*;

fn rate(bytes: f64) -> Rate {
    Rate::from_bytes_per_second(bytes)
}

fn reading(limit: Limit) -> MainLimit {
    MainLimit {
        limit,
        because: None,
        share: 0.9,
        between: PossibleLimits::default(),
        would_tell: None,
    }
}

/// Returns an upload that a printer's window limits.
fn upload() -> Connection {
    Connection {
        socket: Cookie(0x1001),
        state: State::Established,
        owner: Owner::known(Process { pid: 4_711, name: "socket".to_owned() }),
        user: 7,
        local: "192.0.2.1:40001".parse().unwrap(),
        peer: "192.0.2.9:9100".parse().unwrap(),
        seconds: Span::from_millis(1_000),
        sent_bytes: Bytes::new(24_801),
        sent_bytes_per_second: rate(24_801.0),
        retransmissions: 2,
        total_retransmissions: 14,
        rtt_seconds: Some(Span::from_micros(117_695)),
        min_rtt_seconds: Some(Span::from_micros(1_080)),
        congestion_window_segments: 10,
        congestion_window_bytes: Bytes::new(14_600),
        peer_window_bytes: Some(Bytes::new(2_920)),
        unsent_bytes: Bytes::new(131_072),
        delivery_bytes_per_second: rate(25_000.0),
        congestion: "cubic".parse().ok(),
        now: Some(MainLimit {
            because: Some(LimitReason::PathRtt),
            ..reading(Limit::ReceiverWindow)
        }),
        shares: BTreeMap::from([(Limit::ReceiverWindow, 0.72), (Limit::Application, 0.28)]),
        ..Connection::default()
    }
}

/// Returns connections that cover the cases of a table.
fn connections() -> Vec<Connection> {
    let up = upload();
    let download = Connection {
        owner: Owner::unknown(NoProcess::NotPermitted),
        peer: "[2001:db8::7]:443".parse().unwrap(),
        sent_bytes_per_second: rate(900.0),
        received_bytes_per_second: rate(12.5e6),
        retransmissions: 0,
        unsent_bytes: Bytes::ZERO,
        direction: Direction::Receiving,
        now: Some(MainLimit {
            would_tell: Some(BetterSource::OtherEnd),
            ..reading(Limit::Unknown)
        }),
        shares: BTreeMap::from([(Limit::Unknown, 1.0)]),
        ..up.clone()
    };
    let between = PossibleLimits::limits([Limit::CongestionWindow, Limit::PathCapacity]);
    let bulk = Connection {
        owner: Owner::known(Process { pid: 12, name: "iperf3".to_owned() }),
        retransmissions: 0,
        peer_window_bytes: None,
        now: Some(MainLimit {
            between,
            would_tell: Some(BetterSource::Packets),
            ..reading(Limit::Unknown)
        }),
        shares: BTreeMap::from([
            (Limit::Unknown, 0.5),
            (Limit::Loss, 0.3),
            (Limit::SendBuffer, 0.2),
        ]),
        ..up.clone()
    };
    let short = Connection {
        state: State::Closed,
        owner: Owner::unknown(NoProcess::Nobody),
        opened: true,
        closed: true,
        retransmissions: 0,
        unsent_bytes: Bytes::ZERO,
        now: None,
        shares: BTreeMap::new(),
        ..up.clone()
    };
    let idle = Connection {
        sent_bytes_per_second: Rate::ZERO,
        rtt_seconds: None,
        retransmissions: 0,
        now: None,
        shares: BTreeMap::from([(Limit::Application, 1.0)]),
        ..up.clone()
    };
    vec![download, up, bulk, short, idle]
}

pub(in super::super) fn report(details: bool) -> TopReport {
    let totals = Totals {
        open: 1_204,
        moved: 4,
        opened: 3,
        closed: 2,
        short: 1,
        sent_bytes: Bytes::new(75_303),
        received_bytes: Bytes::new(12_500_000),
        unheard: 7,
    };
    let view = View {
        from_seconds: Span::from_millis(1_000),
        to_seconds: Span::from_millis(2_000),
        looked_at_all_seconds_ago: Span::ZERO,
        processors: None,
        totals,
        connections: connections(),
        left_out: 3,
    };
    TopReport {
        schema: TopReport::SCHEMA,
        times: RunTimes::default(),
        interval_seconds: Span::from_millis(1_000),
        window_seconds: Span::from_millis(10_000),
        sort: Order::Rate,
        view,
        notes: vec![Sentence::from("7 closed sockets are missing.")],
        details,
        bits: false,
        by_process: false,
    }
}

#[test]
fn rates_stand_in_bits_where_they_are_asked_for() {
    let said = [0.0, 7.0, 999.6, 1_000.0, 99_900.0, 123_456.0, 2.5e9].map(bits);
    assert_eq!(said, ["0", "7", "1.0K", "1.0K", "99.9K", "123K", "2.5G"]);
    let in_bits = TopReport { bits: true, ..report(false) };
    let page: Vec<String> = lines(&in_bits, 80).iter().map(Text::plain).collect();
    let bytes: Vec<String> = lines(&report(false), 80).iter().map(Text::plain).collect();
    assert_ne!(page, bytes);
    assert_eq!(page.len(), bytes.len());
}

#[test]
fn full_processors_are_told_with_their_programs() {
    let other = HostProgram { pid: 811, name: "make".to_owned(), cpu_share: 0.8 };
    let of = |busy_share| {
        let processors = HostProcessors { processors: 2, busy_share, others: vec![other.clone()] };
        let view = View { processors: Some(processors), ..View::default() };
        super::super::notes(&view, None).iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let said = "The 2 processors of this host were busy 97 % of the time: make (811) 80 % of one.";
    assert_eq!(of(0.97), [said]);
    assert!(of(0.8).is_empty());
}

fn page(report: &TopReport, width: usize) -> String {
    let lines = lines(report, width);
    let lines = lines.iter().map(|line| line.plain().trim_end().to_owned() + "\n");
    format!("\n{}", lines.collect::<String>())
}

#[test]
fn a_table_has_what_matters_on_eighty_columns() {
    insta::assert_snapshot!(page(&report(false), 80));
}

#[test]
fn a_wide_one_has_the_windows_and_details_the_rest() {
    insta::assert_snapshot!(page(&report(true), 120));
}

#[test]
fn details_make_up_for_a_narrow_page() {
    let mut report = report(true);
    report.sort = Order::Retransmissions;
    report.view.connections.truncate(2);
    insta::assert_snapshot!(page(&report, 80));
}

#[test]
fn a_host_without_connections_says_so() {
    let mut report = report(false);
    report.view = View { to_seconds: Span::from_millis(1_000), ..View::default() };
    report.notes.clear();
    let page = page(&report, 80);
    assert_eq!(page, "\n0 connections open, 0 active: 0 B/s = 0 bit/s out, 0 B/s = 0 bit/s in\n");
}

#[test]
fn the_bar_has_a_letter_for_each_tenth() {
    let of = |shares: &[(Limit, f64)]| {
        let shares = shares.iter().copied().collect();
        bar(&Connection { shares, ..Connection::default() }).plain()
    };
    assert_eq!(of(&[]), "");
    assert_eq!(of(&[(Limit::Loss, 1.0)]), "LLLLLLLLLL");
    // A share below half a tenth has no letter; the other shares still fill the bar.
    assert_eq!(of(&[(Limit::Loss, 0.97), (Limit::Application, 0.03)]), "LLLLLLLLLL");
    let thirds = [(Limit::Loss, 0.34), (Limit::Application, 0.33), (Limit::Unknown, 0.33)];
    assert_eq!(of(&thirds), "LLLaaaa???");
}
