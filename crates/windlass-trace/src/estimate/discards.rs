//! Detection of receivers that discard data after a gap.
//!
//! RFC 9293 section 3.10.7.4 lets a receiver drop data that arrives out of order. Small stacks do
//! (lwIP without its queue, uIP): then one lost segment costs the whole flight behind it. Each
//! segment behind a hole brings a duplicate ACK (RFC 5681 section 4.2), which proves that the
//! segment arrived. When the hole is repaired, an ACK that jumps over it proves that the receiver
//! kept the data. Data that arrived and has to be retransmitted bit by bit was discarded.

use windlass_base::thresholds::{HABIT, KEPT_PART, MORE_THAN_ONE, NEARLY_ALL};
use windlass_base::{Span, Timestamp};
use windlass_macros::{Packed, PackedSparsely};

use crate::follow::ack::Ack;

/// Number of segments that an ACK ordinarily covers (RFC 1122 section 4.2.3.2). An ACK that covers
/// more may be for data that was kept.
const PER_ACK: u64 = 2;

/// Number of repairs that wait for their time. In a longer run two count as one, at the time of the
/// first.
const MAX_REPAIRS: usize = 64;

/// Number of gaps kept as examples.
const EXAMPLES: usize = 3;

/// A hole that the receiver asks for.
#[derive(Clone, Debug, PartialEq, Packed)]
struct RequestedGap {
    start: u64,
    /// End of the sent data at the time of the request.
    until: u64,
    duplicates: u32,
    /// The packet with the first duplicate ACK.
    number: u64,
    /// End of the data repaired without a gap, and its time.
    repairs: Vec<(Timestamp, u64)>,
    /// End of the repaired data, and of the part that an ACK may answer by now.
    repaired: u64,
    answerable: u64,
    /// Bytes that ACKs covered, and no repair that these ACKs may answer.
    kept: u64,
}

/// Fate of data after gaps, in one direction.
#[derive(Clone, Debug, Default, PackedSparsely)]
pub(crate) struct Discards {
    asked: Option<RequestedGap>,
    /// End of all retransmitted data.
    resent: u64,
    /// The last window, as captured.
    window: u16,
    /// True if the receiver reported kept data by SACK.
    sacked: bool,
    /// Number of holes to judge by.
    holes: u32,
    /// Bytes that arrived behind these holes, and the kept ones.
    arrived: u64,
    kept: u64,
    /// Duplicate ACKs of all holes: the segments that arrived behind them.
    segments: u64,
    /// The first duplicate ACK of the first holes, and the ACK that ended them.
    examples: Vec<(u64, u64)>,
}

/// Evidence that a receiver discards data behind a hole.
#[derive(Clone, Debug)]
pub(crate) struct DiscardEvidence {
    /// Number of holes that showed it.
    pub(crate) holes: u32,
    /// Number of segments that arrived and were discarded.
    pub(crate) segments: u64,
    pub(crate) examples: Vec<(u64, u64)>,
}

/// An ACK as it was captured, with what was known of the flow before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckInContext<'a> {
    pub(crate) ack: &'a Ack,
    /// The last ACK before it, and the end of what was sent.
    pub(crate) acked: u64,
    pub(crate) sent: u64,
    pub(crate) size: u64,
    /// Least time from the capture to the receiver and back.
    pub(crate) way: Span,
}

impl Discards {
    /// Takes an ACK of new data while the receiver asks for none. Returns whether it indeed asks
    /// for none.
    #[inline]
    pub(crate) fn passed(&mut self, window: u16, sacks: bool) -> bool {
        let calm = self.asked.is_none();
        if calm {
            self.offered(window, sacks);
        }
        calm
    }

    /// Takes an ACK's window and SACK. Returns whether the window is the one before.
    fn offered(&mut self, window: u16, sacks: bool) -> bool {
        self.sacked |= sacks;
        std::mem::replace(&mut self.window, window) == window
    }

    pub(crate) fn ack(&mut self, heard: AckInContext<'_>) {
        let same_window = self.offered(heard.ack.window, heard.ack.sacks);
        if heard.ack.ack > heard.acked {
            self.advance(&heard);
        } else if heard.ack.ack == heard.acked
            && heard.sent > heard.acked
            && heard.ack.is_bare()
            && heard.ack.window > 0
            && (same_window || heard.ack.sacks)
        {
            self.duplicate(&heard);
        }
    }

    fn duplicate(&mut self, heard: &AckInContext<'_>) {
        if self.asked.is_none() && heard.ack.ack < self.resent {
            // A repair is on its way already, and when it passed is not known: this hole
            // tells nothing of what the receiver keeps.
            self.segments += 1;
            return;
        }
        let asked = self.asked.get_or_insert_with(|| RequestedGap {
            start: heard.ack.ack,
            until: heard.sent,
            duplicates: 0,
            number: heard.ack.number,
            repairs: Vec::new(),
            repaired: heard.ack.ack,
            answerable: heard.ack.ack,
            kept: 0,
        });
        if asked.start == heard.ack.ack {
            asked.duplicates = asked.duplicates.saturating_add(1);
            if asked.repairs.is_empty() {
                asked.until = asked.until.max(heard.sent);
            }
        } else {
            // Behind the part that is repaired others arrive, and are discarded again.
            self.segments += 1;
        }
    }

    /// Takes a retransmission, or data that fills a hole of the capture.
    pub(crate) fn again(&mut self, time: Timestamp, start: u64, end: u64) {
        self.resent = self.resent.max(end);
        let Some(asked) = &mut self.asked else { return };
        if start > asked.repaired || end <= asked.repaired || start >= asked.until {
            return;
        }
        asked.repaired = end;
        if asked.repairs.len() == MAX_REPAIRS {
            let pairs = asked.repairs.chunks(2);
            asked.repairs =
                pairs.filter_map(|pair| Some((pair.first()?.0, pair.last()?.1))).collect();
        }
        asked.repairs.push((time, end));
    }

    fn advance(&mut self, heard: &AckInContext<'_>) {
        let Some(asked) = &mut self.asked else { return };
        let due = heard.ack.time + heard.way.scaled(-NEARLY_ALL.get());
        let answered = asked.repairs.iter().take_while(|(time, _)| *time <= due).count();
        if let Some((_, end)) = asked.repairs.drain(..answered).next_back() {
            asked.answerable = end;
        }
        // Without a retransmission nothing was lost: the duplicate was the copy of an ACK, or
        // segments were reordered.
        let nothing_lost = asked.repaired == asked.start;
        let repaired = if nothing_lost { asked.until } else { asked.answerable };
        let most = heard.acked.saturating_add(PER_ACK * heard.size);
        // An ordinary ACK of what was sent again proves nothing, however soon it comes: at the
        // receiver it takes less than the path is thought to.
        let is_ordinary = heard.ack.ack <= asked.repaired.min(most);
        let repaired = if is_ordinary { heard.ack.ack } else { repaired };
        let covered = repaired.min(most).max(heard.acked);
        asked.kept += heard.ack.ack.min(asked.until).saturating_sub(covered);
        if heard.ack.ack < asked.until {
            return;
        }
        let Some(asked) = self.asked.take() else { return };
        // Segments that a receiver keeps behind any hole count in its favour.
        self.kept += asked.kept;
        self.segments += u64::from(asked.duplicates);
        let behind = asked.until.saturating_sub(asked.start).saturating_sub(heard.size);
        let arrived = (u64::from(asked.duplicates) * heard.size).min(behind);
        // If less than half of the data behind the hole arrived, a go-back-N sender may have
        // repaired the rest before an ACK could jump.
        if asked.duplicates >= MORE_THAN_ONE.to::<u32>() && arrived * 2 >= behind {
            self.holes += 1;
            self.arrived += arrived;
            if self.examples.len() < EXAMPLES {
                self.examples.push((asked.number, heard.ack.number));
            }
        }
    }

    /// Forgets the hole: earlier packets do not tell of what follows.
    pub(crate) fn clear(&mut self) {
        self.asked = None;
    }

    /// Returns the number of segments that arrived behind the hole at `start`, as far as it is
    /// open.
    pub(crate) fn arrived_behind(&self, start: u64) -> u32 {
        self.asked.as_ref().filter(|asked| asked.start == start).map_or(0, |asked| asked.duplicates)
    }

    /// Returns the evidence that the receiver discards data.
    pub(crate) fn discarding(self, size: u64) -> Option<DiscardEvidence> {
        let proven = !self.sacked
            && self.holes >= MORE_THAN_ONE.to::<u32>()
            && self.arrived >= HABIT.get() * size
            && self.kept * KEPT_PART.get() <= self.arrived;
        proven.then_some(DiscardEvidence {
            holes: self.holes,
            segments: self.segments,
            examples: self.examples,
        })
    }
}
