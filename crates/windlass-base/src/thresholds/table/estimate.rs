//! The thresholds of what is estimated from packets.

use crate::Span;
use crate::thresholds::{Line, Threshold, Value, thresholds};

thresholds! {
    // Estimates of the path: its round trip and the place of the capture.

    /// From this distance of the capture on an ACK's way to the sender counts: below it the capture
    /// sits at the sender.
    LEAST_DISTANCE: Span = Span::from_micros(50);
    /// An end's ACK comes this many times sooner than its opening where it is another's: a proxy's
    /// or a translator's.
    SPLIT_SOONER: i64 = 4;
    /// An opening that takes less than this longer is of a host that looked for an address, or woke
    /// its program, and not of a path.
    SPLIT_WAY: Span = Span::from_millis(5);
    /// One ACK that comes this many times sooner makes another's likely: the translator of a virtual
    /// machine's addresses answered a SYN after 2.76 s, and a request after 0.43 ms.
    SPLIT_FAR_SOONER: i64 = 100;

    // Estimates of queues, by the sender's timestamps.

    /// Two clocks drift apart by one part in this many: crystals are off by 100 ppm each at most,
    /// and the clocks of virtual machines were seen 224 ppm apart; twice that.
    CLOCK_DRIFT: i64 = 2_000;
    /// The step of a clock is known after this many changes of its value.
    CLOCK_TICKS: u8 = 4;
    /// A timestamp that goes back by this many nanoseconds is of a clock that was set, and not of a
    /// packet out of order.
    TIMESTAMP_SET_BACK: i64 = 1_000_000_000;
    /// Counted time agrees with the time that passed within one part in this many: the two closest
    /// ticks are a factor of 1.2 apart.
    CLOCK_NEAR: i64 = 10;
    /// An interval that takes this many times the counted time revises a clock's tick.
    SLOWER_CLOCK: i64 = 2;
    /// Only data behind a silence of this long tells by its echo: data that follows closely is held
    /// back by what is ahead.
    ECHO_SILENCE: Span = Span::from_millis(4);

    // Estimates of rates.

    /// A peak rate is measured over at least this time. Hosts and captures are late by milliseconds,
    /// and what was late comes at once: over 10 ms that was up to 1.24 times the line, seen at the
    /// receiver behind links of 100 Mbit/s to 1 Gbit/s and 2.55 to 10 ms; over 40 ms, up to 1.11
    /// times.
    PEAK_RATE_TIME: Span = Span::from_millis(40);
    /// No line of a capture is faster, in bytes per nanosecond: Ethernet of 800 Gbit/s.
    FASTEST_LINE: u64 = 100;
    /// A train has this many segments. A line that is always busy delivers as many in the same time.
    TRAIN_SEGMENTS: u32 = 8;
    /// The longest gap of an even train is this share of its time at most. Segments may come in
    /// pairs, as an interrupt joins them or as they were acknowledged: a quarter, and jitter.
    TRAIN_GAP: f64 = 0.35;
    /// An uneven train counts for this many even ones at most.
    TRAIN_BREAK: i64 = 3;
    /// A sender whose program sets the pace ends what it wrote (PSH, RFC 9293 section 3.9.1) with
    /// all segments but one in this many.
    PUSHED_PART: u32 = 8;
    /// The bins in which the arrivals of several connections are compared hold this many bytes on
    /// average, so that one segment more or less changes little.
    BIN_BYTES: u64 = 12_000;

    // Estimates of losses.

    /// Behind a sawtooth the bytes between losses vary by less than this share of their mean: of
    /// windlass's links with a short queue or a policer 0.23 to 0.59, with random loss 0.70 to 1.2.
    LOSS_SPREAD: f64 = 0.65;
    /// Of many drops, the share of the latest data that a full queue's drops follow.
    LATEST_OF_MANY: f64 = 0.2;
    /// A queue may have been full where ACKs before a drop are among this share of the latest:
    /// where chance loses data, the quarter lay at 0.76 of all at most.
    PERHAPS_LATEST_ACKS: f64 = 0.2;
    /// A receiver that discards keeps one part in this many of what came behind holes at most: a
    /// lost ACK looks like a jump.
    KEPT_PART: u64 = 10;

    // Estimates of the receiver's program.

    /// Blocks of reading make a sure habit from this many on.
    SURE_BLOCKS: u64 = 6;
    /// A reader with a pace moves this share of its window's edge apart from ACKs of as much data,
    /// beyond the rounding of the window scale. A window that is as large in each ACK was set to
    /// that, whatever was offered before.
    UNEVEN_EDGE: f64 = 0.01;
    /// A window that stays closed for this many times what the pace so far explains is a stall. A
    /// device may read half of its buffer at once, as may a block.
    READER_STALLS: f64 = 4.0;

    // Estimates of Wi-Fi power save.

    /// Over this time a beat of 100 ms, or of 105 ms, has been everywhere between two beacons.
    BEACON_SPAN: Span = Span::from_millis(3_000);

    // Estimates of damage on the way.


    // Estimates of what a sender's packets count.

    /// Identifications that jump by more count somebody else's packets: a timer sends fewer again
    /// while nobody answers.
    UNSEEN_PACKETS: u16 = 16;
}
