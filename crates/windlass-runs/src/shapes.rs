//! Locations of the target, the figures and the verdict in the records of each command. The keys
//! are those of `schemas/`, which are fixed for a schema version.

use serde_json::Value;

use crate::figure::FigureName::{self, *};
use crate::figure::{Figure, VerdictSummary};

/// Locations of the values in a record of one schema.
struct Shape {
    /// Name of the schema, without the version.
    schema: &'static str,
    /// Target: the first of these that exists.
    target: &'static [&'static str],
    /// Peers.
    peers: &'static [&'static str],
    /// Capture files.
    captures: &'static [&'static str],
    /// Rows, if the record has several; otherwise the record is the row.
    rows: Option<Rows>,
    /// Figures of the whole record.
    of_all: &'static [FigureSource],
    /// Figures of a row.
    of_row: &'static [FigureSource],
    /// Verdict of a row.
    verdict: &'static str,
}

/// Rows of a record: their location, and the keys that distinguish them.
struct Rows {
    at: &'static str,
    by: &'static [&'static str],
}

/// Figure and the rule that reads it.
struct FigureSource(FigureName, ReadRule);

/// Rule that reads a figure.
enum ReadRule {
    /// The first number at these locations, times a factor.
    At(&'static [&'static str], f64),
    /// A function of several keys.
    By(fn(&Value) -> Option<f64>),
}

const fn at(name: FigureName, pointers: &'static [&'static str]) -> FigureSource {
    FigureSource(name, ReadRule::At(pointers, 1.0))
}

/// Reads bits per second as bytes per second.
const fn bits(name: FigureName, pointers: &'static [&'static str]) -> FigureSource {
    FigureSource(name, ReadRule::At(pointers, 0.125))
}

const fn by(name: FigureName, read: fn(&Value) -> Option<f64>) -> FigureSource {
    FigureSource(name, ReadRule::By(read))
}

const SHAPES: [Shape; 8] = [
    Shape {
        schema: "windlass.send",
        target: &["/host"],
        peers: &["/address"],
        captures: &[],
        rows: Some(Rows { at: "/directions", by: &["/from"] }),
        of_all: &[
            at(Latency, &["/latency/loaded_seconds/p50"]),
            at(LatencyP99, &["/latency/loaded_seconds/p99"]),
            by(Loss, loss),
        ],
        of_row: &[
            at(Rate, &["/receiver/bytes_per_second", "/sender/bytes_per_second"]),
            at(Rtt, &["/kernel/mean_rtt_seconds"]),
            at(MinRtt, &["/kernel/min_rtt_seconds"]),
            at(Retransmissions, &["/kernel/retransmission_share"]),
            at(Jitter, &["/receiver/datagrams/mean_jitter_seconds"]),
            at(SenderProcessor, &["/sender/cpu/share"]),
        ],
        verdict: "/verdict",
    },
    Shape {
        schema: "windlass.ping",
        target: &["/host"],
        peers: &["/address"],
        captures: &[],
        rows: None,
        of_all: &[],
        of_row: &[
            at(Latency, &["/trip_seconds/p50"]),
            at(LatencyP99, &["/trip_seconds/p99"]),
            at(MinRtt, &["/trip_seconds/min"]),
            at(Loss, &["/loss"]),
        ],
        verdict: "",
    },
    Shape {
        schema: "windlass.sweep",
        target: &["/path/address", "/path/name"],
        peers: &["/path/address"],
        captures: &[],
        rows: Some(Rows { at: "/directions", by: &["/direction"] }),
        of_all: &[at(MinRtt, &["/base_rtt_seconds"])],
        of_row: &[
            bits(Rate, &["/recommendation/bits_per_second"]),
            bits(Capacity, &["/capacity_bits_per_second"]),
            at(Window, &["/recommended_window_bytes"]),
            at(QueueingDelay, &["/recommendation/queueing_delay_seconds"]),
        ],
        verdict: "",
    },
    Shape {
        schema: "windlass.lab",
        target: &["/scenario"],
        peers: &[],
        captures: &["/rows/*/capture"],
        rows: Some(Rows { at: "/rows", by: &["/profile", "/setting"] }),
        of_all: &[],
        of_row: &[
            at(Rate, &["/bytes_per_second"]),
            at(Time, &["/seconds"]),
            at(AckLatency, &["/ack_latency_seconds"]),
        ],
        verdict: "/verdict",
    },
    Shape {
        schema: "windlass.print",
        target: &["/target/uri"],
        peers: &["/target/address"],
        captures: &[],
        rows: None,
        of_all: &[],
        of_row: &[
            at(Rate, &["/transfer/bytes_per_second"]),
            at(Time, &["/transfer/seconds"]),
            at(Rtt, &["/transfer/connection/sender/mean_rtt_seconds"]),
            at(MinRtt, &["/transfer/connection/sender/min_rtt_seconds"]),
            at(Retransmissions, &["/transfer/connection/sender/retransmission_share"]),
        ],
        verdict: "/verdict",
    },
    Shape {
        schema: "windlass.spool-load",
        target: &["/target/given"],
        peers: &[],
        captures: &[],
        rows: None,
        of_all: &[],
        of_row: &[
            at(QueueRate, &["/queue/jobs_per_second"]),
            at(ProcessRate, &["/process/jobs_per_second"]),
            at(Rate, &["/queue/bytes_per_second"]),
            at(AnswerP99, &["/queue/latency_seconds/p99"]),
            by(NotCompleted, not_completed),
            at(Busy, &["/machine/queue/busy_share"]),
        ],
        verdict: "/limits/queue",
    },
    Shape {
        schema: "windlass.capture",
        target: &["/interface"],
        peers: &[],
        captures: &["/files/*/file"],
        rows: None,
        of_all: &[],
        of_row: &[
            at(Rate, &["/bytes_per_second"]),
            at(PacketRate, &["/packets_per_second"]),
            at(Drops, &["/kernel_drops"]),
        ],
        verdict: "/explained/connections/0/verdict",
    },
    Shape {
        schema: "windlass.watch",
        target: &[],
        peers: &[],
        captures: &[],
        rows: None,
        of_all: &[],
        of_row: &[
            at(BusiestCore, &["/summary/host/busiest_core_share/mean"]),
            at(DiskWait, &["/summary/host/iowait_share/mean"]),
        ],
        verdict: "",
    },
];

/// Values of a record that lists and comparisons show.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordDigest {
    /// Target of the run.
    pub target: Option<String>,
    /// Peers of the run.
    pub peers: Vec<String>,
    /// Capture files of the run.
    pub captures: Vec<String>,
    /// Figures, the most important first.
    pub figures: Vec<Figure>,
    /// Verdicts of the record.
    pub verdicts: Vec<VerdictSummary>,
}

/// Returns whether a JSON record is a measurement, and not a list or a calculation.
pub fn is_measurement(json: &str) -> bool {
    // The schema is the first field of every record.
    let name =
        json.trim_start().strip_prefix("{\"schema\":\"").and_then(|rest| rest.split_once('/'));
    name.is_some_and(|(name, _)| SHAPES.iter().any(|shape| shape.schema == name))
}

/// Extracts the values of a record; returns empty values for an unknown schema.
pub fn shown(record: &Value) -> RecordDigest {
    let schema = record.get("schema").and_then(Value::as_str).unwrap_or_default();
    let name = schema.split('/').next().unwrap_or_default();
    let Some(shape) = SHAPES.iter().find(|shape| shape.schema == name) else {
        return RecordDigest::default();
    };
    let none = Vec::new();
    let rows: Vec<&Value> = match &shape.rows {
        Some(rows) => {
            record.pointer(rows.at).and_then(Value::as_array).unwrap_or(&none).iter().collect()
        }
        None => vec![record],
    };
    let mut shown = RecordDigest {
        target: shape.target.iter().find_map(|at| text(record, at)),
        peers: shape.peers.iter().filter_map(|at| text(record, at)).collect(),
        captures: shape.captures.iter().flat_map(|at| texts(record, at)).collect(),
        ..RecordDigest::default()
    };
    let is_one = rows.len() == 1;
    for row in rows {
        let by = shape.rows.as_ref().filter(|_| !is_one).map(|rows| rows.by);
        let of =
            by.map(|by| by.iter().filter_map(|at| text(row, at)).collect::<Vec<_>>().join(" "));
        let figures = shape.of_row.iter().filter_map(|place| figure(row, place, of.as_ref()));
        shown.figures.extend(figures);
        shown.verdicts.extend(verdict(row, shape.verdict, of));
    }
    shown.figures.extend(shape.of_all.iter().filter_map(|place| figure(record, place, None)));
    shown
}

fn figure(
    row: &Value,
    FigureSource(name, read): &FigureSource,
    of: Option<&String>,
) -> Option<Figure> {
    let value = match read {
        ReadRule::At(pointers, factor) => {
            let mut numbers = pointers.iter().filter_map(|at| row.pointer(at)?.as_f64());
            numbers.next()? * factor
        }
        ReadRule::By(read) => read(row)?,
    };
    Some(Figure { name: *name, of: of.cloned(), value })
}

/// Returns the number of requested jobs that were not completed.
fn not_completed(row: &Value) -> Option<f64> {
    let number = |at: &str| row.pointer(at).and_then(Value::as_f64);
    // A spooler without a history keeps no record of processed jobs.
    let forgotten = number("/outcomes/forgotten").unwrap_or(0.0);
    Some(number("/counts/asked")? - number("/outcomes/completed")? - forgotten)
}

/// Returns the share of lost datagrams of a one-way test. A two-way test has a loss for each
/// direction.
fn loss(record: &Value) -> Option<f64> {
    let [way] = record.pointer("/directions")?.as_array()?.as_slice() else { return None };
    let number = |key: &str| way.pointer(&format!("/receiver/datagrams/{key}"))?.as_f64();
    let sent = number("sent").filter(|sent| *sent > 0.0)?;
    Some(number("lost")? / sent)
}

fn verdict(row: &Value, at: &str, of: Option<String>) -> Option<VerdictSummary> {
    let verdict = row.pointer(at).filter(|_| !at.is_empty())?;
    let word = |key: &str| verdict.get(key).and_then(Value::as_str).map(str::to_owned);
    let limit = word("limit")?;
    let cause = match word("because") {
        Some(because) => format!("{limit}/{because}"),
        None => limit,
    };
    Some(VerdictSummary { of, cause, confidence: word("confidence") })
}

/// Returns a text or a number at a location.
fn text(record: &Value, at: &str) -> Option<String> {
    match record.pointer(at)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns the texts at a location in which one key may be `*`: each element of a list.
fn texts(record: &Value, at: &str) -> Vec<String> {
    let Some((before, behind)) = at.split_once("/*") else {
        return text(record, at).into_iter().collect();
    };
    let list = record.pointer(before).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(|one| text(one, behind)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_record_of_one_row_shows_its_figures_without_a_name() {
        let shown = shown(&json!({
            "schema": "windlass.send/2", "host": "printer", "address": "192.0.2.9:5201",
            "directions": [{
                "from": "client",
                "receiver": {"bytes_per_second": 24801.0},
                "sender": {"bytes_per_second": 25000.0, "cpu": {"share": 0.02}},
                "kernel": {"mean_rtt_seconds": 0.117},
                "verdict": {"limit": "receiver-window", "because": "ack-latency", "confidence": "high"},
            }],
            "latency": null,
        }));
        assert_eq!(shown.target.as_deref(), Some("printer"));
        assert_eq!(shown.peers, ["192.0.2.9:5201"]);
        let figures: Vec<(FigureName, f64)> =
            shown.figures.iter().map(|one| (one.name, one.value)).collect();
        assert_eq!(figures, [(Rate, 24_801.0), (Rtt, 0.117), (SenderProcessor, 0.02)]);
        assert!(shown.figures.iter().all(|one| one.of.is_none()));
        assert_eq!(shown.verdicts[0].cause, "receiver-window/ack-latency");
    }

    #[test]
    fn a_record_of_several_rows_says_whose_they_are() {
        let row = |profile: &str, setting: Value, rate: f64| {
            json!({"profile": profile, "setting": setting, "bytes_per_second": rate, "seconds": 2,
                   "capture": format!("{profile}.pcapng"),
                   "verdict": {"limit": "loss", "because": null, "confidence": "low"}})
        };
        let shown = shown(&json!({
            "schema": "windlass.lab/2", "scenario": "imagen",
            "rows": [row("imagen-v2", json!("send buffer 2,048 B"), 4e3), row("imagen-v3", json!(null), 8e4)],
        }));
        let whose: Vec<(&str, f64)> = shown
            .figures
            .iter()
            .filter(|one| one.name == Rate)
            .map(|one| (one.of.as_deref().unwrap(), one.value))
            .collect();
        assert_eq!(whose, [("imagen-v2 send buffer 2,048 B", 4e3), ("imagen-v3", 8e4)]);
        assert_eq!(shown.captures, ["imagen-v2.pcapng", "imagen-v3.pcapng"]);
        assert_eq!(shown.verdicts[1].cause, "loss");
    }

    #[test]
    fn jobs_that_did_not_come_out_are_counted() {
        let shown = shown(&json!({
            "schema": "windlass.spool-load/3", "counts": {"asked": 200},
            "outcomes": {"completed": 150, "forgotten": 48}, "queue": {"jobs_per_second": 13.6},
            "limits": {"queue": {"limit": "answers"}},
        }));
        let of = |name| shown.figures.iter().find(|one| one.name == name).map(|one| one.value);
        assert_eq!(
            (of(NotCompleted), of(QueueRate), of(ProcessRate)),
            (Some(2.0), Some(13.6), None)
        );
        assert_eq!(shown.verdicts[0].cause, "answers");
    }

    #[test]
    fn what_is_no_record_shows_nothing() {
        for record in [json!(null), json!({"schema": 7}), json!({"schema": "windlass.law/1"})] {
            assert_eq!(shown(&record), RecordDigest::default());
        }
        assert!(is_measurement(r#"{"schema":"windlass.lab/2","scenario":"imagen"}"#));
        assert!(!is_measurement(r#"{"schema":"windlass.lab-list/1"}"#));
        assert!(!is_measurement("[]") && !is_measurement(""));
        // The shape of another version may have lost its keys.
        let other = shown(&json!({"schema": "windlass.lab/9", "rows": {"a": 1}}));
        assert_eq!(other, RecordDigest::default());
    }
}
