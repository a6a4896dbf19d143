//! The files of the lab: where they come from, and errors that name the line.

use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use windlass_base::Failure;

/// How the text of a file is read: the caller has the files.
pub type ReadText<'a> = &'a dyn Fn(&Path) -> std::io::Result<String>;

/// What a file is, and where its readers learn more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    /// What it is called.
    name: &'static str,
    /// What lists those that are built in.
    list: &'static str,
    /// What tells how one is written.
    guide: &'static str,
}

impl Kind {
    pub(crate) const PROFILE: Self =
        Self { name: "profile", list: "windlass lab", guide: "docs/profiles.md" };
    pub(crate) const SCENARIO: Self = Self { name: "scenario", ..Self::PROFILE };
    pub(crate) const PATH: Self =
        Self { name: "scenario", list: "windlass sweep --help", guide: "docs/sweep.md" };
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

    /// Reads the user's file.
    pub(crate) fn open(kind: Kind, path: &Path, read: ReadText<'_>) -> Result<Self, Failure> {
        let name = path.display().to_string();
        match read(path) {
            Ok(text) => Ok(Self { kind, name, text }),
            Err(error) => {
                let Kind { name: what, list, guide } = kind;
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

/// Whether a name is a path and not something built in.
pub(crate) fn is_path(name: &str) -> bool {
    name.contains('/') || Path::new(name).extension().is_some_and(|end| end == "toml")
}

/// A path in a file is relative to that file.
pub(crate) fn beside(file: Option<&Path>, name: &str) -> PathBuf {
    file.and_then(Path::parent).unwrap_or(Path::new("")).join(name)
}
