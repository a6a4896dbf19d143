//! Datagrams that came and found no room in the buffer of their socket. The loopback loses
//! none, but a program that the machine keeps from its processor leaves them unread.

use std::fs;

/// The kernel's count of them at a moment, of all sockets of this network (`udpInOverflows`,
/// which `/proc/net/snmp` calls `RcvbufErrors`).
pub struct Overflows(u64);

impl Overflows {
    pub fn now() -> Self {
        let text = fs::read_to_string("/proc/net/snmp").unwrap();
        let mut lines = text.lines().filter_map(|line| line.strip_prefix("Udp:"));
        let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
        let mut columns = names.split_whitespace().zip(values.split_whitespace());
        let (_, count) = columns.find(|(name, _)| *name == "RcvbufErrors").unwrap();
        Self(count.parse().unwrap())
    }

    /// Returns the packets dropped since then. With those of other tests this is an upper bound for
    /// one test.
    pub fn since(&self) -> u64 {
        Self::now().0 - self.0
    }
}
