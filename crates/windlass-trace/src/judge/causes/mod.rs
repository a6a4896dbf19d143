//! The causes that a transfer's time may be charged to, a file for each.
//!
//! A file has the rules that name waits for its cause, the doubts that lower the confidence in it,
//! what else may explain the same, and what a report says of it: its sentence, law and remedies.
//! [`super::rules`] lists the rules in the order in which they are asked.

pub(crate) mod ack_loss;
pub(crate) mod ack_path;
pub(crate) mod after_loss;
pub(crate) mod awaits_answer;
pub(crate) mod black_hole;
pub(crate) mod buffer_delayed_ack;
pub(crate) mod buffer_path_rtt;
pub(crate) mod fast_recovery;
pub(crate) mod fast_timer;
pub(crate) mod nagle_delayed_ack;
pub(crate) mod no_window_update;
pub(crate) mod path_marks;
pub(crate) mod path_policer;
pub(crate) mod path_queue;
pub(crate) mod receiver_discards;
pub(crate) mod receiver_limited;
pub(crate) mod receiver_not_reading;
pub(crate) mod reordering;
pub(crate) mod sender_idle;
pub(crate) mod slow_start;
pub(crate) mod slow_timer;
pub(crate) mod small_segments;
pub(crate) mod steady;
pub(crate) mod timeout;
pub(crate) mod unknown;
pub(crate) mod window_ack_latency;
pub(crate) mod window_below_mss;
pub(crate) mod window_opens_late;
pub(crate) mod window_path_rtt;

use windlass_base::verdict::{Evidence, Remedy};
use windlass_base::{Cause, Sentence};

use super::case::Case;
use super::confidence::Doubt;
use super::evidence::WaitTest;
use super::law::AppliedLaw;
use super::remedy::Advice;
use super::rivals::Rival;

/// A cause with its words, law, remedies, doubts and rivals.
pub(crate) struct Hypothesis {
    /// The cause.
    pub(crate) cause: Cause,
    /// The verdict in a sentence that a print administrator understands; the second is the share
    /// of the time, as `96 % of the time`.
    pub(crate) sentence: fn(&Case<'_>, &Sentence) -> Sentence,
    /// The law that predicts the rate; `None` where none says what it will be, or the capture
    /// lacks a number that it needs.
    pub(crate) law: fn(&Case<'_>) -> Option<AppliedLaw>,
    /// Changes, and their effect.
    pub(crate) remedies: fn(&Advice<'_>) -> Vec<Remedy>,
    /// The kinds of waiting in which it shows.
    pub(crate) shows: WaitTest,
    /// The packets that show it beside the waits.
    pub(crate) packets: fn(&Case<'_>) -> Vec<Evidence>,
    /// Reasons why it is not sure. Without a doubt it is as sure as its share of the time, which is
    /// too sure for a cause that looks like another.
    pub(crate) doubts: &'static [Doubt],
    /// Other explanations that are as likely where they hold: beside one the verdict is a guess. Of
    /// labelled transfers fewer than 85 in 100 were named right then.
    pub(crate) as_likely: &'static [Rival],
    /// Other explanations of the pace, the likeliest first. Where one may, the verdict is not sure,
    /// and what a change would bring is not known.
    pub(crate) rivals: &'static [Rival],
    /// True for a habit, which shows only over several round trips.
    pub(crate) is_habit: bool,
}

impl Hypothesis {
    /// Returns all rivals, those that are as likely first.
    pub(crate) fn all_rivals(&self) -> impl Iterator<Item = &'static Rival> {
        self.as_likely.iter().chain(self.rivals)
    }

    /// Returns the rivals that explain the transfer as well, each with its sentence.
    pub(crate) fn explaining_rivals(&self, case: &Case<'_>) -> Vec<(&'static Rival, Sentence)> {
        self.all_rivals().filter_map(|rival| Some((rival, (rival.explains)(case)?))).collect()
    }
}

/// All hypotheses, but that nothing is known.
const ALL: &[&Hypothesis] = &[
    &ack_loss::HYPOTHESIS,
    &ack_path::HYPOTHESIS,
    &after_loss::HYPOTHESIS,
    &awaits_answer::HYPOTHESIS,
    &black_hole::HYPOTHESIS,
    &buffer_delayed_ack::HYPOTHESIS,
    &buffer_path_rtt::HYPOTHESIS,
    &fast_recovery::HYPOTHESIS,
    &fast_timer::HYPOTHESIS,
    &nagle_delayed_ack::HYPOTHESIS,
    &no_window_update::HYPOTHESIS,
    &path_marks::HYPOTHESIS,
    &path_policer::HYPOTHESIS,
    &path_queue::HYPOTHESIS,
    &receiver_discards::HYPOTHESIS,
    &receiver_limited::HYPOTHESIS,
    &receiver_not_reading::HYPOTHESIS,
    &reordering::HYPOTHESIS,
    &sender_idle::HYPOTHESIS,
    &slow_start::HYPOTHESIS,
    &slow_timer::HYPOTHESIS,
    &small_segments::HYPOTHESIS,
    &steady::HYPOTHESIS,
    &timeout::HYPOTHESIS,
    &window_ack_latency::HYPOTHESIS,
    &window_below_mss::HYPOTHESIS,
    &window_opens_late::HYPOTHESIS,
    &window_path_rtt::HYPOTHESIS,
];

/// Returns the hypothesis of a cause.
pub(crate) fn hypothesis(cause: Cause) -> &'static Hypothesis {
    // No capture tells how busy a processor is.
    ALL.iter().find(|one| one.cause == cause).unwrap_or(&&unknown::HYPOTHESIS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_that_a_capture_shows_has_a_hypothesis() {
        let untold = [Cause::Processor, Cause::Unknown];
        for cause in Cause::ALL.iter().filter(|cause| !untold.contains(cause)) {
            assert_eq!(hypothesis(*cause).cause, *cause);
        }
    }
}
