//! What every page has: its policy, its style, and the JSON that it was made from.

use askama::Template;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::json;

const STYLE: &str = include_str!("../templates/style.css");

/// A page was not made.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// What it was to be made from is no JSON.
    #[error("not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A template failed, which does not happen.
    #[error("the page cannot be written: {0}")]
    Template(#[from] askama::Error),
}

/// The frame of a page.
#[cfg_attr(test, derive(Default))]
pub(crate) struct Document {
    /// The `id` of the data.
    id: &'static str,
    /// The JSON that the page was made from.
    data: String,
}

impl Document {
    /// The style sheet.
    pub(crate) fn style(&self) -> &'static str {
        STYLE
    }

    /// The `id` of the data.
    pub(crate) fn data_id(&self) -> &'static str {
        self.id
    }

    /// The JSON as it may stand in an element `script`: no end tag, no comment and no entity is in it, and every
    /// character that it lacks has an escape of JSON in its place.
    pub(crate) fn data(&self) -> &str {
        &self.data
    }

    /// The policy: nothing is loaded, no script runs, nothing is sent, and no style applies but the page's own, which
    /// the policy names by its digest. So markup that got past the escapes could not even hide a line.
    /// (`'unsafe-inline'` would let it.)
    pub(crate) fn policy(&self) -> String {
        let digest = STANDARD.encode(Sha256::digest(STYLE));
        format!("default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'")
    }
}

/// The page that a template makes of this JSON, which it holds in an element with this `id`.
pub(crate) fn page<T: Template>(
    text: &str,
    id: &'static str,
    of: fn(&Value, Document) -> T,
) -> Result<String, PageError> {
    let value = json::visible(serde_json::from_str(text)?);
    Ok(of(&value, Document { id, data: embedded(text) }).render()?)
}

/// JSON in which each character that means something to HTML is escaped as JSON does it. These characters are only in
/// its strings.
fn embedded(json: &str) -> String {
    let mut embedded = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                embedded.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => embedded.push(c),
        }
    }
    embedded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embedded_json_ends_no_element_and_is_the_same_value() {
        let text = serde_json::json!({"a</script><!--": "<script>&amp;\u{2028}\u{2029}\"'", "n": [1, 2.5]})
            .to_string();
        let embedded = embedded(&text);
        assert!(!embedded.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{embedded}");
        let value: Value = serde_json::from_str(&embedded).unwrap();
        assert_eq!(value, serde_json::from_str::<Value>(&text).unwrap());
    }

    #[test]
    fn the_policy_names_the_style_and_nothing_else() {
        let policy = Document::default().policy();
        assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
        assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
        // The element holds the style as it is: no character of it is escaped, and it does not end the element.
        assert!(!STYLE.contains(['<', '\r']));
    }
}
