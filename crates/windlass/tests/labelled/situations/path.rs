//! A path that carries all it can.

use serde_json::json;

use crate::draw::Draw;
use crate::plan::Plan;
use crate::situation::Situation;

const fn queue(name: &'static str, plan: fn(&mut Draw) -> Plan) -> Situation {
    Situation { name, truth: "path-capacity/queue", program: "python", plan }
}

pub(crate) const ALL: &[Situation] = &[
    queue("queue-deep", queue_deep),
    queue("queue-shallow", queue_shallow),
    queue("queue-shared", queue_shared),
    queue("queue-half-duplex", half_duplex),
    queue("queue-fading", fading),
    Situation {
        name: "queue-shaper-at-sender",
        // It lets go a full segment at a time, as a program may write.
        truth: "@(path-capacity/queue|application/sender-idle)",
        program: "python",
        plan: shaper,
    },
    Situation { name: "policer", truth: "path-capacity/policer", program: "python", plan: policer },
    Situation { name: "marks", truth: "path-capacity/marks", program: "python", plan: marks },
];

fn bulk(bytes: f64) -> serde_json::Value {
    json!({ "is": "write", "bytes": bytes as u64 })
}

/// A bulk transfer over a line with a queue of so many bandwidth-delay products.
fn over_queue(draw: &mut Draw, least: f64, most: f64) -> Plan {
    let line = draw.scaled(0.15e6, 7e6);
    let rtt = draw.scaled(0.002, 0.06);
    let plan = Plan::new(draw, line, rtt);
    let queue = (line * rtt * draw.scaled(least, most)).clamp(20e3, 1.5e6);
    plan.queue(queue).sends(bulk(line * draw.between(2.0, 4.5))).receives(json!({ "is": "read" }))
}

fn queue_deep(draw: &mut Draw) -> Plan {
    over_queue(draw, 2.0, 10.0)
        .must("line_share", 0.88, 1.2)
        .must("waited_ahead", 0.004, 10.0)
        .must("window", 0.0, 0.9)
}

fn queue_shallow(draw: &mut Draw) -> Plan {
    over_queue(draw, 0.7, 1.5)
        .must("line_share", 0.9, 1.2)
        .must("queue_drops_ahead", 3.0, 1e9)
        .must("waited_ahead", 0.001, 10.0)
}

/// Another flow has a part of the line.
fn queue_shared(draw: &mut Draw) -> Plan {
    let line = draw.scaled(0.4e6, 6e6);
    let rtt = draw.scaled(0.004, 0.05);
    let mut plan = Plan::with(draw, line, rtt, "cubic");
    let queue = (line * rtt * draw.scaled(1.0, 4.0)).clamp(30e3, 1e6);
    plan.sender["cross"] = json!("write");
    plan.receiver["cross"] = json!("read");
    plan.queue(queue)
        .sends(bulk(line * draw.between(1.0, 2.0)))
        .receives(json!({ "is": "read" }))
        .must("line_share", 0.9, 3.0)
        .must("waited_ahead", 0.002, 10.0)
}

fn half_duplex(draw: &mut Draw) -> Plan {
    let line = draw.scaled(0.5e6, 8e6);
    let rtt = draw.scaled(0.002, 0.03);
    let access = draw.scaled(30e-6, 600e-6);
    let plan = Plan::new(draw, line, rtt);
    let queue = (line * rtt * draw.scaled(1.5, 6.0)).clamp(40e3, 1e6);
    // Each packet waits for the medium, and so do the ACKs.
    let packet = 1500.0 / line + access;
    let ack = (52.0 / line + access) / 2.0;
    let carries = 1500.0 / (packet + ack);
    plan.queue(queue)
        .link("--half-duplex", format!("{:.0}us", access * 1e6))
        .sends(bulk(carries * draw.between(1.5, 3.5)))
        .receives(json!({ "is": "read" }))
        .must("rate", 0.75 * carries, 1.6 * carries)
        .must("waited_ahead", 0.004, 10.0)
}

/// A line whose rate varies.
fn fading(draw: &mut Draw) -> Plan {
    let line = draw.scaled(1e6, 8e6);
    let least = line / draw.scaled(1.5, 5.0);
    let rtt = draw.scaled(0.002, 0.03);
    let every = draw.scaled(0.05, 0.4);
    let plan = Plan::new(draw, line, rtt);
    let queue = (line * rtt * draw.scaled(2.0, 8.0)).clamp(60e3, 1.5e6);
    plan.queue(queue)
        .link("--fade-to", format!("{:.0}bps", least * 8.0))
        .link("--fade-every", format!("{:.0}ms", every * 1e3))
        .sends(bulk(least * draw.between(3.0, 6.0)))
        .receives(json!({ "is": "read" }))
        .must("rate", 0.9 * least, line)
        .must("busy_ahead", 0.8, 1.3)
        .must("waited_ahead", 0.004, 10.0)
}

/// A token bucket of the sending host, before the capture.
fn shaper(draw: &mut Draw) -> Plan {
    let rate = draw.scaled(0.15e6, 4e6);
    let rtt = draw.scaled(0.002, 0.06);
    let line = (rate * draw.scaled(2.5, 6.0)).clamp(0.5e6, 12.5e6);
    let mut plan = Plan::with(draw, line, rtt, "cubic");
    let queue = (rate * rtt * draw.scaled(1.5, 5.0)).clamp(30e3, 600e3);
    let shape = format!("rate {:.0}bit burst 3200 limit {queue:.0}", rate * 8.0);
    plan.note("tbf", shape.replace(' ', ","));
    plan.sender["shaper"] = json!(shape);
    plan.sender["offload"] = json!(false);
    plan.sends(bulk(rate * draw.between(2.0, 4.0)))
        .receives(json!({ "is": "read" }))
        .must("rate", 0.85 * rate, 1.03 * rate)
        .must("line_share", 0.0, 0.6)
}

fn policer(draw: &mut Draw) -> Plan {
    let rate = draw.scaled(0.2e6, 4e6);
    let rtt = draw.scaled(0.005, 0.06);
    let line = (rate * draw.scaled(2.0, 6.0)).clamp(0.8e6, 12.5e6);
    let plan = Plan::new(draw, line, rtt);
    let burst = (rate * rtt * draw.scaled(0.5, 3.0)).clamp(10e3, 300e3);
    plan.link("--policer", format!("{:.0}bps", rate * 8.0))
        .link("--burst", format!("{burst:.0}"))
        .queue((line * rtt * 3.0).max(200e3))
        .sends(bulk(rate * draw.between(2.5, 5.0)))
        .receives(json!({ "is": "read" }))
        .must("policed_ahead", 12.0, 1e9)
        .must("queue_drops_ahead", 0.0, 0.0)
        .must("rate", 0.6 * rate, 1.15 * rate)
        .must("line_share", 0.0, 0.75)
}

fn marks(draw: &mut Draw) -> Plan {
    let line = draw.scaled(0.4e6, 8e6);
    let rtt = draw.scaled(0.005, 0.06);
    let congestion = if draw.chance(0.6) { "cubic" } else { "reno" };
    let plan = Plan::with(draw, line, rtt, congestion).sysctl("tcp_ecn", 1);
    let mark = draw.scaled(0.002, 0.015).max(2.0 * 1500.0 / line);
    plan.link("--mark", format!("{:.0}us", mark * 1e6))
        .queue((line * (rtt + 0.1) * 4.0).max(200e3))
        .sends(bulk(line * draw.between(2.5, 4.5)))
        .receives(json!({ "is": "read" }))
        .must("marked_ahead", 5.0, 1e9)
        .must("queue_drops_ahead", 0.0, 0.0)
        .must("marked", 3.0, 1e9)
        // A line that its marks keep full is what limits the transfer.
        .must("line_share", 0.15, 0.95)
}
