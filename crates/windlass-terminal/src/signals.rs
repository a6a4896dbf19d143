//! Signals that a view has to hear of. What else a program does about them it goes on doing.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH};
use signal_hook::low_level::{emulate_default_handler, pipe, unregister};
use signal_hook::{SigId, flag};

/// A signal that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Came {
    /// It is to end, and the program knows: it has a handler of its own.
    End,
    /// It is to end at once, as the system would have it.
    Kill(i32),
    /// It is to stop until it is to go on.
    Stop,
    /// It goes on.
    Continue,
    /// The terminal has another size.
    Resize,
}

const ALL: [(i32, Came); 7] = [
    (SIGINT, Came::End),
    (SIGTERM, Came::End),
    (SIGHUP, Came::End),
    (SIGQUIT, Came::Kill(SIGQUIT)),
    (SIGTSTP, Came::Stop),
    (SIGCONT, Came::Continue),
    (SIGWINCH, Came::Resize),
];

/// Signals, until this is dropped.
pub(crate) struct Signals {
    flags: Vec<(Arc<AtomicBool>, Came)>,
    ids: Vec<SigId>,
    /// Has a byte when one came, or when somebody else wakes the view.
    pub(crate) woken: UnixStream,
}

impl Signals {
    /// Listens. `is_left` says that there is no view any more: signals that end or stop a
    /// program by default do so again.
    ///
    /// # Errors
    /// Where the system does not allow it.
    pub(crate) fn listen(is_left: &Arc<AtomicBool>) -> io::Result<(Self, Waker)> {
        let (woken, wakes) = UnixStream::pair()?;
        woken.set_nonblocking(true)?;
        wakes.set_nonblocking(true)?;
        let mut signals = Self { flags: Vec::new(), ids: Vec::new(), woken };
        for (signal, came) in ALL {
            let flag = Arc::new(AtomicBool::new(false));
            signals.ids.push(flag::register(signal, Arc::clone(&flag))?);
            signals.ids.push(pipe::register(signal, wakes.try_clone()?)?);
            if matches!(came, Came::Kill(_) | Came::Stop) {
                // It stays: once a signal has been listened to, nothing else restores what
                // the system does about it.
                flag::register_conditional_default(signal, Arc::clone(is_left))?;
            }
            signals.flags.push((flag, came));
        }
        Ok((signals, Waker(wakes.into())))
    }

    /// Those that came since the last call.
    pub(crate) fn came(&self) -> Vec<Came> {
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
        // Where there is no room it is awake by then.
        let _ = rustix::io::write(&self.0, b"w");
    }
}

/// Does what the system does by default about a signal.
pub(crate) fn as_by_default(signal: i32) {
    // It fails for signals only that there are not.
    let _ = emulate_default_handler(signal);
}

/// Stops this process, as Ctrl-Z does, until it is to go on.
pub(crate) fn stop() {
    as_by_default(SIGTSTP);
}

/// Sends this process what Ctrl-C does. All that listens has heard it when this is over.
pub(crate) fn interrupt() {
    let _ = signal_hook::low_level::raise(SIGINT);
}
