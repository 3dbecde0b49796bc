//! Event numbers, which are also the fences of holds: where they continue after a restore.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use crate::Time;

/// Implements what makes a number a plain number in text, JSON and JSON Schema.
macro_rules! plain_number {
    ($type:ident) => {
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl From<$type> for serde_json::Value {
            fn from(number: $type) -> serde_json::Value {
                number.0.into()
            }
        }

        impl PartialEq<i64> for $type {
            fn eq(&self, number: &i64) -> bool {
                self.0 == *number
            }
        }

        impl JsonSchema for $type {
            fn inline_schema() -> bool {
                i64::inline_schema()
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                i64::schema_name()
            }

            fn schema_id() -> std::borrow::Cow<'static, str> {
                i64::schema_id()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                i64::json_schema(generator)
            }
        }
    };
}

/// The number of an event in the log of its project. Numbers rise in commit order; only a restore leaves a gap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EventNumber(i64);

plain_number!(EventNumber);

impl EventNumber {
    /// Before the first event; the default.
    pub const START: EventNumber = EventNumber(0);

    /// The lowest number of an event.
    pub const FIRST: EventNumber = EventNumber(1);

    /// After every event: the open end of a range.
    pub const MAX: EventNumber = EventNumber(i64::MAX);

    /// The event with this number, which is not checked.
    pub const fn new(number: i64) -> EventNumber {
        EventNumber(number)
    }

    /// The number itself.
    pub const fn get(self) -> i64 {
        self.0
    }

    /// The number after this one.
    #[must_use]
    pub const fn next(self) -> EventNumber {
        EventNumber(self.0.saturating_add(1))
    }

    /// The number before this one.
    #[must_use]
    pub const fn previous(self) -> EventNumber {
        EventNumber(self.0.saturating_sub(1))
    }
}

impl FromStr for EventNumber {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<EventNumber, ParseIntError> {
        text.parse().map(EventNumber)
    }
}

/// The number of the event that granted a hold, which proves under which grant a holder works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fence(pub i64);

plain_number!(Fence);

impl From<i64> for Fence {
    fn from(number: i64) -> Fence {
        Fence(number)
    }
}

impl From<EventNumber> for Fence {
    fn from(granted: EventNumber) -> Fence {
        Fence(granted.0)
    }
}

impl Fence {
    /// The event that granted the hold.
    pub fn event(self) -> EventNumber {
        EventNumber(self.0)
    }
}

/// More numbers than a store issues in its life: at 70,000 a second, the rate of bulk adds, they last for 17 hours
/// without a pause and fill hundreds of gigabytes.
pub const GAP: i64 = 1 << 32;

/// Numbers stay below this bound, so that every JSON parser represents them exactly.
pub const END: i64 = 1 << 53;

/// The highest clock reading that is trusted, in microseconds (the year 2112): a clock that is centuries ahead must not
/// use up the numbers of all later restores.
const LATEST: i64 = 1 << 52;

/// The longest time between a point and a restore that counts, in microseconds (a year): a clock that jumps between
/// 1970 and today must not use up the numbers either.
const LONGEST: i64 = 1 << 45;

/// A known point in a store's history: the numbers up to `number` had been issued when the clock read `at`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// The last number issued.
    pub number: EventNumber,
    /// The clock at that instant.
    pub at: Time,
}

impl Point {
    /// An upper bound: no number above it has been issued when the clock reads `clock`.
    ///
    /// A store issues fewer than one number per microsecond: an event is a row with its indexes, and the shortest time
    /// measured for one is 14 µs. A clock that has not advanced says nothing about the time that has passed.
    fn reach(self, clock: Time) -> Option<EventNumber> {
        let passed = clock.0.saturating_sub(self.at.0);
        self.number.0.checked_add(if passed > 0 { passed.min(LONGEST) } else { GAP }).map(EventNumber)
    }
}

/// The number after which events continue when a store is restored; `None` when no numbers are left.
///
/// `issued` is the highest number found at the destination. `past` contains the known points of the lost history: the
/// backup itself, and the machine's record of its earlier restore.
///
/// The numbers issued since the backup may be lost with the store, and one backup may be restored many times, so the
/// backup alone cannot distinguish two restores. The clock can: because a store issues fewer than one number per
/// microsecond, numbers that continue at the microseconds since the epoch are above all numbers of an earlier restore,
/// even within one second. If the numbers are ahead of the clock, because the clock was once set back, a point carries
/// the lead along. If the clock is behind a point, the numbers continue `GAP` above it.
pub fn resumed(issued: EventNumber, past: impl IntoIterator<Item = Point>, clock: Time) -> Option<EventNumber> {
    let clock = Time(clock.0.min(LATEST));
    let mut number = issued.max(EventNumber(clock.0.max(GAP + 1)));
    for point in past {
        number = number.max(point.reach(clock)?);
    }
    // Leave room for the numbers that the store issues afterwards.
    (number < EventNumber(END - GAP)).then_some(number)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn resumed(issued: i64, past: impl IntoIterator<Item = Point>, clock: Time) -> Option<i64> {
        super::resumed(EventNumber(issued), past, clock).map(|number| number.0)
    }

    fn point(number: i64, at: i64) -> Point {
        Point { number: EventNumber(number), at: Time(at) }
    }

    /// The year 2026 in microseconds.
    const NOW: i64 = 1_780_000_000_000_000;

    #[test]
    fn restores_do_not_run_out_of_numbers() {
        for clock in [0, NOW, i64::MAX] {
            let mut last = point(1_000, clock);
            for _ in 0..3_000 {
                last.number = EventNumber(resumed(last.number.0, [last], Time(clock)).unwrap());
            }
        }
        // A clock that falls back to 1970 and is corrected again, a hundred times.
        let mut last = point(1_000, NOW);
        for clock in [0, NOW].repeat(100) {
            last = point(resumed(0, [last], Time(clock)).unwrap(), clock);
        }
        assert_eq!(resumed(END - GAP, [], Time(NOW)), None);
        assert_eq!(resumed(0, [point(i64::MAX, NOW)], Time(NOW)), None);
    }

    #[test]
    fn a_project_of_a_restored_store_is_recognised_by_its_numbers() {
        assert!(resumed(0, [], Time(0)).unwrap() > GAP);
    }

    /// A history of restores of one backup, each into an empty place: after `wait` microseconds, with `used` numbers
    /// issued since the previous restore.
    fn restores() -> impl Strategy<Value = Vec<(i64, i64)>> {
        let wait = prop_oneof![1..2_000_000_i64, 1..i64::from(u32::MAX) * 2];
        let one = wait.prop_flat_map(|wait| (Just(wait), prop_oneof![0..wait, (wait - 1)..wait]));
        prop::collection::vec(one, 1..20)
    }

    proptest! {
        /// Only the clock and the backup are known. The backup may be of a store whose numbers are ahead of the clock.
        #[test]
        fn inv_l1_under_a_clock_that_advances_every_restore_is_above_all_earlier_ones(
            history in restores(), lead in -1_000_000_000_000_000..1_000_000_000_000_i64
        ) {
            let (backup, mut clock) = (point(NOW + lead, NOW), NOW + 1);
            let mut last = resumed(0, [backup], Time(clock)).unwrap();
            for (wait, used) in history {
                clock += wait;
                let next = resumed(0, [backup], Time(clock)).unwrap();
                prop_assert!(next > last + used, "{} after {} and {} more", next, last, used);
                last = next;
            }
        }

        /// With a record of the previous restore, whatever the clock reads.
        #[test]
        fn inv_l1_with_a_record_a_restore_is_above_the_one_before_under_any_clock(
            clocks in prop::collection::vec(prop_oneof![0..NOW, (NOW - 1_000)..(NOW + 1_000)], 2..20)
        ) {
            let backup = point(1_000, NOW);
            let mut earlier: Option<Point> = None;
            for clock in clocks {
                let number = resumed(0, earlier.into_iter().chain([backup]), Time(clock)).unwrap();
                if let Some(earlier) = earlier {
                    let passed = clock - earlier.at.0;
                    let issued = if passed > 0 { passed.min(LONGEST) } else { GAP };
                    prop_assert!(number >= earlier.number.0 + issued, "{} after {:?}", number, earlier);
                }
                earlier = Some(point(number, clock));
            }
        }

        #[test]
        fn inv_l1_numbers_never_fall_and_stay_exact(issued in 0..END, number in 0..END, at: i64, clock: i64) {
            if let Some(resumed) = resumed(issued, [point(number, at)], Time(clock)) {
                prop_assert!(issued <= resumed && number < resumed && resumed < END - GAP);
            }
        }
    }
}
