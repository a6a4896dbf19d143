//! What a sweep is to measure.

use serde::Serialize;
use thiserror::Error;
use windlass_base::{Bytes, CongestionControl, Named, Span};

/// Which way the data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Named)]
pub enum Direction {
    /// To the other host.
    Up,
    /// From the other host.
    Down,
}

/// What a point of a sweep is set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Setting {
    /// Which way the data goes.
    pub direction: Direction,
    /// The receive window of each stream; without one the kernel sizes it.
    pub window: Option<Bytes>,
    /// The parallel streams.
    pub streams: u16,
    /// The sender's congestion control; without one the system's own.
    pub congestion: Option<CongestionControl>,
}

impl Setting {
    /// What a program gets that sets nothing, over one stream.
    pub const fn autotuned(direction: Direction) -> Self {
        Self { direction, window: None, streams: 1, congestion: None }
    }
}

/// One measurement that a sweep asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// What to set.
    pub setting: Setting,
    /// From 1: how often this was asked for.
    pub repeat: u16,
}

/// A part of what a user writes for a [`Ladder`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LadderPart {
    /// This value.
    Value(u64),
    /// The first value, the powers of two above it, and the last value.
    Range(u64, u64),
}

/// Why there is no such plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PlanError {
    /// There is nothing to measure.
    #[error("there is nothing to measure")]
    Nothing,
    /// A range ends before it begins.
    #[error("the range ends before it begins")]
    Backwards,
    /// A value is zero.
    #[error("nothing goes through at 0")]
    Zero,
    /// A value is larger than this.
    #[error("the most is {}", Bytes::new(*.0).to_string().trim_end_matches(" B"))]
    TooLarge(u64),
    /// There are more values than [`Ladder::MAX`].
    #[error("there are more than {} values", Ladder::MAX)]
    TooMany,
}

/// Values to climb, from the least to the greatest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ladder {
    rungs: Vec<u64>,
    /// Whether values between the rungs may be measured, too: not where the user
    /// has named each one.
    pub(super) between: bool,
}

impl Ladder {
    /// The most rungs: a power of two for each bit.
    pub const MAX: usize = 64;

    /// A ladder of these steps, none beyond `most`.
    ///
    /// # Errors
    /// Where it would have no rung, or too many, or one that cannot be.
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

    /// The values.
    pub fn rungs(&self) -> &[u64] {
        &self.rungs
    }
}

/// What a sweep is to measure: what the kernel does by itself, windows with one stream, and
/// numbers of streams with one window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// The directions, one after the other.
    pub directions: Vec<Direction>,
    /// Congestion controls that are tried beside the system's own.
    pub congestions: Vec<CongestionControl>,
    /// The windows, in bytes.
    pub windows: Ladder,
    /// The numbers of streams.
    pub streams: Ladder,
    /// The window of each of several streams.
    pub stream_window: Bytes,
    /// How often what decides is measured; where values were named, each point.
    pub repeat: u16,
    /// Whether every value of the ladders is measured, instead of a search.
    pub full: bool,
    /// The most that one measurement takes; without it, what the path asks for.
    pub longest: Option<Span>,
    /// The most that all of it takes; without it, what the path asks for.
    pub within: Option<Span>,
    /// The most data that all of it sends; without it, no bound.
    pub bytes: Option<Bytes>,
}

/// How long a measurement may take, and what it is held against.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// The time that counts is no shorter than this.
    pub least: Span,
    /// The most that it takes.
    pub longest: Span,
    /// How often both ends say what they moved: often enough to tell a round trip from the next,
    /// and not so often that it takes of a slow path.
    pub interval: Span,
    /// The highest rate so far, in bytes per second: what is certainly far below it need not be
    /// measured finer.
    pub best: Option<f64>,
    /// The most data that it sends.
    pub bytes: Option<Bytes>,
}

impl Plan {
    /// The largest window of TCP (RFC 7323 section 2.3), in bytes.
    pub const LARGEST_WINDOW: u64 = 1_073_725_440;
    /// The most streams of one measurement.
    pub const MAX_STREAMS: u64 = 256;
    /// The most repeats of a point.
    pub const MAX_REPEATS: u16 = 100;
}
