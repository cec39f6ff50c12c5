//! Dates of the calendar: in the order of ISO 8601, or in one that a table's owner names.

use super::form::trim;
use super::invalid::Invalid;

/// The order of the numbers in the dates of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum DateOrder {
    /// Day, month, year.
    Dmy,
    /// Month, day, year.
    Mdy,
    /// Year, month, day.
    Ymd,
}

impl DateOrder {
    const ALL: [DateOrder; 3] = [DateOrder::Dmy, DateOrder::Mdy, DateOrder::Ymd];

    /// The order with this name, in letters of either case.
    pub fn find(name: &str) -> Option<DateOrder> {
        DateOrder::ALL.into_iter().find(|order| order.name().eq_ignore_ascii_case(name))
    }

    /// Its name: `DMY`, `MDY` or `YMD`.
    pub const fn name(self) -> &'static str {
        match self {
            DateOrder::Dmy => "DMY",
            DateOrder::Mdy => "MDY",
            DateOrder::Ymd => "YMD",
        }
    }

    /// A date in that order.
    pub(super) const fn example(self) -> &'static str {
        match self {
            DateOrder::Dmy => "21.11.2026",
            DateOrder::Mdy => "11/21/2026",
            DateOrder::Ymd => "2026/11/21",
        }
    }
}

/// Appends the date, so many days later, as `YYYY-MM-DD`; nothing if its year would not be 1 to 9999.
pub(super) fn date(
    order: Option<DateOrder>,
    later: i8,
    bytes: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), Invalid> {
    let bytes = trim(bytes);
    if bytes.is_empty() {
        return Ok(());
    }
    let Some(found) = Day::read(order, bytes) else {
        return Err(match order {
            _ if has_time(order, bytes) => Invalid::DateWithTime,
            None => Invalid::NotADate,
            Some(order) => Invalid::NotInOrder { order },
        });
    };
    let Some(Day { year, month, day }) = found.moved(later) else { return Ok(()) };
    let two = |number: u32| [number / 10, number % 10];
    let [century, years, month, day] = [year / 100, year % 100, month, day].map(two);
    let digits = [century[0], century[1], years[0], years[1], month[0], month[1], day[0], day[1]];
    let [y0, y1, y2, y3, m0, m1, d0, d1] = digits.map(|digit| b'0' + digit as u8);
    out.extend_from_slice(&[y0, y1, y2, y3, b'-', m0, m1, b'-', d0, d1]);
    Ok(())
}

/// A day of the Gregorian calendar.
struct Day {
    year: u32,
    month: u32,
    day: u32,
}

impl Day {
    /// The day so many days later; none outside of the years 1 to 9999.
    fn moved(self, days_later: i8) -> Option<Day> {
        let Day { mut year, mut month, mut day } = self;
        for _ in 0..days_later.unsigned_abs() {
            if days_later > 0 {
                day += 1;
                if day > days(year, month) {
                    (day, month) = (1, month + 1);
                }
                if month > 12 {
                    (month, year) = (1, year + 1);
                }
            } else {
                day -= 1;
                if day == 0 {
                    month -= 1;
                    if month == 0 {
                        (month, year) = (12, year - 1);
                    }
                    day = days(year, month);
                }
            }
        }
        (1..=9999).contains(&year).then_some(Day { year, month, day })
    }

    fn read(order: Option<DateOrder>, bytes: &[u8]) -> Option<Day> {
        let ordered = order.and_then(|order| parts(order, bytes));
        let [year, month, day] = ordered.or_else(|| iso(order, bytes))?.map(number);
        let (year, month, day) = (year?, month?, day?);
        (year > 0 && (1..=days(year, month)).contains(&day)).then_some(Day { year, month, day })
    }
}

/// Year, month and day of a date in that order.
fn parts(order: DateOrder, bytes: &[u8]) -> Option<[&[u8]; 3]> {
    let between = *bytes.iter().find(|byte| matches!(byte, b'.' | b'-' | b'/'))?;
    let mut parts = bytes.split(|byte| *byte == between);
    let (Some(one), Some(two), Some(three), None) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return None;
    };
    let [year, month, day] = match order {
        DateOrder::Dmy => [three, two, one],
        DateOrder::Mdy => [three, one, two],
        DateOrder::Ymd => [one, two, three],
    };
    let short = |part: &[u8]| matches!(part.len(), 1 | 2);
    (year.len() == 4 && short(month) && short(day)).then_some([year, month, day])
}

/// Year, month and day of ISO 8601. A year of four digits in front leaves only one reading. Eight digits alone have
/// one only where the year comes first.
fn iso(order: Option<DateOrder>, bytes: &[u8]) -> Option<[&[u8]; 3]> {
    match bytes.len() {
        10 if bytes[4] == b'-' && bytes[7] == b'-' => Some([&bytes[..4], &bytes[5..7], &bytes[8..]]),
        8 if matches!(order, None | Some(DateOrder::Ymd)) => Some([&bytes[..4], &bytes[4..6], &bytes[6..]]),
        _ => None,
    }
}

fn number(digits: &[u8]) -> Option<u32> {
    let all = digits.iter().all(u8::is_ascii_digit);
    all.then(|| digits.iter().fold(0, |number, digit| number * 10 + u32::from(digit - b'0')))
}

/// Whether it is a date, and the hour of a day behind it.
fn has_time(order: Option<DateOrder>, bytes: &[u8]) -> bool {
    let Some(at) = bytes.iter().position(|byte| matches!(byte, b'T' | b't' | b' ')) else { return false };
    bytes.get(at + 1).is_some_and(u8::is_ascii_digit) && Day::read(order, &bytes[..at]).is_some()
}

/// Days of a month in the Gregorian calendar, which ISO 8601 extends to all years; none in a month that is
/// not.
fn days(year: u32, month: u32) -> u32 {
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The date that is so many days after 1970-01-01 (Hinnant, `civil_from_days`).
    fn civil(days: i64) -> String {
        let z = days + 719_468;
        let (era, of_era) = (z.div_euclid(146_097), z.rem_euclid(146_097));
        let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let m = (5 * of_year + 2) / 153;
        let month = if m < 10 { m + 3 } else { m - 9 };
        let (day, year) = (of_year - (153 * m + 2) / 5 + 1, year + era * 400 + i64::from(month <= 2));
        format!("{year:04}-{month:02}-{day:02}")
    }

    #[test]
    fn days_are_counted_as_in_the_calendar() {
        let moved = |text: &str, later: i8| {
            let mut out = Vec::new();
            date(None, later, text.as_bytes(), &mut out).map(|()| String::from_utf8(out).unwrap())
        };
        // 1899-12-25 to 1904-03-05 and 1999-12-25 to 2004-03-05: a year of four that has no 29 February, and one that has.
        for day in (-25_574..-24_042).chain(10_950..12_482) {
            for later in -3..=3 {
                assert_eq!(moved(&civil(day), later).unwrap(), civil(day + i64::from(later)));
            }
        }
        assert_eq!(moved("0001-01-01", -1).unwrap(), "");
        assert_eq!(moved("0001-01-02", -1).unwrap(), "0001-01-01");
        assert_eq!(moved("9999-12-31", 1).unwrap(), "");
        assert!(moved("2023-02-29", 1).is_err());
    }
}
