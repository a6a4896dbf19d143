//! The interfaces of a host, with their addresses: getifaddrs(3).

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rustix::net::{AddressFamily, SocketType};

use crate::call::checked;
use crate::capture::{Framing, framing_of};
use crate::namespace::{Namespace, NamespaceStep, Refusal, ask, named};
use crate::socket::open;

/// Maximum length of a link address: `sll_addr` in `sockaddr_ll` (packet(7)). Longer ones, as
/// InfiniBand has, are cut.
const LONGEST: usize = 8;

/// An interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedInterface {
    /// Its name.
    pub name: String,
    /// Its number.
    pub index: u32,
    /// Its hardware type: a number of `linux/if_arp.h`.
    pub hardware: u16,
    /// True if it is up.
    pub is_up: bool,
    /// True if it has a carrier: a cable or a network (`IFF_RUNNING`).
    pub is_running: bool,
    /// True if it returns packets to this host.
    pub is_loopback: bool,
    /// Its MTU in bytes.
    pub mtu: Option<u32>,
    /// Its link address; empty if it has none.
    pub link_address: Vec<u8>,
    /// Its addresses, each with its prefix length in bits.
    pub addresses: Vec<(IpAddr, u8)>,
}

impl ListedInterface {
    /// Returns the header at the start of packets captured on it.
    pub const fn framing(&self) -> Framing {
        framing_of(self.hardware)
    }
}

/// Lists the interfaces of a namespace, by their number; `None` is the thread's own. Only another
/// namespace needs a privilege.
///
/// # Errors
/// Fails if the system does not tell, or does not let the thread into the namespace.
pub fn interfaces(namespace: Option<&Namespace>) -> Result<Vec<ListedInterface>, Refusal> {
    let listed = match namespace {
        Some(namespace) => namespace.in_a_thread(here)?,
        None => here(),
    };
    listed.map_err(Refusal::at(NamespaceStep::Interface))
}

/// The system's list, freed with this value.
struct List(*mut libc::ifaddrs);

impl Drop for List {
    fn drop(&mut self) {
        // SAFETY: it is as the system made it, and nobody has a reference into it.
        unsafe { libc::freeifaddrs(self.0) }
    }
}

fn here() -> io::Result<Vec<ListedInterface>> {
    let mut first = std::ptr::null_mut();
    // SAFETY: there is a place for the list.
    checked(unsafe { libc::getifaddrs(&raw mut first) })?;
    let list = List(first);
    let mut all = BTreeMap::<String, ListedInterface>::new();
    let mut at = list.0;
    // SAFETY: each entry is there as long as the list, and the last has no next.
    while let Some(entry) = unsafe { at.as_ref() } {
        at = entry.ifa_next;
        // SAFETY: an entry has a name that ends with a zero byte.
        let name = unsafe { CStr::from_ptr(entry.ifa_name) }.to_string_lossy();
        // An address may have a label of its own, as eth0:1.
        let name = name.split(':').next().unwrap_or_default().to_owned();
        let interface = all
            .entry(name.clone())
            .or_insert_with(|| ListedInterface { name, ..ListedInterface::default() });
        let has = |flag: libc::c_int| entry.ifa_flags & flag.cast_unsigned() != 0;
        interface.is_up = has(libc::IFF_UP);
        interface.is_running = has(libc::IFF_RUNNING);
        interface.is_loopback = has(libc::IFF_LOOPBACK);
        // SAFETY: an address that is there is as long as its family says.
        unsafe {
            if let Some(address) = ip(entry.ifa_addr) {
                let bits = ip(entry.ifa_netmask).map_or(0, ones);
                interface.addresses.push((address, bits));
            } else if let Some(link) = link(entry.ifa_addr) {
                interface.index = link.sll_ifindex.cast_unsigned();
                interface.hardware = link.sll_hatype;
                let length = usize::from(link.sll_halen).min(LONGEST);
                interface.link_address = link.sll_addr[..length].to_vec();
            }
        }
    }
    drop(list);
    let socket = open(AddressFamily::INET, SocketType::DGRAM)?;
    let mut all: Vec<ListedInterface> = all.into_values().collect();
    for interface in &mut all {
        // The interface may have gone meanwhile.
        interface.mtu = named(&interface.name).ok().and_then(|mut request| {
            ask(&socket, libc::SIOCGIFMTU, &mut request).ok()?;
            // SAFETY: the kernel has just written the number.
            u32::try_from(unsafe { request.ifr_ifru.ifru_mtu }).ok()
        });
    }
    all.sort_by_key(|interface| interface.index);
    Ok(all)
}

/// Reads an IP address.
///
/// # Safety
/// An address that is not null is as long as its family says.
unsafe fn ip(address: *const libc::sockaddr) -> Option<IpAddr> {
    // SAFETY: as the caller promises.
    unsafe {
        match libc::c_int::from(address.as_ref()?.sa_family) {
            libc::AF_INET => {
                let address = address.cast::<libc::sockaddr_in>().read_unaligned();
                Some(Ipv4Addr::from_bits(u32::from_be(address.sin_addr.s_addr)).into())
            }
            libc::AF_INET6 => {
                let address = address.cast::<libc::sockaddr_in6>().read_unaligned();
                Some(Ipv6Addr::from(address.sin6_addr.s6_addr).into())
            }
            _ => None,
        }
    }
}

/// Reads a link address.
///
/// # Safety
/// As of [`ip`].
unsafe fn link(address: *const libc::sockaddr) -> Option<libc::sockaddr_ll> {
    // SAFETY: as the caller promises.
    unsafe {
        let is_link = libc::c_int::from(address.as_ref()?.sa_family) == libc::AF_PACKET;
        is_link.then(|| address.cast::<libc::sockaddr_ll>().read_unaligned())
    }
}

/// Returns how many bits of a mask are set.
fn ones(mask: IpAddr) -> u8 {
    let bits = match mask {
        IpAddr::V4(mask) => mask.to_bits().count_ones(),
        IpAddr::V6(mask) => mask.to_bits().count_ones(),
    };
    bits as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Write;
    use std::time::{Duration, Instant};

    /// Says that a test is skipped, where `scripts/test` finds it.
    fn skipped(test: &str, why: &str) {
        let line = format!("skipped: {test}: {why}\n");
        let file = std::env::var_os("WINDLASS_SKIPS")
            .and_then(|path| File::options().append(true).create(true).open(path).ok());
        let _ = match file {
            Some(mut file) => file.write_all(line.as_bytes()),
            None => io::stderr().write_all(line.as_bytes()),
        };
    }

    #[test]
    fn the_loopback_is_there_with_its_addresses() {
        let all = interfaces(None).unwrap();
        let lo = all.iter().find(|interface| interface.name == "lo").unwrap();
        assert!(lo.is_up && lo.is_loopback, "{lo:?}");
        assert_eq!(
            (lo.index, lo.hardware, lo.framing()),
            (1, libc::ARPHRD_LOOPBACK, Framing::Ethernet)
        );
        assert!(lo.addresses.contains(&([127, 0, 0, 1].into(), 8)), "{lo:?}");
        assert!(lo.mtu.is_some_and(|mtu| mtu > 1_500), "{lo:?}");
    }

    #[test]
    fn those_of_a_namespace_are_its_own() {
        let left = match Namespace::new() {
            Ok(left) => left,
            Err(refused) => {
                return skipped("those_of_a_namespace_are_its_own", &refused.to_string());
            }
        };
        if left.is_unprivileged() {
            // A thread cannot go into a user namespace.
            assert!(interfaces(Some(&left)).is_err());
            return;
        }
        left.add_veth("one", &left, "two").unwrap();
        left.add_address("one", [192, 0, 2, 1].into(), 24).unwrap();
        left.add_address("one", "2001:db8::1".parse().unwrap(), 64).unwrap();
        left.bring_up("one").unwrap();
        let all = interfaces(Some(&left)).unwrap();
        let names: Vec<&str> = all.iter().map(|interface| interface.name.as_str()).collect();
        assert_eq!((all.len(), names[0]), (3, "lo"));
        let of = |name: &str| all.iter().find(|interface| interface.name == name).unwrap();
        let (one, two) = (of("one"), of("two"));
        assert!(one.is_up && !two.is_up && !one.is_loopback);
        // Its other end is down, which the kernel tells a moment later.
        let patience = Instant::now() + Duration::from_secs(10);
        let runs = || {
            let all = interfaces(Some(&left)).unwrap();
            all.iter().any(|interface| interface.name == "one" && interface.is_running)
        };
        while runs() {
            assert!(Instant::now() < patience, "{one:?}");
        }
        assert_eq!((one.mtu, one.link_address.len()), (Some(1_500), 6));
        assert!(one.addresses.contains(&([192, 0, 2, 1].into(), 24)), "{one:?}");
        assert!(one.addresses.contains(&("2001:db8::1".parse().unwrap(), 64)), "{one:?}");
        assert!(two.addresses.is_empty());
    }
}
