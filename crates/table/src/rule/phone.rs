//! Telephone numbers in the form of ITU-T E.164: `+`, calling code, national number, digits only.
//!
//! The numbering plan of a number's country tells which prefixes are dialled before it (a trunk prefix such
//! as `0`, an international prefix such as `00`), and the rule removes them. A number without a calling code
//! needs a country, which each table sets for itself. Two parties with customers in different countries still
//! get the same E.164 form.

use std::borrow::Cow;
use std::fmt;

use super::form::is_hyphen;
use super::invalid::Invalid;
use super::invisible::is_invisible;

mod plans;

use plans::{PLANS, Plan, VERSION};

/// Most digits of an E.164 number.
const MOST_DIGITS: usize = 15;
/// The international prefix that the ITU recommends, for tables that name no country.
const RECOMMENDED: &str = "00";

/// The country of numbers without a calling code.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Country(u16);

impl Country {
    /// The country with this ISO 3166 code, in letters of either case.
    pub fn find(code: &str) -> Option<Country> {
        let letters = code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_alphabetic());
        let at = PLANS.iter().position(|plan| letters && plan.country.eq_ignore_ascii_case(code))?;
        u16::try_from(at).ok().map(Country)
    }

    /// Its ISO 3166 code.
    pub fn code(self) -> &'static str {
        self.plan().country
    }

    fn plan(self) -> &'static Plan {
        &PLANS[usize::from(self.0)]
    }
}

impl fmt::Debug for Country {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// The name of this rule that the parties agree on.
pub(super) fn agreed() -> String {
    format!("phone (numbering plans {VERSION})")
}

/// Appends the number in E.164.
pub(super) fn phone(country: Option<Country>, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
    let text = visible(super::utf8(bytes)?);
    let text = text.trim();
    if text.is_empty() {
        return Ok(());
    }
    let (plus, rest) = text.strip_prefix('+').map_or((false, text), |rest| (true, rest));
    let digits = digits(rest)?;
    let plan = country.map(Country::plan);
    let international = plan.map_or(RECOMMENDED, |plan| plan.international);
    let foreign = match (plus, digits.strip_prefix(international)) {
        (true, _) => Some(&*digits),
        (false, Some(rest)) if !international.is_empty() => Some(rest),
        _ => None,
    };
    let (code, lengths, national) = match (foreign, plan) {
        (Some(number), _) => with_code(number)?,
        (None, Some(plan)) => (plan.code, plan.lengths, without_trunk(plan, plan.lengths, &digits)),
        (None, None) => return Err(Invalid::NoCallingCode),
    };
    let code = code.to_string();
    if !possible(lengths, &national) || code.len() + national.len() > MOST_DIGITS {
        return Err(Invalid::NotAPhoneNumber);
    }
    out.push(b'+');
    out.extend_from_slice(code.as_bytes());
    out.extend_from_slice(national.as_bytes());
    Ok(())
}

/// The text without invisible characters: a number that was pasted often has marks of direction around it.
fn visible(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().filter(|c| !is_invisible(*c)).collect())
}

/// The digits of a number, without separators.
fn digits(text: &str) -> Result<String, Invalid> {
    let between = |c: char| matches!(c, '.' | '/' | '(' | ')') || is_hyphen(c) || c.is_whitespace();
    let mut digits = String::with_capacity(text.len());
    for c in text.chars().filter(|c| !between(*c)) {
        if !c.is_ascii_digit() {
            return Err(Invalid::NotAPhoneNumber);
        }
        digits.push(c);
    }
    Ok(digits)
}

/// Calling code, lengths of national numbers, and national number. No calling code is the beginning of
/// another.
fn with_code(number: &str) -> Result<(u16, u16, Cow<'_, str>), Invalid> {
    for length in 1..=3 {
        let (Some(code), Some(national)) = (number.get(..length), number.get(length..)) else { break };
        // No calling code begins with zero, and `parse` would skip it.
        let code = if code.starts_with('0') { None } else { code.parse().ok() };
        let Some(code) = code else { break };
        // The first plan is the one to which the code is attributed.
        if let Some(plan) = PLANS.iter().find(|plan| plan.code == code) {
            let lengths = lengths(code);
            return Ok((code, lengths, without_trunk(plan, lengths, national)));
        }
    }
    Err(Invalid::NoCallingCode)
}

/// The lengths of national numbers under a calling code.
fn lengths(code: u16) -> u16 {
    PLANS.iter().filter(|plan| plan.code == code).fold(0, |lengths, plan| lengths | plan.lengths)
}

fn possible(lengths: u16, national: &str) -> bool {
    national.len() <= MOST_DIGITS && lengths >> national.len() & 1 == 1
}

/// Removes the trunk prefix, if the number has it. No national number begins with a prefix of zeros. Another
/// prefix may begin a national number, so it is removed only if the length would be impossible otherwise.
fn without_trunk<'a>(plan: &Plan, lengths: u16, national: &'a str) -> Cow<'a, str> {
    if let Some(special) = special(plan, national) {
        return special;
    }
    Cow::Borrowed(match national.strip_prefix(plan.trunk) {
        Some(rest)
            if !plan.trunk.is_empty()
                && possible(lengths, rest)
                && (plan.trunk == "0" || !possible(lengths, national)) =>
        {
            rest
        }
        _ => national,
    })
}

/// National numbers of two countries, in the form in which people there write them: prefixes and lengths do not tell.
fn special<'a>(plan: &Plan, national: &'a str) -> Option<Cow<'a, str>> {
    match plan.country {
        // Behind the trunk prefix 8 comes a zero, if the area code does not begin with 8 or 9. The only national numbers of
        // eleven digits begin with 82.
        "BY" if national.len() == 11 && !national.starts_with("82") => {
            let rest = national.strip_prefix('8')?;
            Some(Cow::Borrowed(rest.strip_prefix('0').unwrap_or(rest)))
        }
        // A mobile has 15 behind its area code, and abroad 9 before it instead. Area codes have two digits (11, of the
        // capital), three or four; with 15 there are twelve digits, which no other number has.
        "AR" => {
            let number = national.strip_prefix('0').unwrap_or(national);
            let widths: &[usize] = if number.starts_with("11") { &[2] } else { &[3, 4] };
            let mobile = |width: &usize| {
                let (area, rest) = number.split_at_checked(*width)?;
                rest.strip_prefix("15").map(|rest| Cow::Owned(format!("9{area}{rest}")))
            };
            if number.len() == 12 { widths.iter().find_map(mobile) } else { None }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    fn of(country: &str, number: &str) -> Result<String, Invalid> {
        let mut out = Vec::new();
        let country = (!country.is_empty()).then(|| Country::find(country).unwrap());
        phone(country, number.as_bytes(), &mut out).map(|()| String::from_utf8(out).unwrap())
    }

    #[test]
    fn numbers_as_people_write_them() {
        for (country, number, expected) in [
            ("", "+41446681800", "+41446681800"),
            ("", " +41 (0)44 668-18.00 ", "+41446681800"),
            ("", "0041 44 668 18 00", "+41446681800"),
            ("CH", "044 668 18 00", "+41446681800"),
            ("CH", "44 668 18 00", "+41446681800"),
            ("CH", "+49 (0)30 / 123456", "+4930123456"),
            ("CH", "0049 30 123456", "+4930123456"),
            ("DE", "030/123456", "+4930123456"),
            ("US", "(650) 555-1212", "+16505551212"),
            ("US", "1-650-555-1212", "+16505551212"),
            ("US", "+1 1 650 555 1212", "+16505551212"),
            ("US", "011 41 44 668 18 00", "+41446681800"),
            ("GB", "020 7946 0018", "+442079460018"),
            ("", "+44 (0)20 7946 0018", "+442079460018"),
            ("", "+39 06 698 12345", "+390669812345"),
            ("IT", "06 698 12345", "+390669812345"),
            ("RU", "8 (495) 123-45-67", "+74951234567"),
            ("RU", "800 123 45 67", "+78001234567"),
            ("HU", "06 30 123 4567", "+36301234567"),
            ("JP", "010 41 44 668 18 00", "+41446681800"),
            ("FR", "01\u{a0}23\u{202f}45 67\u{2011}89", "+33123456789"),
            ("", "+800 1234 5678", "+80012345678"),
            ("BY", "8 (029) 491-19-11", "+375294911911"),
            ("BY", "8 029 491 19 11", "+375294911911"),
            ("BY", "29 491 19 11", "+375294911911"),
            ("BY", "8 801 123 4567", "+3758011234567"),
            ("BY", "820 4 123 4567", "+37582041234567"),
            ("AR", "011 15-2345-6789", "+5491123456789"),
            ("AR", "0221 15 512-3456", "+5492215123456"),
            ("AR", "02966 15 12-3456", "+5492966123456"),
            ("AR", "11 2345-6789", "+541123456789"),
            ("", "+54 9 11 2345-6789", "+5491123456789"),
            ("CH", " ", ""),
        ] {
            assert_eq!(of(country, number).as_deref(), Ok(expected), "{country} {number}");
        }
    }

    #[test]
    fn flaw_example_numbers_of_all_regions_become_e164() {
        let mut regions = std::collections::BTreeSet::new();
        let mut wrong = Vec::new();
        for line in include_str!("phone/examples.csv").lines().skip(2) {
            let fields: Vec<_> = line.split(',').collect();
            let [region, kind, national, international, expected] = fields[..] else { panic!("{line}") };
            regions.insert(region);
            let reads = [(region, national), (region, international), ("", international), ("", expected)];
            for (country, number) in reads {
                if of(country, number).as_deref() != Ok(expected) {
                    wrong.push(format!(
                        "{region} {kind} {country} {number}: {:?} {expected}",
                        of(country, number)
                    ));
                }
            }
        }
        assert_eq!((regions.len(), &wrong[..]), (245, &[][..]), "{wrong:#?}");
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for (country, number) in [
            ("", "044 668 18 00"),
            ("", "16505551212"),
            ("", "+999 1234567"),
            ("", "+0041446681800"),
            ("", "+"),
            ("", "+41"),
            ("", "+41 44 668 18"),
            ("", "++41446681800"),
            ("", "+41446681800 ext. 3"),
            ("", "+4144668180O"),
            ("CH", "117"),
            ("CH", "call me"),
            ("US", "555-1212"),
            ("", "+٤١٤٤٦٦٨١٨٠٠"),
        ] {
            assert!(of(country, number).is_err(), "{country} {number}");
        }
        assert!(phone(None, b"\xff", &mut Vec::new()).is_err());
    }

    #[test]
    fn the_hashes_of_others_come_out() {
        let number = of("US", "(650) 555-1212").unwrap();
        let hash = hex::encode(Sha256::digest(number.trim_start_matches('+')));
        assert!(hash.starts_with("e323ec62") && hash.ends_with("ab3176"), "{hash}");
    }

    #[test]
    fn the_plans_are_those_of_their_version() {
        let text: String = PLANS.iter().map(|plan| format!("{plan:?}\n")).collect();
        // A difference here needs another VERSION: two sides with different plans must not agree.
        let digest = blake3::hash(text.as_bytes()).to_hex();
        assert_eq!((VERSION, &digest[..16]), ("9.0.43", "a0b8aafce055d20a"));
        let codes: Vec<String> = PLANS.iter().map(|plan| plan.code.to_string()).collect();
        for (code, other) in codes.iter().flat_map(|code| codes.iter().map(move |other| (code, other))) {
            assert!(code == other || !other.starts_with(&**code), "{code} {other}");
        }
        assert!(
            Country::find("ch") == Country::find("CH")
                && Country::find("").is_none()
                && Country::find("001").is_none()
                && Country::find("XX").is_none()
        );
    }

    #[test]
    fn a_national_number_and_its_e164_form_are_one() {
        for plan in PLANS.iter().filter(|plan| plan.country != "001") {
            for length in (4..=12).filter(|length| plan.lengths >> length & 1 == 1) {
                let national = "23456789234567"[..length].to_owned();
                let international = format!("+{}{national}", plan.code);
                assert_eq!(of(plan.country, &national), of("", &international), "{plan:?}");
                let trunk = format!("{}{national}", plan.trunk);
                if plan.trunk == "0" || plan.trunk.is_empty() {
                    assert_eq!(of(plan.country, &trunk), of("", &international), "{plan:?}");
                }
                if !plan.international.is_empty() {
                    let foreign = format!("{}{}", plan.international, &international[1..]);
                    assert_eq!(of(plan.country, &foreign), of("", &international), "{plan:?}");
                }
            }
        }
    }
}
