//! The spool as its threads share it: the job table, the store, and who waits for what.

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

use windlass_print::{Access, Known, Login, Tls, Trust};
use windlass_spool_core::{
    Account, Device, Event, JobId, Orders, PrinterChange, PrinterSettings, Refusal, Rules, Ticket,
};
use windlass_sys::limits::give_memory_back;

use self::committer::{Committer, Logged};
use self::intake::Admission;
use self::trim::Backlog;
use self::workers::Worker;
use crate::account::{AccountSettings, Accountant};
use crate::commands::CommandSettings;
use crate::device_logins::DeviceLogins;
use crate::filters::Filters;
use crate::host::host;
use crate::observer::{Observer, Watched};
use crate::store::{Durability, Error, Kept, Recovery, Settings, Store, Usage};
use crate::table::{Filed, JobTable, now};

/// What a spool is told to be.
#[derive(Clone, Debug)]
pub struct SpoolerSettings {
    /// Its printers.
    pub printers: Vec<PrinterSettings>,
    /// What the table keeps to.
    pub rules: Rules,
    /// How safe jobs are, and how many bytes of them there may be.
    pub store: Settings,
    /// The longest document that is taken.
    pub max_document: Option<u64>,
    /// Who looks on while devices get jobs.
    pub observer: Option<Arc<dyn Observer>>,
    /// What commands may.
    pub commands: CommandSettings,
    /// Names and passwords for devices that ask.
    pub device_logins: DeviceLogins,
    /// True if filters of this host convert documents that devices do not take.
    pub converts: bool,
    /// What is accounted for.
    pub account: AccountSettings,
}

/// A spool.
pub struct Spooler {
    pub(crate) shared: Mutex<Shared>,
    pub(crate) committer: Committer,
    /// The longest document that is taken; all ones where any is.
    max_document: AtomicU64,
    pub(crate) watched: Watched,
    pub(crate) commands: CommandSettings,
    converts: bool,
    /// Filters for documents that devices do not take: looked for with the first device that says
    /// what it takes.
    pub(crate) filters: OnceLock<Option<Filters>>,
    /// Which devices are trusted that speak TLS.
    access: Access,
    /// The names and passwords that it says to devices that ask.
    device_logins: RwLock<Arc<DeviceLogins>>,
    stops: AtomicBool,
    /// Told when jobs that wait for a moment are to be looked for.
    timed: Condvar,
    /// Told when the server ends.
    ended: Condvar,
    /// Told when a job is over that is to be accounted for, and when the server ends.
    unlogged: Condvar,
    /// Nothing ends any more but what is accounted for.
    closes: AtomicBool,
    accountant: Mutex<Option<Accountant>>,
    accounting: Mutex<Option<JoinHandle<()>>>,
}

/// What is changed by one thread at a time.
pub(crate) struct Shared {
    pub(crate) table: JobTable,
    /// One for each printer.
    pub(crate) workers: Vec<Worker>,
    /// The accounts of jobs that are over, which the accountant has not taken yet.
    ended: Vec<Account>,
    /// Whether the accountant is to be told of the next job that is over: to tell it of each
    /// would be a call of the kernel for each.
    accountant_waits: bool,
}

/// Where the certificates are kept that devices had the first time.
const KNOWN_DEVICES: &str = "known-servers";

/// How devices are reached that speak TLS: as CUPS does it, by the system's authorities or by
/// the certificate of the first time. Nobody says a password to them, nor what CUPS lays down
/// for users of this host: jobs of any user go there.
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
    /// Opens a spool in a folder and takes up what it keeps. Printers begin with
    /// [`Self::begin`].
    ///
    /// # Errors
    /// Where the folder cannot be had, or holds something else.
    pub fn open(
        folder: &Path,
        settings: SpoolerSettings,
        heard: impl Fn(Event) + Send + Sync + 'static,
    ) -> Result<Arc<Self>, Error> {
        let durability = settings.store.durability;
        let spooler = Self::over(Store::open(folder, settings.store)?, settings, heard)?;
        if durability != Durability::Memory {
            spooler.access.tls.remember(Known::new(folder.join(KNOWN_DEVICES)));
        }
        Ok(spooler)
    }

    /// The same over a store that is open, with what it keeps.
    pub(crate) fn over(
        (store, kept): (Store, Vec<Kept>),
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
            watched: Watched::new(observer),
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

    /// Lets the printers begin.
    pub fn begin(self: &Arc<Self>) -> std::io::Result<()> {
        {
            let mut shared = self.lock();
            // What was changed by taking it up.
            let logged = self.finish_change(&mut shared);
            for place in 0..shared.table.printers().len() {
                self.wake(&mut shared, place);
            }
            drop(shared);
            // A broken store was told of.
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

    /// What was found when it was opened.
    pub const fn recovery(&self) -> &Recovery {
        self.committer.store.recovery()
    }

    /// What the spool takes of the disk.
    pub fn usage(&self) -> Usage {
        self.committer.store.usage()
    }

    /// Returns how a device is reached: as who it wants.
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

    /// The longest document that is taken.
    pub fn max_document(&self) -> Option<u64> {
        Some(self.max_document.load(Ordering::Relaxed)).filter(|most| *most < u64::MAX)
    }

    /// Takes other settings while it runs, and says what became of its printers. How jobs
    /// are kept stays as it is.
    ///
    /// # Errors
    /// Where the change cannot be kept.
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

    /// Looks at the table.
    pub fn look<T>(&self, at: impl FnOnce(&JobTable) -> T) -> T {
        at(&self.lock().table)
    }

    /// Whether the server ends.
    pub(crate) fn stops(&self) -> bool {
        self.stops.load(Ordering::Relaxed)
    }

    /// Ends all work: jobs that devices have are broken off and wait for the next
    /// start. Waits until they have, but not for ever.
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
        // A device that hangs is left to the end of the process.
        wait_until(|| self.lock().workers.iter().all(Worker::is_still));
        // What has ended by now is accounted for.
        {
            let mut shared = self.lock();
            shared.table.give_numbers_back();
            // Where that cannot be kept, numbers are left out.
            let _ = self.finish_change(&mut shared);
            self.closes.store(true, Ordering::Relaxed);
            self.unlogged.notify_all();
        }
        let accounting = held(&self.accounting).take();
        if let Some(accounting) = accounting {
            // So is a disk that hangs: the next start writes what is missing.
            wait_until(|| accounting.is_finished());
        }
    }

    /// Changes the table, logs that, and waits until it is as safe as was promised.
    pub(crate) fn change<T>(
        self: &Arc<Self>,
        with: impl FnOnce(&mut JobTable) -> T,
    ) -> Result<T, Refusal> {
        self.change_or(with, |_, _| {})
    }

    /// The same; where it cannot be logged, what came of it is taken back.
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
                // The disk may not take this either: it is tried again.
                let _ = self.finish_change(&mut shared);
                Err(refusal)
            }
        }
    }

    /// Logs what changed, and tells printers that have something to do.
    pub(crate) fn finish_change(self: &Arc<Self>, shared: &mut Shared) -> Logged {
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

    /// A job may come to a printer.
    pub(crate) fn admit(self: &Arc<Self>, place: usize) -> Result<Admission, Refusal> {
        let mut shared = self.lock();
        self.committer.usable()?;
        shared.table.admit(place)?;
        Ok(Admission::new(self, place))
    }

    /// The same for who waits where there is no room, and is refused only when that ends.
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

    /// Files a job with all its documents. It is safe when this returns; where it cannot be
    /// kept, nobody has it.
    pub(crate) fn file(
        self: &Arc<Self>,
        admission: Admission,
        ticket: Ticket,
        documents: Vec<Filed>,
    ) -> Result<JobId, Refusal> {
        let place = admission.place;
        // It is given up where the table is not locked any more.
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

    /// Adds a document to an open job, or ends it without one.
    pub(crate) fn add(
        self: &Arc<Self>,
        id: JobId,
        filed: Option<Filed>,
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

    /// Changes the table by a job, and lets its printer have it when it is safe.
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
                // It was never said to be kept, and the disk may take nothing.
                let _ = self.finish_change(&mut shared);
                return Err(refusal);
            }
            logged = Ok(None);
        }
        // What is written is as safe as it will be without a wait.
        shared.table.acknowledged(id, since.elapsed());
        shared.table.made_durable(id);
        let queued = self.finish_change(&mut shared);
        drop(shared);
        self.committer.safe(logged)?;
        self.committer.safe(queued)?;
        self.committer.has_room();
        Ok(id)
    }

    /// Ends jobs whose documents do not come, and releases those whose time has come.
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
            // A broken store was told of.
            let _ = self.committer.noted(logged);
        }
    }
}

/// How often it is looked for jobs that wait for a moment, at the least: somebody may
/// set the clock.
const POLL_INTERVAL: Duration = Duration::from_secs(5);
const SHORT: Duration = Duration::from_millis(10);

/// At the end devices have so many such waits to give jobs back: 5 s.
const ENDING: u32 = 500;
const WAIT: Duration = Duration::from_millis(10);

/// Waits for that, but not for ever.
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
