//! What a set file is to hold: the values of a table, what has changed since a chain, or a chain as one file.

use vesica_encode::items::Items;
use vesica_kept::{Chain, Epoch, Found, Kind as FileKind, cut, open_label};
use vesica_protocols::Payloads;
use vesica_protocols::public_key::voprf::Output;

use super::super::values::{DUMMY, Maker, Values};
use super::failed;
use crate::job::{self, Set};
use crate::words::error::{Error, RunPhase};
use crate::words::results::Attachments;
use crate::words::settings::Settings;

/// What is to be written: values that come and that go.
pub(super) struct Lists {
    pub(super) kind: FileKind,
    /// With their items, ascending.
    pub(super) added: Values,
    pub(super) added_count: u64,
    pub(super) removed: Vec<u128>,
    /// In the set afterwards.
    pub(super) keys: u64,
}

/// What labels are made of: the payloads and the outputs of items.
pub(super) struct Labels {
    pub(super) payloads: Payloads,
    pub(super) outputs: Vec<Output>,
}

/// The values that a set is to have, and what its labels are made of.
pub(super) struct Wanted {
    values: Values,
    count: u64,
    labels: Option<Labels>,
}

impl Wanted {
    pub(super) fn whole(self) -> (Lists, Option<Labels>) {
        let Wanted { values, count, labels } = self;
        let kind = FileKind::Whole;
        (Lists { kind, added: values, added_count: count, removed: Vec::new(), keys: count }, labels)
    }
}

/// The values of a table's keys, and dummies.
pub(super) fn wanted(
    maker: &Maker<'_>,
    set: Set,
    before: Option<&Chain>,
    settings: &Settings,
) -> Result<Wanted, Error> {
    let keys = set.len() as u64;
    let dummies = match (settings.pad_to, before) {
        (Some(_), _) => job::padded_size(keys as usize, settings)? as u64 - keys,
        // A set keeps its dummies, lest it show which they are.
        (None, Some(chain)) => dummies_in(maker, chain)?,
        (None, None) => 0,
    };
    let dummy = |number| maker.dummy(number);
    match set {
        Set::OnDisk(set) => {
            let (values, count) = maker.on_disk(&set.keys, (0..dummies).map(dummy))?;
            Ok(Wanted { values, count, labels: None })
        }
        Set::InMemory(items, Attachments::Payloads(payloads)) => {
            let outputs = outputs(maker, &items)?;
            let of_item = |(item, output): (usize, &Output)| (cut(output, maker.width), item as u32);
            let mut values: Vec<(u128, u32)> = outputs.iter().enumerate().map(of_item).collect();
            values.extend((0..dummies).map(|number| (dummy(number), DUMMY)));
            values.sort_unstable();
            values.dedup_by_key(|(value, _)| *value);
            let count = values.len() as u64;
            Ok(Wanted { values: Values::Labelled(values), count, labels: Some(Labels { payloads, outputs }) })
        }
        Set::InMemory(items, _) => {
            let mut values = maker.each_item(&items, |output| cut(&output, maker.width))?;
            values.extend((0..dummies).map(dummy));
            values.sort_unstable();
            values.dedup();
            Ok(Wanted { count: values.len() as u64, values: Values::Plain(values), labels: None })
        }
    }
}

/// The uncut outputs of items.
fn outputs(maker: &Maker<'_>, items: &Items) -> Result<Vec<Output>, Error> {
    #[derive(Clone, Copy)]
    struct Uncut(Output);
    impl Default for Uncut {
        fn default() -> Self {
            Uncut([0; 64])
        }
    }
    let made = maker.each_item(items, Uncut)?;
    Ok(made.into_iter().map(|Uncut(output)| output).collect())
}

/// How many dummies a chain has: they are those with the lowest numbers.
fn dummies_in(maker: &Maker<'_>, chain: &Chain) -> Result<u64, Error> {
    let mut known = 0;
    loop {
        let values: Vec<u128> = (known..known + 1024).map(|number| maker.dummy(number)).collect();
        let found = chain.find(&values).map_err(failed)?;
        let present = found.iter().take_while(|found| **found != Found::Absent).count() as u64;
        known += present;
        if present < 1024 {
            return Ok(known);
        }
    }
}

/// What has changed since a chain.
pub(super) fn since(
    maker: &Maker<'_>,
    chain: &Chain,
    wanted: Wanted,
    usual: &Epoch,
) -> Result<(Lists, Option<Labels>), Error> {
    let (mut added, mut removed) = (Vec::new(), Vec::new());
    let mut old = chain.values().peekable();
    let labels = wanted.labels.as_ref();
    wanted.values.each(&mut |value, item| {
        while let Some(before) =
            old.next_if(|before| before.as_ref().map_or(true, |before| before.value < value))
        {
            removed.push(before.map_err(failed)?.value);
        }
        match old.next_if(|before| before.as_ref().is_ok_and(|before| before.value == value)) {
            Some(before) => {
                let before = before.map_err(failed)?;
                let stays =
                    labels.is_none_or(|labels| labels.are_in(&before.label, item, before.epoch, usual));
                if !stays {
                    added.push((value, item));
                }
            }
            None => added.push((value, item)),
        }
        Ok(())
    })?;
    for before in old {
        removed.push(before.map_err(failed)?.value);
    }
    maker.reporter.notice(format!("{} keys came or have new labels, {} went", added.len(), removed.len()));
    let (kind, added_count, keys) = (FileKind::Delta, added.len() as u64, wanted.count);
    Ok((Lists { kind, added: Values::Labelled(added), added_count, removed, keys }, wanted.labels))
}

/// Values with their items.
type ItemValues = Vec<(u128, u32)>;

/// What two lists change in a chain.
pub(super) fn changes(
    maker: &Maker<'_>,
    chain: &Chain,
    (added, removed): (Option<Set>, Option<Set>),
    settings: &Settings,
) -> Result<(Lists, Option<Labels>), Error> {
    let values_of = |set: Option<Set>| -> Result<(ItemValues, Option<Labels>), Error> {
        let Some(set) = set else { return Ok((Vec::new(), None)) };
        let unpadded = Settings { pad_to: None, ..settings.clone() };
        let wanted = wanted(maker, set, None, &unpadded)?;
        let mut values = Vec::new();
        wanted.values.each(&mut |value, item| {
            values.push((value, item));
            Ok(())
        })?;
        Ok((values, wanted.labels))
    };
    let (mut added, labels) = values_of(added)?;
    let (mut removed, _) = values_of(removed)?;
    let goes = |value: &u128| removed.binary_search_by_key(value, |(value, _)| *value).is_ok();
    if added.iter().any(|(value, _)| goes(value)) {
        return Err(Error::usage(
            "a key is in `[added]` and in `[removed]`",
            "leave it out of one of the two; a key whose label changes is only in `[added]`",
        ));
    }
    let is_there = |values: &[(u128, u32)]| -> Result<Vec<bool>, Error> {
        let values: Vec<u128> = values.iter().map(|(value, _)| *value).collect();
        Ok(chain.find(&values).map_err(failed)?.iter().map(|found| *found != Found::Absent).collect())
    };
    let there = is_there(&added)?;
    let known = there.iter().filter(|there| **there).count();
    let mut there = there.into_iter();
    // With labels, a key that is there gets a new one.
    added.retain(|_| !there.next().unwrap_or(false) || labels.is_some());
    let there = is_there(&removed)?;
    let unknown = there.iter().filter(|there| !**there).count();
    let mut there = there.into_iter();
    removed.retain(|_| there.next().unwrap_or(false));
    if known + unknown > 0 {
        let what = if labels.is_some() { "get new labels" } else { "were there already" };
        maker.reporter.notice(format!(
            "{known} of the added keys {what}; {unknown} of the removed keys were not there"
        ));
    }
    let relabelled = if labels.is_some() { known as u64 } else { 0 };
    let mut keys = chain.head().epoch.keys + added.len() as u64 - relabelled - removed.len() as u64;
    let mut removed: Vec<u128> = removed.into_iter().map(|(value, _)| value).collect();
    if settings.pad_to.is_some() {
        let dummies = dummies_in(maker, chain)?;
        let padded = job::padded_size((keys - dummies.min(keys)) as usize, settings)? as u64;
        // Dummies come or go, so that the size stays what it is to be.
        for number in dummies..dummies + padded.saturating_sub(keys) {
            added.push((maker.dummy(number), DUMMY));
        }
        for number in dummies.saturating_sub(keys.saturating_sub(padded))..dummies {
            removed.push(maker.dummy(number));
        }
        added.sort_unstable();
        removed.sort_unstable();
        keys = padded;
    }
    let (kind, added_count) = (FileKind::Delta, added.len() as u64);
    Ok((Lists { kind, added: Values::Labelled(added), added_count, removed, keys }, labels))
}

/// A chain as one file.
pub(super) fn compacted(maker: &Maker<'_>, chain: &Chain) -> Result<Lists, Error> {
    if chain.head().epoch.label_bytes > 0 {
        return Err(Error::usage(
            "labels are sealed for their epoch, so files with labels do not become one",
            "leave out `[compact]`; a new set with `[rotate]` is one file",
        ));
    }
    maker.reporter.enter(RunPhase::Publish, 0);
    let values: Vec<u128> = chain
        .values()
        .map(|present| present.map(|present| present.value))
        .collect::<Result<_, _>>()
        .map_err(failed)?;
    let count = values.len() as u64;
    let added = Values::Plain(values);
    Ok(Lists { kind: FileKind::Compact, added, added_count: count, removed: Vec::new(), keys: count })
}

impl Labels {
    /// Whether a sealed label is that of an item; a dummy's is whatever it is.
    fn are_in(&self, sealed: &[u8], item: u32, epoch: u64, usual: &Epoch) -> bool {
        if item == DUMMY {
            return true;
        }
        let item = item as usize;
        let opened = open_label(sealed, &self.outputs[item], epoch, &usual.public_key);
        opened.is_ok_and(|label| label == self.payloads.get(item))
    }
}
