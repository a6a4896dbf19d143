//! Ports for raw data. They change while a server runs, as printers come and go.

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use windlass_spool_core::Event;

use super::listeners::{Listener, raw};
use super::{Gate, ListenError, PrinterPorts, Speaks, accept};
use crate::spooler::Spooler;

/// The ports for raw data.
#[derive(Debug, Default)]
pub(super) struct Ports(Mutex<Vec<Port>>);

/// A port at which it is listened.
#[derive(Debug)]
struct Port {
    /// The place of its printer.
    place: usize,
    asked: SocketAddr,
    /// Where that is: with port 0 the system chose one.
    at: SocketAddr,
    ends: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

/// One that is had, and where nobody is answered yet.
#[derive(Debug)]
pub(super) struct Had {
    pub(super) printer: String,
    pub(super) asked: SocketAddr,
    pub(super) listener: TcpListener,
    pub(super) at: SocketAddr,
}

/// The place of a printer, and an address that it is to have.
type Wanted = (usize, SocketAddr);

/// What printers are to have, in their order.
fn wanted(spooler: &Spooler) -> Vec<Wanted> {
    spooler.look(|table| {
        let of = |name: &str| table.place(name).ok();
        let each = table.listed().filter_map(|one| Some((of(&one.settings.name)?, one)));
        each.flat_map(|(place, one)| one.settings.raw.iter().map(move |at| (place, *at))).collect()
    })
}

impl Ports {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Port>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins with ports that are had. One that a printer was given at run time, and that
    /// cannot be had now, is told of, and no reason not to serve the others.
    ///
    /// # Errors
    /// Where there is no thread.
    pub(super) fn begin(
        &self,
        mut had: Vec<Had>,
        spooler: &Arc<Spooler>,
        gate: &Arc<Gate>,
    ) -> Result<PrinterPorts, ListenError> {
        let mut all = self.lock();
        for one in wanted(spooler) {
            let name = spooler.look(|table| table.printers()[one.0].settings.name.clone());
            let own = had.iter().position(|had| had.printer == name && had.asked == one.1);
            let bare = match own {
                Some(place) => {
                    let had = had.remove(place);
                    Ok((had.listener, had.at))
                }
                None => raw(one.1),
            };
            match bare {
                Ok(bare) => all.push(begin(one, bare, spooler, gate)?),
                Err(error) => spooler.committer.tell(Event::DoesNotListen(error.to_string())),
            }
        }
        Ok(named(&all, spooler))
    }

    /// Whether ports could be had, where they are not already.
    ///
    /// # Errors
    /// Where one cannot.
    pub(super) fn can_listen(&self, ports: &[SocketAddr]) -> Result<(), ListenError> {
        let all = self.lock();
        let others = ports.iter().filter(|at| !all.iter().any(|port| port.asked == **at));
        // Each is given back at once, and taken when the printer has it.
        others.into_iter().try_for_each(|at| raw(*at).map(drop))
    }

    /// Listens where printers that changed have their ports, and says where that is.
    ///
    /// # Errors
    /// Where one cannot be had. The others are listened at.
    pub(super) fn follow(
        &self,
        spooler: &Arc<Spooler>,
        gate: &Arc<Gate>,
    ) -> Result<PrinterPorts, ListenError> {
        let mut all = self.lock();
        let wanted = wanted(spooler);
        let is_gone = |port: &Port| !wanted.contains(&(port.place, port.asked));
        let (gone, kept): (Vec<_>, Vec<_>) = all.drain(..).partition(is_gone);
        *all = kept;
        // One may go from a printer to another: nobody has both at a time.
        end_all(gone);
        let mut failed = None;
        for one in wanted {
            if all.iter().any(|port| (port.place, port.asked) == one) {
                continue;
            }
            match raw(one.1).and_then(|bare| begin(one, bare, spooler, gate)) {
                Ok(port) => all.push(port),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or_else(|| Ok(named(&all, spooler)), Err)
    }

    /// Listens no more.
    pub(super) fn end(&self) {
        end_all(std::mem::take(&mut *self.lock()));
    }
}

fn begin(
    (place, asked): Wanted,
    (listener, at): (TcpListener, SocketAddr),
    spooler: &Arc<Spooler>,
    gate: &Arc<Gate>,
) -> Result<Port, ListenError> {
    let ends = Arc::new(AtomicBool::new(false));
    let (spooler, gate, end) = (Arc::clone(spooler), Arc::clone(gate), Arc::clone(&ends));
    let listener = Listener::Tcp(listener);
    let thread = thread::Builder::new().name("accept".to_owned());
    let accepts = move || accept(&listener, Speaks::Raw(place), &spooler, &gate, &end);
    let thread = thread.spawn(accepts).map_err(ListenError::Thread)?;
    Ok(Port { place, asked, at, ends, thread })
}

/// Ends some: all of them are told before any is waited for.
fn end_all(ports: Vec<Port>) {
    ports.iter().for_each(|port| port.ends.store(true, Ordering::Relaxed));
    for port in ports {
        // One that panicked does not listen either.
        let _ = port.thread.join();
    }
}

fn named(ports: &[Port], spooler: &Spooler) -> PrinterPorts {
    spooler.look(|table| {
        let name = |port: &Port| table.printers()[port.place].settings.name.clone();
        ports.iter().map(|port| (port.at, name(port))).collect()
    })
}
