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
    for signal in [SIGINT, SIGTERM] {
        flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}
