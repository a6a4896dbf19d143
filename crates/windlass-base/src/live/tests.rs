//! Boundaries of each threshold, and a table of cases.

use super::*;
use crate::thresholds::*;
use crate::verdict::Confidence;
use crate::{Bytes, Cause, Limit, Rate, Span, whole_part};

/// A sender of one stream at 10 MB/s for 10 s, over a path of 2.5 ms.
fn bulk() -> Facts {
    Facts {
        seconds: seconds(10.0),
        streams: 1,
        bytes: Bytes::new(100_000_000),
        rate: rate(10e6),
        busy: seconds(10.0),
        counts_idle: true,
        rtt: Some(micros(2_600)),
        least_rtt: Some(micros(2_500)),
        window: Some(Bytes::new(60_000)),
        largest_window: Some(Bytes::new(60_000)),
        open_share: Some(1.0),
        flight: Bytes::new(14_000),
        congestion_window: Bytes::new(100_000),
        buffer: Bytes::new(300_000),
        segment: 1_448,
        segments: 70_000,
        heeds_loss: true,
        sender: Some(Thread::default()),
        ..Facts::default()
    }
}

fn seconds(seconds: f64) -> Span {
    Span::from_seconds(seconds)
}

const fn micros(micros: i64) -> Span {
    Span::from_micros(micros)
}

fn rate(bytes: f64) -> Rate {
    Rate::from_bytes_per_second(bytes)
}

/// This many whole bytes.
fn size(bytes: f64) -> Bytes {
    Bytes::new(whole_part(bytes))
}

/// Returns these facts with other figures.
fn with(change: impl FnOnce(&mut Facts)) -> Facts {
    let mut facts = bulk();
    change(&mut facts);
    facts
}

/// Most of the time: its cause, or those of which it is one.
fn cause(facts: &Facts) -> String {
    let parts = judge(facts);
    let Some(most) = parts.all().first() else { return "nothing".to_owned() };
    let named: Vec<String> = most.causes.all().iter().map(|cause| format!("{cause:?}")).collect();
    if named.is_empty() { "unknown".to_owned() } else { named.join(" or ") }
}

fn of(change: impl FnOnce(&mut Facts)) -> String {
    cause(&with(change))
}

/// Returns the causes a little below a threshold, and a little above it.
fn around(threshold: f64, change: impl Fn(&mut Facts, f64)) -> [String; 2] {
    [0.99, 1.01].map(|factor| of(|facts| change(facts, threshold * factor)))
}

/// Two looks at a connection that no rule of one look names.
fn glance(change: impl FnOnce(&mut Facts)) -> Facts {
    with(|it| {
        it.sampling = Sampling::Twice;
        change(it);
    })
}

/// Slices of the time with these rates.
fn slices(slices: u64, usual: f64, most: f64) -> Delivery {
    Delivery { slices, usual: rate(usual), most: rate(most), ..Delivery::default() }
}

/// A machine whose processors worked for this share of the time.
fn machine(busy_share: f64) -> Option<Machine> {
    let others = vec![Program { pid: 811, name: "make".to_owned(), share: 1.6 }];
    Some(Machine { processors: 2, busy_share, others, ..Machine::default() })
}

fn messages(idle: i64, loaded: i64) -> (Option<IdleMessages>, Option<LoadedMessages>) {
    let (idle, loaded) = (micros(idle), micros(loaded));
    (
        Some(IdleMessages { least: idle, p50: idle }),
        Some(LoadedMessages { p10: Some(loaded), p50: loaded, p90: Some(loaded) }),
    )
}

#[test]
fn cases() {
    type Change = fn(&mut Facts);
    let table: &[(&str, Change, &str)] = &[
        ("nothing known holds it", |_| (), "Steady"),
        ("a full window", |it| it.window_held = seconds(9.7), "WindowPathRtt"),
        ("a full buffer", |it| it.buffer_held = seconds(9.0), "BufferPathRtt"),
        ("nothing to send", |it| it.busy = seconds(1.0), "SenderIdle"),
        ("a pace", |it| it.pace = Some(rate(10.2e6)), "SenderIdle"),
        (
            "a start",
            |it| (it.never_left_slow_start, it.flight) = (true, Bytes::new(60_000)),
            "SlowStart",
        ),
        ("some loss", |it| it.lost = 20, "AfterLoss"),
        ("marks", |it| it.marked = 20, "PathMarks"),
        ("much loss", |it| (it.lost, it.lost_outside_timeouts) = (2_000, 2_000), "FastRecovery"),
        ("a queue", |it| it.rtt = Some(micros(20_000)), "PathQueue"),
        ("timers", |it| it.timeout = seconds(9.0), "Timeout"),
        (
            "a closed window",
            |it| (it.window_held, it.closed_share) = (seconds(9.7), 0.5),
            "ReceiverNotReading or NoWindowUpdate",
        ),
        (
            "a late full window",
            |it| (it.window_held, it.rtt) = (seconds(9.7), Some(micros(20_000))),
            "PathQueue or WindowAckLatency",
        ),
        (
            "the same on one machine",
            |it| {
                (it.window_held, it.rtt) = (seconds(9.7), Some(micros(20_000)));
                it.is_loopback = true;
            },
            "WindowAckLatency",
        ),
        (
            "no path, and no processors known",
            |it| (it.is_loopback, it.sender) = (true, None),
            "unknown",
        ),
        (
            "a smaller path",
            |it| (it.timeout, it.path_mtu) = (seconds(9.0), Some((1_024, 1_500))),
            "BlackHole",
        ),
        (
            "a queue on a full machine, without a rate that stays",
            |it| {
                (it.rtt, it.sending_machine) = (Some(micros(20_000)), machine(1.0));
                it.delivery = Some(slices(40, 5e6, 50e6));
            },
            "Processor or PathQueue",
        ),
        (
            "losses of BBR at a rate that stays a little",
            |it| {
                (it.lost, it.lost_outside_timeouts, it.heeds_loss) = (600, 600, false);
                let delivery = slices(40, 6e6, 9e6);
                it.delivery =
                    Some(Delivery { p10: Some(rate(5e6)), p90: Some(rate(8e6)), ..delivery });
            },
            "PathPolicer or Steady",
        ),
        (
            "a program that writes little",
            |it| (it.unsent, it.rate) = (Some(Bytes::ZERO), rate(1e6)),
            "SenderIdle",
        ),
        (
            "the same with a buffer below the congestion window",
            |it| {
                (it.unsent, it.rate) = (Some(Bytes::ZERO), rate(1e6));
                it.buffer = Bytes::new(4_608);
            },
            "Steady",
        ),
        (
            "pauses behind a small buffer that is full in between",
            |it| {
                (it.busy, it.buffer_held) = (seconds(3.0), seconds(2.0));
                it.buffer = Bytes::new(4_608);
            },
            "BufferPathRtt or SenderIdle",
        ),
        ("no stream", |it| it.streams = 0, "nothing"),
    ];
    for (name, change, wanted) in table {
        assert_eq!(of(change), *wanted, "{name}");
    }
}

#[test]
fn parts_add_up_to_the_time() {
    let facts = with(|it| {
        (it.busy, it.window_held, it.buffer_held) = (seconds(9.0), seconds(5.0), seconds(7.0));
        (it.timeout, it.slow_start) = (seconds(1.0), Some(seconds(3.0)));
    });
    let parts = judge(&facts);
    assert_eq!(parts.all().iter().map(|part| part.time).sum::<Span>(), facts.whole());
    let clocks: Vec<_> = parts.all().iter().filter_map(|part| part.clock).collect();
    assert_eq!(clocks, [Limit::ReceiverWindow, Limit::SendBuffer]);
}

#[test]
fn processors_have_their_thresholds() {
    let thread = |share, waiting| Some(Thread { all: share, share, waiting: Some(waiting) });
    let busy = around(BUSY_THREAD.get(), |it, edge| it.sender = thread(edge - 0.3, 0.3));
    assert_eq!(busy, ["Steady", "Processor"]);
    let works = around(WORKING_THREAD.get(), |it, edge| it.sender = thread(edge, 0.95));
    assert_eq!(works, ["Steady", "Processor"]);
    let short = around(TICK.get().as_seconds(), |it, edge| {
        (it.seconds, it.busy) = (seconds(edge), seconds(edge));
        (it.sender, it.rtt) = (thread(0.95, 0.0), Some(micros(10)));
    });
    assert_eq!(short, ["Steady", "Processor"]);
    let both = around(BUSY_WITH_BOTH.get(), |it, edge| {
        (it.sending_machine, it.is_one_machine) = (machine(0.5), true);
        (it.sender, it.receiver) = (Some(Thread { all: edge, ..Thread::default() }), it.sender);
        it.receiver = Some(Thread { all: edge, ..Thread::default() });
    });
    assert_eq!(both, ["Steady", "Processor"]);
    let full = around(BUSY_PROCESSORS.get(), |it, edge| {
        (it.sending_machine, it.sender) = (machine(edge), thread(0.1, 0.6));
    });
    assert_eq!(full, ["Steady", "Processor"]);
    let wanting = around(WANTING_THREAD.get(), |it, edge| {
        (it.sending_machine, it.sender) = (machine(1.0), thread(0.1, edge - 0.1));
    });
    assert_eq!(wanting, ["Steady", "Processor"]);
    let interrupted = around(BUSY_INTERRUPTS.get(), |it, edge| {
        let mut machine = machine(0.3).unwrap();
        (machine.busiest_core_share, machine.busiest_core_interrupt_share) = (0.98, edge);
        it.receiving_machine = Some(machine);
    });
    assert_eq!(interrupted, ["Steady", "Processor"]);
    let program = around(PROGRAM_SHARE.get(), |it, edge| it.source_share = Some(edge));
    assert_eq!(program, ["Steady", "SenderIdle"]);
    let sink = around(PROGRAM_SHARE.get(), |it, edge| {
        (it.window_held, it.sink_share) = (seconds(9.7), Some(edge));
    });
    assert_eq!(sink, ["WindowPathRtt", "ReceiverLimited"]);
}

#[test]
fn two_looks_name_processors_by_a_thread_alone() {
    let busy = Thread { all: 0.95, share: 0.95, waiting: None };
    let idle = |it: &mut Facts| it.busy = seconds(1.0);
    assert_eq!(cause(&glance(|it| idle(it))), "SenderIdle");
    assert_eq!(cause(&glance(|it| (idle(it), it.sender = Some(busy)).0)), "Processor");
    // A full machine says nothing of a program that may have nothing to send.
    let full = glance(|it| {
        idle(it);
        it.sending_machine = machine(0.99);
        it.sender = Some(Thread { all: 0.1, share: 0.1, waiting: Some(0.6) });
    });
    assert_eq!(cause(&full), "SenderIdle");
    // Without a path, and with processors to spare, nothing is known.
    let local = |it: &mut Facts| it.is_loopback = true;
    assert_eq!(cause(&glance(local)), "unknown");
    assert_eq!(cause(&glance(|it| (local(it), it.receiver = Some(busy)).0)), "Processor");
}

#[test]
fn a_receiver_is_judged_by_its_own_kernel() {
    let of = |facts: &ReceiverFacts| {
        let parts = judge_receiving(facts);
        let named = parts.all().iter().map(|part| (part.cause(), part.time.as_seconds()));
        named.collect::<Vec<_>>()
    };
    let facts = ReceiverFacts { seconds: seconds(1.0), ..ReceiverFacts::default() };
    assert_eq!(of(&facts), [(Cause::Unknown, 1.0)]);
    let behind = ReceiverFacts { is_behind: true, ..facts };
    assert_eq!(of(&behind), [(Cause::ReceiverLimited, 1.0)]);
    let closed = ReceiverFacts { closed_share: 0.75, ..facts };
    assert_eq!(of(&closed), [(Cause::ReceiverNotReading, 0.75), (Cause::Unknown, 0.25)]);
    let reader = Some(Thread { all: 0.95, share: 0.95, waiting: None });
    let busy = ReceiverFacts { closed_share: 0.5, is_behind: true, reader, ..facts };
    assert_eq!(of(&busy), [(Cause::Processor, 1.0)]);
}

#[test]
fn windows_have_their_thresholds() {
    let of_window = |threshold: f64, change: &dyn Fn(&mut Facts, f64)| {
        around(threshold, |it, edge| {
            it.window_held = seconds(9.7);
            change(it, edge);
        })
    };
    let closed = of_window(CLOSED_WINDOW.get(), &|it, edge| it.closed_share = edge);
    assert_eq!(closed, ["WindowPathRtt", "ReceiverNotReading or NoWindowUpdate"]);
    let mostly = of_window(MOSTLY_CLOSED.get(), &|it, edge| {
        (it.closed_share, it.largest_window) = (edge, Some(Bytes::new(1_000)));
    });
    assert_eq!(mostly, ["WindowBelowMss", "ReceiverNotReading or NoWindowUpdate"]);
    let announced = of_window(ANNOUNCED_OPENINGS.get(), &|it, edge| {
        (it.closed_share, it.window_openings) = (0.9, 1_000);
        it.unprompted_openings = whole_part(edge * 1_000.0);
    });
    assert_eq!(announced, ["ReceiverNotReading or NoWindowUpdate", "ReceiverNotReading"]);
    let probed = [-1, 0].map(|more| {
        of(|it| {
            (it.window_held, it.closed_share) = (seconds(9.7), 0.9);
            it.window_openings = PROBED_OPENINGS.get().saturating_add_signed(more);
        })
    });
    assert_eq!(probed, ["ReceiverNotReading or NoWindowUpdate", "NoWindowUpdate"]);
    let behind = of_window(BEHIND_READER.get(), &|it, edge| it.open_share = Some(edge));
    assert_eq!(behind[1], "ReceiverLimited or WindowPathRtt");
    assert_eq!(behind[0], "ReceiverLimited or NoWindowUpdate");
    let filled = of_window(FILLED_AT_ONCE.get(), &|it, edge| {
        it.open_share = Some(0.5);
        it.flight = size(edge * 60_000.0);
    });
    assert_eq!(filled, ["ReceiverLimited or NoWindowUpdate", "ReceiverLimited"]);
    let at_once = of_window(READ_AT_ONCE.get(), &|it, edge| it.open_share = Some(edge));
    assert_eq!(at_once, ["ReceiverLimited or WindowPathRtt", "WindowPathRtt"]);
    // 10 MB/s in 2.6 ms are 26 kB.
    let fills = around(FILLS_WINDOW.get(), |it, edge| {
        it.window = Some(size(26_000.0 / edge));
    });
    assert_eq!(fills, ["Steady", "WindowPathRtt"]);
    let overfills = around(OVERFILLS_WINDOW.get(), |it, edge| {
        it.window = Some(size(26_000.0 / edge));
    });
    assert_eq!(overfills, ["WindowPathRtt", "Steady"]);
    // In so few segments nothing queues.
    let few = around(QUEUELESS_SEGMENTS.get() as f64, |it, edge| {
        it.window_held = seconds(9.7);
        it.rtt = Some(micros(60_000));
        it.window = Some(size(edge * 1_448.0));
    });
    assert_eq!(few, ["WindowAckLatency", "PathQueue or WindowAckLatency"]);
    // A buffer of more holds no more of them, beside its own bookkeeping.
    let buffered = around(MOSTLY_BUFFERED.get(), |it, edge| {
        (it.rtt, it.rate) = (Some(micros(270_000)), rate(16e3));
        (it.buffer, it.flight) = (Bytes::new(9_000), Bytes::new(4_300));
        it.buffer_held = seconds(edge * 10.0);
    });
    assert_eq!(buffered, ["PathQueue or BufferDelayedAck", "BufferDelayedAck"]);
    let path = around(MOSTLY_PATH.get(), |it, edge| {
        it.window_held = seconds(9.7);
        it.rtt = Some(micros(2_500).scaled(edge));
    });
    assert_eq!(path, ["WindowPathRtt or PathQueue", "PathQueue or WindowAckLatency"]);
    let buffer = around(MOST_OF_IT.get(), |it, edge| {
        (it.buffer, it.window) = (Bytes::new(30_000), None);
        it.congestion_window = size(26_000.0 / edge);
    });
    assert_eq!(buffer, ["BufferPathRtt", "Steady"]);
    let pace = around(KEEPS_PACE.get(), |it, edge| it.pace = Some(rate(10e6 / edge)));
    assert_eq!(pace, ["Steady", "SenderIdle"]);
    let start = around(FEW_ROUND_TRIPS.get(), |it, edge| {
        it.flight = Bytes::new(60_000);
        it.seconds = micros(2_600).scaled(edge);
        it.busy = it.seconds;
    });
    assert_eq!(start, ["SlowStart", "Steady"]);
}

#[test]
fn a_path_has_its_thresholds() {
    let late = around(BEYOND_JITTER.get(), |it, edge| it.rtt = Some(micros(2_500).scaled(edge)));
    assert_eq!(late, ["Steady", "PathQueue"]);
    let delay = around(KERNEL_QUEUE_DELAY.get().as_seconds(), |it, edge| {
        (it.least_rtt, it.rtt) = (Some(micros(100)), Some(micros(100) + seconds(edge)));
        it.window = Some(Bytes::new(1_000_000));
    });
    assert_eq!(delay, ["Steady", "PathQueue"]);
    let loss = around(FREQUENT_LOSS.get(), |it, edge| {
        it.lost = whole_part(edge * 70_000.0);
        it.lost_outside_timeouts = it.lost;
    });
    assert_eq!(loss, ["AfterLoss", "FastRecovery"]);
    let reordered = around(REORDERED.get(), |it, edge| {
        (it.lost, it.retransmissions) = (500, 500);
        it.reorderings = whole_part(edge * 500.0);
    });
    assert_eq!(reordered, ["AfterLoss", "Reordering"]);
    let vain = around(SPURIOUS_REPAIRS.get(), |it, edge| {
        (it.retransmissions, it.reorderings) = (500, 400);
        it.lost = 500 - whole_part(edge * 500.0);
    });
    assert_eq!(vain, ["AfterLoss", "Reordering"]);
    let overtaken = [0, 1]
        .map(|count| of(|it| (it.retransmissions, it.lost, it.reorderings) = (500, 100, count)));
    assert_eq!(overtaken, ["AfterLoss", "Reordering"]);
    // 1,448 B × 1.22 / (20 ms × √p) at p = 0.02 are 0.62 MB/s.
    let law = with(|it| it.least_rtt = Some(micros(20_000))).lossy_rate(0.02).unwrap();
    let beats = around(BEATS_LAW.get(), |it, edge| {
        (it.least_rtt, it.rtt) = (Some(micros(20_000)), Some(micros(21_000)));
        (it.lost, it.lost_outside_timeouts) = (1_400, 1_400);
        it.rate = rate(edge * law.bytes_per_second());
        it.window = None;
    });
    assert_eq!(beats, ["FastRecovery", "AfterLoss"]);
    // At the best rate a short queue loses what finds it full: round trips are longest then.
    let short = |longer: f64, near: f64| {
        of(|it| {
            (it.lost, it.lost_outside_timeouts) = (1_400, 1_400);
            it.loss_rtt = Some(it.rtt.unwrap().scaled(longer));
            let beyond = it.loss_rtt.unwrap() - micros(2_500);
            it.max_rtt = Some(micros(2_500) + beyond.scaled(1.0 / near));
            it.delivery = Some(slices(40, 10e6, 10.4e6));
        })
    };
    let edge = LONGER_AT_LOSS.get();
    assert_eq!([0.99, 1.01].map(|by| short(edge * by, 0.9)), ["FastRecovery", "PathQueue"]);
    let edge = NEAR_LONGEST.get();
    assert_eq!([0.98, 1.02].map(|by| short(1.1, edge * by)), ["FastRecovery", "PathQueue"]);
    // Messages beside it wait as well.
    let waits = around(QUEUED_MESSAGES.get(), |it, edge| {
        (it.lost, it.lost_outside_timeouts) = (1_400, 1_400);
        it.loss_rtt = Some(micros(6_500));
        (it.idle, it.loaded) = messages(2_500, 2_500 + (edge * 4_000.0) as i64);
        it.window = None;
    });
    assert_eq!(waits, ["FastRecovery", "AfterLoss"]);
    let many = around(MANY_LOST.get(), |it, edge| {
        it.lost = whole_part(edge * 70_000.0);
        (it.lost_outside_timeouts, it.loss_rtt) = (it.lost, Some(micros(6_500)));
        (it.idle, it.loaded) = messages(2_500, 2_500);
        it.loaded.as_mut().unwrap().p90 = Some(micros(8_000));
        it.window = None;
    });
    assert_eq!(many, ["AfterLoss", "FastRecovery"]);
    let full = around(MOST_OF_IT.get(), |it, edge| {
        (it.rtt, it.lost) = (Some(micros(20_000)), 1);
        it.delivery = Some(slices(FEW_SLICES.get(), edge * 10e6, 10e6));
        it.window = None;
    });
    assert_eq!(full, ["AfterLoss", "PathQueue"]);
    // Fewer slices tell no usual rate: that of the whole stands for it.
    let few = with(|it| it.delivery = Some(slices(FEW_SLICES.get() - 1, 1e6, 10e6)));
    assert_eq!((few.carried(), few.is_full()), (None, false));
}

#[test]
fn a_policer_has_its_thresholds() {
    let policed = |steady: f64, lost: u64, count: u64| {
        of(|it| {
            (it.lost, it.lost_outside_timeouts) = (lost, lost);
            it.loss_rtt = Some(micros(2_600));
            let delivery = slices(count, 9e6, 10.4e6);
            it.delivery = Some(Delivery {
                p10: Some(rate(steady * 10e6)),
                p90: Some(rate(10e6)),
                ..delivery
            });
        })
    };
    let (least, enough) = (POLICED_SEGMENTS.get(), STEADY_SLICES.get());
    // BBR goes on beside losses at random as it does behind a token bucket.
    let unheeded = around(UNHEEDED_LOSS.get(), |it, edge| {
        it.lost = whole_part(edge * 70_000.0);
        (it.lost_outside_timeouts, it.heeds_loss) = (it.lost, false);
        let delivery = slices(40, 8e6, 10e6);
        it.delivery = Some(Delivery { p10: Some(rate(9e6)), p90: Some(rate(10e6)), ..delivery });
    });
    assert_eq!(unheeded, ["PathQueue", "PathPolicer"]);
    let steady = STEADY_DELIVERY.get();
    let of = |by: f64| policed(steady * by, 300, 40);
    assert_eq!([of(0.99), of(1.01)], ["AfterLoss or PathPolicer", "PathPolicer"]);
    let of = |by: f64| policed(PERHAPS_STEADY_DELIVERY.get() * by, 300, 40);
    assert_eq!([of(0.99), of(1.01)], ["AfterLoss", "AfterLoss or PathPolicer"]);
    assert_eq!(
        [policed(0.9, least - 1, 40), policed(0.9, least, 40)],
        ["AfterLoss", "PathPolicer"]
    );
    assert_eq!(
        [policed(0.9, 300, enough - 1), policed(0.9, 300, enough)],
        ["AfterLoss", "PathPolicer"]
    );
}

#[test]
fn timers_have_their_thresholds() {
    // A cause that is no fault comes after timers that cost part of it.
    let told = around(TOLD_TIMERS.get(), |it, edge| {
        (it.rtt, it.timeout) = (Some(micros(20_000)), seconds(10.0 * edge));
        it.longest_silence = Some(seconds(1.5));
    });
    assert_eq!(told, ["PathQueue", "Timeout"]);
    let silence = |least: Span, base: Span, by: f64| {
        with(|it| {
            (it.least_rtt, it.longest_silence) = (Some(base), Some(least.scaled(by)));
        })
        .outage()
        .is_some()
    };
    let outage = OUTAGE.get();
    assert_eq!([0.99, 1.01].map(|by| silence(outage, micros(2_500), by)), [false, true]);
    let trips = seconds(1.0).scaled(OUTAGE_TRIPS.get());
    assert_eq!([0.99, 1.01].map(|by| silence(trips, seconds(1.0), by)), [false, true]);
    let promised = |by: f64| {
        with(|it| it.delivery = Some(slices(40, 10e6, 10e6 / (NEARLY_BEST.get() * by))))
            .promised_outside_timeouts()
            .is_some()
    };
    assert_eq!([0.99, 1.01].map(promised), [false, true]);
}

#[test]
fn two_looks_leave_more_open() {
    let look = |change: &dyn Fn(&mut Facts)| {
        of(|it| {
            (it.sampling, it.buffer_full) = (Sampling::Twice, Some(0.0));
            (it.unsent, it.best) = (Some(Bytes::new(100_000)), rate(10e6));
            it.congestion_window = Bytes::new(26_000);
            change(it);
        })
    };
    assert_eq!(look(&|_| ()), "Steady");
    let room =
        |by: f64| look(&|it| it.congestion_window = size(26_000.0 / (LEAVES_ROOM.get() * by)));
    assert_eq!([0.99, 1.01].map(room), ["Steady or PathQueue or SenderIdle", "Steady"]);
    assert_eq!(look(&|it| it.heeds_loss = false), "Steady or PathQueue");
    let wrote = |full: f64, clock: f64| {
        look(&|it| {
            it.congestion_window = Bytes::new(100_000);
            (it.unsent, it.buffer_full) = (Some(Bytes::ZERO), Some(full));
            it.buffer_held = seconds(10.0 * clock);
        })
    };
    assert_eq!(wrote(0.0, 0.0), "SenderIdle");
    assert_eq!(wrote(1.0, 0.0), "BufferPathRtt");
    let edge = CLOCKED_BUFFER.get();
    let clocked = [0.99, 1.01].map(|by| wrote(0.5, edge * by));
    assert_eq!(clocked, ["BufferPathRtt or SenderIdle", "BufferPathRtt"]);
}

#[test]
fn confidence_has_its_thresholds() {
    let sure = |change: &dyn Fn(&mut Facts)| verdict(&with(|it| change(it))).confidence;
    let part = |by: f64| {
        sure(&|it| {
            let time = seconds(10.0 * SURE_SHARE.get() * by);
            (it.window_held, it.buffer_held) = (time, seconds(0.5));
            it.window = Some(Bytes::new(26_000));
            it.busy = time + seconds(0.5);
            it.counts_idle = false;
        })
    };
    assert_eq!([0.99, 1.01].map(part), [Confidence::Medium, Confidence::High]);
    let close = |by: f64| {
        sure(&|it| {
            let apart = 10.0 * A_TENTH.get() * by;
            it.window = Some(Bytes::new(26_000));
            it.window_held = seconds(5.0 + apart / 2.0);
            it.buffer_held = seconds(5.0 - apart / 2.0);
        })
    };
    assert_eq!([0.99, 1.01].map(close), [Confidence::Medium, Confidence::High]);
    let few = |by: f64| {
        sure(&|it| {
            it.seconds = micros(2_600).scaled(FEW_ROUND_TRIPS.get() * by);
            (it.busy, it.window_held) = (it.seconds, it.seconds);
            it.window = Some(Bytes::new(26_000));
        })
    };
    assert_eq!([0.99, 1.01].map(few), [Confidence::Medium, Confidence::High]);
}

#[test]
fn what_is_told_has_its_thresholds() {
    let next = |by: f64| {
        verdict(&with(|it| {
            it.window_held = seconds(10.0 - 10.0 * NEXT_SHARE.get() * by);
            it.buffer_held = seconds(10.0);
        }))
        .next
    };
    assert_eq!([0.99, 1.01].map(next), [None, Some(Limit::SendBuffer)]);
    let told = |waiting: f64, other: f64| {
        let verdict = verdict(&with(|it| {
            it.sender = Some(Thread { all: 0.95, share: 0.95, waiting: Some(waiting) });
            it.sending_machine = machine(0.99);
            it.sending_machine.as_mut().unwrap().others[0].share = other;
        }));
        assert_eq!(verdict.cause, Cause::Processor);
        verdict.sentence.to_string()
    };
    let wait = NOTABLE_WAIT.get();
    assert!(!told(wait * 0.99, 1.0).contains("waits"));
    assert!(told(wait * 1.01, 1.0).contains("waits"));
    let least = OTHER_PROGRAMS.get();
    assert!(!told(0.0, least * 0.99).contains("make (811)"));
    assert!(told(0.0, least * 1.01).contains("make (811)"));
    // Nearly all of the time shrinks as all of it does.
    let most = |by: f64| {
        let share = ALL_OF_THE_TIME.get() * by;
        let verdict = verdict(&with(|it| it.window_held = seconds(10.0 * share)));
        verdict.remedies[0].at_most_bytes_per_second.unwrap().bytes_per_second()
    };
    assert!(most(1.01) > 1.2 * most(0.99), "{} {}", most(1.01), most(0.99));
}
