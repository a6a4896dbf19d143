//! Conversations with clients that have no sockets, for fuzz targets.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use windlass_spool_core::{Device, PrinterSettings, Rules};
use windlass_sys::clock::Clock;

use super::client::{Client, Stream};
use super::{Gate, Protocol};
use crate::spooler::{Spooler, SpoolerSettings};
use crate::store::{Durability, Error, Settings};

/// A server without sockets, whose printers are stopped.
#[derive(Debug)]
pub struct Conversation {
    spooler: Arc<Spooler>,
    gate: Arc<Gate>,
}

impl Conversation {
    /// Without jobs.
    ///
    /// # Errors
    /// Where there is no memory.
    pub fn new() -> Result<Self, Error> {
        Self::by(Clock::default())
    }

    /// The same by another clock.
    pub(super) fn by(clock: Clock) -> Result<Self, Error> {
        let stopped =
            |name| PrinterSettings { is_stopped: true, ..PrinterSettings::new(name, Device::Drop) };
        let settings = SpoolerSettings {
            printers: ["a", "b"].map(stopped).to_vec(),
            rules: Rules { max_jobs: Some(100), ..Rules::default() },
            store: Settings { durability: Durability::Memory, most: Some(4 << 20) },
            max_document: Some(1 << 20),
            patience: Duration::from_secs(1),
        };
        let spooler = Spooler::open(Path::new(""), settings, |event| {
            assert!(!event.to_string().contains(char::is_control));
        })?;
        let gate = Gate { open: AtomicUsize::new(1), clock, ..Gate::default() };
        Ok(Self { spooler, gate: Arc::new(gate) })
    }

    /// What a client is told that says this in pieces of so many bytes.
    ///
    /// # Panics
    /// Where a job is on its way in for ever, or the spool takes itself for broken.
    #[must_use]
    pub fn with(&self, protocol: Protocol, bytes: &[u8], piece: usize) -> Vec<u8> {
        let said = Arc::new(Mutex::new(Vec::new()));
        let stream =
            Said { bytes: bytes.to_vec(), at: 0, piece: piece.max(1), told: Arc::clone(&said) };
        self.over(protocol, Box::new(stream));
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut said)
    }

    /// Serves a client to its end.
    pub(super) fn over(&self, protocol: Protocol, stream: Box<dyn Stream>) {
        let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        let client = Client::over(stream, peer, Arc::clone(&self.gate));
        protocol.serve(client, &self.spooler);
        let shared = self.spooler.lock();
        let live = shared.table.printers().iter().map(|one| one.live.len()).sum::<usize>();
        assert_eq!(shared.table.active(), live, "a job is on its way in for ever");
        assert!(!self.spooler.committer.is_broken());
    }
}

/// A connection whose client says all at once and closes.
struct Said {
    bytes: Vec<u8>,
    at: usize,
    piece: usize,
    told: Arc<Mutex<Vec<u8>>>,
}

impl Stream for Said {
    fn read_now(&mut self, bytes: &mut [u8]) -> io::Result<Option<usize>> {
        self.read(bytes).map(Some)
    }
}

impl Read for Said {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = &self.bytes[self.at..];
        let got = left.len().min(self.piece).min(into.len());
        into[..got].copy_from_slice(&left[..got]);
        self.at += got;
        Ok(got)
    }
}

impl Write for Said {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
