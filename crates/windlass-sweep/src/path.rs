//! What a path is, from all that was measured over it in one direction.

use windlass_base::{Bytes, Rate, Span};

use super::measurement::Point;

/// Round trips that are this share longer than idle ones show no queue: delayed and thinned
/// ACKs are in them, too.
const IDLE: f64 = 1.1;
/// And by this much: it is the hosts' own doing.
const IDLE_BY: Span = Span::from_micros(300);
/// With so little in flight, in bytes, no queue overflows: those of switches and routers hold
/// more.
const SPARSE: u64 = 64 << 10;
/// And it is no more than this share of what the path holds: the line has room.
const SPARSE_SHARE: f64 = 0.25;
/// Fewer segments in flight are no transfer to tell anything by: each loss waits for a timer.
const MIN_SEGMENTS: f64 = 6.0;
/// At this share of the capacity a transfer is as fast as the path lets it.
const FULL: f64 = 0.9;
/// Fewer losses are told by chance as well.
const MIN_LOSSES: f64 = 3.0;
/// What is dropped without a queue is this share of the data at least: TCP that overflows a long
/// queue loses less once it is steady.
const DROPPED: f64 = 0.005;
/// A bucket of tokens lets a burst through at the rate of the line behind it (T. Flach and others,
/// "An Internet-Wide Analysis of Traffic Policing", SIGCOMM 2016): so much faster than the capacity
/// over a round trip is no error of the kernel's sample, which is an average over it.
const BURST: f64 = 1.25;
/// A queue this long makes calls and pages slow (J. Gettys, K. Nichols, "Bufferbloat: Dark
/// Buffers in the Internet", 2011; ITU-T G.114 gives a call 150 ms for the whole way).
const BLOATED: Span = Span::from_millis(100);
/// And it is longer than so many idle round trips: RFC 6349 section 3.3.1 asks for a queue of
/// one.
const BLOATED_BY: f64 = 2.0;
/// What is this uncertain after all of its time goes by a path that changes, if others do, too.
const VARIES: f64 = 0.05;
/// Of a rate that is this share of the capacity at least: others have reasons of their own.
const FAST: f64 = 0.7;
/// A wait that is so much longer than the mean one may be a pause of a host: who fills a queue has
/// it about half full in the mean: Reno halves its window at a loss, CUBIC keeps 0.7 of it (RFC
/// 5681, RFC 9438).
const USUAL: f64 = 0.25;
/// Queues that differ by no more have the same length.
const NEARLY: f64 = 0.8;
/// A full segment on Ethernet with timestamps.
const SEGMENT: f64 = 1_448.0;

/// What the path is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathFindings {
    /// The queue before the slowest line, as far as it was seen.
    pub queue: Option<Queue>,
    /// The share of data that was lost while the line was not full: the path loses it at any
    /// rate. Nothing where too little was lost, or where the line was never known to be free.
    pub loss: Option<f64>,
    /// Whether data beyond a rate is dropped with hardly a queue, as policers and short buffers
    /// do.
    pub drops_early: bool,
    /// Whether that is a policer: for a moment data got through faster than for long. A short
    /// buffer drops at the rate of its line, and what is in it leaves at no other rate.
    pub is_policed: bool,
    /// Whether the queue grows so long that others who use the path notice.
    pub is_bloated: bool,
    /// How uncertain the rate remained however it was measured: the least half of a confidence
    /// interval, as a share of the rate. The rate of such a path changes with time. Nothing
    /// where any of what is fast became certain.
    pub varies: Option<f64>,
}

/// A queue as it was seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Queue {
    /// The longest that a packet waited.
    pub time: Span,
    /// What the queue held then: the capacity over that time.
    pub bytes: Bytes,
    /// Whether it overflowed: then it holds no more, else it holds at least this.
    pub is_full: bool,
}

impl PathFindings {
    /// Of the points of one direction.
    pub(super) fn of(points: &[Point], base_rtt: Option<Span>, capacity: Rate) -> Self {
        let Some(base) = base_rtt.filter(|_| capacity > Rate::ZERO) else { return Self::default() };
        let full = capacity.bytes_per_second();
        let share = |point: &Point| point.rate.bytes_per_second() / full;
        let idle = base.scaled(IDLE).max(base + IDLE_BY);
        let waits = |point: &Point| point.mean_rtt.is_some_and(|mean| mean > idle);
        let lost = |point: &Point| {
            point.steady_loss.filter(|loss| loss * point.bytes.get() as f64 >= MIN_LOSSES * SEGMENT)
        };
        // Lost where the line had room: each by the data that it tells of.
        let sparse = sparse(capacity, base);
        let free = || {
            points.iter().filter(|point| {
                let all = |window: Bytes| window.get() * u64::from(point.setting.streams);
                let flight = point.setting.window.map(all);
                !waits(point)
                    && flight.zip(sparse).is_some_and(|(flight, most)| flight <= most.get())
            })
        };
        let data = |point: &Point| point.bytes.get() as f64;
        let counted = || free().filter_map(|point| Some((point.steady_loss?, data(point))));
        let lost_bytes: f64 = counted().map(|(loss, bytes)| loss * bytes).sum();
        let bytes: f64 = counted().map(|(_, bytes)| bytes).sum();
        let loss = (lost_bytes >= MIN_LOSSES * SEGMENT).then(|| lost_bytes / bytes);
        let at_full = || points.iter().filter(|point| share(point) >= FULL);
        let own = loss.unwrap_or(0.0);
        let drops_early = at_full().count() > 0
            && at_full().all(|point| !waits(point))
            && at_full().any(|point| lost(point).is_some_and(|loss| loss >= DROPPED + 2.0 * own));
        let burst = points.iter().filter_map(|point| point.fastest).reduce(Rate::max);
        // One stream before a short buffer may be held by what it loses, far below the line's
        // rate, at which its data then gets through. Several are held by that together, or not.
        let several = |point: &Point| point.setting.streams > 1 && point.setting.window.is_none();
        let is_policed = drops_early
            && points.iter().any(several)
            && burst.is_some_and(|burst| burst.bytes_per_second() >= full * BURST);
        // A queue that cannot be told from the hosts' own delays is none that was seen.
        let queue = queue(points, base, capacity).filter(|_| !drops_early);
        let is_bloated = queue
            .is_some_and(|queue| queue.time >= BLOATED && queue.time >= base.scaled(BLOATED_BY));
        let fast = || points.iter().filter(|point| share(point) >= FAST);
        let widths = || fast().filter_map(|point| point.half_width);
        let varies = widths().reduce(f64::min).filter(|width| *width >= VARIES);
        let varies = varies.filter(|_| widths().count() > 1);
        Self { queue, loss, drops_early, is_policed, is_bloated, varies }
    }
}

/// A window with which one stream leaves the line room and no queue overflows; nothing where the
/// path holds too little for one.
pub(super) fn sparse(capacity: Rate, base: Span) -> Option<Bytes> {
    let holds = capacity.bytes_per_second() * base.as_seconds();
    let most = windlass_base::whole_part(holds * SPARSE_SHARE).min(SPARSE);
    // A number that reads well, and is the same for about the same path.
    let most = most.checked_ilog2().map(|bits| 1 << bits)?;
    (most as f64 >= MIN_SEGMENTS * SEGMENT).then_some(Bytes::new(most))
}

/// The longest queue that was seen, where the line was full: elsewhere packets wait for hosts.
fn queue(points: &[Point], base: Span, capacity: Rate) -> Option<Queue> {
    let full = capacity.bytes_per_second() * FULL;
    let waited = |point: &&Point| {
        let is_full = point.rate.bytes_per_second() >= full;
        let (mean, most) = point.mean_rtt.zip(point.max_rtt).filter(|_| is_full)?;
        let (mean, most) = ((mean - base).or_zero(), (most - base).or_zero());
        (mean >= most.scaled(USUAL)).then_some(most)
    };
    let longest = points.iter().filter(|point| waited(point).is_some()).max_by_key(waited)?;
    let time = waited(&longest)?;
    let own = base.scaled(IDLE - 1.0).max(IDLE_BY);
    if time <= own {
        return None;
    }
    let bytes = windlass_base::whole_part(capacity.bytes_per_second() * time.as_seconds());
    // Dropped while it was about as long.
    let near = |point: &&Point| waited(point).is_some_and(|other| other >= time.scaled(NEARLY));
    let drops = |point: &Point| point.steady_loss.is_some_and(|loss| loss > 0.0);
    let is_full = points.iter().filter(near).any(drops);
    Some(Queue { time, bytes: Bytes::new(bytes), is_full })
}
