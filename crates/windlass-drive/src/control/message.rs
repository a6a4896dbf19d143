//! What client and server say to each other.

use serde::{Deserialize, Serialize};

use super::preamble::TestId;
use super::token::Nonce;
use crate::report::{Interval, SideReport};
use crate::transfer::Transfer;

/// What a client wants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ask {
    /// A transfer.
    Transfer(Box<Transfer>),
    /// Answers: from here on this connection carries requests of so many bytes,
    /// and each is answered with so many.
    Echo {
        /// The size of a request, in bytes.
        request: u32,
        /// The size of an answer, in bytes.
        response: u32,
        /// True if the server is to sleep until a request comes, as most do. An older one does
        /// not hear that, and is awake.
        #[serde(default)]
        asleep: bool,
    },
    /// The same by datagrams, on one flow, for as long as this connection is there.
    EchoDatagrams {
        /// The size of a request, in bytes.
        request: u32,
        /// The size of an answer, in bytes.
        response: u32,
    },
}

/// From the client, before a test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Request {
    /// The answer to the server's nonce, where it asks for a token.
    pub proof: Option<String>,
    /// What is wanted.
    pub ask: Ask,
}

/// From the server, before a test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    /// The first word.
    Welcome {
        /// What the server is, for people: `windlass 0.1.0`.
        software: String,
        /// What to answer under the token; nothing where none is asked for.
        nonce: Option<Nonce>,
    },
    /// The server does not do it.
    Refused {
        /// Why, in words.
        why: String,
    },
    /// It does. For a transfer, its streams are to be opened now.
    Accepted {
        /// The name of the test.
        test: TestId,
        /// Where the data connections go; nothing where they go to the port of
        /// the control connection.
        port: Option<u16>,
        /// Of answers: whether the server sleeps until a request comes. An older one does not
        /// say.
        #[serde(default)]
        asleep: Option<bool>,
    },
}

/// During a test, from either end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Word {
    /// All streams are there: the test begins. The server says it.
    Begin,
    /// This end is still there.
    Beat,
    /// An interval is over.
    Interval(Interval),
    /// The test ends here and now.
    Stop,
    /// Over UDP, where the end of the data does not show: this end has sent all.
    Sent {
        /// Of each flow that it sends: its number, and how many datagrams.
        flows: Vec<(u16, u64)>,
    },
    /// This end has done its part.
    Done(Box<SideReport>),
    /// This end cannot go on.
    Failed {
        /// Why, in words.
        why: String,
    },
}
