//! The files of the lab: where they come from, and errors that name the line.

use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use windlass_base::{Bytes, Failure, Span};
use windlass_sim::written::Written;

use super::built_in;

/// How the text of a file is read: the caller has the files.
pub type ReadText<'a> = &'a dyn Fn(&Path) -> std::io::Result<String>;

// Values in profiles, scenarios and paths.
pub(crate) type Size = Written<Bytes>;
pub(crate) type Time = Written<Span>;
/// A share of a whole.
pub(crate) type Share = Written<f64>;

/// What a file is, and where its readers learn more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    /// Its name.
    name: &'static str,
    /// What lists those that are built in.
    list: &'static str,
    /// What tells how one is written.
    guide: &'static str,
    /// Those that are built in: their names and texts.
    built_in: &'static [(&'static str, &'static str)],
    /// What cannot be done with a name that nothing has, and why.
    unknown: (&'static str, &'static str),
}

impl Kind {
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

    /// The names of those that are built in, as a message lists them.
    pub(crate) fn names(self) -> String {
        let names: Vec<&str> = self.built_in.iter().map(|(id, _)| *id).collect();
        names.join(", ")
    }

    /// The one of this name that is built in.
    pub(crate) fn built_in(self, id: &str) -> Option<Source> {
        let (id, text) = self.built_in.iter().find(|(name, _)| *name == id)?;
        Some(Source::built_in(self, id, text))
    }
}

/// A file that was read: built in, or the user's.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    kind: Kind,
    /// What to call it in messages.
    name: String,
    text: String,
}

/// What is wrong in a file, and where.
#[derive(Debug)]
pub(crate) struct Wrong {
    /// The bytes of the file that are wrong.
    pub(crate) at: Option<Range<usize>>,
    /// Why.
    pub(crate) why: String,
}

impl Wrong {
    pub(crate) fn new(at: Range<usize>, why: impl Into<String>) -> Self {
        Self { at: Some(at), why: why.into() }
    }
}

impl Source {
    pub(crate) fn built_in(kind: Kind, name: &str, text: &str) -> Self {
        Self { kind, name: name.to_owned(), text: text.to_owned() }
    }

    /// What a name on the command line means: a file of the user's, or one that is
    /// built in. With what it is called.
    pub(crate) fn named(
        kind: Kind,
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

    /// The same of a name in `file`; nothing where none is called so.
    pub(crate) fn find(
        kind: Kind,
        file: Option<&Path>,
        name: &str,
        read: ReadText<'_>,
    ) -> Option<Result<(String, Self), Failure>> {
        if is_path(name) {
            return Some(Self::open(kind, &beside(file, name), read));
        }
        kind.built_in(name).map(|source| Ok((name.to_owned(), source)))
    }

    /// Reads the user's file, which is called as its stem.
    pub(crate) fn open(
        kind: Kind,
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
                let Kind { name: what, list, guide, .. } = kind;
                let doing = format!("cannot read the {what} {name}");
                Err(Failure::new(doing, error).advise(format!(
                    "`{list}` lists what is built in; {guide} tells how a {what} is written."
                )))
            }
        }
    }

    /// The file as data, which `check` may refuse or turn into something else.
    pub(crate) fn read<T: DeserializeOwned, U>(
        &self,
        check: impl FnOnce(T) -> Result<U, Wrong>,
    ) -> Result<U, Failure> {
        let parsed: Result<T, toml::de::Error> = toml::from_str(&self.text);
        let wrong = match parsed {
            Ok(data) => match check(data) {
                Ok(checked) => return Ok(checked),
                Err(wrong) => wrong,
            },
            Err(error) => {
                Wrong { at: error.span(), why: error.message().trim().replace('\n', "; ") }
            }
        };
        Err(self.failure(wrong))
    }

    fn failure(&self, wrong: Wrong) -> Failure {
        let Self { kind: Kind { name: kind, guide, .. }, name, text } = self;
        let place = wrong.at.and_then(|at| Some((text.get(..at.start)?, text.get(at.start..)?)));
        let wrong = match place {
            // A whole file that lacks something has no line to look at.
            Some((before, after)) if !(before.is_empty() && wrong.why.contains("missing")) => {
                let line = before.matches('\n').count() + 1;
                let begun = before.rsplit('\n').next().unwrap_or_default();
                let rest = after.lines().next().unwrap_or_default();
                format!("line {line}, `{}`: {}", format!("{begun}{rest}").trim(), wrong.why)
            }
            _ => wrong.why,
        };
        Failure::new(format!("cannot read the {kind} {name}"), wrong)
            .advise(format!("{guide} tells how a {kind} is written."))
    }
}

/// Returns whether a name is a path and not something built in.
pub(crate) fn is_path(name: &str) -> bool {
    name.contains('/') || Path::new(name).extension().is_some_and(|end| end == "toml")
}

/// A path in a file is relative to that file.
fn beside(file: Option<&Path>, name: &str) -> PathBuf {
    file.and_then(Path::parent).unwrap_or(Path::new("")).join(name)
}
