//! Jobs for commands: the data goes to the standard input of a shell's command.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use windlass_sys::process::{Process, end_group};
use windlass_sys::wait::ready;

use super::Delivery;

/// How often a command is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The most that is kept of what a command says: its end.
const MAX_SAID: usize = 2_048;

/// What a pipe holds (pipe(7)): so much may wait of what a command said before its end.
const PIPE: usize = 64 << 10;

/// How long what a command leaves behind may hold its standard input.
const GRACE: Duration = Duration::from_secs(1);

/// Gives a job to a command: the data on its standard input, and what it may want
/// to know in its environment. Nothing that a client said is in its words.
///
/// It has a process group of its own. Where the job is broken off, all of that
/// ends, and so does what holds the job's data after the command itself has ended.
pub(super) fn run(
    delivery: &Delivery<'_>,
    command: &str,
    buffer: &mut Vec<u8>,
) -> Result<(), String> {
    let failed = |what: &str| {
        let what = what.to_owned();
        move |error: io::Error| format!("{what} {command:?}: {error}")
    };
    let ticket = &delivery.work.ticket;
    let mut child = Command::new("/bin/sh")
        .args(["-c", command])
        .env("WINDLASS_JOB_ID", delivery.work.id.to_string())
        .env("WINDLASS_PRINTER", delivery.printer)
        .env("WINDLASS_JOB_NAME", speakable(&ticket.name))
        .env("WINDLASS_JOB_USER", speakable(&ticket.user))
        .env("WINDLASS_JOB_HOST", speakable(&ticket.host))
        .env("WINDLASS_JOB_FORMAT", speakable(&ticket.format))
        .env("WINDLASS_JOB_BYTES", delivery.work.size.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(failed("start"))?;
    let (stdin, stderr) = (child.stdin.take(), child.stderr.take());
    let has_ended = AtomicBool::new(false);
    thread::scope(|scope| {
        // One that reads nothing must not keep the printer from stopping it.
        let feeder = scope.spawn(|| {
            let Some(mut stdin) = stdin else { return Ok(()) };
            delivery.copy(&mut stdin, buffer)
        });
        let listener = scope.spawn(|| stderr.map(|stderr| last_words(stderr, &has_ended)));
        let watched = watch(delivery, &child);
        if watched.is_err() {
            end_group(&child);
        }
        let since = Instant::now();
        while !feeder.is_finished() && since.elapsed() < GRACE {
            thread::sleep(POLL_INTERVAL / 4);
        }
        if !feeder.is_finished() {
            end_group(&child);
        }
        // Not before: as long as it is not waited for, its number is its own.
        let ended = child.wait();
        has_ended.store(true, Ordering::Relaxed);
        let fed = feeder.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let said = listener.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        watched.map_err(failed("wait for"))?;
        let ended = ended.map_err(failed("wait for"))?;
        if !ended.success() {
            let said = said.flatten().map_or_else(String::new, |said| format!(": {said}"));
            return Err(format!("{command:?} ended with {ended}{said}"));
        }
        match fed {
            // One that has seen enough may end before the data does.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(failed("write to")(error))
            }
            _ => Ok(()),
        }
    })
}

/// Waits for the end of a command, and ends it where the job is broken off.
fn watch(delivery: &Delivery<'_>, child: &Child) -> io::Result<()> {
    let process = Process::of_child(child.id())?;
    while !ready(&[process.as_fd()], Some(POLL_INTERVAL))? {
        if delivery.monitor.is_stopped() {
            end_group(child);
        }
    }
    Ok(())
}

/// What an environment has room for.
fn speakable(text: &str) -> String {
    text.replace('\0', "")
}

/// The last line of what a command says. What it says before is read and dropped:
/// it may say anything for as long as it likes. What it leaves behind may keep the
/// pipe, and is not waited for.
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
            // What is left behind goes on talking.
            break;
        }
    }
    let said = String::from_utf8_lossy(&said);
    said.trim().lines().last().map(|line| line.trim().to_owned())
}

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;
