//! Packet timelines: `>` goes to the device, `<` comes from it.

use proptest::prelude::*;
use windlass_base::{Rate, Span};
use windlass_wire::Options;

use super::*;
use crate::segment::Payload;
use crate::timeline;

fn micros(micros: i64) -> Latency {
    Latency::of(Span::from_micros(micros))
}

fn raw(habits: Habits) -> Device {
    Device::new(habits, &[(9_100, Service::Raw)], 1)
}

fn play(device: &mut Device, script: &str) {
    timeline::play(device, Device::handle, Device::poll, Device::next_time, script);
}

/// A stack that acknowledges each segment at once, with a buffer of 4,000 bytes.
const PLAIN: Habits = Habits {
    window: Window::Buffer(Bytes::new(4_000)),
    mss: 1_000,
    sack: false,
    ack: AckPolicy::EverySegment,
    ..Habits::HEALTHY
};

#[test]
fn two_segments_then_one_ack_117_ms_later() {
    let hawking = Habits {
        window: Window::Fixed(Bytes::new(2_920)),
        sack: false,
        handshake_delay: micros(6_540),
        ack: AckPolicy::EverySecond { timer: Span::from_millis(500) },
        ack_latency: micros(117_667),
        small_segments: Some(SmallSegments { up_to: Bytes::new(768), latency: micros(6_688) }),
        ..Habits::HEALTHY
    };
    play(
        &mut raw(hawking),
        "0.000000 > S 0 win 32120 mss 1460
         0.006540 < S. 0 ack 1 win 2920 mss 1460
         0.006616 > . 1 ack 1 win 32120
         0.010000 > P. 1:1461 ack 1 win 32120
         0.010007 > P. 1461:2921 ack 1 win 32120
         0.127674 < . 1 ack 2921 win 2920
         0.127692 > P. 2921:4381 ack 1 win 32120
         0.127699 > P. 4381:5841 ack 1 win 32120
         0.245366 < . 1 ack 5841 win 2920",
    );
}

#[test]
fn a_look_tells_what_lies_in_the_buffer_and_who_waits() {
    let rate = Rate::from_bytes_per_second(1e6);
    let drain = Drain::Rate { rate, chunk: Bytes::new(1_000) };
    let mut device = raw(Habits { drain, ..PLAIN });
    play(
        &mut device,
        "0.000000 > S 0 win 8000 mss 1000
         0.000000 < S. 0 ack 1 win 4000 mss 1000
         0.000000 > . 1 ack 1 win 8000
         0.001000 > . 1:1001 ack 1 win 8000
         0.001000 < . 1 ack 1001 win 4000
         0.001100 > . 1001:2001 ack 1 win 8000
         0.001100 < . 1 ack 2001 win 3000",
    );
    let at = |micros| Timestamp::ZERO + Span::from_micros(micros);
    let looks: Vec<_> = device.looks(at(1_200)).collect();
    let [look] = looks[..] else { panic!("{looks:?}") };
    let bytes = [look.received, look.unread, look.window].map(Bytes::get);
    assert_eq!((look.port, bytes), (9_100, [2_000, 1_000, 3_000]));
    assert_eq!(look.reading, ReaderActivity::Printing);
    assert_eq!(device.counters().raw_jobs, 0, "it is not over");
    // A stalled reader tells the remaining time.
    let lasting = micros(500_000);
    let stalls = Stalls { every: StallEvery::Bytes(Bytes::new(1_000)), lasting };
    let mut device = raw(Habits { stalls: Some(stalls), ..PLAIN });
    play(
        &mut device,
        "0.000000 > S 0 win 8000 mss 1000
         0.000000 < S. 0 ack 1 win 4000 mss 1000
         0.000000 > . 1 ack 1 win 8000
         0.001000 > . 1:1001 ack 1 win 8000
         0.001000 < . 1 ack 1001 win 4000
         0.002000 > . 1001:2001 ack 1 win 8000
         0.002000 < . 1 ack 2001 win 3000",
    );
    let look = device.looks(at(102_000)).next().unwrap();
    assert_eq!(look.reading, ReaderActivity::Stalled { left: Span::from_millis(400) });
    assert_eq!(look.unread, Bytes::new(1_000));
}

#[test]
fn one_ack_covers_what_arrives_until_it_leaves() {
    let habits = Habits { ack_latency: micros(3_000), ..PLAIN };
    play(
        &mut raw(habits),
        "0.000000 > S 0 win 8000 mss 1000
         0.000000 < S. 0 ack 1 win 4000 mss 1000
         0.000000 > . 1 ack 1 win 8000
         0.001000 > . 1:1001 ack 1 win 8000
         0.002000 > . 1001:2001 ack 1 win 8000
         0.003999 > . 2001:3001 ack 1 win 8000
         0.004000 < . 1 ack 3001 win 4000
         0.004001 > . 3001:4001 ack 1 win 8000
         0.007001 < . 1 ack 4001 win 4000",
    );
}

#[test]
fn the_window_closes_with_the_ack_and_opens_a_moment_later() {
    let netgear = Habits {
        window: Window::Buffer(Bytes::new(1_024)),
        sack: false,
        ack: AckPolicy::EverySegment,
        ack_latency: micros(10_399),
        small_segments: Some(SmallSegments { up_to: Bytes::new(0), latency: micros(100) }),
        drain: Drain::AfterAck(micros(1_742)),
        pushes_acks: true,
        ..Habits::HEALTHY
    };
    play(
        &mut raw(netgear),
        "0.000000 > S 0 win 32120 mss 1460
         0.000000 < S. 0 ack 1 win 1024 mss 1460
         0.000076 > . 1 ack 1 win 32120
         0.000100 > P. 1:1025 ack 1 win 32120
         0.010499 < P. 1 ack 1025 win 0
         0.012241 < P. 1 ack 1025 win 1024
         0.012253 > P. 1025:2033 ack 1 win 32120
         0.022652 < P. 1 ack 2033 win 16
         0.024394 < P. 1 ack 2033 win 1024",
    );
}

#[test]
fn a_stall_answers_probes_with_zero_and_opens_by_itself() {
    let linksys = Habits {
        window: Window::Buffer(Bytes::new(1_024)),
        sack: false,
        ack: AckPolicy::EverySegment,
        ack_latency: micros(5_686),
        small_segments: Some(SmallSegments { up_to: Bytes::new(0), latency: micros(2_777) }),
        drain: Drain::AfterAck(micros(978)),
        stalls: Some(Stalls {
            every: StallEvery::Bytes(Bytes::new(1_024)),
            lasting: micros(2_022_000),
        }),
        ..Habits::HEALTHY
    };
    play(
        &mut raw(linksys),
        "0.000000 > S 0 win 32120 mss 1460
         0.000000 < S. 0 ack 1 win 1024 mss 1460
         0.000020 > . 1 ack 1 win 32120
         0.000100 > P. 1:1025 ack 1 win 32120
         0.005786 < . 1 ack 1025 win 0
         0.006764 < . 1 ack 1025 win 1024
         0.007000 > P. 1025:2049 ack 1 win 32120
         0.012686 < . 1 ack 2049 win 0
         0.208395 > . 2048 ack 1 win 32120
         0.211172 < . 1 ack 2049 win 0
         0.608392 > . 2048 ack 1 win 32120
         0.611169 < . 1 ack 2049 win 0
         2.035664 < . 1 ack 2049 win 1024",
    );
}

#[test]
fn an_upcall_stack_withholds_its_ack_until_a_share_of_the_window_has_come() {
    let imagen = Habits {
        window: Window::Fixed(Bytes::new(6_144)),
        sack: false,
        ack: AckPolicy::ShareOfWindow { share: 0.35, timer: Span::from_millis(500) },
        ..Habits::HEALTHY
    };
    play(
        &mut raw(imagen),
        "0.000000 > S 0 win 2048 mss 1024
         0.000000 < S. 0 ack 1 win 6144 mss 1460
         0.000000 > . 1 ack 1 win 2048
         0.000100 > . 1:1025 ack 1 win 2048
         0.000200 > . 1025:2049 ack 1 win 2048
         0.500100 < . 1 ack 2049 win 6144
         0.500200 > . 2049:3073 ack 1 win 2048
         0.500300 > . 3073:4097 ack 1 win 2048
         0.500400 > . 4097:5121 ack 1 win 2048
         0.500400 < . 1 ack 5121 win 6144",
    );
}

#[test]
fn every_second_segment_is_acknowledged_and_an_odd_one_by_the_timer() {
    let habits = Habits { ack: AckPolicy::EverySecond { timer: Span::from_millis(40) }, ..PLAIN };
    play(
        &mut raw(habits),
        "0.000000 > S 0 win 8000
         0.000000 < S. 0 ack 1 win 4000 mss 1000
         0.000000 > . 1 ack 1 win 8000
         0.000100 > . 1:501 ack 1 win 8000
         0.000200 > . 501:1001 ack 1 win 8000
         0.000200 < . 1 ack 1001 win 4000
         0.000300 > . 1001:1501 ack 1 win 8000
         0.040300 < . 1 ack 1501 win 3500",
    );
}

#[test]
fn a_slow_reader_fills_its_buffer_and_tells_when_it_has_grown() {
    // 1,000 bytes at a time, 10 ms each. The first is taken at once.
    let habits = Habits {
        drain: Drain::Rate {
            rate: Rate::from_bytes_per_second(100_000.0),
            chunk: Bytes::new(1_000),
        },
        ..PLAIN
    };
    play(
        &mut raw(habits),
        "0.000000 > S 0 win 8000
         0.000000 < S. 0 ack 1 win 4000 mss 1000
         0.000000 > . 1 ack 1 win 8000
         0.000100 > . 1:1001 ack 1 win 8000
         0.000100 < . 1 ack 1001 win 4000
         0.000200 > . 1001:2001 ack 1 win 8000
         0.000200 < . 1 ack 2001 win 3000
         0.000300 > . 2001:3001 ack 1 win 8000
         0.000300 < . 1 ack 3001 win 2000
         0.000400 > . 3001:4001 ack 1 win 8000
         0.000400 < . 1 ack 4001 win 1000
         0.000500 > . 4001:5001 ack 1 win 8000
         0.000500 < . 1 ack 5001 win 0
         0.020100 < . 1 ack 5001 win 2000
         0.040100 < . 1 ack 5001 win 4000",
    );
}

#[test]
fn a_fixed_window_holds_its_ack_until_the_reader_is_done() {
    let habits = Habits {
        window: Window::Fixed(Bytes::new(2_000)),
        drain: Drain::Rate { rate: Rate::from_bytes_per_second(100_000.0), chunk: Bytes::new(500) },
        ..PLAIN
    };
    play(
        &mut raw(habits),
        "0.000000 > S 0 win 8000
         0.000000 < S. 0 ack 1 win 2000 mss 1000
         0.000000 > . 1 ack 1 win 8000
         0.000100 > . 1:1001 ack 1 win 8000
         0.000110 > . 1001:2001 ack 1 win 8000
         0.015100 < . 1 ack 2001 win 2000",
    );
}

#[test]
fn a_device_that_never_tells_opens_when_probed() {
    let habits = Habits {
        window: Window::Buffer(Bytes::new(1_000)),
        drain: Drain::AfterAck(micros(50)),
        updates: WindowUpdates::Never,
        ..PLAIN
    };
    // Once by an empty probe, once by one that carries a byte.
    play(
        &mut raw(habits),
        "0.000000 > S 0 win 8000
         0.000000 < S. 0 ack 1 win 1000 mss 1000
         0.000000 > . 1 ack 1 win 8000
         0.000100 > . 1:1001 ack 1 win 8000
         0.000100 < . 1 ack 1001 win 0
         0.200000 > . 1000 ack 1 win 8000
         0.200000 < . 1 ack 1001 win 1000
         0.200100 > . 1001:2001 ack 1 win 8000
         0.200100 < . 1 ack 2001 win 0
         0.400000 > . 2001:2002 ack 1 win 8000
         0.400000 < . 1 ack 2001 win 1000",
    );
}

#[test]
fn updates_come_when_empty_or_after_zero_if_that_is_the_habit() {
    let base = Habits {
        drain: Drain::Rate {
            rate: Rate::from_bytes_per_second(100_000.0),
            chunk: Bytes::new(1_000),
        },
        ..PLAIN
    };
    let begin = "0.000000 > S 0 win 8000
                 0.000000 < S. 0 ack 1 win 4000 mss 1000
                 0.000000 > . 1 ack 1 win 8000
                 0.000000 > . 1:1001 ack 1 win 8000
                 0.000000 < . 1 ack 1001 win 4000
                 0.000200 > . 1001:2001 ack 1 win 8000
                 0.000200 < . 1 ack 2001 win 3000
                 0.000300 > . 2001:3001 ack 1 win 8000
                 0.000300 < . 1 ack 3001 win 2000";
    play(
        &mut raw(Habits { updates: WindowUpdates::WhenEmpty, ..base }),
        &format!(
            "{begin}
             0.020000 < . 1 ack 3001 win 4000"
        ),
    );
    let full = format!(
        "{begin}
         0.000400 > . 3001:5001 ack 1 win 8000
         0.000400 < . 1 ack 5001 win 0"
    );
    play(
        &mut raw(Habits { updates: WindowUpdates::AfterZero, ..base }),
        &format!(
            "{full}
             0.010000 < . 1 ack 5001 win 1000
             0.090000 > . 5000 ack 1 win 8000
             0.090000 < . 1 ack 5001 win 4000"
        ),
    );
}

#[test]
fn a_silly_window_is_offered_with_each_read() {
    let rate = Rate::from_bytes_per_second(100_000.0);
    let habits = Habits {
        window: Window::Buffer(Bytes::new(2_000)),
        least_opening: Some(Bytes::new(1)),
        updates: WindowUpdates::EachRead,
        drain: Drain::Rate { rate, chunk: Bytes::new(200) },
        ..PLAIN
    };
    // 200 bytes each 2 ms, each told of as soon as it is read.
    play(
        &mut raw(habits),
        "0.000000 > S 0 win 8000 mss 1000
         0.000000 < S. 0 ack 1 win 2000 mss 1000
         0.000000 > . 1 ack 1 win 8000
         0.000100 > . 1:1001 ack 1 win 8000
         0.000100 < . 1 ack 1001 win 1200
         0.000110 > . 1001:2201 ack 1 win 8000
         0.000110 < . 1 ack 2201 win 0
         0.002100 < . 1 ack 2201 win 200
         0.002200 > . 2201:2401 ack 1 win 8000
         0.002200 < . 1 ack 2401 win 0
         0.004100 < . 1 ack 2401 win 200",
    );
}

#[test]
fn a_gap_gets_duplicate_acks_and_sack_blocks() {
    let habits = Habits { sack: true, ..PLAIN };
    play(
        &mut raw(habits),
        "0.000000 > S 0 win 8000 mss 1000 sackok
         0.000000 < S. 0 ack 1 win 4000 mss 1000 sackok
         0.000000 > . 1 ack 1 win 8000
         0.000100 > . 1001:2001 ack 1 win 8000
         0.000100 < . 1 ack 1 win 4000 sack 1001-2001
         0.000200 > . 3001:4001 ack 1 win 8000
         0.000200 < . 1 ack 1 win 4000 sack 3001-4001 sack 1001-2001
         0.000300 > . 1:1001 ack 1 win 8000
         0.000300 < . 1 ack 2001 win 4000 sack 3001-4001
         0.000400 > . 2001:3001 ack 1 win 8000
         0.000400 < . 1 ack 4001 win 4000",
    );
}

#[test]
fn what_came_twice_is_said_once() {
    let habits = Habits { sack: true, d_sack: true, ..PLAIN };
    play(
        &mut raw(habits),
        "0.000000 > S 0 win 8000 mss 1000 sackok
         0.000000 < S. 0 ack 1 win 4000 mss 1000 sackok
         0.000000 > . 1 ack 1 win 8000
         0.000100 > . 1:1001 ack 1 win 8000
         0.000100 < . 1 ack 1001 win 4000
         0.000200 > . 1:1001 ack 1 win 8000
         0.000200 < . 1 ack 1001 win 4000 sack 1-1001
         0.000300 > . 2001:3001 ack 1 win 8000
         0.000300 < . 1 ack 1001 win 4000 sack 2001-3001
         0.000400 > . 1:1001 ack 1 win 8000
         0.000400 < . 1 ack 1001 win 4000 sack 1-1001 sack 2001-3001",
    );
}

#[test]
fn a_small_stack_drops_what_is_out_of_order() {
    let habits = Habits { keeps_out_of_order: false, ..PLAIN };
    play(
        &mut raw(habits),
        "0.000000 > S 0 win 8000
         0.000000 < S. 0 ack 1 win 4000 mss 1000
         0.000000 > . 1 ack 1 win 8000
         0.000100 > . 1001:2001 ack 1 win 8000
         0.000100 < . 1 ack 1 win 4000
         0.000200 > . 1:1001 ack 1 win 8000
         0.000200 < . 1 ack 1001 win 4000",
    );
}

#[test]
fn each_segment_beyond_a_gap_gets_its_own_ack_however_slow() {
    let habits = Habits { ack_latency: micros(5_000), ..PLAIN };
    play(
        &mut raw(habits),
        "0.000000 > S 0 win 8000
         0.000000 < S. 0 ack 1 win 4000 mss 1000
         0.000000 > . 1 ack 1 win 8000
         0.000100 > . 1001:2001 ack 1 win 8000
         0.000200 > . 2001:3001 ack 1 win 8000
         0.000300 > . 3001:4001 ack 1 win 8000
         0.005100 < . 1 ack 1 win 4000
         0.005100 < . 1 ack 1 win 4000
         0.005100 < . 1 ack 1 win 4000",
    );
}

#[test]
fn a_scaled_window_is_never_scaled_in_the_syn() {
    let habits =
        Habits { window: Window::Buffer(Bytes::new(1_000_001)), window_scale: Some(5), ..PLAIN };
    play(
        &mut raw(habits),
        "0.000000 > S 0 win 8000 mss 1000 ws 7
         0.000000 < S. 0 ack 1 win 65535 mss 1000 ws 5
         0.000000 > . 1 ack 1 win 100
         0.000100 > . 1:1001 ack 1 win 100
         0.000100 < . 1 ack 1001 win 31251",
    );
    play(
        &mut raw(habits),
        "0.000000 > S 0 win 8000 mss 1000
         0.000000 < S. 0 ack 1 win 65535 mss 1000
         0.000000 > . 1 ack 1 win 8000
         0.000100 > . 1:1001 ack 1 win 8000
         0.000100 < . 1 ack 1001 win 65535",
    );
}

#[test]
fn the_answer_to_a_syn_leaves_again_until_it_is_acknowledged() {
    play(
        &mut raw(PLAIN),
        " 0.000000 > S 0 win 8000
          0.000000 < S. 0 ack 1 win 4000 mss 1000
          0.500000 > S 0 win 8000
          0.500000 < S. 0 ack 1 win 4000 mss 1000
          1.000000 < S. 0 ack 1 win 4000 mss 1000
          3.000000 < S. 0 ack 1 win 4000 mss 1000
          3.000100 > . 1 ack 1 win 8000
         90.000000 > . 0 ack 1 win 8000
         90.000000 < . 1 ack 1 win 4000",
    );
}

#[test]
fn closing_follows_the_habit() {
    let begin = "0.000000 > S 0 win 8000
                 0.000000 < S. 0 ack 1 win 4000 mss 1000
                 0.000000 > . 1 ack 1 win 8000
                 0.000100 > F. 1:1001 ack 1 win 8000";
    let slow = Habits {
        drain: Drain::Rate { rate: Rate::from_bytes_per_second(50_000.0), chunk: Bytes::new(500) },
        ..PLAIN
    };
    let close = |close| raw(Habits { close, ..slow });
    let mut device = close(ClosePolicy::AtOnce);
    play(
        &mut device,
        &format!(
            "{begin}
             0.000100 < F. 1 ack 1002 win 2999
             0.000200 > . 1002 ack 2 win 8000"
        ),
    );
    assert_eq!((device.connections(), device.read()), (0, Bytes::new(1_000)));
    play(
        &mut close(ClosePolicy::AfterDrain),
        &format!(
            "{begin}
             0.000100 < . 1 ack 1002 win 2999
             0.010100 < F. 1 ack 1002 win 4000"
        ),
    );
    play(
        &mut close(ClosePolicy::Reset),
        &format!(
            "{begin}
             0.000100 < . 1 ack 1002 win 2999
             0.010100 < R. 1 ack 1002 win 0"
        ),
    );
    play(
        &mut close(ClosePolicy::KeepOpen(Span::from_millis(300))),
        &format!(
            "{begin}
             0.000100 < . 1 ack 1002 win 2999
             0.310100 < F. 1 ack 1002 win 4000
             1.310100 < F. 1 ack 1002 win 4000"
        ),
    );
}

#[test]
fn what_no_connection_knows_is_reset_and_resets_are_checked() {
    play(
        &mut raw(PLAIN),
        "0.000000 > . 1 ack 77 win 8000
         0.000000 < R 0 win 0",
    );
    // Wrong number: a challenge. Right number: gone, without a word.
    let mut device = raw(PLAIN);
    play(
        &mut device,
        "0.000000 > S 0 win 8000
         0.000000 < S. 0 ack 1 win 4000 mss 1000
         0.000000 > . 1 ack 1 win 8000
         0.000100 > R 2 win 0
         0.000100 < . 1 ack 1 win 4000
         0.000200 > S 5 win 8000
         0.000200 < . 1 ack 1 win 4000
         0.000300 > R 9000 win 0
         0.000400 > R 1 win 0",
    );
    assert_eq!(device.connections(), 0);
}

#[test]
fn a_device_holds_so_many_connections_and_no_more() {
    let mut device = raw(Habits { connections: 2, ..PLAIN });
    for port in 0..10 {
        device.handle(Timestamp::ZERO, &syn(port));
    }
    assert_eq!((device.connections(), device.counters().refused), (2, 8));
    // None of them is ever completed: the answers time out.
    while let Some(time) = device.next_time() {
        while device.poll(time).is_some() {}
    }
    assert_eq!(device.connections(), 0);
}

#[test]
fn an_idle_connection_is_given_up() {
    let habits = Habits { idle: Some(Span::from_millis(90_000)), ..PLAIN };
    play(
        &mut raw(habits),
        " 0.000000 > S 0 win 8000
          0.000000 < S. 0 ack 1 win 4000 mss 1000
          0.001000 > . 1 ack 1 win 8000
         90.001000 < R. 1 ack 1 win 0",
    );
}

#[test]
fn lost_and_damaged_segments_are_counted_and_nothing_else() {
    let mut device = raw(Habits { loss: 0.5, corruption: 0.5, ..PLAIN });
    for port in 0..1_000 {
        device.handle(Timestamp::ZERO, &syn(port));
    }
    let counters = *device.counters();
    assert!((450..550).contains(&counters.lost), "{counters:?}");
    assert!((200..300).contains(&counters.damaged), "{counters:?}");
    let taken = counters.connections + counters.refused;
    assert_eq!(taken + counters.lost + counters.damaged, 1_000);
}

fn syn(source: u16) -> Segment {
    Segment {
        source,
        destination: 9_100,
        sequence: 7,
        acknowledgment: 0,
        flags: Flags::SYN,
        window: 8_000,
        options: Options::default(),
        payload: Payload::EMPTY,
    }
}

prop_compose! {
    /// Any segment at all, but mostly near a connection that exists.
    fn hostile()(
        source in prop_oneof![4 => Just(1_u16), 1 => any::<u16>()],
        destination in prop_oneof![4 => Just(9_100_u16), 3 => Just(515_u16), 1 => any::<u16>()],
        sequence in prop_oneof![4 => 0..10_000_u32, 1 => any::<u32>()],
        behind in prop_oneof![4 => 0..10_u32, 1 => any::<u32>()],
        flags: u8,
        window: u16,
        (mss, shift, sack, stamps) in
            any::<(Option<u16>, Option<u8>, bool, Option<(u32, u32)>)>(),
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        zeros in prop::option::of(prop_oneof![3 => 0..3_000_u32, 1 => any::<u32>()]),
    ) -> (Segment, u32) {
        let payload = zeros.map_or_else(|| Payload::copy_of(&bytes), Payload::Zeros);
        let options = Options {
            mss,
            window_scale: shift,
            sack_permitted: sack,
            timestamps: stamps,
            ..Options::default()
        };
        let segment = Segment {
            source,
            destination,
            sequence,
            acknowledgment: 0,
            flags: Flags(flags),
            window,
            options,
            payload,
        };
        (segment, behind)
    }
}

proptest! {
    #[test]
    fn whatever_comes_the_device_answers_within_bounds(
        segments in prop::collection::vec((hostile(), 0..100_000_i64), 0..300),
        buffer in 0..100_000_u64,
        fixed: bool,
        delayed: bool,
    ) {
        let habits = Habits {
            window: if fixed {
                Window::Fixed(Bytes::new(buffer))
            } else {
                Window::Buffer(Bytes::new(buffer))
            },
            window_scale: Some(3),
            timestamps: true,
            ack_latency: if delayed { micros(5_000) } else { Latency::NONE },
            idle: Some(Span::from_millis(60_000)),
            ..Habits::HEALTHY
        };
        let services =
            [(9_100, Service::Raw), (515, Service::Lpr), (7, Service::Answer {
                every: Bytes::new(1),
                with: u16::MAX,
            })];
        let mut device = Device::new(habits, &services, 3);
        let mut now = Timestamp::ZERO;
        // The device's latest sequence numbers.
        let mut own = 0_u32;
        let mut sent = 0;
        let step = |device: &mut Device, now, own: &mut u32, sent: &mut u64| {
            while let Some(segment) = device.poll(now) {
                *own = segment.sequence.wrapping_add(segment.length());
                *sent += 1;
            }
        };
        let count = segments.len() as u64;
        for ((mut segment, behind), gap) in segments {
            now = now + Span::from_micros(gap);
            segment.acknowledgment = own.wrapping_sub(behind);
            device.handle(now, &segment);
            step(&mut device, now, &mut own, &mut sent);
            prop_assert!(device.connections() <= habits.connections);
        }
        // Nothing more comes: it falls silent.
        let mut rounds = 0;
        while let Some(time) = device.next_time() {
            now = now.max(time);
            step(&mut device, now, &mut own, &mut sent);
            rounds += 1;
            prop_assert!(rounds < 100_000, "it never falls silent");
        }
        prop_assert_eq!(device.connections(), 0);
        // An answer or two for each segment, and a bounded number of repetitions
        // for each connection.
        prop_assert!(sent <= 4 * count + 64 * 1_000, "{} for {}", sent, count);
    }
}
