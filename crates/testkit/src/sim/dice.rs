//! Deterministic random choices from a seed.

use tenure_store::Entropy;

use crate::fixture::Seeded;

/// A random source with a seed.
pub struct Dice(Seeded);

impl Dice {
    /// Creates the source. The seed is scrambled, so that neighbouring seeds diverge immediately.
    pub fn new(seed: u64) -> Dice {
        Dice(Seeded::new(seed.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(1)))
    }

    /// A number in `0..count`.
    pub fn below(&self, count: usize) -> usize {
        let mut bytes = [0; 4];
        self.0.fill(&mut bytes);
        u32::from_le_bytes(bytes) as usize % count
    }

    /// A number in `from..=to`.
    pub fn within(&self, from: i64, to: i64) -> i64 {
        let mut bytes = [0; 8];
        self.0.fill(&mut bytes);
        from + (u64::from_le_bytes(bytes) % u64::try_from(to - from + 1).unwrap()) as i64
    }

    /// A random element.
    pub fn one<'a, T>(&self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// True with probability 1 in `count`.
    pub fn once_in(&self, count: usize) -> bool {
        self.below(count) == 0
    }

    /// The value of `what` with probability 1 in `once_in`.
    pub fn maybe<T>(&self, once_in: usize, what: impl FnOnce() -> T) -> Option<T> {
        self.once_in(once_in).then(what)
    }
}
