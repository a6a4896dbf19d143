//! Conditions on a comparison, for scripts: `rate < 0.9 * baseline`.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use windlass_base::values;

use crate::compare::Comparison;
use crate::figure::{FigureName, Unit};

/// Condition on a figure's median in each group but the first.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    text: String,
    name: FigureName,
    sign: Sign,
    bound: Bound,
}

/// Comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Below,
    AtMost,
    Above,
    AtLeast,
}

/// Right side of a condition.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Bound {
    /// A multiple of the first group's median.
    Baseline(f64),
    /// A value in the figure's unit.
    Fixed(f64),
}

/// Group that fulfils a condition.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConditionMatch {
    /// Name of the group.
    pub group: String,
    /// Row of the records, if they have several.
    pub of: Option<String>,
    /// Median of the group.
    pub value: f64,
    /// Bound of the condition.
    pub bound: f64,
    /// Unit of both values.
    pub unit: Unit,
}

/// Syntax of a condition, for help texts.
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
            format!("{:?} is not a figure; the figures are {}", left.trim(), all.join(", "))
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

/// Parses the right side of a condition on a figure with this unit.
fn bound(text: &str, unit: Unit) -> Result<Bound, String> {
    let factor = |text: &str| {
        let factor = text.trim().parse::<f64>().ok().filter(|factor| factor.is_finite());
        factor.map(Bound::Baseline).ok_or_else(|| format!("{:?} is not a number", text.trim()))
    };
    if text == "baseline" {
        return Ok(Bound::Baseline(1.0));
    }
    if let Some((one, other)) = text.split_once('*') {
        return match (one.trim(), other.trim()) {
            (number, "baseline") | ("baseline", number) => factor(number),
            _ => Err(format!("{text:?} is not a multiple of the baseline, such as 0.9 * baseline")),
        };
    }
    let number = || {
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| format!("{text:?} is not a number"))
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
    /// Returns the groups that fulfil the condition, without the first group. With a fixed bound,
    /// the first group is tested, too, and may be the only one.
    ///
    /// # Errors
    /// Returns an error if no run has the figure, or if the condition needs a baseline and the
    /// first group lacks the figure.
    pub fn holds(&self, comparison: &Comparison) -> Result<Vec<ConditionMatch>, String> {
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
                    held.push(ConditionMatch { group, of, value, bound, unit: row.unit });
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
            ("speed < 1", "\"speed\" is not a figure; the figures are rate, time"),
            ("rate < 5", "write a rate with its unit"),
            ("rate < 0.9 * other", "is not a multiple of the baseline"),
            ("rate < x * baseline", "\"x\" is not a number"),
            ("queue-rate < ", "\"\" is not a number"),
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
