//! The sending half of a connection: what may leave, and what ACKs do.

use windlass_base::{Bytes, Span, Timestamp};
use windlass_wire::SackBlocks;

use super::SenderCounters;
use super::congestion::CongestionWindow;
use super::outstanding::{DUPLICATES, Outstanding};
use super::persist::Persist;
use super::settings::{Probe, Segmenting, SenderSettings};
use super::supply::Supply;
use super::timeout::Timeout;
use super::truth::Held;
use crate::numbering::{Numbering, START};
use crate::segment::{Payload, Segment};

/// Where the program's end of the stream stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fin {
    NotSent,
    /// At this position.
    Sent(u64),
}

/// Whether loss is being repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repair {
    /// Nothing is; so many duplicate ACKs came in a row.
    None { duplicates: u64 },
    /// By fast retransmit, until `until` is acknowledged. Without SACK each
    /// duplicate ACK stands for a segment that has left the path.
    Fast { until: u64, duplicates: u64 },
    /// By the timer, until `until` is acknowledged.
    Timer { until: u64 },
}

/// What leaves next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outgoing {
    /// New data, perhaps with the FIN.
    New { from: u64, to: u64, fin: bool },
    /// Lost data again.
    Again { from: u64, to: u64, fin: bool },
    /// A probe without data.
    Probe { at: u64 },
    /// The next byte, into a closed window.
    ProbeByte { from: u64, fin: bool },
}

impl Outgoing {
    pub(super) const fn from(&self) -> u64 {
        match self {
            Self::New { from, .. } | Self::Again { from, .. } | Self::ProbeByte { from, .. } => {
                *from
            }
            Self::Probe { at } => *at,
        }
    }

    /// The end of its data, without the FIN.
    pub(super) const fn to(&self) -> u64 {
        match self {
            Self::New { to, .. } | Self::Again { to, .. } => *to,
            Self::ProbeByte { from, fin } => *from + !*fin as u64,
            Self::Probe { at } => *at,
        }
    }

    pub(super) const fn fin(&self) -> bool {
        match self {
            Self::New { fin, .. } | Self::Again { fin, .. } | Self::ProbeByte { fin, .. } => *fin,
            Self::Probe { .. } => false,
        }
    }
}

/// An ACK, with positions for its numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ack {
    pub(super) position: u64,
    pub(super) sequence: u64,
    pub(super) window: u64,
    pub(super) sack: SackBlocks,
    /// Whether it carries nothing else.
    pub(super) bare: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Transfer {
    supply: Supply,
    outstanding: Outstanding,
    congestion: CongestionWindow,
    timeout: Timeout,
    persist: Persist,
    repair: Repair,
    /// The effective MSS: data that a full segment carries.
    mss: u64,
    /// SND.UNA.
    unacknowledged: u64,
    /// SND.NXT.
    next: u64,
    /// SND.UNA + SND.WND.
    edge: u64,
    /// SND.WL1 and SND.WL2: the segment that last moved the window.
    window_from: (u64, u64),
    /// The largest window that was ever offered.
    largest_window: u64,
    fin: Fin,
    /// The byte beyond `next`, or the FIN, that a probe carried.
    probed: Option<(u64, bool)>,
    timer: Option<Timestamp>,
    /// Times in a row that the timer ran out.
    retries: u32,
    /// When data last left.
    last_sent: Timestamp,
    /// Whether the congestion window held data back since the last ACK.
    was_limited: bool,
    /// A reset that is to leave.
    pub(super) reset: Option<Segment>,
}

impl Transfer {
    pub(super) fn new(settings: &SenderSettings) -> Self {
        let mss = u64::from(settings.mss);
        Self {
            supply: Supply::new(settings, START + 1),
            outstanding: Outstanding::default(),
            congestion: CongestionWindow::new(settings.congestion, settings.initial_window, mss),
            timeout: Timeout::new(settings.least_timeout),
            persist: Persist::Off,
            repair: Repair::None { duplicates: 0 },
            mss,
            unacknowledged: START,
            next: START + 1,
            edge: START + 1,
            window_from: (0, 0),
            largest_window: 0,
            fin: Fin::NotSent,
            probed: None,
            timer: None,
            retries: 0,
            last_sent: Timestamp::from_nanos(i64::MIN),
            was_limited: false,
            reset: None,
        }
    }

    /// SND.UNA.
    pub(super) const fn acknowledged(&self) -> u64 {
        self.unacknowledged
    }

    /// SND.NXT.
    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    /// The bytes of the stream that are acknowledged.
    pub(super) fn delivered(&self) -> Bytes {
        let fin = u64::from(self.is_fin_acknowledged());
        Bytes::new(self.unacknowledged.saturating_sub(START + 1 + fin))
    }

    /// Whether all that the program has to write is acknowledged.
    pub(super) fn is_acknowledged(&self) -> bool {
        self.supply.is_done() && self.unacknowledged >= self.supply.written()
    }

    pub(super) const fn has_fin(&self) -> bool {
        matches!(self.fin, Fin::Sent(_))
    }

    pub(super) fn is_fin_acknowledged(&self) -> bool {
        matches!(self.fin, Fin::Sent(position) if self.unacknowledged > position)
    }

    /// Whether the SYN is to leave, which sets its timer.
    pub(super) fn opens(&mut self, now: Timestamp) -> bool {
        if self.timer.is_some_and(|timer| timer > now) {
            return false;
        }
        if self.retries == 0 {
            self.last_sent = now;
        }
        self.timer = Some(now + self.timeout.current());
        true
    }

    /// The handshake is done.
    pub(super) fn opened(&mut self, now: Timestamp, mss: u64, window: u64) {
        if self.retries == 0 {
            self.timeout.measured(now.since(self.last_sent));
        }
        self.retries = 0;
        self.timeout.progressed();
        self.timer = None;
        self.mss = mss;
        self.congestion.set_mss(mss);
        self.unacknowledged = START + 1;
        self.edge = START + 1 + window;
        self.largest_window = window;
        self.last_sent = now;
    }

    /// Nothing more leaves.
    pub(super) fn stop(&mut self) {
        self.timer = None;
        self.persist = Persist::Off;
    }

    /// The peer sends no more answers.
    pub(super) fn cut_off(&mut self) {
        self.supply.cut_off();
    }

    pub(super) fn answered(&mut self, bytes: u64, now: Timestamp) {
        self.supply.answered(bytes, now);
    }

    /// Lets the program write.
    pub(super) fn write(&mut self, now: Timestamp, settings: &SenderSettings) {
        if self.unacknowledged == START {
            return;
        }
        let held = self.supply.written() - self.unacknowledged.min(self.supply.written());
        let room = settings.send_buffer.map_or(u64::MAX, |most| most.get().saturating_sub(held));
        self.supply.write(now, room);
        self.watch_window(now, settings);
    }

    pub(super) const fn next_write(&self) -> Option<Timestamp> {
        self.supply.next_time()
    }

    pub(super) fn payload(&self, from: u64, to: u64) -> Payload {
        self.supply.payload(from, to)
    }

    /// The timer that runs out first.
    pub(super) fn timer(&self) -> Option<Timestamp> {
        [self.timer, self.persist.timer()].into_iter().flatten().min()
    }

    /// What may leave now.
    pub(super) fn next_outgoing(
        &self,
        now: Timestamp,
        settings: &SenderSettings,
    ) -> Option<Outgoing> {
        if self.persist.is_due() {
            return Some(self.probe(settings));
        }
        if let Some((start, end)) = self.outstanding.next_lost() {
            return self.lost_piece(start, end);
        }
        self.new_piece(now, settings)
    }

    /// A lost segment, as far as the windows let it.
    fn lost_piece(&self, start: u64, end: u64) -> Option<Outgoing> {
        let bytes = end - start;
        let room = self.congestion.bytes().saturating_sub(self.pipe());
        // The first retransmission of a recovery leaves whatever the pipe holds
        // (RFC 6675 section 5, step 4.3).
        let first = start == self.unacknowledged;
        if bytes > room && !first {
            return None;
        }
        // A window that was taken back: the rest waits for it, or for a probe.
        let end = end.min(self.edge);
        if end <= start {
            return None;
        }
        let fin = matches!(self.fin, Fin::Sent(position) if end > position);
        Some(Outgoing::Again { from: start, to: end - u64::from(fin), fin })
    }

    /// The bytes that count as under way.
    fn pipe(&self) -> u64 {
        let left = match self.repair {
            Repair::None { duplicates } | Repair::Fast { duplicates, .. }
                if self.outstanding.sacked() == 0 =>
            {
                duplicates * self.mss
            }
            _ => 0,
        };
        self.outstanding.pipe().saturating_sub(left)
    }

    /// Whether the FIN follows what is written.
    fn wants_fin(&self) -> bool {
        self.fin == Fin::NotSent && self.supply.is_done()
    }

    fn new_piece(&self, now: Timestamp, settings: &SenderSettings) -> Option<Outgoing> {
        let unsent = self.supply.written().saturating_sub(self.next);
        let fin_waits = self.wants_fin();
        if unsent == 0 && !fin_waits || self.has_fin() {
            return None;
        }
        let usable = self.edge.saturating_sub(self.next);
        let piece = unsent.min(usable).min(self.mss);
        let fin = fin_waits && piece == unsent && usable > piece;
        if piece == 0 && !fin {
            return None;
        }
        if !self.may_leave(piece, unsent, fin, settings) {
            return None;
        }
        let pipe = self.pipe();
        if pipe > 0 && pipe + piece > self.window_now(now, settings) {
            return None;
        }
        Some(Outgoing::New { from: self.next, to: self.next + piece, fin })
    }

    /// The congestion window, which a pause takes back to its first value.
    fn window_now(&self, now: Timestamp, settings: &SenderSettings) -> u64 {
        let idle = settings.restarts_after_idle
            && self.outstanding.is_empty()
            && now.since(self.last_sent) > self.timeout.current();
        if idle {
            let mut window = self.congestion;
            window.idle();
            window.bytes()
        } else {
            self.congestion.bytes()
        }
    }

    /// The rules against silly windows (RFC 9293 section 3.8.6.2.1), and
    /// Nagle's.
    fn may_leave(&self, piece: u64, unsent: u64, fin: bool, settings: &SenderSettings) -> bool {
        if piece == self.mss || fin {
            return true;
        }
        let nagle_holds = settings.nagle && !self.outstanding.is_empty();
        let worth_it = match settings.segmenting {
            Segmenting::WhatFits => true,
            Segmenting::Careful => piece == unsent || piece * 2 >= self.largest_window,
        };
        worth_it && !nagle_holds
    }

    fn probe(&self, settings: &SenderSettings) -> Outgoing {
        let unsent = self.supply.written().saturating_sub(self.next);
        let usable = self.edge.saturating_sub(self.next);
        if usable > 0 && unsent > 0 {
            // The window is too small for the rules, but it is not closed: the
            // override timer of section 3.8.6.2.1 lets go what fits.
            let to = self.next + unsent.min(usable).min(self.mss);
            return Outgoing::New { from: self.next, to, fin: false };
        }
        if let Some((start, _)) = self.outstanding.next_lost() {
            let fin = matches!(self.fin, Fin::Sent(position) if start == position);
            if settings.probe == Probe::OneByte {
                return Outgoing::Again { from: start, to: start + u64::from(!fin), fin };
            }
        }
        match settings.probe {
            Probe::Empty => Outgoing::Probe { at: self.unacknowledged - 1 },
            Probe::OneByte => Outgoing::ProbeByte { from: self.next, fin: unsent == 0 },
        }
    }

    /// `outgoing` leaves.
    pub(super) fn sent(
        &mut self,
        now: Timestamp,
        outgoing: Outgoing,
        counters: &mut SenderCounters,
    ) {
        if self.persist.is_due() {
            counters.probes += 1;
            self.persist.sent(now, self.timeout.base());
        }
        match outgoing {
            Outgoing::New { from, to, fin } => self.push(from, to, fin, now),
            Outgoing::Again { from, to, fin } => {
                counters.retransmissions += 1;
                self.outstanding.send_again(from, to + u64::from(fin), now);
                if from == self.unacknowledged || self.timer.is_none() {
                    self.timer = Some(now + self.timeout.current());
                }
                self.last_sent = now;
            }
            // Not counted as sent: it leaves again with the data behind it,
            // unless the peer takes it.
            Outgoing::ProbeByte { from, fin } => self.probed = Some((from, fin)),
            Outgoing::Probe { .. } => {}
        }
    }

    fn push(&mut self, from: u64, to: u64, fin: bool, now: Timestamp) {
        if self.outstanding.is_empty() && now.since(self.last_sent) > self.timeout.current() {
            self.congestion.idle();
        }
        if fin {
            self.fin = Fin::Sent(to);
        }
        let end = to + u64::from(fin);
        self.last_sent = now;
        self.probed = None;
        self.outstanding.push(from, end, now);
        self.next = self.next.max(end);
        if self.timer.is_none() {
            self.timer = Some(now + self.timeout.current());
        }
        if self.pipe() + self.mss > self.congestion.bytes() {
            self.was_limited = true;
        }
    }

    /// Takes an ACK. Whether it acknowledged something new.
    pub(super) fn handle(
        &mut self,
        now: Timestamp,
        ack: &Ack,
        numbering: Numbering,
        settings: &SenderSettings,
        counters: &mut SenderCounters,
    ) -> bool {
        if let Some((from, fin)) = self.probed
            && ack.position == from + 1
            && from == self.next
        {
            // The window had room for the probe after all.
            self.next = ack.position;
            self.probed = None;
            if fin {
                self.fin = Fin::Sent(from);
            }
        }
        if ack.position > self.next {
            return false;
        }
        let old_edge = self.edge;
        self.move_window(ack);
        let mut news = false;
        for block in ack.sack.as_slice() {
            let left = numbering.position(block.left, self.unacknowledged);
            let right = numbering.position(block.right, self.unacknowledged);
            news |= self.outstanding.sack(left, right);
        }
        let advances = ack.position > self.unacknowledged;
        if advances {
            self.advance(now, ack.position);
        } else if settings.fast_retransmit
            && ack.position == self.unacknowledged
            && ack.bare
            && !self.outstanding.is_empty()
            && (news || ack.sack.is_empty() && self.edge == old_edge)
        {
            self.duplicate();
        }
        if settings.fast_retransmit {
            self.consider_loss(ack, advances, counters);
        }
        self.persist.answered();
        self.watch_window(now, settings);
        advances
    }

    /// RFC 9293 section 3.10.7.4: the window moves by segments that are no older
    /// than the last that moved it.
    fn move_window(&mut self, ack: &Ack) {
        if ack.position < self.unacknowledged || (ack.sequence, ack.position) < self.window_from {
            return;
        }
        self.window_from = (ack.sequence, ack.position);
        self.edge = ack.position + ack.window;
        self.largest_window = self.largest_window.max(ack.window);
    }

    fn advance(&mut self, now: Timestamp, position: u64) {
        let limited = std::mem::take(&mut self.was_limited);
        let done = self.outstanding.acknowledge(position);
        self.unacknowledged = position;
        self.supply.acknowledged(position);
        self.retries = 0;
        self.timeout.progressed();
        if let Some(sent) = done.sent {
            self.timeout.measured(now.since(sent));
        }
        let round_trip = self.timeout.round_trip().unwrap_or(Span::ZERO);
        match &mut self.repair {
            Repair::None { duplicates } => {
                *duplicates = 0;
                if limited {
                    self.congestion.acknowledged(now, done.bytes, round_trip);
                }
            }
            Repair::Fast { until, duplicates } => {
                if position >= *until {
                    self.repair = Repair::None { duplicates: 0 };
                } else {
                    // A partial ACK (RFC 6582 section 3.2, step 5): as many
                    // duplicates have been spent as segments were acknowledged,
                    // and the next segment is lost as well.
                    *duplicates = duplicates.saturating_sub(done.bytes / self.mss.max(1));
                    if self.outstanding.sacked() == 0 {
                        self.outstanding.lose_first();
                    }
                }
            }
            Repair::Timer { until } => {
                if position >= *until {
                    self.repair = Repair::None { duplicates: 0 };
                }
                self.congestion.acknowledged(now, done.bytes, round_trip);
            }
        }
        // Section 5.3 of RFC 6298: it starts again with each such ACK.
        self.timer = (!self.outstanding.is_empty()).then(|| now + self.timeout.current());
    }

    fn duplicate(&mut self) {
        match &mut self.repair {
            Repair::None { duplicates } | Repair::Fast { duplicates, .. } => *duplicates += 1,
            Repair::Timer { .. } => {}
        }
    }

    /// Finds what is lost, and begins a recovery (RFC 6675 section 5).
    fn consider_loss(&mut self, ack: &Ack, advances: bool, counters: &mut SenderCounters) {
        if self.outstanding.sacked() > 0 && !matches!(self.repair, Repair::Timer { .. }) {
            self.outstanding.judge(self.mss);
        }
        match self.repair {
            Repair::None { duplicates } => {
                let lost = self.outstanding.is_first_lost();
                if self.outstanding.is_empty() || !(duplicates >= DUPLICATES || lost) {
                    return;
                }
                counters.fast_retransmits += 1;
                self.congestion.lost(self.outstanding.flight());
                self.outstanding.lose_first();
                let duplicates = if ack.sack.is_empty() { duplicates } else { 0 };
                self.repair = Repair::Fast { until: self.next, duplicates };
            }
            Repair::Fast { .. } => {
                // The third rule of NextSeg: nothing is known to be lost and
                // nothing new may leave, but something has passed the first.
                if advances && self.outstanding.lost() == 0 && self.outstanding.is_first_passed() {
                    self.outstanding.lose_first();
                }
            }
            Repair::Timer { .. } => {}
        }
    }

    /// Arms or stops the persist timer: it runs while something waits for the
    /// window and nothing is under way whose ACK could open it.
    fn watch_window(&mut self, now: Timestamp, settings: &SenderSettings) {
        let lost = self.outstanding.next_lost().is_some_and(|(start, _)| start >= self.edge);
        let waits = self.supply.written() > self.next || self.wants_fin();
        let stuck = if self.outstanding.is_empty() {
            waits && self.new_piece(now, settings).is_none()
        } else {
            lost && self.outstanding.pipe() == 0
        };
        if stuck {
            // The window was taken back below what was sent: probes take over
            // from the retransmission timer.
            self.timer = None;
            self.persist.arm(now, self.timeout.base());
        } else {
            self.persist = Persist::Off;
        }
    }

    /// Whether the next timeout is one too many.
    pub(super) const fn gives_up(&self, settings: &SenderSettings) -> bool {
        self.retries >= settings.retries || self.persist.unanswered() > settings.retries
    }

    /// A timer ran out. Whether it was the retransmission timer of data.
    pub(super) fn time_out(
        &mut self,
        now: Timestamp,
        settings: &SenderSettings,
        counters: &mut SenderCounters,
    ) -> bool {
        if self.persist.timer().is_some_and(|timer| timer <= now) {
            self.persist.run_out();
            return false;
        }
        if self.timer.is_none_or(|timer| timer > now) {
            return false;
        }
        self.retries += 1;
        self.timeout.back_off();
        if self.unacknowledged == START {
            // The SYN leaves again, and sets the timer.
            self.timer = None;
            counters.retransmissions += 1;
            return false;
        }
        counters.timeouts += 1;
        let first = !matches!(self.repair, Repair::Timer { .. });
        self.congestion.timed_out(self.outstanding.flight(), first);
        self.outstanding.lose_all();
        self.repair = Repair::Timer { until: self.next };
        self.timer = Some(now + self.timeout.current());
        self.watch_window(now, settings);
        true
    }

    /// The repair under way, as a thing that holds the sender.
    pub(super) const fn repairing(&self) -> Option<Held> {
        match self.repair {
            Repair::None { .. } => None,
            Repair::Fast { .. } => Some(Held::FastRecovery),
            Repair::Timer { .. } => Some(Held::Timeout),
        }
    }

    /// What holds the sender, given that nothing may leave.
    pub(super) fn held(&self, settings: &SenderSettings) -> Held {
        if let Some(repair) = self.repairing() {
            return repair;
        }
        let unsent = self.supply.written().saturating_sub(self.next);
        if unsent == 0 {
            return if self.supply.is_done() {
                Held::Closing
            } else if self.supply.wants_room() {
                Held::SendBuffer
            } else {
                Held::Application
            };
        }
        let usable = self.edge.saturating_sub(self.next);
        let piece = unsent.min(usable).min(self.mss);
        let room = self.congestion.bytes().saturating_sub(self.pipe());
        if usable < unsent.min(self.mss) && usable <= room {
            // Closed, when the peer said so, and not merely full.
            return if self.edge == self.window_from.1 {
                Held::ZeroWindow
            } else {
                Held::ReceiveWindow
            };
        }
        if piece > room {
            return Held::CongestionWindow;
        }
        if settings.nagle && !self.outstanding.is_empty() {
            Held::Nagle
        } else {
            Held::ReceiveWindow
        }
    }
}
