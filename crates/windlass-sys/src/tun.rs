//! A TUN interface: what the kernel sends through it is read here as IP
//! packets, and what is written here arrives from it.

use std::fs::File;
use std::io::{self, IoSlice, Write};
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
        Self::make(namespace, name, 0)
    }

    /// Makes one whose packets have `header` before them, a flag of `TUNSETIFF`.
    fn make(namespace: &Namespace, name: &str, header: libc::c_int) -> Result<Self, Refused> {
        let flags = OFlags::RDWR | OFlags::NONBLOCK;
        let file = namespace.file(c"/dev/net/tun", flags, NamespaceStep::OpenTun)?;
        let mut request = named(name).map_err(Refused::at(NamespaceStep::MakeTun))?;
        let flags = libc::IFF_TUN | libc::IFF_NO_PI | header;
        request.ifr_ifru.ifru_flags = flags as libc::c_short;
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

/// A TUN interface that also takes several segments of TCP as one packet, as a network card
/// with receive offload hands them over. What is sent through it are single packets.
#[derive(Debug)]
pub struct OffloadTun(Tun);

/// How a packet is made of segments, after `struct virtio_net_hdr` of `linux/virtio_net.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segmented {
    /// Whether they are in IPv4, and not in IPv6.
    pub is_ipv4: bool,
    /// Where TCP's header begins. The place of its checksum has the sum of what is counted
    /// before it.
    pub tcp_at: u16,
    /// The bytes of the headers of IP and TCP.
    pub headers: u16,
    /// The bytes of data in each but the last.
    pub segment: u16,
}

/// The bytes of `struct virtio_net_hdr`.
const HEADER: usize = 10;
/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`: TCP's checksum is not computed.
const NEEDS_CHECKSUM: u8 = 1;
/// `VIRTIO_NET_HDR_GSO_TCPV4` and `VIRTIO_NET_HDR_GSO_TCPV6`.
const SEGMENTS: [u8; 2] = [1, 4];
/// Where TCP's checksum is in its header (RFC 9293 section 3.1).
const CHECKSUM_AT: u16 = 16;

impl Segmented {
    fn header(self) -> [u8; HEADER] {
        let mut header = [0; HEADER];
        header[0] = NEEDS_CHECKSUM;
        header[1] = SEGMENTS[usize::from(!self.is_ipv4)];
        // By the machine's order: that of the driver where nobody says another.
        let numbers = [self.headers, self.segment, self.tcp_at, CHECKSUM_AT];
        for (place, number) in header[2..].chunks_exact_mut(2).zip(numbers) {
            place.copy_from_slice(&number.to_ne_bytes());
        }
        header
    }
}

impl OffloadTun {
    /// Makes one, as [`Tun::open_in`] does.
    ///
    /// # Errors
    /// The same.
    pub fn open_in(namespace: &Namespace, name: &str) -> Result<Self, Refused> {
        Tun::make(namespace, name, libc::IFF_VNET_HDR).map(Self)
    }

    /// Throws the next packet away that the kernel sent; tells whether there was one.
    ///
    /// # Errors
    /// Where the interface is gone.
    pub fn discard(&self) -> io::Result<bool> {
        Ok(self.0.read(&mut [0; HEADER])?.is_some())
    }

    /// Lets a packet arrive.
    ///
    /// # Errors
    /// As [`Tun::write`] has them.
    #[inline]
    pub fn write(&self, packet: &[u8]) -> io::Result<()> {
        let pieces = [IoSlice::new(&[0; HEADER]), IoSlice::new(packet)];
        (&self.0.file).write_vectored(&pieces).map(drop)
    }

    /// Lets several segments of TCP arrive as one packet: these headers, and the data of each.
    ///
    /// # Errors
    /// The same.
    pub fn write_segments<'a>(
        &self,
        how: Segmented,
        headers: &'a [u8],
        data: impl Iterator<Item = &'a [u8]>,
    ) -> io::Result<()> {
        let header = how.header();
        let mut pieces = vec![IoSlice::new(&header), IoSlice::new(headers)];
        for bytes in data {
            pieces.push(IoSlice::new(bytes));
        }
        (&self.0.file).write_vectored(&pieces).map(drop)
    }
}

impl AsFd for OffloadTun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
