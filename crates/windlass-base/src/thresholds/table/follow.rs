//! The thresholds of following connections.

use crate::Span;
use crate::thresholds::{Line, Threshold, Value, thresholds};

thresholds! {
    // Followed connections: a window that closes.

    /// A window that is closed for less opens a moment late; for longer, its program is slow to
    /// read. Print servers that close their window with each ACK open it again within 1 to 2 ms (the
    /// print-server comparison, about 2000), a busier device within some tens. Linux sends its first
    /// probe after 200 ms.
    MOMENTARY_CLOSURE: Span = Span::from_millis(50);
    /// An answer to a probe takes at least this share of the path's round trip. Where only data
    /// tells the round trip, a probe is answered sooner.
    PROBE_SOONEST: f64 = 0.75;
    /// On a path as short as this data takes longer than a probe, and hosts vary by as much.
    SHORT_PATH: Span = Span::from_millis(1);
    /// A window that opens by itself does so right behind a probe once in this many closures at
    /// most.
    PROBE_CHANCE: i64 = 100;
    /// An answer to a probe comes within two round trips, and within this time on shorter paths.
    PROBE_ANSWER: Span = Span::from_millis(10);
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
    /// A prompt sender on a short path may take as long: hosts react within tens of microseconds.
    PROMPT_LEAST: Span = Span::from_micros(200);
    /// No prompt sender takes longer, and no program longer to wake: on a busy machine Linux lets it
    /// wait for its turn for some milliseconds.
    PROMPT_MOST: Span = Span::from_millis(20);
    /// A program wakes within this part of a long wait: next to the wait that is nothing, and a
    /// program with a pace of its own would not always meet it.
    WAKING_PART: i64 = 50;
    /// The round trip that is assumed where none is known.
    UNKNOWN_ROUND_TRIP: Span = Span::from_millis(2);
    /// No segment takes longer on a line: two of 1,460 bytes at 5 Mb/s. A longer gap is a pause.
    SLOW_LINE_SEGMENT: Span = Span::from_millis(5);
    /// Hosts that join what came, and virtual machines that wait for their turn, react later by up
    /// to this time: 10 ms were seen (a server's echoes behind a round trip of 0.9 ms).
    BUSY_HOST: Span = Span::from_millis(12);
    /// A sender that was silent for this long, and for many times an ACK's way, does not send right
    /// behind an ACK by chance: once in twenty times at most.
    LONG_SILENCE: Span = Span::from_millis(20);
    /// A segment that was late by less stood in no queue that matters.
    QUEUED_DATA: Span = Span::from_millis(3);
    /// An answer to an ACK may be late on its way by this share of a round trip: as much as shows a
    /// queue (`QUEUED_ROUND_TRIP`), and as a segment takes a slow line.
    ANSWER_LATE_BY: f64 = 1.0 / 3.0;
    /// A program that keeps time varies by this share of its step.
    HELD_IN_STEP: f64 = 0.02;
    /// Messages of the other side that come further apart are two.
    MESSAGES_APART: Span = Span::from_millis(2);
    /// A capture that misses one byte in this many misses ACKs that matter: a sender gets an ACK or
    /// two in each round trip, and more.
    MISSES_PART: u64 = 100;
    /// A capture with this many ACKs without data has them.
    BARE_ACKS: u8 = 3;
    /// An ACK that takes this many times what nine of ten take is overdue.
    OVERDUE_ACK: f64 = 2.0;
    /// Nothing of a connection stands in a queue after a rest of this time, and a few round trips.
    QUEUE_AT_REST: Span = Span::from_millis(500);

    // Followed connections: the flight.

    /// A slow start goes on where the flight grows by this factor in one of two rounds. It doubles
    /// where each segment is acknowledged and grows by 1.5 where each second one is (RFC 5681
    /// section 3.1); one round may end short.
    ROUND_GROWTH: f64 = 1.3;
    /// One ACK may cover this many segments where the receiver's host joins them (receive offload),
    /// so that a congestion window frees as many at once.
    STRETCH_ACK: u64 = 4;
    /// The writer of a full send buffer is woken when this share of the flight is acknowledged
    /// (Linux: a third); a congestion window lets data go with each ACK.
    FREED_BY_WRITER: f64 = 0.3;
    /// A larger share, up to this one, is a congestion window's where one ACK may cover as much.
    PERHAPS_FREED_BY_WRITER: f64 = 0.4;
    /// A sender that waits for room in its window waits for this many segments more: two for the
    /// last ACK, and one that the window has more.
    ROUNDED_WINDOW: u64 = 3;
    /// A flight ends within one segment of a window this large, in segments, by chance once in as
    /// many times, or in half as many.
    LARGE_WINDOW: u64 = 8;
    /// The least fall of a raw window that tells its scale: one byte may make a scaled window fall
    /// by one, too.
    WINDOW_FALL: u16 = 16;
    /// Windows that fall by what their ACKs acknowledge tell the scale from this many on.
    HELD_WINDOWS: u64 = 2;

    // Followed connections: losses and repair.

    /// Data this late was overtaken, not sent again, where no round trip is known (Wireshark's
    /// default).
    REORDERED_WITHIN: Span = Span::from_millis(3);
    /// Data that comes within this share of a round trip behind a gap was overtaken: a repair takes
    /// a round trip.
    OVERTAKEN_WITHIN: f64 = 0.8;
    /// No retransmission timer is shorter: kernels count time in ticks of a millisecond and more,
    /// and the least timeout that any of them has is several ticks.
    SOONEST_TIMER: Span = Span::from_millis(1);
    /// A silence is a timer's where it is longer than the round trip by this factor, and than
    /// `SILENCE_OF_TIMER`.
    SILENCE_ROUND_TRIPS: f64 = 1.2;
    /// An ACK that comes after less of the path's round trip answers an earlier copy.
    COPY_SOONEST: f64 = 0.7;
    /// A flight at this share of the one before a loss has regained what the loss took.
    FLIGHT_REGAINED: f64 = 0.9;
    /// Bytes that may have been under way when the capture began.
    UNSEEN_AT_ONCE: u64 = 1 << 20;

    /// From this many latencies on the latest shows how long a receiver withholds its ACKs.
    MANY_LATENCIES: u64 = 8;
    /// An ACK that is later than the latest by this factor never came.
    BEYOND_LATENCIES: f64 = 2.0;

    // Followed connections: the capture's clock and the sums over connections.

    /// A clock that goes back this far was set: time servers leave smaller offsets to slewing
    /// (128 ms in ntpd), and no two interfaces write their packets this far out of order.
    CLOCK_SET_BACK: Span = Span::from_millis(100);
    /// A connection with fewer segments is left out of the sums over connections.
    SUMMED_SEGMENTS: u64 = 8;
}
