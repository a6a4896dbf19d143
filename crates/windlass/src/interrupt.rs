//! Ctrl-C, for commands that have something to tell before they end.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use windlass_base::Failure;

/// Turns Ctrl-C and SIGTERM into a flag; `doing` is what cannot be done where the system
/// does not allow it. The second Ctrl-C ends windlass at once; timeout(1) sends SIGTERM
/// twice and means it once.
pub(crate) fn listen(doing: impl Into<String>) -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    heed(&stop, &stop).map_err(|error| Failure::new(doing, error))?;
    Ok(stop)
}

/// The same for a command that has to end in order: another Ctrl-C ends it only
/// when `again` is set. timeout(1) with SIGINT sends it twice, too.
pub(crate) fn listen_until(
    again: &Arc<AtomicBool>,
    doing: impl Into<String>,
) -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    heed(&stop, again).map_err(|error| Failure::new(doing, error))?;
    Ok(stop)
}

fn heed(stop: &Arc<AtomicBool>, again: &Arc<AtomicBool>) -> io::Result<()> {
    flag::register_conditional_shutdown(SIGINT, 1, Arc::clone(again))?;
    for signal in [SIGINT, SIGTERM] {
        flag::register(signal, Arc::clone(stop))?;
    }
    Ok(())
}
