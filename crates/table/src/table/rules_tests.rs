//! Several rules to match by, against a plain join that tries them in order.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use vesica_encode::items::OnDuplicates;

use super::*;
use crate::attach::Attach;
use crate::request::OnFault;
use crate::rows::RowBitmap;
use crate::sink::RowSink;
use crate::testing::{go, input, load, matching, request};

const RULES: [&str; 3] = ["mail:email", "tel:int", "last:text + born:date"];

/// A person as a table has it: e-mail, number, name, birthday.
type Person = [String; 4];

/// People of a small world, with values that are missing, written otherwise or invalid.
fn people(rng: &mut StdRng, rows: usize, world: u32) -> Vec<Person> {
    let mut value = |from: &dyn Fn(u32, bool) -> String| {
        let (n, other_form) = (rng.random_range(0..world), rng.random());
        match rng.random_range(0..10) {
            0 | 1 => String::new(),
            2 => "?".to_owned(),
            _ => from(n, other_form),
        }
    };
    let mut person = || {
        [
            value(&|n, other| {
                if other { format!(" User{n}@Example.org") } else { format!("user{n}@example.org") }
            }),
            value(&|n, other| if other { format!("+00{n}") } else { n.to_string() }),
            value(&|n, other| if other { format!("MÜLLER {n}") } else { format!("müller {n}") }),
            value(&|n, other| {
                format!(
                    "19{:02}{}01{}01",
                    n % 90 + 10,
                    if other { "-" } else { "" },
                    if other { "-" } else { "" }
                )
            }),
        ]
    };
    (0..rows).map(|_| person()).collect()
}

/// The keys of a person, in the order of the rules, by another way than the program's.
fn keys(person: &Person) -> [Option<String>; 3] {
    let [mail, tel, last, born] = person;
    let valid = |text: &str| !text.is_empty() && text != "?";
    let date = |text: &str| text.replace('-', "");
    [
        valid(mail).then(|| mail.trim().to_lowercase()),
        valid(tel).then(|| tel.trim_start_matches(['+', '0']).to_owned()),
        // A question mark is a name like any other.
        (!last.is_empty() && valid(born)).then(|| format!("{}|{}", last.to_lowercase(), date(born))),
    ]
}

/// Row and rule of each of mine that the partner's rows match: the first rule that hits.
fn waterfall(mine: &[Person], theirs: &[Person]) -> Vec<(u64, usize)> {
    let mut sets: [BTreeSet<String>; 3] = Default::default();
    for person in theirs {
        sets.iter_mut().zip(keys(person)).for_each(|(set, key)| set.extend(key));
    }
    let hit = |person: &Person| {
        keys(person)
            .iter()
            .zip(&sets)
            .position(|(key, set)| key.as_ref().is_some_and(|key| set.contains(key)))
    };
    (0..).zip(mine).filter_map(|(row, person)| Some((row, hit(person)?))).collect()
}

fn csv(people: &[Person]) -> Vec<u8> {
    let line = |[mail, tel, last, born]: &Person| format!("{mail},{tel},{last},{born}\n");
    ("mail,tel,last,born\n".to_owned() + &people.iter().map(line).collect::<String>()).into_bytes()
}

fn parquet(people: &[Person]) -> Vec<u8> {
    let column = |at: usize| {
        let texts = people.iter().map(|person| Some(&person[at]).filter(|text| !text.is_empty()));
        Arc::new(StringArray::from_iter(texts)) as ArrayRef
    };
    let columns = ["mail", "tel", "last", "born"].into_iter().enumerate();
    let batch = RecordBatch::try_from_iter_with_nullable(columns.map(|(at, name)| (name, column(at), true)));
    let (batch, mut bytes) = (batch.unwrap(), Vec::new());
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    for start in (0..people.len()).step_by(700) {
        writer.write(&batch.slice(start, 700.min(people.len() - start))).unwrap();
        writer.flush().unwrap();
    }
    writer.close().unwrap();
    bytes
}

/// The numbers of the keys of these items that the other set has.
fn common(items: &Items, others: &Items) -> Vec<u64> {
    let others: BTreeSet<&[u8]> = others.digests().collect();
    let found = items.digests().enumerate().filter(|(_, digest)| others.contains(digest));
    items.matches(found.map(|(item, _)| item)).into_rows()
}

fn rules(threads: usize) -> Request {
    Request { on_invalid: OnFault::Skip, threads, ..matching(&RULES) }
}

#[test]
fn rows_match_by_the_first_rule_that_hits() {
    let mut rng = StdRng::seed_from_u64(37);
    for (rows, others, world) in [(0, 9, 9), (1, 1, 1), (300, 40, 60), (2000, 3000, 4000), (3000, 1, 7)] {
        let (mine, theirs) = (people(&mut rng, rows, world), people(&mut rng, others, world));
        let expected = waterfall(&mine, &theirs);
        let (_, their_items) = load(&csv(&theirs), &rules(1)).unwrap();
        for (bytes, threads) in [csv(&mine), parquet(&mine)]
            .into_iter()
            .flat_map(|bytes| [1, 2, 3, 7].map(|threads| (bytes.clone(), threads)))
        {
            let (table, items) = load(&bytes, &rules(threads)).unwrap();
            let found = common(&items, &their_items);
            let hits: Vec<(u64, usize)> =
                RowSet::List(&found).by_first_key(3).map(|found| (found.row, found.rule)).collect();
            assert_eq!(hits, expected, "{rows} {threads}");
            // The counts are those of the rows.
            let all: Vec<_> = mine.iter().map(keys).collect();
            let has_key = |keys: &[Option<String>; 3]| keys.iter().any(Option::is_some);
            let report = table.report();
            let without = report.nulls + report.invalid;
            assert_eq!(
                (report.rows, without),
                (rows as u64, all.iter().filter(|keys| !has_key(keys)).count() as u64)
            );
            for (rule, (name, counts)) in table.rules().enumerate() {
                let present = all.iter().filter(|keys| keys[rule].is_some()).count() as u64;
                assert_eq!(counts.keys, present, "{name}");
                assert_eq!(counts.keys + counts.nulls + counts.invalid, rows as u64);
            }
            // A row's rule is in the output, the same from a list and from a bitmap.
            let mut bitmap = RowBitmap::new(3 * rows as u64);
            found.iter().for_each(|key| assert!(bitmap.insert(*key)));
            let (mut by_list, mut by_bitmap) = (Vec::new(), Vec::new());
            table.select(RowSet::List(&found), &mut by_list, &mut go).unwrap();
            table.select(&bitmap, &mut by_bitmap, &mut go).unwrap();
            assert_eq!(by_list, by_bitmap);
            let again = match table.format() {
                Format::Csv(_) => by_list,
                _ => as_csv(&by_list),
            };
            let line = |(row, rule): &(u64, usize)| {
                let written = mine[*row as usize].join(",");
                format!("{written},{}\n", ["mail:email", "tel:int", "last:text + born:date"][*rule])
            };
            let written = expected.iter().map(line).collect::<String>();
            assert_eq!(
                String::from_utf8(again).unwrap(),
                "mail,tel,last,born,matched_by\n".to_owned() + &written
            );
        }
    }
}

/// The rows of a Parquet file of text.
fn as_csv(bytes: &[u8]) -> Vec<u8> {
    let reader = ::parquet::arrow::arrow_reader::ParquetRecordBatchReader::try_new(
        bytes::Bytes::copy_from_slice(bytes),
        1000,
    )
    .unwrap();
    let mut out = "mail,tel,last,born,matched_by\n".to_owned();
    for batch in reader {
        let batch = batch.unwrap();
        let columns: Vec<&StringArray> =
            batch.columns().iter().map(|column| column.as_any().downcast_ref().unwrap()).collect();
        for row in 0..batch.num_rows() {
            let fields: Vec<&str> =
                columns.iter().map(|column| column.iter().nth(row).flatten().unwrap_or_default()).collect();
            out += &(fields.join(",") + "\n");
        }
    }
    out.into_bytes()
}

struct Taken(Vec<(u64, Vec<u8>)>);

impl RowSink for Taken {
    fn take(&mut self, key: u64, digest: &[u8]) -> ControlFlow<()> {
        self.0.push((key, digest.to_vec()));
        ControlFlow::Continue(())
    }
}

#[test]
fn a_sink_gets_the_keys_that_a_load_keeps_in_their_order() {
    let mine = people(&mut StdRng::seed_from_u64(38), 40_000, 9000);
    for threads in [1, 3] {
        let (_, items) = load(&csv(&mine), &rules(threads)).unwrap();
        let mut taken = Taken(Vec::new());
        input(&csv(&mine)).unwrap().load_into(&rules(threads), &mut taken, &mut go).unwrap();
        assert!(taken.0.is_sorted_by(|a, b| a.0 < b.0));
        let mut by_digest = BTreeMap::<Vec<u8>, Vec<u64>>::new();
        taken.0.into_iter().for_each(|(key, digest)| by_digest.entry(digest).or_default().push(key));
        let kept = items
            .digests()
            .enumerate()
            .map(|(item, digest)| (digest.to_vec(), items.rows_of(item).collect()));
        assert!(by_digest.into_iter().eq(kept));
    }
}

#[test]
fn keys_of_different_rules_never_meet() {
    let by = matching(&["a", "b"]);
    let (_, mine) = load(b"a,b\nx,y\n", &by).unwrap();
    let (_, theirs) = load(b"a,b\ny,x\n", &by).unwrap();
    assert!(common(&mine, &theirs).is_empty());
    let (_, same) = load(b"a,b\n,y\n", &by).unwrap();
    assert_eq!(common(&mine, &same), [1]);
    // Nor does a key of two columns meet one of one column.
    let (_, two) = load(b"a,b\nx,y\n", &matching(&["a", "a + b"])).unwrap();
    assert_eq!(common(&two, &mine), [0]);
    // The first rule makes the keys that it makes alone.
    let (_, alone) = load(b"a,b\nx,y\n", &request(&["a"])).unwrap();
    assert_eq!(common(&mine, &alone), [0]);
}

#[test]
fn an_error_names_the_first_row_at_fault_and_its_column() {
    let by = matching(&["mail:email", "tel:int"]);
    let mut rows: Vec<String> = (0..200).map(|n| format!("user{n}@example.org,{n}\n")).collect();
    rows[150] = "no address,5\n".into();
    rows[130] = "user@example.org,five\n".into();
    for threads in [1, 2, 3, 7] {
        let error =
            load(("mail,tel\n".to_owned() + &rows.concat()).as_bytes(), &Request { threads, ..by.clone() })
                .unwrap_err();
        assert!(
            matches!(&error, TableError::Invalid { place: Place::Line(132), column, .. } if column == "tel"),
            "{error}"
        );
    }
    // One whose only value is invalid is, if invalid values are skipped.
    let skip = Request { on_null: OnFault::Error, on_invalid: OnFault::Skip, ..by.clone() };
    assert!(load(b"mail,tel\na@b.ch,five\n", &skip).is_ok());
    let error = load(b"mail,tel\n,five\n", &skip).unwrap_err();
    assert!(matches!(error, TableError::Null { place: Place::Line(2), .. }), "{error}");
    let (table, _) =
        load(b"mail,tel\n,five\n,\na@b.ch,x\n", &Request { on_null: OnFault::Skip, ..skip }).unwrap();
    assert_eq!((table.report().nulls, table.report().invalid), (1, 1));
    // A row that has one key is not without a key.
    let strict = Request { on_null: OnFault::Error, ..by };
    assert!(load(b"mail,tel\n,5\na@b.ch,\n", &strict).is_ok());
    let error = load(b"mail,tel\n,5\n,\n", &strict).unwrap_err();
    assert!(matches!(error, TableError::Null { place: Place::Line(3), .. }), "{error}");
}

#[test]
fn rows_with_the_same_key_are_told_by_their_places() {
    let once = Request { on_duplicates: OnDuplicates::Error, ..matching(&["mail", "tel"]) };
    let error = load(b"mail,tel\na,1\nb,2\nc,1\n", &once).unwrap_err();
    assert!(
        matches!(error, TableError::Duplicate { first: Place::Line(2), second: Place::Line(4), .. }),
        "{error}"
    );
    assert!(load(b"mail,tel\na,1\n1,a\n", &once).is_ok());
}

#[test]
fn what_rows_carry_goes_with_each_of_their_keys() {
    let payload = Attach::Payload { columns: vec!["v".into()], bytes: 8 };
    let (mut table, items) = load(
        b"mail,tel,v\na,1,x\nb,,y\n,2,z\n",
        &Request { attach: payload.clone(), ..matching(&["mail", "tel"]) },
    )
    .unwrap();
    let Attached::Payloads { blocks, width } = table.attached(&items, &mut go).unwrap() else { panic!() };
    let texts = [b'x', b'x', b'y', b'z'];
    let of_item = |item: usize| blocks[item * width + 1];
    let key = |item: usize| items.rows_of(item).next().unwrap();
    for item in 0..items.len() {
        assert_eq!(
            of_item(item),
            texts[match key(item) {
                0 => 0,
                1 => 1,
                2 => 2,
                _ => 3,
            }],
            "{item}"
        );
    }
    // Two rows with one number and different payloads.
    let request = Request { attach: payload, ..matching(&["mail", "tel"]) };
    let (mut table, items) = load(b"mail,tel,v\na,1,x\nb,1,y\n", &request).unwrap();
    let error = table.attached(&items, &mut go).unwrap_err();
    assert!(
        matches!(error, TableError::PayloadsDiffer { first: Place::Line(2), second: Place::Line(3), .. }),
        "{error}"
    );
}
