//! Printers of the spool: their settings and their state.

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
use super::standing::{DeviceProgress, DeviceStall};
use super::template::{packed, template};
use super::users::Users;

/// Settings of a printer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrinterSettings {
    /// Name of the printer, which is the queue name.
    pub name: String,
    /// Destination of the jobs.
    pub device: Device,
    /// Description in one line.
    pub info: String,
    /// Location of the printer.
    pub location: String,
    /// Make and model, for clients without a driver.
    pub model: String,
    /// Accepted media types. Documents of other types are refused.
    pub formats: Vec<String>,
    /// Policy for a job that cannot be delivered.
    pub on_error: OnError,
    /// Policy for a job that the device refuses permanently.
    pub on_refusal: OnRefusal,
    /// Policy for a job that the device may have printed in part; `None` for the default of
    /// [`Self::on_partial`].
    pub on_partial: Option<OnPartial>,
    /// Maximum time without progress while the device's connection lives; `None` for no limit.
    pub patience: Option<Duration>,
    /// Maximum time until the device accepts a connection.
    pub contact: Duration,
    /// Source of the device's state while it has a job, for a device that receives only data;
    /// `None` if it is not queried.
    pub status: Option<StatusSource>,
    /// True if the data is sent again for each copy, even if the device's protocol has a copies
    /// attribute: many devices ignore that attribute.
    pub repeats_copies: bool,
    /// Permissions of the files that a device creates (chmod(1)).
    pub mode: u32,
    /// User that a command runs as; `None` for the default user of all commands.
    pub user: Option<String>,
    /// Maximum number of jobs at a time.
    pub max_jobs: Option<usize>,
    /// True if the printer is stopped initially.
    pub is_stopped: bool,
    /// Addresses that accept raw data for the printer.
    pub raw: Vec<SocketAddr>,
    /// Names of the printers that do the jobs in turn, if this is a class.
    pub members: Option<Vec<String>>,
    /// True if the printer prints in colour. `None` asks the device if possible, and otherwise
    /// means no.
    pub colour: Option<bool>,
    /// True if the printer prints on both sides; `None` as for `colour`.
    pub duplex: Option<bool>,
    /// Users who may print.
    pub users: Users,
    /// Default attributes for jobs, encoded as in a job's ticket.
    pub defaults: Box<[u8]>,
}

impl PrinterSettings {
    /// Returns default settings.
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

    /// Returns a class of printers: the next idle member does the next job.
    pub fn class(name: impl Into<String>, members: Vec<String>) -> Self {
        Self { members: Some(members), ..Self::new(name, Device::Drop) }
    }

    /// Returns settings of a printer of which only the name is known.
    pub(crate) fn unknown(name: &str) -> Self {
        Self::new(name, Device::Drop)
    }

    /// Returns the names of the settings that differ.
    pub(crate) fn differences(&self, other: &Self) -> Vec<&'static str> {
        // All fields are named, so that no new field is forgotten.
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

/// Job attributes that a printer may have a default for.
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
    /// Sets a default for jobs that do not say otherwise; no value removes the default.
    ///
    /// # Errors
    /// Returns the reason if there is no such default.
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
        self.defaults = packed(defaults).ok_or("the defaults are too long")?;
        Ok(())
    }

    /// Checks that the device supports the configured source of its state.
    ///
    /// # Errors
    /// Returns an error if the device does not support the source.
    pub fn check_status(&self) -> Result<(), StatusSourceError> {
        let protocol = match &self.device {
            Device::Target(target) => Some(target.protocol),
            _ => None,
        };
        self.status.as_ref().map_or(Ok(()), |status| status.fits(protocol))
    }

    /// Returns the policy for a job that the device may have printed in part. The default depends
    /// on what is known of that part. A job whose device reports the part is sent again; any other
    /// is held.
    pub fn on_partial(&self, is_reported: bool) -> OnPartial {
        self.on_partial.unwrap_or(match self.on_error {
            OnError::Abort => OnPartial::Abort,
            OnError::Retry | OnError::Stop if is_reported => OnPartial::Retry,
            OnError::Retry | OnError::Stop => OnPartial::Hold,
        })
    }
}

/// Default maximum time until the device accepts a connection.
const CONTACT: Duration = Duration::from_secs(60);

/// Reason that a printer stopped by its settings shows.
pub(crate) const STOPPED: &str = "stopped by its settings";

/// Maximum length of a printer's name, which is IPP's maximum.
pub const MAX_NAME: usize = 127;

/// Returns whether a printer may have this name, which becomes part of URIs and file names.
pub fn is_printer_name(name: &str) -> bool {
    let is_fine = |one: char| !one.is_control() && !one.is_whitespace() && !"/?#\\".contains(one);
    (1..=MAX_NAME).contains(&name.len()) && name.chars().all(is_fine) && !name.starts_with('.')
}

/// Default permissions of files with print data: read and write for the owner, nothing for others.
const USUAL_MODE: u32 = 0o600;

/// Media types that printers accept by default: those that drivers and driverless clients send.
/// Documents are passed on unchanged.
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

/// Policy for a job that cannot be delivered, in the words of CUPS's `printer-error-policy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum OnError {
    /// The job is tried again, after longer and longer waits.
    #[default]
    Retry,
    /// The job is given up.
    Abort,
    /// The printer stops and keeps the job.
    Stop,
}

impl OnError {
    /// Returns the keyword.
    pub const fn keyword(self) -> &'static str {
        match self {
            Self::Retry => "retry-job",
            Self::Abort => "abort-job",
            Self::Stop => "stop-printer",
        }
    }

    /// Returns the policy of a keyword.
    pub fn new(keyword: &str) -> Option<Self> {
        [Self::Retry, Self::Abort, Self::Stop].into_iter().find(|one| one.keyword() == keyword)
    }
}

/// Policy for a job that its device refuses permanently. The refusal is no failure of the device,
/// which may accept the next job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum OnRefusal {
    /// The job is given up.
    #[default]
    Abort,
    /// The job is held, so that somebody can look into it.
    Hold,
}

impl OnRefusal {
    /// Returns the keyword.
    pub const fn keyword(self) -> &'static str {
        match self {
            Self::Abort => "abort-job",
            Self::Hold => "hold-job",
        }
    }

    /// Returns the policy of a keyword.
    pub fn new(keyword: &str) -> Option<Self> {
        [Self::Abort, Self::Hold].into_iter().find(|one| one.keyword() == keyword)
    }
}

/// Policy for a job that its device may have printed in part: the connection broke after data had
/// been accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OnPartial {
    /// The job is sent again from its start.
    Retry,
    /// The job is held, so that somebody can look at the paper.
    Hold,
    /// The job is given up.
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

    /// Returns the policy of a keyword.
    pub fn new(keyword: &str) -> Option<Self> {
        [Self::Retry, Self::Hold, Self::Abort].into_iter().find(|one| one.keyword() == keyword)
    }
}

/// Attribute with the operations that a device supports. The spool supports other operations than
/// its devices.
pub const OPERATIONS_SUPPORTED: &str = "operations-supported";

/// Wait after the first failure. The wait doubles with each further failure.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// Maximum wait. CUPS waits 30 s each time.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Returns the wait after this many consecutive failures.
pub(crate) fn back_off(failures: u32) -> Duration {
    let doubled = FIRST_WAIT.saturating_mul(1 << failures.saturating_sub(1).min(16));
    doubled.min(LONGEST_WAIT)
}

/// Failure state of a device that did not accept a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// Consecutive failures.
    pub failures: u32,
    /// Time of the last failure.
    pub failed: Moment,
    /// Time of the next attempt.
    pub again: Moment,
    /// Reason of the last failure.
    pub what: String,
}

impl Trouble {
    /// Returns whether the next attempt is still to come. The clock may have been set back since
    /// the failure: then the device is tried at once, because the wait could be very long.
    pub(crate) fn waits(&self, now: Moment) -> bool {
        (self.failed..self.again).contains(&now)
    }

    fn times(&self) -> String {
        match self.failures {
            // A busy device does not count as failing.
            0 => "it was busy with another job".to_owned(),
            1 => "it failed once".to_owned(),
            failures => format!("it failed {failures} times"),
        }
    }
}

/// State of a printer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The printer has nothing to do.
    Idle,
    /// The device has a job.
    Processing,
    /// The printer waits until the next attempt at its device.
    Failing,
    /// The printer is stopped, and its job has ended.
    Stopped,
}

impl Condition {
    /// Returns the IPP state. IPP has no state for a failing device.
    pub(crate) const fn in_ipp(self) -> PrinterState {
        match self {
            // Between two attempts no job prints. CUPS reports idle, too.
            Self::Idle | Self::Failing => PrinterState::Idle,
            Self::Processing => PrinterState::Processing,
            Self::Stopped => PrinterState::Stopped,
        }
    }

    /// Returns the state in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Failing => "waiting for its device",
            state => state.in_ipp().id(),
        }
    }
}

/// Printer of the spool, with its queue.
#[derive(Clone, Debug)]
pub struct Printer {
    /// Settings of the printer.
    pub settings: PrinterSettings,
    /// Reason if the printer is stopped.
    pub stopped: Option<String>,
    /// True if the printer accepts jobs.
    pub is_accepting: bool,
    /// Reason why the printer rejects jobs, if somebody gave one.
    pub rejecting: Option<String>,
    /// Failure state of the device, if it fails.
    pub trouble: Option<Trouble>,
    /// Job that the printer has.
    pub current: Option<JobId>,
    /// Unfinished jobs by number.
    pub live: BTreeSet<JobId>,
    /// Finished jobs that are still known, by number.
    pub over: BTreeSet<JobId>,
    /// Indexes of the printer's classes; for a class, indexes of its members.
    pub(crate) linked: Vec<usize>,
    /// Position of the member that had the last turn, for a class.
    pub(crate) last: usize,
    /// Waiting jobs: the most urgent first, then the oldest.
    pub(crate) waiting: BTreeSet<(u8, JobId)>,
    /// Number of jobs that are being received.
    pub(crate) incoming: usize,
    /// Time of the last change of the printer.
    pub changed: Moment,
    /// True if the printer is removed. Its jobs may still be there.
    pub is_removed: bool,
    /// True if the printer was last set at run time, and not by the settings file.
    pub is_run_time: bool,
    /// Hash of the printer's entry in the settings; `None` if they have no entry.
    pub said: Option<u64>,
    /// Capabilities that the device reports ([`crate::respond::LEARNED`]); empty if it was not
    /// queried or gave no answer.
    pub learned: Vec<Attribute>,
    /// True if the device supports Create-Job and Send-Document: then it can report on a job whose
    /// document broke off.
    pub creates_jobs: Option<bool>,
    /// Reasons that the device gives for its state while it has a job: `printer-state-reasons`.
    pub device_reasons: Vec<String>,
    /// Number of changes of the settings.
    pub revision: u32,
    /// Number of changes of the device.
    pub(crate) device_revision: u32,
    /// Value of `device_revision` when the printer got its current job.
    pub(crate) began_at: u32,
    /// Progress of the current job at the device.
    pub standing: DeviceProgress,
    /// True if the stall of the device was reported.
    pub(crate) is_stall_told: bool,
    /// True if the current job is about to end: from now on it can be neither canceled nor moved.
    pub(crate) is_ending: bool,
    /// Counters of jobs, bytes and pages.
    pub counts: Counts,
    /// Totals of the delivery attempts.
    pub attempts: AttemptTotals,
    /// Latencies of the jobs.
    pub latencies: Latencies,
}

/// Counters of a printer since the server started.
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
    /// Failed attempts.
    pub failures: u64,
    /// Bytes of documents that were accepted.
    pub bytes_in: u64,
    /// Bytes of documents that were delivered.
    pub bytes_out: u64,
    /// Pages of delivered jobs with copies, as far as they are known.
    pub pages: u64,
    /// Delivered jobs whose number of pages is unknown.
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
            standing: DeviceProgress::Connecting,
            is_stall_told: false,
            is_ending: false,
            counts: Counts::default(),
            attempts: AttemptTotals::default(),
            latencies: Latencies::default(),
        }
    }

    /// Replaces the settings.
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

    /// Returns whether the printer prints in colour: by its settings, or else by its device's
    /// report.
    pub fn has_colour(&self) -> bool {
        self.settings.colour.unwrap_or_else(|| {
            let said = self.learned.iter().find(|one| one.name == "color-supported");
            said.is_some_and(|one| one.values.contains(&Value::Boolean(true)))
        })
    }

    /// Returns whether the printer prints on both sides: by its settings, or else by its device's
    /// report.
    pub fn has_duplex(&self) -> bool {
        self.settings.duplex.unwrap_or_else(|| {
            let said = self.learned.iter().find(|one| one.name == "sides-supported");
            let is_both =
                |value: &Value| value.text().is_some_and(|one| one.starts_with("two-sided"));
            said.is_some_and(|one| one.values.iter().any(is_both))
        })
    }

    /// Returns whether this is a class of printers.
    pub const fn is_class(&self) -> bool {
        self.settings.members.is_some()
    }

    /// Returns the message about the current state.
    pub fn message(&self, now: Moment) -> String {
        if let (Some(job), DeviceProgress::Stalled(stall)) = (self.current, self.standing) {
            return match &self.device_reasons[..] {
                [] => stall.words(job, now),
                reasons => format!("{}; it reports: {}", stall.words(job, now), reasons.join(", ")),
            };
        }
        match (&self.stopped, self.current, self.standing, &self.trouble) {
            (Some(why), ..) => why.clone(),
            (None, Some(job), DeviceProgress::Connecting, Some(trouble)) => {
                format!("the device is retried now with job {job}: {}", trouble.times())
            }
            (None, Some(job), ..) if !self.device_reasons.is_empty() => {
                format!("the device has job {job} and reports: {}", self.device_reasons.join(", "))
            }
            (None, Some(_), ..) => String::new(),
            (None, None, _, None) => {
                let said = self.rejecting.as_ref();
                said.map_or_else(String::new, |why| format!("the printer rejects jobs: {why}"))
            }
            (None, None, _, Some(trouble)) => {
                // To the next second: "in 0 s" would be now.
                let seconds = now.until(trouble.again).as_millis().div_ceil(1_000);
                format!("the device fails: {}; retry in {seconds} s", trouble.what)
            }
        }
    }

    /// Returns whether the device fails, as far as is known now. A device that accepts data does
    /// not.
    pub const fn is_failing(&self) -> bool {
        let takes = matches!(self.standing, DeviceProgress::Moving | DeviceProgress::Stalled(_));
        self.trouble.is_some() && !(self.current.is_some() && takes)
    }

    /// Returns the stall of the device, if there is one.
    pub const fn stall(&self) -> Option<&DeviceStall> {
        match &self.standing {
            DeviceProgress::Stalled(stall) if self.current.is_some() => Some(stall),
            _ => None,
        }
    }

    /// Returns the state.
    pub const fn state(&self) -> Condition {
        match (&self.stopped, self.current, &self.trouble) {
            (Some(_), None, _) => Condition::Stopped,
            (_, Some(_), _) => Condition::Processing,
            (_, _, Some(_)) => Condition::Failing,
            _ => Condition::Idle,
        }
    }
}
