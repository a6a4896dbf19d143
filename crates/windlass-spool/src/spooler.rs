//! The spool as its threads share it: the book, the store, and who waits for what.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use windlass_spool_core::{
    Change, Entry, Event, JobId, Moment, Orders, PrinterSettings, Refusal, Rules, Stray, Ticket,
};

use super::forward::Desk;
use super::store::{
    Document, Draft, Durability, Error, Kept, Recovery, Settings, Store, Ticket as Written, Usage,
};

/// What a spool is told to be.
#[derive(Clone, Debug)]
pub struct SpoolerSettings {
    /// Its printers.
    pub printers: Vec<PrinterSettings>,
    /// What the book keeps to.
    pub rules: Rules,
    /// How safe jobs are, and how many bytes of them there may be.
    pub store: Settings,
    /// The longest document that is taken.
    pub most_document: Option<u64>,
    /// How long a device may do nothing.
    pub patience: Duration,
}

/// The book over documents of the store, and what comes of it.
pub(super) type Book = windlass_spool_core::Book<Document>;
pub(super) type Filed = windlass_spool_core::Filed<Document>;
pub(super) type Next = windlass_spool_core::Next<Document>;
pub(super) type Work = windlass_spool_core::Work<Document>;

/// Who is told of events.
type Heard = Box<dyn Fn(Event) + Send + Sync>;

/// A spool.
pub struct Spooler {
    pub(super) shared: Mutex<Shared>,
    store: Store,
    durability: Durability,
    pub(super) most_document: Option<u64>,
    pub(super) patience: Duration,
    stops: AtomicBool,
    is_full: AtomicBool,
    heard: Heard,
    /// Told when jobs whose documents do not come are to be looked for.
    opened: Condvar,
}

/// What is changed by one thread at a time.
pub(super) struct Shared {
    pub(super) book: Book,
    /// One for each printer.
    pub(super) desks: Vec<Desk>,
    /// Why nothing is kept any more.
    pub(super) broken: Option<String>,
    /// Changes that there was no room for in the journal.
    unlogged: BTreeSet<Change>,
}

impl std::fmt::Debug for Spooler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spooler").finish_non_exhaustive()
    }
}

/// The time.
pub(super) fn now() -> Moment {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Moment(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        match error {
            Error::Full(why) => Self::Full(why.to_string()),
            Error::TooLarge { .. } => Self::TooLong(error.to_string()),
            other => Self::Broken(other.to_string()),
        }
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
        Ok(Self::over(Store::open(folder, settings.store)?, settings, heard))
    }

    /// The same over a store that is open, with what it keeps.
    pub(super) fn over(
        (store, kept): (Store, Vec<Kept>),
        settings: SpoolerSettings,
        heard: impl Fn(Event) + Send + Sync + 'static,
    ) -> Arc<Self> {
        let SpoolerSettings { printers, rules, store: kind, most_document, patience } = settings;
        let mut book = Book::new(printers, rules, now());
        let strays = book.restore(kept, !store.recovery().uncertain, now());
        let desks = book.printers().iter().map(|_| Desk::default()).collect();
        let spooler = Self {
            shared: Mutex::new(Shared { book, desks, broken: None, unlogged: BTreeSet::new() }),
            store,
            durability: kind.durability,
            most_document,
            patience,
            stops: AtomicBool::new(false),
            is_full: AtomicBool::new(false),
            heard: Box::new(heard),
            opened: Condvar::new(),
        };
        for stray in strays {
            spooler.tell(Event::Stray(told(&stray)));
        }
        Arc::new(spooler)
    }

    /// Lets the printers begin.
    pub fn begin(self: &Arc<Self>) -> std::io::Result<()> {
        {
            let mut shared = self.lock();
            // What was changed by taking it up.
            let logged = self.finish_change(&mut shared);
            for place in 0..shared.book.printers().len() {
                self.stir(&mut shared, place);
            }
            drop(shared);
            // A broken store was told of.
            let _ = self.minded(logged.map(|_| ()));
        }
        let spooler = Arc::clone(self);
        let thread = std::thread::Builder::new().name("overdue".to_owned());
        thread.spawn(move || spooler.watch_open_jobs())?;
        Ok(())
    }

    /// How safe an acknowledged job is.
    #[must_use]
    pub const fn durability(&self) -> Durability {
        self.durability
    }

    /// What was found when it was opened.
    #[must_use]
    pub const fn recovery(&self) -> &Recovery {
        self.store.recovery()
    }

    /// What the spool takes of the disk.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.store.usage()
    }

    pub(super) fn tell(&self, event: Event) {
        (self.heard)(event);
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the book.
    pub fn look<T>(&self, at: impl FnOnce(&Book) -> T) -> T {
        at(&self.lock().book)
    }

    /// Whether the server ends.
    pub(super) fn stops(&self) -> bool {
        self.stops.load(Ordering::Relaxed)
    }

    /// Ends all work: jobs that devices have are broken off and wait for the next
    /// start. Waits until they have, but not for ever.
    pub fn end(&self) {
        self.stops.store(true, Ordering::Relaxed);
        {
            let shared = self.lock();
            self.opened.notify_all();
            for desk in &shared.desks {
                desk.stop();
            }
        }
        // A device that hangs is left to the end of the process.
        for _ in 0..ENDING {
            if self.lock().desks.iter().all(Desk::is_still) {
                break;
            }
            std::thread::sleep(WAIT);
        }
    }

    /// Changes the book, logs that, and waits until it is as safe as was promised.
    ///
    /// # Errors
    /// Where it cannot be logged.
    pub(super) fn change<T>(
        self: &Arc<Self>,
        with: impl FnOnce(&mut Book) -> T,
    ) -> Result<T, Refusal> {
        self.change_or(with, |_, _| {})
    }

    /// The same; where it cannot be logged, what came of it is taken back.
    ///
    /// # Errors
    /// Where it cannot be logged.
    pub(super) fn change_or<T>(
        self: &Arc<Self>,
        with: impl FnOnce(&mut Book) -> T,
        undo: impl FnOnce(&mut Book, T),
    ) -> Result<T, Refusal> {
        let (done, logged) = {
            let mut shared = self.lock();
            self.usable(&shared)?;
            let done = with(&mut shared.book);
            (done, self.finish_change(&mut shared))
        };
        match self.safe(logged) {
            Ok(()) => Ok(done),
            Err(refusal) => {
                let mut shared = self.lock();
                undo(&mut shared.book, done);
                // The disk may not take this either: it is tried again.
                let _ = self.finish_change(&mut shared);
                Err(refusal)
            }
        }
    }

    /// Logs what changed, and tells printers that have something to do.
    pub(super) fn finish_change(self: &Arc<Self>, shared: &mut Shared) -> Logged {
        let Orders { changes, wake, break_off } = shared.book.orders();
        let logged = self.log(shared, changes);
        for place in break_off {
            shared.desks[place].break_off();
        }
        for place in wake {
            self.stir(shared, place);
        }
        logged
    }

    fn usable(&self, shared: &Shared) -> Result<(), Refusal> {
        shared.broken.as_ref().map_or(Ok(()), |why| Err(Refusal::Broken(why.clone())))
    }

    /// Logs what changed. What there is no room for is tried again each time, or a
    /// start would not know of it: so nobody whose change is logged is told of it.
    fn log(&self, shared: &mut Shared, changes: Vec<Change>) -> Logged {
        let mut last = None;
        for change in std::mem::take(&mut shared.unlogged) {
            match self.log_one(shared, change) {
                Ok(written) => last = written.or(last),
                Err(_) => drop(shared.unlogged.insert(change)),
            }
        }
        let mut failed = None;
        for change in changes {
            match self.log_one(shared, change) {
                Ok(written) => last = written.or(last),
                Err(error) => {
                    if error.is_full() {
                        shared.unlogged.insert(change);
                    }
                    failed = failed.or(Some(error));
                }
            }
        }
        failed.map_or(Ok(last), Err)
    }

    fn log_one(&self, shared: &Shared, change: Change) -> Logged {
        Ok(match shared.book.entry(change) {
            Some(Entry::Put(key, record, documents)) => {
                Some(self.store.put(key, &record, &documents)?)
            }
            Some(Entry::Remove(key)) => Some(self.store.remove(key)?),
            None => None,
        })
    }

    /// Waits until what was logged is safe.
    fn safe(&self, logged: Logged) -> Result<(), Refusal> {
        let done = logged.and_then(|last| last.map_or(Ok(()), |last| self.store.wait(last)));
        Ok(self.minded(done)?)
    }

    /// Tells of a store that is full or broken.
    pub(super) fn minded<T>(&self, done: Result<T, Error>) -> Result<T, Error> {
        match &done {
            Err(Error::Full(_)) => {
                if !self.is_full.swap(true, Ordering::Relaxed) {
                    self.tell(Event::Full(
                        done.as_ref().err().map_or_else(String::new, ToString::to_string),
                    ));
                }
            }
            // What a client asks for is at fault, and not the disk.
            Err(Error::TooLarge { .. }) | Ok(_) => {}
            Err(error) => {
                let why = error.to_string();
                let mut shared = self.lock();
                if shared.broken.is_none() {
                    shared.broken = Some(why.clone());
                    drop(shared);
                    self.tell(Event::Broken(why));
                }
            }
        }
        done
    }

    /// A document that comes, of so many bytes where that is known.
    pub(super) fn receive(self: &Arc<Self>, expected: Option<u64>) -> Intake {
        let mut draft = self.store.draft();
        if let Some(expected) = expected {
            draft.expect(expected);
        }
        Intake { spooler: Arc::clone(self), draft }
    }

    /// A job may come to a printer.
    ///
    /// # Errors
    /// Where it takes none.
    pub(super) fn admit(self: &Arc<Self>, place: usize) -> Result<Admission, Refusal> {
        let mut shared = self.lock();
        self.usable(&shared)?;
        shared.book.admit(place)?;
        Ok(self.admitted(place))
    }

    /// The same where the book has admitted it already.
    pub(super) fn admitted(self: &Arc<Self>, place: usize) -> Admission {
        Admission { spooler: Arc::clone(self), place, is_used: false }
    }

    /// Files a job with all its documents. It is safe when this returns.
    ///
    /// # Errors
    /// Where it cannot be kept. Then nobody has it.
    pub(super) fn file(
        self: &Arc<Self>,
        mut admission: Admission,
        ticket: Ticket,
        documents: Vec<Filed>,
    ) -> Result<JobId, Refusal> {
        let place = admission.place;
        let file = |book: &mut Book| {
            admission.is_used = true;
            Ok(book.file(place, ticket, documents, now()))
        };
        self.keep(file, Book::lost)
    }

    /// Adds a document to an open job, or ends it without one.
    ///
    /// # Errors
    /// Where it cannot be kept, or the job is not open.
    pub(super) fn add(
        self: &Arc<Self>,
        id: JobId,
        filed: Option<Filed>,
        is_last: bool,
    ) -> Result<JobId, Refusal> {
        let had_one = filed.is_some();
        let undo = move |book: &mut Book, id| book.withdraw(id, had_one, now());
        self.keep(|book| book.add(id, filed, is_last, now()).map(|()| id), undo)
    }

    /// Changes the book by a job, and lets its printer have it when it is safe.
    fn keep(
        self: &Arc<Self>,
        with: impl FnOnce(&mut Book) -> Result<JobId, Refusal>,
        undo: impl FnOnce(&mut Book, JobId),
    ) -> Result<JobId, Refusal> {
        let mut shared = self.lock();
        self.usable(&shared)?;
        let id = with(&mut shared.book)?;
        let mut logged = self.finish_change(&mut shared);
        if self.durability == Durability::Fsync || logged.is_err() {
            drop(shared);
            let done = self.safe(logged);
            shared = self.lock();
            if let Err(refusal) = done {
                undo(&mut shared.book, id);
                // It was never said to be kept, and the disk may take nothing.
                let _ = self.finish_change(&mut shared);
                return Err(refusal);
            }
            logged = Ok(None);
        }
        // What is written is as safe as it will be without a wait.
        shared.book.settled(id);
        let settled = self.finish_change(&mut shared);
        drop(shared);
        self.safe(logged)?;
        self.safe(settled)?;
        self.is_full_no_more();
        Ok(id)
    }

    /// Ends jobs whose documents do not come.
    fn watch_open_jobs(self: &Arc<Self>) {
        while !self.stops() {
            let mut shared = self.lock();
            let next = shared.book.overdue(now());
            let logged = self.finish_change(&mut shared);
            let wait = next.map_or(LOOK, |next| now().until(next).clamp(SHORT, LOOK));
            let waited = self.opened.wait_timeout(shared, wait);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
            // A broken store was told of.
            let _ = self.minded(logged.map(|_| ()));
        }
    }
}

/// What was logged last, where anything was.
pub(super) type Logged = Result<Option<Written>, Error>;

/// How often it is looked for jobs whose documents do not come.
const LOOK: Duration = Duration::from_secs(5);
const SHORT: Duration = Duration::from_millis(10);

/// At the end devices have so many such waits to give jobs back: 5 s.
const ENDING: u32 = 500;
const WAIT: Duration = Duration::from_millis(10);

fn told(stray: &Stray) -> String {
    match stray {
        Stray::Printer { id, name } => format!(
            "job {id} is for printer {name:?}, which is not in the settings any more: it is kept \
             until there is one of that name"
        ),
        Stray::Unreadable { key, why } => {
            format!("the record {key} of the spool cannot be read, and is left alone: {why}")
        }
    }
}

/// That a job may come. Where it is dropped unused, the job does not.
pub(super) struct Admission {
    spooler: Arc<Spooler>,
    place: usize,
    is_used: bool,
}

impl Admission {
    /// No job came of it, and none was refused.
    pub(super) fn spared(mut self) {
        self.is_used = true;
        self.spooler.lock().book.spare(self.place);
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        if !self.is_used {
            self.spooler.lock().book.give_up(self.place);
        }
    }
}

/// A document on its way in. Its space is free again where it is dropped before
/// its end.
pub(super) struct Intake {
    spooler: Arc<Spooler>,
    draft: Draft,
}

impl Intake {
    /// Takes the next bytes.
    ///
    /// # Errors
    /// Where there are too many of them, or the spool is full.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        if let Some(most) = self.spooler.most_document
            && self.draft.len() + bytes.len() as u64 > most
        {
            return Err(Refusal::TooLarge(most));
        }
        Ok(self.spooler.minded(self.draft.append(bytes))?)
    }

    /// Bytes so far.
    pub(super) const fn len(&self) -> u64 {
        self.draft.len()
    }

    /// All has come.
    ///
    /// # Errors
    /// Where the last of it cannot be kept.
    pub(super) fn finish(self, name: impl Into<Box<str>>) -> Result<Filed, Refusal> {
        let document = self.spooler.minded(self.draft.finish())?;
        Ok(Filed { document, name: name.into() })
    }
}

impl Spooler {
    fn is_full_no_more(&self) {
        if self.is_full.load(Ordering::Relaxed) && self.is_full.swap(false, Ordering::Relaxed) {
            self.tell(Event::Room);
        }
    }
}

/// The documents of a job, one after the other.
pub(super) fn chained(documents: &[Filed]) -> Box<dyn std::io::Read + Send> {
    let start: Box<dyn std::io::Read + Send> = Box::new(std::io::empty());
    documents.iter().fold(start, |before, filed| {
        Box::new(std::io::Read::chain(before, Document::reader(&filed.document)))
    })
}
