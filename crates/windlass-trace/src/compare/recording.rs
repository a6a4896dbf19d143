//! The packets of one connection at one place.

use windlass_base::{Bytes, Span, Timestamp};
use windlass_wire::{Endpoint, Flags, Segment};

use super::fingerprint::{Fingerprint, Match};
use crate::follow::sequence::SequenceUnwrapper;
use crate::quality::copies::Copies;

/// The most packets that are kept of a connection. What comes later is not compared.
const MAX_PACKETS: usize = 500_000;

/// A segment with data.
#[derive(Clone, Copy, Debug)]
pub(super) struct DataPacket {
    pub(super) number: u64,
    pub(super) time: Timestamp,
    /// Without the wrap, from a number that both captures count from.
    pub(super) start: u64,
    pub(super) length: u32,
    pub(super) identification: Option<u16>,
    /// Its TCP timestamp.
    pub(super) stamp: Option<u32>,
}

impl DataPacket {
    pub(super) fn end(&self) -> u64 {
        self.start.saturating_add(u64::from(self.length))
    }
}

/// An ACK without data.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckPacket {
    pub(super) number: u64,
    pub(super) time: Timestamp,
    pub(super) acknowledged: u64,
    /// The window field as sent.
    pub(super) window: u16,
    pub(super) identification: Option<u16>,
    pub(super) stamp: Option<u32>,
}

/// The time that a capture covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coverage {
    /// Its first packet.
    pub from: Timestamp,
    /// Its last packet, or the last one that is compared.
    pub to: Timestamp,
}

impl Coverage {
    /// Returns whether all of a time is covered, the first packet itself aside.
    pub(super) fn holds(&self, from: Timestamp, to: Timestamp) -> bool {
        self.from < from && to <= self.to
    }
}

/// The packets of a connection at one place.
#[derive(Clone, Debug)]
pub struct Recording {
    pub(super) data: Vec<DataPacket>,
    pub(super) acks: Vec<AckPacket>,
    /// The hop limit of the last packet with data, and of the last ACK; zero where none is known.
    pub(super) hop_limits: [u8; 2],
    pub(super) coverage: Coverage,
    /// Copies of segments with data, which are not among them.
    pub(super) copies: u64,
    /// True if there were more packets than are kept.
    pub(super) is_cut: bool,
    /// The ends as this capture names them: sender and receiver.
    pub(super) ends: [Endpoint; 2],
    /// The step of the capture's clock.
    pub(super) clock_step: Span,
}

/// Records one connection of a capture.
#[derive(Debug)]
pub struct Recorder {
    /// Its number.
    number: u64,
    /// The sender of the data and its receiver.
    ends: [Endpoint; 2],
    sequence: SequenceUnwrapper,
    acknowledged: SequenceUnwrapper,
    known: Copies,
    copies: u64,
    data: Vec<DataPacket>,
    acks: Vec<AckPacket>,
    hop_limits: [u8; 2],
    last: Option<Timestamp>,
    is_cut: bool,
}

impl Recorder {
    /// Records the connection of a match in both captures, whose larger direction counts.
    pub fn pair(found: &Match, prints: [&Fingerprint; 2]) -> [Self; 2] {
        let [first, second] = prints;
        let turned = usize::from(found.is_turned);
        let sent = |end: usize| first.payload[end].max(second.payload[end ^ turned]);
        let sender = usize::from(sent(1) > sent(0));
        let reference = first.reference(sender);
        let of = |print: &Fingerprint, sender: usize| {
            let mut sequence = SequenceUnwrapper::default();
            sequence.advance(reference);
            Self {
                number: print.number,
                ends: [print.ends[sender], print.ends[1 - sender]],
                acknowledged: sequence,
                sequence,
                known: Copies::default(),
                copies: 0,
                data: Vec::new(),
                acks: Vec::new(),
                hop_limits: [0; 2],
                last: None,
                is_cut: false,
            }
        };
        [of(first, sender), of(second, sender ^ turned)]
    }

    /// Returns the number of the connection.
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// Returns the sender of the data, and its receiver.
    pub const fn ends(&self) -> [Endpoint; 2] {
        self.ends
    }

    /// Takes a segment of the connection with this number.
    pub fn take(&mut self, segment: &Segment, number: u64) {
        if number != self.number || self.is_cut {
            return;
        }
        if self.known.first_copy(segment).is_some() {
            let is_data = segment.source == self.ends[0] && segment.payload > 0;
            self.copies += u64::from(is_data);
            return;
        }
        let &Segment { time, identification, window, .. } = segment;
        let identification = identification.filter(|identification| *identification != 0);
        let stamp = segment.options.timestamps.map(|(value, _)| value);
        let is_plain = !segment.flags.has(Flags::SYN.with(Flags::FIN).with(Flags::RST));
        if segment.source == self.ends[0] {
            let (Some(sequence), true) = (segment.sequence, segment.payload > 0) else { return };
            self.data.push(DataPacket {
                number: segment.number,
                time,
                start: self.sequence.advance(sequence),
                length: segment.payload,
                identification,
                stamp,
            });
            self.hop_limits[0] = segment.hop_limit;
        } else {
            if !(is_plain && segment.flags.has(Flags::ACK) && segment.payload == 0) {
                return;
            }
            self.acks.push(AckPacket {
                number: segment.number,
                time,
                acknowledged: self.acknowledged.advance(segment.acknowledgment),
                window,
                identification,
                stamp,
            });
            self.hop_limits[1] = segment.hop_limit;
        }
        self.last = Some(time);
        self.is_cut = self.data.len() + self.acks.len() >= MAX_PACKETS;
    }

    /// Ends the recording of a capture that covers this time, with this step of its clock.
    pub fn finish(self, coverage: Coverage, clock_step: Span) -> Recording {
        let to = self.last.filter(|_| self.is_cut).unwrap_or(coverage.to);
        let Self { mut data, mut acks, hop_limits, copies, is_cut, ends, .. } = self;
        data.sort_by_key(|packet| packet.time);
        acks.sort_by_key(|packet| packet.time);
        let coverage = Coverage { from: coverage.from, to };
        Recording { data, acks, hop_limits, coverage, copies, is_cut, ends, clock_step }
    }
}

impl Recording {
    /// Returns the payload that was recorded, copies included.
    pub(super) fn payload(&self) -> Bytes {
        Bytes::new(self.data.iter().map(|packet| u64::from(packet.length)).sum())
    }
}
