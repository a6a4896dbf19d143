//! The network of an end: a namespace with one interface.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use windlass_sys::namespace::{Namespace, Refused};
use windlass_sys::tun::Tun;

/// The interface in each namespace.
pub(crate) const INTERFACE: &str = "tun0";

/// The bits that all on the path share of their addresses.
const PREFIX: (u8, u8) = (24, 64);

/// Packets that wait in the interface for the emulator. Drops belong into the
/// link's own queue; this holds 100 ms of full packets at 1 Gbit/s, for when
/// the emulator does not get a processor.
const WAITING: u16 = 8_192;

/// One end of an emulated path.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) namespace: Namespace,
}

impl Place {
    /// Makes an end with its interface up. Without an IPv6 address the interface
    /// has IPv4 only.
    pub(crate) fn new(
        ipv4: Ipv4Addr,
        ipv6: Option<Ipv6Addr>,
        mtu: u16,
    ) -> Result<(Self, Tun), Refused> {
        let namespace = Namespace::new()?;
        let tun = Tun::open_in(&namespace, INTERFACE)?;
        namespace.set_mtu(INTERFACE, mtu)?;
        namespace.set_queue_length(INTERFACE, WAITING)?;
        namespace.add_address(INTERFACE, IpAddr::V4(ipv4), PREFIX.0)?;
        // A link that nobody uses should carry nothing: no address of the
        // kernel's own, and so no search for routers.
        let quiet = match ipv6 {
            Some(_) => namespace.set(c"/proc/sys/net/ipv6/conf/tun0/addr_gen_mode", "1"),
            None => namespace.set(c"/proc/sys/net/ipv6/conf/tun0/disable_ipv6", "1"),
        };
        namespace.bring_up(INTERFACE)?;
        // Some systems have no IPv6; the link is of use without it.
        if let (Some(ipv6), Ok(())) = (ipv6, quiet) {
            namespace.add_address(INTERFACE, IpAddr::V6(ipv6), PREFIX.1)?;
        }
        Ok((Self { namespace }, tun))
    }

    /// Packets that the interface dropped because the emulator did not fetch
    /// them in time.
    pub(crate) fn dropped(&self) -> Option<u64> {
        let statistics = self.namespace.read(c"/proc/net/dev").ok()?;
        let line = statistics.lines().find_map(|line| line.trim().strip_prefix("tun0:"))?;
        // Eight columns of what was received, then bytes, packets, errors and
        // drops of what was sent (proc_pid_net(5)).
        line.split_whitespace().nth(11)?.parse().ok()
    }

    /// Whether somebody listens on a TCP or UDP port.
    pub(crate) fn listens(&self) -> bool {
        // The states that `include/net/tcp_states.h` numbers: LISTEN, and CLOSE
        // for a UDP socket without a peer.
        let tables = [
            (c"/proc/net/tcp", "0A"),
            (c"/proc/net/tcp6", "0A"),
            (c"/proc/net/udp", "07"),
            (c"/proc/net/udp6", "07"),
        ];
        tables.iter().any(|(path, state)| {
            let sockets = self.namespace.read(path).unwrap_or_default();
            sockets.lines().skip(1).any(|line| line.split_whitespace().nth(3) == Some(*state))
        })
    }
}
