//! Analysis of conversations: from segments to connections, flows and their waits.

pub(crate) mod ack;
pub(crate) mod analysis;
pub(crate) mod analyzer;
pub(crate) mod closure;
pub(crate) mod connection;
pub(crate) mod counts;
pub(crate) mod flow;
pub(crate) mod handshake;
pub(crate) mod hibernated;
pub(crate) mod ledger;
pub(crate) mod live;
pub(crate) mod outstanding;
pub(crate) mod rounds;
pub(crate) mod sequence;
pub(crate) mod sequence_gaps;
pub(crate) mod setting;
pub(crate) mod table;
pub(crate) mod transfer;
pub(crate) mod windows;
pub(crate) mod written;
