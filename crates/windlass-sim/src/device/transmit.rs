//! What a device sends of its own: SYN, answers and FIN, and again if need be.

use std::collections::VecDeque;

use windlass_base::{Span, Timestamp};

use super::habits::Habits;
use crate::numbering::{Numbering, START};
use crate::segment::Payload;

/// Times that a device sends something again before it gives up. RFC 9293
/// section 3.8.3 asks for 100 s at least: 1 s doubled six times makes 127.
const MAX_RETRIES: u32 = 6;

/// Answers that may wait to be sent. While more wait, nothing is read, so a peer
/// that takes no answers cannot make them grow.
const MAX_WAITING: usize = 4_096;

/// Where the FIN stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fin {
    NotWanted,
    Wanted,
    /// It was sent, perhaps more than once.
    Sent,
}

/// What is to be sent next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) position: u64,
    pub(super) payload: Payload,
    pub(super) fin: bool,
}

/// A connection's own side.
#[derive(Clone, Debug)]
pub(super) struct Transmit {
    numbering: Numbering,
    /// SND.UNA.
    unacknowledged: u64,
    /// SND.NXT.
    pub(super) next: u64,
    /// The furthest that was ever sent.
    furthest: u64,
    /// The right edge of the peer's window.
    edge: u64,
    mss: usize,
    /// Answers from the first that is not acknowledged.
    answers: VecDeque<u8>,
    /// The position after the last answer, which is the FIN's.
    end: u64,
    fin: Fin,
    /// Nothing new leaves before this time.
    ready: Timestamp,
    /// When something is to be sent again, or a closed window to be probed.
    pub(super) timer: Option<Timestamp>,
    first_timeout: Span,
    retries: u32,
}

impl Transmit {
    /// A side whose SYN is about to be sent.
    pub(super) fn new(initial: u32, mss: u16, habits: &Habits) -> Self {
        Self {
            numbering: Numbering::new(initial),
            unacknowledged: START,
            next: START + 1,
            furthest: START + 1,
            edge: START + 1,
            mss: usize::from(mss.max(1)),
            answers: VecDeque::new(),
            end: START + 1,
            fin: Fin::NotWanted,
            ready: Timestamp::from_nanos(i64::MIN),
            timer: None,
            first_timeout: habits.retransmission.max(Span::from_millis(1)),
            retries: 0,
        }
    }

    pub(super) const fn number(&self, position: u64) -> u32 {
        self.numbering.number(position)
    }

    pub(super) const fn is_syn_acknowledged(&self) -> bool {
        self.unacknowledged > START
    }

    pub(super) fn is_fin_acknowledged(&self) -> bool {
        self.fin == Fin::Sent && self.unacknowledged > self.end
    }

    /// Whether so much waits that nothing more should be read.
    pub(super) fn is_clogged(&self) -> bool {
        self.answers.len() >= MAX_WAITING
    }

    /// Adds answers that may leave at `ready`.
    pub(super) fn answer(&mut self, bytes: &[u8], ready: Timestamp) {
        if self.fin == Fin::NotWanted && !bytes.is_empty() {
            self.answers.extend(bytes);
            self.end += bytes.len() as u64;
            self.ready = self.ready.max(ready);
        }
    }

    /// Asks for a FIN after the answers, at `ready` or later.
    pub(super) fn finish(&mut self, ready: Timestamp) {
        if self.fin == Fin::NotWanted {
            self.fin = Fin::Wanted;
            self.ready = self.ready.max(ready);
        }
    }

    /// Takes an acknowledgment number. `Err` where it acknowledges what was
    /// never sent.
    pub(super) fn acknowledge(&mut self, number: u32, now: Timestamp) -> Result<(), ()> {
        let position = self.numbering.position(number, self.unacknowledged);
        if position > self.furthest {
            return Err(());
        }
        if position <= self.unacknowledged {
            return Ok(());
        }
        let from = self.unacknowledged.max(START + 1);
        let answered = usize::try_from(position.saturating_sub(from)).unwrap_or(usize::MAX);
        self.answers.drain(..answered.min(self.answers.len()));
        self.unacknowledged = position;
        self.next = self.next.max(position);
        self.retries = 0;
        self.timer = (self.next > position).then(|| now + self.first_timeout);
        Ok(())
    }

    /// Takes the peer's window.
    pub(super) fn window(&mut self, number: u32, window: u64) {
        let position = self.numbering.position(number, self.unacknowledged);
        self.edge = self.edge.max(position + window);
    }

    /// When the next piece may leave; `None` where nothing is to be sent.
    pub(super) fn due(&self) -> Option<Timestamp> {
        let end = self.end;
        let data = self.next < end && self.next < self.edge;
        let fin = self.fin == Fin::Wanted && self.next == end
            || self.fin == Fin::Sent && self.next == end && self.unacknowledged <= end;
        (data || fin).then_some(self.ready)
    }

    /// The next piece, which is taken for sent.
    pub(super) fn take(&mut self, now: Timestamp) -> Piece {
        let end = self.end;
        let position = self.next;
        let from = usize::try_from(position - self.unacknowledged.max(START + 1)).unwrap_or(0);
        let room = usize::try_from(self.edge.saturating_sub(position)).unwrap_or(usize::MAX);
        let length = self.answers.len().saturating_sub(from).min(self.mss).min(room);
        let bytes: Vec<u8> = self.answers.iter().skip(from).take(length).copied().collect();
        self.next += length as u64;
        let fin = self.next == end && self.fin != Fin::NotWanted;
        if fin {
            self.fin = Fin::Sent;
            self.next += 1;
        }
        self.furthest = self.furthest.max(self.next);
        if self.timer.is_none() {
            self.timer = Some(now + self.first_timeout);
        }
        let payload = if bytes.is_empty() { Payload::EMPTY } else { Payload::copy_of(&bytes) };
        Piece { position, payload, fin }
    }

    /// The SYN goes out.
    pub(super) fn syn_sent(&mut self, now: Timestamp) {
        if self.timer.is_none() {
            self.timer = Some(now + self.first_timeout);
        }
    }

    /// Answers wait while the window is closed and nothing is under way: the
    /// timer is to probe it.
    pub(super) fn watch_window(&mut self, now: Timestamp) {
        if self.timer.is_none() && self.next < self.end && self.next >= self.edge {
            self.timer = Some(now + self.first_timeout);
        }
    }

    /// The timer ran out: what was sent is to be sent again. Whether the peer is gone
    /// instead.
    pub(super) fn gives_up(&mut self, now: Timestamp) -> bool {
        self.retries += 1;
        if self.retries > MAX_RETRIES {
            return true;
        }
        self.timer = Some(now + self.first_timeout * (1 << self.retries));
        self.next = self.unacknowledged.max(START + 1);
        // One byte goes out whatever the window: it is the probe.
        self.edge = self.edge.max(self.next + 1);
        false
    }
}
