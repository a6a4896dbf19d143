//! Where clients come: addresses and Unix sockets that are had, before anybody is answered.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;

use windlass_spool_core::Peer;
use windlass_sys::socket::{set_backlog, set_reset_on_close};
use windlass_sys::unix::{self, Listening};

use super::handed::{Handed, Unnamed};
use super::stream::Socket;
use super::{Listen, ListenError};

/// Who may open a Unix socket: all, as with CUPS's. Who each is, the kernel says.
const SOCKET_MODE: u32 = 0o666;

/// How many clients may wait to be taken, where the system lets them: as many as come at once
/// where a hundred printers are used.
const BACKLOG: u16 = 4_096;

/// Where clients come.
#[derive(Debug)]
pub(super) enum Listener {
    Tcp(TcpListener),
    Unix(Listening),
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(listener) => listener.as_fd(),
            Self::Unix(listening) => listening.as_fd(),
        }
    }
}

impl Listener {
    /// The next client, and where it is. Of a user of this host the number is its name yet:
    /// to look for that may take long.
    pub(super) fn accept(&self) -> io::Result<(Socket, Peer)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, peer) = listener.accept()?;
                Ok((Socket::Tcp(stream), peer.into()))
            }
            Self::Unix(listening) => {
                let (stream, _) = listening.listener.accept()?;
                let uid = unix::credentials(&stream)?.user;
                Ok((Socket::Unix(stream), Peer::Local { user: format!("#{uid}").into(), uid }))
            }
        }
    }
}

/// Addresses that are had, and where nobody is answered yet: what it takes to have them is
/// not needed from then on.
#[derive(Debug)]
pub struct Bound {
    pub(super) ipp: Vec<Bare>,
    pub(super) tls: Vec<Bare>,
    pub(super) sockets: Vec<(Listening, PathBuf)>,
    pub(super) lpr: Vec<Bare>,
    pub(super) raw: Vec<(Bare, String)>,
}

/// A socket that listens, and where.
pub(super) type Bare = (TcpListener, SocketAddr);

impl Bound {
    /// Takes all of them: a server that has only some of its ports is none. Where a socket is
    /// handed on for one of IPP or LPR, that is it; those that no setting names come besides.
    ///
    /// # Errors
    /// Where one cannot be had.
    pub fn new(listen: &Listen, mut handed: Handed) -> Result<Self, ListenError> {
        let mut each = |what, all: &[SocketAddr]| -> Result<Vec<Bare>, ListenError> {
            let bound = |at: &SocketAddr| {
                let own = handed.at(*at).map_or_else(|| TcpListener::bind(at), Ok);
                own.and_then(bare).map_err(|source| ListenError::Listen { what, at: *at, source })
            };
            all.iter().map(bound).collect()
        };
        let (ipp, tls) = (each("IPP", &listen.ipp)?, each("IPP by TLS", &listen.tls)?);
        let lpr = each("LPR", &listen.lpr)?;
        let raw = |(at, printer): &(SocketAddr, String)| Ok((raw(*at)?, printer.clone()));
        let socket = |at: &PathBuf| {
            let no = |source| ListenError::Socket { at: at.clone(), source };
            let listening = match handed.at_path(at) {
                Some(listener) => Listening::of_another(listener, at.clone()),
                None => unix::listen(at, listen.socket_mode.unwrap_or(SOCKET_MODE)).map_err(no)?,
            };
            listening.listener.set_nonblocking(true).map_err(no)?;
            Ok((listening, at.clone()))
        };
        let sockets = listen.sockets.iter().map(socket).collect::<Result<_, _>>()?;
        let raw = listen.raw.iter().map(raw).collect::<Result<_, _>>()?;
        let mut bound = Self { ipp, tls, sockets, lpr, raw };
        bound.add(handed).map_err(ListenError::Handed)?;
        Ok(bound)
    }

    /// Adds those that no setting names.
    fn add(&mut self, handed: Handed) -> io::Result<()> {
        for one in handed.unnamed() {
            match one {
                Unnamed::Ipp(listener) => self.ipp.push(bare(listener)?),
                Unnamed::Lpr(listener) => self.lpr.push(bare(listener)?),
                Unnamed::Socket(listener, path) => {
                    listener.set_nonblocking(true)?;
                    self.sockets.push((Listening::of_another(listener, path.clone()), path));
                }
            }
        }
        Ok(())
    }
}

/// What listens, as a server wants it.
fn bare(listener: TcpListener) -> io::Result<Bare> {
    set_backlog(&listener, BACKLOG)?;
    listener.set_nonblocking(true)?;
    let at = listener.local_addr()?;
    Ok((listener, at))
}

/// Takes a port for raw data.
pub(super) fn raw(at: SocketAddr) -> Result<Bare, ListenError> {
    let no = |source| ListenError::Listen { what: "raw data", at, source };
    let bound = TcpListener::bind(at).and_then(bare).map_err(no)?;
    // Nothing but the end of the connection says that a job is safe: until it is, that end
    // must not be in order, though this process be killed.
    set_reset_on_close(&bound.0, true).map_err(no)?;
    Ok(bound)
}
