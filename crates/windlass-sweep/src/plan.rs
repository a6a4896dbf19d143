//! Plan of a sweep.

use serde::Serialize;
use thiserror::Error;
use windlass_base::{Bytes, CongestionControl, Named, Span};

/// Direction of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Named)]
pub enum Direction {
    /// To the other host.
    Up,
    /// From the other host.
    Down,
}

/// Setting of a point of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Setting {
    /// Direction of the data.
    pub direction: Direction,
    /// Receive window of each stream; if none is set, the kernel sizes it.
    pub window: Option<Bytes>,
    /// Number of parallel streams.
    pub streams: u16,
    /// Sender's congestion control; the system's own if none is set.
    pub congestion: Option<CongestionControl>,
}

impl Setting {
    /// Returns the setting of a program that sets nothing, over one stream.
    pub const fn autotuned(direction: Direction) -> Self {
        Self { direction, window: None, streams: 1, congestion: None }
    }
}

/// One requested measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The setting.
    pub setting: Setting,
    /// Number of this repetition, from 1.
    pub repeat: u16,
}

/// Part of the user's text for a [`Ladder`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LadderPart {
    /// This value.
    Value(u64),
    /// The first value, the powers of two above it, and the last value.
    Range(u64, u64),
}

/// Errors of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PlanError {
    /// There is nothing to measure.
    #[error("there is nothing to measure")]
    Nothing,
    /// A range ends before it begins.
    #[error("the range ends before it begins")]
    Backwards,
    /// A value is zero.
    #[error("0 is not allowed")]
    Zero,
    /// A value is larger than this.
    #[error("the maximum is {}", Bytes::new(*.0).to_string().trim_end_matches(" B"))]
    TooLarge(u64),
    /// There are more values than [`Ladder::MAX`].
    #[error("there are more than {} values", Ladder::MAX)]
    TooMany,
}

/// Values to climb, in ascending order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ladder {
    rungs: Vec<u64>,
    /// True if values between the rungs may be measured, too: not if the user named each value.
    pub(super) between: bool,
}

impl Ladder {
    /// Maximum number of rungs: a power of two for each bit.
    pub const MAX: usize = 64;

    /// Makes a ladder of these steps, none beyond `most`.
    ///
    /// # Errors
    /// Fails if the ladder would have no rung, too many, or an impossible one.
    pub fn new(steps: &[LadderPart], most: u64) -> Result<Self, PlanError> {
        let mut rungs = Vec::new();
        for step in steps {
            let (first, last) = match *step {
                LadderPart::Value(value) => (value, value),
                LadderPart::Range(first, last) => (first, last),
            };
            match (first, last) {
                (0, _) | (_, 0) => return Err(PlanError::Zero),
                (first, last) if first > last => return Err(PlanError::Backwards),
                (_, last) if last > most => return Err(PlanError::TooLarge(most)),
                _ => {}
            }
            rungs.push(first);
            let powers = (0..u64::BITS).map(|bit| 1_u64 << bit);
            rungs.extend(powers.filter(|power| (first..last).contains(power)));
            rungs.push(last);
            if rungs.len() > 16 * Self::MAX {
                return Err(PlanError::TooMany);
            }
        }
        rungs.sort_unstable();
        rungs.dedup();
        match rungs.len() {
            0 => Err(PlanError::Nothing),
            many if many > Self::MAX => Err(PlanError::TooMany),
            _ => {
                let between = steps.iter().any(|step| matches!(step, LadderPart::Range(..)));
                Ok(Self { rungs, between })
            }
        }
    }

    /// Returns the values.
    pub fn rungs(&self) -> &[u64] {
        &self.rungs
    }
}

/// Plan of the measurements: the kernel by itself, windows with one stream, and numbers of streams
/// with one window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// Directions, one after the other.
    pub directions: Vec<Direction>,
    /// Congestion controls to test beside the system's own.
    pub congestions: Vec<CongestionControl>,
    /// Windows, in bytes.
    pub windows: Ladder,
    /// Numbers of streams.
    pub streams: Ladder,
    /// Window of each of several streams.
    pub stream_window: Bytes,
    /// Number of measurements of each decisive point; of each point, if values were named.
    pub repeat: u16,
    /// True if every value of the ladders is measured, without a search.
    pub full: bool,
    /// Maximum duration of one measurement; by the path if none is set.
    pub longest: Option<Span>,
    /// Maximum duration of the sweep; by the path if none is set.
    pub within: Option<Span>,
    /// Maximum data of the sweep; unlimited if none is set.
    pub bytes: Option<Bytes>,
}

/// Limits of a measurement, and the rate to compare it with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Shortest counted time.
    pub least: Span,
    /// Maximum duration.
    pub longest: Span,
    /// Interval between the reports of both ends: short enough to distinguish round trips, and long
    /// enough to spare a slow path.
    pub interval: Span,
    /// Highest rate so far, in bytes per second. A rate that is certainly far below it need not be
    /// measured more precisely.
    pub best: Option<f64>,
    /// Maximum data to send.
    pub bytes: Option<Bytes>,
}

impl Plan {
    /// Largest TCP window (RFC 7323 section 2.3), in bytes.
    pub const LARGEST_WINDOW: u64 = 1_073_725_440;
    /// Maximum number of streams of one measurement.
    pub const MAX_STREAMS: u64 = 256;
    /// Maximum number of repetitions of a point.
    pub const MAX_REPEATS: u16 = 100;
}
