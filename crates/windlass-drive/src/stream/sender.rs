//! Thread that sends.

use std::io::{self, Read};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use windlass_base::{Bytes, Rate};
use windlass_sys::cpu;
use windlass_sys::tcp_info::tcp_info;

use super::{Budget, CloseSignal, DRAINING, Data, StreamEnd, TestFlags, WAIT, abort, is_pause};
use crate::by::left;

/// Interval between two checks for the last acknowledgment.
const SETTLING: Duration = Duration::from_micros(500);

/// Settings and state of a sending thread.
pub(crate) struct Sender {
    pub(crate) stream: Arc<TcpStream>,
    pub(crate) data: Arc<Data>,
    pub(crate) budget: Arc<Budget>,
    pub(crate) length: usize,
    /// Pace that the thread keeps itself, in pieces of `length`; nothing if the kernel alone keeps
    /// it. The kernel lets the first ten segments go at once.
    pub(crate) pace: Option<Rate>,
    /// Time to stop; nothing if bytes end the test.
    pub(crate) deadline: Option<Instant>,
    pub(crate) closing: CloseSignal,
    pub(crate) shared: Arc<TestFlags>,
    /// Bytes written so far.
    pub(crate) written: Arc<AtomicU64>,
}

impl Sender {
    pub(crate) fn run(self) -> StreamEnd {
        let (began, before) = (Instant::now(), cpu::of_this_thread());
        let ready = cpu::waited_of_this_thread();
        let mut at_program = Duration::ZERO;
        let error = self.set_up().and_then(|()| self.send(&mut at_program)).err();
        let error = error.or_else(|| self.end().err());
        let (at, cpu) = (Instant::now(), cpu::of_this_thread().since(before));
        let waited = cpu::waited_since(ready);
        let error = error.filter(|_| !self.shared.is_cut());
        StreamEnd { at, ran: at - began, cpu, waited, at_program, error }
    }

    fn set_up(&self) -> io::Result<()> {
        // A blocked write returns with its partial result, so that on a slow path the thread still
        // notices the end of the test.
        self.stream.set_write_timeout(Some(WAIT))?;
        self.stream.set_read_timeout(Some(WAIT))
    }

    fn is_over(&self) -> bool {
        self.shared.is_over() || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    fn send(&self, at_program: &mut Duration) -> io::Result<()> {
        let mut own = Vec::new();
        let mut way = self.data.way(self.length);
        let (began, mut asked_for) = (Instant::now(), Bytes::ZERO);
        loop {
            let due = self.pace.map(|pace| began + pace.time_for(asked_for).to_duration());
            while let Some(left) = due.and_then(left).filter(|_| !self.is_over()) {
                thread::sleep(left.min(WAIT));
            }
            let granted = self.budget.take(self.length);
            let asked = Instant::now();
            let piece = self.data.next(&mut own, granted);
            *at_program += asked.elapsed();
            let piece = piece?;
            self.budget.give_back(granted - piece.length());
            if piece.length() == 0 {
                return Ok(());
            }
            asked_for += Bytes::new(piece.length() as u64);
            let mut sent = 0;
            while sent < piece.length() {
                if self.is_over() {
                    return Ok(());
                }
                match piece.write(&self.stream, sent, &mut way) {
                    Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                    Ok(bytes) => {
                        sent += bytes;
                        self.written.fetch_add(bytes as u64, Ordering::Relaxed);
                    }
                    Err(error) if is_pause(&error) => {}
                    Err(error) => return Err(error),
                }
            }
        }
    }

    fn end(&self) -> io::Result<()> {
        match self.closing {
            CloseSignal::Sender => self.drain(),
            CloseSignal::Own => {
                // The other end may have closed its direction before.
                let _ = self.settle();
                self.stream.shutdown(Shutdown::Write)
            }
            // The other end has said that it wants no more, and waits for the end of the stream.
            CloseSignal::Elsewhere if self.shared.is_over() => {
                self.stream.shutdown(Shutdown::Write)
            }
            CloseSignal::Elsewhere => self.settle(),
        }
    }

    /// Waits until the other end has acknowledged everything. The stream stays open.
    fn settle(&self) -> io::Result<()> {
        let (mut left, mut since) = (u32::MAX, Instant::now());
        loop {
            let info = tcp_info(&*self.stream)?;
            if !info.is_established {
                return Err(io::ErrorKind::ConnectionReset.into());
            }
            let now = info.unsent.saturating_add(info.unacknowledged.saturating_mul(info.mss));
            if now < left {
                (left, since) = (now, Instant::now());
            }
            if now == 0 || self.shared.is_over() || since.elapsed() > DRAINING {
                return Ok(());
            }
            thread::sleep(SETTLING);
        }
    }

    /// Closes this direction, and waits until the other end has everything and closes.
    fn drain(&self) -> io::Result<()> {
        self.stream.shutdown(Shutdown::Write)?;
        let (mut stream, mut ignored) = (&*self.stream, [0; 4_096]);
        let mut since = None;
        loop {
            match stream.read(&mut ignored) {
                Ok(0) => return Ok(()),
                // An old peer may send something that nobody requested.
                Ok(_) => {}
                Err(error) if is_pause(&error) => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(()),
                Err(error) => return Err(error),
            }
            if self.is_over() {
                let since = *since.get_or_insert_with(Instant::now);
                if self.shared.is_cut() || since.elapsed() > DRAINING {
                    abort(&self.stream);
                    return Ok(());
                }
            }
        }
    }
}
