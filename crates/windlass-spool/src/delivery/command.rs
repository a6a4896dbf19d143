//! Delivery of jobs to commands: a shell command reads the data from its standard input.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use windlass_spool_core::Outcome;
use windlass_sys::confined::{Confinement, confine};
use windlass_sys::process::{Process, end_group};
use windlass_sys::wait::ready;

use super::Delivery;
use crate::commands::another_user;

/// Interval between checks of a running command.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Maximum size of the kept tail of a command's standard error, in bytes.
const MAX_SAID: usize = 16 << 10;

/// Prefix of the lines in which CUPS filters report errors (filter(7)).
const WRONG: &str = "ERROR:";

/// Capacity of a pipe (pipe(7)): at most so much output of a command may still be unread at its
/// end.
const PIPE: usize = 64 << 10;

/// Search path of commands.
pub(super) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Exit status of a command that will never take this job: `EX_DATAERR` of sysexits.h, "the input
/// data was incorrect in some way".
const REFUSED: i32 = 65;

/// Runs a command for a job: the data is its standard input, and facts about the job are in its
/// environment. The command line holds nothing that a client sent, and the environment nothing of
/// this server's own.
pub(super) fn run(
    delivery: &Delivery<'_>,
    command: &str,
    buffer: &mut Vec<u8>,
) -> Result<(), Outcome> {
    let name = format!("{command:?}");
    let mut shell = prepared(delivery, "/bin/sh", &name)?;
    shell.args(["-c", command]).stdout(Stdio::null());
    match carry_out(delivery, shell, &name, delivery.commands.time, |stdin| {
        delivery.copy(stdin, buffer)
    })? {
        CommandEnd::Well => Ok(()),
        CommandEnd::Badly { code: Some(REFUSED), what } => Err(Outcome::Refused(what)),
        CommandEnd::Badly { what, .. } | CommandEnd::TooLate(what) => Err(Outcome::Failed(what)),
    }
}

/// The end of a command.
pub(super) enum CommandEnd {
    /// Exit status 0.
    Well,
    /// Time limit exceeded: the command was killed.
    TooLate(String),
    /// Another exit status, or a signal.
    Badly {
        /// Exit status; `None` if a signal ended the command.
        code: Option<i32>,
        /// Status in words, with the last line of the command's standard error.
        what: String,
    },
}

/// Runs a prepared command and feeds it. At its end, on cancellation or on timeout, the whole
/// process group is killed.
pub(super) fn carry_out(
    delivery: &Delivery<'_>,
    mut command: Command,
    name: &str,
    most: Duration,
    feed: impl FnOnce(&mut ChildStdin) -> io::Result<()> + Send,
) -> Result<CommandEnd, Outcome> {
    let failed = |what: &str| {
        let what = what.to_owned();
        move |error: io::Error| Outcome::Failed(format!("{what} {name}: {error}"))
    };
    let mut child = command.spawn().map_err(failed("start"))?;
    // Closes the server's copies of the command's output.
    drop(command);
    let (stdin, stderr) = (child.stdin.take(), child.stderr.take());
    let has_ended = AtomicBool::new(false);
    thread::scope(|scope| {
        // A command that reads nothing must not keep the printer from stopping it.
        let feeder = scope.spawn(|| {
            let Some(mut stdin) = stdin else { return Ok(()) };
            feed(&mut stdin)
        });
        let listener = scope.spawn(|| stderr.map(|stderr| last_words(stderr, &has_ended)));
        let watched = watch(delivery, &child, most);
        // Kills the children that the command left behind, too. Before the command is waited for:
        // until then, its process id cannot be reused.
        end_group(&child);
        let ended = child.wait();
        has_ended.store(true, Ordering::Relaxed);
        let fed = feeder.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let said = listener.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        if !watched.map_err(failed("wait for"))? {
            let what = format!("{name} took longer than {most:?} and was ended");
            return Ok(CommandEnd::TooLate(what));
        }
        let ended = ended.map_err(failed("wait for"))?;
        if !ended.success() {
            let said =
                said.flatten().map_or_else(String::new, |said| format!("; it says {said:?}"));
            let what = format!("{name} ended with {ended}{said}");
            return Ok(CommandEnd::Badly { code: ended.code(), what });
        }
        match fed {
            // A command may end before it has read all of the data.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(failed("write to")(error))
            }
            _ => Ok(CommandEnd::Well),
        }
    })
}

/// Returns a confined command, in its own process group, as a user with few rights.
pub(super) fn prepared(
    delivery: &Delivery<'_>,
    program: impl AsRef<OsStr>,
    name: &str,
) -> Result<Command, Outcome> {
    let (ticket, settings) = (&delivery.work.ticket, delivery.commands);
    let user = delivery.printer.user.as_deref().or(settings.user.as_deref());
    let user = another_user(user).map_err(|why| Outcome::Failed(format!("run {name}: {why}")))?;
    let home = user.as_ref().map_or("/", |user| &user.home);
    let mut command = Command::new(program);
    command
        .current_dir("/")
        .env_clear()
        .envs([("PATH", PATH), ("HOME", home), ("SHELL", "/bin/sh"), ("LANG", "C.UTF-8")])
        .env("WINDLASS_JOB_ID", delivery.work.id.to_string())
        .env("WINDLASS_PRINTER", &delivery.printer.name)
        .env("WINDLASS_JOB_NAME", speakable(&ticket.name))
        .env("WINDLASS_JOB_USER", speakable(&ticket.user))
        .env("WINDLASS_JOB_HOST", speakable(&ticket.host))
        .env("WINDLASS_JOB_FORMAT", speakable(&ticket.format))
        .env("WINDLASS_JOB_BYTES", delivery.rest().size().to_string())
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    if let Some(user) = &user {
        command.envs([("USER", &user.name), ("LOGNAME", &user.name)]);
    }
    let confinement = Confinement {
        user,
        memory: Some(settings.memory),
        output: Some(settings.output),
        processor: Some(settings.time.as_secs().max(1)),
    };
    confine(&mut command, &confinement);
    Ok(command)
}

/// Waits for the end of a command, and kills it if the job is canceled. Returns whether the command
/// kept its time limit.
fn watch(delivery: &Delivery<'_>, child: &Child, most: Duration) -> io::Result<bool> {
    let process = Process::of_child(child.id())?;
    let since = Instant::now();
    while !ready(&[process.as_fd()], Some(POLL_INTERVAL))? {
        if delivery.monitor.is_stopped() {
            end_group(child);
        }
        if since.elapsed() >= most {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the text without NUL bytes, which an environment cannot hold.
fn speakable(text: &str) -> String {
    text.replace('\0', "")
}

/// Returns the last line of a command's standard error, or the last line that reports an error.
/// Earlier output is read and dropped, however much there is. Children left behind may hold the
/// pipe open; they are not waited for.
fn last_words(mut stderr: ChildStderr, has_ended: &AtomicBool) -> Option<String> {
    let (mut said, mut late) = (Vec::new(), 0);
    let mut piece = vec![0; 16 << 10];
    loop {
        let was_ended = has_ended.load(Ordering::Relaxed);
        match ready(&[stderr.as_fd()], Some(if was_ended { Duration::ZERO } else { POLL_INTERVAL }))
        {
            Ok(true) => match stderr.read(&mut piece) {
                Ok(0) | Err(_) => break,
                Ok(got) => {
                    late += if was_ended { got } else { 0 };
                    said.extend_from_slice(&piece[..got]);
                    if said.len() > MAX_SAID {
                        said.drain(..said.len() - MAX_SAID);
                    }
                }
            },
            Ok(false) if was_ended => break,
            Ok(false) => {}
            Err(_) => break,
        }
        if late >= PIPE {
            // A child that was left behind keeps writing.
            break;
        }
    }
    let said = String::from_utf8_lossy(&said);
    let lines = || said.trim().lines().map(str::trim);
    let wrong = lines().filter_map(|line| line.strip_prefix(WRONG)).next_back();
    wrong.or_else(|| lines().next_back()).map(|line| line.trim().to_owned())
}

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;
