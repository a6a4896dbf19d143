//! Messages between client and server.

use serde::{Deserialize, Serialize};

use super::preamble::TestId;
use super::token::Nonce;
use crate::report::{Interval, SideReport};
use crate::transfer::Transfer;

/// Service that a client asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequestedService {
    /// A transfer.
    Transfer(Box<Transfer>),
    /// Answers: from here on this connection carries requests of one size, each with an answer of
    /// one size.
    Echo {
        /// The size of a request, in bytes.
        request: u32,
        /// The size of an answer, in bytes.
        response: u32,
        /// True if the server is to sleep until a request comes, as most programs do. An older
        /// server does not know this field and stays awake.
        #[serde(default)]
        asleep: bool,
    },
    /// Answers over UDP, on one flow, for as long as this connection is open.
    EchoDatagrams {
        /// The size of a request, in bytes.
        request: u32,
        /// The size of an answer, in bytes.
        response: u32,
    },
}

/// Message from the client before a test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Request {
    /// Answer to the server's nonce, if the server requires a token.
    pub proof: Option<String>,
    /// Requested service.
    pub ask: RequestedService,
}

/// Message from the server before a test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    /// First message.
    Welcome {
        /// Name and version of the server, for people: `windlass 0.1.0`.
        software: String,
        /// Challenge to answer with the token; nothing if no token is required.
        nonce: Option<Nonce>,
    },
    /// The server refuses the request.
    Refused {
        /// Reason, in words.
        why: String,
    },
    /// The server accepts the request. For a transfer, the client now opens its streams.
    Accepted {
        /// The name of the test.
        test: TestId,
        /// For answers: true if the server sleeps until a request comes. An older server does not
        /// say.
        #[serde(default)]
        asleep: Option<bool>,
    },
}

/// Message during a test, from either end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Word {
    /// All streams are open: the test begins. Only the server sends this.
    Begin,
    /// This end is still there.
    Beat,
    /// An interval has ended.
    Interval(Interval),
    /// The test ends at once.
    Stop,
    /// This end has sent everything. UDP needs this, because the end of the data does not show.
    Sent {
        /// Number of each flow that this end sends, and its number of datagrams.
        flows: Vec<(u16, u64)>,
    },
    /// This end has finished its part.
    Done(Box<SideReport>),
    /// This end cannot continue.
    Failed {
        /// Reason, in words.
        why: String,
    },
}
