//! A load beside an earlier one: what a change of settings brought.

use serde::Serialize;
use serde_json::Value;

/// What an earlier report has to be.
const KIND: &str = "windlass.spool-load/";

/// Why an earlier report is none to compare with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotComparable {
    /// It is no JSON.
    #[error("it is no JSON: {0}")]
    NoJson(String),
    /// It is the record of something else, or of another version.
    #[error("it is {0}, and a report of this version is {1}")]
    Other(String, String),
}

/// A load beside an earlier one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The file of the earlier one.
    pub file: String,
    /// The time when that began; nothing where it does not say.
    pub start_time: Option<String>,
    /// What was asked for otherwise: then figures differ for that, too.
    pub asked_otherwise: Vec<Difference>,
    /// Settings of cupsd that differ.
    pub settings: Vec<Difference>,
    /// The figures of both.
    pub figures: Vec<Compared>,
}

/// Something that was another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What.
    pub name: String,
    /// What it was.
    pub before: Option<String>,
    /// What it is.
    pub now: Option<String>,
}

/// A figure of both.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// Which, by its place in the record.
    pub name: &'static str,
    /// What it is called for people.
    pub words: &'static str,
    /// In what it is counted.
    pub unit: FigureUnit,
    /// What it was.
    pub before: Option<f64>,
    /// What it is.
    pub now: Option<f64>,
    /// The second by the first; nothing where one is not known, or there was none.
    pub ratio: Option<f64>,
}

/// In what a figure is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FigureUnit {
    /// Jobs in a second.
    JobsPerSecond,
    /// Seconds.
    Seconds,
    /// Jobs.
    Jobs,
    /// Bytes.
    Bytes,
}

/// The figures that are compared: the place in the record, the words and the unit.
const FIGURES: [(&str, &str, FigureUnit); 12] = [
    ("/queue/jobs_per_second", "jobs queued", FigureUnit::JobsPerSecond),
    ("/queue/latency_seconds/p50", "an answer, the median", FigureUnit::Seconds),
    ("/queue/latency_seconds/p99", "an answer, 99 %", FigureUnit::Seconds),
    ("/queue/first_tenth_seconds", "an answer, the first tenth", FigureUnit::Seconds),
    ("/queue/last_tenth_seconds", "an answer, the last tenth", FigureUnit::Seconds),
    ("/process/jobs_per_second", "jobs completed", FigureUnit::JobsPerSecond),
    ("/process/all_seconds", "all of it", FigureUnit::Seconds),
    ("/counts/refused", "refused", FigureUnit::Jobs),
    ("/outcomes/completed", "completed", FigureUnit::Jobs),
    ("/outcomes/aborted", "aborted", FigureUnit::Jobs),
    ("/outcomes/missing", "missing", FigureUnit::Jobs),
    ("/cups/error_log_bytes", "the log grew by", FigureUnit::Bytes),
];

/// What has to be the same for figures to be compared.
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
    /// A report beside the text of an earlier one, in a file.
    ///
    /// # Errors
    /// Fails where that is no report of the same version.
    pub(super) fn of(file: &str, earlier: &str, now: &Value) -> Result<Self, NotComparable> {
        let before = read(earlier, now["schema"].as_str().unwrap_or_default())?;
        let figure = |record: &Value, place: &str| record.pointer(place).and_then(Value::as_f64);
        let figures = FIGURES.iter().filter_map(|(name, words, unit)| {
            let (before, now) = (figure(&before, name), figure(now, name));
            let is_there = before.is_some() || now.is_some();
            let ratio = before.filter(|before| *before > 0.0).zip(now);
            is_there.then(|| Compared {
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

/// An earlier report, which is to be of this schema.
///
/// # Errors
/// Fails where it is another.
pub(super) fn read(earlier: &str, schema: &str) -> Result<Value, NotComparable> {
    let before: Value =
        serde_json::from_str(earlier).map_err(|error| NotComparable::NoJson(error.to_string()))?;
    match before["schema"].as_str() {
        Some(kind) if kind == schema => Ok(before),
        Some(kind) if kind.starts_with(KIND) => {
            Err(NotComparable::Other(kind.to_owned(), schema.to_owned()))
        }
        _ => Err(NotComparable::Other("no report of spool load".to_owned(), schema.to_owned())),
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

/// The settings of cupsd that differ.
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
        // Of nothing there is no ratio.
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
        assert!(wrong("{").starts_with("it is no JSON"), "{}", wrong("{"));
        assert!(wrong("[1]").contains("no report of spool load"));
        assert!(wrong("{\"schema\":\"windlass.send/2\"}").contains("no report"));
        assert!(wrong("{\"schema\":\"windlass.spool-load/2\"}").contains("spool-load/2"));
        assert!(read(&now.to_string(), "windlass.spool-load/3").is_ok());
    }
}
