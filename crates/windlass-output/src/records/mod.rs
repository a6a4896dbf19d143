//! How each record reads: its text, its lines on the way, and its live view.

#[cfg(target_os = "linux")]
mod compare;
#[cfg(target_os = "linux")]
pub mod device_run;
#[cfg(target_os = "linux")]
pub mod ended;
#[cfg(target_os = "linux")]
pub mod host;
#[cfg(target_os = "linux")]
pub mod ip;
#[cfg(target_os = "linux")]
pub mod link;
#[cfg(target_os = "linux")]
pub mod load;
#[cfg(target_os = "linux")]
pub mod runs;
#[cfg(target_os = "linux")]
pub mod send;
#[cfg(target_os = "linux")]
pub mod serve;
pub mod sweep;
