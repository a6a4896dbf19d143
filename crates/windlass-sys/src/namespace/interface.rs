//! Setting up the interfaces of a namespace.
//!
//! This is done by netlink, but for what network cards do, which `netdevice(7)` has
//! a request for. An address brings the route to its neighbours. Making and removing
//! interfaces is in `link`.

use std::fs::File;
use std::io;
use std::mem::zeroed;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd};

use libc::{c_int, c_ulong};
use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, SocketType};

use super::{Namespace, NamespaceStep, Refused};
use crate::call::checked;
use crate::netlink::{Message, family};

/// Bytes of what a message says of an interface (`struct ifinfomsg`).
pub(super) const ABOUT: usize = 16;

/// `IFA_ADDRESS` and `IFA_LOCAL` in `linux/if_addr.h`: the own address is both, where
/// it is not told of a peer.
const ADDRESS: [u16; 2] = [1, 2];

/// `IFLA_GSO_MAX_SEGS` in `linux/if_link.h`.
const GSO_MAX_SEGS: u16 = 40;

impl Namespace {
    /// Sets the largest packet that an interface takes.
    ///
    /// # Errors
    /// Where there is no such interface, or it cannot take such packets.
    pub fn set_mtu(&self, interface: &str, bytes: u16) -> Result<(), Refused> {
        self.attribute(interface, libc::IFLA_MTU, bytes)
    }

    /// Sets how many packets may wait in an interface for whoever reads them.
    ///
    /// # Errors
    /// Where there is no such interface, or no memory for so many.
    pub fn set_queue_length(&self, interface: &str, packets: u16) -> Result<(), Refused> {
        self.attribute(interface, libc::IFLA_TXQLEN, packets)
    }

    /// Sets how many segments TCP may send through an interface as one packet,
    /// to be cut up below it. With 1 it sends each by itself, and a send buffer
    /// holds no more than it is set to.
    ///
    /// # Errors
    /// Where there is no such interface, or it cannot send so many.
    pub fn set_segments_at_once(&self, interface: &str, segments: u16) -> Result<(), Refused> {
        self.attribute(interface, GSO_MAX_SEGS, segments)
    }

    /// Sets one number of an interface.
    fn attribute(&self, interface: &str, attribute: u16, value: u16) -> Result<(), Refused> {
        self.tell(change(interface, 0, 0).with(attribute, &u32::from(value).to_ne_bytes()))
    }

    /// Sends a message by a netlink socket of this namespace.
    pub(super) fn tell(&self, message: Message) -> Result<(), Refused> {
        let socket =
            self.socket(AddressFamily::NETLINK, SocketType::RAW, NamespaceStep::Interface)?;
        let told = message.send(&File::from(socket));
        told.map(drop).map_err(Refused::at(NamespaceStep::Interface))
    }

    /// Gives an interface an address, and a route to all that share its first
    /// `prefix` bits.
    ///
    /// # Errors
    /// Where there is no such interface, it has the address already, or the system
    /// has no such protocol.
    pub fn add_address(&self, interface: &str, address: IpAddr, prefix: u8) -> Result<(), Refused> {
        let (family, octets) = family(address);
        let mut about = [family, prefix, 0, 0, 0, 0, 0, 0];
        about[4..].copy_from_slice(&self.index(interface)?.to_ne_bytes());
        let new = libc::NLM_F_CREATE | libc::NLM_F_EXCL;
        let message = Message::new(libc::RTM_NEWADDR, new, &about);
        self.tell(ADDRESS.into_iter().fold(message, |message, kind| message.with(kind, &octets)))
    }

    /// Brings an interface up.
    ///
    /// # Errors
    /// Where there is no such interface.
    pub fn bring_up(&self, interface: &str) -> Result<(), Refused> {
        self.tell(change(interface, libc::IFF_UP, libc::IFF_UP))
    }

    /// Brings an interface down. It keeps its IPv4 addresses, and loses its
    /// routes.
    ///
    /// # Errors
    /// Where there is no such interface.
    pub fn bring_down(&self, interface: &str) -> Result<(), Refused> {
        self.tell(change(interface, 0, libc::IFF_UP))
    }

    /// Has the kernel leave to an interface what network cards do for TCP:
    /// cutting up what it sends at once, putting together what it receives, and
    /// checksums. Without it each packet is as large as the interface's MTU
    /// allows, and its checksums are right, before it is captured.
    ///
    /// # Errors
    /// Where there is no such interface, or it cannot do so.
    pub fn set_offloads(&self, interface: &str, on: bool) -> Result<(), Refused> {
        // An interface that makes no checksums can cut nothing up, so they are
        // the first to come and the last to go.
        let mut order = [ethtool::TX_CHECKSUM, ethtool::TSO, ethtool::GSO, ethtool::GRO];
        if !on {
            order.reverse();
        }
        let socket =
            self.socket(AddressFamily::INET, SocketType::DGRAM, NamespaceStep::Interface)?;
        let failed = Refused::at(NamespaceStep::Interface);
        let mut request = named(interface).map_err(&failed)?;
        for command in order {
            let mut value = ethtool::Value { command, data: on.into() };
            request.ifr_ifru.ifru_data = (&raw mut value).cast();
            ask(&socket, libc::SIOCETHTOOL, &mut request).map_err(&failed)?;
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
}

/// A message that changes what its attributes say of an interface, and these flags.
fn change(interface: &str, flags: c_int, changed: c_int) -> Message {
    let mut about = [0; ABOUT];
    about[8..12].copy_from_slice(&flags.to_ne_bytes());
    about[12..].copy_from_slice(&changed.to_ne_bytes());
    Message::new(libc::RTM_NEWLINK, 0, &about).named(libc::IFLA_IFNAME, interface)
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
        *place = libc::c_char::from_ne_bytes([byte]);
    }
    Ok(request)
}

/// Makes a request, by a socket of the interface's namespace.
pub(crate) fn ask(socket: impl AsFd, what: c_ulong, request: &mut libc::ifreq) -> io::Result<()> {
    // SAFETY: an ifreq is what these requests take. What it points to lives until the
    // call ends.
    let done = unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), what as _, &raw mut *request) };
    checked(done).map(drop)
}
