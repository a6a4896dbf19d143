//! Datagrams that the kernel dropped because the receive buffer of their socket was full.
//!
//! The loopback interface loses no datagrams. A program without processor time leaves datagrams
//! unread until the buffer is full.

use std::fs;

/// Count of the dropped datagrams at a moment, over all UDP sockets of this network namespace.
///
/// The count is `udpInOverflows`, which `/proc/net/snmp` calls `RcvbufErrors`.
pub struct Overflows(u64);

impl Overflows {
    /// Returns the current count.
    pub fn now() -> Self {
        let text = fs::read_to_string("/proc/net/snmp").unwrap();
        let mut lines = text.lines().filter_map(|line| line.strip_prefix("Udp:"));
        let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
        let mut columns = names.split_whitespace().zip(values.split_whitespace());
        let (_, count) = columns.find(|(name, _)| *name == "RcvbufErrors").unwrap();
        Self(count.parse().unwrap())
    }

    /// Returns the number of datagrams dropped since this count.
    ///
    /// The number includes datagrams of other tests. For one test, the number is an upper bound.
    pub fn since(&self) -> u64 {
        Self::now().0 - self.0
    }
}
