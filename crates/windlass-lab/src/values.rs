//! Values in profiles, scenarios and paths.

use windlass_base::{Bytes, Span};
use windlass_sim::written::Written;

pub(super) type Size = Written<Bytes>;
pub(super) type Time = Written<Span>;
/// A share of a whole.
pub(super) type Share = Written<f64>;
