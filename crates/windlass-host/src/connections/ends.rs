//! Processors at the ends of connections: the load of this host's, its programs, and threads that
//! wait for a processor.

use std::collections::HashMap;
use std::net::SocketAddr;

use serde::Serialize;
use windlass_base::live::{Machine, Thread};

/// The processors of this host over an interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HostProcessors {
    /// Number of processors.
    pub processors: usize,
    /// Share of all processors' time in which they worked.
    pub busy_share: f64,
    /// Programs with the largest shares, each with its children, if all processors were busy.
    pub others: Vec<HostProgram>,
}

/// A program of this host.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HostProgram {
    /// Its number.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Its share of one processor, with its children's.
    pub cpu_share: f64,
}

/// Processor figures of an interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProcessorFigures {
    /// This host's processors.
    pub host: Option<HostProcessors>,
    /// The threads of programs, by the cookies of their sockets.
    pub threads: HashMap<u64, Thread>,
}

/// The ends of a connection on this host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ends {
    /// The thread of the program with the socket, if it has only one: of several, the one that
    /// reads and writes is unknown.
    pub own: Option<Thread>,
    /// The thread at the other end, if that is on this host, too.
    pub other: Option<Thread>,
    /// This host.
    pub machine: Option<Machine>,
    /// True if both ends are on this host.
    pub is_one_host: bool,
}

impl ProcessorFigures {
    /// Returns this host as live facts. An interval does not tell whose packets a busy processor
    /// handles, so interrupts are left out. Programs are those of the whole host.
    pub fn machine(&self) -> Option<Machine> {
        let host = self.host.as_ref()?;
        Some(Machine {
            processors: host.processors,
            busy_share: host.busy_share,
            ..Machine::default()
        })
    }
}

/// Sockets of this host by their addresses: their own, and the other end's.
pub(super) type ByAddresses = HashMap<(SocketAddr, SocketAddr), u64>;
