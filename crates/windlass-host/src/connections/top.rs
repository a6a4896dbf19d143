//! Looks at the kernel's connections, again and again.

use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{io, thread};

use windlass_base::Span;
use windlass_sys::cpu::of_this_thread;
use windlass_sys::sock_diag::{LastWords, Socket, Sockets};
use windlass_sys::wait::ready;

use super::owners::Owners;
use super::processor_meter::ProcessorMeter;
use super::row::View;
use super::select::{Filter, Order};
use super::table::{Look, Table};

/// From one look at all connections to the next it takes so many times as long as the look: 0.4 %
/// of one processor at the most. In between those are looked at that move.
const SELDOM: i64 = 250;

/// Those take 0.1 % of it, and so much each until it is known better.
const OF_MOVING: f64 = 0.001;
const EACH: Span = Span::from_micros(6);

/// This many are looked at however long that takes.
const LEAST_MOVING: usize = 50;

/// Last words are read so often at the most: a wake for each would cost more than it reads.
const NAP: Duration = Duration::from_millis(5);

/// The most last words that wait for a look. Each has some 500 bytes.
const MAX_GONE: usize = 200_000;

/// Settings of a view of connections.
#[derive(Clone, Debug)]
pub struct Settings {
    /// From one look to the next.
    pub interval: Duration,
    /// It ends after so many intervals.
    pub count: Option<u64>,
    /// The length of the window of shares.
    pub window: Span,
    /// The filter.
    pub filter: Filter,
    /// In which order.
    pub order: Order,
}

/// Errors of looking at connections.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel does not tell of its sockets.
    #[error("the kernel does not tell of its sockets: {0}")]
    Sockets(#[source] io::Error),
    /// Its last words cannot be waited for.
    #[error("the kernel's last words on connections cannot be read: {0}")]
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
    words: Option<LastWords>,
    /// The reason why ends are not heard, where they are not.
    pub deaf: Option<String>,
    table: Table,
    owners: Owners,
    processors: ProcessorMeter,
    began: Instant,
    due: Instant,
    looks: u64,
    /// Ended connections that the next look tells of.
    gone: Vec<(Span, Socket)>,
    unheard: u64,
    /// Room for what a look finds, which is many megabytes.
    room: Vec<Socket>,
    /// The time of the last look at all, and of one at a connection.
    took: Span,
    each: Span,
}

impl Top {
    /// Takes the first look.
    ///
    /// # Errors
    /// Fails where the kernel does not tell of its sockets. Where it does not tell of those that
    /// end, [`Self::deaf`] says why.
    pub fn open(settings: Settings) -> Result<Self, Error> {
        let sockets = Sockets::open().map_err(Error::Sockets)?;
        let (words, deaf) = match LastWords::open() {
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

    /// The next interval, where it ends within `wait`, with no more than `most` connections.
    ///
    /// # Errors
    /// Fails where the kernel tells no more.
    pub fn next(&mut self, wait: Duration, most: Option<usize>) -> Result<TopEvent, Error> {
        if self.is_over() {
            return Ok(TopEvent::Ended);
        }
        let until = self.due.min(Instant::now() + wait);
        self.listen(until)?;
        if Instant::now() < self.due {
            return Ok(TopEvent::Nothing);
        }
        // A look that came late, for whatever reason, is not made up for.
        let now = Instant::now();
        while self.due <= now {
            self.due += self.settings.interval.max(Duration::from_millis(1));
        }
        self.looks += 1;
        let is_last = self.is_over();
        self.view(is_last, most).map(|view| TopEvent::View(Box::new(view)))
    }

    /// The interval that ends now; nothing where it would be too short to tell.
    ///
    /// # Errors
    /// Fails where the kernel tells no more.
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

    /// Hears what the kernel says of connections that end, until then.
    fn listen(&mut self, until: Instant) -> Result<(), Error> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let Some(words) = &self.words else {
                thread::sleep(left);
                return Ok(());
            };
            let is_heard = match ready(&[words.as_fd()], Some(left)) {
                // A signal: whoever waits looks whether it is to end.
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
        let (gone, mut more) = (&mut self.gone, 0);
        let heard = words.read(&mut |socket| match gone.len() < MAX_GONE {
            true => gone.push((at, socket)),
            false => more += 1,
        });
        self.unheard += heard.map_err(Error::LastWords)?.lost + more;
        Ok(())
    }

    fn now(&self) -> Span {
        Span::from_duration(self.began.elapsed())
    }

    /// A look, with the connections that are wanted.
    fn view(&mut self, is_last: bool, most: Option<usize>) -> Result<View, Error> {
        let mut view = self.look(is_last)?;
        let filter = &self.settings.filter;
        view.connections.retain(|connection| filter.takes(connection));
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

    /// Looks at all connections where that is due, and else at those that move.
    fn look(&mut self, is_last: bool) -> Result<View, Error> {
        self.hear()?;
        let at = self.now();
        let half = Span::from_duration(self.settings.interval).part_of(2);
        // Which of them move, two looks at all tell first.
        let is_whole = is_last
            || self.looks <= 1
            || self.table.whole_at().is_none_or(|last| at - last + half >= self.took * SELDOM);
        let began = of_this_thread();
        let mut sockets = std::mem::take(&mut self.room);
        sockets.clear();
        if is_whole {
            self.sockets.tcp(&mut |socket| sockets.push(socket)).map_err(Error::Sockets)?;
        } else {
            let moving = self.table.moving(self.most_moving());
            self.sockets
                .these(&moving, &mut |socket| sockets.push(socket))
                .map_err(Error::Sockets)?;
        }
        // What ended while it looked is of this interval, too.
        self.hear()?;
        let processors = self.processors.look(self.now(), &sockets, &self.owners);
        let look = Look {
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

    /// Returns the most moving connections that there is time for.
    fn most_moving(&self) -> usize {
        let room = Span::from_duration(self.settings.interval).scaled(OF_MOVING);
        let most = usize::try_from(room.as_nanos() / self.each.as_nanos().max(1)).unwrap_or(0);
        most.max(LEAST_MOVING)
    }
}
