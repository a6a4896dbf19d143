//! The unit that rates are read in, for commands that offer a choice.

use windlass_base::{Rate, RateUnit};

use crate::print::Text;

/// The letters of iperf's `-f`.
pub(super) const UNITS: [(&str, &str, RateUnit); 6] = [
    ("k", "kbit/s", RateUnit::Kilobits),
    ("m", "Mbit/s", RateUnit::Megabits),
    ("g", "Gbit/s", RateUnit::Gigabits),
    ("K", "KiB/s, of 1,024 bytes", RateUnit::Kibibytes),
    ("M", "MiB/s", RateUnit::Mebibytes),
    ("G", "GiB/s", RateUnit::Gibibytes),
];

/// A rate in a unit, or as it reads best.
pub(super) fn read(rate: Rate, unit: Option<RateUnit>) -> Text {
    unit.map_or_else(|| rate.in_bits().into(), |unit| Text::from(unit.read(rate)))
}
