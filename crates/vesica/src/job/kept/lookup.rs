//! `lookup`: rows of a table whose keys are in a sender's kept set.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use rand_core::CryptoRng;
use vesica_channel::{CancelToken, Channel};
use vesica_encode::items::Items;
use vesica_kept::{Chain, Epoch, Found, Temporary, cut, open_label, remove_stale};
use vesica_net::{Identity, PublicKey};
use vesica_protocols::Role;
use vesica_protocols::public_key::voprf::{Client, Output};
use vesica_table::{Address, PayloadRows, shown_path, standard};
use vesica_text::text;

use super::ask::{self, ask};
use super::post::{Posted, state_of};
use super::wire::{ReceiverHello, Want, recv_u64};
use super::{open_chain, public_key, report_of};
use crate::job::post_box::{PostBox, check_records};
use crate::job::{self, OnEvent, Set};
use crate::session::card::Opening;
use crate::session::partner::Partner;
use crate::session::reporter::Reporter;
use crate::words::ended::{Ended, RunResult};
use crate::words::error::{Error, Kind, REPORT_A_BUG, RunPhase, Side};
use crate::words::report::KeptReport;
use crate::words::settings::Settings;
use crate::words::tables::TableArgs;

/// The options of the list that a look-up takes: those about a table, and about the sender.
pub const OPTIONS: [&str; 8] =
    ["threads", "timeout", "deadline", "on-duplicates", "on-null", "on-invalid", "pad-to", "max-peer-rows"];

/// Bytes of a file that are taken at a time.
const PIECE: usize = 1 << 16;

/// Bytes of a fetched file for each of `--max-peer-rows`: a value, its label, its part of the index.
const MOST_BYTES_A_KEY: u64 = 128;

/// A look-up of a table's keys.
pub struct LookupJob {
    /// My table, and where the matching rows go.
    pub table: TableArgs,
    /// The files of the set, in any order; a folder stands for those in it.
    pub set: Vec<PathBuf>,
    /// Whether newer files are fetched first, into the folder that is the set.
    pub fetch: bool,
    /// Everything else that a user chooses.
    pub settings: Settings,
}

impl LookupJob {
    /// Asks the sender, and gives the rows.
    pub fn run(
        self,
        sender: &Sender<'_>,
        cancel: &CancelToken,
        rng: &mut dyn CryptoRng,
        on_event: OnEvent<'_>,
    ) -> Ended {
        let settings = self.settings.clone();
        let my_key = match sender {
            Sender::Served(partner) => partner.my_key(),
            Sender::Post { identity, .. } => Some(*identity.public_key()),
        };
        job::alone(Role::Receiver, &settings, my_key, cancel, on_event, |reporter| {
            reporter.of_protocol(super::PROTOCOL);
            self.steps(&settings, sender, reporter, rng)
        })
    }

    /// The end of a look-up that could not begin, for a reason that the caller found.
    pub fn refuse(settings: &Settings, error: Error, on_event: OnEvent<'_>) -> Ended {
        job::alone(Role::Receiver, settings, None, &CancelToken::new(), on_event, |_| Err(error))
    }

    fn steps(
        self,
        settings: &Settings,
        sender: &Sender<'_>,
        reporter: &Reporter<'_>,
        rng: &mut dyn CryptoRng,
    ) -> Result<RunResult, Error> {
        let key = sender.key()?;
        if let Sender::Post { .. } = sender {
            check_records(settings)?;
        }
        self.table.keys.check().map_err(|error| Error::table(RunPhase::Prepare, &error))?;
        let LookupJob { table, set, fetch, .. } = self;
        let file = job::output_of(&table, true)?;
        match sender {
            Sender::Served(partner) if fetch => fetch_into(&set, key, partner, settings, reporter, rng)?,
            Sender::Post { .. } if fetch => {
                let message = "`[fetch]` asks the sender over the network, and `[post]` does not";
                return Err(Error::usage(
                    message,
                    "get the set's new files in another way, such as the post-box's folder",
                ));
            }
            _ => {}
        }
        let chain = open_chain(&set, key)?;
        let epoch = &chain.head().epoch;
        check_rules(epoch, &table.keys.agreed())?;
        let TableArgs { input, keys, dialect, output, .. } = table;
        let keys = keys.with_variants().map_err(|error| Error::table(RunPhase::Prepare, &error))?;
        reporter.enter(RunPhase::Read, 0);
        let path = input.path().cloned();
        let input = job::open(input, dialect, (&output, file.as_ref(), true), reporter)?;
        reporter.room(file.as_ref(), path.as_ref().map(|_| input.length()));
        let read = (input, path.as_deref());
        // A query by post reads its table in the same way each time: padding is random.
        let posted = sender.posted(output.path(), reporter.cancel)?;
        let posted = posted.map(|posted| posted.state(rng).map(|state| (posted, state))).transpose()?;
        let mut again = posted.as_ref().map(|(_, state)| state.rng(0));
        let table_rng: &mut dyn CryptoRng = match &mut again {
            Some(again) => again,
            None => rng,
        };
        let (table, set) = job::read(
            read,
            keys,
            (Role::Receiver, settings, None),
            &Opening::for_run(settings),
            reporter,
            table_rng,
        )?;
        table.check_added(&epoch.columns, false).map_err(|error| Error::table(RunPhase::Read, &error))?;
        let items = match set {
            Set::InMemory(items, _) => items,
            Set::OnDisk(_) => {
                return Err(Error::usage("a look-up has its keys in memory", "leave out `[memory]`"));
            }
        };
        check_size(epoch, items.len())?;
        let outputs = match (&posted, sender) {
            (Some((posted, state)), _) => {
                reporter.enter(RunPhase::Post, 0);
                let client = Client::new(public_key(&chain)?);
                posted.ask(state, &client, chain.head().epoch.public_key, &items)?
            }
            (None, Sender::Served(partner)) => ask(partner, &chain, &items, settings, reporter, rng)?,
            (None, Sender::Post { .. }) => {
                return Err(Error::usage("a query by post has no state", REPORT_A_BUG));
            }
        };
        let found = found(&chain, &items, &outputs)?;
        reporter.found(&found, true);
        let asked = Some(items.len() as u64);
        reporter.kept(KeptReport { asked, ..report_of(&chain.head().epoch, chain.digest()) });
        let delivered = job::deliver(found, table, (output, file), reporter)?;
        posted.iter().for_each(|(posted, state)| posted.done(state));
        Ok(delivered)
    }
}

/// Refuses a table whose keys are made by other rules than the set's.
fn check_rules(epoch: &Epoch, agreed: &str) -> Result<(), Error> {
    if epoch.terms == agreed {
        return Ok(());
    }
    let message =
        text!("the set's keys are by {}, and this table's by {}", epoch.terms.clone(), agreed.to_owned());
    let remedy = "give as many `[key COLUMN:RULE]`, or `[match]`, with the set's rules in their order";
    Err(Error::usage(message, remedy))
}

/// Refuses a query of more keys than the width of the set's values is for.
fn check_size(epoch: &Epoch, keys: usize) -> Result<(), Error> {
    let most = epoch.most_keys_a_query;
    if keys <= most as usize {
        return Ok(());
    }
    let message = text!("the table has {} keys, and the set takes {} in a query", keys, most);
    Err(Error::usage(message, "ask for fewer keys at a time"))
}

/// How the sender is asked.
pub enum Sender<'a> {
    /// Where it serves.
    Served(&'a Partner),
    /// By a folder that both sides read and write ([`super`]: the post-box).
    Post {
        /// The folder.
        post: &'a Path,
        /// Who asks.
        identity: &'a Identity,
        /// Whose set it is.
        sender: PublicKey,
    },
}

impl Sender<'_> {
    /// Its public key, with which the set is signed.
    fn key(&self) -> Result<PublicKey, Error> {
        let (partner, sender) = match self {
            Sender::Served(partner) => (Some(partner), partner.keys.as_ref().map(|(_, sender)| *sender)),
            Sender::Post { sender, .. } => (None, Some(*sender)),
        };
        partner
            .map_or(Ok(()), |partner| partner.address.check())
            .map_err(|error| Error::net(RunPhase::Prepare, &error))?;
        sender.ok_or_else(|| {
            let message = "a look-up needs a sender whose key is known: it is what the set is signed with";
            Error::usage(message, "give `[peer]`, the sender's public key")
        })
    }

    /// The query by post, if it is one.
    fn posted<'s>(
        &'s self,
        output: Option<&PathBuf>,
        cancel: &'s CancelToken,
    ) -> Result<Option<Posted<'s>>, Error> {
        let Sender::Post { post, identity, sender } = self else { return Ok(None) };
        let file =
            output.filter(|path| standard(path).is_none() && !matches!(Address::of(path), Ok(Some(_))));
        let Some(output) = file else {
            let message = "a query by post is kept beside the output, which is no file";
            return Err(Error::usage(message, "name a file on a disk of this machine with `[output]`"));
        };
        Ok(Some(Posted {
            post: PostBox::at(post, cancel)?,
            identity,
            sender: *sender,
            state: state_of(output),
        }))
    }
}

/// The items whose outputs are in the set, with the labels that they open.
fn found(chain: &Chain, items: &Items, outputs: &[Output]) -> Result<RunResult, Error> {
    let epoch = &chain.head().epoch;
    let values: Vec<u128> = outputs.iter().map(|output| cut(output, epoch.width.into())).collect();
    let found = chain.find(&values).map_err(|error| Error::kept(RunPhase::Lookup, &error))?;
    let present = || found.iter().enumerate().filter(|(_, found)| **found != Found::Absent);
    let matches = items.matches(present().map(|(item, _)| item));
    if epoch.label_bytes == 0 {
        return Ok(RunResult { matches: Some(matches), ..RunResult::default() });
    }
    // A block for each item, and the block of each row.
    let (mut blocks, mut of_row, mut width) = (Vec::new(), Vec::new(), 1);
    for (number, (item, found)) in present().enumerate() {
        let Found::Present { epoch: number_of_epoch, label } = found else { continue };
        let opened = open_label(label, &outputs[item], *number_of_epoch, &epoch.public_key);
        // A value that is another key's by chance has a probability of 2^-40 in a query.
        let opened = opened.map_err(|error| Error {
            side: Side::Partner,
            phase: RunPhase::Lookup,
            kind: Kind::Protocol,
            message: text!("the set has a label that does not open: {}", error.to_string()),
            remedy: "ask {the partner} to publish the set anew".into(),
        })?;
        width = opened.len().max(1);
        blocks.extend(opened);
        of_row.extend(items.rows_of(item).map(|row| (row, number as u32)));
    }
    of_row.sort_unstable();
    let of_row = of_row.into_iter().map(|(_, block)| block).collect();
    let payload = PayloadRows::new(epoch.columns.clone(), width, blocks, of_row);
    let payload = payload.ok_or_else(|| Error::usage("labels are no whole blocks", REPORT_A_BUG))?;
    Ok(RunResult { matches: Some(matches), payload: Some(payload), ..RunResult::default() })
}

/// Fetches the files that are newer than those in the folder.
fn fetch_into(
    set: &[PathBuf],
    sender: PublicKey,
    partner: &Partner,
    settings: &Settings,
    reporter: &Reporter<'_>,
    rng: &mut dyn CryptoRng,
) -> Result<(), Error> {
    let [folder] = set else {
        return Err(Error::usage("`[fetch]` needs one folder for the files", "name a folder with `[set]`"));
    };
    if folder.exists() && !folder.is_dir() {
        return Err(Error::usage(
            "`[fetch]` needs a folder for the files, and `[set]` is none",
            "name a folder with `[set]`",
        ));
    }
    let unwritten = |error: std::io::Error| Error {
        kind: Kind::Output,
        ..Error::usage(
            text!("{}: {}", shown_path(folder), error.to_string()),
            "name a folder that you may write to",
        )
    };
    fs::create_dir_all(folder).map_err(unwritten)?;
    remove_stale(folder);
    // A folder without files is as good as one that is yet to be.
    let has_files = fs::read_dir(folder)
        .map_err(unwritten)?
        .any(|file| file.is_ok_and(|file| file.path().extension().is_some_and(|ending| ending == "vset")));
    let digest = if has_files { *open_chain(set, sender)?.digest() } else { [0; 32] };
    let hello = ReceiverHello { want: Want::Files, digest, keys: 0 };
    let ask::Met { mut channel, server, .. } = ask::meet(partner, &hello, settings, reporter, rng)?;
    if server.digest == digest {
        return Ok(());
    }
    reporter.enter(RunPhase::Fetch, 0);
    let files = ask::recv_files(&mut channel)?;
    let broken = |error| Error::channel(RunPhase::Fetch, &error);
    let most = settings.limits.max_peer_rows.saturating_mul(MOST_BYTES_A_KEY).saturating_add(1 << 20);
    for _ in 0..files {
        // Under a name of its own until it is whole and signed.
        let mut file = Temporary::beside(&folder.join("fetched")).map_err(unwritten)?;
        let mut left = recv_u64(&mut channel).map_err(broken)?;
        if left > most {
            return Err(too_long(left));
        }
        let mut piece = vec![0; PIECE];
        while left > 0 {
            let part = &mut piece[..PIECE.min(usize::try_from(left).unwrap_or(PIECE))];
            channel.recv_exact(part).map_err(broken)?;
            file.write_all(part).map_err(unwritten)?;
            left -= part.len() as u64;
            if reporter.cancel.is_cancelled() {
                return Err(Error::interrupted(RunPhase::Fetch));
            }
        }
        file.flush().map_err(unwritten)?;
        let name = name_of(file.path(), sender)?;
        file.put(&folder.join(&name)).map_err(unwritten)?;
        reporter.notice(format!("fetched {name}"));
    }
    let _ = channel.finish(&[]);
    Ok(())
}

fn too_long(bytes: u64) -> Error {
    Error {
        side: Side::Both,
        phase: RunPhase::Fetch,
        kind: Kind::Refused,
        message: text!("a file of the set has {} bytes, more than this side takes", bytes),
        remedy: "give a larger `[max-peer-rows]`, or get the file in another way".into(),
    }
}

/// The name of a fetched file: what it is of.
fn name_of(path: &Path, sender: PublicKey) -> Result<String, Error> {
    let file = vesica_kept::SetFile::open(path, &super::signed_by(sender));
    let file = file.map_err(|error| Error { side: Side::Partner, ..Error::kept(RunPhase::Fetch, &error) })?;
    let epoch = &file.header().epoch;
    let kind = match epoch.kind {
        vesica_kept::Kind::Whole => "whole",
        vesica_kept::Kind::Delta => "delta",
        vesica_kept::Kind::Compact => "compact",
    };
    Ok(format!("key{:03}-epoch{:06}-{kind}.vset", epoch.key_number, epoch.number))
}
