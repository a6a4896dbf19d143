//! A receiving program that reads at a pace of its own, or stops.

use serde_json::json;

use crate::draw::Draw;
use crate::plan::Plan;
use crate::situation::Situation;

pub(crate) const ALL: &[Situation] = &[
    paced("reader-rate", |draw| reader_rate(draw, false)),
    paced("reader-blocks", |draw| reader_rate(draw, true)),
    Situation {
        name: "reader-stops",
        truth: "zero-window/*",
        program: "python",
        plan: reader_stops,
    },
    Situation {
        name: "reader-short-stops",
        // The window closes for a moment and again, as the reader comes and goes.
        truth: "@(zero-window/*|application/receiver-limited)",
        program: "python",
        plan: reader_short_stops,
    },
    Situation {
        name: "reader-begins-late",
        truth: "zero-window/*",
        program: "python",
        plan: reader_begins_late,
    },
];

const fn paced(name: &'static str, plan: fn(&mut Draw) -> Plan) -> Situation {
    Situation {
        name,
        truth: "@(application/receiver-limited|zero-window/*)",
        program: "python",
        plan,
    }
}

/// Reads at a rate: by small pieces, or by blocks of a part of the buffer.
fn reader_rate(draw: &mut Draw, by_blocks: bool) -> Plan {
    let rate = draw.scaled(60e3, 2e6);
    let line = (rate * draw.scaled(3.0, 15.0)).clamp(0.5e6, 12.5e6);
    let rtt = draw.scaled(0.001, 0.06);
    let plan = Plan::new(draw, line, rtt);
    let buffer = (rate * draw.between(0.15, 0.6)).clamp(16e3, 400e3);
    let read = if by_blocks { buffer * draw.between(0.15, 0.45) } else { draw.scaled(1e3, 8e3) };
    let bytes = buffer * 1.5 + rate * draw.between(3.0, 5.0);
    // A part of the buffer is the kernel's own.
    let reads = json!({ "is": "read", "rate": rate, "read": read as u64, "rcvbuf": buffer as u64 });
    plan.sends(json!({ "is": "write", "bytes": bytes as u64 }))
        .receives(reads)
        .must("unread", 0.8, 1.0)
        .must("reader_asleep", 0.6, 1.0)
        .must("rate", 0.8 * rate, 1.35 * rate)
        .must("lost_data", 0.0, 0.002)
        .must("line_share", 0.0, 0.6)
}

/// Stops for long after so many bytes.
fn reader_stops(draw: &mut Draw) -> Plan {
    let line = draw.scaled(1e6, 12.5e6);
    let rtt = draw.scaled(0.001, 0.04);
    let plan = Plan::new(draw, line, rtt);
    let buffer = draw.scaled(16e3, 150e3);
    let every = buffer * draw.between(3.0, 10.0);
    let stop = draw.between(0.5, 1.5);
    let stops = draw.whole(2, 4) as f64;
    let reads = json!({
        "is": "read", "rcvbuf": buffer as u64, "stop_every": every as u64, "stop": stop,
    });
    plan.sends(json!({ "is": "write", "bytes": (every * (stops + 0.5)) as u64 }))
        .receives(reads)
        .must("zero_window", 0.55, 1.0)
        .must("unread", 0.5, 1.0)
        .must("reader_asleep", 0.5, 1.0)
        .must("lost_data", 0.0, 0.01)
}

/// Stops for a moment, often.
fn reader_short_stops(draw: &mut Draw) -> Plan {
    let line = draw.scaled(2e6, 12.5e6);
    let rtt = draw.scaled(0.001, 0.01);
    let plan = Plan::new(draw, line, rtt);
    let buffer = draw.scaled(12e3, 60e3);
    let stop = draw.scaled(0.03, 0.25);
    let stops = (draw.between(2.0, 4.0) / stop).min(60.0);
    let every = buffer * draw.between(1.5, 4.0);
    let reads = json!({
        "is": "read", "rcvbuf": buffer as u64, "stop_every": every as u64, "stop": stop,
    });
    plan.sends(json!({ "is": "write", "bytes": (every * stops) as u64 }))
        .receives(reads)
        .must("reader_asleep", 0.7, 1.0)
        .must("unread", 0.7, 1.0)
        .must("lost_data", 0.0, 0.01)
}

/// Reads nothing at first.
fn reader_begins_late(draw: &mut Draw) -> Plan {
    let line = draw.scaled(1e6, 12.5e6);
    let rtt = draw.scaled(0.001, 0.04);
    let plan = Plan::new(draw, line, rtt);
    let buffer = draw.scaled(16e3, 150e3);
    let bytes = buffer * draw.between(2.0, 6.0);
    let wait = draw.between(1.2, 4.0);
    let reads = json!({ "is": "read", "rcvbuf": buffer as u64, "wait": wait });
    plan.sends(json!({ "is": "write", "bytes": bytes as u64 }))
        .receives(reads)
        .must("zero_window", 0.65, 1.0)
        .must("unread", 0.5, 1.0)
        .must("lost_data", 0.0, 0.01)
}
