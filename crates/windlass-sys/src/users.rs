//! Users and groups of this host by their numbers, as the system's name service has them
//! (`getpwuid_r(3)`, `getgrnam_r(3)`, `getgrouplist(3)`).

use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;
use std::ptr::null_mut;

use libc::{c_char, c_int, gid_t, group, passwd};

/// Maximum bytes of the entry of a user or a group: groups with thousands of members have long
/// ones.
const MAX_BYTES: usize = 1 << 20;

/// Maximum number of groups of a user (`NGROUPS_MAX` of Linux).
const MAX_GROUPS: usize = 65_536;

/// A user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The name.
    pub name: String,
    /// ID of its primary group.
    pub group: u32,
}

/// Calls `ask` with ever more room, and passes the entry found to `with`.
pub(crate) fn found<T, R>(
    ask: impl Fn(*mut T, *mut c_char, usize, *mut *mut T) -> c_int,
    with: impl FnOnce(&T) -> R,
) -> Option<R> {
    let mut room: Vec<c_char> = vec![0; 4_096];
    loop {
        let mut entry = MaybeUninit::<T>::zeroed();
        let mut result = null_mut();
        let error = ask(entry.as_mut_ptr(), room.as_mut_ptr(), room.len(), &raw mut result);
        match error {
            libc::ERANGE if room.len() < MAX_BYTES => room.resize(room.len() * 4, 0),
            libc::EINTR => {}
            // SAFETY: it is none, or the entry, which was filled in and lives.
            _ => return unsafe { result.as_ref() }.map(with),
        }
    }
}

/// Returns the user of an ID; `None` if there is none.
pub fn user(number: u32) -> Option<User> {
    let ask = |entry: *mut passwd, room, length, result| {
        // SAFETY: the entry, the room and the place of the result are there to be written.
        unsafe { libc::getpwuid_r(number, entry, room, length, result) }
    };
    found(ask, |entry: &passwd| {
        // SAFETY: a name that was found is a string that ends, in the room.
        let name = unsafe { CStr::from_ptr(entry.pw_name) };
        User { name: name.to_string_lossy().into_owned(), group: entry.pw_gid }
    })
}

/// Returns the ID of a group; `None` if there is no such group.
pub fn group_number(name: &str) -> Option<u32> {
    let name = CString::new(name).ok()?;
    let ask = |entry: *mut group, room, length, result| {
        // SAFETY: the name ends, and the rest is there to be written.
        unsafe { libc::getgrnam_r(name.as_ptr(), entry, room, length, result) }
    };
    found(ask, |entry: &group| entry.gr_gid)
}

/// Returns whether a user is in a group: as the primary group, or among its members.
pub fn is_in_group(user: &User, group: &str) -> bool {
    let Some(wanted) = group_number(group) else { return false };
    if user.group == wanted {
        return true;
    }
    let Ok(name) = CString::new(user.name.as_str()) else { return false };
    groups_of(&name, user.group).is_some_and(|groups| groups.contains(&wanted))
}

/// Returns all groups of a user, with the primary one; `None` if there are too many.
pub(crate) fn groups_of(name: &CStr, first: u32) -> Option<Vec<u32>> {
    let mut groups: Vec<gid_t> = vec![0; 64];
    loop {
        let mut count = c_int::try_from(groups.len()).unwrap_or(c_int::MAX);
        // SAFETY: the name ends, and there is room for so many groups.
        let done = unsafe {
            libc::getgrouplist(name.as_ptr(), first, groups.as_mut_ptr(), &raw mut count)
        };
        let count = usize::try_from(count).unwrap_or(0);
        if done >= 0 {
            groups.truncate(count);
            return Some(groups);
        }
        if groups.len() >= MAX_GROUPS {
            return None;
        }
        let wider = count.max(groups.len() * 2).min(MAX_GROUPS);
        groups.resize(wider, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_known_by_its_number_and_in_its_group() {
        let root = user(0).expect("every host has root");
        assert_eq!(root, User { name: "root".to_owned(), group: 0 });
        assert_eq!(group_number("root"), Some(0));
        assert!(is_in_group(&root, "root"));
        assert!(!is_in_group(&root, "nogroup"));
    }

    #[test]
    fn nobody_has_a_number_that_is_free() {
        assert_eq!(user(4_000_000_123), None);
        for name in ["there is no such group", "a\0b", ""] {
            assert_eq!(group_number(name), None, "{name:?}");
        }
        let stranger = User { name: "no such user".to_owned(), group: 4_000_000_123 };
        assert!(!is_in_group(&stranger, "root"));
    }
}
