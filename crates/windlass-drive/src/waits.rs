//! Times of a connection that are derived from consecutive samples of its kernel.

use std::time::Duration;

use windlass_base::Span;
use windlass_sys::tcp_info::TcpInfo;

/// Divisor of the congestion window. In slow start, a window is in use if this part of it was in
/// flight (`tcp_is_cwnd_limited` of Linux), because it doubles each round trip.
const IN_USE: u32 = 2;

/// Shortest time from the closing of a window to its first probe (`tcp_probe0_base` of Linux).
const FIRST_PROBE: Duration = Duration::from_millis(200);

/// Number of round trips until the answer to a probe has arrived.
const ANSWERED: u32 = 2;

/// Returns the time from the last probe of a closed window to the next (`tcp_probe0_when`): it
/// doubles with each probe.
fn probe_interval(info: &TcpInfo) -> Duration {
    info.rto.max(FIRST_PROBE).saturating_mul(1 << info.backoff.min(16))
}

/// Times of a connection for which its kernel has no clock.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Waits {
    /// Time with an expired retransmission timer, from the last ACK before it to the end of the
    /// repair.
    pub(crate) timeout: Duration,
    /// Segments retransmitted in that time.
    pub(crate) timeout_retransmissions: u64,
    /// Longest time without an ACK while data was in flight.
    pub(crate) longest_silence: Duration,
    /// Time in slow start before any threshold, with the congestion window in use.
    pub(crate) slow_start: Duration,
    /// Time in which segments were retransmitted, in seconds, and the RTT weighted with it.
    /// Weighted by their number, one start that met a full queue would outweigh everything after
    /// it.
    lost: f64,
    lost_rtt: f64,
    /// Openings of a closed window, and those of them without a probe of the sender.
    pub(crate) openings: u64,
    pub(crate) unprompted_openings: u64,
}

/// State at a sample.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WaitState {
    /// Time without an ACK, and the part of it that was charged to no timer.
    silent: Duration,
    uncharged: Duration,
    /// Time since the window closed or was last probed, while it is closed.
    closed: Option<ClosedWindow>,
}

/// A closed window. Samples date its events only to the time between two of them.
#[derive(Clone, Copy, Debug)]
struct ClosedWindow {
    /// Upper limit of the time since it closed, or since its last probe.
    at_most: Duration,
    /// Uncertainty of that limit.
    error: Duration,
}

impl Waits {
    /// Charges the time between two samples.
    pub(crate) fn add(
        &mut self,
        waiting: &mut WaitState,
        time: Duration,
        before: &TcpInfo,
        now: &TcpInfo,
    ) {
        let is_silent = now.unacknowledged > 0 && now.acknowledged == before.acknowledged;
        let again = now.retransmissions.saturating_sub(before.retransmissions);
        if is_silent {
            waiting.silent += time;
            waiting.uncharged += time;
            self.longest_silence = self.longest_silence.max(waiting.silent);
        }
        if now.is_after_timeout {
            // The timer has run since the last ACK.
            self.timeout += if is_silent { waiting.uncharged } else { waiting.uncharged + time };
            self.timeout_retransmissions += u64::from(again);
            waiting.uncharged = Duration::ZERO;
        } else if now.slow_start_threshold.is_none()
            && now.congestion_window < now.unacknowledged.saturating_mul(IN_USE)
        {
            self.slow_start += time;
        }
        if !is_silent {
            (waiting.silent, waiting.uncharged) = (Duration::ZERO, Duration::ZERO);
        }
        self.add_window(waiting, time, before, now);
        // The queue at a loss may have drained a moment later.
        if let (Some(rtt), 1.., false) = (before.rtt.max(now.rtt), again, now.is_after_timeout) {
            self.lost += time.as_secs_f64();
            self.lost_rtt += rtt.as_secs_f64() * time.as_secs_f64();
        }
    }

    /// Follows a closed window. Data sent and acknowledged between two samples shows that it
    /// opened. If no probe was due until then, the receiver announced it.
    fn add_window(
        &mut self,
        waiting: &mut WaitState,
        time: Duration,
        before: &TcpInfo,
        now: &TcpInfo,
    ) {
        let has_moved = now.acknowledged > before.acknowledged;
        let sent_after = has_moved && before.unacknowledged == 0;
        if let (Some(closed), true) = (waiting.closed, sent_after) {
            let due = probe_interval(before);
            // The answer to the last probe may open the window, until a sample after that answer
            // found it closed. Samples that are far apart show nothing.
            let since = closed.at_most.saturating_sub(closed.error);
            let is_answered = before.backoff == 0
                || since > before.rtt.unwrap_or_default().saturating_mul(ANSWERED);
            if is_answered && closed.error + time < due {
                self.openings += 1;
                self.unprompted_openings += u64::from(closed.at_most + time < due);
            }
        }
        let is_closed = now.peer_window == Some(0);
        waiting.closed = is_closed.then(|| match waiting.closed {
            Some(closed) if !has_moved && now.backoff <= before.backoff => {
                ClosedWindow { at_most: closed.at_most + time, ..closed }
            }
            _ => ClosedWindow { at_most: time, error: time },
        });
    }

    /// Returns the mean RTT during retransmissions, those of a timer excluded; nothing if there
    /// were none.
    pub(crate) fn loss_rtt(&self) -> Option<Span> {
        (self.lost > 0.0).then(|| Span::from_seconds(self.lost_rtt / self.lost))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_millis(50);

    /// Returns a sample with data in flight.
    fn at(acknowledged: u64, retransmissions: u32, is_after_timeout: bool) -> TcpInfo {
        TcpInfo {
            acknowledged,
            retransmissions,
            is_after_timeout,
            unacknowledged: 10,
            congestion_window: 10,
            slow_start_threshold: Some(20),
            rtt: Some(Duration::from_millis(20)),
            ..TcpInfo::default()
        }
    }

    fn over(samples: &[TcpInfo]) -> Waits {
        let (mut waits, mut waiting) = (Waits::default(), WaitState::default());
        for pair in samples.windows(2) {
            waits.add(&mut waiting, STEP, &pair[0], &pair[1]);
        }
        waits
    }

    #[test]
    fn a_timers_time_begins_with_the_silence_before_it() {
        let waits = over(&[
            at(0, 0, false),
            at(1_000, 0, false),
            // Nothing comes any more; the timer runs out at the third.
            at(1_000, 0, false),
            at(1_000, 0, false),
            at(1_000, 1, true),
            at(1_000, 1, true),
            // It comes again, and the repair takes a moment.
            at(2_000, 9, true),
            at(3_000, 9, false),
        ]);
        assert_eq!(waits.timeout, 5 * STEP);
        assert_eq!(waits.longest_silence, 4 * STEP);
        assert_eq!(waits.timeout_retransmissions, 9);
        assert_eq!(waits.loss_rtt(), None);
    }

    #[test]
    fn a_silence_without_a_timer_is_none_of_its() {
        let waits = over(&[at(0, 0, false), at(0, 0, false), at(0, 0, false), at(1_000, 0, false)]);
        assert_eq!((waits.timeout, waits.longest_silence), (Duration::ZERO, 2 * STEP));
        // Time with nothing to be acknowledged does not count either.
        let idle = TcpInfo { unacknowledged: 0, ..at(0, 0, false) };
        assert_eq!(over(&[idle, idle, idle]).longest_silence, Duration::ZERO);
    }

    /// Counts openings, and unprompted ones, in samples of `(window, acknowledged, backoff)`.
    fn openings(windows: &[(u32, u64, u8)]) -> (u64, u64) {
        let samples: Vec<TcpInfo> = windows
            .iter()
            .map(|(window, acknowledged, backoff)| TcpInfo {
                peer_window: Some(*window),
                unacknowledged: 0,
                backoff: *backoff,
                rto: Duration::from_millis(204),
                ..at(*acknowledged, 0, false)
            })
            .collect();
        let waits = over(&samples);
        (waits.openings, waits.unprompted_openings)
    }

    #[test]
    fn a_window_that_opens_between_probes_was_announced() {
        // Closed from the second sample on; the third has data again.
        assert_eq!(openings(&[(500, 0, 0), (0, 500, 0), (0, 900, 0)]), (1, 1));
        // After 350 ms, with the first probe gone and the second due after another 408 ms.
        let late = [(9, 0, 0), (0, 9, 0), (0, 9, 0), (0, 9, 0), (0, 9, 0), (0, 9, 0), (0, 9, 1)];
        assert_eq!(openings(&[&late[..], &[(0, 9, 1), (0, 40, 0)]].concat()), (1, 1));
    }

    #[test]
    fn a_window_that_opens_as_a_probe_is_due_may_have_waited_for_it() {
        let closed = [(9, 0, 0), (0, 9, 0), (0, 9, 0), (0, 9, 0), (0, 9, 0), (0, 40, 0)];
        assert_eq!(openings(&closed), (1, 0));
        // The first probe was sent just before, and its answer may open it.
        let probed = [(9, 0, 0), (0, 9, 0), (0, 9, 0), (0, 9, 0), (0, 9, 0), (0, 9, 1), (0, 40, 0)];
        assert_eq!(openings(&probed), (0, 0));
        // Data that was in flight before does not show that the window opened.
        let before = [(9, 0, 0), (9, 9, 0), (0, 20, 0)];
        assert_eq!(openings(&before), (0, 0));
    }

    #[test]
    fn slow_start_is_one_by_a_window_in_use() {
        let fresh = TcpInfo { slow_start_threshold: None, ..at(0, 0, false) };
        let steps = |change: fn(TcpInfo) -> TcpInfo| {
            let one = change(fresh);
            over(&[one, TcpInfo { acknowledged: 1_000, ..one }]).slow_start
        };
        assert_eq!(steps(|info| info), STEP);
        // A pace that was asked for keeps most of it free.
        assert_eq!(steps(|info| TcpInfo { congestion_window: 30, ..info }), Duration::ZERO);
        assert_eq!(steps(|info| TcpInfo { slow_start_threshold: Some(9), ..info }), Duration::ZERO);
    }

    #[test]
    fn the_round_trip_at_a_loss_is_that_before_it_or_at_it() {
        let late = |millis, again, acknowledged| TcpInfo {
            rtt: Some(Duration::from_millis(millis)),
            ..at(acknowledged, again, false)
        };
        let waits = over(&[late(20, 0, 0), late(40, 0, 1), late(24, 3, 2), late(20, 4, 3)]);
        // A step at 40 ms, and one at 24 ms.
        assert_eq!(waits.loss_rtt(), Some(Span::from_millis(32)));
    }
}
