//! The confidence in a verdict: the doubts that lower it, each by its name.

use windlass_base::thresholds::{
    A_TENTH, ALIKE, CLOCK_STEPS, COPIED_WHOLE, HALF_AGAIN, HALF_OF_IT, LONGER_THAN_PATHS, SEVERAL,
    SEVERAL_ROUNDS,
};
use windlass_base::verdict::{Caveat, CaveatId, Confidence};
use windlass_base::{Bytes, Cause, Limit, Span};

use super::case::Case;
use super::checks::{Checks, by};
use super::law::Applied;
use super::rivals::Rival;
use crate::follow::handshake::Offer;
use crate::follow::ledger::WaitKind;

/// A cause that a verdict claims, with what may make it doubtful.
pub(crate) struct Claim<'a> {
    pub(crate) case: &'a Case<'a>,
    /// The cause is a habit, and its own doubts.
    pub(crate) is_habit: bool,
    pub(crate) doubts: &'static [Doubt],
    /// Other explanations that are as likely where they hold.
    pub(crate) as_likely: &'static [Rival],
    pub(crate) cause: Cause,
    /// The share of the time that it cost, that of the next cause, and that of the costliest other
    /// limit by all of its causes.
    pub(crate) share: f64,
    pub(crate) second: Option<f64>,
    pub(crate) other_limit: f64,
    pub(crate) caveats: &'a [Caveat],
    /// The law of the cause, applied, and how sure it leaves the verdict.
    pub(crate) law: Option<Applied>,
    pub(crate) by_law: Confidence,
}

/// A reason why a cause is not sure.
pub(crate) struct Doubt {
    /// Its name in `--why`.
    pub(crate) name: &'static str,
    /// It applies.
    pub(crate) holds: fn(&Claim<'_>, &mut Checks) -> bool,
}

impl Claim<'_> {
    /// Returns how sure it is.
    pub(crate) fn confidence(&self) -> Confidence {
        let checks = &mut Checks::silent();
        if LOW.iter().any(|doubt| (doubt.holds)(self, checks)) {
            return Confidence::Low;
        }
        let mut doubts = MEDIUM.iter().chain(self.doubts);
        let is_doubtful = doubts.any(|doubt| (doubt.holds)(self, checks));
        self.by_law.min(if is_doubtful { Confidence::Medium } else { Confidence::High })
    }

    /// Asks for each doubt whether it applies, with how sure it leaves the verdict.
    pub(crate) fn ask_all(&self, checks: &mut Checks) -> Vec<(Confidence, &'static str)> {
        let low = LOW.iter().map(|doubt| (Confidence::Low, doubt));
        let medium = MEDIUM.iter().chain(self.doubts);
        let medium = medium.map(|doubt| (Confidence::Medium, doubt));
        let mut found = Vec::new();
        for (leaves, doubt) in low.chain(medium) {
            let holds = (doubt.holds)(self, checks);
            checks.rule(doubt.name, self.cause, holds);
            if holds {
                found.push((leaves, doubt.name));
            }
        }
        if self.by_law < Confidence::High {
            found.push((self.by_law, "the-law-is-far-off"));
        }
        found
    }

    /// Returns whether a caveat was found.
    pub(crate) fn has(&self, id: CaveatId, checks: &mut Checks) -> bool {
        checks.is(id.id(), self.caveats.iter().any(|caveat| caveat.id == id))
    }

    /// The law of loss is one of many losses, and one or two may be how it went once.
    pub(crate) fn has_few_losses(&self, checks: &mut Checks) -> bool {
        checks.below("losses", self.case.facts.counts.loss_events, SEVERAL)
    }

    /// Returns whether what was sent again may only have been late: no option tells which copy was
    /// answered, nor does the time of the answer, far from the sender.
    pub(crate) fn may_be_late(&self) -> bool {
        let facts = self.case.facts;
        let both = |has: fn(&Offer) -> bool| {
            let offers = &facts.opening.handshake.offers;
            offers.iter().all(|offer| offer.as_ref().is_some_and(has))
        };
        let told = both(|offer| offer.timestamps) || both(|offer| offer.sack_permitted);
        facts.capture.distance > Span::ZERO && !(told && facts.counts.cut_acks == 0)
    }

    /// Returns whether the longest pauses are longer than the path's round trips vary.
    pub(crate) fn is_beyond_path(&self) -> bool {
        let rtt = self.case.facts.path.rtt.unwrap_or_default();
        longest_idle(self.case) >= LONGER_THAN_PATHS.get().min(HALF_AGAIN * rtt)
    }

    fn depends_on_window(&self) -> bool {
        matches!(self.cause.limit(), Limit::ReceiverWindow | Limit::SendBuffer)
    }

    fn is_of(&self, limits: &[Limit]) -> bool {
        limits.contains(&self.cause.limit())
    }
}

/// One or two losses may be chance.
pub(crate) const FEW_LOSSES: Doubt =
    Doubt { name: "few-losses", holds: |it, checks| it.has_few_losses(checks) };

/// The start is missing. Without the handshake a queue that stood all the time makes the path's
/// round trip seem too long. Nor is it known who paused, whether the receiver keeps data behind a
/// gap, how large the open window is, and how long before the connection began.
pub(crate) const START_IS_MISSING: Doubt =
    Doubt { name: "start-is-missing", holds: |it, checks| it.has(CaveatId::NoHandshake, checks) };

/// The repaired segments may only have been late.
pub(crate) const MAY_BE_LATE: Doubt = Doubt {
    name: "repairs-may-have-been-late",
    holds: |it, checks| checks.is("what was sent again may only have been late", it.may_be_late()),
};

/// A line may hold the transfer as well as the window does.
pub(crate) const LINE_OR_WINDOW: Doubt = Doubt {
    name: "a-line-may-hold-it",
    holds: |it, checks| it.case.may_be_line(it.case.window(), checks),
};

/// A line may hold the transfer as well as the buffer does.
pub(crate) const LINE_OR_BUFFER: Doubt = Doubt {
    name: "a-line-may-hold-it",
    holds: |it, checks| it.case.may_be_line(Some(it.case.plateau()), checks),
};

/// The doubts that leave a verdict of low confidence.
const LOW: &[Doubt] = &[
    // No cause is known, or the transfer took no time.
    Doubt {
        name: "nothing-is-known",
        holds: |it, checks| {
            let none = it.cause == Cause::Unknown || it.case.total() == Span::ZERO;
            checks.is("nothing was named", none)
        },
    },
    // Only one direction was captured, which shows nothing but timeouts.
    Doubt {
        name: "one-direction-only",
        holds: |it, checks| {
            !matches!(it.cause, Cause::Timeout | Cause::SlowTimer)
                && it.has(CaveatId::OneSided, checks)
        },
    },
    // The window scale is not known, so the window may be larger than it reads.
    Doubt {
        name: "window-of-unknown-scale",
        holds: |it, checks| {
            let shift = u64::from(it.case.facts.window.scale.shift());
            it.depends_on_window()
                && it.has(CaveatId::ScaleUnknown, checks)
                && checks.above("least shift", shift, 0)
        },
    },
    // Without the handshake, a wait for an ACK looks like a short pause in a capture at the
    // receiver.
    Doubt {
        name: "pauses-without-a-start",
        holds: |it, checks| {
            it.cause == Cause::SenderIdle
                && it.has(CaveatId::NoHandshake, checks)
                && checks.below("longest pause", longest_idle(it.case), LONGER_THAN_PATHS)
        },
    },
    // Only the start of the connection would tell this cause from another.
    Doubt {
        name: "the-start-would-tell",
        holds: |it, checks| {
            it.has(CaveatId::NoHandshake, checks)
                && checks.is("only the start tells it from another cause", hangs_on_start(it))
        },
    },
    // The transfer ends within a round trip, or all of it was in flight at once.
    Doubt {
        name: "one-flight",
        holds: |it, checks| {
            let counts = &it.case.facts.counts;
            let rtt = it.case.facts.path.rtt.unwrap_or_default();
            let waited = if it.cause == Cause::SenderIdle { rtt } else { rtt / 2 };
            checks.below("the transfer", it.case.total(), waited)
                || it.is_of(&[Limit::CongestionWindow])
                    && checks.at_least(
                        "largest flight",
                        Bytes::new(counts.flight_most),
                        Bytes::new(counts.bytes),
                    )
        },
    },
    // An ACK is back before the program's next write: the host sets its own pace.
    Doubt {
        name: "hosts-are-next-to-each-other",
        holds: |it, checks| {
            it.is_of(&[Limit::CongestionWindow, Limit::SendBuffer])
                && it.has(CaveatId::Local, checks)
        },
    },
    // The cause was named for want of another, and a rival that is as likely explains the pace.
    Doubt {
        name: "a-rival-is-as-likely",
        holds: |it, checks| {
            it.as_likely
                .iter()
                .any(|rival| checks.is(rival.name, (rival.explains)(it.case).is_some()))
        },
    },
    // Another cause leads in one half of the time: what is named may be only a phase. Slow start is
    // one, at the beginning.
    Doubt {
        name: "halves-disagree",
        holds: |it, checks| {
            let ends_early = it.cause == Cause::SlowStart;
            let disagree = it.case.tally.leaders_of_halves().is_some_and(|[first, second]| {
                first != it.cause || second != it.cause && !ends_early
            });
            checks.is("another cause leads one half of the time", disagree)
        },
    },
    // The two directions have different clocks: the order of packets is not known.
    Doubt {
        name: "directions-have-two-clocks",
        holds: |it, checks| {
            !it.is_of(&[Limit::Loss, Limit::ZeroWindow])
                && checks.is("two clocks", it.case.facts.has_two_clocks())
        },
    },
];

/// A doubt that is a caveat.
macro_rules! caveat {
    ($name:literal, $id:ident) => {
        Doubt { name: $name, holds: |it, checks| it.has(CaveatId::$id, checks) }
    };
}

/// The doubts that leave a verdict of medium confidence.
const MEDIUM: &[Doubt] = &[
    // The next cause cost nearly as much time.
    Doubt {
        name: "another-cause-is-close",
        holds: |it, checks| {
            it.second.is_some_and(|second| {
                checks.below("lead over the next cause", it.share - second, A_TENTH)
            })
        },
    },
    // Another limit cost nearly as much time, by all of its causes.
    Doubt {
        name: "another-limit-is-close",
        holds: |it, checks| {
            checks.below("lead of the cause over the next limit", it.share - it.other_limit, ALIKE)
        },
    },
    // The cause has only a small share of the time.
    Doubt {
        name: "one-of-several-causes",
        holds: |it, checks| checks.below("share of the time", it.share, HALF_OF_IT),
    },
    // Only one direction was captured.
    caveat!("one-direction-only", OneSided),
    // Packets are missing from the capture.
    caveat!("packets-are-missing", PacketsMissing),
    // The capture's file says that it lost packets.
    caveat!("the-capture-lost-packets", CaptureDrops),
    // Parts of the conversation are missing from the capture.
    caveat!("parts-are-left-out", Fragments),
    // The transfer has too few segments to show a habit.
    caveat!("few-segments", Short),
    // The capture's clock was set, or its packets are out of order.
    caveat!("the-clock-was-set", Clock),
    // The handshake is missing, and the cause is a window or a buffer.
    Doubt {
        name: "window-without-a-start",
        holds: |it, checks| it.depends_on_window() && it.has(CaveatId::NoHandshake, checks),
    },
    // The round trip is so short that the hosts' own work takes as long.
    Doubt {
        name: "hosts-take-as-long-as-the-path",
        holds: |it, checks| {
            !it.is_of(&[Limit::ZeroWindow, Limit::Loss, Limit::NagleDelayedAck])
                && it.has(CaveatId::Local, checks)
        },
    },
    // The connection is one path of Multipath TCP: windows and buffers are those of all paths (RFC
    // 8684 section 3.3).
    Doubt {
        name: "one-path-of-several",
        holds: |it, checks| {
            !it.is_of(&[Limit::Loss, Limit::PathCapacity, Limit::NagleDelayedAck])
                && it.has(CaveatId::Multipath, checks)
        },
    },
    // A rival explains the pace as well.
    caveat!("a-rival-explains-it-as-well", OtherPace),
    // The window opens by parts, too seldom to tell whether the program always reads.
    Doubt {
        name: "the-program-may-always-read",
        holds: |it, checks| {
            it.case.facts.window.reading.is_none()
                && checks.is("its window opens by parts", it.case.may_read_always(it.cause))
        },
    },
    // Something nearer, such as a proxy, answers for the host that the cause is about.
    Doubt {
        name: "another-answers-in-its-place",
        holds: |it, checks| {
            checks.is("it rests on a host that another answers for", is_split(it.case, it.cause))
        },
    },
    // An ACK came far sooner than the SYN's answer: something nearer may have sent it.
    Doubt {
        name: "another-may-answer",
        holds: |it, checks| {
            it.cause == Cause::SenderIdle
                && checks.is("another may answer for it", it.case.facts.path.may_be_split)
        },
    },
    // ACKs take longer than the handshake did: the path may be longer than it seems.
    Doubt {
        name: "the-path-may-be-longer",
        holds: |it, checks| {
            let longer = it.cause == Cause::FastRecovery && it.case.facts.path.longer.is_some();
            checks.is("the path may be longer", longer || it.case.longer_path().is_some())
        },
    },
    // A part of the packets is in the capture twice: it may be of two places, with packets missing
    // at one.
    Doubt {
        name: "copied-in-part",
        holds: |it, checks| {
            let capture = &it.case.facts.capture;
            let copied = 2.0 * capture.captured_twice as f64 / capture.packets.max(1) as f64;
            it.has(CaveatId::CapturedTwice, checks)
                && checks.at_least("packets captured twice", copied, A_TENTH)
                && checks.below("packets captured twice", copied, COPIED_WHOLE)
        },
    },
    // The habit holds for too few round trips.
    Doubt {
        name: "too-brief-for-a-habit",
        holds: |it, checks| {
            let rtt = it.case.facts.path.rtt;
            let cycle = it.case.cycle().or(rtt).unwrap_or_default();
            let least = cycle * SEVERAL_ROUNDS.get();
            it.is_habit
                && checks.below("its time", it.case.time_of(it.cause), by(SEVERAL_ROUNDS, least))
        },
    },
    // The capture's clock is too coarse for the round trip, and the cause rests on times.
    Doubt {
        name: "the-clock-is-too-coarse",
        holds: |it, checks| {
            let step = it.case.facts.capture.clock_step;
            let rests_on_times = !it.is_of(&[Limit::Loss, Limit::ZeroWindow])
                || matches!(it.cause, Cause::FastRecovery | Cause::Reordering);
            let rtt = it.case.facts.path.rtt.unwrap_or_default();
            let cycle = it.case.cycle().unwrap_or(rtt);
            step > Span::ZERO
                && rests_on_times
                && checks.below(
                    "round trip",
                    rtt.min(cycle),
                    by(CLOCK_STEPS, step * CLOCK_STEPS.get()),
                )
        },
    },
];

/// Returns whether only the start of the connection would tell this cause from another one.
fn hangs_on_start(it: &Claim<'_>) -> bool {
    let reader = it.case.facts.window.reader.as_ref();
    match it.cause.limit() {
        // Where the largest window is larger than those that were seen, the program always
        // has data to read.
        Limit::ZeroWindow => reader.is_some_and(|reader| reader.is_steady),
        Limit::ReceiverWindow => reader.is_some_and(|reader| reader.makes_room_by_itself),
        // At the receiver, each wait for an ACK is a wait with room in the window.
        Limit::SendBuffer => true,
        // Without a round trip nothing tells what such a wait was for.
        Limit::CongestionWindow => it.case.facts.path.rtt.is_none(),
        _ => false,
    }
}

/// Returns whether what the cause rests on may be another's than the host that opened: the sender's
/// pace and pauses, or the reader's. What lies beyond it does not show: nor does what a remedy at
/// that host would bring.
pub(crate) fn is_split(case: &Case<'_>, cause: Cause) -> bool {
    let limit = cause.limit();
    let of_reader = matches!(limit, Limit::ReceiverWindow | Limit::ZeroWindow)
        || cause == Cause::ReceiverLimited;
    let of_sender = cause == Cause::SenderIdle
        || matches!(
            limit,
            Limit::CongestionWindow
                | Limit::PathCapacity
                | Limit::SendBuffer
                | Limit::ReceiverWindow
        );
    let facts = case.facts;
    facts.path.split.is_some() && if facts.splits_sender() { of_sender } else { of_reader }
}

fn longest_idle(case: &Case<'_>) -> Span {
    case.facts.longest_of(WaitKind::Idle).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use windlass_base::thresholds::PROMPT_LEAST;

    use super::*;
    use crate::estimate::longer_path::LongerPath;
    use crate::estimate::split_tcp::SplitTcp;
    use crate::follow::flow::Scale;
    use crate::follow::ledger::{Opened, Wait};
    use crate::judge::causes::hypothesis;
    use crate::judge::facts::ReaderFacts;
    use crate::judge::fixture::{Ordinary, RTT, STEP, TIME, share_of};

    /// Returns a doubt of a list by its name.
    fn doubt(list: &'static [Doubt], name: &str) -> &'static Doubt {
        list.iter().find(|doubt| doubt.name == name).unwrap()
    }

    /// Returns an ordinary transfer whose verdict claims this cause, with a caveat.
    fn claiming(cause: Cause, caveat: CaveatId) -> Ordinary {
        let mut transfer = Ordinary::new();
        transfer.cause = cause;
        transfer.caveats = vec![caveat];
        transfer
    }

    #[test]
    fn nothing_makes_an_ordinary_transfer_doubtful() {
        let transfer = Ordinary::new();
        for doubt in LOW.iter().chain(MEDIUM) {
            assert!(!transfer.is_doubted_by(doubt), "{}", doubt.name);
        }
    }

    #[test]
    fn a_transfer_takes_time_and_has_a_cause() {
        let nothing = doubt(LOW, "nothing-is-known");
        let mut transfer = Ordinary::new();
        transfer.tally.total = STEP;
        assert!(!transfer.is_doubted_by(nothing));
        transfer.tally.total = Span::ZERO;
        assert!(transfer.is_doubted_by(nothing));
        assert!(claiming(Cause::Unknown, CaveatId::Short).is_doubted_by(nothing));
    }

    #[test]
    fn beside_a_rival_that_is_as_likely_a_cause_is_a_guess() {
        let guess = doubt(LOW, "a-rival-is-as-likely");
        let mut transfer = claiming(Cause::BufferPathRtt, CaveatId::Short);
        assert!(!transfer.is_doubted_by(guess));
        transfer.facts.counts.drained = transfer.facts.counts.reactions;
        assert!(transfer.is_doubted_by(guess));
        transfer.cause = Cause::BufferDelayedAck;
        assert!(!transfer.is_doubted_by(guess));
    }

    #[test]
    fn one_direction_shows_timeouts_alone() {
        let one_sided = doubt(LOW, "one-direction-only");
        assert!(claiming(Cause::Steady, CaveatId::OneSided).is_doubted_by(one_sided));
        assert!(!claiming(Cause::Timeout, CaveatId::OneSided).is_doubted_by(one_sided));
        assert!(!claiming(Cause::SlowTimer, CaveatId::OneSided).is_doubted_by(one_sided));
    }

    #[test]
    fn a_window_of_unknown_scale_has_a_shift() {
        let unknown = doubt(LOW, "window-of-unknown-scale");
        let mut transfer = claiming(Cause::WindowPathRtt, CaveatId::ScaleUnknown);
        transfer.facts.window.scale = Scale::AtLeast(0);
        assert!(!transfer.is_doubted_by(unknown));
        transfer.facts.window.scale = Scale::AtLeast(1);
        assert!(transfer.is_doubted_by(unknown));
        transfer.cause = Cause::Timeout;
        assert!(!transfer.is_doubted_by(unknown));
    }

    #[test]
    fn a_pause_without_a_start_is_longer_than_paths() {
        let pauses = doubt(LOW, "pauses-without-a-start");
        let mut transfer = claiming(Cause::SenderIdle, CaveatId::NoHandshake);
        let mut is_doubted_after = |span| {
            let pause = Wait { first: 10, last: 11, span };
            transfer.facts.longest = vec![(WaitKind::Idle, vec![pause])];
            transfer.is_doubted_by(pauses)
        };
        let longest = LONGER_THAN_PATHS.get();
        assert!(is_doubted_after(longest - STEP) && !is_doubted_after(longest));
    }

    #[test]
    fn the_start_tells_some_causes_from_others() {
        let start = doubt(LOW, "the-start-would-tell");
        let mut transfer = claiming(Cause::BufferPathRtt, CaveatId::NoHandshake);
        assert!(transfer.is_doubted_by(start));
        transfer.cause = Cause::Steady;
        assert!(!transfer.is_doubted_by(start));
        transfer.facts.path.rtt = None;
        assert!(transfer.is_doubted_by(start));
        for cause in [Cause::WindowPathRtt, Cause::ReceiverNotReading] {
            transfer.cause = cause;
            transfer.facts.window.reader = Some(ReaderFacts::default());
            assert!(!transfer.is_doubted_by(start));
            let (is_steady, makes_room_by_itself) = (true, true);
            let reader = ReaderFacts { is_steady, makes_room_by_itself, ..ReaderFacts::default() };
            transfer.facts.window.reader = Some(reader);
            assert!(transfer.is_doubted_by(start));
        }
    }

    #[test]
    fn a_transfer_is_longer_than_one_flight() {
        let one = doubt(LOW, "one-flight");
        let is_doubted = |cause, total| {
            let mut transfer = claiming(cause, CaveatId::Short);
            transfer.tally.total = total;
            transfer.is_doubted_by(one)
        };
        assert!(is_doubted(Cause::Timeout, RTT / 2 - STEP) && !is_doubted(Cause::Timeout, RTT / 2));
        assert!(is_doubted(Cause::SenderIdle, RTT - STEP) && !is_doubted(Cause::SenderIdle, RTT));
    }

    #[test]
    fn a_congestion_window_holds_less_than_the_transfer() {
        let one = doubt(LOW, "one-flight");
        let mut transfer = Ordinary::new();
        transfer.facts.counts.flight_most = transfer.facts.counts.bytes - 1;
        assert!(!transfer.is_doubted_by(one));
        transfer.facts.counts.flight_most += 1;
        assert!(transfer.is_doubted_by(one));
        transfer.cause = Cause::Timeout;
        assert!(!transfer.is_doubted_by(one));
    }

    #[test]
    fn hosts_next_to_each_other_set_their_own_pace() {
        let (low, medium) = (
            doubt(LOW, "hosts-are-next-to-each-other"),
            doubt(MEDIUM, "hosts-take-as-long-as-the-path"),
        );
        for (cause, is_low, is_medium) in [
            (Cause::Steady, true, true),
            (Cause::BufferPathRtt, true, true),
            (Cause::WindowPathRtt, false, true),
            (Cause::Timeout, false, false),
        ] {
            let transfer = claiming(cause, CaveatId::Local);
            assert_eq!(transfer.is_doubted_by(low), is_low, "{cause:?}");
            assert_eq!(transfer.is_doubted_by(medium), is_medium, "{cause:?}");
        }
    }

    #[test]
    fn two_clocks_show_by_an_answer_before_its_question() {
        let clocks = doubt(LOW, "directions-have-two-clocks");
        let mut transfer = Ordinary::new();
        transfer.facts.capture.clock_step = STEP;
        transfer.facts.capture.answered_before = PROMPT_LEAST.get() + STEP;
        assert!(!transfer.is_doubted_by(clocks));
        transfer.facts.capture.answered_before += STEP;
        assert!(transfer.is_doubted_by(clocks));
        transfer.cause = Cause::Timeout;
        assert!(!transfer.is_doubted_by(clocks));
    }

    #[test]
    fn another_cause_or_limit_is_close() {
        let (of_cause, of_limit) =
            (doubt(MEDIUM, "another-cause-is-close"), doubt(MEDIUM, "another-limit-is-close"));
        let mut transfer = Ordinary::new();
        transfer.share = A_TENTH.get();
        transfer.second = Some(0.0);
        assert!(!transfer.is_doubted_by(of_cause));
        transfer.share -= 1e-9;
        assert!(transfer.is_doubted_by(of_cause));
        transfer.second = None;
        assert!(!transfer.is_doubted_by(of_cause));
        transfer.share = ALIKE.get();
        assert!(!transfer.is_doubted_by(of_limit));
        transfer.share -= 1e-9;
        assert!(transfer.is_doubted_by(of_limit));
        (transfer.share, transfer.other_limit) = (1.0, 1.0 - ALIKE.get() + 1e-9);
        assert!(transfer.is_doubted_by(of_limit));
    }

    #[test]
    fn one_of_several_causes_has_a_small_share() {
        let several = doubt(MEDIUM, "one-of-several-causes");
        let mut transfer = Ordinary::new();
        transfer.share = HALF_OF_IT.get();
        assert!(!transfer.is_doubted_by(several));
        transfer.share -= 1e-9;
        assert!(transfer.is_doubted_by(several));
    }

    #[test]
    fn some_caveats_are_doubts_by_themselves() {
        for (name, id) in [
            ("one-direction-only", CaveatId::OneSided),
            ("packets-are-missing", CaveatId::PacketsMissing),
            ("the-capture-lost-packets", CaveatId::CaptureDrops),
            ("parts-are-left-out", CaveatId::Fragments),
            ("few-segments", CaveatId::Short),
            ("the-clock-was-set", CaveatId::Clock),
            ("a-rival-explains-it-as-well", CaveatId::OtherPace),
        ] {
            assert!(claiming(Cause::Timeout, id).is_doubted_by(doubt(MEDIUM, name)), "{name}");
        }
    }

    #[test]
    fn a_missing_start_and_other_paths_doubt_a_window() {
        let (start, paths) =
            (doubt(MEDIUM, "window-without-a-start"), doubt(MEDIUM, "one-path-of-several"));
        for (cause, is_doubted) in [(Cause::WindowPathRtt, true), (Cause::Timeout, false)] {
            let transfer = claiming(cause, CaveatId::NoHandshake);
            assert_eq!(transfer.is_doubted_by(start), is_doubted);
            let transfer = claiming(cause, CaveatId::Multipath);
            assert_eq!(transfer.is_doubted_by(paths), is_doubted);
        }
    }

    #[test]
    fn a_window_that_opens_by_parts_for_half_of_the_time_may_be_of_a_reader() {
        let reads = doubt(MEDIUM, "the-program-may-always-read");
        let mut transfer = Ordinary::waiting(WaitKind::Partly(Opened::Late));
        transfer.cause = Cause::WindowOpensLate;
        transfer.charge(Cause::WindowOpensLate, TIME * 2);
        assert!(!transfer.is_doubted_by(reads));
        transfer.charge(Cause::WindowOpensLate, TIME * 2 - STEP);
        assert!(transfer.is_doubted_by(reads));
        transfer.cause = Cause::Steady;
        assert!(!transfer.is_doubted_by(reads));
    }

    #[test]
    fn another_answers_in_the_place_of_a_sender_or_a_reader() {
        let split = doubt(MEDIUM, "another-answers-in-its-place");
        let is_doubted = |cause, opener| {
            let mut transfer = claiming(cause, CaveatId::SplitConnection);
            transfer.facts.path.split = Some(SplitTcp { opening: RTT, soonest: STEP });
            transfer.facts.opening.handshake.opener = Some(opener);
            transfer.is_doubted_by(split)
        };
        assert!(is_doubted(Cause::ReceiverLimited, 0) && !is_doubted(Cause::SenderIdle, 0));
        assert!(!is_doubted(Cause::ReceiverNotReading, 1) && is_doubted(Cause::SenderIdle, 1));
    }

    #[test]
    fn an_early_answer_doubts_an_idle_sender() {
        let answers = doubt(MEDIUM, "another-may-answer");
        let mut transfer = claiming(Cause::SenderIdle, CaveatId::Short);
        assert!(!transfer.is_doubted_by(answers));
        transfer.facts.path.may_be_split = true;
        assert!(transfer.is_doubted_by(answers));
        transfer.cause = Cause::Steady;
        assert!(!transfer.is_doubted_by(answers));
    }

    #[test]
    fn a_longer_path_doubts_what_rests_on_it() {
        let longer = doubt(MEDIUM, "the-path-may-be-longer");
        let is_doubted = |cause| {
            let mut transfer = claiming(cause, CaveatId::Short);
            transfer.tally.times.clear();
            transfer.charge(cause, TIME);
            transfer.facts.path.longer = Some(LongerPath { handshake: RTT, latency: RTT * 2 });
            transfer.is_doubted_by(longer)
        };
        assert!(is_doubted(Cause::WindowPathRtt) && is_doubted(Cause::FastRecovery));
        assert!(!is_doubted(Cause::Steady) && !is_doubted(Cause::Timeout));
    }

    #[test]
    fn a_capture_of_two_places_has_a_part_of_the_packets_twice() {
        let copied = doubt(MEDIUM, "copied-in-part");
        let is_doubted = |share: f64, step: i64| {
            let mut transfer = claiming(Cause::Steady, CaveatId::CapturedTwice);
            let twice = share_of(share, 1_000);
            transfer.facts.capture.packets = 2_000;
            transfer.facts.capture.captured_twice = twice.saturating_add_signed(step);
            transfer.is_doubted_by(copied)
        };
        assert!(is_doubted(A_TENTH.get(), 0) && !is_doubted(A_TENTH.get(), -1));
        assert!(is_doubted(COPIED_WHOLE.get(), -1) && !is_doubted(COPIED_WHOLE.get(), 0));
    }

    #[test]
    fn a_habit_lasts_for_several_round_trips() {
        let brief = doubt(MEDIUM, "too-brief-for-a-habit");
        let mut transfer = Ordinary::new();
        transfer.charge(Cause::Steady, RTT * SEVERAL_ROUNDS.get() - STEP);
        assert!(!transfer.is_doubted_by(brief));
        transfer.is_habit = true;
        assert!(transfer.is_doubted_by(brief));
        transfer.charge(Cause::Steady, RTT * SEVERAL_ROUNDS.get());
        assert!(!transfer.is_doubted_by(brief));
    }

    #[test]
    fn a_round_trip_has_several_steps_of_the_clock() {
        let coarse = doubt(MEDIUM, "the-clock-is-too-coarse");
        let mut transfer = Ordinary::new();
        let step = RTT / CLOCK_STEPS.get();
        transfer.set_path(step * CLOCK_STEPS.get());
        transfer.facts.capture.clock_step = step;
        assert!(!transfer.is_doubted_by(coarse));
        transfer.facts.capture.clock_step = step + STEP;
        assert!(transfer.is_doubted_by(coarse));
        for (cause, rests_on_times) in
            [(Cause::Timeout, false), (Cause::WindowOpensLate, false), (Cause::Reordering, true)]
        {
            transfer.cause = cause;
            assert_eq!(transfer.is_doubted_by(coarse), rests_on_times);
        }
    }

    #[test]
    fn few_losses_are_a_doubt() {
        let mut transfer = Ordinary::new();
        transfer.lose(SEVERAL.get() - 1);
        assert!(transfer.is_doubted_by(&FEW_LOSSES));
        transfer.lose(SEVERAL.get());
        assert!(!transfer.is_doubted_by(&FEW_LOSSES));
    }

    #[test]
    fn a_missing_start_is_a_doubt_of_causes_that_rest_on_it() {
        let mut transfer = Ordinary::new();
        assert!(!transfer.is_doubted_by(&START_IS_MISSING));
        transfer.caveats = vec![CaveatId::NoHandshake];
        assert!(transfer.is_doubted_by(&START_IS_MISSING));
        for cause in [
            Cause::AfterLoss,
            Cause::FastRecovery,
            Cause::PathQueue,
            Cause::SenderIdle,
            Cause::SlowStart,
            Cause::WindowOpensLate,
        ] {
            let mut doubts = hypothesis(cause).doubts.iter();
            assert!(doubts.any(|doubt| doubt.name == START_IS_MISSING.name), "{cause}");
        }
    }

    #[test]
    fn options_tell_which_copy_was_answered() {
        let mut transfer = Ordinary::new();
        transfer.facts.counts.cut_acks = 1;
        assert!(!transfer.is_doubted_by(&MAY_BE_LATE));
        transfer.facts.capture.distance = STEP;
        assert!(transfer.is_doubted_by(&MAY_BE_LATE));
        transfer.facts.counts.cut_acks = 0;
        assert!(!transfer.is_doubted_by(&MAY_BE_LATE));
        transfer.forget_handshake();
        assert!(transfer.is_doubted_by(&MAY_BE_LATE));
    }
}
