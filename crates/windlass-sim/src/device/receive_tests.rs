use proptest::prelude::*;

use super::*;

const FIRST: u64 = START + 1;

/// A receiver, and the bytes that are in order.
struct Bench {
    receive: ReassemblyBuffer,
    bytes: Vec<u8>,
}

impl Bench {
    fn new() -> Self {
        Self { receive: ReassemblyBuffer::new(u32::MAX - 100), bytes: Vec::new() }
    }

    fn data(&mut self, offset: u64, bytes: &[u8]) -> Arrival {
        let payload = Payload::copy_of(bytes);
        let out = &mut self.bytes;
        self.receive.data(FIRST + offset, &payload, FIRST + 1_000, true, |piece| match piece {
            Payload::Zeros(length) => out.extend(std::iter::repeat_n(0, length as usize)),
            Payload::Bytes(shared) => out.extend_from_slice(shared.as_slice()),
        })
    }

    fn zeros(&mut self, offset: u64, length: u32) -> Arrival {
        let payload = Payload::Zeros(length);
        self.receive.data(FIRST + offset, &payload, FIRST + 100_000, true, |_| {})
    }

    /// Returns the reported blocks, as offsets into the data.
    fn sack(&mut self) -> Vec<(u64, u64)> {
        let blocks = self.receive.sack(3, false);
        let offset = |number| self.receive.position(number) - FIRST;
        blocks.as_slice().iter().map(|range| (offset(range.left), offset(range.right))).collect()
    }
}

#[test]
fn a_gap_holds_back_what_follows_it() {
    let mut bench = Bench::new();
    assert_eq!(bench.data(0, b"abc"), Arrival::InOrder(3));
    assert_eq!(bench.data(6, b"ghi"), Arrival::Ahead);
    assert_eq!(bench.data(6, b"ghi"), Arrival::Nothing);
    assert!(bench.receive.has_gap());
    assert_eq!(bench.data(2, b"cdefg"), Arrival::InOrder(6));
    assert_eq!(bench.bytes, b"abcdefghi");
    assert!(!bench.receive.has_gap());
}

#[test]
fn blocks_are_reported_with_the_latest_first() {
    let mut bench = Bench::new();
    for offset in [1_000, 3_000, 5_000, 7_000] {
        bench.zeros(offset, 1_000);
    }
    assert_eq!(bench.sack(), [(7_000, 8_000), (5_000, 6_000), (3_000, 4_000)]);
    bench.zeros(4_000, 1_000);
    assert_eq!(bench.sack(), [(3_000, 6_000), (7_000, 8_000), (1_000, 2_000)]);
    bench.zeros(0, 1_000);
    assert_eq!(bench.sack(), [(3_000, 6_000), (7_000, 8_000)]);
}

#[test]
fn data_beyond_the_window_is_cut() {
    let mut bench = Bench::new();
    assert_eq!(bench.data(0, &[7; 1_200]), Arrival::InOrder(1_000));
    assert_eq!(bench.data(1_000, &[7; 10]), Arrival::Nothing);
}

#[test]
fn the_end_counts_when_all_before_it_has_come() {
    let mut bench = Bench::new();
    bench.receive.fin(FIRST + 6);
    assert!(!bench.receive.is_finished());
    assert_eq!(bench.data(3, b"defxyz"), Arrival::Ahead);
    assert_eq!(bench.data(0, b"abc"), Arrival::InOrder(6));
    bench.receive.fin(FIRST + 9);
    bench.receive.fin(FIRST + 6);
    assert!(bench.receive.is_finished());
    assert_eq!(bench.receive.next, FIRST + 7);
    assert_eq!(bench.bytes, b"abcdef");
}

#[test]
fn pieces_ahead_are_bounded() {
    let mut bench = Bench::new();
    let kept = (1..2_000).filter(|n| bench.zeros(n * 2, 1) == Arrival::Ahead).count();
    assert_eq!(kept, MAX_PIECES);
    assert_eq!(bench.receive.ahead.len(), MAX_PIECES);
}

proptest! {
    #[test]
    fn any_order_of_any_pieces_gives_the_bytes_once_and_in_order(
        text in prop::collection::vec(any::<u8>(), 1..300),
        pieces in prop::collection::vec((0..300_usize, 1..80_usize), 0..120),
    ) {
        let mut bench = Bench::new();
        let piece = |at: usize, length: usize| {
            let at = at.min(text.len() - 1);
            (at, &text[at..(at + length).min(text.len())])
        };
        for (at, length) in pieces {
            let (at, bytes) = piece(at, length);
            bench.data(at as u64, bytes);
            prop_assert_eq!(&bench.bytes, &text[..bench.bytes.len()]);
            prop_assert_eq!(bench.receive.next - FIRST, bench.bytes.len() as u64);
            let next = bench.bytes.len() as u64;
            for (left, right) in bench.sack() {
                prop_assert!(next < left && left < right && right <= text.len() as u64);
            }
        }
        for at in (0..text.len()).step_by(50) {
            let (at, bytes) = piece(at, 50);
            bench.data(at as u64, bytes);
        }
        prop_assert_eq!(&bench.bytes, &text);
    }
}
