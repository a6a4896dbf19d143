//! Values of settings: from the command line, or else from the file.

use windlass_base::Failure;

/// Returns the failure of a wrong value of a setting.
pub(super) fn wrong(setting: &str, wrong: impl std::fmt::Display) -> Failure {
    Failure::usage("cannot run the spool server", format!("{setting}: {wrong}"))
        .advise("windlass spool serve --help and docs/spool-serve.md have examples.")
}

/// Reads a value of the settings file.
pub(super) fn read<T, E: std::fmt::Display>(
    setting: &str,
    text: Option<&String>,
    with: impl FnOnce(&str) -> Result<T, E>,
) -> Result<Option<T>, Failure> {
    text.map(|text| with(text)).transpose().map_err(|error| wrong(setting, error))
}

/// Reads values of the settings file, unless the command line has some.
pub(super) fn all<T: Clone, E: std::fmt::Display>(
    setting: &str,
    said: &[T],
    texts: &[String],
    with: impl Fn(&str) -> Result<T, E>,
) -> Result<Vec<T>, Failure> {
    if !said.is_empty() {
        return Ok(said.to_vec());
    }
    let read = texts.iter().map(|text| with(text));
    read.collect::<Result<_, E>>().map_err(|error| wrong(setting, error))
}
