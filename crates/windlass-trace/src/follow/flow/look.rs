//! Snapshot of a running flow: the kind of the silence since its last packet.

use windlass_base::{Bytes, Span, Timestamp};

use super::Flow;
use crate::follow::ledger::{PendingWait, WaitKind};

/// The number of a packet that has not come.
const NONE: u64 = 0;

impl Flow {
    /// Returns the open window of the receiver, if known, and the data in flight.
    pub(crate) fn levels(&self) -> (Option<Bytes>, Option<Bytes>) {
        let window = self.edge.saturating_sub(self.una);
        let told = self.heard && self.scale.is_known();
        (told.then(|| Bytes::new(window)), self.heard.then(|| Bytes::new(self.flight())))
    }

    /// Charges the time up to `now` to the sender's present wait, as far as it is known before the
    /// packet that ends the wait. It is for a copy, which nothing follows.
    ///
    /// A closed window is closed until an ACK opens it, and a sender with nothing in flight that
    /// may send has nothing to send. Data in flight waits for its ACK for as long as ACKs have
    /// taken so far, or until a timer would have retransmitted. Beyond that the wait is unknown.
    pub(crate) fn wait_until(&mut self, now: Timestamp) {
        let turn = self.path.turn;
        while let Some(&ack) = self.held.front()
            && ack.time + turn <= now
        {
            self.held.pop_front();
            self.apply(ack, ack.time + turn, &mut ());
        }
        if !self.ledger.started() {
            return;
        }
        let silence = self.ledger.since_mark(now);
        let waiting = self.waiting();
        if let Some(closure) = self.closure.take() {
            self.ledger.charge(closure.end(now, false), now, NONE);
            self.was_closed(&closure, now);
        } else if self.timeouts.count > 0 {
            let window_full = waiting == PendingWait::Window;
            let timeouts = std::mem::take(&mut self.timeouts);
            // As the ACK to come would be judged that proves nothing.
            let kind = if timeouts.count > 1 {
                WaitKind::Timeout
            } else {
                WaitKind::Blind { window_full }
            };
            self.ledger.settle_as(kind, now, NONE);
        } else if self.flight() == 0 {
            self.wait_for_data(now, silence);
        } else if let Some(recovery) = self.recovery {
            self.ledger.settle_as(recovery.kind, now, NONE);
        } else if !self.heard || silence > self.patience() {
            let kind = waiting.settled(WaitKind::Open);
            self.ledger.settle_all(kind, |wait| wait.settled(WaitKind::Open));
            self.ledger.charge(WaitKind::Missing, now, NONE);
        } else {
            self.ledger.pend(waiting, now, NONE);
            self.ledger.settle(|wait| wait.settled(WaitKind::Open));
        }
    }

    /// Charges a silence with nothing in flight and an open window.
    fn wait_for_data(&mut self, now: Timestamp, silence: Span) {
        // Behind its FIN a sender has no more, and a moment's silence is none.
        if self.fin_sent || !self.may_be_idle(silence) {
            return;
        }
        let untold = !self.heard || self.misses_often();
        let kind = if untold { WaitKind::Missing } else { WaitKind::Idle };
        self.ledger.settle_all(kind, |wait| wait.settled(kind));
        self.ledger.charge(kind, now, NONE);
    }

    /// Returns the longest wait for an ACK that is nothing unusual.
    fn patience(&self) -> Span {
        self.silence().max(self.latency.most().unwrap_or_default() * 2)
    }
}
