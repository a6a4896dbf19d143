//! The kernel's accounts under `/proc`, from their text to numbers.
//!
//! Each reader takes the bytes of one file and returns its numbers; `None` if the file is
//! malformed. Kernels differ in how many numbers a line has. Numbers that an older kernel lacks are
//! zero or absent, and additional numbers of a newer one are ignored. Sources: `proc_stat(5)`,
//! `proc_meminfo(5)`, `proc_vmstat(5)`, `proc_loadavg(5)`, `proc_pid_stat(5)`,
//! `proc_pid_status(5)`, `proc_pid_io(5)`, and the kernel's own
//! `Documentation/admin-guide/iostats.rst`.

use windlass_base::Bytes;

/// More processors than Linux supports (8,192).
const MAX_CORES: usize = 1 << 14;

/// Maximum number of disks kept of one file.
const MAX_DISKS: usize = 1 << 14;

/// Unit of `/proc/diskstats` in bytes, whatever the sectors of the device.
pub const SECTOR: u64 = 512;

/// The time of a processor since the system started, in ticks, in the order of
/// `/proc/stat` and of [`CpuShares`](crate::rates::CpuShares): user, nice, system,
/// idle, iowait, irq, softirq, steal.
pub type CpuTimes = [u64; 8];

/// `/proc/stat`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// All processors together.
    pub all: CpuTimes,
    /// Each online processor, by its number.
    pub cores: Vec<(u32, CpuTimes)>,
    /// Interrupts since the system started.
    pub interrupts: u64,
    /// Context switches since the system started.
    pub context_switches: u64,
    /// Threads that run or are ready to.
    pub running: u64,
    /// Threads that wait for a disk.
    pub blocked: u64,
}

/// `/proc/meminfo`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// `MemTotal`.
    pub total: Bytes,
    /// `MemFree`.
    pub free: Bytes,
    /// `MemAvailable`; Linux has it since 3.14.
    pub available: Option<Bytes>,
    /// `Buffers`.
    pub buffers: Bytes,
    /// `Cached`.
    pub cached: Bytes,
    /// `SReclaimable`: the kernel's data about files, beside their pages.
    pub reclaimable: Bytes,
    /// `SwapTotal`.
    pub swap_total: Bytes,
    /// `SwapFree`.
    pub swap_free: Bytes,
}

/// `/proc/vmstat`: traffic between memory and disks since the system started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vmstat {
    /// `pgpgin`, in units of 1,024 bytes.
    pub in_kib: u64,
    /// `pgpgout`, in units of 1,024 bytes.
    pub out_kib: u64,
    /// `pswpin`, in pages.
    pub swap_in_pages: u64,
    /// `pswpout`, in pages.
    pub swap_out_pages: u64,
}

/// A line of `/proc/diskstats`: a disk or a partition, since it appeared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disk {
    /// Its name, as `sda` or `nvme0n1p2`.
    pub name: String,
    /// Reads completed (field 1 of iostats.rst).
    pub reads: u64,
    /// Sectors read (3).
    pub read_sectors: u64,
    /// Total milliseconds of all reads (4).
    pub read_ms: u64,
    /// Writes completed (5).
    pub writes: u64,
    /// Sectors written (7).
    pub written_sectors: u64,
    /// Total milliseconds of all writes (8).
    pub write_ms: u64,
    /// Milliseconds with requests in progress (10).
    pub busy_ms: u64,
    /// Weighted milliseconds of all requests in progress (11).
    pub queued_ms: u64,
}

/// `/proc/PID/stat`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessStat {
    /// The number of the process.
    pub pid: u32,
    /// Its name, of 15 bytes at most, as the program or its user set it.
    pub name: String,
    /// `R` runs, `S` sleeps, `D` waits for a disk, `Z` has ended, and so on.
    pub state: char,
    /// Its parent; the first process if the parent has ended.
    pub parent: u32,
    /// Its flags (`PF_…` of the kernel's `include/linux/sched.h`).
    pub flags: u64,
    /// Ticks of user and system time, of all its threads.
    pub ticks: u64,
    /// Ticks of ended children that it waited for, and of their children.
    pub ended_ticks: u64,
    /// The number of its threads.
    pub threads: u64,
    /// Start time, in ticks since the system started.
    pub started: u64,
    /// Its address space.
    pub virtual_bytes: Bytes,
}

impl ProcessStat {
    /// Returns whether it is a thread of the kernel (`PF_KTHREAD`).
    pub const fn is_kernel(&self) -> bool {
        self.flags & 0x0020_0000 != 0
    }
}

/// Memory figures of `/proc/PID/status`. A thread of the kernel has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// `VmRSS`: the resident memory.
    pub resident: Option<Bytes>,
    /// `VmSize`: the address space.
    pub virtual_bytes: Option<Bytes>,
    /// `VmSwap`: the swapped memory.
    pub swapped: Option<Bytes>,
    /// `Threads`.
    pub threads: Option<u64>,
}

/// `/proc/PID/io`: bytes that a process has read from disks and written to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Io {
    /// `read_bytes`.
    pub read: u64,
    /// `write_bytes`.
    pub written: u64,
}

/// Size of a tick and of a page on a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Ticks in a second.
    pub ticks: u64,
    /// Bytes in a page.
    pub page: u64,
}

impl Default for Scale {
    /// Returns the usual values, for a kernel that does not tell.
    fn default() -> Self {
        Self { ticks: 100, page: 4_096 }
    }
}

/// Reads the times of a line; the first four are always there.
fn cpu_times<'a>(words: impl Iterator<Item = &'a [u8]>) -> Option<CpuTimes> {
    let (mut times, mut found) = (CpuTimes::default(), 0);
    for (place, word) in times.iter_mut().zip(words) {
        let Some(ticks) = number(word) else { break };
        *place = ticks;
        found += 1;
    }
    (found >= 4).then_some(times)
}

/// Reads `/proc/stat`, which always has processors.
pub fn stat(text: &[u8]) -> Option<Stat> {
    let mut stat = Stat::default();
    let mut has_all = false;
    for line in lines(text) {
        let mut words = words(line);
        let Some(name) = words.next() else { continue };
        let mut first = || words.next().and_then(number);
        match name {
            b"intr" => stat.interrupts = first()?,
            b"ctxt" => stat.context_switches = first()?,
            b"procs_running" => stat.running = first()?,
            b"procs_blocked" => stat.blocked = first()?,
            b"cpu" => {
                stat.all = cpu_times(words)?;
                has_all = true;
            }
            _ => {
                let core = name.strip_prefix(b"cpu").and_then(number);
                let Some(core) = core.and_then(|core| u32::try_from(core).ok()) else { continue };
                if stat.cores.len() < MAX_CORES {
                    stat.cores.push((core, cpu_times(words)?));
                }
            }
        }
    }
    has_all.then_some(stat)
}

/// Reads `/proc/meminfo`.
pub fn memory(text: &[u8]) -> Option<Memory> {
    let mut memory = Memory::default();
    let (mut has_total, mut has_free) = (false, false);
    for (name, value) in named(text) {
        let Some(bytes) = kib(value) else { continue };
        match name {
            b"MemTotal" => (memory.total, has_total) = (bytes, true),
            b"MemFree" => (memory.free, has_free) = (bytes, true),
            b"MemAvailable" => memory.available = Some(bytes),
            b"Buffers" => memory.buffers = bytes,
            b"Cached" => memory.cached = bytes,
            b"SReclaimable" => memory.reclaimable = bytes,
            b"SwapTotal" => memory.swap_total = bytes,
            b"SwapFree" => memory.swap_free = bytes,
            _ => {}
        }
    }
    (has_total && has_free).then_some(memory)
}

/// Reads `/proc/vmstat`; `None` if it counts no pages, as in some containers.
pub fn vmstat(text: &[u8]) -> Option<Vmstat> {
    let mut vmstat = Vmstat::default();
    let mut found = 0;
    for line in lines(text) {
        let mut words = words(line);
        let (Some(name), Some(value)) = (words.next(), words.next().and_then(number)) else {
            continue;
        };
        let field = match name {
            b"pgpgin" => &mut vmstat.in_kib,
            b"pgpgout" => &mut vmstat.out_kib,
            b"pswpin" => &mut vmstat.swap_in_pages,
            b"pswpout" => &mut vmstat.swap_out_pages,
            _ => continue,
        };
        *field = value;
        found += 1;
    }
    // A kernel without swap has no swap counters.
    (found >= 2).then_some(vmstat)
}

/// Reads the three means of `/proc/loadavg`: over 1, 5 and 15 minutes.
pub fn load(text: &[u8]) -> Option<[f64; 3]> {
    let mut words = words(text);
    let mut next = || words.next().and_then(decimal);
    Some([next()?, next()?, next()?])
}

/// Reads the seconds since the system started from `/proc/uptime`.
pub fn uptime(text: &[u8]) -> Option<f64> {
    words(text).next().and_then(decimal)
}

/// Reads `/proc/diskstats`. Malformed lines are passed over.
pub fn disks(text: &[u8]) -> Vec<Disk> {
    lines(text).filter_map(disk).take(MAX_DISKS).collect()
}

fn disk(line: &[u8]) -> Option<Disk> {
    let mut words = words(line);
    let (_major, _minor) = (number(words.next()?)?, number(words.next()?)?);
    let name = String::from_utf8_lossy(words.next()?).into_owned();
    // Linux 4.18 and 5.5 have more numbers, about discards and flushes.
    let mut counts = [0; 11];
    let mut found = 0;
    for (place, word) in counts.iter_mut().zip(words) {
        *place = number(word)?;
        found += 1;
    }
    match found {
        // A partition, before Linux 2.6.25.
        4 => Some(Disk {
            name,
            reads: counts[0],
            read_sectors: counts[1],
            writes: counts[2],
            written_sectors: counts[3],
            ..Disk::default()
        }),
        11.. => Some(Disk {
            name,
            reads: counts[0],
            read_sectors: counts[2],
            read_ms: counts[3],
            writes: counts[4],
            written_sectors: counts[6],
            write_ms: counts[7],
            busy_ms: counts[9],
            queued_ms: counts[10],
        }),
        _ => None,
    }
}

/// Reads `/proc/PID/stat`. The name stands between the first and the last parenthesis. It may hold
/// anything, even parentheses and line ends.
pub fn process(text: &[u8]) -> Option<ProcessStat> {
    let open = text.iter().position(|byte| *byte == b'(')?;
    let close = text.iter().rposition(|byte| *byte == b')')?;
    let name = String::from_utf8_lossy(text.get(open + 1..close)?).into_owned();
    let pid = u32::try_from(number(text[..open].trim_ascii())?).ok()?;
    let rest: Vec<&[u8]> = words(&text[close + 1..]).take(21).collect();
    // The state is the third field of the line, and the first of the rest.
    let field = |number_in_manual: usize| rest.get(number_in_manual - 3).copied();
    let count = |place| field(place).and_then(number);
    Some(ProcessStat {
        pid,
        name,
        state: char::from(*field(3)?.first()?),
        // A process without a parent has 0, as has one of another namespace.
        parent: count(4).and_then(|parent| u32::try_from(parent).ok()).unwrap_or(0),
        flags: count(9).unwrap_or(0),
        ended_ticks: count(16).unwrap_or(0).saturating_add(count(17).unwrap_or(0)),
        ticks: count(14)?.saturating_add(count(15)?),
        threads: count(20)?,
        started: count(22)?,
        virtual_bytes: Bytes::new(count(23)?),
    })
}

/// Reads `/proc/PID/status`.
pub fn status(text: &[u8]) -> Status {
    let mut status = Status::default();
    for (name, value) in named(text) {
        match name {
            b"VmRSS" => status.resident = kib(value),
            b"VmSize" => status.virtual_bytes = kib(value),
            b"VmSwap" => status.swapped = kib(value),
            b"Threads" => status.threads = number(value.trim_ascii()),
            _ => {}
        }
    }
    status
}

/// Reads `/proc/PID/io`.
pub fn io(text: &[u8]) -> Option<Io> {
    let (mut read, mut written) = (None, None);
    for (name, value) in named(text) {
        match name {
            b"read_bytes" => read = number(value.trim_ascii()),
            b"write_bytes" => written = number(value.trim_ascii()),
            _ => {}
        }
    }
    Some(Io { read: read?, written: written? })
}

/// Reads the size of ticks and pages from `/proc/self/auxv`: pairs of machine words
/// (`getauxval(3)`).
pub fn scale(bytes: &[u8]) -> Scale {
    const PAGE: usize = 6;
    const TICKS: usize = 17;
    const WORD: usize = size_of::<usize>();
    let mut scale = Scale::default();
    for pair in bytes.chunks_exact(2 * WORD) {
        let word = |at: usize| pair[at..at + WORD].try_into().map_or(0, usize::from_ne_bytes);
        let value = word(WORD) as u64;
        match word(0) {
            // Other values make no sense, and would be divisors.
            PAGE if value.is_power_of_two() => scale.page = value,
            TICKS if (1..=1_000_000).contains(&value) => scale.ticks = value,
            _ => {}
        }
    }
    scale
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n')
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// Splits lines of the form `Name:  value`.
fn named(text: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    lines(text).filter_map(|line| {
        let colon = line.iter().position(|byte| *byte == b':')?;
        Some((&line[..colon], &line[colon + 1..]))
    })
}

/// Reads `1024 kB`, which in `/proc` are units of 1,024 bytes.
fn kib(value: &[u8]) -> Option<Bytes> {
    let kib = words(value).next().and_then(number)?;
    Some(Bytes::new(kib.saturating_mul(1_024)))
}

fn number(word: &[u8]) -> Option<u64> {
    let is_digits = !word.is_empty() && word.iter().all(u8::is_ascii_digit);
    is_digits.then(|| str::from_utf8(word).ok()?.parse().ok()).flatten()
}

/// Reads a number that is not negative.
fn decimal(word: &[u8]) -> Option<f64> {
    let is_decimal = word.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    is_decimal.then(|| str::from_utf8(word).ok()?.parse().ok()).flatten()
}

#[cfg(test)]
#[path = "proc_tests.rs"]
mod tests;
