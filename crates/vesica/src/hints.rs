//! Hints for a result that is correct and probably not what the user meant.

use crate::report::Sizes;

/// A hint where every row was left out, or where nothing matches. `matching` keys are none before the result is known.
pub(crate) fn of(sizes: &Sizes, matching: Option<u64>) -> Option<String> {
    let Sizes { rows, items, nulls, invalid, peer_items, .. } = *sizes;
    match matching {
        None if rows > 0 && items == 0 => Some(format!(
            "all {rows} rows were left out: {nulls} with an empty key, {invalid} with an invalid one; are the column and \
             the rule right? `vesica inspect` shows what is wrong with the keys"
        )),
        None if rows == 0 => Some("our table has no rows".to_owned()),
        Some(0) if items > 0 && peer_items == Some(0) => Some("the partner's table has no keys".to_owned()),
        Some(0) if items > 0 => Some(
            "no key in common: do both sides write their keys in the same form, and name their columns in the same order? \
             Compare what `vesica inspect` shows on each side"
                .to_owned(),
        ),
        _ => None,
    }
}

/// A hint where the sender's payload of that many matching rows is none.
pub(crate) fn undecodable(rows: u64) -> String {
    let rows = if rows == 1 { "1 matching row".to_owned() } else { format!("{rows} matching rows") };
    format!(
        "the partner's payload of {rows} does not decode, so the fields that it should fill are empty. It has no part in \
         which rows match. The partner's program was changed, or has a fault: ask the partner"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_is_given_where_a_result_is_empty() {
        let sizes = |rows, items, nulls, invalid| Sizes { rows, items, nulls, invalid, ..Sizes::default() };
        let hint = |sizes, items: Option<u64>| of(&sizes, items);
        let out = hint(sizes(9, 0, 2, 7), None).unwrap();
        assert!(
            out.starts_with("all 9 rows were left out: 2 with an empty key, 7 with an invalid one"),
            "{out}"
        );
        assert!(hint(sizes(9, 9, 0, 0), Some(0)).unwrap().contains("`vesica inspect`"));
        assert_eq!(hint(sizes(0, 0, 0, 0), None).unwrap(), "our table has no rows");
        let alone = Sizes { peer_items: Some(0), ..sizes(9, 9, 0, 0) };
        assert_eq!(hint(alone, Some(0)).unwrap(), "the partner's table has no keys");
        // Nothing is wrong, or the hint was given before.
        for (sizes, items) in
            [(sizes(9, 1, 8, 0), None), (sizes(9, 9, 0, 0), Some(1)), (sizes(9, 0, 9, 0), Some(0))]
        {
            assert_eq!(hint(sizes, items), None);
        }
    }
}
