//! Numbers of events, which are the fences of holds: where they go on after a restore.

use crate::Time;

/// By how much numbers go up at least: more than any project hands out between a backup and its restore.
pub const GAP: i64 = 1 << 32;

/// Numbers stay below this, so that every JSON reader has them exactly.
pub const END: i64 = 1 << 53;

/// The span that the random part is drawn from when the clock tells restores apart: a second in microseconds. A longer one
/// would put the numbers of a later restore below those of an earlier one.
const SPREAD: u64 = 1 << 20;

/// The same when the clock says nothing, because it is behind the numbers that were handed out.
const SPREAD_BY_CHANCE: u64 = 1 << 40;

/// The highest number that a clock is believed with, in microseconds (the year 2112): one that is centuries ahead must not
/// use up the numbers of all later restores.
const LATEST: i64 = 1 << 52;

/// The number that events go on after when a store is restored whose numbers up to `handed_out` are known to be used; `None`
/// when there are none left.
///
/// What was handed out since the backup may be lost with the store, and one backup may be restored many times, so the
/// backup alone cannot tell two restores apart. The clock does: no project draws a million numbers a second, so numbers
/// that go on at the microseconds since the epoch are above all that an earlier restore led to. A random part does for two
/// restores within its span, and where the clock was set back: then the chance that two of them meet is that of the
/// numbers handed out between them to the span. Thousands of restores after each other fit even where the clock stands
/// still.
pub fn resumed(handed_out: i64, clock: Time, random: u64) -> Option<i64> {
    let (above, clock) = (handed_out.checked_add(GAP)?, clock.0.min(LATEST));
    let spread = if clock > above { SPREAD } else { SPREAD_BY_CHANCE };
    let number = above.max(clock).checked_add(i64::try_from(random % spread).ok()?)?;
    // Room for what the project hands out afterwards.
    (number < END - GAP).then_some(number)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// 2026 in microseconds.
    const NOW: i64 = 1_780_000_000_000_000;

    #[test]
    fn inv_l1_a_second_restore_goes_on_above_all_that_the_first_led_to() {
        let (first, hours) = (resumed(1_000, Time(NOW), SPREAD - 1).unwrap(), 2 * 3_600_000_000);
        // A hundred thousand events a second for two hours, and then everything is lost.
        let lost = first + 100_000 * 7_200;
        assert!(resumed(1_000, Time(NOW + hours), 0).unwrap() > lost);
        // Nor does it matter what was drawn when little time has passed: a resource that has seen a fence refuses lower ones.
        let soon = 2_000_000;
        assert!(resumed(1_000, Time(NOW + soon), 0).unwrap() > first + 100_000);
        // With the clock set back chance remains.
        assert_ne!(resumed(1_000, Time(0), 7), resumed(1_000, Time(0), 8));
    }

    #[test]
    fn restores_do_not_run_out_of_numbers() {
        for clock in [0, NOW, i64::MAX] {
            let mut number = 1_000;
            for _ in 0..3_000 {
                number = resumed(number, Time(clock), SPREAD_BY_CHANCE - 1).unwrap();
            }
        }
        assert_eq!(resumed(END - GAP, Time(NOW), 0), None);
        assert_eq!(resumed(i64::MAX, Time(NOW), 0), None);
    }

    proptest! {
        #[test]
        fn inv_l1_numbers_rise_by_the_gap_and_stay_exact(last in 0..END, clock: i64, random: u64) {
            if let Some(number) = resumed(last, Time(clock), random) {
                prop_assert!(last + GAP <= number && number < END);
            }
        }
    }
}
