//! Why keys would not match: a profile of each side, and `vesica compare`.

use crate::common::{Scene, with};

/// A table of two hundred addresses.
fn addresses(of: impl Fn(usize) -> String) -> String {
    "mail\n".to_owned() + &(0..200).map(|row| of(row) + "\n").collect::<String>()
}

#[test]
fn flaw_a_run_says_which_keys_look_like_nulls_and_rounded_numbers() {
    let scene = Scene::new();
    scene.write("r.csv", "id,n\nNULL,a\n\\N,b\nnan,c\nu1,1.23457E+11\n");
    scene.write("s.csv", "id,n\nNULL,a\nu2,1.23457E+11\n");
    for (key, more, said) in [
        ("id", &[][..], "`id:raw`, 3 rows: looks like a null that a program wrote"),
        ("id", &["--threads", "3"], "`id:raw`, 3 rows: looks like a null that a program wrote"),
        ("id", &["--memory", "256M"], "`id:raw`, 3 rows: looks like a null that a program wrote"),
        ("id:name", &[], "`id:name`, 3 rows: looks like a null"),
        ("n:text", &[], "`n:text`, 1 row: looks like a number that a spreadsheet wrote"),
    ] {
        let tables =
            ["local", "--receiver", "r.csv", "--sender", "s.csv", "--output", "out.csv", "--key", key];
        scene.run(&with(&tables, more)).expect(0, &[said]);
    }
    // Of a row without a key nothing is said.
    scene.write(
        "two.csv",
        "id,n
NULL,
u1,x
",
    );
    let two = ["local", "--receiver", "two.csv", "--sender", "s.csv", "--output", "out.csv"];
    let ended = scene.run(&with(&two, &["--key", "id", "--key", "n"]));
    ended.expect(0, &[]);
    assert!(!ended.screen.contains("looks like"), "{}", ended.screen);
}

#[test]
fn two_profiles_say_why_no_key_matches() {
    let scene = Scene::new();
    scene.write("mine.csv", addresses(|row| format!("secret{row}@example.org")));
    scene.write("theirs.csv", addresses(|row| format!("{row:064X}")));
    scene.write("few.csv", "mail\na@b.ch\n");
    let inspect = |file: &str, more: &[&str]| scene.run(&with(&["inspect", file, "--key", "mail"], more));
    inspect("mine.csv", &["--profile", "mine.json"]).expect(0, &[]);
    inspect("theirs.csv", &["--profile", "theirs.json", "--json"]).expect(0, &[]);
    let profile = scene.read("mine.json");
    assert!(
        profile.contains("address") && !profile.contains("secret") && !profile.contains("mail"),
        "{profile}"
    );
    inspect("mine.csv", &["--profile", "mine.json"]).expect(64, &["--profile mine.json", "new file"]);
    inspect("few.csv", &["--profile", "few.json"]).expect(64, &["fewer than 100 rows"]);
    scene.run(&["inspect", "mine.csv", "--profile", "none.json"]).expect(64, &["a profile is of keys"]);
    assert!(!scene.exists("few.json") && !scene.exists("none.json"));

    let compare = |mine: &str, theirs: &str| scene.run(&["compare", mine, theirs]);
    let told = compare("mine.json", "theirs.json");
    told.expect(0, &[]);
    let text = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(text.contains("theirs are SHA-256 digests, mine are not"), "{text}");
    let same = compare("mine.json", "mine.json");
    assert!(String::from_utf8_lossy(&same.stdout).starts_with("nothing in these profiles"));
    compare("mine.json", "few.csv").expect(64, &["few.csv", "it is no profile"]);
    compare("absent.json", "mine.json").expect(64, &["absent.json"]);
}
