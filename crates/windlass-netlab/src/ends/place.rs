//! The network of an end: a namespace with one interface.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use windlass_base::Bytes;
use windlass_lab::SENDER;
use windlass_sys::namespace::{Namespace, Refusal};
use windlass_sys::tun::Tun;

/// The interface in each namespace.
pub const INTERFACE: &str = "tun0";

/// Prefix lengths of the path's addresses, for IPv4 and IPv6.
const PREFIX: (u8, u8) = (24, 64);

/// Packets that may wait in the interface for the emulator. Drops belong in the link's own queue.
/// This one holds 100 ms of full packets at 1 Gbit/s, for a time without a processor for the
/// emulator.
const WAITING: u16 = 8_192;

/// One end of an emulated path.
#[derive(Debug)]
pub(crate) struct EndNetwork {
    pub(crate) namespace: Namespace,
}

impl EndNetwork {
    /// Makes an end with its interface, which `open` creates, up. Without an IPv6 address the
    /// interface has IPv4 only.
    pub(crate) fn new<T>(
        ipv4: Ipv4Addr,
        ipv6: Option<Ipv6Addr>,
        mtu: u16,
        open: impl FnOnce(&Namespace, &str) -> Result<T, Refusal>,
    ) -> Result<(Self, T), Refusal> {
        let namespace = Namespace::new()?;
        let tun = open(&namespace, INTERFACE)?;
        namespace.set_mtu(INTERFACE, mtu)?;
        namespace.set_queue_length(INTERFACE, WAITING)?;
        namespace.add_address(INTERFACE, IpAddr::V4(ipv4), PREFIX.0)?;
        // An unused link should carry nothing: no link-local address, and so no router
        // solicitations.
        let quiet = match ipv6 {
            Some(_) => namespace.set(c"/proc/sys/net/ipv6/conf/tun0/addr_gen_mode", "1"),
            None => namespace.set(c"/proc/sys/net/ipv6/conf/tun0/disable_ipv6", "1"),
        };
        namespace.bring_up(INTERFACE)?;
        // Some systems have no IPv6; the link is useful without it.
        if let (Some(ipv6), Ok(())) = (ipv6, quiet) {
            namespace.add_address(INTERFACE, IpAddr::V6(ipv6), PREFIX.1)?;
        }
        Ok((Self { namespace }, tun))
    }

    /// Makes the end of a sender to a device.
    pub(crate) fn beside_a_device(mtu: u16) -> Result<(Self, Tun), Refusal> {
        let (place, tun) = Self::new(SENDER, None, mtu, Tun::open_in)?;
        // The packet queue must count real packets, and so must the send buffer.
        place.namespace.set_segments_at_once(INTERFACE, 1)?;
        Ok((place, tun))
    }

    /// Returns the number of packets that the interface dropped because the emulator did not fetch
    /// them in time.
    pub(crate) fn dropped(&self) -> Option<u64> {
        let statistics = self.namespace.read(c"/proc/net/dev").ok()?;
        let line = statistics.lines().find_map(|line| line.trim().strip_prefix("tun0:"))?;
        // Eight columns count received packets; then come the bytes, packets, errors and drops of
        // sent ones (proc_pid_net(5)).
        line.split_whitespace().nth(11)?.parse().ok()
    }

    /// Returns whether a program listens on a TCP or UDP port.
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

    /// Returns the bytes that the kernel still has to send for programs that have ended; `None` if
    /// it has sent everything. The bytes are zero if only a FIN waits for its ACK.
    pub(crate) fn unsent(&self) -> Option<Bytes> {
        let tables = [c"/proc/net/tcp", c"/proc/net/tcp6"];
        tables
            .iter()
            .filter_map(|path| unsent(&self.namespace.read(path).ok()?))
            .reduce(|one, other| one + other)
    }
}

/// Returns the unacknowledged bytes of closed sockets in a table such as `/proc/net/tcp`; `None`
/// without any such socket.
fn unsent(table: &str) -> Option<Bytes> {
    // The states that `include/net/tcp_states.h` numbers: FIN-WAIT-1, LAST-ACK and
    // CLOSING, in which a FIN, and what goes before it, is not acknowledged.
    let waits = ["04", "09", "0B"];
    let bytes = table.lines().skip(1).filter_map(|line| {
        // Number, own address, other address, state, and the queues in
        // hexadecimal: `0000002A:00000000`.
        let mut words = line.split_whitespace().skip(3);
        let state = words.next().filter(|state| waits.contains(state));
        let (sending, _) = state.and(words.next())?.split_once(':')?;
        // The FIN is counted with the data.
        Some(u64::from_str_radix(sending, 16).ok()?.saturating_sub(1))
    });
    bytes.reduce(u64::saturating_add).map(Bytes::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_closed_sockets_count_as_unsent() {
        let head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when\n";
        let line = |state: &str, sending: &str| {
            format!("   0: 010200C0:A2C2 020200C0:238C {state} {sending}:00000000 01:00000016 0\n")
        };
        assert_eq!(unsent(head), None);
        assert_eq!(unsent(&format!("{head}{}", line("01", "0000002A"))), None, "still open");
        assert_eq!(unsent(&format!("{head}{}", line("06", "00000000"))), None, "all is sent");
        let both = format!("{head}{}{}", line("04", "0000002A"), line("09", "00000001"));
        assert_eq!(unsent(&both), Some(Bytes::new(41)));
        assert_eq!(unsent("no table\nat all\n   0: 1 2 04 zz:00\n"), None);
    }
}
