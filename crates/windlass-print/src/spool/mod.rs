//! The spool server.

pub mod store;
