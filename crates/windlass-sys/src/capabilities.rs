//! The capabilities of a thread (capabilities(7)), by the system calls alone: so
//! that they can be asked for between fork and exec, too.

use libc::c_int;

/// The version of the structures with two words for each set
/// (`linux/capability.h`).
const VERSION_3: u32 = 0x2008_0522;

#[repr(C)]
struct Header {
    version: u32,
    pid: c_int,
}

/// 32 capabilities of each set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Word {
    pub(crate) effective: u32,
    pub(crate) permitted: u32,
    pub(crate) inheritable: u32,
}

/// All capabilities of a thread.
pub(crate) type Sets = [Word; 2];

/// Those of the calling thread; the errno where the kernel does not tell.
pub(crate) fn get() -> Result<Sets, c_int> {
    let mut header = Header { version: VERSION_3, pid: 0 };
    let mut words = Sets::default();
    // SAFETY: with version 3 the kernel reads a header and writes two words.
    check(unsafe { libc::syscall(libc::SYS_capget, &raw mut header, words.as_mut_ptr()) })?;
    Ok(words)
}

/// Sets those of the calling thread; the errno where the kernel refuses.
pub(crate) fn set(words: &Sets) -> Result<(), c_int> {
    let mut header = Header { version: VERSION_3, pid: 0 };
    // SAFETY: with version 3 the kernel reads a header and two words.
    check(unsafe { libc::syscall(libc::SYS_capset, &raw mut header, words.as_ptr()) })
}

fn check(result: libc::c_long) -> Result<(), c_int> {
    if result == 0 {
        return Ok(());
    }
    // SAFETY: errno belongs to this thread.
    Err(unsafe { *libc::__errno_location() })
}
