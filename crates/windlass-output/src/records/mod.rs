//! Records for people: text, lines during the run, and live views.

pub mod capture_head;
#[cfg(target_os = "linux")]
mod compare;
#[cfg(target_os = "linux")]
pub mod device_run;
#[cfg(target_os = "linux")]
pub mod ended;
pub mod explain;
#[cfg(target_os = "linux")]
pub mod host;
#[cfg(target_os = "linux")]
pub mod ip;
#[cfg(target_os = "linux")]
pub mod link;
#[cfg(target_os = "linux")]
pub mod load;
pub mod not_tcp;
#[cfg(target_os = "linux")]
pub mod ping;
#[cfg(target_os = "linux")]
pub mod print;
#[cfg(target_os = "linux")]
pub mod runs;
#[cfg(target_os = "linux")]
pub mod send;
#[cfg(target_os = "linux")]
pub mod serve;
pub mod sweep;
