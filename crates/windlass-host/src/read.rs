//! The files under `/proc`: the edge of this module.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use windlass_base::Span;

use super::census::{self, Belonging, Census};
use super::proc::{self, CpuTimes, Disk, ProcessStat, Scale, Stat};
use super::sample::{Process, Sample, WatchTarget};
use super::syscalls::refused::Refused;

/// The most that is read of a file. `/proc/stat` of the largest machines has 1 MB.
const LONGEST: u64 = 16 << 20;

/// The most processes of which everything is read.
const MAX_PROCESSES: usize = 1_000;

/// The most processes, and threads of one, of which the times are read. `pid_max` of
/// Linux is 32,768 where nobody raised it.
const MAX_TIMES: usize = 32_768;

/// Why a machine cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such account.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What was wrong.
        source: io::Error,
    },
    /// The account is not what Linux writes.
    #[error("{} does not have what Linux writes there", path.display())]
    Strange {
        /// The file.
        path: PathBuf,
    },
    /// There is no such disk.
    #[error("there is no disk {name}")]
    NoDisk {
        /// What was asked for.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// There is no such process.
    #[error("there is no process {pid}")]
    NoProcess {
        /// What was asked for.
        pid: u32,
    },
    /// The system calls of a process cannot be told.
    #[error(transparent)]
    Untraceable(#[from] Refused),
    /// There is no thread to be had.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
}

/// The accounts of a machine, and which of them are wanted.
#[derive(Debug)]
pub struct Source {
    root: PathBuf,
    began: Instant,
    wanted: Vec<WatchTarget>,
    /// The time when the processes that are wanted by number were started: another of the
    /// same number is not meant.
    started: Vec<(u32, u64)>,
    /// Nothing: all that are no partitions and ever did something.
    disks: Vec<String>,
    /// How the kernel counts.
    pub scale: Scale,
}

impl Source {
    /// Looks whether all is there that is wanted. `root` has `proc` and `sys`.
    ///
    /// # Errors
    /// What is wanted and is not there.
    pub fn open(root: &Path, wanted: &[WatchTarget], disks: &[String]) -> Result<Self, Error> {
        let scale = proc::scale(&read(&root.join("proc/self/auxv")).unwrap_or_default());
        let mut source = Self {
            root: root.to_owned(),
            began: Instant::now(),
            wanted: wanted.to_vec(),
            started: Vec::new(),
            disks: disks.to_vec(),
            scale,
        };
        source.known_disks()?;
        for wanted in wanted {
            let WatchTarget::Pid(pid) = *wanted else { continue };
            let process = source.process(pid).ok_or(Error::NoProcess { pid })?;
            source.started.push(process.key());
        }
        Ok(source)
    }

    /// Refuses disks that there are not.
    fn known_disks(&self) -> Result<(), Error> {
        if self.disks.is_empty() {
            return Ok(());
        }
        let path = self.path("diskstats");
        let text = read(&path).map_err(|source| Error::Unreadable { path, source })?;
        let all = proc::disks(&text);
        let is_unknown = |name: &&String| !all.iter().any(|disk| disk.name == **name);
        match self.disks.iter().find(is_unknown) {
            None => Ok(()),
            Some(name) => {
                // Those that never did anything are no help: loop devices, mostly.
                let used = all.into_iter().filter(|disk| disk.reads + disk.writes > 0);
                let known = used.map(|disk| disk.name).collect();
                Err(Error::NoDisk { name: name.clone(), known })
            }
        }
    }

    /// Returns whether the kernel counts disks.
    pub(crate) fn has_disks(&self) -> bool {
        self.path("diskstats").exists()
    }

    /// The version of the system.
    pub(crate) fn system(&self) -> String {
        let name = |name: &str| {
            let text = read(&self.path(&format!("sys/kernel/{name}"))).unwrap_or_default();
            String::from_utf8_lossy(text.trim_ascii()).into_owned()
        };
        format!("{} {}", name("ostype"), name("osrelease")).trim().to_owned()
    }

    /// The time, since watching began.
    pub fn now(&self) -> Span {
        Span::from_duration(self.began.elapsed())
    }

    /// All accounts as they are now.
    ///
    /// # Errors
    /// Fails where the kernel does not give one that each Linux has.
    pub fn sample(&self) -> Result<Sample, Error> {
        let at = self.now();
        let stat = self.stat()?;
        let disks = self.disks();
        let vmstat = self.some("vmstat").and_then(|text| proc::vmstat(&text));
        let memory = self.needed("meminfo", proc::memory)?;
        let load = self.some("loadavg").and_then(|text| proc::load(&text));
        let uptime = self.some("uptime").and_then(|text| proc::uptime(&text));
        let processes_at = self.now();
        let (processes, processes_unread) = self.processes();
        Ok(Sample {
            at,
            uptime,
            stat,
            memory,
            vmstat,
            load,
            disks,
            processes_at,
            processes,
            processes_unread,
        })
    }

    /// Reads the times of the processors as they are now.
    ///
    /// # Errors
    /// Fails where the kernel does not tell.
    pub fn stat(&self) -> Result<Stat, Error> {
        self.needed("stat", proc::stat)
    }

    /// The times of all processes as they are now.
    pub fn census(&self) -> Census {
        let at = self.now();
        Census { at, processes: self.each_of("").collect() }
    }

    /// The times of the threads of a process; none where it is not there any more.
    pub fn threads(&self, pid: u32) -> Vec<ProcessStat> {
        self.each_of(&format!("{pid}/task")).collect()
    }

    /// The processes of a folder of `/proc`, each with what its `stat` says.
    fn each_of(&self, folder: &str) -> impl Iterator<Item = ProcessStat> {
        let folder = self.path(folder);
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let numbers: BTreeSet<u32> = numbers.take(MAX_TIMES).collect();
        let stat =
            move |pid: u32| proc::process(&read(&folder.join(pid.to_string()).join("stat")).ok()?);
        numbers.into_iter().filter_map(stat)
    }

    /// What a process belongs to, as far as it is told.
    pub fn belongs_to(&self, pid: u32, is_kernel: bool) -> Belonging {
        let user = fs::metadata(self.path(&pid.to_string())).ok().map(|found| {
            let uid = found.uid();
            let passwd = read(&self.root.join("etc/passwd")).unwrap_or_default();
            let name = census::user_name(&String::from_utf8_lossy(&passwd), uid);
            name.unwrap_or_else(|| uid.to_string())
        });
        Belonging { user, unit: self.unit(pid).filter(|_| !is_kernel), is_kernel }
    }

    /// The unit of a process, where it is in one.
    pub fn unit(&self, pid: u32) -> Option<String> {
        let text = self.some(&format!("{pid}/cgroup"))?;
        census::unit(&String::from_utf8_lossy(&text))
    }

    /// The words that a process was started with; none where that may not be known.
    pub fn words(&self, pid: u32) -> Vec<String> {
        let text = self.some(&format!("{pid}/cmdline")).unwrap_or_default();
        let words = text.split(|byte| *byte == 0).filter(|word| !word.is_empty());
        words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.join("proc").join(name)
    }

    fn some(&self, name: &str) -> Option<Vec<u8>> {
        read(&self.path(name)).ok()
    }

    fn needed<T>(&self, name: &str, of: fn(&[u8]) -> Option<T>) -> Result<T, Error> {
        let path = self.path(name);
        match read(&path) {
            Ok(text) => of(&text).ok_or(Error::Strange { path }),
            Err(source) => Err(Error::Unreadable { path, source }),
        }
    }

    /// The disks that are wanted; all that are no partitions and ever did
    /// something, where none is named.
    fn disks(&self) -> Vec<Disk> {
        let mut disks = proc::disks(&self.some("diskstats").unwrap_or_default());
        if self.disks.is_empty() {
            let whole = self.whole_disks();
            disks.retain(|disk| {
                let is_whole = whole.as_ref().is_none_or(|whole| whole.contains(&disk.name));
                is_whole && (disk.reads > 0 || disk.writes > 0)
            });
        } else {
            disks.retain(|disk| self.disks.contains(&disk.name));
        }
        disks
    }

    /// Which disks are no partitions; nothing where the system does not tell.
    fn whole_disks(&self) -> Option<BTreeSet<String>> {
        let entries = fs::read_dir(self.root.join("sys/block")).ok()?;
        // A name with a slash has another letter there.
        let name = |entry: io::Result<fs::DirEntry>| {
            Some(entry.ok()?.file_name().into_string().ok()?.replace('!', "/"))
        };
        Some(entries.filter_map(name).collect())
    }

    /// The processes that are wanted, and how many there are beyond the most.
    fn processes(&self) -> (Vec<Process>, u64) {
        let mut pids: BTreeSet<u32> = BTreeSet::new();
        let mut has_names = false;
        for wanted in &self.wanted {
            match wanted {
                WatchTarget::Pid(pid) => _ = pids.insert(*pid),
                WatchTarget::Name(_) => has_names = true,
            }
        }
        if has_names {
            pids.extend(self.named());
        }
        let unread = pids.len().saturating_sub(MAX_PROCESSES) as u64;
        let read = pids.into_iter().take(MAX_PROCESSES).filter_map(|pid| self.process(pid));
        let is_meant = |process: &Process| {
            let (pid, name) = (process.stat.pid, process.stat.name.as_str());
            self.wanted.iter().any(|wanted| match wanted {
                WatchTarget::Pid(_) => {
                    wanted.is(pid, name) && self.started.contains(&process.key())
                }
                WatchTarget::Name(_) => wanted.is(pid, name),
            })
        };
        (read.filter(is_meant).collect(), unread)
    }

    /// The numbers of the processes of a name that is wanted.
    fn named(&self) -> impl Iterator<Item = u32> {
        let entries = fs::read_dir(self.root.join("proc")).into_iter().flatten();
        entries.filter_map(|entry| {
            let pid: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let name = read(&self.path(&format!("{pid}/comm"))).ok()?;
            let name = name.strip_suffix(b"\n").unwrap_or(&name);
            let name = String::from_utf8_lossy(name);
            let is_meant = |wanted: &WatchTarget| {
                matches!(wanted, WatchTarget::Name(_)) && wanted.is(pid, &name)
            };
            self.wanted.iter().any(is_meant).then_some(pid)
        })
    }

    /// A process; nothing where it has just ended.
    fn process(&self, pid: u32) -> Option<Process> {
        let text = |name: &str| read(&self.path(&format!("{pid}/{name}"))).ok();
        let stat = proc::process(&text("stat")?)?;
        let open_files = fs::read_dir(self.path(&format!("{pid}/fd"))).ok();
        Some(Process {
            stat,
            status: proc::status(&text("status").unwrap_or_default()),
            io: text("io").and_then(|text| proc::io(&text)),
            open_files: open_files.map(|files| files.count() as u64),
        })
    }
}

/// The time of all processors since this system started; none where it does not tell.
pub fn processors() -> CpuTimes {
    read(Path::new("/proc/stat")).ok().and_then(|text| proc::stat(&text)).unwrap_or_default().all
}

/// A file, as far as it goes and is read.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path)?.take(LONGEST).read_to_end(&mut text)?;
    Ok(text)
}
