//! The messages of a few base OTs. The peer sends an honest message with changes, or any bytes.

use rand::SeedableRng;
use rand::rngs::StdRng;
use vesica_crypto::hash::{Context, Label};
use vesica_ot::base::masny_rindal::{RECEIVER_BYTES, Receiver, Sender};
use vesica_ot::base::two_messages::{Receiver as _, SENDER_BYTES, Sender as _};

use crate::Target;

const LABEL: Label = Label::new("fuzz: base OT");
const COUNT: usize = 8;
const CHOICES: u8 = 0b0110_1001;

pub(crate) fn target() -> Target {
    let (_, public) = sender();
    let (_, message) = receiver();
    let seeds = vec![message, public.to_vec(), vec![0; RECEIVER_BYTES], vec![0xff; SENDER_BYTES]];
    Target::new("base-ots", run, seeds, 200)
}

fn context() -> Context {
    Context::new(&[7; 32], "fuzz", b"", 1, 1)
}

fn sender() -> (Sender, [u8; SENDER_BYTES]) {
    Sender::new(&context(), LABEL, &mut StdRng::seed_from_u64(1))
}

fn receiver() -> (Receiver, Vec<u8>) {
    Receiver::new(&context(), LABEL, &[CHOICES], COUNT, &mut StdRng::seed_from_u64(2))
}

/// Bytes as long as the sender's message are taken for one. All others are taken for the receiver's.
fn run(input: &[u8]) {
    let ((sender, public), (receiver, message)) = (sender(), receiver());
    if let Ok(theirs) = input.try_into() {
        match receiver.finish(theirs) {
            Ok(strings) => assert_eq!(strings.len(), COUNT),
            Err(_) => assert_ne!(*theirs, public, "an honest peer is no fault"),
        }
    } else if input.len() <= message.len() {
        match sender.finish(input) {
            Ok(pairs) => assert_eq!(pairs.len() * RECEIVER_BYTES, input.len()),
            Err(_) => assert_ne!(input, message, "an honest peer is no fault"),
        }
    }
}
