//! Measurements as lines of text, so that a sweep can resume.
//!
//! The first line names the path and the plan; each further line has a probe and its result. All
//! lines are JSON. Each line is one write, so a truncated file has whole lines and at most one
//! partial line.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;
use windlass_base::{Bytes, Cause, CongestionControl, Measurement, Schema, Span};

use super::plan::{Direction, Plan, Probe, Setting};

/// Schema of these lines.
pub const SCHEMA: Schema = Schema { name: "windlass.sweep-state", version: 3 };

/// Errors of a saved state.
#[derive(Debug, Error)]
pub enum StateError {
    /// The text is no state of a sweep.
    #[error("this is not the state of a sweep")]
    Foreign,
    /// The state is of another version.
    #[error("its format is `{0}`, and this program reads `{SCHEMA}`")]
    Shape(String),
    /// The state is of another sweep.
    #[error("it belongs to another sweep: {0} was {1}, and is {2} now")]
    Other(String, String, String),
    /// The line is no measurement.
    #[error("{0}")]
    Measurement(String),
}

#[derive(Serialize, Deserialize)]
struct Line {
    direction: String,
    window_bytes: Option<u64>,
    streams: u16,
    congestion: Option<String>,
    repeat: u16,
    #[serde(flatten)]
    gave: SavedResult,
}

/// Result of a probe.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum SavedResult {
    Measured(Box<Figures>),
    /// The sender does not offer the congestion control.
    Refused {
        refused: bool,
    },
}

#[derive(Serialize, Deserialize)]
struct Figures {
    bytes: u64,
    nanoseconds: i64,
    left_out_nanoseconds: i64,
    spent_nanoseconds: i64,
    half_width_ppm: Option<u32>,
    least_rtt_nanoseconds: Option<i64>,
    mean_rtt_nanoseconds: Option<i64>,
    max_rtt_nanoseconds: Option<i64>,
    fastest_bytes_per_second: Option<u64>,
    small_rtt_nanoseconds: Option<i64>,
    small_rtt_p99_nanoseconds: Option<i64>,
    transmitted_bytes: u64,
    retransmitted_bytes: u64,
    retransmissions: u64,
    steady_retransmissions: Option<u64>,
    offered_window_bytes: Option<u64>,
    cpu_nanoseconds: Option<i64>,
    all_bytes: u64,
    cause: Option<String>,
    used_congestion: Option<String>,
}

fn head(path: &Value, plan: &Plan) -> Value {
    serde_json::json!({ "schema": SCHEMA.to_string(), "path": path, "plan": plan })
}

/// Returns the first line: the path, as the caller describes it, and the plan.
pub fn header(path: &Value, plan: &Plan) -> String {
    format!("{}\n", head(path, plan))
}

/// Checks that a first line is that of this sweep.
///
/// # Errors
/// Fails if it is not; names the first difference.
pub fn check_header(line: &str, path: &Value, plan: &Plan) -> Result<(), StateError> {
    let saved: Value = serde_json::from_str(line).map_err(|_| StateError::Foreign)?;
    let schema = saved.get("schema").and_then(Value::as_str).unwrap_or_default();
    if !schema.starts_with(SCHEMA.name) {
        return Err(StateError::Foreign);
    }
    if schema != SCHEMA.to_string() {
        return Err(StateError::Shape(schema.to_owned()));
    }
    // Numbers as they are read back from text.
    let now: Value = serde_json::from_str(&header(path, plan)).map_err(|_| StateError::Foreign)?;
    match difference("", &saved, &now) {
        Some((name, then, now)) => Err(StateError::Other(name, then, now)),
        None => Ok(()),
    }
}

/// Returns the first path at which two values differ, and both values.
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

/// Returns the result of a probe as a line; no measurement means that the sender does not offer its
/// congestion control.
pub fn line(probe: Probe, measurement: Option<&Measurement>) -> String {
    let Setting { direction, window, streams, congestion } = probe.setting;
    let line = Line {
        direction: direction.id().to_owned(),
        window_bytes: window.map(Bytes::get),
        streams,
        congestion: congestion.map(|name| name.to_string()),
        repeat: probe.repeat,
        gave: measurement.map_or(SavedResult::Refused { refused: true }, |measurement| {
            SavedResult::Measured(Box::new(Figures::of(measurement)))
        }),
    };
    // Numbers, words and options can always be serialised.
    serde_json::to_string(&line).unwrap_or_default() + "\n"
}

impl Figures {
    fn of(measurement: &Measurement) -> Self {
        let nanos = |span: Option<Span>| span.map(Span::as_nanos);
        Self {
            bytes: measurement.bytes.get(),
            nanoseconds: measurement.time.as_nanos(),
            left_out_nanoseconds: measurement.left_out.as_nanos(),
            spent_nanoseconds: measurement.spent.as_nanos(),
            half_width_ppm: measurement.half_width_ppm,
            least_rtt_nanoseconds: nanos(measurement.least_rtt),
            mean_rtt_nanoseconds: nanos(measurement.mean_rtt),
            max_rtt_nanoseconds: nanos(measurement.max_rtt),
            fastest_bytes_per_second: measurement.fastest.map(Bytes::get),
            small_rtt_nanoseconds: nanos(measurement.small_rtt),
            small_rtt_p99_nanoseconds: nanos(measurement.small_rtt_p99),
            transmitted_bytes: measurement.transmitted.get(),
            retransmitted_bytes: measurement.retransmitted.get(),
            retransmissions: measurement.retransmissions,
            steady_retransmissions: measurement.steady_retransmissions,
            offered_window_bytes: measurement.offered.map(Bytes::get),
            cpu_nanoseconds: nanos(measurement.cpu),
            all_bytes: measurement.all_bytes.get(),
            cause: measurement.cause.map(|cause| cause.to_string()),
            used_congestion: measurement.congestion.map(|name| name.to_string()),
        }
    }

    fn measurement(self) -> Result<Measurement, StateError> {
        let cause = match self.cause {
            None => None,
            Some(name) => {
                let known = Cause::ALL.iter().copied().find(|cause| cause.to_string() == name);
                Some(known.ok_or_else(|| bad("`cause` names no known limit"))?)
            }
        };
        let spans = [
            Some(self.nanoseconds),
            Some(self.left_out_nanoseconds),
            Some(self.spent_nanoseconds),
            self.least_rtt_nanoseconds,
            self.mean_rtt_nanoseconds,
            self.max_rtt_nanoseconds,
            self.small_rtt_nanoseconds,
            self.small_rtt_p99_nanoseconds,
            self.cpu_nanoseconds,
        ];
        if spans.into_iter().flatten().any(|nanos| nanos < 0) {
            return Err(bad("a time is negative"));
        }
        if self.retransmitted_bytes > self.transmitted_bytes {
            return Err(bad("more was retransmitted than transmitted"));
        }
        let span = |nanos: Option<i64>| nanos.map(Span::from_nanos);
        Ok(Measurement {
            bytes: Bytes::new(self.bytes),
            time: Span::from_nanos(self.nanoseconds),
            left_out: Span::from_nanos(self.left_out_nanoseconds),
            spent: Span::from_nanos(self.spent_nanoseconds),
            half_width_ppm: self.half_width_ppm,
            least_rtt: span(self.least_rtt_nanoseconds),
            mean_rtt: span(self.mean_rtt_nanoseconds),
            max_rtt: span(self.max_rtt_nanoseconds),
            fastest: self.fastest_bytes_per_second.map(Bytes::new),
            small_rtt: span(self.small_rtt_nanoseconds),
            small_rtt_p99: span(self.small_rtt_p99_nanoseconds),
            transmitted: Bytes::new(self.transmitted_bytes),
            retransmitted: Bytes::new(self.retransmitted_bytes),
            retransmissions: self.retransmissions,
            steady_retransmissions: self.steady_retransmissions,
            offered: self.offered_window_bytes.map(Bytes::new),
            cpu: span(self.cpu_nanoseconds),
            all_bytes: Bytes::new(self.all_bytes),
            cause,
            congestion: control(self.used_congestion.as_deref())?,
        })
    }
}

fn bad(what: &str) -> StateError {
    StateError::Measurement(what.to_owned())
}

fn control(name: Option<&str>) -> Result<Option<CongestionControl>, StateError> {
    let name = name.map(str::parse).transpose();
    name.map_err(|wrong: windlass_base::InvalidName| bad(&wrong.to_string()))
}

/// Reads the probe of a line and its measurement; none if the congestion control is not offered.
///
/// # Errors
/// Fails if the line has neither.
pub fn read(line: &str) -> Result<(Probe, Option<Measurement>), StateError> {
    let line: Line =
        serde_json::from_str(line).map_err(|error| StateError::Measurement(error.to_string()))?;
    let direction = Direction::ALL.into_iter().find(|way| way.id() == line.direction);
    let direction = direction.ok_or_else(|| bad("a direction is `up` or `down`"))?;
    let congestion = control(line.congestion.as_deref())?;
    let window = line.window_bytes.map(Bytes::new);
    let setting = Setting { direction, window, streams: line.streams, congestion };
    let measurement = match line.gave {
        SavedResult::Measured(figures) => Some(figures.measurement()?),
        SavedResult::Refused { refused: true } => None,
        SavedResult::Refused { refused: false } => {
            return Err(bad("it has neither a measurement nor a refusal"));
        }
    };
    Ok((Probe { setting, repeat: line.repeat }, measurement))
}
