//! A small sender and a small receiver that play a transfer for the capture.
//!
//! Only as much TCP as the tests need: slow start up to a bound, fast
//! retransmit, a retransmission timer with back-off, delayed ACKs, a send
//! buffer, a program that writes at its own pace, and a link with a queue.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use windlass_base::Timestamp;
use windlass_wire::{Flags, Segment, SequenceRange};

use super::ends;

/// Plan of a simulated transfer: data, hosts and path. Times in microseconds.
#[derive(Clone, Debug)]
pub(crate) struct Transfer {
    pub(crate) bytes: u64,
    pub(crate) mss: u64,
    pub(crate) window: u64,
    /// The shift that both sides offer.
    pub(crate) scale: Option<u8>,
    pub(crate) rtt: i64,
    /// Place of the capture: 0 at the sender, 100 at the receiver.
    pub(crate) capture_point: i64,
    /// Bytes per second of the link, with its headers left out.
    /// 100 Mb/s unless said otherwise, so that no two packets share a moment.
    pub(crate) rate: Option<u64>,
    pub(crate) queue: usize,
    pub(crate) send_buffer: u64,
    /// In segments: at the start, and at most.
    pub(crate) cwnd: (u64, u64),
    pub(crate) ack_every: u64,
    pub(crate) ack_delay: i64,
    /// Data packets that are lost behind the capture, by their place.
    pub(crate) lost: Vec<u64>,
    /// True if the receiver keeps data behind a hole.
    pub(crate) keeps: bool,
    /// Data that goes beyond so many bytes in a second, after a burst, is lost behind
    /// the capture. The sender then repairs each loss after a round trip, as by SACK.
    pub(crate) policed: Option<(u64, u64)>,
    /// The program writes so many bytes every so often.
    pub(crate) writes: Option<(u64, i64)>,
    pub(crate) nagle: bool,
    pub(crate) timestamps: bool,
    pub(crate) sack: bool,
    pub(crate) first: [u32; 2],
}

impl Default for Transfer {
    fn default() -> Self {
        Self {
            bytes: 500_000,
            mss: 1_460,
            window: 65_535,
            scale: None,
            rtt: 20_000,
            capture_point: 0,
            rate: Some(12_500_000),
            queue: 1_000,
            send_buffer: 4 << 20,
            cwnd: (10, 1 << 20),
            ack_every: 2,
            ack_delay: 40_000,
            lost: Vec::new(),
            keeps: true,
            policed: None,
            writes: None,
            nagle: false,
            timestamps: false,
            sack: false,
            first: [1_000_000, 2_000_000],
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Data { start: u64, end: u64, stamp: u32, lost: bool },
    Ack { ack: u64, stamp: u32 },
    AckTimer(u64),
    Timer(u64),
    Write,
}

/// A host answers so many microseconds later.
const REACTION: i64 = 5;

struct Play {
    plan: Transfer,
    now: i64,
    events: BinaryHeap<Reverse<(i64, u64, Event)>>,
    count: u64,
    captured: Vec<(i64, Segment)>,
    ids: [u16; 2],
    // The sender.
    una: u64,
    nxt: u64,
    written: u64,
    cwnd: u64,
    threshold: u64,
    duplicates: u32,
    recover: u64,
    timer: u64,
    timeout: i64,
    sent: u64,
    echo: [u32; 2],
    link_free: i64,
    in_queue: VecDeque<i64>,
    /// Bytes that the policer lets pass now, times a million, and the time of that state.
    tokens: (u64, i64),
    /// Data that was lost there, and the time when it was sent.
    gone: VecDeque<(i64, u64, u64)>,
    // The receiver.
    rcv: u64,
    above: BTreeMap<u64, u64>,
    unacked: u64,
    ack_timer: u64,
}

impl Transfer {
    /// The capture of it.
    pub(crate) fn play(&self) -> Vec<Segment> {
        let full = self.mss - if self.timestamps { 12 } else { 0 };
        let mut play = Play {
            plan: self.clone(),
            now: 0,
            events: BinaryHeap::new(),
            count: 0,
            captured: Vec::new(),
            ids: [1_000, 30_000],
            una: 0,
            nxt: 0,
            written: 0,
            cwnd: self.cwnd.0 * full,
            threshold: u64::MAX,
            duplicates: 0,
            recover: 0,
            timer: 0,
            timeout: 0,
            sent: 0,
            echo: [0, 0],
            link_free: 0,
            in_queue: VecDeque::new(),
            tokens: (self.policed.map_or(0, |(_, burst)| burst * 1_000_000), 0),
            gone: VecDeque::new(),
            rcv: 0,
            above: BTreeMap::new(),
            unacked: 0,
            ack_timer: 0,
        };
        play.plan.mss = full;
        play.open();
        play.run();
        play.finish()
    }
}

impl Play {
    fn at(&mut self, time: i64, event: Event) {
        self.count += 1;
        self.events.push(Reverse((time, self.count, event)));
    }

    fn capture(&mut self, time: i64, way: usize, flags: Flags, sequence: u32, payload: u64) {
        let other = 1 - way;
        let first = self.plan.first;
        let received = if way == 0 { 0 } else { u32::try_from(self.rcv).unwrap_or(0) };
        let syn = flags.has(Flags::SYN);
        let shift = if syn || way == 0 { 0 } else { self.plan.scale.unwrap_or(0) };
        let window = self.plan.window >> shift;
        self.ids[way] = self.ids[way].wrapping_add(1);
        let mut segment = Segment {
            number: 0,
            time: Timestamp::from_nanos(time * 1_000),
            source: ends()[way],
            destination: ends()[other],
            sequence: Some(first[way].wrapping_add(sequence)),
            acknowledgment: first[other].wrapping_add(1).wrapping_add(received),
            flags,
            window: if way == 0 { 64_240 } else { u16::try_from(window).unwrap_or(u16::MAX) },
            payload: payload as u32,
            options: Default::default(),
            identification: Some(self.ids[way]),
            hop_limit: 64,
            checksum: windlass_wire::Checksum::Unknown,
            ecn: windlass_wire::EcnField::NotEct,
            accurate_ecn: false,
        };
        if syn {
            segment.options.mss = Some(1_460);
            segment.options.window_scale = self.plan.scale;
            segment.options.sack_permitted = self.plan.sack;
        }
        if !flags.has(Flags::ACK) {
            segment.acknowledgment = 0;
        }
        if self.plan.timestamps {
            segment.options.timestamps = Some((self.stamp(way), self.echo[way]));
        }
        self.captured.push((time, segment));
    }

    fn stamp(&self, way: usize) -> u32 {
        [500_000, 90_000][way] + (self.now / 1_000) as u32
    }

    /// From the sender to the capture, and from the receiver to it.
    fn to_capture(&self, way: usize) -> i64 {
        let share = if way == 0 { self.plan.capture_point } else { 100 - self.plan.capture_point };
        self.plan.rtt / 2 * share / 100
    }

    fn open(&mut self) {
        let half = self.plan.rtt / 2;
        self.capture(self.to_capture(0), 0, Flags::SYN, 0, 0);
        self.echo[1] = self.stamp(0);
        self.now = half;
        self.capture(half + self.to_capture(1), 1, Flags::SYN.with(Flags::ACK), 0, 0);
        self.echo[0] = self.stamp(1);
        self.now = 2 * half;
        self.capture(self.now + self.to_capture(0), 0, Flags::ACK, 1, 0);
        self.at(self.now, Event::Write);
    }

    fn run(&mut self) {
        while let Some(Reverse((time, _, event))) = self.events.pop() {
            // A packet that comes while a host still reacts is served after that: packets of one
            // host do not overtake each other.
            self.now = self.now.max(time);
            match event {
                Event::Data { lost: true, .. } => {}
                Event::Data { start, end, stamp, .. } => self.arrives(start, end, stamp),
                Event::Ack { ack, stamp } => self.answered(ack, stamp),
                Event::AckTimer(number) if number == self.ack_timer && self.unacked > 0 => {
                    self.acknowledge(None);
                }
                Event::Timer(number) if number == self.timer && self.una < self.nxt => {
                    self.timed_out();
                }
                Event::AckTimer(_) | Event::Timer(_) => {}
                Event::Write => {
                    if let Some((bytes, every)) = self.plan.writes {
                        self.written = (self.written + bytes).min(self.plan.bytes);
                        if self.written < self.plan.bytes {
                            self.at(self.now + every, Event::Write);
                        }
                    } else {
                        self.fill();
                    }
                    self.send();
                }
            }
            assert!(self.count < 200_000, "no end: {:?}", self.plan);
        }
        assert_eq!(self.una, self.plan.bytes, "all acknowledged: {:?}", self.plan);
    }

    /// The program is woken when a third of its buffer is free.
    fn fill(&mut self) {
        let buffer = self.plan.send_buffer;
        if self.written - self.una <= buffer - buffer / 3 {
            self.written = (self.una + buffer).min(self.plan.bytes);
        }
    }

    fn send(&mut self) {
        loop {
            let window = self.plan.window.min(self.cwnd).min(self.plan.cwnd.1 * self.plan.mss);
            let room = (self.una + window).saturating_sub(self.nxt);
            let ready = (self.written - self.nxt).min(self.plan.mss);
            let length = ready.min(room);
            let whole = length == self.plan.mss || length == ready;
            let silly = !whole && self.nxt > self.una;
            let nagle = self.plan.nagle && length < self.plan.mss && self.nxt > self.una;
            if length == 0 || silly || nagle {
                return;
            }
            self.emit(self.nxt, self.nxt + length);
            self.nxt += length;
        }
    }

    fn emit(&mut self, start: u64, end: u64) {
        let mut lost = self.plan.lost.contains(&self.sent);
        self.sent += 1;
        let push = if end == self.plan.bytes { Flags::PSH } else { Flags::default() };
        let flags = Flags::ACK.with(push);
        self.capture(self.now + self.to_capture(0), 0, flags, 1 + start as u32, end - start);
        let mut leaves = self.now;
        if let Some(rate) = self.plan.rate {
            while self.in_queue.front().is_some_and(|time| *time <= self.now) {
                self.in_queue.pop_front();
            }
            lost |= self.in_queue.len() >= self.plan.queue;
            if !lost {
                let takes = ((end - start + 40) * 1_000_000 / rate) as i64;
                self.link_free = self.link_free.max(self.now) + takes;
                leaves = self.link_free;
                self.in_queue.push_back(leaves);
            }
        }
        if !lost && !self.passes(leaves, end - start) {
            lost = true;
            self.gone.push_back((self.now, start, end));
        }
        let stamp = self.stamp(0);
        // Behind a slow link a capture further on sees the packet later.
        if leaves > self.now && self.plan.capture_point > 0 {
            let delay = leaves - self.now;
            if let Some((time, segment)) = self.captured.last_mut() {
                *time += delay;
                segment.time = Timestamp::from_nanos(*time * 1_000);
            }
        }
        self.at(leaves + self.plan.rtt / 2, Event::Data { start, end, stamp, lost });
        self.arm();
    }

    /// Returns whether the policer behind the link lets this packet pass at that time.
    fn passes(&mut self, time: i64, bytes: u64) -> bool {
        let Some((rate, burst)) = self.plan.policed else { return true };
        let since = (time - self.tokens.1) as u64;
        let tokens = (self.tokens.0 + since * rate).min(burst * 1_000_000);
        let passes = tokens >= bytes * 1_000_000;
        self.tokens = (if passes { tokens - bytes * 1_000_000 } else { tokens }, time);
        passes
    }

    fn arm(&mut self) {
        self.timer += 1;
        let timeout = self.timeout.max(200_000 + 2 * self.plan.rtt + self.plan.ack_delay);
        self.at(self.now + timeout, Event::Timer(self.timer));
    }

    fn timed_out(&mut self) {
        self.timeout = (self.timeout.max(200_000) * 2).min(10_000_000);
        self.threshold = ((self.nxt - self.una) / 2).max(2 * self.plan.mss);
        self.cwnd = self.plan.mss;
        self.recover = self.nxt;
        self.duplicates = 0;
        self.resend();
    }

    fn resend(&mut self) {
        let end = (self.una + self.plan.mss).min(self.nxt);
        self.emit(self.una, end);
    }

    fn answered(&mut self, ack: u64, stamp: u32) {
        self.now += REACTION;
        self.echo[0] = self.echo[0].max(stamp);
        if ack > self.una {
            let advanced = ack - self.una;
            self.una = ack;
            self.timeout = 0;
            self.duplicates = 0;
            if self.una < self.recover {
                // A partial ACK: the next hole (RFC 6582).
                if self.plan.policed.is_none() {
                    self.resend();
                }
            } else if self.cwnd < self.threshold {
                self.cwnd += advanced;
            } else {
                self.cwnd += (self.plan.mss * self.plan.mss / self.cwnd.max(1)).max(1);
            }
            self.arm();
        } else if self.nxt > self.una {
            self.duplicates += 1;
            if self.duplicates == 3 && self.una >= self.recover {
                self.threshold = ((self.nxt - self.una) / 2).max(2 * self.plan.mss);
                self.cwnd = self.threshold;
                self.recover = self.nxt;
                if self.plan.policed.is_none() {
                    self.resend();
                }
            }
        }
        while let Some((time, start, end)) = self.gone.front().copied()
            && self.now - time >= self.plan.rtt + 2_000
            && self.una < self.recover
        {
            self.gone.pop_front();
            if start >= self.una {
                self.emit(start, end);
            }
        }
        if self.plan.writes.is_none() {
            self.fill();
        }
        self.send();
    }

    fn arrives(&mut self, start: u64, end: u64, stamp: u32) {
        self.now += REACTION;
        if start <= self.rcv {
            if self.unacked == 0 {
                self.echo[1] = stamp;
            }
            let news = end > self.rcv;
            self.rcv = self.rcv.max(end);
            let filled = !self.above.is_empty();
            while let Some((&from, &to)) = self.above.first_key_value()
                && from <= self.rcv
            {
                self.rcv = self.rcv.max(to);
                self.above.remove(&from);
            }
            self.unacked += 1;
            if !news || filled || self.unacked >= self.plan.ack_every {
                self.acknowledge(None);
            } else if self.unacked == 1 {
                self.ack_timer += 1;
                self.at(self.now + self.plan.ack_delay, Event::AckTimer(self.ack_timer));
            }
        } else {
            if self.plan.keeps {
                self.above.insert(start, end);
            }
            self.acknowledge(Some((start, end)));
        }
    }

    fn acknowledge(&mut self, block: Option<(u64, u64)>) {
        self.unacked = 0;
        self.ack_timer += 1;
        self.capture(self.now + self.to_capture(1), 1, Flags::ACK, 1, 0);
        if let (true, Some((left, right)), Some((_, segment))) =
            (self.plan.sack, block, self.captured.last_mut())
        {
            let number = |offset: u64| self.plan.first[0].wrapping_add(1 + offset as u32);
            let (left, right) = (number(left), number(right));
            segment.options.sack.push(SequenceRange { left, right });
        }
        let event = Event::Ack { ack: self.rcv, stamp: self.stamp(1) };
        self.at(self.now + self.plan.rtt / 2, event);
    }

    fn finish(mut self) -> Vec<Segment> {
        // FIN both ways, well behind the last ACK.
        let end = 1 + self.plan.bytes as u32;
        let half = self.plan.rtt / 2;
        self.capture(self.now + self.to_capture(0), 0, Flags::FIN.with(Flags::ACK), end, 0);
        self.rcv += 1;
        let back = self.now + half + self.to_capture(1);
        self.capture(back, 1, Flags::FIN.with(Flags::ACK), 1, 0);
        let last = self.now + 2 * half + self.to_capture(0);
        self.capture(last, 0, Flags::ACK, end + 1, 0);
        if let Some((_, segment)) = self.captured.last_mut() {
            segment.acknowledgment = segment.acknowledgment.wrapping_add(1);
        }
        self.captured.sort_by_key(|(time, _)| *time);
        let numbered = self.captured.into_iter().zip(1..);
        numbered.map(|((_, segment), number)| Segment { number, ..segment }).collect()
    }
}
