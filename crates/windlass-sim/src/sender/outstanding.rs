//! What was sent and is not acknowledged: the scoreboard of RFC 6675.

use std::collections::VecDeque;

use windlass_base::{Span, Timestamp};

/// Duplicate ACKs, or segments beyond it that arrived, after which a segment
/// counts as lost (RFC 5681 section 3.2, RFC 6675 section 2).
pub(super) const DUPLICATES: u64 = 3;

/// SACK blocks that are remembered, so that a block which comes with each ACK
/// is not gone through each time.
const REMEMBERED: usize = 4;

/// Where a segment is, as far as the sender knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whereabouts {
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
struct Sent {
    start: u64,
    end: u64,
    time: Timestamp,
    whereabouts: Whereabouts,
    /// Whether it was ever sent again: then no round trip can be told from it.
    again: bool,
}

impl Sent {
    const fn bytes(&self) -> u64 {
        self.end - self.start
    }
}

/// What an ACK brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Acknowledged {
    pub(super) bytes: u64,
    /// When the last segment that it covers was sent, unless one of them was
    /// sent again.
    pub(super) sent: Option<Timestamp>,
}

/// All that is outstanding, in the order of its numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Outstanding {
    sent: VecDeque<Sent>,
    /// Bytes under way for the first time or again (the pipe of RFC 6675).
    pub(super) pipe: u64,
    /// Bytes that are lost and not sent again.
    pub(super) lost: u64,
    /// Bytes that are sacked.
    pub(super) sacked: u64,
    /// The end of the furthest sacked segment.
    furthest_sacked: u64,
    /// Below this position all that is lost has been marked.
    judged: u64,
    /// Below this position nothing lost waits to be sent again.
    resent: u64,
    blocks: [(u64, u64); REMEMBERED],
    /// Bytes that are known to have arrived, ever.
    pub(super) delivered: u64,
    /// When the latest segment left that is known to have arrived.
    latest: Option<Timestamp>,
    /// Segments that left again, in that order: when, and where they begin.
    again: VecDeque<(Timestamp, u64)>,
}

impl Outstanding {
    pub(super) fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// Bytes that were sent and not acknowledged: the flight of RFC 5681.
    pub(super) const fn flight(&self) -> u64 {
        self.pipe + self.lost + self.sacked
    }

    /// New data leaves.
    pub(super) fn push(&mut self, start: u64, end: u64, now: Timestamp) {
        let whereabouts = Whereabouts::UnderWay;
        self.sent.push_back(Sent { start, end, time: now, whereabouts, again: false });
        self.pipe += end - start;
    }

    /// Everything before `position` is acknowledged. What left after
    /// `plausible` is too young for that, so an earlier copy of it arrived.
    pub(super) fn acknowledge(&mut self, position: u64, plausible: Timestamp) -> Acknowledged {
        let mut done = Acknowledged::default();
        let mut any_again = false;
        while let Some(first) = self.sent.front_mut()
            && first.start < position
        {
            let bytes = first.end.min(position) - first.start;
            let whereabouts = first.whereabouts;
            if whereabouts != Whereabouts::Sacked {
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
                // What was sacked arrived earlier: its time tells nothing.
                if whereabouts != Whereabouts::Sacked {
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

    fn count(&mut self, whereabouts: Whereabouts) -> &mut u64 {
        match whereabouts {
            Whereabouts::UnderWay | Whereabouts::Again => &mut self.pipe,
            Whereabouts::Lost => &mut self.lost,
            Whereabouts::Sacked => &mut self.sacked,
        }
    }

    fn set(&mut self, place: usize, whereabouts: Whereabouts) {
        let Some(sent) = self.sent.get_mut(place) else { return };
        let (before, bytes) = (sent.whereabouts, sent.bytes());
        sent.whereabouts = whereabouts;
        *self.count(before) -= bytes;
        *self.count(whereabouts) += bytes;
    }

    /// The place of the first segment that ends after `position`.
    fn place(&self, position: u64) -> usize {
        self.sent.partition_point(|sent| sent.end <= position)
    }

    /// The peer has `left..right`. Whether that is news.
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
            if sent.start >= left && sent.whereabouts != Whereabouts::Sacked {
                self.set(place, Whereabouts::Sacked);
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

    /// Marks as lost what has more than two segments' worth of sacked data
    /// beyond it (`IsLost` of RFC 6675 section 4).
    pub(super) fn judge(&mut self, mss: u64) {
        let mut beyond = 0;
        let mut place = self.place(self.furthest_sacked.saturating_sub(1));
        while let Some(sent) = self.sent.get(place) {
            if sent.whereabouts == Whereabouts::Sacked {
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
            if self.sent.get(earlier).is_some_and(|sent| sent.whereabouts == Whereabouts::UnderWay)
            {
                self.set(earlier, Whereabouts::Lost);
            }
        }
        if let Some(sent) = self.sent.get(place) {
            self.judged = self.judged.max(sent.start);
        }
    }

    /// Marks as lost what left again more than `tolerance` before something that
    /// has arrived: RACK's rule (RFC 8985 section 6.2), for what RFC 6675 leaves
    /// to the timer.
    pub(super) fn judge_again(&mut self, tolerance: Span) {
        let Some(latest) = self.latest else { return };
        while let Some((time, start)) = self.again.front().copied()
            && time + tolerance < latest
        {
            self.again.pop_front();
            let place = self.place(start);
            if self.sent.get(place).is_some_and(|sent| {
                sent.whereabouts == Whereabouts::Again && sent.start == start && sent.time == time
            }) {
                self.set(place, Whereabouts::Lost);
                self.resent = self.resent.min(start);
            }
        }
    }

    /// Marks the first segment as lost.
    pub(super) fn lose_first(&mut self) {
        if self.sent.front().is_some_and(|sent| sent.whereabouts == Whereabouts::UnderWay) {
            self.set(0, Whereabouts::Lost);
            self.resent = 0;
        }
    }

    /// Marks all that is not sacked as lost: the timer ran out.
    pub(super) fn lose_all(&mut self) {
        for place in 0..self.sent.len() {
            if self.sent.get(place).is_some_and(|sent| sent.whereabouts != Whereabouts::Sacked) {
                self.set(place, Whereabouts::Lost);
            }
        }
        self.again.clear();
        self.resent = 0;
    }

    /// Divides what is outstanding into segments of at most this size.
    pub(super) fn divide(&mut self, size: u64) {
        let size = size.max(1);
        let whole = std::mem::take(&mut self.sent);
        for mut sent in whole {
            while sent.bytes() > size {
                let end = sent.start + size;
                self.sent.push_back(Sent { end, ..sent });
                sent.start = end;
            }
            self.sent.push_back(sent);
        }
    }

    /// Whether the first segment is lost, and not sent again.
    pub(super) fn is_first_lost(&self) -> bool {
        self.sent.front().is_some_and(|sent| sent.whereabouts == Whereabouts::Lost)
    }

    /// Whether the first segment is under way while others beyond it arrived.
    pub(super) fn is_first_passed(&self) -> bool {
        self.sent.front().is_some_and(|sent| {
            sent.whereabouts == Whereabouts::UnderWay && sent.end <= self.furthest_sacked
        })
    }

    /// The first lost segment that is to be sent again.
    pub(super) fn next_lost(&self) -> Option<(u64, u64)> {
        if self.lost == 0 {
            return None;
        }
        let from = self.place(self.resent);
        let lost =
            self.sent.iter().skip(from).find(|sent| sent.whereabouts == Whereabouts::Lost)?;
        Some((lost.start, lost.end))
    }

    /// The lost segment at `start` leaves again, up to `end`; the rest of it
    /// stays lost.
    pub(super) fn send_again(&mut self, start: u64, end: u64, now: Timestamp) {
        let place = self.place(start);
        let Some(sent) = self.sent.get_mut(place) else { return };
        sent.time = now;
        sent.again = true;
        if end < sent.end {
            let rest = Sent { start: end, ..*sent };
            sent.end = end;
            self.sent.insert(place + 1, rest);
        }
        self.set(place, Whereabouts::Again);
        self.again.push_back((now, start));
        self.resent = end;
    }
}

#[cfg(test)]
#[path = "outstanding_tests.rs"]
mod tests;
