//! Replies of the receiver: ACKs, windows, and the times when they reach the sender.

use windlass_base::thresholds::{
    BUSY_HOST, ENOUGH, FASTEST_LINE, HOST_DELAY, LARGE_PART, LEAST_REACTION, SEVERAL_SEGMENTS,
    UNSEEN_AT_ONCE, WINDOW_FALL, WITHHELD_ACK,
};
use windlass_base::{Bytes, Span, Timestamp};
use windlass_wire::Segment;

use super::loss::echoes_before;
use super::{Ack, FastRetransmission, Flow, NOTABLE_LATENCY, Timeouts, UncapturedData};
use crate::estimate::discards::AckInContext;
use crate::estimate::reader::WindowUpdate;
use crate::follow::closure::{AckLatencies, Closure};
use crate::follow::ledger::{Activity, PendingWait, Phase, Reopening, WaitKind};
use crate::follow::sequence::SequenceUnwrapper;
use crate::follow::windows::UNSCALED;
use crate::note::{Note, Notes};

/// Maximum number of ACKs that wait for their time at the sender; beyond that the first is applied
/// early.
const MAX_HELD: usize = 4096;

/// Maximum span of data in flight, beside the window.
const MOST_IN_FLIGHT: u64 = 1 << 20;

impl Flow {
    /// Counts the SACK blocks of an ACK. Returns whether they are of data that may have been sent:
    /// a device that rewrites sequence numbers, and not these options, leaves them elsewhere.
    pub(crate) fn takes_blocks(
        &mut self,
        segment: &Segment,
        ack: u64,
        unwrap: &SequenceUnwrapper,
    ) -> bool {
        let reach = self.window_most.max(MOST_IN_FLIGHT);
        let blocks = segment.options.sack.as_slice();
        let inside = blocks.iter().filter(|block| {
            let (left, right) = (unwrap.peek(block.left), unwrap.peek(block.right));
            left.saturating_add(2 * reach) >= ack && right <= self.nxt + reach
        });
        let (all, inside) = (blocks.len() as u64, inside.count() as u64);
        self.counts.sack_blocks += all;
        if inside < all {
            self.counts.sacks_outside += all - inside;
            self.counts.sacked_outside.add(segment.number);
        }
        inside > 0
    }

    /// Takes an ACK, as captured. It takes effect when it reaches the sender. Returns the time
    /// since the capture of the data that it answers, if known.
    pub(crate) fn ack(&mut self, ack: Ack, notes: &mut impl Notes) -> Option<Span> {
        self.release(ack.time, notes);
        let mut sample = None;
        self.answered_late = false;
        let moves = ack.ack > self.acked;
        self.last_heard = Some(ack.time);
        if self.may_be_far() {
            let window = u64::from(ack.window) << self.scale.shift();
            let edge = self.scale.is_known().then(|| ack.ack.saturating_add(window));
            self.far.get_or_insert_default().acked(&ack, edge);
        }
        if ack.marked {
            self.marks.get_or_insert_default().tell();
        }
        if ack.newly_marked > 0 {
            let marks = self.marks.get_or_insert_default();
            if marks.count(ack.time, ack.newly_marked, ack.ack, self.nxt) && self.recovery.is_none()
            {
                self.lose();
            }
        }
        self.bare_acks = self.bare_acks.saturating_add(u8::from(moves && !ack.carries_data));
        if !(moves && self.discards.passed(ack.window, ack.sacks)) {
            self.discards.ack(self.heard_now(&ack));
        }
        if let Some(answered) = self.outstanding.acknowledge(ack.ack, ack.time)
            && moves
            && answered.latency >= Span::ZERO
        {
            self.answered_late = self.is_overdue(answered.latency);
            self.overdue |= self.answered_late;
            // An ACK counts once for each full segment that it covers: it is the
            // data that waits.
            let covered = (ack.ack - self.acked).div_ceil(self.size.get());
            let weight = u32::try_from(covered).unwrap_or(u32::MAX);
            self.latency.record_weighted(answered.latency, weight);
            if let Some(seconds) = &mut self.seconds {
                seconds.add(ack.time.as_nanos(), answered.latency, weight);
            }
            self.cycles.record_weighted(answered.cycle, weight);
            self.stays.join(answered.stays);
            self.path.answered(answered.latency);
            if let Some(rtt) = self.path.rtt.filter(|_| self.path.turn == Span::ZERO) {
                self.ack_promptness.took(ack.time, answered.latency, rtt);
                let late = answered.latency - rtt;
                if late >= BUSY_HOST.get() {
                    self.beacons.get_or_insert_default().came(ack.time, late, ack.number);
                }
            }
            self.pipeline.acked(self.nxt > ack.ack);
            let (sent, advanced) = (ack.time - answered.latency, ack.ack - self.acked);
            self.service.acked(ack.time, sent, advanced, self.outstanding.oldest());
            self.took(&ack, advanced, answered.latency);
            self.drops.answered(ack.ack, answered.latency, self.nxt.saturating_sub(ack.ack));
            sample = Some(answered.latency);
            let activity = &mut self.ledger.activity;
            activity.latency_sum += answered.latency;
            activity.latency_count = activity.latency_count.saturating_add(1);
            if answered.latency >= NOTABLE_LATENCY
                && self.path.opening.is_none_or(|rtt| answered.latency >= rtt.scaled(1.25))
            {
                let (latency, answers) = (answered.latency, answered.number);
                notes.note(ack.number, Note::AckAfter { latency, answers });
            }
        }
        self.sizes.advance(ack.ack, self.outstanding.largest);
        if moves {
            (self.acked, self.acked_at) = (ack.ack, Some(ack.time));
            self.repeats = 0;
        } else if ack.is_bare() && ack.ack == self.acked {
            self.repeats = self.repeats.saturating_add(1);
        }
        if self.path.turn > Span::ZERO {
            if self.held.len() == MAX_HELD
                && let Some(first) = self.held.pop_front()
            {
                self.apply(first, first.time + self.path.turn, notes);
            }
            self.held_message |= ack.carries_data;
            self.held.push_back(ack);
        } else {
            // The capture turned out to be the sender's.
            while let Some(ack) = self.held.pop_front() {
                self.apply(ack, ack.time, notes);
            }
            self.apply(ack, ack.time, notes);
        }
        sample
    }

    /// Records the spacing of ACKs of new data, the bytes that each covers, and their delay.
    fn took(&mut self, ack: &Ack, advanced: u64, latency: Span) {
        self.counts.acks_queued += ack.queued;
        self.counts.acks_late += (latency - self.path.rtt.unwrap_or_default()).or_zero();
        let size = self.size.get();
        if advanced > SEVERAL_SEGMENTS.get() * size {
            self.counts.stretched += advanced;
        }
        if self.recovery.is_some() || self.duplicates > 0 {
            self.ack_trains.restart(ack.time);
        } else {
            self.ack_trains.segment(ack.time, advanced, size, false);
        }
    }

    fn heard_now<'a>(&self, ack: &'a Ack) -> AckInContext<'a> {
        let way = (self.path.rtt.unwrap_or_default() - self.path.turn).or_zero();
        AckInContext {
            ack,
            acked: self.acked,
            sent: self.nxt,
            size: self.size.get(),
            way: self.path.opening.map_or(way, |opening| opening.min(way)),
        }
    }

    /// Applies the ACKs whose time at the sender has come. If timestamps tell that time,
    /// [`Flow::release_before`] waits for them.
    pub(super) fn release(&mut self, time: Timestamp, notes: &mut impl Notes) {
        let turn = self.path.turn;
        while let Some(&ack) = self.held.front()
            && ack.time + turn <= time
            && (ack.timestamp.is_none() || turn == Span::ZERO)
        {
            self.held.pop_front();
            self.apply(ack, ack.time + turn, notes);
        }
    }

    /// Returns whether data at this time begins a burst: the sender was silent for a good part
    /// of a turn.
    fn begins_burst(&self, sent: Timestamp) -> bool {
        self.since_data(sent).is_some_and(|silence| silence >= self.path.turn / 4)
    }

    /// Applies the oldest ACK on its way, as the one that a burst answers. This needs that no ACK
    /// has reached the sender, and that the path may have become that short.
    fn begin_burst(&mut self, sent: Timestamp, notes: &mut impl Notes) {
        if self.acks_since_data == 0
            && self.begins_burst(sent)
            && let Some(&ack) = self.held.front()
            && ack.timestamp.is_none()
            && self.path.burst(sent.since(ack.time))
        {
            self.held.pop_front();
            self.apply(ack, sent, notes);
        }
    }

    /// Records the time from an ACK to a burst, far from its sender, if no timestamp tells which
    /// ACK the burst answers.
    fn note_turn(&mut self, sent: Timestamp) {
        let turn = self.path.turn;
        let Some(acked) = self.acked_at.filter(|_| turn > Span::ZERO && self.begins_burst(sent))
        else {
            return;
        };
        let wait = sent.since(acked);
        if self.path.may_answer(wait) {
            self.turns.took(sent, wait, turn);
        }
    }

    /// Applies the ACKs that the sender had when it sent this segment.
    ///
    /// The echo identifies these ACKs (RFC 7323). The time between is the path's, to the sender and
    /// back. Time beyond the path's own was spent in a queue, if the segment stood in one, or else
    /// by the sender. A copy of acknowledged data answers no ACK. Returns the time since the echoed
    /// ACK, if that was captured.
    #[inline(always)]
    pub(crate) fn release_before(
        &mut self,
        sent: Timestamp,
        echo: Option<u32>,
        (queued, is_copy): (bool, bool),
        notes: &mut impl Notes,
    ) -> Option<Span> {
        // At the sender no ACK is on its way.
        if self.path.turn == Span::ZERO && self.held.is_empty() {
            return None;
        }
        self.release_held(sent, echo, (queued, is_copy), notes)
    }

    /// Applies the ACKs that the sender had, if ACKs may be on their way.
    #[inline(never)]
    fn release_held(
        &mut self,
        sent: Timestamp,
        echo: Option<u32>,
        (queued, is_copy): (bool, bool),
        notes: &mut impl Notes,
    ) -> Option<Span> {
        let Some(echo) = echo.filter(|_| self.path.turn > Span::ZERO) else {
            if is_copy {
                self.release(sent, notes);
                return None;
            }
            self.note_turn(sent);
            if self.held.is_empty() {
                return None;
            }
            self.release(sent, notes);
            if self.path.turn > Span::ZERO {
                self.begin_burst(sent, notes);
            }
            // The way from an ACK to its answer varies a little: where none has
            // arrived that this data answers, the next one has.
            let soon = sent + self.ack_way(sent) - self.path.turn;
            if self.acks_since_data == 0
                && let Some(&ack) = self.held.front()
                && ack.time <= soon
                && ack.timestamp.is_none()
            {
                self.held.pop_front();
                self.apply(ack, sent, notes);
            }
            return None;
        };
        let begins = !is_copy && self.begins_burst(sent);
        let mut sample = None;
        while let Some(&ack) = self.held.front()
            && ack.timestamp.is_none_or(|value| echo.wrapping_sub(value) < 1 << 31)
            // Of several ACKs of one tick of the clock, only the first is sure.
            && !(sample.is_some() && ack.timestamp == Some(echo) && ack.time + self.path.soonest() > sent)
        {
            self.held.pop_front();
            if ack.timestamp == Some(echo) && sample.is_none() {
                let turn = sent.since(ack.time);
                sample = Some(turn);
                if begins && !queued {
                    self.path.burst(turn);
                }
                self.turns.took(sent, turn, self.path.turn);
                let activity = &mut self.ledger.activity;
                activity.turn_sum += turn.or_zero();
                activity.turn_count = activity.turn_count.saturating_add(1);
            }
            let at = if queued { sent } else { sent.min(ack.time + self.path.turn) };
            self.apply(ack, at, notes);
        }
        sample
    }

    /// Takes an ACK by the sender of all data of the other side. That data had reached the sender
    /// by now, whatever the path's round trip is taken for.
    pub(crate) fn had_all(
        &mut self,
        time: Timestamp,
        number: u64,
        sends: bool,
        notes: &mut impl Notes,
    ) {
        let turn = self.path.turn;
        if turn == Span::ZERO {
            return;
        }
        if std::mem::take(&mut self.held_message)
            && let Some(last) = self.held.iter().rposition(|ack| ack.carries_data)
        {
            for _ in 0..=last {
                let Some(ack) = self.held.pop_front() else { break };
                self.apply(ack, time.min(ack.time + turn), notes);
            }
        }
        // The sender waited until now for data that came late.
        if !sends
            && self.peer_sent.is_some()
            && self.flight() == 0
            && self.ledger.is_pending(PendingWait::AwaitPeer)
        {
            self.ledger.pend(PendingWait::AwaitPeer, time, number);
        }
    }

    /// Returns the time by which an ACK may have reached a sender sooner than the handshake says,
    /// if the sender sends now.
    ///
    /// The handshake includes the sender's reaction time, which on a busy machine is longer than
    /// the way to it. Data that follows an ACK after a long silence answers that ACK, however soon
    /// it comes.
    fn ack_way(&self, sent: Timestamp) -> Span {
        let silence = self.since_data(sent).unwrap_or_default();
        if silence >= WITHHELD_ACK.get().max(self.path.turn * 20) {
            self.path.turn
        } else {
            self.path.turn / 8
        }
    }

    /// Applies an ACK that reaches the sender.
    pub(super) fn apply(&mut self, ack: Ack, time: Timestamp, notes: &mut impl Notes) {
        let number = ack.number;
        let shift = self.scale.shift();
        let window = u64::from(ack.window) << shift;
        if !self.heard {
            self.heard = true;
            if self.first.is_none() {
                // ACKs only, so far: the data is not in the capture.
                self.una = ack.ack;
                self.nxt = ack.ack;
                self.edge = ack.ack + window;
                self.window_most = window;
                self.last_window = ack.window;
                self.heard_at = Some((time, number));
                return;
            }
            self.una = self.una.min(ack.ack);
            // Data sent before the first ACK met an unseen window: nothing shows that this window
            // was full.
            self.edge = self.edge.max(self.nxt + self.size.get());
        }
        if ack.ack < self.una {
            return;
        }
        if !ack.closing {
            self.read(&ack, window);
        }
        if !self.ledger.started() && ack.ack == self.una {
            self.heard_at = Some((time, number));
        }
        self.counts.acks += 1;
        self.sacks = ack.sacks;
        let advanced = ack.ack - self.una;
        if ack.ack == self.nxt + 1 && self.flight() == 0 && self.closure.is_none() {
            // One number and no data: a FIN that was not captured.
            self.una = ack.ack;
            self.nxt = ack.ack;
        } else if ack.ack > self.nxt {
            self.unseen(&ack, time, notes);
        } else if advanced > 0 {
            self.advance(&ack, time, advanced);
        } else {
            self.repeat(&ack, time, window, notes);
        }
        if let Some((start, end)) = ack.d_sack {
            self.counts.d_sacks += 1;
            let repaired = self.repaired_fast.take_if(|fast| start < fast.end && fast.start < end);
            if let Some(repaired) = repaired {
                self.needless.vain_repair(repaired.number);
            }
            notes.note(number, Note::GotTwice);
        }
        if ack.carries_data {
            self.peer_sent = self.peer_sent.or(Some(time));
            let is_apart = |last: Timestamp| time.since(last) >= HOST_DELAY.get();
            self.peer_pieces += u64::from(self.peer_piece.is_none_or(is_apart));
            self.peer_piece = Some(time);
            if self.flight() == 0 && self.closure.is_none() {
                self.ledger.pend(PendingWait::AwaitPeer, time, number);
            }
        }
        if self.path.turn == Span::ZERO && (ack.carries_data || self.message_releases.is_some()) {
            self.message_releases.get_or_insert_default().heard(ack.carries_data);
        }
        self.message_last = ack.carries_data;
        self.last_event = Some(time);
        if !ack.closing {
            self.set_window(&ack, time, window, notes);
        }
    }

    /// Checks whether the ACK answers the first copy of what a fast retransmit repaired, which had
    /// only been overtaken then. The ACK's echo shows this (Eifel, RFC 3522 section 3.2), or the
    /// ACK comes too soon for the second copy, if that copy's departure is known.
    fn answers_first_copy(&mut self, ack: &Ack, time: Timestamp) {
        let una = self.una;
        let rtt = self.path.rtt.filter(|_| self.path.turn == Span::ZERO);
        let soon = rtt.unwrap_or_default().scaled(LARGE_PART.get());
        let is_older = |one: &mut FastRetransmission| {
            let too_soon = time.since(one.time) < soon;
            one.start == una && (too_soon || echoes_before(ack.echo, one.timestamp))
        };
        if let Some(repaired) = self.repaired_fast.take_if(is_older) {
            self.counts.spurious += 1;
            self.needless.vain_repair(repaired.number);
        }
    }

    /// Shows an ACK to the account of the receiver's program.
    fn read(&mut self, ack: &Ack, window: u64) {
        let edge = ack.ack.saturating_add(window);
        // Taken back: the room went to something else than this data.
        let taken = edge.saturating_add(self.size.get()) <= self.edge;
        self.room_most = if taken { window } else { self.room_most.max(window) };
        self.moving.acked(ack, window, self.room_most, self.nxt, self.size.get());
        let waited = self.is_closed() || self.is_window_full();
        if self.reader.is_none() && !waited {
            return;
        }
        let most = self.room_most;
        let reader = self.reader.get_or_insert_with(Box::default);
        reader.offered(WindowUpdate {
            ack,
            window,
            advanced: ack.ack.saturating_sub(self.una),
            most,
            taken,
            edge: self.edge,
            waited,
            size: self.size.get(),
            grain: 1 << self.scale.shift().min(14),
        });
    }

    /// Returns the most that the sender may have sent unseen, beside the known data. This is a
    /// window at once and one in each round trip, as far as a line carries that. More belongs to
    /// another conversation, or is invented.
    pub(super) fn possible(&self, time: Timestamp) -> u64 {
        let lived = self.ledger.began().map_or(Span::ZERO, |began| time.since(began)).or_zero();
        let rtt = self.path.rtt.unwrap_or_default().max(LEAST_REACTION.get());
        let rounds = (lived.as_nanos() / rtt.as_nanos()).unsigned_abs().saturating_add(2);
        let window = (2 * self.window_most).max(UNSCALED);
        let by_line = lived.as_nanos().unsigned_abs().saturating_mul(FASTEST_LINE.get());
        let most = window.saturating_mul(rounds).min(by_line.saturating_add(UNSEEN_AT_ONCE.get()));
        most.saturating_sub(self.counts.missing_bytes)
    }

    /// Returns whether so much may have been sent since the last packet: a window at once and one
    /// in each round trip. If a piece of the conversation is cut out together with its time, more
    /// is missing than that. The bytes of that piece belong to no time in the capture.
    pub(super) fn fits_since_last(&self, bytes: u64, now: Timestamp) -> bool {
        let last = self.last_data.max(self.last_advance);
        let (Some(last), Some(rtt), true) = (last, self.path.rtt, self.window_most > 0) else {
            return true;
        };
        let pause = now.since(last).or_zero().as_nanos() / rtt.max(LEAST_REACTION.get()).as_nanos();
        let rounds = pause.unsigned_abs().saturating_add(2);
        bytes <= (2 * self.window_most).saturating_mul(rounds)
    }

    /// Takes an ACK of data that the capture never saw.
    fn unseen(&mut self, ack: &Ack, time: Timestamp, notes: &mut impl Notes) {
        if ack.closing {
            // A reset may carry any number, and who sends it need be no end of this.
            return;
        }
        let missing = ack.ack - self.nxt;
        let all = missing + self.holes.acknowledge(ack.ack) + std::mem::take(&mut self.left_out);
        if all > self.possible(time) {
            self.counts.cuts += 1;
        } else {
            self.counts.missing_bytes += all;
            self.missed = Some(UncapturedData { start: self.nxt, end: ack.ack, since: ack.time });
        }
        notes.note(ack.number, Note::NotCaptured { missing: Bytes::new(missing) });
        self.first = self.first.or(Some(self.una));
        if let Some((time, number)) = self.heard_at {
            // The data moved since the last ACK at the latest.
            self.ledger.start(time, number);
        }
        self.ledger.settle_all(WaitKind::Missing, |_| WaitKind::Missing);
        match self.closure.take() {
            // A probe of one byte, which the receiver took.
            Some(mut closure) if missing == 1 => {
                closure.goes_on(time, ack.number);
                self.closure = Some(closure);
            }
            Some(closure) => {
                self.opened_unseen(&closure);
                self.ledger.charge(WaitKind::Missing, time, ack.number);
            }
            None => self.ledger.charge(WaitKind::Missing, time, ack.number),
        }
        self.una = ack.ack;
        self.nxt = ack.ack;
        self.outstanding.clear();
        self.discards.clear();
        self.recovery = None;
        self.timeouts = Timeouts::default();
        (self.duplicates, self.tells_of_copies) = (0, false);
    }

    /// Takes an ACK of new data.
    fn advance(&mut self, ack: &Ack, time: Timestamp, advanced: u64) {
        let number = ack.number;
        if self.repaired_fast.is_some() {
            self.answers_first_copy(ack, time);
        }
        let holes = if self.holes.is_empty() { 0 } else { self.holes.acknowledge(ack.ack) };
        let missing = holes + std::mem::take(&mut self.left_out);
        if missing > 0 && missing > self.possible(time) {
            self.counts.cuts += 1;
        } else if missing > 0 {
            self.counts.missing_bytes += missing;
        }
        let flight = self.flight();
        if self.counts.acked == 0 {
            self.initial_flight = flight;
        }
        self.counts.acked += advanced;
        self.counts.last_flight = flight;
        self.acks_since_data += 1;
        self.ledger.flight_at_wait(flight);
        let activity: &mut Activity = &mut self.ledger.activity;
        activity.acks = activity.acks.saturating_add(1);
        activity.acked += advanced;
        if let Some(pace) = &mut self.program_pace {
            pace.acked(ack.time);
        }
        // As captured: how a train of ACKs is spaced is the path's doing.
        if let Some(last) = self.last_advance.replace(ack.time) {
            activity.gap(ack.time.since(last).or_zero());
        }
        if self.recovery.is_some() || self.duplicates > 0 {
            self.capacity.repaired(time, advanced);
        } else {
            self.capacity.acked(time, advanced, self.path.rtt);
        }
        if let Some(recovery) = self.recovery {
            self.ledger.settle_as(self.recovering(recovery, time), time, number);
            if ack.ack >= recovery.until {
                self.recovery = None;
                self.drains_from = self.nxt.saturating_sub(ack.ack);
            }
        } else if self.timeouts.count > 0 {
            self.judge_timeout(ack, time);
        } else if let Some(closure) = &mut self.closure {
            closure.goes_on(time, number);
        } else {
            let opens_on = self.is_initial(flight) && self.opens_on(ack);
            let wait = if opens_on { PendingWait::Open } else { self.waiting() };
            self.ledger.pend(wait, time, number);
            if wait == PendingWait::Window {
                self.count_window_wait(flight);
                self.settle_waits(WaitKind::Window);
            }
        }
        (self.duplicates, self.tells_of_copies) = (0, false);
        self.una = ack.ack;
        if self.flight() == 0 {
            self.drained = Some((time, number));
        }
        if self.rounds.acknowledged(ack.ack, self.nxt) {
            self.ledger.new_round();
        }
        if self.ledger.phase != Phase::AfterLoss {
            let growing = self.rounds.slow_start;
            self.ledger.phase = if growing { Phase::SlowStart } else { Phase::Level };
        }
    }

    /// Counts a sender that waits at the edge of the window, by its distance from the edge.
    fn count_window_wait(&mut self, flight: u64) {
        let size = self.size.get();
        let is_near = self.last_length >= size && flight >= ENOUGH.get() * size;
        self.counts.window_waits += 1;
        self.counts.window_exact += u64::from(self.usable() == 0);
        self.counts.window_near += u64::from(is_near);
    }

    /// Returns whether a receiver offers a segment more than before: its window grows ahead of the
    /// data, and is not the sender's limit.
    fn opens_on(&self, ack: &Ack) -> bool {
        let offered = u64::from(ack.window) << self.scale.shift();
        offered >= self.edge.saturating_sub(self.una) + self.size.get()
    }

    /// Takes an ACK that repeats the last one.
    fn repeat(&mut self, ack: &Ack, time: Timestamp, window: u64, notes: &mut impl Notes) {
        let number = ack.number;
        let same_window = self.edge == ack.ack + window;
        let waits = self.closure.is_none() && self.flight() > 0;
        // The gap before the first duplicate was an ordinary wait.
        self.enter_quietly(time, number);
        // RFC 5681 section 2: data in flight, no data in the ACK, no new ACK
        // and no new window.
        if waits && ack.is_bare() && ack.d_sack.is_some() && !ack.sacks {
            self.tells_of_copies = true;
            self.counts.duplicate_acks += 1;
        } else if waits && ack.is_bare() && (same_window || ack.sacks) {
            self.duplicates = self.duplicates.saturating_add(1);
            self.counts.duplicate_acks += 1;
            notes.note(number, Note::DuplicateAck { count: self.duplicates });
        } else if waits
            && self.recovery.is_none()
            && self.timeouts.count == 0
            && self.is_window_full()
        {
            self.ledger.settle(|_| WaitKind::Window);
        }
    }

    /// Takes the window of an ACK, and notes when it closes or opens.
    fn set_window(&mut self, ack: &Ack, time: Timestamp, window: u64, notes: &mut impl Notes) {
        let shrinks = ack.window < self.last_window;
        let moves = ack.ack + window > self.edge;
        let fall = self.last_window.saturating_sub(ack.window);
        let is_held = fall >= WINDOW_FALL.get() && ack.ack + window == self.edge;
        self.counts.window_held += u64::from(is_held);
        self.last_window = ack.window;
        self.edge = ack.ack + window;
        self.window_most = self.window_most.max(window);
        self.size.offered(window);
        self.ledger.activity.window(window, self.room_most.max(window));
        let least = self.counts.window_least.map_or(window, |least| least.min(window));
        self.counts.window_least = Some(least);
        if ack.window == 0 {
            self.counts.zero_windows += 1;
        }
        let size = self.size.get();
        // A window is closed in effect when nothing is in flight and a sender
        // that avoids silly windows would not use what is left (RFC 9293
        // section 3.8.6.2.1: a segment, or half the largest window).
        let least = size.min(self.window_most / 2).max(1);
        // Behind its FIN a sender has nothing to send, whatever the window.
        let done = self.fin_sent && self.flight() == 0;
        let told = self.scale.is_known() || self.counts.is_scale_shown();
        let is_small = told && self.flight() == 0 && self.usable() < least;
        let closed = !done && (ack.window == 0 || is_small);
        // If no full segment ever fits, and the receiver offers as much as before although all data
        // came, its program reads: the window is small, not closed.
        let is_offered = ack.window > 0 && moves && !shrinks && self.window_most < size;
        if !closed || is_offered {
            self.windows.record(window);
        }
        let latencies = AckLatencies { soonest: self.latency.least(), latest: self.latency.most() };
        match (&mut self.closure, closed) {
            (None, true) => {
                self.ledger.settle_all(WaitKind::Open, |wait| wait.settled(WaitKind::Open));
                self.ledger.charge(WaitKind::Open, time, ack.number);
                let closure = Closure::new(time, ack.number);
                if is_offered {
                    self.closure = Some(closure.offered());
                } else {
                    self.closure = Some(closure);
                    self.counts.closures += 1;
                    notes.note(ack.number, Note::WindowClosed { left: Bytes::new(self.usable()) });
                }
            }
            (Some(closure), true) => {
                if shrinks && closure.is_offered {
                    closure.shrinks();
                    self.counts.closures += 1;
                } else if is_offered {
                    let before = *closure;
                    self.ledger.charge(before.end(time, false), time, ack.number);
                    self.was_closed(&before, time);
                    self.closure = Some(Closure::new(time, ack.number).offered());
                    return;
                }
                if closure.stays(time, ack.number, self.path.rtt, latencies) {
                    notes.note(ack.number, Note::StillClosed);
                }
            }
            (Some(closure), false) => {
                let probed = closure.answers_probe(time, self.path.rtt, latencies);
                let closure = *closure;
                let late = !probed && closure.may_answer_probe(time, self.latency.least());
                self.counts.late_openings += u64::from(late);
                let after = closure.since(time);
                let opened = closure.end(time, probed);
                let kind = self.opened(opened, after, window);
                if !closure.is_offered {
                    notes.note(
                        ack.number,
                        Note::WindowOpens {
                            after,
                            window: Bytes::new(window),
                            when_probed: probed,
                        },
                    );
                }
                self.ledger.charge(kind, time, ack.number);
                self.was_closed(&closure, time);
                self.closure = None;
                self.take_back_probe();
            }
            (None, false) => {}
        }
    }

    /// Counts the duration of a closure that has ended.
    pub(super) fn was_closed(&mut self, closure: &Closure, until: Timestamp) {
        if !closure.is_offered {
            self.closures.record(closure.since(until));
            self.counts.unasked += closure.unasked(until);
        }
    }

    /// Returns the kind of a closure that ends with `room` bytes. The program may have read all the
    /// time, if the room is a part of the largest window. The room must also come as soon as the
    /// program reads otherwise.
    pub(super) fn opened(&self, kind: WaitKind, closed: Span, room: u64) -> WaitKind {
        let part = self.reader.as_ref().is_some_and(|reader| {
            reader.is_part(room) && !reader.is_stalled(closed, room.max(self.size.get()))
        });
        match kind {
            WaitKind::OpensLate if part => WaitKind::Partly(Reopening::Late),
            WaitKind::NotReading if part => WaitKind::Partly(Reopening::AfterLong),
            WaitKind::NoUpdate if part => WaitKind::Partly(Reopening::WhenProbed),
            kind => kind,
        }
    }

    /// Takes back the byte of a probe that the receiver did not accept: the next data begins with
    /// that byte.
    fn take_back_probe(&mut self) {
        if let Some(byte) = self.probe_byte.take()
            && self.una <= byte
            && self.nxt == byte + 1
        {
            self.nxt = byte;
            self.taken_back = Some(byte);
            self.counts.bytes = self.counts.bytes.saturating_sub(1);
        }
    }
}
