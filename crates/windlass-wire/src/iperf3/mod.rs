//! The protocol of iperf3: its control connection, without sockets.
//!
//! A client opens a control connection and begins it with a [`Cookie`]. From
//! then on the server leads, with a [`TestState`] in one byte each time:
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
//! Parameters and results are JSON behind a length of four bytes, big-endian.
//! Either end is a machine: [`client::Client`], [`server::Server`]. They are told
//! what came, and say what is to be done. Checked against iperf 3.12: what it
//! and its server said is in `recorded/`.

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

/// The longest parameters that are read, in bytes. Those of iperf3 take some
/// 150; a title, extra data and a token for its login come on top.
pub const LONGEST_PARAMETERS: usize = 64 << 10;

/// The longest results that are read, in bytes. A stream takes some 200; a
/// server that was asked to adds what it printed.
pub const LONGEST_RESULTS: usize = 4 << 20;

/// The number by which iperf3 knows a stream, from its place: 1, 3, 4, 5 and so
/// on. There is no 2 (`iperf_add_stream`).
pub const fn stream_id(place: u16) -> i64 {
    match place {
        0 => 1,
        place => place as i64 + 2,
    }
}

/// A message as JSON behind its length.
fn framed(message: &impl serde::Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, message)?;
    let length = u32::try_from(bytes.len() - 4).unwrap_or(u32::MAX);
    bytes[..4].copy_from_slice(&length.to_be_bytes());
    Ok(bytes)
}

#[cfg(test)]
mod session_tests;
