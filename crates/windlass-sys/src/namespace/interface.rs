//! Setup of the interfaces of a namespace.
//!
//! Interfaces are set up by netlink, except for the offloads of network cards, which `netdevice(7)`
//! has a request for. An address brings the route to its neighbours. Interfaces are made and
//! removed in `link`.

use std::fs::File;
use std::io;
use std::mem::zeroed;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd};

use libc::{c_int, c_ulong};
use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, SocketType};

use super::{Namespace, NamespaceStep, Refusal};
use crate::call::checked;
use crate::netlink::{Message, family};

/// Bytes of the header of a message about an interface (`struct ifinfomsg`).
pub(super) const ABOUT: usize = 16;

/// `IFA_ADDRESS` and `IFA_LOCAL` in `linux/if_addr.h`: the own address is both, unless it has a
/// peer.
const ADDRESS: [u16; 2] = [1, 2];

/// `IFLA_GSO_MAX_SEGS` in `linux/if_link.h`.
const GSO_MAX_SEGS: u16 = 40;

impl Namespace {
    /// Sets the MTU of an interface.
    ///
    /// # Errors
    /// Fails if there is no such interface, or it cannot take such packets.
    pub fn set_mtu(&self, interface: &str, bytes: u16) -> Result<(), Refusal> {
        self.attribute(interface, libc::IFLA_MTU, bytes)
    }

    /// Sets how many packets may wait in an interface for their reader.
    ///
    /// # Errors
    /// Fails if there is no such interface, or no memory for this many.
    pub fn set_queue_length(&self, interface: &str, packets: u16) -> Result<(), Refusal> {
        self.attribute(interface, libc::IFLA_TXQLEN, packets)
    }

    /// Sets how many segments TCP may send through an interface as one packet, which is segmented
    /// below it. With 1 TCP sends each segment by itself, and a send buffer holds no more than its
    /// size.
    ///
    /// # Errors
    /// Fails if there is no such interface, or it cannot send this many.
    pub fn set_segments_at_once(&self, interface: &str, segments: u16) -> Result<(), Refusal> {
        self.attribute(interface, GSO_MAX_SEGS, segments)
    }

    /// Sets one number of an interface.
    fn attribute(&self, interface: &str, attribute: u16, value: u16) -> Result<(), Refusal> {
        self.tell(change(interface, 0, 0).with(attribute, &u32::from(value).to_ne_bytes()))
    }

    /// Sends a message by a netlink socket of this namespace.
    pub(super) fn tell(&self, message: Message) -> Result<(), Refusal> {
        let socket =
            self.socket(AddressFamily::NETLINK, SocketType::RAW, NamespaceStep::Interface)?;
        let told = message.send(&File::from(socket));
        told.map(drop).map_err(Refusal::at(NamespaceStep::Interface))
    }

    /// Adds an address to an interface, and a route to all addresses that share its first `prefix`
    /// bits.
    ///
    /// # Errors
    /// Fails if there is no such interface, it has the address already, or the system lacks the
    /// protocol.
    pub fn add_address(&self, interface: &str, address: IpAddr, prefix: u8) -> Result<(), Refusal> {
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
    /// Fails if there is no such interface.
    pub fn bring_up(&self, interface: &str) -> Result<(), Refusal> {
        self.tell(change(interface, libc::IFF_UP, libc::IFF_UP))
    }

    /// Brings an interface down. The interface keeps its IPv4 addresses, and loses its routes.
    ///
    /// # Errors
    /// Fails if there is no such interface.
    pub fn bring_down(&self, interface: &str) -> Result<(), Refusal> {
        self.tell(change(interface, 0, libc::IFF_UP))
    }

    /// Switches the offloads of an interface for TCP: segmentation of packets sent, merging of
    /// packets received, and checksums. Without them each packet fits the interface's MTU and has
    /// correct checksums before it is captured.
    ///
    /// # Errors
    /// Fails if there is no such interface, or it lacks the offloads.
    pub fn set_offloads(&self, interface: &str, on: bool) -> Result<(), Refusal> {
        // An interface without checksum offload cannot segment, so checksums are switched on first
        // and off last.
        let mut order = [ethtool::TX_CHECKSUM, ethtool::TSO, ethtool::GSO, ethtool::GRO];
        if !on {
            order.reverse();
        }
        let socket =
            self.socket(AddressFamily::INET, SocketType::DGRAM, NamespaceStep::Interface)?;
        let failed = Refusal::at(NamespaceStep::Interface);
        let mut request = named(interface).map_err(&failed)?;
        for command in order {
            let mut value = ethtool::Value { command, data: on.into() };
            request.ifr_ifru.ifru_data = (&raw mut value).cast();
            ask(&socket, libc::SIOCETHTOOL, &mut request).map_err(&failed)?;
        }
        Ok(())
    }

    /// Returns the kernel's number of an interface.
    pub(super) fn index(&self, interface: &str) -> Result<c_int, Refusal> {
        let socket =
            self.socket(AddressFamily::INET, SocketType::DGRAM, NamespaceStep::Interface)?;
        let index = name_to_index(&socket, interface);
        index.map(u32::cast_signed).map_err(Refusal::at(NamespaceStep::Interface))
    }
}

/// Makes a message that changes an interface's attributes, and these flags.
fn change(interface: &str, flags: c_int, changed: c_int) -> Message {
    let mut about = [0; ABOUT];
    about[8..12].copy_from_slice(&flags.to_ne_bytes());
    about[12..].copy_from_slice(&changed.to_ne_bytes());
    Message::new(libc::RTM_NEWLINK, 0, &about).named(libc::IFLA_IFNAME, interface)
}

/// Requests of `linux/ethtool.h` that are used here.
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

/// Makes a request that names an interface.
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

/// Makes a request by a socket of the interface's namespace.
pub(crate) fn ask(socket: impl AsFd, what: c_ulong, request: &mut libc::ifreq) -> io::Result<()> {
    // SAFETY: an ifreq is what these requests take. What it points to lives until the
    // call ends.
    let done = unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), what as _, &raw mut *request) };
    checked(done).map(drop)
}
