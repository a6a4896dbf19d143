#![doc = include_str!("../README.md")]
//!
//! The Linux edge: what the kernel offers and the standard library does not.
//!
//! This is the only crate with `unsafe`. Each block of it says why it is sound.
//! It holds no policy: what to do with what the kernel says is up to the
//! caller. Namespaces, TUN interfaces and exact waits are there on Linux only;
//! the rest says elsewhere that it is not.
#![allow(unsafe_code, reason = "this crate is where the house keeps it")]
#![deny(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

pub mod cache;
#[cfg(target_os = "linux")]
mod capabilities;
#[cfg(target_os = "linux")]
pub mod capture;
pub mod clock;
#[cfg(target_os = "linux")]
pub mod cpu;
#[cfg(target_os = "linux")]
pub mod file;
#[cfg(target_os = "linux")]
pub mod generator;
#[cfg(target_os = "linux")]
pub mod icmp;
pub mod map;
#[cfg(target_os = "linux")]
pub mod namespace;
#[cfg(all(test, target_os = "linux"))]
mod pair;
#[cfg(target_os = "linux")]
pub mod pcap;
#[cfg(target_os = "linux")]
pub mod pipe;
#[cfg(target_os = "linux")]
pub mod privileges;
#[cfg(target_os = "linux")]
pub mod process;
#[cfg(target_os = "linux")]
pub mod route;
#[cfg(target_os = "linux")]
pub mod socket;
#[cfg(target_os = "linux")]
pub mod splice;
#[cfg(target_os = "linux")]
pub mod tcp;
#[cfg(target_os = "linux")]
pub mod tcp_info;
#[cfg(target_os = "linux")]
pub mod tun;
#[cfg(target_os = "linux")]
pub mod wait;
