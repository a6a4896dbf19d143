//! What is kept of a run.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use windlass_base::{Schema, Timestamp};

use crate::{Host, RunId};

/// A measurement, with all that it takes to make it again and to hold it against others.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    /// The shape of all this: [`Run::SCHEMA`].
    pub schema: String,
    /// Its name.
    pub id: RunId,
    /// The command, as `spool load`.
    pub command: String,
    /// What the program was called with, without its own name and without passwords.
    pub arguments: Vec<String>,
    /// Where it was called.
    pub directory: Option<String>,
    /// The version of the program.
    pub program_version: String,
    /// The machine on which it ran.
    pub host: Host,
    /// When it began.
    pub start_time: Timestamp,
    /// When it was over.
    pub end_time: Timestamp,
    /// What it ended with.
    pub exit_code: u8,
    /// What went wrong; nothing where nothing did.
    pub failure: Option<String>,
    /// Words by which it is found.
    pub tags: Vec<String>,
    /// What people noted of it.
    pub notes: Vec<Note>,
    /// What the machine did meanwhile, as `windlass watch` tells it; nothing where nobody
    /// looked.
    pub machine: Option<Box<RawValue>>,
    /// What it found.
    pub records: Vec<Kept>,
}

/// A record of a command: as programs read it, and as people do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Kept {
    /// As JSON, to the last digit.
    pub record: Box<RawValue>,
    /// As text, 80 columns wide, without colour.
    pub text: String,
}

/// A note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// When it was written.
    pub time: Timestamp,
    /// Its words.
    pub text: String,
}

impl Run {
    /// The shape of what is kept. Fields that are new come without a new version, and what
    /// reads must not need them.
    pub const SCHEMA: Schema = Schema { name: "windlass.run", version: 1 };

    /// Reads a run.
    ///
    /// # Errors
    /// What is wrong, for people: it is none, or one of another version of windlass.
    pub fn read(json: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Shape<'a> {
            schema: std::borrow::Cow<'a, str>,
        }
        let no = |error: serde_json::Error| format!("it is no run: {error}");
        let shape: Shape<'_> = serde_json::from_slice(json).map_err(no)?;
        let version = shape.schema.strip_prefix(Self::SCHEMA.name);
        let version = version.and_then(|rest| rest.strip_prefix('/')?.parse::<u32>().ok());
        match version {
            Some(version) if version == Self::SCHEMA.version => {
                serde_json::from_slice(json).map_err(no)
            }
            Some(version) if version > Self::SCHEMA.version => Err(format!(
                "a newer windlass kept it ({}); this one reads {}",
                shape.schema,
                Self::SCHEMA
            )),
            // There was no version before the first.
            _ => Err(format!("{:?} is not the shape of a run", shape.schema)),
        }
    }

    /// The same as JSON, for a file.
    ///
    /// # Errors
    /// Where it cannot be written as JSON.
    pub fn json(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(self)
    }
}

/// An argument without the password that a URI may have: `ipp://ann:…@host/` for
/// `ipp://ann:secret@host/`.
pub fn without_password(argument: &str) -> String {
    let found = argument.find("://").and_then(|at| {
        let start = at + 3;
        let end = argument[start..].find('/').map_or(argument.len(), |end| start + end);
        let sign = start + argument[start..end].rfind('@')?;
        let colon = start + argument[start..sign].find(':')?;
        Some((colon, sign))
    });
    match found {
        Some((colon, sign)) => format!("{}:…{}", &argument[..colon], &argument[sign..]),
        None => argument.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_kept() {
        assert_eq!(without_password("ipp://ann:secret@host/q"), "ipp://ann:…@host/q");
        assert_eq!(without_password("--to=ipp://ann:se@c:ret@host"), "--to=ipp://ann:…@host");
        for same in ["ipp://ann@host/q", "ipp://host:631/a@b:c@d", "a:b@c", "://", "--port=9"] {
            assert_eq!(without_password(same), same);
        }
    }

    #[test]
    fn another_version_says_so() {
        let said = |json: &str| Run::read(json.as_bytes()).unwrap_err();
        assert_eq!(
            said(r#"{"schema":"windlass.run/2","id":7}"#),
            "a newer windlass kept it (windlass.run/2); this one reads windlass.run/1"
        );
        assert_eq!(
            said(r#"{"schema":"windlass.run/0"}"#),
            r#""windlass.run/0" is not the shape of a run"#
        );
        assert_eq!(
            said(r#"{"schema":"windlass.send/2"}"#),
            r#""windlass.send/2" is not the shape of a run"#
        );
        assert!(said("{}").starts_with("it is no run: missing field `schema`"));
        assert!(said(r#"{"schema":"windlass.run/1"}"#).starts_with("it is no run: missing"));
    }
}
