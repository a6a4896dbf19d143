//! Datagrams of an iperf 2 client, and the report of its server (`payloads.h` and
//! `Server::write_UDP_AckFIN`).
//!
//! Each datagram has the number and the time of [`DatagramFormat::Iperf`], followed by the header
//! of a client's data over TCP. The last number is negative. The client repeats this datagram up to
//! ten times, until the server answers with its report.

use std::time::Duration;

use super::{
    EXTEND, HEADER, LENGTH_BIT, MAX_THREADS, VERSION1, Wish, header_length, is_header, wish, word,
};
use crate::numbered::DatagramFormat;

/// Flag of both ends: the numbers have 64 bits.
const SEQNO_64B: u32 = 0x0800_0000;

/// Length of a server's report behind the space for a number and a time, in words.
const REPORT: usize = 28;

/// Longest answer that is read, in bytes.
pub const LONGEST_ANSWER: usize = 256;

/// Length of the header of iperf 2.1.8 in a plain test, in bytes.
const PLAIN: usize = 76;

/// Shortest datagram with a number and a header, in bytes.
pub const SHORTEST: usize = 16 + PLAIN;

/// Details of a client's test from one of its datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstDatagram<'a> {
    /// Format of the numbers of its datagrams.
    pub format: DatagramFormat,
    /// Request of the client besides counting its datagrams.
    pub wish: Option<Wish>,
    /// Header of the client, for [`super::terms`].
    pub header: &'a [u8],
    /// True if the datagram is the last of its test.
    pub is_last: bool,
}

/// Reads a datagram of an unknown sender. Returns `None` if it is not iperf's.
///
/// Since 2.0.10 each datagram has a header that identifies it. Of older clients, only the first or
/// second datagram is recognised.
pub fn first(datagram: &[u8]) -> Option<FirstDatagram<'_>> {
    let (seconds, micros) = (word(datagram, 1)?, word(datagram, 2)?);
    if seconds == 0 || micros >= 1_000_000 {
        return None;
    }
    let wide = DatagramFormat::Iperf { wide: true };
    if let Some(header) = datagram.get(16..).filter(|header| is_header(header)) {
        let stamp = wide.read(datagram)?;
        return Some(FirstDatagram {
            format: wide,
            wish: wish(header),
            header,
            is_last: stamp.is_last,
        });
    }
    let format = DatagramFormat::Iperf { wide: false };
    let number = word(datagram, 0)?.cast_signed();
    // 2.0.10 to 2.0.13 sometimes have a header without its length.
    let flags = word(datagram, 4).filter(|flags| flags & (EXTEND | SEQNO_64B) != 0);
    let threads = word(datagram, 5).unwrap_or(0);
    if word(datagram, 3) == Some(0) && flags.is_some() && (1..=MAX_THREADS).contains(&threads) {
        let header = &datagram[16..];
        return (0..=1).contains(&number).then_some(FirstDatagram {
            format: wide,
            wish: wish(header),
            header,
            is_last: false,
        });
    }
    let header = datagram.get(12..)?;
    let wish = wish(header).filter(|_| header.len() >= HEADER);
    let is_plain = word(header, 0)? & VERSION1 == 0 && word(header, 0)? == 0;
    if number < 0 {
        // This is the last datagram of a test that is over, or whose other datagrams were lost.
        return is_plain.then_some(FirstDatagram { format, wish: None, header, is_last: true });
    }
    (number <= 1 && (is_plain || wish.is_some())).then_some(FirstDatagram {
        format,
        wish,
        header,
        is_last: false,
    })
}

/// Writes the header of a plain test behind the number and the time of a datagram. A server that
/// starts later learns the format of the numbers from any datagram.
pub fn write_header(datagram: &mut [u8]) {
    let length = u32::try_from(datagram.len()).unwrap_or(u32::MAX);
    let Some(header) = datagram.get_mut(16..16 + PLAIN) else { return };
    header.fill(0);
    let told = u32::try_from(PLAIN).unwrap_or(u32::MAX) << 1;
    let words = [EXTEND | SEQNO_64B | LENGTH_BIT | told, 1, u32::from(super::PORT), length];
    for (place, word) in header.chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_be_bytes());
    }
    debug_assert_eq!(header_length(words[0]), Some(PLAIN));
}

/// A server's report on a test. The last datagram counts as data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Bytes received.
    pub bytes: u64,
    /// Duration of the test.
    pub lasted: Duration,
    /// Largest datagram number.
    pub datagrams: u64,
    /// Number of lost datagrams.
    pub lost: u64,
    /// Number of datagrams received after a later one.
    pub out_of_order: u64,
    /// Smoothed jitter.
    pub jitter: Duration,
}

impl Report {
    /// Encodes the answer to the last datagram of a client. `wide` tells numbers of 64 bits from
    /// 32.
    pub fn bytes(&self, wide: bool) -> Vec<u8> {
        let mut words = [0_u32; REPORT];
        let low = |count: u64| count as u32;
        let high = |count: u64| (count >> 32) as u32;
        let seconds = |time: Duration| u32::try_from(time.as_secs()).unwrap_or(u32::MAX);
        words[0] = VERSION1 | if wide { SEQNO_64B } else { 0 };
        (words[1], words[2]) = (high(self.bytes), low(self.bytes));
        (words[3], words[4]) = (seconds(self.lasted), self.lasted.subsec_micros());
        (words[5], words[6], words[7]) =
            (low(self.lost), low(self.out_of_order), low(self.datagrams));
        (words[8], words[9]) = (seconds(self.jitter), self.jitter.subsec_micros());
        // The words in between are figures of one-way times, which are read only with a flag that
        // is not set.
        (words[25], words[26], words[27]) =
            (high(self.lost), high(self.out_of_order), high(self.datagrams));
        let mut bytes = vec![0; if wide { 16 } else { 12 }];
        bytes.extend(words.into_iter().flat_map(u32::to_be_bytes));
        bytes
    }

    /// Reads an answer to a client whose numbers have 64 bits. Returns `None` if the bytes are no
    /// answer.
    pub fn read(answer: &[u8]) -> Option<Self> {
        let report = answer.get(16..)?;
        let word = |place| word(report, place);
        let flags = word(0).filter(|flags| flags & VERSION1 != 0)?;
        let wide = flags & SEQNO_64B != 0;
        let long = |low: usize, high: usize| {
            let high = if wide { word(high).unwrap_or(0) } else { 0 };
            Some(u64::from(high) << 32 | u64::from(word(low)?))
        };
        let time = |seconds: usize, micros: usize| {
            let micros = word(micros)?.min(999_999);
            Some(Duration::new(word(seconds)?.into(), micros * 1_000))
        };
        Some(Self {
            bytes: u64::from(word(1)?) << 32 | u64::from(word(2)?),
            lasted: time(3, 4)?,
            datagrams: long(7, 27)?,
            lost: long(5, 25)?,
            out_of_order: long(6, 26)?,
            jitter: time(8, 9)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::iperf2::{Amount, terms};

    /// Words that iperf 2.1.8 sends.
    fn of(words: &str) -> Vec<u8> {
        let words = words.split_whitespace().map(|word| u32::from_str_radix(word, 16).unwrap());
        words.flat_map(u32::to_be_bytes).collect()
    }

    const TAIL: &str = "00000001 00003c29 000001f4 00000000 ffffff9c 00000000 00000000";
    const VERSION: &str = "00020001 00080003 00000000 00100000 00000000 00000000";

    #[test]
    fn clients_are_known_by_any_datagram() {
        let stamp = "00000001 6b077178 0007cdbd 00000000";
        let wide = DatagramFormat::Iperf { wide: true };
        let plain = of(&format!("{stamp} 48010098 {TAIL} 00000000 {VERSION}"));
        let found = first(&plain).unwrap();
        assert_eq!((found.format, found.wish, found.is_last), (wide, None, false));
        let terms = terms(found.header).unwrap();
        assert_eq!((terms.write, terms.amount), (500, Amount::Hundredths(100)));
        assert_eq!(terms.bits_per_second, Some(1 << 20));
        let back = of(&format!("{stamp} 6c010098 {TAIL} 04000000 {VERSION}"));
        assert_eq!(first(&back).unwrap().wish, Some(Wish::Reverse));
        let both = of(&format!("{stamp} c8010099 {TAIL} 00000000 {VERSION}"));
        assert_eq!(first(&both).unwrap().wish, Some(Wish::DualTest));
        // A later datagram, as if the first was lost; and the last, which is repeated.
        let later = of(&format!("00000207 6b077178 0007cdbd 00000000 48010098 {TAIL} 00000000"));
        assert!(!first(&later).unwrap().is_last);
        let last = of(&format!("fffffef6 6b077179 0007ea12 ffffffff 48010098 {TAIL} 00000000"));
        assert!(first(&last).unwrap().is_last);
    }

    #[test]
    fn old_clients_are_known_by_their_first() {
        let narrow = DatagramFormat::Iperf { wide: false };
        let plain = of(&format!("00000000 6b077178 0007cdbd 00000000 {TAIL}"));
        let found = first(&plain).unwrap();
        assert_eq!((found.format, found.wish), (narrow, None));
        let both = of(&format!("00000000 6b077178 0007cdbd 80000001 {TAIL} 00000000"));
        assert_eq!(first(&both).unwrap().wish, Some(Wish::DualTest));
        let last = of(&format!("ffffff9c 6b077178 0007cdbd 00000000 {TAIL}"));
        assert!(first(&last).unwrap().is_last);
    }

    #[test]
    fn datagrams_of_others_are_not_theirs() {
        let pattern: Vec<u8> = (b' '..0x7f).collect();
        for other in [&pattern[..], &[0; 64], &[0xff; 64], &[0, 0, 0, 1]] {
            assert_eq!(first(other), None, "{other:?}");
        }
    }

    #[test]
    fn own_datagrams_are_as_a_clients() {
        let mut datagram = vec![7; 200];
        write_header(&mut datagram);
        datagram[..16].copy_from_slice(&of("00000001 6b077178 0007cdbd 00000000"));
        let found = first(&datagram).unwrap();
        assert_eq!((found.format, found.wish), (DatagramFormat::Iperf { wide: true }, None));
        assert_eq!(terms(found.header).unwrap().write, 200);
        assert_eq!(datagram[16 + PLAIN], 7);
        let mut short = [7; SHORTEST - 1];
        write_header(&mut short);
        assert_eq!(short, [7; SHORTEST - 1]);
    }

    /// Checks the answer of a 2.1.8 server, of which its client printed: 133,000 bytes in 1.0072 s,
    /// 0.007 ms, 0 of 266.
    #[test]
    fn an_answer_reads_as_it_is_printed() {
        let words = "00000000 00000000 00000000 00000000 88000000 00000000 00020788 00000001 \
                     00001c06 00000000 00000000 0000010a 00000000 00000007 00000000 00000003 \
                     00000000 0000010f 00000000 000018e5 00000000 00000017 00019e39 000985bc \
                     00000000 fffffffd 0000010a 00000108 00000001 00000000 00000000 00000000";
        let said = Report::read(&of(words)).unwrap();
        let wanted = Report {
            bytes: 133_000,
            lasted: Duration::from_micros(1_007_174),
            datagrams: 266,
            lost: 0,
            out_of_order: 0,
            jitter: Duration::from_micros(7),
        };
        assert_eq!(said, wanted);
        assert_eq!(wanted.bytes(true).len(), of(words).len());
        assert_eq!(Report::read(&[0; 128]), None, "no report");
    }

    proptest! {
        #[test]
        fn an_answer_reads_back(
            bytes: u64, datagrams: u64, lost: u64, out_of_order: u64,
            lasted in 0..u64::from(u32::MAX) * 1_000_000, jitter in 0_u64..1 << 40,
        ) {
            let (lasted, jitter) = (Duration::from_micros(lasted), Duration::from_micros(jitter));
            let report = Report { bytes, lasted, datagrams, lost, out_of_order, jitter };
            prop_assert_eq!(Report::read(&report.bytes(true)), Some(report));
            // For an old client, the flags are four bytes earlier.
            let old = report.bytes(false);
            prop_assert_eq!(&old[12..16], &[0x80, 0, 0, 0]);
        }

        #[test]
        fn any_bytes_are_looked_at(bytes in prop::collection::vec(any::<u8>(), 0..160)) {
            if let Some(found) = first(&bytes) {
                prop_assert!(found.header.len() < bytes.len());
                let _ = terms(found.header);
            }
            let _ = Report::read(&bytes);
        }
    }
}
