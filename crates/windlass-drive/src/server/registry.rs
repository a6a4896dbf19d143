//! Tests that wait for their streams.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};

use crate::error::Error;

/// An arrived stream: its number and its connection.
pub(crate) type Arrival = (u64, TcpStream);

/// Waiting tests, by the first bytes of their streams.
#[derive(Debug)]
pub(crate) struct Registry<K>(Mutex<HashMap<K, SyncSender<Arrival>>>);

impl<K> Default for Registry<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

/// Registration of a waiting test, which lasts until it is dropped.
#[derive(Debug)]
pub(crate) struct StreamRegistration<'a, K: Eq + Hash> {
    registry: &'a Registry<K>,
    pub(crate) id: K,
    pub(crate) arrivals: Receiver<Arrival>,
}

impl<K: Copy + Eq + Hash> Registry<K> {
    /// Registers a test of `streams` streams under `id`; returns nothing if another test waits
    /// under it.
    pub(crate) fn wait(&self, id: K, streams: u16) -> Option<StreamRegistration<'_, K>> {
        let (sender, arrivals) = sync_channel(usize::from(streams));
        match self.tests().entry(id) {
            Entry::Occupied(_) => return None,
            Entry::Vacant(place) => place.insert(sender),
        };
        Some(StreamRegistration { registry: self, id, arrivals })
    }

    /// Returns whether a test waits under `id`.
    pub(crate) fn knows(&self, id: K) -> bool {
        self.tests().contains_key(&id)
    }

    /// Gives a stream to its test. Returns the stream if no test waits for it.
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

impl<K: Eq + Hash> Drop for StreamRegistration<'_, K> {
    fn drop(&mut self) {
        self.registry.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}

/// Returns unpredictable bytes.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::Io { doing: "cannot make up a number", source: error.into() })?;
    Ok(bytes)
}
