//! A printer of the spool: what it is told to be, and how it is.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use windlass_wire::ipp::{Attribute, PrinterState, Value};
use windlass_wire::status_source::{StatusSource, StatusSourceError};

use super::attempt::AttemptTotals;
use super::device::Device;
use super::job::JobId;
use super::latency::Latencies;
use super::moment::Moment;
use super::standing::{DeviceStall, Standing};
use super::template::{packed, template};
use super::users::Users;

/// What a printer is told to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The policy for a job of which the device may have printed a part; without a word it is
    /// [`Self::on_partial`].
    pub on_partial: Option<OnPartial>,
    /// The time for which the device may do nothing while its connection lives; without a word there is no
    /// limit.
    pub patience: Option<Duration>,
    /// The longest that the device may take to accept a connection.
    pub contact: Duration,
    /// The source of the device's state while it has a job, for a device that gets the data alone;
    /// without a word it is not asked.
    pub status: Option<StatusSource>,
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
    /// Where raw data is taken for it.
    pub raw: Vec<SocketAddr>,
    /// Where it is a class: the names of the printers that do its jobs in turn.
    pub members: Option<Vec<String>>,
    /// Whether it prints in colour; without a word its device is asked where that can be,
    /// and else it does not.
    pub colour: Option<bool>,
    /// Whether it prints on both sides, in the same way.
    pub duplex: Option<bool>,
    /// Those who may print on it.
    pub users: Users,
    /// Attributes of jobs that do not say otherwise, as a job keeps them.
    pub defaults: Box<[u8]>,
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
            on_partial: None,
            patience: None,
            contact: CONTACT,
            status: None,
            repeats_copies: false,
            mode: USUAL_MODE,
            user: None,
            max_jobs: None,
            is_stopped: false,
            raw: Vec::new(),
            members: None,
            colour: None,
            duplex: None,
            users: Users::All,
            defaults: Box::default(),
        }
    }

    /// A class of printers: whichever is idle does its next job.
    pub fn class(name: impl Into<String>, members: Vec<String>) -> Self {
        Self { members: Some(members), ..Self::new(name, Device::Drop) }
    }

    /// Of a printer of which nothing but its name is known.
    pub(crate) fn unknown(name: &str) -> Self {
        Self::new(name, Device::Drop)
    }

    /// What is other there, in the words of the settings.
    pub(crate) fn differences(&self, other: &Self) -> Vec<&'static str> {
        // Each of them: one more is not to be forgotten here.
        let Self {
            name: _,
            device,
            info,
            location,
            model,
            formats,
            on_error,
            on_refusal,
            on_partial,
            patience,
            contact,
            status,
            repeats_copies,
            max_jobs,
            is_stopped,
            raw,
            members,
            colour,
            duplex,
            mode,
            user,
            users,
            defaults,
        } = self;
        let table = [
            ("device", *device != other.device),
            ("info", *info != other.info),
            ("location", *location != other.location),
            ("model", *model != other.model),
            ("formats", *formats != other.formats),
            ("on-error", *on_error != other.on_error),
            ("on-refusal", *on_refusal != other.on_refusal),
            ("on-partial", *on_partial != other.on_partial),
            ("patience", *patience != other.patience),
            ("contact", *contact != other.contact),
            ("status", *status != other.status),
            ("copies", *repeats_copies != other.repeats_copies),
            ("max-jobs", *max_jobs != other.max_jobs),
            ("stopped", *is_stopped != other.is_stopped),
            ("raw", *raw != other.raw),
            ("members", *members != other.members),
            ("colour", *colour != other.colour),
            ("duplex", *duplex != other.duplex),
            ("mode", *mode != other.mode),
            ("user", *user != other.user),
            ("users", *users != other.users),
            ("defaults", *defaults != other.defaults),
        ];
        table.into_iter().filter_map(|(name, is_other)| is_other.then_some(name)).collect()
    }
}

/// Attributes of a job that a printer may have a default of.
const DEFAULTS: [&str; 12] = [
    "copies",
    "finishings",
    "job-sheets",
    "media",
    "multiple-document-handling",
    "number-up",
    "orientation-requested",
    "output-bin",
    "print-color-mode",
    "print-quality",
    "printer-resolution",
    "sides",
];

impl PrinterSettings {
    /// Sets what jobs ask for that do not say otherwise, or takes that back with no value.
    ///
    /// # Errors
    /// Why, where there is no such default.
    pub fn set_default(&mut self, name: &str, values: Vec<Value>) -> Result<(), String> {
        if !DEFAULTS.contains(&name) {
            return Err(format!("a printer has defaults of {}", DEFAULTS.join(", ")));
        }
        let mut defaults = template(&self.defaults);
        defaults.retain(|one| one.name != name);
        let is_none = values.iter().any(|value| {
            matches!(value, Value::OutOfBand(_)) || value.text().is_some_and(|text| text.is_empty())
        });
        if !values.is_empty() && !is_none {
            defaults.push(Attribute { name: name.to_owned(), values });
        }
        defaults.sort_by(|one, other| one.name.cmp(&other.name));
        self.defaults = packed(defaults).ok_or("it is too long")?;
        Ok(())
    }

    /// Checks that the device has the source of its state that is set.
    ///
    /// # Errors
    /// Where it has none.
    pub fn check_status(&self) -> Result<(), StatusSourceError> {
        let protocol = match &self.device {
            Device::Target(target) => Some(target.protocol),
            _ => None,
        };
        self.status.as_ref().map_or(Ok(()), |status| status.fits(protocol))
    }

    /// Returns what happens to a job of which the device may have printed a part: as it is told, or
    /// else by what is known of that part. What the device reports can be sent again; of the rest
    /// nobody knows what is on paper.
    pub fn on_partial(&self, is_reported: bool) -> OnPartial {
        self.on_partial.unwrap_or(match self.on_error {
            OnError::Abort => OnPartial::Abort,
            OnError::Retry | OnError::Stop if is_reported => OnPartial::Retry,
            OnError::Retry | OnError::Stop => OnPartial::Hold,
        })
    }
}

/// The longest that a device may take to accept a connection, where nothing is said.
const CONTACT: Duration = Duration::from_secs(60);

/// Why a printer is stopped that its settings stop.
pub(crate) const STOPPED: &str = "stopped by its settings";

/// The longest name of a printer: IPP has no room for more.
pub const MAX_NAME: usize = 127;

/// Whether a printer may be called so: it is part of URIs and of the names of files.
pub fn is_printer_name(name: &str) -> bool {
    let is_fine = |one: char| !one.is_control() && !one.is_whitespace() && !"/?#\\".contains(one);
    (1..=MAX_NAME).contains(&name.len()) && name.chars().all(is_fine) && !name.starts_with('.')
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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

/// The policy for a job of which its device may have printed a part: its connection broke when
/// data had been accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OnPartial {
    /// It is sent again from its start.
    Retry,
    /// It is held, so that somebody can look at the paper.
    Hold,
    /// It is given up.
    Abort,
}

impl OnPartial {
    /// Returns the keyword.
    pub const fn keyword(self) -> &'static str {
        match self {
            Self::Retry => "retry-job",
            Self::Hold => "hold-job",
            Self::Abort => "abort-job",
        }
    }

    /// Returns that of a keyword.
    pub fn new(keyword: &str) -> Option<Self> {
        [Self::Retry, Self::Hold, Self::Abort].into_iter().find(|one| one.keyword() == keyword)
    }
}

/// The attribute by which a device says what it can be asked for. The spool's own operations are
/// others.
pub const OPERATIONS_SUPPORTED: &str = "operations-supported";

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
    /// When it failed last.
    pub failed: Moment,
    /// When it is tried again.
    pub again: Moment,
    /// What was wrong.
    pub what: String,
}

impl Trouble {
    /// Returns whether it is to be tried again later: not where the clock was set back since it
    /// failed, or the wait would be as long as that.
    pub(crate) fn waits(&self, now: Moment) -> bool {
        (self.failed..self.again).contains(&now)
    }

    fn times(&self) -> String {
        match self.failures {
            // One that is at work does not fail.
            0 => "it had another job".to_owned(),
            1 => "it failed once".to_owned(),
            failures => format!("it failed {failures} times"),
        }
    }
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
    /// Why it takes none, where somebody said that.
    pub rejecting: Option<String>,
    /// That its device fails, where it does.
    pub trouble: Option<Trouble>,
    /// The job that it has.
    pub current: Option<JobId>,
    /// Jobs that are not over, by number.
    pub live: BTreeSet<JobId>,
    /// Jobs that are over and known still, by number.
    pub over: BTreeSet<JobId>,
    /// The places of the classes that it is a member of; of the members, where it is one.
    pub(crate) linked: Vec<usize>,
    /// Where it is a class: which of its members had a turn last.
    pub(crate) last: usize,
    /// Those that wait for it: the most urgent first, then the oldest.
    pub(crate) waiting: BTreeSet<(u8, JobId)>,
    /// Jobs that are on their way in.
    pub(crate) incoming: usize,
    /// When something about it changed last.
    pub changed: Moment,
    /// Whether it is removed. Its jobs may be there still.
    pub is_removed: bool,
    /// Whether it is as it was told to be at run time, and not as the settings say.
    pub is_run_time: bool,
    /// A number for what the settings say of it; none where they do not.
    pub said: Option<u64>,
    /// What its device says that it can do ([`crate::respond::LEARNED`]); none where it
    /// was not asked, or gave no answer.
    pub learned: Vec<Attribute>,
    /// True if its device says that it has Create-Job and Send-Document: then it tells how a job
    /// is whose document broke off.
    pub creates_jobs: Option<bool>,
    /// The reasons that its device gives for its state while it has a job: `printer-state-reasons`.
    pub device_reasons: Vec<String>,
    /// Counts how often its settings were changed.
    pub revision: u32,
    /// Counts how often it was given another device.
    pub(crate) device_revision: u32,
    /// What that was when it got the job that it has.
    pub(crate) began_at: u32,
    /// The progress of the job at its device.
    pub standing: Standing,
    /// True if it was told that its device stalls.
    pub(crate) is_stall_told: bool,
    /// Whether that is about to be over, and is neither canceled nor moved any more.
    pub(crate) is_ending: bool,
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
        let stopped = settings.is_stopped.then(|| STOPPED.to_owned());
        Self {
            settings,
            stopped,
            is_accepting: true,
            rejecting: None,
            trouble: None,
            current: None,
            live: BTreeSet::new(),
            over: BTreeSet::new(),
            linked: Vec::new(),
            last: usize::MAX,
            waiting: BTreeSet::new(),
            incoming: 0,
            changed: now,
            is_removed: false,
            is_run_time: false,
            said: None,
            learned: Vec::new(),
            creates_jobs: None,
            device_reasons: Vec::new(),
            revision: 0,
            device_revision: 0,
            began_at: 0,
            standing: Standing::Connecting,
            is_stall_told: false,
            is_ending: false,
            counts: Counts::default(),
            attempts: AttemptTotals::default(),
            latencies: Latencies::default(),
        }
    }

    /// Gives it other settings.
    pub(crate) fn set(&mut self, settings: PrinterSettings, now: Moment) {
        if self.settings.device != settings.device {
            self.learned.clear();
            self.creates_jobs = None;
            self.device_revision = self.device_revision.wrapping_add(1);
        }
        self.settings = settings;
        self.revision = self.revision.wrapping_add(1);
        self.trouble = None;
        self.changed = now;
    }

    /// Whether it prints in colour: as it is told, or else as its device says.
    pub fn has_colour(&self) -> bool {
        self.settings.colour.unwrap_or_else(|| {
            let said = self.learned.iter().find(|one| one.name == "color-supported");
            said.is_some_and(|one| one.values.contains(&Value::Boolean(true)))
        })
    }

    /// Whether it prints on both sides, in the same way.
    pub fn has_duplex(&self) -> bool {
        self.settings.duplex.unwrap_or_else(|| {
            let said = self.learned.iter().find(|one| one.name == "sides-supported");
            let is_both =
                |value: &Value| value.text().is_some_and(|one| one.starts_with("two-sided"));
            said.is_some_and(|one| one.values.iter().any(is_both))
        })
    }

    /// Whether it is a class of printers.
    pub const fn is_class(&self) -> bool {
        self.settings.members.is_some()
    }

    /// Returns what there is to say of how it is now.
    pub fn message(&self, now: Moment) -> String {
        if let (Some(job), Standing::Stalled(stall)) = (self.current, self.standing) {
            return match &self.device_reasons[..] {
                [] => stall.words(job, now),
                reasons => format!("{}; it says: {}", stall.words(job, now), reasons.join(", ")),
            };
        }
        match (&self.stopped, self.current, self.standing, &self.trouble) {
            (Some(why), ..) => why.clone(),
            (None, Some(job), Standing::Connecting, Some(trouble)) => {
                format!("its device is tried again now, with job {job}: {}", trouble.times())
            }
            (None, Some(job), ..) if !self.device_reasons.is_empty() => {
                format!("its device has job {job}, and says: {}", self.device_reasons.join(", "))
            }
            (None, Some(_), ..) => String::new(),
            (None, None, _, None) => {
                let said = self.rejecting.as_ref();
                said.map_or_else(String::new, |why| format!("it takes no jobs: {why}"))
            }
            (None, None, _, Some(trouble)) => {
                // To the next second: "in 0 s" would be now.
                let seconds = now.until(trouble.again).as_millis().div_ceil(1_000);
                format!("its device fails: {}; it is tried again in {seconds} s", trouble.what)
            }
        }
    }

    /// Returns whether its device fails, as far as is known now: one that takes a job does not.
    pub const fn is_failing(&self) -> bool {
        let takes = matches!(self.standing, Standing::Moving | Standing::Stalled(_));
        self.trouble.is_some() && !(self.current.is_some() && takes)
    }

    /// Returns how nothing moves at its device, where that is so.
    pub const fn stall(&self) -> Option<&DeviceStall> {
        match &self.standing {
            Standing::Stalled(stall) if self.current.is_some() => Some(stall),
            _ => None,
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
}
