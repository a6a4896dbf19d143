//! Repeated data: retransmissions, reordering, repair.

use windlass_base::thresholds::{
    BEYOND_JITTER, BUSY_HOST, DUPLICATE_ACKS, ENOUGH, HOST_DELAY, LARGE_PART, LATEST_DELAYED_ACK,
    LOCAL_PATH, MOST_OF_IT, SHORTEST_TIME, SILENCE_OF_TIMER, TWICE,
};
use windlass_base::{Span, Timestamp};

use super::{Ack, Data, FastRetransmission, Flow, Recovery, UncapturedData};
use crate::follow::ledger::{PendingWait, Phase, WaitKind};
use crate::follow::outstanding::SegmentInFlight;
use crate::follow::sequence_gaps::SequenceGap;
use crate::note::{Note, Notes, Trigger};

/// Maximum distance of two IPv4 identifications from one counter.
const COUNTED: u16 = 1 << 12;

/// Returns whether an ACK echoes an older timestamp than the retransmission's: it answers the first
/// copy (RFC 3522 section 3.2).
pub(super) fn echoes_before(echo: Option<u32>, again: Option<u32>) -> bool {
    let (Some(echo), Some(again)) = (echo, again) else { return false };
    echo != again && again.wrapping_sub(echo) < 1 << 31
}

impl FastRetransmission {
    /// Returns whether this copy came after the repair and was sent before it. Both copies arrived
    /// here, so others had only overtaken the repaired data.
    fn repairs_late_copy(&self, data: &Data) -> bool {
        let older = echoes_before(data.timestamp, self.timestamp)
            || data.timestamp.is_none() && is_before(data.identification, self.identification);
        self.fills && data.start < self.end && self.start < data.start + data.length && older
    }
}

/// Returns whether one IPv4 identification was given before the other, by a sender that counts them
/// up.
fn is_before(one: Option<u16>, other: Option<u16>) -> bool {
    let (Some(one), Some(other)) = (one, other) else { return false };
    one != 0 && other != 0 && (1..COUNTED).contains(&other.wrapping_sub(one))
}

impl Flow {
    /// Returns whether a segment that begins with the last sent data is no repair of it. Either a
    /// piece of it probed the window, which is open now, or it follows too soon for a timer, and
    /// carries more.
    pub(super) fn goes_over(&self, data: &Data) -> bool {
        let end = data.start + data.length;
        if data.start >= self.nxt || end <= self.nxt || self.recovery.is_some() {
            return false;
        }
        let probed = self.piece == Some((data.start, self.nxt));
        let soon = self.since_data(data.time).is_some_and(|silence| silence < SHORTEST_TIME.get())
            && self.timeouts.count == 0
            && self.nxt - data.start <= data.length / 2
            && self.holes.is_empty()
            && self.duplicates == 0;
        probed || soon
    }

    /// Takes back the part of it that was sent before: the segment carries that part as well.
    pub(super) fn take_back(&mut self, data: &Data) {
        let from = data.start.max(self.una).min(self.nxt);
        self.counts.bytes = self.counts.bytes.saturating_sub(self.nxt - data.start);
        self.outstanding.take_back(data.start);
        self.nxt = from;
        self.piece = None;
        self.probe_byte = None;
    }

    /// Takes data of which some was sent before.
    pub(super) fn again(&mut self, data: &Data, notes: &mut impl Notes) {
        let end = data.start + data.length;
        self.trains.restart(data.time);
        if let Some(late) = self.captured_late(data) {
            self.counts.out_of_order += 1;
            notes.note(data.number, Note::OutOfOrder { late });
            return self.enter_quietly(data.time, data.number);
        }
        if let Some((age, first)) = self.sent_early(data) {
            let again = Note::Retransmission { of: Some(first), trigger: Trigger::Early };
            notes.note(data.number, again);
            self.counts.retransmit();
            self.counts.spurious += 1;
            self.counts.retransmitted.add(data.number);
            self.early(data, age);
            self.last_event = Some(data.time);
            return self.enter_quietly(data.time, data.number);
        }
        self.discards.again(data.time, data.start, end);
        let first = self.outstanding.send_again(data.start, end, data.time);
        let filled = self.holes.fill(data.start, end);
        let hole = filled.map(|(_, hole)| hole);
        if filled.is_some() {
            self.filled_at = Some(data.time);
            if first.is_none() {
                self.outstanding.fill(data.start);
            }
        }
        if end > self.acked {
            self.lost_first(first);
        }
        if data.start == self.acked {
            self.lacks(data, first, hole);
        }
        self.drops.repaired(data.time);
        if let Some((bytes, hole)) = filled {
            self.counts.bytes += bytes;
            if self.was_overtaken(data, &hole) {
                let late = data.time.since(hole.since).or_zero();
                self.counts.out_of_order += 1;
                self.needless.came_late(data.time);
                notes.note(data.number, Note::OutOfOrder { late });
                return self.enter_quietly(data.time, data.number);
            }
        }
        self.empty_bucket(data, first.filter(|_| end > self.acked), hole);
        self.counts.retransmit();
        if end > self.nxt {
            // The segment carries new data as well.
            self.counts.bytes += end - self.nxt;
            self.nxt = end;
        }
        let soon = first.is_some_and(|first| {
            let after = data.time.since(first.time);
            after >= Span::ZERO && after < SHORTEST_TIME.get()
        });
        let trigger = if end <= self.acked {
            self.counts.spurious += 1;
            self.needless(data);
            Trigger::Needless
        } else if first.is_some_and(|first| {
            first.sent_again.is_none()
                && self.sizes.is_too_large(first.end - first.start, first.time)
        }) && self.ledger.since_mark(data.time) < self.silence()
        {
            // The router asks for smaller segments, and no timer ran out. That tells of no
            // congestion (RFC 1191 section 6.4).
            Trigger::TooLarge
        } else if self.ledger.since_mark(data.time) < self.silence()
            && match self.recovery {
                // Repair goes on as it began.
                Some(recovery) => recovery.kind == WaitKind::Recovery,
                None => self.duplicates > 0 || self.sacks,
            }
        {
            Trigger::Fast
        } else if self.recovery.is_none() && self.tells_of_copies {
            self.counts.spurious += 1;
            self.counts.of_copies += 1;
            Trigger::OfCopies
        } else if soon && self.recovery.is_none() {
            self.counts.spurious += 1;
            Trigger::Copy
        } else {
            Trigger::Timer
        };
        let of = first.map(|first| first.number);
        notes.note(data.number, Note::Retransmission { of, trigger });
        self.counts.retransmitted.add(data.number);
        let Data { start, time, number, timestamp, identification, .. } = *data;
        let fills = filled.is_some() && first.is_none();
        let repaired =
            FastRetransmission { start, end, time, number, timestamp, identification, fills };
        if trigger == Trigger::Needless
            && let Some(repaired) = self.repaired_fast.take_if(|fast| fast.repairs_late_copy(data))
        {
            self.counts.spurious += 1;
            self.needless.vain_repair(repaired.number);
        }
        // Of what was sent for the third time the second copy may be the one that arrived,
        // and a repair by the timer sends all again.
        let begins =
            self.recovery.is_none() && first.is_none_or(|first| first.sent_again.is_none());
        if trigger == Trigger::Fast && begins {
            self.repaired_fast = Some(repaired);
        } else {
            // Sent more than once again, one copy too many proves nothing of the first.
            self.repaired_fast.take_if(|fast| start < fast.end && fast.start < end);
        }
        match trigger {
            Trigger::Needless
            | Trigger::Copy
            | Trigger::OfCopies
            | Trigger::Early
            | Trigger::TooLarge => {
                self.enter_quietly(data.time, data.number);
            }
            Trigger::Fast => {
                self.counts.fast += 1;
                self.repair(WaitKind::Recovery, data);
            }
            Trigger::Timer => {
                self.counts.timer += 1;
                self.timed_out(data);
                self.timeouts.fills |= filled.is_some();
            }
        }
        self.last_event = Some(data.time);
    }

    /// Returns the age and packet number of a segment's first copy at this retransmission. `None`
    /// if an ACK could have come before: then the timer is not shorter than the path.
    fn sent_early(&self, data: &Data) -> Option<(Span, u64)> {
        let is_old = data.start + data.length <= self.nxt;
        if self.recovery.is_some() || !is_old || !self.is_unasked(data.start) {
            return None;
        }
        let first = self.outstanding.covering(data.start)?;
        if self.sizes.is_too_large(first.end - first.start, first.time) {
            return None;
        }
        let age = data.time.since(first.time);
        let soonest = self.soonest_answer(self.path.rtt?, data.start);
        (SHORTEST_TIME.get()..soonest).contains(&age).then_some((age, first.number))
    }

    /// Returns the time from an ACK's departure here to a retransmission of its data, far from the
    /// sender. The ACK was still on its way when the sender sent the copy.
    fn sent_unheard(&self, data: &Data) -> Option<Span> {
        let end = data.start + data.length;
        let acked = self.held.iter().find(|ack| end > self.una && ack.ack >= end)?.time;
        let soonest = self.soonest_answer(self.path.longest_turn(), data.start);
        let repaired = self.filled_at.is_some_and(|filled| data.time < filled + self.path.turn * 2);
        let since = data.time.since(acked);
        (since < soonest && !repaired && self.is_unasked(data.start)).then_some(since)
    }

    /// Returns whether no ACK may have asked for a retransmission from here, and no repair that
    /// began in time goes on. ACKs of copies of the same repair do not count. At the sender the
    /// time tells whether an ACK can have asked.
    fn is_unasked(&self, start: u64) -> bool {
        let at_sender = self.path.turn == Span::ZERO;
        !self.needless.follows_others(start)
            && (at_sender
                || self.repeats == 0
                || self.counts.early > 0 && self.needless.is_same_repair(start))
    }

    /// Returns the least time of an answer over a path of this round trip. Behind a copy that came
    /// sooner others may follow, up to the whole round trip.
    fn soonest_answer(&self, rtt: Span, start: u64) -> Span {
        let goes_on = self.counts.early > 0 && self.needless.is_same_repair(start);
        if goes_on { rtt } else { rtt.scaled(LARGE_PART.get()) }
    }

    /// Counts a retransmission by a timer shorter than the path.
    fn early(&mut self, data: &Data, age: Span) {
        self.counts.early += 1;
        let begins = self.needless.begins_repair(data.start, self.nxt);
        self.needless.repeated_early(age, begins, data.number);
    }

    /// Takes a retransmission of data whose ACK is in the capture. Long after the ACK must have
    /// reached the sender, the ACK was lost. Far from the sender, and soon after some data came
    /// late, the sender took that data for lost.
    fn needless(&mut self, data: &Data) {
        let turn = self.path.turn;
        // At the sender the capture shows what it heard. Without a handshake nothing tells
        // where the capture was taken.
        let may_be_far = turn > Span::ZERO || !self.start_known;
        let Some(acked) = self.acked_at.filter(|_| may_be_far) else { return };
        let since = data.time.since(acked);
        if since >= self.silence().max(turn * 2) {
            self.needless.unheard(data.start, data.start + data.length, data.number);
            self.unheard(WaitKind::Unheard, data.time, data.number);
            return;
        }
        if let Some(age) = self.sent_unheard(data) {
            return self.early(data, age);
        }
        self.needless.sent_late(self.nxt);
        if turn > Span::ZERO
            && (self.duplicates > 0 && self.recovery.is_none() && !self.tells_of_copies
                || self.needless.came_late_within(turn * 2, data.time))
        {
            // One repair may last for several round trips.
            self.needless.came_late(data.time);
            if self.needless.begins_repair(data.start, self.nxt) {
                self.needless.vain_repair(data.number);
                self.lose();
                self.counts.loss_events += 1;
            }
        }
    }

    /// Charges the time up to now to a lost ACK for which the sender waited, and not to its
    /// program.
    fn unheard(&mut self, kind: WaitKind, time: Timestamp, number: u64) {
        if self.closure.is_none() {
            self.ledger.settle_all(kind, |wait| match wait {
                PendingWait::AwaitPeer => WaitKind::AwaitPeer,
                _ => kind,
            });
            self.ledger.charge(kind, time, number);
        }
    }

    /// Takes data that the receiver lacks, and asks for next.
    fn lacks(&mut self, data: &Data, first: Option<SegmentInFlight>, hole: Option<SequenceGap>) {
        let size = self.size.get();
        let length = first.map_or(data.length, |first| first.end - first.start);
        self.sizes.again(data.number, data.start, data.length.min(size), length.min(size));
        if let Some(sent) = first.map(|first| first.time).or(hole.map(|hole| hole.after)) {
            self.drops.again(sent, data.start, self.nxt, hole.and_then(|hole| hole.came));
        }
    }

    /// Takes data whose ACK was captured a moment before it, as by a capture with a queue for each
    /// direction. Returns its delay. The ACK proves that the data was sent before.
    fn captured_late(&mut self, data: &Data) -> Option<Span> {
        let missed = self.missed?;
        let late = data.time.since(missed.since).or_zero();
        if data.start != missed.start
            || data.start + data.length > missed.end
            || late > HOST_DELAY.get()
        {
            return None;
        }
        self.counts.missing_bytes = self.counts.missing_bytes.saturating_sub(data.length);
        self.counts.bytes += data.length;
        self.counts.segments += 1;
        self.size.saw(data.length, self.window_most);
        let left = UncapturedData { start: data.start + data.length, ..missed };
        self.missed = (left.start < left.end).then_some(left);
        Some(late)
    }

    /// Returns whether late data was overtaken on its way rather than sent again.
    ///
    /// A retransmission takes at least a round trip: the segment behind the
    /// hole must reach the receiver and its ACK the sender. IPv4
    /// identifications, where the sender counts them up, tell directly.
    fn was_overtaken(&self, data: &Data, hole: &SequenceGap) -> bool {
        if let (Some(late), Some(behind)) = (data.identification, hole.identification)
            && late != behind
            && late != 0
            && behind != 0
        {
            let step = late.wrapping_sub(behind);
            if step < COUNTED {
                return false;
            }
            if step > u16::MAX - COUNTED {
                return true;
            }
        }
        // Three duplicate ACKs that ask for this very data: a fast retransmit.
        if u64::from(self.duplicates) >= DUPLICATE_ACKS.get() && data.start == self.acked {
            return false;
        }
        let late = data.time.since(hole.since);
        late < self
            .path
            .rtt
            .map_or(HOST_DELAY.get(), |rtt| rtt.scaled(MOST_OF_IT.get()).max(LOCAL_PATH.get()))
    }

    /// Advances the time to a packet that does not affect the sender's wait.
    pub(super) fn enter_quietly(&mut self, time: Timestamp, number: u64) {
        if let Some(closure) = &mut self.closure {
            closure.goes_on(time, number);
        } else if let Some(recovery) = self.recovery {
            self.ledger.charge(self.recovering(recovery, time), time, number);
        } else if self.flight() > 0 {
            self.ledger.pend(self.waiting(), time, number);
        }
    }

    /// Returns the kind of the time up to here during a repair. A silence without a repair or a
    /// timeout stays unexplained.
    pub(super) fn recovering(&self, recovery: Recovery, time: Timestamp) -> WaitKind {
        let fast = recovery.kind == WaitKind::Recovery;
        let untold = fast && self.is_unanswered(self.ledger.since_mark(time));
        if untold { WaitKind::Missing } else { recovery.kind }
    }

    /// Returns the visible reason why a sender with data in flight waits.
    pub(super) fn waiting(&self) -> PendingWait {
        if self.is_window_full() {
            PendingWait::Window
        } else if self.duplicates > 0 {
            PendingWait::OpenDuplicate
        } else {
            PendingWait::Open
        }
    }

    /// Takes a retransmission after duplicate ACKs.
    fn repair(&mut self, kind: WaitKind, data: &Data) {
        let (time, number) = (data.time, data.number);
        match &mut self.recovery {
            Some(recovery) => self.ledger.charge(recovery.kind, time, number),
            None => {
                self.ledger.settle(|wait| match wait {
                    PendingWait::OpenDuplicate => kind,
                    wait => wait.settled(WaitKind::Open),
                });
                self.ledger.settle_as(kind, time, number);
                self.lose();
                self.recovery = Some(Recovery { kind, until: self.nxt });
                self.counts.loss_events += 1;
            }
        }
    }

    pub(super) fn lose(&mut self) {
        let flight = self.flight_sent.max(self.rounds.recent_flight()).max(1);
        self.flight_before_loss = self.flight_before_loss.max(flight);
        self.ledger.phase = Phase::AfterLoss;
        self.rounds.lose();
    }

    /// Returns the least silence that only a timer explains before a retransmission.
    pub(super) fn silence(&self) -> Span {
        self.path.rtt.unwrap_or_default().scaled(BEYOND_JITTER.get()).max(SILENCE_OF_TIMER.get())
    }

    /// Takes a retransmission by timer. The next ACK shows whether anything was lost.
    fn timed_out(&mut self, data: &Data) {
        let (time, number) = (data.time, data.number);
        let silence = self.silence();
        if let Some(recovery) = &mut self.recovery {
            // Repair itself ran into the timer.
            if self.ledger.since_mark(time) >= silence {
                recovery.kind = WaitKind::Timeout;
            }
            let kind = recovery.kind;
            self.ledger.charge(kind, time, number);
            return;
        }
        self.pend(time, number);
        if self.timeouts.count == 0 {
            self.timeouts.timestamp = data.timestamp;
            self.timeouts.first = time;
            if let Some(last) = self.last_event.filter(|_| self.closure.is_none()) {
                self.timeouts.silence = time.since(last).or_zero();
                self.needless.timed(self.timeouts.silence, number);
            }
        }
        self.timeouts.number = number;
        self.timeouts.count += 1;
        self.timeouts.last = time;
        self.timeouts.until = self.nxt;
        self.timeouts.end = self.timeouts.end.max(data.start + data.length);
    }

    /// Enters the gap up to `time` as a wait, unless the window is closed: then the gap is part of
    /// the closure.
    fn pend(&mut self, time: Timestamp, number: u64) {
        match &mut self.closure {
            Some(closure) => closure.goes_on(time, number),
            None => self.ledger.pend(self.waiting(), time, number),
        }
    }

    /// Returns the kind of the sender's wait, if a D-SACK answers the timer's retransmission and
    /// not the first copy: the answer to the first copy never came. A receiver that is slow by
    /// itself is `likely` if the window is full, or if the ACK is of the first copy.
    fn lost_answer(&self, likely: bool, answers_at_once: bool) -> Option<WaitKind> {
        // Of one segment it may have been withheld; two are answered at once (RFC 1122
        // section 4.2.3.2).
        let several = self.flight() >= 2 * self.size.get();
        let at_sender = self.path.turn == Span::ZERO;
        match (several, likely) {
            (true, false) => Some(WaitKind::Unheard),
            (true, true) => answers_at_once.then_some(WaitKind::Unheard),
            (false, false) => at_sender.then_some(WaitKind::Missing),
            (false, true) => None,
        }
    }

    /// Judges a timeout by the first ACK after its retransmission.
    pub(super) fn judge_timeout(&mut self, ack: &Ack, time: Timestamp) {
        let timeouts = std::mem::take(&mut self.timeouts);
        let window_full = self.waiting() == PendingWait::Window;
        let rtt = self.path.rtt.unwrap_or(Span::ZERO);
        // The data behind it had arrived, and a receiver answers that at once (RFC 5681 section
        // 4.2): this answer did not come.
        if ack.ack >= timeouts.end + self.size.get() && self.duplicates == 0 {
            self.needless.unanswered += 1;
        }
        // An echo of the first copy's timestamp (RFC 3522), a D-SACK (RFC 2883)
        // or an answer sooner than the path allows: nothing was lost.
        let echoes_first = echoes_before(ack.echo, timeouts.timestamp);
        let too_soon = !timeouts.fills && time.since(timeouts.last) < rtt.scaled(LARGE_PART.get());
        self.pend(time, ack.number);
        // Nothing else tells how long the sender waited for an ACK that was only
        // withheld: a segment that was sent twice gives no sample.
        let waited = self.since_data(time).map(Span::or_zero);
        let covered = ack.ack.saturating_sub(self.una).div_ceil(self.size.get());
        let weight = u32::try_from(covered).unwrap_or(u32::MAX);
        let was_blind = |flow: &mut Self| {
            flow.after_blind = true;
            if let Some(waited) = waited {
                flow.cycles.record_weighted(waited, weight);
            }
        };
        if ack.d_sack.is_some() || echoes_first || too_soon {
            self.counts.spurious += u64::from(timeouts.count);
            // Sooner it was a probe for the loss of the last segment (RFC 8985 section 7), which
            // many an ACK is too late for that a receiver delays, unless none was ever so late.
            // Behind a probe that nothing answered the timer runs out as well.
            let silent = match timeouts.silence {
                // A closed window, and its probes.
                Span::ZERO => Span::ZERO,
                first => first + timeouts.last.since(timeouts.first).or_zero(),
            };
            // A program that leaves data unread delays ACKs as well.
            let window = u64::from(ack.window) << self.scale.shift();
            let reads_all = window * 2 >= self.room_most;
            let many = self.latency.count >= ENOUGH.get();
            let latest = self.latency.most().filter(|_| many && reads_all);
            let by_timer = silent >= self.silence()
                || latest.is_some_and(|latest| silent >= latest.scaled(TWICE.get()));
            if ack.d_sack.is_some() && !too_soon && by_timer {
                let answers = time.since(timeouts.last) < rtt * 2 + BUSY_HOST.get();
                if let Some(kind) = self.lost_answer(window_full || echoes_first, answers) {
                    self.needless.unheard(self.una, ack.ack, timeouts.number);
                    return self.unheard(kind, time, ack.number);
                }
            }
            if window_full {
                self.ledger.settle_all(WaitKind::Window, |_| WaitKind::Window);
            } else {
                self.counts.withheld += 1;
                was_blind(self);
            }
            return;
        }
        // One that only withholds its ACK is not asked for a duplicate: what lay behind a hole
        // was (RFC 5681 section 4.2).
        let proven = self.duplicates > 0
            || ack.echo.is_some() && timeouts.timestamp.is_some()
            || timeouts.silence
                > self.latency.most().unwrap_or_default().max(LATEST_DELAYED_ACK.get()) + rtt;
        if proven || timeouts.count > 1 || ack.ack < self.nxt {
            self.ledger.settle_all(WaitKind::Timeout, |_| WaitKind::Timeout);
            self.counts.timeouts += 1;
            self.counts.loss_events += 1;
            self.lose();
            if ack.ack < timeouts.until {
                self.recovery = Some(Recovery { kind: WaitKind::Timeout, until: timeouts.until });
            }
        } else {
            let kind = WaitKind::Blind { window_full };
            self.ledger.settle_all(kind, |_| kind);
            self.counts.blind_timeouts += 1;
            was_blind(self);
        }
    }
}
