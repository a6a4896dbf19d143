//! A token bucket on the path, by when segments are lost.
//!
//! A policer lets a burst pass and then a fixed rate; it drops the rest and queues nothing (Flach
//! et al. 2016, "An Internet-Wide Analysis of Traffic Policing", section 3). So a bucket of its
//! rate is empty at each lost segment, and not empty at segments that pass. With random loss, a
//! bucket of any rate is as full at lost segments as at others.
//!
//! The data that passed is kept as a line of few corners, with the losses and as many segments that
//! passed. When the transfer is over, buckets of several rates are filled and emptied along that
//! line.
//!
//! The link behind the policer carries only what arrived. A segment that is lost before the capture
//! is placed directly behind the last arrival: halfway to the next one the bucket would have filled
//! again. A tail-drop queue is the rival explanation there. It spaces data at its own rate, and
//! data waits in it before a loss.

use windlass_base::thresholds::{
    ALIKE, BEYOND_JITTER, ENOUGH, HALF_OF_IT, MORE_THAN_ONE, MOST_OF_IT, NEARLY_ALL,
    SEVERAL_SEGMENTS, UNLIKELY_BUCKET, UNLIKELY_EVEN_BUCKET,
};
use windlass_base::{Bytes, Rate, Span, Timestamp, whole_part};
use windlass_macros::Packed;

use crate::estimate::loss_pattern::Policer;

/// Maximum lengths of the lists: thinned [`Corner`]s, segments that passed, and runs of losses,
/// after which nothing more is examined. (With 192 corners bursts blur: the spread of the bucket's
/// level at losses is 0.6 rather than 0.1.)
const CORNERS: usize = 384;
const PASSED: usize = 96;
const RUNS: usize = 96;

/// Entries before the first loss: about four round trips, at whose end slow start loses data.
const BEFORE_LOSS: usize = 8;

/// Packets that a report shows.
const NUMBERS: usize = 6;

/// The least number of runs that are kept.
const MIN_RUNS: usize = 16;

/// Parts of a round trip: between two corners, and in a run of losses, whatever passes meanwhile.
const PARTS: i64 = 8;
const RUN_PARTS: i64 = 2;

/// Range of the rates that are tried, in parts of the rate at which data passed, and the step
/// between them. A policer's own rate is as much, less its burst at first, more while the sender
/// repairs. A bucket that the sender never lets fill up loses its account at a rate that misses by
/// two steps.
const RATES: (f64, f64) = (0.85, 1.6);
const STEP: f64 = 1.01;

/// Corner of the line: bytes sent up to a time, and the retransmitted part.
#[derive(Clone, Copy, Debug, Packed)]
struct Corner {
    time: Timestamp,
    offset: u64,
    again: u64,
}

/// Run of lost segments, one behind the other or within half a round trip, by the time when the
/// first was sent.
#[derive(Clone, Copy, Debug, Packed)]
struct Run {
    time: Timestamp,
    offset: u64,
    end: u64,
    /// Lost bytes of the run.
    length: u64,
    /// The packet that shows the first of them.
    number: u64,
    late: Option<Span>,
}

impl Run {
    /// Returns the bytes of it that were lost before `offset`, evenly spread.
    fn lost_before(&self, offset: u64) -> f64 {
        let part = offset.saturating_sub(self.offset) as f64 / (self.end - self.offset) as f64;
        self.length as f64 * part.min(1.0)
    }
}

/// Evidence for a token bucket.
#[derive(Clone, Debug, Default, Packed)]
pub(crate) struct TokenBucket {
    corners: Vec<Corner>,
    passed: Vec<(Timestamp, u64)>,
    runs: Vec<Run>,
    /// The bytes that were sent again.
    again: u64,
    /// Time between two corners, and between two segments that passed.
    step: Span,
    stride: u64,
    /// The length of a run of losses.
    run: Span,
    /// The last packet, and the end of the new data with it.
    last: Option<(Timestamp, u64)>,
    /// Time and offset up to which new data needs no corner, and is no sample of passed segments,
    /// if it follows within a step.
    plain: Option<(Timestamp, u64)>,
    /// Lost segments that a network card was to cut.
    super_packets: u64,
    /// Lost bytes: behind the capture, and before it.
    behind: u64,
    before: u64,
}

/// A segment that was sent again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LostSegment {
    /// Time of its first copy, or of the last arrival before it if the capture has none.
    pub(crate) sent: Timestamp,
    pub(crate) offset: u64,
    pub(crate) length: u64,
    /// Packet of its first copy, or else of this one.
    pub(crate) number: u64,
    /// Time of its last retransmission before.
    pub(crate) again: Option<Timestamp>,
    /// True if the segment was part of one that a network card was to split.
    pub(crate) is_super_packet: bool,
    /// True if the capture has the segment's first copy.
    pub(crate) is_seen: bool,
    /// Delay of the last arrival before it, by the sender's clock.
    pub(crate) late: Option<Span>,
}

impl TokenBucket {
    /// Takes a segment of new data.
    #[inline]
    pub(crate) fn sent(&mut self, time: Timestamp, offset: u64, length: u64, rtt: Span) {
        if let (Some((until, end)), Some((last, _))) = (self.plain, self.last)
            && time < until
            && offset < end
            && time.since(last) < self.step
        {
            self.last = Some((time, offset + length));
        } else {
            self.note(time, offset, length, rtt);
        }
    }

    fn note(&mut self, time: Timestamp, offset: u64, length: u64, rtt: Span) {
        if self.is_full() {
            return;
        }
        if self.step == Span::ZERO {
            self.step = rtt / PARTS;
            self.stride = 4 * length;
            self.run = rtt / RUN_PARTS;
        }
        self.corner(time, offset);
        if self.passed.last().is_none_or(|(_, last)| offset >= last + self.stride) {
            self.passed.push((time, offset));
            if self.runs.is_empty() && self.passed.len() > BEFORE_LOSS {
                self.passed.remove(0);
            } else if self.passed.len() > PASSED {
                self.halve_passed();
            }
        }
        self.last = Some((time, offset + length));
        let corner = self.corners.last().map(|corner| corner.time + self.step * 2);
        let passed = self.passed.last().map(|(_, last)| last + self.stride);
        self.plain = corner.zip(passed);
    }

    /// Takes a retransmission.
    pub(crate) fn sent_again(&mut self, time: Timestamp, lost: Option<LostSegment>, length: u64) {
        let Some((_, end)) = self.last.filter(|_| !self.is_full()) else { return };
        self.corner(time, end);
        self.last = Some((time, end));
        let Some(lost) = lost else {
            self.again += length;
            return;
        };
        if let Some(again) = lost.again
            && self.runs.last().is_some_and(|run| lost.offset < run.end)
        {
            // The last copy was lost as well, and this passes in its place.
            for corner in self.corners.iter_mut().rev().take_while(|it| it.time >= again) {
                corner.again = corner.again.saturating_sub(length);
            }
            return;
        }
        self.again += length;
        self.super_packets += u64::from(lost.is_super_packet);
        let LostSegment { sent: time, offset, length, number, late, .. } = lost;
        *(if lost.is_seen { &mut self.behind } else { &mut self.before }) += length;
        let index = self.runs.partition_point(|run| run.offset <= offset);
        match index.checked_sub(1).and_then(|before| self.runs.get_mut(before)) {
            Some(run) if offset <= run.end || time.since(run.time) < self.run => {
                run.length += length;
                run.end = run.end.max(offset + length);
            }
            _ => {
                let end = offset + length;
                self.runs.insert(index, Run { time, offset, end, length, number, late });
            }
        }
    }

    fn is_full(&self) -> bool {
        self.runs.len() >= RUNS
    }

    /// Adds corners where a packet leaves behind a silence, or long behind the last corner.
    fn corner(&mut self, time: Timestamp, offset: u64) {
        let again = self.again;
        if let Some((last, end)) = self.last
            && time.since(last) >= self.step
        {
            self.corners.push(Corner { time: last, offset: end, again });
            self.corners.push(Corner { time, offset: end, again });
        } else if self.corners.last().is_none_or(|last| time.since(last.time) >= self.step * 2) {
            self.corners.push(Corner { time, offset, again });
        } else {
            return;
        }
        if self.runs.is_empty() {
            let more = self.corners.len().saturating_sub(BEFORE_LOSS);
            self.corners.drain(..more);
        }
        self.thin(CORNERS);
    }

    /// Keeps at most so many corners.
    fn thin(&mut self, most: usize) {
        // A clock that stands leaves nothing to double.
        for _ in 0..32 {
            if self.corners.len() <= most {
                return;
            }
            self.step = (self.step * 2).max(Span::from_micros(1));
            let step = self.step;
            let all = std::mem::take(&mut self.corners);
            for (index, corner) in all.iter().enumerate() {
                let since = self.corners.last().map(|last| corner.time.since(last.time));
                let until = all.get(index + 1).map(|next| next.time.since(corner.time));
                if since.is_none_or(|since| since >= step)
                    || until.is_some_and(|until| until >= step)
                {
                    self.corners.push(*corner);
                }
            }
        }
        self.corners.truncate(most);
    }

    /// Keeps every second of the segments that passed.
    fn halve_passed(&mut self) {
        let mut is_kept = false;
        self.passed.retain(|_| {
            is_kept = !is_kept;
            is_kept
        });
        self.stride *= 2;
    }

    /// Discards detail until its lists have at most about so many entries.
    pub(crate) fn shrink(&mut self, most: usize) {
        self.thin(most.max(BEFORE_LOSS) * 2);
        while self.passed.len() > most.max(BEFORE_LOSS) {
            self.halve_passed();
        }
        self.runs.truncate(most.max(MIN_RUNS));
    }

    /// Returns the policer that these losses show, if any, and the level of its bucket at the
    /// median loss. So many of the sent segments were larger than a full one of `size`. Far from
    /// the sender nothing is sure.
    pub(crate) fn policer(
        &self,
        size: u64,
        rtt: Span,
        super_packets: u64,
        is_near: bool,
    ) -> Option<(Policer, Bytes)> {
        // A network card that does not cut loses what is large, and nothing else.
        let by_size = self.super_packets > 0 && self.super_packets * 2 > super_packets;
        if by_size {
            return None;
        }
        if !is_near && self.behind + self.before < ENOUGH.get() * size {
            return None;
        }
        let line = self.line(rtt);
        if !loses_several(&line, size) {
            return None;
        }
        let (first, last) = (line.first()?, line.last()?);
        let mean = (last.passed - first.passed) / last.time.since(first.time).as_seconds();
        if !(mean.is_finite() && mean > 0.0) {
            return None;
        }
        let mut best: Option<Fit> = None;
        let mut rate = mean * RATES.0;
        while rate <= mean * RATES.1 {
            if let Some(fit) = Fit::of(&line, rate, size as f64)
                && fit.is_told(is_near, size as f64)
                && best.as_ref().is_none_or(|best| fit.spread + ALIKE.get() < best.spread)
            {
                best = Some(fit);
            }
            rate *= STEP;
        }
        let best = best?;
        let policer = Policer {
            rate: Rate::from_bytes_per_second(best.rate),
            burst: Bytes::new(whole_part(best.burst)),
            drops: self.runs.len(),
            numbers: self.runs.iter().take(NUMBERS).map(|run| run.number).collect(),
            is_sure: is_near && best.is_even() && best.is_unlikely(),
        };
        Some((policer, Bytes::new(whole_part(best.taken))))
    }

    /// Returns whether the capture has most of the lost data.
    pub(crate) fn loses_behind(&self) -> bool {
        self.behind >= self.before
    }

    /// Returns whether data before the capture has passed no queue that drops the rest. A queue's
    /// line would space all segments by their time at its rate: the `closest` come faster.
    /// Moreover, three quarters of the arrivals before losses would be late by the sender's clock:
    /// `usual` is the median delay of all data, if a clock tells.
    pub(crate) fn is_unqueued_before(
        &self,
        policer: &Policer,
        size: u64,
        closest: Option<Span>,
        usual: Option<Span>,
    ) -> bool {
        let time = policer.rate.time_for(Bytes::new(size));
        let is_faster = closest.is_some_and(|closest| closest.scaled(BEYOND_JITTER.get()) <= time);
        let mut late: Vec<Span> = self.runs.iter().filter_map(|run| run.late).collect();
        late.sort_unstable();
        let late = late.get(late.len() / 4).copied().unwrap_or_default();
        is_faster && (late <= usual.unwrap_or_default() || !policer.is_queue(late, policer.burst))
    }

    /// Returns all corners, losses and passed segments, in order.
    fn line(&self, rtt: Span) -> Vec<LinePoint> {
        let mut runs = self.runs.clone();
        runs.sort_by_key(|run| (run.time, run.offset));
        let (mut round, mut began_at) = (0, None);
        let is_lost = |offset: u64| runs.iter().any(|run| (run.offset..run.end).contains(&offset));
        let began = self.corners.first().map(|corner| corner.time);
        let point = |time: Timestamp, offset: u64, again: f64, is: PointKind| {
            let passed = offset as f64 + again;
            LinePoint { time, offset, passed, is }
        };
        let corners = self.corners.iter();
        let corners =
            corners.map(|it| point(it.time, it.offset, it.again as f64, PointKind::Corner));
        let lost = runs.iter().map(|run| {
            // A loss of slow start before all corners counts only as the start of the line.
            let is_seen = began.is_some_and(|began| run.time >= began);
            if began_at.is_none_or(|began| run.time.since(began) > rtt) {
                (round, began_at) = (round + 1, Some(run.time));
            }
            let is = PointKind::Lost { length: run.length, is_seen, round };
            point(run.time, run.offset, self.again_at(run.time), is)
        });
        let passed = self.passed.iter().filter(|(_, offset)| !is_lost(*offset));
        let passed = passed
            .map(|(time, offset)| point(*time, *offset, self.again_at(*time), PointKind::Passed));
        let mut line: Vec<LinePoint> = corners.chain(lost).chain(passed).collect();
        line.sort_by_key(|point| (point.time, point.offset));
        for point in &mut line {
            point.passed -= runs.iter().map(|run| run.lost_before(point.offset)).sum::<f64>();
        }
        line
    }

    /// Returns the bytes sent again by then, between two corners in proportion.
    fn again_at(&self, time: Timestamp) -> f64 {
        let index = self.corners.partition_point(|corner| corner.time <= time);
        let before = index.checked_sub(1).and_then(|index| self.corners.get(index));
        match (before, self.corners.get(index)) {
            (Some(before), Some(behind)) => {
                let part = time.since(before.time).share_of(behind.time.since(before.time));
                before.again as f64 + part * behind.again.saturating_sub(before.again) as f64
            }
            (Some(before), None) => before.again as f64,
            (None, _) => 0.0,
        }
    }
}

/// Returns whether losses come several segments at a time: further data into an empty bucket is
/// lost as well. Single losses at even distances look like the bucket of a sender that grows until
/// then.
fn loses_several(line: &[LinePoint], size: u64) -> bool {
    let losses = line.iter().filter_map(|point| match point.is {
        PointKind::Lost { length, round, .. } => Some((length, round)),
        PointKind::Corner | PointKind::Passed => None,
    });
    let (lost, rounds) =
        losses.fold((0, 0), |(lost, rounds), (length, round)| (lost + length, rounds.max(round)));
    lost >= MORE_THAN_ONE.get() * size * rounds as u64
}

/// Kind of a point on the line.
#[derive(Clone, Copy, Debug)]
enum PointKind {
    Corner,
    Passed,
    /// Each round trip that loses anything has a number.
    Lost {
        length: u64,
        is_seen: bool,
        round: usize,
    },
}

/// A point of the line, with the bytes that had passed by then.
#[derive(Clone, Copy, Debug)]
struct LinePoint {
    time: Timestamp,
    offset: u64,
    passed: f64,
    is: PointKind,
}

/// Bucket of a rate, followed along the line.
#[derive(Clone, Copy, Debug)]
struct Fit {
    rate: f64,
    /// Share of losses at which the bucket is emptier than where a segment passes.
    emptier: f64,
    /// Number of standard deviations by which that exceeds half.
    deviations: f64,
    /// Amount taken from the bucket at the median loss, and its variation: half of the amounts lie
    /// within this part of it. Nine of ten losses have less taken than `burst`, and so has the
    /// first round trip with losses: data that the corners leave out counts as not taken.
    taken: f64,
    spread: f64,
    burst: f64,
}

impl Fit {
    /// Returns whether the bucket shows a policer. Chance makes none like it, and far from the
    /// sender neither does a queue of a few segments.
    fn is_told(&self, is_near: bool, size: f64) -> bool {
        let is_emptier = self.emptier >= MOST_OF_IT.get() && self.is_unlikely();
        let is_even = self.is_even() && self.deviations >= UNLIKELY_EVEN_BUCKET.get();
        let is_queue = !is_near && self.taken < SEVERAL_SEGMENTS.get() as f64 * size;
        (is_emptier || is_even) && !is_queue
    }

    fn is_even(&self) -> bool {
        self.emptier >= NEARLY_ALL.get() && self.spread <= HALF_OF_IT.get()
    }

    fn is_unlikely(&self) -> bool {
        self.deviations >= UNLIKELY_BUCKET.get()
    }

    fn of(line: &[LinePoint], rate: f64, size: f64) -> Option<Self> {
        let (mut lost, mut passed): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
        // Of the losses of a round trip: what was taken, their number, and that of the round trip.
        let (mut sum, mut count, mut current) = (0.0, 0.0, 0);
        let mut taken = 0.0_f64;
        for two in line.windows(2) {
            let [before, point] = two else { continue };
            let filled = rate * point.time.since(before.time).as_seconds();
            taken = (taken + (point.passed - before.passed) - filled).max(0.0);
            match point.is {
                PointKind::Passed => passed.push(taken),
                PointKind::Lost { is_seen: true, round, .. } => {
                    if round != current && count > 0.0 {
                        lost.push(sum / count);
                        (sum, count) = (0.0, 0.0);
                    }
                    (sum, count, current) = (sum + taken, count + 1.0, round);
                }
                PointKind::Corner | PointKind::Lost { .. } => {}
            }
        }
        if count == 0.0 || passed.is_empty() {
            return None;
        }
        lost.push(sum / count);
        let first = lost[0];
        lost.sort_by(f64::total_cmp);
        passed.sort_by(f64::total_cmp);
        let below = |taken: &f64| {
            let less = passed.partition_point(|other| other < taken);
            let no_more = passed.partition_point(|other| other <= taken);
            (less + no_more) as f64 / 2.0
        };

        let emptier = lost.iter().map(below).sum::<f64>() / (lost.len() * passed.len()) as f64;
        // The variance of the share of a uniform distribution that lies below is a twelfth.
        let deviations = (emptier - 0.5) * (12.0 * lost.len() as f64).sqrt();
        let at = |share: usize| lost[(lost.len() - 1) * share / 20];
        let (taken, burst) = (at(10), at(18).max(first));
        let spread = (at(15) - at(5)) / taken.max(size);
        Some(Self { rate, emptier, deviations, taken, burst, spread })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u64 = 1_448;

    const RTT: Span = Span::from_millis(10);

    /// Bursts each 10 ms, of which `is_lost` loses some, behind the capture where that `is_near`;
    /// what is lost is sent again 10 ms later.
    fn played(
        bursts: i64,
        is_near: bool,
        mut is_lost: impl FnMut(i64, u64) -> bool,
    ) -> TokenBucket {
        let mut bucket = TokenBucket::default();
        let (mut offset, mut lost, mut count) = (0, Vec::<LostSegment>::new(), 4);
        let mut arrival = Timestamp::ZERO;
        for burst in 0..bursts {
            // A sawtooth: one segment more each time, and half of them behind a loss.
            count = if lost.is_empty() { count + 1 } else { (count / 2).max(2) };
            let at = |index: i64| Timestamp::from_nanos((burst * 10_000 + index * 10) * 1_000);
            for segment in std::mem::take(&mut lost) {
                let is_lost_again = is_lost(burst * 10_000, SIZE);
                if is_near || !is_lost_again {
                    bucket.sent_again(at(0), Some(segment), SIZE);
                    arrival = at(0);
                }
                if is_lost_again {
                    lost.push(LostSegment { again: is_near.then_some(at(0)), ..segment });
                }
            }
            for index in 1..=count {
                let is_lost = is_lost(burst * 10_000 + index * 10, SIZE);
                if is_near || !is_lost {
                    bucket.sent(at(index), offset, SIZE, RTT);
                    arrival = at(index);
                }
                if is_lost {
                    lost.push(LostSegment {
                        sent: arrival,
                        offset,
                        length: SIZE,
                        number: 1,
                        again: None,
                        is_super_packet: false,
                        is_seen: is_near,
                        late: None,
                    });
                }
                offset += SIZE;
            }
        }
        bucket
    }

    #[test]
    fn a_bucket_that_is_empty_at_each_loss_is_a_policer() {
        for is_near in [true, false] {
            let (rate, burst) = (1.9e6, 30_000.0);
            let (mut tokens, mut last) = (burst, 0);
            let bucket = played(600, is_near, |micros, length| {
                tokens = f64::min(burst, tokens + rate * (micros - last) as f64 / 1e6);
                last = micros;
                let is_lost = tokens < length as f64;
                tokens -= if is_lost { 0.0 } else { length as f64 };
                is_lost
            });
            let (policer, _) = bucket.policer(SIZE, RTT, 0, is_near).expect("a policer");
            let told = policer.rate.bytes_per_second() / rate;
            assert!((0.85..1.15).contains(&told), "{policer:?}");
            assert_eq!((policer.is_sure, bucket.loses_behind()), (is_near, is_near));
            let unqueued = |closest| {
                let closest = Some(Span::from_micros(closest));
                bucket.is_unqueued_before(&policer, SIZE, closest, None)
            };
            assert!(unqueued(10) && !unqueued(700));
        }
    }

    #[test]
    fn losses_by_chance_are_no_policer() {
        for (seed, is_near) in (1..40_u32).flat_map(|seed| [(seed, true), (seed, false)]) {
            let mut state = seed.wrapping_mul(2_654_435_761);
            let bucket = played(600, is_near, |_, _| {
                state ^= state << 13;
                state ^= state >> 17;
                state ^= state << 5;
                state.is_multiple_of(100)
            });
            assert!(bucket.runs.len() >= 16);
            let found = bucket.policer(SIZE, RTT, 0, is_near);
            assert!(found.is_none(), "{seed}: {found:?}");
        }
    }

    #[test]
    fn lists_stay_short() {
        let mut bucket = played(20_000, true, |micros, _| micros % 1_000_000 == 50);
        assert!(bucket.corners.len() <= CORNERS && bucket.passed.len() <= PASSED);
        assert!(bucket.runs.len() <= RUNS);
        bucket.shrink(8);
        assert!(bucket.corners.len() <= 16 && bucket.passed.len() <= 8);
    }
}
