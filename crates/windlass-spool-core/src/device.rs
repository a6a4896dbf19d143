//! Where the jobs of a printer go.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use windlass_wire::target::{Protocol, Target, TargetError};

/// Where the jobs of a printer go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Device {
    /// Nowhere.
    Drop,
    /// To a file or a device of this host, which each job opens anew; into a
    /// folder, where each job is a file of its own.
    File(PathBuf),
    /// To another host, by raw 9100, LPR or IPP.
    Target(Target),
    /// To the standard input of a command of the shell.
    Command(String),
}

/// Why words are no device.
#[derive(Clone, Debug, thiserror::Error)]
pub enum DeviceError {
    /// It begins with nothing that is known.
    #[error(
        "{0:?} is no device: it is drop, file:/PATH, socket://HOST[:PORT], lpd://HOST/QUEUE, \
         ipp://HOST/PATH, ipps://HOST/PATH or exec:COMMAND"
    )]
    Kind(String),
    /// A path that does not begin at the root.
    #[error("{0:?} is no path from the root: say file:/PATH")]
    Path(String),
    /// A host that is none.
    #[error("{device:?} is no device: {why}")]
    Target {
        /// What was said.
        device: String,
        /// Why.
        why: TargetError,
    },
    /// No command.
    #[error("exec: has no command")]
    NoCommand,
}

impl FromStr for Device {
    type Err = DeviceError;

    fn from_str(text: &str) -> Result<Self, DeviceError> {
        let (scheme, rest) = match text.split_once(':') {
            Some((scheme, rest)) => (scheme.to_ascii_lowercase(), rest),
            None => (text.to_ascii_lowercase(), ""),
        };
        match scheme.as_str() {
            "drop" if rest.is_empty() => Ok(Self::Drop),
            "file" => {
                // file:/path, file:///path
                let path = rest.strip_prefix("//").unwrap_or(rest);
                if !path.starts_with('/') {
                    return Err(DeviceError::Path(path.to_owned()));
                }
                Ok(Self::File(PathBuf::from(path)))
            }
            scheme if Protocol::of_scheme(scheme).is_some() => {
                let target = Target::new(text, None, None)
                    .map_err(|why| DeviceError::Target { device: text.to_owned(), why })?;
                Ok(Self::Target(target))
            }
            "exec" if rest.trim().is_empty() => Err(DeviceError::NoCommand),
            "exec" => Ok(Self::Command(rest.trim().to_owned())),
            _ => Err(DeviceError::Kind(text.to_owned())),
        }
    }
}

impl TryFrom<String> for Device {
    type Error = DeviceError;

    fn try_from(text: String) -> Result<Self, DeviceError> {
        text.parse()
    }
}

impl From<Device> for String {
    fn from(device: Device) -> Self {
        device.to_string()
    }
}

impl Device {
    /// Whether it is told what a job asks for, and not only given the data. Where nothing
    /// is printed all of that is kept to.
    pub const fn takes_attributes(&self) -> bool {
        matches!(self, Self::Drop | Self::Target(Target { protocol: Protocol::Ipp, .. }))
    }

    /// A URI that says of what kind it is. What a command is is nobody's business.
    pub fn uri(&self) -> String {
        match self {
            Self::Drop => "file:///dev/null".to_owned(),
            Self::File(_) => "file:///".to_owned(),
            Self::Target(target) => target.uri(),
            Self::Command(_) => "exec:".to_owned(),
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Drop => f.write_str("drop"),
            Self::File(path) => write!(f, "file:{}", path.display()),
            Self::Target(target) => f.write_str(&target.uri()),
            Self::Command(command) => write!(f, "exec:{command}"),
        }
    }
}
