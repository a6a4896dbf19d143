//! What a script may ask of a comparison: `rate < 0.9 * baseline`.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use windlass_base::values;

use crate::compare::Comparison;
use crate::figure::{FigureName, Unit};

/// What is asked of a figure's median in each group but the first.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    text: String,
    name: FigureName,
    sign: Sign,
    bound: Bound,
}

/// How the two sides are held against each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Below,
    AtMost,
    Above,
    AtLeast,
}

/// The right side.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Bound {
    /// So often the median of the first group.
    Baseline(f64),
    /// A value of the figure's unit.
    Fixed(f64),
}

/// A group for which a condition holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Held {
    /// Which.
    pub group: String,
    /// Of which row of the records, where they have several.
    pub of: Option<String>,
    /// Its median.
    pub value: f64,
    /// What that was held against.
    pub bound: f64,
    /// The unit of both.
    pub unit: Unit,
}

/// How a condition is written, for help texts.
pub const HELP: &str = "rate < 0.9 * baseline, or retransmissions > 1%";

impl FromStr for Condition {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let at = text.find(['<', '>']).ok_or_else(|| format!("a condition is {HELP}"))?;
        let (left, rest) = text.split_at(at);
        let (sign, right) = match rest.as_bytes() {
            [b'<', b'=', ..] => (Sign::AtMost, &rest[2..]),
            [b'<', ..] => (Sign::Below, &rest[1..]),
            [_, b'=', ..] => (Sign::AtLeast, &rest[2..]),
            _ => (Sign::Above, &rest[1..]),
        };
        let name = FigureName::named(left.trim()).ok_or_else(|| {
            let all: Vec<&str> = FigureName::ALL.iter().map(|name| name.id()).collect();
            format!("{:?} is no figure: it is one of {}", left.trim(), all.join(", "))
        })?;
        let bound = bound(right.trim(), name.unit())?;
        Ok(Self { text: text.trim().to_owned(), name, sign, bound })
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

/// The right side of a condition on a figure of this unit.
fn bound(text: &str, unit: Unit) -> Result<Bound, String> {
    let factor = |text: &str| {
        let factor = text.trim().parse::<f64>().ok().filter(|factor| factor.is_finite());
        factor.map(Bound::Baseline).ok_or_else(|| format!("{:?} is no number", text.trim()))
    };
    if text == "baseline" {
        return Ok(Bound::Baseline(1.0));
    }
    if let Some((one, other)) = text.split_once('*') {
        return match (one.trim(), other.trim()) {
            (number, "baseline") | ("baseline", number) => factor(number),
            _ => Err(format!("{text:?} is not so often the baseline, as 0.9 * baseline")),
        };
    }
    let number = || {
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| format!("{text:?} is no number"))
    };
    let fixed = match unit {
        // Zero has no unit.
        _ if text == "0" => 0.0,
        Unit::BytesPerSecond => values::rate_with_unit(text)?.bytes_per_second(),
        Unit::Seconds => values::span_with_unit(text)?.as_seconds(),
        Unit::Bytes => values::bytes(text)?.get() as f64,
        Unit::Share => values::share(text)?,
        Unit::JobsPerSecond | Unit::PacketsPerSecond | Unit::Count => number()?,
    };
    Ok(Bound::Fixed(fixed))
}

impl Condition {
    /// The groups for which it holds, of all but the first. With a fixed bound the first may
    /// stand alone, and is held against it, too.
    ///
    /// # Errors
    /// Where no run, or none of the first group, has the figure.
    pub fn holds(&self, comparison: &Comparison) -> Result<Vec<Held>, String> {
        let rows = || comparison.figures.iter().filter(|figure| figure.name == self.name);
        if rows().next().is_none() {
            let mut all: Vec<&str> =
                comparison.figures.iter().map(|figure| figure.name.id()).collect();
            all.dedup();
            return Err(format!("these runs have no {}: they have {}", self.name, all.join(", ")));
        }
        let mut held = Vec::new();
        for row in rows() {
            let baseline = row.groups.first().copied().flatten().map(|spread| spread.median);
            let bound = match (self.bound, baseline) {
                (Bound::Fixed(value), _) => value,
                (Bound::Baseline(factor), Some(baseline)) => factor * baseline,
                (Bound::Baseline(_), None) => {
                    return Err(format!("the baseline has no {}", self.name));
                }
            };
            let from = usize::from(matches!(self.bound, Bound::Baseline(_)));
            let groups = row.groups.iter().zip(&comparison.groups).skip(from);
            for (spread, group) in groups {
                let value = spread.map(|spread| spread.median);
                if let Some(value) = value.filter(|value| self.sign.holds(*value, bound)) {
                    let (group, of) = (group.name.clone(), row.of.clone());
                    held.push(Held { group, of, value, bound, unit: row.unit });
                }
            }
        }
        Ok(held)
    }
}

impl Sign {
    fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Self::Below => value < bound,
            Self::AtMost => value <= bound,
            Self::Above => value > bound,
            Self::AtLeast => value >= bound,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::tests::comparison;

    #[test]
    fn a_condition_is_read_or_refused() {
        let read = |text: &str| text.parse::<Condition>();
        assert_eq!(read("rate < 0.9 * baseline").unwrap().bound, Bound::Baseline(0.9));
        assert_eq!(read("rate<baseline*0.9").unwrap().bound, Bound::Baseline(0.9));
        assert_eq!(read("latency-p99 >= 5ms").unwrap().bound, Bound::Fixed(0.005));
        assert_eq!(read("rate <= 8Mbit/s").unwrap().bound, Bound::Fixed(1e6));
        assert_eq!(read("retransmissions > 1%").unwrap().bound, Bound::Fixed(0.01));
        assert_eq!(read("not-completed > 0").unwrap().bound, Bound::Fixed(0.0));
        for (text, said) in [
            ("rate", "a condition is"),
            ("speed < 1", "\"speed\" is no figure: it is one of rate, time"),
            ("rate < 5", "a rate is written with its unit"),
            ("rate < 0.9 * other", "is not so often the baseline"),
            ("rate < x * baseline", "\"x\" is no number"),
            ("queue-rate < ", "\"\" is no number"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn it_holds_for_the_medians_of_groups() {
        let comparison = comparison(&[&[100.0, 101.0, 99.0], &[89.0, 88.0, 95.0], &[95.0]]);
        let holds = |text: &str| text.parse::<Condition>().unwrap().holds(&comparison);
        let held = holds("rate < 0.9 * baseline").unwrap();
        assert_eq!(held.len(), 1);
        assert_eq!((held[0].group.as_str(), held[0].value, held[0].bound), ("B", 89.0, 90.0));
        assert_eq!(holds("rate > 90B/s").unwrap().len(), 2, "A and C");
        assert!(holds("rate > baseline").unwrap().is_empty());
        assert_eq!(holds("jitter > 1ms").unwrap_err(), "these runs have no jitter: they have rate");
    }
}
