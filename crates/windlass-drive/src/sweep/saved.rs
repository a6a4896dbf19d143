//! Measurements as lines of text, so that a sweep can go on where it stopped.
//!
//! The first line says what was swept and by which plan; each further one has a
//! probe and what it gave. All are JSON. A line is one write, so a file that was
//! cut off has whole lines and one part of a line at most.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;
use windlass_base::{Bytes, Cause, Measurement, Schema, Span};

use super::plan::{Direction, Plan, Probe, Setting};

/// The shape of these lines.
pub const SCHEMA: Schema = Schema { name: "windlass.sweep-state", version: 1 };

/// Why a line cannot be taken.
#[derive(Debug, Error)]
pub enum Unfit {
    /// It is none of a sweep's.
    #[error("this is not the state of a sweep")]
    Foreign,
    /// It is a sweep's, but in another shape.
    #[error("its shape is `{0}`, and this program knows `{SCHEMA}`")]
    Shape(String),
    /// It is the state of another sweep.
    #[error("it belongs to another sweep: {0} was {1} then, and is {2} now")]
    Other(String, String, String),
    /// It is not a measurement.
    #[error("{0}")]
    Measurement(String),
}

#[derive(Serialize, Deserialize)]
struct Line {
    direction: String,
    window_bytes: u64,
    streams: u16,
    repeat: u16,
    bytes: u64,
    nanoseconds: i64,
    least_rtt_nanoseconds: Option<i64>,
    mean_rtt_nanoseconds: Option<i64>,
    transmitted_bytes: u64,
    retransmitted_bytes: u64,
    retransmissions: u64,
    offered_window_bytes: Option<u64>,
    cpu_nanoseconds: Option<i64>,
    cause: Option<String>,
}

fn head(path: &Value, plan: &Plan) -> Value {
    serde_json::json!({ "schema": SCHEMA.to_string(), "path": path, "plan": plan })
}

/// The first line: what is swept, as the caller describes it, and the plan.
pub fn header(path: &Value, plan: &Plan) -> String {
    format!("{}\n", head(path, plan))
}

/// Checks that a first line is that of this sweep.
///
/// # Errors
/// Where it is not, with the first thing that differs.
pub fn check_header(line: &str, path: &Value, plan: &Plan) -> Result<(), Unfit> {
    let saved: Value = serde_json::from_str(line).map_err(|_| Unfit::Foreign)?;
    let schema = saved.get("schema").and_then(Value::as_str).unwrap_or_default();
    if !schema.starts_with(SCHEMA.name) {
        return Err(Unfit::Foreign);
    }
    if schema != SCHEMA.to_string() {
        return Err(Unfit::Shape(schema.to_owned()));
    }
    // Numbers as they come back from text.
    let now: Value = serde_json::from_str(&header(path, plan)).map_err(|_| Unfit::Foreign)?;
    match difference("", &saved, &now) {
        Some((name, then, now)) => Err(Unfit::Other(name, then, now)),
        None => Ok(()),
    }
}

/// The first place at which two values differ, and both of them there.
fn difference(at: &str, then: &Value, now: &Value) -> Option<(String, String, String)> {
    if then == now {
        return None;
    }
    let place = |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
    match (then, now) {
        (Value::Object(one), Value::Object(other)) => {
            let names = other.keys().chain(one.keys());
            let null = Value::Null;
            names.into_iter().find_map(|name| {
                let of =
                    |map: &serde_json::Map<String, Value>| map.get(name).unwrap_or(&null).clone();
                difference(&place(name), &of(one), &of(other))
            })
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            let pairs = (1..).zip(one.iter().zip(other));
            pairs
                .into_iter()
                .find_map(|(n, (one, other))| difference(&place(&format!("{n}")), one, other))
        }
        _ => Some((at.to_owned(), then.to_string(), now.to_string())),
    }
}

/// A measurement as a line.
pub fn line(probe: Probe, measurement: &Measurement) -> String {
    let Setting { direction, window, streams } = probe.setting;
    let nanos = |span: Option<Span>| span.map(Span::as_nanos);
    let line = Line {
        direction: direction.id().to_owned(),
        window_bytes: window.get(),
        streams,
        repeat: probe.repeat,
        bytes: measurement.bytes.get(),
        nanoseconds: measurement.time.as_nanos(),
        least_rtt_nanoseconds: nanos(measurement.least_rtt),
        mean_rtt_nanoseconds: nanos(measurement.mean_rtt),
        transmitted_bytes: measurement.transmitted.get(),
        retransmitted_bytes: measurement.retransmitted.get(),
        retransmissions: measurement.retransmissions,
        offered_window_bytes: measurement.offered.map(Bytes::get),
        cpu_nanoseconds: nanos(measurement.cpu),
        cause: measurement.cause.map(|cause| cause.to_string()),
    };
    // Numbers, words and options always have a form.
    serde_json::to_string(&line).unwrap_or_default() + "\n"
}

/// The measurement of a line.
///
/// # Errors
/// Where it has none.
pub fn read(line: &str) -> Result<(Probe, Measurement), Unfit> {
    let bad = |what: &str| Unfit::Measurement(what.to_owned());
    let line: Line =
        serde_json::from_str(line).map_err(|error| Unfit::Measurement(error.to_string()))?;
    let direction = Direction::ALL.into_iter().find(|way| way.id() == line.direction);
    let direction = direction.ok_or_else(|| bad("a direction is `up` or `down`"))?;
    let cause = match line.cause {
        None => None,
        Some(name) => {
            let known = Cause::ALL.iter().copied().find(|cause| cause.to_string() == name);
            Some(known.ok_or_else(|| bad("no limit has the name that `cause` says"))?)
        }
    };
    let spans = [
        Some(line.nanoseconds),
        line.least_rtt_nanoseconds,
        line.mean_rtt_nanoseconds,
        line.cpu_nanoseconds,
    ];
    if spans.into_iter().flatten().any(|nanos| nanos < 0) {
        return Err(bad("a time is negative"));
    }
    if line.retransmitted_bytes > line.transmitted_bytes {
        return Err(bad("more was retransmitted than transmitted"));
    }
    let span = |nanos: Option<i64>| nanos.map(Span::from_nanos);
    let window = Bytes::new(line.window_bytes);
    let setting = Setting { direction, window, streams: line.streams };
    let measurement = Measurement {
        bytes: Bytes::new(line.bytes),
        time: Span::from_nanos(line.nanoseconds),
        least_rtt: span(line.least_rtt_nanoseconds),
        mean_rtt: span(line.mean_rtt_nanoseconds),
        transmitted: Bytes::new(line.transmitted_bytes),
        retransmitted: Bytes::new(line.retransmitted_bytes),
        retransmissions: line.retransmissions,
        offered: line.offered_window_bytes.map(Bytes::new),
        cpu: span(line.cpu_nanoseconds),
        cause,
    };
    Ok((Probe { setting, repeat: line.repeat }, measurement))
}
