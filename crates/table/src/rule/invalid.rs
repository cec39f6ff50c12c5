//! Why a value is invalid under its rule.

use thiserror::Error;
use vesica_text::{Text, text};

/// Why a value is invalid under its rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum Invalid {
    /// Not UTF-8.
    #[error("it is not UTF-8")]
    NotUtf8,
    /// Bytes that are not valid in the file's encoding.
    #[error("{}", self.text())]
    NotInEncoding,
    /// An e-mail address has exactly one `@`.
    #[error("it does not have exactly one `@`")]
    NotOneAt,
    /// Nothing before or nothing after the `@`.
    #[error("the part before or after the `@` is empty")]
    NoLocalOrDomain,
    /// More than 64 bytes before or 255 after the `@`.
    #[error("it has more than 64 bytes before or 255 after the `@`")]
    EmailTooLong,
    /// White space or a control character inside.
    #[error("it contains white space or a control character")]
    BlankInside,
    /// Not an optional sign and digits.
    #[error("it is not an integer written in digits")]
    NotAnInteger,
    /// More digits than the rule allows.
    #[error("it has more than 64 digits")]
    TooManyDigits,
    /// Not a telephone number of any country, or of a length that its country does not have.
    #[error(
        "it is not a telephone number: its digits must fit its country's numbering plan, without letters or an extension"
    )]
    NotAPhoneNumber,
    /// A telephone number without a calling code.
    #[error("it has no known calling code (+41, 0041); phone:CH reads such numbers as Swiss ones")]
    NoCallingCode,
    /// Neither an IPv4 nor an IPv6 address.
    #[error(
        "it is not an IP address: four decimal numbers without leading zeros, or IPv6; no port, zone or prefix length"
    )]
    NotAnAddress,
    /// Not a calendar date of ISO 8601.
    #[error("it is not a calendar date written as YYYY-MM-DD or YYYYMMDD")]
    NotADate,
    /// A calendar date with a time of day.
    #[error("it is a time stamp, not a date: write only the day, as YYYY-MM-DD")]
    DateWithTime,
    /// Neither hexadecimal nor base64 of 32 bytes.
    #[error("it is not a SHA-256 digest: write 64 hexadecimal digits, or 43 or 44 characters of base64")]
    NotADigest,
    /// Outside the agreed range of native items.
    #[error(
        "it is not from 0 to 2^{sigma} - 1 (an IPv4 address counts as a number of 32 bits; an IPv6 address cannot be used)"
    )]
    OutOfRange {
        /// The agreed width in bits.
        sigma: u32,
    },
}

impl Invalid {
    /// What it says, with the option that it names as data.
    pub fn text(&self) -> Text {
        match self {
            Invalid::NotInEncoding => text!("it is not in the encoding that `[encoding]` names"),
            other => Text::words(other),
        }
    }
}
