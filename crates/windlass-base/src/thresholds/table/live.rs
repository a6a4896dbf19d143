//! Thresholds on what kernels and processors at both ends of a transfer show while it runs.

use crate::Span;
use crate::thresholds::{Line, Threshold, Value, thresholds};

thresholds! {
    // A queue of the path, by a kernel's round trips.

    /// Round trips at a loss are longer than the mean by this factor where a full queue lost the
    /// data, as Reno and CUBIC then take 0.3 of the flight or more. Losses at random find them
    /// within 0.06 of the mean: of 60 transfers with 0.2 to 10 % of loss, all but two with timers.
    LONGER_AT_LOSS: f64 = 1.07;
    /// And a full queue makes them this share of the longest: 0.64 to 1 over queues of 0.3 products
    /// and more, where losses at random have 0.55 at most.
    NEAR_LONGEST: f64 = 0.6;
    /// From this share of lost segments on, one small message in ten may be lost as well.
    MANY_LOST: f64 = 0.04;
    /// One small message in ten meets this share of the queue that losses meet.
    QUEUED_MESSAGES: f64 = 0.5;
    /// A round trip shorter than this many idle ones is mostly the path's own.
    MOSTLY_PATH: f64 = 2.0;
    /// A rate that exceeds the law of its loss by this factor was not lost all the time.
    BEATS_LAW: f64 = 3.0;
    /// A rate at this share of the best has nothing left to hold it.
    NEARLY_BEST: f64 = 0.9;
    /// A transfer's usual rate is known from this many slices on.
    FEW_SLICES: u64 = 4;

    // A policer, by the rates of slices.

    /// A token bucket passes its rate again and again: the tenth of the slices with least has this
    /// share of the tenth with most. Behind policers of 64 KB it was 0.81; with losses at random
    /// 0.44 and less, before a queue of ten packets 0.48.
    STEADY_DELIVERY: f64 = 0.75;
    /// From this share on a token bucket cannot be told from losses at random: with a bucket of a
    /// product or less its sender does not use all of it (0.58), and on a full machine its rate
    /// stays less (0.54 and 0.68).
    PERHAPS_STEADY_DELIVERY: f64 = 0.5;
    /// The steadiness of a rate is known from this many slices on.
    STEADY_SLICES: u64 = 8;
    /// A policer drops so many segments before it is named: a start may lose some.
    POLICED_SEGMENTS: u64 = 10;

    /// A sender that does not heed losses, as BBR, loses this share behind a token bucket: 0.095
    /// was measured. Before a queue that overflows and over a path that loses 0.03 beside, it lost
    /// up to 0.05.
    UNHEEDED_LOSS: f64 = 0.07;

    // Windows and buffers, by samples.

    /// The share of samples with a closed window from which on the receiver does not read: full
    /// windows are closed for a moment now and then.
    CLOSED_WINDOW: f64 = 0.1;
    /// And that from which on a window below a segment is one that is closed.
    MOSTLY_CLOSED: f64 = 0.5;
    /// From this share of openings that no probe brought on, the receiver announces its window.
    ANNOUNCED_OPENINGS: f64 = 0.5;
    /// This many openings, each as a probe was due, are no coincidence: samples place one within half
    /// of the time between two probes.
    PROBED_OPENINGS: u64 = 8;
    /// A window offered up to this share of its largest has more unread in it than two segments
    /// that wait for a delayed ACK.
    BEHIND_READER: f64 = 0.7;
    /// And where this share of it is in flight, the sender takes all that is offered as it comes.
    FILLED_AT_ONCE: f64 = 0.7;
    /// From this share on what comes is read at once.
    READ_AT_ONCE: f64 = 0.97;

    /// A flight up to this share of a congestion window leaves room in it.
    LEAVES_ROOM: f64 = 0.8;
    /// From this share of the busy time on, the clock of the send buffer speaks for more: it counts
    /// in jiffies, and a write takes whole segments of the stack.
    CLOCKED_BUFFER: f64 = 0.1;
    /// From this share of the busy time on, the mean flight is what the send buffer lets out.
    MOSTLY_BUFFERED: f64 = 0.7;
    /// A program may write again once a third of the send buffer is free (`sk_stream_write_space`).
    WRITABLE_BUFFER: f64 = 2.0 / 3.0;

    // Timers and outages.

    /// Timers that ran out for this share of the time are told, whatever took the rest.
    TOLD_TIMERS: f64 = 0.1;
    /// A silence this long, with data in flight, is none that one timer explains: Linux's first
    /// runs out after 200 ms and a round trip, and the next in twice the time.
    OUTAGE: Span = Span::from_millis(1_000);
    /// And so many round trips.
    OUTAGE_TRIPS: f64 = 4.0;

    // Reordering.

    /// ACKs that show overtaken segments this often for each segment that was lost show that
    /// most repairs were in vain.
    REORDERED: f64 = 1.0;
    /// And where the peer had this share of what was sent again, some overtaken segments suffice. Late
    /// by a round trip and a half, 3 % of the segments gave 0.95 or more.
    SPURIOUS_REPAIRS: f64 = 0.5;

    // The programs.

    /// A thread that reads or writes elsewhere for this share of its time sets the pace.
    PROGRAM_SHARE: f64 = 0.5;

    // The processors.

    /// A thread that has, or waits for, this share of a processor has no more to give.
    BUSY_THREAD: f64 = 0.9;
    /// And it works for this share of the time itself.
    WORKING_THREAD: f64 = 0.02;
    /// A thread that has, or waits for, this share of a busy processor may be held by that. One that
    /// is woken for each packet waits each time, though its work is small: 0.02 to 0.3 at up to
    /// 12 Mbit/s beside four builds on two processors, and 0.7 to 0.9 without a line between.
    WANTING_THREAD: f64 = 0.5;
    /// Of all processors of a machine this share is all that there is: a tick of 10 ms and the ends
    /// of a transfer have the rest. `windlass spool load` calls them full from here on, too.
    BUSY_PROCESSORS: f64 = 0.85;
    /// Share of one machine that is full with both ends on it: the kernel's work in interrupts
    /// belongs to neither.
    BUSY_WITH_BOTH: f64 = 0.8;
    /// A processor whose interrupts take this share of it is one that handles packets.
    BUSY_INTERRUPTS: f64 = 0.5;
    /// A wait for a processor is told from this share of the time on.
    NOTABLE_WAIT: f64 = 0.1;
    /// Other programs are named from this share of one processor on.
    OTHER_PROGRAMS: f64 = 0.2;
    /// A thread that only starts and ends has its processor for all of its time: what is shorter
    /// than the longest tick of Linux says nothing of that.
    TICK: Span = Span::from_millis(10);

    // Confidence and promises.

    /// In fewer round trips nothing is sure, and a window without loss is one that still starts.
    FEW_ROUND_TRIPS: f64 = 20.0;
    /// A part of the time below this share is not told for sure.
    SURE_SHARE: f64 = 0.4;
    /// A limit that comes next is told from this share of the time on.
    NEXT_SHARE: f64 = 0.01;
    /// A part that takes this share of the time takes all of it: the rest is its start and its end.
    ALL_OF_THE_TIME: f64 = 0.9;
}
