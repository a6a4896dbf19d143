//! The interface of a capture.

use std::io;
use std::os::fd::AsFd;

use rustix::net::netdevice::name_to_index;

use crate::namespace::{ask, named};

/// An interface, or all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name; `any` is all of them.
    pub name: String,
    /// Its number; 0 for all.
    pub index: u32,
    /// Its hardware type: a number of `linux/if_arp.h`; 0 for all.
    pub hardware: u16,
    /// Its MTU in bytes; `None` for all.
    pub mtu: Option<u32>,
}

/// The name for all interfaces.
pub(super) const ANY: &str = "any";

/// `ARPHRD_RAWIP` in `linux/if_arp.h`: cellular modems.
const RAW_IP: u16 = 519;

/// The header at the start of an interface's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// An Ethernet header.
    Ethernet,
    /// An IP header.
    Ip,
    /// The link header has been removed; its fields are in [`super::LinkAddress`].
    Cooked,
}

/// Returns the framing of a hardware type, a number of `linux/if_arp.h`.
pub(crate) const fn framing_of(hardware: u16) -> Framing {
    match hardware {
        libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK => Framing::Ethernet,
        libc::ARPHRD_NONE
        | RAW_IP
        | libc::ARPHRD_PPP
        | libc::ARPHRD_TUNNEL
        | libc::ARPHRD_TUNNEL6
        | libc::ARPHRD_SIT => Framing::Ip,
        _ => Framing::Cooked,
    }
}

impl Interface {
    /// Finds an interface, by a socket of its namespace.
    pub(crate) fn find(socket: impl AsFd + Copy, name: &str) -> io::Result<Self> {
        if name == ANY {
            return Ok(Self { name: name.to_owned(), index: 0, hardware: 0, mtu: None });
        }
        let mut request = named(name)?;
        let index = name_to_index(socket, name)?;
        ask(socket, libc::SIOCGIFHWADDR, &mut request)?;
        // SAFETY: the kernel has just written the address.
        let hardware = unsafe { request.ifr_ifru.ifru_hwaddr }.sa_family;
        ask(socket, libc::SIOCGIFMTU, &mut request)?;
        // SAFETY: the kernel has just written the number.
        let mtu = u32::try_from(unsafe { request.ifr_ifru.ifru_mtu }).ok();
        Ok(Self { name: name.to_owned(), index, hardware, mtu })
    }

    /// Returns the header at the start of its packets.
    pub const fn framing(&self) -> Framing {
        framing_of(self.hardware)
    }

    /// Returns whether it is a loopback: the host receives its own packets.
    pub const fn is_loopback(&self) -> bool {
        self.hardware == libc::ARPHRD_LOOPBACK
    }

    /// Returns whether it stands for all interfaces.
    pub const fn is_any(&self) -> bool {
        self.index == 0
    }

    /// Returns whether it is up. All interfaces together always are.
    ///
    /// # Errors
    /// Fails if the interface is gone.
    pub(super) fn is_up(&self, socket: impl AsFd + Copy) -> io::Result<bool> {
        if self.is_any() {
            return Ok(true);
        }
        // The interface may have been renamed, and another may have its name.
        let mut request = named(&self.name)?;
        request.ifr_ifru.ifru_ifindex = self.index.cast_signed();
        ask(socket, libc::SIOCGIFNAME, &mut request)?;
        ask(socket, libc::SIOCGIFFLAGS, &mut request)?;
        // SAFETY: the kernel has just written the flags.
        let flags = unsafe { request.ifr_ifru.ifru_flags };
        Ok(libc::c_int::from(flags) & libc::IFF_UP != 0)
    }
}
