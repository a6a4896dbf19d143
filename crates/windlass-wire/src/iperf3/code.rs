//! Error numbers of iperf3.

use std::fmt;

/// Error number of an iperf3 server, from `iperf_api.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Code(pub i32);

impl Code {
    /// Too many streams (`IENUMSTREAMS`).
    pub const STREAMS: Self = Self(6);
    /// Too large a block (`IEBLOCKSIZE`).
    pub const BLOCK_SIZE: Self = Self(7);
    /// Impossible datagram size (`IEUDPBLOCKSIZE`).
    pub const DATAGRAM_SIZE: Self = Self(20);
    /// An option that is not implemented (`IEUNIMP`).
    pub const NOT_BUILT: Self = Self(13);
    /// An invalid message (`IEMESSAGE`).
    pub const MESSAGE: Self = Self(110);
    /// Unreadable parameters (`IERECVPARAMS`).
    pub const PARAMETERS: Self = Self(114);
    /// Unreadable results (`IERECVRESULTS`).
    pub const RESULTS: Self = Self(117);
    /// The server is busy (`IEACCESSDENIED`).
    pub const BUSY: Self = Self(121);
    /// Unsupported transport protocol (`IEPROTOCOL`).
    pub const PROTOCOL: Self = Self(131);
    /// The server cannot set the CPU affinity (`IEAFFINITY`).
    pub const AFFINITY: Self = Self(132);
    /// Unknown congestion control (`IESETCONGESTION`).
    pub const CONGESTION: Self = Self(134);
    /// Authentication failed (`IEAUTHTEST`).
    pub const LOGIN: Self = Self(142);
    /// A stream cannot be accepted (`IESTREAMACCEPT`).
    pub const ACCEPT: Self = Self(204);

    /// Returns iperf3's meaning of the number, if servers send it.
    const fn meaning(self) -> Option<&'static str> {
        Some(match self.0 {
            3 | 4 => "an option is only for the other end",
            5 => "the test is too long",
            6 => "too many streams",
            7 => "the block is too large",
            8 => "the socket buffer is too large",
            10 => "the MSS is too large",
            12 => "the time to omit is not valid",
            13 => "an option is not implemented",
            15 => "the burst is too large",
            16 => "only one of time, bytes and blocks may be given",
            20 => "the size of a datagram is not valid",
            27 => "the bandwidth is more than it allows",
            102 => "it cannot listen for the streams",
            107 => "it cannot write to the control connection",
            108 | 112 => "it cannot read from the control connection",
            109 => "the control connection has closed",
            110 => "it received an unknown message",
            114 => "it cannot read the parameters",
            115 | 116 => "it cannot send its results",
            117 => "it cannot read the results",
            119 => "the client has ended",
            120 => "the server has ended",
            121 => "it is busy with another test",
            122 => "it cannot set TCP_NODELAY",
            123 => "it cannot set the MSS",
            124 | 141 => "it cannot set the socket buffer",
            130 => "it cannot set the window",
            131 => "it does not serve this transport protocol",
            134 => "it has no such congestion control",
            140 => "it cannot set the pacing rate",
            142 => "it asks for a user and a password, or those given are wrong",
            144 => "it has heard nothing for too long",
            200 | 201 | 203 | 204 => "it cannot open a stream",
            202 => "it cannot listen for a stream",
            205 => "it cannot write to a stream",
            206 => "it cannot read from a stream",
            207 => "a stream has closed",
            208 => "a stream's number is wrong",
            _ => return None,
        })
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.meaning() {
            Some(meaning) => write!(f, "{meaning} (iperf3's error {})", self.0),
            None => write!(f, "iperf3's error {}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_reads_as_what_it_means() {
        let text = Code::PROTOCOL.to_string();
        assert_eq!(text, "it does not serve this transport protocol (iperf3's error 131)");
        assert_eq!(Code(-7).to_string(), "iperf3's error -7");
        for code in [
            Code::STREAMS,
            Code::BLOCK_SIZE,
            Code::DATAGRAM_SIZE,
            Code::NOT_BUILT,
            Code::MESSAGE,
            Code::PARAMETERS,
            Code::RESULTS,
            Code::BUSY,
            Code::CONGESTION,
            Code::LOGIN,
            Code::ACCEPT,
        ] {
            assert!(code.meaning().is_some(), "{code:?}");
        }
    }
}
