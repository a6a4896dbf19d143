//! Identity of the user at an IPP server: a password (RFC 7617), or CUPS's methods for users of its
//! own host. These are the peer credentials of its Unix socket and the certificates that it writes
//! for them (`cups_local_auth` in its `cups/auth.c`).

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use windlass_sys::privileges::Identity;
use windlass_sys::users;
use windlass_wire::http::{Challenge, basic};
use windlass_wire::target::Target;

use crate::error::DialError;

/// Folder of CUPS's certificates.
const CERTIFICATES: &str = "/run/cups/certs";

/// Longest certificate: CUPS reads 32 letters.
const MAX_CERTIFICATE: u64 = 64;

/// Identity of the user.
#[derive(Clone)]
pub struct Login {
    /// Name of the user.
    pub user: String,
    /// Password, if there is one. It is never sent over a connection that can be overheard.
    pub password: Option<String>,
    /// Folder of CUPS's certificates.
    pub certificates: PathBuf,
    /// Function that asks for a password, by the user's and the server's name.
    pub ask: Option<fn(&str, &str) -> Option<String>>,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").field("user", &self.user).finish_non_exhaustive()
    }
}

impl Login {
    /// Makes the identity of a user, with or without a password.
    pub fn new(user: impl Into<String>, password: Option<String>) -> Self {
        let certificates = PathBuf::from(CERTIFICATES);
        Self { user: user.into(), password, certificates, ask: None }
    }

    /// Returns the header to send before the target asks: a password, if there is one.
    ///
    /// # Errors
    /// Fails if the password would go over a network in plain.
    pub(crate) fn first(&self, target: &Target) -> Result<Option<String>, DialError> {
        let Some(password) = &self.password else { return Ok(None) };
        if !target.is_private() {
            let what = format!(
                "the password of {} is not sent to {} without encryption: use \
                 ipps://",
                self.user,
                target.authority()
            );
            return Err(what.into());
        }
        if self.user.contains(':') {
            return Err(
                format!("{:?} has a colon, which HTTP user names cannot have", self.user).into()
            );
        }
        Ok(Some(basic(&self.user, password)))
    }

    /// Returns the headers to send when a target asks after another one failed. They are only for
    /// this host, and only if it offers the method.
    pub(crate) fn local(&self, target: &Target, challenges: &[Challenge]) -> Vec<String> {
        let mut all = Vec::new();
        let offers = |scheme: &str| challenges.iter().find(|one| one.is(scheme));
        if target.socket.is_some() && offers("PeerCred").is_some() {
            // The server looks the name up, and compares it with the process.
            let own = own_name().unwrap_or_else(|| self.user.clone());
            all.push(format!("PeerCred {own}"));
        }
        if offers("Local").is_some() && (target.socket.is_some() || is_of_root(target)) {
            // The certificate of this process, as CUPS makes for its own programs, and that of
            // root, which only administrators can read.
            let process = std::process::id().to_string();
            let read = [process.as_str(), "0"].into_iter().find_map(|name| self.read(name));
            all.extend(read.map(|certificate| format!("Local {certificate}")));
        }
        if all.is_empty()
            && self.password.is_none()
            && target.is_private()
            && offers("Basic").is_some()
            && let Some(password) = self.ask.and_then(|ask| ask(&self.user, &target.authority()))
        {
            all.push(basic(&self.user, &password));
        }
        all
    }

    fn read(&self, name: &str) -> Option<String> {
        let mut text = String::new();
        let file = File::open(self.certificates.join(name)).ok()?;
        file.take(MAX_CERTIFICATE).read_to_string(&mut text).ok()?;
        let word = text.trim();
        let is_fine = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_graphic());
        is_fine.then(|| word.to_owned())
    }
}

/// Returns the system's name of the user who runs this program.
pub fn own_name() -> Option<String> {
    users::user(Identity::own().user).map(|user| user.name)
}

/// Returns whether only root can be at the other end: a certificate of CUPS is its key, and any
/// user may listen on a port above these.
fn is_of_root(target: &Target) -> bool {
    !target.is_encrypted && target.is_private() && target.port < 1_024
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn target(text: &str) -> Target {
        Target::new(text, None, None).unwrap()
    }

    #[test]
    fn a_password_goes_to_nobody_who_could_be_overheard() {
        let login = Login::new("ann", Some("secret".to_owned()));
        let first = |text: &str| login.first(&target(text));
        assert_eq!(first("ipps://h/a").unwrap().as_deref(), Some("Basic YW5uOnNlY3JldA=="));
        assert!(first("ipp://127.0.0.1/a").unwrap().is_some());
        let error = first("ipp://h/a").unwrap_err().to_string();
        assert!(error.contains("use ipps://") && !error.contains("secret"), "{error}");
        assert!(!format!("{login:?}").contains("secret"));
        let colon = Login::new("a:b", Some("c".to_owned()));
        assert!(colon.first(&target("ipps://h/a")).is_err());
        assert!(Login::new("ann", None).first(&target("ipp://h/a")).unwrap().is_none());
    }

    #[test]
    fn a_users_own_host_knows_him_without_a_password() {
        let folder = tempfile::tempdir().unwrap();
        let login = Login { certificates: folder.path().to_owned(), ..Login::new("ann", None) };
        let socket = Target::at_socket("/run/cups/cups.sock").unwrap();
        let offered = |value: &str, target: &Target| login.local(target, &Challenge::all(value));
        let all = "Basic realm=\"CUPS\", PeerCred, Local trc=\"y\"";
        let peer = format!("PeerCred {}", own_name().unwrap_or_else(|| "ann".to_owned()));
        assert_eq!(offered(all, &socket), [peer.as_str()]);
        let own = target("ipp://localhost/");
        assert_eq!(offered(all, &own), [""; 0]);
        fs::write(folder.path().join("0"), "0123456789abcdef\n").unwrap();
        assert_eq!(offered(all, &own), ["Local 0123456789abcdef"]);
        assert_eq!(offered(all, &socket), [&peer, "Local 0123456789abcdef"]);
        assert_eq!(offered("Basic realm=\"CUPS\"", &own), [""; 0]);
        // No other host gets it, and no server that could belong to any user of this one.
        assert_eq!(offered(all, &target("ipp://localhost:8631/")), [""; 0]);
        assert_eq!(offered(all, &target("ipp://192.0.2.1/")), [""; 0]);
        assert_eq!(offered(all, &target("ipps://localhost/")), [""; 0]);
        fs::write(folder.path().join(std::process::id().to_string()), "fedcba").unwrap();
        assert_eq!(offered("Local", &own), ["Local fedcba"]);
        fs::write(folder.path().join("0"), "a\nHost: evil").unwrap();
        assert_eq!(offered(all, &socket).len(), 2);
    }

    #[test]
    fn a_password_is_asked_for_where_a_server_wants_one() {
        let nowhere = PathBuf::from("/dev/null");
        let ask = |user: &str, server: &str| Some(format!("{user} of {server}"));
        let login = Login { certificates: nowhere, ask: Some(ask), ..Login::new("ann", None) };
        let offered = |value: &str, to: &str| login.local(&target(to), &Challenge::all(value));
        let basic_of = |words: &[String]| windlass_wire::http::basic_of(&words[0]);
        let given = offered("Basic realm=\"a\"", "ipps://h/");
        assert_eq!(basic_of(&given), Some(("ann".to_owned(), "ann of h:631".to_owned())));
        assert_eq!(offered("Negotiate", "ipps://h/"), [""; 0]);
        assert_eq!(offered("Basic realm=\"a\"", "ipp://h/"), [""; 0], "it could be overheard");
    }
}
