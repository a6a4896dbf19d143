//! Sources of a printer's state, for printers that get the data alone.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::target::Protocol;

/// The port of SNMP agents (RFC 1157, section 4).
pub const SNMP_PORT: u16 = 161;

/// The community that agents answer to unless somebody chose another.
const USUAL_COMMUNITY: &str = "public";

/// The longest community: a request stays well below the 484 octets that every agent takes
/// (RFC 1157, section 4).
const MAX_COMMUNITY: usize = 128;

/// A source of a printer's state: `snmp`, `snmp:COMMUNITY`, `snmp:COMMUNITY@PORT` or `pjl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum StatusSource {
    /// Its SNMP agent, by the Host Resources MIB and the Printer MIB.
    Snmp {
        /// The community, which the agent takes for a password.
        community: String,
        /// The agent's port.
        port: u16,
    },
    /// The back-channel of the connection that carries the data, by PJL.
    Pjl,
}

/// The reason why words name no source of a printer's state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StatusSourceError {
    /// The kind of source is unknown.
    #[error("{0:?} is not a status source: use snmp, snmp:COMMUNITY, snmp:COMMUNITY@PORT or pjl")]
    Kind(String),
    /// The community is empty, too long, or not of printable ASCII.
    #[error("an SNMP community has 1 to {MAX_COMMUNITY} printable ASCII characters, no spaces")]
    Community,
    /// The device has no such source.
    #[error("status = {kind:?} needs a device of {needs}")]
    Device {
        /// The kind of the source.
        kind: &'static str,
        /// The devices that have it.
        needs: &'static str,
    },
}

impl StatusSource {
    /// Returns the kind, without the community.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Snmp { .. } => "snmp",
            Self::Pjl => "pjl",
        }
    }

    /// Returns whether a device has this source, by the protocol that it speaks.
    ///
    /// # Errors
    /// Fails if the device has no such source: IPP printers report their state by IPP, LPR has no
    /// back-channel, and only hosts have agents.
    pub const fn fits(&self, protocol: Option<Protocol>) -> Result<(), StatusSourceError> {
        match (self, protocol) {
            (Self::Snmp { .. }, Some(Protocol::Raw | Protocol::Lpr))
            | (Self::Pjl, Some(Protocol::Raw)) => Ok(()),
            (Self::Snmp { .. }, _) => {
                Err(StatusSourceError::Device { kind: "snmp", needs: "socket: or lpd:" })
            }
            (Self::Pjl, _) => Err(StatusSourceError::Device { kind: "pjl", needs: "socket:" }),
        }
    }
}

impl FromStr for StatusSource {
    type Err = StatusSourceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (kind, rest) = match text.split_once(':') {
            Some((kind, rest)) => (kind, Some(rest)),
            None => (text, None),
        };
        match (kind, rest) {
            ("pjl", None) => Ok(Self::Pjl),
            ("snmp", None) => {
                Ok(Self::Snmp { community: USUAL_COMMUNITY.to_owned(), port: SNMP_PORT })
            }
            ("snmp", Some(rest)) => {
                // A community may have an @ of its own.
                let with_port = rest.rsplit_once('@').and_then(|(community, port)| {
                    Some((community, port.parse().ok().filter(|port| *port > 0)?))
                });
                let (community, port) = with_port.unwrap_or((rest, SNMP_PORT));
                let is_fine = (1..=MAX_COMMUNITY).contains(&community.len())
                    && community.bytes().all(|byte| byte.is_ascii_graphic());
                if !is_fine {
                    return Err(StatusSourceError::Community);
                }
                Ok(Self::Snmp { community: community.to_owned(), port })
            }
            _ => Err(StatusSourceError::Kind(text.to_owned())),
        }
    }
}

impl TryFrom<String> for StatusSource {
    type Error = StatusSourceError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<StatusSource> for String {
    fn from(source: StatusSource) -> Self {
        source.to_string()
    }
}

impl fmt::Display for StatusSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The port is always written, because the community may end like a port.
            Self::Snmp { community, port } => write!(f, "snmp:{community}@{port}"),
            Self::Pjl => f.write_str("pjl"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snmp(community: &str, port: u16) -> StatusSource {
        StatusSource::Snmp { community: community.to_owned(), port }
    }

    #[test]
    fn a_source_is_read_and_written() {
        for (text, source) in [
            ("pjl", StatusSource::Pjl),
            ("snmp", snmp("public", 161)),
            ("snmp:floor2", snmp("floor2", 161)),
            ("snmp:floor2@1161", snmp("floor2", 1_161)),
            ("snmp:a@b", snmp("a@b", 161)),
            ("snmp:a:b@2@161", snmp("a:b@2", 161)),
        ] {
            assert_eq!(text.parse(), Ok(source.clone()), "{text}");
            assert_eq!(source.to_string().parse(), Ok(source), "{text}");
        }
        for wrong in ["", "SNMP", "pjl:", "snmp:", "snmp:@161", "snmp:a b", "snmp:ä", "ipp"] {
            assert!(wrong.parse::<StatusSource>().is_err(), "{wrong}");
        }
        assert!(format!("snmp:{}", "a".repeat(129)).parse::<StatusSource>().is_err());
    }

    #[test]
    fn a_source_fits_devices_that_have_it() {
        let agent = snmp("public", 161);
        assert!(agent.fits(Some(Protocol::Raw)).is_ok() && agent.fits(Some(Protocol::Lpr)).is_ok());
        assert!(agent.fits(Some(Protocol::Ipp)).is_err() && agent.fits(None).is_err());
        assert!(StatusSource::Pjl.fits(Some(Protocol::Raw)).is_ok());
        assert!(StatusSource::Pjl.fits(Some(Protocol::Lpr)).is_err());
    }
}
