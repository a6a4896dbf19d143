//! A sender that waits for the other side's answer or request.

use crate::estimate::far::FarLimit;
use crate::follow::ledger::WaitKind;
use crate::judge::case::Case;
use crate::judge::causes::{Hypothesis, unknown};
use crate::judge::law::{AppliedLaw, stop_and_go};
use crate::judge::remedy::advice;
use crate::judge::rivals::Rival;
use crate::judge::rule::{Rule, TakeoverRule, is_of_sender};
use windlass_base::thresholds::{HALF_OF_IT, LATE_MESSAGE, MORE_THAN_ONE, MOST_OF_IT, TIME_LEFT};
use windlass_base::tuning::Tuning;
use windlass_base::verdict::{Side, Unit};
use windlass_base::{Cause, Sentence, Span, sentence};

pub(crate) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::AwaitsAnswer,
    sentence: |case @ &Case { sender, receiver, facts, .. }, time| {
        let each = awaits(case).map_or_else(Sentence::new, |(count, wait)| {
            let path = facts.path.told_rtt.filter(|rtt| *rtt < wait);
            let path = path
                .map_or_else(Sentence::new, |rtt| sentence!(" (the path's round trip is {rtt})"));
            let longest = facts.longest_of(WaitKind::AwaitPeer);
            match count {
                1 => sentence!(", {wait}, once{path}"),
                count => match longest.filter(|longest| *longest >= wait * 2) {
                    Some(longest) => sentence!(
                        ", {} in {count} waits, one of {longest}{path}",
                        case.time_of(Cause::AwaitsAnswer),
                    ),
                    None => sentence!(", in {count} waits of about {wait}{path}"),
                },
            }
        });
        match case.asks() {
            Some(true) => sentence!(
                "{sender} has sent all that {receiver} asked for, and waits {time} for its next \
                 request{each}.",
            ),
            Some(false) => sentence!(
                "{sender} waits {time} for an answer of {receiver}'s program before it sends \
                 more{each}.",
            ),
            None => sentence!(
                "{sender} waits {time} for a message of {receiver}'s program, an answer or the \
                 next request, before it sends more{each}.",
            ),
        }
    },
    law: dialogue,
    remedies: |it| {
        let asks = it.case.asks();
        let (side, ahead) = match asks {
            Some(true) => (
                Side::Receiver,
                "nothing in TCP is wrong; ask for more at once: send the next request before the \
                 last one is answered (pipelining, several requests at a time), or ask for larger \
                 pieces",
            ),
            Some(false) => (
                Side::Sender,
                "do not wait for each answer before sending more, or send larger pieces for each",
            ),
            None => (
                Side::Sender,
                "do not wait for each message of the other side before sending more, or send \
                 larger pieces for each; if the messages request the data, request more at once",
            ),
        };
        let rtt = it.case.facts.path.told_rtt.unwrap_or_default();
        let mut ahead = it.remedy(side, ahead, None, 0.0).set_by(Tuning::RequestsAhead);
        // The other program's time for each piece is unknown then.
        it.bound(&mut ahead);
        let mut remedies = vec![ahead];
        if let Some((_, wait)) = awaits(it.case)
            && rtt > Span::ZERO
            && wait >= rtt * LATE_MESSAGE.get()
        {
            let action = sentence!(
                "check what its program does for {wait} before {}: the path takes {rtt} of that \
                 time",
                if asks == Some(true) { "it asks for more" } else { "its message comes" },
            );
            // The path's own part of it is left. A hundredth of the time tells no rate.
            let left = rtt.share_of(wait);
            remedies.push(if left >= TIME_LEFT.get() {
                let value = Some((rtt.as_seconds(), Unit::Seconds));
                let mut sooner = it.remedy(Side::Receiver, action, value, left);
                // A piece of many segments takes several round trips by itself.
                let most = it.rate_on_any_path(left);
                if sooner.expected_bytes_per_second.is_some()
                    || sooner.at_most_bytes_per_second.is_some_and(|other| most < other)
                {
                    sooner.set_bound(most);
                }
                sooner
            } else {
                advice(Side::Receiver, action)
            });
        }
        remedies
    },
    shows: |kind| kind == WaitKind::AwaitPeer,
    rivals: &[MESSAGES_FAR, PROGRAMS_WINDOW, SEVERAL_MESSAGES],
    ..unknown::HYPOTHESIS
};

/// Nothing was in flight until data of the other side came.
pub(crate) const MESSAGE_AWAITED: Rule = Rule {
    name: "message-awaited",
    cause: Cause::AwaitsAnswer,
    of: |kind| kind == WaitKind::AwaitPeer,
    holds: None,
};

/// Messages of the receiver's program let the bursts go, with data in flight: the program's own
/// window (a channel of SSH, a stream of HTTP/2, credits of SMB).
pub(crate) const MESSAGES_SET_PACE: TakeoverRule = TakeoverRule {
    name: "messages-set-the-pace",
    from: is_of_sender,
    to: Cause::AwaitsAnswer,
    holds: |it, checks| checks.is("messages let the data go", it.facts.sent.is_let_go_by_messages),
};

/// The receiver's program sends data in nearly each round trip, or ends most waits: it keeps a
/// window of its own. No limit but a send buffer that shows in no other way would explain that.
pub(crate) const MESSAGES_IN_EACH_ROUND: TakeoverRule = TakeoverRule {
    name: "messages-in-each-round-trip",
    from: |cause| matches!(cause, Cause::BufferPathRtt | Cause::BufferDelayedAck | Cause::Steady),
    to: Cause::AwaitsAnswer,
    holds: |it, checks| {
        !checks.is("the capture is far from the sender", it.facts.capture.is_far)
            && checks.at_most(
                "the receiver's packets with data",
                it.facts.message_share(),
                HALF_OF_IT,
            )
            && (checks.is("messages end most waits", it.facts.sent.ended_by_messages.is_some())
                || it.facts.messages_per_round().is_some_and(|messages| {
                    checks.at_least("messages in a round trip", messages, MOST_OF_IT)
                }))
    },
};

/// Most of the time is waits for ACKs between bursts that messages release.
const PROGRAMS_WINDOW: Rival = Rival {
    name: "the-programs-own-window",
    causes: |_| vec![Cause::BufferPathRtt],
    explains: |case| {
        case.is_between_bursts(Cause::AwaitsAnswer).then(|| {
            sentence!(
                "{case.sender} sends right behind messages of {case.receiver}'s program, with data \
                 in flight: that program limits the data in flight (a channel of SSH, a stream of \
                 HTTP/2, credits of SMB). Raise the program's window, or use several streams, to \
                 tell"
            )
        })
    },
};

/// Far from the sender, a message of the other side comes with each burst.
const MESSAGES_FAR: Rival = Rival {
    name: "a-message-with-each-burst",
    causes: |_| vec![Cause::SenderIdle, Cause::BufferPathRtt],
    explains: |case| {
        case.facts.far.decides(FarLimit::Messages).then(|| {
            sentence!(
                "a message of {case.receiver}'s program comes with each burst of data: it may \
                 request piece by piece, or limit the data in flight; raise that limit to tell"
            )
        })
    },
};

/// The other side sends several messages in each pause, which may not be answers.
const SEVERAL_MESSAGES: Rival = Rival {
    name: "several-messages-in-each-pause",
    causes: |_| vec![Cause::SenderIdle],
    explains: |case| {
        let counts = &case.facts.counts;
        let several = MORE_THAN_ONE.get() * counts.awaits;
        (counts.awaits > 0 && counts.awaited_pieces >= several).then(|| {
            sentence!(
                "in each pause {case.receiver} sends several messages: they may not be answers, \
                 and {case.sender} may pause by itself; run windlass top there to see what its \
                 program waits for"
            )
        })
    },
};

/// Returns the number of waits for a message of the other side, and their mean.
fn awaits(case: &Case<'_>) -> Option<(u64, Span)> {
    let count = case.facts.counts.awaits;
    (count > 0).then(|| (count, case.time_of(Cause::AwaitsAnswer).part_of(count)))
}

fn dialogue(case: &Case<'_>) -> Option<AppliedLaw> {
    let (count, wait) = awaits(case)?;
    let waited = case.time_of(Cause::AwaitsAnswer);
    let sending = case.total() - waited;
    if sending <= Span::ZERO || wait <= Span::ZERO {
        return None;
    }
    let (asks, between) = match case.asks() {
        Some(true) => ("from the end of it to the next request, on average", "data for a request"),
        _ => {
            ("from the end of it to the other side's message, on average", "data between two waits")
        }
    };
    let open = case.bytes().per(sending);
    Some(stop_and_go(case, count, open, waited, [between, "the rate without the waits", asks]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::follow::counts::Counts;
    use crate::judge::fixture::{
        OrdinaryTransfer, ROUNDS, RTT, SEGMENTS, STEP, TIME, pace, share_of,
    };
    use windlass_base::Rate;

    /// Returns a transfer with one wait for a message, of this time.
    fn awaiting(wait: Span) -> OrdinaryTransfer {
        let mut transfer = OrdinaryTransfer::waiting(WaitKind::AwaitPeer);
        transfer.facts.counts.awaits = 1;
        // The path was seen to carry any rate.
        transfer.facts.line.capacity = Some(Rate::from_bytes_per_second(1e12));
        // The line is hardly faster than the data between two waits.
        transfer.facts.line.service = Some(pace(Rate::from_bytes_per_second(1e6)));
        transfer.tally.total = wait + TIME;
        transfer.charge(Cause::AwaitsAnswer, wait);
        transfer
    }

    #[test]
    fn the_rate_of_several_pieces_at_once_is_bounded() {
        let mut transfer = awaiting(RTT);
        transfer.cause = Cause::AwaitsAnswer;
        let ahead = transfer.remedies(HYPOTHESIS.remedies).remove(0);
        assert_eq!(ahead.expected_bytes_per_second, None);
        assert!(ahead.at_most_bytes_per_second.is_some());
    }

    #[test]
    fn messages_that_let_data_go_set_the_pace() {
        let mut transfer = OrdinaryTransfer::new();
        assert!(!transfer.is_taken_by(&MESSAGES_SET_PACE));
        transfer.facts.sent.is_let_go_by_messages = true;
        assert!(transfer.is_taken_by(&MESSAGES_SET_PACE));
    }

    #[test]
    fn messages_in_each_round_trip_are_a_programs_window() {
        let taking = |messages, acks| {
            let mut transfer = OrdinaryTransfer::new();
            transfer.facts.counts.acks = acks;
            let back = Counts { segments: messages, ..Counts::default() };
            transfer.facts.loss.returned = Some((back, Default::default(), Default::default()));
            transfer.is_taken_by(&MESSAGES_IN_EACH_ROUND)
        };
        let most = share_of(MOST_OF_IT.get(), ROUNDS);
        assert!(taking(most, SEGMENTS) && !taking(most - 1, SEGMENTS));
        let acks = share_of(1.0 / HALF_OF_IT.get(), most);
        assert!(taking(most, acks) && !taking(most, acks - 1));
        let mut transfer = OrdinaryTransfer::new();
        transfer.facts.sent.ended_by_messages = Some((TIME, TIME));
        assert!(transfer.is_taken_by(&MESSAGES_IN_EACH_ROUND));
    }

    #[test]
    fn a_programs_window_has_half_of_the_time_between_bursts() {
        let mut transfer = awaiting(TIME);
        transfer.tally.between_bursts = TIME / 2;
        assert!(transfer.is_explained_by(&PROGRAMS_WINDOW));
        transfer.tally.between_bursts -= STEP;
        assert!(!transfer.is_explained_by(&PROGRAMS_WINDOW));
    }

    #[test]
    fn several_messages_in_each_pause_may_be_no_answers() {
        let mut transfer = OrdinaryTransfer::new();
        assert!(!transfer.is_explained_by(&SEVERAL_MESSAGES));
        transfer.facts.counts.awaits = 10;
        transfer.facts.counts.awaited_pieces = MORE_THAN_ONE.get() * 10;
        assert!(transfer.is_explained_by(&SEVERAL_MESSAGES));
        transfer.facts.counts.awaited_pieces -= 1;
        assert!(!transfer.is_explained_by(&SEVERAL_MESSAGES));
    }

    #[test]
    fn far_away_a_message_with_each_burst_decides() {
        let mut transfer = OrdinaryTransfer::far();
        transfer.facts.far.limit = Some(FarLimit::Messages);
        assert!(!transfer.is_explained_by(&MESSAGES_FAR));
        transfer.facts.far.decides = true;
        assert!(transfer.is_explained_by(&MESSAGES_FAR));
    }

    #[test]
    fn a_late_message_is_its_programs() {
        let late = RTT * LATE_MESSAGE.get();
        let remedies = |wait| awaiting(wait).remedies(HYPOTHESIS.remedies).len();
        assert_eq!((remedies(late - STEP), remedies(late)), (1, 2));
    }

    #[test]
    fn the_path_has_to_have_a_part_of_a_wait_for_a_promise() {
        let longest = RTT.scaled(1.0 / TIME_LEFT.get());
        let value = |wait| awaiting(wait).remedies(HYPOTHESIS.remedies)[1].value;
        assert!(value(longest).is_some());
        assert!(value(longest + STEP).is_none());
    }
}
