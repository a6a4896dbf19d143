//! Reads captures: pcap, pcapng, snoop and tcpdump's text.
//!
//! The caller owns the bytes and their source. It passes the bytes that it has. The reader hands on
//! every whole packet in them and returns the number of bytes consumed:
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

pub use foreign::ForeignFormat;
pub use info::{CaptureDamage, CaptureFormat, CaptureInfo, Losses};
use sniff::{SniffResult, sniff};

use crate::text::TextReader;
use crate::{Observer, Packet, Progress, Segment};

/// Maximum bytes of a packet: the limit of libpcap and Wireshark for every link type that carries
/// IP (`MAXIMUM_SNAPLEN`). A record that claims more is damaged.
pub const MAX_PACKET_BYTES: u32 = 262_144;

/// Returns whether a file that begins with these bytes is a pcap, pcapng or snoop file. Otherwise
/// it is a text, a compressed file or no capture.
pub fn is_binary(magic: [u8; 8]) -> bool {
    matches!(sniff(&magic, false), SniffResult::Pcap | SniffResult::Pcapng | SniffResult::Snoop)
}

/// Reads one capture, whatever its format.
#[derive(Debug, Default)]
pub struct Capture {
    state: ReaderState,
    /// Bytes of the stream that were consumed.
    offset: u64,
    /// True once the end or damage was reached.
    finished: bool,
    info: CaptureInfo,
}

/// State of the reader, by format.
#[derive(Debug, Default)]
enum ReaderState {
    #[default]
    Start,
    Pcap(pcap::Reader),
    Pcapng(Box<pcapng::Reader>),
    Snoop(snoop::Reader),
    Text(TextCapture),
}

/// Reader of a text. It keeps the first bytes, to describe the text if it holds no packet.
#[derive(Debug)]
struct TextCapture {
    reader: Box<TextReader>,
    beginning: Vec<u8>,
}

/// Outcome of one call to the reader of a format.
struct ReadStep {
    progress: Progress,
    /// Damage of the bytes that follow `progress.consumed`, if any.
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
    /// Creates a reader at the start of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Hands every whole packet of `input` to `observer`.
    ///
    /// `input` begins with the first byte that was not consumed before. `at_end` says that no bytes
    /// follow `input`. The caller may wait for [`Progress::wanted`] bytes before the next call.
    /// Damage ends the reading and is stored in [`CaptureInfo::damage`]. All packets before the
    /// damage were handed on.
    pub fn read<O: Observer>(&mut self, input: &[u8], at_end: bool, observer: &mut O) -> Progress {
        if self.finished {
            return ReadStep::end(0).progress;
        }
        let mut consumed = 0;
        let mut step = loop {
            let rest = &input[consumed..];
            match &mut self.state {
                ReaderState::Start => match sniff(rest, at_end) {
                    SniffResult::More(wanted) => break ReadStep::more(0, wanted),
                    SniffResult::Unknown(what) => break ReadStep::damage(0, what),
                    SniffResult::Foreign(foreign) => break self.info.not_read(0, &foreign),
                    SniffResult::Snoop => match snoop::Reader::open(rest, at_end, &mut self.info) {
                        Ok(reader) => {
                            consumed += snoop::FILE_HEADER;
                            self.state = ReaderState::Snoop(reader);
                        }
                        Err(step) => break step,
                    },
                    SniffResult::Pcap => match pcap::Reader::open(rest, at_end, &mut self.info) {
                        Ok(reader) => {
                            consumed += pcap::FILE_HEADER;
                            self.state = ReaderState::Pcap(reader);
                        }
                        Err(step) => break step,
                    },
                    SniffResult::Pcapng => {
                        self.info.format = Some(CaptureFormat::Pcapng);
                        self.state = ReaderState::Pcapng(Box::default());
                    }
                    SniffResult::Text => {
                        self.info.format = Some(CaptureFormat::Text);
                        self.state = ReaderState::Text(TextCapture {
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
            // A text is only refused as a whole.
            let offset = if matches!(self.state, ReaderState::Text(_)) { 0 } else { self.offset };
            let after_packet = self.info.packets;
            self.info.damage = Some(CaptureDamage { offset, after_packet, what });
        }
        step.progress
    }

    /// Records that the source itself broke off here, for example because the rest of a compressed
    /// stream cannot be decompressed. `what` describes it. This replaces the damage that resulted
    /// from the missing bytes; nothing is read afterwards.
    pub fn break_off(&mut self, what: String) {
        self.info.damage =
            Some(CaptureDamage { offset: self.offset, after_packet: self.info.packets, what });
        self.finished = true;
    }

    /// Returns the metadata of the capture as far as it was read.
    pub fn info(&self) -> &CaptureInfo {
        &self.info
    }

    /// Returns the name behind [`crate::Host::Named`], if the capture is a text that names hosts.
    pub fn host_name(&self, index: u32) -> Option<&str> {
        match &self.state {
            ReaderState::Text(text) => text.reader.host_name(index),
            _ => None,
        }
    }

    /// Returns the number of lines read so far, if the capture is a text.
    pub fn lines(&self) -> Option<u64> {
        match &self.state {
            ReaderState::Text(text) => Some(text.reader.lines()),
            _ => None,
        }
    }
}

impl TextCapture {
    fn read<O: Observer>(
        &mut self,
        input: &[u8],
        at_end: bool,
        observer: &mut O,
        info: &mut CaptureInfo,
    ) -> ReadStep {
        let progress = self.reader.read(input, at_end, &mut CountingObserver { observer, info });
        if progress.finished && info.packets == 0 {
            let why = sniff::no_segment(&self.beginning, self.reader.unusable());
            return ReadStep::damage(progress.consumed, why);
        }
        ReadStep { progress, damage: None }
    }
}

/// An observer that counts the segments of a text and hands them on.
struct CountingObserver<'a, O> {
    observer: &'a mut O,
    info: &'a mut CaptureInfo,
}

impl<O: Observer> Observer for CountingObserver<'_, O> {
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
