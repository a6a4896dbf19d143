//! Numbered and time-stamped datagrams of tests over UDP.
//!
//! All formats begin with a number and the sender's clock, big-endian. windlass's format has 64
//! bits of each, and a tag of the test. iperf3's format is that of `iperf_udp.c`, with numbers of
//! 32 or 64 bits. iperf 2's is `UDP_datagram` in `payloads.h`, whose last number is negative.

use std::time::Duration;

/// First bytes of windlass's own datagrams.
const OWN: [u8; 4] = *b"WLDG";

/// Layout of a test's datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DatagramFormat {
    /// windlass's format, of a test with this tag.
    Windlass {
        /// Tag that identifies the test.
        tag: u32,
    },
    /// iperf3's format.
    Iperf3 {
        /// True if numbers have 64 bits (`--udp-counters-64bit`).
        wide: bool,
    },
    /// iperf 2's format.
    Iperf {
        /// True if numbers have 64 bits, as since 2.0.10.
        wide: bool,
    },
}

/// Number and time of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Number of the datagram, from 1.
    pub number: u64,
    /// Departure time since 1970, by the sender's clock.
    pub sent: Duration,
    /// True if the datagram is marked as the last: iperf 2's are.
    pub is_last: bool,
}

impl DatagramFormat {
    /// Returns the length of the shortest datagram that holds a stamp, in bytes.
    pub const fn shortest(self) -> usize {
        match self {
            Self::Windlass { .. } => 24,
            Self::Iperf3 { wide: false } | Self::Iperf { wide: false } => 12,
            Self::Iperf3 { wide: true } | Self::Iperf { wide: true } => 16,
        }
    }

    /// Returns the number at which the format's numbers wrap, if they do.
    pub const fn wraps_at(self) -> Option<u64> {
        match self {
            Self::Iperf3 { wide: false } => Some(1 << 32),
            Self::Iperf { wide: false } => Some(1 << 31),
            _ => None,
        }
    }

    /// Writes a stamp to the beginning of a datagram. A datagram that is too short stays unchanged.
    pub fn write(self, datagram: &mut [u8], stamp: &Stamp) {
        let Some(head) = datagram.get_mut(..self.shortest()) else { return };
        // Seconds of 32 bits last until 2106.
        let seconds = (stamp.sent.as_secs() as u32).to_be_bytes();
        let micros = stamp.sent.subsec_micros().to_be_bytes();
        match self {
            Self::Windlass { tag } => {
                head[..4].copy_from_slice(&OWN);
                head[4..8].copy_from_slice(&tag.to_be_bytes());
                head[8..16].copy_from_slice(&stamp.number.to_be_bytes());
                let nanos = u64::try_from(stamp.sent.as_nanos()).unwrap_or(u64::MAX);
                head[16..24].copy_from_slice(&nanos.to_be_bytes());
            }
            Self::Iperf3 { wide } => {
                head[..4].copy_from_slice(&seconds);
                head[4..8].copy_from_slice(&micros);
                if wide {
                    head[8..16].copy_from_slice(&stamp.number.to_be_bytes());
                } else {
                    // The lower half.
                    head[8..12].copy_from_slice(&(stamp.number as u32).to_be_bytes());
                }
            }
            Self::Iperf { wide } => {
                let number = stamp.number.cast_signed();
                let number = if stamp.is_last { number.wrapping_neg() } else { number };
                head[..4].copy_from_slice(&(number.cast_unsigned() as u32).to_be_bytes());
                head[4..8].copy_from_slice(&seconds);
                head[8..12].copy_from_slice(&micros);
                if wide {
                    head[12..16]
                        .copy_from_slice(&((number.cast_unsigned() >> 32) as u32).to_be_bytes());
                }
            }
        }
    }

    /// Reads the stamp of a datagram. Returns `None` if the datagram is not of this format.
    pub fn read(self, datagram: &[u8]) -> Option<Stamp> {
        let head = datagram.get(..self.shortest())?;
        let word =
            |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let long = |at: usize| u64::from(word(at)) << 32 | u64::from(word(at + 4));
        let clock = |at: usize| {
            let micros = word(at + 4);
            let nanos = (micros < 1_000_000).then(|| micros * 1_000)?;
            Some(Duration::new(word(at).into(), nanos))
        };
        let (number, sent) = match self {
            Self::Windlass { tag } => {
                let is_own = head[..4] == OWN && word(4) == tag;
                (is_own.then(|| long(8))?, Duration::from_nanos(long(16)))
            }
            Self::Iperf3 { wide: false } => (word(8).into(), clock(0)?),
            Self::Iperf3 { wide: true } => (long(8), clock(0)?),
            Self::Iperf { wide } => {
                let number = match wide {
                    true => (u64::from(word(12)) << 32 | u64::from(word(0))).cast_signed(),
                    false => word(0).cast_signed().into(),
                };
                let (sent, is_last) = (clock(4)?, number < 0);
                let number = number.unsigned_abs();
                return (number > 0).then_some(Stamp { number, sent, is_last });
            }
        };
        (number > 0).then_some(Stamp { number, sent, is_last: false })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FORMATS: [DatagramFormat; 5] = [
        DatagramFormat::Windlass { tag: 0x1234_5678 },
        DatagramFormat::Iperf3 { wide: false },
        DatagramFormat::Iperf3 { wide: true },
        DatagramFormat::Iperf { wide: false },
        DatagramFormat::Iperf { wide: true },
    ];

    /// Reads bytes from hexadecimal words.
    fn hex(text: &str) -> Vec<u8> {
        let words = text.split_whitespace();
        words.flat_map(|word| u32::from_str_radix(word, 16).unwrap().to_be_bytes()).collect()
    }

    #[test]
    fn datagrams_of_iperf3_read() {
        // Its clock first.
        let third = hex("6b06ff16 0002675a 00000003");
        assert_eq!(DatagramFormat::Iperf3 { wide: false }.read(&third).unwrap().number, 3);
        assert_eq!(DatagramFormat::Iperf3 { wide: true }.read(&third), None);
        let wide = hex("6b06ff16 0002675a 00000001 00000003");
        assert_eq!(
            DatagramFormat::Iperf3 { wide: true }.read(&wide).unwrap().number,
            (1 << 32) + 3
        );
    }

    /// The first and the last of what iperf 2.1.8 sends.
    #[test]
    fn datagrams_of_iperf_2_read() {
        let wide = DatagramFormat::Iperf { wide: true };
        let first = wide.read(&hex("00000001 6b077178 0007cdbd 00000000")).unwrap();
        assert_eq!((first.number, first.is_last), (1, false));
        assert_eq!(first.sent, Duration::new(0x6b07_7178, 511_421_000));
        let last = wide.read(&hex("fffffef6 6b077179 0007ea12 ffffffff")).unwrap();
        assert_eq!((last.number, last.is_last), (266, true));
        let old = DatagramFormat::Iperf { wide: false }.read(&hex("fffffef6 6b077179 0007ea12"));
        assert_eq!(old.unwrap(), last);
        // Some clients begin with 0, which is no valid number.
        assert_eq!(wide.read(&hex("00000000 6b077178 0007cdbd 00000000")), None);
    }

    #[test]
    fn what_is_of_another_test_is_none() {
        let mut datagram = [0; 64];
        let stamp = Stamp { number: 7, sent: Duration::from_secs(9), is_last: false };
        DatagramFormat::Windlass { tag: 1 }.write(&mut datagram, &stamp);
        assert_eq!(DatagramFormat::Windlass { tag: 1 }.read(&datagram), Some(stamp));
        assert_eq!(DatagramFormat::Windlass { tag: 2 }.read(&datagram), None);
        // A million microseconds are invalid, and so is a number of 0.
        let strange = [0, 0, 0, 1, 0, 0x0f, 0x42, 0x40, 0, 0, 0, 1];
        assert_eq!(DatagramFormat::Iperf3 { wide: false }.read(&strange), None);
        assert_eq!(DatagramFormat::Iperf3 { wide: false }.read(&[0; 12]), None);
    }

    proptest! {
        #[test]
        fn a_stamp_reads_back(
            number in 1..i64::MAX.unsigned_abs(),
            micros in 0..u64::from(u32::MAX) * 1_000_000,
            is_last: bool,
        ) {
            for format in FORMATS {
                let number = (number % format.wraps_at().unwrap_or(1 << 62)).max(1);
                let is_last = is_last && matches!(format, DatagramFormat::Iperf { .. });
                let stamp = Stamp { number, sent: Duration::from_micros(micros), is_last };
                let mut datagram = [0x55; 40];
                format.write(&mut datagram, &stamp);
                prop_assert_eq!(format.read(&datagram), Some(stamp), "{:?}", format);
                prop_assert_eq!(datagram[format.shortest()], 0x55);
            }
        }

        #[test]
        fn any_bytes_are_a_stamp_or_none(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            for format in FORMATS {
                let stamp = format.read(&bytes);
                prop_assert!(stamp.is_none() || bytes.len() >= format.shortest());
                prop_assert!(stamp.is_none_or(|stamp| stamp.number > 0));
                let mut copy = bytes.clone();
                let stamp = Stamp { number: 1, sent: Duration::ZERO, is_last: false };
                format.write(&mut copy, &stamp);
                prop_assert_eq!(copy.len(), bytes.len());
            }
        }
    }
}
