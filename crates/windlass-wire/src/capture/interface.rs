//! pcapng's interfaces and their clocks.

use windlass_base::Timestamp;

use crate::LinkType;
use crate::bytes::{u16_at, u32_at, u64_at};

const NANOS_PER_SECOND: u32 = 1_000_000_000;

/// An Interface Description Block (draft-ietf-opsawg-pcapng, section 4.2) with the interface's
/// latest statistics.
#[derive(Debug)]
pub(super) struct Interface {
    pub(super) link: LinkType,
    /// Snap length in bytes; 0 for no limit.
    pub(super) snap_length: u32,
    pub(super) clock: Clock,
    pub(super) received: u64,
    /// Packets dropped by the interface, and by the operating system.
    pub(super) drops: [u64; 2],
    /// Time of the latest statement of its drops.
    pub(super) stated: Option<Timestamp>,
}

impl Interface {
    /// Reads the body of the block, which must have at least 8 bytes.
    pub(super) fn read<const BIG: bool>(body: &[u8]) -> Self {
        const TIME_RESOLUTION: u16 = 9;
        const TIME_OFFSET: u16 = 14;
        let mut clock = Clock::default();
        for (code, value) in options::<BIG>(&body[8..]) {
            match (code, value.len()) {
                (TIME_RESOLUTION, 1) => clock.tick = Tick::from_option(value[0]),
                (TIME_OFFSET, 8) => {
                    let seconds = u64_at::<BIG>(value, 0).cast_signed();
                    clock.offset = seconds.saturating_mul(NANOS_PER_SECOND.into());
                }
                _ => {}
            }
        }
        Self {
            link: LinkType(u16_at::<BIG>(body, 0)),
            snap_length: u32_at::<BIG>(body, 4),
            clock,
            received: 0,
            drops: [0; 2],
            stated: None,
        }
    }
}

/// Conversion of an interface's timestamps to nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    tick: Tick,
    /// Offset added to each timestamp, in nanoseconds (`if_tsoffset`).
    offset: i64,
}

/// The unit of a timestamp (`if_tsresol`).
#[derive(Clone, Copy, Debug)]
enum Tick {
    /// Nanoseconds in a unit: powers of ten down to 10⁻⁹.
    Nanos(i64),
    /// Units in a nanosecond: finer powers of ten.
    PerNano(u64),
    /// Negative power of two of a second.
    Halvings(u8),
}

/// Microseconds, the default if the file states no resolution.
impl Default for Tick {
    fn default() -> Self {
        Self::Nanos(1_000)
    }
}

impl Tick {
    /// Reads the option. The highest bit selects powers of two instead of ten; the other bits are
    /// the negative power.
    fn from_option(resolution: u8) -> Self {
        let power = u32::from(resolution & 0x7f);
        if resolution & 0x80 != 0 {
            return Self::Halvings(resolution & 0x7f);
        }
        match power.checked_sub(9) {
            None | Some(0) => Self::Nanos(10_i64.pow(9 - power)),
            // If a nanosecond has more units than 64 bits hold, all times are zero.
            Some(finer) => 10_u64.checked_pow(finer).map_or(Self::Nanos(0), Self::PerNano),
        }
    }
}

impl Clock {
    /// Converts a timestamp of this interface.
    #[inline(always)]
    pub(super) fn time(&self, units: u64) -> Timestamp {
        let nanos = match self.tick {
            // The format has no times before 1970, but some writers do: the bits are then a signed
            // number.
            Tick::Nanos(each) => units.cast_signed().saturating_mul(each),
            Tick::PerNano(count) => i64::try_from(units / count).unwrap_or(i64::MAX),
            // The product of 64 bits and 30 bits fits in 128.
            Tick::Halvings(power) => {
                let nanos = (u128::from(units) * u128::from(NANOS_PER_SECOND)) >> power;
                i64::try_from(nanos).unwrap_or(i64::MAX)
            }
        };
        Timestamp::from_nanos(nanos.saturating_add(self.offset))
    }
}

/// Iterates over the options of a block as code and value. It stops at the end mark, at the end of
/// the bytes, or at an option that does not fit.
pub(super) fn options<const BIG: bool>(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (head, rest) = bytes.split_first_chunk::<4>()?;
        let (code, length) = (u16_at::<BIG>(head, 0), usize::from(u16_at::<BIG>(head, 2)));
        let value = rest.get(..length)?;
        bytes = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        (code != 0).then_some((code, value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nanos(resolution: u8, offset: i64, units: u64) -> i64 {
        let clock = Clock { tick: Tick::from_option(resolution), offset: offset * 1_000_000_000 };
        clock.time(units).as_nanos()
    }

    #[test]
    fn clocks_of_any_resolution_give_nanoseconds() {
        assert_eq!(nanos(6, 0, 1_500_000), 1_500_000_000);
        assert_eq!(nanos(9, 0, 7), 7);
        assert_eq!(nanos(0, 0, 3), 3_000_000_000);
        assert_eq!(nanos(12, 0, 7_999), 7);
        assert_eq!(nanos(127, 0, u64::MAX), 0);
        assert_eq!(nanos(0x80 | 10, 0, 1_536), 1_500_000_000);
        assert_eq!(nanos(0x80 | 32, 0, 1 << 31), 500_000_000);
        assert_eq!(nanos(0xff, 0, u64::MAX), 0);
        assert_eq!(nanos(9, -5, 1), -4_999_999_999);
    }

    #[test]
    fn clocks_out_of_range_saturate() {
        assert_eq!(nanos(0, 0, i64::MAX.cast_unsigned()), i64::MAX);
        assert_eq!(nanos(0, 0, 1 << 63), i64::MIN);
        assert_eq!(nanos(0x80, 0, u64::MAX), i64::MAX);
    }

    #[test]
    fn times_before_1970_keep_their_distance() {
        // 45 years before 1970, in microseconds.
        let early = |micros: i64| nanos(6, 0, (micros - 1_422_528_504_000_000).cast_unsigned());
        assert_eq!(early(0), -1_422_528_504_000_000_000);
        assert_eq!(early(7) - early(0), 7_000);
        assert_eq!(nanos(9, 0, u64::MAX), -1);
    }

    #[test]
    fn options_that_do_not_fit_end_the_list() {
        let bytes = [0, 1, 0, 1, b'a', 0, 0, 0, 0, 2, 0xff, 0xff, 1];
        assert_eq!(options::<true>(&bytes).collect::<Vec<_>>(), [(1, &b"a"[..])]);
    }
}
