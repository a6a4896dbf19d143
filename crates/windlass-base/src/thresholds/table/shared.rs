//! The measures that many rules share: parts of a whole, numbers of samples, factors and times.

use crate::Span;
use crate::thresholds::{Line, Threshold, Value, thresholds};

thresholds! {
    // Parts of a whole: of the time, of the packets, of a window.

    /// Most of the time, of the packets or of the waits: a cause, a habit or a full line has this
    /// share. The start of a transfer, its losses and its end have the rest.
    MOST_OF_IT: f64 = 0.8;
    /// A large part: what a window or a burst has where it is not whole, as two segments of eight
    /// may wait for a delayed ACK.
    LARGE_PART: f64 = 0.7;
    /// Nearly all of a kind are alike from this share on.
    NEARLY_ALL: f64 = 0.9;
    /// As good as all: less is missing than the rounding of buffers and the pauses of hosts take.
    AS_GOOD_AS_ALL: f64 = 0.95;
    /// Half of it: what has no more may be a matter of chance, or one of several.
    HALF_OF_IT: f64 = 0.5;
    /// A quarter: a part that is too large for chance, and is told.
    A_QUARTER: f64 = 0.25;
    /// A tenth: two figures that differ by less are the same, and a smaller part is left out of
    /// account.
    A_TENTH: f64 = 0.1;
    /// Times, rates and amounts that differ by no more than this share are alike: hosts wake late,
    /// and a segment more or less is counted.
    ALIKE: f64 = 0.15;
    /// Figures within this share of each other are as good as equal: no program and no clock is so
    /// even by chance.
    AS_GOOD_AS_EQUAL: f64 = 0.02;

    // Numbers: from how many on something is no chance, a habit, or enough to tell.

    /// One may be chance or a moment; two of a kind are neither.
    MORE_THAN_ONE: u64 = 2;
    /// Several of a kind are no chance, and make a habit, from this many on: losses, late ACKs,
    /// closures, blocks that a program reads.
    SEVERAL: u64 = 3;
    /// Several segments, as one ACK covers where a host joins them (receive offload), and twice the
    /// two that a delayed ACK leaves unread.
    SEVERAL_SEGMENTS: u64 = 4;
    /// A habit of a line, a host or a path shows by this many trains, pairs or steps.
    HABIT: u64 = 5;
    /// One in this many is no exception any more, though not the rule.
    ONE_IN_FIVE: u64 = 5;
    /// A state holds over this many round trips; a moment, or one flight, is over before.
    SEVERAL_ROUNDS: i64 = 4;
    /// A line sends this many pairs of segments in a round trip, and a program this many steps; a
    /// sender that waits for ACKs sends one burst.
    STEPS_A_ROUND: i64 = 3;
    /// Enough of a kind for a median or a share: fewer segments, waits or ACKs show how it went
    /// once.
    ENOUGH: u64 = 10;
    /// Many of a kind: as long as this nothing is alike by chance, and one exception among as many
    /// is a habit of its own.
    MANY: u64 = 20;
    /// One in this many is more than chance, and a smaller part changes nothing.
    ONE_IN_HUNDRED: u64 = 100;

    // Factors.

    /// Transfers and round trips differ by a tenth from one time to the next; hosts lengthen an
    /// idle path of 20 ms by 1 to 4 %.
    A_TENTH_MORE: f64 = 1.1;
    /// Longer or faster by this factor is more than jitter: round trips of an idle path vary by
    /// less, and laws count with medians. BBR uses 1.2 for round trips (Cardwell et al. 2016).
    BEYOND_JITTER: f64 = 1.25;
    /// Half as much again is another matter: another cause takes part, or the flight grows as in
    /// slow start.
    HALF_AGAIN: f64 = 1.5;
    /// Twice as long is no chance, whatever the spread of what it is compared with.
    TWICE: f64 = 2.0;

    // Times of hosts and paths.

    /// Within one machine or switch packets take no longer: waking a program takes as long.
    LOCAL_PATH: Span = Span::from_micros(100);
    /// A prompt host reacts within this time, and two queues of one card differ by no more: hosts
    /// take tens of microseconds.
    PROMPT_LEAST: Span = Span::from_micros(200);
    /// Hosts take up to this long on their own: interrupts are gathered for up to 250 µs, and a
    /// program or an offload adds as much. What is shorter is no queue.
    HOST_TIME: Span = Span::from_micros(500);
    /// A shorter time tells nothing: it is near the ticks of kernels and clocks, and several
    /// interfaces write packets out of order by as much.
    SHORTEST_TIME: Span = Span::from_millis(1);
    /// A host that sends behind an ACK, and a switch that hands a packet on, take no longer.
    /// Wireshark takes data this late for overtaken, not sent again.
    HOST_DELAY: Span = Span::from_millis(3);
    /// Hosts that join what came, and virtual machines that wait for their turn, react later by up
    /// to this time: 10 ms were seen (a server's echoes behind a round trip of 0.9 ms).
    BUSY_HOST: Span = Span::from_millis(12);
    /// No host takes longer on its own: a program is woken sooner, and one that takes this long
    /// beyond the path waits on purpose. Linux withholds ACKs for 40 ms and more.
    WITHHELD_ACK: Span = Span::from_millis(20);
    /// A moment: a host or a path that wakes takes as long once, and a window that closes for less
    /// opens late (print servers within some tens of milliseconds).
    MOMENT: Span = Span::from_millis(50);
    /// Half of the least timer of Linux: a longer latency sets it off. Interfaces, devices and time
    /// servers shift packets by less (ntpd slews up to 128 ms).
    BEFORE_TIMERS: Span = Span::from_millis(100);
    /// The least retransmission timer of Linux and others (`TCP_RTO_MIN`): after as long a silence
    /// all begins anew.
    LEAST_TIMER: Span = Span::from_millis(200);
    /// No receiver withholds an ACK for longer (RFC 1122 section 4.2.3.2): a longer silence is a
    /// rest or a pause of a program.
    LATEST_DELAYED_ACK: Span = Span::from_millis(500);
    /// Longer than any plausible round trip, geostationary satellites included (0.6 s). A sender
    /// that knows nothing of the path takes data for lost by then (RFC 6298 section 2.1).
    LONGER_THAN_PATHS: Span = Span::from_millis(1_000);
    /// Servers give up an idle connection after a minute or less, and slower data tells nothing
    /// within a transfer's time.
    LONGEST_SILENCE: Span = Span::from_millis(60_000);
    // END
}
