//! What a direction's time went to, as far as the figures of kernels tell.
//!
//! A kernel knows how long a window held it, and not why the window stayed full: whether
//! the receiver was late to acknowledge, its program slow to read, or the data in a queue.
//! What the figures leave open is said as such.

use windlass_base::{Cause, Rate, Span, laws};

use super::figures::Figures;
use crate::report::LimitTimes;

/// Windows of so many segments cannot queue what delays them much: the receiver
/// does. (A window of 2 segments is the print server's of the first document.)
const FEW_SEGMENTS: u64 = 4;

/// The share of samples with a closed window from which on the receiver does not
/// read: full windows are closed for a moment now and then.
const CLOSED: f64 = 0.1;

/// And that from which on a window below a segment is one that is closed.
const MOSTLY_CLOSED: f64 = 0.5;

/// A window that is offered up to this share of the largest, on average, has more in it
/// that nobody has read than two segments that wait for a delayed ACK.
const BEHIND: f64 = 0.7;

/// And where this share of it is in flight at the samples, the sender takes all that is
/// offered as it comes: it does not wait for more.
const FILLED: f64 = 0.7;

/// From this share on what comes is read at once.
const READ_AT_ONCE: f64 = 0.97;

/// The share of segments lost from which on loss is the limit (decision 7).
const LOSSY: f64 = 0.01;

/// Timers that ran out for this share of the time are told, whatever took the rest.
const TOLD: f64 = 0.1;

/// A rate this near to the pace that was asked for is the pace's.
const PACED: f64 = 0.85;

/// A part of the time: its one cause, or those of which the figures leave open which one it
/// is, the likelier first.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    pub(super) causes: Vec<Cause>,
    pub(super) share: f64,
}

impl Part {
    /// The cause, where it is one.
    pub(super) fn cause(&self) -> Cause {
        match self.causes.as_slice() {
            [one] => *one,
            _ => Cause::Unknown,
        }
    }
}

/// What the time went to, the most first.
pub(super) fn parts(figures: &Figures<'_>) -> Vec<Part> {
    let sender = figures.seen.sender;
    let whole = figures.whole();
    if figures.streams == 0 || whole <= Span::ZERO || sender.bytes.get() == 0 {
        return Vec::new();
    }
    let LimitTimes { busy_seconds, receiver_limited_seconds, buffer_limited_seconds } =
        figures.kernel.times;
    let busy = busy_seconds.share_of(whole);
    let timeout = figures.timeout_share().min(busy);
    // The kernel's clocks go on while a timer runs.
    let fits = |time: Span, room: f64| time.share_of(whole).min(room.max(0.0));
    let window = fits(receiver_limited_seconds, busy - timeout);
    let buffer = fits(buffer_limited_seconds, busy - timeout - window);
    let rest = (busy - timeout - window - buffer).max(0.0);
    let rests = of_rest(figures);
    // A start by its own window; a pace or a processor holds that, too.
    let own_start = !matches!(rests.as_slice(), [Cause::SenderIdle | Cause::Processor]);
    let start = figures.kernel.slow_start_seconds.filter(|_| own_start);
    let start = start.map_or(0.0, |time| fits(time, rest));
    let idle = (1.0 - busy).max(0.0);
    let parts = [
        (of_timeout(figures), timeout),
        (of_window(figures), window),
        (of_buffer(figures), buffer),
        (vec![Cause::SlowStart], start),
        (rests, rest - start),
        (vec![of_idle(figures)], idle),
    ];
    // The same may have come by two ways.
    let mut merged = Vec::<Part>::new();
    for (causes, share) in parts {
        match merged.iter_mut().find(|known| known.causes == causes) {
            Some(known) => known.share += share,
            None => merged.push(Part { causes, share }),
        }
    }
    merged.retain(|part| part.share > 0.0);
    merged.sort_by(|one, other| other.share.total_cmp(&one.share));
    // What a path has, and a pace that was asked for, are no fault to be mended: timers that
    // cost part of that are told before them. What a congestion window regains after an outage
    // is the outage's, too.
    let has_outage = figures.outage().is_some();
    let no_fault = |part: &Part| match part.cause() {
        Cause::PathQueue | Cause::SenderIdle => true,
        Cause::AfterLoss | Cause::PathMarks | Cause::Steady | Cause::SlowStart => has_outage,
        _ => false,
    };
    let of_timers = merged.iter().position(|part| part.causes.as_slice() == [Cause::Timeout]);
    if let (Some(place), true) = (of_timers, merged.first().is_some_and(no_fault))
        && merged[place].share >= TOLD
        && (has_outage || !figures.is_full_in_all())
    {
        let timers = merged.remove(place);
        merged.insert(0, timers);
    }
    merged
}

/// Whether a rate is that of the pace that was asked for.
pub fn keeps(pace: Rate, rate: Rate) -> bool {
    rate.bytes_per_second() > pace.bytes_per_second() * PACED
}

/// What a full window comes from.
fn of_window(figures: &Figures<'_>) -> Vec<Cause> {
    if figures.receiver_is_busy() || figures.machine_is_busy() {
        return vec![Cause::Processor];
    }
    // A kernel that does not tell the window tells no more.
    let (Some(largest), Some(open)) = (figures.largest_window, figures.open_share()) else {
        return late(figures, Cause::WindowPathRtt, Cause::WindowAckLatency);
    };
    let is_below_segment = largest.get() < figures.segment.max(1);
    let closed = if is_below_segment { MOSTLY_CLOSED } else { CLOSED };
    if figures.closed_share >= closed {
        // It sees the window open, and not what made it open: a probe, or the reader.
        return vec![Cause::ReceiverNotReading, Cause::NoWindowUpdate];
    }
    if is_below_segment {
        return vec![Cause::WindowBelowMss];
    }
    if open < BEHIND {
        // Who sends less than the window has room for waits until it is open far enough.
        let filled = figures.flight.get() as f64 >= FILLED * figures.window.get() as f64;
        return match filled {
            true => vec![Cause::ReceiverLimited],
            false => vec![Cause::ReceiverLimited, Cause::NoWindowUpdate],
        };
    }
    let mut causes = late(figures, Cause::WindowPathRtt, Cause::WindowAckLatency);
    // What was asked for is offered in whole segments.
    if open < READ_AT_ONCE && figures.seen.window.is_none() {
        causes.insert(0, Cause::ReceiverLimited);
    }
    causes
}

/// Whether a stream may have but a few segments in flight.
fn is_few(figures: &Figures<'_>) -> bool {
    let few = FEW_SEGMENTS * figures.segment.max(1) * figures.streams.max(1);
    figures.has_window() && figures.room().get() <= few
}

/// What makes each round trip as long as it is: the `path` itself, a receiver that is late to
/// acknowledge, or a queue.
fn late(figures: &Figures<'_>, path: Cause, receiver: Cause) -> Vec<Cause> {
    if !figures.is_late() || figures.is_mostly_path() && is_few(figures) {
        return vec![path];
    }
    if figures.has_messages() {
        // They wait in a queue, and not for a receiver that is late.
        return vec![match (figures.has_standing_queue(), is_few(figures)) {
            (true, _) => Cause::PathQueue,
            (false, true) => receiver,
            (false, false) => path,
        }];
    }
    let beyond = (figures.rtt() - figures.base().unwrap_or_default()).or_zero();
    let line = figures.room().per(beyond);
    if is_few(figures) {
        // A line would have to take that long for a few segments.
        return if line.bytes_per_second() < laws::SLOW_LINE {
            vec![receiver]
        } else {
            vec![receiver, Cause::PathQueue]
        };
    }
    match figures.is_mostly_path() {
        true => vec![path, Cause::PathQueue],
        false => vec![Cause::PathQueue, receiver],
    }
}

/// What a full send buffer comes from.
fn of_buffer(figures: &Figures<'_>) -> Vec<Cause> {
    if figures.has_messages() {
        return vec![Cause::BufferPathRtt];
    }
    late(figures, Cause::BufferPathRtt, Cause::BufferDelayedAck)
}

/// What the time comes from in which there was nothing to send.
fn of_idle(figures: &Figures<'_>) -> Cause {
    let is_busy = figures.is_busy() || figures.machine_is_busy();
    if is_busy { Cause::Processor } else { Cause::SenderIdle }
}

/// Whether a window of a few segments holds the sender, where no small messages
/// tell a queue from a receiver that is late: so few segments queue for no time,
/// and neither the congestion window nor the buffer is as small.
fn holds_by_few(figures: &Figures<'_>) -> bool {
    !figures.has_messages()
        && is_few(figures)
        && figures.congestion_window > figures.window
        && figures.buffer > figures.window
        && !figures.fills_buffer()
}

/// What the rest of the busy time comes from.
fn of_rest(figures: &Figures<'_>) -> Vec<Cause> {
    let is_busy = figures.is_busy() || figures.receiver_is_busy() || figures.machine_is_busy();
    let cause = if figures.keeps_its_pace() {
        Cause::SenderIdle
    } else if is_busy {
        Cause::Processor
    } else if figures.heeds_loss() && is_lossy(figures) {
        return lossy(figures);
    } else if holds_by_few(figures) || figures.fills_window() && !figures.has_messages() {
        return of_window(figures);
    } else if figures.may_be_queued()
        && (figures.is_full() || figures.lost == 0 && !figures.fills_buffer())
    {
        Cause::PathQueue
    } else if figures.fills_window() {
        return of_window(figures);
    } else if figures.fills_buffer() {
        return of_buffer(figures);
    } else if figures.starts_slowly() {
        Cause::SlowStart
    } else if figures.is_full() && (!figures.heeds_loss() || figures.is_late_at_losses()) {
        // BBR sends at the rate that it has seen delivered, and so at the path's; others that
        // lose what finds a short queue full are at it most of the time.
        Cause::PathQueue
    } else if figures.marked() > figures.lost && figures.heeds_loss() {
        // It cuts its window for a mark as it does for a loss (RFC 3168 section 6.1.2).
        Cause::PathMarks
    } else if figures.lost > 0 && figures.heeds_loss() {
        Cause::AfterLoss
    } else {
        Cause::Steady
    };
    vec![cause]
}

/// Whether loss holds the sender. A queue that was full is no such loss, nor is that of an outage
/// any of the rest; a few segments in flight are sent again by a timer alone.
fn is_lossy(figures: &Figures<'_>) -> bool {
    if is_few(figures) {
        return figures.loss() >= LOSSY;
    }
    figures.loss_outside_timeouts() >= LOSSY
        && !figures.loses_in_a_queue()
        && !figures.beats_its_loss()
}

/// What a timer that ran out comes from: a path that was interrupted or that loses what no ACK
/// tells of, or ACKs that only come late. None is later than half a second (RFC 1122).
fn of_timeout(figures: &Figures<'_>) -> Vec<Cause> {
    if figures.outage().is_some() { vec![Cause::Timeout] } else { by_timer(figures) }
}

/// What segments that a timer sent again come from.
fn by_timer(figures: &Figures<'_>) -> Vec<Cause> {
    if !is_few(figures) {
        return vec![Cause::Timeout];
    }
    let late = match figures.buffer < figures.window {
        true => Cause::BufferDelayedAck,
        false => Cause::WindowAckLatency,
    };
    vec![late, Cause::Timeout]
}

/// What segments that were sent again come from. Fewer than four in flight bring no three
/// ACKs for a fast retransmit (RFC 5681 section 3.2): the timer sent them, and it also does
/// where ACKs only come late.
fn lossy(figures: &Figures<'_>) -> Vec<Cause> {
    if is_few(figures) { by_timer(figures) } else { vec![Cause::FastRecovery] }
}
