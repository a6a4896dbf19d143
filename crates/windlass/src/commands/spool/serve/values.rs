//! The values of settings: as the command line has them, or else as the file does.

use windlass_base::Failure;

/// What is wrong with the value of a setting.
pub(super) fn wrong(setting: &str, wrong: impl std::fmt::Display) -> Failure {
    Failure::usage("cannot serve a spool", format!("{setting}: {wrong}"))
        .advise("windlass spool serve --help and docs/spool-serve.md have examples.")
}

/// Reads a text of the settings.
pub(super) fn read<T, E: std::fmt::Display>(
    setting: &str,
    text: Option<&String>,
    with: impl FnOnce(&str) -> Result<T, E>,
) -> Result<Option<T>, Failure> {
    text.map(|text| with(text)).transpose().map_err(|error| wrong(setting, error))
}

/// Reads texts of the settings where the command line says nothing.
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
