//! Two looks at a connection, a second apart, and its limit between them.

use std::time::Duration;

use proptest::prelude::*;
use windlass_base::live::{Machine, Thread};
use windlass_sys::sock_diag::{Buffers, Id};

use super::*;

const SECOND: Span = Span::from_millis(1_000);
const MSS: u32 = 1_460;

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A connection over a path of 20 ms that has sent nothing yet.
fn fresh() -> Socket {
    let info = TcpInfo {
        is_established: true,
        rtt: Some(millis(20)),
        least_rtt: Some(millis(20)),
        mss: MSS,
        own_mss: MSS,
        congestion_window: 10,
        slow_start_threshold: Some(20),
        peer_window: Some(1_000_000),
        own_window: Some(65_536),
        has_clocks: true,
        ..TcpInfo::default()
    };
    Socket {
        id: Id::default(),
        cookie: 1,
        state: 1,
        local: "192.0.2.1:40000".parse().unwrap(),
        peer: "192.0.2.2:9100".parse().unwrap(),
        inode: Some(7),
        user: 0,
        unread: 0,
        queued: 0,
        info: Some(info),
        congestion: "cubic".parse().ok(),
        buffers: Some(Buffers { send: Bytes::new(1 << 20), ..Buffers::default() }),
    }
}

/// Returns these facts with other figures.
fn with(socket: &Socket, change: impl FnOnce(&mut TcpInfo)) -> Socket {
    let mut info = socket.info.unwrap();
    change(&mut info);
    Socket { info: Some(info), ..*socket }
}

/// Returns a connection that was busy all the time, on a path that carries a congestion window: ten
/// segments a round trip.
fn bulk() -> Socket {
    with(&fresh(), |info| {
        info.busy = millis(1_000);
        info.acknowledged = 50 * 10 * u64::from(MSS);
        info.segments_sent = 500;
        info.unacknowledged = 10;
        info.unsent = 100_000;
        info.delivery_rate = 50 * 10 * u64::from(MSS);
    })
}

fn sent(before: &Socket, now: &Socket) -> ChargedTime {
    sending(Some(before), now, SECOND, &Ends::default())
}

/// Returns the limit, with its reason and its alternatives.
fn read(held: &ChargedTime) -> (String, Vec<Limit>) {
    let most = held.most.unwrap();
    let because = most.because.map(|because| format!("/{}", because.id())).unwrap_or_default();
    (format!("{}{because}", most.limit.id()), most.between.all().collect())
}

fn of(now: &Socket) -> String {
    read(&sent(&fresh(), now)).0
}

#[test]
fn the_kernels_clocks_are_what_they_say() {
    let now = with(&fresh(), |info| {
        info.busy = millis(900);
        info.receiver_limited = millis(500);
        info.buffer_limited = millis(300);
        info.acknowledged = 1_000;
    });
    let held = sent(&fresh(), &now);
    assert_eq!(read(&held).0, "receiver-window/path-rtt");
    assert_eq!(held.times.of(Limit::ReceiverWindow), Span::from_millis(500));
    assert_eq!(held.times.of(Limit::SendBuffer), Span::from_millis(300));
    // For a tenth of the time there was nothing to send.
    assert!(held.times.of(Limit::Application) >= Span::from_millis(100));
    assert_eq!(held.times.whole(), SECOND);
    // The clocks run since the connection began: only their increments are of this time.
    let later = with(&now, |info| {
        info.busy = millis(1_900);
        info.buffer_limited = millis(1_200);
        info.acknowledged = 2_000;
    });
    assert_eq!(read(&sent(&now, &later)).0, "send-buffer/path-rtt");
}

#[test]
fn a_window_is_closed_where_both_looks_find_it_so() {
    let held = |before: u32, after: u32| {
        let before = with(&fresh(), |info| info.peer_window = Some(before));
        let now = with(&fresh(), |info| {
            info.peer_window = Some(after);
            (info.busy, info.receiver_limited) = (millis(1_000), millis(1_000));
        });
        read(&sent(&before, &now)).0
    };
    assert_eq!(held(0, 0), "zero-window");
    assert_eq!(held(0, 2_920), "receiver-window/path-rtt");
    assert_eq!(held(2_920, 0), "receiver-window/path-rtt");
}

#[test]
fn a_program_that_writes_little_is_the_limit() {
    // There is nothing to send most of the time.
    let now = with(&fresh(), |info| {
        (info.busy, info.acknowledged) = (millis(200), 3_000);
    });
    assert_eq!(of(&now), "application/sender-idle");
    // A small piece is always in flight, and the kernel has no more to send.
    let now = with(&now, |info| info.busy = millis(1_000));
    assert_eq!(of(&now), "application/sender-idle");
    // If unsent data waits, the program is not the limit.
    let (limit, between) = read(&sent(&fresh(), &with(&now, |info| info.unsent = 5_000)));
    assert_eq!(limit, "unknown");
    assert!(between.contains(&Limit::CongestionWindow), "{between:?}");
    // Its windows were full, and it had no more to send at the end.
    let bursts = with(&bulk(), |info| {
        (info.unsent, info.unacknowledged, info.is_application_limited) = (0, 0, true);
    });
    let (limit, between) = read(&sent(&fresh(), &bursts));
    assert_eq!((limit.as_str(), between.len()), ("unknown", 2), "{between:?}");
}

#[test]
fn a_pace_that_was_asked_for_is_the_programs() {
    let now = with(&bulk(), |info| info.asked_pace = Some(info.acknowledged * 21 / 20));
    assert_eq!(of(&now), "application/sender-idle");
    let now = with(&bulk(), |info| info.asked_pace = Some(info.acknowledged * 3));
    assert_eq!(of(&now), "congestion-window/steady");
}

#[test]
fn a_write_that_waits_for_room_is_told_from_a_program_that_has_none() {
    let full = Buffers { send: Bytes::new(16_384), sent: Bytes::new(15_000), ..Buffers::default() };
    let little = with(&fresh(), |info| {
        (info.busy, info.acknowledged) = (millis(1_000), 100_000);
    });
    let now = Socket { buffers: Some(full), ..little };
    let (limit, between) = read(&sent(&fresh(), &now));
    assert_eq!((limit.as_str(), between), ("unknown", vec![Limit::SendBuffer, Limit::Application]));
    // The kernel's clock had some of it, or the buffer was full at both looks.
    let clocked = with(&now, |info| info.buffer_limited = millis(300));
    assert_eq!(of(&clocked), "send-buffer/path-rtt");
    let before = Socket { buffers: Some(full), ..fresh() };
    assert_eq!(read(&sent(&before, &now)).0, "send-buffer/path-rtt");
}

#[test]
fn a_buffer_below_a_congestion_window_is_among_what_may_be() {
    let small = Buffers { send: Bytes::new(8_192), ..Buffers::default() };
    let now = Socket { buffers: Some(small), ..bulk() };
    let (limit, between) = read(&sent(&fresh(), &now));
    assert_eq!(limit, "unknown");
    assert!(between.contains(&Limit::SendBuffer), "{between:?}");
    // With the clock, and with room in both windows, the buffer is the limit.
    let clocked = with(&now, |info| {
        (info.congestion_window, info.buffer_limited) = (100, millis(300));
    });
    assert_eq!(of(&clocked), "send-buffer/path-rtt");
    let late = with(&clocked, |info| info.rtt = Some(millis(60)));
    let held = sent(&fresh(), &late);
    assert!(held.times.of(Limit::Unknown) > held.times.of(Limit::SendBuffer), "{held:?}");
}

#[test]
fn a_timers_time_begins_with_the_silence_before_it() {
    let silent = with(&fresh(), |info| {
        (info.busy, info.unacknowledged, info.is_after_timeout) = (millis(1_000), 5, true);
        info.since_ack = millis(700);
    });
    let held = sent(&fresh(), &silent);
    assert_eq!(read(&held).0, "loss/timeout");
    assert_eq!(held.times.of(Limit::Loss), Span::from_millis(700));
    // The kernel's own clock has the time of a timer whose repair is over.
    let before = with(&fresh(), |info| info.after_timeouts = Some(millis(100)));
    let repaired = with(&bulk(), |info| info.after_timeouts = Some(millis(900)));
    assert_eq!(sent(&before, &repaired).times.of(Limit::Loss), Span::from_millis(800));
    // A window that stays closed for long is no loss, though its probes are unanswered.
    let probed = with(&fresh(), |info| {
        (info.busy, info.receiver_limited, info.probes) = (millis(1_000), millis(1_000), 4);
        (info.peer_window, info.since_ack) = (Some(0), millis(900));
    });
    assert_eq!(read(&sent(&probed_before(), &probed)).0, "zero-window");
}

#[test]
fn what_makes_a_full_window_late_may_be_open() {
    let late = with(&bulk(), |info| {
        (info.rtt, info.receiver_limited) = (Some(millis(60)), millis(1_000));
    });
    let (limit, between) = read(&sent(&fresh(), &late));
    assert_eq!(limit, "receiver-window", "the kernel's clock is one of the window");
    assert_eq!(between, [Limit::PathCapacity, Limit::ReceiverWindow]);
}

#[test]
fn reordering_and_a_smaller_path_are_told() {
    let overtaken = with(&bulk(), |info| (info.retransmissions, info.reorderings) = (20, 20));
    assert_eq!(of(&overtaken), "congestion-window/reordering");
    let before = with(&fresh(), |info| info.path_mtu = 1_500);
    let smaller = with(&before, |info| {
        (info.busy, info.unacknowledged, info.is_after_timeout) = (millis(1_000), 5, true);
        (info.since_ack, info.path_mtu) = (millis(900), 1_024);
    });
    assert_eq!(read(&sent(&before, &smaller)).0, "loss/black-hole");
}

fn probed_before() -> Socket {
    with(&fresh(), |info| info.peer_window = Some(0))
}

#[test]
fn loss_is_the_limit_from_one_in_a_hundred_on() {
    let lost = |count: u32| with(&bulk(), |info| info.retransmissions = count);
    assert_eq!(of(&lost(4)), "congestion-window/after-loss");
    assert_eq!(of(&lost(5)), "loss/fast-recovery");
    // Data that arrived twice was not lost.
    let mostly = with(&lost(5), |info| info.needless = 3);
    assert_eq!(of(&mostly), "congestion-window/after-loss");
    // BBR does not send less after a loss.
    let bbr = Socket { congestion: "bbr".parse().ok(), ..lost(50) };
    assert_ne!(read(&sent(&fresh(), &bbr)).0, "loss/fast-recovery");
    // A sender with room in its window does not send less either.
    let roomy = with(&lost(50), |info| info.congestion_window = 100);
    assert_ne!(read(&sent(&fresh(), &roomy)).0, "loss/fast-recovery");
    // A full queue loses, too: the two cannot be told apart.
    let (limit, between) =
        read(&sent(&fresh(), &with(&lost(5), |info| info.rtt = Some(millis(60)))));
    assert_eq!((limit.as_str(), between), ("unknown", vec![Limit::Loss, Limit::PathCapacity]));
}

#[test]
fn a_path_shows_by_its_queue() {
    let late = with(&bulk(), |info| info.rtt = Some(millis(60)));
    assert_eq!(of(&late), "path-capacity/queue");
    // If more was delivered before, the path is not the only limit.
    let slower = with(&late, |info| info.delivery_rate *= 2);
    let (limit, between) = read(&sent(&fresh(), &slower));
    assert_eq!(limit, "unknown");
    assert_eq!(between, [Limit::CongestionWindow, Limit::PathCapacity]);
    // A few segments do not queue: the receiver may be late.
    let few = with(&late, |info| {
        (info.congestion_window, info.unacknowledged, info.acknowledged) = (2, 2, 2 * 17 * 1_460);
    });
    let (limit, between) = read(&sent(&fresh(), &few));
    assert_eq!(limit, "unknown");
    assert_eq!(between, [Limit::PathCapacity, Limit::ReceiverWindow]);
    // BBR without a queue may be at the path's rate.
    let bbr = Socket { congestion: "bbr".parse().ok(), ..bulk() };
    assert_eq!(read(&sent(&fresh(), &bbr)).1, [Limit::CongestionWindow, Limit::PathCapacity]);
}

#[test]
fn slow_start_is_one_by_a_window_in_use() {
    let start = with(&bulk(), |info| info.slow_start_threshold = None);
    assert_eq!(of(&start), "congestion-window/slow-start");
}

#[test]
fn a_window_that_no_clock_has_is_seen_by_the_flight() {
    // 50 round trips of a window of 8 KB, and a congestion window of 14.6 KB.
    let now = with(&bulk(), |info| {
        (info.peer_window, info.acknowledged) = (Some(8_000), 50 * 7_300);
    });
    assert_eq!(of(&now), "receiver-window/path-rtt");
    let beyond = with(&now, |info| info.acknowledged = 50 * 14_000);
    assert_ne!(of(&beyond), "receiver-window/path-rtt", "so much was never in that window");
}

#[test]
fn no_path_lies_between_programs_of_a_host() {
    let local = "127.0.0.1:5001".parse().unwrap();
    let now = Socket { local, peer: local, ..bulk() };
    let most = sent(&fresh(), &now).most.unwrap();
    assert_eq!((most.limit, most.would_tell), (Limit::Unknown, Some(BetterSource::Processors)));
}

#[test]
fn what_no_kernel_tells_is_unknown() {
    let would = |now: Socket| sent(&fresh(), &now).most.unwrap().would_tell;
    assert_eq!(would(Socket { info: None, ..bulk() }), Some(BetterSource::Packets));
    assert_eq!(would(Socket { state: SYN_SENT, ..bulk() }), Some(BetterSource::Ping));
    let old = with(&bulk(), |info| info.has_clocks = false);
    assert_eq!(would(old), Some(BetterSource::NewerKernel));
}

#[test]
fn of_one_that_is_new_only_its_busy_time_is_known() {
    let held =
        sending(None, &with(&bulk(), |info| info.busy = millis(100)), SECOND, &Ends::default());
    assert_eq!(held.times.whole(), Span::from_millis(100));
    assert_eq!(held.times.of(Limit::Application), Span::ZERO);
}

#[test]
fn of_what_comes_only_the_own_program_is_known() {
    let came = |before: (u32, u32), now: (u32, u32)| {
        let of = |(unread, window): (u32, u32)| Socket {
            unread,
            ..with(&fresh(), |info| info.own_window = Some(window))
        };
        let held = receiving(Some(&of(before)), &of(now), SECOND, &Ends::default());
        let most = held.most.unwrap();
        (most.limit, most.share)
    };
    assert_eq!(came((0, 65_536), (1_000, 64_000)), (Limit::Unknown, 1.0));
    assert_eq!(came((65_536, 0), (65_536, 0)), (Limit::ZeroWindow, 1.0));
    // Most of the offered window is unread at both looks.
    assert_eq!(came((50_000, 15_000), (60_000, 5_000)), (Limit::Application, 1.0));
    // One look is only a moment.
    assert_eq!(came((0, 65_536), (60_000, 5_000)), (Limit::Unknown, 1.0));
    assert_eq!(came((0, 65_536), (65_536, 0)).1, 0.5);
}

proptest! {
    #[test]
    fn no_figures_charge_more_time_than_there_is(
        clocks in any::<[u32; 8]>(),
        figures in any::<[u32; 8]>(),
        (span, is_new) in (0_i64..20_000, any::<bool>()),
    ) {
        let socket = |clocks: &[u32], figures: &[u32]| with(&fresh(), |info| {
            let clock = |at: usize| Duration::from_micros(clocks[at].into());
            (info.busy, info.receiver_limited) = (clock(0), clock(1));
            (info.buffer_limited, info.since_ack) = (clock(2), clock(3));
            info.is_after_timeout = figures[0].is_multiple_of(2);
            (info.acknowledged, info.unacknowledged) = (figures[0].into(), figures[1]);
            (info.congestion_window, info.mss) = (figures[2], figures[3] % 3_000);
            info.rtt = Some(clock(3));
        });
        let (before, now) = (socket(&clocks[..4], &figures[..4]), socket(&clocks[4..], &figures[4..]));
        let span = Span::from_millis(span);
        let before = (!is_new).then_some(&before);
        let held = sending(before, &now, span, &Ends::default());
        prop_assert!(held.times.whole() <= span);
        prop_assert!(is_new || held.times.whole() == span);
        prop_assert!(receiving(before, &now, span, &Ends::default()).times.whole() == span);
        if let Some(most) = held.most {
            prop_assert!((0.0..=1.0).contains(&most.share));
            prop_assert!(most.between.is_empty() || most.because.is_none());
        }
    }
}

/// Returns a thread that has this share of a processor, and waits for one for this share of the
/// time.
const fn thread(share: f64, waiting: f64) -> Option<Thread> {
    Some(Thread { all: share, share, waiting: Some(waiting) })
}

/// Returns processors that worked for this share of the time.
fn machine(busy_share: f64) -> Option<Machine> {
    Some(Machine { processors: 2, busy_share, ..Machine::default() })
}

#[test]
fn a_thread_without_a_rest_is_the_processor() {
    let of = |ends: &Ends| read(&sending(Some(&fresh()), &bulk(), SECOND, ends));
    let busy = Ends { own: thread(0.4, 0.55), ..Ends::default() };
    assert_eq!(of(&busy).0, "application/processor");
    let calm = Ends { own: thread(0.4, 0.1), ..Ends::default() };
    assert_eq!(of(&calm).0, "congestion-window/steady");
    // On full processors the thread need not work all the time.
    let wants = Ends { own: thread(0.4, 0.2), machine: machine(0.99), ..Ends::default() };
    let slow = with(&bulk(), |info| info.delivery_rate *= 4);
    let held = |ends: &Ends| read(&sending(Some(&fresh()), &slow, SECOND, ends)).0;
    assert_eq!(held(&wants), "application/processor");
    assert_eq!(held(&Ends { machine: machine(0.3), ..wants }), "congestion-window/steady");
}

#[test]
fn both_ends_on_one_host_share_its_processors() {
    let full = Ends {
        own: thread(0.85, 0.0),
        other: thread(0.85, 0.0),
        machine: machine(0.99),
        is_one_host: true,
    };
    let of = |ends: &Ends| {
        let held = sending(Some(&fresh()), &bulk(), SECOND, ends);
        (read(&held).0, held.most.unwrap().would_tell)
    };
    assert_eq!(of(&full), ("application/processor".to_owned(), None));
    let spare = Ends { own: thread(0.2, 0.0), other: thread(0.2, 0.0), ..full };
    let spare = Ends { machine: machine(0.3), ..spare };
    assert_eq!(of(&spare), ("unknown".to_owned(), Some(BetterSource::Processors)));
}

#[test]
fn a_reader_without_a_rest_is_the_processor() {
    let mut now = fresh();
    now.unread = 60_000;
    let now = with(&now, |info| info.own_window = Some(0));
    let of = |own| {
        let ends = Ends { own, ..Ends::default() };
        read(&receiving(Some(&now), &now, SECOND, &ends)).0
    };
    assert_eq!(of(None), "zero-window/receiver-not-reading");
    assert_eq!(of(thread(0.95, 0.0)), "application/processor");
}
