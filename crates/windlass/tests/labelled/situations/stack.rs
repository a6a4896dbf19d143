//! Linux and a small stack, as devices have.

use serde_json::json;

use crate::draw::Draw;
use crate::plan::Plan;
use crate::situation::Situation;

const fn of(name: &'static str, truth: &'static str, plan: fn(&mut Draw) -> Plan) -> Situation {
    Situation { name, truth, program: "python", plan }
}

pub(crate) const ALL: &[Situation] = &[
    of("stack-window", "receiver-window/path-rtt", window),
    of("stack-acks-late", "receiver-window/ack-latency", acks_late),
    of("stack-window-below-mss", "receiver-window/window-below-mss", below_mss),
    of("stack-reader-rate", "@(application/receiver-limited|zero-window/*)", reader_rate),
    of("stack-reader-stops", "zero-window/@(receiver-not-reading|window-opens-late)", stops),
    of("stack-silent-updates", "zero-window/no-window-update", silent_updates),
    of("stack-discards", "loss/receiver-discards", discards),
    of("stack-level-flight", "@(send-buffer/path-rtt|congestion-window/steady)", level_flight),
    of("stack-one-segment", "send-buffer/delayed-ack", one_segment),
    of("stack-fast-timer", "loss/fast-timer", fast_timer),
    of("stack-slow-timer", "loss/@(slow-timer|timeout)", slow_timer),
    of("stack-writer", "application/sender-idle", writer),
];

/// A path without jitter to a stack that has no timestamps.
fn path(draw: &mut Draw, rate: f64, rtt: f64) -> Plan {
    let line = (rate * draw.scaled(3.0, 12.0)).clamp(0.3e6, 12.5e6);
    Plan::with(draw, line, rtt, "cubic").sysctl("tcp_timestamps", 0)
}

/// Linux sends to the stack.
fn to_stack(plan: Plan, bytes: f64, settings: &serde_json::Value) -> Plan {
    plan.against_stack(settings).sends(json!({ "is": "write", "bytes": bytes as u64 }))
}

/// The stack sends to Linux.
fn from_stack(plan: Plan, settings: &serde_json::Value) -> Plan {
    plan.against_stack(settings).receives(json!({ "is": "read" }))
}

fn window(draw: &mut Draw) -> Plan {
    let mss = draw.one(&[1460, 1460, 1024, 536]);
    let window = (f64::from(mss) * draw.scaled(2.0, 16.0)).floor();
    let rtt = draw.scaled(0.006, 0.08);
    let rate = window / rtt;
    let plan = path(draw, rate, rtt);
    to_stack(plan, rate * draw.between(1.5, 3.5), &json!({ "window": window, "mss": mss }))
        .must("window", 0.7, 1.0)
        .must("withheld", 0.0, 0.1)
        .must("lost_data", 0.0, 0.001)
        .must("rate", 0.6 * rate, 1.05 * rate)
}

fn acks_late(draw: &mut Draw) -> Plan {
    let mss = 1460.0;
    let window = (mss * draw.scaled(1.0, 8.0)).floor();
    let late = draw.scaled(0.02, 0.18);
    let rtt = (late * draw.scaled(0.02, 0.3)).max(0.001);
    let rate = window / (rtt + late);
    let plan = path(draw, rate, rtt);
    let bytes = (rate * draw.between(2.0, 4.0)).max(60e3).min(rate * 8.0);
    to_stack(plan, bytes, &json!({ "window": window, "ack_late": late }))
        .must("window", 0.6, 1.0)
        .must("withheld", 0.6, 1.0)
        .must("lost_data", -0.2, 0.001)
        .must("line_share", 0.0, 0.6)
}

fn below_mss(draw: &mut Draw) -> Plan {
    let window = draw.between(250.0, 1_300.0).floor();
    let rtt = draw.scaled(0.003, 0.05);
    let rate = window / rtt;
    let plan = path(draw, rate, rtt);
    let bytes = (rate * draw.between(1.5, 3.0)).max(60.0 * window);
    to_stack(plan, bytes, &json!({ "window": window }))
        .must("largest_window", 100.0, 1_459.0)
        .must("withheld", 0.0, 0.1)
        .must("lost_data", 0.0, 0.001)
        .must("line_share", 0.0, 0.6)
        .must("rate", 0.3 * rate, 1.05 * rate)
}

fn reader_rate(draw: &mut Draw) -> Plan {
    let rate = draw.scaled(30e3, 0.6e6);
    let window = (1460.0 * draw.scaled(3.0, 20.0)).floor();
    let rtt = draw.scaled(0.002, 0.03).min(window / rate / 4.0);
    let plan = path(draw, rate, rtt);
    let bytes = window + rate * draw.between(2.5, 4.5);
    to_stack(plan, bytes, &json!({ "window": window, "read_rate": rate }))
        .must("rate", 0.75 * rate, 1.35 * rate)
        .must("lost_data", -0.1, 0.01)
        .must("line_share", 0.0, 0.6)
}

fn stops(draw: &mut Draw) -> Plan {
    let window = (1460.0 * draw.scaled(2.0, 20.0)).floor();
    let rtt = draw.scaled(0.002, 0.03);
    let every = window * draw.between(4.0, 12.0);
    let stop = draw.between(0.4, 1.2);
    let plan = path(draw, window / rtt, rtt);
    let settings = json!({ "window": window, "stop_every": every, "stop": stop });
    to_stack(plan, every * draw.between(2.4, 4.4), &settings).must("zero_window", 0.5, 1.0).must(
        "lost_data",
        -0.1,
        0.02,
    )
}

fn silent_updates(draw: &mut Draw) -> Plan {
    let window = (1460.0 * draw.whole(2, 12) as f64).floor();
    let rtt = draw.scaled(0.002, 0.03);
    let every = window * draw.between(3.0, 8.0);
    let stop = draw.between(0.02, 0.15);
    let plan = path(draw, window / rtt, rtt);
    let settings = json!({
        "window": window, "stop_every": every, "stop": stop, "silent_updates": true,
    });
    to_stack(plan, every * draw.between(4.4, 9.4), &settings).must("zero_window", 0.5, 1.0).must(
        "lost_data",
        -0.1,
        0.02,
    )
}

fn discards(draw: &mut Draw) -> Plan {
    let window = (1460.0 * draw.scaled(8.0, 40.0)).min(60e3).floor();
    let rtt = draw.scaled(0.005, 0.05);
    let loss = draw.scaled(0.006, 0.03);
    let rate = f64::min(window / rtt, 1460.0 / rtt * 1.2 / f64::sqrt(loss));
    let plan = path(draw, rate, rtt).link("--AHEAD-loss", format!("{loss:.5}"));
    to_stack(plan, rate * draw.between(0.5, 1.2), &json!({ "window": window, "discards": true }))
        .must("lost_ahead", 4.0, 1e9)
        .must("queue_drops_ahead", 0.0, 0.0)
        .must("repair", 0.35, 1.0)
        // More is sent again than was lost.
        .must("resent", 1.6 * loss, 1.0)
        .must("line_share", 0.0, 0.7)
}

fn level_flight(draw: &mut Draw) -> Plan {
    let flight = (1460.0 * draw.scaled(2.0, 30.0)).floor();
    let rtt = draw.scaled(0.008, 0.1);
    let rate = flight / rtt;
    let plan = path(draw, rate, rtt);
    let settings = json!({
        "bytes": (rate * draw.between(1.5, 3.5)) as u64, "flight": flight, "fast_repair": true,
    });
    from_stack(plan, &settings)
        .must("rate", 0.6 * rate, 1.05 * rate)
        .must("resent", 0.0, 0.0)
        .must("withheld", 0.0, 0.2)
        .must("flight_spread", 0.9, 3.0)
}

/// Linux withholds the ACK of a lone segment without PSH, and nothing more is sent until it comes.
fn one_segment(draw: &mut Draw) -> Plan {
    let rtt = draw.scaled(0.002, 0.02);
    let segments = draw.one(&[1.0, 1.0, 3.0]);
    let rate = segments * 1460.0 / (rtt + 0.04);
    let plan = path(draw, rate * 4.0, rtt);
    let bytes = (rate * draw.between(2.0, 4.0)).max(60.0 * 1460.0);
    let settings = json!({ "bytes": bytes as u64, "flight": segments * 1460.0, "unpushed": true });
    // While its window grows, Linux acknowledges each segment at once.
    plan.against_stack(&settings)
        .receives(json!({ "is": "read", "rcvbuf": 12_000 }))
        .must("withheld", 0.6, 1.0)
        .must("resent", 0.0, 0.0)
        .must("line_share", 0.0, 0.5)
        .must("rate", 0.7 * rate, 1.6 * rate)
}

/// Each flight is sent again before its ACKs can have come, and its window is cut.
fn fast_timer(draw: &mut Draw) -> Plan {
    let flight = (1460.0 * draw.scaled(4.0, 16.0)).floor();
    let rtt = draw.scaled(0.04, 0.2);
    let timer = rtt * draw.between(0.5, 0.85);
    let rate = flight / rtt;
    let plan = path(draw, rate, rtt);
    let bytes = (1460.0 / rtt * draw.between(2.0, 4.0)).max(50.0 * 1460.0);
    let settings = json!({
        "bytes": bytes as u64, "flight": flight, "timer": timer, "cuts": true,
    });
    from_stack(plan, &settings)
        .must("lost_ahead", 0.0, 0.0)
        .must("queue_drops_ahead", 0.0, 0.0)
        .must("lost_data", 0.0, 0.0)
        .must("resent", 0.05, 3.0)
        .must("rate", 0.0, 0.6 * rate)
        .must("line_share", 0.0, 0.7)
}

fn slow_timer(draw: &mut Draw) -> Plan {
    let flight = (1460.0 * draw.scaled(2.0, 8.0)).floor();
    let rtt = draw.scaled(0.003, 0.04);
    let loss = draw.scaled(0.008, 0.04);
    let timer = draw.between(0.8, 1.6);
    let plan = path(draw, flight / rtt, rtt).link("--AHEAD-loss", format!("{loss:.5}"));
    let bytes = (1460.0 / loss * draw.between(2.5, 4.5)).min(flight / rtt * 5.0);
    let settings = json!({ "bytes": bytes as u64, "flight": flight, "timer": timer });
    from_stack(plan, &settings)
        .must("lost_ahead", 2.0, 1e9)
        .must("queue_drops_ahead", 0.0, 0.0)
        .must("silent", 0.6, 1.0)
}

fn writer(draw: &mut Draw) -> Plan {
    let rate = draw.scaled(30e3, 0.8e6);
    let rtt = draw.scaled(0.002, 0.05);
    let plan = path(draw, rate, rtt);
    let piece = draw.one(&[1460, 1460, 1024, 512]);
    let settings = json!({
        "bytes": (rate * draw.between(1.5, 3.5)) as u64, "flight": 60_000, "pace": rate,
        "piece": piece,
    });
    from_stack(plan, &settings)
        .must("rate", 0.85 * rate, 1.1 * rate)
        .must("resent", 0.0, 0.0)
        .must("top_flight", 0.0, 45_000.0)
        .must("line_share", 0.0, 0.7)
}
