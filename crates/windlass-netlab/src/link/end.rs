//! An end of the link: its departing packets with their times, and its arriving packets.

use std::io;
use std::ops::RangeInclusive;
use std::os::fd::{AsFd, BorrowedFd};

use windlass_base::{Span, Timestamp};
use windlass_sys::capture::SentPackets;
use windlass_sys::clock;
use windlass_sys::tun::{OffloadTun, Segmentation};
use windlass_wire::build::CoalescedPackets;

use crate::real_time::Clock;

/// Time without packets after which the interface is checked for being full: some kernels stop
/// sending then.
const SILENCE: Span = Span::from_millis(2);
/// Packets discarded at a time.
const AT_ONCE: u32 = 64;

/// The interface of an end.
///
/// Departing packets are read from a ring with the kernel's time of each packet. A reader of the
/// interface itself would only know the time of its read. A packet that is fetched a millisecond
/// late would enter the link's queue a millisecond late. Together with the packets that arrived
/// since, it could overflow the queue.
#[derive(Debug)]
pub(super) struct End {
    tun: OffloadTun,
    sent: SentPackets,
    /// Host's time at the time 0 of the link's clock, when no packet waited last.
    epoch: Option<Span>,
    /// Earliest possible time of the next packet.
    earliest: Timestamp,
    /// Time of the last packet.
    came: Timestamp,
    /// The coalesced packet that is to arrive, and its parts.
    joined: Option<CoalescedPackets>,
    arriving: Vec<Vec<u8>>,
}

impl End {
    pub(super) const fn new(tun: OffloadTun, sent: SentPackets) -> Self {
        let (earliest, came) = (Timestamp::ZERO, Timestamp::ZERO);
        Self { tun, sent, epoch: None, earliest, came, joined: None, arriving: Vec::new() }
    }

    /// Takes at most `most` packets, each with the time of `clock` at which it was sent.
    ///
    /// # Errors
    /// Fails if the interface is gone.
    pub(super) fn take(
        &mut self,
        clock: &Clock,
        most: u32,
        mut each: impl FnMut(Timestamp, &[u8]),
    ) -> io::Result<()> {
        let (before, host, now) = (clock.now(), clock::now(), clock.now());
        // The host's clock is read each time, since it may be set meanwhile. Packets that waited
        // then have times of before.
        let epoch = epoch(self.epoch, host.since(now)..=host.since(before));
        let epochs = [epoch, self.epoch.unwrap_or(epoch)];
        for _ in 0..most {
            let Some(packet) = self.sent.next() else {
                (self.earliest, self.epoch) = (self.earliest.max(now), Some(epoch));
                return if now.since(self.came) >= SILENCE { self.throw_away() } else { Ok(()) };
            };
            let sent = sent_at(packet.time, epochs, (self.earliest, now));
            each(sent, packet.data);
            (self.earliest, self.came) = (sent, now);
        }
        Ok(())
    }

    /// Discards the packets in the interface, which were taken from the ring already. The kernel
    /// drops packets beyond its queue by itself, which is cheaper than reading them.
    fn throw_away(&mut self) -> io::Result<()> {
        for _ in 0..AT_ONCE {
            if !self.tun.discard()? {
                break;
            }
        }
        Ok(())
    }

    /// Delivers a packet. With `joins`, a packet that can be coalesced waits for the next one, or
    /// for [`Self::arrive`]. Calls `done` with each packet, and whether the kernel took it.
    pub(super) fn deliver(
        &mut self,
        packet: Vec<u8>,
        joins: bool,
        mut done: impl FnMut(Vec<u8>, bool),
    ) {
        if !self.joined.as_mut().is_some_and(|joined| joined.add(&packet)) {
            self.arrive(&mut done);
            self.joined = joins.then(|| CoalescedPackets::begin(&packet)).flatten();
        }
        self.arriving.push(packet);
        if self.joined.is_none() {
            self.arrive(done);
        }
    }

    /// Delivers the coalesced packet.
    pub(super) fn arrive(&mut self, mut done: impl FnMut(Vec<u8>, bool)) {
        let written = match (self.joined.take(), &self.arriving[..]) {
            (_, []) => return,
            (Some(mut joined), packets @ [_, _, ..]) => {
                let length = joined.head_length();
                let data = packets.iter().map(|packet| &packet[length..]);
                self.tun.write_segments(segmented(&joined), joined.head(), data)
            }
            (_, packets) => packets.iter().try_for_each(|packet| self.tun.write(packet)),
        };
        self.arriving.drain(..).for_each(|packet| done(packet, written.is_ok()));
    }

    /// Returns the number of packets that were not taken in time; `None` if the system does not
    /// tell.
    pub(super) fn missed(&mut self) -> Option<u64> {
        self.sent.dropped().ok()
    }
}

/// Returns the host's time at the time 0 of the link's clock. `last` is the result before, and
/// `range` the possible values: the two clocks are not read at the same instant. The result stays
/// the same if the range allows it. With one reading alone, an interruption between the two clocks
/// would date a packet before its departure.
fn epoch(last: Option<Span>, range: RangeInclusive<Span>) -> Span {
    let (least, most) = range.into_inner();
    last.unwrap_or(least).clamp(least, most)
}

/// Returns the departure of a packet with this time of the host's clock. Uses the first epoch that
/// puts it between `earliest` and `now`.
fn sent_at(
    time: Timestamp,
    epochs: [Span; 2],
    (earliest, now): (Timestamp, Timestamp),
) -> Timestamp {
    let times = epochs.map(|epoch| time - epoch);
    let fits = times.into_iter().find(|time| (earliest..=now).contains(time));
    fits.unwrap_or_else(|| times[0].min(now).max(earliest))
}

/// Becomes readable when a packet was sent.
impl AsFd for End {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.sent.as_fd()
    }
}

/// Returns the segmentation of such a packet, for the interface.
fn segmented(joined: &CoalescedPackets) -> Segmentation {
    // An IP packet has 65,535 bytes at most.
    Segmentation {
        is_ipv4: joined.is_ipv4(),
        tcp_at: joined.tcp_at() as u16,
        headers: joined.head_length() as u16,
        segment: joined.segment() as u16,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::ZERO + Span::from_millis(millis)
    }

    /// Returns the departure of a packet whose time is that many milliseconds after an epoch of an
    /// hour.
    fn sent(millis: i64, epoch_now: i64) -> Timestamp {
        let hour = Span::from_seconds(3_600.0);
        let epochs = [hour + Span::from_millis(epoch_now), hour];
        sent_at(at(millis) + hour, epochs, (at(100), at(900)))
    }

    #[test]
    fn a_packet_has_the_time_at_which_it_was_sent() {
        assert_eq!(sent(500, 0), at(500));
        // Neither before the packets that have arrived, nor in the future.
        assert_eq!((sent(20, 0), sent(950, 0)), (at(100), at(900)));
    }

    #[test]
    fn a_loop_that_is_held_up_while_it_reads_the_clocks_knows_the_time() {
        let (hour, held) = (Span::from_seconds(3_600.0), Span::from_millis(40));
        assert_eq!(epoch(Some(hour), hour - held..=hour), hour);
        assert_eq!(epoch(Some(hour), hour..=hour + held), hour);
        // Without an earlier reading, a packet is late rather than early.
        assert_eq!(epoch(None, hour - held..=hour), hour - held);
        // A clock that was set is believed.
        assert_eq!(epoch(Some(Span::ZERO), hour..=hour + held), hour);
        assert_eq!(epoch(Some(hour + hour), hour - held..=hour), hour);
    }

    #[test]
    fn what_waited_while_the_clock_was_set_has_its_time() {
        for set in [-60_000, -850, 850, 60_000] {
            assert_eq!(sent(500, set), at(500), "{set}");
            // A packet sent after that has the new time of the clock.
            assert_eq!(sent(600 + set, set), at(600), "{set}");
        }
    }
}
