//! Hints to the processor's caches.

use std::ops::Range;

/// Bytes of a cache line.
const LINE: usize = 64;

/// Asks the processor to bring `part` of the memory behind `bytes` into its
/// caches, while it does something else. It changes nothing but the time that
/// looking there takes; where nothing is, nothing happens.
#[inline]
pub fn prefetch_behind(bytes: &[u8], part: Range<usize>) {
    let behind = bytes.as_ptr_range().end;
    for far in part.step_by(LINE) {
        prefetch(behind.wrapping_add(far));
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn prefetch(place: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: the instruction is part of every x86-64 processor. It takes any
    // address, and never faults.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(place.cast::<i8>()) };
}

/// Other processors are not asked: Rust has no stable name for it.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn prefetch(_: *const u8) {}
