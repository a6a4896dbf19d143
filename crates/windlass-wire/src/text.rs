//! The text that tcpdump prints.
//!
//! A [`TextReader`] takes what `tcpdump -r file` or a listing in an old article
//! holds and gives the segments of its packet lines. It reads the format of
//! tcpdump 4 (`Flags [P.], seq 1:1449, ack 1, win 63, length 1448`) and that of
//! tcpdump 3 (`P 1:1449(1448) ack 1 win 63 (DF)`), with any of `-e`, `-i any`,
//! `-n`, `-S`, `-t` to `-ttttt`, `-v`, `-x`, `-X`, `-A` and `--number`. `-q`
//! prints neither flags nor numbers: such lines count as packets and give no
//! segment. Of a fragmented datagram tcpdump prints the first fragment's length.
//!
//! Times, by what stands first in the line:
//!
//! | column | taken as |
//! |---|---|
//! | `995992450.118897` (`-tt`) | seconds since the Unix epoch |
//! | `2001-07-24 16:34:10.118897` (`-tttt`) | a date and time, in UTC: tcpdump prints local time and does not say which |
//! | `000021`, `1. 000021` (`-ttt` of tcpdump 3) | microseconds since the line before |
//! | `16:34:10.118897` | see below |
//! | nothing (`-t`) | the time of the line before: all are equal |
//!
//! `16:34:10.118897` may be a time of day, the time since the first packet
//! (`-ttttt`), or since the packet before (`-ttt` of tcpdump 4). Up to 64 packet
//! lines are held back until it is clear. They are times since the packet before
//! if of those that differ from their predecessor at least every eighth is
//! smaller, as a clock goes back seldom, and if the middle one is below a
//! minute, as packets of a transfer follow each other closely. Otherwise they
//! are a clock; where it goes back by more than 12 hours it has passed midnight.
//! A few increasing times fit both; the clock is then taken.
//!
//! Sequence numbers may be printed as they are or relative to the connection's
//! first. Those handed on are consistent within a connection: the wire's own,
//! or, where the text does not hold the beginning, all shifted by one amount in
//! each direction. A number that cannot be brought to the same amount is `None`.

mod line;
mod names;
mod numbers;
mod print;
mod time;

use line::{Ip, Kind, Line, Printed};
use names::Names;
pub use names::service_port;
use numbers::Numbers;
pub use print::print;
use time::{Clock, Stamp};
use windlass_base::Timestamp;

use crate::{Observer, Options, Progress, Segment};

/// A longer line is skipped.
const LONGEST_LINE: usize = 64 * 1024;
/// Packet lines held back until it is clear what their times mean.
const MAX_HELD: usize = 64;

/// Reads the text that tcpdump prints.
///
/// Timestamps of a text without points in time begin at zero.
///
/// Lines that are no packets (prose, hex dumps, what protocols above TCP print)
/// are passed over. Packets of any protocol are counted, so that a segment's
/// number is that of its frame in the file from which the text was printed.
#[derive(Debug, Default)]
pub struct TextReader {
    names: Names,
    numbers: Numbers,
    clock: Clock,
    /// Packets whose times are not clear yet.
    held: Vec<HeldLine>,
    /// A packet that the next line may complete: with `-v` the segment of an
    /// IPv4 packet stands on a line of its own.
    open: Option<Open>,
    /// A line that ended with a backslash.
    unfinished: String,
    /// Whether the line at hand is too long and its rest is to be skipped.
    skipping: bool,
    lines: u64,
    packets: u64,
    segments: u64,
    unusable: Option<Unusable>,
}

/// Why lines that tell of a transfer cannot be used: they have neither sequence numbers nor
/// ACK numbers nor windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// tcpdump printed them with `-q`.
    Quiet,
    /// Somebody drew them, with arrows between two hosts.
    Drawn,
}

#[derive(Debug)]
struct HeldLine {
    stamp: Stamp,
    segment: Option<Segment>,
}

/// A packet whose lines are not all read.
#[derive(Debug)]
struct Open {
    stamp: Stamp,
    number: u64,
    ip: Ip,
}

impl TextReader {
    /// Reads the lines that `input` holds and hands their segments on, by
    /// [`Observer::segment`], in the order of the text.
    ///
    /// The last line is taken without its end only if `at_end` says that
    /// nothing follows. Some segments are held back until then: see the
    /// [module](self).
    pub fn read<O: Observer>(&mut self, input: &[u8], at_end: bool, observer: &mut O) -> Progress {
        let mut rest = input;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, after) = rest.split_at(end);
            rest = &after[1..];
            self.line(line, observer);
        }
        if rest.len() > LONGEST_LINE || (self.skipping && !rest.is_empty()) {
            self.skipping = true;
            rest = &[];
        }
        if at_end {
            if !rest.is_empty() || self.skipping {
                self.line(rest, observer);
            }
            rest = &[];
            self.finish(observer);
        }
        Progress { consumed: input.len() - rest.len(), wanted: rest.len() + 1, finished: at_end }
    }

    /// The name behind [`Host::Named`](crate::Host::Named).
    pub fn host_name(&self, index: u32) -> Option<&str> {
        self.names.host_name(index)
    }

    /// Lines so far.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Packets so far, of any protocol.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Segments so far, with those still held back.
    pub fn segments(&self) -> u64 {
        self.segments
    }

    /// Why the first line that tells of a transfer and cannot be used cannot be.
    pub fn unusable(&self) -> Option<Unusable> {
        self.unusable
    }

    /// Takes a line without its end.
    fn line<O: Observer>(&mut self, line: &[u8], observer: &mut O) {
        self.lines += 1;
        if std::mem::take(&mut self.skipping) || line.len() > LONGEST_LINE {
            return;
        }
        let text = String::from_utf8_lossy(line);
        let text = text.trim_end();

        let mut joined = std::mem::take(&mut self.unfinished);
        if !joined.is_empty() {
            // Only an indented line continues: a dump of payload (`-A`) may
            // end with a backslash too.
            if text.starts_with([' ', '\t']) && joined.len() + text.len() < LONGEST_LINE {
                joined.push(' ');
                joined.push_str(text.trim_start());
            } else {
                self.whole(&joined, observer);
                joined.clear();
            }
        }
        let text = if joined.is_empty() { text } else { joined.as_str() };
        match text.strip_suffix('\\') {
            Some(head) => self.unfinished = head.to_owned(),
            None => self.whole(text, observer),
        }
    }

    /// Takes a line with its continuation.
    fn whole<O: Observer>(&mut self, text: &str, observer: &mut O) {
        let Some(Line { stamp, kind }) = line::parse(text) else {
            self.pass_over(text);
            self.inner(text, observer);
            return;
        };
        self.close(observer);
        self.packets += 1;
        let mut open = Open { stamp, number: self.packets, ip: Ip::default() };
        match kind {
            Kind::Segment(printed) => self.segment(&open, &printed, observer),
            Kind::Header(ip) => {
                open.ip = ip;
                self.open = Some(open);
            }
            Kind::Other => {
                self.pass_over(text);
                self.hold(HeldLine { stamp, segment: None }, observer);
            }
        }
    }

    /// Remembers why this line cannot be used. Behind a segment nobody asks.
    fn pass_over(&mut self, text: &str) {
        if self.segments == 0 && self.unusable.is_none() {
            self.unusable = line::unusable(text);
        }
    }

    /// Takes a line that begins no packet, but may complete one.
    fn inner<O: Observer>(&mut self, text: &str, observer: &mut O) {
        let Some(mut open) = self.open.take() else { return };
        // What begins with a tab belongs to a protocol above IP: such as the
        // packet that an ICMP message quotes.
        match text.strip_prefix("    ").and_then(line::parse_inner) {
            Some(Kind::Segment(printed)) => self.segment(&open, &printed, observer),
            Some(Kind::Header(ip)) => {
                open.ip = ip;
                self.open = Some(open);
            }
            _ => self.hold(HeldLine { stamp: open.stamp, segment: None }, observer),
        }
    }

    /// Ends the wait for a packet's second line.
    fn close<O: Observer>(&mut self, observer: &mut O) {
        if let Some(open) = self.open.take() {
            self.hold(HeldLine { stamp: open.stamp, segment: None }, observer);
        }
    }

    /// Makes a segment of what was printed and holds it.
    fn segment<O: Observer>(&mut self, open: &Open, printed: &Printed<'_>, observer: &mut O) {
        let ends =
            self.names.endpoint(printed.source).zip(self.names.endpoint(printed.destination));
        let segment = ends.map(|(source, destination)| {
            self.segments += 1;
            let (sequence, acknowledgment, sack) =
                self.numbers.resolve(source, destination, printed);
            Segment {
                number: open.number,
                time: Timestamp::ZERO,
                source,
                destination,
                sequence,
                acknowledgment,
                flags: printed.flags,
                window: printed.window,
                payload: printed.payload,
                options: Options { sack, ..printed.options },
                identification: printed.ip.identification.or(open.ip.identification),
                hop_limit: printed.ip.hop_limit.max(open.ip.hop_limit),
                checksum: crate::Checksum::Unknown,
                ecn: crate::EcnField::NotEct,
                accurate_ecn: false,
            }
        });
        self.hold(HeldLine { stamp: open.stamp, segment }, observer);
    }

    /// Holds a packet back while its time is not clear, and hands it on.
    fn hold<O: Observer>(&mut self, held: HeldLine, observer: &mut O) {
        if self.held.is_empty() && !self.clock.needs_more(held.stamp) {
            let time = self.clock.time(held.stamp);
            give(&held, time, observer);
            return;
        }
        self.held.push(held);
        if self.held.len() >= MAX_HELD {
            self.release(observer);
        }
    }

    fn release<O: Observer>(&mut self, observer: &mut O) {
        self.clock.decide(self.held.iter().map(|held| held.stamp));
        for held in self.held.drain(..) {
            let time = self.clock.time(held.stamp);
            give(&held, time, observer);
        }
    }

    fn finish<O: Observer>(&mut self, observer: &mut O) {
        let unfinished = std::mem::take(&mut self.unfinished);
        if !unfinished.is_empty() {
            self.whole(&unfinished, observer);
        }
        self.close(observer);
        if !self.held.is_empty() {
            self.release(observer);
        }
    }
}

fn give<O: Observer>(held: &HeldLine, time: Timestamp, observer: &mut O) {
    if let Some(segment) = held.segment {
        observer.segment(&Segment { time, ..segment });
    }
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
