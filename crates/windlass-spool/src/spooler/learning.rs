//! Devices that speak IPP are asked what they can do, so that clients are told that and
//! nothing else.

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

/// How often it is looked for printers with other devices.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// The longest that a device has for its answer: others wait for their turn.
const MAX_PATIENCE: Duration = Duration::from_secs(10);

/// How long it is waited after no answer, at first and at most.
const FIRST_WAIT: Duration = Duration::from_secs(2);
const LONGEST_WAIT: Duration = Duration::from_secs(3_600);

/// What was asked of a printer's device.
#[derive(Clone, Copy)]
struct Asked {
    /// The printer's settings by then.
    revision: u32,
    /// When to ask again, and how long it was waited; none where it answered.
    again: Option<(Instant, Duration)>,
}

impl Spooler {
    /// Asks devices, one after the other, until the server ends.
    pub(super) fn learn(self: &Arc<Self>) {
        let mut asked: HashMap<usize, Asked> = HashMap::new();
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
                asked.insert(place, Asked { revision, again });
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

    /// Asks the device of a printer at once, as it is to get a job. One that gives no answer is
    /// tried all the same: the attempt tells what is wrong.
    pub(super) fn ask_now(&self, place: usize, revision: u32, target: &Target, contact: Duration) {
        if let Some(said) = self.said(target, contact) {
            self.look_for_filters();
            self.lock().table.learned(place, revision, said);
        }
    }

    /// Looks once for what converts documents, where that may be and this server may run it.
    fn look_for_filters(&self) {
        self.filters.get_or_init(|| {
            let may_run = another_user(self.commands.user.as_deref()).is_ok();
            let filters = (self.converts && may_run).then(Filters::find).flatten()?;
            self.lock().table.set_conversions(filters.conversions.clone());
            Some(filters)
        });
    }

    /// A printer whose device is to be asked: one that was not asked yet before those that gave no
    /// answer.
    fn unknown(&self, asked: &HashMap<usize, Asked>) -> Option<(usize, u32, Target, Duration)> {
        let (shared, now) = (self.lock(), Instant::now());
        let printers = shared.table.printers().iter().enumerate();
        let due = printers.filter_map(|(place, printer)| {
            let Device::Target(target) = &printer.settings.device else { return None };
            let is_meant = target.protocol == Protocol::Ipp && !printer.is_removed;
            let before = asked.get(&place).filter(|one| one.revision == printer.revision);
            let since = match before {
                None => None,
                Some(Asked { again: Some((again, _)), .. }) if *again <= now => Some(*again),
                Some(_) => return None,
            };
            is_meant.then_some((since, place, printer, target))
        });
        let (_, place, printer, target) = due.min_by_key(|(since, place, ..)| (*since, *place))?;
        Some((place, printer.revision, target.clone(), printer.settings.contact))
    }

    /// What a device says of what it can do; nothing where it says nothing.
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

/// The most values of an attribute that are kept of what a device says. Printers name some
/// hundred media.
const MAX_VALUES: usize = 1_000;
