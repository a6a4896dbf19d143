//! Conditions of rules, with an account of each for `--why`.

use serde::Serialize;
use windlass_base::figures::Count;
use windlass_base::thresholds::{Threshold, Value};
use windlass_base::{Bytes, Cause, Named, Rate, Sentence, Span, sentence};

/// Relations of a figure to its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum Relation {
    /// At least as large.
    AtLeast,
    /// Larger.
    Above,
    /// At most as large.
    AtMost,
    /// Smaller.
    Below,
    /// A yes or no, which needs no bound.
    Is,
}

/// A condition of a rule, with the figure that it was asked of.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// The quantity that was measured.
    pub what: &'static str,
    /// Its value; null where it is a yes or no, or not known.
    pub figure: Option<f64>,
    /// The unit of the value and of the bound; null for a number without one.
    pub unit: Option<&'static str>,
    /// The relation that is asked for.
    pub relation: Relation,
    /// The bound; null where there is none.
    pub bound: Option<f64>,
    /// The line of the table of thresholds that the bound comes from.
    pub threshold: Option<&'static str>,
    /// The condition holds.
    pub holds: bool,
    /// The condition as text.
    #[serde(skip)]
    pub text: Sentence,
}

/// A figure that may be compared.
pub(crate) trait CheckFigure: PartialOrd + Copy {
    const UNIT: Option<&'static str>;
    fn number(self) -> f64;
    fn text(self) -> Sentence;
}

impl CheckFigure for Span {
    const UNIT: Option<&'static str> = Some("s");
    fn number(self) -> f64 {
        self.as_seconds()
    }
    fn text(self) -> Sentence {
        sentence!("{self}")
    }
}

impl CheckFigure for Bytes {
    const UNIT: Option<&'static str> = Some("B");
    fn number(self) -> f64 {
        self.get() as f64
    }
    fn text(self) -> Sentence {
        sentence!("{self}")
    }
}

impl CheckFigure for Rate {
    const UNIT: Option<&'static str> = Some("B/s");
    fn number(self) -> f64 {
        self.bytes_per_second()
    }
    fn text(self) -> Sentence {
        sentence!("{self}")
    }
}

impl CheckFigure for f64 {
    const UNIT: Option<&'static str> = None;
    fn number(self) -> f64 {
        self
    }
    fn text(self) -> Sentence {
        let text = windlass_base::figures::fixed(self, 3);
        let text = text.trim_end_matches('0').trim_end_matches('.').to_owned();
        sentence!("{text}")
    }
}

impl CheckFigure for u64 {
    const UNIT: Option<&'static str> = None;
    fn number(self) -> f64 {
        self as f64
    }
    fn text(self) -> Sentence {
        sentence!("{}", Count(self))
    }
}

/// A bound, and the threshold that it comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound<T> {
    value: T,
    threshold: Option<&'static str>,
}

impl<T: CheckFigure + Value> From<Threshold<T>> for Bound<T> {
    fn from(threshold: Threshold<T>) -> Self {
        Self { value: threshold.get(), threshold: Some(threshold.name()) }
    }
}

impl<T: CheckFigure> From<T> for Bound<T> {
    fn from(value: T) -> Self {
        Self { value, threshold: None }
    }
}

/// Returns a bound that depends on a threshold.
pub(crate) fn by<T: CheckFigure, V: Value>(threshold: Threshold<V>, value: T) -> Bound<T> {
    Bound { value, threshold: Some(threshold.name()) }
}

/// A rule that was asked, with its conditions up to the one that settled it.
#[derive(Clone, Debug, Serialize)]
pub struct AskedRule {
    /// The rule, by the name that its file gives it.
    pub rule: &'static str,
    /// The cause that it stands for.
    #[serde(flatten)]
    pub cause: Cause,
    /// True if the rule held.
    pub holds: bool,
    /// Conditions of the rule; none if it takes what is left.
    pub checks: Vec<Check>,
}

/// The conditions that rules asked, where somebody wants to know.
#[derive(Debug, Default)]
pub(crate) struct Checks {
    found: Option<Vec<Check>>,
    rules: Vec<AskedRule>,
}

impl Checks {
    /// Keeps no account.
    pub(crate) const fn silent() -> Self {
        Self { found: None, rules: Vec::new() }
    }

    /// Keeps an account of each condition.
    pub(crate) const fn recording() -> Self {
        Self { found: Some(Vec::new()), rules: Vec::new() }
    }

    /// Closes the account of a rule.
    pub(crate) fn rule(&mut self, rule: &'static str, cause: Cause, holds: bool) -> bool {
        if let Some(found) = &mut self.found {
            let checks = std::mem::take(found);
            self.rules.push(AskedRule { rule, cause, holds, checks });
        }
        holds
    }

    /// Hands over the rules that were asked.
    pub(crate) fn into_rules(self) -> Vec<AskedRule> {
        self.rules
    }

    /// Asks a yes or no.
    pub(crate) fn is(&mut self, what: &'static str, holds: bool) -> bool {
        if let Some(found) = &mut self.found {
            found.push(Check {
                what,
                figure: None,
                unit: None,
                relation: Relation::Is,
                bound: None,
                threshold: None,
                holds,
                text: sentence!("{} {what}", mark(holds)),
            });
        }
        holds
    }

    /// Asks whether a figure is at least its bound.
    pub(crate) fn at_least<T: CheckFigure>(
        &mut self,
        what: &'static str,
        figure: T,
        bound: impl Into<Bound<T>>,
    ) -> bool {
        self.compare(what, Some(figure), Relation::AtLeast, bound.into())
    }

    /// Asks whether a figure is above its bound.
    pub(crate) fn above<T: CheckFigure>(
        &mut self,
        what: &'static str,
        figure: T,
        bound: impl Into<Bound<T>>,
    ) -> bool {
        self.compare(what, Some(figure), Relation::Above, bound.into())
    }

    /// Asks whether a figure is below its bound.
    pub(crate) fn below<T: CheckFigure>(
        &mut self,
        what: &'static str,
        figure: T,
        bound: impl Into<Bound<T>>,
    ) -> bool {
        self.compare(what, Some(figure), Relation::Below, bound.into())
    }

    /// Asks whether a figure is at most its bound.
    pub(crate) fn at_most<T: CheckFigure>(
        &mut self,
        what: &'static str,
        figure: T,
        bound: impl Into<Bound<T>>,
    ) -> bool {
        self.compare(what, Some(figure), Relation::AtMost, bound.into())
    }

    /// Asks of a figure that may not be known; `false` where it is not.
    pub(crate) fn some_below<T: CheckFigure>(
        &mut self,
        what: &'static str,
        figure: Option<T>,
        bound: impl Into<Bound<T>>,
    ) -> bool {
        self.compare(what, figure, Relation::Below, bound.into())
    }

    fn compare<T: CheckFigure>(
        &mut self,
        what: &'static str,
        figure: Option<T>,
        relation: Relation,
        bound: Bound<T>,
    ) -> bool {
        let holds = figure.is_some_and(|figure| match relation {
            Relation::AtLeast => figure >= bound.value,
            Relation::Above => figure > bound.value,
            Relation::AtMost => figure <= bound.value,
            Relation::Below => figure < bound.value,
            Relation::Is => true,
        });
        if let Some(found) = &mut self.found {
            let sign = match relation {
                Relation::AtLeast => "≥",
                Relation::Above => ">",
                Relation::AtMost => "≤",
                Relation::Below => "<",
                Relation::Is => "",
            };
            let named = bound.threshold.map_or_else(Sentence::new, |name| sentence!(" ({name})"));
            let value = figure.map_or_else(|| "unknown".into(), CheckFigure::text);
            let mark = mark(holds);
            let bound_text = bound.value.text();
            let text = sentence!("{mark} {what}: {value} {sign} {bound_text}{named}");
            found.push(Check {
                what,
                figure: figure.map(CheckFigure::number),
                unit: T::UNIT,
                relation,
                bound: Some(bound.value.number()),
                threshold: bound.threshold,
                holds,
                text,
            });
        }
        holds
    }
}

/// Returns the mark of a condition that holds, or does not.
fn mark(holds: bool) -> &'static str {
    if holds { "✓" } else { "✗" }
}
