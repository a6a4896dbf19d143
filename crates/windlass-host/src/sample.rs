//! All accounts of the kernel at one moment.

use windlass_base::Span;

use super::proc::{Disk, Io, Memory, ProcessStat, Stat, Status, Vmstat};

/// Maximum bytes of a process's name in Linux (`TASK_COMM_LEN`).
const LONGEST_NAME: usize = 15;

/// A process to watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchTarget {
    /// The process of this number.
    Pid(u32),
    /// All processes of this name.
    Name(String),
}

/// All accounts at one moment.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// Time of the reading, since watching began.
    pub at: Span,
    /// Seconds since the system started.
    pub uptime: Option<f64>,
    /// Processors.
    pub stat: Stat,
    /// Memory.
    pub memory: Memory,
    /// Traffic between memory and disks.
    pub vmstat: Option<Vmstat>,
    /// Load averages over 1, 5 and 15 minutes.
    pub load: Option<[f64; 3]>,
    /// The disks that are watched.
    pub disks: Vec<Disk>,
    /// Time at which the processes were read: with many of them, later than the rest.
    pub processes_at: Span,
    /// The processes that are watched, by their numbers.
    pub processes: Vec<Process>,
    /// Number of processes beyond the maximum, which were not read.
    pub processes_unread: u64,
}

/// One process at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// Its `stat` file.
    pub stat: ProcessStat,
    /// Its memory.
    pub status: Status,
    /// Its disk traffic; `None` if it may not be read.
    pub io: Option<Io>,
    /// Number of its open files; `None` if it may not be read.
    pub open_files: Option<u64>,
}

impl WatchTarget {
    /// Parses a selection: a number is a process, and all other text a name.
    pub fn new(text: &str) -> Self {
        match text.parse::<u32>() {
            Ok(pid) if !text.starts_with('+') => Self::Pid(pid),
            _ => Self::Name(text.to_owned()),
        }
    }

    /// Returns whether a process is selected. Linux keeps 15 bytes of a name, so a longer one is
    /// compared by its first 15.
    pub fn is(&self, pid: u32, name: &str) -> bool {
        match self {
            Self::Pid(wanted) => *wanted == pid,
            Self::Name(wanted) => {
                let kept = wanted.as_bytes().get(..LONGEST_NAME);
                // A character that is cut reads as in the kernel's own cut name.
                let is_cut = |kept| String::from_utf8_lossy(kept) == name;
                wanted == name || kept.is_some_and(is_cut)
            }
        }
    }

    /// Returns the selection as the user wrote it.
    pub fn text(&self) -> String {
        match self {
            Self::Pid(pid) => pid.to_string(),
            Self::Name(name) => name.clone(),
        }
    }
}

impl Process {
    /// Returns a key that distinguishes the process from a later one of the same number.
    pub const fn key(&self) -> (u32, u64) {
        (self.stat.pid, self.stat.started)
    }
}
