#![doc = include_str!("../README.md")]
//!
//! The state of the machine: processors, memory, disks and processes, as in vmstat(8), iostat(1)
//! and top(1); and its TCP [`connections`], as in ss(8).
//!
//! [`proc`] reads the kernel's accounts, and [`sample`] is all of them at one moment. [`rates`] are
//! the changes between two moments. [`summary`] and [`findings`] sum up a run, and [`syscalls`]
//! counts the system calls of processes. These are pure: text and samples in, values out. `read` is
//! the edge to the files, and [`Watcher`] the thread that samples them. [`cpu`] has the processors
//! of this process, [`Identity`] its user and group, and [`is_ignored`] the signals that it
//! ignores.
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

/// Minimum time for which a share of a processor is computed. The kernel counts a process's time in
/// ticks of 10 ms (`USER_HZ`, `proc_pid_stat(5)`), user and system time apart. So each of the two
/// may be off by a tick: a tenth of ten ticks, but ten times the processor over a millisecond.
pub const LEAST: Span = Span::from_millis(100);

pub use meanwhile::{CurrentRun, RunContext, RunTimes};
pub use rates::Interval;
pub use read::{Error, Source, processors};
pub use sample::WatchTarget;
pub use summary::Summary;
pub use watcher::{HostReport, Machine, Settings, WatchEvent, Watcher};
