//! Data of the sender: new data, probes, and the time before each.

use windlass_base::thresholds::{
    A_QUARTER, ANSWER_LATE_BY, AS_GOOD_AS_EQUAL, BUSY_HOST, HALF_AGAIN, HOST_DELAY,
    LATEST_DELAYED_ACK, LEAST_REACTION, NEARLY_ALL, ONE_IN_HUNDRED, PERHAPS_FREED_BY_WRITER,
    PROMPT_LEAST, PROMPT_PART, ROUNDED_WINDOW, SEVERAL, SEVERAL_SEGMENTS, SHORTEST_TIME,
    SLOW_LINE_SEGMENT, WAKING_PART, WITHHELD_ACK,
};
use windlass_base::{Bytes, Span, Timestamp, whole_part};

use super::{Ack, Data, Flow, NOTABLE_LATENCY, Scale, Timeouts};
use crate::estimate::far::Arrival;
use crate::follow::closure::Closure;
use crate::follow::ledger::{PendingWait, Phase, WaitKind};
use crate::follow::outstanding::SegmentInFlight;
use crate::follow::sequence_gaps::{SequenceGap, SequenceGaps};
use crate::note::{Note, Notes};

/// Segments of an initial congestion window (RFC 6928 section 2).
pub(crate) const INITIAL_WINDOW: u64 = 10;

/// Initial windows by this RFC and earlier ones (RFC 3390 section 1).
const INITIAL_WINDOWS: [u64; 4] = [INITIAL_WINDOW, 4, 3, 2];

/// Divisor of the congestion window: Linux waits for room for this part of it, at most (ip-sysctl,
/// `tcp_tso_win_divisor`).
const TSO_WIN_DIVISOR: u64 = 3;

impl Flow {
    /// Takes a segment that carries nothing new and asks for an ACK.
    pub(crate) fn probe(&mut self, time: Timestamp, number: u64, notes: &mut impl Notes) {
        match &mut self.closure {
            Some(closure) => {
                let count = closure.probe(time, number);
                self.counts.probes += 1;
                self.counts.probed.add(number);
                notes.note(number, Note::Probe { count });
            }
            None => {
                self.counts.keep_alives += 1;
                notes.note(number, Note::KeepAlive);
            }
        }
    }

    /// Takes a data segment. Returns the time since the capture of the ACK that its timestamp
    /// echoes, if that was captured.
    pub(crate) fn data(&mut self, data: &Data, notes: &mut impl Notes) -> Option<Span> {
        let is_copy = data.start + data.length <= self.acked;
        let turn =
            self.release_before(data.time, data.echo, (self.is_queued(data), is_copy), notes);
        if let Some(marks) = self.marks.as_mut().filter(|_| data.cut)
            && marks.cut(data.time)
            && self.recovery.is_none()
        {
            self.lose();
        }
        // Called at one place, and so compiled into this.
        if !self.take_unless_new(data, notes) {
            self.fresh(data, notes);
        }
        turn
    }

    /// Takes a segment that repeats data or only asks for the window. Returns whether it is one.
    fn take_unless_new(&mut self, data: &Data, notes: &mut impl Notes) -> bool {
        let end = data.start + data.length;
        let Some(first) = self.first else {
            self.open(data.start, data.time, data.number);
            return false;
        };
        if !self.ledger.started() {
            self.ledger.start(data.time, data.number);
        }
        // Offsets that lie far back belong to nothing that is known here.
        if data.start < first.saturating_sub(1 << 30) {
            return true;
        }
        let again = self.taken_back == Some(data.start) && self.flight() == 1;
        let asks = self.flight() == 0 || self.is_closed() || again;
        if data.length <= 1 && end == self.nxt && (asks || self.has_last_byte_answered()) {
            self.probe(data.time, data.number, notes);
            return true;
        }
        if self.goes_over(data) {
            self.take_back(data);
            return false;
        }
        if data.start < self.nxt {
            self.again(data, notes);
            return true;
        }
        if self.closure.is_some() && data.length == 1 && self.usable() == 0 {
            self.probe(data.time, data.number, notes);
            // The receiver may take the byte or not; its ACK will tell.
            self.probe_byte = Some(data.start);
            self.piece = Some((data.start, end));
            self.nxt = end;
            self.counts.bytes += 1;
            return true;
        }
        if self.is_forced(data)
            && let Some(closure) = &mut self.closure
        {
            closure.fill(data.time, data.number);
            let window = Bytes::new(data.length);
            notes.note(data.number, Note::WindowFilled { window });
            self.piece = Some((data.start, end));
            self.nxt = end;
            self.counts.bytes += data.length;
            self.counts.segments += 1;
            return true;
        }
        false
    }

    /// Returns whether a sender that avoids silly windows gave up waiting for more room, and filled
    /// the rest of a closed window. Its timer ran out, and the segment asks for the window as a
    /// probe does (RFC 9293 section 3.8.6.2.1).
    #[inline]
    fn is_forced(&self, data: &Data) -> bool {
        self.closure.as_ref().is_some_and(|closure| closure.since(data.time) >= self.silence())
            && data.start == self.nxt
            && data.length == self.usable()
            && data.length < self.size.get()
    }

    fn open(&mut self, start: u64, time: Timestamp, number: u64) {
        self.first = Some(start);
        self.una = if self.heard { self.acked } else { start };
        self.nxt = start.max(self.una);
        self.acked = self.una;
        self.edge = self.edge.max(self.una);
        self.ledger.start(time, number);
    }

    /// Takes data that was not sent before.
    fn fresh(&mut self, data: &Data, notes: &mut impl Notes) {
        let end = data.start + data.length;
        self.learn_full_segment(data);
        if self.flight() == 0 {
            self.note_rest(data);
        }
        // Data beyond the window proves that an ACK was missed or is on its way to the sender, or
        // that the scale is larger than assumed.
        let mut needed = None;
        while end > self.edge
            && let Some(ack) = self.held.pop_front()
        {
            needed = Some(ack.time);
            let reached = ack.time + self.path.turn;
            self.apply(ack, reached.max(self.last_event.unwrap_or(reached)), notes);
        }
        if let Some(needed) = needed.filter(|_| end <= self.edge && self.scale.is_known()) {
            self.path.bound(data.time.since(needed));
        }
        if end > self.edge && self.heard {
            self.stretch_scale(end);
        }
        // More than the window is in flight already: this segment answers an ACK
        // that the capture has not seen.
        let unseen = self.heard && self.scale.is_known() && self.nxt > self.edge;
        let hole = data.start > self.nxt;
        let wait = self.told_wait(data).filter(|_| !unseen && !hole);
        if hole {
            self.skip(data, notes);
        }
        if self.may_be_far() {
            self.note_far(data, hole);
        }
        if let Some(closure) = self.closure.take() {
            if hole {
                self.opened_unseen(&closure);
                self.ledger.charge(WaitKind::Missing, data.time, data.number);
            } else {
                self.was_closed(&closure, data.time);
                let kind = closure.end(data.time, false);
                // The almost closed window took at least this data.
                let room = self.usable().max(data.length);
                let kind = self.opened(kind, closure.since(data.time), room);
                self.ledger.charge(kind, data.time, data.number);
            }
        } else if self.is_untold(data, unseen, hole) {
            self.counts.unseen_acks += u64::from(unseen);
            self.settle_waits(WaitKind::Open);
            self.ledger.settle_as(WaitKind::Missing, data.time, data.number);
        } else {
            self.settle_before_data(data, notes);
        }
        self.size.saw(data.length, self.window_most);
        let size = self.size.get();
        if hole {
            self.trains.restart(data.time);
        }
        if data.timestamp.is_none() {
            // Timestamps, if present, tell of queues.
            self.trains.segment(data.time, data.length, size, data.pushed);
        }
        if std::mem::take(&mut self.after_blind) && data.length < size {
            // A small segment waited for the ACK, and not for more room.
            self.counts.held_small += 1;
        }
        if self.flight() == 0 && !self.rounds.is_running() {
            self.rounds.start(end);
        }
        if let (Some(echo), Some(silence)) = (data.echo, self.since_data(data.time)) {
            self.echoes.sent(data.time, echo, silence, self.path.turn);
        }
        self.fill_bucket(data);
        if let Some(late) = data.late.by.filter(|_| self.path.turn > Span::ZERO && !hole) {
            let lateness = self.lateness.get_or_insert_default();
            lateness.came(data.time, end, late, self.path.rtt);
        }
        self.outstanding.push(SegmentInFlight {
            start: data.start,
            end,
            time: data.time,
            number: data.number,
            sent_again: None,
        });
        let alone = self.flight() == 0;
        let tail = alone || data.length < self.last_length;
        self.ran_out = tail && data.length < size.min(self.edge.saturating_sub(self.nxt));
        self.count_departure(data, wait.as_ref());
        (self.last_length, self.last_pushed) = (data.length, data.pushed);
        self.counts.pushes += u64::from(data.pushed);
        self.nxt = end;
        self.counts.bytes += data.length;
        self.counts.segments += 1;
        let activity = &mut self.ledger.activity;
        activity.segments = activity.segments.saturating_add(1);
        activity.sent += data.length;
        let small = data.length < size / 2;
        if small {
            activity.small_segments = activity.small_segments.saturating_add(1);
        }
        self.last_small = data.length < size;
        if self.last_small {
            activity.partial_segments = activity.partial_segments.saturating_add(1);
        }
        if data.length > size {
            self.counts.super_packets += 1;
            notes.note(data.number, Note::SuperPacket { segments: data.length.div_ceil(size) });
        }
        let unused = self.unused_room(data);
        self.counts.unused_room += unused;
        self.counts.unused_rooms += u64::from(unused > Span::ZERO);
        let flight = self.flight();
        self.counts.flight_most = self.counts.flight_most.max(flight);
        if self.flight_before_loss > 0
            && self.recovery.is_none()
            && !self.sacks
            && flight as f64 >= self.flight_before_loss as f64 * NEARLY_ALL.get()
        {
            // The flight before the loss is reached again. (Selectively acknowledged data is no
            // longer in flight.)
            self.flight_before_loss = 0;
            self.ledger.phase = Phase::Level;
        }
        self.rounds.flight(flight);
        (self.flight_sent, self.drains_from) = (flight, flight);
        self.acks_since_data = 0;
        (self.peer_sent, self.peer_pieces) = (None, 0);
        self.last_event = Some(data.time);
        if let Some(last) = self.last_data.replace(data.time)
            && data.length >= size
            && flight > data.length
        {
            // Alone in flight, it would measure the program's pauses.
            let gap = data.time.since(last);
            if gap >= Span::ZERO {
                self.packet_times.record(gap);
            }
        }
        // Under a window below the MSS a small segment leaves room for another.
        if self.heard && self.usable() < size.min((self.window_most / 2).max(1)) {
            let window = self.edge.saturating_sub(self.una);
            notes.note(data.number, Note::WindowFilled { window: Bytes::new(window) });
        }
    }

    /// Shows a new segment to the facts that hold far from its sender.
    fn note_far(&mut self, data: &Data, hole: bool) {
        let is_calm = !hole
            && self.recovery.is_none()
            && self.timeouts.count == 0
            && self.duplicates == 0
            && self.closure.is_none();
        let arrival = Arrival {
            time: data.time,
            end: data.start + data.length,
            length: data.length,
            size: self.size.get(),
            silence: self.since_data(data.time).filter(|_| is_calm),
            since_release: self.ledger.since_mark(data.time),
            by_message: self.message_last,
            flight: self.flight(),
            rtt: self.path.rtt,
        };
        self.far.get_or_insert_default().arrived(&arrival);
    }

    /// Returns the time for which the sender sent nothing before this segment, though it might
    /// have. Several ACKs have made room for a third of the flight or more. A sender that collects
    /// larger segments waits for no more room than that (Linux: `tcp_tso_win_divisor`). Far from
    /// the sender, the ACK that made it send is unknown.
    fn unused_room(&self, data: &Data) -> Span {
        let may_have_room = self.acks_since_data >= SEVERAL_SEGMENTS.to::<u32>()
            && self.path.turn == Span::ZERO
            && self.recovery.is_none()
            && self.timeouts.count == 0;
        if !may_have_room {
            return Span::ZERO;
        }
        let flight = self.flight().saturating_sub(data.length);
        let drained = self.drains_from.saturating_sub(flight);
        let awaited = self.drains_from / TSO_WIN_DIVISOR + ROUNDED_WINDOW.get() * self.size.get();
        let silence = self.since_data(data.time).filter(|_| drained > awaited);
        silence.unwrap_or_default().or_zero()
    }

    /// Returns whether the capture misses packets of the time before this segment, so that the
    /// sender's activity then is unknown.
    ///
    /// A burst that lacks a segment goes on at the pace of a burst. Far from the
    /// sender it may be the path that lost the segment, after a pause of the sender.
    #[inline]
    fn is_untold(&self, data: &Data, unseen: bool, hole: bool) -> bool {
        let flight = self.flight();
        let calm = self.recovery.is_none();
        unseen && calm
            || (hole && self.path.turn == Span::ZERO || flight > 0 && calm && self.misses_often())
                && !self.is_prompt(self.ledger.since_mark(data.time), flight)
    }

    /// Returns whether one byte in a hundred or more was acknowledged, and not captured.
    /// Then about as many ACKs are not in the capture either, and data that follows
    /// no ACK may well follow one of those.
    #[inline]
    pub(super) fn misses_often(&self) -> bool {
        self.counts.missing_bytes * ONE_IN_HUNDRED.get() >= self.counts.bytes.max(1)
    }

    /// Takes a closed window that opened unseen: it was closed for as long as its packets say.
    pub(super) fn opened_unseen(&mut self, closure: &Closure) {
        let (time, number) = closure.last;
        self.was_closed(closure, time);
        self.ledger.charge(closure.end(time, false), time, number);
    }

    /// Settles the time before a new segment.
    fn settle_before_data(&mut self, data: &Data, notes: &mut impl Notes) {
        let (time, number) = (data.time, data.number);
        let gap = self.ledger.since_mark(time);
        // Over a silence with overdue data, three cases look alike: a pause of the sender, a late
        // ACK, and a clock that was set ahead.
        let overdue = std::mem::take(&mut self.overdue);
        let is_untold = || self.is_unanswered(gap) || overdue || data.acked_late;
        if let Some(recovery) = self.recovery {
            self.ledger.settle_as(self.recovering(recovery, time), time, number);
            return;
        }
        let flight = self.flight();
        let awaited = self.ledger.is_pending(PendingWait::AwaitPeer)
            || (self.peer_sent.is_some() && flight == 0);
        if flight > 0 && self.is_window_full() {
            self.ledger.pend(PendingWait::Window, time, number);
            self.ledger.settle(|_| WaitKind::Window);
        } else if self.is_prompt(gap, flight)
            || gap <= self.path.slack()
            || self.is_delayed(data, gap)
        {
            let kind = if awaited && overdue {
                WaitKind::Missing
            } else if awaited {
                self.count_await();
                WaitKind::AwaitPeer
            } else if self.is_nagle(data) {
                self.counts.nagle += 1;
                self.held_for = self.since_data(time);
                WaitKind::Nagle
            } else {
                WaitKind::Open
            };
            if kind == WaitKind::Open {
                self.resume(flight);
                self.count_reaction(data, gap);
            }
            self.settle_waits(kind);
            self.ledger.pend(PendingWait::Sending, time, number);
        } else if self.is_queued(data) {
            // The sender had sent it long before: the path held it.
            self.settle_waits(WaitKind::Queued);
            self.ledger.settle_as(WaitKind::Queued, time, number);
        } else if data.skipped > 0 && self.may_lose_unseen(data, gap) {
            // The sender did send meanwhile. Where the path loses data, it lost all of
            // that before the capture, and this is the timer's retransmission.
            self.settle_waits(WaitKind::Open);
            self.ledger.settle_as(WaitKind::Skipped, time, number);
            self.counts.skips += 1;
        } else if !awaited && self.is_late_answer(data, gap) {
            // The sender waited for an ACK. A later ACK on its way and a pause of the sender then
            // look alike.
            self.settle_waits(WaitKind::Open);
            self.ledger.settle_as(WaitKind::Missing, time, number);
        } else if !awaited && self.are_all_sent(INITIAL_WINDOW) && !is_untold() {
            self.end_burst();
            // The congestion window ended the first flight, whatever came after its ACK.
            if self.is_soon(gap) {
                self.counts.idle_soon += gap;
            }
            self.settle_waits(WaitKind::Open);
            self.ledger.settle_as(WaitKind::Idle, time, number);
        } else if !awaited && self.is_paced(flight) && !is_untold() {
            self.settle_waits(WaitKind::Paced);
            self.ledger.settle_as(WaitKind::Paced, time, number);
        } else {
            let untold = is_untold();
            let idle = if self.heard && !untold { WaitKind::Idle } else { WaitKind::Missing };
            if awaited && !untold {
                self.count_await();
            }
            if flight == 0 {
                self.end_burst();
            }
            self.counts.nagle_in_step += u64::from(self.is_in_step(time));
            let pause = self.ledger.pending_wait() + gap;
            if self.is_soon(gap) || self.may_answer_message(time) {
                self.counts.idle_soon += pause;
            }
            if self.had_more() {
                self.counts.idle_unpushed += pause;
            }
            let message = self.message_before_ack(flight);
            if let Some(came) = message {
                self.ledger.awaited_until(came);
            }
            let awaits = awaited && message.is_none() && !untold;
            self.settle_waits(if awaits { WaitKind::AwaitPeer } else { idle });
            self.ledger.settle_as(idle, time, number);
            if flight == 0 && self.heard && !self.answers && gap >= NOTABLE_LATENCY {
                notes.note(number, Note::WasIdle { idle: gap });
            }
        }
    }

    /// Returns whether a pause, far from its sender, is no longer behind the wait for an ACK than
    /// the ACK and a busy host may take.
    fn is_soon(&self, gap: Span) -> bool {
        let most = self.ledger.pending_wait().scaled(HALF_AGAIN.get()) + BUSY_HOST.get();
        self.path.turn > Span::ZERO && gap <= most
    }

    /// Returns whether a message of the other side is nearly with a sender far away, by what the
    /// path is thought to take: it may have been there already.
    fn may_answer_message(&self, time: Timestamp) -> bool {
        let may_answer = |ack: &Ack| ack.carries_data && self.path.may_answer(time.since(ack.time));
        self.path.turn > Span::ZERO && self.held.iter().any(may_answer)
    }

    /// Ends a burst behind which nothing is in flight.
    fn end_burst(&mut self) {
        let in_turn = self.doubling_bursts.pause(self.counts.segments);
        self.counts.doublings = self.counts.doublings.max(in_turn);
    }

    /// Counts a wait for a message of the other side, and its result.
    fn count_await(&mut self) {
        self.counts.awaits += 1;
        self.counts.awaited_pieces += self.peer_pieces;
    }

    /// Returns whether a sender that may send had more to send all the while. Then no program
    /// paused, but its congestion control spaces the segments (BBR, Cardwell et al. 2016, and any
    /// other above Linux's pacing).
    ///
    /// Linux pushes each half of a small window; there a wait for room right before is as good a
    /// sign as a segment without PSH.
    fn is_paced(&self, flight: u64) -> bool {
        let had_more = self.had_more()
            || self
                .ledger
                .last()
                .is_some_and(|last| matches!(last.kind, WaitKind::Window | WaitKind::Paced));
        flight > 0
            && self.heard
            && self.path.turn == Span::ZERO
            // An ACK that the capture misses may have let it go.
            && self.counts.unseen_acks == 0
            && !self.misses_often()
            && self.last_length >= self.size.get()
            && had_more
    }

    /// Returns whether there was more to send behind the last segment: it is full, and has no PSH.
    /// The last buffered segment has to have PSH (RFC 9293 section 3.9.1, MUST-61).
    fn had_more(&self) -> bool {
        !self.last_pushed && self.last_length >= self.size.get()
    }

    /// Returns the time of the other side's message, if that was long before the last ACK. The
    /// sender waited for the message until then, and from then on for its own program.
    fn message_before_ack(&self, flight: u64) -> Option<Timestamp> {
        let came = self.peer_sent?;
        let before = flight == 0
            && !self.ledger.is_pending(PendingWait::AwaitPeer)
            && !self.is_prompt(self.ledger.waited_since(came), 0);
        before.then_some(came)
    }

    /// Returns whether this segment stood in a queue before the capture for longer than
    /// jitter explains.
    ///
    /// A queue is first in, first out: a segment that waited in one was sent before the one ahead
    /// of it came out. A segment after a longer silence than that found no queue of this
    /// connection's data.
    #[inline]
    pub(super) fn is_queued(&self, data: &Data) -> bool {
        data.late.queued() >= HOST_DELAY.get() && self.may_be_queued(data)
    }

    /// Returns whether a possible queue explains this segment's delay.
    fn may_be_queued(&self, data: &Data) -> bool {
        // Without a round trip nothing tells how far from its sender the capture was taken.
        let Some(rtt) = self.path.rtt else { return false };
        let silence = self.since_data(data.time).unwrap_or(Span::MAX);
        // At the sender there is none before the capture. Which side it was taken
        // at does not show where the whole path is short.
        let possible = self.path.turn > Span::ZERO || rtt < SHORTEST_TIME.get();
        possible && data.late.queued() >= rtt / 4 && silence <= data.late.queued() + data.late.grain
    }

    /// Returns whether this segment was late by at least this gap, though no queue held it. Sent at
    /// once, it was on its way for longer than others.
    fn is_delayed(&self, data: &Data, gap: Span) -> bool {
        self.path.turn > Span::ZERO && gap <= data.late.queued() && !self.is_queued(data)
    }

    /// Returns whether this segment may be a timer's retransmission of data that the path lost
    /// before the capture.
    fn may_lose_unseen(&self, data: &Data, gap: Span) -> bool {
        self.path.turn > Span::ZERO && data.start == self.nxt && gap >= self.silence()
    }

    /// Returns whether this segment, far from its sender, may answer an ACK later than a round trip
    /// after it. The time to fill its segments, or its timestamp's delay, explains that. In a round
    /// trip with data before, no ACK held it back.
    fn is_late_answer(&self, data: &Data, gap: Span) -> bool {
        let turn = self.path.turn;
        let full = !self.ran_out && gap <= turn.scaled(ANSWER_LATE_BY.get());
        let delayed = gap <= turn && gap <= data.late.queued() + data.late.grain;
        self.heard
            && turn > Span::ZERO
            && self.ledger.is_pending(PendingWait::Open)
            && self.since_data(data.time).is_some_and(|silence| silence >= turn)
            && (full || delayed)
    }

    /// Returns whether so many bytes, sent first, are an initial congestion window of full
    /// segments: then that window ended them.
    pub(super) fn is_initial(&self, flight: u64) -> bool {
        self.counts.bytes == flight
            && INITIAL_WINDOWS.iter().any(|segments| self.are_all_sent(*segments))
    }

    /// Returns whether all sent data is a congestion window of so many segments. Linux counts them
    /// as packets: one or two may lack a few bytes, where a write ended.
    fn are_all_sent(&self, segments: u64) -> bool {
        let (sent, full) = (self.counts.bytes, segments * self.size.get());
        let short = self.counts.segments == segments && self.counts.super_packets == 0;
        let most = whole_part(self.size.get() as f64 * A_QUARTER.get());
        sent == full || short && sent < full && full - sent < most
    }

    /// Records the end of a wait. A congestion window releases data with each ACK. The writer of a
    /// full send buffer is woken only when a good part of it is free (Linux: a third, so at least
    /// three tenths here).
    fn resume(&mut self, flight: u64) {
        let freed = self.flight_sent.saturating_sub(flight);
        let share = freed as f64 / self.flight_sent.max(1) as f64;
        let is_stretched = freed <= SEVERAL_SEGMENTS.get() * self.size.get();
        let most = if is_stretched { PERHAPS_FREED_BY_WRITER } else { A_QUARTER };
        let activity = &mut self.ledger.activity;
        if self.acks_since_data == 0 {
        } else if share <= most.get() {
            activity.prompt = activity.prompt.saturating_add(1);
        } else if self.acks_since_data > 1 {
            activity.deep = activity.deep.saturating_add(1);
        }
    }

    #[inline]
    pub(super) fn settle_waits(&mut self, open: WaitKind) {
        self.ledger.settle(|wait| wait.settled(open));
    }

    /// Returns the time that a program may take to wake after a long wait for an ACK: a fiftieth of
    /// the wait, and 20 ms at most. This is nothing next to the wait, and a program with a pace of
    /// its own would not always meet it. On a busy machine Linux lets a program wait some
    /// milliseconds for its turn.
    pub(super) fn waking(&self) -> Span {
        (self.ledger.pending_wait() / WAKING_PART.get()).min(WITHHELD_ACK.get())
    }

    /// Returns whether a sender with nothing in flight was silent for longer than the ACK
    /// before explains.
    pub(super) fn may_be_idle(&self, silence: Span) -> bool {
        !self.is_prompt(silence, 0)
    }

    /// Returns whether a sender that waited for so long was only about to send.
    #[inline]
    fn is_prompt(&self, wait: Span, flight: u64) -> bool {
        wait <= LEAST_REACTION.get() || wait <= self.reaction(flight) || wait <= self.waking()
    }

    /// Returns the reaction time of a sender that waited for an ACK. Later data was not held back
    /// by the ACK.
    ///
    /// A host reacts within tens of microseconds. A paced host reacts within a share of its round
    /// trip: Linux paces a round over about half of it while it grows. A segment may also wait for
    /// others on the sender's own line. An eighth of a round trip, between 0.2 and 20 ms, leaves
    /// them room.
    fn reaction(&self, flight: u64) -> Span {
        let rtt = self.path.rtt.unwrap_or(HOST_DELAY.get());
        let most = (rtt / PROMPT_PART.get()).clamp(PROMPT_LEAST.get(), WITHHELD_ACK.get());
        let most = if flight == 0 { most.min((rtt / 2).max(LEAST_REACTION.get())) } else { most };
        most.max(self.line_time())
    }

    /// Returns the time that a segment may take to pass the capture, which counts on a slow line.
    pub(super) fn line_time(&self) -> Span {
        (self.packet_times.least().unwrap_or_default() * 2).min(SLOW_LINE_SEGMENT.get())
    }

    /// Returns whether data is in flight over such a silence, and its ACK should have come long
    /// ago.
    pub(super) fn is_unanswered(&self, silence: Span) -> bool {
        self.heard && self.unanswered() > 0 && self.is_overdue(silence)
    }

    /// Returns whether this silence is longer than any receiver withholds an ACK, and than this
    /// receiver does, whose ACKs without data are in the capture.
    pub(super) fn is_overdue(&self, silence: Span) -> bool {
        let least = LATEST_DELAYED_ACK.get() + self.path.rtt.unwrap_or_default();
        let usual = || self.latency.quantile(0.9).unwrap_or_default();
        silence > least
            && self.bare_acks >= SEVERAL.to::<u8>()
            && silence > usual().scaled(HALF_AGAIN.get())
    }

    /// Returns whether this segment comes as long after the last one as an earlier segment that was
    /// held back.
    fn is_in_step(&self, time: Timestamp) -> bool {
        self.held_for.zip(self.since_data(time)).is_some_and(|(held, since)| {
            let most = held.scaled(AS_GOOD_AS_EQUAL.get());
            since >= held - most && since <= held + most
        })
    }

    pub(super) fn since_data(&self, time: Timestamp) -> Option<Span> {
        self.last_data.map(|last| time.since(last))
    }

    /// Returns whether the wait before this segment was Nagle's algorithm against a
    /// delayed ACK: a small segment was in flight, another small one follows
    /// its ACK, and that ACK took much longer than the path (RFC 896;
    /// RFC 9293 section 3.7.4).
    #[inline]
    fn is_nagle(&self, data: &Data) -> bool {
        let size = self.size.get();
        let slow = || (self.path.rtt.unwrap_or_default() * 2).max(WITHHELD_ACK.get());
        data.length < size
            && self.flight() == 0
            && self.ledger.pending_wait() > slow()
            && self.ledger.is_pending(PendingWait::Open)
            && (self.last_small || self.counts.last_flight <= 2 * size)
    }

    /// Takes a segment without data that announces this data as sent. Far from the sender, data
    /// that was not captured may be lost or late, and may come yet.
    pub(crate) fn announced(&mut self, data: &Data, notes: &mut impl Notes) {
        let end = data.start + data.length;
        let possible = end <= self.edge && !self.fin_sent && self.closure.is_none();
        if !possible || !self.heard || self.counts.acked == 0 || self.path.turn == Span::ZERO {
            return;
        }
        self.settle_before_data(data, notes);
        self.open_hole(end, data);
        self.nxt = end;
    }

    /// Opens a hole from the end of the data so far to `end`. That data is not in the capture, as
    /// the segment behind it shows.
    fn open_hole(&mut self, end: u64, behind: &Data) {
        self.holes.open(SequenceGap {
            start: self.nxt,
            end,
            after: self.last_data.unwrap_or(behind.time),
            since: behind.time,
            identification: behind.identification,
            came: self.lateness.as_ref().and_then(|lateness| lateness.last()),
        });
    }

    /// Takes data ahead of the sent data: either it overtook other data on its way to the capture,
    /// or the capture missed some.
    fn skip(&mut self, data: &Data, notes: &mut impl Notes) {
        // Two windows beyond the edge: one ACK may have been missed, not all.
        let room = (2 * self.window_most).max(4 * self.size.get());
        let beyond = data.start.saturating_sub(self.edge);
        if self.heard && beyond > room || data.start - self.nxt > 1 << 30 {
            // So far beyond the window that a part of the conversation must be
            // missing. What came before says nothing about what follows.
            notes.note(
                data.number,
                Note::NotCaptured { missing: Bytes::new(data.start - self.nxt) },
            );
            self.ledger.settle_as(WaitKind::Missing, data.time, data.number);
            let window = self.edge.saturating_sub(self.una);
            self.counts.cuts += 1;
            // A sender that is so far ahead had ACKs for what is left out; the next
            // one proves it.
            let left_out = data.start - self.nxt;
            if left_out <= self.possible(data.time) && self.fits_since_last(left_out, data.time) {
                self.left_out += left_out + self.holes.acknowledge(self.nxt);
            }
            self.outstanding.clear();
            self.holes = SequenceGaps::default();
            self.discards.clear();
            self.closure = None;
            self.recovery = None;
            self.timeouts = Timeouts::default();
            self.una = data.start;
            self.acked = self.acked.max(data.start);
            self.nxt = data.start;
            self.edge = data.start + window;
        } else if !self.start_known && self.counts.acked == 0 {
            // Nothing was acknowledged yet: it may have been sent before the
            // capture began.
            self.nxt = data.start;
        } else {
            self.open_hole(data.start, data);
        }
    }

    /// Raises an unknown scale to the least one under which the sender kept to the window.
    fn stretch_scale(&mut self, end: u64) {
        let Scale::AtLeast(mut shift) = self.scale else { return };
        if self.last_window == 0 {
            return;
        }
        while shift < 14 && self.una + (u64::from(self.last_window) << shift) < end {
            shift += 1;
        }
        self.scale = Scale::AtLeast(shift);
        let window = u64::from(self.last_window) << shift;
        self.edge = self.una + window;
        self.window_most = self.window_most.max(window);
    }
}
