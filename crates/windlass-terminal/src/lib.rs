#![doc = include_str!("../README.md")]
//!
//! [`Screen`] is the thread, [`Scene`] what it shows. `Held` is what programs write meanwhile. The
//! modules beneath are the terminal itself, which is taken and given back, and the keys in its
//! bytes.
//!
//! Elsewhere than on Linux a [`Screen`] never opens.

#[cfg(target_os = "linux")]
mod held;
#[cfg(target_os = "linux")]
mod keys;
mod scene;
#[cfg_attr(not(target_os = "linux"), path = "no_screen.rs")]
mod screen;
#[cfg(target_os = "linux")]
mod signals;
#[cfg(target_os = "linux")]
mod terminal;

#[cfg(target_os = "linux")]
pub use held::Held;
pub use scene::{Answer, Key, Scene, Size};
pub use screen::Screen;
