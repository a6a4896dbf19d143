#![doc = include_str!("../README.md")]
//!
//! [`Screen`] is the thread, and [`Scene`] the contents that it shows. `HeldOutput` is the output
//! of programs meanwhile. The modules beneath are the terminal itself, which is taken and given
//! back, and the keys in its bytes.
//!
//! On systems other than Linux a [`Screen`] never opens.

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
pub use held::HeldOutput;
pub use scene::{Answer, Key, Scene, Size};
pub use screen::Screen;
