//! What all accounts said at one moment.

use windlass_base::Span;

use super::proc::{Disk, Io, Memory, ProcessStat, Stat, Status, Vmstat};

/// The longest name that Linux keeps of a process, in bytes (`TASK_COMM_LEN`).
const LONGEST_NAME: usize = 15;

/// A process to watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchTarget {
    /// By its number.
    Pid(u32),
    /// All that have this name.
    Name(String),
}

/// All accounts at one moment.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// The time when they were read, from when watching began.
    pub at: Span,
    /// Seconds since the system started.
    pub uptime: Option<f64>,
    /// Processors.
    pub stat: Stat,
    /// Memory.
    pub memory: Memory,
    /// What went between memory and disks.
    pub vmstat: Option<Vmstat>,
    /// How many threads ran or waited for a disk over 1, 5 and 15 minutes.
    pub load: Option<[f64; 3]>,
    /// The disks that are watched.
    pub disks: Vec<Disk>,
    /// The time when the processes were read: with many of them, later than the rest.
    pub processes_at: Span,
    /// The processes that are watched, by their numbers.
    pub processes: Vec<Process>,
    /// How many more there were than are read.
    pub processes_unread: u64,
}

/// One process at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// What the kernel says of it.
    pub stat: ProcessStat,
    /// Its memory.
    pub status: Status,
    /// Its disks; nothing where we may not know.
    pub io: Option<Io>,
    /// The number of its files open; nothing where we may not know.
    pub open_files: Option<u64>,
}

impl WatchTarget {
    /// What a user means: a number is a process, all else a name.
    pub fn new(text: &str) -> Self {
        match text.parse::<u32>() {
            Ok(pid) if !text.starts_with('+') => Self::Pid(pid),
            _ => Self::Name(text.to_owned()),
        }
    }

    /// Returns whether a process is meant. Linux keeps 15 bytes of a name, so a longer
    /// one is compared by its first 15.
    pub fn is(&self, pid: u32, name: &str) -> bool {
        match self {
            Self::Pid(wanted) => *wanted == pid,
            Self::Name(wanted) => {
                let kept = wanted.as_bytes().get(..LONGEST_NAME);
                // A letter that is cut reads as the kernel's own cut one does.
                let is_cut = |kept| String::from_utf8_lossy(kept) == name;
                wanted == name || kept.is_some_and(is_cut)
            }
        }
    }

    /// As the user wrote it.
    pub fn text(&self) -> String {
        match self {
            Self::Pid(pid) => pid.to_string(),
            Self::Name(name) => name.clone(),
        }
    }
}

impl Process {
    /// What tells it from a later one of the same number.
    pub const fn key(&self) -> (u32, u64) {
        (self.stat.pid, self.stat.started)
    }
}
