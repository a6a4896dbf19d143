//! Who says to a server of IPP who he is, and which servers of TLS are trusted.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use windlass_base::Failure;
use windlass_print::{Access, Known, Login, Tls, Trust};

/// Where a password is looked for where no file is named.
const PASSWORD: &str = "WINDLASS_PASSWORD";

/// The program that asks for a password.
const ASKPASS: &str = "WINDLASS_ASKPASS";

/// The longest file of a password.
const MAX_PASSWORD: u64 = 4_096;

/// What to do where a server asks who it is, and takes nothing of what was said.
pub(super) const ADVICE: &str = "Give the name with --user and the password with --password-file \
                                 or WINDLASS_PASSWORD, over ipps://. CUPS of this host knows its \
                                 users by its Unix socket: --server /run/cups/cups.sock; root and \
                                 the group lpadmin may administer it.";

/// Who asks, and who is trusted.
#[derive(Args, Clone, Debug)]
pub struct LoginArgs {
    /// A file with the user's password.
    #[arg(long, value_name = "FILE", help_heading = "The server")]
    #[arg(
        help = "A file whose first line is the user's password, for servers that ask for one; it \
                goes over ipps:// or within this host alone [default: the variable \
                WINDLASS_PASSWORD, or it is asked for at a terminal or by the program that \
                WINDLASS_ASKPASS names]"
    )]
    pub password_file: Option<PathBuf>,

    /// Which server is trusted.
    #[arg(long, value_name = "WHOM", value_parser = trust, help_heading = "The server")]
    #[arg(help = "Which server is spoken with by ipps://: first-use, one whom the system's \
                authorities vouch for or who has the certificate of the first time; roots, the \
                authorities alone; sha256:…, the one with this certificate; anybody [default: \
                first-use]")]
    pub trust: Option<Trust>,
}

fn trust(text: &str) -> Result<Trust, String> {
    match text {
        "first-use" => Ok(Trust::FirstUse),
        "roots" => Ok(Trust::Roots),
        "anybody" => Ok(Trust::Anybody),
        _ => text.parse().map(|one| Trust::Pinned(vec![one])).map_err(|error| {
            format!("trusted are first-use, roots, anybody, or a fingerprint: {error}")
        }),
    }
}

impl LoginArgs {
    /// The same for a user.
    pub(super) fn access(&self, user: &str) -> Result<Access, Failure> {
        let password = match &self.password_file {
            Some(path) => Some(read(path)?),
            None => std::env::var(PASSWORD).ok().filter(|password| !password.is_empty()),
        };
        let mut login = Login::new(user, password);
        // CUPS's own variable for a server whose state is elsewhere.
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

/// The first line of a file.
fn read(path: &Path) -> Result<String, Failure> {
    let no = |error: &dyn std::fmt::Display| {
        Failure::usage(format!("cannot read the password in {}", path.display()), error)
            .advise("It is the first line of the file.")
    };
    let mut text = String::new();
    let file = File::open(path).map_err(|error| no(&error))?;
    file.take(MAX_PASSWORD).read_to_string(&mut text).map_err(|error| no(&error))?;
    let line = text.lines().next().unwrap_or_default();
    if line.is_empty() { Err(no(&"there is none")) } else { Ok(line.to_owned()) }
}

/// Where the certificates of servers are kept that were seen once.
fn known() -> Option<Known> {
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config"));
    let config = std::env::var_os("XDG_CONFIG_HOME").filter(|path| !path.is_empty());
    let config = config.map(PathBuf::from).or_else(home)?;
    Some(Known::new(config.join("windlass/known-servers")))
}

/// Says on standard error what people should know of the servers that were spoken with.
pub(super) fn tell(access: &Access) {
    for note in access.tls.notes() {
        eprintln!("windlass: {note}");
    }
}
