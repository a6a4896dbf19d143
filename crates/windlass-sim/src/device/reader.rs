//! Reader of a device's data: the program in the device, or the printer behind it.

use windlass_base::{Span, Timestamp};

use super::habits::{Drain, StallEvery, Stalls};
use super::look::ReaderActivity;
use crate::link::Line;
use crate::random::Random;

/// State of the reader: the event for which it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReaderState {
    /// The reader waits for data only.
    ForData,
    /// The printer still prints the data that was read last.
    Printing { until: Timestamp },
    /// The reader waits for an ACK of the data.
    ForAck,
    /// The reader waits a fixed time after an ACK, to read up to a position.
    AfterAck { until: Timestamp, up_to: u64 },
    /// The reader stalls.
    Stalled { until: Timestamp },
}

/// The reader of one connection.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    drain: Drain,
    stalls: Option<Stalls>,
    /// The printer, whose time for each byte is that of a line.
    printer: Line,
    waits: ReaderState,
    /// Position after the last byte that was read.
    pub(super) position: u64,
    /// Position up to which ACKs have been sent.
    acknowledged: u64,
    /// Position or time of the next stall.
    next_stall: NextStall,
    random: Random,
}

/// Position or time of the next stall.
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
            Drain::AtOnce => (None, ReaderState::ForData),
            Drain::Rate { rate, .. } => (Some(rate), ReaderState::ForData),
            Drain::AfterAck(_) => (None, ReaderState::ForAck),
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

    /// Returns what the reader does at this time with the data up to `arrived`.
    pub(super) fn reading(&self, now: Timestamp, arrived: u64) -> ReaderActivity {
        match self.waits {
            ReaderState::Stalled { until } => {
                ReaderActivity::Stalled { left: until.since(now).or_zero() }
            }
            _ if arrived <= self.position => ReaderActivity::Waiting,
            ReaderState::ForData => ReaderActivity::AtOnce,
            ReaderState::Printing { .. } => ReaderActivity::Printing,
            ReaderState::ForAck => ReaderActivity::BeforeAck,
            ReaderState::AfterAck { .. } => ReaderActivity::AfterAck,
        }
    }

    pub(super) const fn is_stalled(&self) -> bool {
        matches!(self.waits, ReaderState::Stalled { .. })
    }

    /// Records that an ACK up to `position` leaves.
    pub(super) fn acknowledged(&mut self, now: Timestamp, position: u64) {
        self.acknowledged = self.acknowledged.max(position);
        let Drain::AfterAck(latency) = self.drain else { return };
        let until = now + self.random.around(latency.typical, latency.spread);
        match &mut self.waits {
            ReaderState::ForAck if self.acknowledged > self.position => {
                self.waits = ReaderState::AfterAck { until, up_to: self.acknowledged };
            }
            ReaderState::AfterAck { up_to, .. } => *up_to = self.acknowledged,
            _ => {}
        }
    }

    /// Returns the time at which the reader acts, with the data up to `arrived`.
    pub(super) fn due(&self, arrived: u64) -> Option<Timestamp> {
        match self.waits {
            ReaderState::Stalled { until } | ReaderState::AfterAck { until, .. } => Some(until),
            _ if arrived <= self.position => None,
            ReaderState::ForData => Some(Timestamp::from_nanos(i64::MIN)),
            ReaderState::Printing { until } => Some(until),
            ReaderState::ForAck => None,
        }
    }

    /// Reads everything up to `arrived`: the connection is over, and there is no reason left to
    /// wait.
    pub(super) fn finish(&mut self, arrived: u64) -> u64 {
        let amount = arrived - self.position;
        self.position = arrived;
        amount
    }

    /// Performs the due action. Returns the number of bytes that it reads now, perhaps none.
    pub(super) fn read(&mut self, now: Timestamp, arrived: u64) -> u64 {
        if let ReaderState::Stalled { .. } = self.waits {
            self.next_stall = NextStall::new(self.stalls, now, self.position);
            self.waits = match self.drain {
                Drain::AfterAck(_) if self.acknowledged > self.position => {
                    ReaderState::AfterAck { until: now, up_to: self.acknowledged }
                }
                Drain::AfterAck(_) => ReaderState::ForAck,
                Drain::AtOnce | Drain::Rate { .. } => ReaderState::ForData,
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
            (Drain::AfterAck(_), ReaderState::AfterAck { up_to, .. }) => {
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
            Drain::AtOnce => ReaderState::ForData,
            Drain::Rate { .. } => {
                let bytes = u32::try_from(amount).unwrap_or(u32::MAX);
                let done = self.printer.enqueue(now, bytes).map_or(now, |work| work.done);
                ReaderState::Printing { until: done }
            }
            Drain::AfterAck(_) if self.acknowledged > self.position => {
                // A stall interrupted the reading: the rest follows after it.
                ReaderState::AfterAck { until: now, up_to: self.acknowledged }
            }
            Drain::AfterAck(_) => ReaderState::ForAck,
        };
        amount
    }

    /// Returns whether a stall begins with this attempt to read.
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
            // A stall of zero length would begin again and again.
            let until = now + lasting.max(Span::from_nanos(1));
            self.waits = ReaderState::Stalled { until };
        }
        begins
    }
}
