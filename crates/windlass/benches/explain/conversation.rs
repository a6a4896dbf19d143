//! Made-up conversations: enough of TCP for an analyser to work as hard as on
//! a real capture.

use std::collections::{BTreeMap, VecDeque};
use std::io;

/// Nanoseconds since 1970 at which captures begin.
const BEGIN: i64 = 1_700_000_000_000_000_000;

/// Payload of a full segment with timestamps on Ethernet.
const MSS: u64 = 1448;

/// The shift of every window.
const SHIFT: u8 = 7;

/// From one full segment to the next at 1 Gb/s, in nanoseconds.
const GAP: i64 = 12_304;

const FIN: u8 = 1;
const SYN: u8 = 2;
const PSH: u8 = 8;
const ACK: u8 = 16;

/// Numbers that are the same in each run (Marsaglia's xorshift).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn one_in(&mut self, times: u64) -> bool {
        self.next().is_multiple_of(times)
    }
}

/// The clock of the timestamp option, which goes by milliseconds.
fn stamp(time: i64) -> u32 {
    ((BEGIN + time) / 1_000_000).cast_unsigned() as u32
}

/// A packet with its time.
#[derive(Default)]
pub(crate) struct Frame {
    pub(crate) time: i64,
    pub(crate) bytes: Vec<u8>,
}

/// Header fields of a segment.
struct Header {
    /// The hosts' and ports' numbers.
    ends: u32,
    from_client: bool,
    sequence: u64,
    acknowledgment: u64,
    flags: u8,
    window: u16,
    identification: u16,
    payload: u64,
    echo: u32,
}

impl Frame {
    fn set(&mut self, time: i64, header: &Header, sack: &[(u64, u64)]) {
        self.time = BEGIN + time;
        let out = &mut self.bytes;
        out.clear();
        let sack = &sack[..sack.len().min(3)];
        let mut options = Vec::with_capacity(40);
        if header.flags & SYN != 0 {
            options.extend([2, 4, 0x05, 0xb4, 4, 2, 8, 10]);
        } else {
            options.extend([1, 1, 8, 10]);
        }
        options.extend(stamp(time).to_be_bytes());
        options.extend(header.echo.to_be_bytes());
        if header.flags & SYN != 0 {
            options.extend([1, 3, 3, SHIFT]);
        } else if !sack.is_empty() {
            options.extend([1, 1, 5, 2 + 8 * sack.len() as u8]);
            for (left, right) in sack {
                options.extend((*left as u32).to_be_bytes());
                options.extend((*right as u32).to_be_bytes());
            }
        }
        let (client, server) = ([10, 0, 0, 0], [10, 128, 0, 0]);
        let address =
            |base: [u8; 4], number: u32| (u32::from_be_bytes(base) | number).to_be_bytes();
        let (client, server) = (address(client, header.ends / 256 + 1), address(server, 9));
        let client_port = 32_768 + (header.ends % 28_000) as u16;
        let length = 20 + 20 + options.len() + header.payload as usize;
        out.extend([2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0]);
        out.extend([0x45, 0]);
        out.extend((length as u16).to_be_bytes());
        out.extend(header.identification.to_be_bytes());
        out.extend([0x40, 0, 64, 6, 0, 0]);
        let (from, to) = if header.from_client { (client, server) } else { (server, client) };
        out.extend(from);
        out.extend(to);
        let ports = if header.from_client { (client_port, 9100) } else { (9100, client_port) };
        out.extend(ports.0.to_be_bytes());
        out.extend(ports.1.to_be_bytes());
        out.extend((header.sequence as u32).to_be_bytes());
        out.extend((header.acknowledgment as u32).to_be_bytes());
        out.extend([(5 + options.len() as u8 / 4) << 4, header.flags]);
        out.extend(header.window.to_be_bytes());
        out.extend([0; 4]);
        out.extend(options);
        let all = out.len() + header.payload as usize;
        out.resize(all, 0x55);
    }
}

/// An ACK on its way to the capture, which is at the sender.
struct Reply {
    time: i64,
    ack: u64,
    sack: Vec<(u64, u64)>,
}

/// One upload without end, with windows, losses and repair.
pub(crate) struct Bulk {
    ends: u32,
    /// Segments that one ACK answers.
    stretch: u32,
    /// One in so many segments is lost.
    lost_in: u64,
    random: Random,
    rtt: i64,
    /// Packets of the handshake that were sent.
    opened: u8,
    now: i64,
    may_send: i64,
    identification: [u16; 2],
    // The sender.
    una: u64,
    nxt: u64,
    window: u64,
    duplicates: u32,
    recover: u64,
    again: VecDeque<u64>,
    // The receiver.
    got: u64,
    above: BTreeMap<u64, u64>,
    unanswered: u32,
    replies: VecDeque<Reply>,
}

impl Bulk {
    pub(crate) fn new(ends: u32, stretch: u32, lost_in: u64, random: Random) -> Self {
        Self {
            ends,
            stretch,
            lost_in,
            random,
            rtt: 2_000_000 + 1_500_000 * i64::from(ends),
            opened: 0,
            now: i64::from(ends) * 5_000,
            may_send: 0,
            identification: [0; 2],
            una: 1,
            nxt: 1,
            window: 10 * MSS,
            duplicates: 0,
            recover: 0,
            again: VecDeque::new(),
            got: 1,
            above: BTreeMap::new(),
            unanswered: 0,
            replies: VecDeque::new(),
        }
    }

    /// When its next packet comes.
    pub(crate) fn due(&self) -> i64 {
        if self.opened < 3 {
            return self.now;
        }
        let reply = self.replies.front().map(|reply| reply.time);
        match (reply, self.can_send()) {
            (Some(reply), true) => reply.min(self.may_send.max(self.now)),
            (Some(reply), false) => reply,
            (None, true) => self.may_send.max(self.now),
            // Only the delayed ACK is left.
            (None, false) => self.now + self.rtt,
        }
    }

    fn can_send(&self) -> bool {
        !self.again.is_empty() || self.nxt + MSS <= self.una + self.window
    }

    /// Makes that packet.
    pub(crate) fn step(&mut self, frame: &mut Frame) {
        let time = self.due();
        if self.opened < 3 {
            return self.open(frame);
        }
        self.now = time;
        match self.replies.front() {
            Some(reply) if reply.time <= time => {
                if let Some(reply) = self.replies.pop_front() {
                    self.answer(&reply, frame);
                }
            }
            None if !self.can_send() => {
                self.answer(&Reply { time, ack: self.got, sack: Vec::new() }, frame);
            }
            _ => self.send(frame),
        }
    }

    fn open(&mut self, frame: &mut Frame) {
        let (from_client, flags) =
            [(true, SYN), (false, SYN | ACK), (true, ACK)][usize::from(self.opened)];
        let syn = flags & SYN != 0;
        let acknowledgment = u64::from(flags & ACK != 0);
        let header = self.header(from_client, u64::from(!syn), acknowledgment, flags, 0);
        frame.set(self.now, &header, &[]);
        self.now += if self.opened == 0 { self.rtt } else { 20_000 };
        self.opened += 1;
    }

    fn header(
        &mut self,
        from_client: bool,
        sequence: u64,
        acknowledgment: u64,
        flags: u8,
        payload: u64,
    ) -> Header {
        let identification = &mut self.identification[usize::from(from_client)];
        *identification = identification.wrapping_add(1);
        Header {
            ends: self.ends,
            from_client,
            sequence,
            acknowledgment,
            flags,
            window: if from_client { 502 } else { 4_096 - (self.unanswered as u16 & 15) },
            identification: *identification,
            payload,
            echo: stamp(self.now - self.rtt / 2),
        }
    }

    /// A data segment leaves the sender; the receiver's answer is entered at
    /// once for the time at which it comes back.
    fn send(&mut self, frame: &mut Frame) {
        let repair = self.again.pop_front();
        let start = repair.unwrap_or(self.nxt);
        let end = start + MSS;
        self.nxt = self.nxt.max(end);
        self.may_send = self.now + GAP;
        let header = self.header(
            true,
            start,
            1,
            if start.is_multiple_of(10) { PSH | ACK } else { ACK },
            MSS,
        );
        frame.set(self.now, &header, &[]);
        // What is sent again arrives, so that nothing ever waits for a timer.
        if repair.is_none() && self.random.one_in(self.lost_in) {
            return;
        }
        let in_order = start <= self.got;
        if in_order {
            self.got = self.got.max(end);
            while let Some(entry) = self.above.first_entry()
                && *entry.key() <= self.got
            {
                self.got = self.got.max(entry.remove());
            }
        } else {
            let joins =
                self.above.range_mut(..start).next_back().filter(|(_, right)| **right == start);
            match joins {
                Some((_, right)) => *right = end,
                None => {
                    self.above.insert(start, end);
                }
            }
        }
        self.unanswered += 1;
        if !in_order || repair.is_some() || self.unanswered >= self.stretch {
            self.unanswered = 0;
            let jitter = (self.random.next() % 2_000).cast_signed();
            let earliest = self.replies.back().map_or(0, |reply| reply.time + 200);
            let time = (self.now + self.rtt + jitter).max(earliest);
            let sack =
                self.above.iter().rev().map(|(left, right)| (*left, *right)).take(3).collect();
            self.replies.push_back(Reply { time, ack: self.got, sack });
        }
    }

    /// An ACK reaches the sender.
    fn answer(&mut self, reply: &Reply, frame: &mut Frame) {
        let header = self.header(false, 1, reply.ack, ACK, 0);
        frame.set(self.now, &header, &reply.sack);
        if reply.ack > self.una {
            self.una = reply.ack;
            self.duplicates = 0;
            if self.una < self.recover {
                // A partial ACK asks for the next hole (RFC 6582).
                if !self.again.contains(&self.una) {
                    self.again.push_back(self.una);
                }
            } else {
                let step = if self.recover == 0 { MSS } else { MSS * MSS / self.window + 1 };
                self.window = (self.window + step).min(350 * MSS);
            }
            return;
        }
        self.duplicates += 1;
        if self.duplicates == 3 && self.una >= self.recover {
            self.recover = self.nxt;
            self.window = (self.window / 2).max(10 * MSS);
            self.again.push_back(self.una);
        }
    }
}

/// The data of one transfer without its ACKs, paced in rounds, with a segment
/// sent again after a silence now and then.
pub(crate) fn one_sided(
    packets: u64,
    mut give: impl FnMut(&Frame) -> io::Result<()>,
) -> io::Result<()> {
    let mut random = Random::new(5);
    let mut frame = Frame::default();
    let (mut time, mut nxt) = (0, 1_u64);
    for number in 0..packets {
        let again = number > 1_000 && random.one_in(5_000);
        let start = if again {
            time += 250_000_000;
            nxt - MSS * (1 + random.next() % 40)
        } else {
            time += if number % 64 == 0 { 1_000_000 } else { GAP };
            nxt
        };
        let header = Header {
            ends: 0,
            from_client: true,
            sequence: start,
            acknowledgment: 1,
            flags: ACK,
            window: 502,
            identification: number as u16,
            payload: MSS,
            echo: 1,
        };
        frame.set(time, &header, &[]);
        give(&frame)?;
        nxt = nxt.max(start + MSS);
    }
    Ok(())
}

/// Packets of a connection with so many downloads: a handshake, for each a request
/// and its answer with ACKs, and the end.
pub(crate) const fn open_packets(downloads: u64) -> u64 {
    6 + 14 * downloads
}

/// Connections that are all open at the same time: each sends its first packet,
/// then each its second.
pub(crate) fn open(
    connections: u64,
    downloads: u64,
    mut give: impl FnMut(&Frame) -> io::Result<()>,
) -> io::Result<()> {
    const REQUEST: u64 = 200;
    let served = |segments: u64| 1 + MSS * segments;
    let asked = |requests: u64| 1 + REQUEST * requests;
    let mut steps = vec![(true, 0, 0, SYN, 0), (false, 0, 1, SYN | ACK, 0), (true, 1, 1, ACK, 0)];
    for download in 0..downloads {
        let (asking, done) = (asked(download), asked(download + 1));
        let first = 8 * download;
        steps.push((true, asking, served(first), PSH | ACK, REQUEST));
        steps.push((false, served(first), done, ACK, 0));
        for segment in (first..first + 8).step_by(2) {
            steps.push((false, served(segment), done, ACK, MSS));
            steps.push((false, served(segment + 1), done, ACK, MSS));
            steps.push((true, done, served(segment + 2), ACK, 0));
        }
    }
    let (asked, served) = (asked(downloads), served(8 * downloads));
    steps.push((false, served, asked, FIN | ACK, 0));
    steps.push((true, asked, served + 1, FIN | ACK, 0));
    steps.push((false, served + 1, asked + 1, ACK, 0));
    let mut frame = Frame::default();
    let mut time = 0;
    for (place, (from_client, sequence, acknowledgment, flags, payload)) in
        steps.into_iter().enumerate()
    {
        for connection in 0..connections {
            time += 1_000;
            let header = Header {
                ends: connection as u32,
                from_client,
                sequence,
                acknowledgment,
                flags,
                window: 502,
                identification: place as u16 + 1,
                payload,
                echo: stamp(time),
            };
            frame.set(time, &header, &[]);
            give(&frame)?;
        }
    }
    Ok(())
}
