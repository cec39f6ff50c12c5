//! Several keys in order (`--match`) between two processes, against a plain join that tries the rules one after the other.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::TcpListener;

use serde_json::Value;

use crate::common::{Scene, with};

const MINE: [&str; 8] = [
    "--input",
    "receiver.csv",
    "--match",
    "mail:email",
    "--match",
    "tel:int",
    "--match",
    "last:text + born:date",
];
const THEIRS: [&str; 8] = [
    "--input",
    "sender.csv",
    "--match",
    "address:email",
    "--match",
    "phone:int",
    "--match",
    "name:text + birthday:date",
];
const OUT: [&str; 2] = ["--output", "out.csv"];
const NAMES: [&str; 3] = ["mail:email", "tel:int", "last:text + born:date"];

/// A person's e-mail, number, name and birthday; empty where unknown.
type Person = [String; 4];

/// People of whom each table knows other identifiers: two of three are unknown or wrong in every second row.
fn people(rows: usize, seed: usize, first: usize) -> Vec<Person> {
    let person = |row: usize| {
        let (n, known) = (first + row, (row * 7 + seed * 5) % 11);
        let of = |bit: usize, text: String| if known & bit == 0 { text } else { String::new() };
        let number = if known == 1 { format!("9{n}") } else { n.to_string() };
        [
            of(1, format!("Person{n}@Example.org")),
            of(2, number),
            of(4, format!("Weiß {}", n / 2)),
            format!("19{:02}-01-{:02}", n % 90 + 10, n % 28 + 1),
        ]
    };
    (0..rows).map(person).collect()
}

fn csv(header: &str, people: &[Person]) -> String {
    let lines = people.iter().enumerate().map(|(row, person)| format!("{row},{}\n", person.join(",")));
    format!("{header}\n{}", lines.collect::<String>())
}

fn keys(person: &Person) -> [Option<String>; 3] {
    let [mail, tel, last, born] = person;
    let some = |text: &String| Some(text.to_lowercase()).filter(|text| !text.is_empty());
    [some(mail), some(tel), some(last).map(|last| format!("{last}|{born}"))]
}

/// What the plain join gives: of each of my rows its number and the first rule that hits.
fn waterfall(mine: &[Person], theirs: &[Person]) -> Vec<(usize, usize)> {
    let mut sets: [BTreeSet<String>; 3] = Default::default();
    theirs.iter().for_each(|person| sets.iter_mut().zip(keys(person)).for_each(|(set, key)| set.extend(key)));
    let hit = |person: &Person| {
        keys(person)
            .iter()
            .zip(&sets)
            .position(|(key, set)| key.as_ref().is_some_and(|key| set.contains(key)))
    };
    mine.iter().enumerate().filter_map(|(row, person)| Some((row, hit(person)?))).collect()
}

/// The rows as they are written, with the rule and what else is behind it.
fn written(mine: &[Person], found: &[(usize, usize)]) -> Vec<String> {
    found.iter().map(|(row, rule)| format!("{row},{},{}", mine[*row].join(","), NAMES[*rule])).collect()
}

fn scene(rows: usize) -> (Scene, Vec<Person>, Vec<Person>) {
    let (mine, theirs) = (people(rows, 1, 0), people(rows * 2 / 3, 2, rows / 3));
    let scene = Scene::new();
    scene.write("receiver.csv", csv("id,mail,tel,last,born", &mine));
    scene.write("sender.csv", csv("id,address,phone,name,birthday", &theirs));
    (scene, mine, theirs)
}

fn lines(scene: &Scene, name: &str) -> Vec<String> {
    scene.read(name).lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn rows_match_by_the_first_rule_that_hits_in_every_form_of_a_run() {
    let (scene, mine, theirs) = scene(900);
    let found = waterfall(&mine, &theirs);
    let of_rule = |rule: usize| found.iter().filter(|(_, by)| *by == rule).count();
    assert!((0..3).all(|rule| of_rule(rule) > 20), "{:?}", [0, 1, 2].map(of_rule));
    for (number, more) in [
        &[][..],
        &["--parts", "3"],
        &["--security", "semi-honest", "--protocol", "kkrt"],
        &["--security", "semi-honest", "--protocol", "dh"],
        &["--threads", "3"],
    ]
    .into_iter()
    .enumerate()
    {
        let report = format!("report{number}.json");
        let receiver = [&MINE[..], &OUT, &["--report", &report], more].concat();
        let (received, sent) = scene.pair(&with(&THEIRS, more), &receiver);
        sent.expect(0, &[]);
        let told = format!("{} rows match by tel:int; ", of_rule(1));
        received.expect(0, &[&format!("{} of 900 rows match", found.len()), &told]);
        assert_eq!(lines(&scene, "out.csv"), written(&mine, &found), "{more:?}");
        assert!(scene.read("out.csv").starts_with("id,mail,tel,last,born,matched_by\n"));
        let report: Value = serde_json::from_str(&scene.read(&report)).unwrap();
        for (rule, counts) in report["match_rules"].as_array().unwrap().iter().enumerate() {
            let all = mine.iter().filter(|person| keys(person)[rule].is_some()).count();
            assert_eq!((&counts["rule"], &counts["keys"]), (&NAMES[rule].into(), &all.into()));
            assert_eq!(counts["matching_rows"], of_rule(rule));
        }
        let learns = report["result"]["receiver_learns"].to_string();
        assert!(learns.contains("by each rule and not only by the first"), "{learns}");
    }
}

#[test]
fn keys_on_disk_match_by_the_first_rule_too() {
    // More keys than 256 MiB have room for.
    let (scene, mine, theirs) = scene(400_000);
    fs::create_dir(scene.path("temp")).unwrap();
    let little = ["--memory", "256M", "--temp-dir", "temp"];
    let receiver = [&MINE[..], &OUT, &little, &["--report", "mine.json"]].concat();
    let (received, sent) = scene.pair(&THEIRS, &receiver);
    sent.expect(0, &[]);
    let found = waterfall(&mine, &theirs);
    received.expect(0, &[&format!("{} of 400000 rows match", found.len())]);
    assert!(lines(&scene, "out.csv") == written(&mine, &found));
    let report: Value = serde_json::from_str(&scene.read("mine.json")).unwrap();
    assert!(!report["spill"].is_null());
    let by = found.iter().filter(|(_, rule)| *rule == 2).count();
    assert_eq!(report["match_rules"][2]["matching_rows"], by);
}

#[test]
fn payload_and_numbers_are_those_of_the_first_key_that_matches() {
    let (scene, mine, theirs) = scene(300);
    let found = waterfall(&mine, &theirs);
    let by_key: Vec<BTreeMap<String, usize>> = (0..3)
        .map(|rule| {
            theirs
                .iter()
                .enumerate()
                .filter_map(|(row, person)| Some((keys(person)[rule].clone()?, row)))
                .collect()
        })
        .collect();
    let more = ["--payload", "id"];
    // Rows of one key must agree in what goes with it.
    let (received, sent) = scene.pair(&with(&THEIRS, &more), &[&MINE[..], &OUT, &more].concat());
    sent.expect(0, &[]);
    received.expect(0, &[]);
    let expected = found.iter().map(|(row, rule)| {
        let key = keys(&mine[*row])[*rule].clone().unwrap();
        format!("{row},{},{},{}", mine[*row].join(","), by_key[*rule][&key], NAMES[*rule])
    });
    assert_eq!(lines(&scene, "out.csv"), expected.collect::<Vec<_>>());

    // Both sides' numbers are those of keys: rows with one number have the key of their rule in common.
    let both = ["--learns", "both", "--match-id"];
    let sender = [&THEIRS[..], &both, &["--output", "theirs.csv"]].concat();
    let (received, sent) = scene.pair(&sender, &[&MINE[..], &OUT, &both].concat());
    sent.expect(0, &[]);
    received.expect(0, &[]);
    let numbers = |name: &str, people: &[Person], rules: [&str; 3]| -> BTreeMap<String, BTreeSet<String>> {
        let mut by_number: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for line in lines(&scene, name) {
            let fields: Vec<&str> = line.split(',').collect();
            let rule = rules.iter().position(|rule| *rule == fields[5]).unwrap();
            let key = keys(&people[fields[0].parse::<usize>().unwrap()])[rule].clone().unwrap();
            by_number.entry(fields[6].to_owned()).or_default().insert(format!("{rule} {key}"));
        }
        by_number
    };
    let ours = numbers("out.csv", &mine, NAMES);
    let others = numbers("theirs.csv", &theirs, ["address:email", "phone:int", "name:text + birthday:date"]);
    let common: Vec<_> = ours.iter().filter_map(|(number, keys)| Some((keys, others.get(number)?))).collect();
    assert!(common.len() > 100 && common.iter().all(|(one, other)| one == other && one.len() == 1));
}

#[test]
fn a_run_file_carries_the_rules() {
    let (scene, mine, theirs) = scene(60);
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let keys = ["receive", "--identity", "receiver.pem", "--peer", &scene.sender_key];
    let place = ["--listen", &address, "--write-run-file", "run.json"];
    let mut receiver = scene.start(&[&keys, &MINE[..], &OUT, &place].concat());
    receiver.wait_for("listening on ");
    let sender = ["send", "--run-file", "run.json", "--identity", "sender.pem", "--input", "sender.csv"];
    scene
        .run(&with(&sender, &["--key", "address"]))
        .expect(64, &["3 rules for `--match`", "`--match COLUMN`"]);
    let rules = ["--match", "address", "--match", "phone", "--match", "name + birthday"];
    scene.run(&with(&sender, &rules)).expect(0, &[]);
    let command = "--match 'COLUMN:email' --match 'COLUMN:int' --match 'COLUMN:text + COLUMN:date'"
        .replace("'COLUMN:email'", "COLUMN:email")
        .replace("'COLUMN:int'", "COLUMN:int");
    receiver.end().expect(0, &[&command]);
    assert_eq!(lines(&scene, "out.csv"), written(&mine, &waterfall(&mine, &theirs)));
}

#[test]
fn what_cannot_be_is_refused_before_the_partner_is_met() {
    let (scene, ..) = scene(20);
    let peer =
        ["receive", "--connect", "127.0.0.1:1", "--identity", "receiver.pem", "--peer", &scene.sender_key];
    let run = |more: &[&str]| scene.run(&[&peer[..], &["--input", "receiver.csv"], more].concat());
    let by = ["--match", "mail:email", "--match", "tel:int"];
    run(&with(&by, &["--key", "mail:email", "--output", "out.csv"])).expect(64, &["--key", "--match"]);
    run(&with(&by, &["--result", "count", "--security", "semi-honest"]))
        .expect(64, &["a count or a sum over several keys of a row", "give one `--match`"]);
    run(&["--match", "mail:email + nothing", "--output", "out.csv"]).expect(65, &["nothing"]);
    run(&["--match", "mail:email +", "--output", "out.csv"]).expect(64, &["--match"]);
    let many = ["--match", "tel"].repeat(17);
    run(&with(&many, &OUT)).expect(64, &["make 17 keys of a row", "at most 16"]);
    run(&with(
        &by,
        &["--sigma", "32", "--protocol", "gbf", "--security", "semi-honest", "--output", "out.csv"],
    ))
    .expect(64, &[]);
    // The order of the rules is agreed.
    let other = ["--input", "sender.csv", "--match", "phone:int", "--match", "address:email"];
    let (received, sent) = scene.pair(&other, &[&["--input", "receiver.csv"], &by[..], &OUT].concat());
    let told = "key rules: mine email, then int, theirs int, then email";
    received.expect(77, &[told, "--match"]);
    sent.expect(77, &["key rules: mine int, then email"]);
    // One rule is the key that `--key` gives.
    let alone = ["--input", "sender.csv", "--key", "name:text", "--key", "birthday:date"];
    let one = ["--input", "receiver.csv", "--match", "last:text + born:date"];
    let (received, sent) = scene.pair(&alone, &with(&one, &OUT));
    sent.expect(0, &[]);
    received.expect(0, &[]);
    assert!(scene.read("out.csv").starts_with("id,mail,tel,last,born\n"));
    let seen =
        scene.run(&["inspect", "receiver.csv", "--match", "mail:email", "--match", "last:text + born:date"]);
    seen.expect(0, &[]);
    for rule in ["mail:email", "last:text + born:date"] {
        let stdout = String::from_utf8_lossy(&seen.stdout);
        assert!(stdout.contains(&format!("rows have a key by {rule}; ")), "{stdout}");
    }
}

#[test]
fn both_tables_here_match_by_pairs_of_columns() {
    let (scene, mine, theirs) = scene(200);
    let rules = [
        "--match",
        "mail=address:email",
        "--match",
        "tel=phone:int",
        "--match",
        "last=name:text + born=birthday:date",
    ];
    let tables = ["local", "--receiver", "receiver.csv", "--sender", "sender.csv"];
    scene.run(&[&tables, &rules[..], &OUT].concat()).expect(0, &[]);
    assert_eq!(lines(&scene, "out.csv"), written(&mine, &waterfall(&mine, &theirs)));
}

#[test]
fn flaw_a_rule_that_a_text_without_quotes_cannot_name_is_refused_before_the_partner_is_met() {
    let scene = Scene::new();
    scene.write("receiver.csv", "a:b:c\n1:2:3\n");
    let peer =
        ["receive", "--connect", "127.0.0.1:1", "--identity", "receiver.pem", "--peer", &scene.sender_key];
    let by = ["--match", "a:raw", "--match", "b + c", "--delimiter", ":", "--quote", "none"];
    let ended = scene.run(&[&peer[..], &["--input", "receiver.csv"], &by, &OUT].concat());
    ended.expect(74, &["phase read", "write the input with quotes"]);
}

/// A rule makes several keys of a row of the receiver's: names in the wrong fields, a day more or less, an address as Google
/// writes it.
#[test]
fn variants_of_a_rule_match_what_is_written_otherwise() {
    let scene = Scene::new();
    scene.write(
        "receiver.csv",
        "id,first,last,born,mail\n1,Ada,Lovelace,1815-12-10,\n2,Turing,Alan,1912-06-23,\n3,Kurt,Gödel,1906-04-27,\n\
         4,Émile,Borel,1871-01-08,\n5,,,,G.Hopper+navy@gmail.com\n6,Ada,Lovelace,1815-12-13,\n7,,,,b@e.org\n",
    );
    scene.write(
        "sender.csv",
        "vorname,name,geboren,mail\nAda,Lovelace,1815-12-10,ghopper@gmail.com\nAlan,Turing,1912-06-23,\nKurt,Gödel,1906-04-28,b@e.org\n\
         Borel,Émile,1871-01-07,\n",
    );
    let rules = |first: &str, last: &str, born: &str| {
        [format!("{first}:name~swap + {last}:name~swap + {born}:date~1"), "mail:email~google".to_owned()]
    };
    let (mine, theirs) = (rules("first", "last", "born"), rules("vorname", "name", "geboren"));
    let expected = [
        "1,Ada,Lovelace,1815-12-10,,first:name + last:name + born:date",
        "2,Turing,Alan,1912-06-23,,last:name + first:name + born:date",
        "3,Kurt,Gödel,1906-04-27,,first:name + last:name + born:date~+1",
        "4,Émile,Borel,1871-01-08,,last:name + first:name + born:date~-1",
        "5,,,,G.Hopper+navy@gmail.com,mail:email~google",
        "7,,,,b@e.org,mail:email",
    ];
    for more in [&[][..], &["--parts", "2"], &["--threads", "3"], &["--learns", "both"]] {
        let receiver = with(
            &["--input", "receiver.csv", "--match", &mine[0], "--match", &mine[1], "--output", "out.csv"],
            more,
        );
        let sender = with(&["--input", "sender.csv", "--match", &theirs[0], "--match", &theirs[1]], more);
        let (received, sent) = scene.pair(&sender, &receiver);
        sent.expect(0, &[]);
        received.expect(0, &["6 of 7 rows match"]);
        assert_eq!(lines(&scene, "out.csv"), expected, "{more:?}");
    }
    // The sender does not agree to as many keys, and a run file has them.
    let plain = ["vorname:name + name:name + geboren:date", "mail:email"];
    let receiver =
        ["--input", "receiver.csv", "--match", &mine[0], "--match", &mine[1], "--output", "no.csv"];
    let (received, sent) =
        scene.pair(&["--input", "sender.csv", "--match", plain[0], "--match", plain[1]], &receiver);
    sent.expect(77, &["date~1"]);
    received.expect(77, &["date~1"]);
    let alone = ["receive", "--connect", "127.0.0.1:1", "--insecure-plaintext"];
    let first = with(&receiver, &["--on-duplicates", "first"]);
    scene.run(&with(&alone, &first)).expect(64, &["with `~`", "leave out `--on-duplicates`"]);
    let seen = scene.run(&["inspect", "receiver.csv", "--match", "first:name~swap"]);
    seen.expect(64, &["`~swap` stands at 1 of a key's columns"]);
    let seen = scene.run(&["inspect", "receiver.csv", "--match", &mine[0], "--match", &mine[1]]);
    seen.expect(0, &[]);
    let told = String::from_utf8_lossy(&seen.stdout);
    assert!(told.contains("the receiver has up to 8 keys of a row"), "{told}");
    let counted = with(&receiver[..6], &["--result", "count", "--security", "semi-honest"]);
    scene
        .run(&with(&["receive", "--connect", "127.0.0.1:1", "--insecure-plaintext"], &counted))
        .expect(64, &["a rule with `~`"]);
    let local =
        ["local", "--receiver", "receiver.csv", "--sender", "sender.csv", "--output", "local.csv", "--match"];
    let both = "first=vorname:name~swap + last=name:name~swap + born=geboren:date~1";
    scene.run(&with(&local, &[both, "--match", "mail:email~google"])).expect(0, &["6 of 7 rows match"]);
    assert_eq!(lines(&scene, "local.csv"), expected);
}
