//! Comparison of a load with an earlier one: the effect of changed settings.

use serde::Serialize;
use serde_json::Value;

/// Schema prefix of an earlier report.
const KIND: &str = "windlass.spool-load/";

/// Reason why an earlier report cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// The text is not JSON.
    #[error("it is not JSON: {0}")]
    NoJson(String),
    /// The text is another record, or of another version.
    #[error("it is {0}, and this version reads {1}")]
    Other(String, String),
}

/// Comparison of a load with an earlier one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// File of the earlier report.
    pub file: String,
    /// Start time of the earlier load; nothing if the report does not say.
    pub start_time: Option<String>,
    /// Requested settings that differ, and so make figures differ.
    pub asked_otherwise: Vec<Difference>,
    /// Settings of cupsd that differ.
    pub settings: Vec<Difference>,
    /// Figures of both loads.
    pub figures: Vec<ComparedFigure>,
}

/// A value that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The name of the setting.
    pub name: String,
    /// The value before.
    pub before: Option<String>,
    /// The value now.
    pub now: Option<String>,
}

/// A figure of both loads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedFigure {
    /// JSON pointer of the figure in the record.
    pub name: &'static str,
    /// Name of the figure for people.
    pub words: &'static str,
    /// Unit of the figure.
    pub unit: FigureUnit,
    /// The value before.
    pub before: Option<f64>,
    /// The value now.
    pub now: Option<f64>,
    /// Ratio of the second to the first; nothing if one is unknown, or the first is zero.
    pub ratio: Option<f64>,
}

/// Unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FigureUnit {
    /// Jobs per second.
    JobsPerSecond,
    /// Seconds.
    Seconds,
    /// Jobs.
    Jobs,
    /// Bytes.
    Bytes,
}

/// Compared figures: JSON pointer, name and unit.
const FIGURES: [(&str, &str, FigureUnit); 12] = [
    ("/queue/jobs_per_second", "jobs queued", FigureUnit::JobsPerSecond),
    ("/queue/latency_seconds/p50", "answer time, median", FigureUnit::Seconds),
    ("/queue/latency_seconds/p99", "answer time, 99 %", FigureUnit::Seconds),
    ("/queue/first_tenth_seconds", "answer time, first tenth", FigureUnit::Seconds),
    ("/queue/last_tenth_seconds", "answer time, last tenth", FigureUnit::Seconds),
    ("/process/jobs_per_second", "jobs completed", FigureUnit::JobsPerSecond),
    ("/process/all_seconds", "total time", FigureUnit::Seconds),
    ("/counts/refused", "refused", FigureUnit::Jobs),
    ("/outcomes/completed", "completed", FigureUnit::Jobs),
    ("/outcomes/aborted", "aborted", FigureUnit::Jobs),
    ("/outcomes/missing", "missing", FigureUnit::Jobs),
    ("/cups/error_log_bytes", "log growth", FigureUnit::Bytes),
];

/// JSON pointers that must be equal in comparable reports.
const ASKED: [&str; 7] = [
    "/target/protocol",
    "/target/queues",
    "/asked/jobs",
    "/asked/connections",
    "/asked/create_job",
    "/files/payload",
    "/files/all_bytes",
];

impl Comparison {
    /// Compares a report with the text of an earlier one, in a file.
    ///
    /// # Errors
    /// Fails if the text is no report of the same version.
    pub(super) fn of(file: &str, earlier: &str, now: &Value) -> Result<Self, CompareError> {
        let before = read(earlier, now["schema"].as_str().unwrap_or_default())?;
        let figure = |record: &Value, place: &str| record.pointer(place).and_then(Value::as_f64);
        let figures = FIGURES.iter().filter_map(|(name, words, unit)| {
            let (before, now) = (figure(&before, name), figure(now, name));
            let is_there = before.is_some() || now.is_some();
            let ratio = before.filter(|before| *before > 0.0).zip(now);
            is_there.then(|| ComparedFigure {
                name,
                words,
                unit: *unit,
                before,
                now,
                ratio: ratio.map(|(before, now)| now / before),
            })
        });
        let asked = ASKED.iter().filter_map(|place| {
            let name = place.rsplit('/').next().unwrap_or_default();
            difference(name, before.pointer(place), now.pointer(place))
        });
        Ok(Self {
            file: file.to_owned(),
            start_time: before["start_time"].as_str().map(str::to_owned),
            asked_otherwise: asked.collect(),
            settings: settings(&before, now),
            figures: figures.collect(),
        })
    }
}

/// Reads an earlier report of this schema.
///
/// # Errors
/// Fails if the schema is another.
pub(super) fn read(earlier: &str, schema: &str) -> Result<Value, CompareError> {
    let before: Value =
        serde_json::from_str(earlier).map_err(|error| CompareError::NoJson(error.to_string()))?;
    match before["schema"].as_str() {
        Some(kind) if kind == schema => Ok(before),
        Some(kind) if kind.starts_with(KIND) => {
            Err(CompareError::Other(kind.to_owned(), schema.to_owned()))
        }
        _ => Err(CompareError::Other("not a spool load report".to_owned(), schema.to_owned())),
    }
}

fn words(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn difference(name: &str, before: Option<&Value>, now: Option<&Value>) -> Option<Difference> {
    let (before, now) = (words(before), words(now));
    (before != now).then(|| Difference { name: name.to_owned(), before, now })
}

/// Returns the settings of cupsd that differ.
fn settings(before: &Value, now: &Value) -> Vec<Difference> {
    let of = |record: &Value| -> Vec<(String, Value)> {
        let all = record.pointer("/cups/settings").and_then(Value::as_array);
        let all = all.into_iter().flatten();
        all.filter_map(|one| Some((one["name"].as_str()?.to_owned(), one["value"].clone())))
            .collect()
    };
    let (before, now) = (of(before), of(now));
    let value = |all: &[(String, Value)], name: &str| {
        all.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    };
    let mut names: Vec<&String> = before.iter().chain(&now).map(|(name, _)| name).collect();
    names.sort();
    names.dedup();
    names
        .into_iter()
        .filter_map(|name| {
            difference(name, value(&before, name).as_ref(), value(&now, name).as_ref())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(rate: f64, level: &str) -> Value {
        json!({
            "schema": "windlass.spool-load/3",
            "start_time": "2026-01-01T00:00:00Z",
            "asked": { "jobs": 100, "connections": 4 },
            "queue": { "jobs_per_second": rate },
            "cups": {
                "settings": [{ "name": "LogLevel", "value": level, "is_given": true }],
                "error_log_bytes": 0
            },
        })
    }

    #[test]
    fn what_changed_stands_beside_what_it_brought() {
        let mut now = record(200.0, "warn");
        now["asked"]["connections"] = json!(8);
        let before = record(100.0, "debug").to_string();
        let compared = Comparison::of("a.json", &before, &now).unwrap();
        let rate = &compared.figures[0];
        assert_eq!((rate.before, rate.now, rate.ratio), (Some(100.0), Some(200.0), Some(2.0)));
        // There is no ratio to zero.
        assert_eq!(compared.figures[1].ratio, None);
        assert_eq!(compared.figures.len(), 2);
        let text = |text: &str| Some(text.to_owned());
        let level =
            Difference { name: "LogLevel".into(), before: text("debug"), now: text("warn") };
        assert_eq!(compared.settings, [level]);
        let asked = Difference { name: "connections".into(), before: text("4"), now: text("8") };
        assert_eq!(compared.asked_otherwise, [asked]);
        assert_eq!(compared.start_time, text("2026-01-01T00:00:00Z"));
    }

    #[test]
    fn what_is_no_report_is_told() {
        let now = record(1.0, "warn");
        let wrong = |text: &str| Comparison::of("a", text, &now).unwrap_err().to_string();
        assert!(wrong("{").starts_with("it is not JSON"), "{}", wrong("{"));
        assert!(wrong("[1]").contains("not a spool load report"));
        assert!(wrong("{\"schema\":\"windlass.send/2\"}").contains("not a spool load report"));
        assert!(wrong("{\"schema\":\"windlass.spool-load/2\"}").contains("spool-load/2"));
        assert!(read(&now.to_string(), "windlass.spool-load/3").is_ok());
    }
}
