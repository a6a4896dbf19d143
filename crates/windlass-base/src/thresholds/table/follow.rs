//! The thresholds of following connections.

use crate::Span;
use crate::thresholds::{Line, Threshold, Value, thresholds};

thresholds! {
    // Followed connections: a window that closes.

    /// A sender asks for a closed window within this time: its first retransmission timer is a
    /// second (RFC 6298, RFC 9293 section 3.8.6.1), of which this is twice.
    FIRST_PROBE: Span = Span::from_millis(2_000);
    /// A sender asks again after twice as long (RFC 9293 section 3.8.6.1). This many times as long
    /// is once more than that.
    PROBE_BACK_OFF: i64 = 3;

    // Followed connections: the end of a wait.

    /// No host reacts to an ACK sooner, and no round trip is shorter: two programs of one machine
    /// take as long.
    LEAST_REACTION: Span = Span::from_micros(20);
    /// A prompt sender reacts to an ACK within this part of the round trip: Linux paces a round over
    /// about half of it while it grows, and a segment may wait for others on the sender's own line.
    PROMPT_PART: i64 = 8;
    /// A program wakes within this part of a long wait: next to the wait that is nothing, and a
    /// program with a pace of its own would not always meet it.
    WAKING_PART: i64 = 50;
    /// No segment takes longer on a line: two of 1,460 bytes at 5 Mb/s. A longer gap is a pause.
    SLOW_LINE_SEGMENT: Span = Span::from_millis(5);
    /// An answer to an ACK may be late on its way by this share of a round trip: as much as shows a
    /// queue (`BEYOND_JITTER`), and as a segment takes a slow line.
    ANSWER_LATE_BY: f64 = 1.0 / 3.0;

    // Followed connections: the flight.

    /// A larger share, up to this one, is a congestion window's where one ACK may cover as much.
    PERHAPS_FREED_BY_WRITER: f64 = 0.4;
    /// A sender that waits for room in its window waits for this many segments more: two for the
    /// last ACK, and one that the window has more.
    ROUNDED_WINDOW: u64 = 3;
    /// The least fall of a raw window that tells its scale: one byte may make a scaled window fall
    /// by one, too.
    WINDOW_FALL: u16 = 16;

    // Followed connections: losses and repair.

    /// Bytes that may have been under way when the capture began.
    UNSEEN_AT_ONCE: u64 = 1 << 20;


    // Followed connections: the capture's clock and the sums over connections.

}
