//! A sending program that has nothing to send for most of the time.

use serde_json::json;

use crate::draw::Draw;
use crate::plan::{Plan, SEGMENT};
use crate::situation::Situation;

const fn idle(name: &'static str, plan: fn(&mut Draw) -> Plan) -> Situation {
    Situation { name, truth: "application/sender-idle", program: "python", plan }
}

pub(crate) const ALL: &[Situation] = &[
    idle("writer-rate", writer_rate),
    idle("writer-full-steps", |draw| steps(draw, Step::Full)),
    idle("writer-odd-steps", |draw| steps(draw, Step::Odd)),
    idle("writer-one-segment", |draw| steps(draw, Step::One)),
    idle("writer-bursts", writer_bursts),
    idle("writer-thinks", writer_thinks),
    idle("writer-in-step", writer_in_step),
    Situation {
        name: "writer-paced-by-kernel",
        // The pace is the sending host's: no packet tells it from a line's.
        truth: "@(application/sender-idle|path-capacity/queue)",
        program: "python",
        plan: paced_by_kernel,
    },
];

/// A path on which a program of this rate is never held back.
fn ample(draw: &mut Draw, rate: f64) -> Plan {
    let line = (rate * draw.scaled(2.5, 12.0)).min(12.5e6).max(rate * 2.0);
    let rtt = draw.scaled(0.001, 0.12);
    Plan::new(draw, line, rtt)
}

/// The label of a program that keeps its pace.
fn keeps_pace(plan: Plan, rate: f64) -> Plan {
    plan.must("rate", 0.85 * rate, 1.15 * rate)
        .must("nothing_unsent", 0.8, 1.0)
        .must("asleep", 0.6, 1.0)
        .must("lost_data", 0.0, 0.002)
        .must("line_share", 0.0, 0.65)
        .must("window", 0.0, 0.1)
}

fn seconds(draw: &mut Draw) -> f64 {
    draw.between(1.5, 4.5)
}

fn writer_rate(draw: &mut Draw) -> Plan {
    let rate = draw.scaled(60e3, 3e6);
    let plan = ample(draw, rate);
    let write = draw.one(&[1_000.0, 4_096.0, 8_192.0, 16_384.0, 32_768.0]);
    let write = f64::min(write, rate * 0.1);
    let bytes = (rate * seconds(draw)).max(40.0 * SEGMENT);
    let nodelay = u8::from(draw.chance(0.5));
    let role = json!({
        "is": "write", "bytes": bytes as u64, "write": write as u64, "rate": rate, "nodelay": nodelay,
    });
    keeps_pace(plan.sends(role).receives(json!({ "is": "read" })), rate)
}

#[derive(Clone, Copy)]
enum Step {
    Full,
    Odd,
    One,
}

/// Writes of one size by the clock.
fn steps(draw: &mut Draw, step: Step) -> Plan {
    let every = match step {
        Step::One => draw.scaled(0.003, 0.06),
        _ => draw.scaled(0.006, 0.2),
    };
    let segments = draw.whole(2, 9) as f64;
    let plan_rate = 12.0 * SEGMENT / every;
    let plan = ample(draw, plan_rate.min(4e6));
    let has_stamps = plan.sender["sysctl"]["tcp_timestamps"] == 1;
    let segment = if has_stamps { 1448.0 } else { 1460.0 };
    let size = match step {
        Step::Full => segments * segment,
        Step::Odd => draw.scaled(700.0, 14_000.0).floor(),
        Step::One => segment,
    };
    let rate = size / every;
    let bytes = (rate * seconds(draw)).max(40.0 * SEGMENT);
    let role = json!({
        "is": "write", "bytes": bytes as u64, "write": size as u64, "burst": size as u64,
        "pause": every, "beat": true, "nodelay": u8::from(draw.chance(0.6)),
    });
    keeps_pace(plan.sends(role).receives(json!({ "is": "read" })), rate)
}

/// Bursts with pauses that vary.
fn writer_bursts(draw: &mut Draw) -> Plan {
    let burst = draw.scaled(15e3, 150e3);
    let pause = draw.scaled(0.08, 0.6);
    let line = (burst / pause * draw.scaled(6.0, 20.0)).clamp(0.3e6, 12.5e6);
    let rtt = draw.scaled(0.001, pause / 12.0);
    let plan = Plan::new(draw, line, rtt);
    let count = (seconds(draw) / pause).ceil().max(6.0);
    let write = draw.one(&[1_400.0, 4_096.0, 16_384.0, 65_536.0]);
    let role = json!({
        "is": "write", "bytes": (burst * count) as u64, "write": write as u64,
        "burst": burst as u64, "pause": pause, "spread": draw.between(0.0, 0.6),
        "seed": draw.whole(1, 1 << 30),
    });
    plan.sends(role)
        .receives(json!({ "is": "read" }))
        .must("asleep", 0.7, 1.0)
        .must("nothing_unsent", 0.75, 1.0)
        .must("lost_data", 0.0, 0.004)
        .must("line_share", 0.0, 0.4)
}

/// Files with thought between them.
fn writer_thinks(draw: &mut Draw) -> Plan {
    let file = draw.scaled(60e3, 1.2e6);
    let line = draw.scaled(2e6, 12.5e6);
    let rtt = draw.scaled(0.001, 0.04);
    let plan = Plan::new(draw, line, rtt);
    // Slow start takes some round trips, and after a pause it begins anew.
    let takes = file / line + 6.0 * rtt;
    let pause = (takes * draw.between(3.0, 6.0)).max(0.15);
    let count = (5.0 / (pause + takes)).floor().clamp(2.0, 8.0);
    let role = json!({
        "is": "write", "bytes": (file * count) as u64, "write": 32_768,
        "burst": file as u64, "pause": pause, "spread": draw.between(0.0, 0.4),
        "seed": draw.whole(1, 1 << 30),
    });
    plan.sends(role)
        .receives(json!({ "is": "read" }))
        .must("asleep", 0.6, 1.0)
        .must("idle_gaps", 0.6, 1.0)
        .must("lost_data", 0.0, 0.02)
        .must("line_share", 0.0, 0.35)
}

/// Writes when the host tells that there is room, which the program looks up seldom.
fn writer_in_step(draw: &mut Draw) -> Plan {
    let rtt = draw.scaled(0.003, 0.05);
    let poll = rtt * draw.between(1.3, 4.0);
    let outstanding = draw.whole(4, 40) as f64 * SEGMENT;
    let rate = outstanding / (rtt + poll / 2.0);
    let line = (rate * draw.scaled(4.0, 10.0)).clamp(0.5e6, 12.5e6);
    let plan = Plan::new(draw, line, rtt);
    let role = json!({
        "is": "write", "bytes": (rate * 2.5) as u64, "write": (outstanding / 2.0) as u64,
        "outstanding": outstanding as u64, "poll": poll, "nodelay": 1,
    });
    plan.sends(role)
        .receives(json!({ "is": "read" }))
        .must("asleep", 0.7, 1.0)
        .must("nothing_unsent", 0.7, 1.0)
        .must("lost_data", 0.0, 0.002)
        .must("line_share", 0.0, 0.5)
        .must("idle_gaps", 0.35, 1.0)
}

/// The kernel paces for the program.
fn paced_by_kernel(draw: &mut Draw) -> Plan {
    let rate = draw.scaled(80e3, 3e6);
    let line = (rate * draw.scaled(2.5, 10.0)).clamp(0.3e6, 12.5e6);
    let rtt = draw.scaled(0.002, 0.08);
    let plan = Plan::with(draw, line, rtt, "cubic");
    let bytes = (rate * seconds(draw)).max(60.0 * SEGMENT);
    let role = json!({ "is": "write", "bytes": bytes as u64, "pacing": rate });
    plan.sends(role)
        .receives(json!({ "is": "read" }))
        .must("rate", 0.8 * rate, 1.1 * rate)
        .must("other", 0.5, 1.0)
        .must("lost_data", 0.0, 0.002)
        .must("line_share", 0.0, 0.65)
}
