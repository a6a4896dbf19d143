//! Facts about client hosts: whether one is this host, and when it was last logged.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use windlass_sys::interfaces::interfaces;

/// Time for which the list of this host's addresses is trusted that an address is not in it.
const FRESH: Duration = Duration::from_secs(5);

/// Time for which a host is not logged again once it was logged often enough.
const QUIET: Duration = Duration::from_secs(60);

/// Maximum number of hosts with a remembered log time.
const MAX_NOTED: usize = 1_024;

/// Addresses of this host.
#[derive(Debug, Default)]
pub(super) struct OwnAddresses {
    known: Mutex<(Option<Instant>, Vec<IpAddr>)>,
}

impl OwnAddresses {
    /// Returns whether an address is one of this host. Interfaces come and go, so a list without
    /// the address is not trusted for long.
    pub(super) fn has(&self, address: IpAddr, now: Instant) -> bool {
        let address = address.to_canonical();
        if address.is_loopback() {
            return true;
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (read, list) = &mut *known;
        let is_old = read.is_none_or(|read| now.saturating_duration_since(read) >= FRESH);
        if is_old && (read.is_none() || !list.contains(&address)) {
            *read = Some(now);
            // If the system reports an error, the old list stays valid.
            if let Ok(found) = interfaces(None) {
                let addresses = found.into_iter().flat_map(|one| one.addresses);
                *list = addresses.map(|(address, _)| address).collect();
            }
        }
        list.contains(&address)
    }
}

/// Rate limit of log entries per host.
#[derive(Debug, Default)]
pub(super) struct LogLimiter {
    hosts: Mutex<HashMap<(IpAddr, &'static str), LogCount>>,
}

/// Time of the first log entry of a host, and number of entries since.
#[derive(Debug)]
struct LogCount {
    since: Instant,
    times: u32,
}

impl LogLimiter {
    /// Returns the number of this entry for a host within a minute, from 1 on; `None` beyond
    /// `most`. Each kind of entry counts for itself.
    pub(super) fn times(
        &self,
        host: IpAddr,
        kind: &'static str,
        most: u32,
        now: Instant,
    ) -> Option<u32> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let is_recent = |told: &LogCount| now.saturating_duration_since(told.since) < QUIET;
        let key = (host.to_canonical(), kind);
        if let Some(told) = hosts.get_mut(&key).filter(|told| is_recent(told)) {
            told.times = told.times.saturating_add(1);
            return (told.times <= most).then_some(told.times);
        }
        if hosts.len() >= MAX_NOTED {
            hosts.retain(|_, told| is_recent(told));
        }
        // Entries of still more hosts must not fill a log either.
        if hosts.len() >= MAX_NOTED {
            return None;
        }
        hosts.insert(key, LogCount { since: now, times: 1 });
        Some(1)
    }
}

/// Returns the address of a host; for IPv6, its /64 network, in which a host has as many addresses
/// as it likes.
pub(super) fn network(host: IpAddr) -> String {
    match host.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn of_each_host_it_is_told_so_often_a_minute() {
        let (noted, now) = (LogLimiter::default(), Instant::now());
        let host = |last| IpAddr::V4(Ipv4Addr::new(192, 0, 2, last));
        assert_eq!(noted.times(host(1), "a", 1, now), Some(1));
        assert_eq!(noted.times(host(1), "a", 1, now + Duration::from_secs(59)), None);
        assert_eq!(noted.times(host(1), "b", 2, now), Some(1));
        assert_eq!(noted.times(host(1), "b", 2, now), Some(2));
        assert_eq!(noted.times(host(1), "b", 2, now), None);
        assert_eq!(noted.times(host(2), "a", 1, now), Some(1));
        assert_eq!(noted.times(host(1), "a", 1, now + QUIET), Some(1));
    }

    #[test]
    fn of_many_hosts_no_more_is_kept_than_fits() {
        let (noted, now) = (LogLimiter::default(), Instant::now());
        let host = |number: u32| IpAddr::V4(Ipv4Addr::from(0x0a00_0000 + number));
        let is_told = |number, now| noted.times(host(number), "a", 1, now).is_some();
        assert_eq!((0..5_000).filter(|number| is_told(*number, now)).count(), MAX_NOTED);
        assert!(is_told(9_000, now + QUIET));
    }

    #[test]
    fn this_hosts_addresses_are_its_own() {
        let (own, now) = (OwnAddresses::default(), Instant::now());
        assert!(own.has(IpAddr::V4(Ipv4Addr::LOCALHOST), now));
        assert!(!own.has(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 99)), now));
        for (address, _) in interfaces(None).unwrap().into_iter().flat_map(|one| one.addresses) {
            assert!(own.has(address, now), "{address}");
        }
    }

    #[test]
    fn a_network_of_ipv6_is_one_host() {
        let of = |text: &str| network(text.parse().unwrap());
        assert_eq!(of("2001:db8::1"), of("2001:db8::2:3:4:5"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
    }
}
