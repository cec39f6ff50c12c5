//! Why a value is invalid under its rule.

use thiserror::Error;
use vesica_text::{Text, text};

use super::DateOrder;

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
    /// A character that nobody sees, in a value that is invalid under its rule.
    #[error(
        "it contains a character that cannot be seen, such as U+200B, U+FEFF, U+00AD or a mark of direction: remove it"
    )]
    Invisible,
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
    /// Not a postal code.
    #[error(
        "it is not a postal code: 2 to 10 letters from A to Z and digits, beside white space and hyphens"
    )]
    NotAPostcode,
    /// Not a calendar date of ISO 8601.
    #[error(
        "it is not a calendar date written as YYYY-MM-DD or YYYYMMDD; date:DMY, date:MDY and date:YMD read other orders"
    )]
    NotADate,
    /// Not a calendar date in the order that its table has.
    #[error("it is not a calendar date written in the order {}, as {}, or as YYYY-MM-DD", order.name(), order.example())]
    NotInOrder {
        /// The order.
        order: DateOrder,
    },
    /// A calendar date with a time of day.
    #[error("it is a time stamp, not a date: write only the day, as YYYY-MM-DD")]
    DateWithTime,
    /// Not a UUID.
    #[error(
        "it is not a UUID: write 32 hexadecimal digits, in groups of 8, 4, 4, 4 and 12 with hyphens between them"
    )]
    NotAUuid,
    /// Base64 of the hexadecimal digits of a digest.
    #[error(
        "it is base64 of a digest's hexadecimal digits: write the digits themselves, or base64 of the 32 bytes of the digest"
    )]
    Base64OfHex,
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
