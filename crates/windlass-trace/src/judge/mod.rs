//! Judging: from the facts of a transfer to where its time went, and a verdict.
//!
//! The way through: [`Facts`] are measured once; [`Habits`] are what they show over the whole
//! transfer; the rules ([`rules`]) name each wait, which makes the [`Tally`]; the costliest cause
//! has its [`causes::Hypothesis`], whose doubts and rivals say how sure it is. [`Reasons`] tells all of
//! it again for whoever asks.

mod between;
pub(crate) mod bounds;
pub(crate) mod case;
pub(crate) mod causes;
mod caveats;
pub(crate) mod checks;
pub(crate) mod confidence;
mod evidence;
mod facts;
#[cfg(test)]
mod fixture;
mod habits;
mod host_stack;
pub(crate) mod law;
mod naming;
mod opening;
mod power_save;
mod reasons;
mod remedy;
pub(crate) mod repair;
mod rivals;
mod rule;
mod rules;
mod tally;
mod verdict;

pub(crate) use self::case::Case;
pub(crate) use self::caveats::{caveats, refuted};
pub use self::checks::{AskedRule, Check, Relation};
pub(crate) use self::evidence::longest_queue;
pub use self::facts::Fact;
pub(crate) use self::facts::{
    AckFacts, CaptureFacts, Facts, LineFacts, LossFacts, OpeningFacts, PathFacts, Quantiles,
    ReaderFacts, SentFacts, WindowFacts,
};
pub(crate) use self::habits::Habits;
pub(crate) use self::naming::tally;
pub use self::reasons::{
    AppliedDoubt, CauseTime, Reasons, RivalConsidered, RuleTime, ThresholdLine, WaitPart,
    WaitReasons, WhichWaits,
};
pub use self::remedy::WITHOUT_LOSS;
pub(crate) use self::tally::{Charge, Tally};
pub(crate) use self::verdict::verdict;
