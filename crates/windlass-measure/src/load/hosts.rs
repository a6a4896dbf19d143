//! Servers of a load: their addresses, and connections to them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::TcpStream;

use windlass_drive::client::resolve;
use windlass_drive::socket::Options;
use windlass_host::WatchTarget;
use windlass_print::{DialError, Target};

use super::listener::listener;
use crate::dial::Dialer;

/// Addresses of servers, each resolved once.
pub(super) struct Hosts(HashMap<(String, u16), Dialer>);

impl Hosts {
    pub(super) fn find<'t>(
        targets: impl Iterator<Item = &'t Target>,
    ) -> Result<Self, windlass_drive::Error> {
        let mut known = HashMap::new();
        for target in targets {
            if let Entry::Vacant(place) = known.entry((target.host.clone(), target.port)) {
                let addresses = resolve(&target.host, target.port)?;
                let options = Options { nodelay: true, ..Options::default() };
                place.insert(Dialer { addresses, options, reserved: false });
            }
        }
        Ok(Self(known))
    }

    fn of(&self, target: &Target) -> Option<&Dialer> {
        self.0.get(&(target.host.clone(), target.port))
    }

    pub(super) fn dial(&self, target: &Target) -> Result<TcpStream, DialError> {
        self.of(target).ok_or("it was not looked up")?.connect()
    }

    /// Returns the process that listens there, if it is on this machine.
    pub(super) fn server(&self, target: &Target) -> Option<WatchTarget> {
        let found = self.of(target)?.addresses.iter().find_map(|address| listener(*address));
        // The process that creates the load, as in a test, is no server to report.
        found.filter(|pid| *pid != std::process::id()).map(WatchTarget::Pid)
    }
}
