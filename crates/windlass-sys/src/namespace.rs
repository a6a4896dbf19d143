//! A private network namespace: interfaces, addresses and ports of its own, and
//! no way to those of the host.
//!
//! No process has to live in it. A [`Namespace`] holds it by a file descriptor,
//! so it goes with its value, or, where the program is killed, with the last
//! process that runs in it. Nothing of it is seen from outside: it has no name
//! and no mount.
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
    /// The user namespace that gives the rights over it, where this program
    /// has none by itself.
    user: Option<OwnedFd>,
    net: OwnedFd,
}

/// What was being done when the system refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[repr(u32)]
pub enum NamespaceStep {
    /// Making a user namespace, which gives the rights to make the other one.
    #[error("cannot make a user namespace")]
    UserNamespace = 1,
    /// Taking over one's own user and group into it.
    #[error("cannot take the user into a user namespace")]
    MapIds,
    /// Making a network namespace.
    #[error("cannot make a network namespace")]
    NetNamespace,
    /// Going into a namespace.
    #[error("cannot enter the network namespace")]
    Enter,
    /// Starting a process for one of these steps, or hearing from it.
    #[error("cannot start a process in the network namespace")]
    ForkHelper,
    /// Opening a file as it is seen in the namespace.
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

/// The system refused a step.
pub type Refused = crate::refused::Refused<NamespaceStep>;

/// One's own user and group, as `/proc/self/uid_map` and `gid_map` take them.
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

/// Goes into a new network namespace, and gives its user namespace and itself. For
/// fork helpers.
fn net_namespace() -> Result<[OwnedFd; 2], Refused> {
    const STEP: NamespaceStep = NamespaceStep::NetNamespace;
    unshare(libc::CLONE_NEWNET, STEP)?;
    let held = |path| open(path, OFlags::RDONLY, STEP);
    Ok([held(c"/proc/self/ns/user")?, held(c"/proc/self/ns/net")?])
}

impl Namespace {
    /// Makes a namespace in which only `lo` is there, and up.
    ///
    /// Who may make one as they are (root) does. All others get the rights from
    /// a user namespace, in which they stay who they are.
    ///
    /// # Errors
    /// Where the system allows neither: the step says which was refused last.
    pub fn new() -> Result<Self, Refused> {
        let made = Self::make(None).or_else(|refused| {
            if refused.error.raw_os_error() != Some(libc::EPERM) {
                return Err(refused);
            }
            Self::make(Some(&Ids::own().map_err(Refused::at(NamespaceStep::MapIds))?))
        })?;
        made.bring_up("lo")?;
        Ok(made)
    }

    /// Makes another namespace that belongs to the same user namespace, where
    /// this one has its rights from one: so interfaces may go from one to the
    /// other ([`Self::add_veth`]).
    ///
    /// # Errors
    /// Where the system does not allow it.
    pub fn beside(&self) -> Result<Self, Refused> {
        if self.user.is_none() {
            return Self::new();
        }
        let [user, net] = self.inside(net_namespace)?;
        let made = Self { user: Some(user), net };
        made.bring_up("lo")?;
        Ok(made)
    }

    /// The namespace that a file stands for, such as `/run/netns/NAME` or
    /// `/proc/PID/ns/net`. To do anything in it takes the right to enter it
    /// (`CAP_SYS_ADMIN`).
    ///
    /// # Errors
    /// Where the file cannot be opened.
    pub fn at(path: &Path) -> Result<Self, Refused> {
        let net = File::open(path).map_err(Refused::at(NamespaceStep::Open))?;
        Ok(Self { user: None, net: net.into() })
    }

    fn make(ids: Option<&Ids>) -> Result<Self, Refused> {
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

    /// Whether the rights over it come from a user namespace.
    pub const fn is_unprivileged(&self) -> bool {
        self.user.is_some()
    }

    /// Lets a command run in here: with the network of this namespace, and as
    /// the user that this program runs as. In a user namespace it may set up
    /// the namespace's network and capture there, too.
    ///
    /// Nothing of the command outlives it: what it has started is killed when
    /// it ends. The command itself is killed when the thread that starts it
    /// ends, however it ends. So it has a namespace of processes, too: it sees
    /// itself as number 2, and cannot see those outside.
    pub fn enter(&self, command: &mut Command) {
        let user = self.user.as_ref().map(AsRawFd::as_raw_fd);
        entering::prepare(command, user, self.net.as_raw_fd());
    }

    /// Reads a file as it is seen in here, such as `/proc/net/dev`.
    ///
    /// # Errors
    /// Where it cannot be opened or read.
    pub fn read(&self, path: &CStr) -> Result<String, Refused> {
        let mut text = String::new();
        let mut file = self.file(path, OFlags::RDONLY, NamespaceStep::Open)?;
        file.read_to_string(&mut text).map_err(Refused::at(NamespaceStep::Open))?;
        Ok(text)
    }

    /// Writes a setting that belongs to this namespace, below `/proc/sys/net`.
    ///
    /// # Errors
    /// Where it cannot be opened or written.
    pub fn set(&self, path: &CStr, value: &str) -> Result<(), Refused> {
        let mut file = self.file(path, OFlags::WRONLY, NamespaceStep::Open)?;
        file.write_all(value.as_bytes()).map_err(Refused::at(NamespaceStep::Open))
    }

    /// Opens a file as it is seen in here.
    pub(crate) fn file(
        &self,
        path: &CStr,
        flags: OFlags,
        step: NamespaceStep,
    ) -> Result<File, Refused> {
        let [file] = self.inside(|| Ok([open(path, flags, step)?]))?;
        Ok(File::from(file))
    }

    /// Opens a socket that has the network of this namespace.
    pub(crate) fn socket(
        &self,
        family: AddressFamily,
        kind: SocketType,
        step: NamespaceStep,
    ) -> Result<OwnedFd, Refused> {
        let open = || Ok([socket::open(family, kind).map_err(Refused::at(step))?]);
        self.inside(open).map(|[socket]| socket)
    }

    /// Does a piece of work in here, in a thread of its own: for what no process
    /// that was forked may do, as to ask for memory. It needs the right to enter
    /// by itself: a thread cannot go into a user namespace.
    pub(crate) fn in_a_thread<T: Send>(
        &self,
        work: impl FnOnce() -> T + Send,
    ) -> Result<T, Refused> {
        let entered = std::thread::scope(|scope| {
            let thread = scope.spawn(|| entering::go(None, self.net.as_raw_fd()).map(|()| work()));
            thread.join()
        });
        match entered {
            Ok(done) => done.map_err(Refused::at(NamespaceStep::Enter)),
            Err(panicked) => std::panic::resume_unwind(panicked),
        }
    }

    /// Does a piece of work in here, in a process of its own.
    fn inside<const N: usize>(
        &self,
        work: impl FnOnce() -> Result<[OwnedFd; N], Refused>,
    ) -> Result<[OwnedFd; N], Refused> {
        fork_helper(|| {
            let user = self.user.as_ref().map(AsRawFd::as_raw_fd);
            entering::go(user, self.net.as_raw_fd()).map_err(Refused::at(NamespaceStep::Enter))?;
            work()
        })
    }
}

#[cfg(test)]
#[path = "namespace/namespace_tests.rs"]
mod tests;
