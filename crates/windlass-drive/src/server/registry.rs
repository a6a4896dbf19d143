//! Tests that wait for their streams.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};

use crate::error::Error;

/// A stream that has come: its number, and its connection.
pub(crate) type Arrival = (u64, TcpStream);

/// The tests that wait, by what their streams begin with.
#[derive(Debug)]
pub(crate) struct Registry<K>(Mutex<HashMap<K, SyncSender<Arrival>>>);

impl<K> Default for Registry<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

/// A test that waits. It is known until this goes.
#[derive(Debug)]
pub(crate) struct Waiting<'a, K: Eq + Hash> {
    registry: &'a Registry<K>,
    pub(crate) id: K,
    pub(crate) arrivals: Receiver<Arrival>,
}

impl<K: Copy + Eq + Hash> Registry<K> {
    /// Lets a test of so many streams wait, under a name that no other has;
    /// nothing where one waits under it.
    pub(crate) fn wait(&self, id: K, streams: u16) -> Option<Waiting<'_, K>> {
        let (sender, arrivals) = sync_channel(usize::from(streams));
        match self.tests().entry(id) {
            Entry::Occupied(_) => return None,
            Entry::Vacant(place) => place.insert(sender),
        };
        Some(Waiting { registry: self, id, arrivals })
    }

    /// Returns whether a test waits under this name.
    pub(crate) fn knows(&self, id: K) -> bool {
        self.tests().contains_key(&id)
    }

    /// Gives a stream to its test. It comes back where no test waits for it.
    pub(crate) fn deliver(&self, id: K, arrival: Arrival) -> Option<Arrival> {
        let sender = self.tests().get(&id).cloned();
        let Some(sender) = sender else { return Some(arrival) };
        sender.try_send(arrival).err().map(|error| match error {
            std::sync::mpsc::TrySendError::Full(arrival)
            | std::sync::mpsc::TrySendError::Disconnected(arrival) => arrival,
        })
    }

    fn tests(&self) -> std::sync::MutexGuard<'_, HashMap<K, SyncSender<Arrival>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Eq + Hash> Drop for Waiting<'_, K> {
    fn drop(&mut self) {
        self.registry.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}

/// Bytes that nobody can guess.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::Io { doing: "cannot make up a number", source: error.into() })?;
    Ok(bytes)
}
