#![doc = include_str!("../README.md")]
//!
//! What the machine does: processors, memory, disks and processes, as vmstat(8),
//! iostat(1) and top(1) tell of them; and its TCP [`connections`], as ss(8) does.
//!
//! [`proc`] reads the kernel's accounts, [`sample`] is what all of them said at
//! one moment, [`rates`] what happened between two, [`summary`] and [`findings`]
//! what it comes to, [`syscalls`] what processes ask of the kernel. These are pure: text and samples in, values out. `read` is
//! the edge to the files, and [`Watcher`] the thread that looks at them. [`cpu`] has
//! the processors of this process, [`Identity`] whom it acts for, [`is_ignored`] what it does
//! not hear.
#![cfg(target_os = "linux")]

pub use windlass_sys::clock::now;
pub use windlass_sys::cpu;
pub use windlass_sys::privileges::Identity;
pub use windlass_sys::process::is_ignored;

pub mod busiest;
pub mod census;
pub mod columns;
pub mod connections;
pub mod findings;
mod meanwhile;
pub mod proc;
pub mod processors;
pub mod rates;
mod read;
pub mod sample;
pub mod spread;
pub mod summary;
pub mod syscalls;
mod watcher;

use windlass_base::Span;

/// The least time of which a share of a processor is told. The kernel counts the time
/// of a process in ticks of 10 ms (`USER_HZ`, `proc_pid_stat(5)`), in programs and in
/// the kernel apart, so each of both may be off by a tick: of ten ticks that is a tenth.
/// Of a millisecond it would be ten times the processor.
pub const LEAST: Span = Span::from_millis(100);

pub use meanwhile::{Meanwhile, Running, Times};
pub use rates::Interval;
pub use read::{Error, Source, processors};
pub use sample::WatchTarget;
pub use summary::Summary;
pub use watcher::{HostReport, Machine, Settings, WatchEvent, Watcher};
