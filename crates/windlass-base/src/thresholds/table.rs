//! The lines of the table: what each bounds, and where its value is from.

mod estimate;
mod follow;
mod live;
mod quality;
mod report;
mod shared;

use super::{Line, Threshold, Value, thresholds};
use crate::Span;

pub use self::estimate::*;
pub use self::follow::*;
pub use self::live::*;
pub use self::quality::*;
pub use self::report::*;
pub use self::shared::*;

/// Returns every line of the table.
pub fn all() -> Vec<Line> {
    [
        shared::lines(),
        lines(),
        live::lines(),
        follow::lines(),
        estimate::lines(),
        quality::lines(),
        report::lines(),
    ]
    .concat()
}

thresholds! {
    // A full path, by round trips and by the pace of ACKs.

    /// Two ACKs for a flight may be this share of its round trip apart. The time is the median of
    /// segments, of which those of one half wait for less.
    ACKS_IN_HALVES: f64 = 0.75;
    /// A path that delivers more by this factor with more in flight is not full.
    DELIVERS_MORE: f64 = 1.3;
    /// A flight smaller by this factor may have left room on the path.
    SMALLER_FLIGHT: f64 = 0.75;
    /// A path that stands full for a smaller share of the time has no rate of its own.
    EVER_FULL: f64 = 0.05;

    // A line, by the spacing of data and by what several connections carry.

    /// A line spaces most segments within this factor of the closest pair: streams that shared one
    /// had 1.02 to 1.24, varying delays 5 and more.
    EVEN_SPACING: f64 = 1.3;
    /// The sums of several connections are compared over this many round trips; within one they
    /// come in bursts.
    AGGREGATE_ROUNDS: i64 = 2;
    /// The rate without a limit is known where this share of the transfer's time remains.
    TIME_LEFT: f64 = 0.01;

    // The congestion window.

    /// Loss this frequent keeps a congestion window from growing: at 1 % Mathis's law (1997)
    /// leaves it 12 segments.
    FREQUENT_LOSS: f64 = 0.01;
    /// A host reacts to the ACK that it waits for within this time. Of the corpus' Linux hosts nine
    /// in ten take less than 0.15 ms; a quarter and more of a paced program's take more than 0.27.
    SLOW_REACTION: Span = Span::from_micros(250);

    // The send buffer.

    /// A flight stays level for this many rounds before it counts as a plateau: a congestion
    /// window in congestion avoidance grows by a segment in each (RFC 5681 section 3.1).
    PLATEAU_ROUNDS: usize = 5;
    /// A program's pauses may set the pace where they take this share of the time; a program that
    /// refills its buffer takes less.
    PACING_PAUSES: f64 = 0.15;
    /// An answer to an ACK takes at least this share of the path's round trip.
    SOONER_THAN_PATH: f64 = 0.85;

    // The receiver: its window, its ACKs and its reader.

    /// Without a handshake, ACKs that take this many times the least one are slow.
    SLOW_ACK_SPREAD: i64 = 3;

    // The path's round trip, and the place of the capture.


    /// Such a reader makes room later than the path, by this factor: lost ACKs alone leave 1.02.
    LATE_ROOM: f64 = 1.07;

    // Loss.

    /// A queue that overflows, or a policer, loses this many segments at a time. Of 19 transfers with
    /// as many 14 had one, and random losses took 1 to 4.
    LOST_TOGETHER: u64 = 5;
    /// A sender repairs a hole without its timer after this many duplicate ACKs (RFC 5681 section
    /// 3.2).
    DUPLICATE_ACKS: u64 = 3;
    /// The loss of one ACK costs nothing with this many segments in flight: another one follows.
    ACKS_STAND_IN: u64 = 8;
    /// The payload that the least MTU of IPv6 leaves with timestamps (1,280 bytes, RFC 8200
    /// section 5); nearly every path takes it.
    LEAST_MTU_PAYLOAD: u64 = 1_208;
    /// The least silence that only a retransmission timer explains. Linux's runs for at least 200
    /// ms and RFC 6298 section 2.4 asks for a second; 150 ms leaves room for an ACK in between.
    SILENCE_OF_TIMER: Span = Span::from_millis(150);

    /// A retransmission timer that runs for longer is slow: RFC 6298 section 2.4 asks for a second
    /// at least, and Linux's runs for 200 ms.
    SLOW_TIMER: Span = Span::from_millis(1_200);


    /// Packets of several segments that were lost, where none of them arrived, for a card that does
    /// not split them; and of segments that were sent alone, one in as many may be lost.
    OFFLOAD_LOST: u32 = 8;
    /// Minimum number of repairs among those packets: a full queue or an outage may lose a flight
    /// of them.
    OFFLOAD_REPAIRS: u32 = 3;

    // A kernel's own figures.

    /// A round trip that a kernel measured shows a queue where it is this much longer; hosts add
    /// less.
    KERNEL_QUEUE_DELAY: Span = Span::from_micros(200);
    /// A flight at this share of a window fills it: the start, in which it grows, is in the mean.
    FILLS_WINDOW: f64 = 0.6;
    /// A flight beyond this share of a window was never in it: it is a round trip of other moments.
    OVERFILLS_WINDOW: f64 = 1.5;
    /// Windows of this many segments cannot queue what delays them much, so the receiver does. (A
    /// window of two segments is the print server's of the first document.)
    QUEUELESS_SEGMENTS: u64 = 4;
    /// A rate at this share of the pace that was asked for is the pace's.
    KEEPS_PACE: f64 = 0.85;

    // The programs.

    /// A program's pauses may make the pace where they take this share of the time.
    PAUSES_SHARE: f64 = 0.04;
    /// A message this many round trips behind the last ACK was late by its program.
    LATE_MESSAGE: i64 = 2;
    /// A pause may be a wait for an ACK where the time under question is one of this many parts
    /// of what was charged to pauses.
    DOUBTED_PART: i64 = 3;
    /// The largest segment that a usual network takes is a jumbo frame's.
    JUMBO_FRAME: u64 = 9_000;
    /// A frame of 1,500 bytes carries at least this much behind tunnels and options.
    ETHERNET_LEAST: u64 = 1_200;
    /// Two frames of 1,500 bytes, which a card may join, carry at most this much.
    ETHERNET_MOST: u64 = 2_920;

    // A program with a pace and its messages, near the sender, and a policer.

    /// A pace shows where this share of the waits' time is the program's, and where ends of writes
    /// before those waits are this much of what is left beyond chance. In 170 transfers programs
    /// with a pace had 0.35 of the time and more. Send buffers and congestion windows had 0.19 at
    /// most, and up to 0.73 on hosts whose processors were busy: there ends of writes were 0.05
    /// beyond chance, and 0.43 and more of programs.
    PROGRAMS_SHARE: f64 = 1.0 / 3.0;
    /// A window or a buffer that holds a transfer keeps its largest flight this full: 0.79 to 1.02
    /// with a locked congestion window, 0.61 to 0.97 with a small send buffer, as its memory counts.
    LEVEL_FULLNESS: f64 = 0.85;
    /// A transfer that fills less of its largest flight is not held by a buffer of that size. Programs
    /// with a pace of their own fill 0.08 to 0.56 of it.
    SPARE_FLIGHT: f64 = 0.4;
    /// A program with a pace of its own ends this share of the time of waits apart from ACKs: 0.61 to
    /// 0.99 of 20 transfers. Send buffers and congestion windows of Linux had 0.3 at most, and small
    /// stacks that are slow to answer 0.53.
    OWN_TIMES: f64 = 0.6;
    /// Twice the time that Linux paces a burst for: waits this short tell a pace, but not whose.
    PACED_WAIT: Span = Span::from_millis(2);
    /// A token bucket is likely from this many standard deviations on, where each round trip that
    /// loses anything counts once: 0.91 of 8 round trips, 0.83 of 12.
    UNLIKELY_BUCKET: f64 = 4.0;
    /// A bucket that is surely emptier and evenly taken from is likely from this many on: in each
    /// of four round trips, which chance lets lie as high once in 100,000 transfers.
    UNLIKELY_EVEN_BUCKET: f64 = 3.2;

    // A whole transfer, far from its sender.

    /// Far from the sender, messages let data go where they are the last ACK before this share of
    /// the bursts, beyond chance. Of 29 transfers with credits 26 had 0.19 and more; of 60 whose
    /// programs write at a pace (rsync's with some messages among them) none had more than 0.15.
    RELEASED_BY_MESSAGES: f64 = 0.18;
    /// A silence of one of this many parts of a round trip parts two bursts: Linux paces what a
    /// window or a buffer lets go over five sixths of a round trip (`tcp_pacing_ca_ratio` 120).
    PART_OF_PACED: i64 = 6;
    /// A flight is level within this many halves of a segment: a full one, and a part.
    LEVEL_HALVES: u64 = 3;
    /// A program's bursts end with a short segment in this share: programs with large writes 0.4 to
    /// 1.0; send buffers 0.35 at most, or all where each write fills the buffer.
    WRITTEN_ENDS: f64 = 0.4;
    /// Large writes have a pace where this share of the steps takes as long as the one before:
    /// programs 0.67 to 0.97; buffers with large writes, and paths whose delay swings, 0.57 at
    /// most.
    REGULAR_STEPS: f64 = 0.6;
    /// For each step alike in its rate this many are alike in time.
    TIMED_AGAINST_PACED: u32 = 8;

    // The end of a transfer.

    /// A farewell has this many bytes at most: `GOAWAY` and an alert take 84 together, SSH's
    /// disconnect about as many.
    FAREWELL: u64 = 256;

    // Confidence.

    /// A time is known where it is this many steps of the capture's clock long.
    CLOCK_STEPS: i64 = 4;
    /// A capture with this share of its packets copied holds all of them twice.
    COPIED_WHOLE: f64 = 0.99;

    // Promises, and a report held against itself.

    /// A bound further above the measured rate than by this factor tells the reader nothing: a
    /// printer at 24.8 kB/s had one of 209 MB/s.
    TELLING_BOUND: f64 = 22.0;
    /// The rate differs from an estimate by no more than this share in nine of ten changes that
    /// were carried out (tests/labelled/promises.md).
    ESTIMATE_ERROR: f64 = 0.15;

    /// A bottleneck of twice the rate stays full where the largest flight is this many times what
    /// the path alone holds. Half of that flight may be the overshoot of slow start (RFC 5681
    /// section 3.1), and the other half is the path and as much in its queue.
    QUEUE_FOR_TWICE: f64 = 4.0;
}
