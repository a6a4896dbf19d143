//! The protocol of iperf3: its control connection, without sockets.
//!
//! A client opens a control connection and begins it with a [`Cookie`]. From then on the server
//! leads, with a [`TestState`] of one byte for each step:
//!
//! ```text
//! client                          server
//! cookie ───────────────────────►
//!        ◄─────────────────────── PARAM_EXCHANGE, or ACCESS_DENIED
//! parameters ───────────────────►
//!        ◄─────────────────────── CREATE_STREAMS, or SERVER_ERROR
//! streams, a cookie on each ────►
//!        ◄─────────────────────── TEST_START, TEST_RUNNING
//! data ◄────────────────────────► data
//! TEST_END ─────────────────────►
//!        ◄─────────────────────── EXCHANGE_RESULTS
//! results ──────────────────────►
//!        ◄─────────────────────── results, DISPLAY_RESULTS
//! IPERF_DONE ───────────────────►
//! ```
//!
//! Parameters and results are JSON behind a big-endian length of four bytes. Each end is a state
//! machine, [`client::Client`] or [`server::Server`], which takes inputs and returns actions. The
//! code was checked against iperf 3.12: `recorded/` holds its exchanges with its server.

pub mod client;
mod code;
mod cookie;
mod failure;
pub mod hello;
mod inbox;
mod number;
mod parameters;
mod results;
pub mod server;
mod state;

pub use code::Code;
pub use cookie::{BadCookie, Cookie};
pub use failure::{Failure, Phase};
pub use parameters::Parameters;
pub use results::{NO_RETRANSMITS, Results, StreamResults};
pub use state::TestState;

/// The port of iperf3's server.
pub const PORT: u16 = 5_201;

/// Longest parameters that are read, in bytes. Those of iperf3 take some 150 bytes, besides a
/// title, extra data and a login token.
pub const LONGEST_PARAMETERS: usize = 64 << 10;

/// Longest results that are read, in bytes. A stream takes some 200 bytes; a server may add its
/// printed text on request.
pub const LONGEST_RESULTS: usize = 4 << 20;

/// Returns iperf3's number of a stream by its index: 1, 3, 4, 5 and so on. There is no 2
/// (`iperf_add_stream`).
pub const fn stream_id(place: u16) -> i64 {
    match place {
        0 => 1,
        place => place as i64 + 2,
    }
}

/// Encodes a message as JSON behind its length.
fn framed(message: &impl serde::Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, message)?;
    let length = u32::try_from(bytes.len() - 4).unwrap_or(u32::MAX);
    bytes[..4].copy_from_slice(&length.to_be_bytes());
    Ok(bytes)
}

#[cfg(test)]
mod session_tests;
