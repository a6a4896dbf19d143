//! Ctrl-C, for commands that report before they end.
//!
//! SIGTERM and SIGHUP are handled, too, so that a measurement is not lost when the terminal's
//! connection ends. A windlass that nohup(1) started continues.

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

/// Turns Ctrl-C, SIGTERM and SIGHUP into a flag; `doing` begins the error if the system does not
/// allow the handlers. The second Ctrl-C ends windlass at once; timeout(1) sends SIGTERM twice and
/// means it once.
pub(crate) fn listen(doing: impl Into<String>) -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    heed(&stop, &stop, true).map_err(|error| Failure::new(doing, error))?;
    Ok(stop)
}

/// Turns Ctrl-C and SIGTERM into a flag, for a server that gives SIGHUP another meaning.
#[cfg(target_os = "linux")]
pub(crate) fn listen_but_hang_up(doing: impl Into<String>) -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    heed(&stop, &stop, false).map_err(|error| Failure::new(doing, error))?;
    Ok(stop)
}

/// Turns Ctrl-C, SIGTERM and SIGHUP into a flag, for a command that has to end in order. A second
/// Ctrl-C ends the command only if `again` is set; timeout(1) with SIGINT sends SIGINT twice.
pub(crate) fn listen_until(
    again: &Arc<AtomicBool>,
    doing: impl Into<String>,
) -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    heed(&stop, again, true).map_err(|error| Failure::new(doing, error))?;
    Ok(stop)
}

/// Turns the signals into a flag during `part` of a command; afterwards Ctrl-C ends windlass.
pub(crate) fn during<T>(part: impl FnOnce(&Arc<AtomicBool>) -> T) -> T {
    let stop = Arc::new(AtomicBool::new(false));
    // If the system does not allow the handlers, the first Ctrl-C ends windlass.
    let handlers = heed(&stop, &stop, true);
    let done = part(&stop);
    for handler in handlers.into_iter().flatten() {
        low_level::unregister(handler);
    }
    done
}

/// Registers the handlers; `hang_up` includes SIGHUP, unless it is ignored (nohup).
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

/// Leaves SIGHUP to the system, if windlass cannot tell whether it is ignored.
#[cfg(not(target_os = "linux"))]
fn at_hang_up(_: &Arc<AtomicBool>) -> io::Result<Option<SigId>> {
    Ok(None)
}
