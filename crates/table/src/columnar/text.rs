//! Converts the values of an Arrow array to the text that key rules apply to, the same as from every format.
//!
//! Integers are decimal, booleans `true` and `false`, dates and times in ISO 8601, time stamps in UTC with
//! nanoseconds, decimals with all digits of their scale, UUIDs as in RFC 9562. Text and binary are their bytes, and
//! dictionaries are decoded. Floats cannot be keys, because different programs write the same float differently. In a payload they
//! are the shortest decimals from which the same float is read.

use std::borrow::Cow;
use std::io::Write;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{
    Array, ArrowPrimitiveType, BinaryArray, BinaryViewArray, FixedSizeBinaryArray, GenericByteArray,
};
use arrow_array::{
    LargeBinaryArray, LargeStringArray, StringArray, StringViewArray, downcast_dictionary_array,
};
use arrow_buffer::{ArrowNativeType, NullBuffer};
use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrow_schema::{DataType, Field, TimeUnit};

use super::calendar;
use crate::rule::{Value, write_uuid};

/// A column of one batch.
pub(super) enum Texts<'a> {
    Utf8(&'a StringArray),
    LargeUtf8(&'a LargeStringArray),
    Utf8View(&'a StringViewArray),
    Binary(&'a BinaryArray),
    LargeBinary(&'a LargeBinaryArray),
    BinaryView(&'a BinaryViewArray),
    FixedBinary(&'a FixedSizeBinaryArray),
    Written(Written),
    /// For each row the index of its value; none for a null.
    Dictionary {
        indices: Vec<Option<u32>>,
        values: Box<Texts<'a>>,
    },
    Null,
}

/// Why the values of a column cannot be summed.
pub(super) fn value_refusal(data_type: &DataType) -> Option<&'static str> {
    use DataType as D;
    match data_type {
        D::Null | D::Int8 | D::Int16 | D::Int32 | D::Int64 => None,
        D::UInt8 | D::UInt16 | D::UInt32 | D::UInt64 => None,
        D::Decimal32(_, 0) | D::Decimal64(_, 0) | D::Decimal128(_, 0) | D::Decimal256(_, 0) => None,
        D::Utf8 | D::LargeUtf8 | D::Utf8View => None,
        D::Dictionary(_, values) => value_refusal(values),
        _ => Some(
            "make the column integer, in a unit without fractions, such as cents (pandas: `astype('Int64')`)",
        ),
    }
}

/// The name under which Arrow calls 16 bytes a UUID.
const UUID: &str = "arrow.uuid";

/// The column as one of UUIDs.
pub(super) fn as_uuid(field: Field) -> Field {
    let mut metadata = field.metadata().clone();
    metadata.insert(EXTENSION_TYPE_NAME_KEY.to_owned(), UUID.to_owned());
    field.with_metadata(metadata)
}

/// Whether the values of a column are UUIDs in 16 bytes.
pub(crate) fn is_uuid(field: &Field) -> bool {
    let named = field.metadata().get(EXTENSION_TYPE_NAME_KEY).is_some_and(|name| name == UUID);
    named && *field.data_type() == DataType::FixedSizeBinary(16)
}

/// Why the values of a column cannot be a payload, which is text.
pub(super) fn payload_refusal(data_type: &DataType) -> Option<&'static str> {
    use DataType as D;
    match data_type {
        D::Float16 | D::Float32 | D::Float64 => None,
        D::Binary | D::LargeBinary | D::BinaryView | D::FixedSizeBinary(_) => {
            Some("a payload is text: write the bytes as text, in hexadecimal digits or base64")
        }
        D::Dictionary(_, values) => payload_refusal(values),
        other => refusal(other),
    }
}

/// Why the values of a column cannot be keys.
pub(crate) fn refusal(data_type: &DataType) -> Option<&'static str> {
    use DataType as D;
    match data_type {
        D::Null | D::Boolean | D::Int8 | D::Int16 | D::Int32 | D::Int64 => None,
        D::UInt8 | D::UInt16 | D::UInt32 | D::UInt64 => None,
        D::Date32 | D::Date64 | D::Time32(_) | D::Time64(_) | D::Timestamp(..) => None,
        D::Decimal32(..) | D::Decimal64(..) | D::Decimal128(..) | D::Decimal256(..) => None,
        D::Utf8 | D::LargeUtf8 | D::Utf8View => None,
        D::Binary | D::LargeBinary | D::BinaryView | D::FixedSizeBinary(_) => None,
        D::Dictionary(_, values) => refusal(values),
        D::Float16 | D::Float32 | D::Float64 => Some(
            "different programs write the same float differently; make the column integer (pandas: `astype('Int64')`), decimal or text",
        ),
        _ => Some("make the column text, a number, a date or a time"),
    }
}

impl<'a> Texts<'a> {
    /// The texts of an array, whose values may be UUIDs; none if its type has none, and is refused for every purpose.
    pub(super) fn of(array: &'a dyn Array, uuid: bool) -> Option<Texts<'a>> {
        use DataType as D;
        Some(match array.data_type() {
            D::FixedSizeBinary(16) if uuid => Texts::Written(uuids(array.as_fixed_size_binary())),
            D::Utf8 => Texts::Utf8(array.as_string()),
            D::LargeUtf8 => Texts::LargeUtf8(array.as_string()),
            D::Utf8View => Texts::Utf8View(array.as_string_view()),
            D::Binary => Texts::Binary(array.as_binary()),
            D::LargeBinary => Texts::LargeBinary(array.as_binary()),
            D::BinaryView => Texts::BinaryView(array.as_binary_view()),
            D::FixedSizeBinary(_) => Texts::FixedBinary(array.as_fixed_size_binary()),
            D::Dictionary(..) => dictionary(array)?,
            D::Null => Texts::Null,
            _ => Texts::Written(written(array)?),
        })
    }

    #[inline]
    pub(super) fn get(&self, row: usize) -> Value<'_> {
        let (null, text): (bool, &[u8]) = match self {
            Texts::Utf8(array) => bytes(array, row),
            Texts::LargeUtf8(array) => bytes(array, row),
            Texts::Utf8View(array) => (array.is_null(row), array.value(row).as_bytes()),
            Texts::Written(written) => (written.is_null(row), written.text(row)),
            Texts::Binary(array) => return binary(bytes(array, row)),
            Texts::LargeBinary(array) => return binary(bytes(array, row)),
            Texts::BinaryView(array) => return binary((array.is_null(row), array.value(row))),
            Texts::FixedBinary(array) => return binary((array.is_null(row), array.value(row))),
            Texts::Dictionary { indices, values } => {
                return indices[row].map_or(Value::Null, |index| values.get(index as usize));
            }
            Texts::Null => (true, &[]),
        };
        if null { Value::Null } else { Value::Text(Cow::Borrowed(text)) }
    }
}

#[inline]
fn binary((null, bytes): (bool, &[u8])) -> Value<'_> {
    if null { Value::Null } else { Value::Binary(Cow::Borrowed(bytes)) }
}

#[inline]
fn bytes<T: ByteArrayType>(array: &GenericByteArray<T>, row: usize) -> (bool, &[u8]) {
    (array.is_null(row), array.value(row).as_ref())
}

/// Values that had to be written as text.
pub(super) struct Written {
    text: Vec<u8>,
    ends: Vec<usize>,
    nulls: Option<NullBuffer>,
}

impl Written {
    fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }

    fn text(&self, row: usize) -> &[u8] {
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[row]]
    }

    fn new(array: &dyn Array, mut write: impl FnMut(usize, &mut Vec<u8>)) -> Self {
        let nulls = array.logical_nulls();
        let (mut text, mut ends) = (Vec::new(), Vec::with_capacity(array.len()));
        for row in 0..array.len() {
            // The value behind a null may be anything.
            if nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)) {
                write(row, &mut text);
            }
            ends.push(text.len());
        }
        Written { text, ends, nulls }
    }

    fn numbers<T: ArrowPrimitiveType>(
        array: &dyn Array,
        write: impl Fn(T::Native, &mut Vec<u8>),
    ) -> Option<Self> {
        let values = array.as_primitive_opt::<T>()?.values();
        Some(Written::new(array, |row, out| write(values[row], out)))
    }
}

fn uuids(array: &FixedSizeBinaryArray) -> Written {
    Written::new(array, |row, out| {
        if let Ok(raw) = array.value(row).try_into() {
            write_uuid(raw, out);
        }
    })
}

fn written(array: &dyn Array) -> Option<Written> {
    use DataType as D;
    fn decimal<T: ArrowPrimitiveType>(array: &dyn Array, scale: i8) -> Option<Written>
    where
        T::Native: std::fmt::Display,
    {
        Written::numbers::<T>(array, |value, out| point(&value.to_string(), scale, out))
    }
    match array.data_type() {
        D::Boolean => {
            let values = array.as_boolean_opt()?;
            let text = |row| if values.value(row) { "true" } else { "false" };
            Some(Written::new(array, |row, out| out.extend_from_slice(text(row).as_bytes())))
        }
        D::Int8 => integers::<Int8Type>(array),
        D::Int16 => integers::<Int16Type>(array),
        D::Int32 => integers::<Int32Type>(array),
        D::Int64 => integers::<Int64Type>(array),
        D::UInt8 => integers::<UInt8Type>(array),
        D::UInt16 => integers::<UInt16Type>(array),
        D::UInt32 => integers::<UInt32Type>(array),
        D::UInt64 => integers::<UInt64Type>(array),
        D::Float16 => floats::<Float16Type>(array),
        D::Float32 => floats::<Float32Type>(array),
        D::Float64 => floats::<Float64Type>(array),
        D::Decimal32(_, scale) => decimal::<Decimal32Type>(array, *scale),
        D::Decimal64(_, scale) => decimal::<Decimal64Type>(array, *scale),
        D::Decimal128(_, scale) => decimal::<Decimal128Type>(array, *scale),
        D::Decimal256(_, scale) => decimal::<Decimal256Type>(array, *scale),
        D::Date32 => Written::numbers::<Date32Type>(array, |days, out| calendar::date(days.into(), out)),
        D::Date64 => Written::numbers::<Date64Type>(array, |millis, out| {
            calendar::date(millis.div_euclid(86_400_000), out);
        }),
        D::Time32(TimeUnit::Second) => times::<Time32SecondType>(array, TimeUnit::Second),
        D::Time32(_) => times::<Time32MillisecondType>(array, TimeUnit::Millisecond),
        D::Time64(TimeUnit::Microsecond) => times::<Time64MicrosecondType>(array, TimeUnit::Microsecond),
        D::Time64(_) => times::<Time64NanosecondType>(array, TimeUnit::Nanosecond),
        D::Timestamp(unit @ TimeUnit::Second, _) => moments::<TimestampSecondType>(array, *unit),
        D::Timestamp(unit @ TimeUnit::Millisecond, _) => moments::<TimestampMillisecondType>(array, *unit),
        D::Timestamp(unit @ TimeUnit::Microsecond, _) => moments::<TimestampMicrosecondType>(array, *unit),
        D::Timestamp(unit @ TimeUnit::Nanosecond, _) => moments::<TimestampNanosecondType>(array, *unit),
        _ => None,
    }
}

fn integers<T: ArrowPrimitiveType>(array: &dyn Array) -> Option<Written>
where
    T::Native: std::fmt::Display,
{
    Written::numbers::<T>(array, |value, out| {
        // Writing to a vector never fails.
        let _ = write!(out, "{value}");
    })
}

fn floats<T: ArrowPrimitiveType>(array: &dyn Array) -> Option<Written>
where
    T::Native: std::fmt::Debug,
{
    Written::numbers::<T>(array, |value, out| {
        // Writing to a vector never fails.
        let _ = write!(out, "{value:?}");
    })
}

fn times<T: ArrowPrimitiveType>(array: &dyn Array, unit: TimeUnit) -> Option<Written>
where
    T::Native: Into<i64>,
{
    Written::numbers::<T>(array, |value, out| calendar::time(nanos(value.into(), unit), out))
}

/// A time stamp without a zone counts as UTC.
fn moments<T: ArrowPrimitiveType<Native = i64>>(array: &dyn Array, unit: TimeUnit) -> Option<Written> {
    Written::numbers::<T>(array, |value, out| calendar::moment(nanos(value, unit), out))
}

fn nanos(value: i64, unit: TimeUnit) -> i128 {
    let each = match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    };
    i128::from(value) * each
}

/// Inserts the decimal point into a decimal integer.
fn point(digits: &str, scale: i8, out: &mut Vec<u8>) {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    let zeros = |count: usize| std::iter::repeat_n(b'0', count);
    out.extend_from_slice(sign.as_bytes());
    match usize::try_from(scale) {
        Ok(0) => out.extend_from_slice(digits.as_bytes()),
        Ok(scale) => {
            let whole = digits.len().saturating_sub(scale);
            out.extend_from_slice(if whole == 0 { b"0" } else { &digits.as_bytes()[..whole] });
            out.push(b'.');
            out.extend(zeros(scale.saturating_sub(digits.len())));
            out.extend_from_slice(&digits.as_bytes()[whole..]);
        }
        Err(_) => {
            out.extend_from_slice(digits.as_bytes());
            out.extend(zeros(if digits == "0" { 0 } else { scale.unsigned_abs().into() }));
        }
    }
}

fn dictionary(array: &dyn Array) -> Option<Texts<'_>> {
    let (indices, values) = downcast_dictionary_array!(
        array => (array.keys().iter().map(|key| Some(key?.as_usize() as u32)).collect(), array.values()),
        _ => return None
    );
    Some(Texts::Dictionary { indices, values: Box::new(Texts::of(values, false)?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_have_all_digits_of_their_scale() {
        for (digits, scale, expected) in [
            ("1230", 2, "12.30"),
            ("-5", 2, "-0.05"),
            ("0", 3, "0.000"),
            ("-1230", 0, "-1230"),
            ("12", -3, "12000"),
            ("0", -3, "0"),
            ("123", 3, "0.123"),
            ("1", 10, "0.0000000001"),
        ] {
            let mut out = Vec::new();
            point(digits, scale, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
