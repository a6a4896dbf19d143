//! The processor's caches: their sizes, and hints to them.

use std::fs;
use std::ops::Range;

/// Bytes of a cache line.
const LINE: usize = 64;

/// Returns the bytes of a core's second-level cache; `None` if the system does not tell.
pub fn second_level() -> Option<u64> {
    let cache = |place: u32, name: &str| {
        let path = format!("/sys/devices/system/cpu/cpu0/cache/index{place}/{name}");
        fs::read_to_string(path).ok()
    };
    // Each cache has an index; there are at most four.
    let place =
        (0..4).find(|place| cache(*place, "level").is_some_and(|level| level.trim() == "2"))?;
    let size = cache(place, "size")?;
    let kib: u64 = size.trim().strip_suffix('K')?.parse().ok()?;
    kib.checked_mul(1_024)
}

/// Asks the processor to bring `part` of the memory behind `bytes` into its caches, while it does
/// something else. The call changes only the time of later reads. It has no effect if no memory is
/// there.
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

/// Other processors are not asked: Rust has no stable name for the instruction.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn prefetch(_: *const u8) {}
