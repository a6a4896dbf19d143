//! Reading rate of the receiver's program, by the right edge of the window.
//!
//! Reading makes room, so the right edge (ACK plus window) moves as the program reads. Some
//! receivers never again offer their whole window while the sender waits for room. Such a program
//! always has unread data: it sets the rate, and neither a larger window nor another buffer would
//! raise it. A receiver that offers its whole window each time has read everything, and could have
//! read more.

use windlass_base::thresholds::{
    A_TENTH, ALIKE, AS_GOOD_AS_ALL, HALF_AGAIN, MOST_OF_IT, READER_STALLS, SEVERAL,
    SEVERAL_SEGMENTS, SHORTEST_TIME, SURE_BLOCKS, UNEVEN_EDGE,
};
use windlass_base::{Bytes, Rate, Span, Timestamp};
use windlass_macros::Packed;

use crate::estimate::distribution::Distribution;
use crate::follow::ack::Ack;
use crate::follow::counts::Examples;

/// Unit in bytes of the recorded paces.
const UNIT: u64 = 1 << 16;

/// Block of the right edge's progress.
#[derive(Clone, Copy, Debug, PartialEq, Packed)]
struct EdgeBlock {
    since: Timestamp,
    /// Edge at its beginning.
    edge: u64,
    /// Largest window since, and the largest if the data of the same ACK were read.
    high: u64,
    covered: u64,
    /// ACKs that moved the edge, and those for which the sender waited without room.
    steps: u32,
    waited: u32,
}

/// Evidence of the receiver's right edge on its program.
#[derive(Clone, Debug, Default, Packed)]
pub(crate) struct Reader {
    /// Largest window since a part of one was taken back.
    most: u64,
    block: Option<EdgeBlock>,
    /// The time for [`UNIT`] bytes, by block.
    paces: Distribution,
    /// The sums over blocks of the largest windows, and of the largest of all.
    highs: u64,
    covered: u64,
    wholes: u64,
    /// Two full segments for each block.
    delayed: u64,
    /// Bytes by which the edge moved in these blocks, and the part of them that differed from the
    /// acknowledged data.
    moved: u64,
    uneven: u64,
    block_uneven: u64,
    /// Time of the last ACK of new data; and bytes by which the edge moved in other ACKs, some time
    /// behind it.
    advanced_at: Timestamp,
    own: u64,
    /// Offers of small pieces of a nearly closed window, and their sizes.
    silly: u64,
    silly_bytes: u64,
    silly_packets: Examples,
}

/// An ACK that reached the sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowUpdate<'a> {
    pub(crate) ack: &'a Ack,
    /// Its window in bytes.
    pub(crate) window: u64,
    /// The largest window since a part of one was taken back.
    pub(crate) most: u64,
    /// True if a part is taken back by this ACK.
    pub(crate) taken: bool,
    /// Bytes acknowledged.
    pub(crate) advanced: u64,
    /// The right edge before it.
    pub(crate) edge: u64,
    /// True if the sender had no room for a segment.
    pub(crate) waited: bool,
    /// A full segment.
    pub(crate) size: u64,
    /// Rounding unit of windows.
    pub(crate) grain: u64,
}

/// A program that always has data to read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadingRate {
    /// Median reading rate.
    pub(crate) rate: Rate,
    /// True if it reads as fast nearly all of the time.
    pub(crate) steady: bool,
    /// True if it was seen for long.
    pub(crate) sure: bool,
}

impl Reader {
    /// Takes an ACK with its window.
    pub(crate) fn offered(&mut self, offered: WindowUpdate<'_>) {
        let WindowUpdate { ack: &Ack { time, number, ack, .. }, window, advanced, size, .. } =
            offered;
        let edge = ack.saturating_add(window);
        self.most = offered.most;
        if offered.taken {
            self.block = None;
        }
        let moved = edge.saturating_sub(offered.edge);
        // RFC 1122 section 4.2.3.3, RFC 9293 section 3.8.6.2.2: the edge stays where it
        // is until it can move by a segment, or by half the buffer.
        let least = size.min(self.most / 2);
        if moved > 0 && moved < least && window < least && offered.waited {
            self.silly += 1;
            self.silly_bytes += window;
            self.silly_packets.add(number);
        }
        let Some(block) = &mut self.block else {
            if offered.waited {
                self.begin(time, edge);
            }
            return;
        };
        block.high = block.high.max(window);
        block.covered = block.covered.max(window.saturating_add(advanced).min(self.most));
        let uneven = moved.abs_diff(advanced).saturating_sub(offered.grain);
        self.block_uneven = self.block_uneven.saturating_add(uneven);
        if advanced > 0 {
            self.advanced_at = time;
        } else if time.since(self.advanced_at) > SHORTEST_TIME.get() {
            self.own = self.own.saturating_add(moved);
        }
        if moved > 0 {
            block.steps = block.steps.saturating_add(1);
            block.waited = block.waited.saturating_add(u32::from(offered.waited));
        }
        let way = edge.saturating_sub(block.edge);
        if way < self.most.max(SEVERAL_SEGMENTS.get() * size).max(1) {
            return;
        }
        let block = *block;
        if block.waited * 2 >= block.steps {
            let took = time.since(block.since).or_zero();
            self.paces.record(took.scaled(UNIT as f64 / way as f64));
            self.highs = self.highs.saturating_add(block.high);
            self.covered = self.covered.saturating_add(block.covered);
            self.wholes = self.wholes.saturating_add(self.most);
            self.delayed = self.delayed.saturating_add(2 * size);
            self.moved = self.moved.saturating_add(way);
            self.uneven = self.uneven.saturating_add(self.block_uneven);
        }
        self.begin(time, edge);
    }

    fn begin(&mut self, since: Timestamp, edge: u64) {
        self.block = Some(EdgeBlock { since, edge, high: 0, covered: 0, steps: 0, waited: 0 });
        self.block_uneven = 0;
    }

    /// Returns whether this window is only a part of the largest.
    pub(crate) fn is_part(&self, window: u64) -> bool {
        (window as f64) < self.most as f64 * MOST_OF_IT.get()
    }

    /// Returns whether a program that goes on reading at its pace so far would have made this room
    /// long before.
    pub(crate) fn is_stalled(&self, closed: Span, moved: u64) -> bool {
        let Ok(count @ 1..) = i64::try_from(self.paces.count) else { return false };
        let usual = (self.paces.total() / count).scaled(moved as f64 / UNIT as f64);
        closed > usual.scaled(READER_STALLS.get())
    }

    /// Returns whether the receiver hardly ever offers its whole window again, though nearly. Then
    /// its program has not read all, and may never wait for data.
    pub(crate) fn leaves_some(&self) -> bool {
        self.is_told() && (self.highs as f64) < self.wholes as f64 * AS_GOOD_AS_ALL.get()
    }

    /// Returns whether its right edge moves apart from the ACKs of as much data, as by a program
    /// that has not always read all.
    pub(crate) fn moves_out_of_step(&self) -> bool {
        self.is_told() && self.uneven as f64 > self.moved as f64 * UNEVEN_EDGE.get()
    }

    /// Returns the share of the edge's progress that differs from the acknowledged data.
    pub(crate) fn out_of_step(&self) -> f64 {
        self.uneven as f64 / self.moved.max(1) as f64
    }

    /// Returns the share of the edge's progress that came some time behind the ACK of new data.
    pub(crate) fn own_room(&self) -> f64 {
        self.own as f64 / self.moved.max(1) as f64
    }

    /// Returns the mean of the largest windows of blocks, as a part of the largest of all.
    pub(crate) fn largest(&self) -> f64 {
        self.highs as f64 / self.wholes.max(1) as f64
    }

    /// Returns the 90th percentile of the blocks' times over the median; `None` if a standing clock
    /// leaves half of them no time.
    pub(crate) fn spread(&self) -> Option<f64> {
        let (median, most) = self.paces.quantile(0.5).zip(self.paces.quantile(0.9))?;
        (median > Span::ZERO).then(|| most.as_seconds() / median.as_seconds())
    }

    /// Returns whether the evidence spans enough time.
    pub(crate) fn is_told(&self) -> bool {
        self.paces.count >= SEVERAL.get()
    }

    /// Returns whether nearly all blocks took as long.
    pub(crate) fn is_steady(&self) -> bool {
        let quantile = |quantile| self.paces.quantile(quantile);
        quantile(0.5)
            .zip(quantile(0.9))
            .is_some_and(|(median, most)| self.is_told() && most <= median.scaled(HALF_AGAIN.get()))
    }

    /// Returns whether most of the room came apart from the ACKs of as much data: with reading, and
    /// not with arrivals.
    pub(crate) fn makes_room_by_itself(&self) -> bool {
        self.is_told() && self.uneven * 2 >= self.moved
    }

    /// Returns its reading, if the reader sets the rate.
    pub(crate) fn reading(&self) -> Option<ReadingRate> {
        let part = |bytes: u64| (bytes as f64) < self.wholes as f64 * MOST_OF_IT.get();
        let uneven = self.uneven as f64 / self.moved.max(1) as f64;
        // A receiver that had read all but what a delayed ACK covers (RFC 1122 section
        // 4.2.3.2) would have offered all but two segments.
        let with_delayed = self.highs.saturating_add(self.delayed) as f64;
        let never_empty =
            part(self.covered) || with_delayed < self.wholes as f64 * AS_GOOD_AS_ALL.get();
        let least = if never_empty { UNEVEN_EDGE.get() } else { ALIKE.get() };
        if !self.is_told() || !part(self.highs) || uneven < least {
            return None;
        }
        let median = self.paces.median().filter(|median| *median > Span::ZERO)?;
        Some(ReadingRate {
            rate: Bytes::new(UNIT).per(median),
            steady: self.is_steady(),
            sure: self.paces.count >= SURE_BLOCKS.get()
                && (never_empty || self.own as f64 >= self.moved as f64 * A_TENTH.get()),
        })
    }

    /// Returns the number of offers below a segment and half the buffer, and their mean.
    pub(crate) fn silly(&self) -> Option<(u64, Bytes)> {
        Some((self.silly, Bytes::new(self.silly_bytes.checked_div(self.silly)?)))
    }

    /// Returns the first packets with such offers.
    pub(crate) fn silly_packets(&self) -> &[u64] {
        self.silly_packets.as_slice()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_without_a_time_have_no_spread() {
        let mut reader = Reader::default();
        assert_eq!(reader.spread(), None);
        for millis in [0, 0, 0, 1_000] {
            reader.paces.record(Span::from_millis(millis));
        }
        assert_eq!(reader.spread(), None);
        for _ in 0..6 {
            reader.paces.record(Span::from_millis(500));
        }
        assert_eq!(reader.spread(), Some(1.0));
    }
}
