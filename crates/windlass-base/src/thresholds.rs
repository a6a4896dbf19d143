//! The thresholds of judging, in one table.
//!
//! Each line has a name, a value, a unit and the reason for the value. A rule takes the number
//! from here by its name, and `windlass explain --why` prints the name beside the figure that it
//! was compared with. Two rules that mean the same thing use the same line.
//!
//! With the feature `overrides` a test puts another value in place of a line ([`overriding`]),
//! to measure what the line decides. Without it a threshold is a constant.

mod table;

use std::fmt;
use std::ops::Mul;

pub use self::table::*;
use crate::Span;

/// A threshold: a line of the table.
#[derive(Clone, Copy, Debug)]
pub struct Threshold<T> {
    name: &'static str,
    value: T,
}

/// A line of the table, for printing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Its name in the code.
    pub name: &'static str,
    /// Its value, in its unit.
    pub value: f64,
    /// Its unit.
    pub unit: ThresholdUnit,
    /// Its meaning, and the source of the value.
    pub meaning: &'static str,
}

/// The unit of a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThresholdUnit {
    /// A time.
    Seconds,
    /// A number of things.
    Count,
    /// A factor or a share.
    Ratio,
}

/// The unit's symbol, as behind a value.
impl fmt::Display for ThresholdUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Seconds => "s",
            Self::Count => "",
            Self::Ratio => "×",
        })
    }
}

/// A value that a threshold may have.
pub trait Value: Copy + 'static {
    /// Its unit.
    const UNIT: ThresholdUnit;

    /// The value as a number in its unit.
    fn number(self) -> f64;

    /// The value of a number in its unit.
    fn of(number: f64) -> Self;
}

impl Value for f64 {
    const UNIT: ThresholdUnit = ThresholdUnit::Ratio;

    fn number(self) -> f64 {
        self
    }

    fn of(number: f64) -> Self {
        number
    }
}

impl Value for Span {
    const UNIT: ThresholdUnit = ThresholdUnit::Seconds;

    fn number(self) -> f64 {
        self.as_seconds()
    }

    fn of(number: f64) -> Self {
        Self::from_seconds(number)
    }
}

macro_rules! counts {
    ($($type:ty)*) => {$(
        impl Value for $type {
            const UNIT: ThresholdUnit = ThresholdUnit::Count;

            #[expect(clippy::allow_attributes, reason = "not each of the types needs each of these")]
            #[allow(clippy::cast_precision_loss, clippy::cast_lossless)]
            fn number(self) -> f64 {
                self as f64
            }

            #[expect(clippy::allow_attributes, reason = "not each of the types needs each of these")]
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            fn of(number: f64) -> Self {
                number.round() as Self
            }
        }
    )*};
}

counts!(u8 u16 u32 u64 i64 usize);

impl<T: Value> Threshold<T> {
    /// Returns the value.
    #[inline]
    pub fn get(self) -> T {
        #[cfg(feature = "overrides")]
        if let Some(number) = overrides::of(self.name) {
            return T::of(number);
        }
        self.value
    }

    /// Returns the value as another kind of number, where a line counts what two types hold.
    pub fn to<U: Value>(self) -> U {
        U::of(self.get().number())
    }

    /// Returns the name of the line.
    pub const fn name(self) -> &'static str {
        self.name
    }
}

impl Mul<Span> for Threshold<f64> {
    type Output = Span;

    /// Scales a time by the threshold.
    fn mul(self, span: Span) -> Span {
        span.scaled(self.get())
    }
}

#[cfg(feature = "overrides")]
mod overrides {
    use std::cell::{Cell, RefCell};
    use std::collections::BTreeMap;

    thread_local! {
        static ANY: Cell<bool> = const { Cell::new(false) };
        static VALUES: RefCell<BTreeMap<String, f64>> = const { RefCell::new(BTreeMap::new()) };
    }

    pub(super) fn of(name: &str) -> Option<f64> {
        if ANY.get() { VALUES.with_borrow(|values| values.get(name).copied()) } else { None }
    }

    /// Puts a value in place of that of a line while `body` runs, on this thread.
    pub(super) fn with<R>(name: &str, value: f64, body: impl FnOnce() -> R) -> R {
        VALUES.with_borrow_mut(|values| values.insert(name.to_owned(), value));
        ANY.set(true);
        let result = body();
        VALUES.with_borrow_mut(|values| {
            values.remove(name);
            ANY.set(!values.is_empty());
        });
        result
    }
}

/// Runs `body` with another value of a line, on this thread only.
#[cfg(feature = "overrides")]
pub fn overriding<R>(name: &str, value: f64, body: impl FnOnce() -> R) -> R {
    overrides::with(name, value, body)
}

macro_rules! thresholds {
    ($($(#[doc = $doc:literal])+ $name:ident: $type:ty = $value:expr;)*) => {
        $(
            $(#[doc = $doc])+
            pub const $name: Threshold<$type> = Threshold { name: stringify!($name), value: $value };
        )*

        /// Returns the lines of this section.
        pub(super) fn lines() -> Vec<Line> {
            vec![$(Line {
                name: stringify!($name),
                value: Value::number($name.value),
                unit: <$type as Value>::UNIT,
                meaning: concat!($($doc),+).trim_ascii(),
            },)*]
        }
    };
}
use thresholds;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_told() {
        let mut lines = all();
        assert!(lines.iter().all(|line| line.meaning.len() > 20 && line.value.is_finite()));
        let count = lines.len();
        lines.sort_by_key(|line| line.name);
        lines.dedup_by_key(|line| line.name);
        assert_eq!(lines.len(), count);
    }

    #[cfg(feature = "overrides")]
    #[test]
    fn a_line_is_overridden_for_a_while() {
        let usual = BEYOND_JITTER.get();
        overriding(BEYOND_JITTER.name(), 3.0, || {
            assert_eq!(BEYOND_JITTER.get(), 3.0);
        });
        assert_eq!(BEYOND_JITTER.get(), usual);
    }
}
