//! A run file: the agreed half of a run, written by one side for the other. It holds nothing secret.
//!
//! ```text
//! {
//!   "vesica_run": 1,
//!   "role": "send",                              what its reader runs
//!   "keys": ["email"],                           the rules of the key's columns, in order; with several rules to match by
//!                                                "match": ["email", "text + date"] instead
//!   "options": {"security": "malicious", …},     every agreed option that is given, as the command line names it
//!   "partner": {"connect": "HOST:7400", "peer": "vesica-pub1-…", "mine": "vesica-pub1-…"}
//! }
//! ```
//!
//! It neither allows what is insecure nor names a helper's key: these are for each side to say.
//!
//! `mine` is the key that its reader has to have. Where the writer listens, nobody knows by which name its machine is reached:
//! the reader puts that in the place of `HOST`, or names the address itself.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use vesica_net::{Address, PublicKey};
use vesica_protocols::Role;
use vesica_table::{KeySpec, MatchRule, MatchRules, shown_path};
use vesica_text::{Text, text};

use crate::words::error::Error;
use crate::words::options::{Value, agreed_options};
use crate::words::settings::Settings;
use crate::words::system::read_small;

/// The version of the form.
const VERSION: u32 = 1;

/// The most bytes of a run file.
pub const MOST_BYTES: u64 = 1 << 16;

/// Between the columns of a rule.
const PLUS: &str = " + ";

/// In the place of a machine's name that is not known.
const HOST: &str = "HOST";

/// The port of an address of a run file whose machine is not known.
pub fn unknown_host(connect: &str) -> Option<&str> {
    connect.strip_prefix(HOST)?.strip_prefix(':')
}

const REMEDY: &str =
    "{ask the partner} for a new run file (`[write-run-file]`), made by the same version of vesica";

/// A run file's content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunFile {
    vesica_run: u32,
    role: String,
    /// The rules of the columns of the only key, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    keys: Vec<String>,
    /// The rules to match by, in order, if there are several.
    #[serde(default, rename = "match", skip_serializing_if = "Vec::is_empty")]
    several: Vec<String>,
    options: BTreeMap<String, Value>,
    /// How its reader meets its writer.
    pub partner: Meeting,
}

/// How the reader of a run file meets its writer. Names are those of the command line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Meeting {
    /// Where the writer listens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect: Option<String>,
    /// Where the writer connects to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen: Option<String>,
    /// Relays.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub via: Vec<String>,
    /// Their keys.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub via_key: Vec<String>,
    /// The run's name at the relay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The helper's address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub helper: Option<String>,
    /// The writer's key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// The reader's key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mine: Option<String>,
}

impl Meeting {
    /// Of the partner of a side that meets at this address.
    pub fn of(address: &Address) -> Self {
        match address {
            Address::Listen(at) => {
                let port = at.rsplit_once(':').map_or(&**at, |(_, port)| port);
                let host = at.rsplit_once(':').map_or("", |(host, _)| host);
                let anywhere = ["", "0.0.0.0", "[::]"].contains(&host);
                let connect = if anywhere { format!("{HOST}:{port}") } else { at.clone() };
                Meeting { connect: Some(connect), ..Meeting::default() }
            }
            Address::Connect(at) => {
                let port = at.rsplit_once(':').map_or(&**at, |(_, port)| port);
                // `:PORT` is IPv4.
                let host = if at.starts_with('[') { "[::]" } else { "" };
                Meeting { listen: Some(format!("{host}:{port}")), ..Meeting::default() }
            }
            Address::Via(via) => {
                let relays = via.relays();
                Meeting {
                    via: relays.iter().map(|relay| relay.address.clone()).collect(),
                    via_key: relays.iter().map(|relay| relay.key.to_string()).collect(),
                    run: Some(via.run.clone()).filter(|run| !run.is_empty()),
                    ..Meeting::default()
                }
            }
        }
    }
}

fn is_rule(name: &str) -> bool {
    // As it stands behind a column.
    let spec = format!("c:{name}").parse::<KeySpec>();
    spec.is_ok_and(|spec| rule_of(&spec) == name)
}

/// The command that a role runs.
fn command(role: Role) -> &'static str {
    match role {
        Role::Receiver => "receive",
        Role::Sender => "send",
    }
}

impl RunFile {
    /// For the partner of a side with this role, these settings and rules.
    pub fn for_partner(role: Role, settings: &Settings, rules: &MatchRules, partner: Meeting) -> Self {
        let given = agreed_options()
            .filter_map(|(option, term)| Some((option.name.to_owned(), (term.value)(settings)?)));
        let options = given.collect();
        let of_rule = |rule: &MatchRule| rule.columns().iter().map(rule_of).collect::<Vec<_>>().join(PLUS);
        let (keys, several) = match rules.are_several() {
            true => (Vec::new(), rules.iter().map(of_rule).collect()),
            false => (rules.columns().map(rule_of).collect(), Vec::new()),
        };
        let role = command(role.other()).to_owned();
        RunFile { vesica_run: VERSION, role, keys, several, options, partner }
    }

    /// Reads the one at this path.
    ///
    /// # Errors
    /// If it cannot be read, is no run file, or is of another version.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let name = shown_path(path);
        let text = path.to_str().ok_or_else(|| "its name is not UTF-8".to_owned());
        let text = text.and_then(|path| read_small(path, MOST_BYTES));
        Self::parse(
            &text.map_err(|why| Error::usage(text!("`[run-file {}]`: {}", &name, why), REMEDY))?,
            &name,
        )
    }

    /// Reads one that `name` is called.
    ///
    /// # Errors
    /// If it is no run file, or of another version.
    pub fn parse(text: &str, name: &str) -> Result<Self, Error> {
        let refused = |why: String| Error::usage(text!("`[run-file {}]`: {}", name.to_owned(), why), REMEDY);
        let file: RunFile = serde_json::from_str(text).map_err(|error| {
            // The words of a foreign file are in it.
            refused(format!("it is no run file: {}", error.to_string().escape_debug()))
        })?;
        if file.vesica_run != VERSION {
            return Err(refused(format!(
                "it has version {}, and this program reads {VERSION}",
                file.vesica_run
            )));
        }
        let known = |name: &str| agreed_options().any(|(option, _)| option.name == name);
        if let Some(option) = file.options.keys().find(|name| !known(name)) {
            return Err(refused(format!("it has an option that is not known here, {option:?}")));
        }
        file.check().map_or(Ok(()), |what| Err(refused(format!("it has {what} that is none"))))?;
        Ok(file)
    }

    /// What of it is not what it has to be. Whoever wrote it may be anybody.
    fn check(&self) -> Option<&'static str> {
        let Meeting { connect, listen, via, via_key, run, helper, peer, mine } = &self.partner;
        let places = [connect, listen, run, helper].into_iter().flatten().chain(via);
        let values = self.arguments().into_iter().filter_map(|(_, value)| value);
        let mut keys = [peer, mine].into_iter().flatten().chain(via_key);
        match () {
            () if ![Role::Receiver, Role::Sender].map(command).contains(&&*self.role) => Some("a role"),
            () if self.keys.is_empty() == self.several.is_empty() => Some("keys, or else rules to match by,"),
            () if !self.key_columns().iter().flatten().all(|rule| is_rule(rule)) => Some("a rule of a key"),
            () if self.several.len() > MatchRules::MOST => Some("a number of rules"),
            // Never `@FILE`: that would be a file of the reader's.
            () if !keys.all(|key| key.parse::<PublicKey>().is_ok()) => Some("a public key"),
            () if places
                .map(String::as_str)
                .chain(values)
                .any(|text| shown_path(Path::new(text)) != *text) =>
            {
                Some("a value")
            }
            () => None,
        }
    }

    /// Its text.
    ///
    /// # Errors
    /// If it cannot be written as JSON, which does not happen.
    pub fn to_text(&self) -> Result<String, Error> {
        let text = serde_json::to_string_pretty(self);
        text.map(|text| text + "\n").map_err(|error| Error::usage(error.to_string(), REMEDY))
    }

    /// The command that its reader runs: `receive` or `send`.
    pub fn command(&self) -> &str {
        &self.role
    }

    /// Refuses a file for the other command.
    ///
    /// # Errors
    /// If this is not the command that its reader runs.
    pub fn check_command(&self, command: &str) -> Result<(), Error> {
        match self.role == command {
            true => Ok(()),
            false => Err(Error::usage(
                format!("the run file is for `vesica {}`, and this is `vesica {command}`", self.role),
                "run the other command; whoever wrote the file runs this one",
            )),
        }
    }

    /// The option by which its reader names the columns of its keys: `key`, or `match` for several.
    pub fn key_option(&self) -> &'static str {
        if self.several.is_empty() { "key" } else { "match" }
    }

    /// The key rules of the columns of each of these options.
    fn key_columns(&self) -> Vec<Vec<&str>> {
        match self.several.is_empty() {
            true => self.keys.iter().map(|rule| vec![rule.as_str()]).collect(),
            false => self.several.iter().map(|rule| rule.split(PLUS).collect()).collect(),
        }
    }

    /// The rule of each of these options, in order.
    pub fn key_rules(&self) -> &[String] {
        if self.several.is_empty() { &self.keys } else { &self.several }
    }

    /// The key columns of its reader, which are given with or without their rules, under the file's rules.
    ///
    /// # Errors
    /// If there are more or fewer than in the file, or one has another rule.
    pub fn keys_of(&self, given: &[String]) -> Result<Vec<String>, Error> {
        let (rules, option) = (self.key_rules(), self.key_option());
        let all = rules.join(", ");
        let wrong_number = |given: usize| {
            let option = Text::option(option);
            let message = text!(
                "the run file has {} rules for `{}` ({}), and {} are given",
                rules.len(),
                &option,
                &all,
                given
            );
            let remedy = match self.several.is_empty() {
                true => text!("give `[key COLUMN]` once for each of these, in this order: {}", &all),
                false => text!(
                    "give `[match COLUMN]` once for each of these, in this order, several columns as COLUMN + COLUMN: {}",
                    &all
                ),
            };
            Error::usage(message, remedy)
        };
        if given.len() != rules.len() {
            return Err(wrong_number(given.len()));
        }
        let under = |(given, rule): (&str, &str)| -> Result<String, Error> {
            // What does not parse is for the parser of arguments to refuse.
            let Ok(spec) = given.parse::<KeySpec>() else { return Ok(given.to_owned()) };
            let of = rule_of(&spec);
            match () {
                () if of == rule => Ok(given.to_owned()),
                () if of == "raw" && !given.ends_with(":raw") => Ok(format!("{given}:{rule}")),
                () => Err(Error::usage(
                    text!(
                        "the key `{}` has another rule than the run file, which has `{}` there",
                        given.to_owned(),
                        rule.to_owned()
                    ),
                    "give the column alone; for other rules make a new run file with the partner",
                )),
            }
        };
        let all_under = |(given, rule): (&String, &String)| {
            let (columns, rules): (Vec<&str>, Vec<&str>) = match self.several.is_empty() {
                true => (vec![given], vec![rule]),
                false => (MatchRule::split(given).collect(), rule.split(PLUS).collect()),
            };
            if columns.len() != rules.len() {
                let message = text!(
                    "`{}` names {} columns, and the run file has `{}` there",
                    Text::option_with("match", given.clone()),
                    columns.len(),
                    rule.clone()
                );
                return Err(Error::usage(message, "name a column for each of these, as COLUMN + COLUMN"));
            }
            let columns: Result<Vec<String>, Error> = columns.into_iter().zip(rules).map(under).collect();
            Ok(columns?.join(PLUS))
        };
        given.iter().zip(rules).map(all_under).collect()
    }

    /// The options, each with its value, as often as the command line has them; a flag has none.
    pub fn arguments(&self) -> Vec<(&str, Option<&str>)> {
        let mut all = Vec::new();
        for (name, given) in &self.options {
            match given {
                Value::Flag(true) => all.push((&**name, None)),
                Value::Flag(false) => {}
                Value::Text(text) => all.push((&**name, Some(&**text))),
                Value::Several(texts) => all.extend(texts.iter().map(|text| (&**name, Some(&**text)))),
            }
        }
        all
    }

    /// How the partner is met, in the same form.
    pub fn meeting(&self) -> Vec<(&'static str, &str)> {
        let Meeting { connect, listen, via, via_key, run, helper, peer, mine: _ } = &self.partner;
        let mut all = Vec::new();
        let singles =
            [("connect", connect), ("listen", listen), ("run", run), ("helper", helper), ("peer", peer)];
        for (name, value) in singles {
            all.extend(value.as_deref().map(|value| (name, value)));
        }
        all.extend(via.iter().map(|via| ("via", &**via)));
        all.extend(via_key.iter().map(|key| ("via-key", &**key)));
        all
    }
}

/// The name of a key's rule and of its variants, without what is this side's own, such as a country.
pub fn rule_of(spec: &KeySpec) -> String {
    format!("{}{}", spec.rule.name(), spec.variants)
}

#[cfg(test)]
mod tests {
    use vesica_net::Identity;
    use vesica_protocols::Learns;

    use super::*;
    use crate::words::results::{ResultChoice, ResultOptions};
    use crate::words::settings::Choice;
    use crate::words::terms::Terms;

    fn rules(rules: &[&str]) -> MatchRules {
        rules.iter().map(|rule| MatchRule::parse(rule).unwrap()).collect::<Vec<_>>().into()
    }

    #[test]
    fn several_rules_are_written_and_get_the_readers_columns() {
        let mine = rules(&["Mail:email", "Last:text + Born:date"]);
        let file = RunFile::for_partner(Role::Sender, &Settings::default(), &mine, Meeting::default());
        let text = file.to_text().unwrap();
        assert!(text.contains("\"match\"") && !text.contains("\"keys\""), "{text}");
        assert_eq!(RunFile::parse(&text, "x"), Ok(file.clone()));
        assert_eq!(
            (file.key_option(), file.key_rules()),
            ("match", &["email".to_owned(), "text + date".into()][..])
        );
        let under =
            |given: &[&str]| file.keys_of(&given.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>());
        assert_eq!(under(&["mail", "name+born:date"]).unwrap(), ["mail:email", "name:text + born:date"]);
        assert_eq!(under(&["mail", "\"a + b\" + c"]).unwrap(), ["mail:email", "\"a + b\":text + c:date"]);
        for bad in
            [&["mail"][..], &["mail", "name"], &["mail", "name:email + born"], &["mail:raw", "name + born"]]
        {
            let error = under(bad).unwrap_err();
            assert!(error.kind == crate::words::error::Kind::Usage, "{error}");
        }
        let both = text.replace("\"match\"", "\"keys\": [\"email\"], \"match\"");
        assert!(RunFile::parse(&both, "x").is_err());
    }

    #[test]
    fn what_is_written_is_read_and_lists_every_option_that_is_given() {
        let result = ResultOptions {
            result: ResultChoice::Sum,
            value: vec!["a b".into(), "ü".into()],
            min_matches: Some(5),
            ..ResultOptions::default()
        };
        let settings = Settings {
            protocol: Choice::Named("circuit-vole".into()),
            learns: Learns::Both,
            match_id: true,
            result,
            ..Settings::default()
        };
        let key = Identity::generate().unwrap().public_key().to_string();
        let meeting =
            Meeting { peer: Some(key.clone()), ..Meeting::of(&Address::Listen("0.0.0.0:7".into())) };
        let file = RunFile::for_partner(Role::Receiver, &settings, &rules(&["Mail:email"]), meeting);
        let text = file.to_text().unwrap();
        assert_eq!(RunFile::parse(&text, "x"), Ok(file.clone()));
        assert_eq!(file.command(), "send");
        let arguments = file.arguments();
        for given in [
            ("protocol", Some("circuit-vole")),
            ("learns", Some("both")),
            ("match-id", None),
            ("value", Some("a b")),
            ("value", Some("ü")),
            ("min-matches", Some("5")),
            ("security", Some("malicious")),
        ] {
            assert!(arguments.contains(&given), "{given:?}: {arguments:?}");
        }
        assert!(!text.contains("payload"), "what is not given is not there");
        assert_eq!(file.meeting(), [("connect", "HOST:7"), ("peer", &*key)]);
    }

    #[test]
    fn other_files_are_refused_by_name() {
        let file =
            RunFile::for_partner(Role::Sender, &Settings::default(), &rules(&["k"]), Meeting::default());
        let text = file.to_text().unwrap();
        let broken = [
            text.replace("\"vesica_run\": 1", "\"vesica_run\": 2"),
            text.replace("\"level\"", "\"levels\""),
            text.replace("\"role\"", "\"rolle\""),
            text.replace("\"receive\"", "\"\\u001b[2J\""),
            text.replace("[\n    \"raw\"\n  ]", "[\"raw\\n\"]"),
            text.replace("[\n    \"raw\"\n  ]", "[]"),
            text.replace("[\n    \"raw\"\n  ]", "[\"raw + raw\"]"),
            text.replace("keys", "match").replace("\"raw\"", &["\"raw\""; 17].join(", ")),
            text.replace("\"partner\": {}", "\"partner\": {\"peer\": \"@/etc/passwd\"}"),
            text.replace("\"partner\": {}", "\"partner\": {\"connect\": \"a:1\\u001b[2J\"}"),
            text.replace("\"partner\": {}", "\"partner\": {\"run\": \"a\\u202eb\"}"),
            text.replace("\"profile\"", "\"\\u001b[2J\""),
            text.replace("\"level\"", "\"allow-insecure\""),
            String::new(),
            "{}".into(),
        ];
        for text in broken {
            let error = RunFile::parse(&text, "run.json").unwrap_err();
            assert!(!error.message.shell().contains(char::is_control), "{error}");
            assert!(
                error.message.shell().contains("`--run-file run.json`") && error.kind.exit_code() == 64,
                "{error}"
            );
        }
    }

    #[test]
    fn columns_get_the_rules_of_the_file() {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let columns: Vec<KeySpec> =
            ["Mail:email", "Tel:phone:CH", "id"].map(|key| key.parse().unwrap()).into();
        let file =
            RunFile::for_partner(Role::Sender, &Settings::default(), &columns.into(), Meeting::default());
        let taken = file.keys_of(&texts(&["mail", "\"tel:1\":phone:CH", "id"]));
        assert_eq!(taken, Ok(texts(&["mail:email", "\"tel:1\":phone:CH", "id"])));
        for wrong in [&["mail"][..], &["mail:text", "tel", "id"], &["mail", "tel", "id:email"]] {
            assert!(file.keys_of(&texts(wrong)).is_err(), "{wrong:?}");
        }
    }

    /// A field of the terms that the list does not have would be missing in run files.
    #[test]
    fn every_term_is_an_option_of_the_list_or_known_otherwise() {
        let terms = Terms::new(Role::Sender, &Settings::default(), &["raw".into()]);
        for (field, _) in terms.equal() {
            let otherwise = ["key rules", "helper", "table of auto"].contains(&&**field);
            assert!(otherwise || crate::words::options::of_field(field).is_some(), "{field}");
        }
    }
}
