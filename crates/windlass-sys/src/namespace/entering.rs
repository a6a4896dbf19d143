//! Entering a namespace, in a process that was forked for it.

use std::io;
use std::os::fd::RawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::thread::{self, CapabilitySet};

use super::init::as_command;
use crate::call::checked;

/// Capabilities that a command keeps in a user namespace: low ports, setting up the namespace's
/// network, and raw sockets, as ping and tcpdump open them.
const KEPT: [CapabilitySet; 3] =
    [CapabilitySet::NET_BIND_SERVICE, CapabilitySet::NET_ADMIN, CapabilitySet::NET_RAW];

/// Enters the namespaces, by system calls only.
pub(super) fn go(user: Option<RawFd>, net: RawFd) -> io::Result<()> {
    if let Some(user) = user {
        // SAFETY: it takes no pointer, and the process has one thread.
        checked(unsafe { libc::setns(user, libc::CLONE_NEWUSER) })?;
    }
    // SAFETY: it takes no pointer. Only this thread goes.
    checked(unsafe { libc::setns(net, libc::CLONE_NEWNET) }).map(drop)
}

/// Sets up a command to run in the namespaces. The descriptors must be open when it starts.
pub(super) fn prepare(command: &mut Command, user: Option<RawFd>, net: RawFd) {
    // SAFETY: it only asks.
    let program = unsafe { libc::getpid() };
    let enter = move || {
        go(user, net)?;
        if user.is_some() {
            keep_rights()?;
        }
        as_command(program)
    };
    // SAFETY: what runs between fork and exec makes system calls only.
    unsafe { command.pre_exec(enter) };
}

/// Keeps capabilities beyond exec. In a user namespace the process has all of them, but a user
/// other than root loses them there.
fn keep_rights() -> io::Result<()> {
    let mut sets = thread::capabilities(None)?;
    for right in KEPT {
        sets.inheritable |= sets.permitted & right;
    }
    thread::set_capabilities(None, sets)?;
    for right in KEPT {
        thread::configure_capability_in_ambient_set(right, true)?;
    }
    Ok(())
}
