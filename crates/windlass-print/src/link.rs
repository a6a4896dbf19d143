//! Connection that is written and read at the same time.
//!
//! Servers may refuse in the middle of a job, and printers report their state meanwhile. Each write
//! therefore checks for received bytes. When the connection ends, bytes that came before are still
//! read.

use std::io::{self, IoSlice, Read};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use windlass_sys::tcp_info::TcpInfo;
use windlass_sys::wait::ready;

use crate::connection::Connection;
use crate::document::Document;
use crate::error::Error;
use crate::job::{Job, OnBreak};
use crate::monitor::{Event, JobProgress, Monitor, PartialDelivery, Sign, Stall};
use crate::patience::{Limit, Patience, WaitAction};
use crate::status::StatusPoll;

/// Longest time of a read or write before other conditions are checked.
const WAIT: Duration = Duration::from_millis(100);

/// Time between two checks for the last ACK, while it may come soon.
const SETTLING: Duration = Duration::from_micros(500);

/// Time without progress after which a connection is stalled: observers are told, and checks become
/// rarer.
const STALLED: Duration = Duration::from_secs(1);

/// Maximum number of received bytes that are stored before use.
const MAX_INBOX: usize = 64 << 10;

/// Number of bytes of a document that are read and written at a time.
pub(crate) const PIECE: usize = 64 << 10;

/// Connection of a job.
pub(crate) struct Link<'a> {
    connection: Connection,
    pub(crate) monitor: &'a Monitor,
    /// Time since the last progress, and its limit.
    patience: Patience,
    /// Received bytes that were not used yet.
    pub(crate) inbox: Vec<u8>,
    /// True if the peer has closed its direction.
    pub(crate) at_end: bool,
    /// Number of bytes written.
    written: u64,
    /// Kernel's count of acknowledged bytes before the first of them.
    base: u64,
    /// Number of acknowledged bytes at which all data is acknowledged.
    data_end: Option<u64>,
    /// Number of acknowledged bytes at the last check.
    acknowledged: u64,
    on_break: OnBreak,
    /// Beginning of the document, until the peer has it for good.
    document: Option<DocumentStart>,
    /// Last reported sign of a stalled connection.
    stalled: Option<Sign>,
    /// Questions to the peer's SNMP agent meanwhile.
    status: Option<StatusPoll>,
}

/// Beginning of a document.
#[derive(Clone, Copy, Debug)]
struct DocumentStart {
    /// Bytes written before it.
    written: u64,
    /// Bytes of data moved before it.
    moved: u64,
}

/// Outcome of waiting for bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadOutcome {
    Bytes,
    End,
}

impl<'a> Link<'a> {
    pub(crate) fn new(
        connection: Connection,
        monitor: &'a Monitor,
        patience: impl Into<Limit>,
    ) -> Result<Self, Error> {
        let failed = Error::io("preparing the connection");
        connection.set_waits(WAIT).map_err(&failed)?;
        let base = connection.info().map_err(&failed)?.acknowledged;
        Ok(Self {
            connection,
            monitor,
            patience: Patience::new(patience, monitor.clock.now()),
            inbox: Vec::new(),
            at_end: false,
            written: 0,
            base,
            data_end: None,
            acknowledged: 0,
            on_break: OnBreak::Close,
            document: None,
            stalled: None,
            status: None,
        })
    }

    /// Makes the connection of a job.
    pub(crate) fn of_job(
        connection: Connection,
        monitor: &'a Monitor,
        job: &Job,
    ) -> Result<Self, Error> {
        let mut link = Self::new(connection, monitor, job.patience.clone())?;
        let peer = link.connection.tcp().and_then(|stream| stream.peer_addr().ok());
        link.status = StatusPoll::new(job.status.as_ref(), peer, monitor.clock.now());
        link.lasting(job.on_break)
    }

    /// Asks the peer's agent for its state when due, and reports the answer, without waiting.
    fn poll_status(&mut self) {
        let Some(poll) = &mut self.status else { return };
        if let Some(reasons) = poll.reasons_changed(self.monitor.clock.now()) {
            self.monitor.says(&reasons);
        }
    }

    /// Sets the way to end when a document is interrupted. With a reset, the connection lasts as
    /// long as its peer is there, and no longer.
    pub(crate) fn lasting(mut self, on_break: OnBreak) -> Result<Self, Error> {
        self.on_break = on_break;
        if on_break == OnBreak::Reset {
            self.connection.keep_alive().map_err(Error::io("preparing the connection"))?;
        }
        Ok(self)
    }

    /// Announces that this connection carries the data.
    pub(crate) fn announce(&self) {
        if let Some(stream) = self.connection.tcp() {
            self.monitor.tell(Event::Connected(Arc::clone(stream)));
        }
        self.monitor.stands(JobProgress::Moving);
    }

    /// Returns the time of the clock that measures waiting.
    pub(crate) fn now(&self) -> Instant {
        self.monitor.clock.now()
    }

    /// Restarts the wait.
    pub(crate) fn touch(&mut self) {
        self.patience.moved(self.monitor.clock.now());
        if self.stalled.take().is_some() {
            self.monitor.stands(JobProgress::Moving);
        }
    }

    /// Samples the kernel's figures of the connection.
    fn look(&mut self) -> TcpInfo {
        let info = self.info();
        let acknowledged = info.acknowledged.saturating_sub(self.base);
        if acknowledged > self.acknowledged {
            self.acknowledged = acknowledged;
            self.touch();
        }
        if self.data_end.is_some_and(|end| self.acknowledged >= end) {
            self.has_all();
        }
        info
    }

    /// Records that the peer has all of the data.
    pub(crate) fn has_all(&mut self) {
        if self.data_end.take().is_some() {
            self.monitor.tell(Event::Acknowledged);
        }
    }

    /// Fails if the job is to stop, or its connection has failed.
    fn goes_on(&self) -> Result<(), Error> {
        if self.monitor.is_stopped() { Err(Error::Stopped) } else { Ok(()) }
    }

    /// Handles a pause without progress.
    fn pause(&mut self, during: &'static str) -> Result<(), Error> {
        self.goes_on()?;
        self.poll_status();
        let info = self.look();
        self.notice(info);
        if self.patience.is_over(self.now()) { Err(self.silent(info, during)) } else { Ok(()) }
    }

    /// Reports a connection that stalls.
    fn notice(&mut self, info: TcpInfo) {
        let waited = self.idle();
        let sign = self.sign(info);
        if waited >= STALLED && self.stalled.replace(sign) != Some(sign) {
            let acknowledged = self.taken(info).acknowledged;
            self.monitor.stands(JobProgress::Stalled(Stall { waited, acknowledged, sign }));
        }
    }

    /// Returns the sign that nothing moves.
    fn sign(&self, info: TcpInfo) -> Sign {
        let is_all_acknowledged = self.acknowledged >= self.sent();
        let has_no_room = info.peer_window.map_or_else(
            || info.unacknowledged == 0 && info.unsent > 0,
            |window| window < info.mss.max(1),
        );
        match (is_all_acknowledged, has_no_room) {
            (true, _) => Sign::NoAnswer,
            // One probe is always in flight.
            (false, true) if info.probes > 1 && info.since_ack >= STALLED => Sign::NoAck,
            (false, true) => Sign::ClosedWindow,
            (false, false) => Sign::NoAck,
        }
    }

    /// Returns the number of bytes written to the socket.
    fn sent(&self) -> u64 {
        self.connection.sent().unwrap_or(self.written)
    }

    /// Returns the part of the document that the peer may have. Framing and encryption count as
    /// data, up to the amount of data.
    fn taken(&self, info: TcpInfo) -> PartialDelivery {
        let Some(begun) = self.document else { return PartialDelivery::default() };
        let moved = self.monitor.moved.load(Ordering::Relaxed).saturating_sub(begun.moved);
        let acknowledged = info.acknowledged.saturating_sub(self.base).max(self.acknowledged);
        // TLS holds few bytes at this end.
        let unsent = if self.connection.is_encrypted() { 0 } else { info.unsent.into() };
        PartialDelivery {
            acknowledged: acknowledged.saturating_sub(begun.written).min(moved),
            sent: moved.saturating_sub(unsent),
            is_reported: false,
        }
    }

    /// Begins a document: from now on the connection ends by `on_break`, whatever ends it.
    fn begin_document(&mut self, during: &'static str) -> Result<(), Error> {
        if !self.monitor.may_begin() {
            return Err(Error::Stopped);
        }
        if self.on_break == OnBreak::Reset {
            self.connection.reset_on_close(true).map_err(Error::io(during))?;
        }
        self.monitor.broken(None);
        let moved = self.monitor.moved.load(Ordering::Relaxed);
        self.document = Some(DocumentStart { written: self.sent(), moved });
        Ok(())
    }

    /// Ends a document that the server has accepted or refused: the connection may close normally.
    pub(crate) fn complete(&mut self) {
        if self.document.take().is_some() && self.on_break == OnBreak::Reset {
            // If this fails, the connection ends with a reset.
            let _ = self.connection.reset_on_close(false);
        }
    }

    /// Returns the error of too long a time without progress.
    fn silent(&self, info: TcpInfo, during: &'static str) -> Error {
        let window_closed = info.is_established && info.peer_window == Some(0);
        Error::Silent { during, after: self.patience.waited(self.now()), window_closed }
    }

    /// Reads the available bytes, if there are any.
    fn read_now(&mut self, within: Duration) -> io::Result<Option<ReadOutcome>> {
        let room = MAX_INBOX.saturating_sub(self.inbox.len());
        if self.at_end || room == 0 {
            return Ok(None);
        }
        let mut some = [0; 4_096];
        let most = room.min(some.len());
        let read = match self.connection.read_kept(&mut some[..most]) {
            // The socket does not show bytes that TLS has read already.
            Some(kept) => Ok(kept),
            // The socket itself waits this long.
            None if within != WAIT && !ready(&[self.connection.as_fd()], Some(within))? => {
                return Ok(None);
            }
            None => self.connection.read(&mut some[..most]),
        };
        match read {
            Ok(0) => {
                self.at_end = true;
                Ok(Some(ReadOutcome::End))
            }
            Ok(got) => {
                self.inbox.extend_from_slice(&some[..got]);
                Ok(Some(ReadOutcome::Bytes))
            }
            Err(error) if is_pause(&error) => Ok(None),
            Err(error) => {
                self.at_end = true;
                Err(error)
            }
        }
    }

    /// Reads bytes that come within a time. The total time does not depend on whether bytes come:
    /// otherwise a peer that drips would be awaited forever.
    fn read_in_time(
        &mut self,
        within: Duration,
        during: &'static str,
    ) -> Result<Option<ReadOutcome>, Error> {
        self.goes_on()?;
        self.poll_status();
        if self.data_end.is_some() || self.patience.waited(self.now()) >= WAIT {
            // Data may have been acknowledged meanwhile.
            let info = self.look();
            self.notice(info);
        }
        let next = self.patience.next(self.monitor.clock.now());
        let came = match next {
            WaitAction::Wait => self.read_now(within),
            WaitAction::Take => self.read_now(Duration::ZERO),
            WaitAction::GiveUp => Ok(None),
        };
        match came.map_err(Error::io(during))? {
            None if next != WaitAction::Wait => Err(self.silent(self.info(), during)),
            came => Ok(came),
        }
    }

    /// Waits for more bytes, or the end. Received bytes do not extend the patience.
    pub(crate) fn more(&mut self, during: &'static str) -> Result<ReadOutcome, Error> {
        loop {
            if self.at_end {
                return Ok(ReadOutcome::End);
            }
            if self.inbox.len() >= MAX_INBOX {
                return Err(Error::Protocol(format!("it sends without end while {during}")));
            }
            if let Some(came) = self.read_in_time(self.step(), during)? {
                return Ok(came);
            }
        }
    }

    /// Returns the longest wait between two checks of the connection. It is short before the last
    /// ACK, which no event reports.
    fn step(&self) -> Duration {
        let is_soon = self.data_end.is_some() && self.idle() < STALLED;
        if is_soon { SETTLING } else { WAIT }
    }

    /// Waits for more bytes until a deadline, however many come until then; returns nothing at the
    /// deadline.
    pub(crate) fn more_until(
        &mut self,
        during: &'static str,
        end: Instant,
    ) -> Result<Option<ReadOutcome>, Error> {
        loop {
            if self.at_end {
                return Ok(Some(ReadOutcome::End));
            }
            let left = end.saturating_duration_since(self.now());
            if left.is_zero() {
                return Ok(None);
            }
            let came = self.read_in_time(left.min(self.step()), during)?;
            if came.is_some() {
                return Ok(came);
            }
        }
    }

    /// Writes bytes that are not data. `goes_on` is called repeatedly; if it returns false, the
    /// rest is dropped. Returns whether everything was written.
    pub(crate) fn put(
        &mut self,
        bytes: &[u8],
        during: &'static str,
        goes_on: &mut dyn FnMut(&mut Self) -> bool,
    ) -> Result<bool, Error> {
        self.write([bytes, &[], &[]], true, during, goes_on)
    }

    /// Writes bytes and the data after them. Received bytes are checked only if the kernel does not
    /// accept both at once, so a server that accepts everything costs one call.
    pub(crate) fn put_both(
        &mut self,
        first: &[u8],
        data: &[u8],
        during: &'static str,
        goes_on: &mut dyn FnMut(&mut Self) -> bool,
    ) -> Result<bool, Error> {
        self.touch();
        self.write([first, data, &[]], false, during, goes_on)
    }

    /// Writes data with the bytes before and after it, and counts the data. Checks for received
    /// bytes before each write; before the first one only if `looks` is set.
    fn write(
        &mut self,
        pieces: [&[u8]; 3],
        mut looks: bool,
        during: &'static str,
        goes_on: &mut dyn FnMut(&mut Self) -> bool,
    ) -> Result<bool, Error> {
        let data = pieces[0].len()..pieces[0].len() + pieces[1].len();
        let (mut at, mut left) = (0, &mut pieces.map(IoSlice::new)[..]);
        // An empty write writes nothing.
        IoSlice::advance_slices(&mut left, 0);
        while !left.is_empty() {
            if std::mem::replace(&mut looks, true) {
                self.goes_on()?;
                self.poll_status();
                let came = self.read_now(Duration::ZERO);
                // The connection may have ended after an answer.
                if !goes_on(self) {
                    return Ok(false);
                }
                came.map_err(Error::io(during))?;
            }
            let done = self.connection.write_vectored(left);
            let Some(wrote) = self.wrote(done, during, goes_on)? else { return Ok(false) };
            let (from, to) = (data.start.max(at), data.end.min(at + wrote));
            self.monitor.moved.fetch_add(to.saturating_sub(from) as u64, Ordering::Relaxed);
            IoSlice::advance_slices(&mut left, wrote);
            at += wrote;
        }
        Ok(true)
    }

    /// Evaluates a write: the number of bytes, or none for now. Returns nothing if the connection
    /// has failed, and `goes_on` returns false for the bytes that came before.
    fn wrote(
        &mut self,
        done: io::Result<usize>,
        during: &'static str,
        goes_on: &mut dyn FnMut(&mut Self) -> bool,
    ) -> Result<Option<usize>, Error> {
        match done {
            Ok(wrote) => {
                self.written += wrote as u64;
                // A printer may accept one byte at a time: it is slow, but prints.
                self.touch();
                Ok(Some(wrote))
            }
            Err(error) if is_pause(&error) => {
                self.pause(during)?;
                Ok(Some(0))
            }
            Err(error) => {
                // Bytes that came before the end must still be read.
                while let Ok(Some(ReadOutcome::Bytes)) = self.read_now(Duration::ZERO) {}
                if goes_on(self) { Err(Error::io(during)(error)) } else { Ok(None) }
            }
        }
    }

    /// Returns whether a kept connection is unusable: the peer has closed it, or sent bytes without
    /// a request.
    pub(crate) fn is_stale(&mut self) -> bool {
        !matches!(self.read_now(Duration::ZERO), Ok(None))
    }

    /// Returns the kernel's figures of the connection.
    pub(crate) fn info(&self) -> TcpInfo {
        // An open socket has figures.
        self.connection.info().unwrap_or_default()
    }

    /// Returns the time since the last write.
    pub(crate) fn idle(&self) -> Duration {
        self.patience.waited(self.now())
    }

    /// Writes a short message that is not data.
    pub(crate) fn say(&mut self, bytes: &[u8], during: &'static str) -> Result<(), Error> {
        self.touch();
        self.put(bytes, during, &mut |_| true).map(|_| ())
    }

    /// Writes a document. `framed` returns the bytes before and after each piece. Returns whether
    /// everything was written.
    pub(crate) fn document(
        &mut self,
        document: &mut dyn Read,
        framed: &dyn Fn(usize) -> (Vec<u8>, &'static [u8]),
        during: &'static str,
        goes_on: &mut dyn FnMut(&mut Self) -> bool,
    ) -> Result<bool, Error> {
        let mut piece = vec![0; PIECE];
        self.touch();
        loop {
            let got = match document.read(&mut piece) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read.map_err(Error::Document)?,
            };
            if got == 0 {
                self.flush(during)?;
                self.data_end = Some(self.connection.sent().unwrap_or(self.written));
                return Ok(true);
            }
            let (before, after) = framed(got);
            if self.document.is_none() {
                self.begin_document(during)?;
            }
            if self.monitor.times().began.is_none() {
                self.monitor.tell(Event::Began);
            }
            // A program may have needed time to make the piece.
            self.touch();
            if !self.write([&before, &piece[..got], after], true, during, goes_on)? {
                return Ok(false);
            }
        }
    }

    /// Waits until the kernel has all bytes that TLS has accepted.
    fn flush(&mut self, during: &'static str) -> Result<(), Error> {
        loop {
            match self.connection.flush() {
                Err(error) if is_pause(&error) => self.pause(during)?,
                done => return done.map_err(Error::io(during)),
            }
        }
    }

    /// Waits until less than a segment is left to send. The kernel's limit times end with the
    /// half-close, so the half-close comes late.
    pub(crate) fn drain(
        &mut self,
        during: &'static str,
        look: &mut dyn FnMut(&mut Self),
    ) -> Result<(), Error> {
        loop {
            let info = self.look();
            if !info.is_established || info.unsent < info.mss.max(1) {
                return Ok(());
            }
            if let Err(error) = self.read_now(Duration::ZERO) {
                // A peer that resets the connection may have acknowledged everything meanwhile.
                self.look();
                return if self.is_settled() { Ok(()) } else { Err(Error::io(during)(error)) };
            }
            look(self);
            self.pause(during)?;
            thread::sleep(if self.idle() < STALLED { SETTLING } else { WAIT });
        }
    }

    /// Waits until the peer's TCP has acknowledged everything. A peer that has closed its direction
    /// may still reset the connection.
    pub(crate) fn settle(&mut self, during: &'static str) -> Result<(), Error> {
        if self.connection.tcp().is_none() {
            self.has_all();
        }
        loop {
            let info = self.look();
            if self.is_settled() {
                return Ok(());
            }
            if info.is_closed {
                return Err(Error::Gone { during });
            }
            self.pause(during)?;
            thread::sleep(self.step());
        }
    }

    /// Closes this end's direction.
    pub(crate) fn half_close(&self) -> Result<(), Error> {
        match self.connection.half_close() {
            // The connection has ended by itself.
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
            done => done.map_err(Error::io("closing this end")),
        }
    }

    /// Returns whether all data is acknowledged.
    pub(crate) const fn is_settled(&self) -> bool {
        self.data_end.is_none()
    }
}

impl Drop for Link<'_> {
    fn drop(&mut self) {
        if self.document.is_none() {
            return;
        }
        self.monitor.broken(Some(self.taken(self.info())));
        self.monitor.tell(Event::Broken);
        if self.on_break == OnBreak::Reset {
            // If this fails, the last use of the socket resets it.
            let _ = self.connection.reset();
        }
    }
}

/// Returns whether a read or a write has merely reached its timeout. If the system reports a
/// timeout of the connection, the connection has ended.
fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// A document that counts the bytes read from it.
pub(crate) struct CountedDocument<'d>(pub(crate) &'d mut Document, pub(crate) &'d Monitor);

impl Read for CountedDocument<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.0.read(buffer)?;
        self.1.read.fetch_add(got as u64, Ordering::Relaxed);
        Ok(got)
    }
}

/// Returns no framing for a piece.
pub(crate) fn bare(_: usize) -> (Vec<u8>, &'static [u8]) {
    (Vec::new(), &[])
}

#[cfg(test)]
#[path = "drip_tests.rs"]
mod tests;
