//! A fork helper: a short-lived process that enters namespaces which this one may not enter, and
//! sends back file descriptors.
//!
//! Only a process with one thread can enter a user namespace, and it cannot leave again. A
//! descriptor that was opened inside works anywhere.
//!
//! The process is a fork and runs no other program. Other threads may hold any lock at that time,
//! so its code allocates nothing and makes system calls only.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use libc::c_int;
use rustix::fs::{Mode, OFlags};
use rustix::io::retry_on_intr;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use rustix::process::{Pid, WaitOptions, waitpid};

use super::{NamespaceStep, Refusal};
use crate::call::checked;

/// Bytes of a report: the step that failed (0: none) and its errno.
const REPORT: usize = 8;

/// Bytes of a message of four descriptors.
const ROOM: usize = rustix::cmsg_space!(ScmRights(4));

/// Runs `work` in a process of its own, and returns the files it opened.
///
/// `work` must not allocate.
pub(super) fn fork_helper<const N: usize>(
    work: impl FnOnce() -> Result<[OwnedFd; N], Refusal>,
) -> Result<[OwnedFd; N], Refusal> {
    const { assert!(N <= 4, "more descriptors than there is room for") };
    let failed = || Refusal::at(NamespaceStep::ForkHelper);
    let (here, there) = UnixStream::pair().map_err(failed())?;
    // SAFETY: the child makes system calls only, and leaves by `_exit`: no lock
    // of another thread is waited for, and no destructor runs twice.
    let child = checked(unsafe { libc::fork() }).map_err(failed())?;
    if child == 0 {
        let sent = match work() {
            Ok(opened) => send(&there, None, &opened.each_ref().map(AsFd::as_fd)),
            Err(refused) => send(&there, Some(&refused), &[]),
        };
        // SAFETY: it ends this process, and nothing else.
        unsafe { libc::_exit(c_int::from(!sent)) }
    }
    drop(there);
    let answer = receive::<N>(&here);
    // The child must not stay as a zombie.
    let _ = retry_on_intr(|| waitpid(Pid::from_raw(child), WaitOptions::empty()));
    answer.map_err(failed())?
}

/// Sends the result. Returns whether that succeeded.
fn send(to: &UnixStream, refused: Option<&Refusal>, opened: &[BorrowedFd<'_>]) -> bool {
    let step = refused.map_or(0, |refused| refused.step as u32);
    let errno = refused.and_then(|refused| refused.error.raw_os_error()).unwrap_or(0);
    let report = [step, errno.cast_unsigned()].map(u32::to_ne_bytes);
    let mut room = [MaybeUninit::uninit(); ROOM];
    let mut control = SendAncillaryBuffer::new(&mut room);
    let fits = opened.is_empty() || control.push(SendAncillaryMessage::ScmRights(opened));
    let report = [IoSlice::new(report.as_flattened())];
    fits && sendmsg(to, &report, &mut control, SendFlags::NOSIGNAL) == Ok(REPORT)
}

/// Receives the result.
fn receive<const N: usize>(from: &UnixStream) -> io::Result<Result<[OwnedFd; N], Refusal>> {
    let mut report = [0; REPORT];
    let mut room = [MaybeUninit::uninit(); ROOM];
    let mut control = RecvAncillaryBuffer::new(&mut room);
    let flags = RecvFlags::CMSG_CLOEXEC;
    let got =
        retry_on_intr(|| recvmsg(from, &mut [IoSliceMut::new(&mut report)], &mut control, flags))?;
    let mut opened = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(files) = message {
            opened.extend(files);
        }
    }
    if got.bytes != REPORT {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it ended without an answer"));
    }
    let [a, b, c, d, errno @ ..] = report;
    let (step, errno) = (u32::from_ne_bytes([a, b, c, d]), i32::from_ne_bytes(errno));
    if step != 0 {
        let error = io::Error::from_raw_os_error(errno);
        return Ok(Err(Refusal { step: NamespaceStep::of(step), error }));
    }
    // A descriptor is missing if this process has too many files open.
    let short = |_| io::Error::from_raw_os_error(libc::EMFILE);
    Ok(Ok(<[OwnedFd; N]>::try_from(opened).map_err(short)?))
}

/// Leaves a namespace of this kind for a new one. For fork helpers.
pub(super) fn unshare(kind: c_int, step: NamespaceStep) -> Result<(), Refusal> {
    // SAFETY: a fork helper has one thread, and nobody relies on its namespaces.
    checked(unsafe { libc::unshare(kind) }).map(drop).map_err(Refusal::at(step))
}

/// Opens a file. For fork helpers.
pub(super) fn open(path: &CStr, flags: OFlags, step: NamespaceStep) -> Result<OwnedFd, Refusal> {
    rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::empty()).map_err(Refusal::at(step))
}

/// Writes all of a value into a file. For fork helpers.
pub(super) fn write(path: &CStr, value: &CStr, step: NamespaceStep) -> Result<(), Refusal> {
    let mut file = File::from(open(path, OFlags::WRONLY, step)?);
    file.write_all(value.to_bytes()).map_err(Refusal::at(step))
}
