//! Values in profiles, scenarios and paths.

use windlass_base::{Bytes, Rate, Span};
use windlass_sim::written::{self, Written};

pub(super) type Size = Written<Bytes>;
pub(super) type SizeOrNone = Written<written::SizeOrNone>;
pub(super) type Time = Written<Span>;
pub(super) type Speed = Written<Rate>;
/// A share of a whole.
pub(super) type Share = Written<f64>;
