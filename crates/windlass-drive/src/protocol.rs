//! How two ends speak of a test.

use windlass_base::{Named, Span};
use windlass_wire::{iperf2, iperf3 as wire};

use crate::datagrams;
use crate::error::Error;
use crate::iperf3;
use crate::transfer::{Direction, Transfer, Until};
use crate::udp;

/// How two ends speak of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Named)]
pub enum Protocol {
    /// As windlass and windlass do: both ends tell what their kernels say.
    Windlass,
    /// As iperf3 does: both ends tell bytes, times and processor time.
    Iperf3,
    /// As iperf 2 does in its plain test: data, and nothing else.
    Iperf,
    /// As ttcp does: data, and nothing else.
    Ttcp,
}

impl Protocol {
    /// The port that its servers listen on.
    pub const fn port(self) -> u16 {
        match self {
            Self::Windlass | Self::Iperf3 => wire::PORT,
            Self::Iperf | Self::Ttcp => iperf2::PORT,
        }
    }

    /// What runs at the other end: `iperf3 -s`.
    pub const fn server(self, udp: bool) -> &'static str {
        match self {
            Self::Ttcp if udp => "ttcp -r -u",
            Self::Iperf if udp => "iperf -s -u",
            Self::Windlass => "windlass serve",
            Self::Iperf3 => "iperf3 -s",
            Self::Iperf => "iperf -s",
            Self::Ttcp => "ttcp -r",
        }
    }

    /// Refuses what the other end cannot be asked for.
    ///
    /// # Errors
    /// What it is, in words.
    pub fn check(self, transfer: &Transfer) -> Result<(), Error> {
        if transfer.udp {
            return match self {
                Self::Ttcp => datagrams::check(transfer),
                Self::Windlass => udp::check_asked(transfer, udp::SHORTEST),
                Self::Iperf3 => iperf3::client::check(transfer),
                Self::Iperf if transfer.direction != Direction::Forward => {
                    Err(Error::Asked(format!("with {self} data goes to the server only")))
                }
                Self::Iperf if transfer.omit > Span::ZERO => {
                    let why = "an iperf server counts each datagram, from the first on";
                    Err(Error::Asked(why.to_owned()))
                }
                // The header of its client has to find room.
                Self::Iperf => {
                    let shortest = u32::try_from(iperf2::datagrams::SHORTEST).unwrap_or(u32::MAX);
                    udp::check_asked(transfer, shortest)
                }
            };
        }
        match self {
            Self::Iperf3 => iperf3::client::check(transfer),
            Self::Iperf | Self::Ttcp if transfer.direction != Direction::Forward => {
                Err(Error::Asked(format!("with {self} data goes to the server only")))
            }
            Self::Iperf if transfer.until == Until::SourceEnds => {
                let why = "an iperf server takes the first bytes of data for its own; ttcp's \
                           protocol sends files as they are";
                Err(Error::Asked(why.to_owned()))
            }
            Self::Windlass | Self::Iperf | Self::Ttcp => Ok(()),
        }
    }

    /// Returns whether there is nothing but data, from the client to the server.
    pub const fn is_plain(self) -> bool {
        matches!(self, Self::Iperf | Self::Ttcp)
    }
}
