//! The confidence in a verdict: the doubts that lower it, each by its name.

use windlass_base::thresholds::{
    A_TENTH, ALIKE, CLOCK_STEPS, COPIED_WHOLE, HALF_AGAIN, HALF_OF_IT, LONGER_THAN_PATHS, MANY,
    SEVERAL, SEVERAL_ROUNDS,
};
use windlass_base::verdict::{Caveat, CaveatId, Confidence};
use windlass_base::{Bytes, Cause, Limit, Span};

use super::case::Case;
use super::checks::{Checks, by};
use super::law::AppliedLaw;
use super::rivals::Rival;
use crate::follow::handshake::Offer;
use crate::follow::ledger::WaitKind;

/// A cause that a verdict claims, with what may make it doubtful.
pub(crate) struct Claim<'a> {
    pub(crate) case: &'a Case<'a>,
    /// True if the cause is a habit, and the cause's own doubts.
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
    pub(crate) law: Option<AppliedLaw>,
    pub(crate) by_law: Confidence,
}

/// A reason why a cause is not sure.
pub(crate) struct Doubt {
    /// Its name in `--why`.
    pub(crate) name: &'static str,
    /// Condition under which the doubt applies.
    pub(crate) holds: fn(&Claim<'_>, &mut Checks) -> bool,
}

impl Claim<'_> {
    /// Returns the confidence of the claim.
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

    /// Returns whether losses are too few for the law of loss: one or two may be random.
    pub(crate) fn has_few_losses(&self, checks: &mut Checks) -> bool {
        checks.below("losses", self.case.facts.counts.loss_events, SEVERAL)
    }

    /// Returns whether the repaired segments may only have been late. No option tells which copy
    /// was answered, nor does the time of the answer, far from the sender.
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

/// One or two losses may be random.
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
    // The window scale is not known, so the window may be larger than shown.
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
    // The cause was named only because no other applies, and an equally likely rival explains the
    // pace.
    Doubt {
        name: "a-rival-is-as-likely",
        holds: |it, checks| {
            it.as_likely
                .iter()
                .any(|rival| checks.is(rival.name, (rival.explains)(it.case).is_some()))
        },
    },
    // Most of the data is missing from the capture: the rest may not be typical.
    Doubt {
        name: "most-is-missing",
        holds: |it, checks| {
            let counts = &it.case.facts.counts;
            let missing = counts.missing_bytes as f64 / counts.acked.max(1) as f64;
            checks.at_least("missing bytes", missing, HALF_OF_IT)
        },
    },
    // Another limit leads in one half of the time: the named limit may be only a phase, such as
    // slow start at the beginning.
    Doubt {
        name: "halves-disagree",
        holds: |it, checks| {
            let ends_early = it.cause == Cause::SlowStart;
            let disagree = it.case.tally.leaders_of_halves().is_some_and(|[first, second]| {
                let is_other = |half: Cause| half.limit() != it.cause.limit();
                is_other(first) || is_other(second) && !ends_early
            });
            checks.is("another limit leads one half of the time", disagree)
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
    // A part of the packets is in the capture twice: the capture may be of two places, with packets
    // missing at one.
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
    // A transfer of few round trips is a small sample. Slow start needs no more.
    Doubt {
        name: "few-round-trips",
        holds: |it, checks| {
            let least = it.case.facts.path.rtt.unwrap_or_default() * MANY.to::<i64>();
            it.cause != Cause::SlowStart
                && checks.below("the transfer", it.case.total(), by(MANY, least))
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
        // If the largest window is larger than those seen, the program always has data to read.
        Limit::ZeroWindow => reader.is_some_and(|reader| reader.is_steady),
        Limit::ReceiverWindow => reader.is_some_and(|reader| reader.makes_room_by_itself),
        // At the receiver, each wait for an ACK is a wait with room in the window.
        Limit::SendBuffer => true,
        // A flight that grows may be any part of a transfer.
        Limit::CongestionWindow if it.cause == Cause::SlowStart => true,
        // Without a round trip nothing tells what such a wait was for.
        Limit::CongestionWindow => it.case.facts.path.rtt.is_none(),
        _ => false,
    }
}

/// Returns whether the evidence may belong to another host than the one that opened: the sender's
/// pace and pauses, or the reader's. The part beyond that host does not show: nor does the effect
/// of a remedy at that host.
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
mod tests;
