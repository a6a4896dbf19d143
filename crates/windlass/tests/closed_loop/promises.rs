//! Promises for a sender without pauses: the closed loop makes the change.

use std::fmt::Write as _;

use windlass_base::{Bytes, Cause, Rate, Span};
use windlass_sim::device::{AckPolicy, Drain, Habits, Window};
use windlass_sim::sender::WritePattern;
use windlass_sim::{CapturePoint, Hop, LinkSettings, SenderSettings, Setting, Stream};
use windlass_trace::report::Confidence;

use super::setting::{bytes, seconds};
use super::what_if::{followed, rate};
use windlass_testkit::random::Random;

/// Maximum ratio of promised to actual rate, for nine of ten promises, and for each of them.
const TOLERANCE: f64 = 1.15;
const MOST: f64 = 1.3;

/// Cases of each kind.
const EACH: u64 = 150;

/// Limit of a transfer in addition to the pauses of its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OtherLimit {
    Reader,
    Window,
    Line,
    Loss,
    SendBuffer,
}

fn setting(beside: OtherLimit, seed: u64) -> (Setting, String) {
    let random = &mut Random::new(2_000 + beside as u64, seed);
    let rtt = random.log(0.001, 0.1);
    let mut line = 125e6;
    let (mut queue, mut loss) = (None, 0.0);
    let mut device = Habits {
        window: Window::Fixed(bytes(1e6)),
        window_scale: Some(7),
        timestamps: true,
        ack: random.one_of(&[
            AckPolicy::EverySegment,
            AckPolicy::EverySecond { timer: Span::from_millis(40) },
        ]),
        ..Habits::HEALTHY
    };
    let mut sender = SenderSettings::new(Bytes::ZERO);
    sender.timestamps = true;
    // How much goes at once, and what the limit beside would give.
    let piece = random.log(20e3, 400e3);
    let most = match beside {
        OtherLimit::Reader => {
            let reads = random.log(0.2e6, 20e6);
            device.window = Window::Buffer(bytes(random.log(16e3, 500e3)));
            let chunk = bytes(random.log(1_460.0, 8_000.0));
            device.drain = Drain::Rate { rate: Rate::from_bytes_per_second(reads), chunk };
            reads
        }
        OtherLimit::Window => {
            let window = random.log(6e3, 120e3);
            device.window = Window::Fixed(bytes(window));
            window / rtt
        }
        OtherLimit::Line => {
            line = random.log(0.3e6, 6e6);
            queue = Some(bytes((line * rtt * random.log(1.0, 4.0)).max(20.0 * 1_514.0)));
            line
        }
        OtherLimit::Loss => {
            loss = random.log(0.001, 0.02);
            1_460.0 / rtt * 1.2 / loss.sqrt()
        }
        OtherLimit::SendBuffer => {
            let buffer = random.log(6e3, 120e3);
            sender.send_buffer = Some(bytes(buffer));
            // A program that is woken late loses a part of its buffer that no capture shows.
            sender.wakes_at = 0.0;
            buffer / rtt
        }
    };
    // The pauses take a third to twenty times as long as the sending.
    let pause = piece / most * random.log(0.3, 20.0);
    let pause = pause.clamp(0.005, 3.0);
    sender.writes = match random.chance(0.5) {
        true => WritePattern::Bursts { bytes: bytes(piece), pause: seconds(pause) },
        false => {
            let every = seconds(pause);
            WritePattern::Paced { first: bytes(piece), piece: bytes(piece), every }
        }
    };
    sender.nagle = false;
    sender.bytes = bytes(piece * random.log(10.0, 30.0));
    let mut link = LinkSettings::new(Rate::from_bytes_per_second(line), seconds(rtt / 4.0));
    link.queue = queue.or(link.queue);
    let fast = LinkSettings::new(Rate::from_bytes_per_second(125e6), seconds(rtt / 4.0));
    link.loss = loss;
    let path = vec![Hop::alike(fast), Hop::alike(link)];
    let what = format!("{beside:?} {most:.0} B/s, rtt {rtt:.4}, {piece:.0} B each {pause:.3} s");
    (Setting { path, streams: vec![Stream { sender, device }], seed }, what)
}

/// Returns promised rates without the pauses as shares of the actual rates, in order, and the
/// number of bounds that hold.
fn kept(beside: OtherLimit, table: &mut String) -> (Vec<f64>, u64) {
    let (mut shares, mut bounded) = (Vec::new(), 0);
    for seed in 0..EACH {
        let (before, what) = setting(beside, seed);
        let mut after = before.clone();
        after.streams[0].sender.writes = WritePattern::Bulk;
        let capture_point = CapturePoint(usize::try_from(seed % 3).unwrap());
        let report = followed(&before, capture_point).report(|end| end.to_string(), None);
        let verdict = &report.verdict;
        let told = verdict.cause == Cause::SenderIdle && verdict.confidence != Confidence::Low;
        let Some(remedy) = verdict.remedies.first().filter(|_| told) else { continue };
        let said = [remedy.expected_bytes_per_second, remedy.at_most_bytes_per_second];
        let [promised, most] = said.map(|rate| rate.map(Rate::bytes_per_second));
        if promised.or(most).is_none() {
            continue;
        }
        let gives = rate(&followed(&after, CapturePoint(0)));
        assert!(most.is_none_or(|most| gives <= most * TOLERANCE), "{seed}: {what}: {most:?}");
        let Some(promised) = promised else {
            bounded += 1;
            continue;
        };
        if promised > gives * TOLERANCE {
            let at = capture_point.0;
            let _ = writeln!(table, "{seed} at {at}: {what}: {promised:.0} promised, {gives:.0}");
        }
        shares.push(promised / gives);
    }
    shares.sort_by(f64::total_cmp);
    (shares, bounded)
}

#[test]
fn a_sender_without_pauses_gives_what_was_promised() {
    for beside in [
        OtherLimit::Reader,
        OtherLimit::Window,
        OtherLimit::Line,
        OtherLimit::Loss,
        OtherLimit::SendBuffer,
    ] {
        let mut table = String::new();
        let (kept, bounded) = kept(beside, &mut table);
        let estimates = kept.len() as u64;
        assert!(estimates + bounded >= EACH / 5, "{beside:?}: {estimates} and {bounded} bounds");
        if matches!(beside, OtherLimit::Loss | OtherLimit::SendBuffer) {
            // Loss comes to some bursts and not to others, and a burst is short. What the program's
            // own writes hold may go with its pauses.
            assert_eq!(estimates, 0, "{table}");
            continue;
        }
        let high = kept.iter().filter(|share| **share > TOLERANCE).count();
        let low = kept.iter().filter(|share| **share < 1.0 / TOLERANCE).count();
        let middle = kept[kept.len() / 2];
        assert!(estimates >= EACH / 10, "{beside:?}: {estimates} promises");
        assert!(high * 10 <= kept.len(), "{beside:?}: {high} of {}:\n{table}", kept.len());
        assert!(low * 5 <= kept.len(), "{beside:?}: {low} of {} are too low", kept.len());
        assert!(kept.iter().all(|share| *share < MOST), "{beside:?}:\n{table}");
        assert!(middle > 0.9, "{beside:?}: half of the promises are below {middle:.2}");
    }
}
