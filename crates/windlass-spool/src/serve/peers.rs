//! What is known of the hosts at the other ends: whether one is this host, and of whom it
//! was told lately.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use windlass_sys::interfaces::interfaces;

/// How long a list of this host's addresses is believed in which an address is not.
const FRESH: Duration = Duration::from_secs(5);

/// How long of a host nothing is told again.
const QUIET: Duration = Duration::from_secs(60);

/// The most hosts of which it is known when something was told of them.
const MAX_NOTED: usize = 1_024;

/// The addresses of this host.
#[derive(Debug, Default)]
pub(super) struct OwnAddresses {
    known: Mutex<(Option<Instant>, Vec<IpAddr>)>,
}

impl OwnAddresses {
    /// Whether an address is one of them. Interfaces come and go, so a list that does not
    /// have it is not believed for long.
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
            // Where the system does not tell, what was known is known still.
            if let Ok(found) = interfaces(None) {
                let addresses = found.into_iter().flat_map(|one| one.addresses);
                *list = addresses.map(|(address, _)| address).collect();
            }
        }
        list.contains(&address)
    }
}

/// Of whom something was told lately: of each host once in a while, however often it
/// comes.
#[derive(Debug, Default)]
pub(super) struct Noted {
    hosts: Mutex<HashMap<(IpAddr, &'static str), Instant>>,
}

impl Noted {
    /// Whether something is to be told of a host now: of each kind for itself.
    pub(super) fn is_new(&self, host: IpAddr, kind: &'static str, now: Instant) -> bool {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let is_recent = |told: &Instant| now.saturating_duration_since(*told) < QUIET;
        let key = (host.to_canonical(), kind);
        if hosts.get(&key).is_some_and(is_recent) {
            return false;
        }
        if hosts.len() >= MAX_NOTED {
            hosts.retain(|_, told| is_recent(told));
        }
        // From more hosts than that a log is not to be filled either.
        if hosts.len() >= MAX_NOTED {
            return false;
        }
        hosts.insert(key, now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn of_each_host_it_is_told_once_a_minute() {
        let (noted, now) = (Noted::default(), Instant::now());
        let host = |last| IpAddr::V4(Ipv4Addr::new(192, 0, 2, last));
        assert!(noted.is_new(host(1), "a", now));
        assert!(!noted.is_new(host(1), "a", now + Duration::from_secs(59)));
        assert!(noted.is_new(host(1), "b", now));
        assert!(noted.is_new(host(2), "a", now));
        assert!(noted.is_new(host(1), "a", now + QUIET));
    }

    #[test]
    fn of_many_hosts_no_more_is_kept_than_fits() {
        let (noted, now) = (Noted::default(), Instant::now());
        let host = |number: u32| IpAddr::V4(Ipv4Addr::from(0x0a00_0000 + number));
        let told = (0..5_000).filter(|number| noted.is_new(host(*number), "a", now)).count();
        assert_eq!(told, MAX_NOTED);
        assert!(noted.is_new(host(9_000), "a", now + QUIET));
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
}
