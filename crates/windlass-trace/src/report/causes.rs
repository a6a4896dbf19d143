//! What a report says of each cause: a value for each, in a file for its limit.
//!
//! What several of them share is beside this: the numbers ([`Subject`]), the laws
//! ([`super::law`]), the reckoning of what a change brings ([`Advice`]), and the packets of
//! waits ([`super::evidence`]).

mod application;
mod congestion_window;
mod loss;
mod path_capacity;
mod receiver_window;
mod segments;
mod send_buffer;
mod zero_window;

pub(super) use self::loss::path_loss;
pub(super) use self::path_capacity::capacity_seen;

use windlass_base::{Cause, Sentence};

use super::confidence::Doubts;
use super::evidence::Shows;
use super::law::Applied;
use super::remedy::Advice;
use super::subject::Subject;
use super::{Evidence, Remedy};
use crate::ledger::Kind;

/// What is said of a cause.
pub(super) struct Words {
    /// The verdict in a sentence that a print administrator understands; the second is what
    /// share of the time it is, as `96 % of the time`.
    pub(super) sentence: fn(&Subject<'_>, &Sentence) -> Sentence,
    /// The law that predicts the rate; `None` where none says what it will be, or the
    /// capture lacks a number that it needs.
    pub(super) law: fn(&Subject<'_>) -> Option<Applied>,
    /// What to change, and what that brings.
    pub(super) remedies: fn(&Advice<'_>) -> Vec<Remedy>,
    /// The kinds of waiting in which it shows.
    pub(super) shows: Shows,
    /// The packets that show it beside the waits.
    pub(super) packets: fn(&Subject<'_>) -> Vec<Evidence>,
    /// Whether it is not sure. Without a rule it is as sure as its share of the time, which
    /// is too sure for what looks like something else.
    pub(super) is_doubtful: fn(&Doubts<'_>) -> bool,
    /// What else may set the pace, as a program that reads or writes at one of its own, and what
    /// would tell. Then it is not sure, and what a change would bring is not known.
    pub(super) other_pace: fn(&Subject<'_>) -> Option<Sentence>,
    /// Whether it is a habit, which shows only over several round trips.
    pub(super) is_habit: bool,
}

/// What the capture does not tell; and what a cause has of which nothing else is said.
const UNTOLD: Words = Words {
    sentence: |_, _| "This capture does not tell what held the transfer back.".into(),
    law: |_| None,
    remedies: |_| Vec::new(),
    shows: |kind| kind == Kind::Missing,
    packets: |_| Vec::new(),
    is_doubtful: |_| false,
    other_pace: |_| None,
    is_habit: false,
};

/// What is said of this cause.
pub(super) fn words(cause: Cause) -> &'static Words {
    match cause {
        Cause::WindowPathRtt => &receiver_window::PATH_RTT,
        Cause::WindowAckLatency => &receiver_window::ACK_LATENCY,
        Cause::WindowBelowMss => &receiver_window::BELOW_MSS,
        Cause::ReceiverNotReading => &zero_window::NOT_READING,
        Cause::NoWindowUpdate => &zero_window::NO_UPDATE,
        Cause::WindowOpensLate => &zero_window::OPENS_LATE,
        Cause::BufferDelayedAck => &send_buffer::DELAYED_ACK,
        Cause::BufferPathRtt => &send_buffer::PATH_RTT,
        Cause::SlowStart => &congestion_window::SLOW_START,
        Cause::AfterLoss => &congestion_window::AFTER_LOSS,
        Cause::Reordering => &congestion_window::REORDERING,
        Cause::Steady => &congestion_window::STEADY,
        Cause::FastRecovery => &loss::FAST_RECOVERY,
        Cause::Timeout => &loss::TIMEOUT,
        Cause::ReceiverDiscards => &loss::RECEIVER_DISCARDS,
        Cause::BlackHole => &loss::BLACK_HOLE,
        Cause::AckLoss => &loss::ACK_LOSS,
        Cause::SlowTimer => &loss::SLOW_TIMER,
        Cause::PathQueue => &path_capacity::QUEUE,
        Cause::PathPolicer => &path_capacity::POLICER,
        Cause::PathMarks => &path_capacity::MARKS,
        Cause::SenderIdle => &application::SENDER_IDLE,
        Cause::AwaitsAnswer => &application::AWAITS_ANSWER,
        Cause::ReceiverLimited => &application::RECEIVER_LIMITED,
        Cause::SmallSegments => &segments::SMALL,
        Cause::NagleDelayedAck => &segments::NAGLE_DELAYED_ACK,
        // No capture tells how busy a processor is.
        Cause::Processor | Cause::Unknown => &UNTOLD,
    }
}
