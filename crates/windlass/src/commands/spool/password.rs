//! `windlass spool password`: the users of a file of passwords.

use std::io::{self, BufRead, IsTerminal};
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use windlass_base::{Failure, Schema};
use windlass_output::{Output, Page, Record};
use windlass_spool::set_password;

use crate::commands::unwritten;

/// Maximum bytes of a line.
const MAX_LINE: u64 = 4_096;

/// The arguments of `windlass spool password`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass spool password /etc/windlass/passwords ann
                                           ask for ann's password twice
  windlass spool password passwords ann < file
                                           read the password from a file's first line
  windlass spool password passwords ann --remove
                                           remove ann")]
pub struct PasswordArgs {
    /// File of users and password hashes; created if it does not exist
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// The user
    #[arg(value_name = "USER")]
    pub user: String,

    /// Remove the user
    #[arg(long)]
    pub remove: bool,
}

/// The change that was made.
#[derive(Debug, Serialize)]
struct PasswordReport {
    schema: Schema,
    file: PathBuf,
    user: String,
    /// added, changed or removed.
    done: &'static str,
}

/// Runs the command.
pub(super) fn run(args: &PasswordArgs, output: &mut Output) -> anyhow::Result<()> {
    let doing = || format!("cannot set the password of {:?} in {}", args.user, args.file.display());
    let password = if args.remove { None } else { Some(asked(&args.user, &doing)?) };
    let was_there = set_password(&args.file, &args.user, password.as_deref())
        .map_err(|error| Failure::new(doing(), error))?;
    let done = match (args.remove, was_there) {
        (true, true) => "removed",
        (true, false) => {
            return Err(Failure::new(doing(), "the file has no such user").into());
        }
        (false, true) => "changed",
        (false, false) => "added",
    };
    let schema = Schema { name: "windlass.spool-password", version: 1 };
    let (file, user) = (args.file.clone(), args.user.clone());
    output.print(&PasswordReport { schema, file, user, done }).map_err(unwritten)
}

/// Returns the password: asked for without an echo, or the first line of standard input.
fn asked(user: &str, doing: &dyn Fn() -> String) -> Result<String, Failure> {
    let no = |error: io::Error| Failure::new(doing(), error);
    if !io::stdin().is_terminal() {
        let mut line = String::new();
        io::Read::take(io::stdin().lock(), MAX_LINE).read_line(&mut line).map_err(no)?;
        let line = line.trim_end_matches(['\n', '\r']).to_owned();
        if line.is_empty() {
            return Err(Failure::usage(doing(), "the first line of standard input is empty")
                .advise(
                    "Write the password as the first line, or run the command at a terminal.",
                ));
        }
        return Ok(line);
    }
    let ask = |what: &str| rpassword::prompt_password(format!("{what} of {user}: ")).map_err(no);
    let password = ask("password")?;
    if ask("again, password")? != password {
        return Err(Failure::usage(doing(), "the two passwords differ"));
    }
    Ok(password)
}

impl Record for PasswordReport {
    fn text(&self, page: &mut Page) {
        page.line(format!("{}: {}", self.done, self.user));
    }
}
