//! Classes of printers: a job of a class goes to the next idle member in turn, as in CUPS. If one
//! member fails, another gets the job.

use super::JobTable;
use crate::job::{JobId, StoredDocument};
use crate::printer::{Condition, Printer};

impl<D: StoredDocument> JobTable<D> {
    /// Updates the links between classes and members after printers were added, removed or changed.
    pub(super) fn link(&mut self) {
        let places = 0..self.printers.len();
        let classes: Vec<(usize, Vec<usize>)> = places
            .filter(|place| self.printers[*place].is_class() && !self.printers[*place].is_removed)
            .map(|place| (place, self.members_of(&self.printers[place])))
            .collect();
        for printer in &mut self.printers {
            printer.linked.clear();
        }
        for (class, members) in classes {
            for member in &members {
                self.printers[*member].linked.push(class);
            }
            self.printers[class].linked = members;
            self.wake(class);
        }
    }

    /// Returns the indexes of a class's existing members.
    fn members_of(&self, class: &Printer) -> Vec<usize> {
        let names = class.settings.members.iter().flatten();
        let mut places = Vec::new();
        for place in names.filter_map(|name| self.place(name).ok()) {
            if !self.printers[place].is_class() && !places.contains(&place) {
                places.push(place);
            }
        }
        places
    }

    /// Returns the members of a class in order; none for a printer.
    pub fn members<'a>(&'a self, class: &'a Printer) -> impl Iterator<Item = &'a Printer> {
        let places = if class.is_class() { &class.linked[..] } else { &[] };
        places.iter().map(|place| &self.printers[*place])
    }

    /// Returns the state of a printer. A class is processing while one of its members prints for
    /// it.
    pub fn condition(&self, printer: &Printer) -> Condition {
        let own = printer.state();
        let prints = |member: &Printer| {
            let job = member.current.and_then(|id| self.jobs.get(&id));
            job.is_some_and(|job| self.printers[job.printer].settings.name == printer.settings.name)
        };
        if self.members(printer).any(prints) { Condition::Processing } else { own }
    }

    /// Returns the most urgent job that a printer could get, and the index of its queue: the
    /// printer's own, or a class's.
    pub(super) fn candidate(&self, place: usize) -> Option<(usize, JobId)> {
        let printer = &self.printers[place];
        if printer.is_class() {
            return None;
        }
        let own = printer.waiting.first().map(|key| (*key, place));
        let classes = printer
            .linked
            .iter()
            .filter(|class| printer.is_accepting && self.printers[**class].stopped.is_none());
        let of_classes = classes
            .filter_map(|class| self.printers[*class].waiting.first().map(|key| (*key, *class)));
        own.into_iter().chain(of_classes).min().map(|((_, id), from)| (from, id))
    }

    /// Returns whether a printer has a job to print, now or later.
    pub fn has_work(&self, place: usize) -> bool {
        let printer = &self.printers[place];
        printer.stopped.is_none() && !printer.is_removed && self.candidate(place).is_some()
    }

    /// Wakes a printer, or all members of a class.
    pub(super) fn wake(&mut self, place: usize) {
        if self.printers[place].is_class() {
            self.orders.wake.extend_from_slice(&self.printers[place].linked);
        } else {
            self.orders.wake.push(place);
        }
    }

    /// Wakes a printer for a new job. For a class it wakes the next idle member, or all if none is
    /// idle. A member that finishes a job looks for another by itself.
    pub(super) fn wake_one(&mut self, place: usize) {
        if !self.printers[place].is_class() {
            self.orders.wake.push(place);
            return;
        }
        let class = &self.printers[place];
        let (count, after) = (class.linked.len(), class.last.wrapping_add(1));
        let is_idle = |turn: &usize| {
            let member = &self.printers[class.linked[*turn]];
            member.stopped.is_none()
                && member.current.is_none()
                && member.trouble.is_none()
                && member.is_accepting
        };
        match (0..count).map(|step| (after + step) % count).find(is_idle) {
            Some(turn) => {
                self.orders.wake.push(class.linked[turn]);
                self.printers[place].last = turn;
            }
            None => self.wake(place),
        }
    }
}
