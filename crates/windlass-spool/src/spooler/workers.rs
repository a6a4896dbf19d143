//! Threads of the printers. A printer has a thread while it has jobs, which gives them to its
//! device one after the other.

use std::sync::{Arc, Condvar, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use windlass_print::{Limit, Monitor, Protocol};
use windlass_spool_core::{Consequence, Device, Ending, Event, NextStep, Outcome, Phase};
use windlass_wire::pages::Pages;

use crate::counting;
use crate::delivery::Delivery;
use crate::spooler::at_device::DeviceAttendant;
use crate::spooler::{Shared, Spooler};
use crate::store::Durability;
use crate::table::{Job, now};

/// Time that the thread of a printer waits for another job before it ends.
const IDLE: Duration = Duration::from_secs(10);

/// Control of a printer's thread.
#[derive(Debug, Default)]
pub(crate) struct Worker {
    has_thread: bool,
    wake: Arc<Condvar>,
    /// Monitor of the job at the device, and the device's limit of time without progress.
    monitor: Option<(Arc<Monitor>, Limit)>,
}

impl Worker {
    /// Interrupts the current job, and wakes the thread.
    pub(crate) fn stop(&self) {
        self.break_off();
        self.wake.notify_all();
    }

    /// Interrupts the current job.
    pub(crate) fn break_off(&self) {
        if let Some((monitor, _)) = &self.monitor {
            monitor.stop();
        }
    }

    /// Sets the maximum time without progress of the device.
    pub(crate) fn set_patience(&self, patience: Option<Duration>) {
        if let Some((_, limit)) = &self.monitor {
            limit.set(patience);
        }
    }

    /// Returns whether no job is at the device.
    pub(crate) fn is_still(&self) -> bool {
        self.monitor.is_none()
    }
}

impl Spooler {
    /// Wakes or starts the thread of a printer that may have work.
    pub(crate) fn wake(self: &Arc<Self>, shared: &mut Shared, place: usize) {
        if self.stops() {
            return;
        }
        let Shared { table, workers, .. } = shared;
        let worker = &mut workers[place];
        if worker.monitor.is_some() {
            // The thread takes another job when this one is done.
        } else if worker.has_thread {
            worker.wake.notify_all();
        } else if table.has_work(place) {
            let spooler = Arc::clone(self);
            let name = thread::Builder::new().name("printer".to_owned());
            // If the thread cannot start now, the next job tries again.
            worker.has_thread = name.spawn(move || spooler.work(place)).is_ok();
        }
    }

    /// Runs the thread of a printer.
    fn work(self: Arc<Self>, place: usize) {
        let mut shared = self.lock();
        let of = |shared: &Shared| {
            let printer = &shared.table.printers()[place];
            (printer.revision, printer.settings.clone())
        };
        let (mut revision, mut settings) = of(&shared);
        let mut buffer = Vec::new();
        loop {
            let Some((work, mut held)) = self.next(shared, place) else { return };
            if held.table.printers()[place].revision != revision {
                // The settings were changed in the meantime.
                (revision, settings) = of(&held);
            }
            let trying = self.watched.begin(matches!(settings.device, Device::Target(_)));
            let monitor = Arc::clone(&trying.monitor);
            let patience = Limit::new(settings.patience);
            held.workers[place].monitor = Some((Arc::clone(&monitor), patience.clone()));
            if let Device::Target(target) = &settings.device
                && target.protocol == Protocol::Ipp
                && held.table.printers()[place].creates_jobs.is_none()
            {
                // The formats and operations of the device must be known before it gets anything.
                drop(held);
                self.ask_now(place, revision, target, settings.contact);
                held = self.lock();
            }
            let printer = &held.table.printers()[place];
            let trouble = printer.trouble.as_ref().map(|one| one.failures);
            let creates_jobs = printer.creates_jobs == Some(true);
            let offer = printer.offer();
            drop(held);
            let access = self.access_to(&settings.device);
            let at_device = Arc::new(DeviceAttendant::new(&self, place, trouble.is_some()));
            monitor.attend(Arc::clone(&at_device) as Arc<_>);
            let pages =
                work.pages.unwrap_or_else(|| counting::pages(&work, &|| !monitor.is_stopped()));
            let delivery = Delivery {
                printer: &settings,
                work: &work,
                monitor: &monitor,
                patience,
                document_size: &at_device.document_size,
                creates_jobs,
                printed: &|sides| self.lock().table.printed(place, sides),
                is_wanted: &|| self.lock().table.is_wanted(place),
                commands: &self.commands,
                filters: self.filters.get().and_then(Option::as_ref),
                offer: &offer,
                access: &access,
                is_synced: self.committer.durability == Durability::Fsync,
                progressed: &|passes| self.progressed(place, passes),
                may_end: &|| self.may_end(place),
            };
            // The client that moved the job may still wait for that change to be stored.
            let is_there = !work.is_moved || self.committer.all_safe().is_ok();
            let uncounted = match pages {
                Pages::Unknown(_) if !monitor.is_stopped() => {
                    self.look(|table| table.refuses_uncounted(&work, pages))
                }
                _ => None,
            };
            let delivered = match uncounted {
                _ if !is_there => Outcome::Interrupted,
                Some(why) => Outcome::Refused(why),
                None => delivery.deliver(&mut buffer),
            };
            let outcome = match delivered {
                Outcome::Delivered => Outcome::Delivered,
                Outcome::Partial(_, partial) if self.stops() => {
                    Outcome::Partial("the server ended".to_owned(), partial)
                }
                _ if self.stops() => Outcome::Interrupted,
                failed => failed,
            };
            let event = match (&outcome, trouble) {
                (Outcome::Delivered, Some(failures @ 1..)) => {
                    Some(Event::Recovered { printer: settings.name.clone(), failures })
                }
                _ => None,
            };
            let attempt = trying.over();
            shared = self.lock();
            shared.workers[place].monitor = None;
            shared.table.tried(place, attempt);
            // A job that the history does not keep is gone after its end.
            let was_canceled = shared.table.job(work.id).is_none_or(Job::is_canceled);
            shared.table.counted(place, pages);
            shared.table.finished(place, outcome.clone(), now());
            let event = event.or_else(|| failed(&shared, place, &work, outcome, was_canceled));
            let logged = self.finish_change(&mut shared);
            drop(shared);
            // A broken store was reported already, and no more jobs begin then. For network
            // devices, the end of the job is stored before anybody hears of it: otherwise a start
            // after a crash would hold the job.
            if matches!(settings.device, Device::Target(_)) {
                let _ = self.committer.safe(logged);
            } else {
                let _ = self.committer.noted(logged);
            }
            if let Some(event) = event {
                self.committer.tell(event);
            }
            // Frees the documents' space without the lock.
            drop(work);
            shared = self.lock();
        }
    }

    /// Records how many passes over the documents the device has. This is made as durable as the
    /// job itself before the next pass.
    fn progressed(self: &Arc<Self>, place: usize, passes: u32) {
        let mut shared = self.lock();
        shared.table.progressed(place, passes);
        let logged = self.finish_change(&mut shared);
        drop(shared);
        // A broken store was reported already. The job is then sent again, as after a crash.
        let _ = self.committer.safe(logged);
    }

    /// Returns whether the device may do the last step of its job, which cannot be undone.
    fn may_end(self: &Arc<Self>, place: usize) -> bool {
        let mut shared = self.lock();
        let may = shared.table.may_end(place);
        let logged = self.finish_change(&mut shared);
        drop(shared);
        may && self.committer.safe(logged).is_ok()
    }

    /// Waits for the next job; `None` if the thread must end.
    fn next<'a>(
        &'a self,
        mut shared: MutexGuard<'a, Shared>,
        place: usize,
    ) -> Option<(Job, MutexGuard<'a, Shared>)> {
        loop {
            if self.stops() {
                shared.workers[place].has_thread = false;
                return None;
            }
            let next = if self.committer.is_broken() {
                NextStep::Nothing
            } else {
                shared.table.next(place, now())
            };
            let (wait, ends) = match next {
                NextStep::Job(work) => return Some((work, shared)),
                NextStep::At(then) => (now().until(then).max(Duration::from_millis(1)), false),
                NextStep::Nothing => (IDLE, true),
            };
            let wake = Arc::clone(&shared.workers[place].wake);
            let waited = wake.wait_timeout(shared, wait).unwrap_or_else(PoisonError::into_inner);
            shared = waited.0;
            if ends && waited.1.timed_out() {
                // A job that arrived at this moment was announced under the same lock.
                let is_idle = self.committer.is_broken()
                    || shared.table.ready(place, now()) == NextStep::Nothing;
                if is_idle {
                    shared.workers[place].has_thread = false;
                    return None;
                }
            }
        }
    }
}

/// Returns the event for a job that was not delivered.
fn failed(
    shared: &Shared,
    place: usize,
    work: &Job,
    outcome: Outcome,
    was_canceled: bool,
) -> Option<Event> {
    let why = match outcome {
        Outcome::Failed(why)
        | Outcome::Damaged(why)
        | Outcome::Refused(why)
        | Outcome::Canceled(why) => why,
        Outcome::Partial(why, partial) => format!("{why}; {partial}"),
        Outcome::Delivered | Outcome::Interrupted | Outcome::Busy(_) => return None,
    };
    let printer = &shared.table.printers()[place];
    let then = match shared.table.job(work.id).map(|job| job.phase) {
        Some(Phase::Held) => Consequence::Held,
        Some(Phase::Waiting) if printer.stopped.is_some() => Consequence::Stopped,
        Some(Phase::Waiting) => {
            let trouble = printer.trouble.as_ref();
            let again = trouble.map_or(Duration::ZERO, |one| now().until(one.again));
            Consequence::Again((again + Duration::from_millis(500)).as_secs())
        }
        Some(Phase::Over { how: Ending::Canceled, .. }) => Consequence::Canceled,
        _ if was_canceled => Consequence::Canceled,
        _ => Consequence::Aborted,
    };
    Some(Event::Failed { printer: printer.settings.name.clone(), job: work.id, why, then })
}
