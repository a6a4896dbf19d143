use windlass_base::Bytes;

use super::*;

fn at(millis: i64) -> Timestamp {
    Timestamp::ZERO + Span::from_millis(millis)
}

fn supply(bytes: u64, writes: WritePattern) -> Supply {
    Supply::new(&SenderSettings { writes, ..SenderSettings::new(Bytes::new(bytes)) }, 0)
}

#[test]
fn bulk_fills_the_room_there_is() {
    let mut supply = supply(10_000, WritePattern::Bulk);
    supply.write(at(0), 2_048);
    assert_eq!((supply.written, supply.wants_room(), supply.is_done()), (2_048, true, false));
    supply.write(at(0), 100_000);
    assert_eq!((supply.written, supply.is_done()), (10_000, true));
}

#[test]
fn paced_pieces_come_one_after_the_other() {
    let (first, piece) = (Bytes::new(256), Bytes::new(768));
    let mut supply =
        supply(2_000, WritePattern::Paced { first, piece, every: Span::from_millis(10) });
    let mut written = Vec::new();
    supply.write(at(0), 10_000);
    while let Some(time) = supply.next_time() {
        written.push((time.as_nanos() / 1_000_000, supply.written));
        supply.write(time, 10_000);
    }
    assert_eq!(written, [(10, 256), (20, 1_024), (30, 1_792)]);
    assert_eq!((supply.written, supply.is_done()), (2_000, true));
}

#[test]
fn a_piece_that_finds_no_room_is_written_when_there_is() {
    let mut supply = supply(
        3_000,
        WritePattern::Bursts { bytes: Bytes::new(1_500), pause: Span::from_millis(5) },
    );
    supply.write(at(0), 1_000);
    assert_eq!((supply.written, supply.next_time()), (1_000, None));
    supply.write(at(2), 1_000);
    assert_eq!((supply.written, supply.next_time()), (1_500, Some(at(7))));
}

#[test]
fn a_request_waits_for_its_answer() {
    let mut supply =
        supply(200, WritePattern::Requests { bytes: Bytes::new(100), answer: Bytes::new(10) });
    supply.write(at(0), 10_000);
    assert_eq!(supply.written, 100);
    supply.answered(9, at(1));
    supply.write(at(1), 10_000);
    assert_eq!(supply.written, 100);
    supply.answered(1, at(2));
    supply.write(at(2), 10_000);
    assert_eq!((supply.written, supply.is_done()), (200, false));
    supply.answered(10, at(3));
    supply.write(at(3), 10_000);
    assert!(supply.is_done());
}

#[test]
fn an_lpr_job_has_the_lengths_of_the_h_ps1us_trace() {
    let method = Method::Lpr { data_first: true, announced: AnnouncedSize::Exactly };
    let settings = SenderSettings { method, ..SenderSettings::new(Bytes::new(22_226_432)) };
    let mut supply = Supply::new(&settings, 0);
    let mut lengths = Vec::new();
    let mut before = 0;
    while !supply.is_done() {
        supply.write(at(0), u64::MAX);
        lengths.push(supply.written - before);
        before = supply.written;
        supply.answered(1, at(0));
    }
    assert_eq!(&lengths[..5], [5, 34, 22_226_433, 28, 61]);
    assert_eq!(supply.payload(0, 5), Payload::copy_of(b"\x02raw\n"));
    assert_eq!(supply.payload(39, 1_499), Payload::Zeros(1_460));
    let Payload::Bytes(both) = supply.payload(3, 41) else { panic!("bytes") };
    assert_eq!(&both.as_slice()[..5], b"w\n\x0322");
    assert_eq!(&both.as_slice()[36..], [0, 0]);
    supply.acknowledged(39);
    assert_eq!(supply.lines.len(), 2);
}
