//! Two connections of one sender at once, seen there: what each loses of a line that both fill is
//! its share of it.

use std::collections::{BTreeSet, VecDeque};
use std::net::Ipv4Addr;

use windlass_base::Cause;
use windlass_trace::report::{CaveatId, Confidence, ConnectionReport};
use windlass_wire::Host;

use crate::support::script::{Timeline, beside};
use crate::support::{ends, is_mostly};

/// The round trip of the idle path, in milliseconds.
const RTT: u32 = 40;

/// The payload of a segment. The line takes a millisecond for one.
const SEGMENT: u32 = 1_460;

/// A sender by RFC 5681 with the repair of RFC 6582, and its receiver. All are in segments.
#[derive(Default)]
struct Flow {
    window: f64,
    threshold: f64,
    una: u32,
    next: u32,
    duplicates: u32,
    recover: u32,
    /// How many segments it may send from the start before one is lost, where chance loses them.
    until_loss: Option<u32>,
    received: u32,
    above: BTreeSet<u32>,
    text: String,
}

impl Flow {
    fn captured(&mut self, time: u32, what: &str) {
        self.text += &format!("{} {what}\n", f64::from(time) / 1e3);
    }

    fn send(&mut self, time: u32, segment: u32) -> u32 {
        let begin = segment * SEGMENT + 1;
        self.captured(time, &format!("> . {begin}:{} ack 1", begin + SEGMENT));
        segment
    }

    /// What it may send, and what it sends again.
    fn acknowledged(&mut self, time: u32, ack: u32) -> (Vec<u32>, Option<u32>) {
        self.captured(time, &format!("< . 1 ack {} win 64240", ack * SEGMENT + 1));
        let mut again = None;
        if ack > self.una {
            self.una = ack;
            self.duplicates = 0;
            if ack < self.recover {
                again = Some(ack);
            } else {
                // Slow start that filled the line would lose much, and repair it one by one.
                self.window += if self.window < self.threshold && self.recover == 0 {
                    1.0
                } else {
                    1.0 / self.window
                };
            }
        } else {
            self.duplicates += 1;
            if self.duplicates == 3 && self.una >= self.recover {
                self.window = (self.window / 2.0).max(2.0);
                self.recover = self.next;
                again = Some(self.una);
            }
        }
        let mut new = Vec::new();
        let inflated = self.window as u32 + self.duplicates;
        while self.next - self.una < inflated {
            new.push(self.next);
            self.next += 1;
        }
        (new, again)
    }

    fn receives(&mut self, segment: u32) -> u32 {
        self.above.insert(segment);
        while self.above.remove(&self.received) {
            self.received += 1;
        }
        self.received
    }
}

/// What is to come by then: when, whose, and what.
fn due(coming: &mut VecDeque<(u32, usize, u32)>, now: u32) -> Option<(u32, usize, u32)> {
    coming.front().is_some_and(|(time, ..)| *time <= now).then(|| coming.pop_front()).flatten()
}

/// The same with another receiver.
fn elsewhere(mut timeline: Timeline) -> Timeline {
    let receiver = ends()[1].host;
    let other = Host::V4(Ipv4Addr::new(10, 0, 9, 9));
    for segment in &mut timeline.segments {
        for end in [&mut segment.source, &mut segment.destination] {
            end.host = if end.host == receiver { other } else { end.host };
        }
    }
    timeline
}

/// Two senders for twelve seconds, over a line with room for so many segments; or each at its own,
/// losing one of so many.
fn two(queue: Option<usize>, lost: [Option<u32>; 2]) -> [Timeline; 2] {
    let mut flows = lost.map(|every| Flow { window: 4.0, until_loss: every, ..Flow::default() });
    // Both together stay below what the line and its queue hold, and get unlike shares of it.
    [flows[0].threshold, flows[1].threshold] = [12.0, 36.0];
    let mut line: VecDeque<(usize, u32)> = VecDeque::new();
    // Segments at their receivers, and ACKs at their senders.
    let mut data: VecDeque<(u32, usize, u32)> = VecDeque::new();
    let mut acks: VecDeque<(u32, usize, u32)> = [(0, 0, 0), (0, 1, 0)].into();
    for flow in &mut flows {
        flow.text += "-0.040 > S 0 win 64240 mss 1460 ws 2
                      0 < S. 0 ack 1 win 64240 mss 1460 ws 2
                      0 > . 1 ack 1 win 64240\n";
    }
    for now in 0..12_000 {
        let count = if queue.is_some() { 1 } else { line.len() };
        for (whose, segment) in line.drain(..count.min(line.len())) {
            data.push_back((now + RTT / 2, whose, segment));
        }
        while let Some((_, whose, segment)) = due(&mut data, now) {
            acks.push_back((now + RTT / 2, whose, flows[whose].receives(segment)));
        }
        while let Some((_, whose, ack)) = due(&mut acks, now) {
            let flow = &mut flows[whose];
            let (new, again) = flow.acknowledged(now, ack);
            // What is sent again always arrives: no timer has to run here.
            line.extend(again.map(|segment| (whose, flow.send(now, segment))));
            for segment in new {
                let segment = flow.send(now, segment);
                let is_lost = match lost[whose] {
                    Some(every) => {
                        let left = flow.until_loss.unwrap_or(every);
                        flow.until_loss = Some(if left == 0 { every } else { left - 1 });
                        left == 0
                    }
                    None => queue.is_some_and(|room| line.len() >= room),
                };
                if !is_lost {
                    line.push_back((whose, segment));
                }
            }
        }
    }
    flows.map(|flow| Timeline::new().t(&flow.text))
}

#[test]
fn what_each_loses_of_a_line_that_two_fill_is_its_share() {
    let [one, other] = two(Some(20), [None, None]);
    let to_two = beside(one.clone(), elsewhere(other.clone()));
    for report in beside(one, other).into_iter().chain(to_two) {
        is_mostly(&report, Cause::PathQueue, 0.8);
        assert!(report.verdict.confidence <= Confidence::Medium, "{report:#?}");
        let sentence = report.verdict.sentence.to_string();
        assert!(sentence.contains("to 2 connections together"), "{sentence}");
        // Neither would be faster without the other's loss.
        assert!(report.verdict.remedies.iter().all(|it| it.expected_bytes_per_second.is_none()));
    }
}

#[test]
fn two_that_lose_by_chance_fill_no_line() {
    let [one, other] = two(None, [Some(173), Some(311)]);
    for report in beside(one, other) {
        is_mostly(&report, Cause::AfterLoss, 0.6);
        assert!(doubt(&report).is_none(), "{report:#?}");
    }
}

/// What a report doubts of the pace.
fn doubt(report: &ConnectionReport) -> Option<String> {
    let caveats = &report.verdict.caveats;
    let doubt = caveats.iter().find(|caveat| caveat.id == CaveatId::OtherPace);
    doubt.map(|caveat| caveat.text.to_string())
}

#[test]
fn losses_when_round_trips_are_longest_are_of_a_queue_that_others_fill_too() {
    // The other connection is in no capture.
    let [one, _] = two(Some(20), [None, None]);
    let report = one.report();
    is_mostly(&report, Cause::PathQueue, 0.8);
    let doubt = doubt(&report).expect("a doubt");
    assert!(doubt.contains("data is lost when a queue of the path is full"), "{doubt}");
    assert!(report.verdict.remedies.iter().all(|it| it.expected_bytes_per_second.is_none()));
}

#[test]
fn who_fills_a_queue_alone_is_told_of_no_others() {
    // All that the other sends is lost.
    let [one, _] = two(Some(20), [None, Some(0)]);
    let report = one.report();
    is_mostly(&report, Cause::PathQueue, 0.8);
    assert!(
        !doubt(&report).is_some_and(|doubt| doubt.contains("data is lost when")),
        "{report:#?}"
    );
}

#[test]
fn losses_by_chance_are_of_no_queue() {
    let [one, _] = two(None, [Some(173), Some(311)]);
    let report = one.report();
    is_mostly(&report, Cause::AfterLoss, 0.6);
    assert!(doubt(&report).is_none(), "{report:#?}");
}
