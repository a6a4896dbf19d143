//! An end of the link: what it sends, with the time at which it did, and what arrives at it.

use std::io;
use std::ops::RangeInclusive;
use std::os::fd::{AsFd, BorrowedFd};

use windlass_base::{Span, Timestamp};
use windlass_sys::capture::SentPackets;
use windlass_sys::clock;
use windlass_sys::tun::{OffloadTun, Segmented};
use windlass_wire::build::Joined;

use crate::real_time::Clock;

/// So long nothing may come before it is looked whether the interface is full: some kernels stop
/// sending then.
const SILENCE: Span = Span::from_millis(2);
/// So many packets are thrown away at a time.
const AT_ONCE: u32 = 64;

/// The interface of an end.
///
/// What is sent is taken from a ring that has the kernel's time of each packet. A reader of
/// the interface itself would only know when it came to look: a packet that is fetched a
/// millisecond late would enter the link's queue a millisecond late, together with all that
/// came meanwhile, and drop what a punctual queue has room for.
#[derive(Debug)]
pub(super) struct End {
    tun: OffloadTun,
    sent: SentPackets,
    /// What the host's clock said at the time 0 when nothing waited last.
    epoch: Option<Span>,
    /// No packet that is to come can have been sent before.
    earliest: Timestamp,
    /// When a packet last came.
    came: Timestamp,
    /// What is to arrive as one packet, and the packets that it is made of.
    joined: Option<Joined>,
    arriving: Vec<Vec<u8>>,
}

impl End {
    pub(super) const fn new(tun: OffloadTun, sent: SentPackets) -> Self {
        let (earliest, came) = (Timestamp::ZERO, Timestamp::ZERO);
        Self { tun, sent, epoch: None, earliest, came, joined: None, arriving: Vec::new() }
    }

    /// Takes so many packets at most, each with the time of `clock` at which it was sent.
    ///
    /// # Errors
    /// Where the interface is gone.
    pub(super) fn take(
        &mut self,
        clock: &Clock,
        most: u32,
        mut each: impl FnMut(Timestamp, &[u8]),
    ) -> io::Result<()> {
        let (before, host, now) = (clock.now(), clock::now(), clock.now());
        // It is asked anew each time: the host's clock may be set meanwhile. What waited then has
        // the time of before.
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

    /// Throws away what lies in the interface, where it was taken already. What it has no room
    /// for it drops by itself, which costs less than to read it.
    fn throw_away(&mut self) -> io::Result<()> {
        for _ in 0..AT_ONCE {
            if !self.tun.discard()? {
                break;
            }
        }
        Ok(())
    }

    /// Lets a packet arrive: at once, or with `joins`, where it begins or goes on with what can
    /// be one packet, when the next does not or by [`Self::arrive`]. `done` gets each packet
    /// back, and whether the kernel took it.
    pub(super) fn deliver(
        &mut self,
        packet: Vec<u8>,
        joins: bool,
        mut done: impl FnMut(Vec<u8>, bool),
    ) {
        if !self.joined.as_mut().is_some_and(|joined| joined.add(&packet)) {
            self.arrive(&mut done);
            self.joined = joins.then(|| Joined::begin(&packet)).flatten();
        }
        self.arriving.push(packet);
        if self.joined.is_none() {
            self.arrive(done);
        }
    }

    /// Lets arrive what waits for more.
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

    /// Packets that were not taken in time; nothing where the system does not tell.
    pub(super) fn missed(&mut self) -> Option<u64> {
        self.sent.dropped().ok()
    }
}

/// What the host's clock says at the time 0, where it said `last` before and was read just now: as
/// long as it took to read both clocks, so wide is the range in which that lies. It goes on as it
/// did where that may be. By one reading alone, a loop that is held up between both clocks would
/// have a packet sent before its time.
fn epoch(last: Option<Span>, range: RangeInclusive<Span>) -> Span {
    let (least, most) = range.into_inner();
    last.unwrap_or(least).clamp(least, most)
}

/// When a packet was sent that has this time of the host's clock: by the first of what that says at
/// the time 0 which lets it be between `earliest` and `now`.
fn sent_at(
    time: Timestamp,
    epochs: [Span; 2],
    (earliest, now): (Timestamp, Timestamp),
) -> Timestamp {
    let times = epochs.map(|epoch| time - epoch);
    let fits = times.into_iter().find(|time| (earliest..=now).contains(time));
    fits.unwrap_or_else(|| times[0].min(now).max(earliest))
}

/// It can be read from when a packet was sent.
impl AsFd for End {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.sent.as_fd()
    }
}

/// What an interface has to know of such a packet.
fn segmented(joined: &Joined) -> Segmented {
    // An IP packet has 65,535 bytes at most.
    Segmented {
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

    /// When a packet was sent whose time is that many milliseconds behind an epoch of an hour.
    fn sent(millis: i64, epoch_now: i64) -> Timestamp {
        let hour = Span::from_seconds(3_600.0);
        let epochs = [hour + Span::from_millis(epoch_now), hour];
        sent_at(at(millis) + hour, epochs, (at(100), at(900)))
    }

    #[test]
    fn a_packet_has_the_time_at_which_it_was_sent() {
        assert_eq!(sent(500, 0), at(500));
        // Neither before what is known to have come, nor in the future.
        assert_eq!((sent(20, 0), sent(950, 0)), (at(100), at(900)));
    }

    #[test]
    fn a_loop_that_is_held_up_while_it_reads_the_clocks_knows_the_time() {
        let (hour, held) = (Span::from_seconds(3_600.0), Span::from_millis(40));
        assert_eq!(epoch(Some(hour), hour - held..=hour), hour);
        assert_eq!(epoch(Some(hour), hour..=hour + held), hour);
        // Where nothing was read before, a packet is late rather than early.
        assert_eq!(epoch(None, hour - held..=hour), hour - held);
        // A clock that was set is believed.
        assert_eq!(epoch(Some(Span::ZERO), hour..=hour + held), hour);
        assert_eq!(epoch(Some(hour + hour), hour - held..=hour), hour);
    }

    #[test]
    fn what_waited_while_the_clock_was_set_has_its_time() {
        for set in [-60_000, -850, 850, 60_000] {
            assert_eq!(sent(500, set), at(500), "{set}");
            // What was sent behind that goes by what the clock says now.
            assert_eq!(sent(600 + set, set), at(600), "{set}");
        }
    }
}
