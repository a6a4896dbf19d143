//! Detection of Wi-Fi power save, by the times of late ACKs.
//!
//! Beacons, which access points send every 102.4 ms, tell a dozing station of its data (100 time
//! units, IEEE 802.11 section 9.4.1.3). The data that waits for the station then comes at multiples
//! of that, however long it waits. The phase may drift as clocks do, and a beat of another length
//! (of 100 ms, as programs have) is never in step for long.

use windlass_base::thresholds::{BEACON_SPAN, ENOUGH, MOST_OF_IT, WITHHELD_ACK};
use windlass_base::{Span, Timestamp};
use windlass_macros::PackedSparsely;

use crate::follow::counts::Examples;

/// 100 time units of 1,024 µs.
const INTERVAL: i64 = 102_400_000;

/// Nanoseconds around a beacon within which an ACK may have waited for the beacon: by chance, one
/// in six would be as close.
const NEAR: i64 = 8_000_000;

/// Number of ACKs over which the phase is averaged: it then follows a clock that is off by 100 ppm,
/// and no other beat.
const FOLLOWED: u32 = 64;

/// Late ACKs, and whether they come at beacons.
#[derive(Clone, Debug, Default, PackedSparsely)]
pub(crate) struct BeaconDetector {
    first: Option<Timestamp>,
    last: Option<Timestamp>,
    /// Phase of the beacons in their interval.
    phase: i64,
    waits: u32,
    in_step: u32,
    waited: Span,
    packets: Examples,
}

/// ACKs that waited for beacons.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PowerSave {
    /// Late ACKs, each a while after the last, and those at beacons.
    pub(crate) waits: u32,
    pub(crate) in_step: u32,
    /// Total delay above the path's round trip.
    pub(crate) waited: Span,
    pub(crate) packets: Examples,
}

impl BeaconDetector {
    /// Takes an ACK that came `late` after the path's round trip.
    pub(crate) fn came(&mut self, time: Timestamp, late: Span, packet: u64) {
        let follows = self.last.is_some_and(|last| time.since(last) < WITHHELD_ACK.get());
        self.last = Some(time);
        if follows {
            return;
        }
        let place = time.as_nanos().rem_euclid(INTERVAL);
        if self.first.is_none() {
            (self.first, self.phase) = (Some(time), place);
        }
        let off = (place - self.phase + INTERVAL / 2).rem_euclid(INTERVAL) - INTERVAL / 2;
        self.waits = self.waits.saturating_add(1);
        if off.abs() <= NEAR {
            self.in_step = self.in_step.saturating_add(1);
            self.waited += late;
            self.packets.add(packet);
        }
        let follows = off / i64::from(self.waits.min(FOLLOWED));
        self.phase = (self.phase + follows).rem_euclid(INTERVAL);
    }

    /// Returns the waits for beacons, if late ACKs are in step with them for long.
    pub(crate) fn power_save(self) -> Option<PowerSave> {
        let Self { waits, in_step, waited, packets, .. } = self;
        let spanned = self.last?.since(self.first?);
        let is_shown = waits >= ENOUGH.to::<u32>()
            && f64::from(in_step) >= f64::from(waits) * MOST_OF_IT.get()
            && spanned >= BEACON_SPAN.get();
        is_shown.then_some(PowerSave { waits, in_step, waited, packets })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Late ACKs at these times, in microseconds.
    fn told(times: impl IntoIterator<Item = i64>) -> Option<PowerSave> {
        let mut detector = BeaconDetector::default();
        for (packet, time) in (1..).zip(times) {
            let time = Timestamp::ZERO + Span::from_micros(time);
            detector.came(time, Span::from_millis(60), packet);
        }
        detector.power_save()
    }

    #[test]
    fn late_acks_at_beacons_are_of_a_station_that_dozes() {
        // Every fourth beacon or so, a few milliseconds late, by a clock that is off by 100 ppm.
        let beacon = |index: i64| index * 102_400 + index * 10 + index * 37 % 5 * 1_000;
        let waits = ENOUGH.to::<i64>();
        let power_save = told((0..waits).map(|index| beacon(index * 4 + index % 2))).unwrap();
        assert_eq!(i64::from(power_save.in_step), waits);
        assert_eq!(power_save.waited, Span::from_millis(60 * waits));
        assert!(told((1..waits).map(|index| beacon(index * 4))).is_none(), "too few");
        assert!(told((0..waits).map(beacon)).is_none(), "too brief");
        assert!(told((0..2_000).map(|index| beacon(index * 2))).is_some());
    }

    #[test]
    fn other_beats_are_in_step_for_no_time() {
        for every in [100_000, 40_000, 200_000, 25_000, 102_000, 1_000_000] {
            assert!(told((0..200).map(|index| index * every)).is_none(), "{every}");
        }
        // The first may be none of a beacon.
        let late_start = (0..60).map(|index| if index == 0 { 40_000 } else { index * 204_800 });
        assert!(told(late_start).is_some());
        let chance = (0..200_i64).scan(7_u64, |state, index| {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            Some(index * 150_000 + (*state >> 40).cast_signed() % 102_400)
        });
        assert!(told(chance).is_none());
    }

    #[test]
    fn acks_behind_the_first_are_of_the_same_wait() {
        let times = (0..40_i64).flat_map(|index| [0, 5_000, 15_000].map(|at| index * 204_800 + at));
        assert_eq!(told(times).unwrap().waits, 40);
    }
}
