//! A TUN interface: packets that the kernel sends through it are read here as IP packets, and
//! packets written here arrive from it.

use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::OFlags;
use rustix::io::{Errno, retry_on_intr};

use crate::namespace::{Namespace, NamespaceStep, Refusal, ask, named};

/// A TUN interface that is removed with this value. Reading and writing never wait.
#[derive(Debug)]
pub struct Tun {
    file: File,
}

impl Tun {
    /// Makes an interface of this name in the namespace, without an address and down.
    ///
    /// # Errors
    /// Fails if `/dev/net/tun` is missing or this user may not open it, or the name is taken or not
    /// allowed.
    pub fn open_in(namespace: &Namespace, name: &str) -> Result<Self, Refusal> {
        Self::make(namespace, name, 0)
    }

    /// Makes an interface; `header` is the flag of `TUNSETIFF` for a header before each packet.
    fn make(namespace: &Namespace, name: &str, header: libc::c_int) -> Result<Self, Refusal> {
        let flags = OFlags::RDWR | OFlags::NONBLOCK;
        let file = namespace.file(c"/dev/net/tun", flags, NamespaceStep::OpenTun)?;
        let mut request = named(name).map_err(Refusal::at(NamespaceStep::MakeTun))?;
        let flags = libc::IFF_TUN | libc::IFF_NO_PI | header;
        request.ifr_ifru.ifru_flags = flags as libc::c_short;
        // TUNSETIFF reads and writes an ifreq. Its number is an int in musl.
        let made = ask(&file, libc::TUNSETIFF as _, &mut request);
        made.map(|()| Self { file }).map_err(Refusal::at(NamespaceStep::MakeTun))
    }

    /// Reads the next packet that the kernel sent; `None` if there is none. Bytes beyond the room
    /// are cut off.
    ///
    /// # Errors
    /// Fails if the interface is gone.
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
    /// Fails if the kernel does not take it: the interface is down, or this is no IP packet.
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

/// A TUN interface that also takes several TCP segments as one packet, as a network card with
/// receive offload delivers them. Packets sent through it are single.
#[derive(Debug)]
pub struct OffloadTun(Tun);

/// Segmentation of a joined packet, as in `struct virtio_net_hdr` of `linux/virtio_net.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segmentation {
    /// True for IPv4, false for IPv6.
    pub is_ipv4: bool,
    /// Offset of the TCP header. Its checksum field holds the sum of the pseudo-header.
    pub tcp_at: u16,
    /// Bytes of the IP and TCP headers.
    pub headers: u16,
    /// Bytes of data in each segment but the last.
    pub segment: u16,
}

/// Bytes of `struct virtio_net_hdr`.
const HEADER: usize = 10;
/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`: the TCP checksum is not computed.
const NEEDS_CHECKSUM: u8 = 1;
/// `VIRTIO_NET_HDR_GSO_TCPV4` and `VIRTIO_NET_HDR_GSO_TCPV6`.
const SEGMENTS: [u8; 2] = [1, 4];
/// Offset of the checksum in the TCP header (RFC 9293 section 3.1).
const CHECKSUM_AT: u16 = 16;

impl Segmentation {
    fn header(self) -> [u8; HEADER] {
        let mut header = [0; HEADER];
        header[0] = NEEDS_CHECKSUM;
        header[1] = SEGMENTS[usize::from(!self.is_ipv4)];
        // Numbers are in the machine's byte order, the driver's default.
        let numbers = [self.headers, self.segment, self.tcp_at, CHECKSUM_AT];
        for (place, number) in header[2..].chunks_exact_mut(2).zip(numbers) {
            place.copy_from_slice(&number.to_ne_bytes());
        }
        header
    }
}

impl OffloadTun {
    /// Makes an interface as [`Tun::open_in`] does.
    ///
    /// # Errors
    /// Fails as [`Tun::open_in`] does.
    pub fn open_in(namespace: &Namespace, name: &str) -> Result<Self, Refusal> {
        Tun::make(namespace, name, libc::IFF_VNET_HDR).map(Self)
    }

    /// Discards the next packet that the kernel sent. Returns whether there was one.
    ///
    /// # Errors
    /// Fails if the interface is gone.
    pub fn discard(&self) -> io::Result<bool> {
        Ok(self.0.read(&mut [0; HEADER])?.is_some())
    }

    /// Lets a packet arrive.
    ///
    /// # Errors
    /// Fails as [`Tun::write`] does.
    #[inline]
    pub fn write(&self, packet: &[u8]) -> io::Result<()> {
        let pieces = [IoSlice::new(&[0; HEADER]), IoSlice::new(packet)];
        (&self.0.file).write_vectored(&pieces).map(drop)
    }

    /// Lets several TCP segments arrive as one packet: these headers, and the data of each segment.
    ///
    /// # Errors
    /// Fails as [`Tun::write`] does.
    pub fn write_segments<'a>(
        &self,
        how: Segmentation,
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
