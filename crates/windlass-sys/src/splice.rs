//! Sending memory without a copy.
//!
//! The pages go into a pipe and from there into a socket (vmsplice(2),
//! splice(2)): packets hold the pages themselves. `MSG_ZEROCOPY` copies on the
//! loopback, and pages of a file take longer to find.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::{ptr, slice};

use rustix::pipe::{IoSliceRaw, SpliceFlags, fcntl_setpipe_size, splice, vmsplice};

use crate::memory::Memory;

/// Constant bytes in pages of their own, to which packets in transit refer. The kernel may send the
/// pages late or again, long after this is dropped; nothing else is ever written there.
#[derive(Debug)]
pub struct Pages(Memory);

impl Pages {
    /// Copies these bytes into pages.
    ///
    /// # Errors
    /// Fails without memory, or without bytes.
    pub fn holding(bytes: &[u8]) -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let how = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let memory = Memory::map(bytes.len(), access, how, -1)?;
        // SAFETY: so much was mapped just now, for us alone.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), memory.start.as_ptr(), bytes.len()) };
        Ok(Self(memory))
    }

    /// Returns their bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: it is mapped as long as this is, and not written any more.
        unsafe { slice::from_raw_parts(self.0.start.as_ptr(), self.0.length) }
    }

    /// Returns the number of their bytes.
    pub const fn length(&self) -> usize {
        self.0.length
    }
}

/// Moves pages into a socket, through a pipe.
#[derive(Debug)]
pub struct Splicer {
    from: OwnedFd,
    into: OwnedFd,
    /// Bytes in the pipe.
    queued: usize,
}

impl Splicer {
    /// Makes a pipe for this many bytes at a time, if the system allows it.
    ///
    /// # Errors
    /// Fails if there is no pipe.
    pub fn new(at_a_time: usize) -> io::Result<Self> {
        let (from, into) = io::pipe()?;
        // A user with too many pipes keeps a smaller one.
        let _ = fcntl_setpipe_size(&into, at_a_time);
        Ok(Self { from: from.into(), into: into.into(), queued: 0 })
    }

    /// Sends a part, and returns how many bytes were sent. Bytes left of an earlier part go first,
    /// so the next part must begin behind the bytes sent.
    ///
    /// # Errors
    /// As for a write to `to`.
    pub fn send(&mut self, pages: &Pages, part: Range<usize>, to: impl AsFd) -> io::Result<usize> {
        if self.queued == 0 {
            let Some(bytes) = pages.bytes().get(part).filter(|bytes| !bytes.is_empty()) else {
                return Ok(0);
            };
            let bytes = [IoSliceRaw::from_slice(bytes)];
            // SAFETY: the pipe's end is the one that takes bytes, so the kernel only
            // reads them, and nobody writes to them any more.
            self.queued = unsafe { vmsplice(&self.into, &bytes, SpliceFlags::empty()) }?;
        }
        let sent = splice(&self.from, None, to, None, self.queued, SpliceFlags::empty())?;
        self.queued -= sent;
        Ok(sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (near, listener.accept().unwrap().0)
    }

    #[test]
    fn parts_arrive_in_order_though_nobody_reads_for_a_while() {
        let bytes: Vec<u8> = (0..1_000_000_u32).map(|at| (at / 7) as u8).collect();
        let pages = Pages::holding(&bytes).unwrap();
        assert_eq!(pages.length(), bytes.len());
        let (near, mut far) = pair();
        near.set_write_timeout(Some(Duration::from_millis(20))).unwrap();
        let (paused, first_pause) = mpsc::channel();
        let reader = thread::spawn(move || {
            let _ = first_pause.recv();
            let mut all = Vec::new();
            far.read_to_end(&mut all).unwrap();
            all
        });
        let mut splicer = Splicer::new(256 << 10).unwrap();
        let mut pauses = 0;
        for _ in 0..8 {
            let mut sent = 0;
            while sent < bytes.len() {
                match splicer.send(&pages, sent..bytes.len(), &near) {
                    Ok(more) => sent += more,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        pauses += 1;
                        let _ = paused.send(());
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            assert_eq!(sent, bytes.len());
        }
        // The pages are dropped before everything is read.
        drop((pages, near, paused));
        assert!(pauses > 0, "8 MB do not fit the buffers");
        let all = reader.join().unwrap();
        assert_eq!(all.len(), 8 * bytes.len());
        assert!(all.chunks(bytes.len()).all(|chunk| chunk == bytes));
    }

    #[test]
    fn what_is_not_there_is_not_sent_and_who_is_gone_is_an_error() {
        let pages = Pages::holding(b"0123456789").unwrap();
        assert!(Pages::holding(b"").is_err());
        let (near, far) = pair();
        let mut splicer = Splicer::new(1).unwrap();
        assert_eq!(splicer.send(&pages, 8..10, &near).unwrap(), 2);
        assert_eq!(splicer.send(&pages, 8..11, &near).unwrap(), 0);
        assert_eq!(splicer.send(&pages, 10..10, &near).unwrap(), 0);
        drop(far);
        let gone = (0..100).find_map(|_| {
            thread::sleep(Duration::from_millis(5));
            splicer.send(&pages, 0..10, &near).err()
        });
        let kind = gone.expect("a reset").kind();
        assert!(
            [io::ErrorKind::BrokenPipe, io::ErrorKind::ConnectionReset].contains(&kind),
            "{kind}"
        );
    }
}
