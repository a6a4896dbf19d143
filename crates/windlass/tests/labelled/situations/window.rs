//! A window, a buffer, or Nagle's algorithm.

use serde_json::json;

use crate::draw::Draw;
use crate::plan::Plan;
use crate::situation::Situation;

const fn window(name: &'static str, plan: fn(&mut Draw) -> Plan) -> Situation {
    Situation { name, truth: "receiver-window/path-rtt", program: "python", plan }
}

pub(crate) const ALL: &[Situation] = &[
    window("window-buffer", window_buffer),
    window("window-clamp", window_clamp),
    window("window-unscaled", window_unscaled),
    Situation {
        name: "send-buffer",
        truth: "send-buffer/path-rtt",
        program: "python",
        plan: send_buffer,
    },
    Situation {
        name: "nagle-pieces",
        truth: "nagle-delayed-ack/*",
        program: "python",
        plan: nagle_pieces,
    },
];

/// The label of a transfer that the advertised window holds.
fn held_by_window(plan: Plan) -> Plan {
    plan.must("window", 0.5, 1.0)
        .must("cwnd", 0.0, 0.25)
        .must("nothing_unsent", 0.0, 0.25)
        .must("unread", 0.0, 0.25)
        .must("lost_data", 0.0, 0.001)
        .must("line_share", 0.0, 0.75)
}

/// A path over which this window brings a part of the line.
fn narrow(draw: &mut Draw, window: f64, rtt: f64) -> Plan {
    let line = (window / rtt * draw.scaled(2.0, 10.0)).clamp(0.2e6, 12.5e6);
    Plan::new(draw, line, rtt)
}

fn window_buffer(draw: &mut Draw) -> Plan {
    // Half of what is asked for is advertised, or a little more.
    let buffer = draw.scaled(12e3, 130e3);
    let rtt = draw.scaled(0.008, 0.15);
    let plan = narrow(draw, buffer, rtt);
    let rate = buffer / rtt;
    let bytes = rate * draw.between(1.5, 4.0).max(25.0 * rtt);
    held_by_window(
        plan.sends(json!({ "is": "write", "bytes": bytes as u64 }))
            .receives(json!({ "is": "read", "rcvbuf": buffer as u64 }))
            .must("rate", 0.4 * rate, 2.2 * rate),
    )
}

fn window_clamp(draw: &mut Draw) -> Plan {
    let clamp = draw.scaled(5e3, 120e3);
    let rtt = draw.scaled(0.008, 0.15);
    let plan = narrow(draw, clamp, rtt);
    let rate = clamp / rtt;
    let bytes = rate * draw.between(1.5, 4.0).max(25.0 * rtt);
    held_by_window(
        plan.sends(json!({ "is": "write", "bytes": bytes as u64 }))
            .receives(json!({ "is": "read", "clamp": clamp as u64 }))
            .must("rate", 0.5 * rate, 1.3 * rate),
    )
}

fn window_unscaled(draw: &mut Draw) -> Plan {
    let rtt = draw.scaled(0.02, 0.25);
    let plan = narrow(draw, 65_535.0, rtt).sysctl("tcp_window_scaling", 0);
    let rate = 65_535.0 / rtt;
    let bytes = rate * draw.between(1.5, 4.0).max(25.0 * rtt);
    held_by_window(
        plan.sends(json!({ "is": "write", "bytes": bytes as u64 }))
            .receives(json!({ "is": "read" }))
            .must("rate", 0.55 * rate, 1.05 * rate)
            .must("largest_window", 30_000.0, 65_535.0),
    )
}

/// The kernel books a segment as larger than its data, so the buffer holds less than its size.
fn send_buffer(draw: &mut Draw) -> Plan {
    let buffer = draw.scaled(10e3, 100e3);
    let rtt = draw.scaled(0.01, 0.12);
    let rate = buffer / rtt;
    let line = (rate * draw.scaled(3.0, 10.0)).clamp(0.3e6, 12.5e6);
    let mut plan = Plan::new(draw, line, rtt);
    let packet = draw.one(&[1, 1, 2, 4]);
    plan.note("gso", packet);
    plan.sender["gso"] = json!(packet);
    let bytes = rate * draw.between(1.5, 4.0).max(25.0 * rtt);
    let write = draw.one(&[4_096, 16_384, 65_536]);
    plan.sends(
        json!({ "is": "write", "bytes": bytes as u64, "sndbuf": buffer as u64, "write": write }),
    )
    .receives(json!({ "is": "read" }))
    .must("blocked", 0.7, 1.0)
    .must("cwnd", 0.0, 0.12)
    .must("window", 0.0, 0.05)
    .must("cwnd_used", 0.0, 0.2)
    .must("other", 0.0, 0.25)
    .must("lost_data", 0.0, 0.001)
    .must("line_share", 0.0, 0.7)
}

/// A message in two writes, of which the second waits for the first one's delayed ACK.
fn nagle_pieces(draw: &mut Draw) -> Plan {
    let rtt = draw.scaled(0.001, 0.01);
    let line = draw.scaled(1e6, 12.5e6);
    let plan = Plan::new(draw, line, rtt);
    let block = draw.whole(500, 6_000) as f64;
    let head = (block * draw.between(0.1, 0.4)).floor();
    let count = draw.whole(40, 80) as f64;
    let sends = json!({
        "is": "blocks", "bytes": (block * count) as u64, "block": block as u64,
        "head": head as u64, "answer": 20,
    });
    plan.sends(sends)
        .receives(json!({ "is": "answers", "block": block as u64, "answer": 20 }))
        .must("tail", 0.4, 1.0)
        // The least delay of an ACK, each time.
        .must("seconds", 0.03 * count, 14.0)
        .must("line_share", 0.0, 0.3)
        .must("lost_data", 0.0, 0.001)
}
