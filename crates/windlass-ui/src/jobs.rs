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

/// So much of what a program prints is kept; the rest is read and thrown away.
const MAX_OUTPUT: usize = 32 << 20;

/// The same of its standard error.
const MAX_SAID: usize = 64 << 10;

/// So many jobs are remembered.
const REMEMBERED: usize = 8;

/// The programs that were started. `M` is what the caller knows of each.
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
    /// Whether none is started any more.
    is_closed: bool,
}

/// A program that was started.
#[derive(Debug)]
pub struct Job<M> {
    /// Its number, from 1 on.
    pub id: u64,
    /// What the caller knows of it.
    pub of: M,
    /// When it was started.
    pub began: Instant,
    process: Process,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Told when it is over.
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    output: Vec<u8>,
    said: Vec<u8>,
    stage: Stage,
}

/// How far a job is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// It runs.
    #[default]
    Runs,
    /// It was told to stop, and says what it found.
    Stops,
    /// It is over. The code is missing where a signal ended it.
    Ended(Option<i32>),
}

/// What a job has printed so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// On standard output.
    pub output: Vec<u8>,
    /// On standard error.
    pub said: String,
    /// How far it is.
    pub stage: Stage,
}

/// The folder of a program, and the files that it needs until it is over.
#[derive(Clone, Debug, Default)]
pub struct Workplace {
    /// Its folder; the server's own where there is none.
    pub folder: Option<PathBuf>,
    /// Files that are removed when it is over, unless somebody else has them.
    pub files: Files,
}

/// Why a program was not started.
#[derive(Debug)]
pub enum StartError {
    /// The job of this number is not over.
    Busy(u64),
    /// The server ends.
    Closed,
    /// The system does not start it.
    Failed(io::Error),
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<M> Jobs<M> {
    /// Runs of a program, each with these variables beside those of this process.
    pub fn new(program: PathBuf, environment: Vec<(OsString, OsString)>) -> Self {
        let table = Table { last: 0, jobs: VecDeque::new(), is_closed: false };
        Self { program, environment, table: Mutex::new(table) }
    }

    /// Starts the program with these arguments, each as it is. Its number is the job's.
    ///
    /// # Errors
    /// Where another is not over yet, or it cannot be started.
    pub fn start(&self, arguments: &[String], of: M) -> Result<u64, StartError> {
        self.start_in(Workplace::default(), arguments, of)
    }

    /// Starts the program at a workplace.
    ///
    /// # Errors
    /// As of [`Jobs::start`].
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
            // A Ctrl-C at the terminal is for the server, which passes it on once.
            .process_group(0);
        if let Some(folder) = folder {
            command.current_dir(folder);
        }
        // Where the server is killed, the program stops and keeps what it found. It may be told so
        // more than once, and a second SIGINT would end it at once.
        end_with_this_thread(&mut command, Signal::TERM);
        hear(&mut command, Signal::INT);
        let shared = Arc::<Shared>::default();
        let kept = Arc::clone(&shared);
        let (started, begun) = sync_channel(1);
        // The thread that starts it is there until it is over.
        thread::Builder::new()
            .spawn(move || match begin(command) {
                Ok((child, process)) => {
                    let _ = started.send(Ok(process));
                    follow(child, &kept, files);
                }
                Err(error) => drop(started.send(Err(error))),
            })
            .map_err(StartError::Failed)?;
        let broke = || io::Error::other("the thread that starts it broke off");
        let process = begun.recv().map_err(|_| broke()).flatten().map_err(StartError::Failed)?;
        table.last += 1;
        let id = table.last;
        table.jobs.push_back(Arc::new(Job { id, of, began: Instant::now(), process, shared }));
        if table.jobs.len() > REMEMBERED {
            // All but the last are over.
            table.jobs.pop_front();
        }
        Ok(id)
    }

    /// A job, where it is remembered.
    pub fn job(&self, id: u64) -> Option<Arc<Job<M>>> {
        locked(&self.table).jobs.iter().find(|job| job.id == id).cloned()
    }

    /// The jobs that are remembered, the newest first.
    pub fn all(&self) -> Vec<Arc<Job<M>>> {
        locked(&self.table).jobs.iter().rev().cloned().collect()
    }

    /// The one that is not over.
    pub fn running(&self) -> Option<Arc<Job<M>>> {
        locked(&self.table).jobs.iter().find(|job| !job.is_over()).cloned()
    }

    /// Ends what runs, for the server ends: it is told to stop, and after `grace` it is killed. No
    /// other is started any more.
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
    /// How far it is.
    pub fn stage(&self) -> Stage {
        locked(&self.shared.state).stage
    }

    /// Whether it is over.
    pub fn is_over(&self) -> bool {
        matches!(self.stage(), Stage::Ended(_))
    }

    /// What it has printed so far.
    pub fn output(&self) -> Output {
        let state = locked(&self.shared.state);
        let said = String::from_utf8_lossy(&state.said).into_owned();
        Output { output: state.output.clone(), said, stage: state.stage }
    }

    /// The last whole line that it has printed.
    pub fn last_line(&self) -> Option<String> {
        let state = locked(&self.shared.state);
        let whole = &state.output[..state.output.iter().rposition(|byte| *byte == b'\n')?];
        let from = whole.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        Some(String::from_utf8_lossy(&whole[from..]).into_owned())
    }

    /// Tells it to stop (SIGINT), so that it says what it found; the second time ends it (SIGKILL).
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

    /// Waits until it is over, for so long at the most.
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

/// Reads what a program prints, until it is over and its files are removed.
fn follow(mut child: Child, shared: &Shared, files: Files) {
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

    /// What a job came to, once it is over.
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
        // And so it is where the server ends.
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
