//! How many files a server needs open at a time, and how many it may have.

use windlass_spool_core::{Device, PrinterSettings};
use windlass_sys::limits;

use crate::serve::{Limits, Listen};

/// What a server has open in any case: its journal, its lock, what it prints to, and
/// what it keeps for the store; with some to spare.
const BASE: u64 = 64;

/// Bytes of a segment of the store, which is a file.
const SEGMENT: u64 = 64 << 20;

/// Segments for which files are kept where nobody says how much the spool may hold.
const SEGMENTS: u64 = 256;

/// Connections that are served however few files there are.
const LEAST: usize = 8;

/// The files that a server may need at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptors {
    /// For ports that it listens at.
    pub listeners: u64,
    /// For connections of clients.
    pub connections: u64,
    /// For printers that are at work.
    pub printers: u64,
    /// For documents on the disk.
    pub store: u64,
    /// The most that it may have.
    pub limit: u64,
}

impl Descriptors {
    /// Reckons them. With a `max_spool` it is known how many files the store has.
    pub fn new(
        listen: &Listen,
        limits: &Limits,
        printers: &[PrinterSettings],
        max_spool: Option<u64>,
        limit: u64,
    ) -> Self {
        let count = |of: usize| u64::try_from(of).unwrap_or(u64::MAX);
        // A command has three pipes; what is forwarded has a connection and a document, and a
        // socket where an SNMP agent is asked.
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

    /// All of them.
    pub const fn needed(&self) -> u64 {
        BASE.saturating_add(self.listeners)
            .saturating_add(self.connections)
            .saturating_add(self.printers)
            .saturating_add(self.store)
    }

    /// So many connections leave the rest what it needs.
    pub fn connections(&self) -> usize {
        let rest = self.needed() - self.connections;
        let most = usize::try_from(self.limit.saturating_sub(rest)).unwrap_or(usize::MAX);
        most.max(LEAST).min(usize::try_from(self.connections).unwrap_or(usize::MAX))
    }

    /// What is to be said of them, where they will not do.
    pub fn warning(&self) -> Option<String> {
        if self.needed() <= self.limit {
            return None;
        }
        let Self { listeners, connections, printers, store, limit } = self;
        Some(format!(
            "{} open files may be needed ({connections} for connections, {listeners} for ports, \
             {printers} for printers at work, {store} for documents), and {limit} are allowed: {} \
             connections are served at a time. Raise the limit (LimitNOFILE= of a unit, ulimit -n \
             of a shell)",
            self.needed(),
            self.connections(),
        ))
    }
}

/// Raises the limit as far as the system allows, and lowers the number of connections to
/// what it will do for. What is to be said of it, where it will not.
pub fn fit(
    listen: &Listen,
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
        let listen = Listen {
            ipp: vec![at],
            lpr: vec![at],
            raw: (0..280).map(|place| (at, format!("a{place}"))).collect(),
            ..Listen::default()
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
                 printers at work, 18 for documents), and 1024 are allowed: 652 connections"
            ),
            "{warning}"
        );
        assert_eq!(reckoned(64, None).connections(), LEAST);
    }
}
