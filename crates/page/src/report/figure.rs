//! The two sets of a run as two circles.

use serde_json::Value;
use vesica_text::amounts::grouped;

use crate::json::count;
use crate::lens::{Common, Lens};

/// The picture and what stands below it.
pub(crate) struct Figure {
    pub(crate) lens: Lens,
    /// Names of the two sets.
    pub(crate) names: [&'static str; 2],
    /// Their sizes.
    pub(crate) sizes: [String; 2],
    /// Of what both have.
    pub(crate) common: String,
    /// The picture in words.
    pub(crate) words: String,
}

impl Figure {
    /// What this side knows of the two sets; none if it does not know both sizes.
    pub(crate) fn of(report: &Value) -> Option<Self> {
        let (sizes, parties, kept) = (&report["sizes"], &report["parties"], &report["kept"]);
        let (names, [left, right]) = if parties.is_object() {
            let of = |party: &str| parties[party]["items"].as_u64();
            (["Receiver", "Sender"], [of("receiver")?, of("sender")?])
        } else if kept.is_object() {
            kept["asked"].as_u64()?;
            (["This side’s keys", "The kept set"], [count(sizes, "items"), count(kept, "keys")])
        } else {
            let names = match report["role"].as_str() {
                Some("sender") => ["This side, the sender", "Partner, the receiver"],
                _ => ["This side, the receiver", "Partner, the sender"],
            };
            (names, [count(sizes, "items"), sizes["peer_items"].as_u64()?])
        };
        let common = common(report);
        let lens = Lens::of([left, right], common);
        let common = match common {
            Common::Exactly(count) => grouped(count),
            Common::About(count) => format!("≈ {}", grouped(count)),
            Common::AtLeast(count) => format!("≥ {}", grouped(count)),
            Common::FewerThan(count) => format!("< {}", grouped(count)),
            Common::Unknown => "not known".to_owned(),
        };
        let sizes = [left, right].map(grouped);
        let words = format!(
            "Two circles. {}: {} keys. {}: {} keys. In both: {common}.",
            names[0], sizes[0], names[1], sizes[1]
        );
        Some(Figure { lens, names, sizes, common, words })
    }
}

/// What this side knows of the number of keys that both have.
fn common(report: &Value) -> Common {
    let (result, terms) = (&report["result"], &report["terms"]);
    let noisy = terms["noise"].as_str().is_some_and(|noise| noise != "none");
    if report["outcome"] != "done" {
        return Common::Unknown;
    }
    let least = || terms["at-least"].as_str()?.parse().ok();
    match (result["count"].as_i64(), result["at_least"].as_bool().zip(least())) {
        (Some(count), _) if noisy => return Common::About(count),
        (Some(count), _) => return u64::try_from(count).map_or(Common::Unknown, Common::Exactly),
        // Judged by a count with noise, it bounds nothing.
        (None, Some(_)) if noisy => return Common::Unknown,
        (None, Some((true, least))) => return Common::AtLeast(least),
        (None, Some((false, least))) => return Common::FewerThan(least),
        (None, None) => {}
    }
    let known = [&report["matches"]["items"], &report["parties"]["common_items"]];
    known.into_iter().find_map(Value::as_u64).map_or(Common::Unknown, Common::Exactly)
}
