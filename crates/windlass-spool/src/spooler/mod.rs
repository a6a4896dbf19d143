//! The spool, shared by all threads: the job table, the store, and the waiting threads.

mod accounting;
mod at_device;
mod committer;
mod doubt;
pub(crate) mod intake;
mod learning;
mod trim;
mod workers;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use windlass_print::{Access, KnownServers, Login, Tls, Trust};
use windlass_spool_core::{
    Account, Device, Event, JobId, Orders, PrinterChange, PrinterSettings, Refusal, Rules, Ticket,
};
use windlass_sys::limits::give_memory_back;

use self::committer::{Committer, LogResult};
use self::intake::Admission;
use self::trim::Backlog;
use self::workers::Worker;
use crate::account::{AccountSettings, Accountant};
use crate::commands::CommandSettings;
use crate::device_logins::DeviceLogins;
use crate::filters::Filters;
use crate::host::host;
use crate::observer::{AttemptWatcher, Observer};
use crate::store::{Durability, Error, Recovery, Settings, Store, StoredJob, Usage};
use crate::table::{FiledDocument, JobTable, now};

/// Settings of a spool.
#[derive(Clone, Debug)]
pub struct SpoolerSettings {
    /// Printers of the spool.
    pub printers: Vec<PrinterSettings>,
    /// Rules of the job table.
    pub rules: Rules,
    /// Durability of jobs, and the size limit of the spool.
    pub store: Settings,
    /// Maximum size of a document, in bytes.
    pub max_document: Option<u64>,
    /// Observer of deliveries.
    pub observer: Option<Arc<dyn Observer>>,
    /// Limits and the user of commands.
    pub commands: CommandSettings,
    /// Logins for devices that require them.
    pub device_logins: DeviceLogins,
    /// True if filters of this host convert documents that devices do not take.
    pub converts: bool,
    /// Settings of the accounting.
    pub account: AccountSettings,
}

/// A spool.
pub struct Spooler {
    pub(crate) shared: Mutex<Shared>,
    pub(crate) committer: Committer,
    /// Maximum size of a document in bytes; `u64::MAX`: no limit.
    max_document: AtomicU64,
    pub(crate) watched: AttemptWatcher,
    pub(crate) commands: CommandSettings,
    converts: bool,
    /// Filters for documents that devices do not take. They are searched for once the first device
    /// has reported its formats.
    pub(crate) filters: OnceLock<Option<Filters>>,
    /// TLS trust for devices.
    access: Access,
    /// Logins for devices that require them.
    device_logins: RwLock<Arc<DeviceLogins>>,
    stops: AtomicBool,
    /// Notified when the jobs with a deadline must be checked again.
    timed: Condvar,
    /// Notified when the server ends.
    ended: Condvar,
    /// Notified when a job to account for is over, and when the server ends.
    unlogged: Condvar,
    /// True once no more jobs end, and only the accounting is left.
    closes: AtomicBool,
    accountant: Mutex<Option<Accountant>>,
    accounting: Mutex<Option<JoinHandle<()>>>,
}

/// State that one thread at a time changes.
pub(crate) struct Shared {
    pub(crate) table: JobTable,
    /// One worker for each printer.
    pub(crate) workers: Vec<Worker>,
    /// Accounts of finished jobs that the accountant has not taken yet.
    ended: Vec<Account>,
    /// True if the accountant must be notified of the next finished job. A notification for every
    /// job would cost a system call each.
    accountant_waits: bool,
}

/// File with the certificates that devices presented first.
const KNOWN_DEVICES: &str = "known-servers";

/// Returns the access to TLS devices, as in CUPS: trusted by the system's authorities, or by the
/// certificate presented first. Neither a password nor CUPS's credentials of local users are sent:
/// jobs of any user go there.
fn access() -> Access {
    let nowhere = Login { certificates: "/dev/null".into(), ..Login::new("", None) };
    Access { tls: Tls::new(Trust::FirstUse, None).into(), login: nowhere }
}

impl std::fmt::Debug for Spooler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spooler").finish_non_exhaustive()
    }
}

impl Spooler {
    /// Opens a spool in a folder and restores its jobs. Printers start with [`Self::begin`].
    ///
    /// # Errors
    /// The folder cannot be opened, or holds something else.
    pub fn open(
        folder: &Path,
        settings: SpoolerSettings,
        heard: impl Fn(Event) + Send + Sync + 'static,
    ) -> Result<Arc<Self>, Error> {
        let durability = settings.store.durability;
        let spooler = Self::over(Store::open(folder, settings.store)?, settings, heard)?;
        if durability != Durability::Memory {
            spooler.access.tls.remember(KnownServers::new(folder.join(KNOWN_DEVICES)));
        }
        Ok(spooler)
    }

    /// Opens a spool over an open store and its jobs.
    pub(crate) fn over(
        (store, kept): (Store, Vec<StoredJob>),
        settings: SpoolerSettings,
        heard: impl Fn(Event) + Send + Sync + 'static,
    ) -> Result<Arc<Self>, Error> {
        let SpoolerSettings {
            printers,
            rules,
            store: kind,
            max_document,
            observer,
            commands,
            converts,
            device_logins,
            account,
        } = settings;
        let zone = jiff::tz::TimeZone::system();
        let accountant = account.is_on().then(|| Accountant::open(&account, zone.clone()));
        let mut accountant = accountant.transpose()?;
        let mut table = JobTable::new(printers, rules, now());
        table.set_zone(zone);
        table.set_identity(host());
        if account.is_on() {
            table.account(account.quotas);
        }
        let is_certain = !store.recovery().uncertain;
        let damaged = if is_certain { Vec::new() } else { doubt::damaged(&kept) };
        let orphans = table.restore(kept, is_certain, now());
        let given_up = doubt::give_up(&mut table, damaged);
        if let Some(accountant) = &mut accountant {
            accountant.compare(table.written())?;
        }
        let workers = table.printers().iter().map(|_| Worker::default()).collect();
        let spooler = Self {
            shared: Mutex::new(Shared {
                table,
                workers,
                ended: Vec::new(),
                accountant_waits: false,
            }),
            committer: Committer::new(store, kind.durability, Box::new(heard)),
            max_document: AtomicU64::new(max_document.unwrap_or(u64::MAX)),
            watched: AttemptWatcher::new(observer),
            commands,
            converts,
            filters: OnceLock::new(),
            access: access(),
            device_logins: RwLock::new(Arc::new(device_logins)),
            stops: AtomicBool::new(false),
            timed: Condvar::new(),
            ended: Condvar::new(),
            unlogged: Condvar::new(),
            closes: AtomicBool::new(false),
            accountant: Mutex::new(accountant),
            accounting: Mutex::default(),
        };
        for orphan in orphans {
            spooler.committer.tell(Event::Orphan(orphan.to_string()));
        }
        given_up.into_iter().for_each(|event| spooler.committer.tell(event));
        Ok(Arc::new(spooler))
    }

    /// Starts the printers and the background threads.
    pub fn begin(self: &Arc<Self>) -> std::io::Result<()> {
        {
            let mut shared = self.lock();
            // Logs the changes of the restoration.
            let logged = self.finish_change(&mut shared);
            for place in 0..shared.table.printers().len() {
                self.wake(&mut shared, place);
            }
            drop(shared);
            // A broken store was reported already.
            let _ = self.committer.noted(logged);
        }
        let spooler = Arc::clone(self);
        let thread = std::thread::Builder::new().name("overdue".to_owned());
        thread.spawn(move || spooler.watch_timed_jobs())?;
        if let Some(accountant) = held(&self.accountant).take() {
            let spooler = Arc::clone(self);
            let thread = std::thread::Builder::new().name("accountant".to_owned());
            let thread = thread.spawn(move || spooler.keep_accounts(accountant))?;
            *held(&self.accounting) = Some(thread);
        }
        let spooler = Arc::clone(self);
        let thread = std::thread::Builder::new().name("devices".to_owned());
        thread.spawn(move || spooler.learn())?;
        Ok(())
    }

    /// Returns what the store found when it was opened.
    pub const fn recovery(&self) -> &Recovery {
        self.committer.store.recovery()
    }

    /// Returns the disk usage of the spool.
    pub fn usage(&self) -> Usage {
        self.committer.store.usage()
    }

    /// Returns the access to a device, with the device's login.
    pub(crate) fn access_to(&self, device: &Device) -> Access {
        let logins = self.device_logins.read().unwrap_or_else(PoisonError::into_inner);
        let mut login = self.access.login.clone();
        if let Device::Target(target) = device
            && let Some((user, password)) = logins.of(target)
        {
            (login.user, login.password) = (user.clone(), Some(password.clone()));
        }
        Access { tls: Arc::clone(&self.access.tls), login }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the maximum size of a document in bytes, if there is one.
    pub fn max_document(&self) -> Option<u64> {
        Some(self.max_document.load(Ordering::Relaxed)).filter(|most| *most < u64::MAX)
    }

    /// Applies new settings to the running spool, and returns the changes of its printers. The
    /// store's settings stay the same.
    ///
    /// # Errors
    /// The change cannot be stored.
    pub fn reload(
        self: &Arc<Self>,
        settings: SpoolerSettings,
    ) -> Result<Vec<PrinterChange>, Refusal> {
        let SpoolerSettings { printers, rules, max_document, device_logins, account, .. } =
            settings;
        *self.device_logins.write().unwrap_or_else(PoisonError::into_inner) =
            Arc::new(device_logins);
        self.max_document.store(max_document.unwrap_or(u64::MAX), Ordering::Relaxed);
        self.change(|table| {
            table.set_rules(rules);
            table.set_quotas(account.quotas);
            table.set_zone(jiff::tz::TimeZone::system());
            table.reload(printers, now())
        })
    }

    /// Calls `at` with the job table.
    pub fn look<T>(&self, at: impl FnOnce(&JobTable) -> T) -> T {
        at(&self.lock().table)
    }

    /// Returns whether the server is ending.
    pub(crate) fn stops(&self) -> bool {
        self.stops.load(Ordering::Relaxed)
    }

    /// Stops all work. Jobs at devices are interrupted, and wait for the next start. Waits until
    /// they have stopped, up to 5 s.
    pub fn end(self: &Arc<Self>) {
        self.stops.store(true, Ordering::Relaxed);
        {
            let shared = self.lock();
            self.timed.notify_all();
            self.ended.notify_all();
            for worker in &shared.workers {
                worker.stop();
            }
        }
        // A device that still hangs then is left to the end of the process.
        wait_until(|| self.lock().workers.iter().all(Worker::is_still));
        // Jobs that have ended by now are accounted for.
        {
            let mut shared = self.lock();
            shared.table.give_numbers_back();
            // If that cannot be stored, the next start skips some numbers.
            let _ = self.finish_change(&mut shared);
            self.closes.store(true, Ordering::Relaxed);
            self.unlogged.notify_all();
        }
        let accounting = held(&self.accounting).take();
        if let Some(accounting) = accounting {
            // A disk that hangs is left, too: the next start writes the missing lines.
            wait_until(|| accounting.is_finished());
        }
    }

    /// Changes the table, logs the change, and waits until the change has the promised durability.
    pub(crate) fn change<T>(
        self: &Arc<Self>,
        with: impl FnOnce(&mut JobTable) -> T,
    ) -> Result<T, Refusal> {
        self.change_or(with, |_, _| {})
    }

    /// Changes the table as [`Self::change`] does, and calls `undo` if the change cannot be logged.
    pub(crate) fn change_or<T>(
        self: &Arc<Self>,
        with: impl FnOnce(&mut JobTable) -> T,
        undo: impl FnOnce(&mut JobTable, T),
    ) -> Result<T, Refusal> {
        let (done, logged) = {
            let mut shared = self.lock();
            self.committer.usable()?;
            let done = with(&mut shared.table);
            (done, self.finish_change(&mut shared))
        };
        match self.committer.safe(logged) {
            Ok(()) => Ok(done),
            Err(refusal) => {
                let mut shared = self.lock();
                undo(&mut shared.table, done);
                // The disk may reject the undo as well: it is tried again later.
                let _ = self.finish_change(&mut shared);
                Err(refusal)
            }
        }
    }

    /// Logs the changes, and wakes printers that have work.
    pub(crate) fn finish_change(self: &Arc<Self>, shared: &mut Shared) -> LogResult {
        let Orders { changes, wake, break_off, told, looks_again } = shared.table.orders();
        let logged = self.committer.log(&shared.table, changes);
        let printers = shared.table.printers().len();
        if shared.workers.len() < printers {
            shared.workers.resize_with(printers, Worker::default);
        }
        for place in break_off {
            shared.workers[place].break_off();
        }
        for place in told {
            let patience = shared.table.printers()[place].settings.patience;
            shared.workers[place].set_patience(patience);
        }
        for place in wake {
            self.wake(shared, place);
        }
        if looks_again {
            self.timed.notify_all();
        }
        self.account(shared);
        logged
    }

    /// Admits a job to a printer.
    pub(crate) fn admit(self: &Arc<Self>, place: usize) -> Result<Admission, Refusal> {
        let mut shared = self.lock();
        self.committer.usable()?;
        shared.table.admit(place)?;
        Ok(Admission::new(self, place))
    }

    /// Admits a job for a client that waits for room, and that is refused only at its last try.
    pub(crate) fn try_admit(
        self: &Arc<Self>,
        place: usize,
        is_last_try: bool,
    ) -> Result<Admission, Refusal> {
        if is_last_try {
            return self.admit(place);
        }
        let mut shared = self.lock();
        self.committer.usable()?;
        shared.table.try_admit(place)?;
        Ok(Admission::new(self, place))
    }

    /// Files a job with all its documents. The job has the promised durability when this returns;
    /// on an error, the job does not exist.
    pub(crate) fn file(
        self: &Arc<Self>,
        admission: Admission,
        ticket: Ticket,
        documents: Vec<FiledDocument>,
    ) -> Result<JobId, Refusal> {
        let place = admission.place;
        // Dropping an unused admission locks the table: it must happen outside of the closure.
        let mut admission = Some(admission);
        let file = |table: &mut JobTable| {
            let bytes = documents.iter().map(|filed| filed.document.size()).sum();
            table.may_print(place, &ticket.user, bytes, now())?;
            let id = table.file(place, ticket, documents, now());
            if let Some(admission) = admission.take() {
                admission.used();
            }
            Ok(id)
        };
        self.keep(file, JobTable::lost)
    }

    /// Adds a document to an open job, or ends the job without one.
    pub(crate) fn add(
        self: &Arc<Self>,
        id: JobId,
        filed: Option<FiledDocument>,
        is_last: bool,
    ) -> Result<JobId, Refusal> {
        let had_one = filed.is_some();
        let undo = move |table: &mut JobTable, id| table.withdraw(id, had_one, now());
        let add = |table: &mut JobTable| {
            if let Some(filed) = &filed {
                let job = table.expects(id)?;
                table
                    .byte_allowance(job.printer, &job.ticket.user, now())
                    .takes(filed.document.size())?;
            }
            table.add(id, filed, is_last, now()).map(|()| id)
        };
        self.keep(add, undo)
    }

    /// Adds to the table, and releases the job to its printer once the change is durable.
    fn keep(
        self: &Arc<Self>,
        with: impl FnOnce(&mut JobTable) -> Result<JobId, Refusal>,
        undo: impl FnOnce(&mut JobTable, JobId),
    ) -> Result<JobId, Refusal> {
        let since = Instant::now();
        let mut shared = self.lock();
        self.committer.usable()?;
        let id = with(&mut shared.table)?;
        let mut logged = self.finish_change(&mut shared);
        if self.committer.durability == Durability::Fsync || logged.is_err() {
            drop(shared);
            let done = self.committer.safe(logged);
            shared = self.lock();
            if let Err(refusal) = done {
                undo(&mut shared.table, id);
                // The job was never acknowledged, so a failure of the undo is harmless.
                let _ = self.finish_change(&mut shared);
                return Err(refusal);
            }
            logged = Ok(None);
        }
        // A written change is as durable as it gets without a wait.
        shared.table.acknowledged(id, since.elapsed());
        shared.table.made_durable(id);
        let queued = self.finish_change(&mut shared);
        drop(shared);
        self.committer.safe(logged)?;
        self.committer.safe(queued)?;
        self.committer.has_room();
        Ok(id)
    }

    /// Ends jobs whose documents do not arrive, and releases jobs whose hold time is over.
    fn watch_timed_jobs(self: &Arc<Self>) {
        let mut backlog = Backlog::default();
        while !self.stops() {
            let mut shared = self.lock();
            let next = shared.table.overdue(now());
            let stalls = shared.table.stall_events(now());
            let logged = self.finish_change(&mut shared);
            let wait =
                next.map_or(POLL_INTERVAL, |next| now().until(next).clamp(SHORT, POLL_INTERVAL));
            let waited = self.timed.wait_timeout(shared, wait);
            let shared = waited.unwrap_or_else(PoisonError::into_inner).0;
            let counts = shared.table.printers().iter().map(|printer| &printer.counts);
            let over = counts.map(|one| one.completed + one.canceled + one.aborted).sum();
            let has_gone = backlog.has_gone(shared.table.active(), over);
            drop(shared);
            stalls.into_iter().for_each(|event| self.committer.tell(event));
            if has_gone {
                self.committer.store.shrink_to_fit();
                give_memory_back();
            }
            // A broken store was reported already.
            let _ = self.committer.noted(logged);
        }
    }
}

/// Maximum interval between checks for jobs with a deadline: the clock may be set.
const POLL_INTERVAL: Duration = Duration::from_secs(5);
const SHORT: Duration = Duration::from_millis(10);

/// Number of waits at the end in which devices must give their jobs back: 5 s.
const ENDING: u32 = 500;
const WAIT: Duration = Duration::from_millis(10);

/// Waits until `done` returns true, up to 5 s.
fn wait_until(done: impl Fn() -> bool) {
    for _ in 0..ENDING {
        if done() {
            return;
        }
        std::thread::sleep(WAIT);
    }
}

fn held<T>(one: &Mutex<T>) -> MutexGuard<'_, T> {
    one.lock().unwrap_or_else(PoisonError::into_inner)
}
