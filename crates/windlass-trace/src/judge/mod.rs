//! Judgement: from the facts of a transfer to the use of its time, and a verdict.
//!
//! The steps: [`Facts`] are measured once. [`Habits`] are findings over the whole transfer. The
//! rules ([`rules`]) name each wait, which makes the [`Tally`]. The costliest cause has its
//! [`causes::Hypothesis`], whose doubts and rivals determine the confidence. [`Reasons`] explain
//! all of it on request.

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
    WaitReasons, WaitSelection,
};
pub use self::remedy::WITHOUT_LOSS;
pub(crate) use self::tally::{Charge, Tally};
pub(crate) use self::verdict::verdict;
