//! Frames that are altered, dropped, replaced or reordered on their way.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::thread;

use vesica_channel::tampered::{self, Direction, Frame};
use vesica_channel::{Channel, ChannelError, Kind, MAX_PAYLOAD, Stream};

fn receive(channel: &mut Stream, length: usize) -> Result<Vec<u8>, ChannelError> {
    let mut bytes = vec![0; length];
    channel.recv_exact(&mut bytes)?;
    Ok(bytes)
}

fn send(channel: &mut Stream, bytes: &[u8]) {
    channel.send(bytes).and_then(|()| channel.flush()).unwrap();
}

#[test]
fn frames_can_be_changed_in_every_way() {
    let mut held = None;
    let (mut one, mut two) = tampered::pair(move |direction, mut frame| {
        assert_eq!(direction, Direction::FirstToSecond);
        match &frame.payload[..] {
            b"flip" => frame.payload[0] ^= 1,
            b"drop" => return Vec::new(),
            b"hold" => {
                held = Some(frame);
                return Vec::new();
            }
            b"twice" => return vec![frame.clone(), frame],
            _ => {}
        }
        [Some(frame), held.take()].into_iter().flatten().collect()
    });
    for word in ["same", "flip", "drop", "twice", "hold", "next"] {
        send(&mut one, word.as_bytes());
    }
    assert_eq!(
        receive(&mut two, 26).unwrap(),
        b"sameglip".iter().chain(b"twicetwicenexthold").copied().collect::<Vec<_>>()
    );
    assert_ne!(one.digests().sent, two.digests().received);
    assert_eq!(two.readable(), 0);
}

#[test]
fn frames_that_no_partner_sends_are_errors() {
    let replaced = |kind: Kind, payload: Vec<u8>| {
        let (mut one, mut two) = tampered::pair(move |_, _| vec![Frame { kind, payload: payload.clone() }]);
        send(&mut one, b"x");
        two.recv_exact(&mut [0]).unwrap_err()
    };
    assert_eq!(replaced(Kind::Abort, Vec::new()), ChannelError::PeerAborted);
    assert_eq!(replaced(Kind::Done, Vec::new()), ChannelError::PeerFinished);
    assert_eq!(replaced(Kind::Data, Vec::new()), ChannelError::FrameLength { kind: Kind::Data, length: 0 });
    let length = MAX_PAYLOAD as u64 + 1;
    assert_eq!(
        replaced(Kind::Data, vec![0; MAX_PAYLOAD + 1]),
        ChannelError::FrameLength { kind: Kind::Data, length }
    );
}

#[test]
fn done_goes_through_the_tap() {
    let (mut one, mut two) = tampered::pair(|_, mut frame| {
        if frame.kind == Kind::Done {
            frame.payload.push(b'!');
        }
        vec![frame]
    });
    thread::scope(|scope| {
        scope.spawn(|| assert_eq!(one.finish(b"a").unwrap(), b"b!"));
        assert_eq!(two.finish(b"b").unwrap(), b"a!");
    });
}
