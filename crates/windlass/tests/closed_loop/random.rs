//! Numbers that depend on a seed alone: `SplitMix64` (Steele, Lea and Flood 2014).
#![allow(dead_code, reason = "each test that includes this uses a part of it")]

pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(kind: u64, seed: u64) -> Self {
        Self(kind << 32 ^ seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// From `low` to `high`, both included, each magnitude as likely.
    pub(crate) fn log(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.unit())
    }

    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn chance(&mut self, share: f64) -> bool {
        self.unit() < share
    }

    pub(crate) fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[(self.next() % all.len() as u64) as usize]
    }

    /// Below `count`; 0 where that is 0.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        (self.next() % count.max(1) as u64) as usize
    }

    /// Any sequence number.
    pub(crate) fn sequence(&mut self) -> u32 {
        (self.next() >> 32) as u32
    }
}
