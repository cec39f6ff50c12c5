//! A sender that cheats, in the whole conversation: terms, sizes, protocol, digests. The receiver's checks end the run, and what
//! is no more than a choice of set is confirmed like an honest run.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where something is not as it must be")]

use std::thread;

use rand::SeedableRng;
use rand::rngs::StdRng;
use vesica::session::{self, SessionError};
use vesica::settings::{Choice, Settings};
use vesica::terms::Terms;
use vesica_channel::CancelToken;
use vesica_crypto::block::Block;
use vesica_encode::items::{Items, Matches};
use vesica_net::{Connection, memory};
use vesica_ot::vole::Plan;
use vesica_ot::vole::cheating::WrongWord;
use vesica_protocols::registry::{Entry, Roles, Send};
use vesica_protocols::testing::{Planted, planted_for};
use vesica_protocols::vole_based::rr22::ENTRY;
use vesica_protocols::vole_based::rr22::cheating::{self, CoinCheat, SenderCheat, mask_message};
use vesica_protocols::{Ctx, Error, Misbehaviour, NoProgress, Outcome, Parameters, Pending, Role, Security};

fn with(ctx: &mut Ctx<'_, '_>, items: &Items, cheat: &SenderCheat<'_>) -> Result<Option<Outcome>, Error> {
    cheating::send(ctx.run, items, ctx.channel, ctx.rng, cheat).map(|()| None)
}

/// One end's conversation, as a job leads it; `send` in place of the honest sender, if given.
fn converse(
    role: Role,
    items: &Items,
    mut channel: Connection,
    send: Option<Send>,
) -> Result<Option<Matches>, SessionError> {
    let settings = Settings {
        protocol: Choice::Named("vole".into()),
        security: Security::Malicious,
        ..Settings::default()
    };
    let terms = Terms::new(role, &settings, &["email".to_owned()]);
    let mut agreed = session::agree(&mut channel, &terms, settings.wanted(), items.len(), None)?;
    if let Some(send) = send {
        let Roles::Whole { receive, .. } = ENTRY.roles else { unreachable!("vole has roles of its own") };
        let mut cheat: Entry = ENTRY;
        cheat.roles = Roles::Whole { receive, send };
        agreed.protocol = Box::leak(Box::new(cheat));
    }
    let rng = &mut StdRng::seed_from_u64(role as u64);
    let matches = agreed.run(items, &mut channel, 1, &NoProgress, None, rng)?;
    Ok(agreed.confirm(matches, &mut channel, &|| ())?.pending.map(Pending::matches).transpose()?)
}

type Ends = [Result<Option<Matches>, SessionError>; 2];

fn run(sets: &Planted, send: Send) -> Ends {
    let (first, second) = memory::pair(&CancelToken::new());
    thread::scope(|scope| {
        let sender = scope.spawn(|| converse(Role::Sender, &sets.sender, second, Some(send)));
        [converse(Role::Receiver, &sets.receiver, first, None), sender.join().unwrap()]
    })
}

fn sets() -> Planted {
    let parameters = Parameters { security: Security::Malicious, ..Parameters::default() };
    // So many that there are trees.
    planted_for(&parameters, 1450, 9, 5, 1)
}

#[test]
fn a_sender_that_fails_a_check_ends_the_session_on_both_sides() {
    let coins: Send = |ctx, items| {
        let cheat = SenderCheat { coins: CoinCheat::Mirrored, ..SenderCheat::default() };
        with(ctx, items, &cheat)
    };
    let words: Send = |ctx, items| {
        // A guess of forty paths.
        let words = |_: &Plan| {
            let word = |tree| WrongWord { tree, word: usize::MAX, error: Block::from(3u128), guess: 1 };
            (0..40).map(word).collect()
        };
        with(ctx, items, &SenderCheat { words: &words, ..SenderCheat::default() })
    };
    let failed = Misbehaviour::FailedCheck;
    let inconsistent = Misbehaviour::Transfer(vesica_ot::Error::Inconsistent);
    for (send, fault) in [(coins, failed), (words, inconsistent)] {
        let [receiver, sender] = run(&sets(), send);
        let Err(SessionError::Protocol(error)) = receiver else { panic!("the receiver noticed nothing") };
        assert_eq!(error, Error::PeerMisbehaved(fault));
        assert!(sender.is_err(), "the sender is told that the run is over");
    }
}

#[test]
fn a_sender_that_chooses_its_masks_has_chosen_a_set() {
    let sets = sets();
    let honest: Send = |ctx, items| with(ctx, items, &SenderCheat::default());
    let [receiver, sender] = run(&sets, honest);
    assert!(sender.is_ok());
    assert_eq!(receiver.unwrap().unwrap().rows(), sets.receiver_rows);
    let half: Send = |ctx, items| {
        let half = |mut masks: Vec<u128>| {
            (1u128..).zip(&mut masks[4..]).for_each(|(number, mask)| *mask = number << 100);
            mask_message(masks)
        };
        with(ctx, items, &SenderCheat { masks: &half, ..SenderCheat::default() })
    };
    let [receiver, sender] = run(&sets, half);
    assert!(sender.is_ok());
    let found = receiver.unwrap().unwrap();
    assert!(found.items() < 5 && found.rows().iter().all(|row| sets.receiver_rows.contains(row)));
}
