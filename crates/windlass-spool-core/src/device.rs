//! Destinations of a printer's jobs.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use windlass_wire::target::{Protocol, Target, TargetError};

/// Destination of a printer's jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Device {
    /// Discards the jobs.
    Drop,
    /// A file or a device of this host, which each job opens anew; or a folder, where each job
    /// becomes a file.
    File(PathBuf),
    /// Another host, by raw TCP (port 9100), LPR or IPP.
    Target(Target),
    /// The standard input of a shell command.
    Command(String),
}

/// Errors of parsing a device.
#[derive(Clone, Debug, thiserror::Error)]
pub enum DeviceError {
    /// The scheme is unknown.
    #[error(
        "{0:?} is not a device: write drop, file:/PATH, socket://HOST[:PORT], lpd://HOST/QUEUE, \
         ipp://HOST/PATH, ipps://HOST/PATH or exec:COMMAND"
    )]
    Kind(String),
    /// The path is not absolute.
    #[error("{0:?} is not an absolute path: write file:/PATH")]
    Path(String),
    /// The host is invalid.
    #[error("{device:?} is not a device: {why}")]
    Target {
        /// Text that was parsed.
        device: String,
        /// Reason.
        why: TargetError,
    },
    /// The command is empty.
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
    /// Returns whether the device receives a job's attributes, besides the data. A device that
    /// discards its jobs counts as one that obeys all of them.
    pub const fn takes_attributes(&self) -> bool {
        matches!(self, Self::Drop | Self::Target(Target { protocol: Protocol::Ipp, .. }))
    }

    /// Returns a URI that names the kind of device. Paths and commands are not disclosed.
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
