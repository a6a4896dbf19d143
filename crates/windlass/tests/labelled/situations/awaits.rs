//! A sending program that waits for the other side.

use serde_json::json;

use crate::draw::Draw;
use crate::plan::{Plan, SEGMENT};
use crate::situation::Situation;

const fn awaits(name: &'static str, plan: fn(&mut Draw) -> Plan) -> Situation {
    Situation { name, truth: "application/awaits-answer", program: "python", plan }
}

pub(crate) const ALL: &[Situation] = &[
    awaits("blocks-answered", blocks_answered),
    awaits("blocks-answered-late", blocks_answered_late),
    awaits("blocks-asked-for", blocks_asked_for),
    awaits("credits-channel", |draw| credits(draw, true)),
    awaits("credits-blocks", |draw| credits(draw, false)),
];

/// The label of a program whose data all waits for messages.
fn waits(plan: Plan) -> Plan {
    plan.must("nothing_unsent", 0.75, 1.0)
        .must("lost_data", 0.0, 0.003)
        .must("line_share", 0.0, 0.5)
        .must("window", 0.0, 0.1)
}

/// Stop and wait.
fn blocks_answered(draw: &mut Draw) -> Plan {
    let rtt = draw.scaled(0.004, 0.1);
    let block = draw.scaled(2.0 * SEGMENT, 10.0 * SEGMENT).floor();
    let line = (block / rtt * draw.scaled(5.0, 20.0)).clamp(0.3e6, 12.5e6);
    let plan = Plan::new(draw, line, rtt);
    let count = (draw.between(1.5, 4.0) / (rtt * 1.1)).max(15.0);
    let answer = draw.one(&[1, 16, 64, 512]);
    let bytes = (block * count) as u64;
    let waits_for =
        json!({ "is": "blocks", "bytes": bytes, "block": block, "answer": answer, "nodelay": 1 });
    let role = json!({ "is": "answers", "block": block, "answer": answer });
    waits(plan.sends(waits_for).receives(role)).must("awaiting", 0.8, 1.0)
}

/// Stop and wait for an answer that takes its time.
fn blocks_answered_late(draw: &mut Draw) -> Plan {
    let rtt = draw.scaled(0.001, 0.03);
    let late = draw.scaled(0.01, 0.15);
    let block = draw.scaled(1_000.0, 120e3).floor();
    let line = (block / (late + rtt) * draw.scaled(5.0, 15.0)).clamp(0.5e6, 12.5e6);
    let plan = Plan::new(draw, line, rtt);
    let count = (draw.between(1.5, 4.0) / (rtt + late)).max(12.0);
    let count = count.max(40.0 * SEGMENT / block);
    let bytes = (block * count.min(200.0)) as u64;
    let answer = draw.one(&[1, 32, 200]);
    let waits_for =
        json!({ "is": "blocks", "bytes": bytes, "block": block, "answer": answer, "nodelay": 1 });
    let role = json!({ "is": "answers", "block": block, "answer": answer, "pause": late });
    waits(plan.sends(waits_for).receives(role)).must("awaiting", 0.7, 1.0)
}

/// Each block is asked for.
fn blocks_asked_for(draw: &mut Draw) -> Plan {
    let rtt = draw.scaled(0.004, 0.1);
    let block = draw.scaled(2.0 * SEGMENT, 10.0 * SEGMENT).floor();
    let line = (block / rtt * draw.scaled(5.0, 20.0)).clamp(0.3e6, 12.5e6);
    let plan = Plan::new(draw, line, rtt);
    let pause = if draw.chance(0.5) { 0.0 } else { rtt * draw.between(0.2, 2.0) };
    let count = (draw.between(1.5, 4.0) / (rtt + pause)).max(15.0);
    let request = draw.whole(20, 400);
    let serves = json!({ "is": "serves", "block": block, "request": request, "nodelay": 1 });
    let asks = json!({
        "is": "asks", "block": block, "request": request, "bytes": (block * count) as u64,
        "pause": pause,
    });
    waits(plan.sends(serves).receives(asks).upload(false)).must("awaiting", 0.75, 1.0)
}

/// Credits: of a channel that grants seldom, as SSH's, or of each block, as SMB's.
fn credits(draw: &mut Draw, is_channel: bool) -> Plan {
    let rtt = draw.scaled(0.01, 0.15);
    let credits = draw.scaled(24e3, 250e3);
    let parts = if is_channel { draw.one(&[2.0, 3.0, 4.0]) } else { draw.one(&[1.0, 4.0, 8.0]) };
    let grant = (credits / parts).floor();
    let credits = grant * parts;
    let write = if is_channel { 4_096.0_f64.min(grant) } else { grant };
    let rate = credits / rtt;
    let line = (rate * draw.scaled(3.0, 8.0)).clamp(0.5e6, 12.5e6);
    let plan = Plan::with(draw, line, rtt, "cubic").sysctl("tcp_slow_start_after_idle", 0);
    let bytes = (rate.min(line / 2.0) * draw.between(2.0, 4.0)).max(14.0 * credits) as u64;
    let message = draw.whole(8, 120);
    let spends = json!({
        "is": "spends", "bytes": bytes, "write": write, "credits": credits, "grant": grant,
        "message": message, "nodelay": 1,
    });
    let grants = json!({ "is": "grants", "grant": grant, "message": message });
    waits(plan.sends(spends).receives(grants))
        .must("awaiting", 0.7, 1.0)
        .must("rate", 0.3 * rate, 1.05 * rate)
        .must("line_share", 0.0, 0.6)
}
