//! A fork helper: a short-lived process that goes where this one may not, and sends
//! back file descriptors.
//!
//! A user namespace can only be entered by a process with one thread, and there
//! is no way back from it. A descriptor that was opened in there works anywhere.
//!
//! The process is a fork and runs no other program. Other threads may hold any
//! lock at that time, so what runs in it allocates nothing and makes system
//! calls only.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::ptr;

use libc::{c_int, c_uint};

use super::{NamespaceStep, Refused};
use crate::call::{checked, owned, uninterrupted};
use crate::socket::message;

/// The step that stopped it (0: none) and its errno.
const REPORT: usize = 8;

/// Room for the header of a control message and four descriptors, aligned as
/// the header must be.
type Control = [u64; 6];

/// Runs `work` in a process of its own, and gives what it opened.
///
/// `work` must not allocate.
pub(super) fn fork_helper<const N: usize>(
    work: impl FnOnce() -> Result<[OwnedFd; N], Refused>,
) -> Result<[OwnedFd; N], Refused> {
    const { assert!(N <= 4, "more descriptors than `Control` has room for") };
    let failed = || Refused::at(NamespaceStep::ForkHelper);
    let (here, there) = UnixStream::pair().map_err(failed())?;
    // SAFETY: the child makes system calls only, and leaves by `_exit`: no lock
    // of another thread is waited for, and no destructor runs twice.
    let child = checked(unsafe { libc::fork() }).map_err(failed())?;
    if child == 0 {
        let sent = match work() {
            Ok(opened) => send(&there, None, &opened.each_ref().map(AsRawFd::as_raw_fd)),
            Err(refused) => send(&there, Some(&refused), &[]),
        };
        // SAFETY: it ends this process, and nothing else.
        unsafe { libc::_exit(c_int::from(!sent)) }
    }
    drop(there);
    let answer = receive::<N>(&here);
    // SAFETY: a null status is allowed; the child is ours, and nobody else knows
    // its number. It is to leave nothing behind.
    let _ = uninterrupted(|| checked(unsafe { libc::waitpid(child, ptr::null_mut(), 0) }));
    answer.map_err(failed())?
}

/// Sends what came of it; tells whether it went.
fn send(to: &UnixStream, refused: Option<&Refused>, opened: &[RawFd]) -> bool {
    let step = refused.map_or(0, |refused| refused.step as u32);
    let errno = refused.and_then(|refused| refused.error.raw_os_error()).unwrap_or(0);
    let mut report = [step, errno.cast_unsigned()];
    let mut part = libc::iovec { iov_base: report.as_mut_ptr().cast(), iov_len: REPORT };
    let mut control: Control = [0; 6];
    let mut message = message(&mut part, &mut control);
    message.msg_controllen = 0;
    if !opened.is_empty() {
        let bytes = size_of_val(opened);
        // SAFETY: both only calculate. The header is the first in `control`,
        // which has room for it and for four descriptors, and is aligned.
        unsafe {
            message.msg_controllen = libc::CMSG_SPACE(bytes as c_uint) as _;
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(bytes as c_uint) as _;
            ptr::copy_nonoverlapping(opened.as_ptr().cast::<u8>(), libc::CMSG_DATA(header), bytes);
        }
    }
    // SAFETY: the message and all that it points to live until the call ends.
    let sent = unsafe { libc::sendmsg(to.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) };
    usize::try_from(sent) == Ok(REPORT)
}

/// Takes what came of it.
fn receive<const N: usize>(from: &UnixStream) -> io::Result<Result<[OwnedFd; N], Refused>> {
    let mut report = [0_u32; 2];
    let mut part = libc::iovec { iov_base: report.as_mut_ptr().cast(), iov_len: REPORT };
    let mut control: Control = [0; 6];
    let mut message = message(&mut part, &mut control);
    let how = libc::MSG_CMSG_CLOEXEC;
    // SAFETY: the message and all that it points to live until the call ends,
    // and have the lengths that it states.
    let receive = || checked(unsafe { libc::recvmsg(from.as_raw_fd(), &raw mut message, how) });
    let got = uninterrupted(receive)?;
    // SAFETY: the kernel has written the control messages that it counts.
    let header = unsafe { libc::CMSG_FIRSTHDR(&raw const message) };
    let mut opened: [Option<OwnedFd>; N] = [const { None }; N];
    if !header.is_null() {
        for (at, place) in opened.iter_mut().enumerate() {
            // SAFETY: the header is in `control`, and says how much follows it.
            unsafe {
                let room = libc::CMSG_LEN(((at + 1) * size_of::<RawFd>()) as c_uint) as _;
                if (*header).cmsg_type == libc::SCM_RIGHTS && (*header).cmsg_len >= room {
                    let data = libc::CMSG_DATA(header).cast::<RawFd>().add(at);
                    // The descriptor is new here, and has no other owner.
                    *place = Some(OwnedFd::from_raw_fd(ptr::read_unaligned(data)));
                }
            }
        }
    }
    if usize::try_from(got) != Ok(REPORT) {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it ended without an answer"));
    }
    let [step, errno] = report;
    if step != 0 {
        let error = io::Error::from_raw_os_error(errno.cast_signed());
        return Ok(Err(Refused { step: NamespaceStep::of(step), error }));
    }
    // One is missing where this process has too many files open.
    let opened: Vec<OwnedFd> = opened.into_iter().flatten().collect();
    let short = |_| io::Error::from_raw_os_error(libc::EMFILE);
    Ok(Ok(<[OwnedFd; N]>::try_from(opened).map_err(short)?))
}

/// Leaves a namespace of this kind for a new one. For fork helpers.
pub(super) fn unshare(kind: c_int, step: NamespaceStep) -> Result<(), Refused> {
    // SAFETY: a fork helper has one thread, and nobody relies on its namespaces.
    checked(unsafe { libc::unshare(kind) }).map(drop).map_err(Refused::at(step))
}

/// Opens a file. For fork helpers.
pub(super) fn open(path: &CStr, flags: c_int, step: NamespaceStep) -> Result<OwnedFd, Refused> {
    // SAFETY: the path is a C string, and the call makes a new descriptor.
    unsafe { owned(libc::open(path.as_ptr(), flags | libc::O_CLOEXEC)) }.map_err(Refused::at(step))
}

/// Writes all of a value into a file. For fork helpers.
pub(super) fn write(path: &CStr, value: &CStr, step: NamespaceStep) -> Result<(), Refused> {
    let file = open(path, libc::O_WRONLY, step)?;
    let bytes = value.to_bytes();
    // SAFETY: so many bytes are there to be read.
    let wrote = unsafe { libc::write(file.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
    if usize::try_from(wrote) == Ok(bytes.len()) {
        return Ok(());
    }
    Err(Refused::at(step)(io::Error::last_os_error()))
}
