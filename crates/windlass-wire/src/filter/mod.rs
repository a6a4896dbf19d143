//! Packet filters: which packets a capture takes, as programs of classic BPF,
//! which the kernel runs on each packet.
//!
//! [`Wanted`] says what is wanted, and compiles. A program from elsewhere, such
//! as libpcap's, goes through [`Program::check`]. Either may have a program in
//! front that looks at what the kernel knows about a packet
//! ([`Program::and_then`]).
//!
//! ```
//! use windlass_wire::filter::{About, Link, Program, Wanted};
//!
//! let wanted = Wanted {
//!     nets: vec!["192.0.2.0/24".parse()?],
//!     ports: vec![9100, 515],
//!     tcp: true,
//!     ..Wanted::default()
//! };
//! let program = wanted.compile(Link::Ethernet, 262_144)?;
//! let program = Program::only_outgoing().and_then(&program)?;
//! // A frame of zeros is no IP.
//! assert_eq!(program.keeps(&[0; 60], &About::default()), 0);
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

pub use check::Unsound;
pub use ipnet::IpNet;
pub use net::{WrongNet, net};
pub use run::About;

/// The most instructions that the kernel takes (`BPF_MAXINSNS` in
/// `linux/bpf_common.h`).
pub const MAX: usize = 4_096;

/// An instruction: `struct sock_filter` in `linux/filter.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// What to do.
    pub code: u16,
    /// How many instructions to leave out if it is so.
    pub if_true: u8,
    /// The same if it is not.
    pub if_false: u8,
    /// A number to do it with.
    pub value: u32,
}

/// A program that the kernel takes. It ends for every packet: it only jumps
/// forward.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program(Vec<Instruction>);

impl Program {
    /// Its instructions.
    pub fn instructions(&self) -> &[Instruction] {
        &self.0
    }
}

/// More instructions than the kernel takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the filter takes {instructions} instructions, and the kernel takes {MAX} at most: \
     ask for fewer hosts, nets or ports"
)]
pub struct TooLong {
    /// How many it would have.
    pub instructions: usize,
}

/// How packets begin where the filter sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// With the header of Ethernet, and up to two tags of VLANs (0x8100, 0x88a8)
    /// behind its addresses. Interfaces take the outermost tag out, so of three
    /// none is too many.
    Ethernet,
    /// With the header of IP: its version is in the first four bits.
    Ip,
    /// Behind the header of the link, which has been taken off (`SOCK_DGRAM`,
    /// packet(7)). The kernel says which protocol follows, and the first four
    /// bits must agree. Where that is a VLAN, up to two tags are read.
    ///
    /// A packet of this host to which the kernel itself has put a tag is not
    /// taken: it begins with IP's header, and the protocol is that of the tag.
    Cooked,
}

/// Which packets are wanted. Of each kind that is given one must match; what is
/// empty asks for nothing. All that is asked for is in a packet's outermost IP
/// header and directly behind it. Where only hosts and nets are asked for, ARP and
/// RARP are looked into as well, as by libpcap's `host` and `net`.
///
/// A packet that ends within its IP header, or within ARP, is not taken, nor one whose ports are
/// asked for and cut off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// One of these is the source or the destination.
    pub hosts: Vec<IpAddr>,
    /// The source or the destination is in one of these.
    pub nets: Vec<IpNet>,
    /// One of these is the source's or the destination's port, of TCP, UDP or
    /// SCTP.
    ///
    /// As with libpcap, the fragments of an IPv4 packet behind its first are not
    /// taken, as only that has the ports; and an IPv6 packet is not where an
    /// extension header stands before the ports.
    pub ports: Vec<u16>,
    /// TCP only. Without ports, fragments are taken too: those of IPv4, and as
    /// with libpcap those of IPv6 where no other extension header stands before.
    pub tcp: bool,
}

#[cfg(test)]
#[path = "filter_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "random_tests.rs"]
mod random_tests;
