//! Open files: the number that a server needs, and its limit.

use windlass_spool_core::{Device, PrinterSettings};
use windlass_sys::limits;

use crate::serve::{Limits, ListenAddresses};

/// Files of any server: its journal, lock, output and store, with some to spare.
const BASE: u64 = 64;

/// Size in bytes of a segment of the store, which is a file.
const SEGMENT: u64 = 64 << 20;

/// Number of segments that are planned for if the spool has no size limit.
const SEGMENTS: u64 = 256;

/// Minimum number of connections, however low the limit of open files is.
const LEAST: usize = 8;

/// Files that a server may need at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptors {
    /// Files for listening ports.
    pub listeners: u64,
    /// Files for connections of clients.
    pub connections: u64,
    /// Files for busy printers.
    pub printers: u64,
    /// Files for documents on the disk.
    pub store: u64,
    /// Limit of open files.
    pub limit: u64,
}

impl Descriptors {
    /// Calculates the numbers. `max_spool`, the size limit of the spool in bytes, limits the files
    /// of the store.
    pub fn new(
        listen: &ListenAddresses,
        limits: &Limits,
        printers: &[PrinterSettings],
        max_spool: Option<u64>,
        limit: u64,
    ) -> Self {
        let count = |of: usize| u64::try_from(of).unwrap_or(u64::MAX);
        // A command needs three pipes. Forwarding needs a connection and a document, and a socket
        // if an SNMP agent is queried.
        let of_printer = |one: &PrinterSettings| match one.device {
            Device::Drop => 0,
            Device::Command(_) => 4,
            Device::File(_) => 2,
            Device::Target(_) => 2 + u64::from(one.status.is_some()),
        };
        Self {
            listeners: count(
                listen.ipp.len()
                    + listen.tls.len()
                    + listen.sockets.len()
                    + listen.lpr.len()
                    + listen.raw.len(),
            ),
            connections: count(limits.connections),
            printers: printers.iter().map(of_printer).sum(),
            store: max_spool.map_or(SEGMENTS, |bytes| bytes.div_ceil(SEGMENT) + 2),
            limit,
        }
    }

    /// Returns the sum of all files.
    pub const fn needed(&self) -> u64 {
        BASE.saturating_add(self.listeners)
            .saturating_add(self.connections)
            .saturating_add(self.printers)
            .saturating_add(self.store)
    }

    /// Returns the number of connections that leaves enough files for everything else.
    pub fn connections(&self) -> usize {
        let rest = self.needed() - self.connections;
        let most = usize::try_from(self.limit.saturating_sub(rest)).unwrap_or(usize::MAX);
        most.max(LEAST).min(usize::try_from(self.connections).unwrap_or(usize::MAX))
    }

    /// Returns a warning if the limit is too low.
    pub fn warning(&self) -> Option<String> {
        if self.needed() <= self.limit {
            return None;
        }
        let Self { listeners, connections, printers, store, limit } = self;
        Some(format!(
            "{} open files may be needed ({connections} for connections, {listeners} for ports, \
             {printers} for busy printers, {store} for documents), but {limit} are allowed: {} \
             connections are served at a time. Raise the limit (LimitNOFILE= of a unit, ulimit -n \
             of a shell)",
            self.needed(),
            self.connections(),
        ))
    }
}

/// Raises the limit of open files as far as the system allows, and lowers the number of connections
/// to fit. Returns a warning if the limit is too low.
pub fn fit(
    listen: &ListenAddresses,
    limits: &mut Limits,
    printers: &[PrinterSettings],
    max_spool: Option<u64>,
) -> Option<String> {
    let limit = limits::raise_open_files();
    let descriptors = Descriptors::new(listen, limits, printers, max_spool, limit);
    limits.connections = descriptors.connections();
    descriptors.warning()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reckoned(limit: u64, max_spool: Option<u64>) -> Descriptors {
        let at = "127.0.0.1:0".parse().expect("an address");
        let listen = ListenAddresses {
            ipp: vec![at],
            lpr: vec![at],
            raw: (0..280).map(|place| (at, format!("a{place}"))).collect(),
            ..ListenAddresses::default()
        };
        let device = |text: &str| text.parse::<Device>().expect("a device");
        let printers: Vec<_> = ["drop", "file:/tmp/", "socket://192.0.2.9", "exec:lpr"]
            .map(|text| PrinterSettings::new(text, device(text)))
            .into();
        Descriptors::new(&listen, &Limits::default(), &printers, max_spool, limit)
    }

    #[test]
    fn what_is_needed_is_reckoned() {
        let enough = reckoned(4_096, None);
        assert_eq!(enough.needed(), 64 + 282 + 1_000 + 8 + 256);
        assert_eq!((enough.warning(), enough.connections()), (None, 1_000));
        assert_eq!(reckoned(4_096, Some(20_000_000_000)).store, 301);
    }

    #[test]
    fn too_few_are_said_and_go_round() {
        let few = reckoned(1_024, Some(1 << 30));
        assert_eq!(few.connections(), 1_024 - (64 + 282 + 8 + 18));
        let warning = few.warning().expect("a warning");
        assert!(
            warning.starts_with(
                "1372 open files may be needed (1000 for connections, 282 for ports, 8 for \
                 busy printers, 18 for documents), but 1024 are allowed: 652 connections"
            ),
            "{warning}"
        );
        assert_eq!(reckoned(64, None).connections(), LEAST);
    }
}
