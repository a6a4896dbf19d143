//! The unit that rates are read in, for commands that offer a choice.

use windlass_base::RateUnit;

/// The letters of iperf's `-f`.
pub(super) const UNITS: [(&str, &str, RateUnit); 6] = [
    ("k", "kbit/s", RateUnit::Kilobits),
    ("m", "Mbit/s", RateUnit::Megabits),
    ("g", "Gbit/s", RateUnit::Gigabits),
    ("K", "KiB/s (1,024 bytes)", RateUnit::Kibibytes),
    ("M", "MiB/s", RateUnit::Mebibytes),
    ("G", "GiB/s", RateUnit::Gibibytes),
];
