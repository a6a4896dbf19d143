//! The thresholds of what is estimated from packets.

use crate::Span;
use crate::thresholds::{Line, Threshold, Value, thresholds};

thresholds! {
    // Estimates of the path: its round trip and the place of the capture.

    /// From this distance of the capture on an ACK's way to the sender counts: below it the capture
    /// sits at the sender.
    LEAST_DISTANCE: Span = Span::from_micros(50);
    /// A distance that is a smaller share of the round trip is only the sender's own time.
    DISTANCE_SHARE: f64 = 0.1;
    /// A burst that begins sooner after an ACK than this share of the known distance does not answer
    /// it: paths do not get that much shorter while a transfer lasts.
    SHORTER_DISTANCE: f64 = 0.5;
    /// The middle three of five answers differ by less than this share where they tell the path's
    /// distance.
    DISTANCES_ALIKE: f64 = 0.1;
    /// Answers are later than they were from this many on, one after the other.
    SLOWED_ACKS: u32 = 20;
    /// A path became longer where no answer is quick any more since this first share of the time.
    QUICK_AT_FIRST: f64 = 0.25;
    /// Quick answers are no chance from this many on.
    QUICK_ACKS: u32 = 3;
    /// A host takes this long to answer, beside the path's round trip and its jitter.
    HOST_OF_PATH: Span = Span::from_millis(1);
    /// A path that may be longer than its handshake shows by this many ACKs.
    LONGER_PATH_ACKS: u32 = 20;
    /// This share of the ACKs leaves data in flight where the path may be longer: a receiver that
    /// takes its time acknowledges all.
    ACKS_IN_FLIGHT: f64 = 0.3;
    /// A path whose round trips are longer by less than this factor is the one of its handshake.
    LONGER_PATH: f64 = 1.33;
    /// An end's ACK comes this many times sooner than its opening where it is another's: a proxy's
    /// or a translator's.
    SPLIT_SOONER: i64 = 4;
    /// An opening that takes less than this longer is of a host that looked for an address, or woke
    /// its program, and not of a path.
    SPLIT_WAY: Span = Span::from_millis(5);
    /// ACKs that come too soon for their end are no chance from this many on.
    SPLIT_ACKS: u32 = 2;
    /// One ACK that comes this many times sooner makes another's likely: the translator of a virtual
    /// machine's addresses answered a SYN after 2.76 s, and a request after 0.43 ms.
    SPLIT_FAR_SOONER: i64 = 100;
    /// No host takes this long by itself for an opening.
    SPLIT_LONG_WAY: Span = Span::from_millis(200);

    // Estimates of queues, by the sender's timestamps.

    /// Clocks are compared over at least this long.
    CLOCKS_COMPARED: Span = Span::from_millis(50);
    /// Clocks are compared anew after a silence of at least this long.
    CLOCK_SILENCE: Span = Span::from_millis(200);
    /// The first packet may be late by this much: its host woke, or the path did.
    FIRST_PACKET_LATE: Span = Span::from_millis(50);
    /// Two clocks drift apart by one part in this many: crystals are off by 100 ppm each at most,
    /// and the clocks of virtual machines were seen 224 ppm apart; twice that.
    CLOCK_DRIFT: i64 = 2_000;
    /// The step of a clock is known after this many changes of its value.
    CLOCK_TICKS: u8 = 4;
    /// A clock that was proven wrong this often is not believed any more.
    CLOCK_DOUBTS: u8 = 3;
    /// A timestamp that goes back by this many nanoseconds is of a clock that was set, and not of a
    /// packet out of order.
    TIMESTAMP_SET_BACK: i64 = 1_000_000_000;
    /// Counted time agrees with the time that passed within one part in this many: the two closest
    /// ticks are a factor of 1.2 apart.
    CLOCK_NEAR: i64 = 10;
    /// The tick of a clock is revised upwards, or settled, by this many intervals in a row. A queue
    /// stretches time by a factor of two at most for so long: in slow start, ACKs let out twice what
    /// the bottleneck delivers.
    CLOCK_INTERVALS: u8 = 3;
    /// An interval that takes this many times the counted time revises a clock's tick.
    SLOWER_CLOCK: i64 = 2;
    /// A host may take this long to send data behind an ACK, beside the path: data that echoes an
    /// older timestamp then was held back.
    ECHO_REACTION: Span = Span::from_millis(3);
    /// Only data behind a silence of this long tells by its echo: data that follows closely is held
    /// back by what is ahead.
    ECHO_SILENCE: Span = Span::from_millis(4);
    /// Echoes tell from this many on.
    ECHOES_TOLD: u32 = 10;
    /// One stale echo in this many is more than chance: behind a shaper it is one of seventy to
    /// nearly all, of programs that pause on a quiet path none (ten captures, 10 to 240 of each).
    STALE_PART: u32 = 100;

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
    /// A habit shows by this many trains.
    TRAINS_TOLD: u64 = 5;
    /// A train of full segments shows it alone where its longest gap exceeds the mean by no more
    /// than this factor: no program is so even. (One without any deviation somebody made up.)
    EXACT_TRAIN: f64 = 1.02;
    /// An uneven train counts for this many even ones at most.
    TRAIN_BREAK: i64 = 3;
    /// The middle half of the trains that a line spaces differs by this share at most.
    TRAINS_ALIKE: f64 = 0.15;
    /// A sender whose program sets the pace ends what it wrote (PSH, RFC 9293 section 3.9.1) with
    /// all segments but one in this many.
    PUSHED_PART: u32 = 8;
    /// No train takes longer: slower data tells nothing within a transfer's time.
    LONGEST_TRAIN: Span = Span::from_millis(60_000);
    /// Segments that leave in this share of the time between their ACKs were together at the
    /// narrowest place.
    SENT_AT_ONCE: f64 = 0.5;
    /// A pace shows by this many pairs of ACKs.
    PACE_PAIRS: u64 = 4;
    /// A rate while data moves is told by this many segments.
    RATE_SEGMENTS: u64 = 10;
    /// A rate while data moves is told by this many steps.
    RATE_STEPS: u32 = 4;
    /// A receiver has data to read where it leaves this many segments unread: two are left for a
    /// moment by a delayed ACK, which may go out before the program can read.
    UNREAD_SEGMENTS: u64 = 4;
    /// The bins in which the arrivals of several connections are compared hold this many bytes on
    /// average, so that one segment more or less changes little.
    BIN_BYTES: u64 = 12_000;
    /// A connection shares this many bins with others.
    SHARED_BINS: usize = 6;
    /// The bins of a full line differ by this share at most.
    EVEN_BINS: f64 = 0.12;
    /// A connection's parts of a full line's bins differ by this share at least: otherwise each has
    /// a rate of its own.
    UNEVEN_SHARES: f64 = 0.15;

    // Estimates of losses.

    /// No queue stood where round trips rose by less than this share of the time of a policer's
    /// burst.
    UNQUEUED_SHARE: f64 = 0.3;
    /// Behind a sawtooth the bytes between losses vary by less than this share of their mean: of
    /// windlass's links with a short queue or a policer 0.23 to 0.59, with random loss 0.70 to 1.2.
    LOSS_SPREAD: f64 = 0.65;
    /// The spread of losses is told by this many gaps between them.
    LOSS_GAPS: u64 = 4;
    /// A full queue shows by this many drops: three of chance would be among the latest tenth once
    /// in 1,000 times.
    FULL_QUEUE_DROPS: usize = 3;
    /// A full queue makes ACKs before a drop the latest of all: among this share.
    LATEST_ACKS: f64 = 0.1;
    /// The same by how late data came, by timestamps that step by 1 ms. Behind short queues all but
    /// a fourth of the last before a drop are among the latest 0.17 of all, and where chance loses
    /// data among the latest 0.41 to 0.9.
    LATEST_CAME: f64 = 0.15;
    /// The same of many drops.
    LATEST_OF_MANY: f64 = 0.2;
    /// Drops are many from this number on.
    MANY_DROPS: usize = 8;
    /// A queue may have been full where ACKs before a drop are among this share of the latest:
    /// where chance loses data, the quarter lay at 0.76 of all at most.
    PERHAPS_LATEST_ACKS: f64 = 0.2;
    /// A queue may have been full where data before a drop is among this share of the latest: where
    /// chance loses data, the quarter lay at 0.59 at most.
    PERHAPS_LATEST_CAME: f64 = 0.3;
    /// A receiver acknowledges at once what came before a loss where this many segments follow (RFC
    /// 5681 section 4.2).
    SEGMENTS_BEHIND: u64 = 4;
    /// A hole is one to judge a receiver by where this many duplicate ACKs ask for it: with one, the
    /// data behind it is hardly more than what one ACK covers anyway.
    HOLE_DUPLICATES: u32 = 2;
    /// A receiver's habit of discarding shows by this many holes.
    DISCARD_HOLES: u32 = 2;
    /// A receiver's habit of discarding shows by this many segments behind holes.
    DISCARDED_SEGMENTS: u64 = 6;
    /// A receiver that discards keeps one part in this many of what came behind holes at most: a
    /// lost ACK looks like a jump.
    KEPT_PART: u64 = 10;
    /// A repair may be answered after this share of a round trip.
    REPAIR_ANSWERED: f64 = 0.9;
    /// The size of a segment matters where it is sent this often in vain: with a tenth of all
    /// segments lost, that is one in a thousand.
    LOST_BY_SIZE: u32 = 3;
    /// The same where the sender never lowers its size, and only what came behind the segment tells
    /// that smaller ones pass.
    LOST_BY_SIZE_ALONE: u32 = 4;
    /// A retransmission timer is slow where it runs for this many round trips: with the variance of
    /// a path that queues, RFC 6298's may run for three.
    TIMER_ROUNDS: i64 = 5;
    /// The least of the timers is the sender's own from this many on.
    TIMERS_TOLD: u32 = 2;

    // Estimates of the receiver's program.

    /// A block of reading moves the window's edge by this many segments: two reads of the smallest
    /// devices, whose buffers hold two segments.
    READ_BLOCK: u64 = 4;
    /// A receiver whose largest window in a block is a smaller share of its largest of all, on
    /// average, always has unread data. A program that reads a buffer in two parts and more leaves
    /// half of it; one that reads at once leaves nothing, or for a moment the two segments of a
    /// delayed ACK: of eight, a quarter.
    UNREAD_PART: f64 = 0.8;
    /// A receiver that offers less than this share of its largest window leaves more unread than the
    /// rounding of buffers.
    READ_ALL: f64 = 0.95;
    /// Blocks of reading make a habit from this many on.
    READ_BLOCKS: u64 = 3;
    /// Blocks of reading make a sure habit from this many on.
    SURE_BLOCKS: u64 = 6;
    /// A reader with a pace moves this share of its window's edge apart from ACKs of as much data,
    /// beyond the rounding of the window scale. A window that is as large in each ACK was set to
    /// that, whatever was offered before.
    UNEVEN_EDGE: f64 = 0.01;
    /// The same where what ACKs have just covered would make the window whole: they may go out
    /// before the program can read. Of a print server with two buffers that acknowledges both after
    /// 3 ms and offers one each time it is a tenth.
    UNEVEN_FULL_EDGE: f64 = 0.15;
    /// Room that comes this long behind the ACK of data comes as the program reads. Sooner, or with
    /// the next ACK, it may come as data does: a stack may acknowledge before its program can read,
    /// and say nothing once it has (smoltcp).
    ROOM_BEHIND_ACK: Span = Span::from_millis(1);
    /// This share of the edge's way comes as the program reads, where a program that leaves no more
    /// than two segments surely sets the rate.
    OWN_ROOM: f64 = 0.1;
    /// Nine in ten blocks of a steady reader take this many times the median at most.
    STEADY_READER: f64 = 2.0;
    /// A window that stays closed for this many times what the pace so far explains is a stall. A
    /// device may read half of its buffer at once, as may a block.
    READER_STALLS: f64 = 4.0;

    // Estimates of Wi-Fi power save.

    /// An ACK that comes later than the path's round trip by this much may have waited for a beacon.
    DOZED: Span = Span::from_millis(10);
    /// Late ACKs that follow each other this closely end one wait.
    WAITS_APART: Span = Span::from_millis(20);
    /// ACKs that wait for beacons are no chance from this many on: one in six would be near one.
    BEACON_WAITS: u32 = 12;
    /// This share of the late ACKs comes at beacons where a station dozes.
    IN_STEP_WITH_BEACONS: f64 = 0.8;
    /// Over this time a beat of 100 ms, or of 105 ms, has been everywhere between two beacons.
    BEACON_SPAN: Span = Span::from_millis(3_000);
    /// Waits for beacons are a part of the verdict where they take this share of the time.
    POWER_SAVE_SHARE: f64 = 0.2;

    // Estimates of damage on the way.

    /// Segments with a right checksum, from this many on, show that the capture holds checksums as
    /// they were sent: an offloading card leaves all of them wrong.
    RIGHT_CHECKSUMS: u64 = 5;

    // Estimates of what a sender's packets count.

    /// Identifications that count this many packets in a row count those of one connection.
    COUNTED_PACKETS: u32 = 10;
    /// Identifications that jump once in this many packets count other packets too (RFC 6864 lets a
    /// host count however it likes).
    COUNTED_PART: u32 = 20;
    /// Identifications that jump by more count somebody else's packets: a timer sends fewer again
    /// while nobody answers.
    UNSEEN_PACKETS: u16 = 16;
    /// Segments of one size, cut from more data, make that size the full one from this many on.
    SIZE_CUTS: u32 = 4;
    /// Each segment that was cut to another size takes this many more.
    OTHER_CUTS: u32 = 20;
}
