//! The node at present, as the conditions of `targets` see it: its type, its labels, and the time of the week.

use std::collections::BTreeMap;

use tenure_sdk::{Object, SupplySituation};

use crate::names::{INSTANCE_TYPE, LABELS, TIME, VALUE};

/// The days of the week, as they are written, from Monday on.
pub const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// The node at present. What the host does not say is not known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Present<'a> {
    /// The instance's type, such as `m5.large`.
    pub instance_type: Option<&'a str>,
    /// The node's labels.
    pub labels: BTreeMap<&'a str, &'a str>,
    /// The time of the week.
    pub time: Option<WeekTime>,
}

/// A minute of the week, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WeekTime {
    /// The index in [`DAYS`].
    pub day: usize,
    /// The minutes since midnight.
    pub minute: u16,
}

impl<'a> Present<'a> {
    /// Reads the state of a plan.
    #[must_use]
    pub fn of(state: &'a SupplySituation) -> Self {
        let label =
            |object: &'a Object| (object.name.as_str(), object.attributes.get(VALUE).unwrap_or_default());
        Self {
            instance_type: state.attributes.get(INSTANCE_TYPE),
            labels: state.objects(LABELS).map(label).collect(),
            time: state.attributes.get(TIME).and_then(WeekTime::of),
        }
    }
}

impl WeekTime {
    /// The minute of a time in UTC as RFC 3339 has it, such as `2026-01-05T08:00:00Z`; `None` for anything else.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
        let [year, month, day] = numbers(date, '-')?;
        let [hour, minute, _] = numbers(time, ':')?;
        let is_time = (1..=31).contains(&day) && hour < 24 && minute < 60;
        let day = day_of(year, month, day).filter(|_| is_time)?;
        Some(Self { day, minute: u16::try_from(hour * 60 + minute).ok()? })
    }
}

/// Three numbers of at most four digits.
fn numbers(text: &str, between: char) -> Option<[u32; 3]> {
    let mut parts = text.split(between).map(|part| part.parse().ok().filter(|number| *number <= 9999));
    let numbers = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(numbers)
}

/// The index of a date's day in [`DAYS`] (Sakamoto's method).
fn day_of(year: u32, month: u32, day: u32) -> Option<usize> {
    const SHIFTS: [u32; 12] = [0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4];
    let shift = SHIFTS.get(usize::try_from(month.checked_sub(1)?).ok()?)?;
    // A leap day counts from March on.
    let year = if month < 3 { year.checked_sub(1)? } else { year };
    let from_sunday = year + year / 4 + year / 400 + shift + day - year / 100;
    usize::try_from((from_sunday + 6) % 7).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_day_of_a_date_is_that_of_the_calendar() {
        for (text, day, minute) in [
            ("1970-01-01T00:00:00Z", "thu", 0),
            ("2000-02-29T23:59:59Z", "tue", 1439),
            ("2026-01-05T08:00:00Z", "mon", 480),
            ("2026-03-01T12:30:00Z", "sun", 750),
            ("2100-02-28T00:01:00Z", "sun", 1),
            ("2100-03-01T00:00:00Z", "mon", 0),
        ] {
            let time = WeekTime::of(text).unwrap();
            assert_eq!((DAYS[time.day], time.minute), (day, minute), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_in_utc_is_not_known() {
        for text in [
            "",
            "2026-01-05",
            "2026-01-05T08:00:00",
            "2026-01-05T08:00:00+01:00",
            "2026-00-05T08:00:00Z",
            "2026-13-05T08:00:00Z",
            "2026-01-00T08:00:00Z",
            "2026-01-05T24:00:00Z",
            "2026-01-05T08:60:00Z",
            "0-1-1T00:00:00Z",
            "4294967295-01-05T08:00:00Z",
            "2026-01-05-01T08:00:00Z",
        ] {
            assert_eq!(WeekTime::of(text), None, "{text}");
        }
    }
}
