//! The handler of SIGBUS: zeros replace the lost pages of a mapped file.
//!
//! The handler may run at any instruction, so it takes no lock and allocates
//! nothing: it reads atomics and calls `mmap`, which is a bare system call.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering, fence};

use libc::{c_int, c_void, siginfo_t};

use crate::call::checked;

/// Maximum number of mappings at once. The program has one, its tests a few.
const MAX: usize = 64;

/// Value of `lost` for a mapping without lost pages.
const WHOLE: usize = usize::MAX;

/// The address range of a mapping, for the handler.
#[derive(Debug)]
pub(super) struct Slot {
    /// Its first address; 0 for a free slot, 1 for one that is being filled.
    start: AtomicUsize,
    length: AtomicUsize,
    /// Offset in bytes at which its zeros begin.
    lost: AtomicUsize,
}

const FREE: usize = 0;
const FILLING: usize = 1;

static SLOTS: [Slot; MAX] = [const {
    Slot {
        start: AtomicUsize::new(FREE),
        length: AtomicUsize::new(0),
        lost: AtomicUsize::new(WHOLE),
    }
}; MAX];

/// The previous handler of SIGBUS, which still handles faults outside the mappings.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// Bytes of a page, as the handler must not ask for them.
static PAGE: AtomicUsize = AtomicUsize::new(4096);

impl Slot {
    /// Registers a mapping with the handler. Returns `None` if there are too many.
    pub(super) fn claim(start: usize, length: usize) -> Option<&'static Self> {
        let (set, kept) = (Ordering::SeqCst, Ordering::SeqCst);
        let take = |slot: &&Self| slot.start.compare_exchange(FREE, FILLING, set, kept).is_ok();
        let slot = SLOTS.iter().find(take)?;
        slot.length.store(length, Ordering::SeqCst);
        slot.lost.store(WHOLE, Ordering::SeqCst);
        slot.start.store(start, Ordering::SeqCst);
        Some(slot)
    }

    /// Returns the offset at which the zeros begin.
    pub(super) fn lost(&self) -> Option<usize> {
        // Earlier reads of the mapping must happen before this read of the flag. The handler sets
        // the flag before it maps the zeros.
        fence(Ordering::Acquire);
        match self.lost.load(Ordering::Relaxed) {
            WHOLE => None,
            place => Some(place),
        }
    }

    /// Unregisters the mapping. This must come before it is unmapped, as another mapping may get
    /// its addresses at once.
    pub(super) fn free(&self) {
        self.start.store(FREE, Ordering::SeqCst);
    }

    /// Returns the start and the length of the mapping if this address is in it.
    fn holds(&self, address: usize) -> Option<(usize, usize)> {
        let start = self.start.load(Ordering::SeqCst);
        let length = self.length.load(Ordering::SeqCst);
        // A slot that changes its owner now is not that of the address: the thread that touched the
        // address keeps its mapping alive.
        let steady = self.start.load(Ordering::SeqCst) == start;
        let within = start > FILLING && address.checked_sub(start).is_some_and(|far| far < length);
        (steady && within).then_some((start, length))
    }
}

/// Installs the handler, once.
pub(super) fn install() -> io::Result<()> {
    static DONE: OnceLock<Result<(), i32>> = OnceLock::new();
    let done =
        DONE.get_or_init(|| set_handler().map_err(|error| error.raw_os_error().unwrap_or(0)));
    done.map_err(io::Error::from_raw_os_error)
}

fn set_handler() -> io::Result<()> {
    // SAFETY: it only asks.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    if let Ok(page) = usize::try_from(page) {
        PAGE.store(page, Ordering::Relaxed);
    }
    // SAFETY: all zeros is a valid sigaction: no flags, no handler, no mask.
    let mut before: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: a null action only asks; `before` is there to be written.
    checked(unsafe { libc::sigaction(libc::SIGBUS, std::ptr::null(), &raw mut before) })?;
    // The handler may run as soon as it is set, so this must be set before.
    let _ = BEFORE.set(before);
    // SAFETY: as above.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = on_sigbus as *const () as usize;
    // The handler runs on the alternate stack: the previous handler may be there for a stack
    // overflow, as the standard library's is.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: the handler has the signature that SA_SIGINFO asks for, stays
    // for as long as the program, and is async-signal-safe.
    let set = unsafe { libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut()) };
    checked(set).map(drop)
}

extern "C" fn on_sigbus(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: errno belongs to this thread; the interrupted code must find it
    // as it was.
    let errno = unsafe { *libc::__errno_location() };
    if !answer(info) {
        hand_on(signal, info, context);
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// Maps zeros from the lost page to the end of its mapping. Returns whether the fault was in a
/// mapping.
fn answer(info: *const siginfo_t) -> bool {
    // SAFETY: the kernel passes a valid siginfo with SA_SIGINFO. Only faults,
    // which have a positive code, carry an address.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as usize) };
    if code <= 0 || code == libc::BUS_MCEERR_AO {
        return false;
    }
    let Some((slot, (start, length))) =
        SLOTS.iter().find_map(|slot| Some((slot, slot.holds(address)?)))
    else {
        return false;
    };
    // The kernel tells the page of some faults, and the byte of others.
    let page = address & !(page_size() - 1);
    slot.lost.fetch_min(page - start, Ordering::SeqCst);
    let rest = start + length - page;
    let zeros = (libc::PROT_READ, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED);
    // SAFETY: the pages belong to a live mapping of this crate, whose owner
    // only ever reads them. Reading goes on, with zeros.
    let placed = unsafe { libc::mmap(page as *mut c_void, rest, zeros.0, zeros.1, -1, 0) };
    placed != libc::MAP_FAILED
}

/// Does what would happen without this crate.
fn hand_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let before = BEFORE.get();
    let handler = before.map_or(libc::SIG_DFL, |before| before.sa_sigaction);
    if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
        // SAFETY: as above; the code is there for every signal.
        let sent = unsafe { (*info).si_code } <= 0;
        if handler == libc::SIG_IGN && sent {
            return;
        }
        // SAFETY: `signal` and `raise` are async-signal-safe. A fault comes
        // again when this returns; what was sent has to be sent again.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            if sent {
                libc::raise(signal);
            }
        }
        return;
    }
    let handler = handler as *const ();
    if before.is_some_and(|before| before.sa_flags & libc::SA_SIGINFO != 0) {
        // SAFETY: a handler that was set with SA_SIGINFO has this signature,
        // and gets what the kernel gave.
        unsafe {
            let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) =
                std::mem::transmute(handler);
            handler(signal, info, context);
        }
    } else {
        // SAFETY: a handler that was set without SA_SIGINFO has this signature.
        unsafe {
            let handler: extern "C" fn(c_int) = std::mem::transmute(handler);
            handler(signal);
        }
    }
}

/// Returns the bytes of a page, once the handler is installed.
pub(super) fn page_size() -> usize {
    PAGE.load(Ordering::Relaxed)
}
