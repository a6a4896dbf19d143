//! A congestion window: it starts, loss cut it, or it is held.

use serde_json::json;

use crate::draw::Draw;
use crate::plan::Plan;
use crate::situation::Situation;

pub(crate) const ALL: &[Situation] = &[
    Situation {
        name: "slow-start",
        truth: "congestion-window/slow-start",
        program: "python",
        plan: slow_start,
    },
    Situation {
        name: "loss-rare",
        truth: "congestion-window/after-loss",
        program: "python",
        plan: loss_rare,
    },
    Situation {
        name: "loss-frequent",
        // One chain: the repair, and the window that the loss before left.
        truth: "@(loss/fast-recovery|congestion-window/after-loss)",
        program: "python",
        plan: loss_frequent,
    },
    Situation {
        name: "loss-heavy",
        truth: "@(loss/@(timeout|fast-recovery)|congestion-window/after-loss)",
        program: "python",
        plan: loss_heavy,
    },
    Situation {
        name: "loss-in-small-window",
        truth: "loss/timeout",
        program: "python",
        plan: loss_in_small_window,
    },
    Situation {
        name: "loss-of-acks",
        truth: "loss/@(ack-loss|timeout)",
        program: "python",
        plan: loss_of_acks,
    },
    Situation { name: "black-hole", truth: "loss/black-hole", program: "python", plan: black_hole },
    Situation {
        name: "cwnd-locked",
        // A buffer that its program refills at once looks the same.
        truth: "@(congestion-window/steady|send-buffer/path-rtt)",
        program: "python",
        plan: cwnd_locked,
    },
    Situation {
        name: "overtaken",
        truth: "congestion-window/reordering",
        program: "python",
        plan: overtaken,
    },
    Situation {
        name: "small-segments",
        truth: "small-segments/*",
        program: "python",
        plan: small_segments,
    },
];

fn bulk(bytes: f64) -> serde_json::Value {
    json!({ "is": "write", "bytes": bytes as u64 })
}

fn slow_start(draw: &mut Draw) -> Plan {
    let rtt = draw.scaled(0.06, 0.35);
    let line = draw.scaled(4e6, 12.5e6);
    let congestion = by_loss(draw);
    let plan = Plan::with(draw, line, rtt, congestion);
    // 10 segments, doubled each round.
    let rounds = draw.between(3.0, 5.6);
    let bytes = (14_480.0 * (rounds.exp2() - 1.0)).min(line * rtt * 0.6);
    plan.sends(bulk(bytes.max(60e3)))
        .receives(json!({ "is": "read" }))
        .must("first_slow_start", 0.6, 1.0)
        .must("lost_data", 0.0, 0.0)
        .must("line_share", 0.0, 0.6)
        .must("window", 0.0, 0.15)
}

/// A congestion control whose window loss alone cuts.
fn by_loss(draw: &mut Draw) -> &'static str {
    if draw.chance(0.6) { "cubic" } else { "reno" }
}

/// A path with random loss that is neither slow nor full.
fn lossy(draw: &mut Draw, least: f64, most: f64, rtt: f64) -> (Plan, f64) {
    let loss = draw.scaled(least, most);
    // Mathis's law: what remains of a line of this rate.
    let expected = 1448.0 / rtt * 1.22 / loss.sqrt();
    let line = (expected * draw.scaled(2.5, 6.0)).clamp(0.3e6, 12.5e6);
    let congestion = by_loss(draw);
    let plan = Plan::with(draw, line, rtt, congestion);
    (plan.link("--AHEAD-loss", format!("{loss:.6}")), expected.min(line))
}

fn loss_rare(draw: &mut Draw) -> Plan {
    let rtt = draw.scaled(0.015, 0.08);
    let (plan, rate) = lossy(draw, 0.0009, 0.004, rtt);
    plan.sends(bulk(rate * draw.between(3.5, 6.0)))
        .receives(json!({ "is": "read" }))
        .must("avoidance", 0.4, 1.0)
        .must("loss_chain", 0.6, 1.0)
        .must("lost_ahead", 2.0, 1e9)
        .must("queue_drops_ahead", 0.0, 0.0)
        .must("repair", 0.0, 0.3)
        .must("line_share", 0.0, 0.7)
        .must("window", 0.0, 0.1)
}

fn loss_frequent(draw: &mut Draw) -> Plan {
    let rtt = draw.scaled(0.01, 0.08);
    let (plan, rate) = lossy(draw, 0.01, 0.035, rtt);
    plan.sends(bulk(rate * draw.between(2.0, 4.0)))
        .receives(json!({ "is": "read" }))
        .must("lost_ahead", 6.0, 1e9)
        .must("loss_ahead", 0.005, 0.06)
        .must("queue_drops_ahead", 0.0, 0.0)
        .must("loss_chain", 0.7, 1.0)
        .must("recovery", 0.08, 1.0)
        .must("timeout", 0.0, 0.3)
        .must("line_share", 0.0, 0.7)
}

fn loss_heavy(draw: &mut Draw) -> Plan {
    let rtt = draw.scaled(0.005, 0.06);
    let (plan, rate) = lossy(draw, 0.06, 0.16, rtt);
    plan.sends(bulk((rate * 0.6 * draw.between(1.5, 3.0)).max(90e3)))
        .receives(json!({ "is": "read" }))
        .must("lost_ahead", 8.0, 1e9)
        .must("queue_drops_ahead", 0.0, 0.0)
        .must("repair", 0.2, 1.0)
        .must("loss_chain", 0.75, 1.0)
        .must("line_share", 0.0, 0.6)
}

/// Few segments in flight whose ACKs are lost: the timer repairs what had arrived.
fn loss_of_acks(draw: &mut Draw) -> Plan {
    let rtt = draw.scaled(0.004, 0.04);
    let clamp = draw.between(1.2, 3.4) * 1448.0;
    let loss = draw.between(0.3, 0.5);
    let plan = Plan::with(draw, draw_line(clamp, rtt), rtt, "cubic");
    let bytes = (clamp / (rtt + 0.2 * loss) * draw.between(2.0, 3.0)).max(80e3);
    plan.link("--BACK-loss", format!("{loss:.4}"))
        .sends(bulk(bytes))
        .receives(json!({ "is": "read", "clamp": clamp as u64 }))
        .must("lost_ahead", 0.0, 0.0)
        .must("lost_data", 0.0, 0.0)
        .must("lost_back", 8.0, 1e9)
        .must("silent", 0.55, 1.0)
        .must("line_share", 0.0, 0.5)
}

/// Too few segments in flight for duplicate ACKs: the timer repairs each loss.
fn loss_in_small_window(draw: &mut Draw) -> Plan {
    let rtt = draw.scaled(0.004, 0.04);
    let clamp = draw.between(1.2, 3.4) * 1448.0;
    let loss = draw.between(0.06, 0.16);
    let plan = Plan::with(draw, draw_line(clamp, rtt), rtt, "cubic");
    let bytes = (clamp / (rtt + 0.5 * loss) * draw.between(2.0, 3.5)).max(80e3);
    plan.link("--AHEAD-loss", format!("{loss:.4}"))
        .sysctl("tcp_early_retrans", 0)
        .sysctl("tcp_recovery", 0)
        .sends(bulk(bytes))
        .receives(json!({ "is": "read", "clamp": clamp as u64 }))
        .must("lost_ahead", 5.0, 1e9)
        .must("lost_back", 0.0, 0.0)
        .must("silent", 0.5, 1.0)
        .must("line_share", 0.0, 0.5)
}

/// Behind the sender's card a link takes no large packets, and its router is not heard. Linux finds a smaller segment by itself after some silences.
fn black_hole(draw: &mut Draw) -> Plan {
    let rtt = draw.scaled(0.004, 0.06);
    let line = draw.scaled(0.5e6, 5e6);
    let mut plan = Plan::with(draw, line, rtt, "cubic");
    let mtu = draw.one(&[1_000, 1_280, 1_400, 1_460]);
    plan.note("hole", mtu);
    plan.sender["card"] = json!(true);
    plan.sender["hole"] = json!(mtu);
    let bytes = line * draw.between(0.1, 0.5);
    plan.sysctl("tcp_mtu_probing", 1)
        .sysctl("tcp_base_mss", 536)
        .upload(true)
        .sends(json!({ "is": "write", "bytes": bytes.max(60e3) as u64, "unheard_routers": true, "first": 400 }))
        .receives(json!({ "is": "read" }))
        .must("silent", 0.6, 1.0)
        .must("lost_ahead", 0.0, 0.0)
        .must("queue_drops_ahead", 0.0, 0.0)
        .must("lost_data", 0.001, 1.0)
}

fn draw_line(window: f64, rtt: f64) -> f64 {
    (window / rtt * 4.0).clamp(0.4e6, 12.5e6)
}

/// The route holds the congestion window.
fn cwnd_locked(draw: &mut Draw) -> Plan {
    let rtt = draw.scaled(0.01, 0.1);
    let segments = draw.whole(4, 40);
    let rate = segments as f64 * 1448.0 / rtt;
    let line = (rate * draw.scaled(3.0, 8.0)).clamp(0.3e6, 12.5e6);
    let congestion = by_loss(draw);
    let mut plan = Plan::with(draw, line, rtt, congestion);
    plan.note("locked", segments);
    plan.sender["route"] = json!(format!("cwnd lock {segments} initcwnd {}", segments.min(10)));
    (plan.sender["warm"], plan.receiver["warm"]) = (json!(1), json!(1));
    let bytes = rate * draw.between(1.5, 4.0).max(25.0 * rtt);
    plan.sends(bulk(bytes))
        .receives(json!({ "is": "read" }))
        .must("rate", 0.75 * rate, 1.05 * rate)
        .must("mean_cwnd", 0.0, segments as f64 + 0.5)
        .must("cwnd", 0.7, 1.0)
        .must("lost_data", 0.0, 0.0)
        .must("line_share", 0.0, 0.6)
}

fn overtaken(draw: &mut Draw) -> Plan {
    let rtt = draw.scaled(0.015, 0.08);
    let line = draw.scaled(6e6, 12.5e6);
    let congestion = by_loss(draw);
    let plan = Plan::with(draw, line, rtt, congestion);
    let share = draw.scaled(0.01, 0.08);
    let by = rtt * draw.between(0.5, 1.5);
    // Linux learns to bear overtaking by its undone repairs, unless it is told not to.
    plan.link("--AHEAD-reorder", format!("{share:.5}"))
        .link("--reorder-by", format!("{:.0}us", by * 1e6))
        .sysctl("tcp_recovery", 0)
        .sysctl("tcp_max_reordering", 3)
        .sends(bulk(line * draw.between(0.2, 0.8)))
        .receives(json!({ "is": "read" }))
        .must("reordered_ahead", 10.0, 1e9)
        .must("lost_data", -0.001, 0.0005)
        .must("dsack", 5.0, 1e9)
        .must("line_share", 0.0, 0.75)
}

fn small_segments(draw: &mut Draw) -> Plan {
    let rtt = draw.scaled(0.03, 0.12);
    let write = draw.whole(150, 640);
    let congestion = by_loss(draw);
    let line = draw.scaled(8e6, 12.5e6);
    let plan = Plan::with(draw, line, rtt, congestion);
    let bytes = write as f64 * draw.between(2_000.0, 7_000.0);
    plan.sends(json!({
        "is": "write", "bytes": bytes as u64, "write": write, "eor": true, "nodelay": 1,
    }))
    .receives(json!({ "is": "read" }))
    .must("mean_segment", 0.0, 700.0)
    // A program may be too slow for its small writes, and a receiver runs short of memory.
    .must("cwnd", 0.6, 1.0)
    .must("window", 0.0, 0.15)
    .must("lost_data", 0.0, 0.001)
    .must("line_share", 0.0, 0.6)
    .must("asleep", 0.0, 0.05)
}
