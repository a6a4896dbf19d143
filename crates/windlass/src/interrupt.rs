//! Ctrl-C, for commands that have something to tell before they end.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Turns Ctrl-C and SIGTERM into a flag. The second Ctrl-C ends windlass at once;
/// timeout(1) sends SIGTERM twice and means it once.
///
/// # Errors
/// Where the system does not allow it.
pub(crate) fn listen() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    flag::register_conditional_shutdown(SIGINT, 1, Arc::clone(&stop))?;
    heed(&stop)?;
    Ok(stop)
}

/// The same for a command that has to end in order: another Ctrl-C ends it only
/// when `again` is set. timeout(1) with SIGINT sends it twice, too.
///
/// # Errors
/// Where the system does not allow it.
pub(crate) fn listen_until(again: &Arc<AtomicBool>) -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    flag::register_conditional_shutdown(SIGINT, 1, Arc::clone(again))?;
    heed(&stop)?;
    Ok(stop)
}

fn heed(stop: &Arc<AtomicBool>) -> io::Result<()> {
    for signal in [SIGINT, SIGTERM] {
        flag::register(signal, Arc::clone(stop))?;
    }
    Ok(())
}
