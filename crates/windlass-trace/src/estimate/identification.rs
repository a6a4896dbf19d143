//! Packet counts of a sender, by IPv4 identifications.

use windlass_base::thresholds::{ENOUGH, MANY, UNSEEN_PACKETS};
use windlass_macros::Packed;

/// The identifications of one side's packets, with data and without.
#[derive(Clone, Copy, Debug, Default, Packed)]
pub(crate) struct Identifications {
    /// Identification of the last packet; zero if it had none.
    last: u16,
    counted: u32,
    jumped: u32,
}

impl Identifications {
    /// Takes a packet. Returns the number of packets that the side sent since its last one and the
    /// capture lacks, as far as its count tells.
    #[inline]
    pub(crate) fn saw(&mut self, identification: Option<u16>) -> u16 {
        // Linux answers a SYN with none, which is zero.
        let this = identification.unwrap_or(0);
        let last = std::mem::replace(&mut self.last, this);
        if last == 0 || this == 0 {
            return 0;
        }
        let step = this.wrapping_sub(last);
        if step == 1 {
            self.counted = self.counted.saturating_add(1);
            return 0;
        }
        let counts =
            self.counted >= ENOUGH.to::<u32>() && self.counted / MANY.to::<u32>() >= self.jumped;
        self.jumped = self.jumped.saturating_add(1);
        if counts && (2..=UNSEEN_PACKETS.get() + 1).contains(&step) { step - 1 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_of_one_connection_tells_what_is_missing() {
        let mut side = Identifications::default();
        for number in u16::MAX - 10..=u16::MAX {
            assert_eq!(side.saw(Some(number)), 0);
        }
        assert_eq!(side.saw(Some(2)), 2);
    }

    #[test]
    fn an_answer_of_a_syn_is_no_part_of_the_count() {
        // Of 22 packets behind it one is missing, and then two are.
        let mut side = Identifications::default();
        let numbers = [0].into_iter().chain(500..=520).chain([522, 525]);
        let missing: Vec<u16> = numbers.map(|number| side.saw(Some(number))).collect();
        assert_eq!(missing[22..], [1, 2]);
    }

    #[test]
    fn a_count_of_all_a_hosts_packets_tells_nothing() {
        let mut side = Identifications::default();
        for number in 0..200_u16 {
            assert_eq!(side.saw(Some(number + number / 10 * 3)), 0, "{number}");
        }
    }
}
