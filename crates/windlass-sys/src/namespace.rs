//! A private network namespace: interfaces, addresses and ports of its own, without a path to the
//! host's.
//!
//! No process has to live in it. A [`Namespace`] holds it by a file descriptor, so the namespace
//! ends with its value. If the program is killed, the namespace ends with the last process in it.
//! A namespace has neither name nor mount, so nothing of it is seen from outside.
//!
//! ```no_run
//! use std::process::Command;
//! use windlass_sys::namespace::Namespace;
//! use windlass_sys::tun::Tun;
//!
//! let namespace = Namespace::new()?;
//! let tun = Tun::open_in(&namespace, "tun0")?;
//! namespace.set_mtu("tun0", 1_500)?;
//! namespace.add_address("tun0", [192, 0, 2, 1].into(), 24)?;
//! namespace.bring_up("tun0")?;
//! let mut command = Command::new("ping");
//! namespace.enter(&mut command);
//! let mut child = command.arg("192.0.2.2").spawn()?;
//! // … packets come and go by `tun` …
//! # child.wait()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod entering;
mod fork_helper;
mod init;
mod interface;
mod link;

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::process::Command;

use fork_helper::{fork_helper, open, unshare, write};
pub(crate) use interface::{ask, named};
use rustix::fs::OFlags;
use rustix::net::{AddressFamily, SocketType};

use crate::privileges::Identity;
use crate::socket;

/// A network namespace that belongs to this program.
#[derive(Debug)]
pub struct Namespace {
    /// The user namespace that gives the rights over it, if this program lacks them.
    user: Option<OwnedFd>,
    net: OwnedFd,
}

/// Step at which the system refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[repr(u32)]
pub enum NamespaceStep {
    /// Making a user namespace, which gives the right to make a network namespace.
    #[error("cannot make a user namespace")]
    UserNamespace = 1,
    /// Mapping this process's user and group into it.
    #[error("cannot take the user into a user namespace")]
    MapIds,
    /// Making a network namespace.
    #[error("cannot make a network namespace")]
    NetNamespace,
    /// Entering a namespace.
    #[error("cannot enter the network namespace")]
    Enter,
    /// Starting a process for one of these steps, or reading its result.
    #[error("cannot start a process in the network namespace")]
    ForkHelper,
    /// Opening a file as seen in the namespace.
    #[error("cannot open a file in the network namespace")]
    Open,
    /// Opening the TUN device.
    #[error("cannot open /dev/net/tun")]
    OpenTun,
    /// Making a TUN interface.
    #[error("cannot make a TUN interface")]
    MakeTun,
    /// Setting up an interface.
    #[error("cannot set up an interface")]
    Interface,
    /// Opening a socket.
    #[error("cannot open a socket in the network namespace")]
    Socket,
}

impl NamespaceStep {
    const ALL: [Self; 10] = [
        Self::UserNamespace,
        Self::MapIds,
        Self::NetNamespace,
        Self::Enter,
        Self::ForkHelper,
        Self::Open,
        Self::OpenTun,
        Self::MakeTun,
        Self::Interface,
        Self::Socket,
    ];

    fn of(number: u32) -> Self {
        Self::ALL.into_iter().find(|step| *step as u32 == number).unwrap_or(Self::ForkHelper)
    }
}

/// Refusal of a step by the system.
pub type Refusal = crate::refused::Refusal<NamespaceStep>;

/// This process's user and group, in the form of `/proc/self/uid_map` and `gid_map`.
struct Ids {
    user: CString,
    group: CString,
}

impl Ids {
    fn own() -> io::Result<Self> {
        let Identity { user, group } = Identity::own();
        let map = |id: u32| CString::new(format!("{id} {id} 1")).map_err(io::Error::other);
        Ok(Self { user: map(user)?, group: map(group)? })
    }
}

/// Enters a new network namespace, and returns its user namespace and itself. For fork helpers.
fn net_namespace() -> Result<[OwnedFd; 2], Refusal> {
    const STEP: NamespaceStep = NamespaceStep::NetNamespace;
    unshare(libc::CLONE_NEWNET, STEP)?;
    let held = |path| open(path, OFlags::RDONLY, STEP);
    Ok([held(c"/proc/self/ns/user")?, held(c"/proc/self/ns/net")?])
}

impl Namespace {
    /// Makes a namespace with `lo` alone, which is up.
    ///
    /// A process with the right to do so (root) makes the namespace directly. All others get the
    /// right from a user namespace, in which they keep their user.
    ///
    /// # Errors
    /// Fails if the system allows neither: the step tells which was refused last.
    pub fn new() -> Result<Self, Refusal> {
        let made = Self::make(None).or_else(|refused| {
            if refused.error.raw_os_error() != Some(libc::EPERM) {
                return Err(refused);
            }
            Self::make(Some(&Ids::own().map_err(Refusal::at(NamespaceStep::MapIds))?))
        })?;
        made.bring_up("lo")?;
        Ok(made)
    }

    /// Makes another namespace. If this one gets its rights from a user namespace, the other
    /// belongs to the same user namespace. So interfaces may move between the two
    /// ([`Self::add_veth`]).
    ///
    /// # Errors
    /// Fails if the system does not allow it.
    pub fn beside(&self) -> Result<Self, Refusal> {
        if self.user.is_none() {
            return Self::new();
        }
        let [user, net] = self.inside(net_namespace)?;
        let made = Self { user: Some(user), net };
        made.bring_up("lo")?;
        Ok(made)
    }

    /// Opens the namespace of a file, such as `/run/netns/NAME` or `/proc/PID/ns/net`. Using it
    /// takes the right to enter it (`CAP_SYS_ADMIN`).
    ///
    /// # Errors
    /// Fails if the file cannot be opened.
    pub fn at(path: &Path) -> Result<Self, Refusal> {
        let net = File::open(path).map_err(Refusal::at(NamespaceStep::Open))?;
        Ok(Self { user: None, net: net.into() })
    }

    fn make(ids: Option<&Ids>) -> Result<Self, Refusal> {
        let [user, net] = fork_helper(|| {
            if let Some(ids) = ids {
                unshare(libc::CLONE_NEWUSER, NamespaceStep::UserNamespace)?;
                // Without this the group may not be mapped (user_namespaces(7)).
                write(c"/proc/self/setgroups", c"deny", NamespaceStep::MapIds)?;
                write(c"/proc/self/uid_map", &ids.user, NamespaceStep::MapIds)?;
                write(c"/proc/self/gid_map", &ids.group, NamespaceStep::MapIds)?;
            }
            net_namespace()
        })?;
        Ok(Self { user: ids.map(|_| user), net })
    }

    /// Returns whether the rights over it come from a user namespace.
    pub const fn is_unprivileged(&self) -> bool {
        self.user.is_some()
    }

    /// Lets a command run in here: with the network of this namespace, and as this program's user.
    /// In a user namespace the command may also set up the network and capture packets.
    ///
    /// Nothing of the command outlives it: all processes that it started are killed when it ends.
    /// The command itself is killed when the thread that starts it ends. So it has a namespace of
    /// processes, too: it is process 2 there, and cannot see processes outside.
    pub fn enter(&self, command: &mut Command) {
        let user = self.user.as_ref().map(AsRawFd::as_raw_fd);
        entering::prepare(command, user, self.net.as_raw_fd());
    }

    /// Reads a file as seen in here, such as `/proc/net/dev`.
    ///
    /// # Errors
    /// Fails if the file cannot be opened or read.
    pub fn read(&self, path: &CStr) -> Result<String, Refusal> {
        let mut text = String::new();
        let mut file = self.file(path, OFlags::RDONLY, NamespaceStep::Open)?;
        file.read_to_string(&mut text).map_err(Refusal::at(NamespaceStep::Open))?;
        Ok(text)
    }

    /// Writes a setting of this namespace, below `/proc/sys/net`.
    ///
    /// # Errors
    /// Fails if the file cannot be opened or written.
    pub fn set(&self, path: &CStr, value: &str) -> Result<(), Refusal> {
        let mut file = self.file(path, OFlags::WRONLY, NamespaceStep::Open)?;
        file.write_all(value.as_bytes()).map_err(Refusal::at(NamespaceStep::Open))
    }

    /// Opens a file as seen in here.
    pub(crate) fn file(
        &self,
        path: &CStr,
        flags: OFlags,
        step: NamespaceStep,
    ) -> Result<File, Refusal> {
        let [file] = self.inside(|| Ok([open(path, flags, step)?]))?;
        Ok(File::from(file))
    }

    /// Opens a socket with the network of this namespace.
    pub(crate) fn socket(
        &self,
        family: AddressFamily,
        kind: SocketType,
        step: NamespaceStep,
    ) -> Result<OwnedFd, Refusal> {
        let open = || Ok([socket::open(family, kind).map_err(Refusal::at(step))?]);
        self.inside(open).map(|[socket]| socket)
    }

    /// Runs work in here, in a thread of its own: for work that a forked process may not do, such
    /// as allocating memory. The thread needs the right to enter directly, as it cannot enter a user
    /// namespace.
    pub(crate) fn in_a_thread<T: Send>(
        &self,
        work: impl FnOnce() -> T + Send,
    ) -> Result<T, Refusal> {
        let entered = std::thread::scope(|scope| {
            let thread = scope.spawn(|| entering::go(None, self.net.as_raw_fd()).map(|()| work()));
            thread.join()
        });
        match entered {
            Ok(done) => done.map_err(Refusal::at(NamespaceStep::Enter)),
            Err(panicked) => std::panic::resume_unwind(panicked),
        }
    }

    /// Runs work in here, in a process of its own.
    fn inside<const N: usize>(
        &self,
        work: impl FnOnce() -> Result<[OwnedFd; N], Refusal>,
    ) -> Result<[OwnedFd; N], Refusal> {
        fork_helper(|| {
            let user = self.user.as_ref().map(AsRawFd::as_raw_fd);
            entering::go(user, self.net.as_raw_fd()).map_err(Refusal::at(NamespaceStep::Enter))?;
            work()
        })
    }
}

#[cfg(test)]
#[path = "namespace/namespace_tests.rs"]
mod tests;
