//! Where a sender lost data: what a token bucket would leave as its trace.
//!
//! A policer lets a burst pass and then so much in each second, and drops the rest
//! without a queue. So at each of its drops the same has passed as at any other, but for
//! what its rate let in between: the drops lie on a line of time and bytes (Flach et al.
//! 2016, "An Internet-Wide Analysis of Traffic Policing", section 3).

use windlass_base::{Bytes, Rate, Span, Timestamp, whole_part};
use windlass_macros::{Packed, PackedSparsely};

use crate::distribution::{Distribution, middle};
use crate::queueing_delay::MIN_QUEUE;

/// The most drops that are kept. When there are more, each second one goes: what passed
/// between those that are left is still what the rate let through.
const MAX: usize = 48;

/// Fewer drops than this show no line.
const MIN_DROPS: usize = 6;

/// How far a step may miss the line, in segments: the one that was dropped, and the
/// bucket that was not quite empty for it.
const SEGMENTS: f64 = 2.5;

/// The same as a share of the step: what was dropped and sent again is not counted.
const SHARE: f64 = 0.03;

/// How unlikely chance must be to put drops on a line like this, in powers of e: once in
/// 160,000 transfers. Where loss comes at random, the rate between two losses varies by a
/// third, so that a step fits by chance with a density of 2.6 for each unit of its size.
const UNLIKELY: f64 = 12.0;
const DENSITY: f64 = 2.6;

/// The share of the steps that must fit the line. A bucket that is full while the sender
/// waits for a timer breaks it.
const FITTING: f64 = 0.75;

/// The shares of the rate's own bytes that may pass between the losses of one repair, and
/// the least that tells, in segments. Behind a link with a short queue what passes then is
/// the link's rate, and the sawtooth of Reno leaves a quarter less on the whole. Less than
/// the rate may seem to pass, for the bucket holds most when it drops first.
const WITHIN: (f64, f64) = (0.65, 1.2);
const MIN_PASSED: f64 = 12.0;

/// The burst, in what the rate brings in a round trip. A window that limits a transfer
/// lets one such amount pass at once.
const BURST: f64 = 1.5;

/// How much faster than the rate all passed before the first drop, and how much more was
/// sent where there were drops. Behind a link of that rate nothing comes faster.
const FASTER: f64 = 1.25;

/// The share of the time that a queue of the burst's size would add to the round trip,
/// below which there was none.
const NO_QUEUE: f64 = 0.3;

/// Behind a sawtooth, what is sent from a repair to the next loss varies by less than this share of
/// its mean. Of loss by chance it varies by all of it, whatever the rate is. (Of windlass's links
/// with a short queue or a policer 0.23 to 0.59; with random loss 0.70 to 1.2.)
const EVEN: f64 = 0.65;

/// Fewer of them tell neither.
const MIN_GAPS: u64 = 4;

/// Fewer drops than this do not tell a queue that is full from chance, with which these three
/// would be among the latest tenth once in 1,000 times.
const MIN_QUEUED: usize = 3;
const LATEST: f64 = 0.1;

/// The same of how late data came, by timestamps that step by 1 ms, of a few drops and of many.
/// Behind short queues all but a fourth of the last before a drop are among the latest 0.17 of all,
/// and where chance loses data among the latest 0.41 to 0.9.
const LATEST_CAME: f64 = 0.15;
const LATEST_OF_MANY_CAME: f64 = 0.2;
const MANY_DROPS: usize = 8;

/// Among so many of the latest they may be of a full queue: where chance loses data, the quarter
/// lay at 0.76 of all at the most, and far from the sender at 0.59.
const MAY_BE_LATEST: f64 = 0.2;
const MAY_HAVE_COME_LATEST: f64 = 0.3;

/// With so many segments behind what is lost, its receiver acknowledges what came before at once
/// (RFC 5681 section 4.2).
const FOLLOW: u64 = 4;

/// By how much a queue makes a round trip longer when it is full, at least: hosts make an idle path
/// of 20 ms longer by 1 to 4 %.
const QUEUED: f64 = 1.05;

/// What is sent between losses, in units that keep the sum of their squares small.
const GAP_UNIT: u64 = 256;

/// What the last segment tells that passed before one that was lost: at the sender by its ACK,
/// far from it by its timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Packed)]
pub(crate) struct Sample {
    /// At the sender the latency of its ACK; far from it how much later it came than the earliest.
    pub(crate) late: Span,
    /// How long something took to pass, and how much: at the sender what was in flight behind it,
    /// far from it what came with it and before.
    pub(crate) over: Span,
    pub(crate) bytes: u64,
}

impl Sample {
    fn rate(&self) -> Rate {
        Bytes::new(self.bytes).per(self.over)
    }
}

/// The first segment that was lost of some.
#[derive(Clone, Copy, Debug, PartialEq, Packed)]
struct Drop {
    /// When it was sent, or should have come.
    sent: Timestamp,
    /// What was sent before it.
    offset: u64,
    /// Of the last one before, by its ACK and by its timestamp, where they tell.
    answered: Option<Sample>,
    came: Option<Sample>,
    number: u64,
}

/// What was sent from the end of a repair to the next loss: how often, in all, and the squares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed)]
struct Gaps {
    count: u64,
    sum: u64,
    squares: u64,
}

impl Gaps {
    fn add(&mut self, bytes: u64) {
        let gap = bytes / GAP_UNIT;
        self.count += 1;
        self.sum = self.sum.saturating_add(gap);
        self.squares = self.squares.saturating_add(gap.saturating_mul(gap));
    }

    /// The standard deviation as a share of the mean, where there are enough.
    fn spread(&self) -> Option<f64> {
        let count = self.count as f64;
        let mean = self.sum as f64 / count;
        let variance = (self.squares as f64 / count - mean * mean).max(0.0);
        (self.count >= MIN_GAPS && mean > 0.0).then(|| variance.sqrt() / mean)
    }
}

/// The drops of one direction.
#[derive(Clone, Debug, Default, PackedSparsely)]
pub(crate) struct Drops {
    drops: Vec<Drop>,
    /// The end of what was sent when the last one was repaired.
    until: u64,
    /// The last segment of this repair that was lost: when it was sent, and its end.
    last: Option<(Timestamp, u64)>,
    /// Between the losses that one repair mends: what passed, what did not, and the time.
    passed: u64,
    dropped: u64,
    over: Span,
    gaps: Gaps,
    /// When something was last sent again.
    repaired: Option<Timestamp>,
    /// When the first data was sent, and its offset.
    began: Option<(Timestamp, u64)>,
    /// What the last sample answered.
    sample: Option<(u64, Sample)>,
    least: Option<Span>,
}

/// A queue that is full whenever data is lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FullQueue {
    /// How long data waits in it then.
    pub(crate) wait: Span,
    /// What this connection has of the line behind it then.
    pub(crate) rate: Rate,
    /// Whether it is none that chance makes look so.
    pub(crate) is_sure: bool,
}

/// A token bucket on the path.
#[derive(Clone, Debug)]
pub(crate) struct Policer {
    /// Payload that it lets pass in each second.
    pub(crate) rate: Rate,
    /// The payload that passed at once before.
    pub(crate) burst: Bytes,
    /// The drops that lie on its line.
    pub(crate) drops: usize,
    pub(crate) numbers: Vec<u64>,
}

impl Drops {
    /// The first data.
    pub(crate) fn begin(&mut self, time: Timestamp, offset: u64) {
        self.began = self.began.or(Some((time, offset)));
    }

    /// An ACK that came so long after the data that it answers, with so much in flight behind that.
    pub(crate) fn answered(&mut self, ack: u64, latency: Span, flight: u64) {
        let sample = Sample { late: latency, over: latency, bytes: flight };
        self.sample = Some((ack, sample));
        self.least = Some(self.least.map_or(latency, |least| least.min(latency)));
    }

    /// The data at `offset` is sent again. It was sent first at that time, by the packet
    /// with that number, or should have come then, where `came` is of the last before it;
    /// `sent_until` has been sent meanwhile.
    pub(crate) fn again(
        &mut self,
        (sent, number): (Timestamp, u64),
        offset: u64,
        sent_until: u64,
        came: Option<Sample>,
    ) {
        if offset < self.until {
            return;
        }
        let until = std::mem::replace(&mut self.until, sent_until);
        if self.repaired.is_some_and(|repaired| sent <= repaired) {
            // What was sent before it had not all passed by then.
            return;
        }
        if until > 0 {
            self.gaps.add(offset - until);
        }
        self.shrink(MAX - 1);
        let answered = self.sample.filter(|(ack, _)| *ack == offset).map(|(_, sample)| sample);
        self.drops.push(Drop { sent, offset, answered, came, number });
    }

    /// A segment is sent again for the first time. It was sent first at that time.
    pub(crate) fn lost(&mut self, sent: Timestamp, start: u64, end: u64) {
        if start >= self.until {
            self.last = None;
        }
        if let Some((before, passed)) =
            self.last.filter(|(before, end)| start >= *end && sent >= *before)
        {
            self.passed += start - passed;
            self.dropped += end - start;
            self.over += sent.since(before);
        }
        if self.last.is_none_or(|(_, passed)| start >= passed) {
            self.last = Some((sent, end));
        }
    }

    /// Something is sent again.
    pub(crate) fn repaired(&mut self, time: Timestamp) {
        self.repaired = Some(time);
    }

    /// Whether what passed between the losses of one repair passed at this rate, while more
    /// was sent. A queue lets its line's rate pass there, which is more than it carries on
    /// the whole; losses that come at times of their own let all pass or nothing.
    fn is_policed_at(&self, rate: f64, full: f64) -> bool {
        let (passed, sent) = (self.passed as f64, (self.passed + self.dropped) as f64);
        let policed = rate * self.over.as_seconds();
        passed >= MIN_PASSED * full
            && passed >= policed * WITHIN.0
            && passed <= (policed * WITHIN.1).max(policed + SEGMENTS * full)
            && sent >= FASTER * policed
    }

    /// Whether losses come as evenly as where a sender grows until it meets a limit: a policer, or
    /// a queue too short to show. A few do not tell.
    pub(crate) fn are_even(&self) -> bool {
        self.gaps.spread().is_some_and(|spread| spread < EVEN)
    }

    /// Keeps at most so many.
    pub(crate) fn shrink(&mut self, most: usize) {
        while self.drops.len() > most.max(MIN_DROPS) {
            let mut place = 0;
            self.drops.retain(|_| {
                place += 1;
                place % 2 == 1
            });
        }
    }

    /// The policer that these drops show, if they show one. `size` is a full segment's,
    /// `rtt` the path's round trip.
    pub(crate) fn policer(&self, size: u64, rtt: Span) -> Option<Policer> {
        let (began, start) = self.began?;
        if self.drops.len() < MIN_DROPS {
            return None;
        }
        let mut steps: Vec<(f64, f64)> = Vec::new();
        for pair in self.drops.windows(2) {
            let [one, two] = pair else { continue };
            let (time, bytes) = (two.sent.since(one.sent), two.offset.saturating_sub(one.offset));
            if time > Span::ZERO && bytes > 0 {
                steps.push((time.as_seconds(), bytes as f64));
            }
        }
        let rate = middle_rate(&steps)?;
        let full = size as f64;
        let (mut fitting, mut unlikely) = (0, 0.0);
        for (time, bytes) in &steps {
            let room = (SEGMENTS * full).max(bytes * SHARE);
            if (bytes - rate * time).abs() <= room {
                fitting += 1;
                unlikely -= (DENSITY * room / bytes).min(1.0).ln();
            }
        }
        let first = self.drops.first()?;
        let passed = first.offset.saturating_sub(start) as f64;
        let before = first.sent.since(began).or_zero();
        let burst = passed - rate * before.as_seconds();
        let on_line = fitting >= MIN_DROPS - 1
            && fitting as f64 >= FITTING * steps.len() as f64
            && unlikely >= UNLIKELY;
        let bursts = burst >= BURST * rate * rtt.as_seconds()
            && passed >= FASTER * rate * before.max(rtt).as_seconds();
        if !on_line
            || !bursts
            || !self.is_policed_at(rate, full)
            || self.rises()?.as_seconds() > NO_QUEUE * burst / rate
        {
            return None;
        }
        Some(Policer {
            rate: Rate::from_bytes_per_second(rate),
            burst: Bytes::new(whole_part(burst)),
            drops: fitting + 1,
            numbers: self.drops.iter().take(6).map(|drop| drop.number).collect(),
        })
    }

    /// The queue that these drops are of, if it was full each time, or may have been: of the last
    /// ACKs before them all but a fourth are among the latest tenth of all, and later than the path
    /// by a twentieth, `rtt` being its round trip. Loss by chance comes at any time. `size` is a
    /// full segment's.
    pub(crate) fn full_queue(
        &self,
        acks: &Distribution,
        rtt: Span,
        size: u64,
    ) -> Option<FullQueue> {
        let (latency, rate) = self.when_lost(|drop| drop.answered, size)?;
        let is_late = |latest| Some(latency >= acks.quantile(1.0 - latest)?);
        let is_sure = is_late(LATEST)? && latency >= rtt.scaled(QUEUED);
        let may_be = is_late(MAY_BE_LATEST)? && latency >= rtt.max(acks.median()?) + MIN_QUEUE;
        may_be.then(|| FullQueue { wait: latency - rtt, rate, is_sure })
    }

    /// The same far from the sender, where segments before a drop tell how late they came, and
    /// `came` how late all did.
    pub(crate) fn full_queue_before(&self, came: &Distribution, size: u64) -> Option<FullQueue> {
        let (wait, rate) = self.when_lost(|drop| drop.came, size)?;
        let is_late = |latest| Some(wait >= came.quantile(1.0 - latest)?);
        let are_many = self.drops.len() >= MANY_DROPS;
        let latest = if are_many { LATEST_OF_MANY_CAME } else { LATEST_CAME };
        let may_be = is_late(MAY_HAVE_COME_LATEST)? && wait >= came.median()? + MIN_QUEUE;
        let is_sure = is_late(latest)?;
        may_be.then_some(FullQueue { wait, rate, is_sure })
    }

    /// Whether enough of them say how late the data before came.
    pub(crate) fn tell_lateness(&self) -> bool {
        self.drops.iter().filter(|drop| drop.came.is_some()).count() >= MIN_QUEUED
    }

    /// How late all but a fourth were before drops, and the middle rate at which they passed then.
    fn when_lost(
        &self,
        sample: impl Fn(&Drop) -> Option<Sample>,
        size: u64,
    ) -> Option<(Span, Rate)> {
        // Where little follows what is lost, the ACK before it may have been withheld.
        let samples = self.drops.iter().filter_map(sample);
        let mut samples: Vec<Sample> = samples.filter(|one| one.bytes >= FOLLOW * size).collect();
        if samples.len() < MIN_QUEUED {
            return None;
        }
        samples.sort_unstable_by_key(|one| one.late);
        let least = samples[(samples.len() - 1) / 4].late;
        samples.sort_unstable_by(|one, two| {
            one.rate().bytes_per_second().total_cmp(&two.rate().bytes_per_second())
        });
        Some((least, samples[samples.len() / 2].rate()))
    }

    /// How much later than the earliest ACK those came that were the last before a drop:
    /// the time that a queue took, of which a delayed ACK is none: so of four, the second
    /// least counts. `None` where too few tell.
    fn rises(&self) -> Option<Span> {
        let samples = self.drops.iter().filter_map(|drop| drop.answered);
        let mut latencies: Vec<Span> = samples.map(|sample| sample.late).collect();
        if latencies.len() < 3 {
            return None;
        }
        latencies.sort_unstable();
        Some((latencies[latencies.len() / 4] - self.least?).or_zero())
    }
}

/// The rate of the middle step, where each counts by its bytes.
fn middle_rate(steps: &[(f64, f64)]) -> Option<f64> {
    let mut rates: Vec<(f64, f64)> =
        steps.iter().map(|(time, bytes)| (bytes / time, *bytes)).collect();
    rates.sort_by(|one, two| one.0.total_cmp(&two.0));
    middle(&rates)
}
