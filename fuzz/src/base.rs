//! The messages of a few base OTs, from either key agreement. The peer sends an honest message with changes, or any
//! bytes.

use rand::SeedableRng;
use rand::rngs::StdRng;
use vesica_crypto::hash::{Context, Label};
use vesica_ot::base::KeyAgreement;
use vesica_ot::base::key_agreement::{Receiver, answer};

use crate::Target;

const LABEL: Label = Label::new("fuzz: base OT");
const COUNT: usize = 8;
const CHOICES: u8 = 0b0110_1001;

pub(crate) fn targets() -> impl Iterator<Item = Target> {
    let dh = target("base-ots", KeyAgreement::DiffieHellman, |input| run(KeyAgreement::DiffieHellman, input));
    let kem = target("base-ots-ml-kem", KeyAgreement::MlKem, |input| run(KeyAgreement::MlKem, input));
    [dh, kem].into_iter()
}

fn target(name: &'static str, agreement: KeyAgreement, run: fn(&[u8])) -> Target {
    let (_, message) = receiver(agreement);
    let (_, public) = answer(agreement, &context(), LABEL, COUNT, &message, &mut StdRng::seed_from_u64(1))
        .unwrap_or_else(|error| unreachable!("an honest message: {error}"));
    let [longest, other] = agreement.bytes(COUNT);
    Target::new(name, run, vec![message, public, vec![0; longest], vec![0xff; other]], 200)
}

fn context() -> Context {
    Context::new(&[7; 32], "fuzz", b"", 1, 1)
}

fn receiver(agreement: KeyAgreement) -> (Receiver, Vec<u8>) {
    Receiver::new(agreement, &context(), LABEL, &[CHOICES], COUNT, &mut StdRng::seed_from_u64(2))
}

/// Bytes as long as the sender's message are taken for one. All others are taken for the receiver's.
fn run(agreement: KeyAgreement, input: &[u8]) {
    let (receiver, message) = receiver(agreement);
    let sent =
        |message: &[u8]| answer(agreement, &context(), LABEL, COUNT, message, &mut StdRng::seed_from_u64(1));
    if input.len() == agreement.bytes(COUNT)[1] {
        match receiver.finish(input) {
            Ok(strings) => assert_eq!(strings.len(), COUNT),
            Err(_) => {
                assert!(sent(&message).is_ok_and(|(_, public)| public != input), "an honest peer is no fault")
            }
        }
    } else {
        match sent(input) {
            Ok((pairs, _)) => assert_eq!((pairs.len(), input.len()), (COUNT, message.len())),
            Err(_) => assert_ne!(input, message, "an honest peer is no fault"),
        }
    }
}
