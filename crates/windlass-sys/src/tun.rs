//! A TUN interface: what the kernel sends through it is read here as IP
//! packets, and what is written here arrives from it.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::OFlags;
use rustix::io::{Errno, retry_on_intr};

use crate::namespace::{Namespace, NamespaceStep, Refused, ask, named};

/// A TUN interface that goes away with this value. Reading and writing never
/// wait.
#[derive(Debug)]
pub struct Tun {
    file: File,
}

impl Tun {
    /// Makes an interface of this name in the namespace. It has no address yet,
    /// and is down.
    ///
    /// # Errors
    /// Where `/dev/net/tun` is not there or not open to this user, and where
    /// the name is taken or not allowed.
    pub fn open_in(namespace: &Namespace, name: &str) -> Result<Self, Refused> {
        let flags = OFlags::RDWR | OFlags::NONBLOCK;
        Self::make(namespace.file(c"/dev/net/tun", flags, NamespaceStep::OpenTun)?, name)
    }

    fn make(file: File, name: &str) -> Result<Self, Refused> {
        let mut request = named(name).map_err(Refused::at(NamespaceStep::MakeTun))?;
        // Packets as they are, without a header of the driver.
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
        // TUNSETIFF reads and writes an ifreq, too. musl has it as an int.
        let made = ask(&file, libc::TUNSETIFF as _, &mut request);
        made.map(|()| Self { file }).map_err(Refused::at(NamespaceStep::MakeTun))
    }

    /// Reads the next packet that the kernel sent; nothing where there is none.
    /// What does not fit is cut off.
    ///
    /// # Errors
    /// Where the interface is gone.
    #[inline]
    pub fn read(&self, packet: &mut [u8]) -> io::Result<Option<usize>> {
        match retry_on_intr(|| rustix::io::read(&self.file, &mut *packet)) {
            Err(Errno::WOULDBLOCK) => Ok(None),
            read => Ok(Some(read?)),
        }
    }

    /// Lets a packet arrive.
    ///
    /// # Errors
    /// Where the kernel does not take it: the interface is down, or this is no
    /// IP packet.
    #[inline]
    pub fn write(&self, packet: &[u8]) -> io::Result<()> {
        (&self.file).write(packet).map(drop)
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
