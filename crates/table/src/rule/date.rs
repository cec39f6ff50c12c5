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

/// Appends the date as `YYYY-MM-DD`.
pub(super) fn date(order: Option<DateOrder>, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
    let bytes = trim(bytes);
    if bytes.is_empty() {
        return Ok(());
    }
    let Some(Day { year, month, day }) = Day::read(order, bytes) else {
        return Err(match order {
            _ if has_time(order, bytes) => Invalid::DateWithTime,
            None => Invalid::NotADate,
            Some(order) => Invalid::NotInOrder { order },
        });
    };
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
