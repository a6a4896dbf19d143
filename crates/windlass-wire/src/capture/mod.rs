//! Reads captures: pcap, pcapng, snoop and tcpdump's text.
//!
//! The caller owns the bytes and their source. It passes what it has, the
//! reader hands on every whole packet in it and says how far it came:
//!
//! ```
//! use windlass_wire::{Capture, Packet, Segment, Observer};
//!
//! struct Count(u64);
//! impl Observer for Count {
//!     fn packet(&mut self, _: &Packet<'_>) {
//!         self.0 += 1;
//!     }
//!     fn segment(&mut self, _: &Segment) {}
//! }
//!
//! let mut file = Vec::new();
//! let writer = windlass_wire::write::PcapWriter::default();
//! writer.header(&mut file);
//! writer.record(&mut file, windlass_base::Timestamp::ZERO, 60, &[0; 60]);
//!
//! let (mut capture, mut count) = (Capture::new(), Count(0));
//! let progress = capture.read(&file, true, &mut count);
//! assert!(progress.finished);
//! assert_eq!(count.0, 1);
//! ```

mod foreign;
mod info;
mod interface;
mod pcap;
mod pcapng;
mod records;
mod shape;
mod sniff;
mod snoop;

pub use foreign::Foreign;
pub use info::{CaptureInfo, Damage, Format, Losses};
use sniff::{Sniffed, sniff};

use crate::text::TextReader;
use crate::{Observer, Packet, Progress, Segment};

/// The most bytes that a packet can have: libpcap's and Wireshark's own limit
/// for every link type that carries IP (`MAXIMUM_SNAPLEN`). A record that
/// claims more is damage.
pub const MAX_PACKET_BYTES: u32 = 262_144;

/// Whether a file that begins so is a pcap, a pcapng or a snoop, rather than a text,
/// a packed file or no capture.
pub fn is_binary(magic: [u8; 8]) -> bool {
    matches!(sniff(&magic, false), Sniffed::Pcap | Sniffed::Pcapng | Sniffed::Snoop)
}

/// Reads one capture, whatever its format.
#[derive(Debug, Default)]
pub struct Capture {
    state: ReaderState,
    /// Bytes of the stream that are done with.
    offset: u64,
    /// Whether the end or damage was reached.
    finished: bool,
    info: CaptureInfo,
}

/// What the reader is at.
#[derive(Debug, Default)]
enum ReaderState {
    #[default]
    Start,
    Pcap(pcap::Reader),
    Pcapng(Box<pcapng::Reader>),
    Snoop(snoop::Reader),
    Text(Text),
}

/// A text, with enough of its beginning to say what it was if it holds no
/// packet.
#[derive(Debug)]
struct Text {
    reader: Box<TextReader>,
    beginning: Vec<u8>,
}

/// How far a reader of one format came.
struct ReadStep {
    progress: Progress,
    /// What is wrong with what follows `progress.consumed`, if anything.
    damage: Option<String>,
}

impl ReadStep {
    const fn more(consumed: usize, wanted: usize) -> Self {
        Self { progress: Progress { consumed, wanted, finished: false }, damage: None }
    }

    const fn end(consumed: usize) -> Self {
        Self { progress: Progress { consumed, wanted: 0, finished: true }, damage: None }
    }

    const fn damage(consumed: usize, what: String) -> Self {
        Self { progress: Progress { consumed, wanted: 0, finished: true }, damage: Some(what) }
    }
}

impl Capture {
    /// A reader at the start of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Hands every whole packet of `input` to `observer`.
    ///
    /// `input` begins with the first byte that was not consumed before;
    /// `at_end` says that nothing comes after it. Nothing is lost if the
    /// caller waits for [`Progress::wanted`] bytes before it calls again.
    /// Damage ends the reading and stands in [`CaptureInfo::damage`]; all
    /// packets before it were handed on.
    pub fn read<O: Observer>(&mut self, input: &[u8], at_end: bool, observer: &mut O) -> Progress {
        if self.finished {
            return ReadStep::end(0).progress;
        }
        let mut consumed = 0;
        let mut step = loop {
            let rest = &input[consumed..];
            match &mut self.state {
                ReaderState::Start => match sniff(rest, at_end) {
                    Sniffed::More(wanted) => break ReadStep::more(0, wanted),
                    Sniffed::Unknown(what) => break ReadStep::damage(0, what),
                    Sniffed::Foreign(foreign) => break self.info.not_read(0, &foreign),
                    Sniffed::Snoop => match snoop::Reader::open(rest, at_end, &mut self.info) {
                        Ok(reader) => {
                            consumed += snoop::FILE_HEADER;
                            self.state = ReaderState::Snoop(reader);
                        }
                        Err(step) => break step,
                    },
                    Sniffed::Pcap => match pcap::Reader::open(rest, at_end, &mut self.info) {
                        Ok(reader) => {
                            consumed += pcap::FILE_HEADER;
                            self.state = ReaderState::Pcap(reader);
                        }
                        Err(step) => break step,
                    },
                    Sniffed::Pcapng => {
                        self.info.format = Some(Format::Pcapng);
                        self.state = ReaderState::Pcapng(Box::default());
                    }
                    Sniffed::Text => {
                        self.info.format = Some(Format::Text);
                        self.state = ReaderState::Text(Text {
                            reader: Box::default(),
                            beginning: rest[..rest.len().min(8)].to_vec(),
                        });
                    }
                },
                ReaderState::Pcap(reader) => {
                    break reader.read(rest, at_end, observer, &mut self.info);
                }
                ReaderState::Pcapng(reader) => {
                    break reader.read(rest, at_end, observer, &mut self.info);
                }
                ReaderState::Snoop(reader) => {
                    break reader.read(rest, at_end, observer, &mut self.info);
                }
                ReaderState::Text(text) => break text.read(rest, at_end, observer, &mut self.info),
            }
        };
        step.progress.consumed += consumed;
        self.offset += step.progress.consumed as u64;
        self.finished = step.progress.finished;
        if let Some(what) = step.damage {
            // A text is only ever refused as a whole.
            let offset = if matches!(self.state, ReaderState::Text(_)) { 0 } else { self.offset };
            let after_packet = self.info.packets;
            self.info.damage = Some(Damage { offset, after_packet, what });
        }
        step.progress
    }

    /// Says that the source itself broke off here, with `what` happened: a
    /// packed stream whose rest cannot be unpacked. It replaces what the
    /// capture seemed to lack for that reason; nothing is read after it.
    pub fn break_off(&mut self, what: String) {
        self.info.damage =
            Some(Damage { offset: self.offset, after_packet: self.info.packets, what });
        self.finished = true;
    }

    /// What the capture said of itself so far.
    pub fn info(&self) -> &CaptureInfo {
        &self.info
    }

    /// The name behind [`crate::Host::Named`], where the capture is a text
    /// that names hosts.
    pub fn host_name(&self, index: u32) -> Option<&str> {
        match &self.state {
            ReaderState::Text(text) => text.reader.host_name(index),
            _ => None,
        }
    }

    /// Lines read so far, where the capture is a text.
    pub fn lines(&self) -> Option<u64> {
        match &self.state {
            ReaderState::Text(text) => Some(text.reader.lines()),
            _ => None,
        }
    }
}

impl Text {
    fn read<O: Observer>(
        &mut self,
        input: &[u8],
        at_end: bool,
        observer: &mut O,
        info: &mut CaptureInfo,
    ) -> ReadStep {
        let progress = self.reader.read(input, at_end, &mut Counted { observer, info });
        if progress.finished && info.packets == 0 {
            let why = sniff::no_segment(&self.beginning, self.reader.unusable());
            return ReadStep::damage(progress.consumed, why);
        }
        ReadStep { progress, damage: None }
    }
}

/// Counts the segments of a text on their way to the observer.
struct Counted<'a, O> {
    observer: &'a mut O,
    info: &'a mut CaptureInfo,
}

impl<O: Observer> Observer for Counted<'_, O> {
    fn packet(&mut self, packet: &Packet<'_>) {
        self.info.packets += 1;
        self.info.saw_times(packet.time, packet.time);
        self.observer.packet(packet);
    }

    fn segment(&mut self, segment: &Segment) {
        self.info.packets += 1;
        self.info.saw_times(segment.time, segment.time);
        self.observer.segment(segment);
    }
}

#[cfg(test)]
#[path = "capture_tests.rs"]
mod tests;
