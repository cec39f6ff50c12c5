//! Hints for a result that is correct and probably not what the user meant.

use vesica_protocols::{Learns, ResultKind};
use vesica_text::{Text, text};

use crate::words::report::Sizes;
use crate::words::settings::{PadTo, Settings};

/// Hints where a result shows more than its options seem to promise.
pub(crate) fn of_options(settings: &Settings) -> Vec<Text> {
    let mut hints = Vec::new();
    let sums = matches!(settings.result.kind(), ResultKind::Sums { .. });
    if sums && settings.learns == Learns::Both {
        hints.push(
            "WARNING: the sender learns the sums, too (`[learns both]`). A sender that chooses its values, such as powers \
             of two, reads from a sum which keys match"
                .into(),
        );
    }
    if settings.result.noise.is_some() && !matches!(settings.pad_to, Some(PadTo::Exactly(_))) {
        hints.push(
            "the partner learns without noise how many keys this side has, so it sees a key that was added or removed \
             since another run. `[pad-to N]`, with one N for all runs, hides that"
                .into(),
        );
    }
    hints
}

/// A hint where every row was left out, or where nothing matches. `matching` keys are none before the result is known.
pub(crate) fn of(sizes: &Sizes, matching: Option<u64>) -> Option<Text> {
    let Sizes { rows, items, nulls, invalid, peer_items, .. } = *sizes;
    match matching {
        None if rows > 0 && items == 0 => Some(text!(
            "all {} rows were left out: {} with an empty key, {} with an invalid one; are the column and the rule right? \
             `vesica inspect` shows what is wrong with the keys",
            rows,
            nulls,
            invalid
        )),
        None if rows == 0 => Some("our table has no rows".into()),
        Some(0) if items > 0 && peer_items == Some(0) => Some("the partner's table has no keys".into()),
        Some(0) if items > 0 => Some(
            "no key in common: do both sides write their keys in the same form, and name their columns in the same order? \
             `vesica inspect` writes a profile of the keys for the partner, and `vesica compare` says what differs"
                .into(),
        ),
        Some(matching) if is_few(matching, items.min(peer_items.unwrap_or(0))) => Some(text!(
            "only {} keys in common, less than one in a hundred: if you expected more, `vesica inspect` writes a profile of \
             the keys for the partner, and `vesica compare` says what differs",
            matching
        )),
        _ => None,
    }
}

/// Whether so few keys of a set of this size match that something may be wrong.
fn is_few(matching: u64, of: u64) -> bool {
    of >= 1000 && matching < of / 100
}

/// A hint where the sender's payload of that many matching rows is none.
pub(crate) fn undecodable(rows: u64) -> Text {
    let rows = if rows == 1 { "1 matching row".to_owned() } else { format!("{rows} matching rows") };
    text!(
        "the partner's payload of {} does not decode, so the fields that it should fill are empty. It has no part in \
         which rows match. The partner's program was changed, or has a fault: {ask the partner}",
        rows
    )
}

#[cfg(test)]
mod tests {
    use vesica_protocols::Noise;

    use super::*;
    use crate::words::results::ResultChoice;

    #[test]
    fn a_hint_is_given_where_a_result_shows_more_than_it_seems_to() {
        let hints = |change: fn(&mut Settings)| {
            let mut settings = Settings::default();
            change(&mut settings);
            of_options(&settings)
        };
        let sum = |settings: &mut Settings| settings.result.result = ResultChoice::Sum;
        assert!(hints(|_| ()).is_empty() && hints(sum).is_empty());
        let both = hints(|settings| {
            (settings.result.result, settings.learns) = (ResultChoice::Sum, Learns::Both);
        });
        assert!(both.len() == 1 && both[0].shell().contains("`--learns both`"), "{both:?}");
        let noise = hints(|settings| settings.result.noise = Noise::of_thousandths(5));
        assert!(noise.len() == 1 && noise[0].shell().contains("`--pad-to N`"), "{noise:?}");
        assert!(
            !hints(|settings| {
                (settings.result.noise, settings.pad_to) =
                    (Noise::of_thousandths(5), Some(PadTo::PowerOfTwo));
            })
            .is_empty()
        );
        assert!(
            hints(|settings| {
                (settings.result.noise, settings.pad_to) =
                    (Noise::of_thousandths(5), Some(PadTo::Exactly(9)));
            })
            .is_empty()
        );
    }

    #[test]
    fn a_hint_is_given_where_a_result_is_empty() {
        let sizes = |rows, items, nulls, invalid| Sizes { rows, items, nulls, invalid, ..Sizes::default() };
        let hint = |sizes, items: Option<u64>| of(&sizes, items).map(|hint| hint.shell());
        let out = hint(sizes(9, 0, 2, 7), None).unwrap();
        assert!(
            out.starts_with("all 9 rows were left out: 2 with an empty key, 7 with an invalid one"),
            "{out}"
        );
        assert!(hint(sizes(9, 9, 0, 0), Some(0)).unwrap().contains("`vesica inspect`"));
        assert_eq!(hint(sizes(0, 0, 0, 0), None).unwrap(), "our table has no rows");
        let alone = Sizes { peer_items: Some(0), ..sizes(9, 9, 0, 0) };
        assert_eq!(hint(alone, Some(0)).unwrap(), "the partner's table has no keys");
        let many = Sizes { peer_items: Some(5000), ..sizes(3000, 2000, 0, 0) };
        let few = hint(many, Some(19)).unwrap();
        assert!(few.starts_with("only 19 keys in common") && few.contains("`vesica compare`"), "{few}");
        assert_eq!(hint(many, Some(20)), None);
        assert_eq!(hint(Sizes { peer_items: Some(500), ..many }, Some(1)), None);
        // Nothing is wrong, or the hint was given before.
        for (sizes, items) in
            [(sizes(9, 1, 8, 0), None), (sizes(9, 9, 0, 0), Some(1)), (sizes(9, 0, 9, 0), Some(0))]
        {
            assert_eq!(hint(sizes, items), None);
        }
    }
}
