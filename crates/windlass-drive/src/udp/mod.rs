//! Tests over UDP: numbered and time-stamped datagrams at an even pace.
//!
//! Each stream of a test is a flow between two sockets of its own. Drops by a full socket are
//! therefore known for each flow, and distinguished from the path's losses.

pub mod arrivals;
mod flow;
mod open;
pub mod search;
mod side;

use std::net::{IpAddr, SocketAddr};

use windlass_base::Rate;

use crate::error::Error;
use crate::transfer::{EndCondition, Transfer};
pub(crate) use flow::{ANSWERING, EndSignal};
pub(crate) use open::{accepted, bind, open};
pub(crate) use side::{EarlyDatagram, UdpSide};

/// Default length of a datagram, in bytes: with its headers it fits a path MTU of 1,500 bytes with
/// a tunnel.
pub const USUAL_LENGTH: u32 = 1_400;

/// Returns the default rate, that of iperf3 and iperf.
pub fn usual_pace() -> Rate {
    Rate::from_bits_per_second(1e6)
}

/// Shortest datagram, in bytes: its number and time.
pub const SHORTEST: u32 = 24;

/// Longest datagram, in bytes: the limit of UDP over IPv4 (RFC 768, RFC 791).
pub const LONGEST: u32 = crate::datagrams::LONGEST;

/// Maximum number of flows of a test, each way.
pub const MAX_FLOWS: u16 = 128;

/// Checks that numbered datagrams of at least this length can carry a transfer.
pub(crate) fn check(transfer: &Transfer, shortest: u32) -> Result<(), Error> {
    let refuse = |why: String| Err(Error::Asked(why));
    if !(shortest..=LONGEST).contains(&transfer.length) {
        return refuse(format!("a datagram has {shortest} to {LONGEST} B"));
    }
    if transfer.streams > MAX_FLOWS {
        return refuse(format!("a UDP test has at most {MAX_FLOWS} streams"));
    }
    let of_tcp = transfer.mss.is_some() || transfer.congestion.is_some() || transfer.nodelay;
    if of_tcp || transfer.copy || transfer.align.is_some() {
        return refuse("UDP has no segments and no congestion control".to_owned());
    }
    if transfer.client.window.is_some() || transfer.server.window.is_some() {
        return refuse("UDP has no window".to_owned());
    }
    Ok(())
}

/// Checks that a client can request a transfer by numbered datagrams of at least this length.
pub(crate) fn check_asked(transfer: &Transfer, shortest: u32) -> Result<(), Error> {
    if transfer.until == EndCondition::SourceEnds {
        let why = "UDP can lose parts of a file; omit --udp";
        return Err(Error::Asked(why.to_owned()));
    }
    check(transfer, shortest)
}

/// Returns an address as IPv4 if it is an IPv4 address from an IPv6 socket.
pub(crate) fn plain(client: SocketAddr) -> SocketAddr {
    match client.ip() {
        IpAddr::V6(ip) => ip.to_ipv4_mapped().map_or(client, |ip| (ip, client.port()).into()),
        IpAddr::V4(_) => client,
    }
}
