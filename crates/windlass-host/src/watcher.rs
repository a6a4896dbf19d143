//! A thread that samples the machine in intervals.

use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde::Serialize;
use windlass_base::{Bytes, MAX_INTERVALS, Sentence, Span, sentence};

use super::LEAST;
use super::busiest::{BusyOverTime, BusyTotals, named};
use super::census::Census;
use super::findings::{Kind, NOTHING};
use super::proc::{Disk, Stat, Vmstat};
use super::rates::{Interval, ProcessEventKind};
use super::read::{Error, Source};
use super::sample::{Sample, WatchTarget};
use super::summary::{Summary, SummaryBuilder};
use super::syscalls::Tracing;
use super::syscalls::refused::{RefusalReason, TracingRefusal};
use super::syscalls::report::SyscallReport;

/// Maximum number of rows of the intervals together: disks, processes, and process events. Some 30
/// MB.
const MAX_ROWS: usize = 200_000;

/// Time between two censuses of all processes, as a multiple of a census's duration: at most 2 % of
/// one processor.
const SELDOM: u32 = 50;

/// Minimum time between two censuses, so that their shares are meaningful.
const OFTEN: Span = Span::from_millis(1_000);

/// Number of intervals that may wait to be shown; then watching waits, too.
const WAITING: usize = 16;

/// Settings of watching.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Time between two samples.
    pub interval: Duration,
    /// Number of intervals after which watching ends.
    pub count: Option<u64>,
    /// Time after which watching ends.
    pub duration: Option<Duration>,
    /// Processes to watch; none if empty.
    pub processes: Vec<WatchTarget>,
    /// Disks to watch; all if empty.
    pub disks: Vec<String>,
    /// True to trace the system calls of the processes.
    pub syscalls: bool,
    /// True to report the time since the system started, too.
    pub since_boot: bool,
    /// True to keep the intervals for the report.
    pub keep: bool,
    /// True if [`Watcher::next`] returns the intervals as they come. The caller must then take
    /// them.
    pub live: bool,
    /// Folder of `proc` and `sys`.
    pub root: PathBuf,
}

impl Default for Settings {
    /// Samples this machine every second, until stopped.
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(1),
            count: None,
            duration: None,
            processes: Vec::new(),
            disks: Vec::new(),
            syscalls: false,
            since_boot: false,
            keep: true,
            live: false,
            root: PathBuf::from("/"),
        }
    }
}

/// The watched machine.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Machine {
    /// The system and its version.
    pub system: String,
    /// Number of online processors.
    pub processors: u64,
    /// Memory.
    pub memory_bytes: Bytes,
    /// Swap space.
    pub swap_bytes: Bytes,
}

/// Report on a machine during a run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct HostReport {
    /// The machine.
    pub machine: Machine,
    /// Time between two samples.
    pub interval_seconds: Span,
    /// Time for which the machine was watched.
    pub seconds: Span,
    /// Number of intervals.
    pub count: u64,
    /// The busiest resource, in a sentence.
    pub busiest: Sentence,
    /// The processes with the largest shares of the processors, with their children.
    pub busiest_processes: Vec<BusyOverTime>,
    /// Summary of the intervals.
    pub summary: Summary,
    /// Changes since the system started; `None` if not asked for.
    pub since_boot: Option<Interval>,
    /// The intervals, as far as kept.
    pub intervals: Vec<Interval>,
    /// Number of intervals beyond the maximum.
    pub intervals_left_out: u64,
    /// The system calls of the processes and of their children; `None` if they were not asked for.
    pub syscalls: Option<SyscallReport>,
    /// Figures that could not be read, and why.
    pub notes: Vec<Sentence>,
    /// The reason why watching ended early, if it did.
    pub failure: Option<String>,
}

/// Result of [`Watcher::next`].
#[derive(Debug)]
pub enum WatchEvent {
    /// An interval has ended.
    Interval(Box<Interval>),
    /// Nothing for now.
    Nothing,
    /// There will be no more.
    Ended,
}

/// Samples a machine in a thread of its own.
///
/// ```no_run
/// use windlass_host::{Settings, Watcher};
///
/// let watcher = Watcher::start(Settings::default())?;
/// // … what is to be measured …
/// let report = watcher.finish();
/// println!("{}", report.busiest);
/// # Ok::<(), windlass_host::Error>(())
/// ```
#[derive(Debug)]
pub struct Watcher {
    stop: Sender<()>,
    told: Option<Receiver<Box<Interval>>>,
    thread: Option<JoinHandle<HostReport>>,
    /// The machine.
    pub machine: Machine,
    /// Selected names without a process at the start.
    pub missing: Vec<String>,
    /// Changes since the system started, if asked for.
    pub since_boot: Option<Interval>,
}

impl Watcher {
    /// Starts watching.
    ///
    /// # Errors
    /// Fails if the accounts cannot be read, or a selected disk or process number does not exist; a
    /// name is waited for. Also fails if the system calls of a process are asked for and it may not
    /// be traced.
    pub fn start(settings: Settings) -> Result<Self, Error> {
        let open = || -> Result<(Source, Sample), Error> {
            let source = Source::open(&settings.root, &settings.processes, &settings.disks)?;
            let first = source.sample()?;
            Ok((source, first))
        };
        let (mut source, mut first) = open()?;
        let tracing = settings.syscalls.then(|| trace(&settings.processes, &first)).transpose()?;
        if tracing.is_some() {
            // The start of tracing is no part of the run.
            (source, first) = open()?;
        }
        let machine = Machine {
            system: source.system(),
            processors: first.stat.cores.len().max(1) as u64,
            memory_bytes: first.memory.total,
            swap_bytes: first.memory.swap_total,
        };
        let is_there = |wanted: &WatchTarget| {
            let processes = first.processes.iter().map(|process| &process.stat);
            processes.into_iter().any(|process| wanted.is(process.pid, &process.name))
        };
        let missing = settings.processes.iter().filter(|wanted| !is_there(wanted));
        let missing = missing.map(WatchTarget::text).collect();
        let since_boot = settings.since_boot.then(|| since_boot(&first, &source)).flatten();
        let (stop, stopped) = mpsc::channel();
        let (tell, told) = mpsc::sync_channel(WAITING);
        let (tell, told) = if settings.live { (Some(tell), Some(told)) } else { (None, None) };
        let mut watch =
            Watch::new(settings, source, machine.clone(), first, since_boot.clone(), tell);
        watch.tracing = tracing;
        let thread = thread::Builder::new().name("watch".to_owned());
        let thread = thread.spawn(move || watch.run(&stopped)).map_err(Error::Thread)?;
        Ok(Self { stop, told, thread: Some(thread), machine, missing, since_boot })
    }

    /// Returns the next interval, if it comes within `wait`.
    pub fn next(&self, wait: Duration) -> WatchEvent {
        let Some(told) = &self.told else { return WatchEvent::Ended };
        match told.recv_timeout(wait) {
            Ok(interval) => WatchEvent::Interval(interval),
            Err(RecvTimeoutError::Timeout) => WatchEvent::Nothing,
            Err(RecvTimeoutError::Disconnected) => WatchEvent::Ended,
        }
    }

    /// Asks the thread to end. Another interval may follow.
    pub fn stop(&self) {
        // The thread may have ended already.
        let _ = self.stop.send(());
    }

    /// Ends watching, and returns the report.
    pub fn finish(mut self) -> HostReport {
        match self.end() {
            Some(Ok(report)) => report,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => HostReport::default(),
        }
    }

    /// Ends the thread, if it still runs, and waits for that.
    fn end(&mut self) -> Option<thread::Result<HostReport>> {
        let thread = self.thread.take()?;
        self.stop();
        // Nobody takes intervals any more, so none may wait to be taken.
        self.told = None;
        Some(thread.join())
    }
}

/// A caller that gives up in the middle leaves no process traced.
impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// Traces all selected processes that exist.
fn trace(wanted: &[WatchTarget], first: &Sample) -> Result<Tracing, TracingRefusal> {
    let by_number = |process: u32| wanted.contains(&WatchTarget::Pid(process));
    let processes = first.processes.iter().map(|process| process.stat.pid);
    let tracing = Tracing::start()?;
    for process in processes {
        match tracing.attach(process) {
            Err(refused) if by_number(process) || !is_passed_over(&refused) => return Err(refused),
            _ => {}
        }
    }
    Ok(tracing)
}

/// Returns whether it does not matter that a process of a name is not traced: it has ended, or is
/// this one or its child.
const fn is_passed_over(refused: &TracingRefusal) -> bool {
    matches!(refused.why, RefusalReason::Gone | RefusalReason::Itself | RefusalReason::Child)
}

/// Describes a later process that is missing from the account of calls.
fn untraced(refused: &TracingRefusal) -> Sentence {
    let process = refused.process.unwrap_or_default().to_string();
    let why = refused.to_string();
    sentence!("The system calls of process {process} are missing: {why}.")
}

/// Returns the changes from the system's start until a sample. No process figures are known for
/// that time.
fn since_boot(first: &Sample, source: &Source) -> Option<Interval> {
    let uptime = Span::from_seconds(first.uptime?);
    let nothing = |disk: &Disk| Disk { name: disk.name.clone(), ..Disk::default() };
    let cores = first.stat.cores.iter().map(|(core, _)| (*core, Default::default()));
    let start = Sample {
        at: first.at - uptime,
        stat: Stat { cores: cores.collect(), ..Stat::default() },
        vmstat: first.vmstat.map(|_| Vmstat::default()),
        disks: first.disks.iter().map(nothing).collect(),
        ..Sample::default()
    };
    let now = Sample { processes: Vec::new(), ..first.clone() };
    Some(Interval::between(&start, &now, source.scale, &[]))
}

/// The work of the thread.
struct Watch {
    settings: Settings,
    source: Source,
    began: Instant,
    last: Sample,
    summing: SummaryBuilder,
    report: HostReport,
    rows: usize,
    tell: Option<SyncSender<Box<Interval>>>,
    /// True if some figures of a process were not readable.
    is_closed: bool,
    unread: u64,
    /// The tracer of the processes, if their calls are asked for.
    tracing: Option<Tracing>,
    /// The first later process that may not be traced.
    untraced: Option<TracingRefusal>,
    census: Census,
    /// Duration of the last census.
    census_took: Duration,
    busiest: BusyTotals,
}

impl Watch {
    fn new(
        settings: Settings,
        source: Source,
        machine: Machine,
        first: Sample,
        since_boot: Option<Interval>,
        tell: Option<SyncSender<Box<Interval>>>,
    ) -> Self {
        let names: Vec<String> = settings.processes.iter().map(WatchTarget::text).collect();
        let summing = SummaryBuilder::new(&names, !settings.disks.is_empty());
        let report = HostReport {
            machine,
            interval_seconds: Span::from_duration(settings.interval),
            since_boot,
            ..HostReport::default()
        };
        let census = source.census();
        let mut watch = Self {
            settings,
            census,
            census_took: Duration::ZERO,
            busiest: BusyTotals::default(),
            source,
            began: Instant::now(),
            last: first,
            summing,
            report,
            rows: 0,
            tell,
            is_closed: false,
            unread: 0,
            tracing: None,
            untraced: None,
        };
        let there: Vec<(u32, String)> =
            watch.last.processes.iter().map(|it| (it.stat.pid, it.stat.name.clone())).collect();
        there.iter().for_each(|(pid, name)| watch.saw(*pid, name, Span::ZERO));
        watch.look_at_processes();
        watch
    }

    fn saw(&mut self, pid: u32, name: &str, at: Span) {
        let wanted = self.settings.processes.iter().enumerate();
        let places = wanted.filter(|(_, wanted)| wanted.is(pid, name)).map(|(place, _)| place);
        self.summing.saw(pid, name, at, places);
    }

    fn look_at_processes(&mut self) {
        let mut processes = self.last.processes.iter();
        // A process that has ended and was not waited for has no files, and no account.
        self.is_closed |= processes.any(|it| it.io.is_none() && it.stat.state != 'Z');
        self.unread = self.unread.max(self.last.processes_unread);
    }

    /// Takes a census of all processes if it is due, or at the end.
    fn look_at_all(&mut self, is_last: bool) {
        let since = self.source.now() - self.census.at;
        let pause = OFTEN.max(Span::from_duration(self.census_took * SELDOM));
        if since < if is_last { LEAST } else { pause } {
            return;
        }
        let began = Instant::now();
        let now = self.source.census();
        self.census_took = began.elapsed();
        self.busiest.add(&self.census, &now, &self.source);
        self.census = now;
    }

    /// Samples until it is stopped, or the time is over.
    fn run(mut self, stopped: &Receiver<()>) -> HostReport {
        let interval = self.settings.interval.max(Duration::from_millis(1));
        let end = self.settings.duration.and_then(|long| self.began.checked_add(long));
        let mut next = self.began + interval;
        loop {
            let until = end.map_or(next, |end| end.min(next));
            let wait = until.saturating_duration_since(Instant::now());
            let goes_on = matches!(stopped.recv_timeout(wait), Err(RecvTimeoutError::Timeout));
            let is_whole = goes_on && until == next;
            if let Err(error) = self.look(is_whole) {
                self.report.failure = Some(error.to_string());
                break;
            }
            let is_enough = self.settings.count.is_some_and(|count| self.report.count >= count);
            if !goes_on || is_enough || end.is_some_and(|end| end <= until) {
                break;
            }
            // Samples that were missed are not made up for.
            let now = Instant::now();
            while next <= now {
                next += interval;
            }
        }
        self.finish()
    }

    /// Adds the interval that ends now, if it is long enough.
    fn look(&mut self, is_whole: bool) -> Result<(), Error> {
        let now = self.source.sample()?;
        let lasted = now.at - self.last.at;
        if !is_whole && lasted < LEAST {
            return Ok(());
        }
        let mut interval =
            Interval::between(&self.last, &now, self.source.scale, &self.settings.processes);
        self.last = now;
        self.look_at_processes();
        self.look_at_all(!is_whole);
        for event in interval.events.iter().filter(|it| it.what == ProcessEventKind::Appeared) {
            self.saw(event.pid, &event.name, interval.to_seconds);
            self.trace(event.pid);
        }
        interval.syscalls = self.tracing.as_ref().map(Tracing::interval);
        self.summing.add(&interval);
        self.report.count += 1;
        if let Some(tell) = &self.tell
            && tell.send(Box::new(interval.clone())).is_err()
        {
            // Nobody takes intervals any more.
            self.tell = None;
        }
        self.keep(interval);
        Ok(())
    }

    /// Traces a process that has appeared.
    fn trace(&mut self, process: u32) {
        let Some(tracing) = &self.tracing else { return };
        if let Err(refused) = tracing.attach(process)
            && !is_passed_over(&refused)
        {
            self.untraced.get_or_insert(refused);
        }
    }

    fn keep(&mut self, interval: Interval) {
        if !self.settings.keep {
            return;
        }
        let rows = [
            interval.disks.len(),
            interval.processes.len(),
            interval.totals.len(),
            interval.events.len(),
            interval.syscalls.as_ref().map_or(0, |syscalls| syscalls.calls.len()),
        ];
        let rows = 1 + rows.iter().sum::<usize>();
        if self.report.intervals.len() < MAX_INTERVALS && self.rows + rows <= MAX_ROWS {
            self.rows += rows;
            self.report.intervals.push(interval);
        } else {
            self.report.intervals_left_out += 1;
        }
    }

    fn finish(mut self) -> HostReport {
        // The processes are released first.
        let traced = self.tracing.take().map(Tracing::finish);
        self.look_at_all(true);
        let mut report = self.report;
        let (syscalls, untold) = traced.unzip();
        report.syscalls = syscalls;
        // A run that was too short for an interval was watched all the same.
        report.seconds = if report.count == 0 { self.source.now() } else { self.last.at };
        report.busiest_processes = self.busiest.finish();
        report.summary = self.summing.finish();
        let first = report.summary.findings.first();
        report.busiest = match first {
            Some(finding) => finding.sentence.clone(),
            None if report.count == 0 => "The run was too short to tell what was busiest.".into(),
            None => NOTHING.into(),
        };
        let is_of_processors =
            first.is_some_and(|it| matches!(it.kind, Kind::Processors | Kind::Core));
        if let Some(most) = report.busiest_processes.first().filter(|_| is_of_processors) {
            report.busiest.push(&sentence!(" BusyTotals process: {}.", named(&most.process)));
        }
        let unread = self.unread;
        let notes: [(bool, Sentence); 4] = [
            (
                !self.source.has_disks(),
                "The figures of disks are missing: there is no /proc/diskstats.".into(),
            ),
            (
                self.last.vmstat.is_none(),
                "The figures of swapping and block I/O are missing: there is no /proc/vmstat."
                    .into(),
            ),
            (
                self.is_closed,
                "Only root may read the disk transfers and open files of other users' processes."
                    .into(),
            ),
            (unread > 0, sentence!("{unread} more processes of these names are not watched.")),
        ];
        let notes = notes.into_iter().filter(|(is_so, _)| *is_so);
        report.notes = notes.map(|(_, said)| said).collect();
        report.notes.extend(untold.flatten().map(|why| {
            sentence!("Some system calls are missing, because tracing ended early: {why}.")
        }));
        report.notes.extend(self.untraced.as_ref().map(untraced));
        report
    }
}

#[cfg(test)]
#[path = "watcher_tests.rs"]
mod tests;
