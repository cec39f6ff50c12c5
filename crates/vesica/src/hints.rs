//! Hints for a result that is correct and probably not what the user meant.

use crate::report::{MatchCounts, Sizes};

/// A hint where every row was left out, or where nothing matches. Before the result is known, `matches` is none.
pub(crate) fn of(sizes: &Sizes, matches: Option<&MatchCounts>) -> Option<String> {
    let Sizes { rows, items, nulls, invalid, .. } = *sizes;
    match matches {
        None if rows > 0 && items == 0 => Some(format!(
            "all {rows} rows were left out: {nulls} with an empty key, {invalid} with an invalid one; are the column and \
             the rule right? `vesica inspect` shows what is wrong with the keys"
        )),
        Some(matches) if matches.items == 0 && items > 0 => Some(
            "no key in common: do both sides write their keys in the same form, and name their columns in the same order? \
             Compare what `vesica inspect` shows on each side"
                .to_owned(),
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_is_given_where_a_result_is_empty() {
        let sizes = |rows, items, nulls, invalid| Sizes { rows, items, nulls, invalid, ..Sizes::default() };
        let hint = |sizes, items: Option<u64>| {
            of(&sizes, items.map(|items| MatchCounts { items, rows: items }).as_ref())
        };
        let out = hint(sizes(9, 0, 2, 7), None).unwrap();
        assert!(
            out.starts_with("all 9 rows were left out: 2 with an empty key, 7 with an invalid one"),
            "{out}"
        );
        assert!(hint(sizes(9, 9, 0, 0), Some(0)).unwrap().contains("`vesica inspect`"));
        // Nothing is wrong, or the hint was given before.
        for (sizes, items) in [
            (sizes(0, 0, 0, 0), None),
            (sizes(9, 1, 8, 0), None),
            (sizes(9, 9, 0, 0), Some(1)),
            (sizes(9, 0, 9, 0), Some(0)),
        ] {
            assert_eq!(hint(sizes, items), None);
        }
    }
}
