use super::*;
use crate::rule::DateOrder;

fn key(spec: &str) -> Result<(String, Rule), SpecError> {
    spec.parse::<KeySpec>().map(|key| (key.column, key.rule))
}

#[test]
fn columns_and_rules() {
    for (spec, column, rule) in [
        ("mail", "mail", Rule::Raw),
        ("mail:raw", "mail", Rule::Raw),
        ("mail:email", "mail", Rule::Email),
        ("mail:email-uid2", "mail", Rule::EmailUid2),
        ("mail:email-meta", "mail", Rule::EmailMeta),
        ("from:ip", "from", Rule::Ip),
        ("mail:email-google", "mail", Rule::EmailGoogle),
        ("born:date", "born", Rule::Date(None)),
        ("born:date:mdy", "born", Rule::Date(DateOrder::find("MDY"))),
        ("who:name", "who", Rule::Name),
        ("mail:sha256", "mail", Rule::Sha256),
        ("email", "email", Rule::Raw),
        ("first name:text", "first name", Rule::Text),
        (" x ", " x ", Rule::Raw),
        ("say \"hi\"", "say \"hi\"", Rule::Raw),
        ("\"a:b\"", "a:b", Rule::Raw),
        ("\"a:b\":int", "a:b", Rule::Int),
        ("\"a=b\":int", "a=b", Rule::Int),
        ("\"a:int\"", "a:int", Rule::Raw),
        ("\"\"\"q\"\"\":text", "\"q\"", Rule::Text),
        ("\"plain\"", "plain", Rule::Raw),
        ("naïve:text", "naïve", Rule::Text),
    ] {
        assert_eq!(key(spec), Ok((column.to_owned(), rule)), "{spec}");
        let again = spec.parse::<KeySpec>().unwrap().to_string();
        assert_eq!(key(&again), Ok((column.to_owned(), rule)), "{spec} written as {again}");
    }
}

#[test]
fn what_means_nothing_is_refused() {
    let unknown = |word: &str| SpecError::UnknownRule { word: word.to_owned() };
    let country = |word: &str| SpecError::UnknownCountry { word: word.to_owned() };
    let order = |word: &str| SpecError::UnknownOrder { word: word.to_owned() };
    let quote =
        |column: &str, rule: &str| SpecError::QuoteColumn { column: column.into(), rule: rule.into() };
    for (spec, error) in [
        ("", SpecError::NoColumn),
        (":email", SpecError::NoColumn),
        ("\"\":email", SpecError::NoColumn),
        ("=b", SpecError::NoColumn),
        ("\"a", SpecError::UnclosedQuote),
        ("\"a\"\"", SpecError::UnclosedQuote),
        ("\"a\"b", SpecError::AfterQuote),
        ("\"a\" :int", SpecError::AfterQuote),
        ("a=b", SpecError::Pair),
        ("\"a\"=b", SpecError::Pair),
        ("a:", unknown("")),
        ("a:Email", unknown("Email")),
        ("a:emial", unknown("emial")),
        ("a:b", unknown("b")),
        ("a:b:c", unknown("b:c")),
        ("a:b:email", quote("a:b", "email")),
        ("a:b:phone:CH", quote("a:b", "phone:CH")),
        ("a:phone:", country("phone:")),
        ("a:phone:c", country("phone:c")),
        ("a:phone:XX", country("phone:XX")),
        ("a:date:", order("date:")),
        ("a:date:YDM", order("date:YDM")),
        ("a:b:date:DMY", quote("a:b", "date:DMY")),
        ("a:b:email-uid2", quote("a:b", "email-uid2")),
        ("a:sha-256", unknown("sha-256")),
        ("phone:CH", unknown("CH")),
    ] {
        assert_eq!(key(spec), Err(error), "{spec}");
    }
    let message = unknown("x").to_string();
    let known = "raw, text, email, email-uid2, email-meta, email-google, phone, name, postcode, ip, date, int, uuid, sha256";
    assert!(message.contains(known), "{message}");
    for (word, meant) in [("emial", "email"), ("Date", "date"), ("sha-256", "sha256"), ("phoen", "phone")] {
        let message = unknown(word).to_string();
        let told = format!("unknown rule `{word}`; did you mean `{meant}`? the rules are {known}");
        assert_eq!(message, told);
    }
    for word in ["x", "b:c", "int=b", ""] {
        assert!(!unknown(word).to_string().contains("did you mean"), "{word}");
    }
}

#[test]
fn a_bad_specification_is_wrong_usage() {
    let error = KeySpec::parse("a:phone:c").unwrap_err();
    assert_eq!(KeySpec::parse("a:phone:ch").unwrap(), KeySpec::parse("a:phone:CH").unwrap());
    assert_eq!(error.fault(), crate::Fault::Usage);
    let told = "`--key a:phone:c`: `phone:c`: give the country as the two letters of ISO 3166";
    assert!(error.text().shell().starts_with(told), "{error}");
    assert_eq!(PairSpec::parse("a=").unwrap_err().fault(), crate::Fault::Usage);
    assert_eq!(KeySpec::parse("a:int").unwrap(), PairSpec::parse("a=b:int").unwrap().mine());
}

#[test]
fn pairs() {
    let pair = |spec: &str| spec.parse::<PairSpec>();
    for (spec, mine, theirs, rule) in [
        ("a", "a", "a", Rule::Raw),
        ("a:int", "a", "a", Rule::Int),
        ("a=b", "a", "b", Rule::Raw),
        ("a=b:email", "a", "b", Rule::Email),
        ("\"a=x\"=\"b:y\":text", "a=x", "b:y", Rule::Text),
        ("a=\"b\"", "a", "b", Rule::Raw),
    ] {
        let expected =
            PairSpec { mine: mine.into(), theirs: theirs.into(), rule, variants: Default::default() };
        assert_eq!(pair(spec), Ok(expected.clone()), "{spec}");
        assert_eq!(pair(&expected.to_string()), Ok(expected.clone()));
        assert_eq!((expected.mine().column, expected.theirs().column), (mine.to_owned(), theirs.to_owned()));
    }
    for (spec, error) in [
        ("a=", SpecError::NoColumn),
        ("=b", SpecError::NoColumn),
        ("a=b=c", SpecError::Pair),
        ("a:int=b", SpecError::UnknownRule { word: "int=b".into() }),
        ("a=b:phone:x", SpecError::UnknownCountry { word: "phone:x".into() }),
    ] {
        assert_eq!(pair(spec), Err(error), "{spec}");
    }
}
