//! Verdict of a stored record, as its text shows it.

use serde::Deserialize;
use windlass_base::figures::Share;
use windlass_base::verdict::{BoundSource, Unit};
use windlass_base::{Limit, Rate};

use crate::figures;
use crate::html::Html;
use crate::verdict::{amount, bound, estimate, packets};

/// Parts of a verdict that are shown. Records of other versions of windlass may lack some.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Verdict {
    limit: String,
    because: Option<String>,
    #[serde(default)]
    between: Vec<Cause>,
    share: f64,
    confidence: String,
    sentence: String,
    law: Option<Law>,
    predicted_bytes_per_second: Option<Rate>,
    measured_bytes_per_second: Option<Rate>,
    #[serde(default)]
    evidence: Vec<Evidence>,
    #[serde(default)]
    remedies: Vec<Remedy>,
    #[serde(default)]
    caveats: Vec<Caveat>,
}

/// One of several causes that could not be told apart.
#[derive(Clone, Debug, Deserialize)]
struct Cause {
    limit: String,
    because: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
struct Law {
    name: String,
    formula: String,
    #[serde(default)]
    inputs: Vec<Input>,
}

/// Number in a law.
#[derive(Clone, Debug, Deserialize)]
struct Input {
    symbol: String,
    value: f64,
    unit: String,
}

#[derive(Clone, Debug, Deserialize)]
struct Evidence {
    #[serde(default)]
    packets: Vec<u64>,
    shows: String,
}

#[derive(Clone, Debug, Deserialize)]
struct Remedy {
    side: String,
    action: String,
    expected_bytes_per_second: Option<Rate>,
    at_most_bytes_per_second: Option<Rate>,
    at_most_by: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
struct Caveat {
    text: String,
}

impl Law {
    fn text(&self) -> String {
        let inputs = self.inputs.iter().map(|Input { symbol, value, unit }| {
            let unit = match unit.as_str() {
                "bytes" => Unit::Bytes,
                "seconds" => Unit::Seconds,
                "bytes-per-second" => Unit::BytesPerSecond,
                "share" => Unit::Share,
                _ => Unit::Count,
            };
            format!("{symbol} = {}", amount(*value, unit).plain())
        });
        let inputs: Vec<String> = inputs.collect();
        let with = if inputs.is_empty() { "" } else { " with " };
        format!("{}: {}{with}{}", self.name, self.formula, inputs.join(", "))
    }
}

impl Evidence {
    fn text(&self) -> String {
        format!("{}{}", packets(&self.packets).plain(), self.shows)
    }
}

impl Remedy {
    fn text(&self, measured: Option<Rate>) -> String {
        let Self { side, action, .. } = self;
        match (self.expected_bytes_per_second, self.at_most_bytes_per_second) {
            (Some(rate), _) => format!("{side}: {action}; expect {}", estimate(rate).plain()),
            (None, Some(most)) => {
                let by = self.at_most_by.as_deref();
                let source = BoundSource::ALL.iter().find(|source| by == Some(source.id()));
                let most = bound(most, source.copied(), measured.unwrap_or(most));
                format!("{side}: {action}; {}", most.plain())
            }
            (None, None) => format!("{side}: {action}"),
        }
    }
}

impl Verdict {
    /// Returns the limit and its reason, such as `receiver-window / path-rtt`, or the causes that
    /// could not be told apart.
    pub(super) fn cause(&self) -> String {
        let cause = |limit: &str, because: Option<&String>| match because {
            Some(because) => format!("{limit} / {because}"),
            None => limit.to_owned(),
        };
        if self.between.is_empty() {
            return cause(&self.limit, self.because.as_ref());
        }
        let between = self.between.iter().map(|one| cause(&one.limit, one.because.as_ref()));
        let between: Vec<String> = between.collect();
        if self.limit == Limit::Unknown.id() {
            format!("{} between {}", self.limit, between.join(" and "))
        } else {
            between.join(" or ")
        }
    }

    /// Writes the verdict. `of` names its subject if there are several.
    pub(super) fn write(&self, html: &mut Html, of: Option<&str>) {
        html.raw("<section class=\"verdict\">\n");
        let (cause, share, confidence) = (self.cause(), Share(self.share), &self.confidence);
        let of = of.map(|of| format!("{of}: ")).unwrap_or_default();
        let head = format!("{of}{cause}, {share} of the time; confidence {confidence}");
        html.element("h3", &head);
        html.element("p", &self.sentence);
        let mut rows: Vec<(&str, String)> = Vec::new();
        if let Some(law) = &self.law {
            rows.push(("law", law.text()));
        }
        if let (Some(predicted), Some(measured)) =
            (self.predicted_bytes_per_second, self.measured_bytes_per_second)
        {
            let both = |rate| figures::both(rate).plain();
            rows.push(("predicted", format!("{}; measured {}", both(predicted), both(measured))));
        }
        let to_change = |remedy: &Remedy| remedy.text(self.measured_bytes_per_second);
        let lists = [
            ("evidence", self.evidence.iter().map(Evidence::text).collect::<Vec<_>>()),
            ("to change", self.remedies.iter().map(to_change).collect()),
            ("not sure", self.caveats.iter().map(|one| one.text.clone()).collect()),
        ];
        for (name, list) in lists {
            let names = [name].into_iter().chain(std::iter::repeat(""));
            rows.extend(names.zip(list));
        }
        html.raw("<dl class=\"rows\">\n");
        for (name, text) in rows {
            if !name.is_empty() {
                html.element("dt", name);
            }
            html.element("dd", &text);
        }
        html.raw("</dl>\n</section>\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_that_are_not_told_apart_are_named() {
        let json = serde_json::json!({
            "limit": "unknown", "because": null, "share": 0.9, "confidence": "low",
            "between": [{"limit": "loss", "because": "timeout"},
                        {"limit": "path-capacity", "because": null}],
            "sentence": "Either.",
        });
        let verdict: Verdict = serde_json::from_value(json).unwrap();
        assert_eq!(verdict.cause(), "unknown between loss / timeout and path-capacity");
    }

    #[test]
    fn a_verdict_says_what_its_text_does() {
        let json = serde_json::json!({
            "limit": "receiver-window", "because": "path-rtt", "share": 1.0,
            "confidence": "high", "sentence": "The <receiver> takes 15,939 B.",
            "law": {"name": "window", "formula": "W / T", "inputs": [
                {"symbol": "W", "value": 15939.0, "unit": "bytes", "meaning": "the window"}]},
            "predicted_bytes_per_second": 5.48e6, "measured_bytes_per_second": 5.2e6,
            "evidence": [{"packets": [7, 9], "shows": "one"}, {"packets": [], "shows": "two"}],
            "remedies": [{"side": "receiver", "action": "offer more", "value": null,
                          "expected_bytes_per_second": null, "at_most_bytes_per_second": 21.4e6,
                          "at_most_by": "path"}],
            "caveats": [],
        });
        let verdict: Verdict = serde_json::from_value(json).unwrap();
        let mut html = Html::new("/t");
        verdict.write(&mut html, Some("there"));
        let text = html.part();
        for expected in [
            "<h3>there: receiver-window / path-rtt, 100 % of the time; confidence high</h3>",
            "<p>The &lt;receiver&gt; takes 15,939 B.</p>",
            "<dt>predicted</dt>\n<dd>5.48 MB/s = 43.8 Mbit/s; measured 5.2 MB/s = 41.6 Mbit/s</dd>",
            "<dd>window: W / T with W = 15,939 B</dd>",
            "<dt>evidence</dt>\n<dd>packets 7, 9: one</dd>\n<dd>two</dd>",
            "receiver: offer more; at most 21.4 MB/s = 171.2 Mbit/s (the path&#39;s capacity was not seen)",
        ] {
            let found = text.replace('\u{a0}', " ").contains(expected);
            assert!(found, "{expected}: {text}");
        }
    }
}
