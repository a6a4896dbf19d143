//! Listening sockets: addresses and Unix sockets, opened before any client is served.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;

use windlass_spool_core::Peer;
use windlass_sys::socket::{set_backlog, set_reset_on_close};
use windlass_sys::unix::{self, BoundListener};

use super::handed::{HandedSockets, UnnamedSocket};
use super::stream::Socket;
use super::{ListenAddresses, ListenError};

/// Default file mode of a Unix socket: all users may connect, as with CUPS. The kernel tells who a
/// client is.
const SOCKET_MODE: u32 = 0o666;

/// Maximum number of connections that wait to be accepted, if the system allows it: as many as
/// arrive at once with a hundred printers.
const BACKLOG: u16 = 4_096;

/// A listening socket.
#[derive(Debug)]
pub(super) enum Listener {
    Tcp(TcpListener),
    Unix(BoundListener),
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
    /// Accepts the next client, and returns its address. A local user is given as a number for now,
    /// because looking up the name may take long.
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

/// Open ports that do not serve clients yet. The rights to open them are not needed any more.
#[derive(Debug)]
pub struct BoundSockets {
    pub(super) ipp: Vec<TcpPort>,
    pub(super) tls: Vec<TcpPort>,
    pub(super) sockets: Vec<(BoundListener, PathBuf)>,
    pub(super) lpr: Vec<TcpPort>,
    pub(super) raw: Vec<(TcpPort, String)>,
}

/// A listening socket and its address.
pub(super) type TcpPort = (TcpListener, SocketAddr);

impl BoundSockets {
    /// Opens all ports: a server with only some of them is not started. Sockets of the service
    /// manager are used for the IPP and LPR addresses that they match; the others are added.
    ///
    /// # Errors
    /// A port cannot be opened.
    pub fn new(listen: &ListenAddresses, mut handed: HandedSockets) -> Result<Self, ListenError> {
        let mut each = |what, all: &[SocketAddr]| -> Result<Vec<TcpPort>, ListenError> {
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
                Some(listener) => BoundListener::of_another(listener, at.clone()),
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

    /// Adds the sockets that no setting names.
    fn add(&mut self, handed: HandedSockets) -> io::Result<()> {
        for one in handed.unnamed() {
            match one {
                UnnamedSocket::Ipp(listener) => self.ipp.push(bare(listener)?),
                UnnamedSocket::Lpr(listener) => self.lpr.push(bare(listener)?),
                UnnamedSocket::Socket(listener, path) => {
                    listener.set_nonblocking(true)?;
                    self.sockets.push((BoundListener::of_another(listener, path.clone()), path));
                }
            }
        }
        Ok(())
    }
}

/// Prepares a listening socket for the server.
fn bare(listener: TcpListener) -> io::Result<TcpPort> {
    set_backlog(&listener, BACKLOG)?;
    listener.set_nonblocking(true)?;
    let at = listener.local_addr()?;
    Ok((listener, at))
}

/// Opens a port for raw data.
pub(super) fn raw(at: SocketAddr) -> Result<TcpPort, ListenError> {
    let no = |source| ListenError::Listen { what: "raw data", at, source };
    let bound = TcpListener::bind(at).and_then(bare).map_err(no)?;
    // Only the end of the connection says that a job is safe. Until then, the connection must end
    // with a reset, even if this process is killed.
    set_reset_on_close(&bound.0, true).map_err(no)?;
    Ok(bound)
}
