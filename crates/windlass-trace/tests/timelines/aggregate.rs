//! Two connections of one sender at once, seen there and at their receivers: what each loses of a
//! line that both fill is its share of it.

use std::collections::{BTreeSet, VecDeque};
use std::net::Ipv4Addr;

use windlass_base::Cause;
use windlass_trace::report::{CaveatId, Confidence, ConnectionReport};
use windlass_wire::Host;

use crate::support::script::{Timeline, beside};
use crate::support::{caveat, ends, is_mostly};

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
    /// Number of segments from the start until one is lost, with random loss.
    until_loss: Option<u32>,
    received: u32,
    above: BTreeSet<u32>,
    /// The timestamp of the last ACK that came.
    echo: u32,
    /// Captures at the sender and at the receiver, if there are timestamps.
    here: String,
    there: String,
}

/// A segment on its way, or an ACK: its timestamp, and the one that it echoes.
#[derive(Clone, Copy)]
struct PacketOnWay {
    number: u32,
    stamp: u32,
    echo: u32,
}

fn data(segment: u32) -> String {
    let begin = segment * SEGMENT + 1;
    format!("> . {begin}:{} ack 1", begin + SEGMENT)
}

fn line_of(time: u32, what: &str) -> String {
    format!("{} {what}\n", f64::from(time) / 1e3)
}

impl Flow {
    fn begin(&mut self) {
        self.echo = 6_980;
        self.here += "-0.040 > S 0 win 64240 mss 1460 ws 2
                      0 < S. 0 ack 1 win 64240 mss 1460 ws 2
                      0 > . 1 ack 1 win 64240\n";
        self.there += "-0.020 > S 0 win 64240 mss 1460 ws 2 ts 960 0
                       -0.020 < S. 0 ack 1 win 64240 mss 1460 ws 2 ts 6980 960
                       0.020 > . 1 ack 1 win 64240 ts 1000 6980\n";
    }

    fn send(&mut self, time: u32, segment: u32) -> PacketOnWay {
        self.here += &line_of(time, &data(segment));
        PacketOnWay { number: segment, stamp: 1_000 + time, echo: self.echo }
    }

    /// Takes an ACK; returns the new segments that the flow may send, and the one to retransmit.
    fn acknowledged(&mut self, time: u32, ack: PacketOnWay) -> (Vec<u32>, Option<u32>) {
        self.echo = self.echo.max(ack.stamp);
        let ack = ack.number;
        self.here += &line_of(time, &format!("< . 1 ack {} win 64240", ack * SEGMENT + 1));
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

    fn receives(&mut self, time: u32, sent: PacketOnWay) -> PacketOnWay {
        self.above.insert(sent.number);
        while self.above.remove(&self.received) {
            self.received += 1;
        }
        let ack = PacketOnWay { number: self.received, stamp: 7_000 + time, echo: sent.stamp };
        let came = format!("{} ts {} {}", data(sent.number), sent.stamp, sent.echo);
        let number = ack.number * SEGMENT + 1;
        let answer = format!("< . 1 ack {number} win 64240 ts {} {}", ack.stamp, ack.echo);
        self.there += &(line_of(time, &came) + &line_of(time, &answer));
        ack
    }

    fn at_sender(&self) -> Timeline {
        Timeline::new().t(&self.here)
    }

    fn at_receiver(&self) -> Timeline {
        Timeline::new().t(&self.there)
    }
}

/// Returns the next event that is due by then: its time, its flow, and its content.
fn due<T>(coming: &mut VecDeque<(u32, usize, T)>, now: u32) -> Option<(u32, usize, T)> {
    coming.front().is_some_and(|(time, ..)| *time <= now).then(|| coming.pop_front()).flatten()
}

/// Moves a timeline to another receiver.
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
fn two(queue: Option<usize>, lost: [Option<u32>; 2]) -> [Flow; 2] {
    let mut flows = lost.map(|every| Flow { window: 4.0, until_loss: every, ..Flow::default() });
    // Both together stay below what the line and its queue hold, and get unlike shares of it.
    [flows[0].threshold, flows[1].threshold] = [12.0, 36.0];
    let mut line: VecDeque<(usize, PacketOnWay)> = VecDeque::new();
    // Segments at their receivers, and ACKs at their senders.
    let mut data: VecDeque<(u32, usize, PacketOnWay)> = VecDeque::new();
    let begin = PacketOnWay { number: 0, stamp: 0, echo: 0 };
    let mut acks: VecDeque<(u32, usize, PacketOnWay)> = [(0, 0, begin), (0, 1, begin)].into();
    for flow in &mut flows {
        flow.begin();
    }
    for now in 0..12_000 {
        let count = if queue.is_some() { 1 } else { line.len() };
        for (whose, segment) in line.drain(..count.min(line.len())) {
            data.push_back((now + RTT / 2, whose, segment));
        }
        while let Some((_, whose, segment)) = due(&mut data, now) {
            acks.push_back((now + RTT / 2, whose, flows[whose].receives(now, segment)));
        }
        while let Some((_, whose, ack)) = due(&mut acks, now) {
            let flow = &mut flows[whose];
            let (new, again) = flow.acknowledged(now, ack);
            // Retransmissions always arrive: no timer has to run here.
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
    flows
}

#[test]
fn what_each_loses_of_a_line_that_two_fill_is_its_share() {
    let [one, other] = two(Some(20), [None, None]).map(|flow| flow.at_sender());
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
    let [one, other] = two(None, [Some(173), Some(311)]).map(|flow| flow.at_sender());
    for report in beside(one, other) {
        is_mostly(&report, Cause::AfterLoss, 0.6);
        assert!(doubt(&report).is_none(), "{report:#?}");
    }
}

/// Returns a report's doubt about the pace.
fn doubt(report: &ConnectionReport) -> Option<String> {
    caveat(report, CaveatId::OtherPace)
}

#[test]
fn losses_when_data_is_latest_are_of_a_queue_that_others_fill_too() {
    // The other connection is in no capture.
    let [one, _] = two(Some(20), [None, None]);
    for (report, share) in [(one.at_sender().report(), 0.8), (one.at_receiver().report(), 0.6)] {
        // Far from it the pauses of such a sender's repair look as those of a program.
        is_mostly(&report, Cause::PathQueue, share);
        assert!(report.verdict.confidence <= Confidence::Medium, "{report:#?}");
        let doubt = doubt(&report).expect("a doubt");
        assert!(doubt.contains("data is lost when a queue of the path is full"), "{doubt}");
        assert!(report.verdict.remedies.iter().all(|it| it.expected_bytes_per_second.is_none()));
    }
}

#[test]
fn who_fills_a_queue_alone_is_told_of_no_others() {
    // All that the other sends is lost.
    let [one, _] = two(Some(20), [None, Some(0)]);
    for report in [one.at_sender().report(), one.at_receiver().report()] {
        is_mostly(&report, Cause::PathQueue, 0.8);
        let of_others = doubt(&report).is_some_and(|doubt| doubt.contains("data is lost when"));
        assert!(!of_others, "{report:#?}");
    }
}

#[test]
fn losses_by_chance_are_of_no_queue() {
    let [one, _] = two(None, [Some(173), Some(311)]);
    for report in [one.at_sender().report(), one.at_receiver().report()] {
        is_mostly(&report, Cause::AfterLoss, 0.6);
        assert!(doubt(&report).is_none(), "{report:#?}");
    }
}

/// Removes the timestamps of a timeline.
fn without_timestamps(mut timeline: Timeline) -> Timeline {
    for segment in &mut timeline.segments {
        segment.options.timestamps = None;
    }
    timeline
}

#[test]
fn far_from_a_sender_without_timestamps_nobody_is_sure_of_losses() {
    let [shared, _] = two(Some(20), [None, None]);
    let [by_chance, _] = two(None, [Some(173), Some(311)]);
    for flow in [shared, by_chance] {
        let report = without_timestamps(flow.at_receiver()).report();
        assert!(report.verdict.confidence <= Confidence::Medium, "{report:#?}");
    }
}
