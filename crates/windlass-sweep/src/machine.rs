//! The sweep: asks, takes, and decides what to ask next.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;
use windlass_base::{Bytes, CongestionControl, Measurement, Rate, Span};

use super::choose::Choice;
use super::measurement::Point;
use super::path;
use super::plan::{Direction, Ladder, Limits, Plan, Probe, Setting};
use super::search::{self, Range, Rung};
use super::steady::CERTAIN;

/// Windows below this tell nothing of larger ones: with fewer than eleven full
/// segments rules against silly windows and delayed ACKs decide, and their rate
/// may stand still and then leap.
const TELLING_WINDOW: u64 = 16 << 10;
/// Large windows between two others are multiples of this, so that they read
/// well.
const WINDOW_GRAIN: u64 = 1 << 10;
/// How many streams are tried first without a window of their own.
const SEVERAL: u64 = 4;
/// What is another rate: a twentieth more. Nobody takes twice the streams for less.
const CLEARLY: f64 = 1.05;
/// What is the same rate where one measurement each is compared: a system's own congestion
/// control is kept then.
const SAME: f64 = 1.03;
/// A share of data that leaves again, from which on it is asked whether the path loses it.
const SUSPICIOUS: f64 = 0.0005;
/// How far beyond the knee a curve goes on: two octaves.
const BEYOND: f64 = 4.0;
/// How long a sweep takes, unless it is told.
const WITHIN: Span = Span::from_millis(90_000);
/// Or so many round trips, where that is longer.
const ROUND_TRIPS: i64 = 200;
/// One measurement takes this part of the time of its direction at most.
const SHARE: i64 = 12;
/// Or so many round trips, where that is longer: a slow start and what follows it.
const ROUND_TRIPS_OF_ONE: i64 = 40;
/// But never more than this part of the time of its direction.
const MAX_SHARE: i64 = 5;
/// One measurement sends this part of the data of its direction at most: a little less than the
/// part that is kept for it, as copies and what is under way come on top.
const BYTES_SHARE: u64 = 15;
/// What one measurement takes where all values were named, at least.
const NAMED: Span = Span::from_millis(2_000);
/// What counts of a measurement lasts this long at least: with a window, whose rate stands still
/// once it is full, and without, where the congestion control goes up and down.
const LEAST: (Span, Span) = (Span::from_millis(200), Span::from_millis(1_000));
/// A path whose rate did not become certain may change with time, as radios do: what counts of the
/// others lasts this part of the time that the first one took at least. In a short time the rate of
/// such a path stands still.
const VARIES_SHARE: i64 = 4;
/// What an end says of an interval takes about so many bytes of the path,
const SAYING: f64 = 300.0;
/// and this share of what it carries at most.
const SAYING_SHARE: f64 = 0.005;
/// The shortest interval, the one that is taken while nothing is known, and the longest.
const INTERVALS: [Span; 3] =
    [Span::from_millis(25), Span::from_millis(100), Span::from_millis(500)];
/// What looks for what to set may take so much of the time; the rest is for measuring again what
/// decides.
const SEARCHING: f64 = 0.65;

/// What is varied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Axis {
    /// The window, with one stream.
    Windows,
    /// The number of streams, with one window.
    Streams,
}

impl Axis {
    const ALL: [Self; 2] = [Self::Windows, Self::Streams];
}

/// Returns the data that a measurement sent, copies included.
fn sent_in(one: &Measurement) -> Bytes {
    one.all_bytes.max(one.transmitted)
}

/// The probe was not the one that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("this was not asked for")]
pub struct Unasked;

/// A sweep.
///
/// What it asks for next follows from its plan and from what was measured, and
/// from nothing else.
#[derive(Clone, Debug)]
pub struct Sweep {
    plan: Plan,
    measured: BTreeMap<Setting, Vec<Measurement>>,
    /// What a sender does not offer.
    refused: BTreeSet<(Direction, CongestionControl)>,
}

impl Sweep {
    /// A sweep that has measured nothing.
    pub const fn new(plan: Plan) -> Self {
        Self { plan, measured: BTreeMap::new(), refused: BTreeSet::new() }
    }

    /// What it is to measure.
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What to measure next; `None` where more would add nothing, or the time is over.
    pub fn next(&self) -> Option<Probe> {
        let setting = self.plan.directions.iter().find_map(|way| self.next_of(*way))?;
        let done = self.done(&setting);
        Some(Probe { setting, repeat: u16::try_from(done + 1).unwrap_or(u16::MAX) })
    }

    /// How long the measurement of a probe may take.
    pub fn limits(&self, probe: Probe) -> Limits {
        let way = probe.setting.direction;
        let rtt = self.base_rtt().unwrap_or_default();
        let enough = Span::from_nanos(rtt.as_nanos().saturating_mul(ROUND_TRIPS_OF_ONE));
        let longest = self.plan.longest.unwrap_or_else(|| match self.within() {
            None => enough.max(NAMED),
            Some(all) => {
                let usual = (all / SHARE).max(enough.min(all / MAX_SHARE));
                // The last one has what is left.
                usual.min((all - self.spent_on(way)).max(LEAST.1))
            }
        });
        // What decides, and what was named, is measured as finely as it can be.
        let is_first = probe.repeat == 1 && self.within().is_some();
        let best = self.capacity(way).bytes_per_second();
        let least = match probe.setting.window {
            // What is lost is rare: it takes time to count it.
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

    /// How long what the kernel does by itself was measured without that its rate became certain;
    /// zero where it did.
    fn varies_over(&self, way: Direction) -> Span {
        let first = self.measured.get(&Setting::autotuned(way)).and_then(|all| all.first());
        let uncertain = |one: &&Measurement| {
            one.half_width_ppm.is_none_or(|ppm| f64::from(ppm) > CERTAIN * 1e6)
        };
        first.filter(uncertain).map_or(Span::ZERO, |one| one.time)
    }

    /// Takes what was measured of the probe that [`Self::next`] asks for.
    ///
    /// # Errors
    /// Where that is another one.
    pub fn handle(&mut self, probe: Probe, measurement: Measurement) -> Result<(), Unasked> {
        if self.next() != Some(probe) {
            return Err(Unasked);
        }
        self.measured.entry(probe.setting).or_default().push(measurement);
        Ok(())
    }

    /// Takes that the sender does not offer the congestion control of the probe that
    /// [`Self::next`] asks for: it is not asked for again.
    ///
    /// # Errors
    /// Where that is another one, or one without a congestion control of its own.
    pub fn refuse(&mut self, probe: Probe) -> Result<(), Unasked> {
        let congestion = probe.setting.congestion.ok_or(Unasked)?;
        if self.next() != Some(probe) {
            return Err(Unasked);
        }
        self.refused.insert((probe.setting.direction, congestion));
        Ok(())
    }

    /// The congestion controls that the sender of a direction does not offer.
    pub fn refused(&self, way: Direction) -> Vec<CongestionControl> {
        let own = self.refused.iter().filter(|(refused, _)| *refused == way);
        own.map(|(_, congestion)| *congestion).collect()
    }

    /// How many measurements were taken.
    pub fn taken(&self) -> usize {
        self.measured.values().map(Vec::len).sum()
    }

    /// The time that they took.
    pub fn spent(&self) -> Span {
        self.measured.values().flatten().map(|one| one.spent).sum()
    }

    /// The most that all of it takes; nothing where what was named is measured, however long it
    /// takes.
    pub fn budget(&self) -> Option<Span> {
        let ways = i64::try_from(self.plan.directions.len()).unwrap_or(1);
        self.within().map(|one| one * ways)
    }

    /// The most that one direction takes.
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

    /// Returns the data that one direction may send; nothing without bound.
    fn bytes_of(&self, way: Direction) -> Option<Bytes> {
        let ways = &self.plan.directions;
        let all = self.plan.bytes?.get();
        let count = u64::try_from(ways.len()).unwrap_or(1).max(1);
        // The first has what does not divide.
        let rest = if ways.first() == Some(&way) { all % count } else { 0 };
        Some(Bytes::new(all / count + rest))
    }

    /// Returns the data that a direction has sent, copies included.
    fn sent_on(&self, way: Direction) -> Bytes {
        self.taken_of(way).map(sent_in).sum()
    }

    /// Returns the data that was sent, copies included.
    pub fn sent(&self) -> Bytes {
        self.plan.directions.iter().map(|way| self.sent_on(*way)).sum()
    }

    /// The points, in the order of direction, window, streams and congestion control; also those
    /// that were not yet repeated as often as planned.
    pub fn points(&self) -> Vec<Point> {
        self.measured.iter().filter_map(|(setting, all)| Point::of(*setting, all)).collect()
    }

    /// The least round trip of all measurements.
    pub(super) fn base_rtt(&self) -> Option<Span> {
        let all = self.measured.values().flatten();
        all.filter_map(|one| one.least_rtt).filter(|rtt| *rtt > Span::ZERO).min()
    }

    /// The highest rate of a direction.
    pub(super) fn capacity(&self, way: Direction) -> Rate {
        let faster = |one: Rate, other: Rate| if other > one { other } else { one };
        self.of(way).map(|point| point.rate).fold(Rate::ZERO, faster)
    }

    /// Windows of the plan that were not measured.
    pub fn windows_left_out(&self, way: Direction) -> Vec<Bytes> {
        self.left_out(way, Axis::Windows).into_iter().map(Bytes::new).collect()
    }

    /// Numbers of streams of the plan that were not measured.
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

    /// Whether the values along an axis are found rather than named.
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

    /// The value of a setting that is varied along the axis.
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

    /// All that was measured along the axis, in order.
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

    /// The congestion control with which windows are measured: the system's own, unless another
    /// was clearly faster when each was measured first. Below the knee none of them matters.
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

    /// Returns the rate, in bytes per second, from which on one stream does as well as any that was
    /// measured.
    fn enough_alone(&self, way: Direction) -> Option<f64> {
        let rate = |point: &Point| point.rate.bytes_per_second();
        let alone = self.alone(way);
        let best = alone.iter().max_by(|one, other| rate(one).total_cmp(&rate(other)))?;
        Some(rate(best) * (1.0 - search::noise(best.half_width)))
    }

    /// What to measure next of a direction.
    fn next_of(&self, way: Direction) -> Option<Setting> {
        let own = Setting::autotuned(way);
        if self.done(&own) == 0 {
            return Some(own);
        }
        // Where nothing moves, nothing is to be learned.
        if self.capacity(way) == Rate::ZERO || self.is_over(way, 1.0) {
            return None;
        }
        let search = || {
            // Whether several streams are faster is asked before windows are looked for, which
            // may take all the time that there is.
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

    /// Returns whether another measurement would take more than this share of the time, or of the
    /// data.
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

    /// The time that a direction has taken.
    fn spent_on(&self, way: Direction) -> Span {
        self.taken_of(way).map(|one| one.spent).sum()
    }

    /// The next of the congestion controls with which the kernel does the rest by itself.
    fn next_control(&self, way: Direction) -> Option<Setting> {
        let own = Setting::autotuned(way);
        let usual = self.point(&own).and_then(|point| point.congestion);
        let offered = self.plan.congestions.iter().copied().filter(|one| Some(*one) != usual);
        offered
            .filter(|one| !self.refused.contains(&(way, *one)))
            .map(|one| Setting { congestion: Some(one), ..own })
            .find(|setting| self.done(setting) == 0)
    }

    /// Several streams that the kernel sizes, and twice as many as long as that is clearly
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

    /// The next value along an axis: of those that were named, or of the search for the least
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
            // A value that was measured and does not help is not asked for again.
            .filter(|setting| self.done(setting) == 0)
    }

    /// What tells whether the path itself loses data: so little in flight that no queue can be
    /// full of it, paced where that is offered. Nothing where hardly anything was lost, or where
    /// values are named.
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

    /// What decides, as often as planned: what the kernel does by itself, what is recommended
    /// and what is the fastest, by turns.
    fn next_repeat(&self, way: Direction) -> Option<Setting> {
        let points: Vec<Point> = self.of(way).collect();
        let choice = Choice::of(&points, self.base_rtt())?;
        let deciding = [Setting::autotuned(way), choice.point.setting, choice.best.setting];
        let least = deciding.into_iter().min_by_key(|setting| self.done(setting))?;
        (self.done(&least) < usize::from(self.plan.repeat.max(1))).then_some(least)
    }

    /// What shows how the rate bends, where values are found: the rungs of the ladder, those near
    /// the knee first, and none far beyond it.
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
