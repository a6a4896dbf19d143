//! The name and version that every machine-readable record carries.

use crate::AsText;

/// Maximum number of intervals in a record, which is held in memory and printed whole: more than a
/// day at ten seconds, nearly three hours at one second.
pub const MAX_INTERVALS: usize = 10_000;

/// Name and version of the form of a JSON record, as `windlass.explain/2`.
///
/// The version rises when a field is removed or changes its meaning. New
/// fields may appear without a new version, so readers must ignore fields they
/// do not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, AsText)]
pub struct Schema {
    /// Name of the record, as `windlass.explain`.
    pub name: &'static str,
    /// Version of its form, from 1.
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
