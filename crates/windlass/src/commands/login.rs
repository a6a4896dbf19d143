//! The login at an IPP server, and the TLS servers to trust.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use windlass_base::Failure;
use windlass_print::{Access, KnownServers, Login, Tls, Trust};

/// Variable with the password, if no file is named.
const PASSWORD: &str = "WINDLASS_PASSWORD";

/// The program that asks for a password.
const ASKPASS: &str = "WINDLASS_ASKPASS";

/// The longest file of a password.
const MAX_PASSWORD: u64 = 4_096;

/// Advice after a refused login.
pub(super) const ADVICE: &str = "Give the user with --user and the password with --password-file \
                                 or WINDLASS_PASSWORD, over ipps://. For CUPS on this host, use \
                                 its Unix socket instead: --server /run/cups/cups.sock; root and \
                                 the group lpadmin may administer it.";

/// The options for the login and for trust.
#[derive(Args, Clone, Debug)]
pub struct LoginArgs {
    /// A file with the user's password.
    #[arg(long, value_name = "FILE", help_heading = "The server")]
    #[arg(
        help = "File with the user's password on its first line; sent over ipps:// or within this \
                host only [default: $WINDLASS_PASSWORD, or a prompt on the terminal or by the \
                program in $WINDLASS_ASKPASS]"
    )]
    pub password_file: Option<PathBuf>,

    /// Trust in the server's certificate.
    #[arg(long, value_name = "WHOM", value_parser = trust, help_heading = "The server")]
    #[arg(help = "Certificates to trust with ipps://: first-use (valid by the system's \
                authorities, or the same as at first use), roots (the system's authorities only), \
                sha256:… (this certificate only), anybody (any certificate) [default: first-use]")]
    pub trust: Option<Trust>,
}

fn trust(text: &str) -> Result<Trust, String> {
    match text {
        "first-use" => Ok(Trust::FirstUse),
        "roots" => Ok(Trust::Roots),
        "anybody" => Ok(Trust::Anybody),
        _ => text
            .parse()
            .map(|one| Trust::Pinned(vec![one]))
            .map_err(|error| format!("use first-use, roots, anybody, or a fingerprint: {error}")),
    }
}

impl LoginArgs {
    /// Returns the access of a user.
    pub(super) fn access(&self, user: &str) -> Result<Access, Failure> {
        let password = match &self.password_file {
            Some(path) => Some(read(path)?),
            None => std::env::var(PASSWORD).ok().filter(|password| !password.is_empty()),
        };
        let mut login = Login::new(user, password);
        // Variable of CUPS for a server with its state in another folder.
        if let Some(state) = std::env::var_os("CUPS_STATEDIR") {
            login.certificates = PathBuf::from(state).join("certs");
        }
        login.ask = Some(asked);
        let tls = Tls::new(self.trust.clone().unwrap_or_default(), known());
        Ok(Access { tls: tls.into(), login })
    }
}

/// Asks a person, without an echo: at a terminal, or by the program that `WINDLASS_ASKPASS`
/// names, which gets the question and writes the answer, as ssh's does.
fn asked(user: &str, server: &str) -> Option<String> {
    let question = format!("password of {user} on {server}: ");
    let password = match std::env::var_os(ASKPASS).filter(|program| !program.is_empty()) {
        Some(program) => {
            let output = Command::new(program).arg(&question).stderr(Stdio::inherit()).output();
            let output = output.ok().filter(|output| output.status.success())?;
            let text = String::from_utf8(output.stdout).ok()?;
            text.lines().next().unwrap_or_default().to_owned()
        }
        None if io::stdin().is_terminal() && io::stderr().is_terminal() => {
            rpassword::prompt_password(question).ok()?
        }
        None => return None,
    };
    Some(password).filter(|password| !password.is_empty())
}

/// Reads the first line of a file.
fn read(path: &Path) -> Result<String, Failure> {
    let no = |error: &dyn std::fmt::Display| {
        Failure::usage(format!("cannot read the password in {}", path.display()), error)
            .advise("Write the password on the first line of the file.")
    };
    let mut text = String::new();
    let file = File::open(path).map_err(|error| no(&error))?;
    file.take(MAX_PASSWORD).read_to_string(&mut text).map_err(|error| no(&error))?;
    let line = text.lines().next().unwrap_or_default();
    if line.is_empty() { Err(no(&"its first line is empty")) } else { Ok(line.to_owned()) }
}

/// Returns the store of server certificates that were seen before.
fn known() -> Option<KnownServers> {
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config"));
    let config = std::env::var_os("XDG_CONFIG_HOME").filter(|path| !path.is_empty());
    let config = config.map(PathBuf::from).or_else(home)?;
    Some(KnownServers::new(config.join("windlass/known-servers")))
}

/// Prints notes about the servers' certificates on standard error.
pub(super) fn tell(access: &Access) {
    for note in access.tls.notes() {
        eprintln!("windlass: {note}");
    }
}
