use std::sync::{Arc, mpsc};
use std::thread;

use rand::SeedableRng;
use rand::rngs::StdRng;
use vesica_channel::CancelToken;
use vesica_net::{Address, Connection, ConnectionSecurity, NetEvent, Options, establish};
use vesica_table::{Dialect, MatchRule};

use super::*;
use crate::job::{Destination, Job, Partner, TableArgs};
use crate::session::{self, Agreed};
use crate::words::receipt::SIGNED;
use crate::words::settings::{Choice, Settings};
use crate::words::terms::Terms;
use vesica_protocols::registry::Security;

/// A receiver and a sender, connected by TLS.
fn connected([receiver, sender]: &[Identity; 2]) -> [Connection; 2] {
    let (tell, told) = mpsc::channel();
    let meet = |address: Address,
                identity: &Identity,
                peer: &PublicKey,
                seed,
                on_event: &mut dyn FnMut(NetEvent)| {
        let security = ConnectionSecurity::Tls { identity, peer };
        let options = Options { cancel: CancelToken::new(), ..Options::default() };
        establish(&address, &security, &options, &mut StdRng::seed_from_u64(seed), on_event).unwrap()
    };
    thread::scope(|scope| {
        let listens = scope.spawn(|| {
            let on_event = &mut |event| {
                if let NetEvent::Listening(address) = event {
                    tell.send(address.to_string()).unwrap();
                }
            };
            meet(Address::Listen("127.0.0.1:0".into()), sender, receiver.public_key(), 1, on_event)
        });
        let address = Address::Connect(told.recv().unwrap());
        let connects = meet(address, receiver, sender.public_key(), 2, &mut |_| ());
        [connects, listens.join().unwrap()]
    })
}

fn two() -> [Identity; 2] {
    [(); 2].map(|()| Identity::generate().unwrap())
}

/// An agreement between sets of 5 and 7 items.
fn agree(role: Role, identity: &Identity, channel: &mut Connection) -> Agreed {
    let settings = Settings::default();
    let terms = Terms::new(role, &settings, &["raw".to_owned()]);
    let items = if role == Role::Receiver { 5 } else { 7 };
    session::agree(channel, &terms, settings.wanted(), items, Some(identity)).unwrap()
}

/// How a receiver ends whose partner ends as `partner` does, after an agreement and no protocol.
fn confirmed(
    identities: &[Identity; 2],
    partner: impl FnOnce(Agreed, &mut Connection) + Send,
) -> Result<Receipt, SessionError> {
    let [mut here, mut there] = connected(identities);
    thread::scope(|scope| {
        scope.spawn(move || partner(agree(Role::Sender, &identities[1], &mut there), &mut there));
        let agreed = agree(Role::Receiver, &identities[0], &mut here);
        agreed.confirm(None, &mut here, &|| ()).map(|confirmed| confirmed.receipt.unwrap())
    })
}

/// The same agreement, of which something else is signed.
fn with(agreed: Agreed, change: impl FnOnce(&mut Signing)) -> Agreed {
    let Signing { identity, partner, role, statement } = agreed.signing().unwrap();
    let mut signing =
        Signing { identity: identity.clone(), partner: *partner, role: *role, statement: statement.clone() };
    change(&mut signing);
    Agreed { signing: Some(Arc::new(signing)), ..agreed }
}

#[test]
fn what_no_receipt_can_hold_is_not_agreed_on() {
    let settings = Settings {
        protocol: Choice::Named("bwa".into()),
        sigma: Some(10),
        security: Security::SemiHonest,
        audit_max: Some((1 << 53) + 1),
        ..Settings::default()
    };
    let identities = two();
    let [mut here, mut there] = connected(&identities);
    let agree = |role, identity, channel: &mut Connection| {
        let terms = Terms::new(role, &settings, &["int".to_owned()]);
        session::agree(channel, &terms, settings.wanted(), 5, Some(identity)).map(drop)
    };
    let both = thread::scope(|scope| {
        let sender = scope.spawn(|| agree(Role::Sender, &identities[1], &mut there));
        [agree(Role::Receiver, &identities[0], &mut here), sender.join().unwrap()]
    });
    // The slower one may hear of it from the partner.
    assert!(both.iter().all(Result::is_err), "{both:?}");
    assert!(both.iter().any(|refused| matches!(refused, Err(SessionError::Unsigned(_)))), "{both:?}");
}

#[test]
fn both_sides_have_the_same_receipt() {
    let identities = two();
    let (give, take) = mpsc::channel();
    let mine = confirmed(&identities, move |agreed, channel| {
        let theirs = agreed.confirm(None, channel, &|| ()).unwrap().receipt.unwrap();
        give.send((theirs, channel.digests(), agreed.public_id())).unwrap();
    });
    let (mine, (theirs, digests, session)) = (mine.unwrap(), take.recv().unwrap());
    assert_eq!(mine, theirs);
    assert_eq!(mine.to_line(), theirs.to_line());
    mine.verify().unwrap();
    let Statement { receiver, sender, session: named, protocol, .. } = &mine.statement;
    let hex = |digest: [u8; 32]| blake3::Hash::from_bytes(digest).to_hex().to_string();
    assert_eq!((&receiver.sent, &sender.sent), (&hex(digests.received), &hex(digests.sent)));
    assert_eq!(
        (receiver.items, sender.items, named, protocol.as_str()),
        (Some(5), Some(7), &session, "vole")
    );
    assert_eq!(mine.statement.terms["security"], "malicious");
    let keys = [receiver, sender].map(|party| party.key.clone());
    assert_eq!(keys, [0, 1].map(|side: usize| identities[side].public_key().to_string()));
    assert_eq!([&receiver.version, &sender.version], [PROGRAM; 2]);
}

#[test]
fn a_partner_that_signs_another_statement_confirms_nothing() {
    let changes: [fn(&mut Statement); 13] = [
        |of| of.session.replace_range(..1, "x"),
        |of| of.protocol = "dh".into(),
        |of| of.parameters.clear(),
        |of| drop(of.terms.remove("security")),
        |of| of.result = "count".into(),
        |of| of.learns = "both".into(),
        |of| of.parts = 2,
        |of| of.receiver.items = Some(6),
        |of| of.receiver.started = shown_time(0),
        |of| of.sender.started = shown_time(0),
        |of| of.sender.version = "9".into(),
        |of| std::mem::swap(&mut of.receiver.key, &mut of.sender.key),
        |of| of.wire = 9,
    ];
    let identities = two();
    for (number, change) in changes.into_iter().enumerate() {
        let ended = confirmed(&identities, move |agreed, channel| {
            let agreed = with(agreed, |signing| change(&mut signing.statement));
            assert!(agreed.confirm(None, channel, &|| ()).is_err());
        });
        assert_eq!(
            ended,
            Err(SessionError::Unconfirmed("the statements that the two sides sign")),
            "{number}"
        );
    }
}

#[test]
fn a_signature_that_is_none_or_somebody_elses_confirms_nothing() {
    let identities = two();
    let [_, sender] = &identities;
    let [stranger, _] = two();
    let differs = Err(SessionError::Unconfirmed("the statements that the two sides sign"));
    let by_stranger = confirmed(&identities, |agreed, channel| {
        let agreed = with(agreed, |signing| signing.identity = stranger.clone());
        drop(agreed.confirm(None, channel, &|| ()));
    });
    assert_eq!(by_stranger, differs);
    // The end of a conversation, with this behind the count.
    let ends = |tail: &dyn Fn(&[u8]) -> Vec<u8>, agreed: &Agreed, channel: &mut Connection| {
        let digests = channel.digests();
        let message = agreed.signing().unwrap().sign(&digests).unwrap().message;
        let mut done = Writer::new();
        done.fixed(&digests.sent).fixed(&digests.received).u64(u64::MAX).fixed(&tail(&message));
        drop(channel.finish(done.as_slice()));
    };
    let sign = |message: &[u8]| sender.sign(message).unwrap().to_vec();
    let honest = confirmed(&identities, |agreed, channel| ends(&sign, &agreed, channel));
    assert!(honest.is_ok(), "the test's own end is good otherwise");
    let without_words = |message: &[u8]| sign(&message[SIGNED.len()..]);
    let zeros = |_: &[u8]| vec![0; 64];
    for wrong in [&without_words as &(dyn Fn(&[u8]) -> Vec<u8> + Sync), &zeros] {
        assert_eq!(confirmed(&identities, |agreed, channel| ends(wrong, &agreed, channel)), differs);
    }
    let none = |_: &[u8]| Vec::new();
    let short = |message: &[u8]| sign(message)[..63].to_vec();
    let long = |message: &[u8]| [sign(message), vec![0]].concat();
    for wrong in [&none as &(dyn Fn(&[u8]) -> Vec<u8> + Sync), &short, &long] {
        let ended = confirmed(&identities, |agreed, channel| ends(wrong, &agreed, channel));
        assert!(matches!(ended, Err(SessionError::Decode { what: "a confirmation", .. })), "{ended:?}");
    }
}

#[test]
fn digests_that_differ_are_told_before_the_signatures() {
    let identities = two();
    let ended = confirmed(&identities, |_, channel| drop(channel.finish(&[7; 136])));
    assert_eq!(ended, Err(SessionError::Unconfirmed("the digests of what was sent and received")));
}

/// What a side tells of itself has one form.
#[test]
fn times_and_versions_that_no_side_tells_are_refused() {
    let told = |started: u64, version: &[u8]| {
        let [mut here, mut there] = connected(&two());
        let mut writer = Writer::new();
        writer.u64(started).u8(version.len() as u8).fixed(version);
        there.send(writer.as_slice()).and_then(|()| there.flush()).unwrap();
        Told::recv(&mut here).map(|told| (told.started, told.version))
    };
    assert_eq!(told(LAST, b"1.2.3-rc.1+x"), Ok((LAST, "1.2.3-rc.1+x".to_owned())));
    assert_eq!(shown_time(LAST), "9999-12-31T23:59:59.999Z");
    assert!(told(LAST + 1, b"1").is_err());
    for version in [&[b'1'; 33][..], b"1 2", b"\x1b[2J", "é".as_bytes()] {
        assert!(matches!(told(0, version), Err(SessionError::Decode { .. })), "{version:?}");
    }
}

/// A whole run whose sender plays by the rules until it signs.
#[test]
fn nothing_is_written_where_the_partner_signs_something_else() {
    let folder = tempfile::tempdir().unwrap();
    let [input, output] = ["mine.csv", "out.csv"].map(|name| folder.path().join(name));
    std::fs::write(&input, "k\na\nb\n").unwrap();
    for honest in [true, false] {
        let [mine, theirs] = two();
        let (my_key, their_key) = (*mine.public_key(), *theirs.public_key());
        let (tell, told) = mpsc::channel();
        let settings = &Settings { receipt: true, ..Settings::default() };
        let items = crate::job::sets::items([&b"b"[..], b"c"].into_iter(), settings).unwrap();
        let ended = thread::scope(|scope| {
            scope.spawn(move || {
                let place = Address::Listen("127.0.0.1:0".into());
                let partner = Partner::authenticated(place, theirs.clone(), my_key).unwrap();
                let terms = Terms::new(Role::Sender, settings, &["raw".to_owned()]);
                let options = Options { cancel: CancelToken::new(), ..Options::default() };
                let rng = &mut StdRng::seed_from_u64(3);
                let on_event = &mut |event| {
                    if let NetEvent::Listening(address) = event {
                        tell.send(address.to_string()).unwrap();
                    }
                };
                let mut channel = partner.meet(&session::greeting(&terms), &options, rng, on_event).unwrap();
                let (wanted, size) = (settings.wanted(), items.len());
                let agreed =
                    session::agree_greeted(&mut channel, &terms, wanted, size, Some(&theirs)).unwrap();
                let pending =
                    agreed.run(&items, &mut channel, 1, &vesica_protocols::NoProgress, None, rng).unwrap();
                let agreed = with(agreed, |signing| {
                    if !honest {
                        signing.statement.sender.version = "0.0.9".into();
                    }
                });
                assert_eq!(agreed.confirm(pending, &mut channel, &|| ()).is_ok(), honest);
            });
            let place = Address::Connect(told.recv().unwrap());
            let partner = Partner::authenticated(place, mine, their_key).unwrap();
            let table = TableArgs {
                input: input.clone().into(),
                keys: MatchRule::parse("k").unwrap().into(),
                dialect: Dialect::default(),
                output: Destination::Path(output.clone()),
                protected: Vec::new(),
            };
            let job = Job { role: Role::Receiver, table, settings: settings.clone() };
            job.run(&partner, &CancelToken::new(), &mut StdRng::seed_from_u64(4), &|_| {})
        });
        assert_eq!(output.exists(), honest);
        assert_eq!((ended.report.confirmed, ended.report.receipt.is_some()), (honest, honest));
        match ended.result {
            Ok(_) => std::fs::remove_file(&output).unwrap(),
            Err(error) => {
                assert_eq!(error.kind.exit_code(), 76);
                assert!(
                    error.message.shell().contains("the statements that the two sides sign differ"),
                    "{error}"
                );
            }
        }
    }
}
