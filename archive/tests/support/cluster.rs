//! A scheduler and executors as processes, on loopback, with ports of the system's choice.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::archive;

/// The silence after which a scheduler takes an executor for lost: the shortest that it allows.
pub const SHORT: [&str; 2] = ["--executor-timeout", "10"];

/// Nothing here takes as long, however busy the machine is.
const LONG: Duration = Duration::from_secs(300);

/// A process that said where it is. It is ended when this goes.
pub struct Process {
    child: Child,
    /// Line that the process printed.
    pub line: String,
    _rest: BufReader<ChildStdout>,
}

impl Process {
    /// Starts one, and waits for its line.
    pub fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        assert!(line.contains(" at "), "{command:?} said {line:?}");
        Self { child, line: line.trim_end().to_owned(), _rest: out }
    }

    /// Returns the address on which the process listens.
    pub fn address(&self) -> String {
        let rest = self.line.split(" at ").nth(1).unwrap();
        rest.split(',').next().unwrap().to_owned()
    }

    /// Sends it a signal.
    pub fn send(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).unwrap();
    }

    /// Waits until it has ended.
    pub fn ended(&mut self) -> ExitStatus {
        ended(&mut self.child)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until a child has ended.
pub fn ended(child: &mut Child) -> ExitStatus {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        assert!(began.elapsed() < LONG, "it does not end");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until something is so.
pub fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < LONG, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A scheduler and its executors.
pub struct Cluster {
    /// The processes.
    pub scheduler: Process,
    pub executors: Vec<Process>,
    work: PathBuf,
    options: Vec<String>,
}

impl Cluster {
    /// One with so many executors, each of which does one task at a time.
    pub fn start(work: &Path, executors: usize) -> Self {
        Self::with(work, executors, &[], &[])
    }

    /// Starts a cluster whose scheduler has these options, and each process those.
    pub fn with(work: &Path, executors: usize, scheduling: &[&str], options: &[&str]) -> Self {
        let mut scheduler = archive();
        scheduler.args(["scheduler", "--listen", "127.0.0.1:0"]).args(scheduling).args(options);
        let options = options.iter().map(ToString::to_string).collect();
        let scheduler = Process::start(&mut scheduler);
        let work = work.to_owned();
        std::fs::create_dir_all(&work).unwrap();
        let mut cluster = Self { scheduler, executors: Vec::new(), work, options };
        for _ in 0..executors {
            let executor = Process::start(&mut cluster.executor());
            cluster.executors.push(executor);
        }
        cluster
    }

    /// The next executor of it, not started.
    pub fn executor(&self) -> Command {
        let work = self.work_of(self.executors.len());
        std::fs::create_dir_all(&work).unwrap();
        let mut executor = archive();
        executor.args(["executor", "--scheduler", &self.scheduler.address()]);
        executor.args(["--concurrent-tasks", "1", "--work-dir"]).arg(&work);
        executor.args(&self.options);
        executor
    }

    /// The folder in which an executor makes its own.
    pub fn work_of(&self, executor: usize) -> PathBuf {
        self.work.join(executor.to_string())
    }

    /// A command that it does: `add` or `sql` with these arguments.
    pub fn command<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = archive();
        command.args(arguments).args(["--cluster", &self.scheduler.address()]);
        command.args(&self.options);
        command
    }

    /// Adds captures, and takes what it says.
    pub fn add(&self, from: &Path, into: &Path) -> Output {
        self.begin(from, into).output().unwrap()
    }

    /// Returns a command that adds captures, not started.
    pub fn begin(&self, from: &Path, into: &Path) -> Command {
        let (from, into) = (from.to_str().unwrap(), into.to_str().unwrap());
        self.command(["add", from, "--into", into, "--json"])
    }
}
