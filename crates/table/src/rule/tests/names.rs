//! The rule `name`.

use super::*;

#[test]
fn a_name_is_its_letters() {
    becomes(
        Rule::Name,
        &[
            ("Anna", "anna"),
            ("  Anna  Meier\t", "annameier"),
            // Accents, and letters that do not decompose.
            ("José Núñez", "josenunez"),
            ("Jose\u{301}", "jose"),
            ("Müller", "muller"),
            ("Strauß", "strauss"),
            ("STRAUSS", "strauss"),
            ("Łukasz", "lukasz"),
            ("Søren Kjærgård", "sorenkjaergard"),
            ("Đặng Thị Thu Hương", "dangthithuhuong"),
            ("Þórður", "thordur"),
            ("Françoise Lœb", "francoiseloeb"),
            ("Yıldız", "yildiz"),
            ("YILDIZ", "yildiz"),
            ("İpek", "ipek"),
            ("Ｓｍｉｔｈ", "smith"),
            ("ﬁnn", "finn"),
            // Hyphens, apostrophes, dots, commas.
            ("Jean-Luc", "jeanluc"),
            ("Jean Luc", "jeanluc"),
            ("Jean\u{2011}Luc", "jeanluc"),
            ("O'Brien", "obrien"),
            ("O’Brien", "obrien"),
            ("O´Brien", "obrien"),
            ("O`Brien", "obrien"),
            ("Oʻbrien", "obrien"),
            ("John F. Kennedy, Jr.", "johnfkennedyjr"),
            ("Mc Donald", "mcdonald"),
            ("van der Berg", "vanderberg"),
            ("Smith 3rd", "smith3rd"),
            // Invisible and control characters.
            ("An\u{ad}na\u{200b}\u{0}", "anna"),
            ("علی\u{200c}رضا", "عليرضا".replace('ي', "ی").as_str()),
            // Titles in front.
            ("Dr. Anna Meier", "annameier"),
            ("Prof.Dr.Anna Meier", "annameier"),
            ("MRS Meier", "meier"),
            ("Herr Dr. Meier", "meier"),
            ("Mme. Lœb", "loeb"),
            ("Drake", "drake"),
            ("Mr", "mr"),
            ("Dr. Ms", "ms"),
            ("Anna Dr. Meier", "annadrmeier"),
            // Other scripts keep what makes another word.
            ("Фёдор", "федор"),
            ("ΜΆΪΟΣ", "μαιοσ"),
            ("μάϊος", "μαιοσ"),
            ("कोमल", "कोमल"),
            ("たかし", "たかし"),
            ("ただし", "ただし"),
            ("ｶﾞ", "ガ"),
            ("김민준", "김민준"),
            ("王 小明", "王小明"),
            ("مُحَمَّد", "محمد"),
            ("שָׁלוֹם", "שלום"),
            ("  ", ""),
            (" - ", ""),
            ("...", ""),
            ("\u{200b}", ""),
            ("😊", ""),
        ],
    );
    assert_eq!(apply(Rule::Name, b"M\xfcller"), Err(Invalid::NotUtf8));
    assert_ne!(apply(Rule::Name, "कमल"), apply(Rule::Name, "कोमल"));
}

#[test]
fn case_accents_and_what_is_around_letters_do_not_count() {
    let mut rng = StdRng::seed_from_u64(9);
    let letters: Vec<char> =
        ('a'..='z').chain("àâäåãáçéèêëíìîïñóòôöõúùûüýÿśšžźżčćěřůűőșțğ".chars()).collect();
    for _ in 0..20_000 {
        let mut words = || -> Vec<String> {
            let word = |rng: &mut StdRng| {
                (0..rng.random_range(1..6)).map(|_| letters[rng.random_range(0..letters.len())]).collect()
            };
            (0..rng.random_range(1..4)).map(|_| word(&mut rng)).collect()
        };
        let words = words();
        let key = apply(Rule::Name, words.concat()).unwrap().unwrap();
        assert!(key.iter().all(u8::is_ascii_lowercase), "{words:?}");
        let joined = ["-", " ", ".", "'", "\u{2019}", "\u{200b}", ", ", "_"][rng.random_range(0..8)];
        // The first word may be a title.
        let text = format!("Ann{joined}{}", words.join(joined));
        for other in [text.to_uppercase(), format!(" {text}. "), format!("Dr. {text}"), text] {
            assert_eq!(apply(Rule::Name, &other), Ok(Some([b"ann", &key[..]].concat())), "{other:?}");
        }
    }
}

#[test]
fn flaw_a_mark_that_is_a_vowel_or_makes_another_consonant_stays() {
    // Tai Viet vowels of classes 230 and 220, and a Tibetan mark of class 216.
    for (one, other) in [
        ("\u{aa80}\u{aab2}", "\u{aa80}\u{aab4}"),
        ("\u{aa80}\u{aab2}", "\u{aa80}"),
        ("\u{f59}", "\u{f59}\u{f39}"),
    ] {
        let key = |text: &str| {
            let mut out = Vec::new();
            Rule::Name.apply(Value::Text(text.as_bytes().into()), &mut out).unwrap();
            out
        };
        assert_ne!(key(one), key(other), "{one:?} {other:?}");
    }
}
