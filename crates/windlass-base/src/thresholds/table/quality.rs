//! The thresholds of the capture's quality.

use crate::Span;
use crate::thresholds::{Line, Threshold, Value, thresholds};

thresholds! {
    // The capture: packets that came twice, or were made up.

    /// Copies without an IP identification follow each other this closely: a mirror port or two
    /// interfaces of one machine, not a retransmission.
    COPY_AT_ONCE: Span = Span::from_micros(100);
    /// Copies with the same identification and TTL, and without timestamps, follow each other this
    /// closely: two ports of one switch, or a bridge and its member. Some middleboxes send data
    /// again with the old identification, but only after a round trip.
    COPY_OF_SWITCH: Span = Span::from_millis(2);
    /// Copies with another TTL or the same timestamps (a retransmission has a new one) follow each
    /// other this closely: both sides of a router or both ends of a path, with its queues. A sender
    /// uses an identification again only after the lifetime of a datagram (RFC 6864).
    COPY_OF_PATH: Span = Span::from_millis(1_000);
    /// A capture that holds each packet twice (a mirror of both ports) has this many second copies.
    SECOND_COPIES: u32 = 2;
    /// A capture that holds each packet twice has a second copy of this share.
    COPIED_NEARLY_ALL: f64 = 0.9;
    /// A packet that a device passes on comes again within this time.
    PASSED_ON: Span = Span::from_millis(100);
    /// Packets that came again with other numbers name a device from this many on.
    REWRITTEN_PACKETS: u32 = 3;
    /// A segment of this many bytes asks for an ACK soon.
    LARGE_SEGMENT: u32 = 500;
    /// No receiver leaves this many full segments without an ACK: it gives one for each second one
    /// (RFC 9293 section 3.8.6.3), and one for 64 KiB where its host joins them.
    UNANSWERED_RUN: u32 = 50;
    /// No receiver leaves this many full segments without an ACK again and again.
    LONG_RUN: u32 = 6;
    /// Runs of unanswered segments happen again and again from this many on.
    LONG_RUNS: u32 = 3;
    /// Times that are all alike are no chance from this many packets on.
    TIMED_PACKETS: u32 = 30;
    /// Times that are all equal are no chance from this many packets on.
    EQUAL_TIMES: u32 = 8;
    /// Gaps are equal where their standard deviation is less than this share of the mean: their
    /// squares are kept no more exactly.
    EQUAL_GAPS: f64 = 0.002;
    /// Gaps of a dialogue are alike where their standard deviation is less than this share of the
    /// mean.
    GAPS_ALIKE: f64 = 0.1;
    /// Gaps are alike by this share where one side sends nearly all packets: a line may space them.
    SPACED_GAPS_ALIKE: f64 = 0.02;
    /// A side takes part in a dialogue where it sends one packet in this many.
    TALKS_PART: u32 = 5;

    // The capture: its clock.

    /// A finer clock changes no verdict: hosts need as long to react.
    FINE_CLOCK: Span = Span::from_micros(500);
    /// Clocks of uneven steps are those of Windows, of 10 to 15.6 ms.
    UNEVEN_CLOCK: Span = Span::from_millis(9);
    /// No clock of a capture is coarser than that of Windows. Longer steps are those of a dialogue.
    COARSEST_CLOCK: Span = Span::from_micros(16_500);
    /// A clock's habit shows after this many moves.
    CLOCK_MOVES: u32 = 16;
    /// A coarse clock gives this share of the packets the time of the one before: the segments of a
    /// burst. Where packets are further apart than its step, the step hardly matters.
    EQUAL_PACKETS: f64 = 0.2;
    /// A clock that never moves by more than one step shows by this share of equal times.
    MOSTLY_EQUAL_PACKETS: f64 = 0.5;
    /// The moves of a clock may miss a multiple of its step by this share: the clock of Windows
    /// drifts by a few percent while it is disciplined.
    UNEVEN_STEPS: f64 = 0.15;
    /// Multiples of the step are this share of a clock's moves.
    CLOCK_MULTIPLES: f64 = 0.9;
    /// A clock shows this many different multiples of its step, a dialogue with a pace does not.
    MULTIPLES_SEEN: usize = 3;
    /// A clock that jumped did so by this share of the silence that shows it.
    JUMP_SHARE: f64 = 0.5;
    /// Packets that were held back on the way come within this many silences, and
    /// `CATCH_UP_TIME`, or not at all.
    CATCH_UP_SILENCES: i64 = 2;
    /// Packets that were held back on the way come within this time beyond some silences.
    CATCH_UP_TIME: Span = Span::from_millis(1_000);
}
