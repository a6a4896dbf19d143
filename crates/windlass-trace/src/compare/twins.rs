//! Packets that two captures hold, paired by a key that tells them from others.

use super::recording::{AckPacket, DataPacket, Recording};

/// Packets of a key that a capture holds more than once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DuplicateHandling {
    /// None of them is paired.
    LeftOut,
    /// The first of them is paired.
    First,
}

/// Pairs the packets of two captures, each in order of time, by a key.
pub(super) fn twins<T: Copy, K: Ord>(
    captures: [&[T]; 2],
    key: impl Fn(&T) -> K,
    repeated: DuplicateHandling,
) -> Vec<[T; 2]> {
    let [first, second] = captures.map(|packets| {
        let mut packets = packets.to_vec();
        packets.sort_by_key(&key);
        let groups = packets.chunk_by(|one, next| key(one) == key(next));
        let groups =
            groups.filter(|group| repeated == DuplicateHandling::First || group.len() == 1);
        groups.map(|group| group[0]).collect::<Vec<_>>()
    });
    let mut second = second.into_iter().peekable();
    let mut found = Vec::new();
    for one in first {
        while second.next_if(|other| key(other) < key(&one)).is_some() {}
        if let Some(other) = second.next_if(|other| key(other) == key(&one)) {
            found.push([one, other]);
        }
    }
    found
}

/// Fields of packets that the path leaves as they are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PreservedFields {
    pub(super) identifications: bool,
    pub(super) stamps: bool,
}

impl PreservedFields {
    /// Tells it from the data that comes once in both captures.
    pub(super) fn of_data(near: &Recording, far: &Recording) -> Self {
        let key = |packet: &DataPacket| (packet.start, packet.length);
        let found = twins([&near.data, &far.data], key, DuplicateHandling::LeftOut);
        Self::of(found.into_iter().map(|pair| pair.map(|one| (one.identification, one.stamp))))
    }

    /// Tells it from the ACKs whose number comes once in both captures.
    pub(super) fn of_acks(near: &Recording, far: &Recording) -> Self {
        let key = |ack: &AckPacket| ack.acknowledged;
        let found = twins([&near.acks, &far.acks], key, DuplicateHandling::LeftOut);
        Self::of(found.into_iter().map(|pair| pair.map(|one| (one.identification, one.stamp))))
    }

    /// Tells it from the identifications and timestamps of packets near the sender and far from it.
    fn of(pairs: impl Iterator<Item = [(Option<u16>, Option<u32>); 2]>) -> Self {
        let (mut identifications, mut stamps) = ([0_u64; 2], [0_u64; 2]);
        for [near, far] in pairs {
            if near.0.is_some() {
                identifications[usize::from(near.0 == far.0)] += 1;
            }
            if near.1.is_some() {
                stamps[usize::from(near.1 == far.1)] += 1;
            }
        }
        let is_preserved = |[other, same]: [u64; 2]| same > other;
        Self { identifications: is_preserved(identifications), stamps: is_preserved(stamps) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_that_come_once_have_a_twin() {
        let (first, second) = ([(5, 'a'), (3, 'b'), (7, 'c'), (7, 'd')], [(7, 'e'), (3, 'f')]);
        let paired = |repeated| twins([&first, &second], |one| one.0, repeated);
        assert_eq!(paired(DuplicateHandling::LeftOut), [[(3, 'b'), (3, 'f')]]);
        assert_eq!(paired(DuplicateHandling::First), [[(3, 'b'), (3, 'f')], [(7, 'c'), (7, 'e')]]);
    }

    #[test]
    fn most_packets_tell_what_is_preserved() {
        let same = [(Some(1), Some(1)); 2];
        let other = [(Some(1), Some(1)), (Some(2), Some(1))];
        let of = |pairs: &[_]| PreservedFields::of(pairs.iter().copied());
        assert!(of(&[same, same, other]).identifications && of(&[same, other]).stamps);
        assert!(!of(&[same, other]).identifications && !of(&[[(None, None); 2]]).stamps);
    }
}
