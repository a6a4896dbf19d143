//! Jobs by the programs that scripts use: lp and lpr.

use std::io::{self, PipeReader, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use windlass_sys::wait::ready;

use super::files::Data;
use super::tally::{Fate, Kind, Problem};
use super::{Plan, Program};
use crate::monitor::Monitor;
use crate::target::Target;

/// How often it is looked whether it was stopped.
const WAIT: Duration = Duration::from_millis(100);

/// The most that is kept of a program's words.
const MOST_WORDS: usize = 4_096;

/// One of those who send.
pub(super) struct Sender<'a> {
    plan: &'a Plan,
    program: Program,
    monitor: &'a Monitor,
}

/// What a program came to.
enum Ended {
    Done {
        is_fine: bool,
        words: String,
    },
    /// A signal ended it.
    Broken,
    Late,
    Stopped,
}

impl<'a> Sender<'a> {
    pub(super) const fn new(plan: &'a Plan, program: Program, monitor: &'a Monitor) -> Self {
        Self { plan, program, monitor }
    }

    /// Sends a job.
    pub(super) fn send(&self, queue: usize, number: u64, data: &Data) -> Fate {
        let target = &self.plan.queues[queue];
        let here = |error: &dyn std::fmt::Display| {
            let name = self.program.name();
            Fate::Failed(Problem::new(Kind::Here, format!("{name} cannot be run: {error}")))
        };
        let Some(path) = data.path() else { return here(&"its file is in memory") };
        let mut command = Command::new(self.program.name());
        let (server, name) = (target.authority(), queue_name(target));
        let title = format!("{} {number:09}", self.plan.name);
        match self.program {
            Program::Lp => command.args(["-h", &server, "-d", &name, "-t", &title]),
            Program::Lpr => command.args(["-H", &server, "-P", &name, "-T", &title]),
        };
        // lpr takes `--` for an option, so the path is not to look like one.
        command.arg(std::path::absolute(path).unwrap_or_else(|_| path.to_owned()));
        match self.run(command) {
            Ok(Ended::Done { is_fine: true, words }) => Fate::Acknowledged(job_id(&words)),
            Ok(Ended::Done { words, .. }) => {
                let problem = Problem::of_program(&words);
                match problem.kind {
                    Kind::NoConnection => Fate::Failed(problem),
                    Kind::Closed => Fate::Unknown(problem),
                    _ => Fate::Refused(problem),
                }
            }
            Ok(Ended::Late) => {
                let words = format!("{} did not end for the patience", self.program.name());
                Fate::Unknown(Problem::new(Kind::Silent, words))
            }
            Ok(Ended::Broken) => {
                let words = format!("a signal ended {}", self.program.name());
                Fate::Unknown(Problem::new(Kind::Here, words))
            }
            Ok(Ended::Stopped) => {
                Fate::Unknown(Problem::new(Kind::Stopped, "it was stopped before its end"))
            }
            Err(error) => here(&error),
        }
    }

    fn run(&self, mut command: Command) -> io::Result<Ended> {
        let (mut reader, writer) = io::pipe()?;
        // Its words are looked through in English.
        command.env("LC_ALL", "C").stdin(Stdio::null());
        command.stdout(writer.try_clone()?).stderr(writer);
        // Ctrl-C is for windlass, which lets jobs come to their end.
        command.process_group(0);
        let mut child = command.spawn()?;
        // Its ends of the pipe go with it.
        drop(command);
        match self.watch(&mut reader) {
            Ok(Some(words)) => {
                let status = child.wait()?;
                Ok(match status.code() {
                    Some(code) => Ended::Done { is_fine: code == 0, words },
                    None => Ended::Broken,
                })
            }
            Ok(None) => {
                kill(&mut child);
                Ok(if self.monitor.is_stopped() { Ended::Stopped } else { Ended::Late })
            }
            Err(error) => {
                kill(&mut child);
                Err(error)
            }
        }
    }

    /// Reads its words to their end; nothing where it takes too long.
    fn watch(&self, reader: &mut PipeReader) -> io::Result<Option<String>> {
        let (began, mut words) = (Instant::now(), Vec::new());
        loop {
            if ready(&[reader.as_fd()], Some(WAIT))? {
                let mut some = [0; 1_024];
                match reader.read(&mut some)? {
                    0 => return Ok(Some(String::from_utf8_lossy(&words).into_owned())),
                    got => {
                        let room = MOST_WORDS.saturating_sub(words.len()).min(got);
                        words.extend_from_slice(&some[..room]);
                    }
                }
            }
            if self.monitor.is_stopped() || began.elapsed() > self.plan.patience {
                return Ok(None);
            }
        }
    }
}

fn kill(child: &mut Child) {
    // Where it has ended by itself both say so.
    let _ = child.kill();
    let _ = child.wait();
}

/// What CUPS calls a queue.
pub(super) fn queue_name(target: &Target) -> String {
    let name = target.queue.rsplit('/').next().unwrap_or_default();
    crate::escape::undone(name)
}

/// The number in `request id is dummy-2731 (1 file(s))`.
fn job_id(words: &str) -> Option<i32> {
    let name = words.strip_prefix("request id is ")?.split(' ').next()?;
    name.rsplit('-').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lp_tells_the_number_of_its_job() {
        assert_eq!(job_id("request id is dummy-2731 (1 file(s))\n"), Some(2_731));
        assert_eq!(job_id("request id is a-b-9 (1 file(s))\n"), Some(9));
        assert_eq!(job_id("lp: Too many active jobs.\n"), None);
    }
}
