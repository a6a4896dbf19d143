//! Table of the known connections, by their ends.

use std::hash::{BuildHasher, Hash, Hasher};

use hashbrown::{DefaultHashBuilder, HashTable};
use windlass_base::Timestamp;
use windlass_wire::{Endpoint, Host, Segment};

use crate::follow::connection::Connection;
use crate::follow::hibernated::HibernatedConnection;

/// Number of entries of the short cut; a power of two.
const RECENT: usize = 64;

/// Both ends of a connection, the lesser first, so that both directions have
/// the same key. Packed into words, for a hash of few steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionKey {
    hosts: [u64; 4],
    /// The ports, and the kinds of the hosts.
    rest: u64,
}

impl Hash for ConnectionKey {
    /// Hashes word by word; an array would be hashed byte by byte.
    fn hash<H: Hasher>(&self, state: &mut H) {
        for word in self.hosts {
            state.write_u64(word);
        }
        state.write_u64(self.rest);
    }
}

impl ConnectionKey {
    /// Returns the key of a segment's connection, and whether its source is the lesser end.
    pub(crate) fn of(source: &Endpoint, destination: &Endpoint) -> (Self, bool) {
        let forward = source <= destination;
        let (one, two) = if forward { (source, destination) } else { (destination, source) };
        let ((a, b, one_kind), (c, d, two_kind)) = (words(one.host), words(two.host));
        let ports = u64::from(one.port) << 16 | u64::from(two.port);
        let rest = ports << 16 | one_kind << 8 | two_kind;
        (Self { hosts: [a, b, c, d], rest }, forward)
    }
}

/// Returns a host as two words and the number of its kind.
fn words(host: Host) -> (u64, u64, u64) {
    match host {
        Host::V4(address) => (u32::from(address).into(), 0, 0),
        Host::V6(address) => {
            let bits = u128::from(address);
            ((bits >> 64) as u64, bits as u64, 1)
        }
        Host::Named(name) => (name.into(), 0, 2),
    }
}

/// Value of a key.
#[derive(Debug)]
pub(crate) enum Entry {
    /// Free place.
    Free,
    /// Hibernating connection, whose next packets are only written down.
    Hibernated(Box<HibernatedConnection>),
    /// Connection under observation.
    Live(Box<Connection>),
    /// Ended connection, whose late packets are of no interest.
    Ended {
        since: Timestamp,
        /// True if the lesser end opened it, and with which number.
        opened_by: Option<(bool, u32)>,
    },
}

impl Entry {
    /// Returns the time of the last packet, the number and the ends of a connection that has not
    /// ended.
    pub(crate) fn open(&self) -> Option<(Timestamp, u64, &[Endpoint; 2])> {
        match self {
            Self::Free | Self::Ended { .. } => None,
            Self::Hibernated(hibernated) => {
                Some((hibernated.last, hibernated.number, &hibernated.ends))
            }
            Self::Live(connection) => Some((connection.last, connection.number, &connection.ends)),
        }
    }
}

/// Place of the table. Both parts are needed together, so they are in one line of the processor's
/// cache.
#[derive(Debug)]
#[repr(align(64))]
struct Slot {
    key: ConnectionKey,
    entry: Entry,
}

/// The entries, with a short cut to those of the last segments.
#[derive(Debug)]
pub(crate) struct Table {
    hasher: DefaultHashBuilder,
    /// Indices by the keys' hashes: small enough for a second-level cache.
    places: HashTable<u32>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    recent: [u32; RECENT],
}

impl Default for Table {
    fn default() -> Self {
        Self {
            hasher: DefaultHashBuilder::default(),
            places: HashTable::new(),
            slots: Vec::new(),
            free: Vec::new(),
            recent: [0; RECENT],
        }
    }
}

impl Table {
    /// Returns the index of the observed connection that this segment belongs to, and its
    /// direction, if the short cut leads there.
    #[inline]
    pub(crate) fn recent(&self, segment: &Segment) -> Option<(u32, usize)> {
        let place = self.recent[short_cut(segment)];
        match &self.slots.get(place as usize)?.entry {
            Entry::Live(connection) => Some((place, connection.direction_of(segment)?)),
            Entry::Free | Entry::Hibernated(_) | Entry::Ended { .. } => None,
        }
    }

    /// Returns the index under this key, and updates the short cut.
    pub(crate) fn find(&mut self, key: &ConnectionKey, segment: &Segment) -> Option<u32> {
        let place = self.place(key)?;
        self.recent[short_cut(segment)] = place;
        Some(place)
    }

    /// Returns the index under a key.
    pub(crate) fn place(&self, key: &ConnectionKey) -> Option<u32> {
        let hash = self.hasher.hash_one(key);
        let is_it = |place: &u32| self.slots[*place as usize].key == *key;
        self.places.find(hash, is_it).copied()
    }

    #[inline]
    pub(crate) fn at(&mut self, place: u32) -> &mut Entry {
        &mut self.slots[place as usize].entry
    }

    /// Returns the number of entries, ended connections among them.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Enters an entry under this key, in place of any other. Returns its index.
    pub(crate) fn insert(&mut self, key: ConnectionKey, entry: Entry) -> u32 {
        let Self { hasher, places, slots, free, .. } = self;
        let hash = hasher.hash_one(key);
        if let Some(place) = places.find(hash, |place| slots[*place as usize].key == key) {
            slots[*place as usize].entry = entry;
            return *place;
        }
        let slot = Slot { key, entry };
        let place = match free.pop() {
            Some(place) => {
                slots[place as usize] = slot;
                place
            }
            None => {
                slots.push(slot);
                (slots.len() - 1) as u32
            }
        };
        places.insert_unique(hash, place, |place| hasher.hash_one(slots[*place as usize].key));
        place
    }

    /// Forgets the entries for which `keep` does not hold.
    pub(crate) fn retain(&mut self, keep: impl Fn(&Entry) -> bool) {
        let Self { places, slots, free, .. } = self;
        places.retain(|place| {
            let entry = &mut slots[*place as usize].entry;
            let kept = keep(entry);
            if !kept {
                *entry = Entry::Free;
                free.push(*place);
            }
            kept
        });
    }

    /// Forgets one entry.
    pub(crate) fn remove(&mut self, key: &ConnectionKey) {
        let Self { hasher, places, slots, free, .. } = self;
        let hash = hasher.hash_one(key);
        if let Ok(found) = places.find_entry(hash, |place| slots[*place as usize].key == *key) {
            let (place, _) = found.remove();
            slots[place as usize].entry = Entry::Free;
            free.push(place);
        }
    }

    /// Returns all entries with their indices.
    pub(crate) fn entries(&mut self) -> impl Iterator<Item = (u32, &mut Entry)> {
        (0..).zip(self.slots.iter_mut().map(|slot| &mut slot.entry))
    }

    /// Returns the indices of connections that have not ended, with the time of their last packet
    /// and their number.
    pub(crate) fn open(&self) -> Vec<(Timestamp, u64, u32)> {
        let open = (0..).zip(&self.slots).filter_map(|(place, slot)| {
            let (last, number, _) = slot.entry.open()?;
            Some((last, number, place))
        });
        open.collect()
    }
}

/// Returns a hash that is equal for both directions. It only chooses a short cut, so an attacker
/// with colliding ends gains nothing.
#[inline]
fn short_cut(segment: &Segment) -> usize {
    let (source, destination) = (&segment.source, &segment.destination);
    let mut bits = u32::from(source.port ^ destination.port);
    if let (Host::V4(one), Host::V4(two)) = (source.host, destination.host) {
        bits ^= u32::from(one) ^ u32::from(two);
    }
    (bits.wrapping_mul(0x9e37_79b9) >> 26) as usize % RECENT
}
