//! Senders that do not follow the protocol: another key for one receiver, elements and numbers that are none. The look-up ends
//! without a row.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use std::fs;
use std::sync::mpsc;
use std::thread;

use vesica::channel::{CancelToken, Channel, ChannelError};
use vesica::net::{Connection, Identity, NetEvent, Options, serve_peers};
use vesica::protocols::public_key::voprf::SecretKey;

use crate::common::{ANOTHER_DAY, Ended, Scene, emails, with};
use crate::kept_sets::{MINE, lookup, published};

/// A scene with a set and a table of so many keys, and the set's public key.
fn set(keys: usize) -> (Scene, [u8; 32]) {
    let scene = published(&emails("sender", 40, 20), &[]);
    scene.write("receiver.csv", emails("receiver", keys, 20));
    let secret = scene.read("set.key");
    let base64 = secret.lines().nth(1).unwrap().to_owned();
    let secret = SecretKey::from_bytes(&bytes_of(&base64)).unwrap();
    (scene, secret.public_key().encoded())
}

/// The 32 bytes that a line of base64 stands for.
fn bytes_of(base64: &str) -> [u8; 32] {
    const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = base64.trim_end_matches('=').chars().map(|digit| DIGITS.find(digit).unwrap());
    let bits: Vec<usize> = digits.flat_map(|digit| (0..6).rev().map(move |bit| digit >> bit & 1)).collect();
    let bytes = bits.chunks_exact(8).map(|bits| bits.iter().fold(0, |byte, bit| byte << 1 | *bit as u8));
    bytes.collect::<Vec<_>>().try_into().unwrap()
}

/// What a look-up makes of a sender that says this key, and then does as it likes.
fn looked_up(
    scene: &Scene,
    (says, more): ([u8; 32], &[&str]),
    does: impl Fn(&mut Connection) -> Result<(), ChannelError> + Send + 'static,
) -> Ended {
    let (identity, stop) = (Identity::load(&scene.path("sender.pem")).unwrap(), CancelToken::new());
    let options = Options { cancel: stop.clone(), ..Options::default() };
    let (receiver, (push, address)) = (scene.receiver_key.parse().unwrap(), mpsc::channel());
    let server = thread::spawn(move || {
        // Behind what it says at its door: key, number of the key, epoch, digest, most keys, most a day, start and version.
        let hello = [&says[..], &[1, 0, 0, 0], &[0; 8], &[9; 32], &[0, 0, 1, 0], &[0; 8], &[0; 9]].concat();
        let each = &mut |mut channel: Connection| {
            let _ = channel.send(&hello).and_then(|()| channel.flush()).and_then(|()| {
                channel.recv_exact(&mut [0; 45])?;
                let mut told = [0; 9];
                channel.recv_exact(&mut told)?;
                channel.recv_exact(&mut vec![0; told[8].into()])?;
                does(&mut channel)
            });
        };
        let on_event = &mut |event| {
            if let NetEvent::Listening(address) = event {
                push.send(address.to_string()).unwrap();
            }
        };
        let mut rng = vesica::randomness().unwrap();
        serve_peers("127.0.0.1:0", &identity, &[receiver], b"vesica S", &options, &mut rng, (each, on_event))
    });
    let ended = lookup(scene, &address.recv().unwrap(), &with(&MINE, more));
    stop.cancel();
    drop(server.join().unwrap());
    assert_eq!(scene.read("out.csv"), ANOTHER_DAY);
    ended
}

/// A batch, as the receiver sent it.
fn batch(channel: &mut Connection) -> Result<Vec<[u8; 32]>, ChannelError> {
    let mut count = [0; 4];
    channel.recv_exact(&mut count)?;
    let mut elements = vec![[0; 32]; u32::from_le_bytes(count) as usize];
    channel.recv_exact(elements.as_flattened_mut())?;
    Ok(elements)
}

/// Says this, and waits until the receiver has left.
fn answer(channel: &mut Connection, bytes: &[u8]) -> Result<(), ChannelError> {
    channel.send(bytes).and_then(|()| channel.flush())?;
    while channel.recv_exact(&mut [0]).is_ok() {}
    Ok(())
}

#[test]
fn a_sender_that_takes_another_key_for_one_receiver_is_found_out() {
    let (scene, says) = set(30);
    let ended = looked_up(&scene, (says, &[]), |channel| {
        let mut rng = vesica::randomness().unwrap();
        let evaluation = SecretKey::random(&mut rng).evaluate(&batch(channel)?, &mut rng).unwrap();
        answer(channel, &[&[0], evaluation.elements.as_flattened(), &evaluation.proof].concat())
    });
    ended.expect(76, &["on the partner's side, phase lookup"]);
}

#[test]
fn answers_that_are_none_are_refused() {
    let (scene, says) = set(30);
    for element in [[0; 32], [0xff; 32], [1; 32]] {
        let ended = looked_up(&scene, (says, &[]), move |channel| {
            let mut elements = batch(channel)?;
            elements[3] = element;
            answer(channel, &[&[0], elements.as_flattened(), &[0; 64]].concat())
        });
        ended.expect(76, &["on the partner's side, phase lookup"]);
    }
    for (sign, code) in [(1, 77), (2, 77), (3, 69), (9, 69)] {
        let ended = looked_up(&scene, (says, &["--timeout", "2s"][..]), move |channel| {
            batch(channel)?;
            answer(channel, &[&[sign][..], &[0xff; 32]].concat())
        });
        ended.expect(code, &["on the partner's side, phase lookup"]);
    }
    // Another key than the set's is not even asked.
    let other = SecretKey::random(&mut vesica::randomness().unwrap()).public_key().encoded();
    looked_up(&scene, (other, &[]), |channel| batch(channel).map(drop))
        .expect(77, &["the set here is of key 1"]);
}

#[test]
fn files_that_are_none_are_not_kept() {
    let (scene, says) = set(30);
    fs::remove_file(scene.path("set/1.vset")).unwrap();
    let file = |length: u64, bytes: &[u8]| [&1u32.to_le_bytes()[..], &length.to_le_bytes(), bytes].concat();
    let cases = [
        (u32::MAX.to_le_bytes().to_vec(), 76, "too many files"),
        (file(u64::MAX, b""), 77, "more than this side takes"),
        (file(0, b""), 65, "bytes"),
        (file(90, &[7; 90]), 65, "is not a set file"),
        (file(90, &[7; 80]), 69, "phase fetch"),
        (0u32.to_le_bytes().to_vec(), 65, "no set file"),
    ];
    for (bytes, code, words) in cases {
        let ended = looked_up(&scene, (says, &["--fetch", "--timeout", "3s"][..]), move |channel| {
            answer(channel, &bytes)
        });
        ended.expect(code, &[words]);
        assert_eq!(fs::read_dir(scene.path("set")).unwrap().count(), 0, "{}", ended.screen);
    }
}
