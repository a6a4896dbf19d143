//! The ACKs on their way from the far place to the near one.

use std::collections::VecDeque;

use hashbrown::HashMap;
use serde::Serialize;

use super::alignment::Alignment;
use super::recording::{AckPacket, Recording};
use super::twins::PreservedFields;

/// The packets that evidence names.
const NAMED: usize = 8;

/// The ACKs without data on their way from the far place to the near one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AckPath {
    /// ACKs that passed the far place while the near capture ran.
    pub acks: u64,
    /// Of these, those that did not arrive.
    pub lost: u64,
    /// The one over the other.
    pub lost_share: f64,
    /// Packets of the far capture that were lost, the first few.
    pub lost_packets: Vec<u64>,
    /// ACKs that the near capture lacks, where it misses packets: they may have come.
    pub missed_by_near: u64,
    /// ACKs of the near capture that the far one lacks, though it ran: it missed them, or something
    /// between made them.
    pub missed_by_far: u64,
    /// Of these, those that acknowledge what no ACK of the far capture does.
    pub made_between: u64,
    /// ACKs that arrived with another window than they left with.
    pub windows_rewritten: u64,
    /// Their packets in the near capture, the first few.
    pub rewritten_packets: Vec<u64>,
}

/// The fields that tell an ACK from others.
type AckKey = (u64, Option<u16>, Option<u32>);

impl AckPath {
    /// Takes the ACKs that did not arrive for missed: the near capture misses other packets, too.
    pub(super) fn doubt_losses(&mut self) {
        self.missed_by_near = std::mem::take(&mut self.lost);
        self.acks -= self.missed_by_near;
        self.lost_share = 0.0;
        self.lost_packets.clear();
    }

    /// Follows the ACKs of a connection from the far place to the near one.
    pub(super) fn of(near: &Recording, far: &Recording, alignment: &Alignment) -> Self {
        let mut path = Self::default();
        let PreservedFields { identifications, stamps } = PreservedFields::of_acks(near, far);
        let key = |ack: &AckPacket| -> AckKey {
            let identification = ack.identification.filter(|_| identifications);
            (ack.acknowledged, identification, ack.stamp.filter(|_| stamps))
        };
        let mut given: HashMap<AckKey, VecDeque<usize>> = HashMap::new();
        for (at, ack) in far.acks.iter().enumerate() {
            given.entry(key(ack)).or_default().push_back(at);
        }
        let numbers: hashbrown::HashSet<u64> =
            far.acks.iter().map(|ack| ack.acknowledged).collect();
        let mut has_arrived = vec![false; far.acks.len()];
        for ack in &near.acks {
            let Some(at) = given.get_mut(&key(ack)).and_then(VecDeque::pop_front) else {
                let left = alignment.departure_of_ack(ack.time);
                if left.is_some_and(|(earliest, latest)| far.coverage.holds(earliest, latest)) {
                    path.missed_by_far += 1;
                    path.made_between += u64::from(!numbers.contains(&ack.acknowledged));
                }
                continue;
            };
            has_arrived[at] = true;
            if far.acks[at].window != ack.window {
                path.windows_rewritten += 1;
                if path.rewritten_packets.len() < NAMED {
                    path.rewritten_packets.push(ack.number);
                }
            }
        }
        for (ack, has_arrived) in far.acks.iter().zip(has_arrived) {
            let Some((earliest, latest)) = alignment.at_near(ack.time) else { continue };
            let is_inside = near.coverage.holds(earliest, latest);
            if !has_arrived && !is_inside {
                continue;
            }
            path.acks += 1;
            if !has_arrived {
                path.lost += 1;
                if path.lost_packets.len() < NAMED {
                    path.lost_packets.push(ack.number);
                }
            }
        }
        if path.acks > 0 {
            path.lost_share = path.lost as f64 / path.acks as f64;
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_with_holes_tells_of_no_lost_acks() {
        let seen = AckPath { acks: 10, lost: 2, lost_share: 0.2, ..AckPath::default() };
        let mut path = AckPath { lost_packets: vec![3, 5], ..seen };
        path.doubt_losses();
        assert_eq!(path, AckPath { acks: 8, missed_by_near: 2, ..AckPath::default() });
    }
}
