//! The sweep: asks, takes, and decides what to ask next.

use std::collections::BTreeMap;

use thiserror::Error;
use windlass_base::{Bytes, Measurement, Span};

use super::measurement::Point;
use super::plan::{Direction, Ladder, Plan, Probe, Setting};
use super::search::{self, Rung};

/// Windows below this tell nothing of larger ones: with fewer than eleven full
/// segments rules against silly windows and delayed ACKs decide, and their rate
/// may stand still and then leap.
const TELLING_WINDOW: u64 = 16 << 10;
/// Large windows between two others are multiples of this, so that they read
/// well.
const WINDOW_GRAIN: u64 = 1 << 10;
/// Values that are measured between rungs whose ratio is two, until it is a
/// quarter.
const BETWEEN: usize = 2;

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
}

impl Sweep {
    /// A sweep that has measured nothing.
    pub const fn new(plan: Plan) -> Self {
        Self { plan, measured: BTreeMap::new() }
    }

    /// What it is to measure.
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What to measure next; `None` where more would add nothing.
    pub fn next(&self) -> Option<Probe> {
        let series = self.plan.directions.iter().flat_map(|way| Axis::ALL.map(|axis| (*way, axis)));
        let setting = series.into_iter().find_map(|(way, axis)| self.next_of(way, axis))?;
        let done = self.measured.get(&setting).map_or(0, Vec::len);
        Some(Probe { setting, repeat: u16::try_from(done + 1).unwrap_or(u16::MAX) })
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

    /// How many measurements were taken.
    pub fn taken(&self) -> usize {
        self.measured.values().map(Vec::len).sum()
    }

    /// How many more there may be; there are fewer where it stops early.
    pub fn left_at_most(&self) -> usize {
        let repeat = usize::from(self.plan.repeat.max(1));
        let mut left = 0;
        for way in &self.plan.directions {
            for axis in Axis::ALL {
                if self.next_of(*way, axis).is_none() {
                    continue;
                }
                let ladder = self.ladder(axis);
                let rungs = ladder.rungs().iter().map(|rung| self.setting(*way, axis, *rung));
                left += rungs.filter(|setting| !self.is_done(setting)).count() * repeat;
                if ladder.between && ladder.rungs().len() > 1 {
                    let along = self.along(*way, axis);
                    let others = along.iter().filter(|(rung, point)| {
                        !ladder.rungs().contains(&rung.value) && self.is_done(&point.setting)
                    });
                    // What is asked for now is left in any case.
                    let most = match axis {
                        // At the knee, and where the queue begins.
                        Axis::Windows => 2 * BETWEEN,
                        Axis::Streams => BETWEEN,
                    };
                    left += most.saturating_sub(others.count()).max(1) * repeat;
                }
            }
        }
        let begun = self.next().map_or(0, |probe| usize::from(probe.repeat) - 1);
        left.saturating_sub(begun)
    }

    /// The points, in the order of direction, window and streams; also those
    /// that were not yet repeated as often as planned.
    pub fn points(&self) -> Vec<Point> {
        self.measured.iter().filter_map(|(setting, all)| Point::of(*setting, all)).collect()
    }

    /// The least round trip of all measurements.
    pub(super) fn base_rtt(&self) -> Option<Span> {
        let all = self.measured.values().flatten();
        all.filter_map(|one| one.least_rtt).filter(|rtt| *rtt > Span::ZERO).min()
    }

    /// Windows that were not measured, as those before them added nothing.
    pub fn windows_left_out(&self, way: Direction) -> Vec<Bytes> {
        self.left_out(way, Axis::Windows).into_iter().map(Bytes::new).collect()
    }

    /// Numbers of streams that were not measured, for the same reason.
    pub fn streams_left_out(&self, way: Direction) -> Vec<u64> {
        self.left_out(way, Axis::Streams)
    }

    fn left_out(&self, way: Direction, axis: Axis) -> Vec<u64> {
        let climbed = self.climbed(way, axis);
        if !self.is_flat(axis, &climbed) {
            return Vec::new();
        }
        let rungs = self.ladder(axis).rungs().iter().copied();
        rungs.filter(|rung| !self.measured.contains_key(&self.setting(way, axis, *rung))).collect()
    }

    const fn ladder(&self, axis: Axis) -> &Ladder {
        match axis {
            Axis::Windows => &self.plan.windows,
            Axis::Streams => &self.plan.streams,
        }
    }

    fn setting(&self, direction: Direction, axis: Axis, value: u64) -> Setting {
        match axis {
            Axis::Windows => Setting { direction, window: Bytes::new(value), streams: 1 },
            Axis::Streams => {
                let streams = u16::try_from(value).unwrap_or(u16::MAX);
                Setting { direction, window: self.plan.stream_window, streams }
            }
        }
    }

    /// The value of a setting that is varied along the axis.
    fn value(&self, way: Direction, axis: Axis, setting: &Setting) -> Option<u64> {
        let value = match axis {
            Axis::Windows => setting.window.get(),
            Axis::Streams => u64::from(setting.streams),
        };
        (*setting == self.setting(way, axis, value)).then_some(value)
    }

    fn is_done(&self, setting: &Setting) -> bool {
        let done = self.measured.get(setting).map_or(0, Vec::len);
        done >= usize::from(self.plan.repeat.max(1))
    }

    /// All that was measured along the axis, in order.
    pub(super) fn along(&self, way: Direction, axis: Axis) -> Vec<(Rung, Point)> {
        // A number of streams is asked for its rate alone.
        let base = self.base_rtt().filter(|_| axis == Axis::Windows);
        let mut along: Vec<(Rung, Point)> = self
            .measured
            .iter()
            .filter_map(|(setting, all)| {
                let value = self.value(way, axis, setting)?;
                let point = Point::of(*setting, all)?;
                Some((rung(value, &point, base), point))
            })
            .collect();
        along.sort_unstable_by_key(|(rung, _)| rung.value);
        along
    }

    /// The rungs that are done, from the first to before the first that is not.
    fn climbed(&self, way: Direction, axis: Axis) -> Vec<Rung> {
        let mut climbed = Vec::new();
        for value in self.ladder(axis).rungs() {
            let setting = self.setting(way, axis, *value);
            let all = self.measured.get(&setting).filter(|_| self.is_done(&setting));
            let Some(point) = all.and_then(|all| Point::of(setting, all)) else { break };
            climbed.push(rung(*value, &point, None));
            if self.is_flat(axis, &climbed) {
                break;
            }
        }
        climbed
    }

    fn is_flat(&self, axis: Axis, climbed: &[Rung]) -> bool {
        let least = match axis {
            Axis::Windows => TELLING_WINDOW,
            Axis::Streams => 0,
        };
        !self.plan.full && search::is_flat(climbed, least)
    }

    /// What to measure next along an axis: the next rung, or a value between the
    /// knee and the rung below it.
    fn next_of(&self, way: Direction, axis: Axis) -> Option<Setting> {
        let ladder = self.ladder(axis);
        let climbed = self.climbed(way, axis);
        if !self.is_flat(axis, &climbed)
            && let Some(next) = ladder.rungs().get(climbed.len())
        {
            return Some(self.setting(way, axis, *next));
        }
        if !ladder.between {
            return None;
        }
        // Until the value is repeated as often as planned, the others ask for it
        // again.
        let along = self.along(way, axis).into_iter();
        let done = along.filter(|(_, point)| self.is_done(&point.setting));
        let rungs: Vec<Rung> = done.map(|(rung, _)| rung).collect();
        let grain = match axis {
            Axis::Windows => WINDOW_GRAIN,
            Axis::Streams => 1,
        };
        search::between(&rungs, grain).map(|value| self.setting(way, axis, value))
    }
}

fn rung(value: u64, point: &Point, base: Option<Span>) -> Rung {
    let waits = point.mean_rtt.zip(base).map(|(mean, base)| mean.as_seconds() / base.as_seconds());
    let lost = point.retransmitted.get() as f64 / point.transmitted.get().max(1) as f64;
    Rung { value, rate: point.rate.bytes_per_second(), spread: point.spread(), waits, lost }
}
