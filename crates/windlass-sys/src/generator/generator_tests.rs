use super::*;
use crate::pair::Pair;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const FRAME: [u8; 60] = [0xff; 60];

fn numbered(bytes: &[u8]) -> Frame<'_> {
    Frame { bytes, number_at: Some(42) }
}

/// Returns the packets and bytes that an interface has received.
fn received(namespace: &Namespace, interface: &str) -> (u64, u64) {
    let text = namespace.read(c"/proc/net/dev").unwrap();
    let line = text
        .lines()
        .find_map(|line| line.split_once(':').filter(|(name, _)| name.trim() == interface));
    let mut numbers = line.unwrap().1.split_whitespace().map(|word| word.parse().unwrap());
    let bytes = numbers.next().unwrap();
    (numbers.next().unwrap(), bytes)
}

#[test]
fn a_number_is_what_was_written_or_none() {
    let mut frame = [7; 60];
    frame[42..50].copy_from_slice(&9_u64.to_be_bytes());
    assert_eq!(number(&frame, 42), None, "its complement is missing");
    frame[50..58].copy_from_slice(&(!9_u64).to_be_bytes());
    assert_eq!(number(&frame, 42), Some(9));
    assert_eq!(number(&frame, 43), None);
    assert_eq!(number(&frame[..57], 42), None);
    assert_eq!(number(&frame, usize::MAX), None);
}

#[test]
fn what_was_taken_is_what_arrives() {
    let Some(pair) = Pair::make("what_was_taken_is_what_arrives") else { return };
    let mut generator = Generator::open("left", Some(&pair.left)).unwrap();
    let frame = [0xff; 1_514];
    let load = Load { frame: numbered(&frame), rate: None, until: LoadEnd::Packets(10_007) };
    let sent = run(&mut generator, &load, &AtomicBool::new(false));
    assert!(sent.failure.is_none(), "{sent:?}");
    assert_eq!((sent.packets, sent.bytes), (10_007, 10_007 * 1_514));
    assert_eq!(received(&pair.right, "right"), (sent.packets, sent.bytes));
    // Frames without a number are counted, too.
    let plain = Frame { bytes: &frame, number_at: None };
    assert_eq!(generator.send(plain, 1).unwrap(), 1);
    assert_eq!(received(&pair.right, "right").0, 10_008);
    assert_eq!(generator.sent(), 10_008);
}

#[test]
fn what_the_interface_refuses_is_not_counted() {
    let Some(pair) = Pair::make("what_the_interface_refuses_is_not_counted") else { return };
    assert_eq!(Generator::open("up", Some(&pair.left)).unwrap_err().step, OpenStep::Interface);
    let mut generator = Generator::open("left", Some(&pair.left)).unwrap();
    let long = [0xff; 1_519];
    let refused = generator.send(numbered(&long), 3).unwrap_err();
    assert_eq!(refused.raw_os_error(), Some(libc::EMSGSIZE));
    let beyond = Frame { bytes: &FRAME, number_at: Some(45) };
    assert_eq!(generator.send(beyond, 1).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    // The other end is down, so there is no room.
    pair.right.bring_down("right").unwrap();
    assert_eq!(generator.send(numbered(&FRAME), 100).unwrap(), 0);
    pair.left.bring_down("left").unwrap();
    let down = generator.send(numbered(&FRAME), 100).unwrap_err();
    assert_eq!(down.raw_os_error(), Some(libc::ENETDOWN));
    pair.left.remove("left").unwrap();
    let load = Load { frame: numbered(&FRAME), rate: None, until: LoadEnd::Packets(5) };
    let sent = run(&mut generator, &load, &AtomicBool::new(false));
    assert_eq!(sent.failure.unwrap().raw_os_error(), Some(libc::ENXIO));
    assert_eq!((sent.packets, sent.bytes, generator.sent()), (0, 0, 0));
}

#[test]
fn a_rate_is_not_exceeded_and_the_last_packet_comes_when_it_is_due() {
    let test = "a_rate_is_not_exceeded_and_the_last_packet_comes_when_it_is_due";
    let Some(pair) = Pair::make(test) else { return };
    let mut generator = Generator::open("left", Some(&pair.left)).unwrap();
    for (rate, packets) in [(100, 4), (20_000, 1_000)] {
        let rate = NonZeroU64::new(rate);
        let load = Load { frame: numbered(&FRAME), rate, until: LoadEnd::Packets(packets) };
        let sent = run(&mut generator, &load, &AtomicBool::new(false));
        assert_eq!(sent.packets, packets);
        let least = (packets - 1) as f64 / rate.unwrap().get() as f64;
        assert!(sent.elapsed.as_secs_f64() >= least, "{sent:?}");
        // The delay is reported, whatever else this machine does.
        let late = sent.elapsed.as_secs_f64() - least;
        assert!(sent.behind.as_secs_f64() + 0.1 >= late, "{sent:?}");
        assert!(sent.packets_per_second() <= rate.unwrap().get() as f64 * 1.5);
    }
    let rate = NonZeroU64::new(1_000);
    let time = Duration::from_millis(100);
    let load = Load { frame: numbered(&FRAME), rate, until: LoadEnd::Time(time) };
    let sent = run(&mut generator, &load, &AtomicBool::new(false));
    assert!((1..=101).contains(&sent.packets), "{sent:?}");
}

#[test]
fn a_load_ends_when_it_is_told_to() {
    let Some(pair) = Pair::make("a_load_ends_when_it_is_told_to") else { return };
    let mut generator = Generator::open("left", Some(&pair.left)).unwrap();
    let stop = AtomicBool::new(false);
    // At one packet a second the load must check while it waits.
    for rate in [None, NonZeroU64::new(1)] {
        stop.store(false, Ordering::Relaxed);
        let began = Instant::now();
        let before = generator.sent();
        let load = Load { frame: numbered(&FRAME), rate, until: LoadEnd::Stopped };
        std::thread::scope(|scope| {
            let running = scope.spawn(|| run(&mut generator, &load, &stop));
            while received(&pair.right, "right").0 == before {
                std::thread::sleep(Duration::from_millis(1));
            }
            stop.store(true, Ordering::Relaxed);
            let sent = running.join().unwrap();
            assert!(sent.failure.is_none(), "{sent:?}");
        });
        assert!(began.elapsed() < Duration::from_secs(60));
    }
    assert_eq!(received(&pair.right, "right").0, generator.sent());
}
