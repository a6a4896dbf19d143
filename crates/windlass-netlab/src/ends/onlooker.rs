//! Somebody who looks on while programs run at the ends, and where those read and write then.

use std::fs::File;
use std::io;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use windlass_base::Span;

use crate::real_time::Looks;

/// Who looks on. It is called in the thread that waits for the command.
pub struct Onlooker<'a, L> {
    /// How often it wants to look.
    pub every: Span,
    /// A look.
    pub sees: &'a mut dyn FnMut(L),
    /// Whether the programs are to be told to end (SIGINT) when this one was: it alone has heard
    /// of it, and no key at the terminal.
    pub ends: &'a dyn Fn() -> bool,
}

impl<L> std::fmt::Debug for Onlooker<'_, L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Onlooker").field("every", &self.every).finish_non_exhaustive()
    }
}

/// Who looks on, and where looks come from.
pub(crate) struct Looking<'a, L> {
    pub(crate) onlooker: Onlooker<'a, L>,
    pub(crate) looks: Receiver<L>,
}

impl<'a, L> Looking<'a, L> {
    /// The looks that somebody wants, where one does, and what hands them on.
    pub(crate) fn of(onlooker: Option<Onlooker<'a, L>>) -> (Option<Looks<L>>, Option<Self>) {
        let Some(onlooker) = onlooker else { return (None, None) };
        let (looks, from) = Looks::every(onlooker.every);
        (Some(looks), Some(Self { onlooker, looks: from }))
    }
}

impl<L> Looking<'_, L> {
    /// Hands on what there is to see.
    pub(crate) fn see(&mut self) {
        while let Ok(look) = self.looks.try_recv() {
            (self.onlooker.sees)(look);
        }
    }
}

/// Where programs at the ends read and write. What is not named is this program's own.
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
    /// Lets a command have them.
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

/// Both have one place in it: what one writes comes behind what the other wrote.
fn shared(file: &File) -> io::Result<Stdio> {
    file.try_clone().map(Stdio::from)
}
