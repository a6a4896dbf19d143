//! The packets around the evidence.

use std::collections::VecDeque;

use windlass_base::{Bytes, Timestamp};
use windlass_trace::Note;
use windlass_trace::time_sequence::{Point, TimeSequence};

/// The packets that are shown before a packet of the evidence, and after.
const BEFORE: usize = 3;
const AFTER: usize = 5;

/// A packet between the two ends.
#[derive(Clone, Debug)]
pub(super) struct Rung {
    /// Its number as Wireshark counts.
    pub(super) number: u64,
    pub(super) time: Timestamp,
    /// True if the packet goes from the transfer's sender to its receiver.
    pub(super) from_sender: bool,
    pub(super) flags: String,
    /// From the start of its direction.
    pub(super) sequence: Option<i64>,
    pub(super) bytes: u64,
    /// From the start of the other direction.
    pub(super) ack: Option<i64>,
    pub(super) window: Option<Bytes>,
    /// Notes on the packet.
    pub(super) notes: Vec<String>,
    /// True if the evidence names the packet.
    pub(super) is_evidence: bool,
    /// Packets of the connection that are left out before this one.
    pub(super) left_out: u64,
}

/// The packets around some.
#[derive(Debug, Default)]
pub(super) struct Ladder {
    /// In order.
    wanted: Vec<u64>,
    /// Packets that are shown if a wanted one follows.
    before: VecDeque<Rung>,
    /// Number of packets still to show after a wanted one.
    after: usize,
    left_out: u64,
    pub(super) rungs: Vec<Rung>,
}

impl Ladder {
    /// Selects the packets around these.
    pub(super) fn around(mut wanted: Vec<u64>) -> Self {
        wanted.sort_unstable();
        wanted.dedup();
        Self { wanted, ..Self::default() }
    }

    /// Takes the next packet of the connection; `side` sends the transfer.
    pub(super) fn point(
        &mut self,
        point: &Point,
        side: usize,
        graph: &TimeSequence,
        notes: &[Note],
    ) {
        if self.wanted.last().is_none_or(|last| *last < point.number) && self.after == 0 {
            return;
        }
        let is_evidence = self.wanted.binary_search(&point.number).is_ok();
        let rung = rung(point, side, graph, notes, is_evidence);
        if is_evidence {
            self.after = AFTER + 1;
            for before in std::mem::take(&mut self.before) {
                self.show(before);
            }
        }
        if self.after > 0 {
            self.after -= 1;
            self.show(rung);
            return;
        }
        self.before.push_back(rung);
        if self.before.len() > BEFORE {
            self.before.pop_front();
            self.left_out += 1;
        }
    }

    fn show(&mut self, mut rung: Rung) {
        rung.left_out = std::mem::take(&mut self.left_out);
        self.rungs.push(rung);
    }
}

fn rung(
    point: &Point,
    side: usize,
    graph: &TimeSequence,
    notes: &[Note],
    is_evidence: bool,
) -> Rung {
    let from_start = |side: usize, place: i64| Some(place.saturating_sub(graph.start(side)?));
    let sent = point.sent;
    let bytes = sent.map_or(0, |sent| sent.end.saturating_sub(sent.start));
    Rung {
        number: point.number,
        time: point.time,
        from_sender: point.from == side,
        flags: point.flags.to_string(),
        sequence: sent.and_then(|sent| from_start(point.from, sent.start)),
        bytes: u64::try_from(bytes).unwrap_or(0),
        ack: point.answer.and_then(|answer| from_start(1 - point.from, answer.now.ack)),
        window: point.answer.map(|answer| answer.window),
        notes: notes.iter().map(ToString::to_string).collect(),
        is_evidence,
        left_out: 0,
    }
}

#[cfg(test)]
mod tests {
    use windlass_wire::Flags;

    use super::*;

    #[test]
    fn what_lies_around_is_shown_once_and_what_is_left_out_is_counted() {
        let mut ladder = Ladder::around(vec![22, 10, 20]);
        let graph = TimeSequence::new();
        for number in 1..=60 {
            let (time, flags) = (Timestamp::ZERO, Flags::ACK);
            let point = Point { number, time, from: 0, flags, sent: None, answer: None };
            ladder.point(&point, 0, &graph, &[]);
        }
        let shown: Vec<u64> = ladder.rungs.iter().map(|rung| rung.number).collect();
        let expected: Vec<u64> = (7..=15).chain(17..=27).collect();
        assert_eq!(shown, expected);
        let left_out: Vec<(u64, u64)> = ladder
            .rungs
            .iter()
            .filter(|rung| rung.left_out > 0)
            .map(|rung| (rung.number, rung.left_out))
            .collect();
        assert_eq!(left_out, [(7, 6), (17, 1)]);
        assert_eq!(ladder.rungs.iter().filter(|rung| rung.is_evidence).count(), 3);
    }
}
