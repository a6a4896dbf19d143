//! Two captures side by side.
//!
//! A connection that both hold is one transfer seen at two places: [`common`] finds it by its
//! sequence numbers, a [`Recorder`] keeps its packets at each place, and [`TwoPlaces`] tells what
//! happened between them. Elsewhere [`TwoRuns`] sets two transfers beside each other.

mod acks;
mod alignment;
mod delivery;
mod fingerprint;
mod places;
mod ranges;
mod recording;
mod runs;
mod twins;

pub use acks::AckPath;
pub use alignment::{Clocks, DelayQuantiles, Order};
pub use delivery::{DataPath, Offload};
pub use fingerprint::{Fingerprint, Fingerprints, Match, MatchBasis, common};
pub use places::{RelativePosition, Rewrite, RewrittenItem, Trust, TrustReason, TwoPlaces};
pub use recording::{Coverage, Recorder, Recording};
pub use runs::{
    Figure, FigureName, FigureUnit, LimitShares, SelectionRule, TwoRuns, choose, figures,
};
