//! Privileges of root that a server keeps; it drops the others for good.

use std::io;

use libc::{gid_t, uid_t};
use rustix::thread::{self, CapabilitySet, CapabilitySets};

use crate::account::Account;
use crate::call::checked;
use crate::privileges::drop_bounds_but;

/// A privilege of root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// To read, write and replace files whoever they belong to (`CAP_DAC_OVERRIDE` and
    /// `CAP_FOWNER` in capabilities(7)).
    Files,
    /// To listen at ports below 1024 (`CAP_NET_BIND_SERVICE`).
    LowPorts,
    /// To run programs as other users, and to end them (`CAP_SETUID`, `CAP_SETGID` and
    /// `CAP_KILL`).
    Others,
}

impl Right {
    const fn capabilities(self) -> CapabilitySet {
        match self {
            Self::Files => CapabilitySet::DAC_OVERRIDE.union(CapabilitySet::FOWNER),
            Self::LowPorts => CapabilitySet::NET_BIND_SERVICE,
            Self::Others => {
                CapabilitySet::SETUID.union(CapabilitySet::SETGID).union(CapabilitySet::KILL)
            }
        }
    }
}

/// Drops all privileges of this process but these, and changes to a user if one is named. Both are
/// for good, as no program that it runs regains any. The call must come before there is another
/// thread, as each thread has privileges of its own.
///
/// # Errors
/// Fails if this process may not change to that user.
pub fn keep_only(rights: &[Right], user: Option<&Account>) -> io::Result<()> {
    let wanted = rights.iter().map(|right| right.capabilities());
    let has = thread::capabilities(None)?.permitted;
    let kept = has & wanted.fold(CapabilitySet::empty(), CapabilitySet::union);
    drop_bounds_but(kept);
    if let Some(user) = user {
        let (own, group): (uid_t, gid_t) = (user.identity.user, user.identity.group);
        // Otherwise the change of user drops all capabilities.
        thread::set_keep_capabilities(true)?;
        // SAFETY: each takes numbers only, and a list of groups with its length.
        unsafe {
            checked(libc::setgroups(user.groups.len(), user.groups.as_ptr()))?;
            checked(libc::setresgid(group, group, group))?;
            checked(libc::setresuid(own, own, own))?;
        }
        thread::set_keep_capabilities(false)?;
    }
    thread::clear_ambient_capability_set()?;
    let inheritable = CapabilitySet::empty();
    thread::set_capabilities(
        None,
        CapabilitySets { effective: kept, permitted: kept, inheritable },
    )?;
    Ok(thread::set_no_new_privs(true)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privileges::may_become_others;

    #[test]
    fn a_thread_keeps_the_rights_that_it_names_and_no_others() {
        let others = thread::capabilities(None).unwrap();
        std::thread::spawn(|| {
            let has = thread::capabilities(None).unwrap().permitted;
            keep_only(&[Right::LowPorts, Right::Others], None).unwrap();
            let left = thread::capabilities(None).unwrap();
            let named = Right::LowPorts.capabilities() | Right::Others.capabilities();
            assert_eq!((left.effective, left.permitted), (has & named, has & named));
            assert!(left.inheritable.is_empty() && thread::no_new_privs().unwrap());
            assert_eq!(may_become_others(), has.contains(CapabilitySet::SETUID));
            // Dropped privileges do not come back.
            keep_only(&[Right::Files], None).unwrap();
            assert!(thread::capabilities(None).unwrap().permitted.is_empty());
        })
        .join()
        .unwrap();
        assert_eq!(thread::capabilities(None).unwrap(), others, "only that thread gave them up");
    }
}
