//! Days, times and time stamps as ISO 8601 text, for every value that Arrow can hold.

use std::io::Write;

const DAY_NANOS: i128 = 86_400_000_000_000;

/// A day counted from 1970-01-01 as `YYYY-MM-DD`. Years outside 0000 to 9999 get a sign and as many digits as
/// they need.
pub(super) fn date(days: i64, out: &mut Vec<u8>) {
    let (year, month, day) = civil(days);
    if (0..=9999).contains(&year) {
        append(out, format_args!("{year:04}-{month:02}-{day:02}"));
    } else {
        append(out, format_args!("{year:+07}-{month:02}-{day:02}"));
    }
}

/// A time of the day as `HH:MM:SS.nnnnnnnnn`.
pub(super) fn time(nanos: i128, out: &mut Vec<u8>) {
    let (seconds, nanos) = (nanos.div_euclid(1_000_000_000), nanos.rem_euclid(1_000_000_000));
    let (minutes, second) = (seconds.div_euclid(60), seconds.rem_euclid(60));
    append(out, format_args!("{:02}:{:02}:{second:02}.{nanos:09}", minutes / 60, minutes % 60));
}

/// A moment counted from 1970 in nanoseconds, as `YYYY-MM-DDTHH:MM:SS.nnnnnnnnnZ`.
pub(super) fn moment(nanos: i128, out: &mut Vec<u8>) {
    // 64 bits of seconds are at most 48 bits of days.
    date(nanos.div_euclid(DAY_NANOS) as i64, out);
    out.push(b'T');
    time(nanos.rem_euclid(DAY_NANOS), out);
    out.push(b'Z');
}

fn append(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // Writing to a vector never fails.
    let _ = out.write_fmt(text);
}

/// Year, month and day of the Gregorian calendar, extended to all years.
///
/// Years begin in March, so a leap day is the last day of its year. Eras of 400 years all have the same
/// number of days.
fn civil(days: i64) -> (i64, i64, i64) {
    const ERA: i64 = 146_097;
    /// From the first of March of the year 0 to 1970-01-01.
    const EPOCH: i64 = 719_468;
    let days = days + EPOCH;
    let (era, day_of_era) = (days.div_euclid(ERA), days.rem_euclid(ERA));
    let leap_days = day_of_era / 1460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // From March on, every five months have 153 days.
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (400 * era + year_of_era + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_day_follows_the_one_before() {
        let mut expected = (0, 1, 1);
        for days in -719_528..3_652_060 - 719_528 {
            assert_eq!(civil(days), expected, "{days}");
            let (year, month, day) = expected;
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let last = [31, 28 + i64::from(leap), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month as usize - 1];
            expected = match (day == last, month == 12) {
                (false, _) => (year, month, day + 1),
                (true, false) => (year, month + 1, 1),
                (true, true) => (year + 1, 1, 1),
            };
        }
        assert_eq!(civil(0), (1970, 1, 1));
    }

    #[test]
    fn text_is_iso() {
        assert_eq!(text(|out| date(20_778, out)), "2026-11-21");
        assert_eq!(text(|out| date(-719_528, out)), "0000-01-01");
        assert_eq!(text(|out| date(-719_529, out)), "-000001-12-31");
        assert_eq!(text(|out| date(2_932_897, out)), "+010000-01-01");
        assert_eq!(text(|out| moment(-1, out)), "1969-12-31T23:59:59.999999999Z");
        assert_eq!(text(|out| moment(1_795_234_567_000_000_001, out)), "2026-11-21T04:16:07.000000001Z");
        assert_eq!(text(|out| time(3_723_000_000_004, out)), "01:02:03.000000004");
        for extreme in [i64::MIN, i64::MAX] {
            assert!(!text(|out| moment(i128::from(extreme) * 1_000_000_000, out)).is_empty());
        }
    }
}
