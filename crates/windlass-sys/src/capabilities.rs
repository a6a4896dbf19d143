//! The capabilities of a thread (capabilities(7)), by the system calls alone: so
//! that they can be asked for between fork and exec, too.

use std::io;

use libc::c_int;

use crate::call::checked;

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

/// Those of the calling thread.
pub(crate) fn get() -> io::Result<Sets> {
    let mut header = Header { version: VERSION_3, pid: 0 };
    let mut words = Sets::default();
    // SAFETY: with version 3 the kernel reads a header and writes two words.
    checked(unsafe { libc::syscall(libc::SYS_capget, &raw mut header, words.as_mut_ptr()) })?;
    Ok(words)
}

/// Sets those of the calling thread.
pub(crate) fn set(words: &Sets) -> io::Result<()> {
    let mut header = Header { version: VERSION_3, pid: 0 };
    // SAFETY: with version 3 the kernel reads a header and two words.
    checked(unsafe { libc::syscall(libc::SYS_capset, &raw mut header, words.as_ptr()) }).map(drop)
}
