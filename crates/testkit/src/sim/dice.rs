//! Random choices that are the same in every run.

use tenure_store::Entropy;

use crate::fixture::Seeded;

/// Dice from a seed.
pub struct Dice(Seeded);

impl Dice {
    /// Dice from a seed; neighbouring seeds fall apart at once.
    pub fn new(seed: u64) -> Dice {
        Dice(Seeded::new(seed.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(1)))
    }

    /// A number from 0 up to, not including, `count`.
    pub fn below(&self, count: usize) -> usize {
        let mut bytes = [0; 4];
        self.0.fill(&mut bytes);
        u32::from_le_bytes(bytes) as usize % count
    }

    /// A number of a range.
    pub fn within(&self, from: i64, to: i64) -> i64 {
        let mut bytes = [0; 8];
        self.0.fill(&mut bytes);
        from + (u64::from_le_bytes(bytes) % u64::try_from(to - from + 1).unwrap()) as i64
    }

    /// One of several.
    pub fn one<'a, T>(&self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// Whether something happens that happens once in so many times.
    pub fn once_in(&self, count: usize) -> bool {
        self.below(count) == 0
    }

    /// Something, once in so many times.
    pub fn maybe<T>(&self, once_in: usize, what: impl FnOnce() -> T) -> Option<T> {
        self.once_in(once_in).then(what)
    }
}
