//! How sure a verdict is.

use std::ops::Range;

use windlass_base::{Cause, Limit, Span};

use super::causes::Words;
use super::subject::Subject;
use super::{Caveat, CaveatId, Confidence};
use crate::handshake::Offer;
use crate::ledger::Kind;

/// A share this close to the first makes the first uncertain.
const CLOSE: f64 = 0.1;

/// So is one that another limit comes so close to, by all of its causes: which of them a wait
/// belongs to is a matter of milliseconds.
const CLOSE_LIMIT: f64 = 0.15;

/// A cause with a smaller share than this is one of several.
const LITTLE: f64 = 0.4;

/// Round trips over which a habit of a host or a path must hold to be sure: slow start
/// has mostly ended by then, and what happened once is no habit.
const ROUNDS: i64 = 5;

/// No path's round trip is longer, but for one over a stationary satellite with a queue.
const LONG: Span = Span::from_millis(1_000);

/// Round trips that a pause must be long, far from the sender, to be none of the path.
const BEYOND_PATH: f64 = 1.5;

/// Closures, or losses, that make a habit.
pub(super) const SEVERAL: u64 = 3;

/// Steps of the capture's clock that a time must be long to be sure of what it tells.
const STEPS: i64 = 4;

/// A capture that holds some packets twice, and more than a few: of two places, with packets
/// missing at one.
const COPIED_IN_PART: Range<f64> = 0.1..0.99;

/// What may make a cause doubtful.
pub(super) struct Doubts<'a> {
    pub(super) subject: &'a Subject<'a>,
    caveats: &'a [Caveat],
}

impl Doubts<'_> {
    pub(super) fn has(&self, id: CaveatId) -> bool {
        self.caveats.iter().any(|caveat| caveat.id == id)
    }

    /// The law of loss is one of many losses, and one or two may be how it went once.
    pub(super) fn has_few_losses(&self) -> bool {
        self.subject.finished.counts.loss_events < SEVERAL
    }

    /// Whether what was sent again may only have been late: no option tells which copy was
    /// answered, nor does the time of the answer, far from the sender.
    pub(super) fn may_be_late(&self) -> bool {
        let finished = self.subject.finished;
        let both = |has: fn(&Offer) -> bool| {
            finished.handshake.offers.iter().all(|offer| offer.as_ref().is_some_and(has))
        };
        let told = both(|offer| offer.timestamps) || both(|offer| offer.sack_permitted);
        finished.ack_delay > Span::ZERO && !(told && finished.counts.cut_acks == 0)
    }

    /// Whether the longest pauses are longer than the path's round trips vary.
    pub(super) fn is_beyond_path(&self) -> bool {
        let rtt = self.subject.finished.path_rtt.unwrap_or_default();
        longest_idle(self.subject) >= LONG.min(rtt.scaled(BEYOND_PATH))
    }
}

/// How sure it is that the first of these causes, the costliest, is the right one, where
/// `next` is the costliest other limit. What is known of its law is left out.
pub(super) fn confidence(
    subject: &Subject<'_>,
    causes: &[(Cause, Span)],
    next: Option<Limit>,
    caveats: &[Caveat],
    words: &Words,
) -> Confidence {
    let doubts = Doubts { subject, caveats };
    let has = |id: CaveatId| doubts.has(id);
    let total = subject.total();
    let cause = causes.first().map_or(Cause::Unknown, |(cause, _)| *cause);
    let shares: Vec<f64> = causes.iter().map(|(_, time)| time.share_of(total)).collect();
    if cause == Cause::Unknown || total == Span::ZERO {
        return Confidence::Low;
    }
    let depends_on_window = matches!(cause.limit(), Limit::ReceiverWindow | Limit::SendBuffer);
    if has(CaveatId::OneSided) && !matches!(cause, Cause::Timeout | Cause::SlowTimer)
        || has(CaveatId::ScaleUnknown) && depends_on_window && subject.finished.scale.shift() > 0
    {
        return Confidence::Low;
    }
    if cause == Cause::SenderIdle && has(CaveatId::NoHandshake) && !is_long(subject) {
        // Taken at the receiver, which nothing tells then, each wait for an ACK looks
        // like a pause.
        return Confidence::Low;
    }
    if has(CaveatId::NoHandshake) && hangs_on_start(subject, cause) || is_one_flight(subject, cause)
    {
        return Confidence::Low;
    }
    if has(CaveatId::Local) && matches!(cause.limit(), Limit::CongestionWindow | Limit::SendBuffer)
    {
        // An ACK is back before the next write: what a host keeps in flight is its own pace.
        return Confidence::Low;
    }
    if subject.finished.has_two_clocks()
        && !matches!(cause.limit(), Limit::Loss | Limit::ZeroWindow)
    {
        // What follows what does not show.
        return Confidence::Low;
    }
    let next = next.map_or(Span::ZERO, |next| subject.time_of_limit(next)).share_of(total);
    let close = shares.len() > 1 && shares[0] - shares[1] < CLOSE
        || shares.first().is_some_and(|share| share - next < CLOSE_LIMIT);
    let depends_on_hosts =
        !matches!(cause.limit(), Limit::ZeroWindow | Limit::Loss | Limit::NagleDelayedAck);
    let weak = has(CaveatId::OneSided)
        || has(CaveatId::PacketsMissing)
        || has(CaveatId::CaptureDrops)
        || has(CaveatId::Fragments)
        || has(CaveatId::Short)
        || has(CaveatId::Clock)
        || has(CaveatId::NoHandshake) && depends_on_window
        || has(CaveatId::Local) && depends_on_hosts
        // Its window, its buffer and its data are those of several paths, which grow together
        // (RFC 8684 sections 3.3.4, 3.3.5 and 3.3.7).
        || has(CaveatId::Multipath)
            && !matches!(
                cause.limit(),
                Limit::Loss | Limit::PathCapacity | Limit::NagleDelayedAck
            )
        || (words.is_doubtful)(&doubts)
        || has(CaveatId::OtherPace)
        // It opens by parts, and too seldom to tell whether its program always reads.
        || subject.finished.reading.is_none() && subject.may_read_always(cause)
        || is_split(subject, cause)
        || cause == Cause::SenderIdle && subject.finished.may_be_split
        || subject.longer_path().is_some()
        // What is too soon for an answer the path's round trip tells.
        || cause == Cause::FastRecovery && subject.finished.longer_path.is_some()
        || has(CaveatId::CapturedTwice) && is_copied_in_part(subject)
        || words.is_habit && is_brief(subject, cause)
        || is_unresolved(subject, cause);
    if close || weak || shares.first().is_some_and(|share| *share < LITTLE) {
        Confidence::Medium
    } else {
        Confidence::High
    }
}

/// Whether only the start of the connection would tell this cause from another one.
fn hangs_on_start(subject: &Subject<'_>, cause: Cause) -> bool {
    let reader = subject.finished.reader.as_ref();
    match cause.limit() {
        // Where the largest window is larger than those that were seen, the program always
        // has data to read.
        Limit::ZeroWindow => reader.is_some_and(|reader| reader.is_steady()),
        Limit::ReceiverWindow => reader.is_some_and(|reader| reader.makes_room_by_itself()),
        // At the receiver, each wait for an ACK is a wait with room in the window.
        Limit::SendBuffer => true,
        // Without a round trip nothing tells what such a wait was for.
        Limit::CongestionWindow => subject.finished.path_rtt.is_none(),
        _ => false,
    }
}

/// Whether what the cause rests on may be another's than the host that opened: the
/// sender's pace and pauses, or the reader's. What lies beyond it does not show: nor does what a
/// remedy at that host would bring.
pub(super) fn is_split(subject: &Subject<'_>, cause: Cause) -> bool {
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
    let finished = subject.finished;
    finished.split.is_some() && if finished.splits_sender() { of_sender } else { of_reader }
}

/// Whether all came before an answer could have been back: whether its path or its program
/// spaced the data of a first flight, nothing tells. (Data that waited for an ACK shows by how
/// late it comes, but for jitter.) Where all was in flight at once, none waited for an ACK.
fn is_one_flight(subject: &Subject<'_>, cause: Cause) -> bool {
    let counts = &subject.finished.counts;
    let rtt = subject.finished.path_rtt.unwrap_or_default();
    let waited = if cause == Cause::SenderIdle { rtt } else { rtt / 2 };
    let at_once = cause.limit() == Limit::CongestionWindow && counts.flight_most >= counts.bytes;
    subject.total() < waited || at_once
}

/// Whether the longest pauses are longer than any path's round trip.
fn is_long(subject: &Subject<'_>) -> bool {
    longest_idle(subject) >= LONG
}

fn longest_idle(subject: &Subject<'_>) -> Span {
    let longest = subject.finished.ledger.longest.iter();
    let idle = longest.filter(|(kind, _)| *kind == Kind::Idle).flat_map(|(_, waits)| waits);
    idle.map(|wait| wait.span).max().unwrap_or_default()
}

/// Whether only some of the packets are there from both places of a capture of two: of the others
/// only one place tells when they came.
fn is_copied_in_part(subject: &Subject<'_>) -> bool {
    let finished = subject.finished;
    let copied = 2 * finished.captured_twice;
    COPIED_IN_PART.contains(&(copied as f64 / finished.packets.max(1) as f64))
}

/// Whether a habit showed over so few round trips that it may be none.
fn is_brief(subject: &Subject<'_>, cause: Cause) -> bool {
    let cycle = subject.cycle().or(subject.finished.path_rtt).unwrap_or_default();
    subject.time_of(cause) < cycle * ROUNDS
}

/// Whether the clock is too coarse for what the cause rests on.
fn is_unresolved(subject: &Subject<'_>, cause: Cause) -> bool {
    let step = subject.finished.clock_step;
    // When what was lost was sent tells a policer from other loss.
    let rests_on_times = !matches!(cause.limit(), Limit::Loss | Limit::ZeroWindow)
        || matches!(cause, Cause::FastRecovery | Cause::Reordering);
    let rtt = subject.finished.path_rtt.unwrap_or_default();
    let cycle = subject.cycle().unwrap_or(rtt);
    step > Span::ZERO && rests_on_times && rtt.min(cycle) < step * STEPS
}
