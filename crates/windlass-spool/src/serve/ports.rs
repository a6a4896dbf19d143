//! Ports for raw data, which change at run time as printers come and go.

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use windlass_spool_core::Event;

use super::listeners::{Listener, raw};
use super::{Gate, ListenError, PortProtocol, PrinterPorts, accept};
use crate::spooler::Spooler;

/// Open ports for raw data.
#[derive(Debug, Default)]
pub(super) struct Ports(Mutex<Vec<Port>>);

/// An open port.
#[derive(Debug)]
struct Port {
    /// Index of the port's printer.
    place: usize,
    asked: SocketAddr,
    /// Actual address; port 0 is replaced by the port that the system chose.
    at: SocketAddr,
    ends: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

/// An open port that does not serve clients yet.
#[derive(Debug)]
pub(super) struct BoundPort {
    pub(super) printer: String,
    pub(super) asked: SocketAddr,
    pub(super) listener: TcpListener,
    pub(super) at: SocketAddr,
}

/// Index of a printer, and an address that the printer should have.
type PortAssignment = (usize, SocketAddr);

/// Returns the ports that the printers should have, in the printers' order.
fn wanted(spooler: &Spooler) -> Vec<PortAssignment> {
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

    /// Starts to serve open ports. If a port that a printer got at run time cannot be opened now,
    /// that is reported, and the others are served.
    ///
    /// # Errors
    /// A thread could not be started.
    pub(super) fn begin(
        &self,
        mut had: Vec<BoundPort>,
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

    /// Checks that ports can be opened, except those that are open already.
    ///
    /// # Errors
    /// A port cannot be opened.
    pub(super) fn can_listen(&self, ports: &[SocketAddr]) -> Result<(), ListenError> {
        let all = self.lock();
        let others = ports.iter().filter(|at| !all.iter().any(|port| port.asked == **at));
        // Each port is closed at once, and opened again when the printer gets it.
        others.into_iter().try_for_each(|at| raw(*at).map(drop))
    }

    /// Opens and closes ports after printers changed, and returns all ports.
    ///
    /// # Errors
    /// A port cannot be opened. The other ports are open.
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
        // A port may move from one printer to another, and is never open for both.
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

    /// Closes all ports.
    pub(super) fn end(&self) {
        end_all(std::mem::take(&mut *self.lock()));
    }
}

fn begin(
    (place, asked): PortAssignment,
    (listener, at): (TcpListener, SocketAddr),
    spooler: &Arc<Spooler>,
    gate: &Arc<Gate>,
) -> Result<Port, ListenError> {
    let ends = Arc::new(AtomicBool::new(false));
    let (spooler, gate, end) = (Arc::clone(spooler), Arc::clone(gate), Arc::clone(&ends));
    let listener = Listener::Tcp(listener);
    let thread = thread::Builder::new().name("accept".to_owned());
    let accepts = move || accept(&listener, PortProtocol::Raw(place), &spooler, &gate, &end);
    let thread = thread.spawn(accepts).map_err(ListenError::Thread)?;
    Ok(Port { place, asked, at, ends, thread })
}

/// Closes ports: all threads are told before any is waited for.
fn end_all(ports: Vec<Port>) {
    ports.iter().for_each(|port| port.ends.store(true, Ordering::Relaxed));
    for port in ports {
        // A thread that panicked does not listen either.
        let _ = port.thread.join();
    }
}

fn named(ports: &[Port], spooler: &Spooler) -> PrinterPorts {
    spooler.look(|table| {
        let name = |port: &Port| table.printers()[port.place].settings.name.clone();
        ports.iter().map(|port| (port.at, name(port))).collect()
    })
}
