//! Tests over UDP: numbered and time-stamped datagrams at an even pace.
//!
//! Each stream of a test is a flow between two sockets of its own, so what a socket had no room
//! for is known for each, and told apart from what the path lost.

pub mod arrivals;
mod flow;
mod open;
pub mod search;
mod side;

use std::net::{IpAddr, SocketAddr};

use windlass_base::Rate;

use crate::error::Error;
use crate::transfer::{Transfer, Until};
pub(crate) use flow::{ANSWERING, Ending};
pub(crate) use open::{accepted, bind, open};
pub(crate) use side::{Early, UdpSide};

/// The length of a datagram where none is asked for, in bytes: with its headers it fits a path
/// of 1,500 bytes that has a tunnel.
pub const USUAL_LENGTH: u32 = 1_400;

/// What is sent per second where no pace is asked for, as iperf3 and iperf have it.
pub fn usual_pace() -> Rate {
    Rate::from_bits_per_second(1e6)
}

/// The shortest datagram, in bytes: a stamp.
pub const SHORTEST: u32 = 24;

/// The longest, in bytes: what UDP over IPv4 carries (RFC 768, RFC 791).
pub const LONGEST: u32 = crate::datagrams::LONGEST;

/// The most flows of a test, each way.
pub const MAX_FLOWS: u16 = 128;

/// Refuses what cannot be done by numbered datagrams, of this length at least.
pub(crate) fn check(transfer: &Transfer, shortest: u32) -> Result<(), Error> {
    let refuse = |why: String| Err(Error::Asked(why));
    if !(shortest..=LONGEST).contains(&transfer.length) {
        return refuse(format!("a datagram is {shortest} to {LONGEST} B"));
    }
    if transfer.streams > MAX_FLOWS {
        return refuse(format!("a test over UDP has {MAX_FLOWS} streams at the most"));
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

/// Refuses what a client cannot ask for by numbered datagrams, of this length at least.
pub(crate) fn check_asked(transfer: &Transfer, shortest: u32) -> Result<(), Error> {
    if transfer.until == Until::SourceEnds {
        let why = "a file may lose parts in datagrams; it goes by TCP";
        return Err(Error::Asked(why.to_owned()));
    }
    check(transfer, shortest)
}

/// An address of IPv4 that came by a socket of IPv6 as what it is.
pub(crate) fn plain(client: SocketAddr) -> SocketAddr {
    match client.ip() {
        IpAddr::V6(ip) => ip.to_ipv4_mapped().map_or(client, |ip| (ip, client.port()).into()),
        IpAddr::V4(_) => client,
    }
}
