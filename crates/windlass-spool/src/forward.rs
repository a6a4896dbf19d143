//! Printers at work: each gives its jobs to its device, one after the other.

mod command;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::{Arc, Condvar, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use windlass_wire::ipp::{Status, Version};

use super::spooler::{Next, Shared, Spooler, Work, chained, now};
use windlass_print::{Compression, Document, Ipp, Job, Lpr, Monitor, PlainDialer, Raw, Way, send};
use windlass_spool_core::Device;
use windlass_spool_core::respond;
use windlass_spool_core::{Event, Then};
use windlass_spool_core::{Filed, Phase};
use windlass_spool_core::{Outcome, Ready};
use windlass_wire::target::{Protocol, Target};

/// How long the thread of a printer waits for another job before it ends.
const IDLE: Duration = Duration::from_secs(10);

/// How much is read of a document at a time.
const PIECE: usize = 256 << 10;

/// The thread of a printer, and how it is told.
#[derive(Debug, Default)]
pub(super) struct Desk {
    state: State,
    wake: Arc<Condvar>,
    /// The job that the device has.
    monitor: Option<Arc<Monitor>>,
}

/// What the thread of a printer does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// There is none.
    #[default]
    None,
    /// It waits for a job.
    Waiting,
    /// It has one.
    Working,
}

impl Desk {
    /// Breaks off what the device does, and wakes who waits.
    pub(super) fn stop(&self) {
        self.break_off();
        self.wake.notify_all();
    }

    /// Breaks off what the device does.
    pub(super) fn break_off(&self) {
        if let Some(monitor) = &self.monitor {
            monitor.stop();
        }
    }

    /// Whether nobody works there.
    pub(super) fn is_still(&self) -> bool {
        self.state != State::Working
    }
}

impl Spooler {
    /// A printer may have something to do.
    pub(super) fn stir(self: &Arc<Self>, shared: &mut Shared, place: usize) {
        if self.stops() {
            return;
        }
        match shared.desks[place].state {
            State::Working => {}
            State::Waiting => shared.desks[place].wake.notify_all(),
            State::None => {
                let printer = &shared.book.printers()[place];
                if printer.stopped.is_some() || printer.live.is_empty() {
                    return;
                }
                let spooler = Arc::clone(self);
                let name = thread::Builder::new().name("printer".to_owned());
                // Where no thread is to be had now, the next job tries again.
                if name.spawn(move || spooler.work(place)).is_ok() {
                    shared.desks[place].state = State::Waiting;
                }
            }
        }
    }

    /// What the thread of a printer does.
    fn work(self: Arc<Self>, place: usize) {
        let mut shared = self.lock();
        let device = shared.book.printers()[place].settings.device.clone();
        let mut buffer = Vec::new();
        loop {
            let Some((work, mut held)) = self.next(shared, place) else { return };
            let monitor = Arc::new(Monitor::default());
            held.desks[place].state = State::Working;
            held.desks[place].monitor = Some(Arc::clone(&monitor));
            let name = held.book.printers()[place].settings.name.clone();
            let trouble = held.book.printers()[place].trouble.as_ref().map(|one| one.failures);
            drop(held);
            let delivery =
                Delivery { printer: &name, work: &work, monitor: &monitor, spooler: &self };
            let done = delivery.to(&device, &mut buffer);
            let outcome = match done {
                Ok(()) => Outcome::Delivered,
                Err(_) if self.stops() => Outcome::Interrupted,
                Err(Undelivered::Busy(why)) => Outcome::Busy(why),
                Err(Undelivered::Failed(why)) => Outcome::Failed(why),
            };
            let event = match (&outcome, trouble) {
                (Outcome::Delivered, Some(failures @ 1..)) => {
                    Some(Event::Recovered { printer: name.clone(), failures })
                }
                _ => None,
            };
            shared = self.lock();
            shared.desks[place].monitor = None;
            shared.desks[place].state = State::Waiting;
            shared.book.finished(place, outcome.clone(), now());
            let event = event.or_else(|| failed(&shared, place, &work, outcome));
            let logged = self.finish_change(&mut shared);
            if event.is_some() || logged.is_err() {
                drop(shared);
                if let Some(event) = event {
                    self.tell(event);
                }
                // A broken store was told of; no more jobs are begun then.
                let _ = self.minded(logged.map(|_| ()));
                shared = self.lock();
            }
            // The documents' space is free again without the lock.
            drop(shared);
            drop(work);
            shared = self.lock();
        }
    }

    /// Waits for the next job; none where the thread is to end.
    fn next<'a>(
        &'a self,
        mut shared: MutexGuard<'a, Shared>,
        place: usize,
    ) -> Option<(Work, MutexGuard<'a, Shared>)> {
        loop {
            if self.stops() {
                shared.desks[place].state = State::None;
                return None;
            }
            let next = if shared.broken.is_some() {
                Next::Nothing
            } else {
                shared.book.next(place, now())
            };
            let (wait, ends) = match next {
                Next::Job(work) => return Some((work, shared)),
                Next::At(then) => (now().until(then).max(Duration::from_millis(1)), false),
                Next::Nothing => (IDLE, true),
            };
            let wake = Arc::clone(&shared.desks[place].wake);
            let waited = wake.wait_timeout(shared, wait).unwrap_or_else(PoisonError::into_inner);
            shared = waited.0;
            if ends && waited.1.timed_out() {
                // What came in the very moment was said under the same lock.
                let is_idle =
                    shared.broken.is_some() || shared.book.ready(place, now()) == Ready::Nothing;
                if is_idle {
                    shared.desks[place].state = State::None;
                    return None;
                }
            }
        }
    }
}

/// What is to be told of a job that was not delivered.
fn failed(shared: &Shared, place: usize, work: &Work, outcome: Outcome) -> Option<Event> {
    let Outcome::Failed(why) = outcome else { return None };
    let printer = &shared.book.printers()[place];
    let is_waiting = shared.book.job(work.id).is_some_and(|job| job.phase == Phase::Waiting);
    let is_canceled = shared
        .book
        .job(work.id)
        .is_none_or(|job| job.state() == windlass_wire::ipp::JobState::Canceled);
    let then = match (&printer.stopped, &printer.trouble) {
        _ if is_canceled && !is_waiting => Then::Canceled,
        _ if !is_waiting => Then::Aborted,
        (Some(_), _) => Then::Stopped,
        (None, trouble) => {
            let again = trouble.as_ref().map_or(Duration::ZERO, |one| now().until(one.again));
            Then::Again((again + Duration::from_millis(500)).as_secs())
        }
    };
    Some(Event::Failed { printer: printer.settings.name.clone(), job: work.id, why, then })
}

/// Why a device has not got a job.
enum Undelivered {
    /// It does another one.
    Busy(String),
    Failed(String),
}

impl From<String> for Undelivered {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

/// A job and where it stands.
struct Delivery<'a> {
    printer: &'a str,
    work: &'a Work,
    monitor: &'a Monitor,
    spooler: &'a Spooler,
}

impl Delivery<'_> {
    fn to(&self, device: &Device, buffer: &mut Vec<u8>) -> Result<(), Undelivered> {
        match device {
            Device::Drop => Ok(()),
            Device::File(path) => {
                let failed = |error| format!("{}: {error}", path.display());
                Ok(self.to_file(path, buffer).map_err(failed)?)
            }
            Device::Target(target) => self.to_target(target),
            Device::Command(command) => Ok(command::run(self, command, buffer)?),
        }
    }

    fn goes_on(&self) -> io::Result<()> {
        let is_stopped = self.monitor.is_stopped();
        if is_stopped { Err(io::Error::other("it was broken off")) } else { Ok(()) }
    }

    /// Copies all documents, as long as it is not broken off.
    fn copy(&self, to: &mut dyn Write, buffer: &mut Vec<u8>) -> io::Result<()> {
        buffer.resize(PIECE, 0);
        let mut from = chained(&self.work.documents);
        loop {
            self.goes_on()?;
            match from.read(buffer)? {
                0 => return to.flush(),
                got => to.write_all(&buffer[..got])?,
            }
        }
    }

    /// The same, with the kernel's help where the file takes its bytes at once.
    fn copy_to_file(&self, to: &mut File, buffer: &mut Vec<u8>) -> io::Result<()> {
        let kind = to.metadata()?.file_type();
        if !kind.is_file() && !kind.is_char_device() {
            return self.copy(to, buffer);
        }
        for filed in &self.work.documents {
            let mut from = filed.document.reader();
            while from.copy_to(to, PIECE)? > 0 {
                self.goes_on()?;
            }
        }
        Ok(())
    }

    /// Into a folder each job goes as a file of its own, whole or not at all: it
    /// has its name when it has its data. What it is called is made of numbers and
    /// of the printer's name alone.
    fn to_file(&self, path: &Path, buffer: &mut Vec<u8>) -> io::Result<()> {
        if !path.is_dir() {
            let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
            return self.copy_to_file(&mut file, buffer);
        }
        let name = format!("{}-{:08}", self.printer, self.work.id);
        let partial = path.join(format!(".{name}.part"));
        let copied =
            File::create(&partial).and_then(|mut file| self.copy_to_file(&mut file, buffer));
        let done = copied.and_then(|()| fs::rename(&partial, path.join(name)));
        if done.is_err() {
            // Where it cannot be removed it is overwritten the next time.
            let _ = fs::remove_file(&partial);
        }
        done
    }

    fn to_target(&self, target: &Target) -> Result<(), Undelivered> {
        let documents = &self.work.documents;
        if target.protocol == Protocol::Raw {
            let document = Document::new(chained(documents), Some(self.work.size));
            return self.send(target, document, &self.work.ticket.name);
        }
        for Filed { document, name } in documents {
            let data = Document::new(Box::new(document.reader()), Some(document.size()));
            // What the journal had no room for is called as its job is.
            let name = if name.is_empty() { &self.work.ticket.name } else { name };
            self.send(target, data, name)?;
        }
        Ok(())
    }

    fn send(&self, target: &Target, mut document: Document, name: &str) -> Result<(), Undelivered> {
        let ticket = &self.work.ticket;
        let way = match target.protocol {
            Protocol::Raw => Way::Raw(Raw::default()),
            Protocol::Lpr => Way::Lpr(Lpr {
                data_first: false,
                stream: None,
                host: ticket.host.to_string(),
                number: u16::try_from(self.work.id % 1_000).unwrap_or(0),
            }),
            Protocol::Ipp => Way::Ipp(Ipp {
                version: Version(2, 0),
                create_job: false,
                compression: Compression::None,
                format: ticket.format.to_string(),
                template: respond::template(&ticket.template),
                wait: None,
            }),
        };
        let job = Job {
            target: target.clone(),
            way,
            name: name.to_owned(),
            user: ticket.user.to_string(),
            patience: self.spooler.patience,
        };
        let mut dialer = PlainDialer { target, patience: self.spooler.patience };
        let sent = send(&job, &mut document, self.monitor, &mut dialer);
        match sent {
            Ok(_) => Ok(()),
            Err(error) if error.status() == Some(Status::BUSY) => {
                Err(Undelivered::Busy(described(&error)))
            }
            Err(error) => Err(Undelivered::Failed(described(&error))),
        }
    }
}

/// An error with what caused it.
fn described(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        source = error.source();
    }
    text
}
