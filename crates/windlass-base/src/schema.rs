//! The name and version that every machine-readable record carries.

use crate::AsText;

/// The most intervals that a record keeps, as it is held in memory and printed
/// whole: more than a day of them at ten seconds, nearly three hours of seconds.
pub const MAX_INTERVALS: usize = 10_000;

/// Identifies the shape of a JSON record, as `windlass.explain/2`.
///
/// The version rises when a field is removed or changes its meaning. New
/// fields may appear without a new version, so readers must ignore fields they
/// do not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, AsText)]
pub struct Schema {
    /// What the record is, as `windlass.explain`.
    pub name: &'static str,
    /// The version of its shape, from 1.
    pub version: u32,
}

impl std::fmt::Display for Schema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.name, self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_reads_as_name_and_version() {
        assert_eq!(
            Schema { name: "windlass.explain", version: 2 }.to_string(),
            "windlass.explain/2"
        );
    }
}
