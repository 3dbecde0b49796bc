//! Quotas: bounds with a share for each owner, so that one owner can never take everything.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// For all owners together.
    pub(crate) all: usize,
    /// For one owner.
    pub(crate) of_one: usize,
}

/// Entries in order of arrival. An entry beyond the bounds evicts the oldest: of its own owner if that owner's share is
/// used up, else of all.
#[derive(Debug)]
pub(crate) struct Shares<T> {
    bounds: Bounds,
    entries: BTreeMap<u64, (String, T)>,
    owners: HashMap<String, BTreeSet<u64>>,
}

impl<T> Shares<T> {
    pub(crate) fn new(bounds: Bounds) -> Shares<T> {
        Shares { bounds, entries: BTreeMap::new(), owners: HashMap::new() }
    }

    /// Adds an entry under a number higher than all before, and returns the evicted one.
    pub(crate) fn push(&mut self, number: u64, owner: &str, entry: T) -> Option<(u64, T)> {
        let own = self.owners.entry(owner.to_owned()).or_default();
        own.insert(number);
        let oldest = if own.len() > self.bounds.of_one { own.first().copied() } else { None };
        self.entries.insert(number, (owner.to_owned(), entry));
        let oldest = oldest.or_else(|| {
            let is_full = self.entries.len() > self.bounds.all;
            self.entries.keys().next().copied().filter(|_| is_full)
        })?;
        self.remove(oldest).map(|entry| (oldest, entry))
    }

    pub(crate) fn get(&self, number: u64) -> Option<&T> {
        self.entries.get(&number).map(|(_, entry)| entry)
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn remove(&mut self, number: u64) -> Option<T> {
        let (owner, entry) = self.entries.remove(&number)?;
        remove(&mut self.owners, &owner, number);
        Some(entry)
    }
}

/// Removes a number, and its key with the last number.
pub(crate) fn remove<K: Eq + std::hash::Hash>(kept: &mut HashMap<K, BTreeSet<u64>>, key: &K, number: u64) {
    if let Some(numbers) = kept.get_mut(key) {
        numbers.remove(&number);
        if numbers.is_empty() {
            kept.remove(key);
        }
    }
}

/// An amount that owners take parts of and return.
#[derive(Clone, Debug)]
pub(crate) struct Budget(Arc<Mutex<Amounts>>);

#[derive(Debug)]
struct Amounts {
    bounds: Bounds,
    all: usize,
    owners: HashMap<String, usize>,
}

impl Budget {
    pub(crate) fn new(bounds: Bounds) -> Budget {
        Budget(Arc::new(Mutex::new(Amounts { bounds, all: 0, owners: HashMap::new() })))
    }

    /// Changes the bounds. Parts already taken stay taken.
    pub(crate) fn follow(&self, bounds: Bounds) {
        self.amounts().bounds = bounds;
    }

    /// A part, if there is room for it. The first part of an owner may exceed its share, and the only part of all may
    /// exceed the total.
    pub(crate) fn take(&self, owner: &str, amount: usize) -> Option<QuotaPart> {
        let mut part = QuotaPart { budget: self.clone(), owner: owner.to_owned(), amount: 0 };
        part.grow(amount).then_some(part)
    }

    /// A part for something that can no longer be refused. It counts all the same.
    pub(crate) fn take_anyway(&self, owner: &str, amount: usize) -> QuotaPart {
        self.amounts().add(owner, amount);
        QuotaPart { budget: self.clone(), owner: owner.to_owned(), amount }
    }

    /// How much is taken.
    pub(crate) fn taken(&self) -> usize {
        self.amounts().all
    }

    fn amounts(&self) -> MutexGuard<'_, Amounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Amounts {
    fn add(&mut self, owner: &str, amount: usize) {
        self.all += amount;
        *self.owners.entry(owner.to_owned()).or_default() += amount;
    }
}

/// A part of a budget, held until it is dropped.
#[derive(Debug)]
pub(crate) struct QuotaPart {
    budget: Budget,
    owner: String,
    amount: usize,
}

impl QuotaPart {
    /// Takes more, if there is room.
    pub(crate) fn grow(&mut self, amount: usize) -> bool {
        let mut amounts = self.budget.amounts();
        let bounds = amounts.bounds;
        let own = amounts.owners.get(&self.owner).copied().unwrap_or_default();
        let fits = own == 0 || own + amount <= bounds.of_one;
        if !fits || amounts.all + amount > bounds.all && amounts.all > 0 {
            return false;
        }
        amounts.add(&self.owner, amount);
        self.amount += amount;
        true
    }
}

impl Drop for QuotaPart {
    fn drop(&mut self) {
        let mut amounts = self.budget.amounts();
        amounts.all -= self.amount;
        if let Some(own) = amounts.owners.get_mut(&self.owner) {
            *own -= self.amount;
            if *own == 0 {
                amounts.owners.remove(&self.owner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inv_s8_an_owner_with_its_share_gives_way_to_itself() {
        let mut shares = Shares::new(Bounds { all: 3, of_one: 2 });
        assert_eq!(shares.push(1, "a", 'a'), None);
        assert_eq!(shares.push(2, "b", 'b'), None);
        assert_eq!(shares.push(3, "b", 'c'), None);
        assert_eq!(shares.push(4, "b", 'd'), Some((2, 'b')), "its own oldest, not the oldest of all");
        assert_eq!(shares.push(5, "c", 'e'), Some((1, 'a')), "the oldest of all");
        assert_eq!(shares.remove(4), Some('d'));
        assert_eq!((shares.remove(4), shares.get(5), shares.owners.len()), (None, Some(&'e'), 2));
    }

    #[test]
    fn inv_s8_one_owner_takes_its_share_of_a_budget_and_gives_it_back() {
        let budget = Budget::new(Bounds { all: 100, of_one: 40 });
        let (first, mut second) = (budget.take("a", 30).unwrap(), budget.take("a", 10).unwrap());
        assert!(budget.take("a", 1).is_none() && !second.grow(1));
        let other = budget.take("b", 60).unwrap();
        assert!(budget.take("c", 1).is_none(), "all of it is taken");
        let anyway = budget.take_anyway("c", 50);
        assert_eq!(budget.taken(), 150);
        drop((first, second, anyway));
        assert!(budget.take("a", 40).is_some());
        drop(other);
        assert_eq!((budget.taken(), budget.amounts().owners.len()), (0, 0));
        // A part larger than the whole budget is granted when it is the only one.
        assert!(budget.take("a", 1_000).is_some());
    }
}
