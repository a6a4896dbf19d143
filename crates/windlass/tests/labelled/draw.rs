//! Draws by chance that repeat with their seed.

/// Chance that begins with a situation's name and a seed.
pub(crate) struct Draw(u64);

impl Draw {
    pub(crate) fn new(name: &str, seed: u64) -> Self {
        // FNV-1a keeps the draws of two situations apart.
        let start = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self(start ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// The next number of `SplitMix64`.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Draws from 0 to 1.
    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Draws evenly between two bounds.
    pub(crate) fn between(&mut self, least: f64, most: f64) -> f64 {
        least + (most - least) * self.share()
    }

    /// Draws between two bounds, evenly on a logarithmic scale.
    pub(crate) fn scaled(&mut self, least: f64, most: f64) -> f64 {
        self.between(least.ln(), most.ln()).exp()
    }

    /// Draws an integer between two bounds, both included.
    pub(crate) fn whole(&mut self, least: u64, most: u64) -> u64 {
        least + self.next() % (most - least + 1)
    }

    /// Returns true with this chance.
    pub(crate) fn chance(&mut self, share: f64) -> bool {
        self.share() < share
    }

    /// Picks one.
    pub(crate) fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.whole(0, of.len() as u64 - 1) as usize]
    }
}
