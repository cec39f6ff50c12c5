//! The page of an inspected table.

use askama::Template;
use serde_json::Value;
use vesica_text::amounts::grouped;

use crate::bars::{self, Piece};
use crate::document::Document;
use crate::json::{count, list, text, texts};
use crate::table::{Cell, Prose, Table, counted};

/// Columns, faults and the like that are printed; a longer list is whole on the screen.
const PRINTED: usize = 12;

/// The page.
#[derive(Template)]
#[template(path = "inspection.html")]
pub(crate) struct Page {
    document: Document,
    title: String,
    lines: Vec<String>,
    notes: Vec<Prose>,
    keys: Option<Keys>,
    columns: Table,
}

/// The keys, if some were named.
struct Keys {
    bar: Vec<Piece>,
    /// What its pieces are.
    legend: Vec<Part>,
    rules: Option<Table>,
    faults: Option<Table>,
    hints: Option<Table>,
    samples: Vec<String>,
}

/// Rows of one kind.
struct Part {
    name: &'static str,
    count: String,
    colour: usize,
}

impl Page {
    pub(crate) fn of(found: &Value, document: Document) -> Self {
        let keys = Some(&found["keys"]).filter(|keys| keys.is_object());
        let columns: Vec<_> = list(&found["columns"]).map(column).collect();
        let (rows, files) = (count(found, "rows"), count(found, "files"));
        let files = if files > 1 { format!("{} files, ", grouped(files)) } else { String::new() };
        let table = format!(
            "{}, {files}{}, {}.",
            text(found, "format"),
            counted(rows, "row"),
            counted(columns.len() as u64, "column")
        );
        let title = match keys {
            Some(keys) => counted(count(keys, "distinct"), "different key"),
            None => counted(rows, "row"),
        };
        let mut notes = texts(&found["notes"]);
        notes.extend(found["hint"].as_str().map(str::to_owned));
        Page {
            title,
            lines: vec![table],
            notes: notes.iter().map(|note| Prose::of(note)).collect(),
            keys: keys.map(|keys| Keys::of(keys, rows)),
            columns: Table {
                caption: "Each column, and what it can be",
                head: vec![("Column", "words"), ("Type", "words"), ("Use", "words")],
                rows: columns,
                printed: PRINTED,
            },
            document,
        }
    }
}

fn column(column: &Value) -> Vec<Cell> {
    let may = match (column["key"].as_bool(), column["can_be_key"].as_bool()) {
        (Some(true), _) => "key",
        (_, Some(false)) => "cannot be a key",
        _ => "",
    };
    vec![Cell::code(text(column, "name")), Cell::words(text(column, "type")), Cell::words(may)]
}

impl Keys {
    fn of(keys: &Value, rows: u64) -> Self {
        let several = !keys["match_rules"].is_null();
        let [duplicates, nulls, invalid] = ["duplicates", "nulls", "invalid"].map(|name| count(keys, name));
        let first = rows.saturating_sub(duplicates).saturating_sub(nulls).saturating_sub(invalid);
        // With several rules a row may have several keys, so that its keys are no share of the rows.
        let parts: Vec<(&str, u64)> = match several {
            false => vec![
                ("rows with a key of their own", first),
                ("rows with the key of an earlier row", duplicates),
                ("rows without a key", nulls),
                ("rows with an invalid key", invalid),
            ],
            true => vec![
                ("rows with a key", rows.saturating_sub(nulls).saturating_sub(invalid)),
                ("rows without any key", nulls),
                ("rows whose keys are all empty or invalid", invalid),
            ],
        };
        let amounts: Vec<f64> = parts.iter().map(|(_, count)| *count as f64).collect();
        let legend = parts.into_iter().enumerate().map(|(number, (name, count))| Part {
            name,
            count: grouped(count),
            colour: bars::colour(number),
        });
        Keys {
            bar: bars::pieces(&amounts),
            legend: legend.collect(),
            rules: rules(&keys["match_rules"]),
            faults: faults(&keys["faults"]),
            hints: hints(&keys["hints"]),
            samples: list(&keys["samples"]).map(|sample| texts(sample).join("  +  ")).collect(),
        }
    }
}

/// A table, if it has rows.
fn table(
    caption: &'static str,
    head: Vec<(&'static str, &'static str)>,
    rows: Vec<Vec<Cell>>,
) -> Option<Table> {
    (!rows.is_empty()).then_some(Table { caption, head, rows, printed: PRINTED })
}

fn rules(rules: &Value) -> Option<Table> {
    let row = |rule: &Value| {
        let [keys, nulls, invalid] = ["keys", "nulls", "invalid"].map(|name| Cell::count(count(rule, name)));
        vec![Cell::code(text(rule, "rule")), keys, nulls, invalid]
    };
    let head =
        vec![("Rule", "code"), ("Rows with a key", "number"), ("Empty", "number"), ("Invalid", "number")];
    table("Rules to match by", head, list(rules).map(row).collect())
}

fn faults(faults: &Value) -> Option<Table> {
    let row = |fault: &Value| {
        let file = fault["file"].as_str().map_or(String::new(), |file| format!("{file}, "));
        let first = ["line", "row"].into_iter().find_map(|name| {
            let number = fault["first"][name].as_u64()?;
            Some(format!("{file}{name} {}", grouped(number)))
        });
        vec![
            Cell::code(text(fault, "key")),
            Cell::words(text(fault, "reason")),
            Cell::words(first.unwrap_or_default()),
            Cell::count(count(fault, "rows")),
        ]
    };
    let head = vec![("Key", "code"), ("What is wrong", "words"), ("First in", "words"), ("Rows", "number")];
    table("Invalid keys", head, list(faults).map(row).collect())
}

fn hints(hints: &Value) -> Option<Table> {
    let row = |hint: &Value| {
        vec![
            Cell::code(text(hint, "key")),
            Cell::words(text(hint, "reason")),
            Cell::count(count(hint, "rows")),
        ]
    };
    let head = vec![("Key", "code"), ("What it looks like", "words"), ("Rows", "number")];
    table("Valid keys that hardly anybody means", head, list(hints).map(row).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn a_table_with_and_without_keys_is_a_page() {
        let column = json!({"name": "<b>Email", "type": "text", "can_be_key": true, "key": true});
        let mut found = json!({"schema": 1, "format": "CSV", "files": 2, "rows": 1200, "columns": [column]});
        let html = crate::inspection(&found.to_string()).unwrap();
        assert!(
            html.contains("CSV, 2 files, 1,200 rows, 1 column.") && html.contains("&#60;b&#62;Email"),
            "{html}"
        );
        assert!(html.contains("--key COLUMN"), "{html}");
        found["keys"] = json!({
            "distinct": 1000, "duplicates": 100, "nulls": 60, "invalid": 40, "samples": [["a***", "b***"]],
            "faults": [{"key": "Email:email", "reason": "no `@`", "rows": 40, "first": {"line": 7}}],
            "hints": [{"key": "Email:email", "look": "null", "reason": "look like a null", "rows": 3}],
        });
        let html = crate::inspection(&found.to_string()).unwrap();
        for shown in [
            "1,000 different keys",
            "line 7",
            "look like a null",
            "a***  +  b***",
            "rows with an invalid key",
        ] {
            assert!(html.contains(shown), "{shown}: {html}");
        }
        found["keys"]["match_rules"] =
            json!([{"rule": "Email:email", "keys": 900, "nulls": 1, "invalid": 2}]);
        let html = crate::inspection(&found.to_string()).unwrap();
        assert!(html.contains("Rules to match by") && html.contains("rows without any key"), "{html}");
    }
}
