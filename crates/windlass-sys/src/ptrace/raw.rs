//! The system calls ptrace(2) and waitpid(2), each by itself.

use std::io;

use libc::{c_int, c_long, pid_t};

use crate::call::checked;

/// Requests and events by the names of ptrace(2), from `linux/ptrace.h`: the same on all machines.
pub(super) mod number {
    pub(crate) const CONT_TO_CALL: u32 = 24; // PTRACE_SYSCALL
    pub(crate) const DETACH: u32 = 17;
    pub(crate) const GET_EVENT_MESSAGE: u32 = 0x4201; // PTRACE_GETEVENTMSG
    pub(crate) const SEIZE: u32 = 0x4206;
    pub(crate) const INTERRUPT: u32 = 0x4207;
    pub(crate) const LISTEN: u32 = 0x4208;
    pub(crate) const GET_CALL: u32 = 0x420e; // PTRACE_GET_SYSCALL_INFO

    pub(crate) const EVENT_FORK: c_event = 1;
    pub(crate) const EVENT_VFORK: c_event = 2;
    pub(crate) const EVENT_CLONE: c_event = 3;
    pub(crate) const EVENT_EXEC: c_event = 4;
    pub(crate) const EVENT_STOP: c_event = 128;

    /// `PTRACE_O_TRACESYSGOOD`, and the options that follow forks, vforks, clones and execs.
    pub(crate) const OPTIONS: usize = 1 | 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4;

    #[allow(non_camel_case_types, reason = "a number as the kernel has it")]
    pub(crate) type c_event = i32;
}

/// A change of a tracee's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// The thread ended, in any way.
    Ended,
    /// The thread enters a system call, or leaves one.
    Call,
    /// The thread is about to get this signal.
    Signal(c_int),
    /// An event with its number, and the signal that goes with it.
    Event(number::c_event, c_int),
}

impl Change {
    /// Decodes a status of waitpid(2), with `PTRACE_O_TRACESYSGOOD`.
    pub(super) fn of(status: c_int) -> Self {
        if !libc::WIFSTOPPED(status) {
            return Self::Ended;
        }
        match (status >> 16, libc::WSTOPSIG(status)) {
            (0, signal) if signal == libc::SIGTRAP | 0x80 => Self::Call,
            (0, signal) => Self::Signal(signal),
            (event, signal) => Self::Event(event, signal),
        }
    }
}

/// Result of a wait for tracees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitResult {
    /// The thread of this number changed its state.
    Changed(u32, Change),
    /// A signal came, or there was nothing to report without a wait.
    Nothing,
    /// There is no tracee.
    Nobody,
}

/// Waits for a child or tracee of this thread: those of this process's other threads are left to
/// them (`__WNOTHREAD`).
pub(super) fn wait(waits: bool) -> io::Result<WaitResult> {
    let mut status = 0;
    let flags = libc::__WALL | libc::__WNOTHREAD | if waits { 0 } else { libc::WNOHANG };
    // SAFETY: the status is there to be written.
    match checked(unsafe { libc::waitpid(-1, &raw mut status, flags) }) {
        Ok(0) => Ok(WaitResult::Nothing),
        Ok(thread) => Ok(WaitResult::Changed(thread.cast_unsigned(), Change::of(status))),
        Err(error) if error.raw_os_error() == Some(libc::ECHILD) => Ok(WaitResult::Nobody),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(WaitResult::Nothing),
        Err(error) => Err(error),
    }
}

/// Makes a request that neither writes nor reads memory of this process.
pub(super) fn ask(request: u32, thread: u32, data: usize) -> io::Result<()> {
    // SAFETY: of the requests that are made by it none takes an address: the data are
    // options or the number of a signal.
    unsafe { ptrace(request, thread, 0, data) }.map(drop)
}

/// Returns the message of an event: the number of a new thread, or the former one after execve(2).
pub(super) fn message(thread: u32) -> io::Result<u32> {
    let mut message: libc::c_ulong = 0;
    // SAFETY: there is room for an unsigned long, which is what the kernel writes.
    unsafe {
        ptrace(number::GET_EVENT_MESSAGE, thread, 0, (&raw mut message).expose_provenance())
    }?;
    u32::try_from(message).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// The point at which a thread stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SyscallStop {
    /// The entry of the call of this number, in this system-call table (`AUDIT_ARCH_…`).
    Entry { machine: u32, number: u64 },
    /// The exit of a call, with the number of an error or without.
    Exit { error: Option<i32> },
    /// Another point.
    Other,
}

/// Returns the point at which a thread stopped (`PTRACE_GET_SYSCALL_INFO`, from Linux 5.3 on).
pub(super) fn place(thread: u32) -> io::Result<SyscallStop> {
    // `struct ptrace_syscall_info`: the operation in a byte and the machine in 32 bits behind it,
    // two addresses, and the data of the operation.
    let mut info = [0_u64; 11];
    let (size, to) = (size_of_val(&info), info.as_mut_ptr().expose_provenance());
    // SAFETY: the kernel writes no more than the size that it is told, which is there, and
    // any bits are numbers.
    unsafe { ptrace(number::GET_CALL, thread, size, to) }?;
    let head = info[0].to_ne_bytes();
    let machine = u32::from_ne_bytes([head[4], head[5], head[6], head[7]]);
    Ok(match head[0] {
        1 => SyscallStop::Entry { machine, number: info[3] },
        2 => {
            let is_error = info[4].to_ne_bytes()[0] != 0;
            let error = is_error.then(|| i32::try_from(-info[3].cast_signed()).unwrap_or(0));
            SyscallStop::Exit { error }
        }
        _ => SyscallStop::Other,
    })
}

/// # Safety
/// Memory that a request reads or writes at `data` must be valid.
unsafe fn ptrace(request: u32, thread: u32, address: usize, data: usize) -> io::Result<c_long> {
    let thread = pid_t::try_from(thread).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: as the caller says.
    let done = unsafe {
        libc::syscall(libc::SYS_ptrace, c_long::from(request), c_long::from(thread), address, data)
    };
    checked(done)
}
