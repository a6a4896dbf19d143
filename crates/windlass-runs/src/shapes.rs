//! Where the records of each command have what lists and comparisons show: the target, the
//! figures, the verdict. The keys are those of `schemas/`, and stay while a schema has its
//! version.

use serde_json::Value;

use crate::figure::FigureName::{self, *};
use crate::figure::{Figure, VerdictSeen};

/// What of a record is shown.
struct Shape {
    /// The name of its schema, without the version.
    schema: &'static str,
    /// To whom or what, the first that is there.
    target: &'static [&'static str],
    /// Whom it spoke with.
    peers: &'static [&'static str],
    /// Files with its packets.
    captures: &'static [&'static str],
    /// Where it has a row for each of several things; else the record is the row.
    rows: Option<Rows>,
    /// The figures of the whole.
    of_all: &'static [Place],
    /// The figures of a row.
    of_row: &'static [Place],
    /// The verdict of a row.
    verdict: &'static str,
}

/// Several rows: where they are, and which of their keys tell them apart.
struct Rows {
    at: &'static str,
    by: &'static [&'static str],
}

/// A figure, and how it is read.
struct Place(FigureName, Read);

/// How a figure is read.
enum Read {
    /// The first of these that is a number, times a factor.
    At(&'static [&'static str], f64),
    /// From several keys.
    By(fn(&Value) -> Option<f64>),
}

const fn at(name: FigureName, pointers: &'static [&'static str]) -> Place {
    Place(name, Read::At(pointers, 1.0))
}

/// Bits in a second, as bytes.
const fn bits(name: FigureName, pointers: &'static [&'static str]) -> Place {
    Place(name, Read::At(pointers, 0.125))
}

const fn by(name: FigureName, read: fn(&Value) -> Option<f64>) -> Place {
    Place(name, Read::By(read))
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

/// What of a record is shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shown {
    /// To whom or what.
    pub target: Option<String>,
    /// Whom it spoke with.
    pub peers: Vec<String>,
    /// Files with its packets.
    pub captures: Vec<String>,
    /// Its figures, the more telling first.
    pub figures: Vec<Figure>,
    /// What it found to hold it back.
    pub verdicts: Vec<VerdictSeen>,
}

/// Whether a record, as JSON, is one of a measurement, and not a list or a calculation.
pub fn is_measurement(json: &str) -> bool {
    // The schema is the first field of every record.
    let name =
        json.trim_start().strip_prefix("{\"schema\":\"").and_then(|rest| rest.split_once('/'));
    name.is_some_and(|(name, _)| SHAPES.iter().any(|shape| shape.schema == name))
}

/// What of a record is shown; nothing of one that no command here makes.
pub fn shown(record: &Value) -> Shown {
    let schema = record.get("schema").and_then(Value::as_str).unwrap_or_default();
    let name = schema.split('/').next().unwrap_or_default();
    let Some(shape) = SHAPES.iter().find(|shape| shape.schema == name) else {
        return Shown::default();
    };
    let none = Vec::new();
    let rows: Vec<&Value> = match &shape.rows {
        Some(rows) => {
            record.pointer(rows.at).and_then(Value::as_array).unwrap_or(&none).iter().collect()
        }
        None => vec![record],
    };
    let mut shown = Shown {
        target: shape.target.iter().find_map(|at| text(record, at)),
        peers: shape.peers.iter().filter_map(|at| text(record, at)).collect(),
        captures: shape.captures.iter().flat_map(|at| texts(record, at)).collect(),
        ..Shown::default()
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

fn figure(row: &Value, Place(name, read): &Place, of: Option<&String>) -> Option<Figure> {
    let value = match read {
        Read::At(pointers, factor) => {
            let mut numbers = pointers.iter().filter_map(|at| row.pointer(at)?.as_f64());
            numbers.next()? * factor
        }
        Read::By(read) => read(row)?,
    };
    Some(Figure { name: *name, of: of.cloned(), value })
}

/// Jobs that were asked for and did not come out.
fn not_completed(row: &Value) -> Option<f64> {
    let number = |at: &str| row.pointer(at).and_then(Value::as_f64);
    // A spooler without a history keeps no record of jobs that it processed.
    let forgotten = number("/outcomes/forgotten").unwrap_or(0.0);
    Some(number("/counts/asked")? - number("/outcomes/completed")? - forgotten)
}

/// The share of numbered datagrams that did not arrive, of a test that went one way. Of both
/// together one would have to say whose it is.
fn loss(record: &Value) -> Option<f64> {
    let [way] = record.pointer("/directions")?.as_array()?.as_slice() else { return None };
    let number = |key: &str| way.pointer(&format!("/receiver/datagrams/{key}"))?.as_f64();
    let sent = number("sent").filter(|sent| *sent > 0.0)?;
    Some(number("lost")? / sent)
}

fn verdict(row: &Value, at: &str, of: Option<String>) -> Option<VerdictSeen> {
    let verdict = row.pointer(at).filter(|_| !at.is_empty())?;
    let word = |key: &str| verdict.get(key).and_then(Value::as_str).map(str::to_owned);
    let limit = word("limit")?;
    let cause = match word("because") {
        Some(because) => format!("{limit}/{because}"),
        None => limit,
    };
    Some(VerdictSeen { of, cause, confidence: word("confidence") })
}

/// A text or a number at a place.
fn text(record: &Value, at: &str) -> Option<String> {
    match record.pointer(at)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The texts at a place, of which one key may be `*`: any of a list.
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
            assert_eq!(shown(&record), Shown::default());
        }
        assert!(is_measurement(r#"{"schema":"windlass.lab/2","scenario":"imagen"}"#));
        assert!(!is_measurement(r#"{"schema":"windlass.lab-list/1"}"#));
        assert!(!is_measurement("[]") && !is_measurement(""));
        // The shape of another version may have lost its keys.
        let other = shown(&json!({"schema": "windlass.lab/9", "rows": {"a": 1}}));
        assert_eq!(other, Shown::default());
    }
}
