//! Setting up the interfaces of a namespace.
//!
//! This is done by the old requests of `netdevice(7)`, which are safe to make
//! by hand. The length of a queue is the exception: without root only netlink
//! may set it. An address brings the route to its neighbours. Making and
//! removing interfaces is in `link`.

use std::fs::File;
use std::io;
use std::mem::zeroed;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use libc::{c_int, c_ulong};
use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, SocketType};

use super::netlink::Message;
use super::{Namespace, NamespaceStep, Refused};
use crate::call::checked;

/// `IFLA_GSO_MAX_SEGS` in `linux/if_link.h`.
const GSO_MAX_SEGS: u16 = 40;

impl Namespace {
    /// Sets the largest packet that an interface takes. It fails where the interface
    /// cannot take such packets.
    pub fn set_mtu(&self, interface: &str, bytes: u16) -> Result<(), Refused> {
        self.request(interface, |socket, mut request| {
            request.ifr_ifru.ifru_mtu = c_int::from(bytes);
            ask(socket, libc::SIOCSIFMTU, &mut request)
        })
    }

    /// Sets how many packets may wait in an interface for whoever reads them. It fails
    /// where there is no memory for so many.
    pub fn set_queue_length(&self, interface: &str, packets: u16) -> Result<(), Refused> {
        self.attribute(interface, libc::IFLA_TXQLEN, packets)
    }

    /// Sets how many segments TCP may send through an interface as one packet, to be
    /// cut up below it. With 1 it sends each by itself, and a send buffer holds no more
    /// than it is set to. It fails where the interface cannot send so many.
    pub fn set_segments_at_once(&self, interface: &str, segments: u16) -> Result<(), Refused> {
        self.attribute(interface, GSO_MAX_SEGS, segments)
    }

    /// Sets one number of an interface.
    fn attribute(&self, interface: &str, attribute: u16, value: u16) -> Result<(), Refused> {
        let index = self.index(interface)?;
        self.tell(Message::change(index).with(attribute, &u32::from(value).to_ne_bytes()))
    }

    /// Sends a message by a netlink socket of this namespace.
    pub(super) fn tell(&self, message: Message) -> Result<(), Refused> {
        let socket =
            self.socket(AddressFamily::NETLINK, SocketType::RAW, NamespaceStep::Interface)?;
        message.send(&File::from(socket)).map_err(Refused::at(NamespaceStep::Interface))
    }

    /// Gives an interface an address, and a route to all that share its first `prefix`
    /// bits. It fails where the system has no such protocol.
    pub fn add_address(&self, interface: &str, address: IpAddr, prefix: u8) -> Result<(), Refused> {
        match address {
            IpAddr::V4(address) => self.request(interface, |socket, mut request| {
                request.ifr_ifru.ifru_addr = socket_address(address);
                ask(socket, libc::SIOCSIFADDR, &mut request)?;
                let mask = u32::MAX.checked_shl(32 - u32::from(prefix.min(32))).unwrap_or(0);
                request.ifr_ifru.ifru_netmask = socket_address(mask.into());
                ask(socket, libc::SIOCSIFNETMASK, &mut request)
            }),
            IpAddr::V6(address) => self.add_ipv6(interface, address, prefix),
        }
    }

    /// Brings an interface up.
    pub fn bring_up(&self, interface: &str) -> Result<(), Refused> {
        self.change_flags(interface, |flags| flags | libc::IFF_UP | libc::IFF_RUNNING)
    }

    /// Brings an interface down. It keeps its IPv4 addresses, and loses its
    /// routes.
    pub fn bring_down(&self, interface: &str) -> Result<(), Refused> {
        self.change_flags(interface, |flags| flags & !libc::IFF_UP)
    }

    fn change_flags(
        &self,
        interface: &str,
        change: impl FnOnce(c_int) -> c_int,
    ) -> Result<(), Refused> {
        self.request(interface, |socket, mut request| {
            ask(socket, libc::SIOCGIFFLAGS, &mut request)?;
            // SAFETY: the kernel has just written the flags.
            let flags = unsafe { request.ifr_ifru.ifru_flags };
            request.ifr_ifru.ifru_flags = change(flags.into()) as libc::c_short;
            ask(socket, libc::SIOCSIFFLAGS, &mut request)
        })
    }

    /// Has the kernel leave to an interface what network cards do for TCP: cutting up
    /// what it sends at once, putting together what it receives, and checksums. Without
    /// it each packet is as large as the interface's MTU allows, and its checksums are
    /// right, before it is captured. It fails where the interface cannot do so.
    pub fn set_offloads(&self, interface: &str, on: bool) -> Result<(), Refused> {
        // An interface that makes no checksums can cut nothing up, so they are
        // the first to come and the last to go.
        let mut order = [ethtool::TX_CHECKSUM, ethtool::TSO, ethtool::GSO, ethtool::GRO];
        if !on {
            order.reverse();
        }
        for command in order {
            let mut value = ethtool::Value { command, data: on.into() };
            self.request(interface, |socket, mut request| {
                request.ifr_ifru.ifru_data = (&raw mut value).cast();
                ask(socket, libc::SIOCETHTOOL, &mut request)
            })?;
        }
        Ok(())
    }

    /// The number by which the kernel knows an interface.
    pub(super) fn index(&self, interface: &str) -> Result<c_int, Refused> {
        let socket =
            self.socket(AddressFamily::INET, SocketType::DGRAM, NamespaceStep::Interface)?;
        let index = name_to_index(&socket, interface);
        index.map(u32::cast_signed).map_err(Refused::at(NamespaceStep::Interface))
    }

    fn add_ipv6(&self, interface: &str, address: Ipv6Addr, prefix: u8) -> Result<(), Refused> {
        let index = self.index(interface)?;
        let mut request = libc::in6_ifreq {
            ifr6_addr: libc::in6_addr { s6_addr: address.octets() },
            ifr6_prefixlen: prefix.into(),
            ifr6_ifindex: index,
        };
        let socket =
            self.socket(AddressFamily::INET6, SocketType::DGRAM, NamespaceStep::Interface)?;
        ask(&socket, libc::SIOCSIFADDR, &mut request).map_err(Refused::at(NamespaceStep::Interface))
    }

    /// Does something with an interface, by a socket of this namespace.
    fn request(
        &self,
        interface: &str,
        with: impl FnOnce(&OwnedFd, libc::ifreq) -> io::Result<()>,
    ) -> Result<(), Refused> {
        let socket =
            self.socket(AddressFamily::INET, SocketType::DGRAM, NamespaceStep::Interface)?;
        let request = named(interface).map_err(Refused::at(NamespaceStep::Interface))?;
        with(&socket, request).map_err(Refused::at(NamespaceStep::Interface))
    }
}

/// What `linux/ethtool.h` has for the requests here.
mod ethtool {
    /// `struct ethtool_value`.
    #[repr(C)]
    pub(super) struct Value {
        pub(super) command: u32,
        pub(super) data: u32,
    }

    /// `ETHTOOL_STXCSUM`.
    pub(super) const TX_CHECKSUM: u32 = 0x17;
    /// `ETHTOOL_STSO`.
    pub(super) const TSO: u32 = 0x1f;
    /// `ETHTOOL_SGSO`.
    pub(super) const GSO: u32 = 0x24;
    /// `ETHTOOL_SGRO`.
    pub(super) const GRO: u32 = 0x2c;
}

/// A request that names an interface.
pub(crate) fn named(interface: &str) -> io::Result<libc::ifreq> {
    // SAFETY: all zeros is a valid ifreq: no name, and numbers.
    let mut request: libc::ifreq = unsafe { zeroed() };
    // The last byte stays zero.
    if interface.is_empty() || interface.len() >= request.ifr_name.len() {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    for (place, byte) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *place = byte.cast_signed();
    }
    Ok(request)
}

/// Makes a request, by a socket of the interface's namespace.
pub(crate) fn ask<T: Request>(socket: impl AsFd, what: c_ulong, request: &mut T) -> io::Result<()> {
    // SAFETY: only the two structures that these requests take are `Request`s,
    // and an IPv6 socket is the only one that is asked with the other. What a
    // request points to lives until the call ends.
    let done = unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), what as _, &raw mut *request) };
    checked(done).map(drop)
}

/// What the kernel reads and writes in a request.
pub(crate) trait Request {}
impl Request for libc::ifreq {}
impl Request for libc::in6_ifreq {}

fn socket_address(address: Ipv4Addr) -> libc::sockaddr {
    // SAFETY: all zeros is a valid sockaddr.
    let mut general: libc::sockaddr = unsafe { zeroed() };
    general.sa_family = libc::AF_INET as libc::sa_family_t;
    // Two bytes of port, then the address (ip(7)).
    for (place, byte) in general.sa_data[2..6].iter_mut().zip(address.octets()) {
        *place = byte.cast_signed();
    }
    general
}
