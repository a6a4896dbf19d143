//! Shared parts of the commands that run another command beside an emulated path.

use std::cell::OnceCell;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use windlass_base::Failure;
use windlass_netlab::{Ending, Onlooker, Streams};
use windlass_output::live::{LiveView, View, ViewInterval};
use windlass_output::records::ended::EVERY;
use windlass_output::{Format, Output, Text};

use crate::live::{HeldOutput, LiveArgs, StopSignals};

/// A live view beside a command, if one is wanted. The view has the terminal; the output of the
/// command is printed after the view ends.
pub(crate) struct CommandView {
    listening: StopSignals,
    // The view ends before the held output is printed.
    live: OnceCell<LiveView>,
    held: Option<HeldOutput>,
}

impl CommandView {
    /// Prepares a view beside this command.
    ///
    /// # Errors
    /// Fails if the view has no terminal, or if the command would be a shell.
    pub(crate) fn new(args: LiveArgs, command: &[OsString], doing: &str) -> Result<Self, Failure> {
        let listening = args.listen_not(doing)?;
        if args.live && command.is_empty() {
            let wrong = "the live view and your shell would both use the terminal";
            return Err(
                Failure::usage(doing, wrong).advise("Give a command after `--`, or omit --live.")
            );
        }
        let held = listening.hold()?;
        Ok(Self { listening, live: OnceCell::new(), held })
    }

    /// Returns the input and the output of the command. The command has each stream that is no
    /// terminal, except standard output if the report has it.
    ///
    /// # Errors
    /// Fails if the system does not open a stream.
    pub(crate) fn streams(
        &self,
        report: Option<&Path>,
        output: &Output,
    ) -> Result<Streams, Failure> {
        let no = |error| Failure::new("cannot store the output of the command", error);
        let Some(held) = &self.held else {
            let stderr = || io::stderr().as_fd().try_clone_to_owned().map(File::from);
            let output = has_stdout(report, output).then(stderr).transpose().map_err(no)?;
            return Ok(Streams { output: output.map(Arc::new), ..Streams::default() });
        };
        let input = match io::stdin().is_terminal() {
            // Keys are the view's.
            true => Some(Arc::new(File::open("/dev/null").map_err(no)?)),
            false => None,
        };
        let writer = held.writer().map_err(no)?;
        let file = Arc::new(File::from(OwnedFd::from(writer)));
        let error = io::stderr().is_terminal().then(|| Arc::clone(&file));
        Ok(Streams { input, output: Some(file), error })
    }

    /// Shows the view, if one is wanted.
    ///
    /// # Errors
    /// Fails if the system does not allow use of the terminal.
    pub(crate) fn show(&self, output: &Output, view: impl FnOnce() -> View) -> Result<(), Failure> {
        if let Some(live) = self.listening.show(output, view)? {
            let _ = self.live.set(live);
        }
        Ok(())
    }

    /// Runs `run`, with an onlooker if a view is wanted: each look becomes an interval of the view.
    /// The view ends afterwards, and the held output is printed.
    pub(crate) fn attend<L, T>(
        self,
        mut stretch: impl FnMut(L) -> ViewInterval,
        run: impl FnOnce(&Self, Option<Onlooker<'_, L>>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut sees = |look| {
            if let Some(live) = self.live.get() {
                live.push(stretch(look));
            }
        };
        let ends = || self.live.get().is_some_and(LiveView::is_ended_by_key);
        let is_wanted = self.held.is_some();
        let onlooker = is_wanted.then_some(Onlooker { every: EVERY, sees: &mut sees, ends: &ends });
        let done = run(&self, onlooker);
        let Self { live, held, .. } = self;
        drop(live);
        let released = held.map_or(Ok(()), |held| held.release(io::stdout().lock()));
        let done = done?;
        released.map_err(|error| Failure::new("cannot print the output of the command", error))?;
        Ok(done)
    }

    /// Shows the progress in the view; returns whether there is a view.
    pub(crate) fn say(&self, state: impl FnOnce() -> Text) -> bool {
        let live = self.live.get();
        if let Some(live) = live {
            live.say(state());
        }
        live.is_some()
    }
}

/// Returns whether the report alone has standard output: then the output of the command goes to
/// standard error.
fn has_stdout(path: Option<&Path>, output: &Output) -> bool {
    path.is_none() && output.format() == Format::Json
}

/// Returns the output for the report. Its file is made first: a run of an hour must not end with a
/// wrong path.
pub(crate) fn report_printer(path: Option<&Path>, output: &Output) -> Result<Output, Failure> {
    let Some(path) = path else {
        let to_stdout = has_stdout(path, output);
        return Ok(if to_stdout { output.on_stdout() } else { output.on_stderr() });
    };
    let file = File::create(path).map_err(|error| {
        Failure::new(format!("cannot write the report to {}", path.display()), error)
            .advise("Give a path that you can write, or omit --report.")
    })?;
    Ok(output.on(file))
}

/// Fails if the command failed.
pub(crate) fn conclude(command: &[String], ending: Ending) -> Result<(), Failure> {
    if ending.is_success() {
        return Ok(());
    }
    let doing = format!("the command `{}` failed", command.join(" "));
    Err(Failure::new(doing, format!("it {ending}")))
}
