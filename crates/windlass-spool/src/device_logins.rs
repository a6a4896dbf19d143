//! User names and passwords for devices that require them, from a file with one login per line.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use windlass_print::Target;

/// Maximum size of the file, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// Errors of reading a file of logins.
#[derive(Debug, thiserror::Error)]
pub enum DeviceLoginsError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// Users other than the owner may read the file.
    #[error("{} is readable by others than its owner: run chmod 600 on it", .0.display())]
    Open(PathBuf),
    /// A line has the wrong form.
    #[error("{}, line {line}: a line is HOST USER PASSWORD, or HOST:PORT USER PASSWORD", path.display())]
    Line {
        /// Path of the file.
        path: PathBuf,
        /// Number of the line.
        line: usize,
    },
}

/// User names and passwords, by a device's host or by its host and port.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct DeviceLogins {
    by_host: HashMap<String, (String, String)>,
}

impl fmt::Debug for DeviceLogins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceLogins").field("hosts", &self.by_host.len()).finish_non_exhaustive()
    }
}

impl DeviceLogins {
    /// Reads the logins from a file that only its owner may read.
    ///
    /// # Errors
    /// The file cannot be read, others may read it, or a line has the wrong form.
    pub fn open(path: &Path) -> Result<Self, DeviceLoginsError> {
        let no = |source| DeviceLoginsError::File { path: path.to_owned(), source };
        let file = File::open(path).map_err(no)?;
        if file.metadata().map_err(no)?.permissions().mode() & 0o077 != 0 {
            return Err(DeviceLoginsError::Open(path.to_owned()));
        }
        let mut text = String::new();
        file.take(MAX_FILE).read_to_string(&mut text).map_err(no)?;
        Self::parsed(&text).map_err(|line| DeviceLoginsError::Line { path: path.to_owned(), line })
    }

    /// Parses the lines of the file. The error is the number of the first wrong line.
    fn parsed(text: &str) -> Result<Self, usize> {
        let mut by_host = HashMap::new();
        for (place, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let mut words = line.splitn(3, char::is_whitespace).map(str::trim);
            let (Some(host), Some(user), Some(password)) =
                (words.next(), words.next(), words.next())
            else {
                return Err(place + 1);
            };
            let port = host.rsplit_once(':').filter(|(host, _)| !host.ends_with(':'));
            let has_port = port.is_none_or(|(_, port)| port.parse::<u16>().is_ok());
            let is_host = has_port || host.parse::<std::net::Ipv6Addr>().is_ok();
            if !is_host || user.is_empty() || user.contains(':') || password.is_empty() {
                return Err(place + 1);
            }
            by_host.insert(host.to_ascii_lowercase(), (user.to_owned(), password.to_owned()));
        }
        Ok(Self { by_host })
    }

    /// Returns the name and the password for a device: those of its host and port before those of
    /// its host.
    pub(crate) fn of(&self, target: &Target) -> Option<&(String, String)> {
        let port = target.authority().to_ascii_lowercase();
        let host = target.host.to_ascii_lowercase();
        self.by_host.get(&port).or_else(|| self.by_host.get(&host))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn target(text: &str) -> Target {
        Target::new(text, None, None).unwrap()
    }

    #[test]
    fn a_device_has_those_of_its_host_or_its_port() {
        let text = "# devices\n\n192.0.2.9 ann a password with spaces\nPrinter.example\tbob b\n\
                    printer.example:8631 cid c\n2001:db8::1 eve e\n";
        let logins = DeviceLogins::parsed(text).unwrap();
        let of = |text: &str| logins.of(&target(text)).map(|(user, word)| format!("{user} {word}"));
        assert_eq!(of("ipps://192.0.2.9/a").as_deref(), Some("ann a password with spaces"));
        assert_eq!(of("ipps://printer.example/a").as_deref(), Some("bob b"));
        assert_eq!(of("ipps://PRINTER.example:8631/a").as_deref(), Some("cid c"));
        assert_eq!(of("ipps://[2001:db8::1]/a").as_deref(), Some("eve e"));
        assert_eq!(of("ipps://192.0.2.8/a"), None);
        assert!(!format!("{logins:?}").contains("password"));
    }

    #[test]
    fn what_is_no_line_is_told() {
        for (text, line) in [("h ann", 1), ("# a\nh a:b c", 2), ("h", 1), ("h:x a b", 1)] {
            assert_eq!(DeviceLogins::parsed(text), Err(line), "{text:?}");
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("logins");
        let opened = || DeviceLogins::open(&path).unwrap_err().to_string();
        assert!(opened().starts_with("cannot read /"), "{}", opened());
        fs::write(&path, "h ann\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(opened().contains("chmod 600"), "{}", opened());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(opened().contains("line 1: a line is HOST USER PASSWORD"), "{}", opened());
    }
}
