//! The time of a direction: the kernel's clocks, and a list of rules for the rest.
//!
//! A kernel knows how long a window limited it, and not why the window stayed full. The receiver
//! may be late to acknowledge, its program slow to read, or the data in a queue. Questions that the
//! facts leave open have several causes, the likelier first.

use super::facts::Facts;
use crate::thresholds::{
    ANNOUNCED_OPENINGS, BEHIND_READER, CLOCKED_BUFFER, CLOSED_WINDOW, FILLED_AT_ONCE,
    MOSTLY_CLOSED, PROBED_OPENINGS, READ_AT_ONCE, TOLD_TIMERS,
};
use crate::{Cause, Limit, Span, laws};

/// The possible causes of a time; empty if unknown. Thousands of connections are judged at a look,
/// so causes are stored inline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Causes {
    all: [Cause; Self::MOST],
    count: usize,
}

impl Causes {
    /// Maximum number of causes.
    const MOST: usize = 3;

    /// No known cause.
    pub const NONE: Self = Self { all: [Cause::Unknown; Self::MOST], count: 0 };

    fn of(causes: &[Cause]) -> Self {
        let mut all = Self::NONE;
        causes.iter().for_each(|cause| all.add(*cause));
        all
    }

    fn add(&mut self, cause: Cause) {
        if let Some(place) = self.all.get_mut(self.count) {
            *place = cause;
            self.count += 1;
        }
    }

    /// Returns the causes, the likelier first.
    pub fn all(&self) -> &[Cause] {
        &self.all[..self.count]
    }

    /// Returns the cause, if there is only one.
    pub const fn one(&self) -> Cause {
        if self.count == 1 { self.all[0] } else { Cause::Unknown }
    }
}

impl From<Cause> for Causes {
    fn from(cause: Cause) -> Self {
        Self::of(&[cause])
    }
}

/// A part of the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its causes.
    pub causes: Causes,
    /// The limit of the kernel's own clock, whatever its cause.
    pub clock: Option<Limit>,
    /// The time.
    pub time: Span,
}

impl Part {
    /// Returns the cause, if there is only one.
    pub const fn cause(&self) -> Cause {
        self.causes.one()
    }
}

/// The parts of an interval, the largest first; but timeouts come before causes that are no fault.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    all: [Part; Self::MOST],
    count: usize,
}

impl Parts {
    /// Maximum number of parts: one per clock, and the rest.
    const MOST: usize = 6;

    pub(super) fn new() -> Self {
        let none = Part { causes: Causes::NONE, clock: None, time: Span::ZERO };
        Self { all: [none; Self::MOST], count: 0 }
    }

    /// Adds a part; two rules may add the same one.
    pub(super) fn add(&mut self, causes: Causes, clock: Option<Limit>, time: Span) {
        if time <= Span::ZERO {
            return;
        }
        let known = self.all[..self.count].iter_mut().find(|part| part.causes == causes);
        if let Some(known) = known {
            known.time += time;
            known.clock = known.clock.or(clock);
        } else if let Some(place) = self.all.get_mut(self.count) {
            *place = Part { causes, clock, time };
            self.count += 1;
        }
    }

    /// Returns the parts.
    pub fn all(&self) -> &[Part] {
        &self.all[..self.count]
    }
}

/// Charges the time of an interval.
pub fn judge(facts: &Facts) -> Parts {
    let mut parts = Parts::new();
    let whole = facts.whole();
    if facts.streams == 0 || whole <= Span::ZERO {
        return parts;
    }
    let busy = facts.busy.min(whole);
    // The kernel's clocks continue while a timer runs.
    let timeout = facts.timeout.min(busy);
    let window = facts.window_held.min(busy - timeout);
    let buffer = facts.buffer_held.min(busy - timeout - window);
    let rest = busy - timeout - window - buffer;
    let rests = of_rest(facts);
    // A start is limited by its own window; a pace or a processor limits it, too.
    let is_own = !matches!(rests.all(), [Cause::SenderIdle | Cause::Processor]);
    let start = facts.slow_start.filter(|_| is_own).unwrap_or_default().min(rest);
    parts.add(of_timeout(facts), None, timeout);
    let held = of_window(facts);
    let is_closed = held.all().first().is_some_and(|cause| cause.limit() == Limit::ZeroWindow);
    let clock = if is_closed { Limit::ZeroWindow } else { Limit::ReceiverWindow };
    parts.add(held, Some(clock), window);
    parts.add(of_buffer(facts), Some(Limit::SendBuffer), buffer);
    parts.add(Cause::SlowStart.into(), None, start);
    parts.add(rests, None, rest - start);
    if facts.counts_idle {
        parts.add(of_idle(facts), None, whole - busy);
    }
    parts.all[..parts.count].sort_by_key(|part| std::cmp::Reverse(part.time));
    tell_timers(facts, &mut parts, whole);
    parts
}

/// Moves timeouts before a part that is no fault to be mended: a path's rate, or a requested pace.
/// The time in which a congestion window grows again after an outage belongs to the outage, too.
fn tell_timers(facts: &Facts, parts: &mut Parts, whole: Span) {
    let has_outage = facts.outage().is_some();
    let is_no_fault = |part: &Part| match part.cause() {
        Cause::PathQueue | Cause::SenderIdle => true,
        Cause::AfterLoss | Cause::PathMarks | Cause::Steady | Cause::SlowStart => has_outage,
        _ => false,
    };
    let place = parts.all().iter().position(|part| part.cause() == Cause::Timeout);
    let Some(place) = place else { return };
    if parts.all().first().is_some_and(is_no_fault)
        && parts.all[place].time.share_of(whole) >= TOLD_TIMERS.get()
        && (has_outage || !facts.is_full_in_all())
    {
        parts.all[..=place].rotate_right(1);
    }
}

/// Names the causes of a full window.
fn of_window(facts: &Facts) -> Causes {
    if facts.receiver_is_busy() || facts.both_are_busy() {
        return Cause::Processor.into();
    }
    if facts.waits_for_sink() {
        return Cause::ReceiverLimited.into();
    }
    let is_below_segment =
        facts.largest_window.is_some_and(|largest| largest.get() < facts.segment.max(1));
    let closed = if is_below_segment { MOSTLY_CLOSED } else { CLOSED_WINDOW };
    if facts.closed_share >= closed.get() {
        return of_closed_window(facts);
    }
    if is_below_segment {
        return Cause::WindowBelowMss.into();
    }
    let late = late(facts, Cause::WindowPathRtt, Cause::WindowAckLatency);
    // A kernel that does not tell the window tells no more.
    let Some(open) = facts.open().filter(|_| facts.largest_window.is_some()) else { return late };
    if open < BEHIND_READER.get() {
        // A sender of smaller flights waits until the window is open far enough.
        let window = facts.window.unwrap_or_default().get() as f64;
        let filled = facts.flight.get() as f64 >= FILLED_AT_ONCE.get() * window;
        return match filled {
            true => Cause::ReceiverLimited.into(),
            false => Causes::of(&[Cause::ReceiverLimited, Cause::NoWindowUpdate]),
        };
    }
    // A requested window is offered in whole segments.
    if open < READ_AT_ONCE.get() && facts.asked_window.is_none() {
        let mut causes = Causes::from(Cause::ReceiverLimited);
        late.all().iter().for_each(|cause| causes.add(*cause));
        return causes;
    }
    late
}

/// Names the cause of a closed window. A window that opens between two probes was announced, so its
/// program reads late. One that opens only when a probe is due was not announced.
fn of_closed_window(facts: &Facts) -> Causes {
    let unprompted = facts.unprompted_openings as f64 / facts.window_openings.max(1) as f64;
    if unprompted >= ANNOUNCED_OPENINGS.get() {
        Cause::ReceiverNotReading.into()
    } else if facts.window_openings >= PROBED_OPENINGS.get() && facts.unprompted_openings == 0 {
        Cause::NoWindowUpdate.into()
    } else {
        Causes::of(&[Cause::ReceiverNotReading, Cause::NoWindowUpdate])
    }
}

/// Names the causes of long RTTs: the `path` itself, a receiver that is late to acknowledge, or a
/// queue.
fn late(facts: &Facts, path: Cause, receiver: Cause) -> Causes {
    if !facts.is_late() || facts.is_mostly_path() && facts.is_few() {
        return path.into();
    }
    if facts.is_loopback {
        return receiver.into();
    }
    if facts.loaded.is_some() {
        // The small messages wait in a queue, and not for a late receiver.
        return match (facts.has_standing_queue(), facts.is_few()) {
            (true, _) => Cause::PathQueue,
            (false, true) => receiver,
            (false, false) => path,
        }
        .into();
    }
    let beyond = facts.rtt.unwrap_or_default() - facts.base().unwrap_or_default();
    let line = facts.room().per(beyond.or_zero());
    match (facts.is_few() || facts.is_buffered_by_few(), facts.is_mostly_path()) {
        // A line would have to take that long for a few segments.
        (true, _) if line.bytes_per_second() < laws::SLOW_LINE => receiver.into(),
        (true, _) => Causes::of(&[receiver, Cause::PathQueue]),
        (false, true) => Causes::of(&[path, Cause::PathQueue]),
        (false, false) => Causes::of(&[Cause::PathQueue, receiver]),
    }
}

/// Names the causes of a full send buffer.
fn of_buffer(facts: &Facts) -> Causes {
    if facts.receiver_is_busy() || facts.both_are_busy() {
        Cause::Processor.into()
    } else if facts.loaded.is_some() {
        Cause::BufferPathRtt.into()
    } else {
        late(facts, Cause::BufferPathRtt, Cause::BufferDelayedAck)
    }
}

/// Names the causes of time without data to send.
fn of_idle(facts: &Facts) -> Causes {
    // A sender that waits for its own data does not wait for a processor.
    // Two looks at any connection do not tell whether its program wanted to send.
    let may = !facts.waits_for_data() && facts.pace.is_none() && !facts.is_glance();
    let is_busy = facts.is_busy() || facts.both_are_busy();
    if is_busy || may && facts.may_lack_processors() {
        return Cause::Processor.into();
    }
    // A program that waits for room in a small buffer wakes when nothing is left to send.
    if facts.has_small_buffer() && is_clocked(facts) && facts.pace.is_none() {
        let mut causes = of_buffer(facts);
        causes.add(Cause::SenderIdle);
        return causes;
    }
    Cause::SenderIdle.into()
}

/// Names the causes of a timeout: an interrupted path, losses that no ACK reports, or late ACKs. No
/// ACK is later than half a second (RFC 1122).
fn of_timeout(facts: &Facts) -> Causes {
    if facts.path_mtu_fell() || facts.loses_whole_segments_only() {
        return Cause::BlackHole.into();
    }
    if facts.outage().is_some() || facts.is_glance() {
        return Cause::Timeout.into();
    }
    by_timer(facts)
}

/// Names the causes of segments retransmitted by a timer.
fn by_timer(facts: &Facts) -> Causes {
    if !facts.is_few() {
        return Cause::Timeout.into();
    }
    let late = match facts.window.is_some_and(|window| facts.buffer < window) {
        true => Cause::BufferDelayedAck,
        false => Cause::WindowAckLatency,
    };
    Causes::of(&[late, Cause::Timeout])
}

/// Names the causes of retransmissions. Fewer than four segments in flight bring no three duplicate
/// ACKs for a fast retransmit (RFC 5681 section 3.2). A timer then retransmits them, and also if
/// ACKs only come late.
fn lossy(facts: &Facts) -> Causes {
    if facts.is_glance() && facts.is_late() {
        // A full queue loses, too.
        Causes::of(&[Cause::FastRecovery, Cause::PathQueue])
    } else if facts.is_reordered() {
        Cause::Reordering.into()
    } else if facts.is_few() && !facts.is_glance() {
        by_timer(facts)
    } else if facts.may_be_policed() {
        Causes::of(&[Cause::FastRecovery, Cause::PathPolicer])
    } else {
        Cause::FastRecovery.into()
    }
}

/// A rule for the part of the busy time without a clock.
struct Rule {
    holds: fn(&Facts) -> bool,
    causes: fn(&Facts) -> Causes,
}

/// Makes a rule of a condition and its causes.
macro_rules! rules {
    ($($holds:expr => $causes:expr;)*) => {
        &[$(Rule { holds: $holds, causes: $causes },)*]
    };
}

/// The rules, in the order of evaluation. The first that holds names the time.
const RULES: &[Rule] = rules! {
    |it| it.keeps_its_pace() || it.waits_for_data() => |_| Cause::SenderIdle.into();
    |it| it.is_busy() || it.receiver_is_busy() || it.both_are_busy() => |_| Cause::Processor.into();
    |it| it.is_policed() && !it.is_reordered() => |_| Cause::PathPolicer.into();
    |it| it.heeds_loss && it.is_lossy() => lossy;
    |it| it.holds_by_few() || it.fills_window() && it.loaded.is_none() => of_window;
    |it| it.buffer_full.is_some() && it.has_sent_all() && it.leaves_room() => of_writes;
    |it| it.buffer_full.is_none() && it.has_nothing_to_send() => |_| Cause::SenderIdle.into();
    // At the end the program had no more to send, and its data filled the window before.
    |it| it.is_glance() && it.has_sent_all() && it.is_application_limited && !it.has_small_buffer()
        => |_| Causes::of(&[Cause::Steady, Cause::SenderIdle]);
    // There is no path between the ends, and the processors are not known to be busy.
    |it| it.is_loopback && (it.sender.is_none() || it.is_glance() && !it.may_lack_processors())
        => |_| Causes::NONE;
    Facts::may_lack_processors => |_| Cause::Processor.into();
    // The process that forwards packets may lack processors, with a queue before it.
    |it| it.full_machine().is_some() && it.may_be_queued() && !it.is_full() && it.lost == 0
        => |_| Causes::of(&[Cause::Processor, Cause::PathQueue]);
    |it| it.is_glance() && it.has_small_buffer() => of_small_buffer;
    |it| it.is_glance() && !it.is_late() && it.starts_slowly() => |_| Cause::SlowStart.into();
    // BBR paces, and leaves room in its window.
    |it| it.is_glance() && !it.uses_congestion_window() && it.heeds_loss
        => |_| Causes::of(&[Cause::Steady, Cause::PathQueue, Cause::SenderIdle]);
    |it| it.is_glance() && !it.uses_congestion_window()
        => |_| Causes::of(&[Cause::Steady, Cause::PathQueue]);
    // So few segments do not queue: the receiver may be late to acknowledge.
    |it| it.is_glance() && it.is_late() && it.is_few()
        => |_| Causes::of(&[Cause::PathQueue, Cause::WindowAckLatency]);
    |it| it.may_be_queued() && it.is_full() => |_| Cause::PathQueue.into();
    |it| it.is_glance() && it.may_be_queued()
        => |_| Causes::of(&[Cause::Steady, Cause::PathQueue]);
    |it| it.may_be_queued() && it.lost == 0 && !it.fills_buffer() => |_| Cause::PathQueue.into();
    Facts::fills_window => of_window;
    |it| it.fills_buffer() && !it.is_glance() => of_buffer;
    Facts::starts_slowly => |_| Cause::SlowStart.into();
    // BBR sends at the delivery rate, and so at the path's. Other senders that lose data in a short
    // full queue are at that rate most of the time.
    |it| !it.is_glance() && it.is_full() && (!it.heeds_loss || it.is_late_at_losses())
        => |_| Cause::PathQueue.into();
    // The sender cuts its window for a mark as for a loss (RFC 3168 section 6.1.2).
    |it| it.marked > it.lost && it.heeds_loss => |_| Cause::PathMarks.into();
    |it| it.is_reordered() && it.heeds_loss => |_| Cause::Reordering.into();
    |it| it.lost > 0 && it.heeds_loss && it.may_be_policed()
        => |_| Causes::of(&[Cause::AfterLoss, Cause::PathPolicer]);
    |it| it.lost > 0 && it.heeds_loss => |_| Cause::AfterLoss.into();
    Facts::may_be_policed => |_| Causes::of(&[Cause::PathPolicer, Cause::Steady]);
    // BBR follows the delivery rate: its window is no limit of its own.
    |it| it.is_glance() && !it.heeds_loss => |_| Causes::of(&[Cause::Steady, Cause::PathQueue]);
};

/// Names the causes of the rest of the busy time.
fn of_rest(facts: &Facts) -> Causes {
    let named = RULES.iter().find(|rule| (rule.holds)(facts));
    named.map_or_else(|| Cause::Steady.into(), |rule| (rule.causes)(facts))
}

/// Names a program or its buffer, if all written data was sent at once. A write that waits for room
/// has no data to send either, and the kernel's clock misses some of that.
fn of_writes(facts: &Facts) -> Causes {
    let (full, is_clocked) = (facts.buffer_full.unwrap_or(0.0), is_clocked(facts));
    if full >= 1.0 || full > 0.0 && is_clocked {
        of_buffer(facts)
    } else if full > 0.0 || is_clocked {
        Causes::of(&[Cause::BufferPathRtt, Cause::SenderIdle])
    } else {
        Cause::SenderIdle.into()
    }
}

/// Returns whether the clock of the send buffer ran long enough to stand for more time.
fn is_clocked(facts: &Facts) -> bool {
    facts.buffer_held > facts.busy.scaled(CLOCKED_BUFFER.get())
}

/// Names the causes of a send buffer smaller than the congestion window. A write may exceed the
/// buffer, and the windows then let all of it out.
fn of_small_buffer(facts: &Facts) -> Causes {
    if is_clocked(facts) && facts.leaves_room() && !facts.is_late() {
        return of_buffer(facts);
    }
    Causes::of(&[Cause::BufferPathRtt, Cause::Steady, Cause::PathQueue])
}
