#![doc = include_str!("../README.md")]
//!
//! [`Screen`] is the thread, [`Scene`] what it shows. [`Held`] is what programs write meanwhile. The modules beneath are the terminal
//! itself, which is taken and given back, and the keys in its bytes.
#![cfg(target_os = "linux")]

mod held;
mod keys;
mod screen;
mod signals;
mod terminal;

pub use held::Held;
pub use keys::Key;
pub use screen::{Answer, Scene, Screen};
pub use terminal::Size;
