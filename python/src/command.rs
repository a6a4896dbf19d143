//! Commands of the program, in this process.

use std::cell::RefCell;
use std::ffi::OsString;
use std::io::{self, Write};
use std::rc::Rc;

use clap::FromArgMatches as _;
use pyo3::prelude::*;
use windlass::cli::{self, Cli};
use windlass::failure;
use windlass_output::{Format, Output};

use crate::error;

/// The width of lines that nobody sees.
const WIDTH: usize = 100;

/// Buffer for the output of a command.
#[derive(Clone, Default)]
struct OutputBuffer(Rc<RefCell<Vec<u8>>>);

impl Write for OutputBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Runs a command that prints one record, and gives that as JSON.
fn record(arguments: Vec<String>) -> Result<String, String> {
    let arguments = ["windlass".to_owned()].into_iter().chain(arguments);
    let parsed = cli::command().color(clap::ColorChoice::Never).try_get_matches_from(arguments);
    let parsed = parsed.and_then(|matches| Cli::from_arg_matches(&matches));
    let parsed = parsed.map_err(|wrong| wrong.to_string())?;
    let printed = OutputBuffer::default();
    let mut output = Output::new(Box::new(printed.clone()), Format::Json, WIDTH, false);
    let done = parsed.command.run(&mut output);
    let done = done.and_then(|()| Ok(output.flush()?));
    if let Err(wrong) = done {
        let (message, _) = failure::report(&wrong, false);
        return Err(message.strip_prefix("error: ").unwrap_or(&message).to_owned());
    }
    let printed = printed.0.take();
    String::from_utf8(printed).map_err(|wrong| wrong.to_string())
}

/// Runs a command by its arguments, and gives its record as JSON.
#[pyfunction]
pub(crate) fn run(py: Python<'_>, arguments: Vec<String>) -> PyResult<String> {
    py.detach(|| record(arguments)).map_err(error)
}

/// The program itself: runs with these arguments, the first being its name, and gives the exit
/// code.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| windlass::run(arguments))
}
