//! Jobs by the programs that scripts use: lp and lpr.

use std::io::{self, PipeReader, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use windlass_sys::process::Process;
use windlass_sys::wait::ready;
use windlass_wire::target::Target;

use super::files::Data;
use super::tally::{Fate, Problem, ProblemKind, SubmissionFailure};
use super::{Plan, Program};
use crate::monitor::Monitor;
use crate::patience::Patience;

/// Interval between two checks for a stop.
const WAIT: Duration = Duration::from_millis(100);

/// Maximum size of a program's stored text.
const MAX_WORDS: usize = 4_096;

/// One of the senders.
pub(super) struct Sender<'a> {
    pub(super) plan: &'a Plan,
    pub(super) program: Program,
    pub(super) monitor: &'a Monitor,
}

impl Sender<'_> {
    /// Sends a job.
    pub(super) fn send(&self, queue: usize, number: u64, data: &Data) -> Fate {
        let target = &self.plan.queues[queue];
        let here = |error: &dyn std::fmt::Display| {
            let words = format!("cannot run {}: {error}", self.program.id());
            Problem::new(SubmissionFailure::Failed, ProblemKind::Here, words)
        };
        let path = data.path().ok_or_else(|| here(&"the job file is only in memory"))?;
        let mut command = Command::new(self.program.id());
        let (server, name) = (target.authority(), queue_name(target));
        let title = format!("{} {number:09}", self.plan.name);
        match self.program {
            Program::Lp => command.args(["-h", &server, "-d", &name, "-t", &title]),
            Program::Lpr => command.args(["-H", &server, "-P", &name, "-T", &title]),
        };
        // lpr takes `--` for an option, so the path must not look like one.
        command.arg(std::path::absolute(path).unwrap_or_else(|_| path.to_owned()));
        self.run(command).unwrap_or_else(|error| Err(here(&error)))
    }

    fn run(&self, mut command: Command) -> io::Result<Fate> {
        let (mut reader, writer) = io::pipe()?;
        // Its text is searched in English.
        command.env("LC_ALL", "C").stdin(Stdio::null());
        command.stdout(writer.try_clone()?).stderr(writer);
        // Ctrl-C is for windlass, which lets jobs end normally.
        command.process_group(0);
        let mut child = command.spawn()?;
        // This end of the pipe closes with it.
        drop(command);
        let watched = self.watch(&mut child, &mut reader);
        if !matches!(watched, Ok(Some(_))) {
            kill(&mut child);
        }
        let unknown =
            |kind, words: String| Err(Problem::new(SubmissionFailure::Unknown, kind, words));
        let name = self.program.id();
        Ok(match watched? {
            Some((status, words)) => match status.code() {
                Some(0) => Ok(job_id(&words)),
                Some(_) => Err(Problem::of_program(&words)),
                None => unknown(ProblemKind::Here, format!("a signal ended {name}")),
            },
            None if self.monitor.is_stopped() => {
                unknown(ProblemKind::Stopped, "the job was stopped before its end".to_owned())
            }
            None => unknown(ProblemKind::Silent, format!("{name} did not end in time")),
        })
    }

    /// Reads the program's text to its end, and waits for the program; returns nothing after too
    /// long a time, however much text comes.
    fn watch(
        &self,
        child: &mut Child,
        reader: &mut PipeReader,
    ) -> io::Result<Option<(ExitStatus, String)>> {
        let clock = &self.monitor.clock;
        let patience = Patience::new(self.plan.patience, clock.now());
        let goes_on = || !self.monitor.is_stopped() && !patience.is_over(clock.now());
        let (mut words, mut some) = (Vec::new(), [0; 1_024]);
        let mut speaks = true;
        while speaks {
            if ready(&[reader.as_fd()], Some(WAIT))? {
                let got = reader.read(&mut some)?;
                let room = MAX_WORDS.saturating_sub(words.len()).min(got);
                words.extend_from_slice(&some[..room]);
                speaks = got > 0;
            }
            if speaks && !goes_on() {
                return Ok(None);
            }
        }
        let process = Process::of_child(child.id())?;
        while !ready(&[process.as_fd()], Some(WAIT))? {
            if !goes_on() {
                return Ok(None);
            }
        }
        Ok(Some((child.wait()?, String::from_utf8_lossy(&words).into_owned())))
    }
}

fn kill(child: &mut Child) {
    // Both calls fail harmlessly if it has ended by itself.
    let _ = child.kill();
    let _ = child.wait();
}

/// Returns the name of a queue in CUPS.
pub(super) fn queue_name(target: &Target) -> String {
    let name = target.queue.rsplit('/').next().unwrap_or_default();
    windlass_wire::escape::undone(name)
}

/// Returns the number in `request id is dummy-2731 (1 file(s))`.
fn job_id(words: &str) -> Option<i32> {
    let name = words.strip_prefix("request id is ")?.split(' ').next()?;
    name.rsplit('-').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use windlass_sys::clock::Hand;
    use windlass_wire::target::Protocol;

    #[test]
    fn a_program_that_does_not_end_is_ended_after_the_patience() {
        let target = Target::new("h", Some(Protocol::Ipp), Some("q")).unwrap();
        let plan = super::super::tests::plan(target);
        let hand = Hand::default();
        let monitor = Monitor::by(hand.clock());
        let sender = Sender { plan: &plan, program: Program::Lp, monitor: &monitor };
        // One that continues to write, and one that has closed its output.
        for script in ["while :; do echo .; sleep 0.001; done", "exec sleep 3021 >&- 2>&-"] {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            let is_over = AtomicBool::new(false);
            let ended = thread::scope(|scope| {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        hand.pass(plan.patience / 10);
                        thread::sleep(Duration::from_millis(1));
                    }
                });
                let ended = sender.run(command);
                is_over.store(true, Ordering::Relaxed);
                ended
            });
            let problem = ended.unwrap().unwrap_err();
            assert_eq!(
                (problem.became, problem.kind),
                (SubmissionFailure::Unknown, ProblemKind::Silent),
                "{script}"
            );
        }
    }

    #[test]
    fn lp_tells_the_number_of_its_job() {
        assert_eq!(job_id("request id is dummy-2731 (1 file(s))\n"), Some(2_731));
        assert_eq!(job_id("request id is a-b-9 (1 file(s))\n"), Some(9));
        assert_eq!(job_id("lp: Too many active jobs.\n"), None);
    }
}
