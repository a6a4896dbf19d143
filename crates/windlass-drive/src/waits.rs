//! The time between samples of a connection's kernel.

use std::time::Duration;

use windlass_base::Span;
use windlass_sys::tcp_info::TcpInfo;

/// In slow start a window is in use where half of it was in flight (`tcp_is_cwnd_limited`
/// of Linux): it doubles with each round trip.
const IN_USE: u32 = 2;

/// The least time from a window that closes to the first probe of it (`tcp_probe0_base` of Linux).
const FIRST_PROBE: Duration = Duration::from_millis(200);

/// An answer to a probe is here after this many round trips.
const ANSWERED: u32 = 2;

/// Returns the time from the last probe of a closed window to the next (`tcp_probe0_when`): each
/// waits twice as long as the one before.
fn probe_interval(info: &TcpInfo) -> Duration {
    info.rto.max(FIRST_PROBE).saturating_mul(1 << info.backoff.min(16))
}

/// Time of a connection that its kernel has no clock for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Waits {
    /// With a timer that ran out, from the last acknowledgment before it to the end of the
    /// repair.
    pub(crate) timeout: Duration,
    /// Segments sent again in that time.
    pub(crate) timeout_retransmissions: u64,
    /// The longest time in which nothing was acknowledged, with something in flight.
    pub(crate) longest_silence: Duration,
    /// In slow start before any threshold, by a congestion window in use.
    pub(crate) slow_start: Duration,
    /// The time in which segments were sent again, in seconds, and its round trips. (By their
    /// number, one start that found a queue full would outweigh all that came after it.)
    lost: f64,
    lost_rtt: f64,
    /// Openings of a closed window, and those of them that no probe of the sender's brought.
    pub(crate) openings: u64,
    pub(crate) unprompted_openings: u64,
}

/// State at a sample.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waiting {
    /// For how long nothing has been acknowledged, and what of that is charged to no timer.
    silent: Duration,
    uncharged: Duration,
    /// The time since the window closed or was probed last, where it is closed.
    closed: Option<Closed>,
}

/// A closed window. Samples tell its moments within the time between two of them.
#[derive(Clone, Copy, Debug)]
struct Closed {
    /// The most time since it closed, or since the last probe of it.
    at_most: Duration,
    /// The part of that which may be too much.
    error: Duration,
}

impl Waits {
    /// Charges the time between two samples.
    pub(crate) fn add(
        &mut self,
        waiting: &mut Waiting,
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
            // The timer ran since the last acknowledgment.
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
        // What a queue held at a loss has left it a moment later.
        if let (Some(rtt), 1.., false) = (before.rtt.max(now.rtt), again, now.is_after_timeout) {
            self.lost += time.as_secs_f64();
            self.lost_rtt += rtt.as_secs_f64() * time.as_secs_f64();
        }
    }

    /// Follows a window that is closed. Data that was sent and acknowledged from one sample to the
    /// next tells of an opening. Where no probe was due until then, the receiver told it by itself.
    fn add_window(
        &mut self,
        waiting: &mut Waiting,
        time: Duration,
        before: &TcpInfo,
        now: &TcpInfo,
    ) {
        let has_moved = now.acknowledged > before.acknowledged;
        let sent_after = has_moved && before.unacknowledged == 0;
        if let (Some(closed), true) = (waiting.closed, sent_after) {
            let due = probe_interval(before);
            // The answer to the last probe may be what opens it, until a sample after that answer
            // found it closed. Nor do samples that are far apart tell.
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
                Closed { at_most: closed.at_most + time, ..closed }
            }
            _ => Closed { at_most: time, error: time },
        });
    }

    /// The mean round trip while segments were sent again, but for those of a timer; nothing
    /// where there were none.
    pub(crate) fn loss_rtt(&self) -> Option<Span> {
        (self.lost > 0.0).then(|| Span::from_seconds(self.lost_rtt / self.lost))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_millis(50);

    /// A sample with something in flight.
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
        let (mut waits, mut waiting) = (Waits::default(), Waiting::default());
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
        // Nor is that in which there was nothing to be acknowledged.
        let idle = TcpInfo { unacknowledged: 0, ..at(0, 0, false) };
        assert_eq!(over(&[idle, idle, idle]).longest_silence, Duration::ZERO);
    }

    /// Counts openings, and unprompted ones, of samples of `(window, acknowledged, backoff)`.
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
        // What was in flight before says nothing of the window.
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
