//! The segments of one connection, in the view of both ends.

use windlass_base::Timestamp;
use windlass_wire::{Endpoint, Flags, Options, Segment};

/// Maximum number of recorded segments. Habits show in the first few thousand; the bound limits the
/// memory.
const MAX: usize = 1_000_000;

/// A segment on its way to the device.
#[derive(Clone, Copy, Debug)]
pub(super) struct DataSegment {
    pub(super) time: Timestamp,
    /// Position of the first byte, from the start of the data.
    pub(super) from: u64,
    pub(super) payload: u32,
    pub(super) fin: bool,
    /// True if some of the data was sent before.
    pub(super) again: bool,
    /// True if the segment is a probe, which only asks for an answer.
    pub(super) probe: bool,
}

impl DataSegment {
    pub(super) fn to(&self) -> u64 {
        self.from + u64::from(self.payload)
    }
}

/// A segment from the device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    pub(super) time: Timestamp,
    /// Acknowledged position.
    pub(super) ack: u64,
    /// Window, scaled.
    pub(super) window: u64,
    pub(super) payload: u32,
    pub(super) push: bool,
    pub(super) fin: bool,
    pub(super) reset: bool,
    pub(super) sacks: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    Sent(DataSegment),
    Answer(Answer),
}

/// A SYN.
#[derive(Clone, Copy, Debug)]
pub(super) struct Syn {
    pub(super) time: Timestamp,
    pub(super) options: Options,
    pub(super) window: u16,
    /// Number of times that the SYN was sent.
    pub(super) times: u32,
}

/// A connection's segments in order.
#[derive(Debug, Default)]
pub struct Conversation {
    pub(super) asked: Option<Syn>,
    pub(super) answered: Option<Syn>,
    /// Time of the handshake's third segment.
    pub(super) third: Option<Timestamp>,
    pub(super) events: Vec<Event>,
    /// Hop limit of the device's segments; 0 if unknown.
    pub(super) hop_limit: u8,
    /// Number of segments with timestamps.
    pub(super) timestamps: u64,
    /// The largest payload.
    pub(super) largest: u32,
    /// The largest window.
    pub(super) window: u64,
    /// Number of segments beyond the maximum.
    left_out: u64,
}

impl Conversation {
    pub(super) fn answers(&self) -> impl Iterator<Item = &Answer> {
        self.events.iter().filter_map(|event| match event {
            Event::Answer(answer) => Some(answer),
            Event::Sent(_) => None,
        })
    }

    pub(super) fn sent(&self) -> impl Iterator<Item = &DataSegment> {
        self.events.iter().filter_map(|event| match event {
            Event::Sent(sent) => Some(sent),
            Event::Answer(_) => None,
        })
    }

    /// Returns whether both directions were captured.
    pub fn has_both(&self) -> bool {
        self.sent().next().is_some() && self.answers().next().is_some()
    }

    /// Returns the number of segments at the end that were not recorded.
    pub const fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Returns whether a sender treats this window as closed: less than a segment, and less than
    /// half the largest window (RFC 9293 section 3.8.6.2.1).
    pub(super) fn closed(&self, window: u64) -> bool {
        window < u64::from(self.largest).min(self.window.div_ceil(2)).max(1)
    }
}

/// Recorder of a connection's segments.
#[derive(Debug)]
pub struct Recorder {
    sender: Endpoint,
    conversation: Conversation,
    /// Sequence number of position 0, once known.
    base: Option<u32>,
    /// Position after the last byte that was sent.
    next: u64,
    acked: u64,
}

impl Recorder {
    /// Returns a recorder of the data of `sender`, and of the answers.
    pub fn new(sender: Endpoint) -> Self {
        Self { sender, conversation: Conversation::default(), base: None, next: 0, acked: 0 }
    }

    /// Returns the position of a sequence number near `near`.
    fn position(&self, number: u32, near: u64) -> Option<u64> {
        let relative = number.wrapping_sub(self.base?);
        let apart = relative.wrapping_sub(near as u32).cast_signed();
        near.checked_add_signed(i64::from(apart))
    }

    /// Takes a segment.
    pub fn segment(&mut self, segment: &Segment) {
        if self.conversation.events.len() >= MAX {
            self.conversation.left_out += 1;
            return;
        }
        if segment.options.timestamps.is_some() {
            self.conversation.timestamps += 1;
        }
        if segment.source == self.sender { self.sent(segment) } else { self.answer(segment) }
    }

    fn sent(&mut self, segment: &Segment) {
        let talk = &mut self.conversation;
        if segment.flags.has(Flags::SYN) {
            self.base = segment.sequence.map(|number| number.wrapping_add(1)).or(self.base);
            let times = talk.asked.map_or(1, |syn| syn.times + 1);
            talk.asked = Some(syn(segment, times));
            return;
        }
        if talk.answered.is_some() && talk.third.is_none() {
            talk.third = Some(segment.time);
        }
        if segment.flags.has(Flags::RST) {
            return;
        }
        if self.base.is_none() {
            self.base = segment.sequence;
        }
        let from = match segment.sequence {
            Some(number) => self.position(number, self.next),
            // tcpdump prints no number where there is no data.
            None => Some(self.next),
        };
        let Some(from) = from else { return };
        let payload = segment.payload;
        let fin = segment.flags.has(Flags::FIN);
        let to = from + u64::from(payload);
        let again = payload > 0 && from < self.next;
        let probe = payload == 0 && !fin && from < self.next;
        let next = self.next.max(to);
        self.next = next;
        let talk = &mut self.conversation;
        talk.largest = talk.largest.max(payload);
        talk.events.push(Event::Sent(DataSegment {
            time: segment.time,
            from,
            payload,
            fin,
            again,
            probe,
        }));
    }

    fn answer(&mut self, segment: &Segment) {
        let talk = &mut self.conversation;
        if segment.hop_limit > 0 {
            talk.hop_limit = segment.hop_limit;
        }
        if segment.flags.has(Flags::SYN) {
            let times = talk.answered.map_or(1, |syn| syn.times + 1);
            talk.answered = Some(syn(segment, times));
            if segment.flags.has(Flags::ACK) {
                self.base = self.base.or(Some(segment.acknowledgment));
            }
            return;
        }
        let reset = segment.flags.has(Flags::RST);
        if !segment.flags.has(Flags::ACK) && !reset {
            return;
        }
        if self.base.is_none() && !reset {
            self.base = Some(segment.acknowledgment);
        }
        let near = self.acked;
        let ack = if reset { Some(near) } else { self.position(segment.acknowledgment, near) };
        let Some(ack) = ack else { return };
        let talk = &mut self.conversation;
        let scale = match (talk.asked, talk.answered) {
            (Some(asked), Some(answered)) if asked.options.window_scale.is_some() => {
                answered.options.window_scale.unwrap_or(0).min(14)
            }
            _ => 0,
        };
        let window = u64::from(segment.window) << scale;
        if !reset {
            talk.window = talk.window.max(window);
        }
        self.acked = self.acked.max(ack);
        talk.events.push(Event::Answer(Answer {
            time: segment.time,
            ack,
            window,
            payload: segment.payload,
            push: segment.flags.has(Flags::PSH),
            fin: segment.flags.has(Flags::FIN),
            reset,
            sacks: !segment.options.sack.is_empty(),
        }));
    }

    /// Returns the recorded conversation.
    pub fn finish(self) -> Conversation {
        self.conversation
    }
}

fn syn(segment: &Segment, times: u32) -> Syn {
    Syn { time: segment.time, options: segment.options, window: segment.window, times }
}
