//! Observer of the programs at the ends, and the programs' standard streams.

use std::fs::File;
use std::io;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use windlass_base::Span;

use crate::real_time::SnapshotSender;

/// Observer of a run, called in the thread that waits for the command.
pub struct Onlooker<'a, L> {
    /// Interval of the snapshots.
    pub every: Span,
    /// Function that gets a snapshot.
    pub sees: &'a mut dyn FnMut(L),
    /// Returns whether windlass must tell the programs to end (SIGINT), once it was told itself. It
    /// must if the programs did not get the signal from the terminal's key.
    pub ends: &'a dyn Fn() -> bool,
}

impl<L> std::fmt::Debug for Onlooker<'_, L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Onlooker").field("every", &self.every).finish_non_exhaustive()
    }
}

/// Observer of a run, with its incoming snapshots.
pub(crate) struct SnapshotReceiver<'a, L> {
    pub(crate) onlooker: Onlooker<'a, L>,
    pub(crate) looks: Receiver<L>,
}

impl<'a, L> SnapshotReceiver<'a, L> {
    /// Returns the sender of the snapshots, and their receiver; `None` without an observer.
    pub(crate) fn of(
        onlooker: Option<Onlooker<'a, L>>,
    ) -> (Option<SnapshotSender<L>>, Option<Self>) {
        let Some(onlooker) = onlooker else { return (None, None) };
        let (looks, from) = SnapshotSender::every(onlooker.every);
        (Some(looks), Some(Self { onlooker, looks: from }))
    }
}

impl<L> SnapshotReceiver<'_, L> {
    /// Passes the waiting snapshots on.
    pub(crate) fn see(&mut self) {
        while let Ok(look) = self.looks.try_recv() {
            (self.onlooker.sees)(look);
        }
    }
}

/// Standard streams of the programs at the ends. A missing stream is windlass's own.
#[derive(Clone, Debug, Default)]
pub struct Streams {
    /// Standard input.
    pub input: Option<Arc<File>>,
    /// Standard output.
    pub output: Option<Arc<File>>,
    /// Standard error.
    pub error: Option<Arc<File>>,
}

impl Streams {
    /// Sets the streams of a command.
    pub(crate) fn set(&self, command: &mut Command) -> io::Result<()> {
        if let Some(input) = &self.input {
            command.stdin(shared(input)?);
        }
        if let Some(output) = &self.output {
            command.stdout(shared(output)?);
        }
        if let Some(error) = &self.error {
            command.stderr(shared(error)?);
        }
        Ok(())
    }
}

/// Returns a shared handle with a common file position: the output of one follows that of the
/// other.
fn shared(file: &File) -> io::Result<Stdio> {
    file.try_clone().map(Stdio::from)
}
