//! The interface that is captured on.

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
    /// What it is: a number of `linux/if_arp.h`; 0 for all.
    pub hardware: u16,
    /// The largest packet that it takes; `None` for all.
    pub mtu: Option<u32>,
}

/// The name for all interfaces.
pub(super) const ANY: &str = "any";

/// `ARPHRD_RAWIP` in `linux/if_arp.h`: the modems of telephones.
const RAW_IP: u16 = 519;

/// How the packets of an interface begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// With the header of Ethernet.
    Ethernet,
    /// With that of IP.
    Ip,
    /// The header of the link has been taken off: what it said is in
    /// [`super::LinkAddress`].
    Cooked,
}

/// How packets of this hardware begin, a number of `linux/if_arp.h`.
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
    /// Looks for an interface, by a socket of its namespace.
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

    /// How its packets begin.
    pub const fn framing(&self) -> Framing {
        framing_of(self.hardware)
    }

    /// Whether it hands back to this host what this host sends.
    pub const fn is_loopback(&self) -> bool {
        self.hardware == libc::ARPHRD_LOOPBACK
    }

    /// Whether it is all interfaces.
    pub const fn is_any(&self) -> bool {
        self.index == 0
    }

    /// Whether it is up. All interfaces always are.
    ///
    /// # Errors
    /// Where it is not there any more.
    pub(super) fn is_up(&self, socket: impl AsFd + Copy) -> io::Result<bool> {
        if self.is_any() {
            return Ok(true);
        }
        // Its name may be another by now, or that of another.
        let mut request = named(&self.name)?;
        request.ifr_ifru.ifru_ifindex = self.index.cast_signed();
        ask(socket, libc::SIOCGIFNAME, &mut request)?;
        ask(socket, libc::SIOCGIFFLAGS, &mut request)?;
        // SAFETY: the kernel has just written the flags.
        let flags = unsafe { request.ifr_ifru.ifru_flags };
        Ok(libc::c_int::from(flags) & libc::IFF_UP != 0)
    }
}
