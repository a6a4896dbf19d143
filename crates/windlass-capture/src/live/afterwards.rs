//! What is done with a file of a capture when it is whole: it is compressed, and a
//! command is run with its name. A thread of low priority does that beside the
//! capture, one file after another.

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

/// What is to be done with each file.
#[derive(Clone, Debug, Default)]
pub struct Afterwards {
    /// Compress it with gzip (RFC 1952). It gets the ending `.gz`.
    pub compress: bool,
    /// Run this program with the name of the file, as tcpdump's `-z` does.
    pub command: Option<PathBuf>,
}

impl Afterwards {
    /// Whether anything is to be done.
    pub const fn is_on(&self) -> bool {
        self.compress || self.command.is_some()
    }
}

/// What was done.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Worked {
    /// How many files were compressed.
    pub compressed: u64,
    /// How many commands ended well.
    pub commands: u64,
    /// How often something failed.
    pub failed: u64,
    /// What failed, as far as it is told one by one.
    pub failures: Vec<Failed>,
    /// Files with which nothing was done, as too many waited.
    pub left_out: u64,
    #[serde(skip)]
    sizes: VecDeque<(PathBuf, Bytes)>,
}

/// Something that failed.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Failed {
    /// With this file.
    pub file: String,
    /// What was wrong.
    pub wrong: String,
}

impl Worked {
    /// What a file is called now, and its size, where it was compressed. The last
    /// thousand are known.
    pub(crate) fn packed(&self, file: &Path) -> Option<(PathBuf, Bytes)> {
        let found = self.sizes.iter().rev().find(|(path, _)| path == file);
        found.map(|(path, bytes)| (packed_name(path), *bytes))
    }
}

/// The most files that may wait. Where a command is slower than the files come, no
/// more than their names is kept.
const MOST_WAITING: usize = 10_000;

/// The most failures, and sizes, that are told one by one.
const MAX_TOLD: usize = 1_000;

enum Job {
    /// The file is whole.
    Finish(PathBuf),
    /// It is to go, and what was made of it.
    Remove(PathBuf),
}

#[derive(Debug, Default)]
struct State {
    worked: Worked,
    /// The files that wait, or are at work.
    busy: HashSet<PathBuf>,
}

/// Does it.
#[derive(Debug, Default)]
pub(crate) struct Worker {
    plan: Afterwards,
    thread: Option<(SyncSender<Job>, JoinHandle<()>)>,
    state: Arc<Mutex<State>>,
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Worker {
    pub(crate) fn new(plan: Afterwards) -> Self {
        Self { plan, ..Self::default() }
    }

    /// A file is whole.
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
                    Err(TrySendError::Disconnected(_)) => Some("a thread broke off".to_owned()),
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

    /// A file is to go.
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

    /// Whether something is still to be done with a file.
    pub(crate) fn is_busy(&self, file: &Path) -> bool {
        self.plan.is_on() && locked(&self.state).busy.contains(file)
    }

    /// No file comes any more.
    pub(crate) fn end(self) -> Option<Working> {
        if !self.plan.is_on() {
            return None;
        }
        let thread = self.thread.map(|(_, thread)| thread);
        Some(Working { state: self.state, thread })
    }

    /// The way to the thread. It begins with the first file: all rights have been
    /// given up by then, and it has none.
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

/// What is still to be done when a capture has ended.
#[derive(Debug)]
pub struct Working {
    state: Arc<Mutex<State>>,
    thread: Option<JoinHandle<()>>,
}

impl Working {
    /// How many files wait, or are at work.
    pub fn left(&self) -> usize {
        locked(&self.state).busy.len()
    }

    /// Whether all is done.
    pub fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits for the rest, and gives what was done in all.
    pub fn wait(self) -> Worked {
        // A thread that broke off has left its files behind.
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
            self.worked.failures.push(Failed { file: file.display().to_string(), wrong });
        }
    }
}

fn work(plan: &Afterwards, state: &Mutex<State>, to_do: &Receiver<Job>) {
    // Where the system does not allow it, it works as everything else does.
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

/// What was done with a file.
#[derive(Default)]
struct Finished {
    packed: Option<Bytes>,
    ran: bool,
}

fn finish(plan: &Afterwards, file: &Path) -> (Finished, Option<String>) {
    let (mut done, mut wrong) = (Finished::default(), None);
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

/// Runs a command with the name of a file: by itself, without a shell, and away
/// from a Ctrl-C that is for the capture. What it prints goes to standard error,
/// as standard output may be a report.
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

/// What a file is called when it is compressed.
fn packed_name(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".gz");
    PathBuf::from(name)
}

/// Compresses a file, which goes when that is done; gives the bytes that are left
/// of it.
fn compress(file: &Path) -> io::Result<Bytes> {
    let packed = packed_name(file);
    let mut from = File::open(file)?;
    let to = create_file(&packed)?;
    let copied = copy(&mut from, to, file);
    match &copied {
        Ok(_) => fs::remove_file(file)?,
        // Half of it is worth nothing: the whole is still there.
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

/// Removes a file, and what was made of it. Where somebody has taken it away
/// already, that is as well.
fn remove(file: &Path, is_packed: bool) {
    let _ = fs::remove_file(file);
    if is_packed {
        let _ = fs::remove_file(packed_name(file));
    }
}
