//! Work on finished capture files: compression, and a command that gets the file's name. A thread
//! of low priority does this work beside the capture, one file after another.

use std::collections::{HashSet, VecDeque};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use flate2::{Compression, GzBuilder};
use windlass_base::Bytes;
use windlass_sys::process::lower_priority;

use super::out::create_file;

/// Work for each file.
#[derive(Clone, Debug, Default)]
pub struct FileWork {
    /// Compress the file with gzip (RFC 1952), and add `.gz` to its name.
    pub compress: bool,
    /// Run this program with the name of the file, as tcpdump's `-z` does.
    pub command: Option<PathBuf>,
}

impl FileWork {
    /// Returns whether there is any work.
    pub const fn is_on(&self) -> bool {
        self.compress || self.command.is_some()
    }
}

/// Results of the work.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct FinishedWork {
    /// Number of compressed files.
    pub compressed: u64,
    /// Number of successful commands.
    pub commands: u64,
    /// Number of failures.
    pub failed: u64,
    /// The first failures.
    pub failures: Vec<WorkFailure>,
    /// Number of files that were left alone because too many waited.
    pub left_out: u64,
    #[serde(skip)]
    sizes: VecDeque<(PathBuf, Bytes)>,
}

/// Failure of the work on one file.
#[derive(Clone, Debug, serde::Serialize)]
pub struct WorkFailure {
    /// Name of the file.
    pub file: String,
    /// Description of the failure.
    pub wrong: String,
}

impl FinishedWork {
    /// Returns the new name and the size of a compressed file; the last thousand are kept.
    pub(crate) fn packed(&self, file: &Path) -> Option<(PathBuf, Bytes)> {
        let found = self.sizes.iter().rev().find(|(path, _)| path == file);
        found.map(|(path, bytes)| (packed_name(path), *bytes))
    }
}

/// Maximum number of waiting files. If the command is too slow for the capture, only their names
/// use memory.
const MOST_WAITING: usize = 10_000;

/// Maximum number of failures, and of sizes, that are kept.
const MAX_TOLD: usize = 1_000;

enum Job {
    /// Work on a complete file.
    Finish(PathBuf),
    /// Removal of a file, and of its compressed copy.
    Remove(PathBuf),
}

#[derive(Debug, Default)]
struct State {
    worked: FinishedWork,
    /// Files that wait or are being processed.
    busy: HashSet<PathBuf>,
}

/// Queue of finished files, and the thread that processes them.
#[derive(Debug, Default)]
pub(crate) struct Worker {
    plan: FileWork,
    thread: Option<(SyncSender<Job>, JoinHandle<()>)>,
    state: Arc<Mutex<State>>,
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Worker {
    pub(crate) fn new(plan: FileWork) -> Self {
        Self { plan, ..Self::default() }
    }

    /// Queues the work on a complete file.
    pub(crate) fn finish(&mut self, file: &Path) {
        if !self.plan.is_on() {
            return;
        }
        let wrong = match self.jobs() {
            Ok(jobs) => {
                let job = Job::Finish(file.to_owned());
                locked(&self.state).busy.insert(file.to_owned());
                match jobs.try_send(job) {
                    Ok(()) => return,
                    Err(TrySendError::Full(_)) => None,
                    Err(TrySendError::Disconnected(_)) => Some("a thread failed".to_owned()),
                }
            }
            Err(error) => Some(format!("cannot start a thread: {error}")),
        };
        let mut state = locked(&self.state);
        state.busy.remove(file);
        match wrong {
            Some(wrong) => state.fail(file, wrong),
            None => state.worked.left_out += 1,
        }
    }

    /// Queues the removal of a file, or removes it at once if the queue is full.
    pub(crate) fn remove(&mut self, file: PathBuf) {
        let left = match &self.thread {
            Some((jobs, _)) => jobs.try_send(Job::Remove(file)).err(),
            None => Some(TrySendError::Full(Job::Remove(file))),
        };
        if let Some(
            TrySendError::Full(Job::Remove(file)) | TrySendError::Disconnected(Job::Remove(file)),
        ) = left
        {
            remove(&file, self.plan.compress);
        }
    }

    /// Returns whether work on a file remains.
    pub(crate) fn is_busy(&self, file: &Path) -> bool {
        self.plan.is_on() && locked(&self.state).busy.contains(file)
    }

    /// Ends the queue; returns the remaining work.
    pub(crate) fn end(self) -> Option<PendingWork> {
        if !self.plan.is_on() {
            return None;
        }
        let thread = self.thread.map(|(_, thread)| thread);
        Some(PendingWork { state: self.state, thread })
    }

    /// Returns the sender to the thread, which starts with the first file. All privileges have been
    /// dropped by then, so the thread has none.
    fn jobs(&mut self) -> io::Result<SyncSender<Job>> {
        if let Some((jobs, _)) = &self.thread {
            return Ok(jobs.clone());
        }
        let (jobs, to_do) = sync_channel(MOST_WAITING);
        let (plan, state) = (self.plan.clone(), Arc::clone(&self.state));
        let work = move || work(&plan, &state, &to_do);
        let thread = thread::Builder::new().name("afterwards".to_owned()).spawn(work)?;
        self.thread = Some((jobs.clone(), thread));
        Ok(jobs)
    }
}

/// Remaining work after the end of a capture.
#[derive(Debug)]
pub struct PendingWork {
    state: Arc<Mutex<State>>,
    thread: Option<JoinHandle<()>>,
}

impl PendingWork {
    /// Returns the number of files that wait or are being processed.
    pub fn left(&self) -> usize {
        locked(&self.state).busy.len()
    }

    /// Returns whether all work is done.
    pub fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits for the remaining work; returns the results of all of it.
    pub fn wait(self) -> FinishedWork {
        // A failed thread leaves its remaining files unprocessed.
        let _ = self.thread.map(JoinHandle::join);
        let mut state = locked(&self.state);
        let mut worked = std::mem::take(&mut state.worked);
        worked.left_out += state.busy.len() as u64;
        worked
    }
}

impl State {
    fn fail(&mut self, file: &Path, wrong: String) {
        self.worked.failed += 1;
        if self.worked.failures.len() < MAX_TOLD {
            self.worked.failures.push(WorkFailure { file: file.display().to_string(), wrong });
        }
    }
}

fn work(plan: &FileWork, state: &Mutex<State>, to_do: &Receiver<Job>) {
    // If the system refuses the low priority, the thread keeps the normal one.
    let _ = lower_priority();
    for job in to_do {
        match job {
            Job::Remove(file) => remove(&file, plan.compress),
            Job::Finish(file) => {
                let (done, wrong) = finish(plan, &file);
                let mut state = locked(state);
                if let Some(bytes) = done.packed {
                    state.worked.compressed += 1;
                    if state.worked.sizes.len() >= MAX_TOLD {
                        state.worked.sizes.pop_front();
                    }
                    state.worked.sizes.push_back((file.clone(), bytes));
                }
                state.worked.commands += u64::from(done.ran);
                state.busy.remove(&file);
                if let Some(wrong) = wrong {
                    state.fail(&file, wrong);
                }
            }
        }
    }
}

/// Result for a file.
#[derive(Default)]
struct FileResult {
    packed: Option<Bytes>,
    ran: bool,
}

fn finish(plan: &FileWork, file: &Path) -> (FileResult, Option<String>) {
    let (mut done, mut wrong) = (FileResult::default(), None);
    if plan.compress {
        match compress(file) {
            Ok(bytes) => done.packed = Some(bytes),
            Err(error) => wrong = Some(format!("cannot compress it: {error}")),
        }
    }
    if let Some(program) = &plan.command {
        let name = if done.packed.is_some() { packed_name(file) } else { file.to_owned() };
        match run(program, &name) {
            Ok(()) => done.ran = true,
            Err(why) => {
                let why = format!("{}: {why}", program.display());
                wrong = Some(wrong.map_or(why.clone(), |before| format!("{before}; {why}")));
            }
        }
    }
    (done, wrong)
}

/// Runs a command with the name of a file, without a shell. The command gets a process group of its
/// own, so that a Ctrl-C for the capture does not reach it. Its output goes to standard error,
/// because standard output may be a report.
fn run(program: &Path, file: &Path) -> Result<(), String> {
    let mut command = Command::new(program);
    command.arg(file).stdin(Stdio::null()).stdout(io::stderr()).process_group(0);
    let status = command.status().map_err(|error| error.to_string())?;
    match (status.code(), status.signal()) {
        (Some(0), _) => Ok(()),
        (Some(code), _) => Err(format!("it ended with exit code {code}")),
        (None, signal) => Err(format!("it was ended by signal {}", signal.unwrap_or_default())),
    }
}

/// Returns the name of a compressed file.
fn packed_name(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".gz");
    PathBuf::from(name)
}

/// Compresses a file and then removes it; returns the compressed size.
fn compress(file: &Path) -> io::Result<Bytes> {
    let packed = packed_name(file);
    let mut from = File::open(file)?;
    let to = create_file(&packed)?;
    let copied = copy(&mut from, to, file);
    match &copied {
        Ok(_) => fs::remove_file(file)?,
        // Remove the incomplete copy: the original still exists.
        Err(_) => drop(fs::remove_file(&packed)),
    }
    copied
}

fn copy(from: &mut File, to: File, file: &Path) -> io::Result<Bytes> {
    let name = file.file_name().unwrap_or_default().as_encoded_bytes();
    let mut packer = GzBuilder::new().filename(name).write(to, Compression::default());
    io::copy(from, &mut packer)?;
    let mut to = packer.finish()?;
    to.flush()?;
    Ok(Bytes::new(to.metadata()?.len()))
}

/// Removes a file and its compressed copy. Files that are already gone are no error.
fn remove(file: &Path, is_packed: bool) {
    let _ = fs::remove_file(file);
    if is_packed {
        let _ = fs::remove_file(packed_name(file));
    }
}
