//! An end of the link: what it sends, with the time at which it did, and what arrives at it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use windlass_base::Timestamp;
use windlass_sys::capture::SentPackets;
use windlass_sys::clock;
use windlass_sys::tun::Tun;

use crate::real_time::Clock;

/// So many packets may lie in the interface until they are thrown away: they have been taken
/// where their times are known.
const LYING: u32 = 256;

/// The interface of an end.
///
/// What is sent is taken from a ring that has the kernel's time of each packet. A reader of
/// the interface itself would only know when it came to look: a packet that is fetched a
/// millisecond late would enter the link's queue a millisecond late, together with all that
/// came meanwhile, and drop what a punctual queue has room for.
#[derive(Debug)]
pub(super) struct End {
    tun: Tun,
    sent: SentPackets,
    /// No packet that is to come can have been sent before.
    earliest: Timestamp,
    /// Packets that lie in the interface at the most.
    lying: u32,
}

impl End {
    pub(super) const fn new(tun: Tun, sent: SentPackets) -> Self {
        Self { tun, sent, earliest: Timestamp::ZERO, lying: 0 }
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
                return self.throw_away();
            };
            let sent = (packet.time - epoch).min(now).max(self.earliest);
            each(sent, packet.data);
            self.earliest = sent;
            self.lying += 1;
        }
        Ok(())
    }

    /// Throws away what lies in the interface. It drops what it has no room for by itself,
    /// but some kernels stop sending then.
    fn throw_away(&mut self) -> io::Result<()> {
        if self.lying < LYING {
            return Ok(());
        }
        self.lying = 0;
        while self.tun.read(&mut [0])?.is_some() {}
        Ok(())
    }

    /// Lets a packet arrive; tells whether the kernel took it.
    pub(super) fn deliver(&self, packet: &[u8]) -> bool {
        self.tun.write(packet).is_ok()
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
