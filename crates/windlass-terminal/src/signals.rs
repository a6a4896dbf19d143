//! Signals that a view needs. The program goes on handling them as before.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH};
use signal_hook::low_level::{emulate_default_handler, pipe, unregister};
use signal_hook::{SigId, flag};

/// Effect of a signal that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignalEffect {
    /// The program is to end, and knows of the signal by a handler of its own.
    End,
    /// The program is to end at once, as by default.
    Kill(i32),
    /// The program is to stop until it is continued.
    Stop,
    /// The program continues.
    Continue,
    /// The terminal has another size.
    Resize,
}

const ALL: [(i32, SignalEffect); 7] = [
    (SIGINT, SignalEffect::End),
    (SIGTERM, SignalEffect::End),
    (SIGHUP, SignalEffect::End),
    (SIGQUIT, SignalEffect::Kill(SIGQUIT)),
    (SIGTSTP, SignalEffect::Stop),
    (SIGCONT, SignalEffect::Continue),
    (SIGWINCH, SignalEffect::Resize),
];

/// The signals of a view, until it is dropped.
pub(crate) struct Signals {
    flags: Vec<(Arc<AtomicBool>, SignalEffect)>,
    ids: Vec<SigId>,
    /// Has a byte when a signal came, or somebody else wakes the view.
    pub(crate) woken: UnixStream,
}

impl Signals {
    /// Listens. `is_left` says that there is no view any more: signals that end or stop a program
    /// by default do so again.
    ///
    /// # Errors
    /// The system refuses a handler or a socket.
    pub(crate) fn listen(is_left: &Arc<AtomicBool>) -> io::Result<(Self, Waker)> {
        let (woken, wakes) = UnixStream::pair()?;
        woken.set_nonblocking(true)?;
        wakes.set_nonblocking(true)?;
        let mut signals = Self { flags: Vec::new(), ids: Vec::new(), woken };
        for (signal, came) in ALL {
            let flag = Arc::new(AtomicBool::new(false));
            signals.ids.push(flag::register(signal, Arc::clone(&flag))?);
            signals.ids.push(pipe::register(signal, wakes.try_clone()?)?);
            if matches!(came, SignalEffect::Kill(_) | SignalEffect::Stop) {
                // This handler stays. Once a signal had a handler, nothing else restores the
                // system's default action.
                flag::register_conditional_default(signal, Arc::clone(is_left))?;
            }
            signals.flags.push((flag, came));
        }
        Ok((signals, Waker(wakes.into())))
    }

    /// Returns the effects of the signals that came since the last call.
    pub(crate) fn came(&self) -> Vec<SignalEffect> {
        let mut bytes = [0; 64];
        while matches!(rustix::io::read(&self.woken, &mut bytes), Ok(read) if read > 0) {}
        let came = self.flags.iter().filter(|(flag, _)| flag.swap(false, Ordering::Relaxed));
        came.map(|(_, came)| *came).collect()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for id in self.ids.drain(..) {
            unregister(id);
        }
    }
}

/// Ends a wait of the view.
pub(crate) struct Waker(OwnedFd);

impl Waker {
    pub(crate) fn wake(&self) {
        // The view is awake already if there is no room.
        let _ = rustix::io::write(&self.0, b"w");
    }
}

/// Does the system's default action of a signal.
pub(crate) fn as_by_default(signal: i32) {
    // Only signals that do not exist fail.
    let _ = emulate_default_handler(signal);
}

/// Stops this process, as Ctrl-Z does, until it is continued.
pub(crate) fn stop() {
    as_by_default(SIGTSTP);
}

/// Sends this process a SIGINT, as Ctrl-C does. All handlers have run on return.
pub(crate) fn interrupt() {
    let _ = signal_hook::low_level::raise(SIGINT);
}
