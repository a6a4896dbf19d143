#![doc = include_str!("../README.md")]
//!
//! The Linux edge: what the kernel offers and the standard library does not.
//!
//! This is the only crate with `unsafe`. Each block of it says why it is sound.
//! The crate holds no policy: its callers decide what to do with the kernel's answers. On another
//! system it is empty.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "this crate is where the house keeps it")]
#![deny(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

pub mod account;
pub mod activation;
pub mod cache;
mod call;
pub mod capture;
pub mod clock;
pub mod confined;
pub mod cpu;
pub mod datagrams;
pub mod file;
pub mod folder;
pub mod generator;
pub mod icmp;
pub mod interfaces;
pub mod limits;
pub mod local_time;
pub mod map;
mod memory;
pub mod namespace;
mod netlink;
#[cfg(test)]
#[path = "tests/pair.rs"]
mod pair;
pub mod pcap;
pub mod pipe;
pub mod privileges;
pub mod process;
pub mod ptrace;
mod refused;
pub mod rights;
pub mod route;
pub mod sock_diag;
pub mod socket;
pub mod splice;
pub mod tcp;
pub mod tcp_info;
pub mod tun;
pub mod unix;
pub mod users;
pub mod wait;
