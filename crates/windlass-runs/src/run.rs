//! Stored runs.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use windlass_base::{Schema, Timestamp};

use crate::{Host, RunId};

/// Measurement, with everything needed to repeat it and to compare it with others.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    /// Schema of the run: [`Run::SCHEMA`].
    pub schema: String,
    /// Name of the run.
    pub id: RunId,
    /// Command, such as `spool load`.
    pub command: String,
    /// Arguments of the program, without its own name and without passwords.
    pub arguments: Vec<String>,
    /// Working directory of the program.
    pub directory: Option<String>,
    /// Version of the program.
    pub program_version: String,
    /// Machine of the run.
    pub host: Host,
    /// Start of the run.
    pub start_time: Timestamp,
    /// End of the run.
    pub end_time: Timestamp,
    /// Exit code.
    pub exit_code: u8,
    /// Error message; `None` if nothing failed.
    pub failure: Option<String>,
    /// Tags of the run.
    pub tags: Vec<String>,
    /// Notes about the run.
    pub notes: Vec<Note>,
    /// Load of the machine during the run, as `windlass watch` reports it; `None` if it was not
    /// watched.
    pub machine: Option<Box<RawValue>>,
    /// Records of the run.
    pub records: Vec<RunRecord>,
}

/// Record of a command, for programs and for people.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunRecord {
    /// JSON with all digits.
    pub record: Box<RawValue>,
    /// Text, 80 columns wide, without colour.
    pub text: String,
}

/// Note about a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Time of the note.
    pub time: Timestamp,
    /// Text of the note.
    pub text: String,
}

impl Run {
    /// Schema of a stored run. New fields come without a new version, so readers must not require
    /// them.
    pub const SCHEMA: Schema = Schema { name: "windlass.run", version: 1 };

    /// Reads a run.
    ///
    /// # Errors
    /// Returns an explanation for people: the JSON is no run, or a run of another version of
    /// windlass.
    pub fn read(json: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Shape<'a> {
            schema: std::borrow::Cow<'a, str>,
        }
        let no = |error: serde_json::Error| format!("it is not a run: {error}");
        let shape: Shape<'_> = serde_json::from_slice(json).map_err(no)?;
        let version = shape.schema.strip_prefix(Self::SCHEMA.name);
        let version = version.and_then(|rest| rest.strip_prefix('/')?.parse::<u32>().ok());
        match version {
            Some(version) if version == Self::SCHEMA.version => {
                serde_json::from_slice(json).map_err(no)
            }
            Some(version) if version > Self::SCHEMA.version => Err(format!(
                "it is of a newer windlass ({}); this one reads {}",
                shape.schema,
                Self::SCHEMA
            )),
            // There was no version before the first.
            _ => Err(format!("{:?} is not the schema of a run", shape.schema)),
        }
    }

    /// Returns the run as JSON, for a file.
    ///
    /// # Errors
    /// Returns an error if the run cannot be represented as JSON.
    pub fn json(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(self)
    }
}

/// Returns an argument without the password of a URI: `ipp://ann:…@host/` for
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
            "it is of a newer windlass (windlass.run/2); this one reads windlass.run/1"
        );
        assert_eq!(
            said(r#"{"schema":"windlass.run/0"}"#),
            r#""windlass.run/0" is not the schema of a run"#
        );
        assert_eq!(
            said(r#"{"schema":"windlass.send/2"}"#),
            r#""windlass.send/2" is not the schema of a run"#
        );
        assert!(said("{}").starts_with("it is not a run: missing field `schema`"));
        assert!(said(r#"{"schema":"windlass.run/1"}"#).starts_with("it is not a run: missing"));
    }
}
