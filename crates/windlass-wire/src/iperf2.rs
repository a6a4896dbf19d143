//! Header of an iperf 2 client before its data.
//!
//! In a plain test, the server does not answer: data flows to it until the client closes the
//! connection. The data still begins with a header, which counts as data. The first word,
//! big-endian, holds flags: see `payloads.h` of iperf 2.1. The code was checked against captures of
//! iperf 2.1.8.

pub mod datagrams;

/// The port of iperf 2's server, and of ttcp.
pub const PORT: u16 = 5_001;

/// Bytes of a header that suffice to tell the client's request.
pub const HEADER: usize = 36;

/// The length of the header that iperf 2.1 sends in a plain test, in bytes.
pub const PLAIN_HEADER: usize = 60;

/// Returns the header of a plain test over this number of streams to a port.
///
/// A server of iperf 2.1 counts a header that states its length, and all bytes behind it. Without
/// such a header, this server does not count the first four bytes. A server of iperf 2.0 does not
/// know these flags and counts the header as data.
pub fn plain_header(streams: u16, port: u16) -> [u8; PLAIN_HEADER] {
    let length = u32::try_from(PLAIN_HEADER).unwrap_or(u32::MAX) << 1;
    let words = [EXTEND | LENGTH_BIT | length, u32::from(streams.max(1)), u32::from(port)];
    let mut bytes = [0; PLAIN_HEADER];
    for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_be_bytes());
    }
    bytes
}

/// The header of iperf 1.7 to 2.0.9, in bytes.
const SHORT_HEADER: usize = 24;
/// The client awaits an acknowledgement.
const PEER_DETECT: u32 = 0x0200_0000;
/// An upper flag: the client measures one-way times.
const TRIP_TIMES: u16 = 0x0010;
/// First word of an acknowledgement (`CLIENTHDRACK`).
const ACKNOWLEDGES: u32 = 2;
/// Version of iperf 2 in an acknowledgement: 2.1.8.
const SPOKEN: [u32; 2] = [0x0002_0001, 0x0008_0003];

/// The client has the fields of a test in both directions.
const VERSION1: u32 = 0x8000_0000;
/// The header has the upper flags.
const EXTEND: u32 = 0x4000_0000;
/// The upper flags may ask for a test in reverse.
const VERSION2: u32 = 0x0400_0000;
/// The server is to answer each request.
const BOUNCE_BACK: u32 = 0x0080_0000;
/// The server is to connect to the client at once.
const RUN_NOW: u32 = 1;
/// The flags state the header's length.
const LENGTH_BIT: u32 = 0x0001_0000;
/// Bits of the flags that hold twice the length.
const LENGTH_MASK: u32 = 0x0000_01fe;
/// The longest header (`MAX_HEADER_LEN`), in bytes.
const LONGEST_HEADER: usize = 256;
/// An upper flag: the server is to send.
const REVERSE: u16 = 0x0400;
/// An upper flag: both ends are to send.
const FULL_DUPLEX: u16 = 0x0800;
/// Maximum plausible number of streams of a client.
const MAX_THREADS: u32 = 10_000;
/// Largest request of `--bounceback`, in bytes. Its size replaces the number of threads in the
/// header.
const LARGEST_REQUEST: u32 = 1 << 24;

/// Request of a client besides receiving its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wish {
    /// The server is to send (`-R`).
    Reverse,
    /// Both ends are to send on one connection (`--full-duplex`).
    FullDuplex,
    /// The server is to connect to the client and send at once (`-d`).
    DualTest,
    /// The server is to connect and send once the client is done (`-r`).
    TradeOff,
    /// The server is to answer requests (`--bounceback`).
    BounceBack,
}

/// Maximum number of a client's first bytes that are used.
pub const LONGEST: usize = 80;

/// Other fields of the header of a client with a request ([`wish`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The port on which the client listens, for `-d` and `-r`.
    pub port: u16,
    /// Duration of each direction, in hundredths of a second, or its bytes.
    pub amount: Amount,
    /// Maximum rate of a stream, in bits per second (`-b`).
    pub bits_per_second: Option<u64>,
    /// The length of the header: data begins behind it.
    pub length: usize,
    /// The length of a write, or of a datagram, in bytes (`-l`).
    pub write: u32,
}

/// End of a direction of iperf 2 (`mAmount`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// After this many hundredths of a second.
    Hundredths(u32),
    /// After this many bytes.
    Bytes(u32),
}

/// Reads the terms of a header. Returns `None` if the header is too short to have them.
pub fn terms(first: &[u8]) -> Option<Terms> {
    let word = |place| word(first, place);
    let (flags, port, amount) = (word(0)?, word(2)?, word(5)?.cast_signed());
    // Without an end the direction would last for ever; ten seconds are iperf's default.
    let amount = match amount {
        0 => Amount::Hundredths(1_000),
        amount if amount < 0 => Amount::Hundredths(amount.unsigned_abs()),
        amount => Amount::Bytes(amount.unsigned_abs()),
    };
    let length = header_length(flags).unwrap_or(SHORT_HEADER);
    let rate = (flags & EXTEND != 0).then(|| word(12)).flatten().unwrap_or(0);
    let upper = word(13).filter(|_| rate > 0).unwrap_or(0) >> 8;
    let bits = u64::from(upper) << 32 | u64::from(rate);
    Some(Terms {
        port: u16::try_from(port).ok()?,
        amount,
        bits_per_second: (bits > 0).then_some(bits),
        length,
        write: word(3)?,
    })
}

/// Returns the length of a header in bytes, if its flags state it.
fn header_length(flags: u32) -> Option<usize> {
    let length = usize::try_from((flags & LENGTH_MASK) >> 1).ok()?;
    (flags & LENGTH_BIT != 0 && (HEADER..=LONGEST_HEADER).contains(&length)).then_some(length)
}

/// Returns the number of first bytes that are needed to read the header.
pub fn wanted(first: &[u8]) -> usize {
    let flags = word(first, 0).filter(|_| is_header(first));
    flags.and_then(header_length).map_or(HEADER, |length| length.min(LONGEST))
}

/// A wall-clock time of iperf 2: seconds since 1970, and microseconds.
pub type Moment = [u32; 2];

/// Returns the acknowledgement that a client with `-X` awaits before it sends (`client_hdr_ack` of
/// `payloads.h`). Returns `None` if the client awaits none. `came` is the arrival time of the
/// client's header and `now` the time of the acknowledgement. A client that measures one-way times
/// gets both.
pub fn acknowledgement(first: &[u8], came: Moment, now: Moment) -> Option<Vec<u8>> {
    let flags = word(first, 0)?;
    if !is_header(first) || flags & PEER_DETECT == 0 {
        return None;
    }
    let upper = first.get(32..)?.first_chunk::<2>().map(|bytes| u16::from_be_bytes(*bytes))?;
    let mut words = vec![ACKNOWLEDGES, 28, 0, SPOKEN[0], SPOKEN[1], 0, 0];
    if upper & TRIP_TIMES != 0 {
        words[1] = 52;
        words.extend([word(first, 16)?, word(first, 17)?, came[0], came[1], now[0], now[1]]);
    }
    Some(words.into_iter().flat_map(u32::to_be_bytes).collect())
}

/// Returns the size of the requests of `--bounceback`, in bytes. Each request begins with a header
/// that states it, including the first. Returns `None` for any other test.
pub fn bounce_size(first: &[u8]) -> Option<u32> {
    let size = word(first, 1)?;
    (wish(first) == Some(Wish::BounceBack)).then_some(size)
}

/// Returns the time that a server is to wait before it answers a request (`--bounceback-hold`), in
/// microseconds.
pub fn bounce_hold(request: &[u8]) -> u32 {
    word(request, 11).unwrap_or(0)
}

/// Turns a request of `--bounceback` into its answer (`bounceback_hdr` of `payloads.h`). Sets the
/// arrival time of the request and the departure time of the answer; all other bytes stay.
pub fn bounce(request: &mut [u8], came: Moment, now: Moment) {
    let times = [came[0], came[1], now[0], now[1]];
    let places = request.get_mut(28..44).map(|place| place.chunks_exact_mut(4));
    for (place, time) in places.into_iter().flatten().zip(times) {
        place.copy_from_slice(&time.to_be_bytes());
    }
}

fn word(bytes: &[u8], place: usize) -> Option<u32> {
    bytes.get(place * 4..)?.first_chunk::<4>().map(|bytes| u32::from_be_bytes(*bytes))
}

/// Returns whether data begins with a header of iperf 2.0.10 or later, which always sends one.
pub fn is_header(first: &[u8]) -> bool {
    let Some(flags) = first.first_chunk::<4>().map(|bytes| u32::from_be_bytes(*bytes)) else {
        return false;
    };
    // The flags also state the header's length.
    let length = usize::try_from((flags & LENGTH_MASK) >> 1).unwrap_or(usize::MAX);
    let threads = first.get(4..8).and_then(|rest| rest.first_chunk::<4>());
    let threads = threads.map_or(0, |bytes| u32::from_be_bytes(*bytes));
    flags & EXTEND != 0
        && flags & LENGTH_BIT != 0
        && (HEADER..=LONGEST_HEADER).contains(&length)
        && (1..=MAX_THREADS).contains(&threads)
}

/// Returns the request of a client whose data begins with these bytes. Data of other programs may
/// begin with any bytes, so a header counts only if its other fields are valid.
pub fn wish(first: &[u8]) -> Option<Wish> {
    let word = |place: usize| {
        first.get(place * 4..)?.first_chunk::<4>().map(|bytes| u32::from_be_bytes(*bytes))
    };
    let (flags, threads, port) = (word(0)?, word(1)?, word(2)?);
    if flags == BOUNCE_BACK && (1..=LARGEST_REQUEST).contains(&threads) {
        return Some(Wish::BounceBack);
    }
    if !(1..=MAX_THREADS).contains(&threads) || !(1..=0xffff).contains(&port) {
        return None;
    }
    if flags & (VERSION2 | EXTEND) == VERSION2 | EXTEND {
        let upper = first.get(32..).and_then(|rest| rest.first_chunk::<2>());
        let upper = upper.map_or(0, |bytes| u16::from_be_bytes(*bytes));
        return match upper {
            upper if upper & FULL_DUPLEX != 0 => Some(Wish::FullDuplex),
            upper if upper & REVERSE != 0 => Some(Wish::Reverse),
            _ => None,
        };
    }
    match (flags & VERSION1 != 0, flags & RUN_NOW != 0) {
        (true, true) => Some(Wish::DualTest),
        (true, false) => Some(Wish::TradeOff),
        (false, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// First words that iperf 2.1.8 sends.
    fn of(words: &str) -> Vec<u8> {
        let words = words.split_whitespace().map(|word| u32::from_str_radix(word, 16).unwrap());
        words.flat_map(u32::to_be_bytes).collect()
    }

    #[test]
    fn what_a_client_wants_is_seen() {
        let wish = |words: &str| wish(&of(words));
        let middle = "00000001 00003a99 00000000 00000000 ffffff9c 00000000 00000000";
        let with = |first: &str, last: &str| wish(&format!("{first} {middle} {last}"));
        assert_eq!(with("40010078", "00000000"), None, "plain");
        assert!(is_header(&of(&format!("40010078 {middle} 00000000"))));
        assert_eq!(with("400100a0", "00100000"), None, "--trip-times");
        assert_eq!(with("44010078", "04000000"), Some(Wish::Reverse));
        assert_eq!(with("44010078", "08000000"), Some(Wish::FullDuplex));
        assert_eq!(with("c0010079", "00000000"), Some(Wish::DualTest));
        assert_eq!(with("c0010078", "00000000"), Some(Wish::TradeOff));
        // Headers of iperf 2.0.5 and of lwIP's iperf have no upper flags.
        assert_eq!(wish("80000001 00000001 00001389"), Some(Wish::DualTest));
        assert_eq!(wish("00800000 00000064 00000001 80005a5a"), Some(Wish::BounceBack));
    }

    #[test]
    fn the_terms_of_a_client_are_read() {
        let terms = |words: &str| terms(&of(words));
        let head = "00000001 00001779 00000000 00000000";
        let tail = "00000000 00000000 08000000 00020001 00080003 00000000";
        let full = terms(&format!("44010078 {head} ffffff9c {tail} 00a00000 00000000 00000000"));
        let full = full.unwrap();
        assert_eq!((full.port, full.amount), (6_009, Amount::Hundredths(100)));
        assert_eq!((full.bits_per_second, full.length), (Some(10 << 20), 60));
        // -r -n 1M.
        let bytes = terms(&format!("c0010078 {head} 00100000 {tail} 00000000 00000000")).unwrap();
        assert_eq!((bytes.amount, bytes.bits_per_second), (Amount::Bytes(1 << 20), None));
        // iperf 2.0.5 sends no more than this.
        let old = terms(&format!("80000001 {head} fffffc18")).unwrap();
        assert_eq!((old.amount, old.length), (Amount::Hundredths(1_000), 24));
        assert_eq!(terms("80000001 00000001"), None);
    }

    #[test]
    fn a_client_that_asks_who_serves_it_is_told() {
        let middle = "00000001 00003a99 00000000 00000000 ffffff9c 00000000 00000000";
        let (came, now) = ([7, 8], [9, 10]);
        let asked = of(&format!("46010078 {middle} 00000000"));
        let told = acknowledgement(&asked, came, now).unwrap();
        assert_eq!(told, of("00000002 0000001c 00000000 00020001 00080003 00000000 00000000"));
        let rest =
            "00020001 00080003 00000000 00000000 00000000 00000000 00000000 6b073f40 00008475";
        let timed = of(&format!("460100a0 {middle} 00100000 {rest}"));
        let told = acknowledgement(&timed, came, now).unwrap();
        assert_eq!(told.len(), 52);
        assert_eq!(told[28..], of("6b073f40 00008475 00000007 00000008 00000009 0000000a")[..]);
        assert_eq!(wanted(&timed), LONGEST);
        let plain = of(&format!("40010078 {middle} 00000000"));
        assert_eq!(acknowledgement(&plain, came, now), None);
        assert_eq!((wanted(&plain), wanted(&[0; 64])), (60, HEADER));
    }

    #[test]
    fn data_of_others_wants_nothing() {
        // ttcp's pattern, text, zeros, and bytes with all bits.
        let pattern: Vec<u8> = (b' '..0x7f).collect();
        for data in
            [pattern.as_slice(), b"DATA of a file, in letters. And so on.", &[0; 64], &[0xff; 64]]
        {
            assert_eq!(wish(data), None, "{data:?}");
            assert!(!is_header(data), "{data:?}");
        }
        for length in 0..HEADER {
            assert_eq!(wish(&[0; HEADER][..length]), None);
        }
    }

    proptest! {
        #[test]
        fn any_data_is_looked_at(data in prop::collection::vec(any::<u8>(), 0..80)) {
            // A client with a request sends a valid header.
            let known = [Some(Wish::Reverse), Some(Wish::FullDuplex)];
            prop_assert!(!known.contains(&wish(&data)) || data.len() >= HEADER);
            prop_assert!(!is_header(&data) || data[0] & 0x40 != 0);
            prop_assert!((HEADER..=LONGEST).contains(&wanted(&data)));
            let _ = terms(&data);
            let _ = acknowledgement(&data, [0; 2], [0; 2]);
        }
    }

    #[test]
    fn our_header_is_that_of_a_plain_test() {
        let header = plain_header(3, 5_001);
        assert_eq!(header[..12], of("40010078 00000003 00001389")[..]);
        assert!(is_header(&header));
        assert_eq!(wish(&header), None);
    }

    #[test]
    fn an_answer_is_the_request_with_the_times_of_the_server() {
        // Header that iperf 2.1.8 sent for `--bounceback --bounceback-hold 9`.
        let head = "00800000 00000064 00000001 80005a5a 00000000 6b078611 000141f9 ffffffff ffffffff \
                    ffffffff ffffffff 00002328";
        let words = head.split_whitespace().map(|word| u32::from_str_radix(word, 16).unwrap());
        let mut request: Vec<u8> = words.flat_map(u32::to_be_bytes).collect();
        request.resize(100, 0x5a);
        assert_eq!((bounce_size(&request), bounce_hold(&request)), (Some(100), 9_000));
        let before = request.clone();
        bounce(&mut request, [1, 2], [3, 4]);
        assert_eq!((&request[..28], &request[44..]), (&before[..28], &before[44..]));
        let times: Vec<u32> = (7..11).filter_map(|place| word(&request, place)).collect();
        assert_eq!(times, [1, 2, 3, 4]);
        // A request that is too short for the times goes back unchanged.
        for length in 0..44 {
            let mut short = before[..length].to_vec();
            bounce(&mut short, [1, 2], [3, 4]);
            assert_eq!(short, before[..length]);
            assert_eq!(bounce_hold(&short), 0);
        }
    }
}
