//! The time of a connection that receives, by its own kernel's figures.

use super::facts::Thread;
use super::rules::{Causes, Parts};
use crate::thresholds::TICK;
use crate::{Cause, Limit, Span};

/// Facts of data that a connection receives, over a stretch of time. The sender's windows and
/// buffers are at the other end: this end knows only its own program.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReceiverFacts {
    /// The time.
    pub seconds: Span,
    /// The share of it with a closed window and data that was not read.
    pub closed_share: f64,
    /// True if more was unread than the window still had room for, all the time.
    pub is_behind: bool,
    /// The receiving program's thread, where it has one.
    pub reader: Option<Thread>,
}

/// Charges a stretch of time to what a receiver's own kernel knows.
pub fn judge_receiving(facts: &ReceiverFacts) -> Parts {
    let mut parts = Parts::new();
    let is_busy = facts.seconds >= TICK.get() && facts.reader.is_some_and(Thread::is_busy);
    let by_program = |cause: Cause| if is_busy { Cause::Processor } else { cause };
    let closed = facts.seconds.scaled(facts.closed_share);
    parts.add(by_program(Cause::ReceiverNotReading).into(), Some(Limit::ZeroWindow), closed);
    let rest = match facts.is_behind {
        true => by_program(Cause::ReceiverLimited).into(),
        false => Causes::NONE,
    };
    parts.add(rest, None, facts.seconds - closed);
    parts
}
