//! Captures of frames that are counted and numbered, between two namespaces.

use super::*;
use crate::generator::{Frame, Generator, Load, LoadEnd, number, run};
use crate::pair::{NUMBER_AT, Pair, datagram};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Longer than any step here takes.
const LIMIT: Duration = Duration::from_secs(60);

const A_WHILE: Duration = Duration::from_millis(50);

/// Returns both kinds of source.
fn sources() -> [Source; 2] {
    [Source::ring(64 << 20, WHOLE), Source::Single { buffer: Some(16 << 20) }]
}

fn opened(pair: &Pair, source: Source) -> Capture {
    let settings = Settings { source, namespace: Some(&pair.right), ..Settings::default() };
    Capture::open("right", &settings).unwrap()
}

fn generator(pair: &Pair) -> Generator {
    Generator::open("left", Some(&pair.left)).unwrap()
}

/// Sends this many frames, or fails.
fn send(generator: &mut Generator, bytes: &[u8], packets: u64) {
    let frame = Frame { bytes, number_at: Some(NUMBER_AT) };
    let load = Load { frame, rate: None, until: LoadEnd::Packets(packets) };
    let sent = run(generator, &load, &AtomicBool::new(false));
    assert!(sent.failure.is_none(), "{sent:?}");
    assert_eq!(sent.packets, packets);
}

/// Waits until the kernel has seen this many packets: it passes them between the interfaces in its
/// own time.
fn seen(capture: &mut Capture, packets: u64) {
    let began = Instant::now();
    while capture.statistics().unwrap().received < packets && began.elapsed() < LIMIT {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(capture.statistics().unwrap().received, packets);
}

/// Reads the numbers of a batch's packets.
fn take(batch: &mut Batch<'_>, numbers: &mut Vec<u64>) {
    while let Some(packet) = batch.next() {
        numbers.push(number(packet.data, NUMBER_AT).unwrap());
    }
}

/// Reads everything that a stopped capture still has.
fn drain(capture: &mut Capture, numbers: &mut Vec<u64>) {
    while let CaptureEvent::Batch(mut batch) = capture.next(LIMIT).unwrap() {
        take(&mut batch, numbers);
    }
}

/// Reads packets until the capture reports anything but silence.
fn until_trouble(capture: &mut Capture, numbers: &mut Vec<u64>) -> &'static str {
    let began = Instant::now();
    while began.elapsed() < LIMIT {
        match capture.next(A_WHILE).unwrap() {
            CaptureEvent::Batch(mut batch) => take(&mut batch, numbers),
            CaptureEvent::Nothing => {}
            CaptureEvent::Down => return "down",
            CaptureEvent::Gone => return "gone",
        }
    }
    "nothing"
}

/// Checks that the packets taken and the packets dropped add up to those sent.
fn account(capture: &mut Capture, numbers: &[u64], sent: u64) -> Statistics {
    let counts = capture.statistics().unwrap();
    assert_eq!(numbers.len() as u64 + counts.dropped, sent, "{counts:?}");
    assert_eq!(counts.received, sent);
    assert!(numbers.is_sorted_by(|a, b| a < b), "each once, in order");
    if counts.dropped == 0 {
        assert!(numbers.iter().copied().eq(0..sent));
    }
    counts
}

#[test]
fn what_is_taken_while_it_comes_is_complete_or_counted() {
    let test = "what_is_taken_while_it_comes_is_complete_or_counted";
    for (source, sent) in sources().into_iter().zip([50_000, 20_000]) {
        let Some(pair) = Pair::make(test) else { return };
        let mut capture = opened(&pair, source);
        let mut numbers = Vec::new();
        std::thread::scope(|scope| {
            let sender = scope.spawn(|| send(&mut generator(&pair), &datagram(1_514, 7), sent));
            while !sender.is_finished() {
                if let CaptureEvent::Batch(mut batch) = capture.next(A_WHILE).unwrap() {
                    take(&mut batch, &mut numbers);
                }
            }
        });
        seen(&mut capture, sent);
        capture.stop().unwrap();
        drain(&mut capture, &mut numbers);
        account(&mut capture, &numbers, sent);
    }
}

#[test]
fn what_waits_at_a_stop_is_given() {
    let Some(pair) = Pair::make("what_waits_at_a_stop_is_given") else { return };
    // A block that is not full closes after its time. The 64 blocks are enough for ten seconds, if
    // sending takes so long.
    let within = Duration::from_millis(160);
    let source = Source::Ring { bytes: 64 << 20, block: 1 << 20, within };
    for sent in [1, 50_000] {
        let mut capture = opened(&pair, source);
        let mut generator = generator(&pair);
        send(&mut generator, &datagram(60, 7), sent);
        seen(&mut capture, sent);
        capture.stop().unwrap();
        // These packets come too late.
        send(&mut generator, &datagram(60, 7), 10);
        let mut numbers = Vec::new();
        drain(&mut capture, &mut numbers);
        let counts = account(&mut capture, &numbers, sent);
        assert_eq!((counts.dropped, counts.freezes), (0, 0), "all have room");
    }
}

#[test]
fn what_has_no_room_is_counted() {
    let Some(pair) = Pair::make("what_has_no_room_is_counted") else { return };
    let small = Source::Ring { bytes: 1 << 16, block: 1 << 14, within: A_WHILE };
    for source in [small, Source::Single { buffer: Some(4_096) }] {
        let mut capture = opened(&pair, source);
        let sent = 50_000;
        send(&mut generator(&pair), &datagram(200, 7), sent);
        seen(&mut capture, sent);
        capture.stop().unwrap();
        let mut numbers = Vec::new();
        drain(&mut capture, &mut numbers);
        let counts = account(&mut capture, &numbers, sent);
        assert!(counts.dropped > 0 && !numbers.is_empty(), "{counts:?}");
        assert!(capture.buffer_bytes() <= 1 << 16);
    }
}

#[test]
fn the_tag_of_a_vlan_is_in_its_place() {
    let test = "the_tag_of_a_vlan_is_in_its_place";
    let Some(pair) = Pair::make(test) else { return };
    let plain = datagram(64, 7);
    let tagged = [&plain[..12], b"\x81\0\xa0\x07", &plain[12..]].concat();
    let expect = |capture: &mut Capture, frame: &[u8]| {
        let began = Instant::now();
        while began.elapsed() < LIMIT {
            if let CaptureEvent::Batch(mut batch) = capture.next(A_WHILE).unwrap() {
                let packet = batch.next().unwrap();
                assert_eq!((packet.data, packet.original_length), (frame, 68));
                return;
            }
        }
        panic!("no packet came");
    };
    for source in sources() {
        let mut capture = opened(&pair, source);
        let frame = Frame { bytes: &tagged, number_at: None };
        assert_eq!(generator(&pair).send(frame, 1).unwrap(), 1);
        expect(&mut capture, &tagged);
    }
    if let Err(refused) = pair.left.add_vlan("left", "left.7", 7) {
        return eprintln!("skipped: {test}, by an interface of a VLAN: {refused}");
    }
    pair.left.bring_up("left.7").unwrap();
    let mut by_vlan = Generator::open("left.7", Some(&pair.left)).unwrap();
    let usual = [&plain[..12], b"\x81\0\0\x07", &plain[12..]].concat();
    for source in sources() {
        let mut capture = opened(&pair, source);
        let frame = Frame { bytes: &plain, number_at: None };
        assert_eq!(by_vlan.send(frame, 1).unwrap(), 1);
        expect(&mut capture, &usual);
    }
}

#[test]
fn a_capture_goes_on_when_its_interface_is_up_again() {
    let test = "a_capture_goes_on_when_its_interface_is_up_again";
    for source in sources() {
        let Some(pair) = Pair::make(test) else { return };
        let (mut capture, mut generator) = (opened(&pair, source), generator(&pair));
        let mut numbers = Vec::new();
        for round in 1..=3 {
            send(&mut generator, &datagram(60, 7), 10);
            seen(&mut capture, 10 * round);
            pair.right.bring_down("right").unwrap();
            assert_eq!(until_trouble(&mut capture, &mut numbers), "down");
            assert!(!capture.is_up().unwrap());
            // The event is reported once.
            assert!(matches!(capture.next(A_WHILE).unwrap(), CaptureEvent::Nothing));
            pair.right.bring_up("right").unwrap();
            assert!(capture.is_up().unwrap());
        }
        capture.stop().unwrap();
        drain(&mut capture, &mut numbers);
        account(&mut capture, &numbers, 30);
    }
}

#[test]
fn what_waits_is_given_before_an_interface_is_gone() {
    let test = "what_waits_is_given_before_an_interface_is_gone";
    for source in sources() {
        let Some(pair) = Pair::make(test) else { return };
        let (mut capture, mut generator) = (opened(&pair, source), generator(&pair));
        send(&mut generator, &datagram(60, 7), 100);
        seen(&mut capture, 100);
        pair.right.remove("right").unwrap();
        let mut numbers = Vec::new();
        let mut said = until_trouble(&mut capture, &mut numbers);
        account(&mut capture, &numbers, 100);
        // The interface goes down before it goes.
        if said == "down" {
            said = until_trouble(&mut capture, &mut numbers);
        }
        assert_eq!((said, numbers.len()), ("gone", 100));
        assert!(
            matches!(capture.next(A_WHILE).unwrap(), CaptureEvent::Gone),
            "it does not come back"
        );
        assert!(capture.is_up().is_err());
    }
}

#[test]
fn an_interface_that_is_down_may_go() {
    for source in sources() {
        let Some(pair) = Pair::make("an_interface_that_is_down_may_go") else { return };
        let mut capture = opened(&pair, source);
        let mut numbers = Vec::new();
        pair.right.bring_down("right").unwrap();
        assert_eq!(until_trouble(&mut capture, &mut numbers), "down");
        // Another interface of its name is another interface.
        pair.right.remove("right").unwrap();
        pair.left.add_veth("left", &pair.right, "right").unwrap();
        assert_eq!(until_trouble(&mut capture, &mut numbers), "gone");
    }
}

#[test]
fn packets_are_spread_and_none_comes_twice() {
    let Some(pair) = Pair::make("packets_are_spread_and_none_comes_twice") else { return };
    let spread = NonZeroU16::new(2).unwrap();
    for source in sources() {
        let settings =
            Settings { source, namespace: Some(&pair.right), spread, ..Settings::default() };
        let mut captures = Capture::open_many("right", &settings).unwrap();
        let mut generator = generator(&pair);
        // Each port is another connection.
        for port in 1..=40 {
            send(&mut generator, &datagram(60, port), 50);
        }
        let began = Instant::now();
        let mut received = 0;
        while received < generator.sent() && began.elapsed() < LIMIT {
            let counts = captures.iter_mut().map(|capture| capture.statistics().unwrap());
            received = counts.sum::<Statistics>().received;
        }
        let mut numbers = BTreeSet::new();
        let mut taken = 0;
        for capture in &mut captures {
            capture.stop().unwrap();
            let mut share = Vec::new();
            drain(capture, &mut share);
            let counts = capture.statistics().unwrap();
            assert_eq!(share.len() as u64 + counts.dropped, counts.received);
            assert_eq!(counts.dropped, 0);
            assert!(!share.is_empty() && share.len() < 2_000, "{}", share.len());
            taken += share.len();
            numbers.extend(share);
        }
        assert_eq!(taken, 2_000);
        assert!(numbers.into_iter().eq(0..2_000));
    }
}

#[test]
fn an_open_that_is_refused_names_its_step() {
    let Some(pair) = Pair::make("an_open_that_is_refused_names_its_step") else { return };
    let settings = Settings { namespace: Some(&pair.right), ..Settings::default() };
    let refused = Capture::open("left", &settings).unwrap_err();
    assert_eq!(refused.step, OpenStep::Interface);
    let source = Source::Ring { bytes: 1 << 20, block: 3_000, within: A_WHILE };
    let refused = Capture::open("right", &Settings { source, ..settings }).unwrap_err();
    assert_eq!(refused.step, OpenStep::Buffer);
    let filter = [Instruction { code: 0xffff, ..Instruction::keep(0) }];
    let refused =
        Capture::open("right", &Settings { filter: Some(&filter), ..settings }).unwrap_err();
    assert_eq!(refused.step, OpenStep::Filter);
}

/// Bytes that a packet of 60 bytes takes in a block, headers included.
const TAKEN: u64 = 144;

/// Sends packets at this rate while the reader stays away. Returns the numbers read afterwards, the
/// counts, and the number sent.
fn away(pair: &Pair, snap_length: u32, bytes: u64, rate: u64) -> (Vec<u64>, Statistics, u64) {
    let source = Source::ring(bytes, snap_length);
    let settings =
        Settings { source, snap_length, namespace: Some(&pair.right), ..Settings::default() };
    let mut capture = Capture::open("right", &settings).unwrap();
    let bytes = datagram(60, 7);
    let frame = Frame { bytes: &bytes, number_at: Some(NUMBER_AT) };
    let until = LoadEnd::Time(Duration::from_secs(3));
    let load = Load { frame, rate: std::num::NonZeroU64::new(rate), until };
    let sent = run(&mut generator(pair), &load, &AtomicBool::new(false));
    assert!(sent.failure.is_none(), "{sent:?}");
    seen(&mut capture, sent.packets);
    capture.stop().unwrap();
    let mut numbers = Vec::new();
    drain(&mut capture, &mut numbers);
    let counts = account(&mut capture, &numbers, sent.packets);
    (numbers, counts, sent.packets)
}

#[test]
fn a_reader_that_is_kept_away_loses_only_what_the_bytes_do_not_hold() {
    let test = "a_reader_that_is_kept_away_loses_only_what_the_bytes_do_not_hold";
    // One capture of headers, and one of whole packets.
    for (snap_length, bytes) in [(256, 64 << 20), (WHOLE, 256 << 20)] {
        let one = |rate: u64| {
            let Some(pair) = Pair::make(test) else { return };
            let (numbers, counts, sent) = away(&pair, snap_length, bytes, rate);
            let holds = bytes / TAKEN;
            // Linux since 5.3 drops a packet that arrives while another processor closes a block,
            // as it checks for room without a lock (`tpacket_rcv`). This takes no bytes of the
            // ring.
            let unlucky = if rate < 100_000 { 0 } else { sent / 100_000 };
            if sent < holds / 10 * 9 {
                assert_eq!(counts.freezes, 0, "{rate} a second, {sent} in {bytes}: {counts:?}");
                let dropped = counts.dropped;
                assert!(dropped <= unlucky, "{rate} a second, {sent} in {bytes}: {counts:?}");
            }
            let taken = numbers.len() as u64 + unlucky;
            assert!(taken >= sent.min(holds / 10 * 9), "{rate} a second: {taken} of {sent}");
        };
        // Runs at low rates leave time for each other.
        std::thread::scope(|scope| {
            for rate in [10, 100, 2_000, 10_000] {
                scope.spawn(move || one(rate));
            }
        });
        one(100_000);
        one(500_000);
    }
}

#[test]
fn blocks_suit_what_is_kept_of_a_packet() {
    let block = |bytes, snap_length| match Source::ring(bytes, snap_length) {
        Source::Ring { block, within, .. } => (block >> 10, within.as_millis()),
        Source::Single { .. } => (0, 0),
    };
    assert_eq!(block(64 << 20, 96), (16, 10));
    assert_eq!(block(64 << 20, 512), (16, 10));
    assert_eq!(block(256 << 20, 1_514), (16, 10));
    assert_eq!(block(256 << 20, 9_014), (64, 40));
    assert_eq!(block(256 << 20, WHOLE), (256, 40));
    // The largest packet still fits in a small ring.
    assert_eq!(block(1 << 20, WHOLE), (128, 40));
    assert_eq!(block(1 << 16, WHOLE), (128, 40));
    assert_eq!(block(1 << 16, 96), (8, 10));
    assert_eq!(block(0, 0), (4, 10));
    // Time that a ring bridges at least, however few packets come.
    for (bytes, snap_length) in [(64 << 20, 256), (256 << 20, WHOLE)] {
        let (kib, millis) = block(bytes, snap_length);
        assert!((bytes >> 10) / u64::from(kib) * millis as u64 >= 40_000);
    }
}
