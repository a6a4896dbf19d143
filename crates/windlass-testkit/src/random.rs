//! Pseudo-random numbers that depend only on a seed: `SplitMix64` (Steele, Lea and Flood 2014).

/// Pseudo-random number generator.
pub struct Random(u64);

impl Random {
    /// Returns the generator for a kind of test and a seed.
    pub fn new(kind: u64, seed: u64) -> Self {
        Self(kind << 32 ^ seed)
    }

    /// Returns the next 64 random bits.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Returns a number from `low` to `high`, uniformly distributed on a logarithmic scale.
    pub fn log(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.unit())
    }

    /// Returns a number from 0 to 1, excluding 1.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns true with the probability `share`.
    pub fn chance(&mut self, share: f64) -> bool {
        self.unit() < share
    }

    /// Returns a random element of a slice.
    pub fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[(self.next() % all.len() as u64) as usize]
    }

    /// Returns a number below `count`, or 0 if `count` is 0.
    pub fn below(&mut self, count: usize) -> usize {
        (self.next() % count.max(1) as u64) as usize
    }

    /// Returns a random TCP sequence number.
    pub fn sequence(&mut self) -> u32 {
        (self.next() >> 32) as u32
    }
}
