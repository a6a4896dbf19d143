//! Peers that keep to nothing, of the own protocol and of iperf3's.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod iperf3;
mod own;
