//! The lines of the table: what each bounds, and where its value is from.

mod estimate;
mod follow;
mod live;
mod quality;
mod report;

use super::{Line, Threshold, Value, thresholds};
use crate::Span;

pub use self::estimate::*;
pub use self::follow::*;
pub use self::live::*;
pub use self::quality::*;
pub use self::report::*;

/// Returns every line of the table.
pub fn all() -> Vec<Line> {
    [lines(), live::lines(), follow::lines(), estimate::lines(), quality::lines(), report::lines()]
        .concat()
}

thresholds! {
    // A full path, by round trips and by the pace of ACKs.

    /// A round trip longer than the path's by this factor shows a queue. BBR's round-based rules
    /// use 1.2 (Cardwell et al. 2016); 1.25 leaves room for jitter.
    QUEUED_ROUND_TRIP: f64 = 1.25;
    /// A queue delays by at least this much; hosts delay by less on their own.
    QUEUE_DELAY: Span = Span::from_micros(500);
    /// A line that sends for this share of the time is full, and holds the data; losses and the
    /// start of the transfer leave gaps.
    BUSY_LINE: f64 = 0.8;
    /// A line that would take this share of the time for the data may be what holds it, where the
    /// cause that was found explains it as well: a doubt asks for less than a rule does.
    PERHAPS_BUSY_LINE: f64 = 0.75;
    /// Two ACKs for a flight may be this share of its round trip apart. The time is the median of
    /// segments, of which those of one half wait for less.
    ACKS_IN_HALVES: f64 = 0.75;
    /// A rate within this share of the pace of one pair of ACKs is that pace.
    SAME_PACE: f64 = 0.04;
    /// A queue lasts for this many round trips; a host may be slow to answer for a moment.
    QUEUE_ROUNDS: u32 = 4;
    /// A path that delivers more by this factor with more in flight is not full.
    DELIVERS_MORE: f64 = 1.3;
    /// A flight smaller by this factor may have left room on the path.
    SMALLER_FLIGHT: f64 = 0.75;
    /// A rate at this share of the path's best is at the path's rate: repair there costs nothing.
    AT_PATH_RATE: f64 = 0.8;
    /// A path that stands full for this share of the time has a rate that speaks for the rest of
    /// the transfer; the queue behind a slow start does not.
    OFTEN_FULL: f64 = 0.2;
    /// A path that stands full for a smaller share of the time has no rate of its own.
    EVER_FULL: f64 = 0.05;
    /// ACKs come as a train where the flight holds this many segments.
    TRAIN_FLIGHT: u64 = 4;
    /// ACKs come as a train where this many of them acknowledge one flight.
    TRAIN_ACKS: u64 = 3;
    /// ACKs come evenly where the usual gap is at most this share of the round trip.
    EVEN_GAP: f64 = 0.5;
    /// The path's round trip at rest is the handshake's, up to this factor of the least sample;
    /// beyond it the handshake was slow.
    SLOW_HANDSHAKE: f64 = 1.5;

    // A line, by the spacing of data and by what several connections carry.

    /// A line that sends for a smaller share of a pause is not told apart from the pause.
    LINE_PART: f64 = 0.3;
    /// A window of which the line takes less than this share in a round trip does not make the
    /// line's rate.
    WINDOW_ROOM: f64 = 0.7;
    /// A line sends this many pairs of segments in a round trip; a sender that waits for ACKs
    /// sends one burst.
    PAIRS_PER_ROUND: i64 = 3;
    /// A segment that takes the line this many round trips waits for no ACK.
    SLOWER_THAN_ACKS: f64 = 1.5;
    /// A shared line was full for this share of its time.
    SHARED_LINE_BUSY: f64 = 0.6;
    /// Others have at least this share of a line that all of its connections show.
    OTHERS_SHARE: f64 = 0.1;
    /// A usual round trip longer than the path's by this factor shows data that waits for a line
    /// which others fill, too.
    SHARED_ROUND_TRIP: f64 = 1.1;
    /// A usual round trip longer by this factor may show it: hosts lengthen an idle path of 20 ms
    /// by 1 to 4 %.
    MAYBE_SHARED_ROUND_TRIP: f64 = 1.05;
    /// A connection that is alone on a line has this share of its pace when its queue is full:
    /// over links 0.81 to 1.07; two to four that shared one had 0.30 to 0.57 each.
    ALONE_ON_LINE: f64 = 0.7;
    /// A connection with this share of a line leaves others little of it.
    MOST_OF_LINE: f64 = 0.8;
    /// A line spaces most segments within this factor of the closest pair: streams that shared one
    /// had 1.02 to 1.24, varying delays 5 and more.
    EVEN_SPACING: f64 = 1.3;
    /// The sums of several connections are compared over this many round trips; within one they
    /// come in bursts.
    AGGREGATE_ROUNDS: i64 = 2;
    /// A line that carries less than this share of its fastest rate is idle now and then.
    IDLE_AFTER_LOSS: f64 = 0.9;
    /// A full line delivers this share of its rate: 0.98 and more over links; 0.93 where a program
    /// paused for a tenth of the time with data in the queue.
    FULL_LINE_DELIVERS: f64 = 0.95;
    /// A line is busy all the time where it delivers its spacing's rate within this factor.
    SPACING_RATE: f64 = 1.2;
    /// ACKs are bunched where the gap at a random moment is this many times the mean gap.
    BUNCHED_ACKS: f64 = 2.0;
    /// The rate without a limit is known where this share of the transfer's time remains.
    TIME_LEFT: f64 = 0.01;
    /// A shift of a round trip by this share of it is more than hosts differ by.
    LONGER_ROUND_TRIP: f64 = 0.1;

    // The congestion window.

    /// Loss this frequent keeps a congestion window from growing: at 1 % Mathis's law (1997)
    /// leaves it 12 segments.
    FREQUENT_LOSS: f64 = 0.01;
    /// The way back is full where ACKs stood in its queue for this share of what they came late: 0.95
    /// to 0.98 with ACKs over 60 to 250 kbit/s, 0.02 at most with a queue of the data, 0.55 at most
    /// elsewhere.
    ACKS_QUEUED: f64 = 0.8;
    /// Data comes as soon as it was sent where nine in ten segments are late by less than this share
    /// of the round trip: it stands in no queue.
    DATA_ON_TIME: f64 = 0.1;
    /// A flight of up to this many times what Mathis's law (1997) leaves, by cuts for marks, is one
    /// that marks keep small: cuts come in no regular steps.
    MARKED_FLIGHT: f64 = 1.5;
    /// A sender had more to send where this share of its pauses comes behind a full segment without
    /// PSH.
    UNPUSHED_PAUSES: f64 = 0.5;
    /// A window closes each time where it does so behind this share of the waits for a full one.
    CLOSES_EACH_TIME: f64 = 0.8;
    /// A program that reads in large blocks leaves its window closed for this many times as long as
    /// full.
    CLOSED_WHILE_FULL: f64 = 0.5;
    /// SACK blocks are useless to the sender where this share of them lies outside of what was sent.
    USELESS_SACK: f64 = 0.9;
    /// Two programs wait for each other where both windows are closed for this share of the time
    /// that the receiver's is.
    BOTH_CLOSED: f64 = 0.5;
    /// SYNs that nobody answered for this share of what the user waited for are a part of the
    /// verdict's sentence.
    OPENING_SHARE: f64 = 0.2;
    /// Losses that are no more than this many round trips apart, on average, leave no time in which
    /// a flight shows that it is steady: Reno takes as many to regain a window of 8 segments.
    ROUNDS_BETWEEN_LOSSES: f64 = 4.0;
    /// Growth is looked for over this many rounds: a slow start may send as much in two, where the
    /// last ACKs of one come late or the program pauses.
    GROWTH_ROUNDS: usize = 4;
    /// Growth by this factor over those rounds is slow start's: a tenth in each and more.
    /// Congestion avoidance adds a segment in each (RFC 5681 section 3.1).
    GROWTH: f64 = 1.5;
    /// A congestion window shows its slow growth over this many rounds: a segment in two rounds
    /// (RFC 5681 section 3.1, with delayed ACKs) makes two in each third.
    CREEPING_ROUNDS: u64 = 12;
    /// A round trip longer than the path's by this factor is another's doing as well: of a
    /// receiver that acknowledges late, or of a queue.
    LATE_ROUND_TRIP: f64 = 1.5;
    /// Slow reactions are the rule where one in this many is slow: an ACK lets out at once what a
    /// congestion window or a full buffer holds back.
    SLOW_REACTIONS: u64 = 5;
    /// A host reacts to the ACK that it waits for within this time. Of the corpus' Linux hosts nine
    /// in ten take less than 0.15 ms; a quarter and more of a paced program's take more than 0.27.
    SLOW_REACTION: Span = Span::from_micros(250);

    // The send buffer.

    /// A flight stays level for this many rounds before it counts as a plateau: a congestion
    /// window in congestion avoidance grows by a segment in each (RFC 5681 section 3.1).
    PLATEAU_ROUNDS: usize = 5;
    /// A plateau of nothing but a level flight takes this many rounds: a congestion window that
    /// grows by a segment in two rounds (delayed ACKs) would have grown by ten.
    LONG_PLATEAU_ROUNDS: u64 = 20;
    /// The other side's program may set the pace where it sends something in this share of the
    /// round trips, or ends this share of the waits. (Credits and answers: 0.8 to 1.0 of the waits;
    /// all others 0.5 at most.)
    ENDED_BY_MESSAGES: f64 = 0.8;
    /// A program's pauses may set the pace where they take this share of the time.
    PACING_PAUSES: f64 = 0.15;
    /// Pauses of this share may where most waits end with a piece that Nagle held back; less is
    /// what a program takes to refill its buffer.
    PACING_PAUSES_OF_PIECES: f64 = 0.05;
    /// A program's writes may set the pace where one send behind no ACK comes with this many
    /// behind one: who waits for room sends when an ACK makes it.
    UNPROMPTED_SENDS: u64 = 4;
    /// Segments whose usual distance is this share of the mean are spread over the whole time; who
    /// waits for ACKs sends in bursts.
    SPREAD_SEGMENTS: f64 = 0.7;
    /// An answer to an ACK takes at least this share of the path's round trip.
    SOONER_THAN_PATH: f64 = 0.85;

    // The receiver: its window, its ACKs and its reader.

    /// A receiver that offers less than this share of its largest window holds unread data. A
    /// printer that reads 1,986 kB/s from a buffer of eight segments offers 62 %; one that reads at
    /// once offers all, or all but the two segments of a delayed ACK: of eight, 75 %.
    UNREAD_WINDOW: f64 = 0.7;
    /// A receiver that offers the same window in this share of its ACKs leaves nothing unread, as
    /// each read of a program changes the window: fixed windows of Linux were offered in 0.95 to
    /// 0.98 of ACKs, those of readers with a pace in 0.40 to 0.82.
    FIXED_WINDOW: f64 = 0.9;
    /// A window that is a smaller part of the largest one is no fixed one: the rest is full of
    /// data that the program has not read. Fixed windows of Linux were a third of the one that
    /// their SYN-ACK offered, and more.
    FIXED_PART: f64 = 0.25;
    /// A receiver that takes this long beyond the path withholds its ACKs: Linux does for 40 ms
    /// and more, and half of that leaves room for its jitter.
    WITHHELD_ACK: Span = Span::from_millis(20);
    /// A latency this long sets off a sender's retransmission timer before the ACK comes: Linux's
    /// least timeout is 200 ms, and 100 ms leaves a share for the path.
    TIMER_BEFORE_ACK: Span = Span::from_millis(100);
    /// No receiver withholds an ACK for longer (RFC 1122 section 4.2.3.2).
    LATEST_DELAYED_ACK: Span = Span::from_millis(500);
    /// Without a handshake, ACKs that take this many times the least one are slow.
    SLOW_ACK_SPREAD: i64 = 3;
    /// A window that is closed for this share of a wait tells who does not read.
    CLOSED_SHARE: f64 = 0.1;
    /// One ACK in ten is late by less than this share of the median lateness where the way waits
    /// for its turn (radio, cable).
    TURN_SPREAD: f64 = 0.75;
    /// Steps this many and alike are no chance.
    STEPS_ALIKE: u64 = 3;
    /// One segment in this many ends a pause in step where a program keeps time.
    IN_STEP_PART: u64 = 4;
    /// A buffer holds less than a segment where at least this share of segments waits for the ACK
    /// of the one before.
    HELD_EACH: f64 = 0.75;

    // The path's round trip, and the place of the capture.

    /// No idle path takes longer: one by a geostationary satellite takes 0.6 s.
    LONGEST_PATH: Span = Span::from_millis(700);
    /// Round trips of an idle path vary by this factor.
    PATH_JITTER: f64 = 1.25;
    /// Hosts take this long on their own to acknowledge: interrupts are gathered for up to 250 µs,
    /// and a program or an offload adds as much.
    HOST_TIME: Span = Span::from_micros(500);
    /// Times out of order by more than this share of the round trip make it doubtful.
    DISORDER: f64 = 0.25;
    /// Times out of order by less than this are usual: several interfaces, or queues of one, write
    /// packets out of order by less.
    LEAST_DISORDER: Span = Span::from_millis(1);
    /// An answer may stand this long before what it answers, where one clock serves two queues of
    /// a card.
    ANSWER_BEFORE: Span = Span::from_micros(200);
    /// A round trip shorter than this stays within one machine or switch: waking a program takes
    /// as long.
    LOCAL_PATH: Span = Span::from_micros(100);

    /// A reader sets the rate where this share of the room comes some time behind the ACK of new
    /// data. In 14 transfers to readers it was 0.26 and more, and 0.08 at most to fixed windows
    /// whose offers varied.
    SURE_OWN_ROOM: f64 = 0.25;
    /// Fewer ACKs than this share offer the usual window of such a reader.
    VARIED_WINDOW: f64 = 0.95;
    /// A reader in steps has nine of ten blocks within this many times the median. Readers with a
    /// timer had 1.17 at most, and stacks that acknowledge by halves of the window 1.35 and more.
    EVEN_BLOCKS: f64 = 1.2;
    /// Such a reader makes room later than the path, by this factor: lost ACKs alone leave 1.02.
    LATE_ROOM: f64 = 1.07;

    // Loss.

    /// A policer is looked for where hosts hold the transfer for at most this share of the time: a
    /// program that reads or writes at a rate of its own puts losses on a line as well.
    HOSTS_SHARE: f64 = 0.25;
    /// Repairs in vain, lost ACKs, losses or closures make a habit from this many on.
    SEVERAL: u64 = 3;
    /// A sender repeats without having been asked to where this share of its copies was not needed.
    NEEDLESS_COPIES: f64 = 0.9;
    /// A queue that overflows, or a policer, loses this many segments at a time. Of 19 transfers with
    /// as many 14 had one, and random losses took 1 to 4.
    LOST_TOGETHER: u64 = 5;
    /// As many pairs of segments show the distances of a line.
    LINE_PAIRS: u64 = 50;
    /// A line is never idle where nine of ten pairs of segments are this part of the mean distance
    /// apart: 11 of 11 transfers over full lines, and no other.
    LINE_SPACING: f64 = 0.8;
    /// A path reorders where this share of the repairs was in vain.
    VAIN_REPAIRS: f64 = 0.8;
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
    /// The least retransmission timer of Linux and others (`TCP_RTO_MIN`).
    LEAST_TIMER: Span = Span::from_millis(200);

    /// A retransmission timer that runs for longer is slow: RFC 6298 section 2.4 asks for a second
    /// at least, and Linux's runs for 200 ms.
    SLOW_TIMER: Span = Span::from_millis(1_200);

    /// A timer that runs out before an ACK can come in this share of the round trips is shorter than
    /// the path, and not one that a single delay outlasted: one that is runs out in each.
    EARLY_TIMERS: f64 = 0.25;

    /// Packets of several segments that were lost, where none of them arrived, for a card that does
    /// not split them; and of segments that were sent alone, one in as many may be lost.
    OFFLOAD_LOST: u32 = 8;
    /// The same are of this many repairs: a full queue or an outage may lose a flight of them.
    OFFLOAD_REPAIRS: u32 = 3;

    // What a kernel's own figures show.

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

    /// A transfer that another one of the same connection exceeds by less than this share of the
    /// time was held back as long.
    SAME_TIME: f64 = 0.01;
    /// A program's pauses may make the pace where they take this share of the time.
    PAUSES_SHARE: f64 = 0.04;
    /// Small offers of a window make a habit from this many on; one or two may come of how a
    /// buffer is counted.
    SMALL_OFFERS: u64 = 4;
    /// Messages in a pause are no answer from this many on: an answer is one.
    MESSAGES_PER_WAIT: u64 = 2;
    /// A program takes time for an answer where it exceeds the path by this much.
    SLOW_ANSWER: Span = Span::from_millis(1);
    /// A message this many round trips behind the last ACK was late by its program.
    LATE_MESSAGE: i64 = 2;
    /// A pause may be a wait for an ACK where the time under question is one of this many parts
    /// of what was charged to pauses.
    DOUBTED_PART: i64 = 3;
    /// Segments are small by habit from this many on; fewer are a few requests.
    SMALL_SEGMENTS: u64 = 20;
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
    /// Fewer waits than this show no habit.
    FEW_WAITS: u32 = 8;
    /// Something at the sender spaces its data where this share of the time of waits ends apart from
    /// ACKs, and as much of that behind two segments at most. In 22 transfers behind a shaper or with
    /// `SO_MAX_PACING_RATE` both were 0.77 and more but once.
    SPACED_APART: f64 = 0.75;
    /// Far from the sender, a shaper or a pace makes this share of the steps as long as the last one:
    /// 0.90 and more in 12 transfers. Of 22 with a locked congestion window none had more than 0.77.
    EVEN_STEPS: f64 = 0.9;
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
    /// A shaper or a pace lets two segments go in this time, 58 kB/s: slower, they are writes.
    SPACED_PAIR: Span = Span::from_millis(50);
    /// Segments of that are full but for this part: a program's writes end with less.
    SPACED_FULL: f64 = 0.98;
    /// A wait with less than this part of the transfer's mean rate is a pause, and no spacing.
    SPACED_RATE: f64 = 0.5;
    /// Linux paces bursts of two segments at least, and the last segment of each is pushed
    /// (`tcp_tso_autosize`): such bursts tell a pace, but not whose.
    PACED_SEGMENTS: u64 = 2;
    /// Twice the time that Linux paces a burst for: waits this short tell a pace, but not whose.
    PACED_WAIT: Span = Span::from_millis(2);
    /// Messages let data go where waits that end with an ACK alone have this share of what chance
    /// would give them at most: 0.05 to 0.36 where a program keeps a window of its own, 0.62 and
    /// more where a buffer, a window or loss holds a sender.
    ACKS_ALONE: f64 = 0.5;
    /// Waits that would end with an ACK alone by chance, at least: of so many no more than half end
    /// so once in ten times, and none once in 3,000.
    EXPECTED_ACKS_ALONE: f64 = 8.0;
    /// Room for data comes in pieces from this many ACKs on: a sender that waits for room is woken
    /// before the last of them.
    SEVERAL_ACKS: u32 = 4;
    /// A policer's bucket is emptier at a loss than at a segment that passed this often (the area
    /// under the curve of both): 0.86 to 0.99 of policers, 0.51 to 0.69 of random loss.
    EMPTIER_BUCKET: f64 = 0.8;
    /// It is so by this many standard deviations, where each round trip that loses anything counts
    /// once: 0.91 of 8 round trips, 0.83 of 12.
    UNLIKELY_BUCKET: f64 = 4.0;
    /// It is so by this many where it is surely emptier and evenly taken from: in each of four round
    /// trips, which chance lets lie as high once in 100,000 transfers.
    UNLIKELY_EVEN_BUCKET: f64 = 3.2;
    /// From this share on nothing else than a policer is likely.
    SURELY_EMPTIER_BUCKET: f64 = 0.9;
    /// A sure policer takes from its bucket, at losses, amounts that vary by no more than this.
    EVENLY_TAKEN: f64 = 0.5;
    /// A policer drops this many segments in a round trip in which it drops any.
    POLICED_AT_ONCE: u64 = 2;
    /// Far from the sender fewer lost segments than this show no bucket.
    FAR_LOSSES: u64 = 15;
    /// Far from the sender a policer's bucket holds this many segments, at least: queues of BBR had
    /// one taken at losses, policers nine and more.
    FAR_BUCKET: u64 = 4;
    /// Of rates at which what is taken at losses is this even the least is the policer's: at faster
    /// ones the bucket is full before each burst, and bursts are alike.
    AS_EVENLY_TAKEN: f64 = 0.15;
    /// This share of pairs of segments comes closer than others: hosts that stand still for a moment
    /// hand on two at once.
    CLOSEST_PAIRS: f64 = 0.1;
    /// Far from the sender a tenth of all segments comes at this many times a policer's rate, for
    /// bursts pass it: 1.3 to 380 times of policers. Behind a line that is full they come at its
    /// rate: up to 1.0 time where delays are steady.
    FASTER_THAN_POLICER: f64 = 1.25;

    // A whole transfer, far from its sender.

    /// A wait is no shorter: hosts and links part the segments of a burst by less.
    SHORTEST_WAIT: Span = Span::from_millis(1);
    /// A longer silence tells no pace: it is one pause of a program.
    LONGEST_OF_PACE: Span = Span::from_millis(500);
    /// A window holds a transfer where this share of its waits, by number and by time, begins at an
    /// advertised edge. In 150 captures at receivers: windows 0.85 to 1.00, all others 0.43 at
    /// most.
    AT_EDGES: f64 = 0.7;
    /// A share exceeds that of chance by this much: windows' edges by 0.5 to 1.0, others' by 0.4 at
    /// most; the short ends of a program's bursts by more.
    BEYOND_CHANCE: f64 = 0.3;
    /// From an edge's ACK to the data that ends there it takes this many round trips at most, on
    /// average: writes that divide the window's size end at edges, too, at old ones.
    EDGE_ROUNDS: i64 = 5;
    /// Data of both sides mixes where more than this share of the receiver's packets carries data:
    /// a message with each burst is no sign then.
    CHATTY: f64 = 0.5;
    /// Far from the sender, messages let data go where they are the last ACK before this share of
    /// the bursts, beyond chance. Of 29 transfers with credits 26 had 0.19 and more; of 60 whose
    /// programs write at a pace (rsync's with some messages among them) none had more than 0.15.
    RELEASED_BY_MESSAGES: f64 = 0.18;
    /// A silence of one of this many parts of a round trip parts two bursts: Linux paces what a
    /// window or a buffer lets go over five sixths of a round trip (`tcp_pacing_ca_ratio` 120).
    PART_OF_PACED: i64 = 6;
    /// From an ACK's arrival at a far sender to the burst that it lets go takes this long at most:
    /// a host's reaction, and the error of the distance. In 168 captures at receivers the handshake
    /// was off by 0.25 ms at most in nine of ten, and by 0.44 ms in the others.
    FAR_REACTION: Span = Span::from_micros(500);
    /// A flight is level within this many halves of a segment: a full one, and a part.
    LEVEL_HALVES: u64 = 3;
    /// A program's bursts end with a short segment in this share: programs with large writes 0.4 to
    /// 1.0; send buffers 0.35 at most, or all where each write fills the buffer.
    WRITTEN_ENDS: f64 = 0.4;
    /// ACKs let bursts go where this share begins soon behind an ACK: send buffers 0.9; programs
    /// miss this or `LEVEL_BURSTS`, with 0.6 at most.
    CLOCKED_BY_ACKS: f64 = 0.7;
    /// ACKs let bursts go where this share begins with a level flight: send buffers 0.6, programs
    /// 0.45 at most.
    LEVEL_BURSTS: f64 = 0.5;
    /// Two steps are alike within this part: a program that sleeps for 16 ms wakes up to 2 ms late.
    ALIKE_STEPS: f64 = 0.12;
    /// Large writes have a pace where this share of the steps takes as long as the one before:
    /// programs 0.67 to 0.97; buffers with large writes, and paths whose delay swings, 0.57 at
    /// most.
    REGULAR_STEPS: f64 = 0.6;
    /// A program is silent for this share of the time between bursts. A line that takes more of the
    /// time for the data may hold it as well.
    SILENT_PROGRAM: f64 = 0.3;
    /// A pace shows in this many steps that take the same time for other amounts.
    TIMED_STEPS: u32 = 20;
    /// Of comparable steps one in this many takes the same time: programs with small writes 0.25 to
    /// 0.9, transfers that ACKs pace 0.1.
    TIMED_STEPS_PART: u32 = 4;
    /// For each step alike in its rate this many are alike in time.
    TIMED_AGAINST_PACED: u32 = 8;
    /// A round trip has this many steps: the rounds of a sender that waits for ACKs are alike in
    /// time.
    STEPS_A_ROUND: i64 = 3;

    // The end of a transfer.

    /// A farewell has this many bytes at most: `GOAWAY` and an alert take 84 together, SSH's
    /// disconnect about as many.
    FAREWELL: u64 = 256;
    /// A farewell is one of this many parts of the transfer at most.
    FAREWELL_PART: u64 = 100;
    /// A connection ends within this time of its farewell, and a few round trips.
    FAREWELL_ENDS: Span = Span::from_millis(1_000);
    /// The few round trips from a farewell to the end of its connection.
    FAREWELL_ROUNDS: i64 = 4;

    // Confidence.

    /// A share this close to the first makes the first uncertain.
    CLOSE_CAUSE: f64 = 0.1;
    /// Another limit whose causes together come this close makes the first cause uncertain: which
    /// of them a wait belongs to is a matter of milliseconds.
    CLOSE_LIMIT: f64 = 0.15;
    /// A cause with a smaller share than this is one of several.
    SMALL_SHARE: f64 = 0.4;
    /// A habit of a host or a path holds over this many round trips: slow start has mostly ended by
    /// then, and what happened once is no habit.
    HABIT_ROUNDS: i64 = 5;
    /// Longer than any plausible round trip, geostationary satellites aside.
    LONGER_THAN_PATHS: Span = Span::from_millis(1_000);
    /// Far from the sender a pause of this many round trips is none of the path.
    PAUSE_ROUNDS: f64 = 1.5;
    /// A time is known where it is this many steps of the capture's clock long.
    CLOCK_STEPS: i64 = 4;
    /// A capture that holds this share of its packets twice, and not all, is of two places with
    /// packets missing at one.
    COPIED_IN_PART: f64 = 0.1;
    /// A capture with this share of its packets copied holds all of them twice.
    COPIED_WHOLE: f64 = 0.99;
    /// Fewer segments than this are too few for a habit to show.
    FEW_SEGMENTS: u64 = 10;

    // Promises, and a report held against itself.

    /// A remedy brings this factor at least: transfers differ by a tenth from one time to the next.
    WORTH: f64 = 1.1;
    /// A promise is kept where the rate comes as near as this factor.
    KEPT: f64 = 1.15;
    /// A receiver that adapts its window has made it larger once this many windows have come
    /// (Linux: twice in the first, `tcp_grow_window` in `net/ipv4/tcp_input.c`).
    WINDOW_GROWN: u64 = 10;
    /// A time of fewer steps of the capture's clock may be half of what it seems, or twice.
    RESOLVED_STEPS: f64 = 2.0;
    /// A wait may be longer than what explains it by this factor: both are medians and means.
    WAIT_SLACK: f64 = 1.5;
    /// Short waits may differ by this much: a program waits for its turn.
    LEAST_WAIT_SLACK: Span = Span::from_millis(10);
    /// A queue may be this many times as long as the data in flight takes at the mean rate: the
    /// path's rate goes up and down, and other data stands in it.
    QUEUE_SLACK: f64 = 2.0;
    /// A law that bounds a rate is beaten by no more than this factor: it counts with medians.
    LAW_BEATEN: f64 = 1.25;
    /// The last flight of a short transfer adds this share of the law's rate at most: of four
    /// flights or more it is that.
    LAST_FLIGHT: f64 = 0.25;
    /// `high` asks of a law that it comes as near as this factor.
    NEAR_LAW: f64 = 1.5;
}
