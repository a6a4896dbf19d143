//! Programs that pages start: one at a time, each without a shell, with its output in memory.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use windlass_sys::process::{Process, Signal, end_with_this_thread, hear};

use crate::Files;

/// Maximum output of a program that is kept, in bytes; the rest is read and discarded.
const MAX_OUTPUT: usize = 32 << 20;

/// Maximum standard error of a program that is kept, in bytes.
const MAX_SAID: usize = 64 << 10;

/// Number of jobs that are remembered.
const REMEMBERED: usize = 8;

/// Programs that were started. `M` is the caller's data of each.
#[derive(Debug)]
pub struct Jobs<M> {
    program: PathBuf,
    environment: Vec<(OsString, OsString)>,
    table: Mutex<Table<M>>,
}

#[derive(Debug)]
struct Table<M> {
    last: u64,
    jobs: VecDeque<Arc<Job<M>>>,
    /// True if no more jobs are started.
    is_closed: bool,
}

/// Program that was started.
#[derive(Debug)]
pub struct Job<M> {
    /// Number of the job, from 1 on.
    pub id: u64,
    /// The caller's data of the job.
    pub of: M,
    /// Time of the start.
    pub began: Instant,
    process: Process,
    shared: Arc<SharedState>,
}

#[derive(Debug, Default)]
struct SharedState {
    state: Mutex<State>,
    /// Notified at the end of the job.
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    output: Vec<u8>,
    said: Vec<u8>,
    stage: Stage,
}

/// Stages of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// Running.
    #[default]
    Runs,
    /// Told to stop; the program prints its results.
    Stops,
    /// Ended; the code is missing if a signal ended the program.
    Ended(Option<i32>),
}

/// Output of a job so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Standard output.
    pub output: Vec<u8>,
    /// Standard error.
    pub said: String,
    /// Stage of the job.
    pub stage: Stage,
}

/// Working folder of a program, and the files that it needs until its end.
#[derive(Clone, Debug, Default)]
pub struct Workplace {
    /// Working folder; none for that of the server.
    pub folder: Option<PathBuf>,
    /// Files that are removed at the end, unless another job uses them.
    pub files: Files,
}

/// Errors of starting a program.
#[derive(Debug)]
pub enum StartError {
    /// The job of this number still runs.
    Busy(u64),
    /// The server is ending.
    Closed,
    /// The system cannot start the program.
    Failed(io::Error),
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<M> Jobs<M> {
    /// Creates jobs of a program, with these environment variables added to those of this process.
    pub fn new(program: PathBuf, environment: Vec<(OsString, OsString)>) -> Self {
        let table = Table { last: 0, jobs: VecDeque::new(), is_closed: false };
        Self { program, environment, table: Mutex::new(table) }
    }

    /// Starts the program with these arguments, unchanged. Returns the number of the job.
    ///
    /// # Errors
    /// Returns an error if another job still runs, or the program cannot be started.
    pub fn start(&self, arguments: &[String], of: M) -> Result<u64, StartError> {
        self.start_in(Workplace::default(), arguments, of)
    }

    /// Starts the program at a workplace.
    ///
    /// # Errors
    /// The errors of [`Jobs::start`].
    pub fn start_in(
        &self,
        workplace: Workplace,
        arguments: &[String],
        of: M,
    ) -> Result<u64, StartError> {
        let Workplace { folder, files } = workplace;
        let mut table = locked(&self.table);
        if table.is_closed {
            return Err(StartError::Closed);
        }
        if let Some(busy) = table.jobs.iter().find(|job| !job.is_over()) {
            return Err(StartError::Busy(busy.id));
        }
        let mut command = Command::new(&self.program);
        command
            .args(arguments)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A Ctrl-C at the terminal is for the server, which passes the signal on once.
            .process_group(0);
        if let Some(folder) = folder {
            command.current_dir(folder);
        }
        // If the server is killed, the program stops and keeps its results. It may get SIGTERM more
        // than once; a second SIGINT would end it at once.
        end_with_this_thread(&mut command, Signal::TERM);
        hear(&mut command, Signal::INT);
        let shared = Arc::<SharedState>::default();
        let kept = Arc::clone(&shared);
        let (started, begun) = sync_channel(1);
        // The thread that starts the program must outlive it.
        thread::Builder::new()
            .spawn(move || match begin(command) {
                Ok((child, process)) => {
                    let _ = started.send(Ok(process));
                    follow(child, &kept, files);
                }
                Err(error) => drop(started.send(Err(error))),
            })
            .map_err(StartError::Failed)?;
        let broke = || io::Error::other("the thread that starts the command failed");
        let process = begun.recv().map_err(|_| broke()).flatten().map_err(StartError::Failed)?;
        table.last += 1;
        let id = table.last;
        table.jobs.push_back(Arc::new(Job { id, of, began: Instant::now(), process, shared }));
        if table.jobs.len() > REMEMBERED {
            // All jobs but the last are over.
            table.jobs.pop_front();
        }
        Ok(id)
    }

    /// Returns a job, if it is still remembered.
    pub fn job(&self, id: u64) -> Option<Arc<Job<M>>> {
        locked(&self.table).jobs.iter().find(|job| job.id == id).cloned()
    }

    /// Returns the remembered jobs, the newest first.
    pub fn all(&self) -> Vec<Arc<Job<M>>> {
        locked(&self.table).jobs.iter().rev().cloned().collect()
    }

    /// Returns the job that still runs.
    pub fn running(&self) -> Option<Arc<Job<M>>> {
        locked(&self.table).jobs.iter().find(|job| !job.is_over()).cloned()
    }

    /// Ends the running job because the server ends: tells it to stop, and kills it after `grace`.
    /// No further job is started.
    pub fn end(&self, grace: Duration) {
        locked(&self.table).is_closed = true;
        let Some(job) = self.running() else { return };
        if job.stage() == Stage::Runs {
            job.stop();
        }
        job.over(grace);
        job.process.signal(Signal::KILL);
        job.over(grace);
    }
}

impl<M> Job<M> {
    /// Returns the stage of the job.
    pub fn stage(&self) -> Stage {
        locked(&self.shared.state).stage
    }

    /// Returns whether the job has ended.
    pub fn is_over(&self) -> bool {
        matches!(self.stage(), Stage::Ended(_))
    }

    /// Returns the output so far.
    pub fn output(&self) -> Output {
        let state = locked(&self.shared.state);
        let said = String::from_utf8_lossy(&state.said).into_owned();
        Output { output: state.output.clone(), said, stage: state.stage }
    }

    /// Returns the last complete line of the output.
    pub fn last_line(&self) -> Option<String> {
        let state = locked(&self.shared.state);
        let whole = &state.output[..state.output.iter().rposition(|byte| *byte == b'\n')?];
        let from = whole.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        Some(String::from_utf8_lossy(&whole[from..]).into_owned())
    }

    /// Tells the program to stop (SIGINT), so that it prints its results; the second call kills it.
    pub fn stop(&self) {
        let mut state = locked(&self.shared.state);
        match state.stage {
            Stage::Runs => {
                state.stage = Stage::Stops;
                self.process.signal(Signal::INT);
            }
            Stage::Stops => self.process.signal(Signal::KILL),
            Stage::Ended(_) => {}
        }
    }

    /// Waits until the job is over, at most `grace`.
    fn over(&self, grace: Duration) {
        let state = locked(&self.shared.state);
        let is_not_over = |state: &mut State| !matches!(state.stage, Stage::Ended(_));
        drop(self.shared.ended.wait_timeout_while(state, grace, is_not_over));
    }
}

/// Starts a program.
fn begin(mut command: Command) -> io::Result<(Child, Process)> {
    let mut child = command.spawn()?;
    match Process::of_child(child.id()) {
        Ok(process) => Ok((child, process)),
        Err(error) => {
            let _ = child.kill().and_then(|()| child.wait());
            Err(error)
        }
    }
}

/// Reads the output of a program until it ends, then removes its files.
fn follow(mut child: Child, shared: &SharedState, files: Files) {
    let state = &shared.state;
    let (output, said) = (child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        scope.spawn(|| take(said, |bytes| keep(&mut locked(state).said, bytes, MAX_SAID)));
        take(output, |bytes| keep(&mut locked(state).output, bytes, MAX_OUTPUT));
    });
    let status = child.wait();
    drop(files);
    locked(state).stage = Stage::Ended(status.ok().and_then(|status| status.code()));
    shared.ended.notify_all();
}

fn take(from: Option<impl Read>, mut give: impl FnMut(&[u8])) {
    let Some(mut from) = from else { return };
    let mut piece = [0; 16 << 10];
    loop {
        match from.read(&mut piece) {
            Ok(0) => return,
            Ok(got) => give(&piece[..got]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

fn keep(all: &mut Vec<u8>, bytes: &[u8], most: usize) {
    let room = most.saturating_sub(all.len()).min(bytes.len());
    all.extend_from_slice(&bytes[..room]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell() -> Jobs<&'static str> {
        Jobs::new("/bin/sh".into(), vec![("OF_THE_TEST".into(), "seen".into())])
    }

    fn start(jobs: &Jobs<&'static str>, script: &str) -> Result<u64, StartError> {
        jobs.start(&["-c".to_owned(), script.to_owned()], "a script")
    }

    /// Waits for the end of a job, and returns its output.
    fn over(jobs: &Jobs<&'static str>, id: u64) -> Output {
        let job = jobs.job(id).unwrap();
        job.over(Duration::from_secs(60));
        job.output()
    }

    /// Waits until a job has printed something.
    fn printed(jobs: &Jobs<&'static str>, id: u64) {
        while jobs.job(id).unwrap().output().output.is_empty() {
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn what_it_prints_is_kept_apart_and_its_arguments_are_no_commands() {
        let jobs = shell();
        let words = ["-c", "echo \"$1 $OF_THE_TEST\"; echo no >&2; exit 3", "sh", "$(id); `id`"];
        let id = jobs.start(&words.map(str::to_owned), "words").unwrap();
        let output = over(&jobs, id);
        assert_eq!(output.output, b"$(id); `id` seen\n");
        assert_eq!(jobs.job(id).unwrap().last_line().as_deref(), Some("$(id); `id` seen"));
        let half = start(&jobs, "echo one; echo two; printf three").unwrap();
        over(&jobs, half);
        assert_eq!(jobs.job(half).unwrap().last_line().as_deref(), Some("two"));
        let silent = start(&jobs, "printf x").unwrap();
        over(&jobs, silent);
        assert_eq!(jobs.job(silent).unwrap().last_line(), None);
        assert_eq!((output.said.as_str(), output.stage), ("no\n", Stage::Ended(Some(3))));
        assert_eq!(jobs.job(id).unwrap().of, "words");
    }

    #[test]
    fn one_runs_at_a_time_and_stops_when_it_is_told_to() {
        let jobs = shell();
        let loops = "trap 'echo stopped; exit 7' INT; echo up; while :; do sleep 0.01; done";
        let first = start(&jobs, loops).unwrap();
        assert!(matches!(start(&jobs, "true"), Err(StartError::Busy(busy)) if busy == first));
        assert_eq!(jobs.running().unwrap().id, first);
        printed(&jobs, first);
        jobs.job(first).unwrap().stop();
        let output = over(&jobs, first);
        assert_eq!(output.output, b"up\nstopped\n");
        assert_eq!(output.stage, Stage::Ended(Some(7)));
        let second = start(&jobs, "true").unwrap();
        assert_eq!(over(&jobs, second).stage, Stage::Ended(Some(0)));
        assert!(jobs.running().is_none());
    }

    #[test]
    fn who_does_not_stop_is_ended() {
        let jobs = shell();
        let deaf = "trap '' INT; echo up; while :; do sleep 0.01; done";
        let id = start(&jobs, deaf).unwrap();
        printed(&jobs, id);
        jobs.job(id).unwrap().stop();
        assert_eq!(jobs.job(id).unwrap().stage(), Stage::Stops);
        jobs.job(id).unwrap().stop();
        assert_eq!(over(&jobs, id).stage, Stage::Ended(None));
        // The end of the server kills the program as well.
        let id = start(&jobs, deaf).unwrap();
        printed(&jobs, id);
        jobs.end(Duration::from_millis(50));
        assert_eq!(over(&jobs, id).stage, Stage::Ended(None));
        assert!(matches!(start(&jobs, "true"), Err(StartError::Closed)));
    }

    #[test]
    fn memory_is_bounded_and_old_jobs_are_forgotten() {
        let jobs = shell();
        let id = start(&jobs, "head -c 40000000 /dev/zero; head -c 100000 /dev/zero >&2").unwrap();
        let output = over(&jobs, id);
        assert_eq!((output.output.len(), output.said.len()), (MAX_OUTPUT, MAX_SAID));
        for _ in 0..REMEMBERED {
            let id = start(&jobs, "true").unwrap();
            over(&jobs, id);
        }
        assert!(jobs.job(id).is_none());
        let none: Jobs<()> = Jobs::new("/nowhere/program".into(), Vec::new());
        assert!(matches!(none.start(&[], ()), Err(StartError::Failed(_))));
    }
}
