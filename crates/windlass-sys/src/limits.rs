//! Limits that the system sets to a process.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Maximum number of descriptors to ask for. Linux grants no more by default (`fs.nr_open`).
/// Programs that close every possible descriptor take long if there are more.
const MOST: u64 = 1 << 20;

/// Returns how many descriptors this process may have open: its soft limit (`RLIMIT_NOFILE`).
pub fn open_files() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Raises the soft limit of open files to the hard limit, and returns the new value. If the system
/// refuses, the limit stays.
pub fn raise_open_files() -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.unwrap_or(MOST).min(MOST);
    if current.is_some_and(|current| current < wanted) {
        // The value returned tells if the limit could not be raised.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
    }
    open_files()
}

/// Returns whether an error says that no more descriptors are available, to this process (`EMFILE`)
/// or on the whole system (`ENFILE`).
pub fn is_out_of_files(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

/// Returns freed memory to the system that the allocator kept for later use (`malloc_trim`). If
/// there is much of it, the call holds a lock of the allocator for milliseconds. Allocators other
/// than glibc's keep less, and are left alone.
pub fn give_memory_back() {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: it takes no pointer, and may be called at any time by any thread.
        unsafe { libc::malloc_trim(0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_is_raised_as_far_as_the_hard_one_allows() {
        let before = getrlimit(Resource::Nofile);
        let raised = raise_open_files();
        assert_eq!(raised, open_files());
        assert!(before.current.is_none_or(|before| raised >= before));
        assert!(before.maximum.is_none_or(|hard| raised <= hard));
        assert!(raised >= before.maximum.unwrap_or(MOST).min(MOST));
        assert_eq!(raise_open_files(), raised);
        give_memory_back();
    }

    #[test]
    fn only_a_lack_of_descriptors_is_one() {
        for (number, is_one) in [(libc::EMFILE, true), (libc::ENFILE, true), (libc::EIO, false)] {
            assert_eq!(is_out_of_files(&io::Error::from_raw_os_error(number)), is_one);
        }
    }
}
