//! When the program in the device, or the printer behind it, reads.

use windlass_base::{Span, Timestamp};

use super::habits::{Drain, StallEvery, Stalls};
use super::look::Reading;
use crate::link::Line;
use crate::random::Random;

/// What the reader waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waits {
    /// For data only.
    ForData,
    /// For what it read last to be printed.
    Printing { until: Timestamp },
    /// For data to be acknowledged.
    ForAck,
    /// For its time after an ACK to come, to read up to a position.
    AfterAck { until: Timestamp, up_to: u64 },
    /// For a stall to end.
    Stalled { until: Timestamp },
}

/// The reader of one connection.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    drain: Drain,
    stalls: Option<Stalls>,
    /// The printer, which takes a byte's time as a line does.
    printer: Line,
    waits: Waits,
    /// How far it has read.
    pub(super) position: u64,
    /// How far ACKs have gone.
    acknowledged: u64,
    /// Where or when the next stall comes.
    next_stall: NextStall,
    random: Random,
}

/// Where or when the next stall comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NextStall {
    Never,
    At(u64),
    After(Timestamp),
}

impl NextStall {
    fn new(stalls: Option<Stalls>, now: Timestamp, position: u64) -> Self {
        match stalls.map(|stalls| stalls.every) {
            None => Self::Never,
            Some(StallEvery::Bytes(bytes)) => Self::At(position + bytes.get().max(1)),
            Some(StallEvery::Time(span)) => Self::After(now + span),
        }
    }
}

impl Reader {
    pub(super) fn new(
        drain: Drain,
        stalls: Option<Stalls>,
        now: Timestamp,
        position: u64,
        random: Random,
    ) -> Self {
        let (rate, waits) = match drain {
            Drain::AtOnce => (None, Waits::ForData),
            Drain::Rate { rate, .. } => (Some(rate), Waits::ForData),
            Drain::AfterAck(_) => (None, Waits::ForAck),
        };
        Self {
            drain,
            stalls,
            printer: Line::new(rate, None),
            waits,
            position,
            acknowledged: position,
            next_stall: NextStall::new(stalls, now, position),
            random,
        }
    }

    /// What it does at this time, with the data up to `arrived`.
    pub(super) fn reading(&self, now: Timestamp, arrived: u64) -> Reading {
        match self.waits {
            Waits::Stalled { until } => Reading::Stalled { left: until.since(now).or_zero() },
            _ if arrived <= self.position => Reading::Waiting,
            Waits::ForData => Reading::AtOnce,
            Waits::Printing { .. } => Reading::Printing,
            Waits::ForAck => Reading::BeforeAck,
            Waits::AfterAck { .. } => Reading::AfterAck,
        }
    }

    pub(super) const fn is_stalled(&self) -> bool {
        matches!(self.waits, Waits::Stalled { .. })
    }

    /// An ACK up to `position` goes out.
    pub(super) fn acknowledged(&mut self, now: Timestamp, position: u64) {
        self.acknowledged = self.acknowledged.max(position);
        let Drain::AfterAck(latency) = self.drain else { return };
        let until = now + self.random.around(latency.typical, latency.spread);
        match &mut self.waits {
            Waits::ForAck if self.acknowledged > self.position => {
                self.waits = Waits::AfterAck { until, up_to: self.acknowledged };
            }
            Waits::AfterAck { up_to, .. } => *up_to = self.acknowledged,
            _ => {}
        }
    }

    /// When there is something to do with the data up to `arrived`.
    pub(super) fn due(&self, arrived: u64) -> Option<Timestamp> {
        match self.waits {
            Waits::Stalled { until } | Waits::AfterAck { until, .. } => Some(until),
            _ if arrived <= self.position => None,
            Waits::ForData => Some(Timestamp::from_nanos(i64::MIN)),
            Waits::Printing { until } => Some(until),
            Waits::ForAck => None,
        }
    }

    /// Reads all up to `arrived`: the connection is over, and what is left holds
    /// nobody back.
    pub(super) fn finish(&mut self, arrived: u64) -> u64 {
        let amount = arrived - self.position;
        self.position = arrived;
        amount
    }

    /// Does what is due: the number of bytes that it reads now, perhaps none.
    pub(super) fn read(&mut self, now: Timestamp, arrived: u64) -> u64 {
        if let Waits::Stalled { .. } = self.waits {
            self.next_stall = NextStall::new(self.stalls, now, self.position);
            self.waits = match self.drain {
                Drain::AfterAck(_) if self.acknowledged > self.position => {
                    Waits::AfterAck { until: now, up_to: self.acknowledged }
                }
                Drain::AfterAck(_) => Waits::ForAck,
                Drain::AtOnce | Drain::Rate { .. } => Waits::ForData,
            };
        }
        if arrived <= self.position {
            return 0;
        }
        if self.stall_begins(now) {
            return 0;
        }
        let there = arrived - self.position;
        let mut amount = match (self.drain, self.waits) {
            (Drain::Rate { chunk, .. }, _) => there.min(chunk.get().max(1)),
            (Drain::AfterAck(_), Waits::AfterAck { up_to, .. }) => {
                there.min(up_to.saturating_sub(self.position))
            }
            (Drain::AfterAck(_), _) => 0,
            (Drain::AtOnce, _) => there,
        };
        if let NextStall::At(position) = self.next_stall {
            amount = amount.min(position.saturating_sub(self.position));
        }
        self.position += amount;
        self.waits = match self.drain {
            Drain::AtOnce => Waits::ForData,
            Drain::Rate { .. } => {
                let bytes = u32::try_from(amount).unwrap_or(u32::MAX);
                let done = self.printer.enqueue(now, bytes).map_or(now, |work| work.done);
                Waits::Printing { until: done }
            }
            Drain::AfterAck(_) if self.acknowledged > self.position => {
                // A stall cut the reading short: the rest follows it.
                Waits::AfterAck { until: now, up_to: self.acknowledged }
            }
            Drain::AfterAck(_) => Waits::ForAck,
        };
        amount
    }

    /// Whether a stall begins with this attempt to read.
    fn stall_begins(&mut self, now: Timestamp) -> bool {
        let begins = match self.next_stall {
            NextStall::Never => false,
            NextStall::At(position) => self.position >= position,
            NextStall::After(time) => now >= time,
        };
        if let Some(stalls) = self.stalls
            && begins
        {
            let lasting = self.random.around(stalls.lasting.typical, stalls.lasting.spread);
            // A stall of no time would begin again and again.
            let until = now + lasting.max(Span::from_nanos(1));
            self.waits = Waits::Stalled { until };
        }
        begins
    }
}
