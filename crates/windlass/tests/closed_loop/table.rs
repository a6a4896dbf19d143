//! The confusion matrix.

use std::collections::BTreeMap;
use std::fmt;

use super::setting::Injected;

/// Counts of injected limits by the named limit.
#[derive(Default)]
pub(crate) struct Matrix(BTreeMap<(&'static str, String), u64>);

impl Matrix {
    pub(crate) fn add(&mut self, injected: Injected, named: &str) {
        *self.0.entry((injected.name(), named.to_owned())).or_default() += 1;
    }

    /// The share of the injected that were named by their own name.
    pub(crate) fn named_as(&self, injected: Injected) -> f64 {
        let row = self.0.iter().filter(|((row, _), _)| *row == injected.name());
        let (mut right, mut all) = (0, 0);
        for ((row, named), count) in row {
            all += count;
            right += if named == row { *count } else { 0 };
        }
        right as f64 / all.max(1) as f64
    }
}

impl fmt::Display for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "injected, and what it was named (single causes)")?;
        for injected in Injected::ALL {
            let name = injected.name();
            let row = self.0.iter().filter(|((row, _), _)| *row == name);
            let total: u64 = row.clone().map(|(_, count)| count).sum();
            writeln!(f, "\n{name}: {total}")?;
            for ((_, named), count) in row {
                writeln!(f, "{count:6}  {named}")?;
            }
        }
        Ok(())
    }
}
