//! A thread that looks at the machine, again and again.

use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde::Serialize;
use windlass_base::{Bytes, MAX_INTERVALS, Sentence, Span, sentence};

use super::LEAST;
use super::busiest::{Busiest, BusyOverTime, named};
use super::census::Census;
use super::findings::{Kind, NOTHING};
use super::proc::{Disk, Stat, Vmstat};
use super::rates::{Happened, Interval};
use super::read::{Error, Source};
use super::sample::{Sample, WatchTarget};
use super::summary::{Summary, Summing};
use super::syscalls::Tracing;
use super::syscalls::refused::{Refused, Why};
use super::syscalls::report::SyscallReport;

/// The most rows that they have together: disks, processes and what came and
/// went. Some 30 MB.
const MAX_ROWS: usize = 200_000;

/// From one look at all processes to the next it takes so many times as long as the
/// look: 2 % of one processor at the most.
const SELDOM: u32 = 50;

/// And as long as this, so that shares of short intervals mean something.
const OFTEN: Span = Span::from_millis(1_000);

/// This many intervals wait for who shows them; then watching waits, too.
const WAITING: usize = 16;

/// What is to be watched, and how.
#[derive(Clone, Debug)]
pub struct Settings {
    /// From one look to the next.
    pub interval: Duration,
    /// It ends after so many intervals.
    pub count: Option<u64>,
    /// It ends after so long.
    pub duration: Option<Duration>,
    /// Processes; with none, none.
    pub processes: Vec<WatchTarget>,
    /// Disks; with none, all.
    pub disks: Vec<String>,
    /// True to trace the processes, for their system calls.
    pub syscalls: bool,
    /// True to say what happened since the system started, too.
    pub since_boot: bool,
    /// True if the report has the intervals.
    pub keep: bool,
    /// True if [`Watcher::next`] gives the intervals as they come. Who asks for
    /// them has to take them.
    pub live: bool,
    /// Where `proc` and `sys` are.
    pub root: PathBuf,
}

impl Default for Settings {
    /// A look each second at this machine, until it is told to end.
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

/// The machine that is watched.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Machine {
    /// The system and its version.
    pub system: String,
    /// Processors that are online.
    pub processors: u64,
    /// Memory.
    pub memory_bytes: Bytes,
    /// Space for swapping.
    pub swap_bytes: Bytes,
}

/// What a machine did in a run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct HostReport {
    /// The machine.
    pub machine: Machine,
    /// From one look to the next.
    pub interval_seconds: Span,
    /// The time for which it was watched.
    pub seconds: Span,
    /// How many intervals there were.
    pub count: u64,
    /// What was busiest, in a sentence.
    pub busiest: Sentence,
    /// The processes with most of the processors' time, with their children.
    pub busiest_processes: Vec<BusyOverTime>,
    /// What the intervals come to.
    pub summary: Summary,
    /// What happened since the system started; nothing where not asked for.
    pub since_boot: Option<Interval>,
    /// The intervals, as far as they are kept.
    pub intervals: Vec<Interval>,
    /// Intervals that are not: where there were too many.
    pub intervals_left_out: u64,
    /// The system calls of the processes, with what they started; nothing where they were not
    /// asked for.
    pub syscalls: Option<SyscallReport>,
    /// What could not be known, and why.
    pub notes: Vec<Sentence>,
    /// The reason why watching ended before its time, where it did.
    pub failure: Option<String>,
}

/// What [`Watcher::next`] has.
#[derive(Debug)]
pub enum WatchEvent {
    /// An interval has ended.
    Interval(Box<Interval>),
    /// Nothing for now.
    Nothing,
    /// There will be no more.
    Ended,
}

/// Looks at a machine in a thread of its own.
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
    /// The names asked for of which there was no process at first.
    pub missing: Vec<String>,
    /// What happened since the system started, where that was asked for.
    pub since_boot: Option<Interval>,
}

impl Watcher {
    /// Begins to look.
    ///
    /// # Errors
    /// Fails where the accounts cannot be read, or a disk or the number of a process is
    /// asked for that is not there. A name is waited for. Where a process may not be traced
    /// whose system calls are asked for.
    pub fn start(settings: Settings) -> Result<Self, Error> {
        let open = || -> Result<(Source, Sample), Error> {
            let source = Source::open(&settings.root, &settings.processes, &settings.disks)?;
            let first = source.sample()?;
            Ok((source, first))
        };
        let (mut source, mut first) = open()?;
        let tracing = settings.syscalls.then(|| trace(&settings.processes, &first)).transpose()?;
        if tracing.is_some() {
            // What it took to begin with that is no part of what is watched.
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

    /// The next interval, where it comes within `wait`.
    pub fn next(&self, wait: Duration) -> WatchEvent {
        let Some(told) = &self.told else { return WatchEvent::Ended };
        match told.recv_timeout(wait) {
            Ok(interval) => WatchEvent::Interval(interval),
            Err(RecvTimeoutError::Timeout) => WatchEvent::Nothing,
            Err(RecvTimeoutError::Disconnected) => WatchEvent::Ended,
        }
    }

    /// Asks it to end. There may be an interval yet to come.
    pub fn stop(&self) {
        // Where it has ended already nobody hears it.
        let _ = self.stop.send(());
    }

    /// Ends it, and gives what it saw.
    pub fn finish(mut self) -> HostReport {
        match self.end() {
            Some(Ok(report)) => report,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => HostReport::default(),
        }
    }

    /// Has the thread end, where it has not yet, and waits for that.
    fn end(&mut self) -> Option<thread::Result<HostReport>> {
        let thread = self.thread.take()?;
        self.stop();
        // Nobody takes intervals any more, so none may wait to be taken.
        self.told = None;
        Some(thread.join())
    }
}

/// Who gives up in the middle leaves no process traced.
impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// Traces all processes that are wanted, as far as they are there.
fn trace(wanted: &[WatchTarget], first: &Sample) -> Result<Tracing, Refused> {
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

/// Returns whether it is no matter that a process of a name is not traced: it has ended, or is no
/// other than this one.
const fn is_passed_over(refused: &Refused) -> bool {
    matches!(refused.why, Why::Gone | Why::Itself | Why::Child)
}

/// That a process which came later is not in the account of calls.
fn untraced(refused: &Refused) -> Sentence {
    let process = refused.process.unwrap_or_default().to_string();
    let why = refused.to_string();
    sentence!("The system calls of process {process} are not here: {why}.")
}

/// What happened from the system's start until a sample. Of processes nothing is
/// known there.
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
    summing: Summing,
    report: HostReport,
    rows: usize,
    tell: Option<SyncSender<Box<Interval>>>,
    /// True if there was a process of which not all may be known.
    is_closed: bool,
    unread: u64,
    /// The tracer of the processes, where their calls are wanted.
    tracing: Option<Tracing>,
    /// The first process that came later and may not be traced.
    untraced: Option<Refused>,
    census: Census,
    /// The time for which it took to read.
    census_took: Duration,
    busiest: Busiest,
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
        let summing = Summing::new(&names, !settings.disks.is_empty());
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
            busiest: Busiest::default(),
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
        // What has ended and was not waited for has no files, and no account.
        self.is_closed |= processes.any(|it| it.io.is_none() && it.stat.state != 'Z');
        self.unread = self.unread.max(self.last.processes_unread);
    }

    /// Looks which of all processes had most, where that is due or it is the last time.
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

    /// Looks until it is told to stop, or the time is over.
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
            // A look that came late, for whatever reason, is not made up for.
            let now = Instant::now();
            while next <= now {
                next += interval;
            }
        }
        self.finish()
    }

    /// Adds the interval that ends now, where it is long enough.
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
        for event in interval.events.iter().filter(|it| it.what == Happened::Appeared) {
            self.saw(event.pid, &event.name, interval.to_seconds);
            self.trace(event.pid);
        }
        interval.syscalls = self.tracing.as_ref().map(Tracing::interval);
        self.summing.add(&interval);
        self.report.count += 1;
        if let Some(tell) = &self.tell
            && tell.send(Box::new(interval.clone())).is_err()
        {
            // Nobody wants them any more.
            self.tell = None;
        }
        self.keep(interval);
        Ok(())
    }

    /// Traces a process that has come.
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
        // First of all they are let go.
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
            None if report.count == 0 => "It was too short to tell what was busiest.".into(),
            None => NOTHING.into(),
        };
        let is_of_processors =
            first.is_some_and(|it| matches!(it.kind, Kind::Processors | Kind::Core));
        if let Some(most) = report.busiest_processes.first().filter(|_| is_of_processors) {
            report.busiest.push(&sentence!(" Most had {}.", named(&most.process)));
        }
        let unread = self.unread;
        let notes: [(bool, Sentence); 4] = [
            (
                !self.source.has_disks(),
                "The kernel counts no disks here: there is no /proc/diskstats.".into(),
            ),
            (
                self.last.vmstat.is_none(),
                "The kernel does not count here what goes between memory and disks: /proc/vmstat."
                    .into(),
            ),
            (
                self.is_closed,
                "What other users' processes read and write, and their open files, only root may \
                 know."
                    .into(),
            ),
            (
                unread > 0,
                sentence!("There were {unread} processes more of these names than are watched."),
            ),
        ];
        let notes = notes.into_iter().filter(|(is_so, _)| *is_so);
        report.notes = notes.map(|(_, said)| said).collect();
        report.notes.extend(untold.flatten().map(|why| {
            sentence!("The system calls are not all here: tracing ended before its time: {why}.")
        }));
        report.notes.extend(self.untraced.as_ref().map(untraced));
        report
    }
}

#[cfg(test)]
#[path = "watcher_tests.rs"]
mod tests;
