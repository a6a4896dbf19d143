//! Segments that were sent and are not acknowledged: the scoreboard of RFC 6675.

use std::collections::VecDeque;

use windlass_base::{Span, Timestamp};

/// Number of duplicate ACKs, or of later segments that arrived, after which a segment counts as
/// lost (RFC 5681 section 3.2, RFC 6675 section 2).
pub(super) const DUPLICATES: u64 = 3;

/// Number of SACK blocks that are remembered, so that a block repeated in each ACK is not processed
/// each time.
const REMEMBERED: usize = 4;

/// State of a segment, as far as the sender knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SegmentState {
    UnderWay,
    /// The peer has it, beyond a gap.
    Sacked,
    /// Lost, and not sent again.
    Lost,
    /// Lost, and under way again.
    Again,
}

/// A segment that was sent.
#[derive(Clone, Copy, Debug)]
struct SentSegment {
    start: u64,
    end: u64,
    time: Timestamp,
    whereabouts: SegmentState,
    /// True if the segment was ever retransmitted: then it gives no round-trip time (Karn).
    again: bool,
}

impl SentSegment {
    const fn bytes(&self) -> u64 {
        self.end - self.start
    }
}

/// Data that an ACK acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AckedData {
    pub(super) bytes: u64,
    /// Time at which the last covered segment was sent, unless one of them was retransmitted.
    pub(super) sent: Option<Timestamp>,
}

/// All outstanding segments, in the order of their numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Scoreboard {
    sent: VecDeque<SentSegment>,
    /// Bytes under way, first transmissions and retransmissions (the pipe of RFC 6675).
    pub(super) pipe: u64,
    /// Bytes that are lost and not retransmitted yet.
    pub(super) lost: u64,
    /// Bytes that the peer has acknowledged by SACK.
    pub(super) sacked: u64,
    /// End of the furthest sacked segment.
    furthest_sacked: u64,
    /// Position below which all losses have been marked.
    judged: u64,
    /// Position below which no lost segment waits for its retransmission.
    resent: u64,
    blocks: [(u64, u64); REMEMBERED],
    /// Bytes that are known to have arrived, since the start.
    pub(super) delivered: u64,
    /// Latest departure of a segment that is known to have arrived.
    latest: Option<Timestamp>,
    /// Retransmissions in the order of their departure: the time, and the first position.
    again: VecDeque<(Timestamp, u64)>,
}

impl Scoreboard {
    pub(super) fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// Returns the bytes that were sent and not acknowledged: the flight of RFC 5681.
    pub(super) const fn flight(&self) -> u64 {
        self.pipe + self.lost + self.sacked
    }

    /// Records that new data leaves.
    pub(super) fn push(&mut self, start: u64, end: u64, now: Timestamp) {
        let whereabouts = SegmentState::UnderWay;
        self.sent.push_back(SentSegment { start, end, time: now, whereabouts, again: false });
        self.pipe += end - start;
    }

    /// Records that everything before `position` is acknowledged. A copy that left after
    /// `plausible` is too young for that, so an earlier copy arrived.
    pub(super) fn acknowledge(&mut self, position: u64, plausible: Timestamp) -> AckedData {
        let mut done = AckedData::default();
        let mut any_again = false;
        while let Some(first) = self.sent.front_mut()
            && first.start < position
        {
            let bytes = first.end.min(position) - first.start;
            let whereabouts = first.whereabouts;
            if whereabouts != SegmentState::Sacked {
                self.delivered += bytes;
                if first.time <= plausible {
                    self.latest = self.latest.max(Some(first.time));
                }
            }
            done.bytes += bytes;
            any_again |= first.again;
            if first.end > position {
                first.start = position;
            } else {
                // A sacked segment arrived earlier: it gives no round-trip time.
                if whereabouts != SegmentState::Sacked {
                    done.sent = Some(first.time);
                }
                self.sent.pop_front();
            }
            *self.count(whereabouts) -= bytes;
        }
        if any_again {
            done.sent = None;
        }
        if self.sent.is_empty() {
            self.again.clear();
        }
        done
    }

    fn count(&mut self, whereabouts: SegmentState) -> &mut u64 {
        match whereabouts {
            SegmentState::UnderWay | SegmentState::Again => &mut self.pipe,
            SegmentState::Lost => &mut self.lost,
            SegmentState::Sacked => &mut self.sacked,
        }
    }

    fn set(&mut self, place: usize, whereabouts: SegmentState) {
        let Some(sent) = self.sent.get_mut(place) else { return };
        let (before, bytes) = (sent.whereabouts, sent.bytes());
        sent.whereabouts = whereabouts;
        *self.count(before) -= bytes;
        *self.count(whereabouts) += bytes;
    }

    /// Returns the index of the first segment that ends after `position`.
    fn place(&self, position: u64) -> usize {
        self.sent.partition_point(|sent| sent.end <= position)
    }

    /// Records that the peer has `left..right`. Returns whether that is news.
    pub(super) fn sack(&mut self, left: u64, right: u64, plausible: Timestamp) -> bool {
        let (Some(first), Some(last)) = (self.sent.front(), self.sent.back()) else { return false };
        if left >= right || left < first.start || right > last.end {
            return false;
        }
        let known = self.blocks.iter().find(|(known, end)| *known <= left && left <= *end);
        let from = known.map_or(left, |(_, end)| left.max(*end));
        self.blocks.rotate_right(1);
        self.blocks[0] = (left, right);
        let mut news = false;
        let mut place = self.place(from);
        while let Some(sent) = self.sent.get(place).copied()
            && sent.end <= right
        {
            if sent.start >= left && sent.whereabouts != SegmentState::Sacked {
                self.set(place, SegmentState::Sacked);
                self.delivered += sent.bytes();
                if sent.time <= plausible {
                    self.latest = self.latest.max(Some(sent.time));
                }
                news = true;
            }
            place += 1;
        }
        if news {
            self.furthest_sacked = self.furthest_sacked.max(right);
        }
        news
    }

    /// Marks segments as lost that have more than two segments' worth of sacked data beyond them
    /// (`IsLost` of RFC 6675 section 4).
    pub(super) fn judge(&mut self, mss: u64) {
        let mut beyond = 0;
        let mut place = self.place(self.furthest_sacked.saturating_sub(1));
        while let Some(sent) = self.sent.get(place) {
            if sent.whereabouts == SegmentState::Sacked {
                beyond += sent.bytes();
            }
            if beyond > (DUPLICATES - 1) * mss {
                break;
            }
            let Some(before) = place.checked_sub(1) else { return };
            place = before;
        }
        if self.sacked == 0 {
            return;
        }
        for earlier in self.place(self.judged)..place {
            if self.sent.get(earlier).is_some_and(|sent| sent.whereabouts == SegmentState::UnderWay)
            {
                self.set(earlier, SegmentState::Lost);
            }
        }
        if let Some(sent) = self.sent.get(place) {
            self.judged = self.judged.max(sent.start);
        }
    }

    /// Marks retransmissions as lost that left more than `tolerance` before a segment that has
    /// arrived. This is RACK's rule (RFC 8985 section 6.2), for losses that RFC 6675 leaves to the
    /// timer.
    pub(super) fn judge_again(&mut self, tolerance: Span) {
        let Some(latest) = self.latest else { return };
        while let Some((time, start)) = self.again.front().copied()
            && time + tolerance < latest
        {
            self.again.pop_front();
            let place = self.place(start);
            if self.sent.get(place).is_some_and(|sent| {
                sent.whereabouts == SegmentState::Again && sent.start == start && sent.time == time
            }) {
                self.set(place, SegmentState::Lost);
                self.resent = self.resent.min(start);
            }
        }
    }

    /// Marks the first segment as lost.
    pub(super) fn lose_first(&mut self) {
        if self.sent.front().is_some_and(|sent| sent.whereabouts == SegmentState::UnderWay) {
            self.set(0, SegmentState::Lost);
            self.resent = 0;
        }
    }

    /// Marks all segments that are not sacked as lost: the timer has expired.
    pub(super) fn lose_all(&mut self) {
        for place in 0..self.sent.len() {
            if self.sent.get(place).is_some_and(|sent| sent.whereabouts != SegmentState::Sacked) {
                self.set(place, SegmentState::Lost);
            }
        }
        self.again.clear();
        self.resent = 0;
    }

    /// Divides the outstanding data into segments of at most this size.
    pub(super) fn divide(&mut self, size: u64) {
        let size = size.max(1);
        let whole = std::mem::take(&mut self.sent);
        for mut sent in whole {
            while sent.bytes() > size {
                let end = sent.start + size;
                self.sent.push_back(SentSegment { end, ..sent });
                sent.start = end;
            }
            self.sent.push_back(sent);
        }
    }

    /// Returns whether the first segment is lost and not retransmitted yet.
    pub(super) fn is_first_lost(&self) -> bool {
        self.sent.front().is_some_and(|sent| sent.whereabouts == SegmentState::Lost)
    }

    /// Returns whether the first segment is under way while later ones have arrived.
    pub(super) fn is_first_passed(&self) -> bool {
        self.sent.front().is_some_and(|sent| {
            sent.whereabouts == SegmentState::UnderWay && sent.end <= self.furthest_sacked
        })
    }

    /// Returns the first lost segment that is to be retransmitted.
    pub(super) fn next_lost(&self) -> Option<(u64, u64)> {
        if self.lost == 0 {
            return None;
        }
        let from = self.place(self.resent);
        let lost =
            self.sent.iter().skip(from).find(|sent| sent.whereabouts == SegmentState::Lost)?;
        Some((lost.start, lost.end))
    }

    /// Records that the lost segment at `start` leaves again, up to `end`. The rest of it stays
    /// lost.
    pub(super) fn send_again(&mut self, start: u64, end: u64, now: Timestamp) {
        let place = self.place(start);
        let Some(sent) = self.sent.get_mut(place) else { return };
        sent.time = now;
        sent.again = true;
        if end < sent.end {
            let rest = SentSegment { start: end, ..*sent };
            sent.end = end;
            self.sent.insert(place + 1, rest);
        }
        self.set(place, SegmentState::Again);
        self.again.push_back((now, start));
        self.resent = end;
    }
}

#[cfg(test)]
#[path = "outstanding_tests.rs"]
mod tests;
