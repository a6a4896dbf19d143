//! Frames at a rate.

use std::io;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::{Frame, Generator};
use crate::wait::{Wait, wake_on_time};

/// Fractions of a second: the longest burst of packets, and the wait for the next one.
const BURSTS: u64 = 1_000;
const TURNS: u64 = 2_000;

/// Wait for room in the interface.
const ROOM: Duration = Duration::from_micros(20);

/// Longest time for which an interface may take nothing.
const IDLE: Duration = Duration::from_secs(2);

/// Longest time between two checks of the stop flag.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A frame to send, its rate, and its end.
#[derive(Clone, Copy, Debug)]
pub struct Load<'a> {
    /// The frame.
    pub frame: Frame<'a>,
    /// Packets per second; `None` sends as fast as possible.
    pub rate: Option<NonZeroU64>,
    /// End of the load.
    pub until: LoadEnd,
}

/// The end of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadEnd {
    /// After this many packets.
    Packets(u64),
    /// After this time.
    Time(Duration),
    /// Only when stopped.
    Stopped,
}

/// Totals of a load.
#[derive(Debug)]
pub struct LoadTotals {
    /// Packets that the kernel took; no other was sent.
    pub packets: u64,
    /// Their bytes, from the Ethernet header on.
    pub bytes: u64,
    /// Time from the first packet to the last.
    pub elapsed: Duration,
    /// Delay of the latest packet behind its rate. Packets are sent half a millisecond's worth at
    /// once, so up to that is normal.
    pub behind: Duration,
    /// Error that ended the load early. A stop is no failure.
    pub failure: Option<io::Error>,
}

impl LoadTotals {
    /// Returns the packet rate reached: zero if no time passed.
    pub fn packets_per_second(&self) -> f64 {
        let seconds = self.elapsed.as_secs_f64();
        if seconds > 0.0 { self.packets as f64 / seconds } else { 0.0 }
    }
}

/// Sends a load until it ends, or `stop` is set. The call uses the calling thread, which is woken
/// on time from here on ([`wake_on_time`]).
///
/// The rate is kept by bursts of at most a millisecond's worth. A thread that was kept from running
/// catches up in such bursts, one after the other.
pub fn run(generator: &mut Generator, load: &Load<'_>, stop: &AtomicBool) -> LoadTotals {
    wake_on_time();
    let before = generator.sent();
    let began = Instant::now();
    let mut last = began;
    let mut behind = Duration::ZERO;
    let failure = loop {
        let packets = generator.sent() - before;
        let now = Instant::now();
        let elapsed = now - began;
        let left = match load.until {
            LoadEnd::Packets(all) => all.saturating_sub(packets),
            LoadEnd::Time(time) if elapsed >= time => 0,
            LoadEnd::Time(_) | LoadEnd::Stopped => u64::MAX,
        };
        if left == 0 || stop.load(Ordering::Relaxed) {
            break None;
        }
        let burst = match load.rate {
            None => left.min(BURSTS),
            Some(rate) => {
                let owed = owed(rate, elapsed).saturating_sub(packets).min(left);
                let turn = (rate.get() / TURNS).clamp(1, left);
                if owed < turn {
                    if let Err(error) = wait(began + due(rate, packets + turn - 1), load, began) {
                        break Some(error);
                    }
                    continue;
                }
                behind = behind.max(elapsed.saturating_sub(due(rate, packets)));
                owed.min((rate.get() / BURSTS).max(1))
            }
        };
        match generator.send(load.frame, burst) {
            Ok(0) if last.elapsed() >= IDLE => break Some(io::ErrorKind::TimedOut.into()),
            Ok(0) => std::thread::sleep(ROOM),
            Ok(_) => last = Instant::now(),
            Err(error) => break Some(error),
        }
    };
    let packets = generator.sent() - before;
    let bytes = packets.saturating_mul(load.frame.bytes.len() as u64);
    LoadTotals { packets, bytes, elapsed: last - began, behind, failure }
}

/// Returns how many packets should have been sent by now: the first one at once.
fn owed(rate: NonZeroU64, elapsed: Duration) -> u64 {
    let sent = u128::from(rate.get()).saturating_mul(elapsed.as_nanos()) / 1_000_000_000;
    u64::try_from(sent).unwrap_or(u64::MAX).saturating_add(1)
}

/// Returns the time at which the packet of this number should be sent.
fn due(rate: NonZeroU64, number: u64) -> Duration {
    let nanos = (u128::from(number) * 1_000_000_000).div_ceil(rate.get().into());
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// Waits for the next packets, or for the end.
fn wait(due: Instant, load: &Load<'_>, began: Instant) -> io::Result<()> {
    let end = match load.until {
        LoadEnd::Time(time) => began.checked_add(time).map_or(due, |end| end.min(due)),
        LoadEnd::Packets(_) | LoadEnd::Stopped => due,
    };
    let look = Instant::now() + POLL_INTERVAL;
    Wait::new(Duration::ZERO).until(Some(end.min(look)), &[]).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_owed_when_they_are_due() {
        for rate in [1, 3, 999, 1_000, 777_777, 10_000_000] {
            let rate = NonZeroU64::new(rate).unwrap();
            assert_eq!(due(rate, 0), Duration::ZERO, "the first is due at once");
            for number in [0, 1, 2, 1_000, 123_456_789] {
                assert_eq!(owed(rate, due(rate, number)), number + 1, "{rate}");
            }
            let second = Duration::from_secs(1);
            assert_eq!(owed(rate, second), rate.get() + 1);
            assert_eq!(due(rate, rate.get()), second);
        }
    }
}
