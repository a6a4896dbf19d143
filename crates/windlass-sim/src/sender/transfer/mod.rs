//! The sending half of a connection.

mod acks;
mod departures;

pub(super) use acks::Ack;
pub(super) use departures::OutgoingSegment;
use windlass_base::{Bytes, Timestamp};

use super::congestion::CongestionWindow;
use super::outstanding::Scoreboard;
use super::persist::PersistTimer;
use super::reduction::Reduction;
use super::settings::SenderSettings;
use super::supply::Supply;
use super::timeout::Timeout;
use super::truth::HoldCause;
use crate::numbering::START;
use crate::segment::Segment;

/// Repair of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repair {
    /// No repair; this number of duplicate ACKs came in a row.
    None { duplicates: u64 },
    /// Fast retransmit, until `until` is acknowledged. Without SACK each duplicate ACK stands for a
    /// segment that has left the path.
    Fast { until: u64, duplicates: u64, reduction: Reduction },
    /// Retransmission by the timer, until `until` is acknowledged.
    Timer { until: u64 },
}

#[derive(Clone, Debug)]
pub(super) struct Transfer {
    pub(super) supply: Supply,
    /// True if the program found the send buffer full and was not woken yet.
    sleeps: bool,
    outstanding: Scoreboard,
    congestion: CongestionWindow,
    timeout: Timeout,
    persist: PersistTimer,
    repair: Repair,
    /// The effective MSS: the payload of a full segment.
    mss: u64,
    /// SND.UNA.
    pub(super) unacknowledged: u64,
    /// SND.NXT.
    pub(super) next: u64,
    /// SND.UNA + SND.WND.
    edge: u64,
    /// SND.WL1 and SND.WL2: the segment of the last window update.
    window_from: (u64, u64),
    /// The largest window that the peer ever offered.
    largest_window: u64,
    /// Position of the FIN, once it was sent.
    fin: Option<u64>,
    /// The byte beyond `next`, or the FIN, that a probe carried.
    probed: Option<(u64, bool)>,
    timer: Option<Timestamp>,
    /// Expirations of the timer in a row.
    retries: u32,
    /// Time at which data last left.
    last_sent: Timestamp,
    /// True if the congestion window held data back since the last ACK.
    was_limited: bool,
    restarts_after_idle: bool,
    /// A reset that waits to leave.
    pub(super) reset: Option<Segment>,
}

impl Transfer {
    pub(super) fn new(settings: &SenderSettings) -> Self {
        let mss = u64::from(settings.mss);
        Self {
            supply: Supply::new(settings, START + 1),
            sleeps: false,
            outstanding: Scoreboard::default(),
            congestion: CongestionWindow::new(settings.congestion, settings.initial_window, mss),
            timeout: Timeout::new(settings.least_timeout),
            persist: PersistTimer::Off,
            repair: Repair::None { duplicates: 0 },
            mss,
            unacknowledged: START,
            next: START + 1,
            edge: START + 1,
            window_from: (0, 0),
            largest_window: 0,
            fin: None,
            probed: None,
            timer: None,
            retries: 0,
            last_sent: Timestamp::from_nanos(i64::MIN),
            was_limited: false,
            restarts_after_idle: settings.restarts_after_idle,
            reset: None,
        }
    }

    /// Returns the bytes of the stream that are acknowledged.
    pub(super) fn delivered(&self) -> Bytes {
        let fin = u64::from(self.is_fin_acknowledged());
        Bytes::new(self.unacknowledged.saturating_sub(START + 1 + fin))
    }

    /// Returns whether all data of the program is acknowledged.
    pub(super) fn is_acknowledged(&self) -> bool {
        self.supply.is_done() && self.unacknowledged >= self.supply.written
    }

    pub(super) const fn has_fin(&self) -> bool {
        self.fin.is_some()
    }

    pub(super) fn is_fin_acknowledged(&self) -> bool {
        self.fin.is_some_and(|position| self.unacknowledged > position)
    }

    /// Returns whether the SYN leaves now, and sets its timer.
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

    /// Records that the handshake is done.
    pub(super) fn opened(&mut self, now: Timestamp, mss: u64, window: u64) {
        if self.retries == 0 {
            self.timeout.measured(now.since(self.last_sent));
        }
        self.retries = 0;
        self.timeout.opened();
        self.timer = None;
        self.mss = mss;
        self.congestion.mss = mss;
        self.unacknowledged = START + 1;
        self.edge = START + 1 + window;
        self.largest_window = window;
        self.last_sent = now;
        self.supply.begin(now);
    }

    /// Stops the timers: nothing more leaves.
    pub(super) fn stop(&mut self) {
        self.timer = None;
        self.persist = PersistTimer::Off;
    }

    /// Lets the program write.
    pub(super) fn write(&mut self, now: Timestamp, settings: &SenderSettings) {
        if self.unacknowledged == START {
            return;
        }
        let held = self.supply.written - self.unacknowledged.min(self.supply.written);
        if let Some(most) = settings.send_buffer.map(Bytes::get) {
            let room = most.saturating_sub(held);
            if !self.sleeps || room as f64 >= most as f64 * settings.wakes_at {
                self.supply.write(now, room);
                self.sleeps = self.supply.wants_room();
            }
        } else {
            self.supply.write(now, u64::MAX);
        }
        self.watch_window(now, settings);
    }

    /// Returns the time at which the first timer expires.
    pub(super) fn timer(&self) -> Option<Timestamp> {
        [self.timer, self.persist.timer()].into_iter().flatten().min()
    }

    /// Returns the repair under way as a cause that holds the sender.
    pub(super) const fn repairing(&self) -> Option<HoldCause> {
        match self.repair {
            Repair::None { .. } => None,
            Repair::Fast { .. } => Some(HoldCause::FastRecovery),
            Repair::Timer { .. } => Some(HoldCause::Timeout),
        }
    }

    /// Returns the cause that holds the sender, given that nothing may leave.
    pub(super) fn held(&self, settings: &SenderSettings) -> HoldCause {
        if let Some(repair) = self.repairing() {
            return repair;
        }
        let unsent = self.supply.written.saturating_sub(self.next);
        if unsent == 0 {
            return if self.supply.is_done() {
                HoldCause::Closing
            } else if self.supply.wants_room() {
                HoldCause::SendBuffer
            } else {
                HoldCause::Application
            };
        }
        let usable = self.edge.saturating_sub(self.next);
        let piece = unsent.min(usable).min(self.mss);
        let room = self.window().saturating_sub(self.pipe());
        if usable < unsent.min(self.mss) && usable <= room {
            // The peer announced a closed window; otherwise the window is merely full.
            return if self.edge == self.window_from.1 {
                HoldCause::ZeroWindow
            } else {
                HoldCause::ReceiveWindow
            };
        }
        if piece > room {
            return HoldCause::CongestionWindow;
        }
        if self.supply.wants_room() {
            // The piece is small because the buffer is full: with room, the program would fill the
            // segment.
            return HoldCause::SendBuffer;
        }
        if settings.nagle && !self.outstanding.is_empty() {
            HoldCause::Nagle
        } else {
            HoldCause::ReceiveWindow
        }
    }
}
