//! Ctrl-C, for commands that have something to tell before they end.
//!
//! So are SIGTERM and SIGHUP heard: what was measured is not lost where a connection to the host
//! ends on which windlass runs. One that nohup(1) started goes on.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

#[cfg(target_os = "linux")]
use signal_hook::consts::SIGHUP;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{SigId, flag, low_level};
use windlass_base::Failure;
#[cfg(target_os = "linux")]
use windlass_host::is_ignored;

/// Turns Ctrl-C, SIGTERM and SIGHUP into a flag; `doing` is what cannot be done where the system
/// does not allow it. The second Ctrl-C ends windlass at once; timeout(1) sends SIGTERM
/// twice and means it once.
pub(crate) fn listen(doing: impl Into<String>) -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    heed(&stop, &stop, true).map_err(|error| Failure::new(doing, error))?;
    Ok(stop)
}

/// The same for a server to which SIGHUP says something else.
#[cfg(target_os = "linux")]
pub(crate) fn listen_but_hang_up(doing: impl Into<String>) -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    heed(&stop, &stop, false).map_err(|error| Failure::new(doing, error))?;
    Ok(stop)
}

/// The same for a command that has to end in order: another Ctrl-C ends it only
/// when `again` is set. timeout(1) with SIGINT sends it twice, too.
pub(crate) fn listen_until(
    again: &Arc<AtomicBool>,
    doing: impl Into<String>,
) -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    heed(&stop, again, true).map_err(|error| Failure::new(doing, error))?;
    Ok(stop)
}

/// The same for a part of a command, behind which a Ctrl-C ends windlass again.
pub(crate) fn during<T>(part: impl FnOnce(&Arc<AtomicBool>) -> T) -> T {
    let stop = Arc::new(AtomicBool::new(false));
    // Where the system does not allow it, the first one ends windlass.
    let handlers = heed(&stop, &stop, true);
    let done = part(&stop);
    for handler in handlers.into_iter().flatten() {
        low_level::unregister(handler);
    }
    done
}

/// The same flags for all; SIGHUP where that is the end of the terminal, and not ignored.
fn heed(stop: &Arc<AtomicBool>, again: &Arc<AtomicBool>, hang_up: bool) -> io::Result<Vec<SigId>> {
    let mut handlers = vec![
        flag::register_conditional_shutdown(SIGINT, 1, Arc::clone(again))?,
        flag::register(SIGINT, Arc::clone(stop))?,
        flag::register(SIGTERM, Arc::clone(stop))?,
    ];
    if hang_up {
        handlers.extend(at_hang_up(stop)?);
    }
    Ok(handlers)
}

#[cfg(target_os = "linux")]
fn at_hang_up(stop: &Arc<AtomicBool>) -> io::Result<Option<SigId>> {
    (!is_ignored(SIGHUP)).then(|| flag::register(SIGHUP, Arc::clone(stop))).transpose()
}

/// Where it is not known whether it is ignored, the system does about it what it does.
#[cfg(not(target_os = "linux"))]
fn at_hang_up(_: &Arc<AtomicBool>) -> io::Result<Option<SigId>> {
    Ok(None)
}
