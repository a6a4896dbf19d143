//! Measurements while a job is sent.

use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use windlass_base::{Bytes, Span};
use windlass_drive::meter::{Meter, is_crumb, pause_after};
use windlass_drive::report::{Interval, StreamReport};
use windlass_drive::socket::{Raised, raise_send_buffer, reset_on_close};
use windlass_drive::transfer::{End, Role};
use windlass_print::{Event, Monitor};

/// The measure of a job, which the sending thread and the one that looks on
/// share.
#[derive(Clone, Debug, Default)]
pub(super) struct Gauge(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    /// Bytes of data that were handed to the kernel.
    moved: Arc<AtomicU64>,
    meter: Option<Meter>,
    local: Option<SocketAddr>,
    remote: Option<SocketAddr>,
    began: Option<Instant>,
    /// The time when the interval that runs began.
    from: Option<Instant>,
    /// All is acknowledged, or the connection breaks off: what the kernel says from now on is of
    /// the end.
    is_over: bool,
    state: Option<String>,
}

/// The beginning of a job that runs.
#[derive(Clone, Debug)]
pub(super) struct Beginning {
    /// Since its first byte.
    pub(super) seconds: Duration,
    /// Bytes acknowledged in that time.
    pub(super) bytes: Bytes,
    pub(super) stream: StreamReport,
}

impl Gauge {
    /// A monitor that tells it of what happens.
    pub(super) fn monitor(&self) -> Monitor {
        let gauge = self.clone();
        let mut monitor = Monitor::new(move |event| gauge.heard(event));
        monitor.moved = Arc::clone(&self.inner().moved);
        monitor
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what happens, in the thread in which it happens: so nothing is sent
    /// between the last look and the first byte.
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

    /// Looks at the connection. Where an interval is over, it is given.
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

    /// Returns the beginning of a job that runs, from its first byte on: nothing before
    /// that.
    pub(super) fn so_far(&self, now: Instant) -> Option<Beginning> {
        let inner = self.inner();
        let (meter, began) = (inner.meter.as_ref()?, inner.began?);
        let seconds = now.saturating_duration_since(began);
        let bytes = meter.bytes();
        let stream = meter.report(bytes, Span::from_duration(seconds));
        Some(Beginning { seconds, bytes, stream })
    }

    /// Makes the send buffer of the connection larger; nothing, where there is no
    /// connection that takes more data, or it refuses.
    pub(super) fn raise(&self, to: Bytes) -> Option<Raised> {
        let inner = self.inner();
        let meter = inner.meter.as_ref().filter(|_| !inner.is_over)?;
        raise_send_buffer(&meter.stream, to).ok()
    }

    /// Has the connection reset once nobody holds it; whether it will be.
    pub(super) fn reset_on_close(&self) -> bool {
        let inner = self.inner();
        inner.meter.as_ref().is_some_and(|meter| reset_on_close(&meter.stream).is_ok())
    }

    /// The time when the data of the connection began.
    pub(super) fn began(&self) -> Option<Instant> {
        self.inner().began
    }

    /// Returns the time to the next look.
    pub(super) fn pause(&self) -> Duration {
        pause_after(self.inner().began.map_or(Duration::ZERO, |began| began.elapsed()))
    }

    /// The last interval, and all that the kernel knows: `bytes` of it took
    /// `seconds`.
    pub(super) fn finish(
        &self,
        end: Instant,
        bytes: Option<Bytes>,
        every: Duration,
    ) -> (Option<Interval>, Option<(StreamReport, Bytes)>) {
        let mut inner = self.inner();
        let last = inner.from.map_or(Duration::ZERO, |from| end.saturating_duration_since(from));
        // A job shorter than that is one interval.
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

    /// Both ends of the connection.
    pub(super) fn ends(&self) -> (Option<SocketAddr>, Option<SocketAddr>) {
        let inner = self.inner();
        (inner.local, inner.remote)
    }

    /// The state that the job is in, as far as it was told.
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
