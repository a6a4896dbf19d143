//! Segments that arrive damaged, by their checksums.

use windlass_base::{Cause, Limit};
use windlass_trace::report::{Confidence, ConnectionReport};
use windlass_wire::{Checksum, Segment};

use crate::support::transfer::Transfer;
use crate::support::{has_caveat, is_sound, report};

/// The data packets that are damaged behind the last router.
const DAMAGED: [u64; 6] = [12, 40, 75, 110, 160, 210];

/// A transfer captured at its receiver, which drops what is damaged. Its checksums tell that some
/// of its data packets are damaged.
fn at_receiver(rtt: i64, lost: &[u64]) -> Vec<Segment> {
    let near = Transfer {
        bytes: 400_000,
        rtt,
        lost: lost.to_vec(),
        sack: true,
        timestamps: true,
        ..Transfer::default()
    };
    let sent: Vec<Segment> = near.play().into_iter().filter(|one| one.payload > 0).collect();
    let mut damaged: Vec<_> = DAMAGED.map(|place| sent[place as usize].sequence).into();
    let mut segments = Transfer { capture_point: 100, ..near }.play();
    for segment in segments.iter_mut().filter(|segment| segment.payload > 0) {
        let place = damaged.iter().position(|sequence| *sequence == segment.sequence);
        segment.checksum = if place.is_some() { Checksum::Wrong } else { Checksum::Right };
        // The repair is right.
        place.map(|place| damaged.remove(place));
    }
    segments
}

/// Tells of each data packet, by its place, what its checksum says.
fn with_checksums(segments: &mut [Segment], checksum: impl Fn(u64) -> Checksum) {
    let data = segments.iter_mut().filter(|segment| segment.payload > 0);
    for (place, segment) in (0..).zip(data) {
        segment.checksum = checksum(place);
    }
}

fn judged(segments: &[Segment]) -> ConnectionReport {
    let report = report(segments);
    is_sound(&report);
    report
}

#[test]
fn a_receiver_drops_what_arrives_damaged() {
    for rtt in [4_000, 20_000, 90_000] {
        let segments = at_receiver(rtt, &DAMAGED);
        let report = judged(&segments);
        let verdict = &report.verdict;
        let is_loss = verdict.cause.limit() == Limit::Loss || verdict.cause == Cause::AfterLoss;
        assert!(is_loss, "{rtt}: {}", verdict.sentence);
        assert!(verdict.sentence.to_string().contains("damaged"), "{}", verdict.sentence);
        let remedies = verdict.remedies.iter().map(|remedy| remedy.action.to_string());
        let remedies: Vec<String> = remedies.collect();
        assert!(remedies.iter().any(|action| action.contains("damages segments")), "{remedies:?}");
        assert!(!remedies.iter().any(|action| action.contains("duplex")), "{remedies:?}");
        let shown = verdict.evidence.iter().find(|one| one.shows.to_string().contains("checksum"));
        let wrong = segments.iter().filter(|segment| segment.checksum == Checksum::Wrong);
        let wrong: Vec<u64> = wrong.map(|segment| segment.number).collect();
        assert_eq!(shown.unwrap().packets, wrong);
    }
}

#[test]
fn a_card_that_fills_checksums_in_damages_nothing() {
    // At the sender, of what it sends: all wrong, or nearly all where its first segments are
    // small ones that its system sums itself.
    let plan = Transfer { lost: DAMAGED.to_vec(), sack: true, ..Transfer::default() };
    let plain = plan.play();
    let told = judged(&plain).verdict;
    for right in [0, 3, 8, 20] {
        let mut segments = plain.clone();
        let checksum = |place| if place < right { Checksum::Right } else { Checksum::Wrong };
        with_checksums(&mut segments, checksum);
        let report = report(&segments);
        assert!(!has_caveat(&report, "damaged-segments"), "{right}: {:?}", report.verdict);
        assert!(!report.verdict.sentence.to_string().contains("damaged"), "{right}");
        assert_eq!(report.verdict.cause, told.cause, "{right}");
    }
}

#[test]
fn wrong_checksums_that_the_receiver_takes_are_no_damage() {
    // As where a tool changed data of some packets, and left their checksums.
    let segments = at_receiver(20_000, &[]);
    let mut plain = segments.clone();
    with_checksums(&mut plain, |_| Checksum::Unknown);
    let told = judged(&plain).verdict;
    let report = judged(&segments);
    assert!(!has_caveat(&report, "damaged-segments"), "{:?}", report.verdict);
    assert!(report.verdict.cause == told.cause || report.verdict.confidence != Confidence::High);
}
