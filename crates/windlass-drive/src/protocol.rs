//! How two ends speak of a test.

use std::fmt;

use serde::{Deserialize, Serialize};
use windlass_wire::{iperf2, iperf3 as wire};

use crate::error::Error;
use crate::iperf3;
use crate::transfer::{Direction, Transfer, Until};

/// How two ends speak of a test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// As windlass and windlass do: both ends tell what their kernels say.
    #[default]
    Windlass,
    /// As iperf3 does: both ends tell bytes, times and processor time.
    Iperf3,
    /// As iperf 2 does in its plain test: data, and nothing else.
    Iperf,
    /// As ttcp does: data, and nothing else.
    Ttcp,
}

impl Protocol {
    /// Its name: `iperf3`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Windlass => "windlass",
            Self::Iperf3 => "iperf3",
            Self::Iperf => "iperf",
            Self::Ttcp => "ttcp",
        }
    }

    /// The port that its servers listen on.
    #[must_use]
    pub const fn port(self) -> u16 {
        match self {
            Self::Windlass | Self::Iperf3 => wire::PORT,
            Self::Iperf | Self::Ttcp => iperf2::PORT,
        }
    }

    /// What runs at the other end: `iperf3 -s`.
    #[must_use]
    pub const fn server(self) -> &'static str {
        match self {
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

    /// Whether there is nothing but data, from the client to the server.
    #[must_use]
    pub const fn is_plain(self) -> bool {
        matches!(self, Self::Iperf | Self::Ttcp)
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
