//! Protocols of a test.

use windlass_base::{Named, Span};
use windlass_wire::{iperf2, iperf3 as wire};

use crate::datagrams;
use crate::error::Error;
use crate::iperf3;
use crate::transfer::{Direction, EndCondition, Transfer};
use crate::udp;

/// Protocol between the two ends of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Named)]
pub enum Protocol {
    /// windlass's own: both ends report their kernels' figures.
    Windlass,
    /// iperf3's: both ends report bytes, times and processor time.
    Iperf3,
    /// Plain test of iperf 2: data only.
    Iperf,
    /// ttcp's: data only.
    Ttcp,
}

impl Protocol {
    /// Returns the port of its servers.
    pub const fn port(self) -> u16 {
        match self {
            Self::Windlass | Self::Iperf3 => wire::PORT,
            Self::Iperf | Self::Ttcp => iperf2::PORT,
        }
    }

    /// Returns the server's command: `iperf3 -s`.
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

    /// Checks that the protocol can carry a transfer.
    ///
    /// # Errors
    /// Names the setting that it cannot carry.
    pub fn check(self, transfer: &Transfer) -> Result<(), Error> {
        if transfer.udp {
            return match self {
                Self::Ttcp => datagrams::check(transfer),
                Self::Windlass => udp::check_asked(transfer, udp::SHORTEST),
                Self::Iperf3 => iperf3::client::check(transfer),
                Self::Iperf if transfer.direction != Direction::Forward => {
                    Err(Error::Asked(format!("{self} sends data to the server only")))
                }
                Self::Iperf if transfer.omit > Span::ZERO => {
                    let why = "an iperf server counts all datagrams, so --omit is not possible";
                    Err(Error::Asked(why.to_owned()))
                }
                // The client's header has to fit.
                Self::Iperf => {
                    let shortest = u32::try_from(iperf2::datagrams::SHORTEST).unwrap_or(u32::MAX);
                    udp::check_asked(transfer, shortest)
                }
            };
        }
        match self {
            Self::Iperf3 => iperf3::client::check(transfer),
            Self::Iperf | Self::Ttcp if transfer.direction != Direction::Forward => {
                Err(Error::Asked(format!("{self} sends data to the server only")))
            }
            Self::Iperf if transfer.until == EndCondition::SourceEnds => {
                let why = "an iperf server reads the first bytes of the file as a header; use \
                           --protocol ttcp";
                Err(Error::Asked(why.to_owned()))
            }
            Self::Windlass | Self::Iperf | Self::Ttcp => Ok(()),
        }
    }

    /// Returns whether the protocol is data only, from the client to the server.
    pub const fn is_plain(self) -> bool {
        matches!(self, Self::Iperf | Self::Ttcp)
    }
}
