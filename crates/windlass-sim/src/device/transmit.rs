//! A device's own side of a connection: SYN, answers, FIN, and their retransmissions.

use std::collections::VecDeque;

use windlass_base::{Span, Timestamp};

use super::habits::Habits;
use crate::numbering::{Numbering, START};
use crate::segment::Payload;

/// Maximum number of retransmissions before a device gives up. RFC 9293 section 3.8.3 asks for at
/// least 100 s: 1 s doubled six times makes 127 s.
const MAX_RETRIES: u32 = 6;

/// Maximum bytes of answers that wait to be sent. While more wait, nothing is read, so a peer that
/// takes no answers cannot make them grow.
const MAX_WAITING: usize = 4_096;

/// State of the FIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fin {
    NotWanted,
    Wanted,
    /// The FIN was sent, perhaps more than once.
    Sent,
}

/// The next piece to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) position: u64,
    pub(super) payload: Payload,
    pub(super) fin: bool,
}

/// The sending side of a connection.
#[derive(Clone, Debug)]
pub(super) struct TransmitState {
    numbering: Numbering,
    /// SND.UNA.
    unacknowledged: u64,
    /// SND.NXT.
    pub(super) next: u64,
    /// Position after the last byte that was ever sent.
    furthest: u64,
    /// The right edge of the peer's window.
    edge: u64,
    mss: usize,
    /// Answers, from the first byte that is not acknowledged.
    answers: VecDeque<u8>,
    /// The position after the last answer, which is the FIN's.
    end: u64,
    fin: Fin,
    /// Time before which nothing new leaves.
    ready: Timestamp,
    /// Time of the next retransmission, or probe of a closed window.
    pub(super) timer: Option<Timestamp>,
    first_timeout: Span,
    retries: u32,
}

impl TransmitState {
    /// Returns a side whose SYN is about to be sent.
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

    /// Returns whether so many answers wait that nothing more should be read.
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

    /// Takes an acknowledgment number. Returns `Err` if it acknowledges data that was never sent.
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

    /// Returns the time at which the next piece may leave; `None` if there is nothing to send.
    pub(super) fn due(&self) -> Option<Timestamp> {
        let end = self.end;
        let data = self.next < end && self.next < self.edge;
        let fin = self.fin == Fin::Wanted && self.next == end
            || self.fin == Fin::Sent && self.next == end && self.unacknowledged <= end;
        (data || fin).then_some(self.ready)
    }

    /// Returns the next piece, and records it as sent.
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

    /// Records that the SYN leaves.
    pub(super) fn syn_sent(&mut self, now: Timestamp) {
        if self.timer.is_none() {
            self.timer = Some(now + self.first_timeout);
        }
    }

    /// Starts the timer for a probe if answers wait for a closed window and nothing is under way.
    pub(super) fn watch_window(&mut self, now: Timestamp) {
        if self.timer.is_none() && self.next < self.end && self.next >= self.edge {
            self.timer = Some(now + self.first_timeout);
        }
    }

    /// Prepares a retransmission after the timer expired. Returns whether the peer counts as gone
    /// instead.
    pub(super) fn gives_up(&mut self, now: Timestamp) -> bool {
        self.retries += 1;
        if self.retries > MAX_RETRIES {
            return true;
        }
        self.timer = Some(now + self.first_timeout * (1 << self.retries));
        self.next = self.unacknowledged.max(START + 1);
        // One byte may leave whatever the window is: it is the probe.
        self.edge = self.edge.max(self.next + 1);
        false
    }
}
