//! Sockets that a service manager listens at: the server takes them in place of its own.

use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use windlass_sys::activation::{self, HandedListener, HandedSocket};

use super::ListenError;

/// What a unit calls a socket where LPR is spoken and no setting names its address.
const LPR: &str = "lpr";

/// Sockets at which is listened already, as this process was started with them.
#[derive(Debug, Default)]
pub struct Handed(Vec<HandedSocket>);

/// One that no setting names, by what is spoken there.
#[derive(Debug)]
pub(super) enum Unnamed {
    Ipp(TcpListener),
    Lpr(TcpListener),
    Socket(UnixListener, PathBuf),
}

impl Handed {
    /// Takes them. Only the first call gets any.
    ///
    /// # Errors
    /// Where what was handed on is no socket at which somebody listens.
    pub fn take() -> Result<Self, ListenError> {
        activation::take().map(Self).map_err(ListenError::Handed)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The one at an address.
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

    /// The one at a path.
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

    /// Those that are left: a Unix socket is for IPP, and so is an address whose unit does
    /// not call it LPR's.
    pub(super) fn unnamed(self) -> impl Iterator<Item = Unnamed> {
        self.0.into_iter().map(|one| match one.socket {
            HandedListener::Tcp(listener) if one.name == LPR => Unnamed::Lpr(listener),
            HandedListener::Tcp(listener) => Unnamed::Ipp(listener),
            HandedListener::Unix(listener) => {
                let path = path_of(&listener).unwrap_or_default();
                Unnamed::Socket(listener, path)
            }
        })
    }
}

fn path_of(listener: &UnixListener) -> Option<PathBuf> {
    listener.local_addr().ok()?.as_pathname().map(Path::to_owned)
}
