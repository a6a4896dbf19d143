//! Compact state of hibernating connections.
//!
//! Most fields of a connection are small or zero, so numbers take as many bytes
//! as they need, points in time count from a common one, and large offsets from
//! the one before. A structure derives it from `windlass_macros`, an enum lists its
//! values with [`packed!`].

use std::collections::VecDeque;

use windlass_base::{Bytes, Rate, Span, Timestamp};

/// A value that can be packed and unpacked without change; floats keep seven digits.
pub(crate) trait Packed: Sized {
    fn pack(&self, to: &mut Packer);
    /// Reads a value that [`Packed::pack`] wrote.
    fn unpack(from: &mut Unpacker<'_>) -> Self;
}

/// Implements [`Packed`] for an enum, by the place of each value in a list of all.
macro_rules! packed {
    ($name:ident [ $first:expr $(, $value:expr)* $(,)? ]) => {
        impl $crate::packed::Packed for $name {
            fn pack(&self, to: &mut $crate::packed::Packer) {
                let all = [$first $(, $value)*];
                let place = all.iter().position(|value| value == self);
                debug_assert!(place.is_some(), "{self:?} is not in the list");
                $crate::packed::Packed::pack(&(place.unwrap_or_default() as u8), to);
            }

            fn unpack(from: &mut $crate::packed::Unpacker<'_>) -> Self {
                let all = [$first $(, $value)*];
                let place = <u8 as $crate::packed::Packed>::unpack(from);
                all.into_iter().nth(usize::from(place)).unwrap_or($first)
            }
        }
    };
}
pub(crate) use packed;

/// Least number that is written as its distance from the last such number: offsets of a connection
/// lie close to each other and far from zero.
const LARGE: u64 = 1 << 35;

/// Writer of packed values.
#[derive(Debug)]
pub(crate) struct Packer {
    bytes: Vec<u8>,
    epoch: Timestamp,
    large: u64,
}

impl Packer {
    /// Returns a packer that counts time from `epoch` and appends to `bytes`.
    pub(crate) fn new(epoch: Timestamp, bytes: Vec<u8>) -> Self {
        Self { bytes, epoch, large: 0 }
    }

    pub(crate) fn bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn number(&mut self, number: u64) {
        write_number(&mut self.bytes, number);
    }

    /// Writes bytes unchanged.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }
}

/// Writes a number with seven bits in a byte, the lowest first (LEB128).
#[inline]
pub(crate) fn write_number(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

/// Reads a number that [`write_number`] wrote at the start of `from`, and removes it.
#[inline]
pub(crate) fn number(from: &mut &[u8]) -> u64 {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let Some((byte, rest)) = from.split_first() else { break };
        *from = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    number
}

/// Reader of what a [`Packer`] wrote. Behind the end everything is zero.
#[derive(Debug)]
pub(crate) struct Unpacker<'a> {
    bytes: &'a [u8],
    epoch: Timestamp,
    large: u64,
}

impl<'a> Unpacker<'a> {
    pub(crate) fn new(epoch: Timestamp, bytes: &'a [u8]) -> Self {
        Self { bytes, epoch, large: 0 }
    }

    fn number(&mut self) -> u64 {
        number(&mut self.bytes)
    }

    /// Reads bytes that [`Packer::raw`] wrote.
    pub(crate) fn raw(&mut self) -> &'a [u8] {
        let length = usize::try_from(self.number()).unwrap_or(usize::MAX);
        let (bytes, rest) = self.bytes.split_at(length.min(self.bytes.len()));
        self.bytes = rest;
        bytes
    }
}

/// Returns the number with its sign in the lowest bit.
pub(crate) fn zigzag(number: i64) -> u64 {
    (number << 1 ^ number >> 63).cast_unsigned()
}

pub(crate) fn unzigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

macro_rules! numbers {
    ($($name:ty),*) => {$(
        impl Packed for $name {
            fn pack(&self, to: &mut Packer) {
                to.number(u64::from(*self));
            }

            fn unpack(from: &mut Unpacker<'_>) -> Self {
                from.number() as Self
            }
        }
    )*};
}
numbers!(u8, u16, u32);

impl Packed for bool {
    fn pack(&self, to: &mut Packer) {
        to.number(u64::from(*self));
    }

    fn unpack(from: &mut Unpacker<'_>) -> Self {
        from.number() != 0
    }
}

impl Packed for u64 {
    fn pack(&self, to: &mut Packer) {
        if *self < LARGE {
            to.number(*self << 1);
            return;
        }
        let distance = zigzag(self.wrapping_sub(to.large).cast_signed());
        if distance < LARGE {
            to.number(distance << 1 | 1);
        } else {
            // No distance is odd and as large as this.
            to.number(LARGE << 1 | 1);
            to.bytes.extend_from_slice(&self.to_le_bytes());
        }
        to.large = *self;
    }

    fn unpack(from: &mut Unpacker<'_>) -> Self {
        let number = from.number();
        if number & 1 == 0 {
            return number >> 1;
        }
        from.large = if number >> 1 < LARGE {
            from.large.wrapping_add(unzigzag(number >> 1).cast_unsigned())
        } else {
            fixed(from)
        };
        from.large
    }
}

fn fixed(from: &mut Unpacker<'_>) -> u64 {
    let Some((bytes, rest)) = from.bytes.split_first_chunk() else { return 0 };
    from.bytes = rest;
    u64::from_le_bytes(*bytes)
}

impl Packed for usize {
    fn pack(&self, to: &mut Packer) {
        to.number(*self as u64);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Self {
        from.number() as Self
    }
}

impl Packed for i64 {
    fn pack(&self, to: &mut Packer) {
        // Nanoseconds, of which many captures have none.
        if self % 1_000 == 0 {
            to.number(zigzag(self / 1_000) << 1);
        } else if *self < 1 << 61 && *self > -1 << 61 {
            to.number(zigzag(*self) << 1 | 1);
        } else {
            to.number(zigzag(0) << 1 | 1);
            to.bytes.extend_from_slice(&self.to_le_bytes());
        }
    }

    fn unpack(from: &mut Unpacker<'_>) -> Self {
        match from.number() {
            1 => fixed(from).cast_signed(),
            number if number & 1 == 0 => unzigzag(number >> 1) * 1_000,
            number => unzigzag(number >> 1),
        }
    }
}

impl Packed for f64 {
    fn pack(&self, to: &mut Packer) {
        // Seven digits of a measure are enough. Most have fewer, and then lie in the
        // lowest bytes.
        to.number(u64::from((*self as f32).to_bits().reverse_bits()));
    }

    fn unpack(from: &mut Unpacker<'_>) -> Self {
        f32::from_bits((from.number() as u32).reverse_bits()).into()
    }
}

impl Packed for Timestamp {
    fn pack(&self, to: &mut Packer) {
        self.as_nanos().wrapping_sub(to.epoch.as_nanos()).pack(to);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Self {
        let nanos = i64::unpack(from);
        Self::from_nanos(nanos.wrapping_add(from.epoch.as_nanos()))
    }
}

macro_rules! as_numbers {
    ($($name:ty: $from:expr, $to:expr;)*) => {$(
        impl Packed for $name {
            fn pack(&self, to: &mut Packer) {
                $from(*self).pack(to);
            }

            fn unpack(from: &mut Unpacker<'_>) -> Self {
                $to(Packed::unpack(from))
            }
        }
    )*};
}
as_numbers! {
    Span: Span::as_nanos, Span::from_nanos;
    Bytes: Bytes::get, Bytes::new;
    Rate: Rate::bytes_per_second, Rate::from_bytes_per_second;
}

impl<T: Packed> Packed for Option<T> {
    fn pack(&self, to: &mut Packer) {
        self.is_some().pack(to);
        if let Some(value) = self {
            value.pack(to);
        }
    }

    fn unpack(from: &mut Unpacker<'_>) -> Self {
        bool::unpack(from).then(|| T::unpack(from))
    }
}

impl<T: Packed> Packed for Box<T> {
    fn pack(&self, to: &mut Packer) {
        self.as_ref().pack(to);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Self {
        Self::new(T::unpack(from))
    }
}

impl<T: Packed> Packed for Vec<T> {
    fn pack(&self, to: &mut Packer) {
        to.number(self.len() as u64);
        self.iter().for_each(|value| value.pack(to));
    }

    fn unpack(from: &mut Unpacker<'_>) -> Self {
        let count = from.number();
        (0..count).map(|_| T::unpack(from)).collect()
    }
}

impl<T: Packed> Packed for VecDeque<T> {
    fn pack(&self, to: &mut Packer) {
        to.number(self.len() as u64);
        self.iter().for_each(|value| value.pack(to));
    }

    fn unpack(from: &mut Unpacker<'_>) -> Self {
        Vec::unpack(from).into()
    }
}

impl<T: Packed> Packed for [T; 2] {
    fn pack(&self, to: &mut Packer) {
        for value in self {
            value.pack(to);
        }
    }

    fn unpack(from: &mut Unpacker<'_>) -> Self {
        std::array::from_fn(|_| T::unpack(from))
    }
}

impl<A: Packed, B: Packed> Packed for (A, B) {
    fn pack(&self, to: &mut Packer) {
        self.0.pack(to);
        self.1.pack(to);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Self {
        (A::unpack(from), B::unpack(from))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn again<T: Packed>(value: &T, epoch: i64) -> T {
        let epoch = Timestamp::from_nanos(epoch);
        let mut packer = Packer::new(epoch, Vec::new());
        value.pack(&mut packer);
        let bytes = packer.bytes();
        let mut unpacker = Unpacker::new(epoch, &bytes);
        let unpacked = T::unpack(&mut unpacker);
        assert!(unpacker.bytes.is_empty());
        unpacked
    }

    proptest! {
        #[test]
        fn what_is_packed_comes_back(
            large in prop::collection::vec(any::<u64>(), 0..8),
            near in prop::collection::vec((1_u64 << 40) - 9..(1 << 40) + 9, 0..8),
            signed in any::<i64>(),
            epoch in any::<i64>(),
            float in any::<f32>(),
            small in any::<(bool, u8)>(),
            middle in any::<(u16, u32)>(),
        ) {
            prop_assert_eq!(&again(&large, epoch), &large);
            prop_assert_eq!(&again(&near, epoch), &near);
            let time = Timestamp::from_nanos(signed);
            let span = Span::from_nanos(signed);
            prop_assert_eq!(again(&(signed, (time, span)), epoch), (signed, (time, span)));
            prop_assert_eq!(again(&f64::from(float), epoch), f64::from(float));
            prop_assert_eq!(again(&small, epoch), small);
            prop_assert_eq!(again(&[Some(middle), None], epoch), [Some(middle), None]);
        }
    }

    #[test]
    fn damaged_bytes_unpack_to_something() {
        let bytes = [0xff; 3];
        let mut unpacker = Unpacker::new(Timestamp::ZERO, &bytes);
        assert_eq!(Option::<u64>::unpack(&mut unpacker).map(|_| ()), Some(()));
        assert_eq!(u64::unpack(&mut unpacker), 0);
    }
}
