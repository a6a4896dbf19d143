//! Figures of a text report, and numbers and strings of a JSON report, for comparison.
//!
//! A text report must have no figure that the JSON report lacks.

use serde_json::Value;

/// A number in a text, with its unit.
#[derive(Debug, PartialEq)]
pub struct Figure {
    /// Number and unit as written.
    pub written: String,
    /// Value in the written unit.
    pub value: f64,
    /// Half of a unit in the last digit, which is the maximum rounding error.
    pub half: f64,
    /// Factor from the written unit to the unit of the JSON value.
    pub scale: f64,
}

/// Units as printed, each with its factor to the unit of the JSON value.
const UNITS: [(&str, f64); 17] = [
    ("Gbit/s", 1e9 / 8.0),
    ("Mbit/s", 1e6 / 8.0),
    ("kbit/s", 1e3 / 8.0),
    ("bit/s", 1.0 / 8.0),
    ("GB/s", 1e9),
    ("MB/s", 1e6),
    ("kB/s", 1e3),
    ("B/s", 1.0),
    ("min", 60.0),
    ("ms", 1e-3),
    ("µs", 1e-6),
    ("ns", 1e-9),
    ("B", 1.0),
    ("s", 1.0),
    ("h", 3600.0),
    ("d", 86_400.0),
    ("%", 0.01),
];

/// Returns the figures of a text, from left to right.
pub fn figures(text: &str) -> Vec<Figure> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let word = words[at].trim_matches(|c| "()[],;:.=…".contains(c));
        at += 1;
        let plain = word.replace(',', "");
        // Bounds and addresses are not figures, and do not parse as numbers.
        let Ok(value) = plain.parse::<f64>() else { continue };
        if !plain.starts_with(|c: char| c.is_ascii_digit()) {
            continue;
        }
        let digits = plain.split_once('.').map_or(0, |(_, digits)| digits.len());
        let half = 0.5 / 10_f64.powi(i32::try_from(digits).unwrap());
        let unit = words.get(at).map_or("", |next| next.trim_matches(|c| "()[],;:.".contains(c)));
        let known = UNITS.iter().find(|(name, _)| *name == unit);
        let scale = known.map_or(1.0, |(_, scale)| *scale);
        let unit = if known.is_some() { unit } else { "" };
        let figure = Figure { written: format!("{word} {unit}"), value, half, scale };
        // `2 min 30 s` is one figure. Such a duration is truncated, so its error is a whole unit.
        let joins = match (words.get(at.wrapping_sub(2)), unit) {
            (Some(before), "s") => before.starts_with("min"),
            (Some(before), "min") => *before == "h",
            (Some(before), "h") => *before == "d",
            _ => false,
        };
        match found.last_mut() {
            Some(Figure { written, value: larger, half: last, scale: of }) if joins => {
                *larger += value * scale / *of;
                *last = scale / *of;
                written.push_str(&format!("{value} {unit}"));
            }
            _ => found.push(figure),
        }
        at += usize::from(known.is_some());
    }
    found
}

/// Returns the figures of a text that the JSON lacks.
///
/// The JSON has a figure if a number rounds to the figure in its unit, or if a string contains the
/// figure. `more` holds sums that the text computes.
pub fn missing(text: &str, json: &Value, more: &[f64]) -> Vec<Figure> {
    let (mut numbers, mut strings) = (more.to_vec(), String::new());
    leaves(json, &mut numbers, &mut strings);
    let sentences = strings.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_known = |figure: &Figure| {
        let value = figure.value * figure.scale;
        let half = figure.half * figure.scale * 1.001 + 1e-12;
        numbers.iter().any(|number| (number - value).abs() <= half)
            || sentences.contains(figure.written.trim_end())
    };
    figures(text).into_iter().filter(|figure| !is_known(figure)).collect()
}

/// Appends every number and every string of a JSON value to `numbers` and `strings`.
pub fn leaves(value: &Value, numbers: &mut Vec<f64>, strings: &mut String) {
    match value {
        Value::Number(number) => numbers.push(number.as_f64().unwrap()),
        Value::String(string) => {
            strings.push_str(string);
            strings.push('\n');
        }
        Value::Array(items) => items.iter().for_each(|item| leaves(item, numbers, strings)),
        Value::Object(fields) => fields.values().for_each(|field| leaves(field, numbers, strings)),
        Value::Null | Value::Bool(_) => {}
    }
}
