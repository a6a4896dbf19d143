//! The sweep: hands out probes, takes measurements, and decides on the next probe.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;
use windlass_base::{Bytes, CongestionControl, Measurement, Rate, Span};

use super::choose::Choice;
use super::measurement::Point;
use super::path;
use super::plan::{Direction, Ladder, Limits, Plan, Probe, Setting};
use super::search::{self, Range, Rung};
use super::steady::CERTAIN;

/// Smallest window that predicts larger ones, in bytes. With fewer than eleven full segments, silly
/// window avoidance and delayed ACKs dominate, and the rate may stay the same and then jump.
const TELLING_WINDOW: u64 = 16 << 10;
/// Unit of large windows between two others, in bytes, for round values.
const WINDOW_GRAIN: u64 = 1 << 10;
/// First tested number of several streams without a window of their own.
const SEVERAL: u64 = 4;
/// Ratio from which one rate is clearly higher: nobody doubles the streams for less.
const CLEARLY: f64 = 1.05;
/// Ratio up to which two single measurements are equal: the system's own congestion control is then
/// kept.
const SAME: f64 = 1.03;
/// Share of retransmitted data from which the path is tested for loss of its own.
const SUSPICIOUS: f64 = 0.0005;
/// Factor beyond the knee up to which a curve is measured: two octaves.
const BEYOND: f64 = 4.0;
/// Default duration of a sweep.
const WITHIN: Span = Span::from_millis(90_000);
/// Default duration in round trips, if this is longer.
const ROUND_TRIPS: i64 = 200;
/// Fraction of its direction's time that one measurement takes at most.
const SHARE: i64 = 12;
/// Duration of one measurement in round trips, if this is longer: a slow start and the time after
/// it.
const ROUND_TRIPS_OF_ONE: i64 = 40;
/// Fraction of its direction's time that one measurement never exceeds.
const MAX_SHARE: i64 = 5;
/// Fraction of its direction's data that one measurement sends at most. It is a little less than
/// the reserved part, because retransmissions and data in flight add to it.
const BYTES_SHARE: u64 = 15;
/// Shortest measurement if all values were named.
const NAMED: Span = Span::from_millis(2_000);
/// Shortest counted time: with a window, whose rate is steady once it is full, and without, where
/// the congestion control oscillates.
const LEAST: (Span, Span) = (Span::from_millis(200), Span::from_millis(1_000));
/// Fraction of the first measurement's time that the counted time of the others lasts at least, if
/// the rate did not become certain. Such a path may change with time, as radio links do, and its
/// rate seems constant in a short time.
const VARIES_SHARE: i64 = 4;
/// Bytes of the path that the report of an interval takes,
const SAYING: f64 = 300.0;
/// and the largest share of the path's capacity for reports.
const SAYING_SHARE: f64 = 0.005;
/// Shortest interval, default interval and longest interval.
const INTERVALS: [Span; 3] =
    [Span::from_millis(25), Span::from_millis(100), Span::from_millis(500)];
/// Share of the time for finding the setting; the rest is for repeating the decisive measurements.
const SEARCHING: f64 = 0.65;

/// Varied quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Axis {
    /// Window, with one stream.
    Windows,
    /// Number of streams, with one window.
    Streams,
}

impl Axis {
    const ALL: [Self; 2] = [Self::Windows, Self::Streams];
}

/// Returns the data that a measurement sent, retransmissions included.
fn sent_in(one: &Measurement) -> Bytes {
    one.all_bytes.max(one.transmitted)
}

/// The probe was not the expected one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("this was not asked for")]
pub struct UnexpectedProbe;

/// A sweep.
///
/// The next probe follows only from the plan and the measurements.
#[derive(Clone, Debug)]
pub struct Sweep {
    plan: Plan,
    measured: BTreeMap<Setting, Vec<Measurement>>,
    /// Congestion controls that a sender does not offer.
    refused: BTreeSet<(Direction, CongestionControl)>,
}

impl Sweep {
    /// Returns a sweep without measurements.
    pub const fn new(plan: Plan) -> Self {
        Self { plan, measured: BTreeMap::new(), refused: BTreeSet::new() }
    }

    /// Returns the plan.
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the next probe; `None` if more would add nothing, or the time is over.
    pub fn next(&self) -> Option<Probe> {
        let setting = self.plan.directions.iter().find_map(|way| self.next_of(*way))?;
        let done = self.done(&setting);
        Some(Probe { setting, repeat: u16::try_from(done + 1).unwrap_or(u16::MAX) })
    }

    /// Returns the limits of a probe's measurement.
    pub fn limits(&self, probe: Probe) -> Limits {
        let way = probe.setting.direction;
        let rtt = self.base_rtt().unwrap_or_default();
        let enough = Span::from_nanos(rtt.as_nanos().saturating_mul(ROUND_TRIPS_OF_ONE));
        let longest = self.plan.longest.unwrap_or_else(|| match self.within() {
            None => enough.max(NAMED),
            Some(all) => {
                let usual = (all / SHARE).max(enough.min(all / MAX_SHARE));
                // The last measurement gets the remaining time.
                usual.min((all - self.spent_on(way)).max(LEAST.1))
            }
        });
        // Decisive and named points are measured as precisely as possible.
        let is_first = probe.repeat == 1 && self.within().is_some();
        let best = self.capacity(way).bytes_per_second();
        let least = match probe.setting.window {
            // Losses are rare: counting them takes time.
            Some(_) if self.loss_probe(way) == Some(probe.setting) => longest,
            Some(_) => LEAST.0.max(self.varies_over(way) / VARIES_SHARE),
            None => LEAST.1,
        };
        let [shortest, usual, slowest] = INTERVALS;
        let interval = if best > 0.0 {
            let saying = Span::from_seconds(SAYING / (best * SAYING_SHARE));
            saying.max(rtt / 4).clamp(shortest, slowest)
        } else {
            usual
        };
        let best = (is_first && best > 0.0).then_some(best);
        let bytes = self.bytes_of(way).map(|all| {
            let left = all.get().saturating_sub(self.sent_on(way).get());
            Bytes::new((all.get() / BYTES_SHARE).min(left).max(1))
        });
        Limits { least: least.min(longest), longest, interval, best, bytes }
    }

    /// Returns the duration for which the kernel by itself was measured without a certain rate;
    /// zero if the rate became certain.
    fn varies_over(&self, way: Direction) -> Span {
        let first = self.measured.get(&Setting::autotuned(way)).and_then(|all| all.first());
        let uncertain = |one: &&Measurement| {
            one.half_width_ppm.is_none_or(|ppm| f64::from(ppm) > CERTAIN * 1e6)
        };
        first.filter(uncertain).map_or(Span::ZERO, |one| one.time)
    }

    /// Takes the measurement of the probe that [`Self::next`] returned.
    ///
    /// # Errors
    /// Fails if the probe is another one.
    pub fn handle(
        &mut self,
        probe: Probe,
        measurement: Measurement,
    ) -> Result<(), UnexpectedProbe> {
        if self.next() != Some(probe) {
            return Err(UnexpectedProbe);
        }
        self.measured.entry(probe.setting).or_default().push(measurement);
        Ok(())
    }

    /// Records that the sender does not offer the congestion control of the probe that
    /// [`Self::next`] returned. The sweep does not ask for it again.
    ///
    /// # Errors
    /// Fails if the probe is another one, or has no congestion control of its own.
    pub fn refuse(&mut self, probe: Probe) -> Result<(), UnexpectedProbe> {
        let congestion = probe.setting.congestion.ok_or(UnexpectedProbe)?;
        if self.next() != Some(probe) {
            return Err(UnexpectedProbe);
        }
        self.refused.insert((probe.setting.direction, congestion));
        Ok(())
    }

    /// Returns the congestion controls that the sender of a direction does not offer.
    pub fn refused(&self, way: Direction) -> Vec<CongestionControl> {
        let own = self.refused.iter().filter(|(refused, _)| *refused == way);
        own.map(|(_, congestion)| *congestion).collect()
    }

    /// Returns the number of measurements taken.
    pub fn taken(&self) -> usize {
        self.measured.values().map(Vec::len).sum()
    }

    /// Returns the time that they took.
    pub fn spent(&self) -> Span {
        self.measured.values().flatten().map(|one| one.spent).sum()
    }

    /// Returns the maximum duration; nothing if all named values are measured, however long this
    /// takes.
    pub fn budget(&self) -> Option<Span> {
        let ways = i64::try_from(self.plan.directions.len()).unwrap_or(1);
        self.within().map(|one| one * ways)
    }

    /// Returns the maximum duration of one direction.
    fn within(&self) -> Option<Span> {
        let named = Axis::ALL.iter().any(|axis| !self.is_searched(*axis));
        let ways = i64::try_from(self.plan.directions.len()).unwrap_or(1).max(1);
        let usual = || {
            let rtt = self.base_rtt().unwrap_or_default().as_nanos();
            WITHIN.max(Span::from_nanos(rtt.saturating_mul(ROUND_TRIPS)))
        };
        let all = self.plan.within.or_else(|| (!named).then(usual))?;
        Some(all / ways)
    }

    /// Returns the data that one direction may send; nothing if it is unlimited.
    fn bytes_of(&self, way: Direction) -> Option<Bytes> {
        let ways = &self.plan.directions;
        let all = self.plan.bytes?.get();
        let count = u64::try_from(ways.len()).unwrap_or(1).max(1);
        // The first direction gets the remainder.
        let rest = if ways.first() == Some(&way) { all % count } else { 0 };
        Some(Bytes::new(all / count + rest))
    }

    /// Returns the data that a direction has sent, retransmissions included.
    fn sent_on(&self, way: Direction) -> Bytes {
        self.taken_of(way).map(sent_in).sum()
    }

    /// Returns the data that was sent, retransmissions included.
    pub fn sent(&self) -> Bytes {
        self.plan.directions.iter().map(|way| self.sent_on(*way)).sum()
    }

    /// Returns the points, ordered by direction, window, streams and congestion control. They
    /// include points that were not yet repeated as often as planned.
    pub fn points(&self) -> Vec<Point> {
        self.measured.iter().filter_map(|(setting, all)| Point::of(*setting, all)).collect()
    }

    /// Returns the smallest RTT of all measurements.
    pub(super) fn base_rtt(&self) -> Option<Span> {
        let all = self.measured.values().flatten();
        all.filter_map(|one| one.least_rtt).filter(|rtt| *rtt > Span::ZERO).min()
    }

    /// Returns the highest rate of a direction.
    pub(super) fn capacity(&self, way: Direction) -> Rate {
        let faster = |one: Rate, other: Rate| if other > one { other } else { one };
        self.of(way).map(|point| point.rate).fold(Rate::ZERO, faster)
    }

    /// Returns the windows of the plan that were not measured.
    pub fn windows_left_out(&self, way: Direction) -> Vec<Bytes> {
        self.left_out(way, Axis::Windows).into_iter().map(Bytes::new).collect()
    }

    /// Returns the numbers of streams of the plan that were not measured.
    pub fn streams_left_out(&self, way: Direction) -> Vec<u64> {
        self.left_out(way, Axis::Streams)
    }

    fn left_out(&self, way: Direction, axis: Axis) -> Vec<u64> {
        let rungs = self.ladder(axis).rungs().iter().copied();
        rungs.filter(|rung| self.done(&self.setting(way, axis, *rung)) == 0).collect()
    }

    const fn ladder(&self, axis: Axis) -> &Ladder {
        match axis {
            Axis::Windows => &self.plan.windows,
            Axis::Streams => &self.plan.streams,
        }
    }

    /// Returns whether the values along an axis are searched rather than named.
    const fn is_searched(&self, axis: Axis) -> bool {
        self.ladder(axis).between && !self.plan.full
    }

    fn setting(&self, direction: Direction, axis: Axis, value: u64) -> Setting {
        let own = Setting::autotuned(direction);
        match axis {
            Axis::Windows => {
                let congestion = self.control(direction);
                Setting { window: Some(Bytes::new(value)), congestion, ..own }
            }
            Axis::Streams => {
                let streams = u16::try_from(value).unwrap_or(u16::MAX);
                Setting { window: Some(self.plan.stream_window), streams, ..own }
            }
        }
    }

    /// Returns the value of a setting along the axis.
    fn value(&self, way: Direction, axis: Axis, setting: &Setting) -> Option<u64> {
        let value = match axis {
            Axis::Windows => setting.window?.get(),
            Axis::Streams => u64::from(setting.streams),
        };
        (*setting == self.setting(way, axis, value)).then_some(value)
    }

    fn done(&self, setting: &Setting) -> usize {
        self.measured.get(setting).map_or(0, Vec::len)
    }

    fn point(&self, setting: &Setting) -> Option<Point> {
        Point::of(*setting, self.measured.get(setting)?)
    }

    fn of(&self, way: Direction) -> impl Iterator<Item = Point> {
        let own = self.measured.iter().filter(move |(setting, _)| setting.direction == way);
        own.filter_map(|(setting, all)| Point::of(*setting, all))
    }

    /// Returns all points along the axis, in order.
    pub(super) fn along(&self, way: Direction, axis: Axis) -> Vec<Point> {
        let mut along: Vec<(u64, Point)> = self
            .of(way)
            .filter_map(|point| Some((self.value(way, axis, &point.setting)?, point)))
            .collect();
        along.sort_unstable_by_key(|(value, _)| *value);
        along.into_iter().map(|(_, point)| point).collect()
    }

    fn rungs(&self, way: Direction, axis: Axis) -> Vec<Rung> {
        let rung = |point: &Point| Rung {
            value: self.value(way, axis, &point.setting).unwrap_or(0),
            rate: point.rate.bytes_per_second(),
            is_clamped: point.is_clamped(),
        };
        self.along(way, axis).iter().map(rung).collect()
    }

    /// Returns the congestion control with which windows are measured: the system's own, unless
    /// another was clearly faster in the first comparison. Below the knee it does not matter.
    pub fn control(&self, way: Direction) -> Option<CongestionControl> {
        let own = Setting::autotuned(way);
        let first = |congestion| {
            let setting = Setting { congestion, ..own };
            let first = self.measured.get(&setting)?.first()?;
            Some(first.rate().bytes_per_second())
        };
        let usual = first(None)?;
        let others =
            self.plan.congestions.iter().filter_map(|one| Some((*one, first(Some(*one))?)));
        let (control, rate) = others.max_by(|one, other| one.1.total_cmp(&other.1))?;
        (rate > usual * SAME).then_some(control)
    }

    /// Returns the points with one stream and the congestion control of the windows.
    pub(super) fn alone(&self, way: Direction) -> Vec<Point> {
        let control = self.control(way);
        let alone = |point: &Point| {
            let Setting { streams, congestion, .. } = point.setting;
            streams == 1 && congestion == control
        };
        self.of(way).filter(alone).collect()
    }

    /// Returns the rate, in bytes per second, from which one stream is as fast as any that was
    /// measured.
    fn enough_alone(&self, way: Direction) -> Option<f64> {
        let rate = |point: &Point| point.rate.bytes_per_second();
        let alone = self.alone(way);
        let best = alone.iter().max_by(|one, other| rate(one).total_cmp(&rate(other)))?;
        Some(rate(best) * (1.0 - search::noise(best.half_width)))
    }

    /// Returns the next setting to measure in a direction.
    fn next_of(&self, way: Direction) -> Option<Setting> {
        let own = Setting::autotuned(way);
        if self.done(&own) == 0 {
            return Some(own);
        }
        // If nothing moves, there is nothing to learn.
        if self.capacity(way) == Rate::ZERO || self.is_over(way, 1.0) {
            return None;
        }
        let search = || {
            // The search for windows may take all the time, so several streams are tested before.
            let first_several =
                || self.next_several(way).filter(|next| u64::from(next.streams) <= SEVERAL);
            self.next_control(way)
                .or_else(|| self.loss_probe(way).filter(|probe| self.done(probe) == 0))
                .or_else(first_several)
                .or_else(|| self.next_along(way, Axis::Windows))
                .or_else(|| self.next_several(way))
        };
        search()
            .filter(|_| !self.is_over(way, SEARCHING))
            .or_else(|| self.next_repeat(way))
            .or_else(|| self.next_along(way, Axis::Streams))
            .or_else(|| self.next_of_curve(way, Axis::Windows))
            .or_else(|| self.next_of_curve(way, Axis::Streams))
    }

    /// Returns whether another measurement would exceed this share of the time, or of the data.
    fn is_over(&self, way: Direction, share: f64) -> bool {
        let taken = self.taken_of(way).count().max(1);
        let spent = self.spent_on(way);
        let count = i64::try_from(taken).unwrap_or(i64::MAX);
        let is_late = |within: Span| spent + spent / count > within.scaled(share);
        let sent = self.sent_on(way).get() as f64;
        let largest = self.taken_of(way).map(sent_in).max().unwrap_or_default().get() as f64;
        let is_much = |all: Bytes| {
            let all = all.get() as f64;
            sent + largest.max(all / SHARE as f64) > all * share
        };
        self.within().is_some_and(is_late) || self.bytes_of(way).is_some_and(is_much)
    }

    fn taken_of(&self, way: Direction) -> impl Iterator<Item = &Measurement> {
        let own = self.measured.iter().filter(move |(setting, _)| setting.direction == way);
        own.flat_map(|(_, all)| all)
    }

    /// Returns the time that a direction has taken.
    fn spent_on(&self, way: Direction) -> Span {
        self.taken_of(way).map(|one| one.spent).sum()
    }

    /// Returns the next congestion control to test while the kernel sizes everything else.
    fn next_control(&self, way: Direction) -> Option<Setting> {
        let own = Setting::autotuned(way);
        let usual = self.point(&own).and_then(|point| point.congestion);
        let offered = self.plan.congestions.iter().copied().filter(|one| Some(*one) != usual);
        offered
            .filter(|one| !self.refused.contains(&(way, *one)))
            .map(|one| Setting { congestion: Some(one), ..own })
            .find(|setting| self.done(setting) == 0)
    }

    /// Returns several streams that the kernel sizes, and twice as many as long as this is clearly
    /// faster.
    fn next_several(&self, way: Direction) -> Option<Setting> {
        let most = self.plan.streams.rungs().last().copied().filter(|most| *most > 1)?;
        let of = |streams: u64, congestion| {
            let streams = u16::try_from(streams).unwrap_or(u16::MAX);
            Setting { streams, congestion, ..Setting::autotuned(way) }
        };
        let rate = |setting: &Setting| self.point(setting).map(|one| one.rate.bytes_per_second());
        let first = SEVERAL.min(most);
        let mut controls = vec![None];
        controls.extend(self.control(way).map(Some));
        for congestion in controls {
            let (mut before, mut streams) = (rate(&of(1, congestion))?, first);
            while streams <= most {
                let setting = of(streams, congestion);
                let Some(now) = rate(&setting) else { return Some(setting) };
                if now < before * CLEARLY {
                    break;
                }
                (before, streams) = (now, streams * 2);
            }
        }
        None
    }

    /// Returns the next value along an axis: a named one, or one of the search for the smallest
    /// that is enough.
    fn next_along(&self, way: Direction, axis: Axis) -> Option<Setting> {
        let ladder = self.ladder(axis).rungs();
        let (least, most) = (*ladder.first()?, *ladder.last()?);
        if !self.is_searched(axis) {
            let often = usize::from(self.plan.repeat.max(1));
            let named = ladder.iter().map(|value| self.setting(way, axis, *value));
            return named.into_iter().find(|setting| self.done(setting) < often);
        }
        let rungs = self.rungs(way, axis);
        let product = self.capacity(way).bytes_per_second() * self.base_rtt()?.as_seconds();
        let (range, enough) = match axis {
            Axis::Windows => (
                Range { least, most, start: product, grain: WINDOW_GRAIN, telling: TELLING_WINDOW },
                self.enough_alone(way)?,
            ),
            Axis::Streams => {
                let start = product / self.plan.stream_window.get() as f64;
                let best = self.capacity(way).bytes_per_second();
                let range = Range { least, most, start: start.ceil(), grain: 1, telling: 0 };
                (range, best * (1.0 - search::noise(None)))
            }
        };
        search::next(&rungs, range, enough)
            .map(|value| self.setting(way, axis, value))
            // A measured value that does not help is not tested again.
            .filter(|setting| self.done(setting) == 0)
    }

    /// Returns a probe for losses of the path itself: with so little in flight that no queue
    /// overflows, and paced if possible. Returns nothing if hardly anything was lost, or values are
    /// named.
    fn loss_probe(&self, way: Direction) -> Option<Setting> {
        if !Axis::ALL.into_iter().all(|axis| self.is_searched(axis)) {
            return None;
        }
        let lost = |point: Point| {
            let own = point.setting.window.is_none() && point.setting.streams == 1;
            own && point.steady_loss.is_some_and(|loss| loss >= SUSPICIOUS)
        };
        let most = path::sparse(self.capacity(way), self.base_rtt()?)?;
        let paces =
            |one: &&CongestionControl| one.is_bbr() && !self.refused.contains(&(way, **one));
        let usual = self.point(&Setting::autotuned(way)).and_then(|point| point.congestion);
        let bbr = self.plan.congestions.iter().find(paces).copied();
        let congestion = bbr.filter(|bbr| Some(*bbr) != usual);
        let probe = Setting { window: Some(most), congestion, ..Setting::autotuned(way) };
        self.of(way).any(lost).then_some(probe)
    }

    /// Returns the next repetition of the decisive points, in turn: the kernel by itself, the
    /// recommended and the fastest setting.
    fn next_repeat(&self, way: Direction) -> Option<Setting> {
        let points: Vec<Point> = self.of(way).collect();
        let choice = Choice::of(&points, self.base_rtt())?;
        let deciding = [Setting::autotuned(way), choice.point.setting, choice.best.setting];
        let least = deciding.into_iter().min_by_key(|setting| self.done(setting))?;
        (self.done(&least) < usize::from(self.plan.repeat.max(1))).then_some(least)
    }

    /// Returns the next point of the rate's curve, if values are searched: rungs of the ladder,
    /// those near the knee first, and none far beyond it.
    fn next_of_curve(&self, way: Direction, axis: Axis) -> Option<Setting> {
        if !self.is_searched(axis) {
            return None;
        }
        let product = self.capacity(way).bytes_per_second() * self.base_rtt()?.as_seconds();
        let knee = match axis {
            Axis::Windows => product,
            Axis::Streams => (product / self.plan.stream_window.get() as f64).max(1.0),
        };
        let rungs = self.ladder(axis).rungs().iter().copied();
        let near = rungs.filter(|rung| *rung as f64 <= knee * BEYOND * 2.0_f64.sqrt());
        let away = |rung: &u64| (*rung as f64 / knee).log2().abs();
        let missing = near.filter(|rung| self.done(&self.setting(way, axis, *rung)) == 0);
        let next = missing.min_by(|one, other| away(one).total_cmp(&away(other)))?;
        Some(self.setting(way, axis, next))
    }
}
