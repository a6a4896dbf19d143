//! Dropping privileges that are no longer needed.

use std::io;

use libc::{gid_t, uid_t};
use rustix::process::{getegid, geteuid};
use rustix::thread::{self, CapabilitySet, CapabilitySets};

use crate::call::checked;

/// Flag of open(2) that refuses a path which ends in a symbolic link (`O_NOFOLLOW`).
pub const NO_LINKS: i32 = libc::O_NOFOLLOW;

/// A user and a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// User ID.
    pub user: u32,
    /// Group ID.
    pub group: u32,
}

impl Identity {
    /// Returns the effective user and group of this process.
    pub fn own() -> Self {
        Self { user: geteuid().as_raw(), group: getegid().as_raw() }
    }
}

/// Returns whether this process may run programs as other users: as root, or with root's
/// capabilities for that (`CAP_SETUID` and `CAP_SETGID` in capabilities(7)).
pub fn may_become_others() -> bool {
    let needed = CapabilitySet::SETUID | CapabilitySet::SETGID;
    thread::capabilities(None).is_ok_and(|sets| sets.effective.contains(needed))
}

/// Changes to another user for good, in all threads, with that user's group alone. The calling
/// thread can regain no capability.
///
/// # Errors
/// Fails if this process may not.
pub fn become_user(who: Identity) -> io::Result<()> {
    let (user, group): (uid_t, gid_t) = (who.user, who.group);
    // This takes a capability that is lost with the user.
    drop_bounds();
    // SAFETY: each takes numbers only, and a list of no groups.
    unsafe {
        checked(libc::setgroups(0, std::ptr::null()))?;
        checked(libc::setresgid(group, group, group))?;
        checked(libc::setresuid(user, user, user)).map(drop)
    }
}

/// Drops every capability of the calling thread, and of threads that it starts later, for good.
/// Running another program regains none either (capabilities(7), `PR_SET_NO_NEW_PRIVS` in
/// prctl(2)). Open files stay open. Other threads keep their capabilities.
///
/// # Errors
/// Fails if the kernel refuses; no privilege is needed.
pub fn give_up() -> io::Result<()> {
    let none = CapabilitySet::empty();
    drop_bounds();
    thread::clear_ambient_capability_set()?;
    thread::set_no_new_privs(true)?;
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    Ok(thread::set_capabilities(None, sets)?)
}

/// Empties the bounding set of capabilities, if this thread may: programs regain no capability
/// outside that set.
fn drop_bounds() {
    drop_bounds_but(CapabilitySet::empty());
}

/// Removes all but some capabilities from the bounding set.
pub(crate) fn drop_bounds_but(kept: CapabilitySet) {
    // The highest number is unknown here. The kernel refuses the first number without a capability,
    // and every number if this thread may not.
    let all = (0..u64::BITS).map(|number| CapabilitySet::from_bits_retain(1 << number));
    for capability in all.filter(|one| !kept.contains(*one)) {
        if thread::remove_capability_from_bounding_set(capability).is_err() {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_gave_up_its_rights_has_none() {
        let others = thread::capabilities(None).unwrap();
        std::thread::spawn(|| {
            give_up().unwrap();
            let left = thread::capabilities(None).unwrap();
            assert!((left.effective | left.permitted | left.inheritable).is_empty());
            // A thread without capabilities is no error.
            give_up().unwrap();
            let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
            let line = |name: &str| {
                let line = status.lines().find(|line| line.starts_with(name)).unwrap();
                line.split_ascii_whitespace().nth(1).unwrap().to_owned()
            };
            assert_eq!(line("CapEff:"), "0000000000000000");
            assert_eq!(line("CapAmb:"), "0000000000000000");
            assert_eq!(line("NoNewPrivs:"), "1");
        })
        .join()
        .unwrap();
        assert_eq!(thread::capabilities(None).unwrap(), others, "only that thread gave them up");
    }
}
