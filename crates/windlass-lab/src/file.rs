//! The files of the lab: their sources, and errors that name the line.

use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use windlass_base::{Bytes, Failure, Span};
use windlass_sim::written::TextValue;

use super::built_in;

/// Function of the caller that reads the text of a file.
pub type ReadText<'a> = &'a dyn Fn(&Path) -> std::io::Result<String>;

// Values in profiles, scenarios and paths.
pub(crate) type Size = TextValue<Bytes>;
pub(crate) type Time = TextValue<Span>;
/// A share of a whole.
pub(crate) type Share = TextValue<f64>;

/// Kind of a file, with its built-in files and its documentation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileKind {
    /// Name of the kind.
    name: &'static str,
    /// Command that lists the built-in files.
    list: &'static str,
    /// Documentation of the format.
    guide: &'static str,
    /// Built-in files: their names and texts.
    built_in: &'static [(&'static str, &'static str)],
    /// Failed action and reason of the error for an unknown name.
    unknown: (&'static str, &'static str),
}

impl FileKind {
    pub(crate) const PROFILE: Self = Self {
        name: "profile",
        list: "windlass lab",
        guide: "docs/profiles.md",
        built_in: built_in::PROFILES,
        unknown: ("cannot run the device", "there is no profile of this name"),
    };
    pub(crate) const SCENARIO: Self = Self {
        name: "scenario",
        built_in: built_in::SCENARIOS,
        unknown: ("cannot run the scenario", "there is none of this name"),
        ..Self::PROFILE
    };
    pub(crate) const PATH: Self = Self {
        name: "scenario",
        list: "windlass sweep --help",
        guide: "docs/sweep.md",
        built_in: built_in::PATHS,
        unknown: ("cannot sweep the scenario", "there is none of this name"),
    };

    /// Returns the names of the built-in files, as a message lists them.
    pub(crate) fn names(self) -> String {
        let names: Vec<&str> = self.built_in.iter().map(|(id, _)| *id).collect();
        names.join(", ")
    }

    /// Returns the built-in file of this name.
    pub(crate) fn built_in(self, id: &str) -> Option<Source> {
        let (id, text) = self.built_in.iter().find(|(name, _)| *name == id)?;
        Some(Source::built_in(self, id, text))
    }
}

/// A file that was read: built in, or the user's.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    kind: FileKind,
    /// Name of the file in messages.
    name: String,
    text: String,
}

/// An error in a file, with its position.
#[derive(Debug)]
pub(crate) struct FileError {
    /// The wrong bytes of the file.
    pub(crate) at: Option<Range<usize>>,
    /// Reason.
    pub(crate) why: String,
}

impl FileError {
    pub(crate) fn new(at: Range<usize>, why: impl Into<String>) -> Self {
        Self { at: Some(at), why: why.into() }
    }
}

impl Source {
    pub(crate) fn built_in(kind: FileKind, name: &str, text: &str) -> Self {
        Self { kind, name: name.to_owned(), text: text.to_owned() }
    }

    /// Returns the file of a name on the command line, a user's file or a built-in one, with its
    /// short name.
    pub(crate) fn named(
        kind: FileKind,
        name: &str,
        read: ReadText<'_>,
    ) -> Result<(String, Self), Failure> {
        Self::find(kind, None, name, read).unwrap_or_else(|| {
            let (doing, wrong) = kind.unknown;
            Err(Failure::usage(format!("{doing} {name}"), wrong).advise(format!(
                "Name one of {}, or the path of a file: ./{name}.toml.",
                kind.names()
            )))
        })
    }

    /// Returns the file of a name in `file`; `None` if there is no such file.
    pub(crate) fn find(
        kind: FileKind,
        file: Option<&Path>,
        name: &str,
        read: ReadText<'_>,
    ) -> Option<Result<(String, Self), Failure>> {
        if is_path(name) {
            return Some(Self::open(kind, &beside(file, name), read));
        }
        kind.built_in(name).map(|source| Ok((name.to_owned(), source)))
    }

    /// Reads the user's file. The file's stem is its short name.
    pub(crate) fn open(
        kind: FileKind,
        path: &Path,
        read: ReadText<'_>,
    ) -> Result<(String, Self), Failure> {
        let name = path.display().to_string();
        match read(path) {
            Ok(text) => {
                let stem = path.file_stem().unwrap_or_default().to_string_lossy();
                Ok((stem.into_owned(), Self { kind, name, text }))
            }
            Err(error) => {
                let FileKind { name: what, list, guide, .. } = kind;
                let doing = format!("cannot read the {what} {name}");
                Err(Failure::new(doing, error).advise(format!(
                    "`{list}` lists the built-in ones; {guide} describes the format of a {what}."
                )))
            }
        }
    }

    /// Parses the file. `check` may refuse the data, or convert it.
    pub(crate) fn read<T: DeserializeOwned, U>(
        &self,
        check: impl FnOnce(T) -> Result<U, FileError>,
    ) -> Result<U, Failure> {
        let parsed: Result<T, toml::de::Error> = toml::from_str(&self.text);
        let wrong = match parsed {
            Ok(data) => match check(data) {
                Ok(checked) => return Ok(checked),
                Err(wrong) => wrong,
            },
            Err(error) => {
                FileError { at: error.span(), why: error.message().trim().replace('\n', "; ") }
            }
        };
        Err(self.failure(wrong))
    }

    fn failure(&self, wrong: FileError) -> Failure {
        let Self { kind: FileKind { name: kind, guide, .. }, name, text } = self;
        let place = wrong.at.and_then(|at| Some((text.get(..at.start)?, text.get(at.start..)?)));
        let wrong = match place {
            // A missing key of the whole file has no line to show.
            Some((before, after)) if !(before.is_empty() && wrong.why.contains("missing")) => {
                let line = before.matches('\n').count() + 1;
                let begun = before.rsplit('\n').next().unwrap_or_default();
                let rest = after.lines().next().unwrap_or_default();
                format!("line {line}, `{}`: {}", format!("{begun}{rest}").trim(), wrong.why)
            }
            _ => wrong.why,
        };
        Failure::new(format!("cannot read the {kind} {name}"), wrong)
            .advise(format!("{guide} describes the format of a {kind}."))
    }
}

/// Returns whether a name is a path and not something built in.
pub(crate) fn is_path(name: &str) -> bool {
    name.contains('/') || Path::new(name).extension().is_some_and(|end| end == "toml")
}

/// Returns the path of a name in a file, which is relative to that file.
fn beside(file: Option<&Path>, name: &str) -> PathBuf {
    file.and_then(Path::parent).unwrap_or(Path::new("")).join(name)
}
