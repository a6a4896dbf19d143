//! Users of this host by their names.

use std::ffi::{CStr, CString};
use std::io;
use std::os::raw::c_char;

use libc::{c_int, gid_t};

use crate::privileges::Identity;

/// The most bytes of what is known of a user: the system says what it needs, and a
/// directory that is broken may say anything.
const MOST: usize = 1 << 20;

/// The most groups of a user (`NGROUPS_MAX` in limits.h).
const MOST_GROUPS: usize = 65_536;

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
    /// That of a name, wherever this host knows users from (getpwnam(3), nsswitch.conf(5));
    /// nothing where there is none.
    ///
    /// # Errors
    /// Where that cannot be asked, or the name has a zero in it.
    pub fn named(name: &str) -> io::Result<Option<Self>> {
        let c_name = CString::new(name).map_err(io::Error::other)?;
        let mut words: Vec<c_char> = vec![0; 1_024];
        loop {
            // SAFETY: all zeros is a valid passwd: numbers and null pointers.
            let mut found: libc::passwd = unsafe { std::mem::zeroed() };
            let mut is_there = std::ptr::null_mut();
            // SAFETY: the name ends with a zero, and all that is written to is there with
            // the length that is stated.
            let refused = unsafe {
                libc::getpwnam_r(
                    c_name.as_ptr(),
                    &raw mut found,
                    words.as_mut_ptr(),
                    words.len(),
                    &raw mut is_there,
                )
            };
            match refused {
                0 if is_there.is_null() => return Ok(None),
                0 => {
                    // SAFETY: where something was found, its texts are in `words`, and each
                    // ends with a zero.
                    let home = unsafe { CStr::from_ptr(found.pw_dir) };
                    let home = home.to_string_lossy().into_owned();
                    let identity = Identity { user: found.pw_uid, group: found.pw_gid };
                    let groups = groups(&c_name, identity.group)?;
                    return Ok(Some(Self { name: name.to_owned(), identity, groups, home }));
                }
                libc::EINTR => {}
                libc::ERANGE if words.len() < MOST => words.resize(words.len() * 2, 0),
                // Some sources say so of names that they do not know (getpwnam(3)).
                libc::ENOENT | libc::ESRCH => return Ok(None),
                error => return Err(io::Error::from_raw_os_error(error)),
            }
        }
    }
}

/// All groups of a user.
fn groups(name: &CStr, own: u32) -> io::Result<Vec<u32>> {
    let mut groups: Vec<gid_t> = vec![0; 64];
    loop {
        let mut count = c_int::try_from(groups.len()).unwrap_or(c_int::MAX);
        // SAFETY: the name ends with a zero, and there is room for as many as are stated.
        let done =
            unsafe { libc::getgrouplist(name.as_ptr(), own, groups.as_mut_ptr(), &raw mut count) };
        let count = usize::try_from(count).unwrap_or(0);
        if done >= 0 {
            groups.truncate(count);
            return Ok(groups);
        }
        if groups.len() >= MOST_GROUPS {
            return Err(io::Error::other("the user has too many groups"));
        }
        groups.resize(count.max(groups.len() * 2).min(MOST_GROUPS), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_their_names() {
        let root = Account::named("root").unwrap().unwrap();
        assert_eq!(root.identity, Identity { user: 0, group: 0 });
        assert!(root.groups.contains(&0) && root.home.starts_with('/'), "{root:?}");
        assert_eq!(Account::named("no-such-user-anywhere").unwrap(), None);
        assert!(Account::named("a\0b").is_err());
    }
}
