//! An end of the link: what it sends, with the time at which it did, and what arrives at it.

use std::io;
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
        Self { tun, sent, earliest, came, joined: None, arriving: Vec::new() }
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
        let now = clock.now();
        // What the host's clock says at the time 0 of this one. It is asked anew each time:
        // the host's may be set meanwhile.
        let epoch = clock::now().since(now);
        for _ in 0..most {
            let Some(packet) = self.sent.next() else {
                self.earliest = self.earliest.max(now);
                return if now.since(self.came) >= SILENCE { self.throw_away() } else { Ok(()) };
            };
            let sent = (packet.time - epoch).min(now).max(self.earliest);
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
