//! The terminal: taken for a view, and given back as it was.
//!
//! There is one for the whole process, behind a lock. The view's thread or the thread that panics
//! gives it back, whichever is first, and anything later finds it given back. So nothing is drawn
//! onto the restored screen.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::panic;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use rustix::termios::{
    self, InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetwinsize,
};

use crate::scene::Size;

/// Size of a terminal that does not tell its own.
const USUAL: Size = Size { columns: 80, rows: 24 };

/// Switches to another screen, which is empty, without cursor; lines that are too long are cut.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";

/// Undoes [`ENTER`]. A terminal without another screen is left empty.
const LEAVE: &str = "\x1b[0m\x1b[2J\x1b[H\x1b[?7h\x1b[?25h\x1b[?1049l";

/// The terminal while it is taken.
struct TakenTerminal {
    /// The file that keys come from, and its settings before.
    keyboard: Option<(OwnedFd, Termios)>,
}

static TAKEN: Mutex<Option<TakenTerminal>> = Mutex::new(None);

/// Locks the state. A thread that panics holds no lock here.
fn taken() -> MutexGuard<'static, Option<TakenTerminal>> {
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes the terminal. Returns the file that keys come from; `None` if there is none.
///
/// # Errors
/// The terminal is taken already, standard output is no terminal, or the system refuses.
pub(crate) fn take() -> io::Result<Option<OwnedFd>> {
    let mut taken = taken();
    if taken.is_some() {
        return Err(io::Error::other("the terminal is already in use"));
    }
    if !termios::isatty(io::stdout()) {
        return Err(io::Error::other("standard output is not a terminal"));
    }
    give_back_on_panic();
    let keyboard = keyboard();
    let to_read = keyboard.as_ref().map(OwnedFd::try_clone).transpose()?;
    let keyboard = keyboard
        .map(|keyboard| {
            let before = termios::tcgetattr(&keyboard)?;
            termios::tcsetattr(&keyboard, OptionalActions::Now, &unbuffered(&before))?;
            Ok::<_, io::Error>((keyboard, before))
        })
        .transpose()?;
    *taken = Some(TakenTerminal { keyboard });
    drop(taken);
    write(ENTER.as_bytes()).inspect_err(|_| give_back())?;
    Ok(to_read)
}

/// Sets the taken terminal up anew: a shell may have changed it while this process was stopped.
pub(crate) fn take_again() {
    let taken = taken();
    let Some(TakenTerminal { keyboard }) = &*taken else { return };
    if let Some((keyboard, before)) = keyboard {
        // If this fails, keys are not heard, and the view goes on.
        let _ = termios::tcsetattr(keyboard, OptionalActions::Now, &unbuffered(before));
    }
    let _ = put(ENTER.as_bytes());
}

/// Gives the terminal back if it is taken.
pub(crate) fn give_back() {
    let Some(TakenTerminal { keyboard }) = taken().take() else { return };
    // If the terminal is gone, there is nothing to restore.
    let _ = put(LEAVE.as_bytes());
    if let Some((keyboard, before)) = keyboard {
        // Keys that were meant for the view are not for the shell.
        let _ = termios::tcflush(&keyboard, termios::QueueSelector::IFlush);
        let _ = termios::tcsetattr(&keyboard, OptionalActions::Now, &before);
    }
}

/// Returns whether the terminal is taken.
pub(crate) fn is_taken() -> bool {
    taken().is_some()
}

/// Writes to the terminal if it is taken.
///
/// # Errors
/// The terminal is gone.
pub(crate) fn write(bytes: &[u8]) -> io::Result<()> {
    let taken = taken();
    if taken.is_some() { put(bytes) } else { Ok(()) }
}

/// Returns the size of the terminal.
pub(crate) fn size() -> Size {
    match tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
            Size { columns: size.ws_col.into(), rows: size.ws_row.into() }
        }
        _ => USUAL,
    }
}

/// Writes past the library's buffer of standard output, which another thread may hold.
fn put(mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(io::stdout(), bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Opens the file that keys come from: standard input, or the terminal behind a pipe into it.
fn keyboard() -> Option<OwnedFd> {
    let stdin = io::stdin();
    if termios::isatty(&stdin) {
        return stdin.as_fd().try_clone_to_owned().ok();
    }
    File::options().read(true).write(true).open("/dev/tty").ok().map(OwnedFd::from)
}

/// Returns settings that read each key at once, and echo none. Keys of signals still send them, to
/// all programs of a pipe. Keys that halt the output do not, as the view would halt with it.
fn unbuffered(before: &Termios) -> Termios {
    let mut modes = before.clone();
    modes.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
    modes.input_modes -= InputModes::IXON;
    modes.special_codes[SpecialCodeIndex::VMIN] = 1;
    modes.special_codes[SpecialCodeIndex::VTIME] = 0;
    modes
}

/// Gives the terminal back on a panic, before its message is written.
fn give_back_on_panic() {
    static HOOKED: Once = Once::new();
    HOOKED.call_once(|| {
        let tell = panic::take_hook();
        panic::set_hook(Box::new(move |panicked| {
            give_back();
            tell(panicked);
        }));
    });
}
