//! Tests that wait for their streams.

use std::collections::HashMap;
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};

use crate::control::TestId;
use crate::error::Error;

/// A stream that has come: its number, and its connection.
pub(super) type Arrival = (u16, TcpStream);

/// The tests that wait.
#[derive(Debug, Default)]
pub(super) struct Registry(Mutex<HashMap<TestId, SyncSender<Arrival>>>);

/// A test that waits. It is known until this goes.
#[derive(Debug)]
pub(super) struct Waiting<'a> {
    registry: &'a Registry,
    pub(super) id: TestId,
    pub(super) arrivals: Receiver<Arrival>,
}

impl Registry {
    /// Lets a test of so many streams wait, under a name that cannot be guessed.
    pub(super) fn wait(&self, streams: u16) -> Result<Waiting<'_>, Error> {
        let id = TestId(random()?);
        let (sender, arrivals) = sync_channel(usize::from(streams));
        self.tests().insert(id, sender);
        Ok(Waiting { registry: self, id, arrivals })
    }

    /// Gives a stream to its test. It comes back where no test waits for it.
    pub(super) fn deliver(&self, id: TestId, arrival: Arrival) -> Option<Arrival> {
        let sender = self.tests().get(&id).cloned();
        let Some(sender) = sender else { return Some(arrival) };
        sender.try_send(arrival).err().map(|error| match error {
            std::sync::mpsc::TrySendError::Full(arrival)
            | std::sync::mpsc::TrySendError::Disconnected(arrival) => arrival,
        })
    }

    fn tests(&self) -> std::sync::MutexGuard<'_, HashMap<TestId, SyncSender<Arrival>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.registry.tests().remove(&self.id);
    }
}

/// Bytes that nobody can guess.
pub(super) fn random() -> Result<[u8; 16], Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::Io { doing: "cannot make up a number", source: error.into() })?;
    Ok(bytes)
}
