//! The programs at an end: their start, their wait, and their end.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use windlass_base::Failure;
use windlass_sys::process::{Process, Signal, is_ignored};
use windlass_sys::wait::ready;

use super::onlooker::SnapshotReceiver;
use super::{EndNetwork, Ending, Streams};

/// Time that a program gets to end after a signal.
const GRACE: Duration = Duration::from_secs(1);

/// Time from SIGTERM to SIGHUP.
const BETWEEN: Duration = Duration::from_millis(500);

/// Time that a program gets after Ctrl-C before other signals.
const AFTER_INTERRUPT: Duration = Duration::from_secs(2);

/// Interval of the checks for a signal: one that comes just before a wait does not end the wait.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// A program that runs at one of the ends.
#[derive(Debug)]
pub(crate) struct Program {
    child: Child,
    process: Process,
    ending: Option<Ending>,
}

impl Program {
    pub(crate) fn start(place: &EndNetwork, command: &mut Command) -> io::Result<Self> {
        place.namespace.enter(command);
        let mut child = command.spawn()?;
        match Process::of_child(child.id()) {
            Ok(process) => Ok(Self { child, process, ending: None }),
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(error)
            }
        }
    }

    /// Returns the ending of the program, if it has ended.
    pub(crate) fn ending(&mut self) -> io::Result<Option<Ending>> {
        if self.ending.is_none() {
            self.ending = self.child.try_wait()?.map(Ending::from);
        }
        Ok(self.ending)
    }

    pub(crate) fn tell(&self, signal: Signal) {
        self.process.signal(signal);
    }

    /// Ends the program, first by SIGTERM.
    fn end(&mut self) -> io::Result<()> {
        if self.ending()?.is_none() {
            self.tell(Signal::TERM);
            ready(&[self.as_fd()], Some(GRACE))?;
        }
        if self.ending()?.is_none() {
            self.tell(Signal::KILL);
            self.ending = Some(self.child.wait()?.into());
        }
        Ok(())
    }
}

impl AsFd for Program {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.process.as_fd()
    }
}

/// Ends the programs of a link in any case.
impl Drop for Program {
    fn drop(&mut self) {
        // An error has no recipient here, and the kernel kills the rest.
        let _ = self.end();
    }
}

impl From<ExitStatus> for Ending {
    fn from(status: ExitStatus) -> Self {
        Self { exit_status: status.code(), signal: status.signal() }
    }
}

/// Signals to windlass itself.
#[derive(Debug)]
pub(crate) struct Signals {
    /// The last signal; 0 for none.
    last: Arc<AtomicUsize>,
}

impl Signals {
    /// Listens from now on.
    pub(crate) fn listen() -> io::Result<Self> {
        let last = Arc::new(AtomicUsize::new(0));
        let hang_up = (!is_ignored(SIGHUP)).then_some(SIGHUP);
        for signal in [SIGINT, SIGTERM].into_iter().chain(hang_up) {
            let number = usize::try_from(signal).unwrap_or(0);
            signal_hook::flag::register_usize(signal, Arc::clone(&last), number)?;
        }
        Ok(Self { last })
    }

    /// Returns whether windlass is to end.
    pub(crate) fn came(&self) -> bool {
        self.last.load(Ordering::Relaxed) != 0
    }

    /// Returns the time that programs may still run. After Ctrl-C they get time to report their
    /// results.
    fn patience(&self) -> Duration {
        let interrupt = usize::try_from(SIGINT).unwrap_or(0);
        let heard = self.last.load(Ordering::Relaxed) == interrupt;
        if heard { AFTER_INTERRUPT } else { Duration::ZERO }
    }
}

/// Waits until the program ends, by itself or because windlass is to end. Also returns when `other`
/// becomes readable.
pub(crate) fn attend<L>(
    program: &mut Program,
    signals: &Signals,
    other: BorrowedFd<'_>,
    mut looking: Option<&mut SnapshotReceiver<'_, L>>,
) -> io::Result<Option<Ending>> {
    let mut told: Option<(Instant, Signal)> = None;
    loop {
        ready(&[program.as_fd(), other], Some(POLL_INTERVAL))?;
        if let Some(looking) = &mut looking {
            looking.see();
        }
        if let Some(ending) = program.ending()? {
            return Ok(Some(ending));
        }
        if ready(&[other], Some(Duration::ZERO))? {
            return Ok(None);
        }
        if signals.came() {
            if told.is_none() && looking.as_ref().is_some_and(|one| (one.onlooker.ends)()) {
                // The program has got no signal yet.
                program.tell(Signal::INT);
            }
            let first = || (Instant::now() + signals.patience(), Signal::TERM);
            let (when, what) = *told.get_or_insert_with(first);
            if Instant::now() >= when {
                program.tell(what);
                // A shell ends by SIGHUP. It comes later, since the kernel delivers HUP before TERM
                // if both wait.
                let (wait, next) = match what {
                    Signal::TERM => (BETWEEN, Signal::HUP),
                    _ => (GRACE, Signal::KILL),
                };
                told = Some((Instant::now() + wait, next));
            }
        }
    }
}

/// Returns the requested command, or the user's shell.
pub(crate) fn command_line(asked: &[OsString]) -> Vec<OsString> {
    if !asked.is_empty() {
        return asked.to_vec();
    }
    let shell = std::env::var_os("SHELL").filter(|shell| !shell.is_empty());
    vec![shell.unwrap_or_else(|| "/bin/sh".into()), "-i".into()]
}

/// Starts a command with these variables in its environment.
pub(crate) fn start(
    place: &EndNetwork,
    line: &[OsString],
    names: impl IntoIterator<Item = (&'static str, String)>,
    streams: &Streams,
) -> Result<Program, Failure> {
    let (program, arguments) = line
        .split_first()
        .map_or((OsStr::new(""), line), |(program, rest)| (program.as_os_str(), rest));
    let mut command = Command::new(program);
    command.args(arguments).envs(names);
    let started = streams.set(&mut command).and_then(|()| Program::start(place, &mut command));
    started.map_err(|error| {
        Failure::new(format!("cannot run `{}`", program.display()), error)
            .advise("Give an existing program, with its arguments, after `--`.")
    })
}
