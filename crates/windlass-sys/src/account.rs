//! Users of this host by their names, with everything needed to run as one.

use std::ffi::{CStr, CString};

use libc::passwd;

use crate::privileges::Identity;
use crate::users::{found, groups_of};

/// A user of this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The name.
    pub name: String,
    /// The user, and its own group.
    pub identity: Identity,
    /// All its groups, its own among them.
    pub groups: Vec<u32>,
    /// Its home folder.
    pub home: String,
}

impl Account {
    /// Looks a user up by name, in all of this host's sources (getpwnam(3), nsswitch.conf(5)).
    /// Returns `None` for an unknown name.
    pub fn named(name: &str) -> Option<Self> {
        let c_name = CString::new(name).ok()?;
        let ask = |entry: *mut passwd, room, length, result| {
            // SAFETY: the name ends, and the rest is there to be written.
            unsafe { libc::getpwnam_r(c_name.as_ptr(), entry, room, length, result) }
        };
        let (identity, home) = found(ask, |entry: &passwd| {
            // SAFETY: a folder that was found is a string that ends, in the room.
            let home = unsafe { CStr::from_ptr(entry.pw_dir) };
            let identity = Identity { user: entry.pw_uid, group: entry.pw_gid };
            (identity, home.to_string_lossy().into_owned())
        })?;
        let groups = groups_of(&c_name, identity.group)?;
        Some(Self { name: name.to_owned(), identity, groups, home })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_their_names() {
        let root = Account::named("root").unwrap();
        assert_eq!(root.identity, Identity { user: 0, group: 0 });
        assert!(root.groups.contains(&0) && root.home.starts_with('/'), "{root:?}");
        assert_eq!(Account::named("no-such-user-anywhere"), None);
        assert_eq!(Account::named("a\0b"), None);
    }
}
