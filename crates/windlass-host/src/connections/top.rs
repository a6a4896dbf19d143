//! Repeated looks at the kernel's connections.

use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{io, thread};

use windlass_base::Span;
use windlass_sys::cpu::of_this_thread;
use windlass_sys::sock_diag::{ClosedSockets, Socket, Sockets};
use windlass_sys::wait::ready;

use super::owners::Owners;
use super::processor_meter::ProcessorMeter;
use super::row::View;
use super::select::{Filter, Order};
use super::table::{Snapshot, Table};

/// Time between two looks at all connections, as a multiple of a look's duration: at most 0.4 % of
/// one processor. In between only moving connections are looked at.
const SELDOM: i64 = 250;

/// Share of one processor for looks at moving connections, and time for each until it is measured.
const OF_MOVING: f64 = 0.001;
const EACH: Span = Span::from_micros(6);

/// Minimum number of moving connections per look, however long that takes.
const LEAST_MOVING: usize = 50;

/// Minimum time between two reads of reports: a wake-up for each would cost more than reading it.
const NAP: Duration = Duration::from_millis(5);

/// Maximum number of reports that wait for a look, of some 500 bytes each.
const MAX_GONE: usize = 200_000;

/// Settings of a view of connections.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Time between two looks.
    pub interval: Duration,
    /// Number of intervals after which it ends.
    pub count: Option<u64>,
    /// The length of the window of shares.
    pub window: Span,
    /// The filter.
    pub filter: Filter,
    /// The order.
    pub order: Order,
}

/// Errors of looking at connections.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel does not tell of its sockets.
    #[error("the kernel does not list its sockets: {0}")]
    Sockets(#[source] io::Error),
    /// The reports on closed sockets cannot be received.
    #[error("the kernel's reports on closed sockets cannot be read: {0}")]
    LastWords(#[source] io::Error),
}

/// Events of [`Top::next`].
#[derive(Debug)]
pub enum TopEvent {
    /// An interval has ended.
    View(Box<View>),
    /// Nothing for now.
    Nothing,
    /// There will be no more.
    Ended,
}

/// Looks at all TCP connections of this network namespace.
#[derive(Debug)]
pub struct Top {
    settings: Settings,
    sockets: Sockets,
    words: Option<ClosedSockets>,
    /// The reason why ends are not reported, if they are not.
    pub deaf: Option<String>,
    table: Table,
    owners: Owners,
    processors: ProcessorMeter,
    began: Instant,
    due: Instant,
    looks: u64,
    /// Ended connections for the next look.
    gone: Vec<(Span, Socket)>,
    unheard: u64,
    /// Buffer for the sockets of a look, many megabytes.
    room: Vec<Socket>,
    /// Duration of the last look at all, and of one at a connection.
    took: Span,
    each: Span,
}

impl Top {
    /// Takes the first look.
    ///
    /// # Errors
    /// Fails if the kernel does not list its sockets. If it does not report closed ones,
    /// [`Self::deaf`] says why.
    pub fn open(settings: Settings) -> Result<Self, Error> {
        let sockets = Sockets::open().map_err(Error::Sockets)?;
        let (words, deaf) = match ClosedSockets::open() {
            Ok(words) => (Some(words), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let began = Instant::now();
        let mut top = Self {
            due: began + settings.interval,
            table: Table::new(settings.window),
            settings,
            sockets,
            words,
            deaf,
            owners: Owners::new(Path::new("/proc")),
            processors: ProcessorMeter::new(),
            began,
            looks: 0,
            gone: Vec::new(),
            unheard: 0,
            room: Vec::new(),
            took: Span::ZERO,
            each: EACH,
        };
        top.look(true)?;
        Ok(top)
    }

    /// Returns the next interval, if it ends within `wait`, with at most `most` connections.
    ///
    /// # Errors
    /// Fails if the kernel stops answering.
    pub fn next(&mut self, wait: Duration, most: Option<usize>) -> Result<TopEvent, Error> {
        if self.is_over() {
            return Ok(TopEvent::Ended);
        }
        let until = self.due.min(Instant::now() + wait);
        self.listen(until)?;
        if Instant::now() < self.due {
            return Ok(TopEvent::Nothing);
        }
        // Looks that were missed are not made up for.
        let now = Instant::now();
        while self.due <= now {
            self.due += self.settings.interval.max(Duration::from_millis(1));
        }
        self.looks += 1;
        let is_last = self.is_over();
        self.view(is_last, most).map(|view| TopEvent::View(Box::new(view)))
    }

    /// Returns the interval that ends now; `None` if it would be too short.
    ///
    /// # Errors
    /// Fails if the kernel stops answering.
    pub fn finish(mut self, most: Option<usize>) -> Result<Option<View>, Error> {
        let last = self.due.checked_sub(self.settings.interval).unwrap_or(self.began);
        let is_short = Instant::now().saturating_duration_since(last) < crate::LEAST.to_duration();
        if self.is_over() || is_short {
            return Ok(None);
        }
        self.view(true, most).map(Some)
    }

    fn is_over(&self) -> bool {
        self.settings.count.is_some_and(|count| self.looks >= count)
    }

    /// Reads the kernel's reports on connections that end, until then.
    fn listen(&mut self, until: Instant) -> Result<(), Error> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let Some(words) = &self.words else {
                thread::sleep(left);
                return Ok(());
            };
            let is_heard = match ready(&[words.as_fd()], Some(left)) {
                // A signal came: the caller checks whether it is to end.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
                heard => heard.map_err(Error::LastWords)?,
            };
            if is_heard {
                self.hear()?;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || !is_heard {
                return Ok(());
            }
            thread::sleep(NAP.min(left));
        }
    }

    fn hear(&mut self) -> Result<(), Error> {
        let at = self.now();
        let Some(words) = &mut self.words else { return Ok(()) };
        let (gone, filter, mut more) = (&mut self.gone, &self.settings.filter, 0);
        let heard = words.read(&mut |socket| match gone.len() < MAX_GONE {
            _ if !filter.takes([socket.local, socket.peer]) => {}
            true => gone.push((at, socket)),
            false => more += 1,
        });
        self.unheard += heard.map_err(Error::LastWords)?.lost + more;
        Ok(())
    }

    fn now(&self) -> Span {
        Span::from_duration(self.began.elapsed())
    }

    /// Takes a look, and returns the selected connections.
    fn view(&mut self, is_last: bool, most: Option<usize>) -> Result<View, Error> {
        let mut view = self.look(is_last)?;
        let filter = &self.settings.filter;
        let order = self.settings.order;
        let by_process = !filter.processes.is_empty();
        if by_process || order.needs_processes() {
            self.owners.find(&mut view.connections, view.to_seconds);
            view.connections.retain(|connection| filter.takes_process(connection));
        }
        order.sort(&mut view.connections);
        let shown = most.unwrap_or(usize::MAX).min(view.connections.len());
        view.left_out = (view.connections.len() - shown) as u64;
        view.connections.truncate(shown);
        if !by_process && !order.needs_processes() {
            self.owners.find(&mut view.connections, view.to_seconds);
        }
        Ok(view)
    }

    /// Looks at all connections if that is due, and else at the moving ones.
    fn look(&mut self, is_last: bool) -> Result<View, Error> {
        self.hear()?;
        let at = self.now();
        let half = Span::from_duration(self.settings.interval).part_of(2);
        // Two looks at all are needed to know the moving ones.
        let is_whole = is_last
            || self.looks <= 1
            || self.table.whole_at().is_none_or(|last| at - last + half >= self.took * SELDOM);
        let began = of_this_thread();
        let mut sockets = std::mem::take(&mut self.room);
        sockets.clear();
        if is_whole {
            let filter = &self.settings.filter;
            let mut push = |socket: Socket| {
                if filter.takes([socket.local, socket.peer]) {
                    sockets.push(socket);
                }
            };
            self.sockets.tcp(&mut push).map_err(Error::Sockets)?;
        } else {
            let moving = self.table.moving(self.most_moving());
            self.sockets
                .these(&moving, &mut |socket| sockets.push(socket))
                .map_err(Error::Sockets)?;
        }
        // A connection that ended during the look belongs to this interval, too.
        self.hear()?;
        let processors = self.processors.look(self.now(), &sockets, &self.owners);
        let look = Snapshot {
            at: self.now(),
            is_whole,
            sockets,
            gone: std::mem::take(&mut self.gone),
            unheard: std::mem::take(&mut self.unheard),
            processors,
        };
        let view = self.table.look(&look, self.settings.filter.all);
        let took = Span::from_duration(of_this_thread().since(began).total());
        match look.sockets.len() as u64 {
            _ if is_whole => self.took = took,
            0 => {}
            some => self.each = took.part_of(some).max(Span::from_nanos(1)),
        }
        self.room = look.sockets;
        Ok(view)
    }

    /// Returns how many moving connections there is time for.
    fn most_moving(&self) -> usize {
        let room = Span::from_duration(self.settings.interval).scaled(OF_MOVING);
        let most = usize::try_from(room.as_nanos() / self.each.as_nanos().max(1)).unwrap_or(0);
        most.max(LEAST_MOVING)
    }
}
