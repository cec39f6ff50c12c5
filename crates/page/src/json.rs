//! Looking values up in JSON that anybody may have written.

use serde_json::Value;

/// The value with every name and every string as it may be shown.
pub(crate) fn visible(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(vesica_text::visible(&text)),
        Value::Array(values) => Value::Array(values.into_iter().map(visible).collect()),
        Value::Object(fields) => Value::Object(
            fields.into_iter().map(|(name, value)| (vesica_text::visible(&name), visible(value))).collect(),
        ),
        other => other,
    }
}

/// The text there; empty if there is none.
pub(crate) fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

/// The texts of a list.
pub(crate) fn texts(value: &Value) -> Vec<String> {
    list(value).filter_map(|entry| entry.as_str().map(str::to_owned)).collect()
}

/// The entries of a list; none if it is no list.
pub(crate) fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The names and values of an object; none if it is no object.
pub(crate) fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// The number there, or 0.
pub(crate) fn count(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or(0)
}

/// The finite number there that is not negative, or 0.
pub(crate) fn amount(value: &Value, name: &str) -> f64 {
    value[name].as_f64().filter(|number| number.is_finite() && *number >= 0.0).unwrap_or(0.0)
}

/// A value in words.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(truth) => (if *truth { "yes" } else { "no" }).to_owned(),
        Value::Number(number) => {
            number.as_i64().map_or_else(|| number.to_string(), vesica_text::amounts::grouped)
        }
        Value::Null => "none".to_owned(),
        other => other.to_string(),
    }
}
