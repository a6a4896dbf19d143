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
use super::syscalls::refused::TracingRefusal;

/// Maximum bytes read of a file. `/proc/stat` of the largest machines has 1 MB.
const LONGEST: u64 = 16 << 20;

/// Maximum number of processes that are read completely.
const MAX_PROCESSES: usize = 1_000;

/// Maximum number of processes, and of threads of one, whose times are read. The default `pid_max`
/// of Linux is 32,768.
const MAX_TIMES: usize = 32_768;

/// Errors of watching a machine.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file of `/proc` cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A file of `/proc` is not in the format of Linux.
    #[error("{} is not in the format of Linux", path.display())]
    Strange {
        /// The file.
        path: PathBuf,
    },
    /// There is no such disk.
    #[error("there is no disk {name}")]
    NoDisk {
        /// The process or disk asked for.
        name: String,
        /// Disks that exist.
        known: Vec<String>,
    },
    /// There is no such process.
    #[error("there is no process {pid}")]
    NoProcess {
        /// The process or disk asked for.
        pid: u32,
    },
    /// The system calls of a process cannot be traced.
    #[error(transparent)]
    Untraceable(#[from] TracingRefusal),
    /// A thread cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
}

/// The accounts of a machine, and the selection of them.
#[derive(Debug)]
pub struct Source {
    root: PathBuf,
    began: Instant,
    wanted: Vec<WatchTarget>,
    /// Start times of the processes selected by number: a later process of the same number is not
    /// meant.
    started: Vec<(u32, u64)>,
    /// Selected disks; if empty, all whole disks that were ever used.
    disks: Vec<String>,
    /// The kernel's units.
    pub scale: Scale,
}

impl Source {
    /// Checks that everything selected exists. `root` has `proc` and `sys`.
    ///
    /// # Errors
    /// Fails if a selected process or disk does not exist.
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

    /// Refuses unknown disks.
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
                // Unused disks do not help the user: they are loop devices, mostly.
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

    /// Returns the system and its version.
    pub(crate) fn system(&self) -> String {
        let name = |name: &str| {
            let text = read(&self.path(&format!("sys/kernel/{name}"))).unwrap_or_default();
            String::from_utf8_lossy(text.trim_ascii()).into_owned()
        };
        format!("{} {}", name("ostype"), name("osrelease")).trim().to_owned()
    }

    /// Returns the time since watching began.
    pub fn now(&self) -> Span {
        Span::from_duration(self.began.elapsed())
    }

    /// Reads all accounts.
    ///
    /// # Errors
    /// Fails if the kernel lacks an account that each Linux has.
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

    /// Reads the times of the processors.
    ///
    /// # Errors
    /// Fails if the kernel does not tell.
    pub fn stat(&self) -> Result<Stat, Error> {
        self.needed("stat", proc::stat)
    }

    /// Reads the times of all processes.
    pub fn census(&self) -> Census {
        let at = self.now();
        Census { at, processes: self.each_of("").collect() }
    }

    /// Reads the times of a process's threads; empty if the process is gone.
    pub fn threads(&self, pid: u32) -> Vec<ProcessStat> {
        self.each_of(&format!("{pid}/task")).collect()
    }

    /// Reads `stat` of each process in a folder of `/proc`.
    fn each_of(&self, folder: &str) -> impl Iterator<Item = ProcessStat> {
        let folder = self.path(folder);
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let numbers: BTreeSet<u32> = numbers.take(MAX_TIMES).collect();
        let stat =
            move |pid: u32| proc::process(&read(&folder.join(pid.to_string()).join("stat")).ok()?);
        numbers.into_iter().filter_map(stat)
    }

    /// Returns the owner of a process, as far as known.
    pub fn belongs_to(&self, pid: u32, is_kernel: bool) -> Belonging {
        let user = fs::metadata(self.path(&pid.to_string())).ok().map(|found| {
            let uid = found.uid();
            let passwd = read(&self.root.join("etc/passwd")).unwrap_or_default();
            let name = census::user_name(&String::from_utf8_lossy(&passwd), uid);
            name.unwrap_or_else(|| uid.to_string())
        });
        Belonging { user, unit: self.unit(pid).filter(|_| !is_kernel), is_kernel }
    }

    /// Returns the unit of a process, if it has one.
    pub fn unit(&self, pid: u32) -> Option<String> {
        let text = self.some(&format!("{pid}/cgroup"))?;
        census::unit(&String::from_utf8_lossy(&text))
    }

    /// Returns the command line of a process; empty if it may not be read.
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

    /// Reads the selected disks; if none is named, all whole disks that were ever used.
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

    /// Returns the disks that are no partitions; `None` if the system does not tell.
    fn whole_disks(&self) -> Option<BTreeSet<String>> {
        let entries = fs::read_dir(self.root.join("sys/block")).ok()?;
        // A slash in a name is another character there.
        let name = |entry: io::Result<fs::DirEntry>| {
            Some(entry.ok()?.file_name().into_string().ok()?.replace('!', "/"))
        };
        Some(entries.filter_map(name).collect())
    }

    /// Reads the selected processes, and counts those beyond the maximum.
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

    /// Returns the numbers of the processes with a selected name.
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

    /// Reads a process; `None` if it has just ended.
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

/// Reads the time of all processors since this system started; zeros if it does not tell.
pub fn processors() -> CpuTimes {
    read(Path::new("/proc/stat")).ok().and_then(|text| proc::stat(&text)).unwrap_or_default().all
}

/// Reads a file, up to the maximum length.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path)?.take(LONGEST).read_to_end(&mut text)?;
    Ok(text)
}
