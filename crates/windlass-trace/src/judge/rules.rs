//! The rules that name what a wait was, in the order in which they are asked.
//!
//! Each rule stands in the file of its cause. The first that holds names the wait ([`NAMES`]);
//! then, for what the waits around it or the whole transfer show, its time may go to another cause
//! ([`TAKES_WAITS`], [`TAKES_LOSSES`]).

use windlass_base::Cause;

use super::causes::{
    ack_loss, ack_path, after_loss, awaits_answer, black_hole, buffer_delayed_ack, buffer_path_rtt,
    fast_recovery, fast_timer, nagle_delayed_ack, no_window_update, path_marks, path_policer,
    path_queue, receiver_discards, receiver_limited, receiver_not_reading, reordering, sender_idle,
    slow_start, slow_timer, small_segments, steady, timeout, unknown, window_ack_latency,
    window_below_mss, window_opens_late, window_path_rtt,
};
use super::checks::Checks;
use super::rule::{Rule, TakeoverRule, WaitContext};
use crate::follow::ledger::WaitKind;

/// The rules that name a wait. The first that is about its kind and holds is taken.
pub(crate) const NAMES: &[Rule] = &[
    // The capture shows nothing of the wait.
    unknown::UNTRUE_CAPTURE,
    unknown::WITHOUT_ACKS,
    unknown::BEYOND_A_PROXY,
    unknown::RARE_ACK_LOSS,
    unknown::WINDOW_OF_UNKNOWN_SCALE,
    // The window is full.
    receiver_limited::READS_ALL_THE_TIME,
    window_below_mss::SMALLER_THAN_A_SEGMENT,
    receiver_limited::LEAVES_DATA_UNREAD,
    // Room in the window, and yet a wait for an ACK.
    small_segments::SMALL_BY_HABIT,
    path_queue::QUEUE_STANDS,
    receiver_not_reading::FILLS_AND_CLOSES,
    window_ack_latency::ACKS_ARE_SLOW,
    window_path_rtt::FULL_WINDOW,
    path_marks::CUT_BY_MARKS,
    nagle_delayed_ack::LEVEL_AND_WITHHELD,
    buffer_delayed_ack::LEVEL_AND_WITHHELD,
    buffer_path_rtt::LEVEL_FLIGHT,
    timeout::LOSS_IS_FREQUENT,
    fast_recovery::LOSS_IS_FREQUENT,
    slow_start::DOUBLES,
    after_loss::REGAINS,
    slow_start::FLIGHT_GROWS,
    reordering::CUT_BY_OVERTAKING,
    after_loss::QUEUE_FULL_AT_LOSS,
    after_loss::CREEPS,
    fast_recovery::LOSSES_ARE_CLOSE,
    steady::LEVEL,
    // A timer ran out, and nothing proves a loss.
    window_ack_latency::TIMER_BEFORE_ACK,
    nagle_delayed_ack::TIMER_BEFORE_ACK,
    buffer_delayed_ack::TIMER_BEFORE_ACK,
    timeout::UNSEEN_SENDS,
    receiver_limited::OPENS_IN_PARTS,
    // A small segment waits for an ACK.
    sender_idle::KEEPS_TIME,
    buffer_delayed_ack::LESS_THAN_A_SEGMENT,
    nagle_delayed_ack::HELD_BACK,
    // The kind of wait alone.
    fast_recovery::REPAIR,
    timeout::SILENCE,
    receiver_not_reading::CLOSED,
    no_window_update::PROBED,
    window_opens_late::OPENS_LATE,
    sender_idle::NOTHING_TO_SEND,
    awaits_answer::MESSAGE_AWAITED,
    path_queue::STOOD_IN_QUEUE,
    ack_loss::UNHEARD,
    unknown::PACKETS_MISSING,
];

/// The rules by which a full path takes repair and what follows it. The first that holds is taken.
pub(crate) const TAKES_WAITS: &[TakeoverRule] = &[
    receiver_limited::MAKES_ROOM,
    window_path_rtt::PATH_BECAME_LONGER,
    path_queue::REPAIR_KEEPS_UP,
    path_queue::AS_FAST_AS_PATH,
    path_queue::FILLS_QUEUE,
    path_queue::NEVER_IDLE,
    path_queue::DATA_STANDS,
    path_queue::LINE_IS_BUSY,
];

/// The rules by which a program that sets the pace takes what waits for ACKs between its writes, or
/// between the messages that it waits for: without such a wait the next data comes no sooner. The
/// first that holds is taken.
pub(crate) const TAKES_PACE: &[TakeoverRule] = &[
    awaits_answer::MESSAGES_SET_PACE,
    awaits_answer::MESSAGES_IN_EACH_ROUND,
    path_queue::SPACED_AT_SENDER,
    path_queue::SPACED_FAR,
    sender_idle::PROGRAM_SETS_PACE,
    sender_idle::SENDS_APART,
    sender_idle::FILLS_NO_BUFFER,
    sender_idle::STEPS_FAR,
];

/// The rules by which the reason of the losses takes what they cost, and the way back what seemed
/// to be a queue of the data. The first that holds is taken.
pub(crate) const TAKES_LOSSES: &[TakeoverRule] = &[
    fast_timer::SHORTER_THAN_PATH,
    fast_timer::REPEATS_UNPROMPTED,
    reordering::OVERTAKEN,
    path_policer::TOKEN_BUCKET,
    black_hole::NEVER_ARRIVES,
    black_hole::NEVER_SPLIT,
    receiver_discards::DISCARDS,
    slow_timer::TIMER_IS_SLOW,
    path_marks::CUT_TO_FEW,
    ack_path::ON_THE_WAY_BACK,
    ack_path::ON_THE_WAY_FROM_HERE,
];

/// Returns the rule that takes waits of this kind where no other does.
pub(crate) fn plain(kind: WaitKind) -> &'static Rule {
    let rest = NAMES.iter().find(|rule| rule.holds.is_none() && (rule.of)(kind));
    rest.unwrap_or(&unknown::PACKETS_MISSING)
}

/// Returns whether the capture cannot tell what such a wait was.
pub(crate) fn is_untold(context: &WaitContext<'_>, checks: &mut Checks) -> bool {
    let asked = |rule: &&Rule| rule.cause == Cause::Unknown && (rule.of)(context.wait.kind);
    let mut asked = NAMES.iter().filter(asked);
    asked.any(|rule| rule.holds.is_some_and(|holds| holds(context, checks)))
}

/// Returns the rule that names this wait.
pub(crate) fn name(context: &WaitContext<'_>, checks: &mut Checks) -> &'static Rule {
    let mut asked = NAMES.iter().filter(|rule| (rule.of)(context.wait.kind));
    let first = asked.find(|rule| {
        let holds = rule.holds.is_none_or(|holds| holds(context, checks));
        checks.rule(rule.name, rule.cause, holds)
    });
    first.unwrap_or_else(|| plain(context.wait.kind))
}

/// Returns the first rule of a list that takes time from this cause.
pub(crate) fn take(
    list: &'static [TakeoverRule],
    cause: Cause,
    context: &WaitContext<'_>,
    checks: &mut Checks,
) -> Option<&'static TakeoverRule> {
    list.iter().filter(|rule| (rule.from)(cause)).find(|rule| {
        let holds = (rule.holds)(context, checks);
        checks.rule(rule.name, rule.to, holds)
    })
}
