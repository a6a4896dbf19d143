//! Properties of a path, from all measurements of one direction.

use windlass_base::{Bytes, Rate, Span};

use super::measurement::Point;

/// Ratio of the RTT to the idle one up to which there is no queue: it includes delayed and thinned
/// ACKs.
const IDLE: f64 = 1.1;
/// RTT difference up to which there is no queue: the hosts cause it.
const IDLE_BY: Span = Span::from_micros(300);
/// Bytes in flight with which no queue overflows: those of switches and routers hold more.
const SPARSE: u64 = 64 << 10;
/// Share of the path's capacity for data in flight up to which the bottleneck is not full.
const SPARSE_SHARE: f64 = 0.25;
/// Smallest number of segments in flight for a conclusion: with fewer, each loss waits for a timer.
const MIN_SEGMENTS: f64 = 6.0;
/// Share of the capacity from which a transfer is as fast as the path allows.
const FULL: f64 = 0.9;
/// Smallest number of losses for a conclusion: fewer may be chance.
const MIN_LOSSES: f64 = 3.0;
/// Smallest share of dropped data without a queue. Once steady, a TCP that overflows a long queue
/// loses less.
const DROPPED: f64 = 0.005;
/// Ratio of the rate over a round trip to the capacity that shows a burst. A token bucket lets a
/// burst through at the bottleneck's line rate (T. Flach and others, "An Internet-Wide Analysis of
/// Traffic Policing", SIGCOMM 2016). This excess is no error of the kernel's sample, which is an
/// average over the round trip.
const BURST: f64 = 1.25;
/// Queueing delay from which calls and pages are slow (J. Gettys, K. Nichols, "Bufferbloat: Dark
/// Buffers in the Internet", 2011; ITU-T G.114 allows a call 150 ms for the whole path).
const BLOATED: Span = Span::from_millis(100);
/// Queueing delay in idle RTTs from which the queue is too long: RFC 6349 section 3.3.1 asks for a
/// queue of one.
const BLOATED_BY: f64 = 2.0;
/// Uncertainty after the full time from which the path's rate changes, if other measurements agree.
const VARIES: f64 = 0.05;
/// Share of the capacity from which a rate counts for this: slower ones have other reasons.
const FAST: f64 = 0.7;
/// Share of the longest wait that the mean wait must reach; otherwise the wait may be a pause of a
/// host. A flow that fills a queue keeps it about half full on average. Reno halves its window at a
/// loss, and CUBIC keeps 0.7 of it (RFC 5681, RFC 9438).
const USUAL: f64 = 0.25;
/// Ratio from which queues have the same length.
const NEARLY: f64 = 0.8;
/// Full segment on Ethernet with timestamps.
const SEGMENT: f64 = 1_448.0;

/// Properties of the path.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathFindings {
    /// Queue at the bottleneck, as far as it was seen.
    pub queue: Option<Queue>,
    /// Share of data lost while the bottleneck was not full: the path loses it at any rate. Nothing
    /// if too little was lost, or the bottleneck was always full.
    pub loss: Option<f64>,
    /// True if data beyond a rate is dropped almost without a queue, as policers and short buffers
    /// do.
    pub drops_early: bool,
    /// True if this is a policer: data passed faster for a moment than over a longer time. A short
    /// buffer drops at the rate of its link, at which its data also leaves.
    pub is_policed: bool,
    /// True if the queue grows so long that other users of the path notice.
    pub is_bloated: bool,
    /// Remaining uncertainty of the rate: the smallest half of a confidence interval, as a share of
    /// the rate. The rate of such a path changes with time. Nothing if any fast setting became
    /// certain.
    pub varies: Option<f64>,
}

/// Observed queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Queue {
    /// Longest wait of a packet.
    pub time: Span,
    /// Bytes in the queue then: the capacity times that wait.
    pub bytes: Bytes,
    /// True if the queue overflowed, and so holds no more; otherwise it holds at least this.
    pub is_full: bool,
}

impl PathFindings {
    /// Derives the properties from the points of one direction.
    pub(super) fn of(points: &[Point], base_rtt: Option<Span>, capacity: Rate) -> Self {
        let Some(base) = base_rtt.filter(|_| capacity > Rate::ZERO) else { return Self::default() };
        let full = capacity.bytes_per_second();
        let share = |point: &Point| point.rate.bytes_per_second() / full;
        let idle = base.scaled(IDLE).max(base + IDLE_BY);
        let waits = |point: &Point| point.mean_rtt.is_some_and(|mean| mean > idle);
        let lost = |point: &Point| {
            point.steady_loss.filter(|loss| loss * point.bytes.get() as f64 >= MIN_LOSSES * SEGMENT)
        };
        // Losses while the bottleneck was not full, each weighted with its data.
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
        // Losses may hold one stream before a short buffer far below the link's rate, at which its
        // data then passes. They hold several streams together, or not at all.
        let several = |point: &Point| point.setting.streams > 1 && point.setting.window.is_none();
        let is_policed = drops_early
            && points.iter().any(several)
            && burst.is_some_and(|burst| burst.bytes_per_second() >= full * BURST);
        // A queue that cannot be distinguished from the hosts' own delays was not seen.
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

/// Returns a window with which one stream leaves the bottleneck unfilled and no queue overflows;
/// nothing if the path holds too little for one.
pub(super) fn sparse(capacity: Rate, base: Span) -> Option<Bytes> {
    let holds = capacity.bytes_per_second() * base.as_seconds();
    let most = windlass_base::whole_part(holds * SPARSE_SHARE).min(SPARSE);
    // A round number, and the same for similar paths.
    let most = most.checked_ilog2().map(|bits| 1 << bits)?;
    (most as f64 >= MIN_SEGMENTS * SEGMENT).then_some(Bytes::new(most))
}

/// Returns the longest observed queue while the bottleneck was full: otherwise packets wait for
/// hosts.
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
    // Losses while the queue was about as long.
    let near = |point: &&Point| waited(point).is_some_and(|other| other >= time.scaled(NEARLY));
    let drops = |point: &Point| point.steady_loss.is_some_and(|loss| loss > 0.0);
    let is_full = points.iter().filter(near).any(drops);
    Some(Queue { time, bytes: Bytes::new(bytes), is_full })
}
