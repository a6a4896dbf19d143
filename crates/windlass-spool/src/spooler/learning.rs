//! Queries to IPP devices about their capabilities, which clients are then told.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use windlass_print::{Monitor, Protocol, Target};
use windlass_spool_core::respond::LEARNED;
use windlass_spool_core::{Device, OPERATIONS_SUPPORTED};
use windlass_wire::ipp::Attribute;

use crate::asking;
use crate::commands::another_user;
use crate::filters::Filters;
use crate::spooler::Spooler;

/// Interval between checks for printers with other devices.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Maximum time for a device's answer: other devices wait for their turn.
const MAX_PATIENCE: Duration = Duration::from_secs(10);

/// Wait after a failed query, at first and at most.
const FIRST_WAIT: Duration = Duration::from_secs(2);
const LONGEST_WAIT: Duration = Duration::from_secs(3_600);

/// State of the query to a printer's device.
#[derive(Clone, Copy)]
struct DeviceQuery {
    /// Revision of the printer's settings at the time of the query.
    revision: u32,
    /// Time of the next query, and the wait before it; `None` if the device answered.
    again: Option<(Instant, Duration)>,
}

impl Spooler {
    /// Queries devices, one after the other, until the server ends.
    pub(super) fn learn(self: &Arc<Self>) {
        let mut asked: HashMap<usize, DeviceQuery> = HashMap::new();
        while !self.stops() {
            while let Some((place, revision, target, contact)) = self.unknown(&asked) {
                if self.stops() {
                    return;
                }
                let said = self.said(&target, contact);
                let again = said.is_none().then(|| {
                    let before = asked.get(&place).filter(|one| one.revision == revision);
                    let waited = before.and_then(|one| one.again).map(|(_, waited)| waited);
                    let wait = waited.map_or(FIRST_WAIT, |waited| (waited * 2).min(LONGEST_WAIT));
                    (Instant::now() + wait, wait)
                });
                asked.insert(place, DeviceQuery { revision, again });
                if let Some(said) = said {
                    self.look_for_filters();
                    self.lock().table.learned(place, revision, said);
                }
            }
            let shared = self.lock();
            let waited = self.ended.wait_timeout(shared, POLL_INTERVAL);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Queries the device of a printer that is about to get a job. A device without an answer gets
    /// the job all the same: the attempt shows the fault.
    pub(super) fn ask_now(&self, place: usize, revision: u32, target: &Target, contact: Duration) {
        if let Some(said) = self.said(target, contact) {
            self.look_for_filters();
            self.lock().table.learned(place, revision, said);
        }
    }

    /// Searches once for the filters, if conversion is enabled and this server may run them.
    fn look_for_filters(&self) {
        self.filters.get_or_init(|| {
            let may_run = another_user(self.commands.user.as_deref()).is_ok();
            let filters = (self.converts && may_run).then(Filters::find).flatten()?;
            self.lock().table.set_conversions(filters.conversions.clone());
            Some(filters)
        });
    }

    /// Returns the next printer whose device must be queried: new devices first, then those that
    /// gave no answer.
    fn unknown(
        &self,
        asked: &HashMap<usize, DeviceQuery>,
    ) -> Option<(usize, u32, Target, Duration)> {
        let (shared, now) = (self.lock(), Instant::now());
        let printers = shared.table.printers().iter().enumerate();
        let due = printers.filter_map(|(place, printer)| {
            let Device::Target(target) = &printer.settings.device else { return None };
            let is_meant = target.protocol == Protocol::Ipp && !printer.is_removed;
            let before = asked.get(&place).filter(|one| one.revision == printer.revision);
            let since = match before {
                None => None,
                Some(DeviceQuery { again: Some((again, _)), .. }) if *again <= now => Some(*again),
                Some(_) => return None,
            };
            is_meant.then_some((since, place, printer, target))
        });
        let (_, place, printer, target) = due.min_by_key(|(since, place, ..)| (*since, *place))?;
        Some((place, printer.revision, target.clone(), printer.settings.contact))
    }

    /// Returns the capabilities that a device reports; `None` if it does not answer.
    fn said(&self, target: &Target, contact: Duration) -> Option<Vec<Attribute>> {
        let access = self.access_to(&Device::Target(target.clone()));
        let by = (&access, contact.min(MAX_PATIENCE));
        let wanted = [&LEARNED[..], &[OPERATIONS_SUPPORTED]].concat();
        let said = asking::attributes(target, ("windlass", &wanted), &Monitor::default(), by);
        let is_meant = |one: &Attribute| {
            wanted.contains(&one.name.as_str()) && (1..=MAX_VALUES).contains(&one.values.len())
        };
        Some(said.ok()??.attributes.into_iter().filter(is_meant).collect())
    }
}

/// Maximum number of values that are kept of an attribute. Printers list some hundred media.
const MAX_VALUES: usize = 1_000;
