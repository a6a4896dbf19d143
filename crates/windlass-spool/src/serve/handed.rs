//! Listening sockets of a service manager, which the server uses in place of its own.

use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use windlass_sys::activation::{self, HandedListener, HandedSocket};

use super::ListenError;

/// Name in a systemd unit of a socket for LPR whose address is in no setting.
const LPR: &str = "lpr";

/// Listening sockets that this process was started with.
#[derive(Debug, Default)]
pub struct HandedSockets(Vec<HandedSocket>);

/// A socket that no setting names, by its protocol.
#[derive(Debug)]
pub(super) enum UnnamedSocket {
    Ipp(TcpListener),
    Lpr(TcpListener),
    Socket(UnixListener, PathBuf),
}

impl HandedSockets {
    /// Takes the sockets. Only the first call gets any.
    ///
    /// # Errors
    /// A passed file is no listening socket.
    pub fn take() -> Result<Self, ListenError> {
        activation::take().map(Self).map_err(ListenError::Handed)
    }

    /// Returns whether there are no sockets.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the socket at an address.
    pub(super) fn at(&mut self, address: SocketAddr) -> Option<TcpListener> {
        let is_it = |one: &HandedSocket| match &one.socket {
            HandedListener::Tcp(listener) => listener.local_addr().is_ok_and(|at| at == address),
            HandedListener::Unix(_) => false,
        };
        let place = self.0.iter().position(is_it)?;
        match self.0.remove(place).socket {
            HandedListener::Tcp(listener) => Some(listener),
            HandedListener::Unix(_) => None,
        }
    }

    /// Takes the socket at a path.
    pub(super) fn at_path(&mut self, path: &Path) -> Option<UnixListener> {
        let is_it = |one: &HandedSocket| match &one.socket {
            HandedListener::Tcp(_) => false,
            HandedListener::Unix(listener) => path_of(listener).as_deref() == Some(path),
        };
        let place = self.0.iter().position(is_it)?;
        match self.0.remove(place).socket {
            HandedListener::Tcp(_) => None,
            HandedListener::Unix(listener) => Some(listener),
        }
    }

    /// Returns the sockets that are left. A Unix socket is for IPP, and so is an address unless its
    /// unit names it for LPR.
    pub(super) fn unnamed(self) -> impl Iterator<Item = UnnamedSocket> {
        self.0.into_iter().map(|one| match one.socket {
            HandedListener::Tcp(listener) if one.name == LPR => UnnamedSocket::Lpr(listener),
            HandedListener::Tcp(listener) => UnnamedSocket::Ipp(listener),
            HandedListener::Unix(listener) => {
                let path = path_of(&listener).unwrap_or_default();
                UnnamedSocket::Socket(listener, path)
            }
        })
    }
}

fn path_of(listener: &UnixListener) -> Option<PathBuf> {
    listener.local_addr().ok()?.as_pathname().map(Path::to_owned)
}
