//! The text that tcpdump prints.
//!
//! A [`TextReader`] reads the output of `tcpdump -r file`, or a listing in an old article, and
//! gives the segments of its packet lines. It reads the format of tcpdump 4 (`Flags [P.], seq
//! 1:1449, ack 1, win 63, length 1448`) and that of tcpdump 3 (`P 1:1449(1448) ack 1 win 63 (DF)`).
//! The options `-e`, `-i any`, `-n`, `-S`, `-t` to `-ttttt`, `-v`, `-x`, `-X`, `-A` and `--number`
//! are supported. `-q` prints neither flags nor numbers: such lines count as packets and give no
//! segment. For a fragmented datagram tcpdump prints the first fragment's length.
//!
//! Times, by the first column of the line:
//!
//! | column | taken as |
//! |---|---|
//! | `995992450.118897` (`-tt`) | seconds since the Unix epoch |
//! | `2001-07-24 16:34:10.118897` (`-tttt`) | a date and time, in UTC: tcpdump prints local time and does not say which |
//! | `000021`, `1. 000021` (`-ttt` of tcpdump 3) | microseconds since the line before |
//! | `16:34:10.118897` | see below |
//! | nothing (`-t`) | the time of the line before: all are equal |
//!
//! `16:34:10.118897` may be a time of day, the time since the first packet (`-ttttt`), or the time
//! since the packet before (`-ttt` of tcpdump 4). Up to 64 packet lines are held back until the
//! meaning is clear. They are times since the packet before if two conditions hold. First, among
//! the times that differ from their predecessor, at least one in eight is smaller, because a clock
//! seldom goes back. Second, the median is below a minute, because packets of a transfer follow
//! each other closely. Otherwise the times are a clock, which has passed midnight if it goes back
//! by more than 12 hours. A few increasing times fit both meanings; the clock is then taken.
//!
//! Printed sequence numbers may be absolute or relative to the connection's first. The numbers
//! handed on are consistent within a connection: they are those of the wire. If the text lacks the
//! beginning, all are shifted by one amount in each direction. A number that cannot be shifted by
//! this amount is `None`.

mod line;
mod names;
mod numbers;
mod print;
mod time;

use line::{Ip, Line, LineKind, PrintedSegment};
use names::Names;
pub use names::service_port;
use numbers::Numbers;
pub use print::print;
use time::{Clock, PrintedTime};
use windlass_base::Timestamp;

use crate::{Observer, Options, Progress, Segment};

/// Longest line that is read, in bytes. A longer one is skipped.
const LONGEST_LINE: usize = 64 * 1024;
/// Maximum packet lines that are held back until the meaning of their times is clear.
const MAX_HELD: usize = 64;

/// Reader of tcpdump's text.
///
/// Timestamps of a text without points in time begin at zero.
///
/// Lines that are no packets (prose, hex dumps, output of protocols above TCP) are skipped. Packets
/// of any protocol are counted. So the number of a segment is that of its frame in the file that
/// was printed.
#[derive(Debug, Default)]
pub struct TextReader {
    names: Names,
    numbers: Numbers,
    clock: Clock,
    /// Packets whose times are still ambiguous.
    held: Vec<HeldLine>,
    /// A packet that the next line may complete: with `-v`, the segment of an IPv4 packet is on its
    /// own line.
    open: Option<IncompletePacket>,
    /// A line that ended with a backslash, which the next line may continue.
    unfinished: String,
    /// True if the current line is too long and its rest is skipped.
    skipping: bool,
    lines: u64,
    packets: u64,
    segments: u64,
    unusable: Option<UnusableLines>,
}

/// Reason for which lines about a transfer are unusable: they have no sequence numbers, ACK numbers
/// or windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnusableLines {
    /// tcpdump printed them with `-q`.
    Quiet,
    /// They are a drawing with arrows between two hosts.
    Drawn,
}

#[derive(Debug)]
struct HeldLine {
    stamp: PrintedTime,
    segment: Option<Segment>,
}

/// A packet of which not all lines were read.
#[derive(Debug)]
struct IncompletePacket {
    stamp: PrintedTime,
    number: u64,
    ip: Ip,
}

impl TextReader {
    /// Reads the lines that `input` holds and hands their segments on, by
    /// [`Observer::segment`], in the order of the text.
    ///
    /// A last line without its end is read only if `at_end` says that nothing follows. Some
    /// segments are held back until then: see the [module](self).
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

    /// Returns the name behind [`Host::Named`](crate::Host::Named).
    pub fn host_name(&self, index: u32) -> Option<&str> {
        self.names.host_name(index)
    }

    /// Returns the number of lines so far.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Returns the number of packets so far, of any protocol.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Returns the number of segments so far, including those held back.
    pub fn segments(&self) -> u64 {
        self.segments
    }

    /// Returns the reason for which the first unusable line about a transfer cannot be used.
    pub fn unusable(&self) -> Option<UnusableLines> {
        self.unusable
    }

    /// Processes a line without its end.
    fn line<O: Observer>(&mut self, line: &[u8], observer: &mut O) {
        self.lines += 1;
        if std::mem::take(&mut self.skipping) || line.len() > LONGEST_LINE {
            return;
        }
        let text = String::from_utf8_lossy(line);
        let text = text.trim_end();

        let mut joined = std::mem::take(&mut self.unfinished);
        if !joined.is_empty() {
            // Only an indented line is a continuation: a dump of payload (`-A`) may end with a
            // backslash, too.
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

    /// Processes a line with its continuation.
    fn whole<O: Observer>(&mut self, text: &str, observer: &mut O) {
        let Some(Line { stamp, kind }) = line::parse(text) else {
            self.pass_over(text);
            self.inner(text, observer);
            return;
        };
        self.close(observer);
        self.packets += 1;
        let mut open = IncompletePacket { stamp, number: self.packets, ip: Ip::default() };
        match kind {
            LineKind::Segment(printed) => self.segment(&open, &printed, observer),
            LineKind::Header(ip) => {
                open.ip = ip;
                self.open = Some(open);
            }
            LineKind::Other => {
                self.pass_over(text);
                self.hold(HeldLine { stamp, segment: None }, observer);
            }
        }
    }

    /// Records why this line is unusable. After a segment, the reason does not matter.
    fn pass_over(&mut self, text: &str) {
        if self.segments == 0 && self.unusable.is_none() {
            self.unusable = line::unusable(text);
        }
    }

    /// Processes a line that begins no packet but may complete one.
    fn inner<O: Observer>(&mut self, text: &str, observer: &mut O) {
        let Some(mut open) = self.open.take() else { return };
        // A line that begins with a tab belongs to a protocol above IP, such as a packet quoted by
        // ICMP.
        match text.strip_prefix("    ").and_then(line::parse_inner) {
            Some(LineKind::Segment(printed)) => self.segment(&open, &printed, observer),
            Some(LineKind::Header(ip)) => {
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

    /// Converts a printed segment and holds it.
    fn segment<O: Observer>(
        &mut self,
        open: &IncompletePacket,
        printed: &PrintedSegment<'_>,
        observer: &mut O,
    ) {
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

    /// Holds a packet back while its time is ambiguous, then hands it on.
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
