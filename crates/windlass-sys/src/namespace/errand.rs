//! A short-lived process that goes where this one may not, and sends back file
//! descriptors.
//!
//! A user namespace can only be entered by a process with one thread, and there
//! is no way back from it. A descriptor that was opened in there works anywhere.
//!
//! The process is a fork and runs no other program. Other threads may hold any
//! lock at that time, so what runs in it allocates nothing and makes system
//! calls only.

use std::ffi::CStr;
use std::io::{self, IoSliceMut};
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::ptr;

use libc::{c_int, c_uint, c_void};

use super::{NamespaceStep, Refused};

/// Where an errand ended early.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stop {
    pub(super) step: NamespaceStep,
    pub(super) errno: c_int,
}

impl Stop {
    /// The last system call failed.
    fn here(step: NamespaceStep) -> Self {
        // SAFETY: errno belongs to this thread.
        Self { step, errno: unsafe { *libc::__errno_location() } }
    }
}

/// The step that stopped it (0: none) and its errno.
const REPORT: usize = 8;

/// Room for the header of a control message and four descriptors, aligned as
/// the header must be.
type Control = [u64; 6];

/// Runs `work` in a process of its own, and gives what it opened.
///
/// `work` must not allocate.
pub(super) fn errand<const N: usize>(
    work: impl FnOnce() -> Result<[OwnedFd; N], Stop>,
) -> Result<[OwnedFd; N], Refused> {
    const { assert!(N <= 4, "more descriptors than `Control` has room for") };
    let failed = || Refused::at(NamespaceStep::Errand);
    let (here, there) = UnixStream::pair().map_err(failed())?;
    // SAFETY: the child makes system calls only, and leaves by `_exit`: no lock
    // of another thread is waited for, and no destructor runs twice.
    let child = unsafe { libc::fork() };
    match child {
        -1 => return Err(failed()(io::Error::last_os_error())),
        0 => {
            let sent = match work() {
                Ok(opened) => send(&there, None, &opened.each_ref().map(AsRawFd::as_raw_fd)),
                Err(stop) => send(&there, Some(stop), &[]),
            };
            // SAFETY: it ends this process, and nothing else.
            unsafe { libc::_exit(c_int::from(!sent)) }
        }
        _ => {}
    }
    drop(there);
    let answer = receive::<N>(&here);
    reap(child);
    answer.map_err(failed())?.map_err(|stop| Refused {
        step: stop.step,
        error: io::Error::from_raw_os_error(stop.errno),
    })
}

/// Waits for the child, so that it leaves nothing behind.
fn reap(child: libc::pid_t) {
    loop {
        // SAFETY: a null status is allowed; the child is ours, and nobody else
        // knows its number.
        let ended = unsafe { libc::waitpid(child, ptr::null_mut(), 0) };
        if ended != -1 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return;
        }
    }
}

/// Sends what came of it; tells whether it went.
fn send(to: &UnixStream, stop: Option<Stop>, opened: &[RawFd]) -> bool {
    let step = stop.map_or(0, |stop| stop.step as u32);
    let mut report = [0_u8; REPORT];
    report[..4].copy_from_slice(&step.to_ne_bytes());
    report[4..].copy_from_slice(&stop.map_or(0, |stop| stop.errno).to_ne_bytes());
    let mut part = libc::iovec { iov_base: report.as_mut_ptr().cast(), iov_len: REPORT };
    let mut control: Control = [0; 6];
    // SAFETY: all zeros is a valid msghdr: no name, no parts, no control.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    if !opened.is_empty() {
        let bytes = size_of_val(opened);
        message.msg_control = control.as_mut_ptr().cast::<c_void>();
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
fn receive<const N: usize>(from: &UnixStream) -> io::Result<Result<[OwnedFd; N], Stop>> {
    let mut report = [0_u8; REPORT];
    let mut parts = [IoSliceMut::new(&mut report)];
    let mut control: Control = [0; 6];
    // SAFETY: all zeros is a valid msghdr.
    let mut message: libc::msghdr = unsafe { zeroed() };
    // IoSliceMut is an iovec by its definition.
    message.msg_iov = parts.as_mut_ptr().cast();
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast::<c_void>();
    message.msg_controllen = size_of::<Control>() as _;
    let got = loop {
        // SAFETY: the message and all that it points to live until the call
        // ends, and have the lengths that it states.
        let got =
            unsafe { libc::recvmsg(from.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC) };
        if got != -1 {
            break got;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    };
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
    let number = |at: usize| [report[at], report[at + 1], report[at + 2], report[at + 3]];
    let step = u32::from_ne_bytes(number(0));
    if step != 0 {
        let errno = c_int::from_ne_bytes(number(4));
        return Ok(Err(Stop { step: NamespaceStep::of(step), errno }));
    }
    // One is missing where this process has too many files open.
    let opened: Vec<OwnedFd> = opened.into_iter().flatten().collect();
    let short = |_| io::Error::from_raw_os_error(libc::EMFILE);
    Ok(Ok(<[OwnedFd; N]>::try_from(opened).map_err(short)?))
}

/// Leaves a namespace of this kind for a new one. For errands.
pub(super) fn unshare(kind: c_int, step: NamespaceStep) -> Result<(), Stop> {
    // SAFETY: an errand has one thread, and nobody relies on its namespaces.
    if unsafe { libc::unshare(kind) } == 0 { Ok(()) } else { Err(Stop::here(step)) }
}

/// Opens a file. For errands.
pub(super) fn open(path: &CStr, flags: c_int, step: NamespaceStep) -> Result<OwnedFd, Stop> {
    // SAFETY: the path is a C string.
    let file = unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC) };
    if file < 0 {
        return Err(Stop::here(step));
    }
    // SAFETY: it is open, and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(file) })
}

/// Opens a socket of this kind with the family's usual protocol. For errands.
pub(super) fn socket(family: c_int, kind: c_int, step: NamespaceStep) -> Result<OwnedFd, Stop> {
    // SAFETY: it takes no pointer.
    let socket = unsafe { libc::socket(family, kind | libc::SOCK_CLOEXEC, 0) };
    if socket < 0 {
        return Err(Stop::here(step));
    }
    // SAFETY: it is open, and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(socket) })
}

/// Writes all of a value into a file. For errands.
pub(super) fn write(path: &CStr, value: &CStr, step: NamespaceStep) -> Result<(), Stop> {
    let file = open(path, libc::O_WRONLY, step)?;
    let bytes = value.to_bytes();
    // SAFETY: so many bytes are there to be read.
    let wrote = unsafe { libc::write(file.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
    if usize::try_from(wrote) == Ok(bytes.len()) { Ok(()) } else { Err(Stop::here(step)) }
}
