//! A connection that is written to and listened to at once.
//!
//! Servers may refuse in the middle of a job, and printers tell of themselves
//! meanwhile. So each write looks for what came, and the end of a connection is
//! not taken for the end of what it said.

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
use crate::monitor::{Event, Monitor, PartialDelivery, Sign, Stall, Standing};
use crate::patience::{Limit, Next, Patience};
use crate::status::StatusPoll;

/// How long a read or a write waits before it is looked around.
const WAIT: Duration = Duration::from_millis(100);

/// The time between two looks whether all is acknowledged, as long as that may be soon.
const SETTLING: Duration = Duration::from_micros(500);

/// After so long without progress a connection stalls: whoever looks on is told, and it is looked
/// less often.
const STALLED: Duration = Duration::from_secs(1);

/// The most that is kept of what came and was not used.
const MAX_INBOX: usize = 64 << 10;

/// How much is read of a document, and written, at a time.
pub(crate) const PIECE: usize = 64 << 10;

/// A connection.
pub(crate) struct Link<'a> {
    connection: Connection,
    pub(crate) monitor: &'a Monitor,
    /// From when something moved last.
    patience: Patience,
    /// What came and was not used yet.
    pub(crate) inbox: Vec<u8>,
    /// The peer has closed its direction.
    pub(crate) at_end: bool,
    /// Bytes that were written.
    written: u64,
    /// What the kernel counted as acknowledged before the first of them.
    base: u64,
    /// So many bytes are to be acknowledged for all data to be.
    data_end: Option<u64>,
    /// What of them was acknowledged when it was looked last.
    acknowledged: u64,
    on_break: OnBreak,
    /// The document that the peer does not have for good.
    document: Option<Begun>,
    /// The sign that was told of a connection that stalls.
    stalled: Option<Sign>,
    /// Questions to the peer's SNMP agent meanwhile.
    status: Option<StatusPoll>,
}

/// The place at which a document began.
#[derive(Clone, Copy, Debug)]
struct Begun {
    /// Bytes that were written before it.
    written: u64,
    /// Bytes of data that were moved before it.
    moved: u64,
}

/// What came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum More {
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

    /// The connection of a job.
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

    /// Asks the peer's agent for its state where that is due, and tells what it answered. Nothing
    /// is waited for.
    fn poll_status(&mut self) {
        let Some(poll) = &mut self.status else { return };
        if let Some(reasons) = poll.reasons_changed(self.monitor.clock.now()) {
            self.monitor.says(&reasons);
        }
    }

    /// Makes it end so where a document does not come to its end. One that is to be reset then
    /// lasts as long as its peer is there, and no longer.
    pub(crate) fn lasting(mut self, on_break: OnBreak) -> Result<Self, Error> {
        self.on_break = on_break;
        if on_break == OnBreak::Reset {
            self.connection.keep_alive().map_err(Error::io("preparing the connection"))?;
        }
        Ok(self)
    }

    /// Says that this connection carries the data.
    pub(crate) fn announce(&self) {
        if let Some(stream) = self.connection.tcp() {
            self.monitor.tell(Event::Connected(Arc::clone(stream)));
        }
        self.monitor.stands(Standing::Moving);
    }

    /// What time it is by the clock that waiting goes by.
    pub(crate) fn now(&self) -> Instant {
        self.monitor.clock.now()
    }

    /// Waiting begins anew.
    pub(crate) fn touch(&mut self) {
        self.patience.moved(self.monitor.clock.now());
        if self.stalled.take().is_some() {
            self.monitor.stands(Standing::Moving);
        }
    }

    /// Looks at the kernel's account of the connection.
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

    /// The peer has all of the data.
    pub(crate) fn has_all(&mut self) {
        if self.data_end.take().is_some() {
            self.monitor.tell(Event::Acknowledged);
        }
    }

    /// Whether it goes on.
    fn goes_on(&self) -> Result<(), Error> {
        if self.monitor.is_stopped() { Err(Error::Stopped) } else { Ok(()) }
    }

    /// Nothing moved just now.
    fn pause(&mut self, during: &'static str) -> Result<(), Error> {
        self.goes_on()?;
        self.poll_status();
        let info = self.look();
        self.notice(info);
        if self.patience.is_over(self.now()) { Err(self.silent(info, during)) } else { Ok(()) }
    }

    /// Tells of a connection that stalls.
    fn notice(&mut self, info: TcpInfo) {
        let waited = self.idle();
        let sign = self.sign(info);
        if waited >= STALLED && self.stalled.replace(sign) != Some(sign) {
            let acknowledged = self.taken(info).acknowledged;
            self.monitor.stands(Standing::Stalled(Stall { waited, acknowledged, sign }));
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
            // One probe is always on its way.
            (false, true) if info.probes > 1 && info.since_ack >= STALLED => Sign::NoAck,
            (false, true) => Sign::ClosedWindow,
            (false, false) => Sign::NoAck,
        }
    }

    /// Bytes that were written to the socket.
    fn sent(&self) -> u64 {
        self.connection.sent().unwrap_or(self.written)
    }

    /// Returns the part of the document that the peer may have: framing and encryption are taken
    /// for data, which makes it more, and never more than the data.
    fn taken(&self, info: TcpInfo) -> PartialDelivery {
        let Some(begun) = self.document else { return PartialDelivery::default() };
        let moved = self.monitor.moved.load(Ordering::Relaxed).saturating_sub(begun.moved);
        let acknowledged = info.acknowledged.saturating_sub(self.base).max(self.acknowledged);
        // What waits in this end's TLS is small.
        let unsent = if self.connection.is_encrypted() { 0 } else { info.unsent.into() };
        PartialDelivery {
            acknowledged: acknowledged.saturating_sub(begun.written).min(moved),
            sent: moved.saturating_sub(unsent),
            is_reported: false,
        }
    }

    /// A document begins: from now on the connection ends by a reset, where it is to, whatever
    /// ends it.
    fn begin_document(&mut self, during: &'static str) -> Result<(), Error> {
        if !self.monitor.may_begin() {
            return Err(Error::Stopped);
        }
        if self.on_break == OnBreak::Reset {
            self.connection.reset_on_close(true).map_err(Error::io(during))?;
        }
        self.monitor.broken(None);
        let moved = self.monitor.moved.load(Ordering::Relaxed);
        self.document = Some(Begun { written: self.sent(), moved });
        Ok(())
    }

    /// The server has taken the document, or said that it does not take it: the connection may
    /// end in order.
    pub(crate) fn complete(&mut self) {
        if self.document.take().is_some() && self.on_break == OnBreak::Reset {
            // Where that cannot be, the end is a reset after all.
            let _ = self.connection.reset_on_close(false);
        }
    }

    /// Nothing moved for too long.
    fn silent(&self, info: TcpInfo, during: &'static str) -> Error {
        let window_closed = info.is_established && info.peer_window == Some(0);
        Error::Silent { during, after: self.patience.waited(self.now()), window_closed }
    }

    /// Reads what is there, if there is something.
    fn read_now(&mut self, within: Duration) -> io::Result<Option<More>> {
        let room = MAX_INBOX.saturating_sub(self.inbox.len());
        if self.at_end || room == 0 {
            return Ok(None);
        }
        let mut some = [0; 4_096];
        let most = room.min(some.len());
        let read = match self.connection.read_kept(&mut some[..most]) {
            // What TLS has read already the socket does not tell of.
            Some(kept) => Ok(kept),
            // So long the socket itself waits.
            None if within != WAIT && !ready(&[self.connection.as_fd()], Some(within))? => {
                return Ok(None);
            }
            None => self.connection.read(&mut some[..most]),
        };
        match read {
            Ok(0) => {
                self.at_end = true;
                Ok(Some(More::End))
            }
            Ok(got) => {
                self.inbox.extend_from_slice(&some[..got]);
                Ok(Some(More::Bytes))
            }
            Err(error) if is_pause(&error) => Ok(None),
            Err(error) => {
                self.at_end = true;
                Err(error)
            }
        }
    }

    /// Reads what comes within so long. How long it may go on like this does not hang
    /// on whether something comes: a peer that drips would be waited for for ever.
    fn read_in_time(
        &mut self,
        within: Duration,
        during: &'static str,
    ) -> Result<Option<More>, Error> {
        self.goes_on()?;
        self.poll_status();
        if self.data_end.is_some() || self.patience.waited(self.now()) >= WAIT {
            // Something may have been acknowledged meanwhile.
            let info = self.look();
            self.notice(info);
        }
        let next = self.patience.next(self.monitor.clock.now());
        let came = match next {
            Next::Wait => self.read_now(within),
            Next::Take => self.read_now(Duration::ZERO),
            Next::GiveUp => Ok(None),
        };
        match came.map_err(Error::io(during))? {
            None if next != Next::Wait => Err(self.silent(self.info(), during)),
            came => Ok(came),
        }
    }

    /// Waits until more has come, or the end. What comes does not prolong the
    /// patience.
    pub(crate) fn more(&mut self, during: &'static str) -> Result<More, Error> {
        loop {
            if self.at_end {
                return Ok(More::End);
            }
            if self.inbox.len() >= MAX_INBOX {
                return Err(Error::Protocol(format!("it does not end {during}")));
            }
            if let Some(came) = self.read_in_time(self.step(), during)? {
                return Ok(came);
            }
        }
    }

    /// Returns the longest wait of one look at the connection. It is short before the last ACK: no
    /// event tells of that.
    fn step(&self) -> Duration {
        let is_soon = self.data_end.is_some() && self.idle() < STALLED;
        if is_soon { SETTLING } else { WAIT }
    }

    /// The same up to a moment of its own, however much comes until then: nothing,
    /// where it is there.
    pub(crate) fn more_until(
        &mut self,
        during: &'static str,
        end: Instant,
    ) -> Result<Option<More>, Error> {
        loop {
            if self.at_end {
                return Ok(Some(More::End));
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

    /// Writes something that is not data. `goes_on` is asked again and again; where it
    /// says no, the rest is left. Tells whether all is written.
    pub(crate) fn put(
        &mut self,
        bytes: &[u8],
        during: &'static str,
        goes_on: &mut dyn FnMut(&mut Self) -> bool,
    ) -> Result<bool, Error> {
        self.write([bytes, &[], &[]], true, during, goes_on)
    }

    /// Writes something and data behind it. What came is only looked for where the
    /// kernel does not take both at once: so a server that takes all costs a call.
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

    /// Writes data, what goes before it and what behind it, and counts the data. What
    /// came is looked for before each write, before the first one where that is wanted.
    fn write(
        &mut self,
        pieces: [&[u8]; 3],
        mut looks: bool,
        during: &'static str,
        goes_on: &mut dyn FnMut(&mut Self) -> bool,
    ) -> Result<bool, Error> {
        let data = pieces[0].len()..pieces[0].len() + pieces[1].len();
        let (mut at, mut left) = (0, &mut pieces.map(IoSlice::new)[..]);
        // Who has nothing to write writes nothing.
        IoSlice::advance_slices(&mut left, 0);
        while !left.is_empty() {
            if std::mem::replace(&mut looks, true) {
                self.goes_on()?;
                self.poll_status();
                let came = self.read_now(Duration::ZERO);
                // The connection may have ended, with words before that.
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

    /// What a write came to: so many bytes, or none just now. Nothing where the
    /// connection has failed, and `goes_on` says no to what came before that.
    fn wrote(
        &mut self,
        done: io::Result<usize>,
        during: &'static str,
        goes_on: &mut dyn FnMut(&mut Self) -> bool,
    ) -> Result<Option<usize>, Error> {
        match done {
            Ok(wrote) => {
                self.written += wrote as u64;
                // A printer may take a byte at a time: it is slow, and prints.
                self.touch();
                Ok(Some(wrote))
            }
            Err(error) if is_pause(&error) => {
                self.pause(during)?;
                Ok(Some(0))
            }
            Err(error) => {
                // What it said before it ended is still to be read.
                while let Ok(Some(More::Bytes)) = self.read_now(Duration::ZERO) {}
                if goes_on(self) { Err(Error::io(during)(error)) } else { Ok(None) }
            }
        }
    }

    /// Whether a connection that was kept is of no use any more: the peer has
    /// closed it, or said what nobody asked for.
    pub(crate) fn is_stale(&mut self) -> bool {
        !matches!(self.read_now(Duration::ZERO), Ok(None))
    }

    /// What the kernel says of it.
    pub(crate) fn info(&self) -> TcpInfo {
        // A socket that is there has it.
        self.connection.info().unwrap_or_default()
    }

    /// How long nothing was written.
    pub(crate) fn idle(&self) -> Duration {
        self.patience.waited(self.now())
    }

    /// Writes something short that is not data.
    pub(crate) fn say(&mut self, bytes: &[u8], during: &'static str) -> Result<(), Error> {
        self.touch();
        self.put(bytes, during, &mut |_| true).map(|_| ())
    }

    /// Writes a document, each piece as `framed` makes it: what goes before it and
    /// after it. Tells whether all is written.
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
            // A program may have taken its time to make it.
            self.touch();
            if !self.write([&before, &piece[..got], after], true, during, goes_on)? {
                return Ok(false);
            }
        }
    }

    /// Waits until the kernel has all that TLS has taken.
    fn flush(&mut self, during: &'static str) -> Result<(), Error> {
        loop {
            match self.connection.flush() {
                Err(error) if is_pause(&error) => self.pause(during)?,
                done => return done.map_err(Error::io(during)),
            }
        }
    }

    /// Waits until less than a segment is left to send. The kernel's account of
    /// what it waits for ends with the half-close, so that one comes late.
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
                // A peer that resets the connection may have acknowledged all meanwhile.
                self.look();
                return if self.is_settled() { Ok(()) } else { Err(Error::io(during)(error)) };
            }
            look(self);
            self.pause(during)?;
            thread::sleep(if self.idle() < STALLED { SETTLING } else { WAIT });
        }
    }

    /// Waits until the peer's TCP has acknowledged all. A peer that has closed its direction may
    /// still reset the connection.
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

    /// Says that nothing more is sent.
    pub(crate) fn half_close(&self) -> Result<(), Error> {
        match self.connection.half_close() {
            // It has ended by itself.
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
            done => done.map_err(Error::io("closing this end")),
        }
    }

    /// Whether all data is acknowledged.
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
            // Where that fails, the last use of the socket resets it.
            let _ = self.connection.reset();
        }
    }
}

/// Returns whether a read or a write has only waited for as long as it may at a time. The system's own
/// word that a connection timed out is its end.
fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// A document that counts what was read of it.
pub(crate) struct Counting<'d>(pub(crate) &'d mut Document, pub(crate) &'d Monitor);

impl Read for Counting<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.0.read(buffer)?;
        self.1.read.fetch_add(got as u64, Ordering::Relaxed);
        Ok(got)
    }
}

/// A piece as it is.
pub(crate) fn bare(_: usize) -> (Vec<u8>, &'static [u8]) {
    (Vec::new(), &[])
}

#[cfg(test)]
#[path = "drip_tests.rs"]
mod tests;
