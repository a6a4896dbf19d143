//! Looks at connections, one behind the other.

use windlass_base::{Limit, LimitReason};
use windlass_sys::sock_diag::Id;

use windlass_sys::tcp_info::TcpInfo;

use super::*;

fn seconds(seconds: i64) -> Span {
    Span::from_millis(1_000) * seconds
}

/// Returns a connection that has sent and received this much.
fn socket(cookie: u64, sent: u64, received: u64) -> Socket {
    let info = TcpInfo {
        // The SYN counts as a byte.
        acknowledged: sent + 1,
        sent,
        received,
        has_clocks: true,
        mss: 1_460,
        congestion_window: 10,
        ..TcpInfo::default()
    };
    Socket {
        id: Id::default(),
        cookie,
        state: 1,
        local: "192.0.2.1:40000".parse().unwrap(),
        peer: "192.0.2.2:9100".parse().unwrap(),
        inode: Some(7),
        user: 1_000,
        unread: 0,
        queued: 0,
        info: Some(info),
        congestion: "cubic".parse().ok(),
        buffers: None,
    }
}

/// Returns the report on a closed connection: it has no owner any more.
fn last(cookie: u64, sent: u64, received: u64) -> Socket {
    Socket { state: 7, inode: None, congestion: None, user: 0, ..socket(cookie, sent, received) }
}

fn whole(at: i64, sockets: &[Socket]) -> Snapshot {
    Snapshot { at: seconds(at), is_whole: true, sockets: sockets.to_vec(), ..Snapshot::default() }
}

fn table() -> Table {
    Table::new(seconds(10))
}

/// Returns the cookies of a view, sorted.
fn cookies(view: &View) -> Vec<u64> {
    let mut cookies: Vec<u64> = view.connections.iter().map(|it| it.socket.0).collect();
    cookies.sort_unstable();
    cookies
}

#[test]
fn a_rate_is_what_moved_between_two_looks() {
    let mut table = table();
    let first = table.look(&whole(0, &[socket(1, 5_000_000, 0), socket(2, 0, 0)]), false);
    assert!(first.connections.is_empty(), "it has nothing to compare with: {first:?}");
    let view = table.look(&whole(2, &[socket(1, 5_200_000, 40), socket(2, 0, 0)]), false);
    assert_eq!(cookies(&view), [1], "the other moved nothing");
    let one = &view.connections[0];
    assert_eq!((one.sent_bytes, one.received_bytes), (Bytes::new(200_000), Bytes::new(40)));
    assert_eq!(one.sent_bytes_per_second, Rate::from_bytes_per_second(100_000.0));
    assert_eq!(one.total_acknowledged_bytes, Bytes::new(5_200_001), "as the kernel counts");
    assert!(!one.opened && !one.closed);
    assert_eq!((view.totals.open, view.totals.moved, view.totals.opened), (2, 1, 0));
    assert_eq!((view.from_seconds, view.to_seconds), (seconds(0), seconds(2)));
    let view = table.look(&whole(3, &[socket(1, 5_200_000, 40), socket(2, 0, 0)]), true);
    assert_eq!(cookies(&view), [1, 2], "all are asked for");
    assert!(view.connections.iter().all(|it| it.now.is_none()), "they rest");
}

#[test]
fn one_that_begins_has_all_that_it_moved() {
    let mut table = table();
    table.look(&whole(0, &[]), false);
    let view = table.look(&whole(1, &[socket(1, 3_000, 0), socket(2, 0, 0)]), false);
    assert_eq!((view.totals.opened, cookies(&view)), (2, vec![1]), "a handshake moves no data");
    assert!(view.connections[0].opened);
    assert_eq!(view.connections[0].sent_bytes, Bytes::new(3_000));
    let view = table.look(&whole(2, &[socket(1, 3_000, 0), socket(2, 0, 0)]), false);
    assert_eq!((view.totals.opened, cookies(&view)), (0, vec![]));
}

#[test]
fn one_that_ends_is_told_by_its_last_word() {
    let mut table = table();
    table.look(&whole(0, &[socket(1, 1_000, 0)]), false);
    let gone = vec![(Span::from_millis(500), last(1, 6_000, 10))];
    let view = table.look(&Snapshot { gone, ..whole(1, &[]) }, false);
    let one = &view.connections[0];
    assert!(one.closed && !one.opened && one.state == State::Closed);
    assert_eq!((one.sent_bytes, one.received_bytes), (Bytes::new(5_000), Bytes::new(10)));
    assert_eq!(one.seconds, Span::from_millis(500), "it had half a second");
    // Figures that the kernel no longer has were known before.
    assert_eq!((one.inode, one.user), (Some(7), 1_000));
    assert_eq!(one.congestion.unwrap().name(), "cubic");
    assert_eq!((view.totals.closed, view.totals.short, view.totals.open), (1, 0, 0));
    // A reported end is final.
    let view = table.look(&whole(2, &[]), true);
    assert_eq!((cookies(&view), view.totals.closed), (vec![], 0));
}

#[test]
fn those_between_two_looks_are_all_counted() {
    let mut table = table();
    // A connection that ended before the first look belongs to no reported time.
    let early = vec![(Span::ZERO, last(9, 1, 1))];
    table.look(&Snapshot { gone: early, ..whole(0, &[]) }, false);
    let gone = (1..=1_000).map(|cookie| (Span::from_millis(300), last(cookie, 100, 50))).collect();
    let view = table.look(&Snapshot { gone, unheard: 3, ..whole(1, &[]) }, false);
    assert_eq!((view.totals.short, view.totals.closed, view.totals.opened), (1_000, 1_000, 1_000));
    assert_eq!(
        (view.totals.sent_bytes, view.totals.received_bytes),
        (Bytes::new(100_000), Bytes::new(50_000))
    );
    assert_eq!((view.connections.len(), view.totals.unheard), (1_000, 3));
    assert!(view.connections.iter().all(|it| it.opened && it.closed));
}

#[test]
fn a_socket_that_never_was_a_connection_is_none() {
    let mut table = table();
    table.look(&whole(0, &[]), false);
    // A socket that listened.
    let listened = Socket { peer: "0.0.0.0:0".parse().unwrap(), ..last(1, 0, 0) };
    let view = table.look(&Snapshot { gone: vec![(seconds(1), listened)], ..whole(1, &[]) }, true);
    assert_eq!((cookies(&view), view.totals.closed), (vec![], 0));
}

#[test]
fn one_that_no_look_has_any_more_is_forgotten() {
    let mut table = table();
    table.look(&whole(0, &[socket(1, 0, 0), socket(2, 0, 0)]), false);
    // The report may come a moment after the connection leaves the table.
    assert_eq!(table.look(&whole(1, &[socket(2, 0, 0)]), true).totals.closed, 0);
    let view = table.look(&whole(2, &[socket(2, 0, 0)]), true);
    assert_eq!((view.totals.closed, cookies(&view)), (1, vec![2]));
    // An end whose report comes counts once.
    table.look(&whole(3, &[]), true);
    let gone = vec![(seconds(4), last(2, 0, 0))];
    assert_eq!(table.look(&Snapshot { gone, ..whole(4, &[]) }, true).totals.closed, 1);
    assert_eq!(table.look(&whole(5, &[]), true).totals.closed, 0);
}

#[test]
fn between_two_looks_at_all_those_that_move_are_looked_at() {
    let mut table = table();
    table.look(&whole(0, &[socket(1, 0, 0), socket(2, 0, 0), socket(3, 0, 0)]), false);
    let waits = Socket { queued: 10, ..socket(3, 0, 0) };
    table.look(&whole(1, &[socket(1, 700, 0), socket(2, 0, 0), waits]), false);
    let moving: Vec<u64> = table.moving(10).iter().map(|it| it.cookie).collect();
    assert_eq!(moving, [1, 3], "the one with most first, and the one with something to send");
    assert_eq!(table.moving(1).len(), 1);
    // A look at a part of them, a second later.
    let part = Snapshot { is_whole: false, ..whole(2, &[socket(1, 1_700, 0)]) };
    let view = table.look(&part, false);
    assert_eq!((cookies(&view), view.totals.open), (vec![1], 3));
    assert_eq!(view.connections[0].sent_bytes_per_second, Rate::from_bytes_per_second(1_000.0));
    assert_eq!(view.looked_at_all_seconds_ago, seconds(1));
    // The others have their rate over the whole time since their last look.
    let view = table.look(&whole(4, &[socket(1, 1_700, 0), socket(2, 6_000, 0), waits]), false);
    assert_eq!(cookies(&view), [2]);
    assert_eq!(view.connections[0].sent_bytes_per_second, Rate::from_bytes_per_second(2_000.0));
}

#[test]
fn all_are_told_between_two_looks_at_all() {
    let mut table = table();
    table.look(&whole(0, &[socket(1, 0, 0), socket(2, 0, 0)]), true);
    table.look(&whole(1, &[socket(1, 700, 0), socket(2, 900, 0)]), true);
    let part = Snapshot { is_whole: false, ..whole(2, &[socket(1, 1_700, 0)]) };
    let view = table.look(&part, true);
    assert_eq!(cookies(&view), [1, 2]);
    let other = view.connections.iter().find(|it| it.socket.0 == 2).unwrap();
    assert_eq!((other.sent_bytes, other.total_acknowledged_bytes), (Bytes::ZERO, Bytes::new(901)));
    assert_eq!(view.totals.moved, 1);
}

#[test]
fn a_connection_that_a_look_has_twice_counts_once() {
    let mut table = table();
    table.look(&whole(0, &[socket(1, 0, 0)]), false);
    let view = table.look(&whole(1, &[socket(1, 500, 0), socket(1, 600, 0)]), false);
    assert_eq!((cookies(&view), view.totals.sent_bytes), (vec![1], Bytes::new(500)));
}

#[test]
fn shares_are_of_the_window_and_the_direction_of_most_bytes() {
    let mut table = table();
    // The connection sends for a second, and is idle for three.
    table.look(&whole(0, &[socket(1, 0, 0)]), false);
    let mut busy = socket(1, 1_000_000, 10);
    let info = busy.info.as_mut().unwrap();
    (info.busy, info.receiver_limited) = (seconds(1).to_duration(), seconds(1).to_duration());
    for at in 1..=4 {
        let view = table.look(&whole(at, &[busy]), true);
        let one = &view.connections[0];
        assert_eq!(one.direction, Direction::Sending);
        let share = one.shares[&Limit::ReceiverWindow];
        assert!((share - 1.0 / at as f64).abs() < 1e-9, "{at}: {share}");
    }
    // Then it receives more than it sends.
    let receives =
        |received| Socket { info: busy.info.map(|info| TcpInfo { received, ..info }), ..busy };
    let view = table.look(&whole(5, &[receives(5_000_000)]), true);
    let one = &view.connections[0];
    assert_eq!((one.direction, one.now.unwrap().limit), (Direction::Receiving, Limit::Unknown));
    // Without traffic, data that waits for an acknowledgment sets the direction.
    let stuck = Socket { queued: 5_000, ..receives(5_000_000) };
    let view = table.look(&whole(6, &[stuck]), true);
    assert_eq!(view.connections[0].direction, Direction::Sending);
}

#[test]
fn one_that_was_reset_and_is_closed_late_ends_once() {
    let mut table = table();
    table.look(&whole(0, &[socket(1, 5_000_000, 0)]), false);
    table.look(&whole(1, &[socket(1, 6_000_000, 0)]), false);
    let closed: Vec<u64> =
        (2..4).map(|at| table.look(&whole(at, &[]), false).totals.closed).collect();
    assert_eq!(closed, [0, 1], "it is missed twice first");
    // The program closes its socket.
    let late = Snapshot { gone: vec![(seconds(8), last(1, 6_000_000, 0))], ..whole(9, &[]) };
    let view = table.look(&late, false);
    assert_eq!((view.totals.closed, view.totals.opened), (0, 0), "{view:?}");
    assert_eq!(view.totals.sent_bytes, Bytes::ZERO);
}

#[test]
fn processors_count_for_all_of_an_interval_or_not_at_all() {
    let mut table = table();
    let mut other = socket(2, 0, 0);
    (other.local, other.peer) = (other.peer, other.local);
    let busy = |seconds: u64| {
        let mut socket = socket(1, 50_000 * seconds, 0);
        let info = socket.info.as_mut().unwrap();
        info.busy = std::time::Duration::from_secs(seconds);
        socket
    };
    table.look(&whole(0, &[busy(0), other]), true);
    let thread = Thread { all: 0.95, share: 0.95, waiting: Some(0.0) };
    let processors = ProcessorFigures { host: None, threads: HashMap::from([(2, thread)]) };
    let with = |look: Snapshot| Snapshot { processors: processors.clone(), ..look };
    let of = |view: &View| {
        let one = view.connections.iter().find(|it| it.socket == Cookie(1)).unwrap();
        let now = one.now.unwrap();
        (now.limit, now.because)
    };
    // The thread of the other end, which is on this host, is always busy.
    let view = table.look(&with(whole(1, &[busy(1), other])), true);
    assert_eq!(of(&view), (Limit::Application, Some(LimitReason::Processor)));
    // The first was not looked at in between: the thread's figures cover a part of its time.
    table.look(&Snapshot { at: seconds(2), sockets: vec![other], ..Snapshot::default() }, true);
    let view = table.look(&with(whole(3, &[busy(3), other])), true);
    assert_eq!(of(&view), (Limit::Application, Some(LimitReason::SenderIdle)));
}
