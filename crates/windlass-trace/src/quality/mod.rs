//! Quality of the capture: its clocks, its copies, and effects that no network has.

pub(crate) mod anomalies;
pub(crate) mod clock_jumps;
pub(crate) mod clock_step;
pub(crate) mod copies;
pub(crate) mod direction_clocks;
