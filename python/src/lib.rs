//! The part of the Python package `windlass` that is Rust: the analysis, and the commands that
//! need neither a network nor a terminal. What Python's users see is in `windlass/__init__.py`.
//!
//! Nothing here holds Python's lock while it works.

mod command;
mod explain;
mod source;
mod stream;

use pyo3::prelude::*;

pyo3::create_exception!(
    _windlass,
    Error,
    pyo3::exceptions::PyException,
    "What was being done, what was wrong, and what to do."
);

/// An exception with the program's words.
fn error(message: impl std::fmt::Display) -> PyErr {
    Error::new_err(message.to_string().trim_end().to_owned())
}

/// The module.
#[pymodule]
mod _windlass {
    #[pymodule_export]
    use super::Error;
    #[pymodule_export]
    use super::command::{main, run};
    #[pymodule_export]
    use super::explain::{explain, explain_many};
    #[pymodule_export]
    use super::stream::Table;

    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
