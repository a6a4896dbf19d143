//! A printer of the spool: what it is told to be, and how it is.

use std::collections::BTreeSet;
use std::time::Duration;

use windlass_wire::ipp::PrinterState;

use super::attempt::AttemptTotals;
use super::device::Device;
use super::job::JobId;
use super::latency::Latencies;
use super::moment::Moment;

/// What a printer is told to be.
#[derive(Clone, Debug)]
pub struct PrinterSettings {
    /// Its name: the queue.
    pub name: String,
    /// Where its jobs go.
    pub device: Device,
    /// A line about it.
    pub info: String,
    /// Where it stands.
    pub location: String,
    /// What it is, for clients without a driver.
    pub model: String,
    /// The media types that it takes. What has another is refused.
    pub formats: Vec<String>,
    /// What happens where a job cannot be delivered.
    pub on_error: OnError,
    /// What happens to a job that the device refuses for good.
    pub on_refusal: OnRefusal,
    /// Whether the data is sent again for each copy, though the protocol of the device
    /// has a word for copies: many devices do not heed it.
    pub repeats_copies: bool,
    /// The rights of the files that a device makes (chmod(1)).
    pub mode: u32,
    /// Whom a command runs as, where that is not what all of them run as.
    pub user: Option<String>,
    /// The most jobs that it keeps at a time.
    pub max_jobs: Option<usize>,
    /// Whether it is stopped at first.
    pub is_stopped: bool,
}

impl PrinterSettings {
    /// With what is usual.
    pub fn new(name: impl Into<String>, device: Device) -> Self {
        let name = name.into();
        Self {
            info: name.clone(),
            name,
            device,
            location: String::new(),
            model: "windlass spool".to_owned(),
            formats: FORMATS.iter().map(|format| (*format).to_owned()).collect(),
            on_error: OnError::Retry,
            on_refusal: OnRefusal::Abort,
            repeats_copies: false,
            mode: USUAL_MODE,
            user: None,
            max_jobs: None,
            is_stopped: false,
        }
    }
}

/// The rights of files with print data: whose they are reads and writes them, and nobody
/// else.
const USUAL_MODE: u32 = 0o600;

/// What printers take where nothing else is said: what drivers and driverless
/// clients send. All goes on as it came.
pub const FORMATS: [&str; 9] = [
    "application/octet-stream",
    "application/pdf",
    "application/postscript",
    "application/vnd.cups-raw",
    "application/vnd.hp-PCL",
    "image/jpeg",
    "image/pwg-raster",
    "image/urf",
    "text/plain",
];

/// What happens where a job cannot be delivered: the words of CUPS's
/// `printer-error-policy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// The job is tried again, later and later.
    #[default]
    Retry,
    /// The job is given up.
    Abort,
    /// The printer stops and keeps the job.
    Stop,
}

impl OnError {
    /// The keyword.
    pub const fn keyword(self) -> &'static str {
        match self {
            Self::Retry => "retry-job",
            Self::Abort => "abort-job",
            Self::Stop => "stop-printer",
        }
    }

    /// That of a keyword.
    pub fn new(keyword: &str) -> Option<Self> {
        [Self::Retry, Self::Abort, Self::Stop].into_iter().find(|one| one.keyword() == keyword)
    }
}

/// What happens to a job that its device refuses for good: that is no failure of the
/// device, which may take the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnRefusal {
    /// It is given up.
    #[default]
    Abort,
    /// It is held, so that somebody can see to it.
    Hold,
}

impl OnRefusal {
    /// The keyword.
    pub const fn keyword(self) -> &'static str {
        match self {
            Self::Abort => "abort-job",
            Self::Hold => "hold-job",
        }
    }

    /// That of a keyword.
    pub fn new(keyword: &str) -> Option<Self> {
        [Self::Abort, Self::Hold].into_iter().find(|one| one.keyword() == keyword)
    }
}

/// The first wait after a failure. Each further one is twice as long.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// The longest one. CUPS waits 30 s each time.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// How long to wait after so many failures in a row.
pub(crate) fn back_off(failures: u32) -> Duration {
    let doubled = FIRST_WAIT.saturating_mul(1 << failures.saturating_sub(1).min(16));
    doubled.min(LONGEST_WAIT)
}

/// A device that did not take a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// How often in a row.
    pub failures: u32,
    /// When it is tried again.
    pub again: Moment,
    /// What was wrong.
    pub what: String,
}

/// How a printer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// It has nothing to do.
    Idle,
    /// Its device has a job.
    Processing,
    /// It waits until it tries its device again.
    Failing,
    /// It is stopped, and has ended its job.
    Stopped,
}

impl Condition {
    /// The same in IPP, which has no word for a device that fails.
    pub(crate) const fn in_ipp(self) -> PrinterState {
        match self {
            // Between two tries no job is printed. CUPS calls it idle, too.
            Self::Idle | Self::Failing => PrinterState::Idle,
            Self::Processing => PrinterState::Processing,
            Self::Stopped => PrinterState::Stopped,
        }
    }

    /// The same in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Failing => "waiting for its device",
            state => state.in_ipp().id(),
        }
    }
}

/// A printer.
#[derive(Clone, Debug)]
pub struct Printer {
    /// What it is told to be.
    pub settings: PrinterSettings,
    /// Why it is stopped, where it is.
    pub stopped: Option<String>,
    /// Whether it takes jobs.
    pub is_accepting: bool,
    /// That its device fails, where it does.
    pub trouble: Option<Trouble>,
    /// The job that it has.
    pub current: Option<JobId>,
    /// Jobs that are not over, by number.
    pub live: BTreeSet<JobId>,
    /// Jobs that are over and known still, by number.
    pub over: BTreeSet<JobId>,
    /// Those that wait for it: the most urgent first, then the oldest.
    pub(crate) waiting: BTreeSet<(u8, JobId)>,
    /// Jobs that are on their way in.
    pub(crate) incoming: usize,
    /// When something about it changed last.
    pub changed: Moment,
    /// What it did.
    pub counts: Counts,
    /// Where the time of its attempts went.
    pub attempts: AttemptTotals,
    /// How long that took.
    pub latencies: Latencies,
}

/// What a printer did since the server started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Jobs that were accepted.
    pub accepted: u64,
    /// Jobs that were refused.
    pub refused: u64,
    /// Jobs that were delivered.
    pub completed: u64,
    /// Jobs that were canceled.
    pub canceled: u64,
    /// Jobs that were given up.
    pub aborted: u64,
    /// Tries that failed.
    pub failures: u64,
    /// Bytes of documents that were accepted.
    pub bytes_in: u64,
    /// Bytes of documents that were delivered.
    pub bytes_out: u64,
    /// Pages of jobs that were delivered, with copies, as far as they are known.
    pub pages: u64,
    /// Jobs that were delivered whose pages are not known.
    pub pages_unknown: u64,
}

impl Printer {
    pub(crate) fn new(settings: PrinterSettings, now: Moment) -> Self {
        let stopped = settings.is_stopped.then(|| "stopped by its settings".to_owned());
        Self {
            settings,
            stopped,
            is_accepting: true,
            trouble: None,
            current: None,
            live: BTreeSet::new(),
            over: BTreeSet::new(),
            waiting: BTreeSet::new(),
            incoming: 0,
            changed: now,
            counts: Counts::default(),
            attempts: AttemptTotals::default(),
            latencies: Latencies::default(),
        }
    }

    /// How it is.
    pub const fn state(&self) -> Condition {
        match (&self.stopped, self.current, &self.trouble) {
            (Some(_), None, _) => Condition::Stopped,
            (_, Some(_), _) => Condition::Processing,
            (_, _, Some(_)) => Condition::Failing,
            _ => Condition::Idle,
        }
    }

    /// The next job, and when it may go.
    pub(crate) fn next(&self) -> Option<JobId> {
        self.waiting.first().map(|(_, id)| *id)
    }
}
