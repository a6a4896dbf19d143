//! Frames at a rate.

use std::io;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::{Frame, Generator};
use crate::wait::{Wait, wake_on_time};

/// Of a second, the part of which the packets are sent at once at most, and
/// that of which they are waited for.
const BURSTS: u64 = 1_000;
const TURNS: u64 = 2_000;

/// How long to wait where the interface has no room.
const ROOM: Duration = Duration::from_micros(20);

/// How long an interface may take nothing.
const IDLE: Duration = Duration::from_secs(2);

/// The longest that nobody looks whether to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// What to send, and how fast.
#[derive(Clone, Copy, Debug)]
pub struct Load<'a> {
    /// The frame.
    pub frame: Frame<'a>,
    /// Packets per second; `None` is as fast as it goes.
    pub rate: Option<NonZeroU64>,
    /// When it is enough.
    pub until: Until,
}

/// When a load ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// After so many packets.
    Packets(u64),
    /// After this time.
    Time(Duration),
    /// Not before it is told to.
    Stopped,
}

/// What was sent.
#[derive(Debug)]
pub struct Sent {
    /// The packets that the kernel took. No other was sent.
    pub packets: u64,
    /// Their bytes, from the header of Ethernet on.
    pub bytes: u64,
    /// From the first packet to the last.
    pub elapsed: Duration,
    /// How late the latest packet was by its rate. Packets are sent half a
    /// millisecond's worth at once, so up to that is as it should be.
    pub behind: Duration,
    /// Why it ended early. A stop is no failure.
    pub failure: Option<io::Error>,
}

impl Sent {
    /// The rate that was reached: zero where there was no time.
    pub fn packets_per_second(&self) -> f64 {
        let seconds = self.elapsed.as_secs_f64();
        if seconds > 0.0 { self.packets as f64 / seconds } else { 0.0 }
    }
}

/// Sends a load until it is over, or `stop` says so. It takes the calling
/// thread, which is woken on time from here on ([`wake_on_time`]).
///
/// The rate is kept by bursts of at most a millisecond's worth. What a thread
/// that was kept from running owes, it sends in such bursts, one after the
/// other.
pub fn run(generator: &mut Generator, load: &Load<'_>, stop: &AtomicBool) -> Sent {
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
            Until::Packets(all) => all.saturating_sub(packets),
            Until::Time(time) if elapsed >= time => 0,
            Until::Time(_) | Until::Stopped => u64::MAX,
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
    Sent { packets, bytes, elapsed: last - began, behind, failure }
}

/// How many packets should have been sent by now: the first at once.
fn owed(rate: NonZeroU64, elapsed: Duration) -> u64 {
    let sent = u128::from(rate.get()).saturating_mul(elapsed.as_nanos()) / 1_000_000_000;
    u64::try_from(sent).unwrap_or(u64::MAX).saturating_add(1)
}

/// When the packet of this number should be sent: then so many are owed, and
/// one more.
fn due(rate: NonZeroU64, number: u64) -> Duration {
    let nanos = (u128::from(number) * 1_000_000_000).div_ceil(rate.get().into());
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// Waits for the next packets, or the end.
fn wait(due: Instant, load: &Load<'_>, began: Instant) -> io::Result<()> {
    let end = match load.until {
        Until::Time(time) => began.checked_add(time).map_or(due, |end| end.min(due)),
        Until::Packets(_) | Until::Stopped => due,
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
