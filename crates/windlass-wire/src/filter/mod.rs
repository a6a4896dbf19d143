//! Packet filters of a capture, as programs of classic BPF, which the kernel runs on each packet.
//!
//! [`PacketFilter`] describes the packets and compiles to a [`Program`]. [`Program::check`]
//! validates a program from elsewhere, such as libpcap's. Another program may run before either, to
//! check the kernel's metadata of a packet ([`Program::and_then`]).
//!
//! ```
//! use windlass_wire::filter::{PacketMetadata, Link, Program, PacketFilter};
//!
//! let wanted = PacketFilter {
//!     nets: vec!["192.0.2.0/24".parse()?],
//!     ports: vec![9100, 515],
//!     tcp: true,
//!     ..PacketFilter::default()
//! };
//! let program = wanted.compile(Link::Ethernet, 262_144)?;
//! let program = Program::only_outgoing().and_then(&program)?;
//! // A frame of zeros is no IP.
//! assert_eq!(program.keeps(&[0; 60], &PacketMetadata::default()), 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod assembly;
mod before;
mod check;
mod compile;
mod cooked;
mod net;
mod op;
mod run;

use std::net::IpAddr;

pub use check::UnsoundProgram;
pub use ipnet::IpNet;
pub use net::{WrongNet, net};
pub use run::PacketMetadata;

/// Maximum number of instructions that the kernel accepts (`BPF_MAXINSNS` in `linux/bpf_common.h`).
pub const MAX: usize = 4_096;

/// An instruction: `struct sock_filter` in `linux/filter.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Code of the operation.
    pub code: u16,
    /// Number of instructions to skip if the comparison is true.
    pub if_true: u8,
    /// Number of instructions to skip if the comparison is false.
    pub if_false: u8,
    /// Operand.
    pub value: u32,
}

/// A program that the kernel accepts. It ends for every packet, because it only jumps forward.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program(Vec<Instruction>);

impl Program {
    /// Returns the instructions.
    pub fn instructions(&self) -> &[Instruction] {
        &self.0
    }
}

/// Error of a program with more instructions than the kernel accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the filter takes {instructions} instructions, and the kernel takes at most {MAX}: give fewer \
     hosts, nets or ports"
)]
pub struct ProgramTooLong {
    /// Number of instructions that the program would have.
    pub instructions: usize,
}

/// Link header of packets as the filter sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// An Ethernet header, with up to two VLAN tags (0x8100, 0x88a8) behind its addresses.
    /// Interfaces remove the outermost tag, so even three tags are covered.
    Ethernet,
    /// The IP header, with the version in the first four bits.
    Ip,
    /// No link header, because the kernel has removed it (`SOCK_DGRAM`, packet(7)). The kernel
    /// tells the protocol, and the first four bits must agree. If the protocol is a VLAN, up to two
    /// tags are read.
    ///
    /// A packet of this host to which the kernel itself has added a tag does not match. Such a
    /// packet begins with the IP header, but its protocol is that of the tag.
    Cooked,
}

/// Description of the packets to capture. A packet must match one element of each list that is not
/// empty. Only the outermost IP header and the ports directly behind it are checked. A filter of
/// hosts and nets alone also matches ARP and RARP, like libpcap's `host` and `net`.
///
/// A packet that ends within its IP header or within ARP does not match. Neither does a packet
/// whose ports are needed and cut off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PacketFilter {
    /// Addresses, of which one must be the source or the destination.
    pub hosts: Vec<IpAddr>,
    /// Nets, of which one must contain the source or the destination.
    pub nets: Vec<IpNet>,
    /// Ports of TCP, UDP or SCTP, of which one must be the source port or the destination port.
    ///
    /// As with libpcap, only the first fragment of an IPv4 packet can match, because the others
    /// have no ports. An IPv6 packet with an extension header before the ports does not match.
    pub ports: Vec<u16>,
    /// True for TCP only. Without ports, fragments match too: those of IPv4 and, as with libpcap,
    /// those of IPv6 without another extension header before.
    pub tcp: bool,
}

#[cfg(test)]
#[path = "filter_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "random_tests.rs"]
mod random_tests;
