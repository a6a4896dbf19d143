//! Giving up rights that are not needed any more.

use std::io;

use libc::{gid_t, uid_t};
use rustix::process::{getegid, geteuid};
use rustix::thread::{self, CapabilitySet, CapabilitySets};

use crate::call::checked;

/// The flag by which a file is not opened where its path ends in a symbolic link
/// (`O_NOFOLLOW` in open(2)).
pub const NO_LINKS: i32 = libc::O_NOFOLLOW;

/// A user and a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The user's number.
    pub user: u32,
    /// The group's number.
    pub group: u32,
}

impl Identity {
    /// Whom this process acts for.
    pub fn own() -> Self {
        Self { user: geteuid().as_raw(), group: getegid().as_raw() }
    }
}

/// Whether this process may run programs as other users: it is root, or has what root has
/// for that (`CAP_SETUID` and `CAP_SETGID` in capabilities(7)).
pub fn may_become_others() -> bool {
    let needed = CapabilitySet::SETUID | CapabilitySet::SETGID;
    thread::capabilities(None).is_ok_and(|sets| sets.effective.contains(needed))
}

/// Becomes somebody else for good, in all threads, with no other group than
/// that one. The calling thread can get no capability back.
///
/// # Errors
/// Where this process may not.
pub fn become_user(who: Identity) -> io::Result<()> {
    let (user, group): (uid_t, gid_t) = (who.user, who.group);
    // It takes a capability that goes with the user.
    drop_bounds();
    // SAFETY: each takes numbers only, and a list of no groups.
    unsafe {
        checked(libc::setgroups(0, std::ptr::null()))?;
        checked(libc::setresgid(group, group, group))?;
        checked(libc::setresuid(user, user, user)).map(drop)
    }
}

/// Gives up every capability of the calling thread and of those that it starts
/// later, for good: it gets none back, not by running another program either
/// (capabilities(7), `PR_SET_NO_NEW_PRIVS` in prctl(2)). What is open stays
/// open. Other threads keep theirs.
///
/// # Errors
/// Where the kernel refuses. It does not for want of rights.
pub fn give_up() -> io::Result<()> {
    let none = CapabilitySet::empty();
    drop_bounds();
    thread::clear_ambient_capability_set()?;
    thread::set_no_new_privs(true)?;
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    Ok(thread::set_capabilities(None, sets)?)
}

/// Empties the set of capabilities that a program may bring back, where this
/// thread may.
fn drop_bounds() {
    drop_bounds_but(CapabilitySet::empty());
}

/// The same but for some of them.
pub(crate) fn drop_bounds_but(kept: CapabilitySet) {
    // The highest number is not known here: the kernel refuses the first that it
    // has no capability for, and all of them where this thread may not.
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
            // It does not find fault with having none.
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
