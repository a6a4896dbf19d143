//! What the commands share that run another beside an emulated path.

use std::cell::OnceCell;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use windlass_base::Failure;
use windlass_netlab::{Ending, Onlooker, Streams};
use windlass_output::live::{Live, Stretch, View};
use windlass_output::records::ended::EVERY;
use windlass_output::{Format, Output, Text};

use crate::live::{Held, Listening, LiveArgs};

/// A live view beside a command, where one is wanted. Both would use the terminal: the view has
/// it, and what the command writes is printed when that is over.
pub(crate) struct Beside {
    listening: Listening,
    // It goes before what is held back is printed.
    live: OnceCell<Live>,
    held: Option<Held>,
}

impl Beside {
    /// Takes care that a view can be shown while this command runs.
    ///
    /// # Errors
    /// Where there is no terminal for it, or the command would be a shell.
    pub(crate) fn new(args: LiveArgs, command: &[OsString], doing: &str) -> Result<Self, Failure> {
        let listening = args.listen_not(doing)?;
        if args.live && command.is_empty() {
            let wrong = "a live view has the terminal, and your shell would need it";
            return Err(Failure::usage(doing, wrong)
                .advise("Give a command behind `--`, or leave --live out."));
        }
        let held = listening.hold()?;
        Ok(Self { listening, live: OnceCell::new(), held })
    }

    /// Where the command reads and writes: what is no terminal is its own, but where the report
    /// has standard output.
    ///
    /// # Errors
    /// Where the system does not open it.
    pub(crate) fn streams(
        &self,
        report: Option<&Path>,
        output: &Output,
    ) -> Result<Streams, Failure> {
        let no = |error| Failure::new("cannot keep what the command writes", error);
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

    /// Shows the view, where one is wanted.
    ///
    /// # Errors
    /// Where the system does not let the terminal be used.
    pub(crate) fn show(&self, output: &Output, view: impl FnOnce() -> View) -> Result<(), Failure> {
        if let Some(live) = self.listening.show(output, view)? {
            let _ = self.live.set(live);
        }
        Ok(())
    }

    /// Runs what has an onlooker, where a view is wanted: each look becomes an interval of it.
    /// The view is over when this is, and what was held back is printed.
    pub(crate) fn attend<L, T>(
        self,
        mut stretch: impl FnMut(L) -> Stretch,
        run: impl FnOnce(&Self, Option<Onlooker<'_, L>>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut sees = |look| {
            if let Some(live) = self.live.get() {
                live.push(stretch(look));
            }
        };
        let ends = || self.live.get().is_some_and(Live::is_ended_by_key);
        let is_wanted = self.held.is_some();
        let onlooker = is_wanted.then_some(Onlooker { every: EVERY, sees: &mut sees, ends: &ends });
        let done = run(&self, onlooker);
        let Self { live, held, .. } = self;
        drop(live);
        let released = held.map_or(Ok(()), |held| held.release(io::stdout().lock()));
        let done = done?;
        released.map_err(|error| Failure::new("cannot print what the command wrote", error))?;
        Ok(done)
    }

    /// Says how far it is, where a view is shown; tells whether one is.
    pub(crate) fn say(&self, state: impl FnOnce() -> Text) -> bool {
        let live = self.live.get();
        if let Some(live) = live {
            live.say(state());
        }
        live.is_some()
    }
}

/// Returns whether the report is all that standard output has: then what the command writes goes to
/// standard error.
fn has_stdout(path: Option<&Path>, output: &Output) -> bool {
    path.is_none() && output.format() == Format::Json
}

/// Where the report goes. Its file is made first: a run of an hour must not end
/// with a path that is wrong.
pub(crate) fn report_printer(path: Option<&Path>, output: &Output) -> Result<Output, Failure> {
    let Some(path) = path else {
        let to_stdout = has_stdout(path, output);
        return Ok(if to_stdout { output.on_stdout() } else { output.on_stderr() });
    };
    let file = File::create(path).map_err(|error| {
        Failure::new(format!("cannot write the report to {}", path.display()), error)
            .advise("Give a path that can be written, or leave --report out.")
    })?;
    Ok(output.on(file))
}

/// Whether the command did well.
pub(crate) fn conclude(command: &[String], ending: Ending) -> Result<(), Failure> {
    if ending.is_success() {
        return Ok(());
    }
    let doing = format!("the command `{}` failed", command.join(" "));
    Err(Failure::new(doing, format!("it {ending}")))
}
