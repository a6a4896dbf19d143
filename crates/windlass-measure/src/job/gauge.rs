//! Measurements while a job is sent.

use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use windlass_base::{Bytes, Span};
use windlass_drive::meter::{Meter, is_crumb, pause_after};
use windlass_drive::report::{Interval, StreamReport};
use windlass_drive::socket::{RaisedBuffer, raise_send_buffer, reset_on_close};
use windlass_drive::transfer::{End, Role};
use windlass_print::{Event, Monitor};

/// Measurements of a job, shared by the sending and the observing thread.
#[derive(Clone, Debug, Default)]
pub(super) struct Gauge(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    /// Bytes of data handed to the kernel.
    moved: Arc<AtomicU64>,
    meter: Option<Meter>,
    local: Option<SocketAddr>,
    remote: Option<SocketAddr>,
    began: Option<Instant>,
    /// Beginning of the current interval.
    from: Option<Instant>,
    /// True once all data is acknowledged or the connection breaks: later samples are of the end.
    is_over: bool,
    state: Option<String>,
}

/// Beginning of a running job.
#[derive(Clone, Debug)]
pub(super) struct JobBeginning {
    /// Time since its first byte.
    pub(super) seconds: Duration,
    /// Bytes acknowledged in that time.
    pub(super) bytes: Bytes,
    pub(super) stream: StreamReport,
}

impl Gauge {
    /// Returns a monitor that reports events to this gauge.
    pub(super) fn monitor(&self) -> Monitor {
        let gauge = self.clone();
        let mut monitor = Monitor::new(move |event| gauge.heard(event));
        monitor.moved = Arc::clone(&self.inner().moved);
        monitor
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Handles an event in the thread in which it happens, so that nothing is sent between the last
    /// sample and the first byte.
    fn heard(&self, event: Event) {
        let mut inner = self.inner();
        match event {
            Event::Connected(stream) => inner.connected(stream),
            Event::Began => {
                let now = Instant::now();
                (inner.began, inner.from) = (Some(now), Some(now));
                if let Some(meter) = &mut inner.meter {
                    meter.sample();
                    meter.begin();
                    let _ = meter.close_interval();
                }
            }
            Event::Acknowledged | Event::Broken => {
                if let Some(meter) = &mut inner.meter {
                    meter.sample();
                }
                inner.is_over = true;
            }
            Event::State(state) => inner.state = Some(state),
        }
    }

    /// Samples the connection. Returns the interval if one has ended.
    pub(super) fn tick(&self, every: Duration) -> Option<Interval> {
        let mut inner = self.inner();
        let is_over = inner.is_over;
        let meter = inner.meter.as_mut()?;
        if is_over {
            return None;
        }
        meter.sample();
        let now = Instant::now();
        let over = |from: Instant| from.checked_add(every).is_some_and(|due| now >= due);
        let due = inner.from.is_some_and(over);
        if due { inner.close(now) } else { None }
    }

    /// Returns the beginning of a running job, from its first byte; nothing before that.
    pub(super) fn so_far(&self, now: Instant) -> Option<JobBeginning> {
        let inner = self.inner();
        let (meter, began) = (inner.meter.as_ref()?, inner.began?);
        let seconds = now.saturating_duration_since(began);
        let bytes = meter.bytes();
        let stream = meter.report(bytes, Span::from_duration(seconds));
        Some(JobBeginning { seconds, bytes, stream })
    }

    /// Raises the send buffer of the connection; returns nothing if the connection accepts no more
    /// data, or the kernel refuses.
    pub(super) fn raise(&self, to: Bytes) -> Option<RaisedBuffer> {
        let inner = self.inner();
        let meter = inner.meter.as_ref().filter(|_| !inner.is_over)?;
        raise_send_buffer(&meter.stream, to).ok()
    }

    /// Makes closing the connection a reset; returns whether this succeeded.
    pub(super) fn reset_on_close(&self) -> bool {
        let inner = self.inner();
        inner.meter.as_ref().is_some_and(|meter| reset_on_close(&meter.stream).is_ok())
    }

    /// Returns the time when the data of the connection began.
    pub(super) fn began(&self) -> Option<Instant> {
        self.inner().began
    }

    /// Returns the time until the next sample.
    pub(super) fn pause(&self) -> Duration {
        pause_after(self.inner().began.map_or(Duration::ZERO, |began| began.elapsed()))
    }

    /// Returns the last interval, and the kernel's figures: `bytes` of the job took `seconds`.
    pub(super) fn finish(
        &self,
        end: Instant,
        bytes: Option<Bytes>,
        every: Duration,
    ) -> (Option<Interval>, Option<(StreamReport, Bytes)>) {
        let mut inner = self.inner();
        let last = inner.from.map_or(Duration::ZERO, |from| end.saturating_duration_since(from));
        // A job shorter than an interval is one interval.
        let is_first = inner.from.is_some() && inner.from == inner.began;
        let interval = if !is_crumb(last, every) || is_first { inner.close(end) } else { None };
        let seconds =
            inner.began.map(|began| Span::from_duration(end.saturating_duration_since(began)));
        let stream = inner.meter.as_ref().zip(seconds).map(|(meter, seconds)| {
            let bytes = bytes.unwrap_or_else(|| meter.bytes());
            (meter.report(bytes, seconds), bytes)
        });
        (interval, stream)
    }

    /// Returns both addresses of the connection.
    pub(super) fn ends(&self) -> (Option<SocketAddr>, Option<SocketAddr>) {
        let inner = self.inner();
        (inner.local, inner.remote)
    }

    /// Returns the last reported state of the job.
    pub(super) fn state(&self) -> Option<String> {
        self.inner().state.clone()
    }
}

impl Inner {
    fn connected(&mut self, stream: Arc<TcpStream>) {
        self.local = stream.local_addr().ok();
        self.remote = stream.peer_addr().ok();
        let mut meter = Meter::new(0, Role::Sender, stream);
        meter.moved = Arc::clone(&self.moved);
        self.meter = Some(meter);
        self.is_over = false;
    }

    fn close(&mut self, now: Instant) -> Option<Interval> {
        let (began, from) = (self.began?, self.from?);
        let meter = self.meter.as_mut()?;
        let (bytes, sender) = meter.close_interval();
        self.from = Some(now);
        Some(Interval {
            end: End::Client,
            role: Role::Sender,
            from_seconds: Span::from_duration(from - began),
            to_seconds: Span::from_duration(now.saturating_duration_since(began)),
            omitted: false,
            bytes,
            bytes_per_second: bytes.per(Span::from_duration(now.saturating_duration_since(from))),
            sender,
            datagrams: None,
        })
    }
}
