//! Terms: what both parties must have asked for alike, exchanged before anything of the tables moves.
//!
//! *Equal* terms are named text fields that must agree word for word. There are two exceptions. The protocol agrees also
//! where one side named it and the other one left it to `auto`. The table of `auto` is compared only if a side says
//! `auto`: two sides that name the same protocol run it whatever their tables are.
//!
//! *Bound* terms are the sizes and the number of parts that each side accepts. *Local* settings are never sent. Both sides compare the same two
//! messages, so both end with the same list of differences. A protocol that is marked insecure runs only if both sides
//! allow it. Base OTs of an earlier run ([`crate::base_ots`]) are used only if both sides still have them.
//!
//! Wire form, little-endian: u8 role (1: sender) · u8 allow-insecure · u64 least peer rows · u64 most peer rows
//! · u32 most parts · protocol · u32 count of further fields · the fields as name and value · base OTs; a text is u32 length and printable ASCII.

use std::collections::BTreeMap;

use vesica_channel::codec::{CodecError, Reader, Writer};
use vesica_protocols::Role;
use vesica_text::{Text, text};

use crate::words::auto;
use crate::words::base_ots::CacheState;
use crate::words::options::{self, PROTOCOL, RunOption};
use crate::words::settings::{Choice, Limits, Settings};

/// The most bytes that a terms message may have.
pub const MAX_BYTES: usize = 1 << 14;

/// The most fields and the longest text in one message.
const MAX_FIELDS: usize = 64;
const MAX_TEXT: usize = 1024;

/// On the wire, in place of a `--max-parts` that is not given.
const NO_MOST: u32 = 0;

/// One party's terms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    role: Role,
    allow_insecure: bool,
    limits: Limits,
    protocol: String,
    equal: Vec<(String, String)>,
    base_ots: CacheState,
}

/// A field in which the two parties differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The field, as the terms name it.
    pub field: String,
    /// What this side asked for.
    pub mine: String,
    /// What the partner asked for.
    pub theirs: String,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.field.as_str() {
            ROLE if self.mine == Role::Sender.name() => f.write_str("both sides run `send`"),
            ROLE => f.write_str("both sides run `receive`"),
            _ => write!(f, "{}: mine {}, theirs {}", self.field, self.mine, self.theirs),
        }
    }
}

impl Difference {
    /// What the two sides can do about it; none if only another version of the program can help.
    pub fn remedy(&self) -> Option<Text> {
        let known = [&self.mine, &self.theirs].iter().all(|value| value.as_str() != ABSENT);
        match self.field.as_str() {
            AUTO_TABLE => Some(
                "name the protocol with `[protocol]`{ on both sides}, or install the same version of vesica on both"
                    .into(),
            ),
            _ if !known => None,
            ROLE => Some("one side runs `receive`, the other `send`".into()),
            KEY_RULES => {
                Some("give as many `[key COLUMN:RULE]`, or `[match]`, with the same rules in the same order".into())
            }
            HELPER => Some("give `[protocol]`, `[helper]` and `[helper-key]` alike{ on both sides}".into()),
            field => options::of_field(field).map(RunOption::remedy),
        }
    }
}

/// The remedy for all of them.
pub(crate) fn remedy(differences: &[Difference]) -> Text {
    let mut remedies: Vec<Text> = differences.iter().filter_map(Difference::remedy).collect();
    if remedies.len() < differences.len() {
        remedies.insert(0, "install the same version of vesica{ on both sides}".into());
    }
    text!("{}; then {start both sides again}", Text::joined(remedies, "; "))
}

/// The field of the roles.
const ROLE: &str = "role";

/// The field of the rules of the keys, and the one that stands behind it.
const KEY_RULES: &str = "key rules";
const AFTER_KEY_RULES: &str = "sigma";

/// The field of the helper's key.
const HELPER: &str = "helper";

/// A protocol with a helper, as what a run in several parts cannot have.
pub(crate) const A_HELPER: &str = "a helper (`[helper]`)";

/// The field of the table by which `auto` chooses.
const AUTO_TABLE: &str = "table of auto";

/// The value of a field that a side does not know.
const ABSENT: &str = "(not known)";

impl Terms {
    /// The terms of a run; `rules` are the key rules in order.
    pub fn new(role: Role, settings: &Settings, rules: &[String]) -> Self {
        let mut equal: Vec<(String, String)> = Vec::new();
        let mut put = |field: &str, value: String| equal.push((field.to_owned(), value));
        for (_, term) in options::agreed_options().filter(|(option, _)| option.name != PROTOCOL) {
            if term.field == AFTER_KEY_RULES {
                put(KEY_RULES, rules.join(" + "));
            }
            put(term.field, term.text(settings));
        }
        put(HELPER, options::NONE.to_owned());
        put(AUTO_TABLE, auto::auto_table());
        Terms {
            role,
            allow_insecure: settings.allow_insecure,
            limits: settings.limits,
            protocol: settings.protocol.to_string(),
            equal,
            base_ots: CacheState::Disabled,
        }
    }

    /// Those of a party that keeps base OTs.
    #[must_use]
    pub fn with_base_ots(mut self, base_ots: CacheState) -> Self {
        self.base_ots = base_ots;
        self
    }

    /// Those of a party that has this helper.
    #[must_use]
    pub fn with_helper(self, helper: String) -> Self {
        self.with_field(HELPER, helper)
    }

    fn with_field(mut self, name: &str, value: String) -> Self {
        if let Some(field) = self.equal.iter_mut().find(|(field, _)| field == name) {
            field.1 = value;
        }
        self
    }

    /// What of these terms a run in several parts cannot have.
    pub(crate) fn not_in_parts(&self) -> Option<&'static str> {
        let of_options = options::agreed_options().find_map(|(_, term)| {
            let value = self.field(term.field).unwrap_or(ABSENT);
            term.not_in_parts.filter(|_| term.hinders_parts(value))
        });
        let helper = self.field(HELPER).is_some_and(|helper| helper != options::NONE).then_some(A_HELPER);
        let kept = self.base_ots != CacheState::Disabled;
        of_options.or(helper).or(kept.then_some("kept base OTs (`[keep-base-ots]`)"))
    }

    /// What the party has of base OTs.
    pub fn base_ots(&self) -> &CacheState {
        &self.base_ots
    }

    /// The role that the party plays.
    pub fn role(&self) -> Role {
        self.role
    }

    /// The sizes and the number of parts that the party accepts.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Whether the party allows what the registry marks insecure or broken.
    pub fn allow_insecure(&self) -> bool {
        self.allow_insecure
    }

    /// Whether a partner would accept the wire form; it would not if there are too many key columns.
    pub fn fit(&self) -> bool {
        let bytes = self.encode();
        bytes.len() <= MAX_BYTES && Terms::decode(&bytes).is_ok_and(|decoded| decoded == *self)
    }

    /// The wire form.
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.bool(self.role == Role::Sender).bool(self.allow_insecure);
        let Limits { min_peer_rows, max_peer_rows, max_parts } = self.limits;
        writer.u64(min_peer_rows).u64(max_peer_rows).u32(max_parts.unwrap_or(NO_MOST));
        writer.text(&self.protocol);
        writer.list(&self.equal, |writer, (name, value)| {
            writer.text(name).text(value);
        });
        self.base_ots.encode(&mut writer);
        writer.into_vec()
    }

    /// Reads the wire form; anything but a message that [`Terms::encode`] could have made is an error.
    pub fn decode(bytes: &[u8]) -> Result<Self, CodecError> {
        let mut reader = Reader::new(bytes);
        let role = if reader.bool()? { Role::Sender } else { Role::Receiver };
        let allow_insecure = reader.bool()?;
        let (min_peer_rows, max_peer_rows) = (reader.u64()?, reader.u64()?);
        let max_parts = Some(reader.u32()?).filter(|most| *most != NO_MOST);
        let limits = Limits { min_peer_rows, max_peer_rows, max_parts };
        let protocol = printable(&mut reader)?;
        let equal = reader.list(MAX_FIELDS, |reader| Ok((printable(reader)?, printable(reader)?)))?;
        let base_ots = CacheState::decode(&mut reader)?;
        reader.finish()?;
        let repeated =
            |(i, (name, _)): (usize, &(String, String))| equal[..i].iter().any(|(other, _)| other == name);
        if equal.iter().enumerate().any(repeated) {
            return Err(CodecError::Invalid { what: "list of terms" });
        }
        Ok(Terms { role, allow_insecure, limits, protocol, equal, base_ots })
    }

    /// Every field in which the two differ, in the order of my terms.
    pub fn differences(&self, theirs: &Terms) -> Vec<Difference> {
        let mut differences = Vec::new();
        let mut differ = |field: &str, mine: &str, theirs: &str| {
            differences.push(Difference { field: field.into(), mine: mine.into(), theirs: theirs.into() });
        };
        if self.role == theirs.role {
            differ(ROLE, self.role.name(), theirs.role.name());
        }
        if self.protocol().or(theirs.protocol()) != theirs.protocol().or(self.protocol()) {
            differ(PROTOCOL, &self.protocol, &theirs.protocol);
        }
        let somebody_says_auto = self.protocol().is_none() || theirs.protocol().is_none();
        let compared = |(name, _): &&(String, String)| somebody_says_auto || name != AUTO_TABLE;
        for (name, mine) in self.equal.iter().filter(compared) {
            let theirs = theirs.field(name);
            if theirs != Some(mine) {
                differ(name, mine, theirs.unwrap_or(ABSENT));
            }
        }
        let unknown = |(name, _): &&(String, String)| self.field(name).is_none();
        for (name, theirs) in theirs.equal.iter().filter(compared).filter(unknown) {
            differ(name, ABSENT, theirs);
        }
        differences
    }

    /// The fields that both sides have alike. The table of `auto` is not among them where it differs, and does not matter.
    pub(crate) fn in_common(&self, theirs: &Terms) -> BTreeMap<String, String> {
        let alike = |(name, value): &&(String, String)| theirs.field(name) == Some(value);
        self.equal.iter().filter(alike).cloned().collect()
    }

    /// The choice of both sides, if they do not differ.
    pub fn choice(&self, theirs: &Terms) -> Choice {
        match self.protocol().or(theirs.protocol()) {
            None => Choice::Auto,
            Some(name) => Choice::Named(name.to_owned()),
        }
    }

    /// Which side named the protocol, if one did.
    pub fn reason(&self, theirs: &Terms) -> Option<&'static str> {
        match (self.protocol(), theirs.protocol()) {
            (None, None) => None,
            (Some(_), None) => Some("named by this side"),
            (None, Some(_)) => Some("named by the partner"),
            (Some(_), Some(_)) => Some("named by both sides"),
        }
    }

    /// The fields that must be equal, as name and value.
    pub fn equal(&self) -> &[(String, String)] {
        &self.equal
    }

    /// Terms with another value of one field, as another version of the program could have it.
    #[cfg(test)]
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        let field = self.equal.iter_mut().find(|(field, _)| field == name).unwrap();
        field.1 = value.to_owned();
        self
    }

    fn protocol(&self) -> Option<&str> {
        Some(self.protocol.as_str()).filter(|name| *name != "auto")
    }

    fn field(&self, name: &str) -> Option<&str> {
        self.equal.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str())
    }
}

/// Printable ASCII only: it may be shown on a terminal.
fn printable(reader: &mut Reader<'_>) -> Result<String, CodecError> {
    let text = reader.text(MAX_TEXT)?;
    let printable = text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    if printable { Ok(text.to_owned()) } else { Err(CodecError::Invalid { what: "term" }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(role: Role, protocol: &str, rule: &str) -> Terms {
        let choice = if protocol == "auto" { Choice::Auto } else { Choice::Named(protocol.into()) };
        let settings = Settings { protocol: choice, ..Settings::default() };
        Terms::new(role, &settings, &[rule.to_owned()])
    }

    #[test]
    fn the_wire_form_comes_back() {
        let mine = terms(Role::Sender, "dh", "email");
        assert_eq!(Terms::decode(&mine.encode()).unwrap(), mine);
    }

    #[test]
    fn every_cut_and_every_flipped_bit_is_an_error_or_other_terms() {
        let mine = terms(Role::Sender, "dh", "email");
        let bytes = mine.encode();
        for cut in 0..bytes.len() {
            assert!(Terms::decode(&bytes[..cut]).is_err(), "cut at {cut}");
        }
        assert!(Terms::decode(&[bytes.as_slice(), &[0]].concat()).is_err());
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            if let Ok(decoded) = Terms::decode(&flipped) {
                assert_ne!(decoded, mine, "bit {bit}");
            }
        }
    }

    #[test]
    fn auto_agrees_with_every_name_and_two_names_differ() {
        let fields = |mine: &str, theirs: &str| {
            let (mine, theirs) = (terms(Role::Receiver, mine, "raw"), terms(Role::Sender, theirs, "raw"));
            (mine.differences(&theirs).into_iter().map(|d| d.field).collect::<Vec<_>>(), mine.choice(&theirs))
        };
        assert_eq!(fields("auto", "auto"), (vec![], Choice::Auto));
        assert_eq!(fields("dh", "auto"), (vec![], Choice::Named("dh".into())));
        assert_eq!(fields("auto", "dh"), (vec![], Choice::Named("dh".into())));
        assert_eq!(fields("dh", "dh"), (vec![], Choice::Named("dh".into())));
        assert_eq!(fields("dh", "vole").0, ["protocol"]);
    }

    #[test]
    fn the_table_of_auto_is_compared_only_where_a_side_says_auto() {
        let fields = |mine: &str, theirs: &str| {
            let mine = terms(Role::Receiver, mine, "raw");
            let theirs = terms(Role::Sender, theirs, "raw").with(AUTO_TABLE, "dh from 0");
            let mut unaware = theirs.clone();
            unaware.equal.retain(|(name, _)| name != AUTO_TABLE);
            let seen = |a: &Terms, b: &Terms| {
                a.differences(b).into_iter().map(|difference| difference.field).collect::<Vec<_>>()
            };
            let here = seen(&mine, &theirs);
            // Both sides see the same, also where one of them has no table.
            assert_eq!(here, seen(&theirs, &mine));
            assert_eq!([seen(&mine, &unaware), seen(&unaware, &mine)], [here.clone(), here.clone()]);
            here
        };
        assert_eq!(fields("auto", "auto"), [AUTO_TABLE]);
        assert_eq!(fields("dh", "auto"), [AUTO_TABLE]);
        assert_eq!(fields("auto", "dh"), [AUTO_TABLE]);
        assert_eq!(fields("dh", "dh"), [""; 0]);
        assert_eq!(fields("dh", "vole"), ["protocol"]);
    }

    #[test]
    fn differences_name_field_mine_and_theirs_on_both_sides() {
        let mine = terms(Role::Receiver, "auto", "email");
        let theirs = terms(Role::Receiver, "auto", "text");
        let shown =
            |a: &Terms, b: &Terms| a.differences(b).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(shown(&mine, &theirs), ["both sides run `receive`", "key rules: mine email, theirs text"]);
        assert_eq!(shown(&theirs, &mine), ["both sides run `receive`", "key rules: mine text, theirs email"]);
    }

    #[test]
    fn every_difference_names_what_to_do() {
        let mine = terms(Role::Sender, "auto", "email");
        let advice = |theirs: &Terms| remedy(&mine.differences(theirs)).shell();
        assert_eq!(advice(&mine), "one side runs `receive`, the other `send`; then start both sides again");
        let option_of = |field: &str| match field {
            "key rules" => Some("`--key COLUMN:RULE`".to_owned()),
            AUTO_TABLE => Some("`--protocol` on both sides".to_owned()),
            field => Some(format!("`--{}`", field.replace(' ', "-"))),
        };
        for number in 0..mine.equal.len() {
            let mut theirs = terms(Role::Receiver, "auto", "email");
            theirs.equal[number].1 = "other".into();
            let option = option_of(&theirs.equal[number].0).unwrap_or("the same version".into());
            assert!(advice(&theirs).contains(&option), "{option}: {}", advice(&theirs));
        }
    }

    #[test]
    fn terms_that_no_partner_would_accept_do_not_fit() {
        assert!(terms(Role::Sender, "dh", "email").fit());
        assert!(!terms(Role::Sender, "dh", &"email + ".repeat(200)).fit());
        let mut twice = terms(Role::Sender, "dh", "email");
        twice.equal.push(("learns".into(), "both".into()));
        assert!(!twice.fit(), "a field that stands twice");
    }

    #[test]
    fn a_field_that_one_side_does_not_know_is_a_difference() {
        let mine = terms(Role::Receiver, "auto", "email");
        let mut theirs = terms(Role::Sender, "auto", "email");
        theirs.equal.push(("audit".into(), "10".into()));
        assert_eq!(mine.differences(&theirs)[0].to_string(), "audit: mine (not known), theirs 10");
        assert_eq!(theirs.differences(&mine)[0].to_string(), "audit: mine 10, theirs (not known)");
        let mut older = terms(Role::Sender, "auto", "email");
        older.equal.retain(|(name, _)| name != AUTO_TABLE);
        assert_eq!(mine.differences(&older)[0].field, AUTO_TABLE);
        // Nor does a value stand for no value.
        theirs.equal[0].1 = ABSENT.into();
        let mut without = mine.clone();
        without.equal.remove(0);
        assert_eq!(theirs.differences(&without).len(), without.differences(&theirs).len());
    }
}
