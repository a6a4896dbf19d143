//! What can go wrong with a test.

use std::io;
use std::time::Duration;

use windlass_wire::iperf3::Failure;

use crate::control::frame::BadFrame;

/// What went wrong, and at what.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The name does not resolve.
    #[error("cannot find {host}: {source}")]
    Resolve {
        /// The name.
        host: String,
        /// What the system says.
        source: io::Error,
    },
    /// No connection.
    #[error("cannot connect to {to}: {source}")]
    Connect {
        /// The address.
        to: String,
        /// What the system says.
        source: io::Error,
    },
    /// A port cannot be listened on.
    #[error("cannot listen on {on}: {source}")]
    Listen {
        /// The address.
        on: String,
        /// What the system says.
        source: io::Error,
    },
    /// A socket does not take an option.
    #[error("cannot set {option} to {value}: {source}")]
    Option {
        /// Which.
        option: &'static str,
        /// To what.
        value: String,
        /// What the system says.
        source: io::Error,
    },
    /// Something of the system failed.
    #[error("{doing}: {source}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// The other end has gone.
    #[error("the other end closed the connection while {during}")]
    Gone {
        /// What was being done.
        during: &'static str,
    },
    /// The other end says nothing.
    #[error("nothing was heard from the other end for {} s while {during}", after.as_secs_f64())]
    Silent {
        /// What was being done.
        during: &'static str,
        /// For how long.
        after: Duration,
    },
    /// The other end says no.
    #[error("the other end refuses: {0}")]
    Refused(String),
    /// It asks for a token that was not given.
    #[error("the server asks for a token")]
    TokenNeeded,
    /// The other end says something that it may not.
    #[error("the other end does not keep to the protocol: {0}")]
    Protocol(String),
    /// A test with an end that speaks iperf3's protocol came to nothing.
    #[error(transparent)]
    Iperf3(#[from] Failure),
    /// A stream of data failed.
    #[error("a stream failed: {0}")]
    Stream(String),
    /// The system lets this user have no socket for ICMP.
    #[error("cannot open a socket for ICMP: {source}")]
    NoIcmp {
        /// What the system says.
        source: io::Error,
    },
    /// What was asked for cannot be done.
    #[error("{0}")]
    Asked(String),
}

impl Error {
    pub(crate) fn io(doing: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| Self::Io { doing, source }
    }
}

impl From<BadFrame> for Error {
    fn from(bad: BadFrame) -> Self {
        Self::Protocol(bad.to_string())
    }
}
